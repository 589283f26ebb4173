//! Renders a graph as a self-contained SVG, which needs no other program.
//!
//! Dependents are to the left of their dependencies. Widths are measured in columns of a monospaced
//! font, so that text fits its box in every viewer. The colours follow the reader's light or dark
//! scheme, on a background of their own.

mod layout;

use std::fmt::Write as _;

use crate::report::graph::{Graph, Node};
use crate::text;
use layout::{Layout, Size};

/// The width of one character in pixels, slightly more than common monospaced fonts need.
const COLUMN: f64 = 7.7;
/// The number of characters after which a line of a box is truncated.
const LONGEST: usize = 44;
const BOX_HEIGHT: f64 = 60.0;
const MARGIN: f64 = 24.0;

/// The kinds of edges, each with its CSS class.
const KINDS: [(&str, &str); 8] = [
    ("dependency", "k0"),
    ("reference", "k1"),
    ("co-provision", "k2"),
    ("match-dependents", "k3"),
    ("selector", "k4"),
    ("requires", "k5"),
    ("ref", "k6"),
    ("depends-on", "k7"),
];

/// All rules are inside one class, so that they do not affect the rest of a page that embeds the
/// picture.
const STYLE: &str = "
  .purlin-graph { --ground: #ffffff; --ink: #1f2430; --faint: #5c6675; --box: #f5f7fa; --line: #9aa5b4;
    --root: #e3efff; --root-line: #3b78c4; --k0: #5c6675; --k1: #2468b4; --k2: #2b7a3d; --k3: #9a5b00; --k4: #8a3fa8;
    --k5: #b03048; --k6: #0b7285; --k7: #6b4f3a }
  @media (prefers-color-scheme: dark) {
    .purlin-graph { --ground: #15181e; --ink: #e6e9ef; --faint: #a3adba; --box: #222831; --line: #566172;
      --root: #1b3350; --root-line: #6aa5e8; --k0: #a3adba; --k1: #6aa5e8; --k2: #6cc07f; --k3: #e0a050; --k4: #c78be0;
      --k5: #ee8094; --k6: #5cc3d4; --k7: #c2a48c }
  }
  .purlin-graph .ground { fill: var(--ground) }
  .purlin-graph text { font: 12.5px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace; fill: var(--ink) }
  .purlin-graph .type { font-weight: bold }
  .purlin-graph .small { font-size: 11.5px; fill: var(--faint) }
  .purlin-graph .node rect { fill: var(--box); stroke: var(--line); stroke-width: 1.2 }
  .purlin-graph .workload rect { fill: var(--root); stroke: var(--root-line) }
  .purlin-graph .implicit rect { stroke-dasharray: 5 3 }
  .purlin-graph .edge { fill: none; stroke-width: 1.5 }
  .purlin-graph .k0 { --c: var(--k0) }
  .purlin-graph .k1 { --c: var(--k1) }
  .purlin-graph .k2 { --c: var(--k2); stroke-dasharray: 7 3 }
  .purlin-graph .k3 { --c: var(--k3); stroke-dasharray: 2 3 }
  .purlin-graph .k4 { --c: var(--k4); stroke-dasharray: 9 3 2 3 }
  .purlin-graph .k5 { --c: var(--k5) }
  .purlin-graph .k6 { --c: var(--k6) }
  .purlin-graph .k7 { --c: var(--k7); stroke-dasharray: 4 4 }
  .purlin-graph .edge, .purlin-graph .tip { stroke: var(--c) }
  .purlin-graph .tip { fill: var(--c); stroke-dasharray: none }
";

/// The graph as an SVG document. Equal graphs give equal text.
pub(crate) fn render(graph: &Graph) -> String {
    let sizes: Vec<Size> = graph.nodes.iter().map(size).collect();
    let index = graph.index();
    let edges: Vec<Option<(usize, usize)>> = graph
        .edges
        .iter()
        .map(|edge| Some((*index.get(edge.from.as_str())?, *index.get(edge.to.as_str())?)))
        .collect();
    let known: Vec<(usize, usize)> = edges.iter().flatten().copied().collect();
    let order: Vec<usize> =
        graph.order.iter().rev().flatten().filter_map(|key| index.get(key.as_str()).copied()).collect();
    let layout = layout::layout(&sizes, &known, &order);

    let legend = used_kinds(graph);
    let legend_width = legend.iter().map(|(kind, _)| 52.0 + kind.len() as f64 * COLUMN).sum::<f64>();
    let width = layout.width.max(legend_width) + 2.0 * MARGIN;
    let height = layout.height + 2.0 * MARGIN + if legend.is_empty() { 0.0 } else { 34.0 };
    let mut out = String::with_capacity(graph.nodes.len() * 700 + graph.edges.len() * 300 + 4096);
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" class=\"purlin-graph\" role=\"img\">\n<title>Resource graph</title>\n<style>{STYLE}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n<g transform=\"translate({MARGIN} {MARGIN})\">\n",
    );
    let mut drawn = layout.edges.iter();
    for (edge, known) in graph.edges.iter().zip(&edges) {
        if known.is_none() {
            continue;
        }
        if let Some(points) = drawn.next() {
            draw_edge(
                &mut out,
                points,
                edge.kinds.first().map_or("", String::as_str),
                &format!("{} depends on {} ({})", edge.from, edge.to, edge.kinds.join(", ")),
            );
        }
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        draw_node(&mut out, node, sizes[number], &layout, number);
    }
    draw_legend(&mut out, &legend, layout.height + 30.0);
    out.push_str("</g>\n</svg>\n");
    out
}

fn head(node: &Node) -> String {
    if node.class == "default" {
        node.type_name.clone()
    } else {
        format!("{}.{}", node.type_name, node.class)
    }
}

fn recipe(node: &Node) -> String {
    match node.recipe() {
        driver if driver == node.driver => node.driver.clone(),
        recipe => format!("{recipe} · {}", node.driver),
    }
}

fn lines(node: &Node) -> [String; 3] {
    [head(node), node.id.clone(), recipe(node)]
        .map(|line| text::fit(&text::line(&line), LONGEST).into_owned())
}

fn size(node: &Node) -> Size {
    let columns = lines(node).iter().map(|line| text::width(line)).max().unwrap_or(0).max(10);
    Size { width: columns as f64 * COLUMN + 24.0, height: BOX_HEIGHT }
}

fn draw_node(out: &mut String, node: &Node, size: Size, layout: &Layout, number: usize) {
    let (x, y) = layout.nodes[number];
    let class = match (node.type_name.as_str(), node.implicit) {
        ("workload", _) => "node workload",
        (_, true) => "node implicit",
        _ => "node",
    };
    let [first, second, third] = lines(node).map(|line| escape(&line));
    let _ = writeln!(
        out,
        "<g class=\"{class}\" transform=\"translate({x:.1} {y:.1})\"><title>{}</title><rect width=\"{:.1}\" height=\"{:.1}\" rx=\"7\"/><text class=\"type\" x=\"12\" y=\"20\">{first}</text><text x=\"12\" y=\"36\">{second}</text><text class=\"small\" x=\"12\" y=\"51\">{third}</text></g>",
        escape(&text::line(&node.key)),
        size.width,
        size.height,
    );
}

fn class_of(kind: &str) -> &'static str {
    KINDS.iter().find(|(name, _)| *name == kind).map_or("k0", |(_, class)| class)
}

