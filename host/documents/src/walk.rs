//! Files and folders to texts (SPEC §2): what is read, what is passed over, and what is refused
//! before it is read. Knows nothing of what the texts say.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_model::{Diagnostic, Location};

/// The largest file that is read, in bytes.
pub(crate) const MAX_FILE: u64 = 10 << 20;
/// How deep folders are walked; deeper ones are most likely a loop of mounts.
const MAX_FOLDERS: usize = 64;

/// A text, and how it was come by.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// As the user named it.
    pub(crate) name: Arc<str>,
    pub(crate) text: Arc<str>,
    /// Relative paths in it count from here.
    pub(crate) folder: PathBuf,
    /// Whether the user named this very file; otherwise it was found in a folder.
    pub(crate) named: bool,
}

/// Collects texts, each file once however it is reached.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) sources: Vec<Source>,
    pub(crate) faults: Vec<Diagnostic>,
    /// Where each file stands in `sources`; `None` for one that could not be read.
    seen: HashMap<PathBuf, Option<usize>>,
}

impl Collector {
    /// A file or a folder that the user named.
    pub(crate) fn path(&mut self, path: &Path) {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.folder(path, 0),
            Ok(_) => {
                self.file(path, true);
            }
            Err(error) => self.faults.push(unreadable(path, &error)),
        }
    }

    /// A text that the caller has already.
    pub(crate) fn text(&mut self, name: &str, text: &str) {
        let name: Arc<str> = name.into();
        let length = text.len() as u64;
        if length > MAX_FILE {
            self.faults.push(too_large(&name, Some(length)));
            return;
        }
        self.sources.push(Source { name, text: without_mark(text), folder: PathBuf::new(), named: true });
    }

    /// A Score file that a Deployment names at `place`; the name of its text, if it has one.
    pub(crate) fn referenced(&mut self, path: &Path, place: &Location) -> Option<Arc<str>> {
        let before = self.faults.len();
        let index = self.file(path, true);
        for fault in self.faults.iter_mut().skip(before) {
            fault.related.push((place.clone(), "named here".to_owned()));
        }
        self.sources.get(index?).map(|source| source.name.clone())
    }

    fn folder(&mut self, folder: &Path, depth: usize) {
        if depth > MAX_FOLDERS {
            let place = place(folder);
            self.faults.push(
                Diagnostic::error(
                    "too-deep",
                    format!("folders lie in each other more than {MAX_FOLDERS} deep"),
                )
                .at(&place)
                .help("name the folders that hold documents"),
            );
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
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if name != "target" && name != "node_modules" {
                    self.folder(&path, depth + 1);
                }
            } else if is_document_name(&name) && path.metadata().is_ok_and(|metadata| metadata.is_file()) {
                // A link to a file counts as one; a link to a folder may lead in circles.
                self.file(&path, false);
            }
        }
    }

    /// A file, and where it stands in `sources`. Its size is looked at before it is read.
    fn file(&mut self, path: &Path, named: bool) -> Option<usize> {
        let identity = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if let Some(known) = self.seen.get(&identity) {
            if let Some(source) = known.and_then(|index| self.sources.get_mut(index)) {
                source.named |= named;
            }
            return *known;
        }
        let index = match read(path) {
            Ok(text) => {
                let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
                self.sources.push(Source { name: display(path), text, folder, named });
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

fn is_document_name(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension
        .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|e| extension.eq_ignore_ascii_case(e)))
}

/// A path as people read it: without `./` in front.
pub(crate) fn display(path: &Path) -> Arc<str> {
    let shown = path.strip_prefix(".").ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path);
    shown.to_string_lossy().into()
}

fn place(path: &Path) -> Location {
    Location::new(display(path), 0, 0)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let fault = Diagnostic::error("unreadable-file", format!("cannot be read: {error}")).at(&place(path));
    match error.kind() {
        std::io::ErrorKind::NotFound => fault.help("check the path"),
        _ => fault,
    }
}

/// A text that others refer to and that was not given with them.
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
        format!("the file has {size}, and {} MiB are allowed", MAX_FILE >> 20),
    )
    .at(&Location::new(name.clone(), 0, 0))
    .help("split it into several files")
}

pub(crate) fn read(path: &Path) -> Result<Arc<str>, Box<Diagnostic>> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let size = file.metadata().map_err(|error| unreadable(path, &error))?.len();
    if size > MAX_FILE {
        return Err(Box::new(too_large(&display(path), Some(size))));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // A pipe or a device tells no size, so the limit holds while reading too.
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(Box::new(too_large(&display(path), None)));
    }
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
