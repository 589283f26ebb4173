//! Renders a graph as a self-contained SVG, which needs no other program.
//!
//! Each workload has a frame, and so do the resources that belong to none. Dependents stand left of what
//! they depend on. Widths are measured in columns of a monospaced font, so that text fits its box
//! wherever it is drawn; colours follow the reader's light or dark scheme over a ground of their own.

mod blocks;
mod layout;
mod page;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::report::graph::{Graph, Node};
use crate::text;
use blocks::{Drawing, PathOwner};
use layout::{Link, Path, Size};
use page::{Area, Bend, Page};

use super::clusters::{Clusters, short_id};

/// The width of one character in pixels, slightly more than common monospaced fonts need.
const COLUMN: f64 = 7.7;
/// The number of characters after which a line of a box is truncated.
const LONGEST: usize = 30;
const LINE: f64 = 15.5;
const MARGIN: f64 = 24.0;

/// Kinds of edges; the number of each is in the class that draws it.
pub(super) const KINDS: [&str; 8] = [
    "dependency",
    "reference",
    "co-provision",
    "match-dependents",
    "selector",
    "requires",
    "ref",
    "depends-on",
];
/// The number of edges that a part of a graph leaves out.
const OMITTED: usize = KINDS.len();

/// All rules are inside one class, so that they do not affect the rest of a page that embeds the
/// picture.
const STYLE: &str = include_str!("svg/style.css");

/// A box of the picture.
struct Box {
    class: &'static str,
    title: String,
    lines: Vec<Line>,
}

/// A line of a box.
struct Line {
    class: &'static str,
    shown: String,
    /// The whole text, if only a part of it is shown.
    whole: Option<String>,
}

impl Line {
    /// A line that is truncated if it is too long.
    fn fitted(class: &'static str, name: &str) -> Self {
        let whole = text::line(name);
        let shown = text::fit(&whole, LONGEST).into_owned();
        let whole = (*whole != *shown).then(|| whole.into_owned());
        Self { class, shown, whole }
    }
}

impl Box {
    fn size(&self) -> Size {
        let columns = self.lines.iter().map(|line| text::width(&line.shown)).max().unwrap_or(0);
        Size { width: columns as f64 * COLUMN + 22.0, height: self.lines.len() as f64 * LINE + 11.0 }
    }
}

/// The graph as an SVG document. Equal graphs give equal text.
pub(crate) fn render(graph: &Graph) -> String {
    let clusters = Clusters::new(graph);
    let (boxes, edges, drawing) = draw(graph, &clusters);
    let page = page::place(&drawing);
    let legend: BTreeSet<usize> =
        drawing.links.iter().map(|link| link.kind).filter(|kind| *kind != OMITTED).collect();
    let legend_width = legend.iter().map(|kind| 52.0 + KINDS[*kind].len() as f64 * COLUMN).sum::<f64>();
    let Area { x, y, width, height } = page.area;
    let (left, top) = (x - MARGIN, y - MARGIN);
    let width = width.max(legend_width) + 2.0 * MARGIN;
    let below = y + height + if legend.is_empty() { 0.0 } else { 34.0 };
    let height = below - y + 2.0 * MARGIN;
    let mut out = String::with_capacity(graph.nodes.len() * 700 + graph.edges.len() * 300 + 4096);
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"{left:.0} {top:.0} {width:.0} {height:.0}\" class=\"purlin-graph\" role=\"img\">\n<title>Resource graph</title>\n<style>\n{STYLE}</style>\n<rect class=\"ground\" x=\"{left:.0}\" y=\"{top:.0}\" width=\"100%\" height=\"100%\"/>\n",
    );
    for (group, frame) in clusters.groups.iter().zip(&page.frames) {
        draw_frame(&mut out, group.workload.as_deref().unwrap_or("shared resources"), frame);
    }
    draw_ways(&mut out, &page, &drawing, &edges, graph);
    for ((each, size), corner) in boxes.iter().zip(&drawing.sizes).zip(&page.boxes) {
        draw_box(&mut out, each, *size, *corner);
    }
    draw_legend(&mut out, &legend, (x, below));
    out.push_str("</svg>\n");
    out
}

