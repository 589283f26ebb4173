//! Reads the environment of the program: environment variables, folders, the clock, the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use purlin_conformance::Patience;
use purlin_documents as documents;
use purlin_documents::LOCK_FILE;
use purlin_files::Stranger;
use purlin_files::reason;
use purlin_files::stranger;
use purlin_host::STATE_FOLDER;
use purlin_sandbox::clock;
use purlin_state::Holder;

/// The number of open files that this program wants to be allowed.
#[cfg(unix)]
const FILES: u64 = 65_536;

/// The largest file of the system that is read, in bytes.
const LARGEST: u64 = 10 << 20;

/// The name of the workspace file.
pub(crate) const WORKSPACE_FILE: &str = documents::WORKSPACE_FILE;

/// Raises the limit of open files as far as the system allows, up to a reasonable number. A driver
/// may open a thousand handles in one call, which must not affect other calls.
pub(crate) fn open_more_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = maximum.unwrap_or(FILES).min(FILES);
        if current.is_some_and(|current| current < wanted) {
            // If this fails, the old limit has to do.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
        }
    }
}

/// The environment variables whose names and values are valid text.
pub(crate) fn variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The folder for compiled drivers and what this host remembers of databases, in the user's cache folder if
/// there is one.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let absolute = |path: String| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let base = variable("XDG_CACHE_HOME")
        .and_then(absolute)
        .or_else(|| Some(variable("HOME").and_then(absolute)?.join(".cache")))?;
    Some(base.join("purlin"))
}

/// The environment variable with which a shell requests completions.
pub(crate) const COMPLETE: &str = "PURLIN_COMPLETE";

/// Whether a shell requests completions.
pub(crate) fn is_completing() -> bool {
    std::env::var_os(COMPLETE).is_some_and(|shell| !shell.is_empty() && shell != "0")
}

/// The value of an environment variable that holds a key.
pub(crate) fn secret(name: &str) -> Option<String> {
    variable(name)
}

/// The environment variable that names the workspace file or its folder.
pub(crate) const WORKSPACE: &str = "PURLIN_WORKSPACE";

/// The workspace file that the user's environment names; otherwise the nearest `purlin.yaml` in a folder
/// or its ancestors. Before its content counts, [`foreign`] must have accepted it.
pub(crate) fn nearest_workspace(from: &Path) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(WORKSPACE).filter(|named| !named.is_empty()) {
        let path = from.join(named);
        return Some(if path.is_dir() { path.join(WORKSPACE_FILE) } else { path });
    }
    from.ancestors().map(|folder| folder.join(WORKSPACE_FILE)).find(|file| file.is_file())
}

/// Whether the user's environment names the workspace file.
pub(crate) fn names_workspace() -> bool {
    std::env::var_os(WORKSPACE).is_some_and(|named| !named.is_empty())
}

/// Why a workspace file that was found, and not named, may be another user's, or something beside it that
/// is used with it: the lock and the state. It names programs that Purlin runs (SECURITY.md).
pub(crate) fn foreign(file: &Path) -> Option<String> {
    if names_workspace() {
        return None;
    }
    found_foreign(file)
}

/// Whether the folder of a workspace file that was found above a document counts as one workspace: the
/// user's environment names it, or nobody else may have written it.
pub(crate) fn accepts(file: &Path) -> bool {
    let is_named = || {
        let named = nearest_workspace(Path::new("")).filter(|_| std::env::var_os(WORKSPACE).is_some());
        named
            .and_then(|named| named.canonicalize().ok())
            .is_some_and(|named| file.canonicalize().is_ok_and(|file| file == named))
    };
    found_foreign(file).is_none() || is_named()
}

fn found_foreign(file: &Path) -> Option<String> {
    let beside = [LOCK_FILE, STATE_FOLDER].map(|name| file.with_file_name(name));
    std::iter::once(file).chain(beside.iter().map(PathBuf::as_path)).find_map(written_by_others)
}

/// Why a file or a folder may have been written by somebody other than the user and root. `None` also if
/// there is nothing.
pub(crate) fn written_by_others(path: &Path) -> Option<String> {
    path.symlink_metadata().ok()?;
    let shown = crate::text::path(path);
    Some(match stranger(path, &users()) {
        Ok(None) => return None,
        Ok(Some(Stranger::Everybody)) => {
            format!("every user of this machine may write to `{shown}` or its folder")
        }
        Ok(Some(Stranger::Owner(id))) => {
            format!("`{shown}` or its folder belongs to another user, {}", account_of(id).name)
        }
        Err(error) => format!("the owner of `{shown}` is unknown: {}", reason(&error)),
    })
}

