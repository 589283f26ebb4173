//! A model of a folder on a disk: what programs see of it, and which part survives a power failure.
//!
//! The assumptions about the file system: `fsync` and `fdatasync` of a file make its content
//! durable, and `fsync` of a folder the names in it. Until then, any part of the changes may be
//! missing, in any order. Only the changes of names in one folder keep their order, and a rename is
//! atomic. ext4, XFS and Btrfs promise more than this.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use crate::choice::Choice;

/// A change of a folder, with relative paths.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Folder {
        path: PathBuf,
        mode: u32,
    },
    File {
        path: PathBuf,
        mode: u32,
    },
    Symlink {
        path: PathBuf,
        target: PathBuf,
    },
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
    Mode {
        path: PathBuf,
        mode: u32,
    },
    Write {
        path: PathBuf,
        at: usize,
        bytes: Vec<u8>,
    },
    Length {
        path: PathBuf,
        length: usize,
    },
    Sync {
        path: PathBuf,
    },
    /// Output was written to standard output.
    Output(Vec<u8>),
}

impl Deed {
    /// The path that changed.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Folder { path, .. }
            | Self::File { path, .. }
            | Self::Symlink { path, .. }
            | Self::Remove { path }
            | Self::Mode { path, .. }
            | Self::Write { path, .. }
            | Self::Length { path, .. }
            | Self::Sync { path } => Some(path),
            Self::Link { to, .. } | Self::Rename { to, .. } => Some(to),
            Self::Output(_) => None,
        }
    }

    /// The part that remains if the call is killed in the middle: the kernel writes page by page.
    pub(crate) fn torn(&self) -> Option<Self> {
        const PAGE: usize = 4096;
        match self {
            Self::Write { path, at, bytes } if bytes.len() > PAGE => {
                let end = (at + bytes.len() / 2) / PAGE * PAGE;
                let bytes = bytes.get(..end.checked_sub(*at)?)?.to_vec();
                Some(Self::Write { path: path.clone(), at: *at, bytes })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().unwrap_or(Path::new("")).display();
        match self {
            Self::Folder { .. } => write!(f, "mkdir {path}"),
            Self::File { .. } => write!(f, "create {path}"),
            Self::Symlink { .. } => write!(f, "symlink {path}"),
            Self::Link { from, .. } => write!(f, "link {} {path}", from.display()),
            Self::Rename { from, .. } => write!(f, "rename {} {path}", from.display()),
            Self::Remove { .. } => write!(f, "remove {path}"),
            Self::Mode { .. } => write!(f, "chmod {path}"),
            Self::Write { at, bytes, .. } => write!(f, "write {} bytes to {path} at {at}", bytes.len()),
            Self::Length { length, .. } => write!(f, "cut {path} to {length} bytes"),
            Self::Sync { .. } => write!(f, "sync {path}"),
            Self::Output(_) => write!(f, "a line of output"),
        }
    }
}

#[derive(Clone, Debug)]
enum NodeKind {
    File,
    Folder,
    Symlink(PathBuf),
}

/// A change of a file's content.
#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Clone, Debug)]
struct Node {
    kind: NodeKind,
    mode: u32,
    now: Vec<u8>,
    safe: Vec<u8>,
    pending: Vec<Change>,
}

/// A name in a folder, and the node that it now refers to, if any.
type Entry = (usize, OsString, Option<usize>);
/// The node of each name in each folder.
type Names = BTreeMap<(usize, OsString), usize>;

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    nodes: Vec<Node>,
    now: Names,
    safe: Names,
    pending: Vec<Vec<Entry>>,
    /// Folders that represent remote systems: a power failure does not affect them.
    elsewhere: Vec<PathBuf>,
}

/// The contents of a folder by path.
pub(crate) type Tree = BTreeMap<PathBuf, Thing>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thing {
    Folder { mode: u32 },
    File { mode: u32, content: Vec<u8> },
    Symlink(PathBuf),
}

const ROOT: usize = 0;

impl Disk {
    /// The current contents of a folder, all of it durable.
    pub(crate) fn of(folder: &Path, elsewhere: &[&str]) -> Self {
        let mut disk = Self {
            nodes: vec![Node::new(NodeKind::Folder, 0o755)],
            now: Names::new(),
            safe: Names::new(),
            pending: Vec::new(),
            elsewhere: elsewhere.iter().map(PathBuf::from).collect(),
        };
        for (path, thing) in read(folder) {
            disk.add(&path, thing);
        }
        disk.safe = disk.now.clone();
        disk.pending.clear();
        disk
    }

    fn add(&mut self, path: &Path, thing: Thing) {
        let (node, content) = match thing {
            Thing::Folder { mode } => (Node::new(NodeKind::Folder, mode), Vec::new()),
            Thing::File { mode, content } => (Node::new(NodeKind::File, mode), content),
            Thing::Symlink(target) => (Node::new(NodeKind::Symlink(target), 0o777), Vec::new()),
        };
        self.nodes.push(Node { now: content.clone(), safe: content, ..node });
        let number = self.nodes.len() - 1;
        let (folder, name) = self.place(path);
        self.change(path, vec![(folder, name, Some(number))]);
    }

