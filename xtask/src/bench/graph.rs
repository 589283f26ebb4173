//! Measures graphs in memory, each in a separate process so that its memory can be measured.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::process::{self, STDOUT};
use super::shape::Shape;
use super::task::Sample;

/// The output of the measuring program.
#[derive(Deserialize)]
struct GraphOutput {
    seconds: f64,
    resources: usize,
    documents: f64,
    graph: f64,
}

/// Builds one graph with the measuring program.
///
/// # Errors
/// If the program fails, or the graph is not the requested one.
pub(crate) fn measure(program: &Path, shape: Shape, count: usize, folder: &Path) -> anyhow::Result<Sample> {
    let mut command = Command::new(program);
    command.args([shape.to_string(), count.to_string()]);
    let usage = process::run(&mut command, folder)?;
    let text = std::fs::read_to_string(folder.join(STDOUT))?;
    let output: GraphOutput =
        serde_json::from_str(&text).with_context(|| format!("the program said {text}"))?;
    ensure!(output.resources == count, "a graph of {} resources in place of {count}", output.resources);
    let mut sample = Sample { seconds: output.seconds, peak: usage.peak as f64, ..Sample::default() };
    sample.facts.insert("bytes of documents per resource", output.documents / count as f64);
    sample.facts.insert("bytes of graph per resource", output.graph / count as f64);
    Ok(sample)
}
