//! Writes files atomically, and never outside their folder.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::text;

/// The largest text that a command reads besides documents, in bytes.
pub(crate) const LARGEST_TEXT: u64 = 10 << 20;

/// The text of a regular file in a folder that a command works on.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    purlin_files::read_text(path, LARGEST_TEXT)
}

/// The bytes of such a file, which may be a component.
pub(crate) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    purlin_files::read(path, purlin_sandbox::LARGEST_COMPONENT)
}

/// The text of a file that the user named, or of a pipe.
pub(crate) fn named_text(path: &Path) -> io::Result<String> {
    let bytes = purlin_files::read_named(path, LARGEST_TEXT)?;
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Writes a file atomically: into a temporary file in the same folder, which then replaces it.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let folder = folder_of(path);
    make(folder)?;
    replace(path, folder, bytes.as_ref(), true)
}

/// Writes a file that only the user may read, into an existing folder.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, folder_of(path), bytes, false)
}

/// Writes a new file atomically. An existing file is an error and stays unchanged.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let folder = folder_of(path);
    beside(folder, text.as_bytes(), true)?.persist_noclobber(path).map_err(|error| error.error)?;
    purlin_files::sync_folder(folder)
}

/// The existing files that conflict with those that a command is about to write. A file with the same
/// content does not conflict: an interrupted run wrote it. If every file exists, the command has been run
/// before, and all of them conflict.
pub(crate) fn conflicts(files: &[(PathBuf, impl AsRef<str>)]) -> Vec<&Path> {
    let there = files.iter().filter(|(path, _)| path.symlink_metadata().is_ok());
    let there: Vec<_> = there.map(|(path, text)| (path.as_path(), is_written(path, text.as_ref()))).collect();
    let any = there.len() == files.len() || there.iter().any(|(_, written)| !written);
    there.into_iter().filter(|_| any).map(|(path, _)| path).collect()
}

/// The failure of a command that writes a new file, where one already exists.
pub(crate) fn already_exists(path: &str) -> Failure {
    Failure::input(format!("`{path}` already exists; nothing was written"))
}

/// Checks that a command may write a new project into a folder: it must not contain the current one,
/// which may be anything.
///
/// # Errors
/// A failure that suggests the current folder.
pub(crate) fn no_parent(folder: &Path, current: &Path) -> Result<(), Failure> {
    let (Ok(real), Ok(current)) = (current.join(folder).canonicalize(), current.canonicalize()) else {
        return Ok(());
    };
    if real == current || !current.starts_with(&real) {
        return Ok(());
    }
    let message = format!("`{}` contains the current folder; nothing was written", text::path(folder));
    Err(Failure::input(message)
        .hint("`.` is the current folder; run the command in the other one to write there"))
}

/// Checks that no folder between `folder` and the files that a command is about to write below it is a
/// link: whoever wrote the link, such as the author of a repository, would choose where the files go.
///
/// # Errors
/// A failure that names the first link.
pub(crate) fn no_links<'p>(folder: &Path, files: impl IntoIterator<Item = &'p Path>) -> Result<(), Failure> {
    let is_link = |path: &&Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let between =
        |file: &'p Path| file.ancestors().skip(1).take_while(|path| *path != folder).filter(is_link);
    match files.into_iter().find_map(|file| between(file).last()) {
        None => Ok(()),
        Some(link) => Err(Failure::input(format!("`{}` is a link; nothing was written", text::path(link)))
            .hint("remove the link, or name the folder that it leads to")),
    }
}

/// Writes the new files of a folder, and returns their paths as they are shown. If one of them exists with other
/// content, or all of them exist, nothing is written; `command` is what the user could run for another folder.
///
/// # Errors
/// A failure that names the files that exist, or the one that cannot be written.
pub(crate) fn write_new_files(
    folder: &Path,
    files: &[(PathBuf, impl AsRef<str>)],
    command: &str,
) -> Result<Vec<String>, Failure> {
    no_links(folder, files.iter().map(|(path, _)| path.as_path()))?;
    let taken = conflicts(files);
    let mut named: Vec<String> =
        taken.iter().take(MOST_NAMED).map(|path| format!("`{}`", text::path(path))).collect();
    if taken.len() > named.len() {
        named.push(format!("and {} more files", taken.len() - named.len()));
    }
    if !named.is_empty() {
        let exist = if taken.len() == 1 { "already exists" } else { "already exist" };
        return Err(Failure::input(format!("{} {exist}; nothing was written", named.join(", ")))
            .hint(format!("`{command}` writes into another folder")));
    }
    let write = |(path, content): &(PathBuf, _)| {
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = made.and_then(|()| write_once(path, AsRef::<str>::as_ref(content)));
        let shown = text::path(path);
        written.map_err(|error| Failure::caused(format!("cannot write `{shown}`"), &error))?;
        Ok(shown)
    };
    files.iter().map(write).collect()
}

/// How many existing files are named.
const MOST_NAMED: usize = 5;

/// Writes a new file unless it exists with the same content.
pub(crate) fn write_once(path: &Path, text: &str) -> io::Result<()> {
    if is_written(path, text) { Ok(()) } else { write_new(path, text) }
}

fn is_written(path: &Path, text: &str) -> bool {
    let is_file = path
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() == text.len() as u64);
    is_file && purlin_files::read(path, text.len() as u64).is_ok_and(|bytes| bytes == text.as_bytes())
}

