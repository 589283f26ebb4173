//! The notes, as files.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::PathBuf;

use purlin_sdk::Failure;

/// Where a note lies.
pub(crate) fn path(title: &str) -> PathBuf {
    folder().join(format!("{title}.md"))
}

/// The text of a note, without the mark that stands below one that is signed.
pub(crate) fn text(content: &str, signed: bool) -> &str {
    let content = content.strip_suffix('\n').unwrap_or(content);
    match content.rsplit_once('\n') {
        Some((text, last)) if signed && last.starts_with("-- ") => text,
        _ => content,
    }
}

/// What is in a note; none where there is no such note.
pub(crate) fn read(title: &str) -> Result<Option<String>, Failure> {
    granted()?;
    match fs::read(path(title)) {
        Ok(content) => Ok(Some(String::from_utf8_lossy(&content).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(title, "read", &error)),
    }
}

/// Writes a note whole or not at all, even if this is killed.
pub(crate) fn write(title: &str, content: &str) -> Result<(), Failure> {
    granted()?;
    let beside = folder().join(format!(".{title}.tmp"));
    fs::write(&beside, content)
        .and_then(|()| fs::rename(&beside, path(title)))
        .map_err(|error| failed(title, "write", &error))
}

/// Removes a note; one that is gone already is fine.
pub(crate) fn remove(title: &str) -> Result<(), Failure> {
    granted()?;
    // What an interrupted attempt may have left.
    let _ = fs::remove_file(folder().join(format!(".{title}.tmp")));
    match fs::remove_file(path(title)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(title, "remove", &error)),
        _ => Ok(()),
    }
}

fn granted() -> Result<(), Failure> {
    if folder().is_dir() {
        return Ok(());
    }
    Err(Failure::denied(
        "dirs",
        "/notes",
        "notes are kept in this folder",
    ))
}

fn failed(title: &str, what: &str, error: &Error) -> Failure {
    if error.kind() == ErrorKind::PermissionDenied {
        return Failure::denied(
            "dirs",
            "/notes",
            format!("cannot {what} the note `{title}`: {error}"),
        );
    }
    Failure::failed(format!("cannot {what} the note `{title}`: {error}"))
}

#[cfg(not(test))]
fn folder() -> PathBuf {
    "/notes".into()
}

/// Each test has a folder of its own.
#[cfg(test)]
fn folder() -> PathBuf {
    crate::tests::FOLDER.with_borrow(|folder| folder.path().to_owned())
}
