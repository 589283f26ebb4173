//! The store's folder: one process at a time, and a format that is understood.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::files;
use crate::{Error, Holder};

/// The format of the folder that is written, and the newest that is read.
const FORMAT: u32 = 1;

/// How often to look whether another process is done.
const PATIENCE: Duration = Duration::from_millis(10);

/// A folder that is ours until this is dropped or the process is gone: the system lets go of the
/// lock of a dead process by itself.
pub(crate) struct Folder {
    path: PathBuf,
    lock: File,
    /// Whether the store was made just now.
    pub(crate) fresh: bool,
}

impl Folder {
    /// Makes the folder where it is not there, and takes it.
    pub(crate) fn open(path: &Path, holder: &Holder, wait: Duration) -> Result<Self, Error> {
        let above_is_fresh = !path.exists();
        files::private_folder(path)?;
        let lock = take(path, wait)?;
        // Before the holder's file: nothing is written into a newer folder.
        let fresh = check_format(path)?;
        let folder = Self { path: path.into(), lock, fresh };
        folder.announce(holder)?;
        if fresh {
            files::private_folder(&folder.sled())?;
            files::replace_private(&path.join("format"), format!("{FORMAT}\n").as_bytes())?;
        }
        if above_is_fresh {
            files::sync_folder(files::folder_of(path))?;
        }
        files::close_to_others(&folder.sled())?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn sled(&self) -> PathBuf {
        self.path.join("sled")
    }

    /// A folder for what a crash left behind.
    pub(crate) fn stale(&self) -> PathBuf {
        self.path.join("stale")
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
                    let holder = fs::read(folder.join("holder.json")).ok();
                    let holder = holder.and_then(|text| serde_json::from_slice(&text).ok());
                    return Err(Error::Busy { folder: folder.into(), holder });
                }
                sleep(left.min(PATIENCE));
            }
        }
    }
}

/// Checks that the folder's format is understood; says whether there is no store yet.
fn check_format(folder: &Path) -> Result<bool, Error> {
    let path = folder.join("format");
    let corrupt = |detail: &str| Error::Corrupt { folder: folder.into(), detail: detail.into() };
    match fs::read_to_string(&path) {
        Ok(text) => match text.trim().parse::<u32>() {
            Ok(FORMAT) => Ok(false),
            Ok(found) if found > FORMAT => {
                let what = format!("the state in `{}`", folder.display());
                Err(Error::Newer { what, found, supported: FORMAT })
            }
            _ => Err(corrupt("its file `format` holds no format of purlin")),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // The format is written before the first record.
            if folder.join("sled").join("db").exists() {
                return Err(corrupt(
                    "its file `format` is missing; with the format of this version it holds `1`",
                ));
            }
            Ok(true)
        }
        Err(error) => Err(Error::io("read", &path)(error)),
    }
}
