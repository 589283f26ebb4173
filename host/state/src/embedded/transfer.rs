//! Exports and imports of the embedded store.

use super::{EnvironmentPart, Inner};
use crate::disk::{Claimed, Writing};
use crate::encode::Writes;
use crate::export::{Export, ImportOptions};
use crate::keys::Owner;
use crate::keyspace::{self, EntryKind};
use crate::{Change, Environment, Error, Holder};

impl Inner {
    pub(super) fn export(&self, environment: &Environment, recipient: Option<&str>) -> Result<Export, Error> {
        let owner = match recipient {
            Some(text) => Owner::parse(text)?,
            None => {
                // The first export creates the key of a state without one.
                let _shared = self.root.share(self.wait)?;
                self.root.establish(&self.probe)?;
                self.keys.data()?;
                self.keys.key()?.owner()
            }
        };
        let of = environment.clone();
        let export = self.read(environment, EnvironmentPart::All, |table, keys, _| {
            Export::of(&of, table.iter(), keys, &owner).map(Some)
        })?;
        match export {
            Some(export) => Ok(export),
            None => Export::of(environment, std::iter::empty(), &self.keys, &owner),
        }
    }

    pub(super) fn import(
        &self,
        export: &Export,
        holder: &Holder,
        options: ImportOptions,
        also: &[Change],
    ) -> Result<(), Error> {
        let environment = export.environment();
        export.check_key(&self.keys)?;
        self.settle_rotation()?;
        let claimed = Claimed::take(&self.root, environment, holder, self.wait, &self.probe)?;
        self.keys.refresh()?;
        self.with(|open| open.read = None)?;
        let mut writing = Writing::open(claimed, self.keys.clone(), self.probe.clone())?;
        let there = writing.shared().read().table.range(&keyspace::all(EntryKind::Record)).count();
        options.check(environment, there)?;
        let mut table = export.entries(&self.keys, options.staleness())?;
        options.keep_closed(environment, &writing.shared().read().table, &mut table);
        let shared = writing.shared();
        if options.keep_audit(environment, &shared.read().table, &mut table) {
            let prefix = keyspace::prefix(EntryKind::Audit, &keyspace::place(environment));
            let state = shared.read();
            for (key, value) in state.table.range(&prefix) {
                table.apply(key.to_vec(), Some(value.to_vec()));
            }
        }
        let mut entries = Vec::new();
        table.resolve(Writes::of(also, environment, &self.keys)?.0, &mut entries);
        entries.into_iter().for_each(|(key, value)| table.apply(key, value));
        for stored in self.keys.stored().into_iter().take(1) {
            table.apply(keyspace::DATA_KEY.to_vec(), Some(stored.encode()));
        }
        writing.replace(table)?;
        writing.finish()
    }
}
