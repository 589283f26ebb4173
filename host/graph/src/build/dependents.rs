//! `match_dependents`, iterated to a fixed point (SPEC §4, co-provisioning).

use std::collections::{HashMap, HashSet};

use super::Builder;
use crate::adjacency::Adjacency;
use crate::docs::Source;
use crate::node::{EdgeKind, NodeId};

/// The resources that one node co-provisions.
#[derive(Default)]
struct CoProvisioned {
    /// All of them: none of these is treated as a dependent.
    all: HashSet<NodeId>,
    /// Those that its dependents will depend on.
    matching: Vec<NodeId>,
}

impl Builder<'_> {
    /// Gives every dependent of a co-provisioner an edge to the co-provisioned resources, including
    /// the dependents that this creates.
    pub(super) fn match_dependents(&mut self) {
        let mut co_provisioned: HashMap<NodeId, CoProvisioned> = HashMap::new();
        let mut any = false;
        for (node, source) in &self.sources {
            let Source::Provision { by, index } = *source else { continue };
            let entry = co_provisioned.entry(by).or_default();
            entry.all.insert(*node);
            if self.docs.provision(&self.nodes, by, index).is_some_and(|provision| provision.match_dependents)
            {
                entry.matching.push(*node);
                any = true;
            }
        }
        if !any {
            return;
        }
        let adjacency = Adjacency::new(self.nodes.map.len(), &self.edges);
        // Edges whose target co-provisions something for its dependents.
        let mut queue: Vec<(NodeId, NodeId)> = Vec::new();
        for (by, entry) in &co_provisioned {
            if !entry.matching.is_empty() {
                queue.extend(adjacency.dependents(*by).iter().map(|dependent| (*dependent, *by)));
            }
        }
        let mut matched: HashSet<(NodeId, NodeId)> = HashSet::new();
        while let Some((dependent, by)) = queue.pop() {
            let Some(entry) = co_provisioned.get(&by) else { continue };
            if entry.all.contains(&dependent) {
                continue;
            }
            for new in &entry.matching {
                if matched.insert((dependent, *new)) {
                    self.edges.push(crate::adjacency::RawEdge {
                        from: dependent,
                        to: *new,
                        kinds: EdgeKind::MatchDependents.into(),
                    });
                    queue.push((dependent, *new));
                }
            }
        }
    }
}
