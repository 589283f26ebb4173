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

#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    engine: String,
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

    /// The compiled functions of the component that a file held last; empty if there are none.
    pub(crate) fn functions(&self, of: &Path) -> Vec<u8> {
        purlin_files::read_own(&self.file_of_functions(of), u64::MAX).unwrap_or_default()
    }

    pub(crate) fn write_functions(&self, of: &Path, bytes: &[u8]) {
        self.put(&self.file_of_functions(of), bytes);
    }

    fn file_of_functions(&self, of: &Path) -> PathBuf {
        let of = of.canonicalize().unwrap_or_else(|_| of.to_owned());
        let name = hex(&Sha256::digest(of.as_os_str().as_encoded_bytes()));
        self.folder.join(format!("{name}-{}.{FORMAT}.functions", self.engine))
    }

    fn put(&self, path: &Path, bytes: &[u8]) {
        let stored = tempfile::NamedTempFile::new_in(&self.folder).and_then(|mut file| {
            file.write_all(bytes)?;
            file.persist(path).map_err(|error| error.error)
        });
        if let Err(error) = stored {
            tracing::warn!(
                target: "purlin::sandbox",
                "a compiled driver is not kept in {}: {}", self.folder.display(), purlin_files::reason(&error)
            );
        }
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
