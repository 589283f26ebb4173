//! Compiled components on disk, so that each is compiled once, and the functions of components
//! under development.
//!
//! The folder holds machine code that will run, so no other user may write to it. Files are named
//! by the digest of their sources, written under another name first, and read completely and checked
//! before use; so processes need no lock, and a torn file is treated as missing.

use std::fmt::Write as _;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wasmtime::Engine;

/// Names this format's files; a new format gets a new name.
const FORMAT: &str = "3";

/// Components whose lengths differ by less than one part in this many may have the same runtime.
const ALIKE: usize = 8;

#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    engine: String,
}

/// The compiled functions of a component.
struct Entry {
    /// A hash of the path of the component.
    name: String,
    /// The length of the component in bytes.
    length: usize,
    path: PathBuf,
}

impl Cache {
    /// Opens the cache in a folder, which it creates if missing. `None` if it cannot be used; the
    /// reason is traced, because a missing cache only costs time.
    pub(crate) fn open(folder: &Path, engine: &Engine) -> Option<Self> {
        match private(folder) {
            Ok(()) => Some(Self { folder: folder.to_owned(), engine: fingerprint(engine) }),
            Err(reason) => {
                tracing::warn!(
                    target: "purlin::sandbox",
                    "compiled drivers are not kept, because {} {reason}", folder.display()
                );
                None
            }
        }
    }

    fn file(&self, digest: &str) -> PathBuf {
        self.folder.join(format!("{digest}-{}.{FORMAT}.cwasm", self.engine))
    }

    /// The content of an entry. It will run, so the open file must be ours: the owner of a parent
    /// folder could have replaced the file that was checked.
    pub(crate) fn read(&self, digest: &str) -> Option<Vec<u8>> {
        purlin_files::read_own(&self.file(digest), u64::MAX).ok()
    }

    pub(crate) fn write(&self, digest: &str, bytes: &[u8]) {
        self.put(&self.file(digest), bytes);
    }

    /// The compiled functions of the component that a file held last. For a file that is new, those of
    /// another component of about the same length, which is likely to have the same runtime of a language.
    /// Empty if there are none.
    pub(crate) fn functions(&self, of: &Path, length: usize) -> Vec<u8> {
        let own = self.name_of_functions(of);
        let entries: Vec<_> = self.entries_of_functions().collect();
        let best = entries.iter().find(|entry| entry.name == own).or_else(|| {
            let alike = entries.iter().filter(|entry| entry.length.abs_diff(length) <= length / ALIKE);
            alike.min_by_key(|entry| entry.length.abs_diff(length))
        });
        best.and_then(|entry| purlin_files::read_own(&entry.path, u64::MAX).ok()).unwrap_or_default()
    }

    /// Keeps the functions of the component of this length that a file holds now.
    pub(crate) fn write_functions(&self, of: &Path, length: usize, bytes: &[u8]) {
        let own = self.name_of_functions(of);
        let path = self.folder.join(format!("{own}-{length}{}", self.end_of_functions()));
        if !self.put(&path, bytes) {
            return;
        }
        for old in self.entries_of_functions().filter(|entry| entry.name == own && entry.path != path) {
            // Another process may have removed it.
            let _ = fs::remove_file(old.path);
        }
    }

    fn entries_of_functions(&self) -> impl Iterator<Item = Entry> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        files.filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let (name, length) = name.strip_suffix(&self.end_of_functions())?.split_once('-')?;
            Some(Entry { name: name.to_owned(), length: length.parse().ok()?, path: file.path() })
        })
    }

    fn name_of_functions(&self, of: &Path) -> String {
        let of = of.canonicalize().unwrap_or_else(|_| of.to_owned());
        hex(&Sha256::digest(of.as_os_str().as_encoded_bytes()))
    }

    fn end_of_functions(&self) -> String {
        format!("-{}.{FORMAT}.functions", self.engine)
    }

    /// Whether the file was stored.
    fn put(&self, path: &Path, bytes: &[u8]) -> bool {
        let stored = tempfile::NamedTempFile::new_in(&self.folder).and_then(|mut file| {
            file.write_all(bytes)?;
            file.persist(path).map_err(|error| error.error)
        });
        if let Err(error) = &stored {
            tracing::warn!(
                target: "purlin::sandbox",
                "a compiled driver is not kept in {}: {}", self.folder.display(), purlin_files::reason(error)
            );
        }
        stored.is_ok()
    }
}

/// Makes sure that the folder is ours and that nobody else can write to it.
fn private(folder: &Path) -> Result<(), String> {
    let fault = |error: std::io::Error| format!("cannot be used: {}", purlin_files::reason(&error));
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder).map_err(fault)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::metadata(folder).map_err(fault)?;
        if metadata.mode() & 0o022 != 0 {
            return Err("can be written to by others; `chmod 700` makes it private".into());
        }
        // A new file shows the user of this process.
        let probe = tempfile::NamedTempFile::new_in(folder).map_err(fault)?;
        if probe.as_file().metadata().map_err(fault)?.uid() != metadata.uid() {
            return Err("belongs to another user".into());
        }
    }
    Ok(())
}

/// The engine that compiled code is for: wasmtime's version, its settings, this processor.
fn fingerprint(engine: &Engine) -> String {
    struct Sink(Sha256);
    impl Hasher for Sink {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut sink = Sink(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut sink);
    hex(&sink.0.finalize()[..8])
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_gets_the_functions_of_a_similar_component() {
        let folder = tempfile::tempdir().expect("folder");
        let engine = crate::engine::portable().expect("engine");
        let cache = Cache::open(&folder.path().join("cache"), &engine).expect("made");
        let [python, js, new] = ["python", "js", "new"].map(Path::new);
        assert!(cache.functions(python, 2000).is_empty());
        cache.write_functions(python, 2000, b"python");
        cache.write_functions(js, 1000, b"js");
        assert_eq!(cache.functions(new, 2100), b"python");
        assert_eq!(cache.functions(new, 950), b"js");
        assert!(cache.functions(new, 1500).is_empty());

        // Its own ones, whatever became of its length, and one entry for each file.
        assert_eq!(cache.functions(python, 1000), b"python");
        cache.write_functions(python, 1001, b"other");
        assert_eq!(cache.functions(python, 2000), b"other");
        assert_eq!(cache.entries_of_functions().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_open_to_others_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().expect("folder");
        let engine = crate::engine::portable().expect("engine");
        let folder = parent.path().join("a/b");
        let cache = Cache::open(&folder, &engine).expect("made");
        assert_eq!(fs::metadata(&folder).expect("there").permissions().mode() & 0o777, 0o700);
        cache.write("d", b"x");
        assert_eq!(cache.read("d").as_deref(), Some(&b"x"[..]));
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 1);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).expect("ours");
        assert!(Cache::open(&folder, &engine).is_none());
    }
}
