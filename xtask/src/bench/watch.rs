//! `cargo xtask bench watch`: measures the cost of watching many resources.
//!
//! Each resource is a file that `purlin/file` reads again at its interval. The watch is measured
//! while it reads, and again while nothing is due. At the end, a file is changed, and the watch
//! must find and undo that. Otherwise a watch that reads nothing would look cheap.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use super::beside::{folder, program};
use super::task::write;
use crate::step::step;

/// The interval for files that are never due in this run.
const NEVER: &str = "24h";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of resources.
    #[arg(long, value_name = "COUNT", default_value_t = 5_000)]
    size: usize,
    /// Seconds between two reads of each resource.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    interval: u64,
    /// Minutes for which each watch is measured.
    #[arg(long, value_name = "MINUTES", default_value_t = 3)]
    minutes: u32,
    /// Do not build; use the program of an earlier build.
    #[arg(long)]
    no_build: bool,
}

/// The resources that a process has used so far.
#[derive(Clone, Copy)]
struct ProcessUsage {
    processor: Duration,
    memory: u64,
    most: u64,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let purlin = program(arguments.no_build)?;
    let folder = folder("watch-")?;
    let folder = folder.path();
    let often = format!("{}s", arguments.interval);
    step("resources", || prepare(&purlin, folder, arguments.size, &often))?;
    println!("| watching {} files | CPU time per minute | memory | maximum | growth |", arguments.size);
    println!("|---|--:|--:|--:|--:|");
    for interval in [&*often, NEVER] {
        let (before, after) =
            step(&format!("each read every {interval}"), || watch(&purlin, folder, interval, arguments))?;
        let processor = (after.processor - before.processor).as_secs_f64() / f64::from(arguments.minutes);
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        println!(
            "| each read every {interval} | {processor:.2} s | {:.0} MiB | {:.0} MiB | {:+.1} MiB |",
            mebibytes(after.memory),
            mebibytes(after.most),
            mebibytes(after.memory) - mebibytes(before.memory),
        );
    }
    Ok(())
}

/// Writes the documents and creates the files.
fn prepare(purlin: &Path, folder: &Path, count: usize, interval: &str) -> anyhow::Result<()> {
    fs::create_dir(folder.join("files"))?;
    settings(folder, interval)?;
    let definition = "\
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: note}
spec:
  type: note
  driver: purlin/file
  inputs: {values: {path: '/files/${context.res.id}', content: '${params.content}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  app: bench
  env: dev
  shared:
";
    let notes =
        (0..count).map(|number| format!("    n{number}: {{type: note, params: {{content: kept}}}}\n"));
    write(folder, "notes.yaml", [definition.to_owned()].into_iter().chain(notes))?;
    let up = command(purlin, folder, &["up", "--yes", "--quiet"]).output()?;
    ensure!(up.status.success(), "`purlin up` failed: {}", String::from_utf8_lossy(&up.stderr));
    Ok(())
}

fn settings(folder: &Path, interval: &str) -> anyhow::Result<()> {
    let text = format!(
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  reconcile: {{interval: {interval}}}\n  drivers:\n    purlin/file:\n      grants: {{dirs: [{{host: ./files, guest: /files, mode: rw}}]}}\n"
    );
    write(folder, "purlin.yaml", [text])
}

fn command(purlin: &Path, folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(purlin);
    command.args(words).current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// A watch that ends when it is dropped.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The resources that a watch used until the end of its first pass, and until the end.
fn watch(
    purlin: &Path,
    folder: &Path,
    interval: &str,
    arguments: &Arguments,
) -> anyhow::Result<(ProcessUsage, ProcessUsage)> {
    settings(folder, interval)?;
    let words = ["reconcile", "--watch", "--yes", "--format", "json"];
    let mut child =
        command(purlin, folder, &words).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
    let out = child.stdout.take().context("no output")?;
    let watch = Watch(child);
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    until(&lines, "\"event\":\"summary\"", Duration::from_secs(120))?;
    // The first pass read everything; from here on, each resource is read when it is due.
    let before = taken(watch.0.id())?;
    std::thread::sleep(Duration::from_secs(60) * arguments.minutes);
    let after = taken(watch.0.id())?;
    if interval != NEVER {
        let note = fs::read_dir(folder.join("files"))?.next().context("no files")??.path();
        let kept = fs::read(&note)?;
        fs::write(&note, "changed by others")?;
        until(&lines, "\"action\":\"update\"", Duration::from_secs(2 * arguments.interval + 60))?;
        ensure!(fs::read(&note)? == kept, "the watch did not undo what others changed");
    }
    Ok((before, after))
}

/// Waits for a line that contains a text.
fn until(lines: &Receiver<String>, text: &str, patience: Duration) -> anyhow::Result<()> {
    let begun = Instant::now();
    while let Ok(line) = lines.recv_timeout(patience.saturating_sub(begun.elapsed())) {
        if line.contains(text) {
            return Ok(());
        }
    }
    bail!("the watch did not write {text} in {} s", patience.as_secs())
}

/// The resources that a process has used so far, according to Linux.
fn taken(process: u32) -> anyhow::Result<ProcessUsage> {
    let folder = Path::new("/proc").join(process.to_string());
    let stat = fs::read_to_string(folder.join("stat")).context("the watch has ended")?;
    // The name of the program is in parentheses and may contain anything.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    let ticks = ticks(11).zip(ticks(12)).map(|(user, system)| user + system).context("no times")?;
    let status = fs::read_to_string(folder.join("status"))?;
    let kibibytes = |name: &str| -> anyhow::Result<u64> {
        let line = status.lines().find(|line| line.starts_with(name)).context("no memory")?;
        let number = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
        Ok(number.context("no number")? * 1024)
    };
    // Every Linux that Purlin supports has 100 ticks per second.
    Ok(ProcessUsage {
        processor: Duration::from_millis(ticks * 10),
        memory: kibibytes("VmRSS:")?,
        most: kibibytes("VmHWM:")?,
    })
}
