//! Approves drivers in their current form: computes the next lock and its changes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use purlin_documents::LOCK_FILE;
use purlin_model::{Diagnostic, DriverSource, Lock, Pin};
use serde::Serialize;

use super::{Registry, canonical, pinned};
use crate::{Error, Purlin};

/// The lock that approves the drivers in their current form.
#[derive(Clone, Debug)]
pub struct Approval {
    /// The path of the lock.
    pub path: PathBuf,
    /// Its new content.
    pub text: String,
    /// Whether there is a lock now.
    pub exists: bool,
    /// The changes, by driver and version.
    pub changes: Vec<ApprovalChange>,
}

/// The changes of one version of a driver.
///
/// They serialise in the published, versioned form: `driver approve` in `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApprovalChange {
    /// The name of the driver.
    pub driver: String,
    /// The version, in its new form if it still exists.
    pub version: String,
    /// Approved properties that no longer apply.
    pub removed: Vec<String>,
    /// Properties that are not approved yet.
    pub added: Vec<String>,
}

impl Approval {
    /// Whether everything about these drivers is approved. Approvals that are no longer used do not
    /// matter.
    pub fn is_approved(&self) -> bool {
        self.changes.iter().all(|change| change.added.is_empty())
    }
}

impl Purlin {
    /// Computes the approval of drivers in their current form: the named ones, or else all
    /// third-party drivers. Each driver is asked for its description, in an instance without any
    /// access. Writes nothing.
    ///
    /// # Errors
    /// If one of the drivers does not exist or is not a driver, or if the current lock has a fault.
    pub async fn approval(&self, names: &[String]) -> Result<Approval, Error> {
        let workspace = self.workspace();
        let present = workspace.lock.clone();
        if present.as_ref().is_some_and(|lock| lock.faulty) {
            let fault = Diagnostic::error("driver-not-approved", "purlin.lock has a fault")
                .help("remove the file to approve everything again");
            return Err(Error::Documents(vec![fault]));
        }
        let registry = self.registry()?;
        let before = present.clone().unwrap_or_default();
        let mut next = Lock::default();
        let chosen: Vec<Arc<str>> = match names {
            [] => registry.to_be_approved().collect(),
            names => {
                next.drivers = before.drivers.clone();
                names.iter().map(|name| registry.needs_approval(name)).collect::<Result<_, _>>()?
            }
        };
        for name in chosen {
            let pins = registry.pins(&name).await?;
            next.drivers.insert(name, pins);
        }
        Ok(Approval {
            path: workspace.folder.join(LOCK_FILE),
            text: text(&next),
            exists: present.is_some(),
            changes: changes(&before, &next),
        })
    }
}

impl Registry {
    fn to_be_approved(&self) -> impl Iterator<Item = Arc<str>> {
        self.configured.iter().filter(|(_, config)| config.source.is_some()).map(|(name, _)| Arc::clone(name))
    }

    fn needs_approval(&self, name: &str) -> Result<Arc<str>, Error> {
        let known = self.configured.get_key_value(canonical(name));
        match known.filter(|(_, config)| config.source.is_some()) {
            Some((name, _)) => Ok(Arc::clone(name)),
            None if self.built_in.contains_key(canonical(name)) => {
                Err(Error::Component(format!("the driver `{name}` came with Purlin and needs no approval")))
            }
            None => {
                let fault = self.unknown(name).diagnostic(name, None, None);
                Err(Error::Documents(vec![*fault]))
            }
        }
    }

