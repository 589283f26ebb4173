//! The lifecycle settings of each resource: those of its definition, overridden by those of the
//! deployment (SPEC §9). Most deployments have none, so only theirs are kept.

use std::collections::HashMap;

use purlin_model::{Descriptor, Key, Lifecycle, Location};

use crate::docs::{Docs, Nodes};
use crate::graph::Graph;
use crate::node::NodeId;

/// Settings of the nodes for which the deployment has some, merged with those of the recipe.
pub(crate) type NodeLifecycles = HashMap<NodeId, Lifecycle>;

/// The field that names another resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    DependsOn,
    ReplaceWith,
    DeletedWith,
}

impl Field {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::DependsOn => "depends_on",
            Self::ReplaceWith => "replace_with",
            Self::DeletedWith => "deleted_with",
        }
    }
}

/// The settings of a node; none if it has no recipe, which was reported.
pub(crate) fn of<'a>(
    docs: Docs<'a>,
    nodes: &Nodes,
    lifecycles: &'a NodeLifecycles,
    node: NodeId,
) -> Option<&'a Lifecycle> {
    // A large graph without settings should not pay for the lookup.
    let own = if lifecycles.is_empty() { None } else { lifecycles.get(&node) };
    own.or_else(|| docs.recipe(nodes, node).map(|recipe| &recipe.lifecycle))
}

/// All targets of settings: each is a resource to wait for.
pub(crate) fn named(lifecycle: &Lifecycle) -> impl Iterator<Item = (Field, &(Descriptor, Location))> {
    let of = |field| move |named| (field, named);
    (lifecycle.depends_on.iter().map(of(Field::DependsOn)))
        .chain(lifecycle.replace_with.iter().map(of(Field::ReplaceWith)))
        .chain(lifecycle.deleted_with.iter().map(of(Field::DeletedWith)))
}

impl Graph {
    /// The lifecycle settings of a resource: those of its definition, overridden by those of the
    /// deployment (SPEC §9).
    pub fn lifecycle(&self, id: NodeId) -> Option<&Lifecycle> {
        of(self.docs(), &self.nodes, &self.lifecycles, id)
    }

    /// The resources with which this one is replaced (`lifecycle.replace_with`), each once.
    pub fn replace_with(&self, id: NodeId) -> Vec<NodeId> {
        let named = self.lifecycle(id).map_or(&[][..], |lifecycle| &lifecycle.replace_with);
        let mut nodes: Vec<NodeId> = named.iter().filter_map(|(name, _)| self.meant(id, name)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The resource with which this one is deleted (`lifecycle.deleted_with`).
    pub fn deleted_with(&self, id: NodeId) -> Option<NodeId> {
        let (name, _) = self.lifecycle(id)?.deleted_with.as_ref()?;
        self.meant(id, name)
    }

    fn meant(&self, here: NodeId, descriptor: &Descriptor) -> Option<NodeId> {
        self.nodes.meant(Key::relative(descriptor, self.nodes.key(here)?).as_str())
    }
}
