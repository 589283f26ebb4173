//! `purlin doctor`

use std::io::IsTerminal as _;
use std::path::Path;

use purlin_host::Purlin;
use purlin_sandbox::CONTRACT_VERSION;
use purlin_state as state;
use purlin_state::DatabaseReport;
use serde::Serialize;

use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::hints;
use crate::input;
use crate::report::FORMAT;
use crate::style::{DELETE, GOOD, UPDATE, paint};
use crate::surroundings;
use crate::text;

/// Check the installation, the workspace, the state and the drivers.
///
/// Checks the terminal, the workspace, the state and its key, the folder of compiled drivers, and every
/// driver. Each line that reports a problem says how to fix it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    verdict: Verdict,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

#[derive(Serialize)]
struct DoctorReport {
    format: u8,
    checks: Vec<Check>,
}

fn good(name: &'static str, message: impl Into<String>) -> Check {
    Check { name, verdict: Verdict::Ok, message: message.into(), advice: None }
}

fn bad(name: &'static str, verdict: Verdict, message: impl Into<String>, advice: &str) -> Check {
    Check { name, verdict, message: message.into(), advice: Some(advice.to_owned()) }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let mut checks = vec![
        good(
            "version",
            format!(
                "purlin {}, driver contract {CONTRACT_VERSION}, {}-{}",
                env!("CARGO_PKG_VERSION"),
                std::env::consts::ARCH,
                std::env::consts::OS
            ),
        ),
        terminal(app),
    ];
    let (check, workspace) = workspace(args, app)?;
    checks.push(check);
    match input::orchestrator(&workspace, app) {
        Ok(purlin) => {
            checks.extend(state(&purlin).await);
            checks.push(cache(purlin.cache_folder()));
            checks.extend(drivers(&purlin).await);
            // Nothing was written, so closing cannot lose anything.
            let _ = purlin.close().await;
        }
        Err(Failure::Plain { message, hints, .. }) => {
            checks.push(bad(
                "key",
                Verdict::Fail,
                message,
                hints.first().map_or("check `key` in purlin.yaml", String::as_str),
            ));
        }
        Err(other) => return Err(other),
    }
    let worst = checks.iter().map(|check| check.verdict).max().unwrap_or(Verdict::Ok);
    match args.format.format {
        Format::Json => app.ui.json(&DoctorReport { format: FORMAT, checks }),
        Format::Text => app.ui.data(&render(&checks)),
    }
    Ok(if worst == Verdict::Fail { Status::Failed } else { Status::Done })
}

fn render(checks: &[Check]) -> String {
    let mut out = String::new();
    for check in checks {
        let word = match check.verdict {
            Verdict::Ok => paint(GOOD, "ok  "),
            Verdict::Warn => paint(UPDATE, "warn"),
            Verdict::Fail => paint(DELETE, "fail"),
        };
        out.push_str(&format!("{word}  {:<10} {}\n", check.name, text::line(&check.message)));
        if let Some(advice) = &check.advice {
            out.push_str(&format!("{:17}{}\n", "", text::line(advice)));
        }
    }
    out
}

fn terminal(app: &App) -> Check {
    let columns = app
        .ui
        .columns()
        .map_or_else(|| "of unknown width".to_owned(), |columns| format!("{columns} columns"));
    let kind = match (std::io::stdout().is_terminal(), app.ui.is_interactive()) {
        (_, true) => "an interactive terminal",
        (true, false) => "a terminal, but input does not come from it, so Purlin does not ask",
        (false, false) => "no terminal: Purlin does not ask, and shows progress in plain lines",
    };
    good("terminal", format!("{kind}, {columns}"))
}

/// The workspace, or an empty one if it cannot be read.
fn workspace(args: &Args, app: &App) -> Result<(Check, purlin_model::Workspace), Failure> {
    let loaded = input::load(&args.documents, app)?;
    let workspace = input::workspace(&loaded, app);
    let errors = loaded.diagnostics.iter().filter(|fault| fault.is_error()).count();
    let check = if errors > 0 {
        bad(
            "workspace",
            Verdict::Fail,
            format!("{} in the documents", text::count(errors, "error")),
            "`purlin validate` shows them",
        )
    } else if loaded.workspace.is_none() {
        bad(
            "workspace",
            Verdict::Warn,
            format!("no {} here or in a folder above", surroundings::WORKSPACE_FILE),
            "`purlin init` writes one; without it the current folder is the workspace",
        )
    } else {
        good("workspace", workspace.location.to_string())
    };
    Ok((check, workspace))
}

/// How far this machine's clock may differ from the database's before `doctor` warns. Leases use
/// only the clock of the database; the times that people see come from this machine.
const CLOCKS_APART: u64 = 2_000;