/// The numbers of the user: of the process and, if `sudo` started it, of its caller.
#[cfg(unix)]
fn users() -> Vec<u32> {
    let own = purlin_files::user();
    let caller = variable("SUDO_UID").filter(|_| own == 0).and_then(|id| id.parse().ok());
    std::iter::once(own).chain(caller).collect()
}

#[cfg(not(unix))]
fn users() -> Vec<u32> {
    Vec::new()
}

/// Milliseconds since 1970. Commands do not start if the clock shows an earlier time.
pub(crate) fn now() -> u64 {
    static CLOCK: LazyLock<Box<dyn Fn() -> u64 + Send + Sync>> = LazyLock::new(|| Box::new(clock::steady()));
    CLOCK()
}

/// Whether the parent of this program made it ignore SIGHUP, as `nohup` does. False if this cannot
/// be determined.
#[cfg(unix)]
pub(crate) fn ignores_hangup() -> bool {
    let status = read("/proc/self/status");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The lowest bit is that of signal 1, which is SIGHUP.
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1))
}

/// A different id for each run.
pub(crate) fn deployment_id() -> String {
    format!("{:x}-{:x}", now(), std::process::id())
}

/// A user of this machine.
struct Account {
    name: String,
    home: Option<PathBuf>,
}

/// The user of the process, from the system's list of users. A user without an entry there is named
/// after their number.
#[cfg(unix)]
fn account() -> Option<Account> {
    Some(account_of(rustix::process::getuid().as_raw()))
}

#[cfg(unix)]
fn account_of(id: u32) -> Account {
    let users = read("/etc/passwd");
    listed(&users, id).unwrap_or(Account { name: format!("user {id}"), home: None })
}

#[cfg(not(unix))]
fn account_of(id: u32) -> Account {
    Account { name: format!("user {id}"), home: None }
}

/// A text file of the system; empty if it cannot be read.
fn read(path: &str) -> String {
    let bytes = purlin_files::read(Path::new(path), LARGEST).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(not(unix))]
fn account() -> Option<Account> {
    None
}

/// The user with an id in a file such as `/etc/passwd`.
#[cfg(unix)]
fn listed(users: &str, id: u32) -> Option<Account> {
    users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, number, _, _, home, ..] = fields.as_slice() else { return None };
        let home = Some(PathBuf::from(home)).filter(|home| home.is_absolute());
        (!name.is_empty() && number.parse() == Ok(id)).then(|| Account { name: (*name).to_owned(), home })
    })
}

/// A folder without a workspace that contains more files than this is unlikely to be a project.
pub(crate) const MANY: usize = 10_000;

/// Whether a folder without a workspace may be a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Project {
    /// It may be one.
    Possible,
    /// It is the user's home folder.
    Home,
    /// It belongs to the system.
    System,
    /// It contains more files than a project would.
    Large,
}

/// Folders of the system, or with the files of all users.
const SYSTEM: &[&str] = &[
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/bin",
    "/boot",
    "/dev/shm",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/private",
    "/private/tmp",
    "/run",
    "/sbin",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/share",
    "/var",
    "/var/lib",
    "/var/log",
    "/var/tmp",
    "C:\\Program Files",
    "C:\\Users",
    "C:\\Windows",
];

/// Folders that contain no project at any depth, except in [`IN_MEMORY`].
const NEVER: &[&str] = &["/dev", "/proc", "/sys"];

/// Where users of Linux have files in memory.
const IN_MEMORY: &str = "/dev/shm";

/// Checks whether a folder without a workspace may be a project.
pub(crate) fn project(folder: &Path) -> Project {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let named = ["HOME", "USERPROFILE"].into_iter().filter_map(variable).map(PathBuf::from);
    let mut homes = named.chain(account().and_then(|account| account.home));
    if folder.parent().is_none()
        || SYSTEM.iter().any(|system| folder == Path::new(system))
        || NEVER.iter().any(|never| folder.starts_with(never)) && !folder.starts_with(IN_MEMORY)
    {
        Project::System
    } else if homes.any(|home| folder == home || home.canonicalize().is_ok_and(|home| folder == home)) {
        Project::Home
    } else if holds_more_than(MANY, &folder) {
        Project::Large
    } else {
        Project::Possible
    }
}

