//! Measures driver calls, compared with plain wasmtime.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde::Deserialize;

use super::process::{self, STDOUT};
use super::task::Sample;

/// A line of the measuring program: a time in microseconds, or a ratio.
#[derive(Deserialize)]
struct Line {
    measure: String,
    us: Option<f64>,
    ratio: Option<f64>,
}

/// The names of the lines, and the names of the facts in the report.
const FACTS: [(&str, &str); 5] = [
    ("instantiate, bare wasmtime", "seconds to instantiate in bare wasmtime"),
    ("instantiate and call, bare wasmtime", "seconds of a call in bare wasmtime"),
    ("start: engine", "seconds to make the engine"),
    ("start: load compiled code", "seconds to load compiled code"),
    ("start: first call", "seconds of the first call"),
];

/// Runs the measuring program on a component.
///
/// # Errors
/// If the program fails, or does not write all lines.
pub(crate) fn measure(program: &Path, component: &Path, folder: &Path) -> anyhow::Result<Sample> {
    let usage = process::run(Command::new(program).arg(component), folder)?;
    let mut sample = Sample { peak: usage.peak as f64, ..Sample::default() };
    for text in std::fs::read_to_string(folder.join(STDOUT))?.lines() {
        let line: Line = serde_json::from_str(text).with_context(|| format!("the program said {text}"))?;
        match (line.measure.as_str(), line.us, line.ratio) {
            ("instantiate and call, sandbox", Some(us), _) => sample.seconds = us / 1e6,
            (_, _, Some(ratio)) => drop(sample.facts.insert("ratio to bare wasmtime", ratio)),
            (measure, Some(us), _) => {
                if let Some((_, fact)) = FACTS.iter().find(|(name, _)| *name == measure) {
                    sample.facts.insert(*fact, us / 1e6);
                }
            }
            _ => {}
        }
    }
    if sample.seconds == 0.0 || sample.facts.len() != FACTS.len() + 1 {
        bail!("the program that measures driver calls left something out: {sample:?}");
    }
    Ok(sample)
}
