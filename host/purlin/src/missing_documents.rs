//! Vanished documents: compares the documents of an earlier deployment with the current ones (SPEC
//! §2). Deleting the resources of a file because the file was emptied, or was not named this time,
//! is more often a mistake than a decision, so the user must accept it.

mod faults;
mod folders;
pub(crate) mod similar;
pub(crate) mod slips;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_documents::{DocumentHead, SourceText, heads};
use purlin_model::FileNow;

use crate::Documents;
use crate::archive::Archive;
use crate::files::shown;

/// Larger files are not checked for documents, since no document is that large.
const LARGEST: u64 = 10 << 20;

/// A file of an earlier deployment that has lost a document since.
pub(crate) struct MissingFile {
    /// Its name at that time.
    pub(crate) then: Arc<str>,
    /// Its name for messages.
    pub(crate) name: Arc<str>,
    /// Its absolute path, if it was a file.
    pub(crate) path: Option<PathBuf>,
    /// The documents that it contained.
    pub(crate) contained: Vec<DocumentHead>,
    /// Those that are in no file now.
    pub(crate) left: Vec<DocumentHead>,
    /// What happened to it.
    pub(crate) state: FileState,
    /// Whether the user accepted this.
    pub(crate) accepted: bool,
}

/// What happened to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileState {
    /// It was read, and contains documents.
    Changed,
    /// It is gone from a folder that was searched.
    Removed,
    /// A Deployment that was read named it earlier, but no longer does.
    NoLongerNamed,
    /// It still exists but contains no documents; with a description of its content.
    Empty(&'static str),
    /// It was not read.
    Unread { exists: bool },
}

impl FileState {
    pub(crate) fn file_now(&self) -> FileNow {
        match self {
            Self::Changed => FileNow::Changed,
            Self::Removed => FileNow::Removed,
            Self::Empty(_) => FileNow::Empty,
            Self::NoLongerNamed | Self::Unread { .. } => FileNow::Unread,
        }
    }
}

