//! The paths of documents in a form that is valid in another folder and on another machine:
//! relative to the folder of the workspace.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use purlin_documents::{Loaded, ReadFrom};
use purlin_model::Workspace;

/// Files that are further away than this are shown with their absolute path.
const FAR: usize = 3;

/// The paths of documents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// The folder that paths are relative to, as an absolute path; `None` for documents without
    /// their files.
    anchor: Option<PathBuf>,
    /// The inputs from which the documents were read, as absolute paths.
    given: Vec<ReadFrom>,
    /// The path of each text by its name, relative to the anchor. Texts without a path are not
    /// files.
    paths: HashMap<Arc<str>, Arc<str>>,
    /// The file of the workspace, relative to the anchor.
    pub(crate) workspace: Option<Arc<str>>,
    /// The named inputs, relative to the anchor.
    pub(crate) inputs: Vec<Arc<str>>,
    /// The folder that paths were relative to when they were read: the anchor, or the recorded one.
    pub(crate) folder: Option<Arc<str>>,
}

impl Files {
    /// The paths of documents that were just read.
    pub(crate) fn new(loaded: &Loaded, workspace: Option<&Workspace>) -> Self {
        if loaded.read_from.is_empty() {
            return Self::default();
        }
        let workspace = workspace.or(loaded.workspace.as_ref());
        let anchor = absolute(workspace.map_or(Path::new(""), |workspace| &workspace.folder));
        let given: Vec<ReadFrom> = loaded.read_from.iter().map(absolutely).collect();
        let texts: HashSet<&str> = loaded.read_from.iter().filter_map(text_name).collect();
        let names = loaded.sources().iter().map(|source| &source.name);
        let files = names.filter(|name| !texts.contains(&***name));
        let paths = files.map(|name| (name.clone(), from(&anchor, &absolute(Path::new(&**name)))));
        let file = workspace.map(|workspace| &workspace.location.file).filter(|file| !file.is_empty());
        let workspace = file.map(|file| from(&anchor, &absolute(Path::new(&**file))));
        // The workspace is found without being named.
        let inputs = given.iter().map(|given| input(&anchor, given));
        let inputs = inputs.filter(|input| Some(input) != workspace.as_ref()).collect();
        Self {
            paths: paths.collect(),
            workspace,
            inputs,
            folder: Some(anchor.to_string_lossy().into()),
            anchor: Some(anchor),
            given,
        }
    }

    /// The paths of archived documents.
    pub(crate) fn kept(
        paths: HashMap<Arc<str>, Arc<str>>,
        workspace: Option<Arc<str>>,
        inputs: Vec<Arc<str>>,
        folder: Option<Arc<str>>,
    ) -> Self {
        Self { anchor: None, given: Vec::new(), paths, workspace, inputs, folder }
    }

    /// Names files or folders as inputs that no longer exist.
    pub(crate) fn name_gone(&mut self, gone: &[PathBuf]) {
        let Some(anchor) = &self.anchor else { return };
        self.inputs.extend(gone.iter().map(|path| from(anchor, &absolute(path))));
    }

    /// The paths of archived documents some of which were replaced by those at these paths: their inputs
    /// are those that a new run would find here.
    pub(crate) fn revised(&self, archived: Self) -> Self {
        let Some(anchor) = &self.anchor else { return archived };
        let found = |input: &Arc<str>| {
            let path = self.find(input);
            match path.metadata() {
                Ok(found) if found.is_dir() => Some(ReadFrom::Folder(path)),
                Ok(_) => Some(ReadFrom::File(path)),
                Err(_) => None,
            }
        };
        let given = archived.inputs.iter().filter_map(found).collect();
        Self { anchor: Some(anchor.clone()), given, ..archived }
    }

    /// The files of archived documents that are in a folder of this machine and no longer exist, sorted.
    pub(crate) fn gone_of(&self, archived: &Self) -> Vec<Arc<str>> {
        let is_gone = |path: &&Arc<str>| {
            let path = self.find(path);
            let folder = path.parent().is_some_and(Path::is_dir);
            self.anchor.is_some() && folder && path.symlink_metadata().is_err()
        };
        let mut gone: Vec<Arc<str>> = archived.paths.values().filter(is_gone).cloned().collect();
        gone.sort_unstable();
        gone
    }

    /// Whether the documents were just read. Archived ones have no files to compare with.
    pub(crate) fn are_here(&self) -> bool {
        self.anchor.is_some()
    }

    /// The path of a text, by its name.
    pub(crate) fn path(&self, name: &str) -> Option<&Arc<str>> {
        self.paths.get(name)
    }

