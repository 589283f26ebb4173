//! A folder for the temporary files of tests that is in memory. Tests create and delete hundreds of thousands of
//! small files, for which a disk takes a fifth of their processor time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A file system that Linux keeps in memory.
const SYSTEM: &str = "/dev/shm";
/// The room in bytes that the files of tests may need.
const ROOM: u64 = 8 << 30;
/// The name of a folder, up to the id of the process that made it.
const NAME: &str = "purlin-tests-";

/// The folder. Dropping it removes it, with the files of tests that were killed.
pub(super) struct Folder {
    path: PathBuf,
    /// The open folder, locked: other runs leave it alone, even those that do not see this process.
    _lock: File,
}

impl Folder {
    /// Creates it, unless `TMPDIR` names another one, or there is too little memory. It removes the folders of
    /// earlier runs that were killed.
    pub(super) fn create() -> Option<Self> {
        if std::env::var_os("TMPDIR").is_some() || !cfg!(target_os = "linux") {
            return None;
        }
        remove_abandoned();
        (room()? >= ROOM).then_some(())?;
        let path = Path::new(SYSTEM).join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let lock = File::open(&path).ok()?;
        lock.try_lock().ok()?;
        let folder = Self { path, _lock: lock };
        open_up(&folder.path).ok()?;
        Some(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("    {} cannot be removed: {error}", self.path.display());
        }
    }
}

/// Lets servers that run as another user reach their files in it.
#[cfg(unix)]
fn open_up(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o711))
}

#[cfg(not(unix))]
fn open_up(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// How many bytes files in memory may take.
#[cfg(unix)]
fn room() -> Option<u64> {
    let system = rustix::fs::statvfs(SYSTEM).ok()?;
    // Its size is a limit, which says nothing about the memory that is free.
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available: u64 = available.trim().strip_suffix(" kB")?.parse().ok()?;
    Some((system.f_bavail * system.f_frsize).min(available << 10))
}

#[cfg(not(unix))]
fn room() -> Option<u64> {
    None
}

fn remove_abandoned() {
    for entry in fs::read_dir(SYSTEM).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(NAME));
        // One of another user cannot be opened, or stays.
        if is_ours && File::open(entry.path()).is_ok_and(|folder| folder.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
