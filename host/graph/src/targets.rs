//! The target of each placeholder (SPEC §4). Evaluation and reasons use it.

use std::collections::HashMap;
use std::sync::Arc;

use purlin_model::{
    Access, Attribute, Diagnostic, FieldReference, Key, Path, Placeholder, Reference, Selector,
    Target as Meant, TargetSelector,
};

use crate::docs::Scope;
use crate::graph::Graph;
use crate::node::NodeId;

/// The target of a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// One resource.
    Node(NodeId),
    /// Several, sorted by key: the list with this number. A selector omits the resource that reads
    /// it.
    List(u32),
    /// A resource that no document declares.
    Missing,
}

/// The targets of selectors and reference fields, found once, while the graph is built. Every other
/// placeholder names its target.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    found: HashMap<(Query, Scope), Target>,
    lists: Vec<Box<[NodeId]>>,
}

/// A reference that describes its target.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Query {
    Selector(Arc<Selector>),
    Field(Arc<FieldReference>),
}

impl Query {
    fn of(reference: &Reference) -> Option<Self> {
        match reference {
            Reference::Selected(selector, _) => Some(Self::Selector(Arc::clone(selector))),
            Reference::Field(field) => Some(Self::Field(Arc::clone(field))),
            _ => None,
        }
    }
}

impl Targets {
    fn get(&self, reference: &Reference, scope: Scope) -> Option<Target> {
        self.found.get(&(Query::of(reference)?, scope)).copied()
    }

    pub(crate) fn set(&mut self, reference: &Reference, scope: Scope, target: Target) {
        self.found.extend(Query::of(reference).map(|query| ((query, scope), target)));
    }

    /// Adds a list, to which placeholders can refer.
    pub(crate) fn list(&mut self, nodes: Box<[NodeId]>) -> Target {
        // There are fewer lists than placeholders.
        let number = self.lists.len() as u32;
        self.lists.push(nodes);
        Target::List(number)
    }

    /// The target resources.
    pub(crate) fn nodes(&self, target: Target) -> &[NodeId] {
        match &target {
            Target::Node(_) | Target::Missing => &[],
            Target::List(number) => self.lists.get(*number as usize).map_or(&[], |list| list),
        }
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.found.shrink_to_fit();
        self.lists.shrink_to_fit();
    }
}

impl Graph {
    /// The target of a placeholder; none if it reads no resource.
    pub(crate) fn target(&self, placeholder: &Placeholder, scope: Scope) -> Option<Target> {
        let docs = self.docs();
        let named = match &placeholder.reference {
            Reference::Resource(descriptor, _) => {
                // As long as most keys.
                let mut key = String::with_capacity(64);
                let of_requirement = placeholder.is_of_requirement;
                docs.resource(&self.nodes, scope, descriptor, of_requirement, &mut key).ok()?
            }
            Reference::Named(name, _) => docs.named(&self.nodes, scope, name),
            Reference::Shared(name, _) => docs.shared(&self.nodes, name),
            reference => return self.targets.get(reference, scope),
        };
        named.map(Target::Node)
    }
}

/// The value that a placeholder reads from its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetPart<'a> {
    /// Its id.
    Id,
    Outputs(&'a Path),
    Values(&'a Path),
    Account,
    Guresid,
    /// A part of a composite attribute.
    Field(&'a Path),
}

impl<'a> TargetPart<'a> {
    /// The value that a reference reads from resources; none if it names none.
    pub(crate) fn of(reference: &'a Reference) -> Option<Self> {
        Some(match reference {
            Reference::Resource(_, access) | Reference::Selected(_, access) => match access {
                Access::Outputs(path) => Self::Outputs(path),
                Access::Values(path) => Self::Values(path),
                Access::Account => Self::Account,
                Access::Guresid => Self::Guresid,
            },
            Reference::Named(_, path) | Reference::Shared(_, path) if path.0.is_empty() => Self::Id,
            Reference::Named(_, path) | Reference::Shared(_, path) => Self::Outputs(path),
            Reference::Field(field) => match &field.read {
                Attribute::Output(path) => Self::Outputs(path),
                Attribute::Field(path) => Self::Field(path),
            },
            Reference::Context(_)
            | Reference::Value(_)
            | Reference::Param(_)
            | Reference::Manifest(_)
            | Reference::Installation(_)
            | Reference::Bundle(_)
            | Reference::Metadata(_) => return None,
        })
    }
}

/// A resource that a reference field or a dependency names, and that no document declares, or that can
/// mean several (SPEC §7). Whatever refers to it waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// The resource that refers.
    pub from: NodeId,
    /// The target.
    pub target: Meant,
    /// The field as written, such as `vpcIdRef: net`.
    pub field: Arc<str>,
    /// Where the name was written.
    pub location: purlin_model::Location,
    /// A manifest with a similar name, which the field could name instead.
    pub near: Option<Key>,
    /// The manifest with this name in another namespace.
    pub elsewhere: Option<Key>,
    /// The resources that can be meant, each with its place, if there are several.
    pub candidates: Box<[(Key, Option<purlin_model::Location>)]>,
    /// Whether the resource that refers cannot be provisioned before the target exists. If not, it
    /// is only not ready (`blocking: false`).
    pub blocking: bool,
}

impl Missing {
    /// A target may come with other documents, so that it is missing is not an error. That several can be
    /// meant is one.
    pub fn report(&self) -> Diagnostic {
        if !self.candidates.is_empty() {
            return self.ambiguous();
        }
        let message = format!("no document declares {}", self.target);
        // The place is that of the name, which is shorter than the field and the name.
        let written = match &self.target.which {
            TargetSelector::Named(name) => name,
            TargetSelector::Labelled(_) | TargetSelector::AllLabelled(_) => &self.field,
        };
        let fault = Diagnostic::warning("missing-target", message)
            .at(&self.location)
            .spanning(written.chars().count());
        let fault = fault.fact(match self.blocking {
            true => "until one does, the resource that refers to it is not provisioned",
            false => "until one does, the resource that refers to it is not ready",
        });
        let parts = |key: &Key| match key.id().split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name.to_owned()),
            None => (None, key.id().to_owned()),
        };
        match (self.near.as_ref().map(parts), self.elsewhere.as_ref().map(parts)) {
            (Some((_, name)), _) => fault.help(format!("did you mean `{name}`?")),
            (None, Some((Some(namespace), name))) => {
                fault.help(format!("`{name}` is in another namespace: add `namespace: {namespace}`"))
            }
            (None, Some((None, name))) => {
                fault.help(format!("`{name}` is in no namespace: leave `namespace` out"))
            }
            (None, None) => fault,
        }
    }

    fn ambiguous(&self) -> Diagnostic {
        const SHOWN: usize = 10;
        let message = format!("`{}` can mean any of {} resources", self.field, self.candidates.len());
        let fault = Diagnostic::error("ambiguous-reference", message).at(&self.location);
        let fault = match self.field.starts_with("depends-on") {
            true => fault.help("add the `kind` of the one that is meant"),
            false => fault
                .spanning(self.field.chars().count())
                .help("describe the field in a ResourceType: `x-reference: {type: TYPE}`"),
        };
        self.candidates.iter().take(SHOWN).fold(fault, |fault, (key, place)| match place {
            Some(place) => fault.related(place, format!("`{key}`")),
            None => fault.fact(format!("`{key}`")),
        })
    }
}
