//! The store's folder: its format, and the locks on it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::environment_folder::EnvironmentFolder;
use super::{files, journal};
use crate::probe::Probed;
use crate::{Environment, Error, Holder};

/// The format of the folder. A newer one is rejected.
const FORMAT: u32 = 1;

/// The maximum size of the small files in the folder, in bytes.
pub(super) const SMALL: u64 = 1 << 16;

/// The file that names the holder of a folder. It is removed with the lock, unless the holder is
/// killed.
pub(super) const HOLDER: &str = "holder.json";

/// The interval between attempts to take a lock.
const PATIENCE: Duration = Duration::from_millis(10);

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    Shared,
    Alone,
}

/// The format of the folder of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderFormat {
    /// No format: there is no store, or its creation was interrupted.
    Nothing,
    /// The format that this program writes.
    Current,
}

/// The folder of a store.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    path: PathBuf,
}

impl Root {
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.into() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file with the data keys.
    pub(crate) fn vault(&self) -> PathBuf {
        self.path.join("data-key")
    }

    /// The folder of the environments.
    pub(crate) fn environments(&self) -> PathBuf {
        self.path.join("environments")
    }

    /// The folder of the reserved vacancies.
    pub(crate) fn vacancies(&self) -> PathBuf {
        self.path.join("vacancies")
    }

    /// Determines the content of the folder. Writes nothing.
    pub(crate) fn format(&self) -> Result<FolderFormat, Error> {
        let path = self.path.join("format");
        let corrupt = |detail: &str| Error::Corrupt { folder: self.path.clone(), detail: detail.into() };
        match purlin_files::read_text(&path, SMALL) {
            Ok(text) => match text.trim().parse::<u32>() {
                Ok(FORMAT) => Ok(FolderFormat::Current),
                Ok(found) if found > FORMAT => {
                    let what = format!("the state in `{}`", self.path.display());
                    Err(Error::Newer { what, found, supported: FORMAT })
                }
                _ => {
                    Err(corrupt("its file `format` contains no format of Purlin; see `purlin state repair`"))
                }
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Journals contain their own format.
                match self.environments().exists() {
                    true => Ok(FolderFormat::Current),
                    false => Ok(FolderFormat::Nothing),
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::FileTooLarge) => {
                Err(corrupt("its file `format` contains no format of Purlin; see `purlin state repair`"))
            }
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    /// Creates the folder and notes its format, unless that was done before.
    pub(crate) fn establish(&self, probe: &Probed) -> Result<(), Error> {
        let path = self.path.join("format");
        if path.exists() {
            return Ok(());
        }
        self.make()?;
        probe.at("folder: before the format is written");
        files::replace_private(&path, format!("{FORMAT}\n").as_bytes())?;
        probe.at("folder: after the format is written");
        Ok(())
    }

    /// Notes the current format, replacing any earlier note.
    pub(crate) fn note_format(&self) -> Result<(), Error> {
        files::replace_private(&self.path.join("format"), format!("{FORMAT}\n").as_bytes())
    }

    fn make(&self) -> Result<(), Error> {
        let made = self.path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let grown: Vec<PathBuf> = made.map(|path| files::folder_of(path).to_owned()).collect();
        files::private_folder(&self.path)?;
        grown.iter().try_for_each(|folder| files::sync_folder(folder))
    }

    /// Waits until no process has locked the whole store, and prevents that until the returned file
    /// is dropped.
    pub(crate) fn share(&self, wait: Duration) -> Result<File, Error> {
        self.make()?;
        let path = self.path.join("lock");
        let file = open_lock(&path)?;
        match take(&file, &path, Hold::Shared, wait)? {
            true => {
                self.sync_after_kill()?;
                let _ = fs::remove_file(self.path.join(HOLDER));
                Ok(file)
            }
            false => Err(Error::Busy { folder: self.path.clone(), holder: self.holder() }),
        }
    }

    /// Waits until no process writes, and prevents writing until the returned guard is dropped.
    pub(crate) fn alone(&self, holder: &Holder, wait: Duration) -> Result<Alone, Error> {
        let path = self.path.join("lock");
        let lock = open_lock(&path)?;
        match take(&lock, &path, Hold::Alone, wait)? {
            true => {
                self.sync_after_kill()?;
                announce(&self.path, holder)?;
                Ok(Alone { path: self.path.clone(), lock })
            }
            false => Err(Error::Busy { folder: self.path.clone(), holder: self.holder() }),
        }
    }

    /// Syncs the files of a process that was killed while it had locked the whole store or one of its
    /// environments. They may be complete but not yet durable, and everything that is written or
    /// reported from now on depends on them.
    fn sync_after_kill(&self) -> Result<(), Error> {
        let all = self.path.join(HOLDER).exists();
        let mut folders = self.folders()?;
        folders.retain(|folder| all || folder.join(HOLDER).exists());
        for folder in &folders {
            journal::sync_all(folder)?;
            files::sync_folder(folder)?;
        }
        if all || !folders.is_empty() { self.sync_names() } else { Ok(()) }
    }

    /// Makes the names of the environments, the format and the keys durable.
    pub(super) fn sync_names(&self) -> Result<(), Error> {
        if self.environments().exists() {
            files::sync_folder(&self.environments())?;
        }
        files::sync_folder(&self.path)
    }

    /// The process that has locked the whole store, or that writes to one of its environments.
    fn holder(&self) -> Option<Box<Holder>> {
        let here = holder_in(&self.path);
        here.or_else(|| {
            let entries = fs::read_dir(self.environments()).ok()?;
            entries.filter_map(Result::ok).find_map(|entry| holder_in(&entry.path()))
        })
    }

    /// The place of an environment, whether or not it exists.
    pub(crate) fn place(&self, environment: &Environment) -> EnvironmentFolder {
        EnvironmentFolder::in_folder(&self.environments(), environment)
    }

    /// The folders of environments, sorted by name.
    pub(crate) fn folders(&self) -> Result<Vec<PathBuf>, Error> {
        let path = self.environments();
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("list", &path)(error)),
        };
        let mut folders = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io("list", &path))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
        folders.sort();
        Ok(folders)
    }
}

