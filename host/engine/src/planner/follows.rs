//! How certain a replacement is that depends on a value that is not known yet. The value may well
//! turn out to be the same, unless it comes from a resource that is replaced itself.

use std::borrow::Cow;

use purlin_graph::{Inputs, Node, NodeId, Provisioned};
use purlin_model::{Urn, Value};

use super::{Certainty, Planner};
use crate::plan::ValueChange;
use crate::records::recorded::exists;

impl Planner<'_> {
    /// How certain the replacement of a node is, given its changes.
    pub(super) fn follows(&self, node: Node<'_>, changes: &[ValueChange]) -> Certainty {
        let decisive = || changes.iter().filter(|change| change.replaces).map(|change| &*change.path);
        let remains_unknown = |even_perhaps: bool| {
            let kept = IfKept { planner: self, even_perhaps };
            self.graph.evaluate(node.id, &kept).is_ok_and(|inputs| {
                let mut paths = decisive().peekable();
                // The driver decides by another input than the one that it names.
                if paths.peek().is_none() {
                    return parts(&inputs).iter().any(|(_, part)| part.has_unknown());
                }
                paths.any(|path| is_unknown(&inputs, path))
            })
        };
        if remains_unknown(false) {
            Certainty::Follows
        } else if remains_unknown(true) {
            Certainty::MayFollow
        } else {
            Certainty::MayDiffer
        }
    }
}

/// The values that a node would read if every resource kept its outputs except those that are
/// created or replaced, with `even_perhaps` also those that are only perhaps replaced.
struct IfKept<'a, 'p> {
    planner: &'a Planner<'p>,
    even_perhaps: bool,
}

impl IfKept<'_, '_> {
    fn is_new(&self, node: NodeId) -> bool {
        let step = self.planner.step_of.get(node.index()).copied();
        let certainty = step.and_then(|step| self.planner.decided.certainty(step));
        certainty.is_some_and(|certainty| self.even_perhaps || certainty >= Certainty::Follows)
    }
}

impl Provisioned for IfKept<'_, '_> {
    fn outputs(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        let Planner { node_values, graph, recorded, context, .. } = self.planner;
        let record = || {
            let record = recorded.current(&Urn::new(context, graph.key(node)?))?;
            exists(record).then_some(record)
        };
        match record().filter(|_| !self.is_new(node)) {
            Some(record) => Some(Cow::Borrowed(&record.state.outputs)),
            None => node_values.outputs(node),
        }
    }
    fn values(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.planner.node_values.values(node)
    }
    fn account(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.planner.node_values.account(node)
    }
    fn has_more_outputs(&self, node: NodeId) -> bool {
        self.is_new(node) && self.planner.node_values.has_more_outputs(node)
    }
}

fn parts(inputs: &Inputs) -> [(&'static str, &Value); 4] {
    [
        ("values", &inputs.values),
        ("secrets", inputs.secret_refs.as_ref().unwrap_or(&inputs.secrets)),
        ("params", &inputs.params),
        ("connection", &inputs.connection),
    ]
}

/// Whether the value at a path is unknown, above it or below it.
fn is_unknown(inputs: &Inputs, path: &str) -> bool {
    let mut segments = path.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~"));
    let root = segments.next().unwrap_or_default();
    let part = parts(inputs).into_iter().find(|(name, _)| *name == root);
    let value = part.map_or(Some(Value::Null), |(_, part)| {
        segments.try_fold(part.clone(), |value, segment| value.get(&segment))
    });
    value.is_some_and(|value| value.has_unknown())
}
