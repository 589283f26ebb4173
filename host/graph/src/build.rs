//! Builds the graph: gather → match → analyse → repeat; then `match_dependents`, selectors, and the
//! order (SPEC §4). Each phase reports all of its faults at once.

mod analyse;
mod dependents;
mod equal_params;
mod fields;
mod gather;
mod lifecycle;
mod order;
mod selectors;
mod undeclared;
mod unmatched;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_model::{Diagnostic, Key, Location, Placeholder, Recipe, Reference, TypeName};

use crate::Input;
use crate::adjacency::{Adjacency, RawEdge};
use crate::definition_index::{DefinitionMatch, Matcher};
use crate::docs::{Docs, Match, NodeData, Nodes, Scope, Source};
use crate::graph::Graph;
use crate::lifecycle::NodeLifecycles;
use crate::node::{EdgeKind, NodeId};
use crate::targets::{Missing, Targets};

pub(crate) use analyse::may_be_absent;
pub(crate) use gather::FOUNDATION;

/// Builds the graph of a deployment.
///
/// # Errors
/// All faults, as far as the graph could be built. If there is no error, every resource has a
/// recipe, every placeholder has a target (as far as that is known before anything runs), and there
/// is no loop.
pub fn build(input: &Input<'_>) -> Result<Graph, Vec<Diagnostic>> {
    let mut builder = Builder::new(input);
    builder.gather();
    builder.expand();
    builder.resolve_fields();
    builder.check_params();
    builder.check_text();
    builder.check_requirers();
    builder.lifecycle_settings();
    builder.report_unmatched();
    if !builder.faults.is_empty() {
        // Missing targets are reported together with the other faults.
        builder.faults.extend(builder.missing.iter().map(Missing::report));
        builder.faults.extend(builder.warnings.into_iter().map(|(_, warning)| warning));
        return Err(once(builder.faults));
    }
    builder.match_dependents();
    builder.select();
    if !builder.faults.is_empty() {
        return Err(once(builder.faults));
    }
    let Builder {
        mut nodes,
        mut sources,
        lifecycles,
        edges,
        mut targets,
        mut missing,
        mut non_blocking_dependencies,
        mut params_not_named,
        mut warnings,
        ..
    } = builder;
    warnings.sort_by(|(_, a), (_, b)| a.location.cmp(&b.location));
    warnings.dedup();
    let adjacency = Adjacency::new(nodes.map.len(), &edges);
    drop(edges);
    sources.sort_unstable();
    sources.dedup();
    sources.shrink_to_fit();
    nodes.map.shrink_to_fit();
    targets.shrink_to_fit();
    missing.sort_by(|a, b| (&a.location, a.from).cmp(&(&b.location, b.from)));
    missing.dedup();
    params_not_named.shrink_to_fit();
    non_blocking_dependencies.sort_unstable();
    non_blocking_dependencies.dedup();
    let order = order::order(&mut nodes, &adjacency);
    let mut graph = Graph {
        context: input.context.clone(),
        definition_index: input.definition_index.clone(),
        deployment: input.deployment.clone(),
        nodes,
        sources,
        lifecycles,
        adjacency,
        targets,
        missing,
        warnings,
        params_not_named,
        non_blocking_dependencies,
        levels: Vec::new(),
        secret_params: None,
        read: Default::default(),
    };
    match order {
        Ok(levels) => {
            graph.levels = levels;
            Ok(graph)
        }
        Err(loops) => Err(order::diagnose(&graph, &loops)),
    }
}

/// The resources whose definitions require bundles, sorted by key, each with its recipe. Their
/// requirements belong in [`Deployment::requirers`](purlin_model::Deployment::requirers) and
/// [`Deployment::installations`](purlin_model::Deployment::installations) before a graph is built.
/// Faults are left to [`build`].
pub fn requiring_resources(input: &Input<'_>) -> Vec<(Key, Arc<Recipe>)> {
    let mut builder = Builder::new(input);
    builder.gather();
    builder.expand();
    let one = |node| {
        let NodeData { found: Match::Definition(row), .. } = builder.nodes.get(node)?.1 else { return None };
        let recipe = &builder.docs.definition_index.definition(row.definition)?.recipe;
        if recipe.requires.is_empty() {
            return None;
        }
        Some((builder.nodes.key(node)?.clone(), Arc::clone(recipe)))
    };
    let mut found: Vec<_> = builder.nodes.ids().filter_map(one).collect();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}

