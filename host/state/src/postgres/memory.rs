//! What this host remembers of databases: the last commit that it made in each environment. Nothing inside
//! a restored database is newer than the backup, so only such a memory can show what it lacks.
//!
//! A memory can be missing, for instance because a cache was emptied; then less is noticed. Files are
//! replaced as a whole, and only the holder of an environment's lease writes its file. The state has an id
//! that its copies share and other states do not, so what is remembered of one is never compared with
//! another.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use crate::{Environment, keyspace};

/// The number of folders that the files are spread over.
const FOLDERS: usize = 256;
/// The number of environments in each of them. Beyond that, those are forgotten whose last commit is the
/// longest ago.
const PER_FOLDER: usize = 64;
/// The maximum size of a file, in bytes.
const LARGEST: u64 = 1 << 10;

/// The last commit that this host made in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// Its number.
    pub(super) seq: i64,
    /// The number of the lease under which it was made.
    pub(super) fence: i64,
    /// The server that took it, if it could be identified.
    pub(super) server: Option<String>,
}

/// All that this host remembers of one database.
#[derive(Debug)]
pub(super) struct Memories {
    /// `None` if it remembers nothing.
    folder: Option<PathBuf>,
    /// The id of the state.
    state: String,
}

impl Memories {
    pub(super) fn new(folder: Option<PathBuf>, state: String) -> Self {
        Self { folder, state }
    }

    fn path(&self, environment: &Environment) -> Option<PathBuf> {
        let mut hash = Sha256::new_with_prefix(self.state.as_bytes());
        hash.update(keyspace::place(environment));
        let [first, rest @ ..]: [u8; 32] = hash.finalize().into();
        let name: String = rest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        Some(self.folder.as_ref()?.join(format!("{:02x}", usize::from(first) % FOLDERS)).join(name))
    }

    pub(super) fn of(&self, environment: &Environment) -> Option<Memory> {
        let text = purlin_files::read_text(&self.path(environment)?, LARGEST).ok()?;
        let mut words = text.split_whitespace();
        let (seq, fence) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Memory { seq, fence, server: words.next().map(str::to_owned) })
    }

    /// Remembers a commit. A failure is only traced: less is noticed then.
    pub(super) fn keep(&self, environment: &Environment, memory: &Memory) {
        let Some(path) = self.path(environment) else { return };
        if let Err(error) = write(&path, memory) {
            tracing::debug!(
                "the last commit of {environment} is not remembered in {}: {}",
                path.display(),
                purlin_files::reason(&error)
            );
        }
    }
}

fn write(path: &Path, memory: &Memory) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let Memory { seq, fence, server } = memory;
    let text = format!("{seq} {fence} {}\n", server.as_deref().unwrap_or_default());
    // A process that lost the lease may write at the same time.
    let staging = folder.join(format!(".{}-{}", name.display(), std::process::id()));
    if !path.exists() {
        make(folder)?;
        forget_oldest(folder)?;
    }
    let mut file = purlin_files::open_to_write(&staging, fs::OpenOptions::new().create(true).truncate(true))?;
    file.write_all(text.as_bytes())?;
    fs::rename(&staging, path)
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes room for one more file.
fn forget_oldest(folder: &Path) -> io::Result<()> {
    let changed = |file: &fs::DirEntry| file.metadata().and_then(|data| data.modified());
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(folder)?
        .flatten()
        .map(|file| (changed(&file).unwrap_or(SystemTime::UNIX_EPOCH), file.path()))
        .collect();
    files.sort();
    let surplus = (files.len() + 1).saturating_sub(PER_FOLDER);
    for (_, path) in files.into_iter().take(surplus) {
        // Another process may have removed it.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(number: usize) -> Environment {
        Environment { org: "acme".into(), app: "shop".into(), env: format!("e{number}").into() }
    }

    #[test]
    fn each_environment_of_each_state_is_remembered_and_the_oldest_are_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |state: &str| Memories::new(Some(folder.path().join("states")), state.into());
        let (one, other) = (of("one"), of("other"));
        let memory = |seq| Memory { seq, fence: 2, server: Some("7/1/16384@100".into()) };
        assert_eq!(one.of(&environment(0)), None);
        for seq in [3, 4] {
            one.keep(&environment(0), &memory(seq));
        }
        let unknown = Memory { server: None, ..memory(9) };
        one.keep(&environment(1), &unknown);
        assert_eq!(one.of(&environment(0)), Some(memory(4)));
        assert_eq!(one.of(&environment(1)), Some(unknown));
        assert_eq!(other.of(&environment(0)), None);
        // Something else is in the file.
        for text in ["", "x", "7", "7 x", &"9".repeat(2_000)] {
            fs::write(one.path(&environment(0)).expect("a path"), text).expect("written");
            assert_eq!(one.of(&environment(0)), None, "{text}");
        }
        for number in 0..FOLDERS * PER_FOLDER / 8 {
            other.keep(&environment(number), &memory(1));
        }
        let full = folder.path().join("full");
        fs::create_dir(&full).expect("made");
        for number in 0..PER_FOLDER + 5 {
            write(&full.join(number.to_string()), &memory(1)).expect("written");
        }
        assert_eq!(fs::read_dir(&full).expect("a folder").count(), PER_FOLDER);
        assert!(full.join((PER_FOLDER + 4).to_string()).exists());
        let nowhere = Memories::new(None, "one".into());
        nowhere.keep(&environment(0), &memory(1));
        assert_eq!(nowhere.of(&environment(0)), None);
    }
}