/// The lock of the whole store, held until this is dropped or the process ends: the system releases
/// the locks of a dead process.
pub(crate) struct Alone {
    path: PathBuf,
    lock: File,
}

impl Drop for Alone {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.path.join(HOLDER));
        let _ = self.lock.unlock();
    }
}

pub(super) fn open_lock(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).create(true).truncate(false);
    purlin_files::open_to_write(path, &mut options).map_err(Error::io("open", path))
}

/// Takes a lock. Returns whether that succeeded in time.
pub(super) fn take(file: &File, path: &Path, hold: Hold, wait: Duration) -> Result<bool, Error> {
    let start = Instant::now();
    loop {
        let taken = match hold {
            Hold::Shared => file.try_lock_shared(),
            Hold::Alone => file.try_lock(),
        };
        match taken {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", path)(source)),
            Err(TryLockError::WouldBlock) => {
                let left = wait.saturating_sub(start.elapsed());
                if left.is_zero() {
                    return Ok(false);
                }
                sleep(left.min(PATIENCE));
            }
        }
    }
}

/// Writes the holder of a folder.
pub(super) fn announce(folder: &Path, holder: &Holder) -> Result<(), Error> {
    let path = folder.join(HOLDER);
    let text = serde_json::to_vec(holder).unwrap_or_default();
    // Readers ignore an incomplete file, and it need not survive a crash.
    purlin_files::open_to_write(&path, OpenOptions::new().create(true).truncate(true))
        .and_then(|mut file| file.write_all(&text))
        .map_err(Error::io("write", &path))
}

/// The holder of a folder, if it can be read.
pub(super) fn holder_in(folder: &Path) -> Option<Box<Holder>> {
    let text = purlin_files::read(&folder.join(HOLDER), SMALL).ok()?;
    serde_json::from_slice(&text).ok()
}