/// How many more messages are shown of faults with one cause.
const SHOWN_ALIKE: usize = 3;

/// A message without the keys of resources in it.
fn without_keys(message: &str) -> String {
    let part = |(index, part): (usize, &str)| match index % 2 == 1 && part.contains('#') {
        true => String::new(),
        false => part.to_owned(),
    };
    message.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

/// Faults without repetition: each resource that uses a recipe finds its faults. If they differ only
/// in the resource that they name, one stands for all, since one correction is enough.
fn once(mut faults: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut seen = HashSet::new();
    faults.retain(|fault| seen.insert((fault.code, fault.location.clone(), fault.message.clone())));
    let mut first: HashMap<_, usize> = HashMap::new();
    let mut kept: Vec<(Diagnostic, Vec<String>)> = Vec::with_capacity(faults.len());
    for fault in faults {
        let is_plain = fault.location.is_some() && fault.related.is_empty() && fault.notes.is_empty();
        let cause = || (fault.code, fault.location.clone(), without_keys(&fault.message), fault.help.clone());
        let cause = is_plain.then(cause);
        let known = cause.as_ref().and_then(|cause| kept.get_mut(*first.get(cause)?));
        if let Some((_, more)) = known {
            more.push(fault.message);
            continue;
        }
        first.extend(cause.map(|cause| (cause, kept.len())));
        kept.push((fault, Vec::new()));
    }
    let joined = kept.into_iter().map(|(fault, more)| {
        let rest = more.len().saturating_sub(SHOWN_ALIKE);
        let fault = more.into_iter().take(SHOWN_ALIKE).fold(fault, Diagnostic::fact);
        if rest == 0 { fault } else { fault.fact(format!("and {rest} more like these")) }
    });
    joined.collect()
}

/// A step that has yet to be done.
#[derive(Clone, Copy)]
enum Pending {
    /// The recipe of a node.
    Recipe(NodeId),
    /// The params of a node.
    Params(NodeId),
}

/// A place in a document, and the length of the text there.
#[derive(Clone, Copy)]
struct Spot<'a> {
    location: &'a Location,
    length: usize,
}

impl<'a> From<&'a Placeholder> for Spot<'a> {
    fn from(placeholder: &'a Placeholder) -> Self {
        Self { location: &placeholder.location, length: placeholder.source().chars().count() }
    }
}