    /// Whether the path exists.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.find(path).is_some()
    }

    /// The content of a file.
    pub(crate) fn content(&self, path: &Path) -> &[u8] {
        &self.nodes[self.node(path)].now
    }

    /// Takes over changes from outside, all of them durable.
    pub(crate) fn adopt(&mut self, folder: &Path) {
        let (before, after) = (self.after_kill(), read(folder));
        for path in before.keys().rev().filter(|path| !after.contains_key(*path)) {
            let (folder, name) = self.place(path);
            self.safely(&[(folder, name, None)]);
        }
        for (path, thing) in after {
            match (before.get(&path), thing) {
                (Some(old), new) if *old == new => {}
                (Some(Thing::File { .. }), Thing::File { mode, content }) => {
                    let number = self.node(&path);
                    let node = &mut self.nodes[number];
                    (node.mode, node.now) = (mode, content);
                    node.sync();
                }
                (_, thing) => {
                    self.add(&path, thing);
                    let (folder, name) = self.place(&path);
                    let node = self.now.get(&(folder, name.clone())).copied();
                    self.pending.pop();
                    self.safely(&[(folder, name, node)]);
                }
            }
        }
    }

    fn safely(&mut self, entries: &[Entry]) {
        put(&mut self.now, entries);
        put(&mut self.safe, entries);
    }

    /// Applies a change.
    pub(crate) fn apply(&mut self, deed: &Deed) {
        match deed {
            Deed::Folder { path, mode } => self.add(path, Thing::Folder { mode: *mode }),
            Deed::File { path, mode } => self.add(path, Thing::File { mode: *mode, content: Vec::new() }),
            Deed::Symlink { path, target } => self.add(path, Thing::Symlink(target.clone())),
            Deed::Link { from, to } => {
                let node = self.node(from);
                let (folder, name) = self.place(to);
                self.change(to, vec![(folder, name, Some(node))]);
            }
            Deed::Rename { from, to } => {
                let node = self.node(from);
                let (old, before) = self.place(from);
                let (new, after) = self.place(to);
                self.change(to, vec![(old, before, None), (new, after, Some(node))]);
            }
            Deed::Remove { path } => {
                let (folder, name) = self.place(path);
                self.change(path, vec![(folder, name, None)]);
            }
            Deed::Mode { path, mode } => {
                let node = self.node(path);
                self.nodes[node].mode = *mode;
            }
            Deed::Write { path, at, bytes } => self.edit(path, Change::Write(*at, bytes.clone())),
            Deed::Length { path, length } => self.edit(path, Change::Length(*length)),
            Deed::Sync { path } => self.sync(path),
            Deed::Output(_) => {}
        }
    }

    fn edit(&mut self, path: &Path, change: Change) {
        let safe = self.is_elsewhere(path);
        let number = self.node(path);
        let node = &mut self.nodes[number];
        change.apply(&mut node.now);
        node.pending.push(change);
        if safe {
            node.sync();
        }
    }

    fn change(&mut self, path: &Path, entries: Vec<Entry>) {
        put(&mut self.now, &entries);
        if self.is_elsewhere(path) {
            put(&mut self.safe, &entries);
        } else {
            self.pending.push(entries);
        }
    }

    fn sync(&mut self, path: &Path) {
        let number = self.node(path);
        if !matches!(self.nodes[number].kind, NodeKind::Folder) {
            return self.nodes[number].sync();
        }
        // The changes in this folder, and the changes elsewhere that must precede them.
        let mut folders = BTreeSet::from([number]);
        let mut pending = Vec::new();
        let mut safe = Vec::new();
        for entries in std::mem::take(&mut self.pending).into_iter().rev() {
            if entries.iter().any(|(folder, ..)| folders.contains(folder)) {
                folders.extend(entries.iter().map(|(folder, ..)| *folder));
                safe.push(entries);
            } else {
                pending.push(entries);
            }
        }
        pending.reverse();
        self.pending = pending;
        safe.iter().rev().for_each(|entries| put(&mut self.safe, entries));
    }

    /// The contents after a kill at this point.
    pub(crate) fn after_kill(&self) -> Tree {
        self.tree(&self.now, |node| node.now.clone())
    }

    /// The contents after a power failure at this point.
    pub(crate) fn after_cut(&self, choice: &mut Choice) -> Tree {
        let mut names = self.safe.clone();
        let mut stopped = BTreeSet::new();
        for entries in &self.pending {
            let folders = entries.iter().map(|(folder, ..)| *folder);
            if folders.clone().any(|folder| stopped.contains(&folder)) || !choice.keeps_name() {
                stopped.extend(folders);
            } else {
                put(&mut names, entries);
            }
        }
        let contents: Vec<Vec<u8>> = self.nodes.iter().map(|node| node.after_cut(choice)).collect();
        self.tree_with(&names, &contents)
    }

    fn tree(&self, names: &Names, content: impl Fn(&Node) -> Vec<u8>) -> Tree {
        let contents: Vec<Vec<u8>> = self.nodes.iter().map(content).collect();
        self.tree_with(names, &contents)
    }

    fn tree_with(&self, names: &Names, contents: &[Vec<u8>]) -> Tree {
        let mut tree = Tree::new();
        let mut folders = vec![(ROOT, PathBuf::new())];
        while let Some((folder, path)) = folders.pop() {
            for ((_, name), number) in names.range((folder, OsString::new())..(folder + 1, OsString::new())) {
                let (path, node) = (path.join(name), &self.nodes[*number]);
                let thing = match &node.kind {
                    NodeKind::Folder => {
                        folders.push((*number, path.clone()));
                        Thing::Folder { mode: node.mode }
                    }
                    NodeKind::File => Thing::File { mode: node.mode, content: contents[*number].clone() },
                    NodeKind::Symlink(target) => Thing::Symlink(target.clone()),
                };
                tree.insert(path, thing);
            }
        }
        tree
    }

    fn is_elsewhere(&self, path: &Path) -> bool {
        self.elsewhere.iter().any(|folder| path.starts_with(folder))
    }

    fn find(&self, path: &Path) -> Option<usize> {
        path.components().try_fold(ROOT, |folder, part| match part {
            Component::Normal(name) => self.now.get(&(folder, name.to_owned())).copied(),
            _ => None,
        })
    }

    fn node(&self, path: &Path) -> usize {
        self.find(path)
            .unwrap_or_else(|| panic!("the trace has a change of `{}`, which is not there", path.display()))
    }

    fn place(&self, path: &Path) -> (usize, OsString) {
        let folder = self.node(path.parent().unwrap_or(Path::new("")));
        (folder, path.file_name().unwrap_or(OsStr::new("")).to_owned())
    }
}

