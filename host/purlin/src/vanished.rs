//! Documents that vanished: what an earlier deployment was made from, held against the documents of
//! now (SPEC §2). Deleting what a file declared because the file was emptied, or was not named this
//! time, is a mistake more often than a decision, so it has to be accepted.

mod faults;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_documents::{Held, SourceText, held};
use purlin_model::FileNow;

use crate::Documents;
use crate::archive::Archive;
use crate::files::shown;

/// Larger files are not read to see what they hold: no document is.
const LARGEST: u64 = 10 << 20;

/// A file that an earlier deployment was made from, and that has lost a document since.
pub(crate) struct Lost {
    /// What it was called then.
    pub(crate) then: Arc<str>,
    /// As people call it here and now.
    pub(crate) name: Arc<str>,
    /// What it held then.
    pub(crate) held: Vec<Held>,
    /// What became of it.
    pub(crate) fate: Fate,
    /// Whether the user said that this is right.
    pub(crate) accepted: bool,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was read, and holds documents.
    Changed,
    /// It is gone from a folder that was walked.
    Removed,
    /// A Deployment that was read named it, and does not any more.
    NoLongerNamed,
    /// It is still there, and holds no document; with what it is.
    Empty(&'static str),
    /// It was not read; whether it is there at all.
    Unread { exists: bool },
}

impl Fate {
    pub(crate) fn file_now(&self) -> FileNow {
        match self {
            Self::Changed => FileNow::Changed,
            Self::Removed => FileNow::Removed,
            Self::Empty(_) => FileNow::Empty,
            Self::NoLongerNamed | Self::Unread { .. } => FileNow::Unread,
        }
    }
}

/// The texts of an earlier deployment beside the documents of now.
pub(crate) struct Comparison<'a> {
    documents: &'a Documents,
    then: Vec<(SourceText, Option<Arc<str>>)>,
    /// The workspace's folder of then.
    folder: Option<PathBuf>,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(documents: &'a Documents, archive: Archive) -> Self {
        let folder = archive.folder.as_deref().map(PathBuf::from);
        Self { documents, then: archive.into_texts(), folder }
    }

    /// The files that lost a document which is nowhere else now.
    pub(crate) fn lost(&self) -> Vec<Lost> {
        let mut now: Vec<(Option<&str>, &SourceText)> = self
            .documents
            .loaded
            .sources()
            .iter()
            .map(|source| (self.documents.files.path(&source.name).map(|path| &**path), source))
            .collect();
        let mut changed: Vec<&(SourceText, Option<Arc<str>>)> = self.then.iter().collect();
        // A text that is the same holds the same, wherever it lies now.
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
        let mut now: Vec<(Option<&str>, &str, Vec<Held>)> =
            now.into_iter().map(|(path, source)| (path, &*source.name, held(&source.text))).collect();
        // A document that is still in its file is not the one that another file has lost.
        let mut missing: Vec<(usize, Vec<Held>, Vec<Held>)> = Vec::new();
        for (index, (source, path)) in changed.iter().enumerate() {
            let all = held(&source.text);
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
        lost.filter_map(|(index, held, _)| {
            let (source, path) = changed.get(index)?;
            Some(self.tell(source, path.as_deref(), held))
        })
        .collect()
    }

    /// What became of a file that the earlier deployment was made from, by its name of then.
    pub(crate) fn fate_of(&self, name: &str) -> Option<(Arc<str>, Fate)> {
        let (source, path) = self.then.iter().find(|(source, _)| *source.name == *name)?;
        let path = self.absolute(source, path.as_deref());
        Some((self.call(source, path.as_deref()), self.fate(source, path.as_deref())))
    }

    fn tell(&self, source: &SourceText, path: Option<&str>, held: Vec<Held>) -> Lost {
        let path = self.absolute(source, path);
        Lost {
            then: source.name.clone(),
            name: self.call(source, path.as_deref()),
            held,
            fate: self.fate(source, path.as_deref()),
            accepted: self.documents.accepts(&source.name, path.as_deref()),
        }
    }

    fn call(&self, source: &SourceText, path: Option<&Path>) -> Arc<str> {
        path.filter(|_| self.documents.files.are_here()).map_or_else(|| source.name.clone(), shown)
    }

    /// Where a file lay. Paths count from the workspace's folder, which may lie elsewhere on another
    /// machine; but where one workspace lies within another, each has files that the other has not.
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

    fn fate(&self, source: &SourceText, path: Option<&Path>) -> Fate {
        let files = &self.documents.files;
        if let Some(read) = self.read(source, path) {
            return if held(&read.text).is_empty() { Fate::Empty(kind(&read.text)) } else { Fate::Changed };
        }
        let Some(path) = path else {
            // Texts that are no files are the caller's to give or to leave out; an empty one was given.
            return match files.have_text() {
                true if &*source.name == "-" => Fate::Empty("it is empty"),
                true => Fate::Removed,
                false => Fate::Unread { exists: false },
            };
        };
        if let Some(folder) = files.folder_over(path)
            && let Some(what) = broken_way(folder, path)
        {
            return Fate::Empty(what);
        }
        let Ok(metadata) = path.symlink_metadata() else {
            let removed = files.cover(path) || self.was_referred_to(source);
            return if removed { Fate::Removed } else { Fate::Unread { exists: false } };
        };
        match std::fs::metadata(path) {
            Err(_) if metadata.is_symlink() => Fate::Empty("it is a link that leads nowhere"),
            Ok(metadata) if metadata.is_dir() => Fate::Empty("it is a folder"),
            Ok(metadata) if !metadata.is_file() || metadata.len() > LARGEST => {
                Fate::Empty("it is no file with documents")
            }
            _ => match purlin_files::read_text(path, LARGEST) {
                Ok(text) if held(&text).is_empty() => Fate::Empty(kind(&text)),
                // That is a change of the Deployment itself.
                Ok(_) if self.was_referred_to(source) => Fate::NoLongerNamed,
                Ok(_) => Fate::Unread { exists: true },
                Err(_) => Fate::Empty("it cannot be read"),
            },
        }
    }

    /// Whether it was read because a Deployment named it that is still there.
    fn was_referred_to(&self, source: &SourceText) -> bool {
        let names = |other: &SourceText| other.scores.iter().any(|(_, name)| *name == source.name);
        self.then.iter().filter(|(other, _)| names(other)).any(|(by, path)| {
            let path = self.absolute(by, path.as_deref());
            self.read(by, path.as_deref()).is_some_and(|text| !held(&text.text).is_empty())
        })
    }

    /// The text that was read in the place of one of then.
    fn read(&self, source: &SourceText, path: Option<&Path>) -> Option<&SourceText> {
        let files = &self.documents.files;
        self.documents.loaded.sources().iter().find(|other| match path {
            Some(path) => files.path(&other.name).is_some_and(|other| files.find(other) == path),
            None => other.name == source.name,
        })
    }
}

/// Takes a document out of a list; whether it was there.
fn take(documents: &mut Vec<Held>, document: &Held) -> bool {
    let at = documents.iter().position(|other| other == document);
    at.map(|at| documents.swap_remove(at)).is_some()
}

/// What a text without a document is.
fn kind(text: &str) -> &'static str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    if lines.peek().is_none() {
        "it is empty"
    } else if text.starts_with("version https://git-lfs.github.com/") {
        "it is a pointer of Git LFS; `git lfs pull` fetches the file"
    } else if lines.all(|line| line.starts_with('#') || line == "---" || line == "...") {
        "it holds only comments"
    } else {
        "nothing in it is a document of Purlin"
    }
}

/// What is wrong with a folder between one that was walked and a file that lay in it.
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
