//! The store's folder: one process at a time, and a format that is understood.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::files;
use crate::probe::Probed;
use crate::{Error, Holder};

/// The format of the folder that is written, and the newest that is read.
pub(super) const FORMAT: u32 = 4;

/// No small file of the folder is larger, in bytes.
const SMALL: u64 = 1 << 16;

/// How often to look whether another process is done.
const PATIENCE: Duration = Duration::from_millis(10);

/// A folder that is ours until this is dropped or the process is gone: the system lets go of the
/// lock of a dead process by itself.
pub(crate) struct Folder {
    path: PathBuf,
    lock: File,
    /// What was found.
    found: Found,
    /// The folders in which a folder was made just now.
    grown: Vec<PathBuf>,
}

/// What a folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// No format: no store yet, or one that was being made.
    Nothing,
    /// Entries in sled, and no journal.
    Version1,
    /// The same files as now, with entries of an earlier version.
    Older,
    Current,
}

impl Folder {
    /// Makes the folder where it is not there, and takes it.
    pub(crate) fn open(path: &Path, holder: &Holder, wait: Duration) -> Result<Self, Error> {
        let made = path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let grown = made.map(|path| files::folder_of(path).to_owned()).collect();
        files::private_folder(path)?;
        let lock = take(path, wait)?;
        // Before the holder's file: nothing is written into a newer folder.
        let found = check_format(path)?;
        let folder = Self { path: path.into(), lock, found, grown };
        folder.announce(holder)?;
        Ok(folder)
    }

    /// Takes a folder whatever format it has, to repair what is in it.
    pub(crate) fn open_broken(path: &Path, holder: &Holder, wait: Duration) -> Result<Self, Error> {
        let lock = take(path, wait)?;
        let found = match check_format(path) {
            Ok(found) => found,
            Err(error @ Error::Newer { .. }) => return Err(error),
            Err(_) => Found::Nothing,
        };
        let folder = Self { path: path.into(), lock, found, grown: Vec::new() };
        folder.announce(holder)?;
        Ok(folder)
    }

    /// Whether there is no store yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.found == Found::Nothing
    }

    /// Whether version 1 wrote it.
    pub(crate) fn is_version_1(&self) -> bool {
        self.found == Found::Version1
    }

    /// Notes the format, now that there is a journal.
    pub(crate) fn establish(&self, probe: &Probed) -> Result<(), Error> {
        if self.found == Found::Current {
            return Ok(());
        }
        probe.at("folder: before the format is written");
        files::replace_private(&self.path.join("format"), format!("{FORMAT}\n").as_bytes())?;
        for folder in &self.grown {
            files::sync_folder(folder)?;
        }
        probe.at("folder: after the format is written");
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn announce(&self, holder: &Holder) -> Result<(), Error> {
        let path = self.path.join("holder.json");
        let text = serde_json::to_vec(holder).unwrap_or_default();
        // Readers take a torn file for none; it need not survive a crash.
        fs::write(&path, text).map_err(Error::io("write", &path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.path.join("holder.json"));
        let _ = self.lock.unlock();
    }
}

fn take(folder: &Path, wait: Duration) -> Result<File, Error> {
    let path = folder.join("lock");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(Error::io("open", &path))?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path)(source)),
            Err(TryLockError::WouldBlock) => {
                let left = wait.saturating_sub(start.elapsed());
                if left.is_zero() {
                    let holder = purlin_files::read(&folder.join("holder.json"), SMALL).ok();
                    let holder = holder.and_then(|text| serde_json::from_slice(&text).ok());
                    return Err(Error::Busy { folder: folder.into(), holder });
                }
                sleep(left.min(PATIENCE));
            }
        }
    }
}

/// Checks that the folder's format is understood.
fn check_format(folder: &Path) -> Result<Found, Error> {
    let path = folder.join("format");
    let corrupt = |detail: &str| Error::Corrupt { folder: folder.into(), detail: detail.into() };
    match purlin_files::read_text(&path, SMALL) {
        Ok(text) => match text.trim().parse::<u32>() {
            Ok(FORMAT) => Ok(Found::Current),
            Ok(1) => Ok(Found::Version1),
            Ok(2 | 3) => Ok(Found::Older),
            Ok(found) if found > FORMAT => {
                let what = format!("the state in `{}`", folder.display());
                Err(Error::Newer { what, found, supported: FORMAT })
            }
            _ => Err(corrupt("its file `format` holds no format of purlin; see `purlin state repair`")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A journal says itself what it is, and is written before the format.
            if folder.join("sled").join("db").exists() && !folder.join("journal").exists() {
                return Err(corrupt("its file `format` is missing; see `purlin state repair`"));
            }
            Ok(Found::Nothing)
        }
        Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::FileTooLarge) => {
            Err(corrupt("its file `format` holds no format of purlin; see `purlin state repair`"))
        }
        Err(error) => Err(Error::io("read", &path)(error)),
    }
}
