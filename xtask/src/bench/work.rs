//! What is measured: a work of a size, and whoever can do it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

use super::process::Usage;
use super::shape::Shape;

/// What is done to an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Reading everything and building the graph.
    Validate,
    /// A plan where nothing is there yet.
    PlanNew,
    /// A plan where everything is there and nothing changed.
    PlanSame,
    /// Making everything.
    Apply,
    /// Deleting everything.
    Destroy,
    /// Making everything, timed until the first driver is called.
    Start,
}

/// An act on an environment of a shape and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) act: Act,
    pub(crate) shape: Shape,
    pub(crate) count: usize,
}

/// One measurement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// Seconds.
    pub(crate) seconds: f64,
    /// Bytes of memory at most.
    pub(crate) peak: f64,
    /// What else is worth knowing, by name.
    pub(crate) facts: BTreeMap<&'static str, f64>,
}

impl Sample {
    /// What a whole process took, or took until the line that was waited for.
    pub(crate) fn of(usage: Usage) -> Self {
        let seconds = usage.until.unwrap_or(usage.wall).as_secs_f64();
        let mut sample = Self { seconds, peak: usage.peak as f64, ..Self::default() };
        sample.facts.insert("seconds of processors", usage.processor.as_secs_f64());
        sample
    }
}

/// A program that can do it.
pub(crate) trait Tool {
    /// As tables call it, with its version.
    fn name(&self) -> String;

    /// Writes what the work needs into an empty folder. Not timed.
    ///
    /// # Errors
    /// When it cannot.
    fn prepare(&self, work: Work, folder: &Path) -> anyhow::Result<()>;

    /// Does the work, and makes sure that it was done.
    ///
    /// # Errors
    /// When the program fails, or does something else.
    fn perform(&self, work: Work, folder: &Path) -> anyhow::Result<Sample>;
}

/// Writes a file in pieces, and waits for the disk, so that no later sync pays for it.
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

/// Bytes of all files in a folder and below.
pub(crate) fn size(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