    /// The absolute path of a file, from its path relative to the anchor.
    pub(crate) fn find(&self, path: &str) -> PathBuf {
        plain(&self.anchor.clone().unwrap_or_default().join(path))
    }

    /// Whether a folder is within the anchor, or the other way round.
    pub(crate) fn is_within_reach(&self, folder: &Path) -> bool {
        self.anchor.as_ref().is_some_and(|anchor| folder.starts_with(anchor) || anchor.starts_with(folder))
    }

    /// Whether a file was named, or is in a folder that was searched.
    pub(crate) fn cover(&self, file: &Path) -> bool {
        self.folder_over(file).is_some()
            || self.given.iter().any(|given| matches!(given, ReadFrom::File(path) if path == file))
    }

    /// The searched folder that contains a file.
    pub(crate) fn folder_over(&self, file: &Path) -> Option<&Path> {
        self.given.iter().find_map(|given| match given {
            ReadFrom::Folder(folder) if file.starts_with(folder) => Some(folder.as_path()),
            _ => None,
        })
    }

    /// Whether a text was read that is not a file.
    pub(crate) fn have_text(&self) -> bool {
        self.given.iter().any(|given| matches!(given, ReadFrom::Text(_)))
    }
}

/// Whether a word of the command line refers to a file: the file itself, or a folder that contains
/// it.
pub(crate) fn argument_names_file(word: &str, name: &str, path: Option<&Path>) -> bool {
    word == name || path.is_some_and(|path| word != "-" && path.starts_with(absolute(Path::new(word))))
}

/// A path relative to the current folder, for messages.
pub(crate) fn shown(path: &Path) -> Arc<str> {
    let here = from(&absolute(Path::new("")), path);
    let up = Path::new(&*here).components().filter(|part| matches!(part, Component::ParentDir)).count();
    if up > FAR { path.to_string_lossy().into() } else { here }
}

fn text_name(given: &ReadFrom) -> Option<&str> {
    match given {
        ReadFrom::Text(name) => Some(name),
        _ => None,
    }
}

fn absolutely(given: &ReadFrom) -> ReadFrom {
    match given {
        ReadFrom::Folder(path) => ReadFrom::Folder(absolute(path)),
        ReadFrom::File(path) => ReadFrom::File(absolute(path)),
        ReadFrom::Text(name) => ReadFrom::Text(name.clone()),
    }
}

fn input(anchor: &Path, given: &ReadFrom) -> Arc<str> {
    match given {
        ReadFrom::Folder(path) | ReadFrom::File(path) => from(anchor, path),
        ReadFrom::Text(name) => name.clone(),
    }
}

/// An absolute path. Links are not resolved, since their targets may be gone.
fn absolute(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    plain(&std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()))
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The path from a folder to a path; both are absolute. A path outside the folder may lead to the
/// same folder under another name.
fn from(folder: &Path, path: &Path) -> Arc<str> {
    if !path.starts_with(folder)
        && let (Ok(folder), Some(Ok(parent)), Some(name)) =
            (folder.canonicalize(), path.parent().map(Path::canonicalize), path.file_name())
        && parent.starts_with(&folder)
    {
        return steps(&folder, &parent.join(name));
    }
    steps(folder, path)
}

fn steps(folder: &Path, path: &Path) -> Arc<str> {
    let same = folder.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let mut steps = PathBuf::new();
    folder.components().skip(same).for_each(|_| steps.push(".."));
    path.components().skip(same).for_each(|part| steps.push(part));
    if steps.as_os_str().is_empty() {
        steps.push(".");
    }
    // Written on one system and read on another.
    steps.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_to_a_folder() {
        let steps = |folder: &str, path: &str| steps(Path::new(folder), Path::new(path)).to_string();
        assert_eq!(steps("/a", "/a/b/c.yaml"), "b/c.yaml");
        assert_eq!(steps("/a/b", "/a/c.yaml"), "../c.yaml");
        assert_eq!(steps("/a", "/a"), ".");
        assert_eq!(plain(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }

    #[test]
    fn a_word_matches_a_file_or_the_files_in_a_folder() {
        let here = absolute(Path::new("apps/web.yaml"));
        assert!(argument_names_file("apps/web.yaml", "x", Some(&here)));
        assert!(argument_names_file("./apps/../apps/web.yaml", "x", Some(&here)));
        assert!(argument_names_file("apps", "x", Some(&here)));
        assert!(argument_names_file("apps/", "x", Some(&here)));
        assert!(!argument_names_file("app", "x", Some(&here)));
        assert!(argument_names_file("-", "-", None));
        assert!(!argument_names_file("apps", "-", None));
    }
}
