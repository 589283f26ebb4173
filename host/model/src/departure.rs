//! Why the documents no longer ask for a recorded resource. Whoever holds the documents finds it out.

use std::sync::Arc;

use serde::Serialize;

use crate::Key;

/// What asked for a resource when the documents still did, and what became of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Departure {
    /// The deployment whose documents asked for it, by its number in the history.
    pub deployment: u64,
    /// What asked for it.
    #[serde(flatten)]
    pub by: By,
    /// The file that said so, `-` for standard input.
    pub file: Arc<str>,
    /// What became of that file.
    pub now: FileNow,
}

/// What asked for a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum By {
    /// A Deployment's shared resources, or a workload that is still there.
    Declaration,
    /// A workload that is gone: the resource is that workload, or one of its resources.
    Workload {
        /// Its name.
        workload: Arc<str>,
    },
    /// The definition of another resource provisioned it.
    Definition {
        /// The other resource; none where that is still there.
        of: Option<Key>,
    },
    /// Another resource referred to it.
    Reference {
        /// The other resource; none where that is still there.
        of: Option<Key>,
    },
}

/// What became of a file that an earlier deployment was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileNow {
    /// It was read, and says something else.
    Changed,
    /// It is gone from a folder that was read.
    Removed,
    /// It is still there, and holds no document.
    Empty,
    /// It was not read.
    Unread,
}
