//! Renders a graph as a tree that begins with the resources without dependents. A branch that
//! several resources share is shown in full once, and referred to afterwards.

use std::fmt::Write as _;

use crate::report::graph::Graph;
use crate::style::{DIM, STRONG, paint};
use crate::text;

/// A branch deeper than this continues as a separate tree further down.
const DEEP: usize = 24;

/// A node of a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// Its line, with colours.
    pub(crate) name: String,
    /// Escaped lines below it, which are wrapped to the terminal.
    pub(crate) notes: Vec<String>,
    /// Its position among the nodes without dependents.
    pub(crate) rank: (u8, String),
    /// Its dependencies: their indexes, each with a coloured remark.
    pub(crate) below: Vec<(usize, String)>,
    /// Whether it is left out. Every dependent of a visible node must be visible.
    pub(crate) hidden: bool,
}

/// The tree of a graph.
pub(crate) fn render(graph: &Graph) -> String {
    let edge = |(node, edge): &(usize, usize)| {
        let kinds = graph.edges[*edge].kinds.join(", ");
        (*node, format!("  {}", paint(DIM, format!("[{kinds}]"))))
    };
    let nodes = graph.nodes.iter().zip(graph.dependencies()).map(|(node, below)| {
        let recipe = node.recipe();
        let recipe = paint(DIM, format!("  {}", text::line(recipe)));
        let omitted = node.omitted.words().into_iter();
        let omitted: String = omitted.map(|(_, words)| paint(DIM, format!("  ({words})"))).collect();
        Node {
            name: format!("{}{recipe}{omitted}", paint(STRONG, text::line(&node.key))),
            // Workloads come first, since developers know them.
            rank: (u8::from(node.type_name != "workload"), node.key.clone()),
            below: below.iter().map(edge).collect(),
            ..Node::default()
        }
    });
    lines(&nodes.collect::<Vec<_>>(), None)
}

/// A tree as lines of text, each ending in a newline.
pub(crate) fn lines(nodes: &[Node], columns: Option<usize>) -> String {
    let mut has_dependents = vec![false; nodes.len()];
    for (node, _) in nodes.iter().flat_map(|node| &node.below) {
        has_dependents[*node] = true;
    }
    let roots = (0..nodes.len()).filter(|node| !has_dependents[*node] && !nodes[*node].hidden);
    let mut roots: Vec<usize> = roots.collect();
    roots.sort_by_key(|node| &nodes[*node].rank);
    roots.reverse();

    let mut tree =
        Tree { nodes, columns, shown: vec![false; nodes.len()], later: vec![], out: String::new() };
    while let Some(root) = roots.pop() {
        tree.root(root);
        // Branches that were cut off follow the tree that they belong to.
        roots.extend(std::mem::take(&mut tree.later).into_iter().rev());
    }
    tree.out
}

struct Tree<'a> {
    nodes: &'a [Node],
    columns: Option<usize>,
    shown: Vec<bool>,
    later: Vec<usize>,
    out: String,
}

impl Tree<'_> {
    fn root(&mut self, node: usize) {
        if std::mem::replace(&mut self.shown[node], true) {
            return;
        }
        self.out.push_str(&self.nodes[node].name);
        self.out.push('\n');
        self.branches(node, &mut String::new(), 1);
    }

    fn notes(&mut self, node: usize, indent: &str, goes_on: bool) {
        let bar = if goes_on { "│  " } else { "   " };
        for note in &self.nodes[node].notes {
            let room = self.columns.map(|columns| columns.saturating_sub(text::width(indent) + 4).max(30));
            for line in room.map_or_else(|| vec![note.clone()], |room| text::wrap(note, room)) {
                let _ = writeln!(self.out, "{indent}{bar}{line}");
            }
        }
    }

    fn branches(&mut self, node: usize, indent: &mut String, depth: usize) {
        let nodes = self.nodes;
        let below = nodes[node].below.iter().filter(|(child, _)| !nodes[*child].hidden);
        let branches = below.clone().count();
        self.notes(node, indent, branches > 0);
        for (position, (child, remark)) in below.enumerate() {
            let last = position + 1 == branches;
            let shown = std::mem::replace(&mut self.shown[*child], true);
            let leaf = nodes[*child].below.is_empty();
            let cut = depth >= DEEP && !leaf && !shown;
            let more = match (shown && !leaf, cut) {
                (true, _) => "  (see above)",
                (_, true) => "  (continued below)",
                _ => "",
            };
            let name = &nodes[*child].name;
            let branch = if last { "└─ " } else { "├─ " };
            let _ = writeln!(self.out, "{indent}{branch}{name}{remark}{more}");
            if shown {
                continue;
            }
            if cut {
                self.shown[*child] = false;
                self.later.push(*child);
                continue;
            }
            let length = indent.len();
            indent.push_str(if last { "   " } else { "│  " });
            self.branches(*child, indent, depth + 1);
            indent.truncate(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::graph::fixture;
    use proptest::prelude::*;

    fn plain(graph: &Graph) -> String {
        anstream::adapter::strip_str(&render(graph)).to_string()
    }

    #[test]
    fn shared_branches_are_shown_once() {
        insta::assert_snapshot!(plain(&fixture::shop()));
    }

    #[test]
    fn a_long_chain_stays_narrow() {
        let keys: Vec<String> = (0..1000).map(|n| format!("a.default#n{n:04}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let edges: Vec<_> = keys.windows(2).map(|w| (w[0], w[1], &["reference"][..])).collect();
        let mut graph = fixture::graph(&keys, &[]);
        graph.edges = fixture::graph(&keys[..0], &edges).edges;
        let text = plain(&graph);
        assert!(text.lines().all(|line| text::width(line) < 160));
        assert!(keys.iter().all(|key| text.contains(key)));
        assert!(text.len() < 200_000);
    }

    proptest! {
        #[test]
        fn every_resource_and_every_edge_is_there(pairs in proptest::collection::vec((0usize..12, 0usize..12), 0..40)) {
            let keys: Vec<String> = (0..12).map(|n| format!("t.default#n{n}e")).collect();
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let mut edges: Vec<(&str, &str, &[&str])> =
                pairs.iter().filter(|(a, b)| a < b).map(|(a, b)| (keys[*a], keys[*b], &["reference"][..])).collect();
            edges.sort();
            edges.dedup();
            let graph = fixture::graph(&keys, &edges);
            let text = plain(&graph);
            for key in keys {
                prop_assert!(text.contains(key));
            }
            prop_assert_eq!(text.matches("[reference]").count(), edges.len());
        }
    }
}
