//! The measured tasks, and the programs that perform them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

use super::process::Usage;
use super::shape::Shape;

/// An operation on an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Read all documents and build the graph.
    Validate,
    /// Plan an environment that does not exist yet.
    PlanNew,
    /// Plan an environment in which nothing changed.
    PlanSame,
    /// Create everything.
    Apply,
    /// Delete everything.
    Destroy,
    /// Create everything, timed until the first driver call.
    Start,
}

/// An operation on an environment of a shape and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) act: Act,
    pub(crate) shape: Shape,
    pub(crate) count: usize,
}

/// One measurement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// The time in seconds.
    pub(crate) seconds: f64,
    /// The peak memory in bytes.
    pub(crate) peak: f64,
    /// Other facts by name.
    pub(crate) facts: BTreeMap<&'static str, f64>,
}

impl Sample {
    /// The time of a whole process, or the time until the awaited line.
    pub(crate) fn of(usage: Usage) -> Self {
        let seconds = usage.until.unwrap_or(usage.wall).as_secs_f64();
        let mut sample = Self { seconds, peak: usage.peak as f64, ..Self::default() };
        sample.facts.insert("seconds of processors", usage.processor.as_secs_f64());
        sample
    }
}

/// A program that can perform the task.
pub(crate) trait Tool {
    /// The name in tables, with the version.
    fn name(&self) -> String;

    /// Writes the files that the task needs into an empty folder. This is not timed.
    ///
    /// # Errors
    /// If that fails.
    fn prepare(&self, task: Task, folder: &Path) -> anyhow::Result<()>;

    /// Performs the task, and checks that it was done.
    ///
    /// # Errors
    /// If the program fails, or does something else.
    fn perform(&self, task: Task, folder: &Path) -> anyhow::Result<Sample>;
}

/// Writes a file in pieces and syncs it, so that no later sync has to do that.
pub(crate) fn write(
    folder: &Path,
    name: &str,
    pieces: impl IntoIterator<Item = String>,
) -> anyhow::Result<()> {
    let path = folder.join(name);
    let fill = || {
        let mut file = std::io::BufWriter::new(File::create(&path)?);
        for piece in pieces {
            file.write_all(piece.as_bytes())?;
        }
        file.into_inner()?.sync_all()
    };
    fill().with_context(|| format!("cannot write {}", path.display()))
}

/// The total size of all files in a folder and its subfolders, in bytes.
pub(crate) fn size(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
