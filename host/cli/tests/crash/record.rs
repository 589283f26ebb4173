//! Runs commands under strace, and records the changes that each of them makes to a folder.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use purlin_systems::project::ran;
use purlin_systems::tools::program;

use crate::disk::{self, Deed, Disk};
use crate::scene::Scene;
use crate::trace::{self, Call};

/// The changes that a command made to a folder.
pub(crate) struct Recording {
    /// The folder before the command ran.
    pub(crate) disk: Disk,
    pub(crate) deeds: Vec<Deed>,
}

/// Runs a command under strace and records its changes of the folder. Returns `None` if the command
/// failed because the user must decide something.
pub(crate) fn run(scene: &Scene, disk: &Disk, arguments: &[&str]) -> Option<Recording> {
    let trace = tempfile::NamedTempFile::new().expect("a file");
    let calls = format!("trace={}", trace::CALLS);
    let mut strace = std::process::Command::new("strace");
    // Record all written data as hexadecimal numbers, with the paths of descriptors.
    strace.args([
        "-f",
        "-y",
        "-xx",
        "-s",
        "16777216",
        "--seccomp-bpf",
        "-e",
        "signal=none",
        "-e",
        &calls,
        "-o",
    ]);
    strace.arg(trace.path()).arg(program());
    let ran = ran(scene.project.in_place(strace, arguments));
    // A repair ends with status 1 if something was lost.
    let good = ran.status == 0 || (arguments == ["state", "repair"] && ran.status == 1);
    let undecided = ran.out.contains("undecided") || ran.err.contains("undecided");
    if !good && undecided {
        return None;
    }
    assert!(good, "{ran}");
    let text = fs::read_to_string(trace.path()).expect("a trace");
    let root = fs::canonicalize(scene.path()).expect("a folder");
    let deeds = Reader::new(root, disk.clone()).read(&trace::read(&text));
    Some(Recording { disk: disk.clone(), deeds })
}

/// A file that the program has open.
#[derive(Clone)]
struct Open {
    at: Rc<Cell<usize>>,
    appends: bool,
}

struct Reader {
    root: PathBuf,
    disk: Disk,
    umask: u32,
    open: HashMap<i64, Open>,
    deeds: Vec<Deed>,
}

impl Reader {
    fn new(root: PathBuf, disk: Disk) -> Self {
        let status = fs::read_to_string("/proc/self/status").expect("read");
        let umask = status.lines().find_map(|line| line.strip_prefix("Umask:")).expect("a umask");
        let umask = u32::from_str_radix(umask.trim(), 8).expect("a number");
        Self { root, disk, umask, open: HashMap::new(), deeds: Vec::new() }
    }

    fn read(mut self, calls: &[Call]) -> Vec<Deed> {
        for call in calls {
            self.call(call);
        }
        self.deeds
    }

    fn deed(&mut self, deed: Deed) {
        self.disk.apply(&deed);
        self.deeds.push(deed);
    }