/// The vertical position of each resource in the picture, chosen so that few edges cross.
pub(super) fn heights(graph: &Graph, clusters: &Clusters) -> Vec<f64> {
    let (_, _, drawing) = draw(graph, clusters);
    page::place(&drawing).boxes.into_iter().take(graph.nodes.len()).map(|(_, y)| y).collect()
}

/// The boxes, the titles of the edges, and what is drawn.
fn draw(graph: &Graph, clusters: &Clusters) -> (Vec<Box>, Vec<String>, Drawing) {
    let mut boxes: Vec<Box> = graph.nodes.iter().map(node_box).collect();
    let mut groups: Vec<Vec<usize>> = clusters.groups.iter().map(|group| group.members.clone()).collect();
    let (mut links, mut titles) = (Vec::new(), Vec::new());
    for (number, (from, to)) in &clusters.drawn {
        let edge = &graph.edges[*number];
        links.push(Link { from: *from, to: *to, kind: edge.kinds.first().map_or(0, |kind| number_of(kind)) });
        titles.push(format!("{} depends on {} ({})", edge.from, edge.to, edge.kinds.join(", ")));
    }
    // A box with a count for what is not drawn.
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut more = |node: usize, incoming: bool, kind: usize, label: String, title: String| {
        let number = boxes.len();
        let line = Line { class: "small", shown: label, whole: None };
        boxes.push(Box { class: "more", title: title.clone(), lines: vec![line] });
        if let Some(group) = groups.iter_mut().find(|group| group.contains(&node)) {
            group.push(number);
        }
        let (from, to) = if incoming { (number, node) } else { (node, number) };
        if incoming {
            before.push(number)
        } else {
            after.push(number)
        }
        links.push(Link { from, to, kind });
        titles.push(title);
    };
    for hub in &clusters.hubs {
        let (key, label) = (&graph.nodes[hub.node].key, text::count(hub.others.len(), "resource"));
        let title = match (hub.incoming, hub.others.len()) {
            (true, 1) => format!("{label} depends on {key} ({})", hub.kind),
            (true, _) => format!("{label} depend on {key} ({})", hub.kind),
            (false, _) => format!("{key} depends on {label} ({})", hub.kind),
        };
        more(hub.node, hub.incoming, number_of(&hub.kind), label, title);
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        for (incoming, label) in node.omitted.words() {
            let title = format!("{} {label}", node.key);
            more(number, incoming, OMITTED, label, title);
        }
    }
    for (node, line) in counted(graph, clusters) {
        boxes[node].lines.push(line);
    }
    let index = graph.index();
    let order = graph.order.iter().rev().flatten().filter_map(|key| index.get(key.as_str()).copied());
    let order = before.into_iter().chain(order).chain(after).collect();
    let sizes = boxes.iter().map(Box::size).collect();
    let has_shared = clusters.groups.last().is_some_and(|group| group.workload.is_none());
    (boxes, titles, Drawing { sizes, links, order, groups, has_shared, first_count: graph.nodes.len() })
}

pub(super) fn number_of(kind: &str) -> usize {
    KINDS.iter().position(|name| *name == kind).unwrap_or_default()
}

pub(super) fn head(node: &Node) -> String {
    match node.class.as_str() {
        "default" => node.type_name.clone(),
        class => format!("{}.{class}", node.type_name),
    }
}

fn node_box(node: &Node) -> Box {
    let class = match (node.type_name.as_str(), node.implicit) {
        ("workload", _) => "workload",
        (_, true) => "implicit",
        _ => "node",
    };
    let lines = vec![
        Line::fitted("type", &head(node)),
        Line::fitted("id", short_id(node)),
        Line::fitted("small", node.recipe()),
    ];
    Box { class, title: format!("{} ({})", node.key, node.driver), lines }
}