fn draw_edge(out: &mut String, points: &[(f64, f64)], kind: &str, title: &str) {
    let [(x, y), rest @ .., (end_x, end_y)] = points else { return };
    let class = class_of(kind);
    let _ = write!(
        out,
        "<g class=\"{class}\"><title>{}</title><path class=\"edge\" d=\"M{x:.1} {y:.1}",
        escape(&text::line(title))
    );
    let (mut from_x, mut from_y) = (*x, *y);
    // The curve ends at the base of the arrow tip.
    let last = (end_x - 7.0, *end_y);
    for (to_x, to_y) in rest.iter().copied().chain([last]) {
        let bend = (to_x - from_x) / 2.0;
        let _ =
            write!(out, "C{:.1} {from_y:.1} {:.1} {to_y:.1} {to_x:.1} {to_y:.1}", from_x + bend, to_x - bend);
        (from_x, from_y) = (to_x, to_y);
    }
    let _ = writeln!(out, "\"/><path class=\"tip\" d=\"M{end_x:.1} {end_y:.1}l-7 -3.5v7z\"/></g>");
}

fn used_kinds(graph: &Graph) -> Vec<(&'static str, &'static str)> {
    KINDS
        .into_iter()
        .filter(|(kind, _)| {
            graph.edges.iter().any(|edge| edge.kinds.first().is_some_and(|first| first == kind))
        })
        .collect()
}

fn draw_legend(out: &mut String, legend: &[(&str, &str)], y: f64) {
    let mut x = 0.0;
    for (kind, class) in legend {
        let _ = writeln!(
            out,
            "<g class=\"{class}\"><path class=\"edge\" d=\"M{x:.1} {:.1}h26\"/><path class=\"tip\" d=\"M{:.1} {:.1}l-7 -3.5v7z\"/></g><text class=\"small\" x=\"{:.1}\" y=\"{y:.1}\">{kind}</text>",
            y - 4.0,
            x + 33.0,
            y - 4.0,
            x + 38.0,
        );
        x += 52.0 + kind.len() as f64 * COLUMN;
    }
}

/// Escapes text for XML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
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
    fn a_graph_as_svg() {
        let svg = render(&fixture::shop());
        assert_eq!(svg, render(&fixture::shop()));
        insta::assert_snapshot!(svg);
    }

    #[test]
    fn names_cannot_break_out() {
        let graph = fixture::graph(&["x<script>.default#a\"&b"], &[]);
        let svg = render(&graph);
        assert!(!svg.contains("<script>"));
        assert!(svg.contains("a&quot;&amp;b"));
    }

    #[test]
    fn an_empty_graph_is_a_picture_too() {
        assert!(render(&Graph::default()).ends_with("</svg>\n"));
    }
}
