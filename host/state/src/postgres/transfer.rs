//! Exports and imports of a store in PostgreSQL.

use std::sync::Arc;

use tokio_postgres::types::Type;

use super::Inner;
use super::connect::parameter;
use crate::encode::{Write, Writes};
use crate::export::{Export, ImportOptions};
use crate::keys::Owner;
use crate::keyspace::{self, EntryKind};
use crate::{Change, Claim as _, Environment, Error, Holder, Writer as _};

impl Inner {
    pub(super) async fn export(
        &self,
        environment: &Environment,
        recipient: Option<&str>,
    ) -> Result<Export, Error> {
        let owner = match recipient {
            Some(text) => Owner::parse(text)?,
            None => self.keys.key()?.owner(),
        };
        // The submissions of this process are included.
        if let Some(claim) = self.claim_of(environment) {
            claim.commit(Vec::new()).await?;
        }
        self.with_keys(|| async {
            let whole = self.whole(environment).await?;
            if let Some(whole) = &whole {
                self.check(environment, whole.head.as_deref(), &whole.reached, whole.tally)?;
            }
            let table = whole.map(|whole| whole.table).unwrap_or_default();
            Export::of(environment, table.iter(), &self.keys, &owner)
        })
        .await
    }

    pub(super) async fn import(
        self: Arc<Self>,
        export: Export,
        holder: Holder,
        options: ImportOptions,
        also: Vec<Change>,
    ) -> Result<(), Error> {
        export.check_key(&self.keys)?;
        let environment = export.environment();
        let claim = Arc::clone(&self).claim(environment, &holder).await?;
        let imported = async {
            options.check(environment, claim.table().range(&keyspace::all(EntryKind::Record)).count())?;
            let mut new = export.entries(&self.keys, options.staleness())?;
            options.keep_closed(environment, &claim.table(), &mut new);
            let keeps_audit = options.keep_audit(environment, &claim.table(), &mut new);
            let is_kept = |key: &[u8]| keeps_audit && key.first() == Some(&(EntryKind::Audit as u8));
            let gone = self.keys_of(environment).await?.into_iter();
            let gone = gone.filter(|key| new.get(key).is_none() && !is_kept(key));
            let mut writes: Vec<Write> = gone.map(|key| Write::Remove { key }).collect();
            writes.extend(
                new.iter().map(|(key, value)| Write::Put { key: key.to_vec(), value: value.to_vec() }),
            );
            writes.extend(claim.encode(also)?.0);
            // One submission is one transaction.
            claim.take(Writes(writes))?.await
        };
        let imported = imported.await;
        imported.and(claim.release().await)
    }

    /// The keys of all entries of an environment.
    async fn keys_of(&self, environment: &Environment) -> Result<Vec<Vec<u8>>, Error> {
        let sql = format!("SELECT key FROM {}.entries WHERE place = $1", self.database.schema());
        let parameters = vec![parameter(keyspace::place(environment).to_vec(), Type::BYTEA)];
        let rows = self.database.query("read the state", &sql, parameters).await?;
        rows.iter().map(|row| row.try_get(0).map_err(|error| self.unreadable(&error))).collect()
    }
}
