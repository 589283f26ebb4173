//! Files and folders to texts (SPEC §2): which are read, which are skipped, and which are rejected
//! before they are read. This module knows nothing of the content of texts.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_expression::nearest;
use purlin_model::{Diagnostic, Location};

use crate::attached::AttachedFile;
use crate::tree;

/// The largest file that is read, in bytes.
pub(crate) const MAX_FILE: u64 = 10 << 20;
/// The maximum depth of walked folders; deeper ones are most likely a loop of mounts.
const MAX_FOLDERS: usize = 64;

/// A text, and its origin.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// As the user named it.
    pub(crate) name: Arc<str>,
    pub(crate) text: Arc<str>,
    /// Relative paths in it start here.
    pub(crate) folder: PathBuf,
    /// Whether the user or a document named this file; otherwise it was found in a folder.
    pub(crate) named: bool,
    /// Where a document names it, if only a document does.
    pub(crate) named_at: Option<Location>,
    /// Whether a Workspace in it is in force: it was named, or is the `purlin.yaml` of a named
    /// folder.
    pub(crate) governs: bool,
    /// The files whose content it uses, if they were kept with it.
    pub(crate) kept: KeptFiles,
}

/// The kept files whose content a document uses.
#[derive(Clone, Debug)]
pub(crate) enum KeptFiles {
    /// The document is on disk, and so are they.
    OnDisk,
    /// All of them.
    All(Vec<AttachedFile>),
}

/// The file that holds the Workspace.
pub const WORKSPACE_FILE: &str = "purlin.yaml";

/// Collects texts, each file once, however it is reached.
pub(crate) struct Collector<'a> {
    pub(crate) sources: Vec<Source>,
    pub(crate) faults: Vec<Diagnostic>,
    /// The position of each file in `sources`; `None` for one that could not be read.
    seen: HashMap<PathBuf, Option<usize>>,
    /// The real folders that were walked: links may lead to one twice, or in circles.
    walked: HashSet<PathBuf>,
    /// The real folders that the user named, or whose workspace file.
    named: Vec<PathBuf>,
    /// Whether the paths of documents may lead anywhere in the folder of a workspace file that nobody
    /// named.
    accepts: &'a dyn Fn(&Path) -> bool,
    /// The real folders that drivers may write to. Their files belong to the drivers.
    pub(crate) written: HashSet<PathBuf>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(accepts: &'a dyn Fn(&Path) -> bool) -> Self {
        Self {
            sources: Vec::new(),
            faults: Vec::new(),
            seen: HashMap::new(),
            walked: HashSet::new(),
            named: Vec::new(),
            accepts,
            written: HashSet::new(),
        }
    }

    /// A file or a folder that the user named.
    pub(crate) fn path(&mut self, path: &Path) {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                self.named.extend(path.canonicalize());
                self.folder(path, 0);
            }
            Ok(_) => {
                if path.file_name().is_some_and(|name| name == WORKSPACE_FILE) {
                    let real = path.canonicalize().ok();
                    self.named.extend(real.as_deref().and_then(Path::parent).map(Path::to_path_buf));
                }
                self.file(path, true);
            }
            Err(error) => self.faults.push(unreadable(path, &error)),
        }
    }

    /// A text that the caller already has.
    pub(crate) fn text(&mut self, name: &str, text: &str) {
        let name: Arc<str> = name.into();
        let length = text.len() as u64;
        if length > MAX_FILE {
            self.faults.push(too_large(&name, Some(length)));
            return;
        }
        self.sources.push(Source {
            name,
            text: without_mark(text),
            folder: PathBuf::new(),
            named: true,
            named_at: None,
            governs: true,
            kept: KeptFiles::OnDisk,
        });
    }

    /// A Score file that a Deployment in `folder` names at `place`; returns the name of its text,
    /// if it has one.
    pub(crate) fn referenced(&mut self, folder: &Path, written: &Path, place: &Location) -> Option<Arc<str>> {
        const INSIDE: &str = "write a path to a Score file of the workspace, from the folder of this file";
        let tree = tree::around(folder, &self.named, self.accepts);
        if let Err(fault) = tree::regular_file(&tree, folder, written, INSIDE) {
            let length = written.to_string_lossy().chars().count();
            let fault_here = Diagnostic::error(fault.code, fault.message).at(place).spanning(length);
            self.faults.push(fault_here.help(fault.help));
            return None;
        }
        let before = self.faults.len();
        let known = self.sources.len();
        let index = self.file(&folder.join(written), false);
        for source in self.sources.iter_mut().skip(known) {
            (source.named, source.named_at) = (true, Some(place.clone()));
        }
        for fault in self.faults.iter_mut().skip(before) {
            fault.related.push((place.clone(), "named here".to_owned()));
        }
        self.sources.get(index?).map(|source| source.name.clone())
    }

    fn folder(&mut self, folder: &Path, depth: usize) {
        if depth > MAX_FOLDERS {
            let place = place(folder);
            self.faults.push(
                Diagnostic::error("too-deep", format!("folders are nested more than {MAX_FOLDERS} deep"))
                    .at(&place)
                    .help("name the folders that hold documents"),
            );
            return;
        }
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        if (depth > 0 && self.written.contains(&real)) || !self.walked.insert(real) {
            return;
        }
        let mut entries =
            match fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>()) {
                Ok(entries) => entries,
                Err(error) => {
                    self.faults.push(unreadable(folder, &error));
                    return;
                }
            };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') {
                continue;
            }
            let path = folder.join(entry.file_name());
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {
                    if name != "target" && name != "node_modules" {
                        self.folder(&path, depth + 1);
                    }
                }
                Ok(metadata) if metadata.is_file() && is_document_name(&name) => {
                    if let Some(index) = self.file(&path, false)
                        && let Some(source) = self.sources.get_mut(index)
                    {
                        source.governs |= depth == 0 && name == WORKSPACE_FILE;
                    }
                }
                Ok(_) => {}
                Err(error) => self.faults.extend(broken_entry(&path, &name, &error)),
            }
        }
    }

    /// A file, and its position in `sources`. Its size is checked before it is read.
    fn file(&mut self, path: &Path, named: bool) -> Option<usize> {
        let identity = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if let Some(known) = self.seen.get(&identity) {
            if let Some(source) = known.and_then(|index| self.sources.get_mut(index)) {
                source.named |= named;
                source.governs |= named;
                if named {
                    source.named_at = None;
                }
            }
            return *known;
        }
        let read = if named { read_named } else { read };
        let index = match read(path) {
            Ok(text) => {
                let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
                let (name, governs) = (display(path), named);
                let (named_at, kept) = (None, KeptFiles::OnDisk);
                self.sources.push(Source { name, text, folder, named, named_at, governs, kept });
                Some(self.sources.len() - 1)
            }
            Err(fault) => {
                self.faults.push(*fault);
                None
            }
        };
        self.seen.insert(identity, index);
        index
    }
}

