//! The notes, as files.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::PathBuf;

use purlin_sdk::Failure;

/// The path of a note.
pub(crate) fn path(title: &str) -> PathBuf {
    folder().join(format!("{title}.md"))
}

/// The text of a note, without the signature, if any.
pub(crate) fn text(content: &str, signed: bool) -> &str {
    let content = content.strip_suffix('\n').unwrap_or(content);
    match content.rsplit_once('\n') {
        Some((text, last)) if signed && last.starts_with("-- ") => text,
        _ => content,
    }
}

/// The content of a note; none if it does not exist.
pub(crate) fn read(title: &str) -> Result<Option<String>, Failure> {
    granted()?;
    match fs::read(path(title)) {
        Ok(content) => Ok(Some(String::from_utf8_lossy(&content).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(title, "read", &error)),
    }
}

/// Writes a note completely or not at all, even if the process is killed.
pub(crate) fn write(title: &str, content: &str) -> Result<(), Failure> {
    granted()?;
    let beside = folder().join(format!(".{title}.tmp"));
    fs::write(&beside, content)
        .and_then(|()| fs::rename(&beside, path(title)))
        .map_err(|error| failed(title, "write", &error))
}

/// Removes a note; a missing one is fine.
pub(crate) fn remove(title: &str) -> Result<(), Failure> {
    granted()?;
    // Possible remains of an interrupted attempt.
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
        .with_detail("code", format!("{:?}", error.kind()))
}

#[cfg(not(test))]
fn folder() -> PathBuf {
    "/notes".into()
}

/// Each test has a separate folder.
#[cfg(test)]
fn folder() -> PathBuf {
    crate::tests::FOLDER.with_borrow(|folder| folder.path().to_owned())
}
