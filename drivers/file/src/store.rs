//! The file system, as far as the operator granted it.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use purlin_sdk::Failure;
use sha2::{Digest, Sha256};

/// Hexadecimal SHA-256.
pub(crate) fn digest(content: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(content))
}

/// An existing file.
pub(crate) struct ExistingFile {
    pub(crate) size: u64,
    /// As [`digest`] writes it.
    pub(crate) sha256: String,
    /// The whole content, unless it is larger than requested.
    pub(crate) content: Option<Vec<u8>>,
}

impl ExistingFile {
    /// Whether the file has exactly this content.
    pub(crate) fn holds(&self, content: &[u8]) -> bool {
        self.size == content.len() as u64 && self.sha256 == digest(content)
    }
}

/// Reads a file of any size and computes its digest; `None` if there is no file. Content of up to
/// `keep` bytes is kept.
pub(crate) fn look(path: &str, keep: usize) -> Result<Option<ExistingFile>, Failure> {
    // Opening a pipe or a device could block forever.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Failure::conflict(format!("`{path}` already exists, and is not a file")));
    }
    match fs::File::open(path).and_then(|file| digest_of(file, keep)) {
        Ok(found) => Ok(Some(found)),
        // From here, a missing file and a folder that was never granted look alike.
        Err(error) if gone(&error) => granted(path).map(|()| None),
        Err(error) => Err(failure(path, "read", &error)),
    }
}

fn digest_of(mut file: fs::File, keep: usize) -> io::Result<ExistingFile> {
    let mut hasher = Sha256::new();
    let (mut size, mut content) = (0u64, Some(Vec::new()));
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let part = buffer.get(..length).unwrap_or_default();
        hasher.update(part);
        size += length as u64;
        content = content.filter(|kept| kept.len() + length <= keep);
        if let Some(kept) = &mut content {
            kept.extend_from_slice(part);
        }
    }
    Ok(ExistingFile { size, sha256: data_encoding::HEXLOWER.encode(&hasher.finalize()), content })
}

/// Writes the whole file or nothing, even if the process is killed: a temporary file beside it
/// takes its place once it is on disk. The next attempt overwrites the remains of a killed one.
pub(crate) fn write(path: &str, content: &[u8], mode: Option<u32>) -> Result<(), Failure> {
    granted(path)?;
    let target = Path::new(path);
    if let Some(folder) = folder(target) {
        fs::create_dir_all(folder).map_err(|error| failure(path, "make the folder of", &error))?;
    }
    let temporary = temporary(target);
    let written = write_new(&temporary, content)
        .and_then(|()| set_mode(&temporary, mode))
        .and_then(|()| fs::rename(&temporary, target));
    written.map(|()| settle(target)).map_err(|error| {
        // The remains are useless; failing to remove them changes nothing.
        let _ = fs::remove_file(&temporary);
        failure(path, "write", &error)
    })
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if !gone(&error) => return Err(error),
        _ => {}
    }
    // Never through a link that somebody created there.
    let mut file = fs::File::options().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Writes the new entry of the folder to disk too, if the system can. The file is intact either
/// way, and `read` reports if it is missing after a power failure.
fn settle(target: &Path) {
    let folder = folder(target).unwrap_or(Path::new("."));
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
}

/// Removes the file and the remains of a killed attempt; a missing file is a success.
pub(crate) fn remove(path: &str) -> Result<(), Failure> {
    // The temporary file is useless; whether it existed changes nothing.
    let _ = fs::remove_file(temporary(Path::new(path)));
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if gone(&error) => granted(path),
        Err(error) => Err(failure(path, "remove", &error)),
    }
}

fn folder(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty())
}

fn temporary(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".purlin-new");
    target.with_file_name(name)
}

fn gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Fails unless some folder above the path is visible, which is so only within a grant.
fn granted(path: &str) -> Result<(), Failure> {
    let path_parts = Path::new(path).ancestors().skip(1);
    let seen = |folder: &Path| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        fs::metadata(folder).is_ok()
    };
    if path_parts.into_iter().any(seen) { Ok(()) } else { Err(denied(path)) }
}

fn denied(path: &str) -> Failure {
    let folder = folder(Path::new(path)).map_or_else(|| ".".into(), Path::to_string_lossy);
    Failure::denied(
        "dirs",
        folder,
        format!("to write `{path}`, a grant of a folder that contains it is needed, with mode `rw`"),
    )
}

fn failure(path: &str, what: &str, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => denied(path),
        // Outside of every grant there is no file system.
        _ if granted(path).is_err() => denied(path),
        _ => Failure::failed(format!("could not {what} `{path}`: {error}")),
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: Option<u32>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    match mode {
        Some(mode) => fs::set_permissions(path, fs::Permissions::from_mode(mode)),
        None => Ok(()),
    }
}

/// WASI has no permission bits.
#[cfg(not(unix))]
fn set_mode(path: &Path, mode: Option<u32>) -> io::Result<()> {
    if mode.is_some() {
        purlin_sdk::log::debug(format!(
            "the mode of {} is set by the system: WASI does not support modes",
            path.display()
        ));
    }
    Ok(())
}
