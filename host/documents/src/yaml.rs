//! YAML 1.2 and JSON text to a tree of nodes, each with its place.
//!
//! Knows nothing of what documents mean. JSON goes the same way: it is YAML. Faults that leave a
//! tree behind (a key given twice, an unknown tag) are kept beside it, so that they are reported
//! only for documents that are ours.

mod build;
mod fault;
mod mistake;
mod node;
mod place;
mod scalar;

pub(crate) use build::{Document, parse};
pub(crate) use node::{Entry, Kind, Node, Style};
pub(crate) use place::{Locator, Span};

/// How deep collections may lie in each other.
pub(crate) const MAX_DEPTH: usize = 128;
/// How many nodes aliases may add to one file.
pub(crate) const MAX_ALIASED_NODES: usize = 100_000;
/// How many bytes of text aliases may add to one file.
pub(crate) const MAX_ALIASED_BYTES: usize = 10 << 20;
