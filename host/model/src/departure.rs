//! Why the documents no longer contain a recorded resource. The owner of the documents finds it
//! out.

use std::sync::Arc;

use serde::Serialize;

use crate::Key;

/// The former source of a resource in the documents, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Departure {
    /// The deployment whose documents contained it, by its number in the history.
    pub deployment: u64,
    /// The source of the resource.
    #[serde(flatten)]
    pub by: DeclaredBy,
    /// The file of the source, `-` for standard input.
    pub file: Arc<str>,
    /// What became of that file.
    pub now: FileNow,
}

/// The source of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum DeclaredBy {
    /// A Deployment's shared resources, or a workload that still exists.
    Declaration,
    /// A workload that is gone: the resource is that workload, or one of its resources.
    Workload {
        /// Its name.
        workload: Arc<str>,
    },
    /// The definition of another resource provisioned it.
    Definition {
        /// The other resource; none if that still exists.
        of: Option<Key>,
    },
    /// Another resource referred to it.
    Reference {
        /// The other resource; none if that still exists.
        of: Option<Key>,
    },
}

/// What became of a file of an earlier deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileNow {
    /// It was read, and has other content.
    Changed,
    /// It is gone from a folder that was read.
    Removed,
    /// It still exists, and holds no document.
    Empty,
    /// It was not read.
    Unread,
}
