//! A graph as a page for browsers: one file that needs no network. The graph is in it as JSON, and
//! a small script draws it: `ways.js` routes the arrows, `page.js` does the rest. The page allows
//! only its own style and script, by their digests, so that no text of a document can become code.

use std::fmt::Write as _;

use data_encoding::BASE64;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::clusters::{Clusters, layers, short_id};
use super::svg::{KINDS, head, heights, number_of};
use crate::report::details::Details;
use crate::report::graph::{Graph, Node};
use crate::text;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = concat!(include_str!("html/ways.js"), include_str!("html/page.js"));

/// The graph as an HTML document, the same text for the same graph.
pub(crate) fn render(graph: &Graph, details: &Details) -> String {
    let digest = |text: &str| BASE64.encode(&Sha256::digest(text));
    let title = escape(&text::line(&format!("Resource graph: {}", details.place)));
    let (style, script) = (digest(STYLE), digest(SCRIPT));
    let data = data(graph, details);
    format!(
        "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<input type=\"search\" placeholder=\"Search (/)\" aria-label=\"Search by name, type, driver or definition\" autocomplete=\"off\" spellcheck=\"false\">
<button type=\"button\" id=\"fold\">Fold or unfold all</button>
<span id=\"found\" role=\"status\"></span>
<ul class=\"legend\" aria-label=\"Kinds of edges\"></ul>
</header>
<main aria-label=\"Graph\"><noscript><p>This page needs JavaScript.</p></noscript></main>
<aside aria-label=\"Resource\" hidden></aside>
<script type=\"application/json\" id=\"graph\">{data}</script>
<script>{SCRIPT}</script>
</body>
</html>
"
    )
}

/// The graph as JSON that can stand in a script element.
fn data(graph: &Graph, details: &Details) -> String {
    let clusters = Clusters::new(graph);
    let index = graph.index();
    let ends = |edge: &crate::report::graph::Edge| {
        Some((*index.get(edge.from.as_str())?, *index.get(edge.to.as_str())?))
    };
    let is_own = |ends: &(usize, usize)| graph.nodes[ends.0].workload == graph.nodes[ends.1].workload;
    let own = graph.edges.iter().filter_map(ends).filter(is_own);
    let order: Vec<usize> =
        graph.order.iter().rev().flatten().filter_map(|key| index.get(key.as_str()).copied()).collect();
    let layers = layers(graph.nodes.len(), own, &order);
    let node = |(number, node): (usize, &Node)| {
        let detail = details.resources.get(number).cloned().unwrap_or_default();
        let inputs = detail.inputs.iter().map(|(path, text)| json!([line(path), text::block(text)]));
        let more: Vec<String> = node.omitted.words().into_iter().map(|(_, words)| words).collect();
        json!({
            "key": line(&node.key),
            "type": line(&node.type_name),
            "class": line(&node.class),
            "id": line(&node.id),
            "urn": line(&node.urn),
            "head": line(&head(node)),
            "short": line(short_id(node)),
            "recipe": line(node.recipe()),
            "definition": node.definition.as_deref().map(line),
            "bundle": node.bundle.as_deref().map(line),
            "driver": line(&node.driver),
            "implicit": node.implicit,
            "layer": layers[number],
            "matched": detail.matched.as_deref().map(line),
            "at": detail.at.as_deref().map(line),
            "inputs": inputs.collect::<Json>(),
            "origins": node.origin.iter().map(|origin| line(&origin.to_string())).collect::<Json>(),
            "more": (!more.is_empty()).then(|| more.join(", ")),
        })
    };
    let edge = |(number, edge): (usize, &crate::report::graph::Edge)| {
        let (from, to) = ends(edge)?;
        let reasons = details.edges.get(number).filter(|reasons| !reasons.is_empty()).unwrap_or(&edge.kinds);
        Some(json!({
            "from": from,
            "to": to,
            "kind": edge.kinds.first().map_or(0, |kind| number_of(kind)),
            "reasons": reasons.iter().map(|reason| line(reason)).collect::<Json>(),
        }))
    };
    let heights = heights(graph, &clusters);
    let groups = clusters.groups.iter().map(|group| {
        let mut members = group.members.clone();
        members.sort_by(|a, b| heights[*a].total_cmp(&heights[*b]).then(a.cmp(b)));
        json!({"workload": group.workload.as_deref().map(line), "members": members})
    });
    let hubs = clusters
        .hubs
        .iter()
        .map(|hub| json!({"node": hub.node, "kind": hub.kind, "incoming": hub.incoming, "edges": hub.edges}));
    let data = json!({
        "kinds": KINDS,
        "nodes": graph.nodes.iter().enumerate().map(node).collect::<Json>(),
        "edges": graph.edges.iter().enumerate().filter_map(edge).collect::<Json>(),
        "groups": groups.collect::<Json>(),
        "hubs": hubs.collect::<Json>(),
    });
    harmless(&data.to_string())
}

fn line(text: &str) -> String {
    text::line(text).into_owned()
}

/// JSON without any character that means something to HTML. They only occur in strings.
fn harmless(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Text inside HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::graph::fixture;

    /// The data of a page, as a browser reads it.
    fn read(page: &str) -> Json {
        let (_, rest) = page.split_once("id=\"graph\">").expect("data");
        let (data, _) = rest.split_once("</script>").expect("an end");
        serde_json::from_str(data).expect("JSON")
    }

    #[test]
    fn a_page_has_the_graph() {
        let graph = fixture::shop();
        let page = render(&graph, &Details::default());
        assert_eq!(page, render(&graph, &Details::default()));
        let data = read(&page);
        assert_eq!(data["nodes"].as_array().map(Vec::len), Some(graph.nodes.len()));
        assert_eq!(data["edges"].as_array().map(Vec::len), Some(graph.edges.len()));
        assert_eq!(data["groups"][0]["workload"], "web");
        assert_eq!(data["groups"][2]["workload"], Json::Null);
    }

    #[test]
    fn names_cannot_break_out() {
        let hostile = "</script><script>alert(1)</script><!--\"'&\u{2028}\u{202e}\u{0}";
        let mut graph = fixture::graph(&[&format!("x{hostile}.default#a{hostile}")], &[]);
        graph.nodes[0].workload = Some(hostile.to_owned());
        graph.nodes[0].driver = hostile.to_owned();
        let resource = crate::report::details::Resource {
            matched: Some(hostile.to_owned()),
            at: Some(hostile.to_owned()),
            inputs: vec![(hostile.to_owned(), hostile.to_owned())],
        };
        let details = Details { place: hostile.to_owned(), resources: vec![resource], edges: Vec::new() };
        let page = render(&graph, &details);
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script").count(), 2);
        assert!(!page.contains("<!--"));
        assert!(!page.chars().any(|c| c != '\n' && text::is_dangerous(c)));
        let shown = "</script><script>alert(1)</script><!--\"'&";
        assert!(read(&page)["nodes"][0]["driver"].as_str().is_some_and(|text| text.starts_with(shown)));
    }

    #[test]
    fn a_page_allows_only_its_own_code() {
        let page = render(&Graph::default(), &Details::default());
        assert!(page.contains("default-src 'none'"));
        let digest = BASE64.encode(&Sha256::digest(SCRIPT));
        assert!(page.contains(&format!("script-src 'sha256-{digest}'")));
        assert!(page.contains(&format!("<script>{SCRIPT}</script>")));
        assert!(!SCRIPT.contains("innerHTML") && !SCRIPT.contains("</"));
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !STYLE.contains("</"));
    }
}