impl Node {
    fn new(kind: NodeKind, mode: u32) -> Self {
        Self { kind, mode, now: Vec::new(), safe: Vec::new(), pending: Vec::new() }
    }

    fn sync(&mut self) {
        self.safe.clone_from(&self.now);
        self.pending.clear();
    }

    fn after_cut(&self, choice: &mut Choice) -> Vec<u8> {
        if self.pending.is_empty() {
            return self.safe.clone();
        }
        let mut choice = choice.of_file();
        let mut content = self.safe.clone();
        for change in &self.pending {
            match change {
                Change::Length(_) if choice.keeps() => change.apply(&mut content),
                Change::Length(_) => {}
                Change::Write(at, bytes) => {
                    if let Some(bytes) = choice.part(bytes) {
                        Change::Write(*at, bytes).apply(&mut content);
                    }
                }
            }
        }
        content
    }
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Length(length) => content.resize(*length, 0),
            Self::Write(at, bytes) => {
                let end = at + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*at..end].copy_from_slice(bytes);
            }
        }
    }
}

fn put(names: &mut Names, entries: &[Entry]) {
    for (folder, name, node) in entries {
        match node {
            Some(node) => names.insert((*folder, name.clone()), *node),
            None => names.remove(&(*folder, name.clone())),
        };
    }
}

/// Reads the contents of a folder.
pub(crate) fn read(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below)).expect("a folder") {
            let entry = entry.expect("an entry");
            let path = below.join(entry.file_name());
            let about = entry.metadata().expect("there");
            let mode = about.mode() & 0o7777;
            let thing = if about.is_dir() {
                folders.push(path.clone());
                Thing::Folder { mode }
            } else if about.is_symlink() {
                Thing::Symlink(fs::read_link(entry.path()).expect("a link"))
            } else {
                Thing::File { mode, content: fs::read(entry.path()).expect("read") }
            };
            tree.insert(path, thing);
        }
    }
    tree
}

/// Writes these contents into a folder.
pub(crate) fn write(tree: &Tree, folder: &Path) {
    for (path, thing) in tree {
        let to = folder.join(path);
        match thing {
            Thing::Folder { .. } => fs::create_dir(&to).expect("made"),
            Thing::File { mode, content } => {
                fs::write(&to, content).expect("written");
                fs::set_permissions(&to, fs::Permissions::from_mode(*mode)).expect("set");
            }
            Thing::Symlink(target) => std::os::unix::fs::symlink(target, &to).expect("linked"),
        }
    }
    for (path, thing) in tree.iter().rev() {
        if let Thing::Folder { mode } = thing {
            fs::set_permissions(folder.join(path), fs::Permissions::from_mode(*mode)).expect("set");
        }
    }
}