/// Whether files of this name are read as documents.
pub fn is_document_name(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension
        .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|e| extension.eq_ignore_ascii_case(e)))
}

/// Whether this folder has a file for a Workspace.
pub(crate) fn holds_workspace_file(folder: &Path) -> bool {
    folder.join(WORKSPACE_FILE).is_file()
}

/// A path as people read it: without `./` in front.
pub(crate) fn display(path: &Path) -> Arc<str> {
    let shown = path.strip_prefix(".").ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path);
    shown.to_string_lossy().into()
}

fn place(path: &Path) -> Location {
    Location::new(display(path), 0, 0)
}

/// An entry of a folder whose metadata cannot be read: a broken link, or anything in a folder that
/// may be listed and not entered. Such an entry may hold documents; an entry that has disappeared
/// since the folder was listed held some if its name says so.
fn broken_entry(path: &Path, name: &str, error: &std::io::Error) -> Option<Diagnostic> {
    let Ok(target) = fs::read_link(path) else {
        let is_gone = error.kind() == std::io::ErrorKind::NotFound;
        return (!is_gone || is_document_name(name)).then(|| unreadable(path, error));
    };
    let looped = error.kind() != std::io::ErrorKind::NotFound;
    let message = match looped {
        true => {
            format!("the link to `{}` cannot be followed: {}", target.display(), purlin_files::reason(error))
        }
        false => format!("the link leads to `{}`, which does not exist", target.display()),
    };
    let fault = if is_document_name(name) {
        Diagnostic::error("dangling-link", message)
    } else {
        Diagnostic::warning("dangling-link", message)
    };
    Some(fault.at(&place(path)).help("correct the link, or remove it"))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let (message, help) = unreadable_words(path, error);
    Diagnostic::error("unreadable-file", message).at(&place(path)).help(help)
}

