//! `cargo xtask bench`: measures how fast Purlin is, compared with its peers (SPEC §12).
//!
//! Each figure is for a whole process of the released program: the wall time, and the peak memory
//! as counted by the system. The benchmark only measures: a slow machine causes no failure. But a
//! program that does not do its task does.

mod beside;
mod call;
mod case;
mod documents;
#[cfg(unix)]
mod fleet;
mod graph;
mod languages;
mod process;
mod purlin;
mod report;
mod series;
mod shape;
mod sharing;
mod task;
mod terraform;
#[cfg(target_os = "linux")]
mod watch;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use case::{Case, What, cases};
use purlin::Purlin;
use report::{Measured, Peer, Side, Targets};
use series::Series;
use shape::Shape;
use task::{Sample, Task, Tool};
use terraform::Terraform;

use crate::build;
use crate::step::{self, root, step};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Use a tenth of each size, and fewer runs.
    #[arg(long)]
    quick: bool,
    /// Run only these cases, by name with or without the size; may be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Run the cases with this size, without targets.
    #[arg(long, value_name = "COUNT")]
    size: Option<usize>,
    /// Runs of each case, after one to warm up [default: 5, quick: 3].
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
    /// Seconds after which a slow peer is not run again in a case; it runs at least once.
    #[arg(long, value_name = "SECONDS", default_value_t = 90)]
    patience: u64,
    /// Measure only Purlin.
    #[arg(long)]
    no_peers: bool,
    /// Write all measurements of all runs to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Do not build; use the programs of an earlier build.
    #[arg(long)]
    no_build: bool,
    /// List the cases.
    #[arg(long)]
    list: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Writes an environment of any shape and size, for experiments.
    Generate {
        /// The shape: `ind`, `layer10` or `chain`.
        shape: Shape,
        /// The number of resources.
        count: usize,
        /// The folder, which must be empty or not exist.
        folder: PathBuf,
        /// Write a configuration for Terraform.
        #[arg(long)]
        terraform: bool,
    },
    /// Measures the cost of a driver in each language.
    Languages {
        /// Runs of each measurement, of which the median counts.
        #[arg(long, value_name = "N", default_value_t = 5)]
        runs: usize,
        /// Do not build; use the program of an earlier build.
        #[arg(long)]
        no_build: bool,
    },
    /// Measures the cost of an environment next to many others.
    Beside(beside::Arguments),
    /// Measures the cost of many environments in one database.
    #[cfg(unix)]
    Fleet(fleet::Arguments),
    /// Measures the cost of finding an installation among those of many other environments.
    Sharing(sharing::Arguments),
    /// Measures the cost of watching many resources.
    #[cfg(target_os = "linux")]
    Watch(watch::Arguments),
}

/// The measured programs, and their settings.
struct Bench {
    purlin: Purlin,
    peers: Vec<Box<dyn Tool>>,
    graph: PathBuf,
    floor: PathBuf,
    component: PathBuf,
    /// A folder on the disk of the build results, since syncing costs nothing in memory.
    scratch: tempfile::TempDir,
    runs: usize,
    patience: Duration,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    match &arguments.command {
        Some(Command::Generate { shape, count, folder, terraform }) => {
            return generate(*shape, *count, folder, *terraform);
        }
        Some(Command::Languages { runs, no_build }) => return languages::run(*runs, *no_build),
        Some(Command::Beside(arguments)) => return beside::run(arguments),
        #[cfg(unix)]
        Some(Command::Fleet(arguments)) => return fleet::run(arguments),
        Some(Command::Sharing(arguments)) => return sharing::run(arguments),
        #[cfg(target_os = "linux")]
        Some(Command::Watch(arguments)) => return watch::run(arguments),
        None => {}
    }
    let cases = chosen(arguments)?;
    if arguments.list {
        for case in cases {
            println!("{:<18} {}", case.name(), case.title());
        }
        return Ok(());
    }
    if !arguments.no_build {
        build::run(&build::Arguments { release: true })?;
        step("programs that measure", measuring_programs)?;
    }
    let bench = Bench::new(arguments)?;
    warn_when_busy();
    let mut all = Vec::new();
    for case in &cases {
        let measured = step(&case.name(), || bench.measure(case));
        all.push(measured.with_context(|| format!("the case {} failed", case.name()))?);
    }
    print!("{}", report::table(&all));
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&serde_json::json!({"format": 1, "cases": all}))?;
        fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Other work on the machine makes the figures worse.
fn warn_when_busy() {
    let loads = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = loads.split(' ').next().and_then(|load| load.parse::<f64>().ok());
    if let Some(load) = load.filter(|load| *load > 0.5) {
        eprintln!(
            "==> the machine does other things as well (load {load}): expect figures that are too high"
        );
    }
}

fn chosen(arguments: &Arguments) -> anyhow::Result<Vec<Case>> {
    let mut cases = cases(arguments.quick);
    for name in &arguments.only {
        if !cases.iter().any(|case| case.is_called(name)) {
            let names: Vec<String> = cases.iter().map(Case::name).collect();
            bail!("there is no case `{name}`; there is {}", names.join(", "));
        }
    }
    if !arguments.only.is_empty() {
        cases.retain(|case| arguments.only.iter().any(|name| case.is_called(name)));
    }
    if let Some(size) = arguments.size {
        ensure!(size > 0, "a size is 1 at least");
        cases = cases.into_iter().map(|case| case.resized(|_| size)).collect();
        cases.dedup_by_key(|case| case.name());
    }
    Ok(cases)
}

