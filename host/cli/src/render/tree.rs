//! A graph as a tree: from what nobody depends on downwards. What several share is shown in full
//! once and referred to afterwards.

use crate::report::graph::Graph;
use crate::style::{DIM, STRONG, paint};
use crate::text;

/// Below this depth a branch goes on as a tree of its own, further down.
const DEEP: usize = 24;

/// The tree as lines of text, each with an end.
pub(crate) fn render(graph: &Graph) -> String {
    let below = graph.dependencies();
    let mut has_dependents = vec![false; graph.nodes.len()];
    for (node, _) in below.iter().flatten() {
        has_dependents[*node] = true;
    }
    let mut roots: Vec<usize> = (0..graph.nodes.len()).filter(|node| !has_dependents[*node]).collect();
    // Workloads first: they are what developers know.
    roots.sort_by_key(|node| (graph.nodes[*node].type_name != "workload", &graph.nodes[*node].key));
    roots.reverse();

    let mut tree = Tree {
        graph,
        below: &below,
        shown: vec![false; graph.nodes.len()],
        later: vec![],
        out: String::new(),
    };
    while let Some(root) = roots.pop() {
        tree.root(root);
        // Branches that were cut off come right after the tree that they belong to.
        roots.extend(std::mem::take(&mut tree.later).into_iter().rev());
    }
    tree.out
}

struct Tree<'a> {
    graph: &'a Graph,
    below: &'a [Vec<(usize, usize)>],
    shown: Vec<bool>,
    later: Vec<usize>,
    out: String,
}

impl Tree<'_> {
    fn root(&mut self, node: usize) {
        if std::mem::replace(&mut self.shown[node], true) {
            return;
        }
        self.out.push_str(&self.name(node));
        self.out.push('\n');
        self.branches(node, &mut String::new(), 1);
    }

    fn name(&self, node: usize) -> String {
        let node = &self.graph.nodes[node];
        let mut name = paint(STRONG, text::line(&node.key));
        let recipe = node.definition.as_deref().unwrap_or(&node.driver);
        name.push_str(&paint(DIM, format!("  {}", text::line(recipe))));
        name
    }

    fn branches(&mut self, node: usize, indent: &mut String, depth: usize) {
        let below = &self.below[node];
        for (position, (child, edge)) in below.iter().enumerate() {
            let last = position + 1 == below.len();
            let kinds = self.graph.edges[*edge].kinds.join(", ");
            let shown = std::mem::replace(&mut self.shown[*child], true);
            let leaf = self.below[*child].is_empty();
            let cut = depth >= DEEP && !leaf && !shown;
            let remark = match (shown && !leaf, cut) {
                (true, _) => "  (see above)",
                (_, true) => "  (goes on below)",
                _ => "",
            };
            self.out.push_str(&format!(
                "{indent}{}{}  {}{remark}\n",
                if last { "└─ " } else { "├─ " },
                self.name(*child),
                paint(DIM, format!("[{kinds}]")),
            ));
            if shown || leaf {
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
