//! Params given twice must have the same meaning (SPEC §2).

use purlin_model::{Access, Diagnostic, Piece, Placeholder, Reference, Template};

use super::Builder;
use crate::docs::{Docs, Nodes, Params, Scope, Source};
use crate::nested_text;
use crate::node::NodeId;

impl Builder<'_> {
    /// Reports a fault for each two documents that give a node different params.
    pub(super) fn check_params(&mut self) {
        for (node, first, second) in std::mem::take(&mut self.given_twice) {
            self.same_params(node, first, second);
        }
    }

    fn same_params(&mut self, node: NodeId, first: Source, second: Source) {
        let same = ParamsComparison { docs: self.docs, nodes: &self.nodes };
        let Err(difference) = same.params(first, second) else { return };
        let Some(key) = self.nodes.key(node) else { return };
        if let Some(workload) = key.declared_workload() {
            let fault =
                Diagnostic::error("params-differ", format!("the workload `{workload}` takes no params"));
            let fault = match self.docs.location(&self.nodes, second) {
                Some(location) => fault.at(location),
                None => fault,
            };
            self.faults.push(fault.help("remove `params`: a workload's inputs are its document"));
            return;
        }
        let mut fault =
            Diagnostic::error("params-differ", format!("`{key}` is requested with different params"));
        if let Some(location) = self.docs.location(&self.nodes, second) {
            fault = fault.at(location);
        }
        if let Some(location) = self.docs.location(&self.nodes, first) {
            fault = fault.related(location, "the other params are given here");
        }
        if let Some(fact) = difference {
            fault = fault.fact(fact);
        }
        self.faults.push(fault.help("give equal params in both places, or in one of them only"));
    }
}

struct ParamsComparison<'a> {
    docs: Docs<'a>,
    nodes: &'a Nodes,
}

/// A template together with the scope of its placeholders.
#[derive(Clone, Copy)]
struct Scoped<'a>(&'a Template, Scope);

/// Why two templates differ, where the documents do not show it.
type Difference = Option<String>;

fn equal(equal: bool) -> Result<(), Difference> {
    if equal { Ok(()) } else { Err(None) }
}

impl ParamsComparison<'_> {
    fn params(&self, first: Source, second: Source) -> Result<(), Difference> {
        match (self.docs.params_of(self.nodes, first), self.docs.params_of(self.nodes, second)) {
            (Params::Given(a, in_a), Params::Given(b, in_b)) => {
                self.templates(Scoped(a, in_a), Scoped(b, in_b))
            }
            // Two workloads with one name are a fault themselves.
            (Params::Workload(..), Params::Workload(..)) => Ok(()),
            (Params::None, Params::None) => Ok(()),
            _ => Err(None),
        }
    }

    fn templates(&self, Scoped(a, in_a): Scoped<'_>, Scoped(b, in_b): Scoped<'_>) -> Result<(), Difference> {
        match (a, b) {
            (Template::Constant(a), Template::Constant(b)) => equal(a == b),
            (Template::Text(a), Template::Text(b)) => {
                equal(a.len() == b.len())?;
                a.iter().zip(b.iter()).try_for_each(|pieces| match pieces {
                    (Piece::Literal(a), Piece::Literal(b)) => equal(a == b),
                    (Piece::Placeholder(a), Piece::Placeholder(b)) => self.placeholders((a, in_a), (b, in_b)),
                    _ => Err(None),
                })
            }
            (Template::List(a), Template::List(b)) => {
                equal(a.len() == b.len())?;
                a.iter().zip(b).try_for_each(|(a, b)| self.templates(Scoped(a, in_a), Scoped(b, in_b)))
            }
            (Template::Map(a), Template::Map(b)) => {
                equal(a.len() == b.len())?;
                a.iter().try_for_each(|(key, a)| {
                    self.templates(Scoped(a, in_a), Scoped(b.get(key).ok_or(None)?, in_b))
                })
            }
            // A template that contains a placeholder never equals a constant.
            _ => Err(None),
        }
    }

    /// Whether two placeholders mean the same, each in its scope. Those that are written alike can
    /// still read two resources.
    fn placeholders(
        &self,
        (a, in_a): (&Placeholder, Scope),
        (b, in_b): (&Placeholder, Scope),
    ) -> Result<(), Difference> {
        equal(a.modifiers == b.modifiers)?;
        if self.references((&a.reference, in_a), (&b.reference, in_b)) {
            return Ok(());
        }
        let of = |placeholder: &Placeholder, scope| {
            self.target(&placeholder.reference, scope).map(|(key, _)| key).or_else(|| {
                let here = self.docs.here(self.nodes, scope)?;
                self.nodes.key(here).map(ToString::to_string)
            })
        };
        match (of(a, in_a), of(b, in_b)) {
            (Some(first), Some(second)) if a.source() == b.source() && first != second => {
                Err(Some(format!("`{}` reads `{second}` here, and `{first}` there", b.source())))
            }
            _ => Err(None),
        }
    }

    /// Whether two references mean the same, each in its scope.
    fn references(&self, (a, in_a): (&Reference, Scope), (b, in_b): (&Reference, Scope)) -> bool {
        let here = || self.docs.here(self.nodes, in_a) == self.docs.here(self.nodes, in_b);
        match (a, b) {
            (Reference::Context(a), Reference::Context(b)) => {
                a == b && (!a.path().starts_with("res.") || here())
            }
            (Reference::Value(a), Reference::Value(b)) => a == b,
            (Reference::Param(a), Reference::Param(b))
            | (Reference::Manifest(a), Reference::Manifest(b))
            | (Reference::Metadata(a), Reference::Metadata(b)) => a == b && here(),
            (Reference::Selected(a, access_a), Reference::Selected(b, access_b)) => {
                let full =
                    |selector, scope| nested_text::full_selector(self.docs, self.nodes, selector, scope).ok();
                access_a == access_b && full(a, in_a).is_some_and(|a| full(b, in_b) == Some(a))
            }
            _ => match (self.target(a, in_a), self.target(b, in_b)) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }

    /// The single resource that is read, and the part of it.
    fn target(&self, reference: &Reference, scope: Scope) -> Option<(String, Access)> {
        let node = |node: Option<NodeId>| self.nodes.key(node?).map(ToString::to_string);
        match reference {
            Reference::Resource(descriptor, access) => {
                let mut key = String::new();
                self.docs.write_key(self.nodes, scope, descriptor, &mut key).ok()?;
                Some((key, access.clone()))
            }
            Reference::Named(name, path) => {
                Some((node(self.docs.named(self.nodes, scope, name))?, Access::Outputs(path.clone())))
            }
            Reference::Shared(name, path) => {
                Some((node(self.docs.shared(self.nodes, name))?, Access::Outputs(path.clone())))
            }
            _ => None,
        }
    }
}