fn measuring_programs() -> anyhow::Result<()> {
    step::run(step::build(true).args(["--example", "floor", "--example", "measure-graph"]))
}

fn generate(shape: Shape, count: usize, folder: &Path, terraform: bool) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    if fs::read_dir(folder)?.next().is_some() {
        bail!("{} is not empty", folder.display());
    }
    if terraform {
        terraform::write_configuration(shape, count, folder)
    } else {
        purlin::write_documents(shape, count, folder)
    }
}

impl Bench {
    fn new(arguments: &Arguments) -> anyhow::Result<Self> {
        let target = root().join("target");
        let folder = target.join("bench");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let scratch = tempfile::Builder::new().prefix("run-").tempdir_in(&folder)?;
        let program = |name: &str| step::built(true).join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let mut peers: Vec<Box<dyn Tool>> = Vec::new();
        if !arguments.no_peers {
            match Terraform::find(scratch.path())? {
                Some(terraform) => peers.push(Box::new(terraform)),
                None => eprintln!("==> Terraform is not installed, so nothing is compared with it"),
            }
        }
        Ok(Self {
            purlin: Purlin { binary: program("purlin"), cache: folder.join("cache") },
            peers,
            graph: program("examples/measure-graph"),
            floor: program("examples/floor"),
            component: target.join("drivers/echo.wasm"),
            scratch,
            runs: arguments.runs.unwrap_or(if arguments.quick { 3 } else { 5 }).max(1),
            patience: Duration::from_secs(arguments.patience),
        })
    }

    fn measure(&self, case: &Case) -> anyhow::Result<Measured> {
        let (purlin, peers) = match case.what {
            What::Graph(shape, count) => {
                (self.repeat(|folder| graph::measure(&self.graph, shape, count, folder))?, Vec::new())
            }
            What::Call => {
                (self.repeat(|folder| call::measure(&self.floor, &self.component, folder))?, Vec::new())
            }
            What::Task(task) => self.compare(task, case.peers)?,
        };
        let side = |program, samples: &[Sample]| Side::of(program, samples).context("nothing was measured");
        let mut theirs = Vec::new();
        for (peer, samples) in peers {
            let pairs = samples.iter().zip(&purlin).map(|(theirs, ours)| theirs.seconds / ours.seconds);
            let ratio = Series::of(pairs.collect()).context("nothing was measured")?;
            theirs.push(Peer { side: side(peer.name(), &samples)?, ratio });
        }
        let purlin = side(self.purlin.name(), &purlin)?;
        let targets = Targets::new(case.target, &purlin);
        Ok(Measured { name: case.name(), title: case.title(), purlin, peers: theirs, targets })
    }

    /// Runs a measurement once to warm up, and then as often as necessary.
    fn repeat(&self, once: impl Fn(&Path) -> anyhow::Result<Sample>) -> anyhow::Result<Vec<Sample>> {
        let mut samples = Vec::new();
        for run in 0..=self.runs {
            let folder = self.folder()?;
            let sample = once(folder.path())?;
            if run > 0 {
                tell(self.purlin.name(), run, &sample);
                samples.push(sample);
            }
        }
        Ok(samples)
    }

    /// Measures Purlin and the peers in turns, so that disturbances affect all of them.
    #[allow(clippy::type_complexity, reason = "used in one place")]
    fn compare(
        &self,
        task: Task,
        peers: bool,
    ) -> anyhow::Result<(Vec<Sample>, Vec<(&dyn Tool, Vec<Sample>)>)> {
        let mut theirs: Vec<(&dyn Tool, Vec<Sample>)> = Vec::new();
        if peers {
            theirs.extend(self.peers.iter().map(|peer| (&**peer, Vec::new())));
        }
        self.once(&self.purlin, task)?;
        for (peer, _) in &theirs {
            // A small size is enough to warm up a slow peer.
            self.once(*peer, Task { count: task.count.min(20), ..task })?;
        }
        let mut ours = Vec::new();
        for run in 1..=self.runs {
            let sample = self.once(&self.purlin, task)?;
            tell(self.purlin.name(), run, &sample);
            ours.push(sample);
            for (peer, samples) in &mut theirs {
                let spent: f64 = samples.iter().map(|sample| sample.seconds).sum();
                let next = samples.last().map_or(0.0, |sample| sample.seconds);
                if samples.is_empty() || spent + next <= self.patience.as_secs_f64() {
                    let sample = self.once(*peer, task)?;
                    tell(peer.name(), run, &sample);
                    samples.push(sample);
                }
            }
        }
        Ok((ours, theirs))
    }

    fn once(&self, tool: &dyn Tool, task: Task) -> anyhow::Result<Sample> {
        let folder = self.folder()?;
        let start = Instant::now();
        let result = tool.prepare(task, folder.path()).and_then(|()| tool.perform(task, folder.path()));
        result.with_context(|| {
            format!("{} failed after {:.1} s with {task:?}", tool.name(), start.elapsed().as_secs_f64())
        })
    }

    /// A new folder.
    fn folder(&self) -> anyhow::Result<tempfile::TempDir> {
        tempfile::tempdir_in(self.scratch.path()).context("cannot make a folder to work in")
    }
}

fn tell(program: String, run: usize, sample: &Sample) {
    eprintln!(
        "    {program:<18} {run:>2}: {:>10}, {}",
        report::time(sample.seconds),
        report::bytes(sample.peak)
    );
}
