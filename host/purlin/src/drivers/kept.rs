//! What no driver may write to: the operator's own files. Whoever writes `purlin.yaml` decides which
//! programs Purlin runs and what drivers may do, and whoever writes the state what Purlin deletes.

use std::path::{Component, Path, PathBuf};

use purlin_documents::{LOCK_FILE, WORKSPACE_FILE};
use purlin_model::{DirGrant, Workspace};

/// Something of the operator's, and what people call it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    name: &'static str,
}

impl Kept {
    /// What a workspace has, with its state, its cache and its key where they lie in files.
    pub(crate) fn all(workspace: &Workspace, state: &Path, cache: &Path, key: Option<&Path>) -> Vec<Self> {
        let of = |path: PathBuf, name| Self { path: real(&path), name };
        let mut all = vec![
            of(workspace.folder.join(WORKSPACE_FILE), WORKSPACE_FILE),
            of(workspace.folder.join(LOCK_FILE), LOCK_FILE),
            of(state.to_owned(), "the state"),
            of(cache.to_owned(), "the compiled drivers"),
        ];
        all.extend(key.map(|key| of(key.to_owned(), "the key of the state")));
        all
    }

    /// What of all this a driver could write to with a grant, whose folder is relative to this one.
    pub(super) fn within<'a>(all: &'a [Self], grant: &DirGrant, folder: &Path) -> Option<&'a str> {
        if !grant.writable {
            return None;
        }
        let granted = real(&folder.join(&grant.host));
        let reached = |kept: &&Self| kept.path.starts_with(&granted) || granted.starts_with(&kept.path);
        all.iter().find(reached).map(|kept| kept.name)
    }
}

/// The path without links and dots, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut there = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                there.pop();
            }
            part => there.push(part),
        }
        if let Ok(real) = there.canonicalize() {
            there = real;
        }
    }
    there
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_or_lies_in_what_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("app/.purlin")).expect("made");
        std::fs::create_dir_all(at("app/out")).expect("made");
        let workspace = Workspace { folder: at("app"), ..Workspace::default() };
        let all = Kept::all(&workspace, &at("app/.purlin"), &at("cache"), Some(&at("keys/one")));
        let within = |host: &str, writable: bool| {
            let grant = DirGrant { host: host.into(), writable, ..DirGrant::default() };
            Kept::within(&all, &grant, &at("app")).map(str::to_owned)
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
}
