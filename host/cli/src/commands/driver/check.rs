//! `purlin driver check`

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use purlin_conformance::{LIST_OF_RULES, RULES, Rule, rule};
use purlin_documents::{CASES_FILE, SourceMap, load_cases};
use purlin_host::{Examined, Purlin};
use purlin_model::{DriverCases, Workspace};
use purlin_sandbox::CancelToken;
use serde::Serialize;

use super::WorkspaceArg;
use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::interrupts::Interrupts;
use crate::report::FORMAT;
use crate::style::{STRONG, paint};
use crate::{input, naming, render, surroundings, text};

/// How often `--watch` checks for changes.
const LOOK: Duration = Duration::from_millis(300);

/// Test a driver against the contract.
///
/// Calls it as a deployment would, and under failures: twice with the same key, interrupted in the
/// middle, cancelled, without its grants. Then reports, rule by rule, whether it complies.
///
/// Uses the cases in check.yaml, which is beside the component, or beside purlin.yaml for a driver given
/// by name; without that file, it generates inputs from the schema. The driver has its grants and limits
/// from purlin.yaml. It creates real objects, and deletes them again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin driver check ./note.wasm            with the check.yaml beside it
  purlin driver check ./note.wasm --watch    again after each build
  purlin driver check acme/note --rule create.cut
  purlin driver check --rules                list the rules and what they require

Exit status: 0 the driver follows every rule that could be tested; 1 it breaks one, or something
could not be deleted; 2 it is not a driver, or there is nothing to test it with.")]
pub(crate) struct Args {
    /// The file of a component, or the name of a driver.
    #[arg(value_name = "FILE|NAME", required_unless_present = "rules")]
    driver: Option<String>,

    /// Read the cases from this file [default: check.yaml beside the component, or beside purlin.yaml for a driver given by its name].
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,

    /// Test only this rule.
    #[arg(long, value_name = "ID")]
    rule: Option<String>,

    /// Test again whenever the component or the cases change, until Ctrl-C.
    #[arg(long)]
    watch: bool,

    /// List the rules.
    #[arg(long, conflicts_with_all = ["driver", "cases", "rule", "watch"])]
    rules: bool,

    #[command(flatten)]
    workspace: WorkspaceArg,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let Some(driver) = &args.driver else {
        rules(args, app);
        return Ok(Status::Done);
    };
    let only = match &args.rule {
        None => None,
        Some(id) => Some(rule(id).ok_or_else(|| {
            let failure = Failure::input(format!("there is no rule `{}`", text::line(id)));
            naming::suggest(failure, id, RULES.iter().map(|rule| rule.id), LIST_OF_RULES)
        })?),
    };
    let stop = CancelToken::default();
    let interrupted = {
        let stop = stop.clone();
        let mut interrupts = Interrupts::new();
        async move {
            interrupts.next().await;
            stop.request();
            app.ui.say("deleting the created resources; press Ctrl-C again to leave them");
            // A second Ctrl-C does not wait for the cleanup.
            interrupts.next().await;
        }
    };
    let work = async {
        if !args.watch {
            return once(args, driver, only, &stop, app).await;
        }
        watch(args, driver, only, &stop, app).await
    };
    tokio::select! {
        status = work => status,
        () = interrupted => Ok(Status::Failed),
    }
}

/// The driver to check, and the file with its test cases.
struct Scene {
    purlin: Purlin,
    examined: Examined,
    component: Option<PathBuf>,
    cases: Option<PathBuf>,
    sources: SourceMap,
}

async fn scene(args: &Args, driver: &str, app: &App) -> Result<Scene, Failure> {
    let (workspace, sources) = match args.workspace.read(app)? {
        Some(found) => found,
        None => (Workspace { folder: app.folder.clone(), ..Workspace::default() }, SourceMap::default()),
    };
    let folder = workspace.folder.clone();
    // Nothing is recorded, so no key is needed.
    let purlin = input::orchestrator(&Workspace { key: None, ..workspace }, app)?;
    let examined = super::examined(driver, &purlin);
    let component = purlin.examined_file(&examined).await.map_err(|error| Failure::host(error, &sources))?;
    let cases = args.cases.clone().or_else(|| {
        // The component of a driver of the workspace may be in a folder that a build cleans.
        let beside = match &examined {
            Examined::File(file) => file.parent().map_or(folder, Path::to_owned),
            Examined::Name(_) => folder,
        };
        let file = beside.join(CASES_FILE);
        file.is_file().then(|| input::short(&file, &app.folder))
    });
    Ok(Scene { purlin, examined, component, cases, sources })
}

