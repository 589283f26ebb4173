//! Gather, match, expand, select, order: a pure function from recipes and context to a graph that
//! is valid by construction (SPEC §2 to §4).
//!
//! [`build`] returns the [`Graph`], or all faults; [`Graph::evaluate`] resolves the inputs of a
//! resource once its dependencies exist. This crate knows neither a driver nor a store nor a
//! document format.

mod adjacency;
mod build;
mod definition_index;
mod departed;
mod docs;
mod evaluate;
mod graph;
mod input;
mod input_locations;
mod json;
mod lifecycle;
mod nested_text;
mod node;
mod part;
mod reasons;
mod targets;
#[cfg(test)]
mod testing;

pub use build::{build, requiring_resources};
pub use definition_index::{Candidate, DefinitionIndex, Explanation, Reason, UnusedDefinition, may_match};
pub use evaluate::{EmptyReference, Inputs, Provisioned};
pub use graph::{Edge, Graph, MOST_REDUCED, Node};
pub use input::{Input, OutputNames, UnknownOutputs};
pub use input_locations::SecretParams;
pub use node::{EdgeKind, EdgeKinds, NodeId};
pub use purlin_expression::nearest;
pub use reasons::{EdgeReason, Origin};
pub use targets::Missing;
