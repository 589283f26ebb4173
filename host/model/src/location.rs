//! Where something was written.

use std::fmt;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// A place in a document: file, line and column, both counted from 1.
///
/// Line 0 means that the place inside the file is unknown; an empty file name means that the text
/// did not come from a file (a test, an embedding program).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// The file as the user named it, `-` for standard input.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Location {
    /// A place in a file.
    pub fn new(file: impl Into<Arc<str>>, line: u32, column: u32) -> Self {
        Self { file: file.into(), line, column }
    }
}

/// As `file`, `line` and `column`; the last two only if they are known.
impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("file", &*self.file)?;
        if self.line > 0 {
            map.serialize_entry("line", &self.line)?;
            map.serialize_entry("column", &self.column)?;
        }
        map.end()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = if self.file.is_empty() { "<text>" } else { &self.file };
        match self.line {
            0 => f.write_str(file),
            line => write!(f, "{file}:{line}:{}", self.column),
        }
    }
}
