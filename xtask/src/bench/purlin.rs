//! Measures the release binary of Purlin.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use super::process::{self, STDOUT, Usage};
use super::task::{Act, Sample, Task, Tool, size, write};
use super::{documents, shape::Shape};

/// The implicit `base-env` is part of every environment.
const IMPLICIT: usize = 1;

/// The binary, and its cache for compiled drivers.
pub(crate) struct Purlin {
    pub(crate) binary: PathBuf,
    pub(crate) cache: PathBuf,
}

/// The number of resources per action.
#[derive(Debug, Default, PartialEq, Deserialize)]
struct Tally {
    create: usize,
    update: usize,
    replace: usize,
    delete: usize,
    none: usize,
}

/// The relevant part of a plan; the steps are skipped while reading.
#[derive(Deserialize)]
struct Plan {
    summary: Tally,
}

/// The last line of a run.
#[derive(Deserialize)]
struct Summary {
    event: String,
    status: String,
    done: Tally,
    calls: usize,
}

impl Purlin {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).env("XDG_CACHE_HOME", &self.cache).env("NO_COLOR", "1").env_remove("RUST_LOG");
        command
    }

    fn validate(&self, folder: &Path) -> anyhow::Result<Usage> {
        let usage = process::run(&mut self.command(&["validate"]), folder)?;
        let last_line = process::last_lines(folder, STDOUT, 1)?.pop().unwrap_or_default();
        ensure!(last_line.starts_with("Valid"), "`purlin validate` said `{last_line}`");
        Ok(usage)
    }

    fn plan(&self, folder: &Path, expected: &Tally) -> anyhow::Result<Usage> {
        let usage = process::run(&mut self.command(&["plan", "--format", "json"]), folder)?;
        let file = File::open(folder.join(STDOUT))?;
        let plan: Plan = serde_json::from_reader(BufReader::new(file)).context("the plan cannot be read")?;
        ensure!(plan.summary == *expected, "planned {:?} in place of {expected:?}", plan.summary);
        Ok(usage)
    }

    fn up(&self, task: Task, folder: &Path) -> anyhow::Result<Usage> {
        let words = ["up", "--yes", "--format", "json"];
        let usage = match task.act {
            Act::Start => process::run_until(&mut self.command(&words), folder, "\"phase\":\"started\"")?,
            _ => process::run(&mut self.command(&words), folder)?,
        };
        check(folder, &Tally { create: task.count + IMPLICIT, ..Tally::default() })?;
        Ok(usage)
    }

    fn destroy(&self, task: Task, folder: &Path) -> anyhow::Result<Usage> {
        let usage = process::run(&mut self.command(&["destroy", "--yes", "--format", "json"]), folder)?;
        check(folder, &Tally { delete: task.count + IMPLICIT, ..Tally::default() })?;
        Ok(usage)
    }
}

/// Checks that a run did its task.
fn check(folder: &Path, expected: &Tally) -> anyhow::Result<()> {
    let last = process::last_lines(folder, STDOUT, 1)?.pop().unwrap_or_default();
    let summary: Summary =
        serde_json::from_str(&last).with_context(|| format!("the last line is not a summary: {last}"))?;
    ensure!(summary.event == "summary" && summary.status == "succeeded", "the run ended with {last}");
    ensure!(summary.done == *expected, "did {:?} in place of {expected:?}", summary.done);
    let calls = expected.create + expected.delete;
    ensure!(summary.calls == calls, "called drivers {} times in place of {calls}", summary.calls);
    Ok(())
}

/// Writes an environment as documents.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn write_documents(shape: Shape, count: usize, folder: &Path) -> anyhow::Result<()> {
    write(folder, "definition.yaml", [documents::DEFINITION.to_owned()])?;
    for (number, text) in documents::deployments(shape, count).enumerate() {
        write(folder, &format!("deployment-{number}.yaml"), [text])?;
    }
    Ok(())
}

impl Tool for Purlin {
    fn name(&self) -> String {
        "Purlin".into()
    }

    fn prepare(&self, task: Task, folder: &Path) -> anyhow::Result<()> {
        // With a workspace file, no other workspace applies.
        let workspace = "apiVersion: purlin.dev/v1\nkind: Workspace\nmetadata: {name: bench}\nspec: {}\n";
        write(folder, "purlin.yaml", [workspace.to_owned()])?;
        write_documents(task.shape, task.count, folder)?;
        if matches!(task.act, Act::PlanSame | Act::Destroy) {
            self.up(Task { act: Act::Apply, ..task }, folder)?;
        }
        Ok(())
    }

    fn perform(&self, task: Task, folder: &Path) -> anyhow::Result<Sample> {
        let all = task.count + IMPLICIT;
        let usage = match task.act {
            Act::Validate => self.validate(folder)?,
            Act::PlanNew => self.plan(folder, &Tally { create: all, ..Tally::default() })?,
            Act::PlanSame => self.plan(folder, &Tally { none: all, ..Tally::default() })?,
            Act::Apply | Act::Start => self.up(task, folder)?,
            Act::Destroy => self.destroy(task, folder)?,
        };
        let mut sample = Sample::of(usage);
        if task.act == Act::Apply {
            let state = size(&folder.join(".purlin"))?;
            if state == 0 {
                bail!("there is no state after the run");
            }
            sample.facts.insert("bytes of state", state as f64);
        }
        if task.act == Act::Start {
            sample.facts.insert("seconds of the whole process", usage.wall.as_secs_f64());
        }
        Ok(sample)
    }
}
