//! Watches the files of the documents for changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How long there must be no change before the files are read, since editors write in several
/// steps.
const QUIET: Duration = Duration::from_millis(200);
/// How long to wait for a series of changes to end.
const LONGEST: Duration = Duration::from_secs(2);
/// How often files are read if the system cannot watch them.
const POLL: Duration = Duration::from_secs(5);
/// With more folders than this, Purlin reads files at intervals instead of watching the folders.
const MOST: usize = 4_096;

/// Reports changes of files.
pub(super) struct Changes {
    roots: Vec<PathBuf>,
    /// `None` if the system cannot watch the folders.
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    events: mpsc::Receiver<()>,
    /// Whether there was a change for which [`Self::next`] has not returned yet. The future may
    /// have been dropped before it completed.
    pending: bool,
    /// When the files are read next if the system cannot watch them.
    poll: Instant,
}

impl Changes {
    /// Watches files and folders. If the system cannot watch them, they are read every few seconds;
    /// the second value then says why, for people.
    pub(super) fn of(roots: Vec<PathBuf>) -> (Self, Option<String>) {
        let (sender, events) = mpsc::channel(1);
        let on_event = move |event: notify::Result<notify::Event>| {
            let counts = event.as_ref().map_or(true, |event| !event.kind.is_access());
            if counts {
                // One waiting message is enough.
                let _ = sender.try_send(());
            }
        };
        let (watcher, mut why) = match notify::recommended_watcher(on_event) {
            Ok(watcher) => (Some(watcher), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let (watched, poll) = (BTreeSet::new(), Instant::now() + POLL);
        // Also report changes made after the documents were first read and before this.
        let mut changes = Self { roots, watcher, watched, events, pending: true, poll };
        if why.is_none() {
            why = changes.follow().err();
        }
        (changes, why)
    }

    /// Watches all folders, including new ones.
    fn follow(&mut self) -> Result<(), String> {
        let mut folders = BTreeSet::new();
        for root in &self.roots {
            // Most editors replace a file, and only its folder gets an event for that.
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
            // Watch all of them again: a folder that was replaced has the same path as the one
            // being watched.
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

    /// Whether there may have been a change for which [`Self::next`] has not returned yet.
    pub(super) fn are_waiting(&mut self) -> bool {
        self.pending |= self.events.try_recv().is_ok();
        self.pending
    }

    /// Returns once a change may have occurred and no further one follows for a moment. Dropping
    /// the future loses no change.
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
        // If a folder can no longer be watched, the files are read every few seconds from now on.
        let _ = self.follow();
        self.pending = false;
    }
}

/// Adds the folders that documents are read from, including those behind links. `seen` contains
/// their real paths, so that circular links end.
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
