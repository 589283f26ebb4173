//! Changes of the files that documents are read from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How long nothing may change before the files are read: editors write in several steps.
const QUIET: Duration = Duration::from_millis(200);
/// How long changes may go on.
const LONGEST: Duration = Duration::from_secs(2);
/// How often files are read where the system cannot watch them.
const POLL: Duration = Duration::from_secs(5);
/// More folders than these are not watched, but read again and again.
const MOST: usize = 4_096;

/// Tells of changes.
pub(super) struct Changes {
    roots: Vec<PathBuf>,
    /// None where the system cannot watch.
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    events: mpsc::Receiver<()>,
    /// Whether something changed that [`Self::next`] has not returned for: it may have been dropped in the
    /// middle.
    pending: bool,
    /// When the files are read next where the system cannot watch them.
    poll: Instant,
}

impl Changes {
    /// Watches files and folders. What cannot be watched is read every few seconds; the reason is for
    /// people.
    pub(super) fn of(roots: Vec<PathBuf>) -> (Self, Option<String>) {
        let (sender, events) = mpsc::channel(1);
        let told = move |event: notify::Result<notify::Event>| {
            let counts = event.as_ref().map_or(true, |event| !event.kind.is_access());
            if counts {
                // One that waits says all there is to say.
                let _ = sender.try_send(());
            }
        };
        let (watcher, mut why) = match notify::recommended_watcher(told) {
            Ok(watcher) => (Some(watcher), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let (watched, poll) = (BTreeSet::new(), Instant::now() + POLL);
        // What changed between the first look at the files and this one is read, too.
        let mut changes = Self { roots, watcher, watched, events, pending: true, poll };
        if why.is_none() {
            why = changes.follow().err();
        }
        (changes, why)
    }

    /// Watches folders that are new as well.
    fn follow(&mut self) -> Result<(), String> {
        let mut folders = BTreeSet::new();
        for root in &self.roots {
            // A file is replaced by most editors, which only its folder tells.
            let folder = if root.is_dir() { Some(root.as_path()) } else { root.parent() };
            let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            folders.insert(folder.to_owned());
            if root.is_dir() {
                below(root, &mut BTreeSet::new(), &mut folders);
            }
        }
        let Some(watcher) = &mut self.watcher else { return Ok(()) };
        let result = if folders.len() > MOST {
            Err(format!("there are more than {MOST} folders"))
        } else {
            for gone in self.watched.difference(&folders) {
                let _ = watcher.unwatch(gone);
            }
            // All of them: one that was replaced has the same path as the one that is watched.
            folders.iter().try_for_each(|folder| {
                watcher.watch(folder, RecursiveMode::NonRecursive).map_err(|error| error.to_string())
            })
        };
        if result.is_err() {
            self.watcher = None;
        }
        self.watched = folders;
        result
    }

    /// Whether something may have changed that [`Self::next`] has not returned for.
    pub(super) fn are_waiting(&mut self) -> bool {
        self.pending |= self.events.try_recv().is_ok();
        self.pending
    }

    /// Returns once something may have changed, and then nothing for a moment. A change is not lost where
    /// this is dropped before.
    pub(super) async fn next(&mut self) {
        if self.watcher.is_none() {
            tokio::time::sleep_until(self.poll).await;
            self.poll = Instant::now() + POLL;
            return;
        }
        if !self.pending {
            if self.events.recv().await.is_none() {
                std::future::pending::<()>().await;
            }
            self.pending = true;
        }
        let begun = Instant::now();
        while begun.elapsed() < LONGEST {
            match tokio::time::timeout(QUIET, self.events.recv()).await {
                Ok(Some(())) => {}
                _ => break,
            }
        }
        // A folder that cannot be watched from now on is read every few seconds.
        let _ = self.follow();
        self.pending = false;
    }
}

/// The folders that documents are looked for in, also those behind links. `seen` has where each really
/// is, so that links in a circle end.
fn below(folder: &Path, seen: &mut BTreeSet<PathBuf>, found: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let skipped = name.to_string_lossy().starts_with('.') || name == "target" || name == "node_modules";
        if skipped || found.len() > MOST || !path.is_dir() {
            continue;
        }
        if path.canonicalize().is_ok_and(|real| seen.insert(real)) {
            below(&path, seen, found);
            found.insert(path);
        }
    }
}
