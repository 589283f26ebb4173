//! Reads documents again without their files: the texts of an earlier run give the same result as
//! then.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use purlin_model::Diagnostic;

use super::{Loaded, Reading, finish, read_source};
use crate::attached::AttachedFile;
use crate::walk::{KeptFiles, MAX_FILE, Source, too_large, unreadable_source, without_mark};

/// A text that was read, with everything needed to read it again without its file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceText {
    /// Its name in faults: the path as the user named it, `-` for standard input.
    pub name: Arc<str>,
    /// Its content, without a byte-order mark.
    pub text: Arc<str>,
    /// Whether the user named it. A file that was found in a folder may contain things that are not
    /// ours.
    pub named: bool,
    /// The Score files that its Deployments name: the path as written, and the `name` of the text
    /// that it refers to.
    pub scores: Vec<(Arc<str>, Arc<str>)>,
    /// The files whose content its Score documents use (`files.source`).
    pub files: Vec<AttachedFile>,
}

impl SourceText {
    /// A text that the user named. Paths in it are relative to the folder of its name.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into(), named: true, scores: Vec::new(), files: Vec::new() }
    }

    /// The name of the text that a path in this one refers to.
    fn leads_to(&self, written: &Path) -> Arc<str> {
        let known = self.scores.iter().find(|(path, _)| Path::new(&**path) == written);
        match known {
            Some((_, name)) => name.clone(),
            None => {
                let folder = Path::new(&*self.name).parent().unwrap_or(Path::new(""));
                plain(&folder.join(written)).to_string_lossy().into()
            }
        }
    }
}

/// A path without `.`, and without `..` after a folder.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Reads documents from texts alone, such as those of [`Loaded::sources`], in their order. Reads no
/// file. Gives the same result as [`crate::load`] then, with the same faults at the same places. A
/// Workspace is included only if it shares a file with something else; therefore the groups that it
/// added then are given again: [`Loaded::references`].
pub fn load_sources(sources: Vec<SourceText>, references: &[Arc<str>]) -> Loaded {
    let names: HashSet<Arc<str>> = sources.iter().map(|source| source.name.clone()).collect();
    let mut reading = Reading::default();
    reading.assembly.loaded.references = references.to_vec();
    let mut faults: Vec<Diagnostic> = Vec::new();
    for stored in sources {
        let size = stored.text.len() as u64;
        if size > MAX_FILE {
            faults.push(too_large(&stored.name, Some(size)));
            continue;
        }
        let folder = Path::new(&*stored.name).parent().map(Path::to_path_buf).unwrap_or_default();
        let text = without_mark(&stored.text);
        let kept = KeptFiles::All(stored.files.clone());
        // Which Workspace is in force was decided when the files were read.
        let (name, named) = (stored.name.clone(), stored.named);
        let source = Source { name, text, folder, named, named_at: None, governs: true, kept };
        let mut read = read_source(&source);
        let mut scores = Vec::with_capacity(read.scores.len());
        for (path, place) in std::mem::take(&mut read.scores) {
            let name = stored.leads_to(&path);
            if !names.contains(&name) {
                faults.push(unreadable_source(&name).related(&place, "named here"));
            }
            scores.push((path.to_string_lossy().into(), name));
        }
        reading.take(&source, read, scores);
    }
    finish(reading, faults)
}
