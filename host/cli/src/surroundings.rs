//! What the program finds around itself: environment variables, folders, who runs it. Nothing else
//! of the house asks for these.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use purlin_host::state::Holder;

/// Files that this program would like to be able to hold open.
#[cfg(unix)]
const FILES: u64 = 65_536;

/// Name of the workspace's file.
pub(crate) const WORKSPACE_FILE: &str = "purlin.yaml";

/// Opens as many files as the system lets this user, within reason: a driver may hold a thousand
/// handles in a call, and no other call is to suffer for it.
pub(crate) fn open_more_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = maximum.unwrap_or(FILES).min(FILES);
        if current.is_some_and(|current| current < wanted) {
            // As it was is as good as it gets then.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
        }
    }
}

/// Environment variables whose names and values are text.
pub(crate) fn variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Folder for compiled drivers: the user's cache folder, if there is one.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let absolute = |path: String| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let base = variable("XDG_CACHE_HOME")
        .and_then(absolute)
        .or_else(|| Some(variable("HOME").and_then(absolute)?.join(".cache")))?;
    Some(base.join("purlin").join("drivers"))
}

/// The nearest `purlin.yaml` from a folder upwards.
pub(crate) fn nearest_workspace(from: &Path) -> Option<PathBuf> {
    from.ancestors().map(|folder| folder.join(WORKSPACE_FILE)).find(|file| file.is_file())
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// An id for this run, different each time.
pub(crate) fn deployment_id() -> String {
    format!("{:x}-{:x}", now(), std::process::id())
}

/// Who does this, as others are told.
pub(crate) fn holder(command: &str) -> Holder {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .or_else(|| variable("HOSTNAME"))
        .or_else(|| variable("COMPUTERNAME"));
    let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(variable);
    Holder {
        user: user.unwrap_or_else(|| "someone".into()),
        host: host.unwrap_or_else(|| "this machine".into()),
        pid: std::process::id(),
        command: format!("purlin {command}"),
        since: now(),
    }
}

/// For tests of builds for development: kills this very process at a place of its choice.
///
/// `PURLIN_CRASH_AT=N` kills at the place number N, counted from 1 in the order in which they are
/// come to; `PURLIN_CRASH_LOG=FILE` notes each of them.
#[cfg(debug_assertions)]
pub(crate) fn crash_points() -> Option<purlin_host::state::Probe> {
    use std::io::Write as _;
    use std::sync::atomic::{AtomicU64, Ordering};
    let at: Option<u64> = variable("PURLIN_CRASH_AT").and_then(|number| number.parse().ok());
    let log = variable("PURLIN_CRASH_LOG");
    if at.is_none() && log.is_none() {
        return None;
    }
    let passed = AtomicU64::new(0);
    Some(purlin_host::state::Probe::new(move |place| {
        let number = passed.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(path) = &log
            && let Ok(mut file) = std::fs::File::options().append(true).create(true).open(path)
        {
            let _ = writeln!(file, "{number} {place}");
        }
        if Some(number) == at {
            let own = std::process::id().to_string();
            let _ = std::process::Command::new("kill").args(["-9", &own]).status();
            // The signal may take a moment to come.
            std::thread::sleep(std::time::Duration::from_secs(10));
        }
    }))
}

/// Nothing of the kind in a release.
#[cfg(not(debug_assertions))]
pub(crate) fn crash_points() -> Option<purlin_host::state::Probe> {
    None
}