    /// The current form of a driver, for each of its versions.
    async fn pins(&self, name: &str) -> Result<Vec<Pin>, Error> {
        let config = self.configured.get(name);
        if let Some(DriverSource::Oci(reference)) = config.and_then(|config| config.source.as_ref()) {
            let missing = super::Missing::Oci(reference.clone());
            return Err(Error::Documents(vec![*missing.diagnostic(name, config, None)]));
        }
        let grants = config.map(|config| pinned::granted(&config.grants)).unwrap_or_default();
        let mut pins = Vec::new();
        for inspection in self.inspect(name, true).await? {
            if let Some(unfit) = inspection.unfit {
                return Err(Error::Component(unfit));
            }
            if let Some(wrong) = inspection.not_under(name) {
                return Err(Error::Component(wrong));
            }
            let info = inspection.info.transpose().map_err(Error::Component)?;
            let digest = purlin_model::Digest::parse(&inspection.interfaces.digest);
            let (Some(info), Some(digest)) = (info, digest) else { continue };
            pins.push(Pin {
                name: Some(info.name.as_str().into()),
                version: info.version.clone(),
                digest,
                imports: inspection.interfaces.reach(),
                requested_capabilities: pinned::requested(&info),
                grants: grants.clone(),
                location: Default::default(),
            });
        }
        pins.sort_by(|a, b| (&a.version, &a.digest).cmp(&(&b.version, &b.digest)));
        // The same component under two names counts once.
        pins.dedup_by(|a, b| a.digest == b.digest);
        Ok(pins)
    }
}

/// The content of a lock file, in an order that depends only on the lock.
fn text(lock: &Lock) -> String {
    let mut out = String::from(
        "# Written by `purlin driver approve`: the approved third-party drivers, and the\n\
         # grants of each. While this file exists, Purlin uses no others.\n\
         apiVersion: purlin.dev/v1\nkind: Lock\nspec:\n",
    );
    out.push_str(if lock.drivers.is_empty() { "  drivers: {}\n" } else { "  drivers:\n" });
    for (name, pins) in &lock.drivers {
        let _ = writeln!(out, "    {name}:{}", if pins.is_empty() { " []" } else { "" });
        for pin in pins {
            let _ = writeln!(out, "      - version: {}\n        digest: {}", pin.version, pin.digest);
            if let Some(name) = &pin.name {
                let _ = writeln!(out, "        name: {}", quoted(name));
            }
            for (field, lines) in [
                ("imports", &pin.imports),
                ("requests", &pin.requested_capabilities),
                ("grants", &pin.grants),
            ] {
                list(&mut out, field, lines);
            }
        }
    }
    out
}

fn list(out: &mut String, field: &str, lines: &BTreeSet<String>) {
    let _ = writeln!(out, "        {field}:{}", if lines.is_empty() { " []" } else { "" });
    for line in lines {
        let _ = writeln!(out, "          - {}", quoted(line));
    }
}

/// Arbitrary text as a YAML string on one line, in ASCII.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            c => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
        }
    }
    out + "\""
}

/// The properties of a version, one line each.
fn lines(pin: &Pin) -> Vec<String> {
    let mut lines = vec![format!("version {}", pin.version), format!("digest {}", pin.digest)];
    lines.extend(pin.name.iter().map(|name| format!("name {name}")));
    for (what, items) in
        [("import", &pin.imports), ("request", &pin.requested_capabilities), ("grant", &pin.grants)]
    {
        lines.extend(items.iter().map(|item| format!("{what} {item}")));
    }
    lines
}

