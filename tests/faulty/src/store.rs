//! The store: one file per object.

use std::fs;
use std::io::{ErrorKind, Write as _};

use crate::Wanted;
use purlin_sdk::bindings::purlin::driver::types::{Denial, Failure};

pub(crate) const FOLDER: &str = "/things";

pub(crate) fn granted() -> bool {
    fs::metadata(FOLDER).is_ok()
}

pub(crate) fn denied() -> Failure {
    let message = "things are kept there".to_owned();
    Failure::Denied(Denial { capability: "dirs".into(), target: FOLDER.into(), message })
}

pub(crate) fn fits(title: &str) -> bool {
    !title.is_empty()
        && title.len() <= 64
        && title.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn path(title: &str) -> String {
    format!("{FOLDER}/{title}")
}

fn failed(error: std::io::Error) -> Failure {
    Failure::Failed(error.to_string().into())
}

pub(crate) fn exists(title: &str) -> bool {
    fs::metadata(path(title)).is_ok()
}

/// How often [`look`] finds an object that is not ready.
const LOOKS: usize = 3;

/// Lets an object be ready only after some looks.
pub(crate) fn begin(title: &str) -> Result<(), Failure> {
    fs::write(path(&format!(".looks-{title}")), "").map_err(failed)
}

/// Looks whether an object is ready: `None`, or the number of earlier looks.
pub(crate) fn look(title: &str) -> Result<Option<usize>, Failure> {
    let mark = path(&format!(".looks-{title}"));
    let Ok(looks) = fs::read_to_string(&mark) else { return Ok(None) };
    if looks.len() < LOOKS {
        fs::write(&mark, format!("{looks}.")).map_err(failed)?;
        return Ok(Some(looks.len()));
    }
    fs::remove_file(mark).map_err(failed)?;
    Ok(None)
}

pub(crate) fn read(title: &str) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path(title)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Writes the whole object or nothing.
pub(crate) fn write(wanted: &Wanted) -> Result<(), Failure> {
    let beside = path(&format!(".{}", wanted.title));
    fs::write(&beside, &wanted.text).map_err(failed)?;
    fs::rename(&beside, path(&wanted.title)).map_err(failed)
}

/// Writes half of it, then the whole.
pub(crate) fn write_in_two(wanted: &Wanted) -> Result<(), Failure> {
    let (first, second) = wanted.text.split_at(wanted.text.len() / 2);
    let mut file = fs::File::create(path(&wanted.title)).map_err(failed)?;
    file.write_all(first.as_bytes()).map_err(failed)?;
    file.write_all(second.as_bytes()).map_err(failed)
}

pub(crate) fn remove(title: &str) -> Result<(), Failure> {
    match fs::remove_file(path(title)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(()),
    }
}

/// Creates a mark; fails if there is one with the same words.
pub(crate) fn only(mark: &str, words: &str) -> Result<(), Failure> {
    if is_marked(mark, words) {
        return Err(Failure::Conflict("an earlier attempt is not finished".into()));
    }
    fs::write(path(mark), words).map_err(failed)
}

/// Whether there is a mark with these words.
pub(crate) fn is_marked(mark: &str, words: &str) -> bool {
    fs::read_to_string(path(mark)).is_ok_and(|left| left == words)
}

/// Creates a mark.
pub(crate) fn mark(mark: &str) -> Result<(), Failure> {
    fs::write(path(mark), "").map_err(failed)
}

/// Whether this is the first call with this title.
pub(crate) fn first_time(title: &str) -> Result<bool, Failure> {
    let mark = path(&format!(".asked-{title}"));
    if fs::metadata(&mark).is_ok() {
        return Ok(false);
    }
    fs::write(mark, "").map(|()| true).map_err(failed)
}
