//! Writes files and folders that are complete, durable and private.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::Error;

/// Creates a folder that only its owner can enter, with its parent folders. Existing folders stay
/// unchanged.
pub(crate) fn private_folder(path: &Path) -> Result<(), Error> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(Error::io("make the folder", path))
}

/// Makes the entries of a folder durable. Systems that cannot sync folders do this on their own.
pub(crate) fn sync_folder(path: &Path) -> Result<(), Error> {
    purlin_files::sync_folder(path).map_err(Error::io("make durable the folder", path))
}

/// Writes a file that only its owner can read. It atomically and durably replaces an existing one.
pub(crate) fn replace_private(path: &Path, content: &[u8]) -> Result<(), Error> {
    let new = write_beside(path, content)?;
    fs::rename(&new, path).map_err(Error::io("write", path))?;
    sync_folder(folder_of(path))
}

/// Writes such a file unless one exists. Returns whether it did.
pub(crate) fn create_private(path: &Path, content: &[u8]) -> Result<bool, Error> {
    let new = write_beside(path, content)?;
    let made = match fs::hard_link(&new, path) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        // The file system has no hard links. The store is locked, so no other process creates the
        // file in between.
        Err(_) if path.exists() => false,
        Err(_) => {
            fs::rename(&new, path).map_err(Error::io("write", path))?;
            sync_folder(folder_of(path))?;
            return Ok(true);
        }
    };
    fs::remove_file(&new).map_err(Error::io("remove", &new))?;
    sync_folder(folder_of(path))?;
    Ok(made)
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Moves a file or folder of a store to its folder `stale`, under an unused name. Returns the new
/// path.
pub(crate) fn set_aside(folder: &Path, what: &Path) -> Result<PathBuf, Error> {
    let stale = folder.join("stale");
    private_folder(&stale)?;
    let to = free_name(&stale, what);
    fs::rename(what, &to).map_err(Error::io("move away", what))?;
    Ok(to)
}

/// Creates a file that only its owner can read, replacing an existing one.
pub(crate) fn private_file(path: &Path) -> Result<File, Error> {
    let _ = fs::remove_file(path);
    let mut options = OpenOptions::new();
    purlin_files::open_to_write(path, options.read(true).create_new(true)).map_err(Error::io("write", path))
}

fn write_beside(path: &Path, content: &[u8]) -> Result<PathBuf, Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = path.with_file_name(name);
    let mut file = private_file(&new)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(Error::io("write", &new))?;
    Ok(new)
}

/// Copies a file into a folder under an unused name, and makes the copy durable. Returns its path.
pub(crate) fn copy_into(folder: &Path, file: &Path) -> Result<PathBuf, Error> {
    private_folder(folder)?;
    let to = free_name(folder, file);
    let mut new = private_file(&to)?;
    let mut old = purlin_files::open(file).map_err(Error::io("open", file))?;
    std::io::copy(&mut old, &mut new).map_err(Error::io("copy", file))?;
    new.sync_all().map_err(Error::io("make durable", &to))?;
    sync_folder(folder)?;
    Ok(to)
}

/// An unused name in a folder, as similar as possible to the name of a file.
fn free_name(folder: &Path, file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_owned();
    let mut to = folder.join(&name);
    for number in 2.. {
        if !to.exists() {
            break;
        }
        let mut other = name.clone();
        other.push(format!("-{number}"));
        to = folder.join(other);
    }
    to
}