/// Whether a folder contains more files than this, counting only folders that documents are read
/// from.
fn holds_more_than(many: usize, folder: &Path) -> bool {
    let (mut files, mut folders) = (0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") || name == "target" || name == "node_modules" {
                continue;
            }
            files += 1;
            if files > many {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    false
}

/// The user and process, as shown to others.
pub(crate) fn holder(command: &str) -> Holder {
    let name = read("/proc/sys/kernel/hostname");
    let host = Some(name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .or_else(|| variable("HOSTNAME"))
        .or_else(|| variable("COMPUTERNAME"));
    let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(variable);
    Holder {
        user: user.or_else(|| Some(account()?.name)).unwrap_or_else(|| "someone".into()),
        host: host.unwrap_or_else(|| "this machine".into()),
        pid: std::process::id(),
        command: format!("purlin {command}"),
        since: now(),
    }
}

/// Crash points, for tests of debug builds: kill this process at a chosen point.
///
/// `PURLIN_CRASH_AT=N` kills it at the point with number N, counted from 1 in the order in which
/// points are reached. `PURLIN_CRASH_LOG=FILE` logs each point.
#[cfg(debug_assertions)]
pub(crate) fn crash_points() -> Option<purlin_state::Probe> {
    use purlin_files::open_to_write;
    use std::io::Write as _;
    use std::sync::atomic::{AtomicU64, Ordering};
    let at: Option<u64> = variable("PURLIN_CRASH_AT").and_then(|number| number.parse().ok());
    let log = variable("PURLIN_CRASH_LOG");
    if at.is_none() && log.is_none() {
        return None;
    }
    let passed = AtomicU64::new(0);
    Some(purlin_state::Probe::new(move |place| {
        let number = passed.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(path) = &log
            && let Ok(mut file) =
                open_to_write(path.as_ref(), std::fs::OpenOptions::new().append(true).create(true))
        {
            let _ = writeln!(file, "{number} {place}");
        }
        if Some(number) == at {
            let own = std::process::id().to_string();
            let _ = std::process::Command::new("kill").args(["-9", &own]).status();
            // The signal may take a moment to arrive.
            std::thread::sleep(Duration::from_secs(10));
        }
    }))
}

/// Release builds have no crash points.
#[cfg(not(debug_assertions))]
pub(crate) fn crash_points() -> Option<purlin_state::Probe> {
    None
}

/// How long a driver that is inspected may take to describe itself, if tests set it.
pub(crate) fn describe_time() -> Option<Duration> {
    test_time("PURLIN_DESCRIBE_TIME")
}

/// How long the examination of a driver waits.
pub(crate) fn patience() -> Patience {
    let usual = Patience::default();
    Patience {
        cancelled: test_time("PURLIN_CANCEL_TIME").unwrap_or(usual.cancelled),
        cuts: test_time("PURLIN_CUT_TIME").unwrap_or(usual.cuts),
    }
}

/// A time in seconds, for tests of debug builds: a busy machine must not look like a slow driver.
#[cfg(debug_assertions)]
fn test_time(name: &str) -> Option<Duration> {
    variable(name)?.parse().ok().map(Duration::from_secs)
}

/// Release builds have the usual times.
#[cfg(not(debug_assertions))]
fn test_time(_: &str) -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn users_are_found_by_their_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\n# a remark\nada:x:1000:1000:Ada,,,:/home/ada:/bin/bash\n";
        let found = |id| listed(users, id).map(|account| (account.name, account.home));
        assert_eq!(found(1000), Some(("ada".to_owned(), Some("/home/ada".into()))));
        assert_eq!(found(1001), None);
    }

    #[test]
    fn folders_that_are_no_projects_are_recognised() {
        for system in ["/", "/dev", "/dev/nothing", "/dev/shm", "/proc/nothing"] {
            assert_eq!(project(Path::new(system)), Project::System, "{system}");
        }
        assert_eq!(project(Path::new("/dev/shm/shop")), Project::Possible);
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(project(folder.path()), Project::Possible);
        std::fs::create_dir(folder.path().join("below")).expect("made");
        for n in 0..3 {
            std::fs::write(folder.path().join(format!("below/{n}")), "").expect("written");
        }
        assert!(holds_more_than(3, folder.path()) && !holds_more_than(4, folder.path()));
    }
}
