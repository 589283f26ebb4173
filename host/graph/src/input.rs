//! The input of a graph.

use std::sync::Arc;

use purlin_model::{Context, Deployment, Key, Recipe};

use crate::DefinitionIndex;

/// Everything that determines a graph.
#[derive(Clone)]
pub struct Input<'a> {
    /// Where it is deployed.
    pub context: Arc<Context>,
    /// The definitions.
    pub definition_index: Arc<DefinitionIndex>,
    /// The developers' declarations.
    pub deployment: Arc<Deployment>,
    /// The known outputs before anything runs.
    pub outputs: &'a dyn OutputNames,
    /// Whether a definition created an implicit resource in an earlier deployment: if none matches
    /// it any more, that is a fault (SPEC §2). Called only for resources without a match.
    pub recorded: &'a dyn Fn(&Key) -> bool,
}

/// Knows the names of outputs before anything runs, from a driver's schemas.
pub trait OutputNames {
    /// The top-level outputs of a resource of this type with this recipe; `None` if they are
    /// unknown. Called once per recipe and type.
    fn outputs(&self, type_name: &str, recipe: &Recipe) -> Option<Vec<String>>;
}

/// Knows no output's name.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnknownOutputs;

impl OutputNames for UnknownOutputs {
    fn outputs(&self, _: &str, _: &Recipe) -> Option<Vec<String>> {
        None
    }
}