    fn call(&mut self, call: &Call) {
        let arguments: Vec<&str> = call.arguments.iter().map(String::as_str).collect();
        match (call.name.as_str(), &arguments[..]) {
            ("open", [_, flags, mode @ ..]) => self.opened(call, flags, mode.first()),
            ("openat", [_, _, flags, mode @ ..]) => self.opened(call, flags, mode.first()),
            ("openat2", [_, _, how, ..]) => {
                let field = |name: &str| how.split([',', '{', '}']).find_map(|f| f.trim().strip_prefix(name));
                self.opened(call, field("flags=").unwrap_or_default(), field("mode=").as_ref());
            }
            ("close", [file]) => drop(self.open.remove(&trace::number(file))),
            ("dup" | "dup2" | "dup3", [file, ..]) => self.copied(file, call.result),
            ("fcntl", [file, what, ..]) if what.starts_with("F_DUPFD") => self.copied(file, call.result),
            ("fcntl" | "execve", _) => {}
            ("read", [file, ..]) => drop(self.moved(file, call.result as usize)),
            ("lseek", [file, ..]) => {
                if let Some(open) = self.open.get(&trace::number(file)) {
                    open.at.set(call.result as usize);
                }
            }
            ("write", [file, bytes, _]) => self.written(file, trace::bytes(bytes), call.result),
            ("writev", [file, vector, _]) => self.written(file, trace::vector(vector), call.result),
            ("pwrite64", [file, bytes, _, at]) => {
                self.written_at(file, trace::bytes(bytes), call.result, trace::number(at) as usize);
            }
            ("pwritev" | "pwritev2", [file, vector, _, at, ..]) => {
                self.written_at(file, trace::vector(vector), call.result, trace::number(at) as usize);
            }
            ("copy_file_range", [from, "NULL", to, "NULL", ..]) => {
                self.carried(from, to, call.result as usize)
            }
            ("sendfile", [to, from, "NULL", _]) => self.carried(from, to, call.result as usize),
            ("ftruncate", [file, length]) => {
                if let Some(path) = self.file(file) {
                    self.deed(Deed::Length { path, length: trace::number(length) as usize });
                }
            }
            ("fsync" | "fdatasync", [file]) => {
                if let Some(path) = self.file(file) {
                    self.deed(Deed::Sync { path });
                }
            }
            ("fchmod", [file, mode]) => {
                if let Some(path) = self.file(file) {
                    self.deed(Deed::Mode { path, mode: trace::number(mode) as u32 });
                }
            }
            ("chmod", [path, mode]) | ("fchmodat", [_, path, mode, ..]) => {
                let folder = if call.name == "chmod" { None } else { trace::path_of(arguments[0]) };
                if let Some(path) = self.named(folder, path) {
                    self.deed(Deed::Mode { path, mode: trace::number(mode) as u32 });
                }
            }
            ("mkdir", [path, mode]) => self.folder(None, path, mode),
            ("mkdirat", [folder, path, mode]) => self.folder(trace::path_of(folder), path, mode),
            ("unlink" | "rmdir", [path]) => self.removed(None, path),
            ("unlinkat", [folder, path, _]) => self.removed(trace::path_of(folder), path),
            ("rename", [from, to]) => self.renamed(None, from, None, to),
            ("renameat" | "renameat2", [one, from, other, to, ..]) => {
                self.renamed(trace::path_of(one), from, trace::path_of(other), to);
            }
            ("link", [from, to]) => self.linked(None, from, None, to),
            ("linkat", [one, from, other, to, ..]) => {
                self.linked(trace::path_of(one), from, trace::path_of(other), to);
            }
            ("symlink", [target, path]) => self.symlinked(target, None, path),
            ("symlinkat", [target, folder, path]) => self.symlinked(target, trace::path_of(folder), path),
            ("mmap", [_, _, protection, flags, file, _]) => assert!(
                self.file(file).is_none() || !protection.contains("WRITE") || !flags.contains("SHARED"),
                "a file is changed through memory: {call:?}"
            ),
            _ => assert!(!self.concerns(call), "the recording does not understand {call:?}"),
        }
    }

    /// Whether a call concerns anything in the folder.
    fn concerns(&self, call: &Call) -> bool {
        let named = |argument: &String| match argument.starts_with('"') {
            true => self.named(None, argument).is_some() && !matches!(call.name.as_str(), "execve"),
            false => self.file(argument).is_some(),
        };
        call.arguments.iter().any(named)
    }

    fn opened(&mut self, call: &Call, flags: &str, mode: Option<&&str>) {
        let Some(path) = call.opened.as_ref().and_then(|path| self.below(path)) else { return };
        assert!(!flags.contains("O_TMPFILE"), "a file without a name: {call:?}");
        if flags.contains("O_CREAT") && !self.disk.has(&path) {
            let mode = mode.map_or(0o666, |mode| trace::number(mode) as u32);
            self.deed(Deed::File { path: path.clone(), mode: mode & !self.umask });
        }
        if flags.contains("O_TRUNC") && !self.disk.content(&path).is_empty() {
            self.deed(Deed::Length { path, length: 0 });
        }
        let open = Open { at: Rc::default(), appends: flags.contains("O_APPEND") };
        self.open.insert(call.result, open);
    }