/// The differences between two locks. A version is compared with its most likely predecessor: the
/// same component, or else the same version, or else the only one.
fn changes(before: &Lock, after: &Lock) -> Vec<ApprovalChange> {
    let mut changes = Vec::new();
    let names: BTreeSet<&Arc<str>> = before.drivers.keys().chain(after.drivers.keys()).collect();
    for name in names {
        let of = |lock: &Lock| lock.drivers.get(name).cloned().unwrap_or_default();
        let (mut old, new) = (of(before), of(after));
        let alone = old.len() == 1 && new.len() == 1;
        let mut left = Vec::new();
        let mut pairs = Vec::new();
        for pin in new {
            match old.iter().position(|old| old.digest == pin.digest) {
                Some(at) => pairs.push((Some(old.remove(at)), Some(pin))),
                None => left.push(pin),
            }
        }
        for pin in left {
            let at = old.iter().position(|old| alone || old.version == pin.version);
            pairs.push((at.map(|at| old.remove(at)), Some(pin)));
        }
        pairs.extend(old.into_iter().map(|old| (Some(old), None)));
        for (old, new) in pairs {
            let of = |pin: &Option<Pin>| pin.as_ref().map(lines).unwrap_or_default();
            let (was, is) = (of(&old), of(&new));
            let less = |all: &[String], others: &[String]| -> Vec<String> {
                all.iter().filter(|line| !others.contains(line)).cloned().collect()
            };
            let (removed, added) = (less(&was, &is), less(&is, &was));
            if let Some(pin) =
                new.as_ref().or(old.as_ref()).filter(|_| !removed.is_empty() || !added.is_empty())
            {
                let (driver, version) = (name.to_string(), pin.version.to_string());
                changes.push(ApprovalChange { driver, version, removed, added });
            }
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use purlin_documents::{Input, load};
    use purlin_model::Digest;

    fn pin(version: &str, digest: u8, grants: &[&str]) -> Pin {
        Pin {
            name: Some("acme/\"db\u{202e}".into()),
            version: semver::Version::parse(version).expect("a version"),
            digest: Digest::new([digest; 32]),
            imports: BTreeSet::from(["dirs".to_owned()]),
            requested_capabilities: BTreeSet::from([
                "dirs /a\"\n\u{202e}\u{1b}\u{85}".to_owned(),
                "tcp".to_owned(),
            ]),
            grants: grants.iter().map(ToString::to_string).collect(),
            location: Default::default(),
        }
    }

    fn lock(drivers: &[(&str, &[Pin])]) -> Lock {
        let drivers = drivers.iter().map(|(name, pins)| ((*name).into(), pins.to_vec())).collect();
        Lock { drivers, ..Lock::default() }
    }

    #[test]
    fn a_lock_reads_back() {
        for written in [
            lock(&[]),
            lock(&[
                ("a/none", &[]),
                ("acme/db", &[pin("1.0.0", 1, &[]), pin("2.0.0-rc.1+x", 2, &["env A"])]),
            ]),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let workspace = folder.path().join("purlin.yaml");
            std::fs::write(&workspace, "apiVersion: purlin.dev/v1\nkind: Workspace\n").expect("written");
            let text = text(&written);
            std::fs::write(folder.path().join(LOCK_FILE), &text).expect("written");
            let loaded = load(&[Input::Path(workspace)]);
            assert!(!loaded.has_errors(), "{text}\n{:?}", loaded.diagnostics);
            let read = loaded.workspace.and_then(|workspace| workspace.lock).expect("a lock");
            assert_eq!(changes(&written, &read), []);
            assert_eq!(super::text(&read), text);
            assert!(text.is_ascii());
        }
    }

    #[test]
    fn changes_are_listed_by_version() {
        let change = |version: &str, removed: &[&str], added: &[&str]| {
            let strings = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
            ApprovalChange {
                driver: "a/b".into(),
                version: version.into(),
                removed: strings(removed),
                added: strings(added),
            }
        };
        let one = Digest::new([1; 32]).to_string();
        let two = Digest::new([2; 32]).to_string();
        let (one, two) = (format!("digest {one}"), format!("digest {two}"));
        let of = |before: &[Pin], after: &[Pin]| changes(&lock(&[("a/b", before)]), &lock(&[("a/b", after)]));
        let old = [pin("1.0.0", 1, &["env A"])];
        assert_eq!(of(&old, &old), []);
        assert_eq!(of(&old, &[pin("1.0.0", 2, &["env A"])]), [change("1.0.0", &[&one], &[&two])]);
        assert_eq!(
            of(&old, &[pin("1.1.0", 2, &["env A", "env B"])]),
            [change("1.1.0", &["version 1.0.0", &one], &["version 1.1.0", &two, "grant env B"])]
        );
        assert_eq!(of(&old, &[pin("1.0.0", 1, &[])]), [change("1.0.0", &["grant env A"], &[])]);
        // A version in addition to the old one is entirely new.
        let both = of(&old, &[old[0].clone(), pin("2.0.0", 2, &[])]);
        assert_eq!(both.len(), 1);
        assert_eq!((both[0].version.as_str(), both[0].removed.len(), both[0].added.len()), ("2.0.0", 0, 6));
        // A removed version is reported, and needs no approval.
        let gone = changes(&lock(&[("a/b", &old)]), &lock(&[]));
        assert!(gone[0].added.is_empty() && gone[0].removed.len() == 7, "{gone:?}");
    }
}
