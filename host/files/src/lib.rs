//! Opens files safely: only regular files, or only files that no other user could have written. Every file
//! that Purlin reads or writes is opened here, so that one rule holds for all of them
//! (`docs/src/reference/files.md`).
//!
//! The opened file itself is checked. Checking a path before opening it would be unsafe, since the
//! path may lead elsewhere in the meantime. Opening never blocks: a pipe without a writer is
//! rejected like everything else that is not a regular file.
//!
//! [`Moment`] is here because both the sandbox and the store of the state measure time with it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

mod moment;
mod reason;

pub use moment::Moment;
pub use reason::{reason, with_causes};

/// Opens a regular file for reading. Follows links.
///
/// # Errors
/// The error of the system; [`io::ErrorKind::InvalidInput`] for a pipe, a socket or a device;
/// [`io::ErrorKind::IsADirectory`] for a folder.
pub fn open(path: &Path) -> io::Result<File> {
    opened(path, false)
}

/// Opens a regular file that only the user of this process could have written: the user owns it, no
/// other user may write to it, and the last part of the path is not a link.
///
/// # Errors
/// The same as for [`open`]; [`io::ErrorKind::PermissionDenied`] if another user owns the file or
/// may write to it.
pub fn open_own(path: &Path) -> io::Result<File> {
    let file = opened(path, true)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = file.metadata()?;
        if metadata.uid() != user() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others may write to it"));
        }
    }
    Ok(file)
}

/// Another user who may have written a file ([`stranger`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stranger {
    /// The user with this number owns it.
    Owner(u32),
    /// Every user may write to it.
    Everybody,
}

/// The number of the user who runs this process; 0 on systems without such numbers.
pub fn user() -> u32 {
    #[cfg(unix)]
    return rustix::process::geteuid().as_raw();
    #[cfg(not(unix))]
    return 0;
}

/// Who could have written a file, or put it where it is, other than root and the users with these
/// numbers. Looks at the file, its folder and, if the file is a link, also at its target. The members of
/// a file's group count as its owner does: who shares a group shares its files (SECURITY.md).
///
/// # Errors
/// The error of the system.
pub fn stranger(path: &Path, users: &[u32]) -> io::Result<Option<Stranger>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let target = path.canonicalize()?;
        let folders = [path, &target].map(|path| match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => path,
        });
        let whole = [folders[0], folders[1], &target].map(Path::metadata);
        for found in whole.into_iter().chain([path.symlink_metadata()]) {
            let found = found?;
            if found.uid() != 0 && !users.contains(&found.uid()) {
                return Ok(Some(Stranger::Owner(found.uid())));
            }
            // A link has no permissions of its own.
            if !found.is_symlink() && found.mode() & 0o002 != 0 {
                return Ok(Some(Stranger::Everybody));
            }
        }
    }
    #[cfg(not(unix))]
    let _ = (path, users);
    Ok(None)
}

/// Opens a file that the user named on the command line. It may be a pipe, since a shell passes the output
/// of a command as one, or a device; the reader limits how much it reads.
///
/// # Errors
/// The error of the system; [`io::ErrorKind::IsADirectory`] for a folder.
pub fn open_named(path: &Path) -> io::Result<File> {
    match path.metadata()?.is_file() {
        true => open(path),
        // Waits for the other end of a pipe, as the user expects.
        false => File::open(path).and_then(|file| match file.metadata()?.is_dir() {
            true => Err(io::ErrorKind::IsADirectory.into()),
            false => Ok(file),
        }),
    }
}

/// Opens a regular file for writing, with these options. Does not follow a link in the last part of the
/// path: who can create links in the folder would choose which file is overwritten. A new file is private.
///
/// # Errors
/// The same as for [`open`]; an error of the system if it is a link.
pub fn open_to_write(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.write(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600).custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed());
    }
    regular(options.open(path)?)
}

/// Makes the names in a folder durable. Systems that cannot sync folders do this on their own.
///
/// # Errors
/// The error of the system.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = OFlags::DIRECTORY.bits().cast_signed();
        OpenOptions::new().read(true).custom_flags(flags).open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Reads a regular file of at most `at_most` bytes.
///
/// # Errors
/// The same as for [`open`]; [`io::ErrorKind::FileTooLarge`] if the file is larger.
pub fn read(path: &Path, at_most: u64) -> io::Result<Vec<u8>> {
    whole(open(path)?, at_most)
}

/// Reads a regular text file of at most `at_most` bytes.
///
/// # Errors
/// The same as for [`read`]; [`io::ErrorKind::InvalidData`] if the file is not UTF-8.
pub fn read_text(path: &Path, at_most: u64) -> io::Result<String> {
    String::from_utf8(read(path, at_most)?).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Reads a file that the user named on the command line ([`open_named`]).
///
/// # Errors
/// The same as for [`open_named`] and [`read`].
pub fn read_named(path: &Path, at_most: u64) -> io::Result<Vec<u8>> {
    whole(open_named(path)?, at_most)
}

/// Reads a file that only the user of this process could have written ([`open_own`]).
///
/// # Errors
/// The same as for [`open_own`] and [`read`].
pub fn read_own(path: &Path, at_most: u64) -> io::Result<Vec<u8>> {
    whole(open_own(path)?, at_most)
}

/// The path without links and dots, as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    walk(path, |_, _| false).unwrap_or_else(|stopped| stopped)
}

