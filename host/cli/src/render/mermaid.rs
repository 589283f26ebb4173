//! Renders a graph in the language of Mermaid, for pages that draw it.

use crate::report::graph::Graph;
use crate::text;

/// The graph as a `flowchart`. Equal graphs give equal text.
pub(crate) fn render(graph: &Graph) -> String {
    let mut out = String::from("flowchart LR\n");
    let index = graph.index();
    for (number, node) in graph.nodes.iter().enumerate() {
        let recipe = node.recipe();
        out.push_str(&format!("  n{number}[\"{}<br/>{}\"]\n", escape(&node.key), escape(recipe)));
    }
    for edge in &graph.edges {
        if let (Some(from), Some(to)) = (index.get(edge.from.as_str()), index.get(edge.to.as_str())) {
            out.push_str(&format!("  n{from} -->|\"{}\"| n{to}\n", escape(&edge.kinds.join(", "))));
        }
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        for (incoming, more) in node.omitted.words() {
            out.push_str(&match incoming {
                true => format!("  a{number}([\"{more}\"]) -.-> n{number}\n"),
                false => format!("  n{number} -.-> b{number}([\"{more}\"])\n"),
            });
        }
    }
    out
}

/// Escapes all special characters of Mermaid and HTML as numeric entities of Mermaid.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text::line(text).chars() {
        match c {
            '"' | '#' | '<' | '>' | '&' | '`' | '{' | '}' | '|' | ';' | '\\' | '*' | '_' => {
                out.push_str(&format!("#{};", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::graph::fixture;

    #[test]
    fn a_graph_renders_as_mermaid() {
        insta::assert_snapshot!(render(&fixture::shop()));
    }

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(escape("a\"]<b>"), "a#34;]#60;b#62;");
    }
}