/// The texts of an earlier deployment, compared with the current documents.
pub(crate) struct Comparison<'a> {
    documents: &'a Documents,
    then: Vec<(SourceText, Option<Arc<str>>)>,
    /// The workspace's folder at that time.
    folder: Option<PathBuf>,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(documents: &'a Documents, archive: Archive) -> Self {
        let folder = archive.folder.as_deref().map(PathBuf::from);
        Self { documents, then: archive.into_texts(), folder }
    }

    /// The files that lost a document that is not in another file now.
    pub(crate) fn lost(&self) -> Vec<MissingFile> {
        let mut now: Vec<(Option<&str>, &SourceText)> = self
            .documents
            .loaded
            .sources()
            .iter()
            .map(|source| (self.documents.files.path(&source.name).map(|path| &**path), source))
            .collect();
        let mut changed: Vec<&(SourceText, Option<Arc<str>>)> = self.then.iter().collect();
        // An unchanged text contains the same documents, wherever it is now.
        let mut same: HashMap<&str, usize> = HashMap::new();
        now.iter().for_each(|(_, source)| *same.entry(&*source.text).or_default() += 1);
        let mut kept: HashMap<&str, usize> = HashMap::new();
        changed.retain(|(source, _)| match same.get_mut(&*source.text) {
            Some(left) if *left > 0 => {
                *left -= 1;
                *kept.entry(&*source.text).or_default() += 1;
                false
            }
            _ => true,
        });
        now.retain(|(_, source)| match kept.get_mut(&*source.text) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        });
        if changed.is_empty() {
            return Vec::new();
        }
        let mut now: Vec<(Option<&str>, &str, Vec<DocumentHead>)> =
            now.into_iter().map(|(path, source)| (path, &*source.name, heads(&source.text))).collect();
        // A document that is still in its own file does not replace one that another file lost.
        let mut missing: Vec<(usize, Vec<DocumentHead>, Vec<DocumentHead>)> = Vec::new();
        for (index, (source, path)) in changed.iter().enumerate() {
            let all = heads(&source.text);
            let mut left = all.clone();
            for (other, name, documents) in &mut now {
                let is_same = match path {
                    Some(path) => *other == Some(&**path),
                    None => other.is_none() && **name == *source.name,
                };
                if is_same {
                    left.retain(|document| !take(documents, document));
                }
            }
            missing.push((index, all, left));
        }
        for (_, _, left) in &mut missing {
            left.retain(|document| !now.iter_mut().any(|(_, _, documents)| take(documents, document)));
        }
        let lost = missing.into_iter().filter(|(_, _, left)| !left.is_empty());
        lost.filter_map(|(index, contained, left)| {
            let (source, path) = changed.get(index)?;
            Some(self.tell(source, path.as_deref(), contained, left))
        })
        .collect()
    }

    /// What happened to a file of the earlier deployment, by its name at that time.
    pub(crate) fn file_state_of(&self, name: &str) -> Option<(Arc<str>, FileState)> {
        let (source, path) = self.then.iter().find(|(source, _)| *source.name == *name)?;
        let path = self.absolute(source, path.as_deref());
        Some((self.call(source, path.as_deref()), self.state_now(source, path.as_deref())))
    }

    fn tell(
        &self,
        source: &SourceText,
        path: Option<&str>,
        contained: Vec<DocumentHead>,
        left: Vec<DocumentHead>,
    ) -> MissingFile {
        let path = self.absolute(source, path);
        MissingFile {
            then: source.name.clone(),
            name: self.call(source, path.as_deref()),
            contained,
            left,
            state: self.state_now(source, path.as_deref()),
            accepted: self.documents.accepts(&source.name, path.as_deref()),
            path,
        }
    }

    fn call(&self, source: &SourceText, path: Option<&Path>) -> Arc<str> {
        path.filter(|_| self.documents.files.are_here()).map_or_else(|| source.name.clone(), shown)
    }

    /// The path of a file. Paths are relative to the workspace's folder, which may be elsewhere on
    /// another machine; but if one workspace is inside another, each has files that the other does
    /// not have.
    fn absolute(&self, source: &SourceText, path: Option<&str>) -> Option<PathBuf> {
        if &*source.name == "-" || !self.documents.files.are_here() {
            return None;
        }
        let now = self.documents.files.find(path?);
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        let then = self.folder.as_ref().filter(|folder| self.documents.files.is_within_reach(folder));
        let then = then.map(|folder| folder.join(path.unwrap_or_default()));
        then.filter(|then| !is_there(&now) && is_there(then)).or(Some(now))
    }

    fn state_now(&self, source: &SourceText, path: Option<&Path>) -> FileState {
        let files = &self.documents.files;
        if let Some(read) = self.read(source, path) {
            return if heads(&read.text).is_empty() {
                FileState::Empty(kind(&read.text))
            } else {
                FileState::Changed
            };
        }
        let Some(path) = path else {
            // The caller decides whether to give texts that are not files; an empty one was given.
            return match files.have_text() {
                true if &*source.name == "-" => FileState::Empty("it is empty"),
                true => FileState::Removed,
                false => FileState::Unread { exists: false },
            };
        };
        if let Some(folder) = files.folder_over(path)
            && let Some(what) = broken_way(folder, path)
        {
            return FileState::Empty(what);
        }
        let Ok(metadata) = path.symlink_metadata() else {
            let removed = files.cover(path) || self.was_referred_to(source);
            return if removed { FileState::Removed } else { FileState::Unread { exists: false } };
        };
        match std::fs::metadata(path) {
            Err(_) if metadata.is_symlink() => FileState::Empty("it is a link that leads nowhere"),
            Ok(metadata) if metadata.is_dir() => FileState::Empty("it is a folder"),
            Ok(metadata) if !metadata.is_file() || metadata.len() > LARGEST => {
                FileState::Empty("it is not a file with documents")
            }
            _ => match purlin_files::read_text(path, LARGEST) {
                Ok(text) if heads(&text).is_empty() => FileState::Empty(kind(&text)),
                // That is a change to the Deployment itself.
                Ok(_) if self.was_referred_to(source) => FileState::NoLongerNamed,
                Ok(_) => FileState::Unread { exists: true },
                Err(_) => FileState::Empty("it cannot be read"),
            },
        }
    }

    /// Whether it was read because a Deployment that still exists named it.
    fn was_referred_to(&self, source: &SourceText) -> bool {
        let names = |other: &SourceText| other.scores.iter().any(|(_, name)| *name == source.name);
        self.then.iter().filter(|(other, _)| names(other)).any(|(by, path)| {
            let path = self.absolute(by, path.as_deref());
            self.read(by, path.as_deref()).is_some_and(|text| !heads(&text.text).is_empty())
        })
    }

    /// The current text of an earlier one.
    fn read(&self, source: &SourceText, path: Option<&Path>) -> Option<&SourceText> {
        let files = &self.documents.files;
        self.documents.loaded.sources().iter().find(|other| match path {
            Some(path) => files.path(&other.name).is_some_and(|other| files.find(other) == path),
            None => other.name == source.name,
        })
    }
}

/// Removes a document from a list. Returns whether it was there.
fn take(documents: &mut Vec<DocumentHead>, document: &DocumentHead) -> bool {
    let at = documents.iter().position(|other| other == document);
    at.map(|at| documents.swap_remove(at)).is_some()
}

/// The description of a text without documents.
fn kind(text: &str) -> &'static str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    if lines.peek().is_none() {
        "it is empty"
    } else if text.starts_with("version https://git-lfs.github.com/") {
        "it is a pointer of Git LFS; `git lfs pull` fetches the file"
    } else if lines.all(|line| line.starts_with('#') || line == "---" || line == "...") {
        "it contains only comments"
    } else {
        "it contains no document of Purlin"
    }
}

/// The fault of a folder between a searched folder and a file that was in it.
fn broken_way(folder: &Path, file: &Path) -> Option<&'static str> {
    let between = file.ancestors().skip(1).take_while(|path| *path != folder);
    for path in between {
        match (path.symlink_metadata(), path.metadata()) {
            (Ok(_), Ok(found)) if found.is_dir() => return None,
            (Ok(link), Err(_)) if link.is_symlink() => {
                return Some("its folder is a link that leads nowhere");
            }
            (Ok(_), Ok(_)) => return Some("its folder is a file now"),
            (Ok(_), Err(_)) => return Some("its folder cannot be read"),
            (Err(_), _) => {}
        }
    }
    None
}