/// For resources whose arrows are counted at hubs, a line that names the hubs.
fn counted(graph: &Graph, clusters: &Clusters) -> Vec<(usize, Line)> {
    let mut hubs: Vec<(Vec<String>, BTreeSet<usize>)> = vec![Default::default(); graph.nodes.len()];
    for hub in &clusters.hubs {
        let arrow = if hub.incoming { "→" } else { "←" };
        for other in &hub.others {
            let (names, seen) = &mut hubs[*other];
            if seen.insert(hub.node) {
                names.push(format!("{arrow} {}", short_id(&graph.nodes[hub.node])));
            }
        }
    }
    let line = |(node, (names, _)): (usize, (Vec<String>, _))| {
        let line = match names.as_slice() {
            [] => return None,
            [one] => Line::fitted("small", one),
            [one, rest @ ..] => {
                let rest = format!(" +{}", rest.len());
                let shown = format!("{}{rest}", text::fit(&text::line(one), LONGEST - rest.len()));
                let whole = text::line(&names.join(", ")).into_owned();
                Line { class: "small", shown, whole: Some(whole) }
            }
        };
        Some((node, line))
    };
    hubs.into_iter().enumerate().filter_map(line).collect()
}

fn draw_frame(out: &mut String, name: &str, frame: &Area) {
    let columns = ((frame.width - 32.0) / 8.7).max(1.0) as usize;
    let whole = text::line(name);
    let shown = text::fit(&whole, columns);
    let _ = writeln!(
        out,
        "<rect class=\"frame\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"10\"/><text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        frame.x,
        frame.y,
        frame.width,
        frame.height,
        frame.x + 16.0,
        frame.y + 23.0,
        content(&shown, (*shown != *whole).then_some(&*whole)),
    );
}

/// What a text element contains: the text, and the whole text as its tooltip if only a part is shown.
fn content(shown: &str, whole: Option<&str>) -> String {
    match whole {
        Some(whole) => format!("<title>{}</title>{}", escape(whole), escape(shown)),
        None => escape(shown),
    }
}

fn draw_box(out: &mut String, each: &Box, size: Size, (x, y): (f64, f64)) {
    let _ = write!(
        out,
        "<g class=\"{}\" transform=\"translate({x:.1} {y:.1})\"><title>{}</title><rect width=\"{:.1}\" height=\"{:.1}\" rx=\"7\"/>",
        each.class,
        escape(&text::line(&each.title)),
        size.width,
        size.height,
    );
    for (number, Line { class, shown, whole }) in each.lines.iter().enumerate() {
        let below = 17.5 + number as f64 * LINE;
        let content = content(shown, whole.as_deref());
        let _ = write!(out, "<text class=\"{class}\" x=\"11\" y=\"{below:.1}\">{content}</text>");
    }
    out.push_str("</g>\n");
}

fn draw_ways(out: &mut String, page: &Page, drawing: &Drawing, titles: &[String], graph: &Graph) {
    let shared = |to: usize| graph.nodes.get(to).map_or_else(String::new, |node| format!("to {}", node.key));
    for route in &page.routes {
        draw_way(out, route.kind, &shared(route.to), &route.bends, false);
    }
    for (part, Path { points, ends }) in &page.paths {
        let (kind, to, title) = match part {
            PathOwner::Edge(number) => {
                (drawing.links[*number].kind, drawing.links[*number].to, titles[*number].clone())
            }
            PathOwner::Entry { to, kind } => (*kind, *to, shared(*to)),
        };
        // An edge ends only at its box. At a port or at another edge, it continues.
        let is_tip = *ends && points.last().is_some_and(|(x, _)| (x - page.boxes[to].0).abs() < 0.5);
        let bends: Vec<Bend> = points.iter().map(|(x, y)| (*x, *y, 1.0)).collect();
        draw_way(out, kind, &title, &bends, is_tip);
    }
}