/// A graph that is being built.
struct Builder<'a> {
    docs: Docs<'a>,
    outputs: &'a dyn crate::OutputNames,
    /// Whether a definition created an implicit resource before.
    recorded: &'a dyn Fn(&Key) -> bool,
    matcher: Matcher<'a>,
    nodes: Nodes,
    /// Which documents declare a node.
    sources: Vec<(NodeId, Source)>,
    lifecycles: NodeLifecycles,
    edges: Vec<RawEdge>,
    queue: Vec<Pending>,
    /// References in one node's params to the params of the node that gave them.
    links: Vec<(NodeId, NodeId, &'a Reference)>,
    /// The links so far.
    linked: HashSet<(NodeId, NodeId, &'a Reference)>,
    /// Nodes whose params are given twice, and the two sources.
    given_twice: Vec<(NodeId, Source, Source)>,
    /// Selectors, by the node that gets the edges.
    selectors: Vec<(NodeId, Scope, &'a Placeholder)>,
    /// Reference fields of managed resources, by the node that gets the edges.
    fields: Vec<(NodeId, Scope, &'a Placeholder)>,
    /// The targets of selectors and reference fields.
    targets: Targets,
    /// Targets of reference fields that no document declares.
    missing: Vec<Missing>,
    /// Dependencies without an order: dependent and dependency.
    non_blocking_dependencies: Vec<(NodeId, NodeId)>,
    /// Placeholders that read the params of a node.
    params_read: Vec<(NodeId, &'a Placeholder)>,
    /// Their first names, each with the resource that has the params.
    params_not_named: Vec<(NodeId, Box<[Arc<str>]>)>,
    /// Output names by definition and, for patterns, type.
    known_outputs: HashMap<(u32, Box<str>), Option<Vec<String>>>,
    unmatched: Vec<(Key, Option<Spot<'a>>)>,
    faults: Vec<Diagnostic>,
    /// Each with the resource that it is about.
    warnings: Vec<(Key, Diagnostic)>,
    /// A buffer for keys to look up.
    scratch: String,
}

impl<'a> Builder<'a> {
    fn new(input: &'a Input<'_>) -> Self {
        let docs = Docs {
            context: &input.context,
            definition_index: &input.definition_index,
            deployment: &input.deployment,
        };
        Self {
            docs,
            outputs: input.outputs,
            recorded: input.recorded,
            matcher: Matcher::new(docs.definition_index, docs.context),
            nodes: Nodes::default(),
            sources: Vec::new(),
            lifecycles: NodeLifecycles::new(),
            edges: Vec::new(),
            queue: Vec::new(),
            links: Vec::new(),
            linked: HashSet::new(),
            given_twice: Vec::new(),
            selectors: Vec::new(),
            fields: Vec::new(),
            targets: Targets::default(),
            missing: Vec::new(),
            non_blocking_dependencies: Vec::new(),
            params_read: Vec::new(),
            params_not_named: Vec::new(),
            known_outputs: HashMap::new(),
            unmatched: Vec::new(),
            faults: Vec::new(),
            warnings: Vec::new(),
            scratch: String::new(),
        }
    }

    fn edge(&mut self, from: NodeId, to: NodeId, kind: EdgeKind) {
        self.edges.push(RawEdge { from, to, kinds: kind.into() });
    }

    /// Finds resources whose requirements were not resolved: nothing would read the results.
    fn check_requirers(&mut self) {
        for node in self.nodes.ids() {
            let Some(recipe) = self.docs.recipe(&self.nodes, node) else { continue };
            let (Some(first), Some(key)) = (recipe.requires.first(), self.nodes.key(node)) else { continue };
            let message = format!("the requirements of `{key}` are not resolved");
            self.faults.push(Diagnostic::error("unresolved", message).at(&first.location));
        }
    }

    /// Adds a node if it is not there, and finds its definition.
    fn node(&mut self, key: Key, spot: Option<Spot<'a>>) -> NodeId {
        if let Some(node) = self.nodes.id(key.as_str()) {
            return node;
        }
        if key.type_name() == TypeName::WORKLOAD {
            self.undeclared_workload(&key, spot, None);
            return self.insert(key, Match::Missing);
        }
        self.matched(key, spot)
    }

    /// Adds a node that is not there, with its definition.
    fn matched(&mut self, key: Key, spot: Option<Spot<'a>>) -> NodeId {
        let found = match self.matcher.find(&key) {
            DefinitionMatch::One(row) => Match::Definition(row),
            DefinitionMatch::None => {
                self.no_match(&key, spot);
                Match::Missing
            }
            DefinitionMatch::Tie(rows) => {
                self.tie(&key, &rows, spot);
                Match::Missing
            }
        };
        self.insert(key, found)
    }

    fn insert(&mut self, key: Key, found: Match) -> NodeId {
        // No machine that runs this can hold 2^32 keys in memory.
        let node = NodeId(self.nodes.map.len() as u32);
        let data =
            NodeData { found, params: None, level: 0, implicit: false, foundation: false, shown: false };
        self.nodes.map.insert(key, data);
        self.queue.push(Pending::Recipe(node));
        node
    }

    /// Records that a document declares a node, and takes its params.
    fn ask(&mut self, node: NodeId, source: Source) {
        self.sources.push((node, source));
        if matches!(self.docs.params_of(&self.nodes, source), crate::docs::Params::None) {
            return;
        }
        let Some(data) = self.nodes.get_mut(node) else { return };
        match data.params {
            None => {
                data.params = Some(source);
                self.queue.push(Pending::Params(node));
            }
            Some(first) if first != source => self.given_twice.push((node, first, source)),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