/// Checks the database of the state: versions, the user's privileges, settings and clock.
async fn database(purlin: &Purlin) -> Result<Vec<Check>, purlin_host::Error> {
    let Some(found) = purlin.inspect_database().await? else { return Ok(Vec::new()) };
    let DatabaseReport { server, tables, .. } = &found;
    let mut checks = vec![good("database", format!("PostgreSQL {server}, tables of version {tables}"))];
    let mut warn =
        |verdict, message: String, advice: &str| checks.push(bad("database", verdict, message, advice));
    if !found.missing_rights.is_empty() {
        warn(
            Verdict::Fail,
            format!("the user lacks rights: {}", found.missing_rights.join(", ")),
            "grant them to the user, or run `purlin state init` as the user who owns the schema",
        );
    }
    if found.is_standby {
        warn(
            Verdict::Fail,
            "the server is a standby, which takes no writes".into(),
            "name the primary server in `state`, or promote the standby",
        );
    }
    if !found.unsafe_settings.is_empty() {
        warn(
            Verdict::Warn,
            format!("a crash of the server can lose confirmed commits: {}", found.unsafe_settings.join(", ")),
            "turn these settings on in the configuration of the server",
        );
    }
    if !found.is_identified {
        warn(
            Verdict::Warn,
            "the server does not report its identity, so Purlin does not notice a restored backup".into(),
            "grant EXECUTE on the function pg_control_system() to the user",
        );
    }
    let before = surroundings::now();
    if let Some(theirs) = purlin.database_clock().await? {
        let apart = before.saturating_sub(theirs).max(theirs.saturating_sub(surroundings::now()));
        if apart > CLOCKS_APART {
            warn(
                Verdict::Warn,
                format!("the clocks of this machine and of the database are {} s apart", apart / 1000),
                "set both by NTP; leases follow the clock of the database only",
            );
        }
    }
    Ok(checks)
}

/// The advice for errors of the state that need no other correction.
const REPAIR: &str = "`purlin state repair --check` shows the damage";

async fn state(purlin: &Purlin) -> Vec<Check> {
    let folder = purlin.state_folder();
    let shown = text::line(&purlin.state_place()).into_owned();
    if !purlin.has_state() {
        return vec![good("state", format!("`{shown}` does not exist yet; the first `up` creates it"))];
    }
    let mut checks = Vec::new();
    match purlin.environments().await {
        Ok(environments) => {
            checks.push(good(
                "state",
                format!("`{shown}` opens, with {}", text::count(environments.len(), "environment")),
            ));
            match database(purlin).await {
                Ok(found) => checks.extend(found),
                Err(error) => checks.push(bad("database", Verdict::Fail, error.message(), &advice(&error))),
            }
            for environment in environments {
                checks.push(match purlin.records(&environment).await {
                    Ok(records) => {
                        good("state", format!("{environment}: {}", text::count(records.len(), "resource")))
                    }
                    Err(error) => bad(
                        "state",
                        Verdict::Fail,
                        format!("{environment}: {}", error.message()),
                        &advice(&error),
                    ),
                });
            }
        }
        Err(error) => checks.push(bad("state", Verdict::Fail, error.message(), &advice(&error))),
    }
    checks.extend(permissions(folder));
    checks
}

/// How to correct an error. Unlike another command, this one changes nothing, so it can always be
/// repeated.
fn advice(error: &purlin_host::Error) -> String {
    let purlin_host::Error::State(error) = error else { return REPAIR.to_owned() };
    hints::on_state(error).unwrap_or_else(|| {
        let advice = match error {
            state::Error::Busy { .. } | state::Error::Locked { .. } => {
                "wait until it is done, then run this command again"
            }
            state::Error::Newer { .. } => "use the newer purlin that wrote it",
            state::Error::Unprepared { .. } => "run `purlin state init`",
            _ => REPAIR,
        };
        advice.to_owned()
    })
}

/// Warns if other users can write to the folder of the state.
#[cfg(unix)]
fn permissions(folder: &Path) -> Option<Check> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = folder.metadata().ok()?.permissions().mode() & 0o777;
    (mode & 0o022 != 0).then(|| {
        bad(
            "state",
            Verdict::Warn,
            format!("other users can write to `{}` (mode {mode:04o})", folder.display()),
            &format!("run `chmod go-w {}`", text::shell_word(&folder.display().to_string())),
        )
    })
}

#[cfg(not(unix))]
fn permissions(_: &Path) -> Option<Check> {
    None
}

fn cache(folder: &Path) -> Check {
    let shown = text::path(folder);
    let probe = std::fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
    match probe {
        Ok(_) => good("cache", format!("`{shown}` can be written")),
        Err(error) => bad(
            "cache",
            Verdict::Warn,
            format!("`{shown}` cannot be written: {error}"),
            "drivers are compiled again in each run; set XDG_CACHE_HOME to a folder that you can write to",
        ),
    }
}

async fn drivers(purlin: &Purlin) -> Vec<Check> {
    let infos = match purlin.drivers().await {
        Ok(infos) => infos,
        Err(error) => {
            return vec![bad(
                "drivers",
                Verdict::Fail,
                error.message(),
                "this machine cannot run WebAssembly, which drivers need; its limit of address space (`ulimit -v`) may be too low",
            )];
        }
    };
    let mut built_in = Vec::new();
    let mut checks = Vec::new();
    for info in infos {
        match info.versions {
            Ok(_) if info.origin == purlin_host::DriverOrigin::BuiltIn => built_in.push(info.name),
            Ok(versions) => {
                let versions: Vec<String> = versions.into_iter().map(|(version, _)| version).collect();
                checks.push(good("driver", format!("{} {}", info.name, versions.join(", "))));
            }
            Err(error) => checks.push(bad(
                "driver",
                Verdict::Fail,
                format!("{}: {error}", info.name),
                "check its `source` in purlin.yaml",
            )),
        }
    }
    checks.insert(0, good("drivers", format!("built in: {}", built_in.join(", "))));
    checks
}