/// A line through points; `is_tip` if it ends at a box.
fn draw_way(out: &mut String, kind: usize, title: &str, bends: &[Bend], is_tip: bool) {
    let [(x, y, direction), rest @ ..] = bends else { return };
    let _ = write!(
        out,
        "<g class=\"k{kind}\"><title>{}</title><path class=\"edge\" d=\"M{x:.1} {y:.1}",
        escape(&text::line(title))
    );
    let mut from = (*x, *y, *direction);
    for (number, (end_x, y, direction)) in rest.iter().enumerate() {
        // The curve ends at the base of the arrow tip.
        let x = if is_tip && number + 1 == rest.len() { end_x - 7.0 } else { *end_x };
        let bulge = if from.2 == *direction { 0.0 } else { 26.0 };
        let bend = ((x - from.0).abs() / 2.0).max(bulge);
        let (first, second) = (from.0 + from.2 * bend, x - direction * bend);
        if (y - from.1).abs() < 0.05 && bulge == 0.0 {
            let _ = write!(out, "H{x:.1}");
        } else {
            let _ = write!(out, "C{first:.1} {:.1} {second:.1} {y:.1} {x:.1} {y:.1}", from.1);
        }
        from = (x, *y, *direction);
    }
    out.push_str("\"/>");
    if is_tip {
        let _ = write!(out, "<path class=\"tip\" d=\"M{:.1} {:.1}l-7 -3.5v7z\"/>", from.0 + 7.0, from.1);
    }
    out.push_str("</g>\n");
}

fn draw_legend(out: &mut String, legend: &BTreeSet<usize>, (mut x, y): (f64, f64)) {
    for kind in legend {
        draw_way(out, *kind, KINDS[*kind], &[(x, y - 4.0, 1.0), (x + 33.0, y - 4.0, 1.0)], true);
        let _ =
            writeln!(out, "<text class=\"small\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>", x + 38.0, KINDS[*kind]);
        x += 52.0 + KINDS[*kind].len() as f64 * COLUMN;
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
    fn a_graph_renders_as_svg() {
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
    fn shortened_names_have_the_whole_name_as_a_tooltip() {
        let name = "a-workload-with-a-name-that-is-too-long-for-its-box";
        let workload = format!("workload.default#modules.{name}");
        let svg = render(&fixture::graph(&[&workload, "s3.default#shared.files"], &[]));
        let tooltip = format!("<title>{name}</title>a-workload-with-");
        assert_eq!(svg.matches(&tooltip).count(), 2, "the frame and the box: {svg}");
        assert!(svg.contains(">files</text>"), "{svg}");
        assert!(!svg.contains("<title>files"), "{svg}");
    }

    #[test]
    fn omitted_boxes_are_counted() {
        let own: Vec<String> = (0..12).map(|n| format!("s3.default#modules.w{n}.externals.s")).collect();
        let mut keys: Vec<&str> = own.iter().map(String::as_str).collect();
        let edge = |key| (key, "base-env.default#base-env", &["reference"][..]);
        let edges: Vec<_> = keys.iter().map(|key| edge(*key)).collect();
        keys.push("base-env.default#base-env");
        let mut graph = fixture::graph(&keys, &edges);
        graph.nodes[0].omitted.dependencies = 3;
        let svg = render(&graph);
        assert_eq!(svg.matches(">12 resources<").count(), 1);
        assert_eq!(svg.matches(">→ base-env<").count(), 12);
        assert_eq!(svg.matches(">and 3 more<").count(), 1);
        // The arrow of the count, and the one in the legend.
        assert_eq!(svg.matches("class=\"k1\"").count(), 2);
    }

    #[test]
    fn an_empty_graph_is_a_picture_too() {
        assert!(render(&Graph::default()).ends_with("</svg>\n"));
    }
}