/// Why a file cannot be read, and how to fix it.
pub(crate) fn unreadable_words(path: &Path, error: &std::io::Error) -> (String, String) {
    use std::io::ErrorKind;
    let shown = display(path);
    match error.kind() {
        ErrorKind::NotFound => {
            let help = match neighbour(path) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "check the path".to_owned(),
            };
            (format!("there is no file or folder `{shown}`"), help)
        }
        ErrorKind::PermissionDenied => {
            // A folder must be entered as well as listed; it may be the one around a file.
            let folder = match path.symlink_metadata() {
                Ok(metadata) if metadata.is_dir() => Some(shown.clone()),
                Ok(_) => None,
                Err(_) => path.parent().map(display),
            };
            let help = match folder.filter(|folder| !folder.is_empty()) {
                Some(folder) => format!("give yourself the right, for example with `chmod u+rx {folder}`"),
                None => format!("give yourself the right, for example with `chmod u+r {shown}`"),
            };
            (format!("no permission to read `{shown}`"), help)
        }
        _ => (format!("cannot read `{shown}`: {}", purlin_files::reason(error)), "check the path".to_owned()),
    }
}

/// The entry beside a missing one with the most similar name.
fn neighbour(path: &Path) -> Option<Arc<str>> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let names: Vec<String> = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    let near = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(display(&path.with_file_name(near)))
}

/// A text that others refer to and that was not passed with them.
pub(crate) fn unreadable_source(name: &Arc<str>) -> Diagnostic {
    Diagnostic::error("unreadable-file", "the text of this file is not among those given")
        .at(&Location::new(name.clone(), 0, 0))
        .help("give its text too, or read the files")
}

pub(crate) fn too_large(name: &Arc<str>, size: Option<u64>) -> Diagnostic {
    let size = match size {
        Some(size) => format!("{:.1} MiB", size as f64 / f64::from(1 << 20)),
        None => "more".to_owned(),
    };
    Diagnostic::error(
        "file-too-large",
        format!("the file is {size}, but at most {} MiB are allowed", MAX_FILE >> 20),
    )
    .at(&Location::new(name.clone(), 0, 0))
    .help("split it into several files")
}

/// The bytes of a regular file; none if they are more than [`MAX_FILE`].
pub(crate) fn bytes(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    within_limit(purlin_files::read(path, MAX_FILE))
}

/// The same for a file that the user named, which may be a pipe: a shell passes the output of a
/// command as one.
fn bytes_named(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    within_limit(purlin_files::read_named(path, MAX_FILE))
}

fn within_limit(read: std::io::Result<Vec<u8>>) -> std::io::Result<Option<Vec<u8>>> {
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => Ok(None),
        read => read.map(Some),
    }
}

/// The text of a regular file.
pub(crate) fn read(path: &Path) -> Result<Arc<str>, Box<Diagnostic>> {
    text(path, bytes(path))
}

/// The text of a file that the user named, or of a pipe.
pub(crate) fn read_named(path: &Path) -> Result<Arc<str>, Box<Diagnostic>> {
    text(path, bytes_named(path))
}

fn text(path: &Path, bytes: std::io::Result<Option<Vec<u8>>>) -> Result<Arc<str>, Box<Diagnostic>> {
    let Some(bytes) = bytes.map_err(|error| unreadable(path, &error))? else {
        let size = path.metadata().ok().map(|metadata| metadata.len()).filter(|size| *size > MAX_FILE);
        return Err(Box::new(too_large(&display(path), size)));
    };
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(without_mark(text)),
        Err(error) => Err(Box::new(not_utf8(path, &bytes, error.valid_up_to()))),
    }
}

pub(crate) fn without_mark(text: &str) -> Arc<str> {
    text.strip_prefix('\u{feff}').unwrap_or(text).into()
}

fn not_utf8(path: &Path, bytes: &[u8], offset: usize) -> Diagnostic {
    let good = String::from_utf8_lossy(bytes.get(..offset).unwrap_or_default());
    let line = good.bytes().filter(|b| *b == b'\n').count() + 1;
    let column = good.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    Diagnostic::error("not-utf8", format!("not UTF-8: a wrong byte at offset {offset}"))
        .at(&Location::new(display(path), narrow(line), narrow(column)))
        .help(if utf16 { "it looks like UTF-16; save it as UTF-8" } else { "save the file as UTF-8" })
}
