//! Renders a graph in the language of Graphviz.

use crate::report::graph::Graph;
use crate::text;

/// The graph as a `digraph`. Equal graphs give equal text.
pub(crate) fn render(graph: &Graph) -> String {
    let mut out = String::from(
        "digraph purlin {\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"Helvetica\"];\n  edge [fontname=\"Helvetica\", fontsize=10];\n",
    );
    for node in &graph.nodes {
        let recipe = node.recipe();
        let style =
            if node.implicit && node.type_name != "workload" { ", style=\"rounded,dashed\"" } else { "" };
        out.push_str(&format!(
            "  \"{}\" [label=\"{}\\n{}\"{style}];\n",
            escape(&node.key),
            escape(&node.key),
            escape(recipe)
        ));
    }
    for edge in &graph.edges {
        out.push_str(&format!(
            "  \"{}\" -> \"{}\" [label=\"{}\"];\n",
            escape(&edge.from),
            escape(&edge.to),
            escape(&edge.kinds.join("\n"))
        ));
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        for (incoming, more) in node.omitted.words() {
            let other = format!("\"{} {number}\"", if incoming { "above" } else { "below" });
            let key = format!("\"{}\"", escape(&node.key));
            let (from, to) = if incoming { (&other, &key) } else { (&key, &other) };
            out.push_str(&format!("  {other} [label=\"{more}\", shape=plaintext];\n"));
            out.push_str(&format!("  {from} -> {to} [style=dashed];\n"));
        }
    }
    out.push_str("}\n");
    out
}

/// Escapes text for a quoted string. A backslash would start one of Graphviz' escapes, such as
/// `\N`.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push_str("\\n");
        }
        out.push_str(&text::line(line).replace('\\', "\\\\").replace('"', "\\\""));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::graph::fixture;

    #[test]
    fn a_graph_renders_as_dot() {
        insta::assert_snapshot!(render(&fixture::shop()));
    }

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(escape("a\"b\\N\nc\u{1b}"), r#"a\"b\\N\nc\\u{1b}"#);
    }
}