    fn copied(&mut self, file: &str, copy: i64) {
        if let Some(open) = self.open.get(&trace::number(file)).cloned() {
            self.open.insert(copy, open);
        }
    }

    fn moved(&self, file: &str, by: usize) -> usize {
        let Some(open) = self.open.get(&trace::number(file)) else { return 0 };
        let at = open.at.get();
        open.at.set(at + by);
        at
    }

    fn written(&mut self, file: &str, bytes: Vec<u8>, length: i64) {
        if let Some(path) = self.file(file) {
            if self.open.get(&trace::number(file)).is_some_and(|open| open.appends) {
                let end = self.disk.content(&path).len();
                return self.written_at(file, bytes, length, end);
            }
            let at = self.moved(file, length as usize);
            self.written_at(file, bytes, length, at);
        } else if trace::number(file) == 1 {
            self.deed(Deed::Output(bytes));
        }
    }

    fn written_at(&mut self, file: &str, mut bytes: Vec<u8>, length: i64, at: usize) {
        if let Some(path) = self.file(file) {
            bytes.truncate(length as usize);
            self.deed(Deed::Write { path, at, bytes });
        }
    }

    /// Bytes were copied from one file to another inside the kernel.
    fn carried(&mut self, from: &str, to: &str, length: usize) {
        let at = self.moved(from, length);
        if let Some(path) = self.file(to) {
            let source = self.file(from).expect("only files of the folder are copied into it");
            let bytes = self.disk.content(&source)[at..at + length].to_vec();
            let at = self.moved(to, length);
            self.deed(Deed::Write { path, at, bytes });
        }
    }

    fn folder(&mut self, folder: Option<PathBuf>, path: &str, mode: &str) {
        if let Some(path) = self.named(folder, path) {
            self.deed(Deed::Folder { path, mode: trace::number(mode) as u32 & !self.umask });
        }
    }

    fn removed(&mut self, folder: Option<PathBuf>, path: &str) {
        if let Some(path) = self.named(folder, path) {
            self.deed(Deed::Remove { path });
        }
    }

    fn renamed(&mut self, one: Option<PathBuf>, from: &str, other: Option<PathBuf>, to: &str) {
        match (self.named(one, from), self.named(other, to)) {
            (Some(from), Some(to)) => self.deed(Deed::Rename { from, to }),
            (None, None) => {}
            _ => panic!("something was moved into the folder or out of it"),
        }
    }

    fn linked(&mut self, one: Option<PathBuf>, from: &str, other: Option<PathBuf>, to: &str) {
        match (self.named(one, from), self.named(other, to)) {
            (Some(from), Some(to)) => self.deed(Deed::Link { from, to }),
            (None, None) => {}
            _ => panic!("something was linked into the folder or out of it"),
        }
    }

    fn symlinked(&mut self, target: &str, folder: Option<PathBuf>, path: &str) {
        if let Some(path) = self.named(folder, path) {
            self.deed(Deed::Symlink { path, target: trace::path(target) });
        }
    }

    /// The path of a descriptor, if it is in the folder.
    fn file(&self, file: &str) -> Option<PathBuf> {
        trace::path_of(file).and_then(|path| self.below(&path))
    }

    /// A path that a call names, if it is in the folder.
    fn named(&self, folder: Option<PathBuf>, path: &str) -> Option<PathBuf> {
        let mut whole = PathBuf::new();
        for part in folder.unwrap_or_else(|| self.root.clone()).join(trace::path(path)).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => drop(whole.pop()),
                part => whole.push(part),
            }
        }
        self.below(&whole)
    }

    fn below(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.root).ok().map(Path::to_owned)
    }
}

/// Returns a difference between the folder and the result of the recorded calls.
pub(crate) fn differs(disk: &Disk, folder: &Path) -> Option<String> {
    let (model, real) = (disk.after_kill(), disk::read(folder));
    let mut paths = model.keys().chain(real.keys());
    paths.find(|path| model.get(*path) != real.get(*path)).map(|path| path.display().to_string())
}
