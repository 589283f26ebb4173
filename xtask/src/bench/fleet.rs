//! `cargo xtask bench fleet`: measures many environments in one PostgreSQL server, which many
//! processes reconcile. The server writes each commit to the disk, as a production server does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use purlin_systems::postgres::{PASSWORD, Postgres};

use super::beside::{cell, command, folder, name_no_environment, program};
use super::process;
use super::purlin::write_documents;
use super::shape::Shape;
use super::task::write;
use crate::step::step;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of environments.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    environments: usize,
    /// The number of resources in each.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    size: usize,
    /// The number of processes that reconcile them at once.
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    processes: usize,
    /// The number of resources in the environment that is deployed to a folder and to the database.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    apply: usize,
    /// Runs of each command, after one to warm up.
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Do not build; use the program of an earlier build.
    #[arg(long)]
    no_build: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let purlin = program(arguments.no_build)?;
    let settings = ["fsync=on", "log_statement=none", "max_connections=300", "shared_buffers=256MB"];
    let postgres = Postgres::with(None, &settings).context("PostgreSQL is not installed")?;
    let bench = Bench { purlin, postgres };
    println!("| work | figure |\n|---|--:|");
    bench.apply(arguments)?;
    bench.fleet(arguments)
}

struct Bench {
    purlin: PathBuf,
    postgres: Postgres,
}

impl Bench {
    /// A folder with this many resources. The state is in the database or in the folder.
    fn workspace(&self, size: usize, schema: Option<&str>) -> anyhow::Result<tempfile::TempDir> {
        let folder = folder("fleet-")?;
        let state = schema.map_or_else(String::new, |schema| {
            format!(
                "  state:\n    postgres:\n      url: postgres://postgres@127.0.0.1:{}/postgres\n      \
                 schema: {schema}\n      password: {{store: local, ref: password}}\n  key: {{file: key.txt}}\n  \
                 secret_stores: {{local: {{file: ./secrets}}}}\n",
                self.postgres.port
            )
        });
        let workspace = format!(
            "apiVersion: purlin.dev/v1\nkind: Workspace\nmetadata: {{name: bench}}\nspec:\n  defaults: {{}}\n{state}"
        );
        write(folder.path(), "purlin.yaml", [workspace])?;
        write_documents(Shape::Layers, size, folder.path())?;
        name_no_environment(folder.path())?;
        if schema.is_some() {
            fs::create_dir(folder.path().join("secrets"))?;
            fs::write(folder.path().join("secrets/password"), PASSWORD)?;
            self.run(&["state", "key", "new", "key.txt"], folder.path())?;
            self.run(&["state", "init"], folder.path())?;
        }
        Ok(folder)
    }

    fn run(&self, words: &[&str], folder: &Path) -> anyhow::Result<Duration> {
        process::run(&mut command(&self.purlin, words), folder).map(|usage| usage.wall)
    }

    /// Deploys the same environment to a folder and to the database, in turns.
    fn apply(&self, arguments: &Arguments) -> anyhow::Result<()> {
        let (mut embedded, mut database) = (Vec::new(), Vec::new());
        step("apply", || {
            let folder = self.workspace(arguments.apply, None)?;
            let shared = self.workspace(arguments.apply, Some("apply"))?;
            for number in 0..=arguments.runs {
                let env = format!("e{number}");
                let words = ["up", "--yes", "--quiet", "--new-environment", "--env", &env];
                let times = [self.run(&words, folder.path())?, self.run(&words, shared.path())?];
                if number > 0 {
                    embedded.push(times[0]);
                    database.push(times[1]);
                }
            }
            Ok(())
        })?;
        let (embedded, database) = (median(embedded), median(database));
        let ratio = database.as_secs_f64() / embedded.as_secs_f64();
        let size = arguments.apply;
        println!("| apply of {size} `layer10`, state in a folder | {} |", shown(embedded));
        println!("| apply of {size} `layer10`, state in the database | {}, {ratio:.1} × |", shown(database));
        Ok(())
    }

