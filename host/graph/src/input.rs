//! What a graph is built from.

use std::sync::Arc;

use purlin_model::{Context, Deployment, Key, Recipe};

use crate::Catalogue;

/// Everything that decides what a graph looks like.
#[derive(Clone)]
pub struct Input<'a> {
    /// Where it is deployed.
    pub context: Arc<Context>,
    /// The definitions.
    pub catalogue: Arc<Catalogue>,
    /// What developers ask for.
    pub deployment: Arc<Deployment>,
    /// What is known about outputs before anything runs.
    pub outputs: &'a dyn OutputNames,
    /// Whether a definition made an implicit resource in an earlier deployment: where none matches it
    /// any more, that is a fault (SPEC §2). Asked of those only that none matches.
    pub recorded: &'a dyn Fn(&Key) -> bool,
}

/// Knows the names of outputs before anything runs, from a driver's schemas.
pub trait OutputNames {
    /// The top-level outputs of a resource of this type that is made by this recipe; `None` where
    /// they are not known. Asked once per recipe and type.
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