/// Checks that a command may write a file: that its folder exists, and that the file does not, or is a
/// regular file that is empty or accepted by `is_ours`, so that a command overwrites only its own files.
/// An empty lock counts as somebody's.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if something else exists, [`io::ErrorKind::NotFound`] if its folder
/// does not; the error of the system if the file cannot be checked.
pub(crate) fn may_replace(path: &Path, is_ours: impl Fn(&[u8]) -> bool) -> io::Result<()> {
    const BEGINNING: u64 = 64;
    let taken = || Err(io::ErrorKind::AlreadyExists.into());
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return std::fs::metadata(folder_of(path)).map(drop);
        }
        Err(error) => return Err(error),
        Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => return taken(),
        Ok(_) if path.file_stem().is_some_and(|name| name == "lock") => return taken(),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    purlin_files::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes))?;
    match bytes.is_empty() || is_ours(&bytes) {
        true => Ok(()),
        false => taken(),
    }
}

/// Creates the folder of a file if it does not exist.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    make(folder_of(path))
}

/// Creates a folder if it does not exist. A file in its place is the error `NotADirectory`, not
/// `AlreadyExists`.
fn make(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
        _ => error,
    })
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn replace(path: &Path, folder: &Path, bytes: &[u8], readable: bool) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    beside(folder, bytes, readable)?.persist(path).map_err(|error| error.error)?;
    purlin_files::sync_folder(folder)
}

/// A durable temporary file in a folder.
fn beside(folder: &Path, bytes: &[u8], readable: bool) -> io::Result<tempfile::NamedTempFile> {
    let temporary = tempfile::Builder::new().prefix(".purlin-").tempfile_in(folder);
    // People know nothing of the temporary file, whose name is in the error.
    let mut file = temporary.map_err(|error| error.kind())?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    if readable {
        readable_by_umask(file.as_file())?;
    }
    Ok(file)
}

/// Temporary files are private; exported files get the usual permissions.
#[cfg(unix)]
fn readable_by_umask(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_umask(_: &std::fs::File) -> io::Result<()> {
    Ok(())
}

/// Turns any name into the name of a single file: no separators, not hidden, not reserved by any
/// system, and not too long.
pub(crate) fn safe_name(name: &str) -> String {
    const LONGEST: usize = 120;
    let mut safe: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' })
        .take(LONGEST)
        .collect();
    if safe.starts_with('.') || safe.is_empty() {
        safe.insert(0, '_');
    }
    let stem = safe.split('.').next().unwrap_or("").to_ascii_lowercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    if matches!(stem.as_str(), "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt") {
        safe.insert(0, '_');
    }
    if safe.ends_with('.') {
        safe.push('_');
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_stay_in_their_folder() {
        for (name, safe) in [
            ("deployment.yaml", "deployment.yaml"),
            ("../../etc/passwd", "_.._.._etc_passwd"),
            ("/abs", "_abs"),
            ("..", "_.._"),
            ("", "_"),
            ("a\u{1b}b", "a_b"),
            ("NUL.txt", "_NUL.txt"),
        ] {
            assert_eq!(safe_name(name), safe, "{name:?}");
        }
    }

    #[test]
    fn files_of_an_interrupted_run_do_not_conflict() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = ["a", "b"].map(|name| (folder.path().join(name), name));
        assert!(conflicts(&files).is_empty());
        write_once(&files[0].0, "a").expect("written");
        assert!(conflicts(&files).is_empty());
        std::fs::write(&files[0].0, "theirs").expect("written");
        assert_eq!(conflicts(&files), [&files[0].0]);
        std::fs::write(&files[0].0, "a").expect("written");
        write_once(&files[1].0, "b").expect("written");
        assert_eq!(conflicts(&files).len(), 2);
    }

    #[test]
    fn only_own_files_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let may = || may_replace(&path, |bytes| bytes.starts_with(b"ours")).is_ok();
        assert!(may());
        std::fs::write(&path, "").expect("written");
        assert!(may());
        std::fs::write(&path, "ours, and long: ".repeat(20)).expect("written");
        assert!(may());
        std::fs::write(&path, "theirs").expect("written");
        assert!(!may());
        assert!(may_replace(folder.path(), |_| true).is_err());
        assert!(may_replace(&folder.path().join("missing/a"), |_| true).is_err());
        assert!(may_replace(&path.join("below-a-file"), |_| true).is_err());
        std::fs::write(folder.path().join("lock"), "").expect("written");
        assert!(may_replace(&folder.path().join("lock"), |_| true).is_err());
        assert!(may_replace(Path::new("/dev/null"), |_| true).is_err());
    }

    proptest! {
        #[test]
        fn any_name_is_one_plain_component(name in any::<String>()) {
            let safe = safe_name(&name);
            let mut parts = Path::new(&safe).components();
            prop_assert!(matches!(parts.next(), Some(std::path::Component::Normal(_))));
            prop_assert!(parts.next().is_none());
            prop_assert!(!safe.starts_with('.'));
        }
    }

    #[test]
    fn files_are_written_atomically_and_new_ones_overwrite_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/b.yaml");
        write(&path, "one").expect("written");
        write(&path, "two").expect("written again");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "two");
        assert!(write_once(&path, "three").is_err());
        write_once(&path, "two").expect("it is there");
        assert_eq!(std::fs::read_dir(folder.path().join("a")).expect("listing").count(), 1);
    }
}
