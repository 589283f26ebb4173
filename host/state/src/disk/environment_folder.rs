//! The folder of one environment, and the lock on it.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::root::{self, HOLDER, Hold, Root, SMALL};
use super::{files, journal};
use crate::probe::Probed;
use crate::{Environment, Error, Holder, keyspace};

/// The number of characters of an environment's name that its folder name shows.
const READABLE: usize = 48;

/// How long a new holder may take to write its name.
pub(super) const HESITATION: Duration = Duration::from_millis(50);

/// The folder of an environment.
#[derive(Clone, Debug)]
pub(crate) struct EnvironmentFolder {
    pub(crate) environment: Environment,
    pub(crate) folder: PathBuf,
}

/// The file that names the environment of a folder.
#[derive(Serialize, Deserialize)]
struct Name {
    org: String,
    app: String,
    env: String,
}

impl EnvironmentFolder {
    /// The place of an environment in the folder of all environments.
    pub(crate) fn in_folder(folder: &Path, environment: &Environment) -> Self {
        let readable = [&*environment.app, &*environment.env].join(".");
        let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c } else { '_' };
        let mut name: String = readable.chars().take(READABLE).map(kept).collect();
        name.push('-');
        for byte in keyspace::place(environment) {
            name.push_str(&format!("{byte:02x}"));
        }
        Self { environment: environment.clone(), folder: folder.join(name) }
    }

    /// The environment of a folder; `None` if the folder does not name one, or names one that does
    /// not match its name.
    pub(crate) fn read(root: &Root, folder: &Path) -> Option<Self> {
        let text = purlin_files::read(&folder.join("environment.json"), SMALL).ok()?;
        let Name { org, app, env } = serde_json::from_slice(&text).ok()?;
        let environment = Environment { org: org.into(), app: app.into(), env: env.into() };
        Some(root.place(&environment)).filter(|place| place.folder == folder)
    }

    /// Writes the file that names the environment.
    pub(crate) fn describe(&self) -> Result<(), Error> {
        let path = self.folder.join("environment.json");
        if path.exists() {
            return Ok(());
        }
        let Environment { org, app, env } = &self.environment;
        let name = Name { org: org.as_ref().into(), app: app.as_ref().into(), env: env.as_ref().into() };
        files::replace_private(&path, &serde_json::to_vec(&name).unwrap_or_default())
    }

    /// Whether anything was ever recorded in it.
    pub(crate) fn is_there(&self) -> bool {
        journal::folder_in(&self.folder).exists()
    }

    /// The current holder of the lock, if it can be read.
    pub(crate) fn holder(&self) -> Option<Box<Holder>> {
        let holder = root::holder_in(&self.folder)?;
        // A process that was killed leaves its name but not the lock.
        let path = self.folder.join("lock");
        let lock = purlin_files::open(&path).ok()?;
        let is_free = root::take(&lock, &path, Hold::Shared, Duration::ZERO).ok()?;
        (!is_free).then_some(holder)
    }
}

/// An environment's folder that this process has locked until this is dropped or the process ends.
pub(crate) struct Claimed {
    pub(crate) place: EnvironmentFolder,
    root: Root,
    lock: File,
    fence: u64,
    /// Keeps other processes from locking the whole store.
    _shared: File,
}

impl Claimed {
    /// Locks the folder of an environment, which is created if necessary.
    pub(crate) fn take(
        root: &Root,
        environment: &Environment,
        holder: &Holder,
        wait: Duration,
        probe: &Probed,
    ) -> Result<Self, Error> {
        let shared = root.share(wait)?;
        root.establish(probe)?;
        let place = root.place(environment);
        let path = place.folder.join("lock");
        loop {
            files::private_folder(&place.folder)?;
            let mut lock = match root::open_lock(&path) {
                // The previous holder recorded nothing and removed the folder.
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            if !root::take(&lock, &path, Hold::Alone, wait)? {
                return Err(locked(&place));
            }
            if !LockFile::of(&path, &lock).is_there() {
                continue;
            }
            // The previous holder was killed. Its last writes may not be durable yet, and
            // everything written from now on depends on them.
            if place.folder.join(HOLDER).exists() {
                journal::sync_all(&place.folder)?;
                files::sync_folder(&place.folder)?;
                root.sync_names()?;
            }
            let fence = next_fence(&mut lock).map_err(Error::io("write", &path))?;
            root::announce(&place.folder, holder)?;
            probe.at("open: after the folder is locked");
            return Ok(Self { place, root: root.clone(), lock, fence, _shared: shared });
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.place.folder
    }

    /// Makes the folder itself durable, now that it contains something.
    pub(crate) fn settle_folder(&self) -> Result<(), Error> {
        files::sync_folder(self.folder())?;
        self.root.sync_names()
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    pub(crate) fn fence(&self) -> u64 {
        self.fence
    }

    /// The file that is locked.
    pub(crate) fn file(&self) -> LockFile {
        LockFile::of(&self.place.folder.join("lock"), &self.lock)
    }

    /// Whether the folder is gone or was replaced.
    pub(crate) fn is_lost(&self) -> bool {
        !self.file().is_there()
    }
}

/// A file that was locked.
pub(crate) struct LockFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl LockFile {
    pub(super) fn of(path: &Path, lock: &File) -> Self {
        Self { path: path.into(), identity: lock.metadata().map(identity).ok() }
    }

    /// Whether the file is still the one at its path. If it was removed, another process may have a
    /// lock of its own there.
    pub(crate) fn is_there(&self) -> bool {
        fs::metadata(&self.path).map(identity).is_ok_and(|there| self.identity == Some(there))
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if self.is_lost() {
            return;
        }
        let _ = fs::remove_file(self.place.folder.join(HOLDER));
        // A folder that was only read leaves no trace.
        let path = self.place.folder.join("lock");
        let alone = fs::read_dir(&self.place.folder)
            .is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(|entry| entry.path() == path)));
        if alone && fs::remove_file(&path).is_ok() {
            let _ = fs::remove_dir(&self.place.folder);
        }
        let _ = self.lock.unlock();
    }
}

/// The error with the holder of an environment. A holder may have the lock so briefly that its name
/// is not written yet.
fn locked(place: &EnvironmentFolder) -> Error {
    let mut holder = root::holder_in(&place.folder);
    if holder.is_none() {
        sleep(HESITATION);
        holder = root::holder_in(&place.folder);
    }
    Error::Locked { environment: place.environment.clone(), holder }
}

/// The fence of this lock: one more than the previous one.
fn next_fence(lock: &mut File) -> std::io::Result<u64> {
    let mut text = String::new();
    let _ = Read::by_ref(lock).take(64).read_to_string(&mut text);
    let fence = text.trim().parse::<u64>().unwrap_or(0).saturating_add(1);
    lock.seek(SeekFrom::Start(0))?;
    let text = format!("{fence}\n");
    lock.write_all(text.as_bytes())?;
    lock.set_len(text.len() as u64)?;
    Ok(fence)
}

/// Identifies a file; equal for all files if the system has no such identity.
#[cfg(unix)]
fn identity(metadata: fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: fs::Metadata) -> (u64, u64) {
    (0, 0)
}
