//! The storage of a life's environments: a store in memory, or a folder as users have it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use purlin_state::{
    Change, EmbeddedStore, Environment, Error, Holder, KeyProvider, Lock, MemoryStore, OpenOptions, Probe,
    RepairReport, Snapshot, Store,
};
use tempfile::TempDir;

use crate::scenario::{Damage, Harm};

/// The store of a life.
pub(crate) struct Disk {
    store: Mutex<Arc<dyn Store>>,
    folder: Option<TempDir>,
}

/// The panic payload of a probe that kills the process.
struct Killed;

impl Disk {
    pub(crate) fn in_memory() -> Self {
        Self { store: Mutex::new(Arc::new(MemoryStore::new())), folder: None }
    }

    /// In a folder that is deleted with this value; in memory, if the system has such folders.
    pub(crate) fn in_folder() -> Self {
        let fast = Path::new("/dev/shm");
        let folder = if fast.is_dir() { tempfile::tempdir_in(fast) } else { tempfile::tempdir() };
        let folder = folder.expect("a folder");
        let this = Self { store: Mutex::new(Arc::new(MemoryStore::new())), folder: Some(folder) };
        this.open().expect("a new folder opens");
        this
    }

    pub(crate) fn is_in_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Text without the name of the folder, which differs each time.
    pub(crate) fn plain(&self, text: String) -> String {
        self.path().map_or_else(|| text.clone(), |path| text.replace(&path.display().to_string(), "state"))
    }

    fn path(&self) -> Option<&Path> {
        self.folder.as_ref().map(TempDir::path)
    }

    /// The store itself.
    pub(crate) fn whole(&self) -> Arc<dyn Store> {
        Arc::clone(&*self.store())
    }

    fn store(&self) -> MutexGuard<'_, Arc<dyn Store>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the folder, as a starting process does.
    pub(crate) fn open(&self) -> Result<(), Error> {
        if let Some(folder) = self.path() {
            *self.store() = Arc::new(EmbeddedStore::open(folder, options(folder))?);
        }
        Ok(())
    }

    pub(crate) fn lock(&self, environment: &Environment) -> Result<Lock, Error> {
        let store = Arc::clone(&*self.store());
        wait(store.lock(environment, holder()))
    }

    pub(crate) fn load(&self, environment: &Environment) -> Result<Snapshot, Error> {
        let store = Arc::clone(&*self.store());
        wait(store.load(environment))
    }

    pub(crate) fn commit(&self, lock: &Lock, changes: Vec<Change>) -> Result<(), Error> {
        wait(lock.writer().commit(changes))
    }

    /// Damages one of an environment's files. Returns which one; `None` if it has none.
    pub(crate) fn damage(&self, environment: &Environment, damage: &Damage) -> Option<String> {
        let folder = self.path()?;
        let file = files(folder, environment).into_iter().nth(usize::from(damage.file))?;
        let mut bytes = fs::read(&file).ok()?;
        let at = bytes.len() * usize::from(damage.at) / 256;
        match damage.harm {
            Harm::Flip => *bytes.get_mut(at)? ^= 1 << (damage.at % 8),
            Harm::Cut => bytes.truncate(at),
            Harm::Lose => fs::remove_file(&file).ok()?,
        }
        if damage.harm != Harm::Lose {
            fs::write(&file, bytes).ok()?;
        }
        Some(file.strip_prefix(folder).ok()?.display().to_string())
    }

    /// Repairs the folder in a process that is killed at a probe; `None` if the repair ended
    /// before.
    pub(crate) fn repair(&self, killed_at: Option<u8>) -> Option<Result<RepairReport, Error>> {
        let folder = self.path()?;
        let left = AtomicU32::new(killed_at.map_or(u32::MAX, u32::from));
        let probe = Probe::new(move |_| {
            if left.fetch_sub(1, Ordering::Relaxed) == 0 {
                resume_unwind(Box::new(Killed));
            }
        });
        let options = OpenOptions { probe: Some(probe), ..options(folder) };
        match catch_unwind(AssertUnwindSafe(|| EmbeddedStore::repair(folder, &options))) {
            Ok(result) => Some(result),
            Err(panic) if panic.is::<Killed>() => None,
            Err(panic) => resume_unwind(panic),
        }
    }

    /// The result of checking the folder.
    pub(crate) fn verify(&self) -> Option<Result<RepairReport, Error>> {
        let folder = self.path()?;
        Some(EmbeddedStore::verify(folder, &options(folder)))
    }

    /// A backup of all files.
    pub(crate) fn backup(&self) -> Option<TempDir> {
        let copy = tempfile::tempdir_in(self.path()?.parent()?).ok()?;
        copy_all(self.path()?, copy.path()).ok()?;
        Some(copy)
    }

    /// Restores the backup.
    pub(crate) fn put_back(&self, copy: &TempDir) -> std::io::Result<()> {
        let Some(folder) = self.path() else { return Ok(()) };
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
        copy_all(copy.path(), folder)
    }
}

/// The files of an environment, except those that describe it to others. The journal occurs more
/// than once, because it is by far the largest.
fn files(folder: &Path, environment: &Environment) -> Vec<PathBuf> {
    let name = format!("{}.{}-", environment.app, environment.env);
    let entries = fs::read_dir(folder.join("environments")).into_iter().flatten().filter_map(Result::ok);
    let own = entries
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&name)));
    let Some(own) = own else { return Vec::new() };
    let journals = fs::read_dir(own.join("journal")).into_iter().flatten().filter_map(Result::ok);
    let mut journals: Vec<PathBuf> = journals.map(|entry| entry.path()).collect();
    journals.sort();
    let Some(journal) = journals.pop() else { return Vec::new() };
    let small = [folder.join("format"), own.join("environment.json"), own.join("head")];
    std::iter::repeat_n(journal, 5).chain(small).collect()
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_all(&entry.path(), &to)?;
        } else {
            let _ = fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

fn options(folder: &Path) -> OpenOptions {
    let key = KeyProvider::Generate(folder.join("key"));
    OpenOptions { key, holder: holder(), wait: Duration::ZERO, probe: None }
}

fn holder() -> Holder {
    Holder { user: "s".into(), host: "s".into(), pid: 1, command: "life".into(), since: 0 }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits without advancing the clock of the simulation: the disk has its own.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
        thread::park();
    }
}
