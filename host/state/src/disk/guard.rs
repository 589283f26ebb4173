//! Protects against sled, which panics on files that it does not understand.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::Error;

/// Runs code that calls sled, and converts panics and sled's errors into errors of the store.
///
/// Data that the closure leaves inconsistent after a panic belongs to sled, and is not used again,
/// since the caller gives up the database.
pub(super) fn guarded<T>(folder: &Path, call: impl FnOnce() -> Result<T, sled::Error>) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(sled::Error::Io(source))) => Err(Error::io("use", folder)(source)),
        Ok(Err(error)) => Err(Error::Corrupt { folder: folder.into(), detail: error.to_string() }),
        Err(panic) => Err(Error::Corrupt { folder: folder.into(), detail: message(&*panic).into() }),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("its files are invalid")
}
