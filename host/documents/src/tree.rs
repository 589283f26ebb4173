//! Paths in documents stay within a tree of folders: an author of a document cannot use it to read
//! files outside its tree.

use std::path::{Component, Path, PathBuf};

use crate::walk;

/// Why a file was not read.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
}

pub(crate) fn unread(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> Unread {
    Unread { code, message: message.into(), help: help.into() }
}

/// A file that the system does not allow to be read.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Unread {
    let (message, help) = walk::unreadable_words(path, error);
    unread("unreadable-file", message, help)
}

/// Resolves a path in a document of `folder`: to a regular file in `tree`, with links resolved.
/// `help` says how to correct it.
///
/// # Errors
/// If it is absolute, leaves the tree by `..` or by a link, or leads to something else.
pub(crate) fn regular_file(
    tree: &Path,
    folder: &Path,
    written: &Path,
    help: &str,
) -> Result<PathBuf, Unread> {
    let shown = written.display();
    let outside = |how: &str| unread("outside-path", format!("`{shown}` {how}"), help);
    if written.is_absolute() || written.has_root() {
        return Err(outside("leads out of the folder"));
    }
    let written_path = folder.join(written);
    let failed = |error: &std::io::Error| unreadable(&written_path, error);
    let tree = real(tree).map_err(|error| failed(&error))?;
    // First lexically: files outside are not even searched.
    let mut plain = real(folder).map_err(|error| failed(&error))?;
    for part in written.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
        if !plain.starts_with(&tree) {
            return Err(outside("leads out of the folder"));
        }
    }
    let path = plain.canonicalize().map_err(|error| failed(&error))?;
    if !path.starts_with(&tree) {
        return Err(outside("is a link that leads out of the folder"));
    }
    // Checked before opening, which would wait for the other end of a pipe.
    let metadata = path.metadata().map_err(|error| failed(&error))?;
    match metadata.is_file() {
        true => Ok(path),
        false => Err(unread("unreadable-file", format!("`{shown}` is not a regular file"), help)),
    }
}

fn real(folder: &Path) -> std::io::Result<PathBuf> {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize()
}

/// The tree that the paths of a document in `folder` stay in: the workspace that it belongs to, if
/// `accepts` accepts its file, the folder among `named` in which it was found, or else its own folder.
pub(crate) fn around(folder: &Path, named: &[PathBuf], accepts: impl Fn(&Path) -> bool) -> PathBuf {
    let Ok(real) = real(folder) else { return folder.to_path_buf() };
    let file = |folder: &&Path| folder.join(walk::WORKSPACE_FILE);
    let nearest = real.ancestors().find(|folder| file(folder).is_file());
    let workspace = nearest.filter(|folder| accepts(&file(folder)));
    let named = named.iter().map(PathBuf::as_path).filter(|named| real.starts_with(named));
    let widest = named.chain(workspace).min_by_key(|folder| folder.components().count());
    widest.map_or_else(|| real.clone(), Path::to_path_buf)
}