async fn once(
    args: &Args,
    driver: &str,
    only: Option<&'static Rule>,
    stop: &CancelToken,
    app: &App,
) -> Result<Status, Failure> {
    let scene = scene(args, driver, app).await?;
    examine(&scene, args, only, stop, app).await
}

async fn examine(
    scene: &Scene,
    args: &Args,
    only: Option<&'static Rule>,
    stop: &CancelToken,
    app: &App,
) -> Result<Status, Failure> {
    let (cases, sources) = match &scene.cases {
        None => (None, scene.sources.clone()),
        Some(file) => {
            let (cases, sources) = read(file)?;
            (Some(cases), sources)
        }
    };
    let patience = surroundings::patience();
    let examining = scene.purlin.examine(&scene.examined, cases, only, stop.clone(), patience);
    let report = app.timings.wait("examine the driver", examining).await;
    let report = report.map_err(|error| Failure::host(error, &sources))?;
    match args.format.format {
        Format::Json => app.ui.json(&report),
        Format::Text => app.ui.data(&render::check::render(&report, app.ui.columns())),
    }
    Ok(if report.ok { Status::Done } else { Status::Failed })
}

fn read(file: &Path) -> Result<(DriverCases, SourceMap), Failure> {
    let (cases, faults, sources) = load_cases(file);
    match cases {
        Some(cases) => Ok((cases, sources)),
        None => Err(Failure::documents(faults, sources)),
    }
}

/// Checks again whenever a file changes, until the user stops it.
async fn watch(
    args: &Args,
    driver: &str,
    only: Option<&'static Rule>,
    stop: &CancelToken,
    app: &App,
) -> Result<Status, Failure> {
    let mut last = Status::Done;
    let mut before = None;
    while !stop.is_requested() {
        let scene = scene(args, driver, app).await;
        let files = match &scene {
            Ok(scene) => vec![scene.component.clone(), scene.cases.clone()],
            Err(_) => vec![Some(PathBuf::from(driver)), args.cases.clone()],
        };
        let now: Vec<Option<SystemTime>> = files.iter().map(|file| changed(file.as_deref())).collect();
        if before.as_ref() != Some(&now) {
            // Wait until a file that is still being written is complete.
            tokio::time::sleep(LOOK).await;
            let settled: Vec<Option<SystemTime>> =
                files.iter().map(|file| changed(file.as_deref())).collect();
            if settled != now {
                continue;
            }
            let is_again = before.replace(now).is_some();
            if args.format.format == Format::Text && is_again {
                app.ui.data(&format!("\n{}\n", paint(STRONG, format!("── again {} ──", driver))));
            }
            let outcome = match &scene {
                Ok(scene) => examine(scene, args, only, stop, app).await,
                Err(_) => once(args, driver, only, stop, app).await,
            };
            last = match outcome {
                Ok(status) => status,
                Err(failure) => {
                    failure.tell(&app.ui, crate::commands::Output::Text);
                    failure.status()
                }
            };
            app.ui.say("waiting for a change; Ctrl-C ends");
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(last)
}

fn changed(file: Option<&Path>) -> Option<SystemTime> {
    std::fs::metadata(file?).and_then(|about| about.modified()).ok()
}

#[derive(Serialize)]
struct Listed {
    format: u8,
    rules: &'static [Rule],
}

fn rules(args: &Args, app: &App) {
    match args.format.format {
        Format::Json => app.ui.json(&Listed { format: FORMAT, rules: RULES }),
        Format::Text => {
            let columns = app.ui.columns().unwrap_or(80).min(100).saturating_sub(2);
            let mut out = String::new();
            for rule in RULES {
                out.push_str(&format!("{}\n", paint(STRONG, rule.id)));
                for part in [rule.requirement, rule.why] {
                    for line in text::wrap(part, columns) {
                        out.push_str(&format!("  {line}\n"));
                    }
                }
            }
            app.ui.data(&out);
        }
    }
}