    fn fleet(&self, arguments: &Arguments) -> anyhow::Result<()> {
        let &Arguments { environments, size, processes, runs, .. } = arguments;
        let folder = self.workspace(size, Some("fleet"))?;
        let folder = folder.path();
        let up = |name: &str| {
            let words = ["up", "--yes", "--quiet", "--new-environment", "--env", name];
            let done = command(&self.purlin, &words).current_dir(folder).stdin(Stdio::null()).output()?;
            let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
            ensure!(done.status.success(), "`purlin up --env {name}` failed:\n{stderr}");
            Ok(())
        };
        up("measured")?;
        let measured = || command(&self.purlin, &["plan", "--env", "measured"]);
        println!(
            "| plan of one environment of {size}, with no other environments | {} |",
            cell(measured, folder, runs)?
        );
        step(&format!("{environments} environments"), || {
            std::thread::scope(|scope| {
                let works: Vec<_> = (0..4)
                    .map(|worker| {
                        scope.spawn(move || {
                            (worker..environments).step_by(4).try_for_each(|number| up(&format!("e{number}")))
                        })
                    })
                    .collect();
                works
                    .into_iter()
                    .try_for_each(|work| work.join().map_err(|_| anyhow::anyhow!("it panicked"))?)
            })
        })?;
        println!("| the same, beside {environments} others | {} |", cell(measured, folder, runs)?);
        let list = || command(&self.purlin, &["env", "list", "--format", "json"]);
        println!("| list of {environments} environments | {} |", cell(list, folder, runs.min(3))?);
        let took = self.round(folder, processes)?;
        println!(
            "| one round over {environments} environments, nothing changed, {processes} processes | {} |",
            shown(took)
        );
        let definition = fs::read_to_string(folder.join("definition.yaml"))?;
        let impact = |what: &str| -> anyhow::Result<()> {
            let words = ["impact", "definition.yaml", "--format", "json"];
            let row = cell(|| command(&self.purlin, &words), folder, 1)?;
            println!("| impact on {environments} environments of {size}, {what} | {row} |");
            Ok(())
        };
        impact("nothing changed")?;
        fs::write(folder.join("definition.yaml"), unmatched(&definition))?;
        impact("a definition that none of them uses")?;
        fs::write(folder.join("definition.yaml"), changed(&definition)?)?;
        impact("every resource changes")
    }

    /// Starts all processes at once, and waits until the last one ends.
    fn round(&self, folder: &Path, processes: usize) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let started: Result<Vec<_>, _> = (0..processes)
            .map(|_| {
                let mut command: Command = command(&self.purlin, &["reconcile", "--all", "--yes", "--quiet"]);
                command
                    .current_dir(folder)
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .spawn()
            })
            .collect();
        for process in started? {
            let done = process.wait_with_output()?;
            // If a process starts its round while another is at work, an environment may be locked.
            let stderr = String::from_utf8_lossy(&done.stderr);
            ensure!(
                done.status.code().is_some_and(|code| code < 2),
                "`purlin reconcile --all` failed:\n{stderr}"
            );
        }
        Ok(begun.elapsed())
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn shown(time: Duration) -> String {
    if time < Duration::from_secs(10) {
        format!("{:.0} ms", time.as_secs_f64() * 1e3)
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

/// Adds a definition that no resource uses.
fn unmatched(definition: &str) -> String {
    format!(
        "{definition}\n---\napiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: other}}\nspec: {{type: other, \
         driver: purlin/echo, criteria: [{{}}]}}\n"
    )
}

/// Adds an input to the definition.
fn changed(definition: &str) -> anyhow::Result<String> {
    let changed = definition.replacen("    values:\n", "    values:\n      added: one\n", 1);
    ensure!(changed != definition, "the definition has no `values`");
    Ok(changed)
}