/// Follows a path, as far as it exists, and returns it without links. Before each step, calls
/// `stop` with the resolved path so far and the next path, whose link is not resolved yet.
///
/// # Errors
/// The path at which `stop` returned true.
pub fn walk(path: &Path, stop: impl Fn(&Path, &Path) -> bool) -> Result<PathBuf, PathBuf> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut there = PathBuf::new();
    for part in path.components() {
        let next = match part {
            Component::ParentDir => there.parent().map(Path::to_owned).unwrap_or_default(),
            part => there.join(part),
        };
        if stop(&there, &next) {
            return Err(next);
        }
        there = next.canonicalize().unwrap_or(next);
    }
    Ok(there)
}

fn opened(path: &Path, own: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        // Reading a regular file never blocks. Anything else could, and is rejected below.
        let flags = if own { OFlags::NONBLOCK | OFlags::NOFOLLOW } else { OFlags::NONBLOCK };
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = own;
    regular(options.open(path)?)
}

/// The file, if it is a regular one.
fn regular(file: File) -> io::Result<File> {
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok(file)
}

fn whole(file: File, at_most: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > at_most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    // The file may grow while it is read.
    file.take(at_most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > at_most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn only_regular_files_are_read_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").expect("written");
        symlink("file", at("link")).expect("a link");
        symlink("nothing", at("dangling")).expect("a link");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .expect("a pipe");
        let kind = |path: &Path| open(path).expect_err("refused").kind();
        assert_eq!(read_text(&at("file"), 4).expect("text"), "text");
        assert_eq!(read_text(&at("link"), 4).expect("text"), "text");
        assert_eq!(read(&at("file"), 3).expect_err("too large").kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(kind(&at("pipe")), io::ErrorKind::InvalidInput);
        assert_eq!(kind(Path::new("/dev/zero")), io::ErrorKind::InvalidInput);
        assert_eq!(kind(folder.path()), io::ErrorKind::IsADirectory);
        assert_eq!(kind(&at("dangling")), io::ErrorKind::NotFound);
        assert_eq!(
            read_named(Path::new("/dev/zero"), 4).expect_err("too large").kind(),
            io::ErrorKind::FileTooLarge
        );
        assert_eq!(read_named(Path::new("/dev/null"), 4).expect("nothing"), b"");
        assert_eq!(read_named(folder.path(), 4).expect_err("a folder").kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn nothing_is_written_through_a_link_or_into_a_pipe() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").expect("written");
        symlink("file", at("link")).expect("a link");
        symlink("new", at("dangling")).expect("a link");
        let pipe = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), pipe.0, pipe.1, 0).expect("a pipe");
        for name in ["link", "dangling", "pipe"] {
            for read in [false, true] {
                let mut options = OpenOptions::new();
                assert!(open_to_write(&at(name), options.read(read).create(true).truncate(true)).is_err());
            }
        }
        assert_eq!(fs::read_to_string(at("file")).expect("read"), "text");
        assert!(!at("new").exists());
        open_to_write(&at("other"), OpenOptions::new().create(true)).expect("made");
        assert_eq!(fs::metadata(at("other")).expect("there").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn strangers_are_found_in_the_file_its_folder_and_its_target() {
        let parent = tempfile::tempdir().expect("a folder");
        let at = |name: &str| parent.path().join(name);
        let user = rustix::process::geteuid().as_raw();
        let mode = |name: &str, mode| fs::set_permissions(at(name), fs::Permissions::from_mode(mode));
        let found = |name: &str| stranger(&at(name), &[user]).expect("found");
        for folder in ["mine", "all"] {
            fs::create_dir(at(folder)).expect("made");
            fs::write(at(folder).join("file"), "").expect("written");
            mode(&format!("{folder}/file"), 0o664).expect("set");
        }
        mode("mine", 0o775).expect("set");
        mode("all", 0o1777).expect("set");
        symlink("../all/file", at("mine/link")).expect("a link");
        assert_eq!(found("mine/file"), None, "a group counts as the owner does");
        assert_eq!(found("all/file"), Some(Stranger::Everybody));
        assert_eq!(found("mine/link"), Some(Stranger::Everybody));
        mode("all", 0o755).expect("set");
        assert_eq!(found("mine/link"), None);
        mode("mine/file", 0o666).expect("set");
        assert_eq!(found("mine/file"), Some(Stranger::Everybody));
        assert!(stranger(&at("nothing"), &[user]).is_err());
    }

    #[test]
    fn own_files_are_no_links_and_only_the_owner_can_write_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").expect("written");
        symlink("file", at("link")).expect("a link");
        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o644)).expect("set");
        assert_eq!(read_own(&at("file"), 4).expect("read"), b"text");
        assert!(read_own(&at("link"), 4).is_err());
        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o664)).expect("set");
        let refused = read_own(&at("file"), 4).expect_err("others may write");
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }
}
