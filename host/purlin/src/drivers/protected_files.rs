//! The operator's files, which no driver may write to: a driver that could write `purlin.yaml`
//! would decide which programs Purlin runs and what drivers may do, and one that could write the
//! state would decide what Purlin deletes.

use std::path::{Path, PathBuf};

use purlin_documents::{LOCK_FILE, WORKSPACE_FILE};
use purlin_files::{real, walk};
use purlin_model::{DirGrant, DriverSource, Grants, KeySource, SecretStoreKind, Workspace};

/// A file or folder of the operator, with its name for messages.
#[derive(Clone, Debug)]
pub(crate) struct ProtectedFile {
    path: PathBuf,
    name: &'static str,
    /// Whether its content belongs to it.
    whole: bool,
}

impl ProtectedFile {
    /// The files and folders that a workspace uses and names, with its state, its cache, and its
    /// key if that is in a file.
    pub(crate) fn all(workspace: &Workspace, state: &Path, cache: &Path, key: Option<&Path>) -> Vec<Self> {
        let of = |path: &Path, name| Self { path: real(path), name, whole: true };
        let at = |path: &Path| workspace.folder.join(path);
        let mut all = vec![
            of(&at(WORKSPACE_FILE.as_ref()), WORKSPACE_FILE),
            of(&at(LOCK_FILE.as_ref()), LOCK_FILE),
            of(state, "the state"),
            of(cache, "the compiled drivers"),
        ];
        all.extend(key.map(|key| of(key, "the key of the state")));
        // Existing programs, and the files among their arguments.
        let words = |words: &mut dyn Iterator<Item = &String>| -> Vec<Self> {
            let files = words.map(|word| at(word.as_ref())).filter(|path| path.is_file());
            files.map(|path| of(&path, "a command that Purlin runs")).collect()
        };
        match &workspace.key {
            Some(KeySource::File(path)) => all.push(of(&at(path), "the key of the state")),
            Some(KeySource::Command(command)) => all.extend(words(&mut command.iter())),
            _ => {}
        }
        for store in workspace.secret_stores.values() {
            match &store.kind {
                SecretStoreKind::File(path) => all.push(of(&at(path), "a store of secrets")),
                SecretStoreKind::Command(command) => {
                    all.extend(words(&mut [&command.program].into_iter().chain(&command.arguments)));
                }
                SecretStoreKind::Env(_) | SecretStoreKind::Driver(_) => {}
            }
        }
        for config in workspace.drivers.values() {
            if let Some(DriverSource::Path(path)) = &config.source {
                all.push(Self { whole: false, ..of(&at(path), "the component of a driver") });
            }
            all.extend(config.grants.ca.iter().map(|path| of(&at(path), "a trusted certificate")));
        }
        all
    }

    /// The name of the first file or folder that a driver could write to with a grant. The folder
    /// of the grant is relative to `folder`.
    pub(super) fn within<'a>(all: &'a [Self], grant: &DirGrant, folder: &Path) -> Option<&'a str> {
        if !grant.writable {
            return None;
        }
        let granted = real(&folder.join(&grant.host));
        let reached =
            |kept: &&Self| kept.path.starts_with(&granted) || kept.whole && granted.starts_with(&kept.path);
        all.iter().find(reached).map(|kept| kept.name)
    }
}

/// A link in the path of a granted folder that another driver may have created, because it is in a
/// folder that this driver can write to.
pub(super) fn link_of_a_driver<'a>(
    grant: &DirGrant,
    others: impl Iterator<Item = &'a Grants>,
    folder: &Path,
) -> Option<PathBuf> {
    let writable = others.flat_map(|grants| &grants.dirs).filter(|other| other.writable);
    let writable: Vec<PathBuf> = writable.map(|other| real(&folder.join(&other.host))).collect();
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.file_type().is_symlink());
    walk(&folder.join(&grant.host), |there, next| {
        writable.iter().any(|writable| there.starts_with(writable)) && is_link(next)
    })
    .err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_overlap_the_operators_files_are_detected() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("app/.purlin")).expect("made");
        std::fs::create_dir_all(at("app/out")).expect("made");
        let workspace = Workspace { folder: at("app"), ..Workspace::default() };
        let all = ProtectedFile::all(&workspace, &at("app/.purlin"), &at("cache"), Some(&at("keys/one")));
        let within = |host: &str, writable: bool| {
            let grant = DirGrant { host: host.into(), writable, ..DirGrant::default() };
            ProtectedFile::within(&all, &grant, &at("app")).map(str::to_owned)
        };
        for (host, kept) in [
            (".", Some("purlin.yaml")),
            ("..", Some("purlin.yaml")),
            ("out/..", Some("purlin.yaml")),
            ("/", Some("purlin.yaml")),
            (".purlin", Some("the state")),
            (".purlin/new/folder", Some("the state")),
            ("../cache", Some("the compiled drivers")),
            ("../keys", Some("the key of the state")),
            ("out", None),
            ("new", None),
            ("../apple", None),
        ] {
            assert_eq!(within(host, true).as_deref(), kept, "{host}");
            assert_eq!(within(host, false), None, "{host}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("app"), at("app/out/link")).expect("a link");
            assert_eq!(within("out/link", true).as_deref(), Some("purlin.yaml"));
        }
    }

    #[test]
    fn files_that_the_workspace_names_are_protected() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        for made in ["bin", "vault", "drivers"] {
            std::fs::create_dir(at(made)).expect("made");
        }
        std::fs::write(at("bin/key"), "").expect("written");
        let store = purlin_model::SecretStore {
            kind: SecretStoreKind::File("vault".into()),
            location: purlin_model::Location::default(),
        };
        let config = purlin_model::DriverConfig {
            source: Some(DriverSource::Path("drivers".into())),
            ..purlin_model::DriverConfig::default()
        };
        let workspace = Workspace {
            folder: folder.path().to_owned(),
            key: Some(KeySource::Command(vec!["bin/key".into(), "--print".into()])),
            secret_stores: [("vault".into(), store)].into_iter().collect(),
            drivers: [("acme/x".into(), config)].into_iter().collect(),
            ..Workspace::default()
        };
        let all = ProtectedFile::all(&workspace, &at("s"), &at("c"), None);
        for (host, kept) in [
            ("bin", Some("a command that Purlin runs")),
            ("vault/in", Some("a store of secrets")),
            ("drivers", Some("the component of a driver")),
            ("drivers/out", None),
        ] {
            let grant = DirGrant { host: host.into(), writable: true, ..DirGrant::default() };
            assert_eq!(ProtectedFile::within(&all, &grant, folder.path()), kept, "{host}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_a_driver_may_have_created_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("out/real")).expect("made");
        std::os::unix::fs::symlink("../elsewhere", at("out/link")).expect("a link");
        std::os::unix::fs::symlink("out", at("mine")).expect("a link");
        let dir = |host: &str| DirGrant { host: host.into(), writable: true, ..DirGrant::default() };
        let others = [Grants { dirs: vec![dir("out")], ..Grants::default() }];
        let link = |host: &str| link_of_a_driver(&dir(host), others.iter(), folder.path());
        let real = folder.path().canonicalize().expect("there");
        assert_eq!(link("out/link/x"), Some(real.join("out/link")));
        assert_eq!(link("mine/link"), Some(real.join("out/link")));
        for fine in ["out/real", "mine/real", "mine", "out", "else"] {
            assert_eq!(link(fine), None, "{fine}");
        }
    }
}
