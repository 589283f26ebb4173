//! YAML 1.2 and JSON text to a tree of nodes, each with its place.
//!
//! This module knows nothing of the meaning of documents. JSON is read in the same way: it is YAML.
//! Faults that leave a tree (a duplicate key, an unknown tag) are kept beside it, so that they are
//! reported only for documents that are ours.

mod build;
mod fault;
mod mistake;
mod node;
mod place;
mod scalar;

pub(crate) use build::{Document, parse};
pub(crate) use node::{Entry, Node, NodeKind, Style};
pub(crate) use place::{Locator, Span};

/// The maximum nesting of collections.
pub(crate) const MAX_DEPTH: usize = 128;
/// How many nodes aliases may add to one file.
pub(crate) const MAX_ALIASED_NODES: usize = 100_000;
/// How many bytes of text aliases may add to one file.
pub(crate) const MAX_ALIASED_BYTES: usize = 10 << 20;
