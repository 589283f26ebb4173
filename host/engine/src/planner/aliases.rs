//! Resources that the documents rename (SPEC §9, Rename).

use std::collections::{BTreeMap, HashSet};

use purlin_graph::Graph;
use purlin_model::{AliasName, Context, Diagnostic, Key, Urn};
use purlin_state::RecordId;

use crate::records::recorded::Recorded;

/// The renames to perform, and those that must wait.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    /// New names by old names.
    pub(super) names: BTreeMap<Urn, Urn>,
    /// Old names, each with a new name that has a pending call with an unknown outcome, which must
    /// be determined first.
    pub(super) waiting: BTreeMap<Urn, Key>,
}

/// Finds the resources that the documents rename.
///
/// # Errors
/// For each alias that two resources claim, or that names a resource of the graph.
pub(super) fn find(
    graph: &Graph,
    context: &Context,
    recorded: &Recorded,
) -> Result<Aliases, Vec<Diagnostic>> {
    let mut names = BTreeMap::new();
    let mut waiting = BTreeMap::new();
    let mut errors = Vec::new();
    let mut wanted: Option<HashSet<Urn>> = None;
    for node in graph.nodes() {
        if node.lifecycle.aliases.is_empty() {
            continue;
        }
        let urn = Urn::new(context, node.key);
        let wanted =
            wanted.get_or_insert_with(|| graph.nodes().map(|node| Urn::new(context, node.key)).collect());
        for alias in &node.lifecycle.aliases {
            let old = match &alias.name {
                AliasName::Key(key) => Urn::new(context, key),
                AliasName::Urn(urn) => urn.clone(),
            };
            let fault = |what: String| Diagnostic::error("alias", what).at(&alias.location);
            if wanted.contains(&old) {
                let what = format!("`{}` claims the alias `{old}`, which is a resource itself", node.key);
                errors.push(fault(what).help("remove the alias, or the resource"));
            } else if recorded.current(&urn).is_none() && recorded.current(&old).is_some() {
                if recorded.pending(&RecordId::current(urn.clone())).is_some() {
                    waiting.insert(old, node.key.clone());
                    break;
                }
                if let Some(other) = names.insert(old.clone(), urn.clone())
                    && other != urn
                {
                    errors.push(fault(format!("`{}` and `{other}` claim the same alias `{old}`", node.key)));
                }
                break;
            }
        }
    }
    if errors.is_empty() { Ok(Aliases { names, waiting }) } else { Err(errors) }
}
