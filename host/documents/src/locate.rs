//! Finds where a value was written by reading its text once more.
//!
//! Constants have no places: they would be useless weight in a graph of thousands of resources.
//! Only code that reports a fault asks for a place.

use std::sync::Arc;

use purlin_model::{DocumentPart, SecretText, Spot};

use crate::SourceMap;
use crate::yaml::{self, Entry, Node, NodeKind, Span, Style};

impl SourceMap {
    /// The place of the value at a JSON Pointer, or of its nearest written ancestor; none if the
    /// text is missing. For a map or a list, and with `key` for everything, it is the place of the
    /// key.
    pub fn find(&self, within: DocumentPart<'_>, pointer: &str, key: bool) -> Option<Spot> {
        let anchor = within.location();
        let (file, text) = (&anchor.file, self.text(&anchor.file)?);
        let mut found = None;
        yaml::parse(file, text, &mut |document| {
            let mut way = Vec::new();
            if found.is_none() && reach(&document.root, anchor.line, anchor.column, &mut way) {
                found = Some(spot(within, &way, pointer, key, text, file));
            }
        });
        found
    }
}

impl SourceMap {
    /// The texts of the values at JSON Pointers, with their maps and lists; of those that are written
    /// there.
    pub fn texts_of(&self, within: DocumentPart<'_>, pointers: &[String]) -> Vec<SecretText> {
        let anchor = within.location();
        let file = &anchor.file;
        let Some(text) = self.text(file) else { return Vec::new() };
        let mut found = None;
        yaml::parse(file, text, &mut |document| {
            let mut way = Vec::new();
            if found.is_none() && reach(&document.root, anchor.line, anchor.column, &mut way) {
                let values = pointers.iter().filter_map(|pointer| value(within, &way, pointer).ok());
                let spans = values.filter(|value| value.complete).map(|value| value.node.span);
                let bytes = spans.map(|span| span.start as usize..span.end as usize);
                found = Some(bytes.map(|bytes| SecretText { file: Arc::clone(file), bytes }).collect());
            }
        });
        found.unwrap_or_default()
    }
}

/// A step on the way from the root to the anchor.
#[derive(Clone, Copy)]
struct Step<'n, 't> {
    node: &'n Node<'t>,
    /// Its key, if it is the value of a key.
    key: Option<&'n Entry<'t>>,
}

/// The path to the node, or the key, that begins at a place.
fn reach<'n, 't>(node: &'n Node<'t>, line: u32, column: u32, way: &mut Vec<Step<'n, 't>>) -> bool {
    if way.is_empty() {
        way.push(Step { node, key: None });
    }
    let is_there = |span: &Span| span.line == line && span.column == column;
    match &node.kind {
        NodeKind::Map(entries) => {
            for entry in entries {
                way.push(Step { node: &entry.value, key: Some(entry) });
                // A map begins at its first key, and then the key is meant.
                let is_scalar = !matches!(entry.value.kind, NodeKind::Map(_) | NodeKind::List(_));
                if is_there(&entry.key_span) || (is_scalar && is_there(&entry.value.span)) {
                    return true;
                }
                if reach(&entry.value, line, column, way) {
                    return true;
                }
                way.pop();
            }
        }
        NodeKind::List(items) => {
            for item in items {
                way.push(Step { node: item, key: None });
                if reach(item, line, column, way) {
                    return true;
                }
                way.pop();
            }
        }
        _ => return is_there(&node.span),
    }
    false
}

/// The value at a pointer, or its nearest written ancestor.
struct Value<'n, 't> {
    node: &'n Node<'t>,
    /// The place of its key; for the start, of the anchor.
    own: Option<Span>,
    /// Whether it is the value, and not an ancestor.
    complete: bool,
}

/// The node at which the way to a value of this part begins, and the fields between the two, each with
/// its possible names. Takes from `segments` what these fields stand for.
fn start<'n, 't>(
    within: DocumentPart<'_>,
    way: &[Step<'n, 't>],
    segments: &mut Vec<&str>,
) -> (Option<&'n Node<'t>>, Vec<&'static [&'static str]>) {
    // In the innermost map around the anchor that has one of these keys.
    let around = |names: &[&str]| {
        way.iter().rev().map(|step| step.node).find(|node| names.iter().any(|name| node.get(name).is_some()))
    };
    let mut fields: Vec<&'static [&'static str]> = Vec::new();
    let start = match within {
        DocumentPart::Definition(_) => {
            let first = segments.first().copied().unwrap_or("values");
            *segments = segments.split_off(1.min(segments.len()));
            fields.push(&["spec", "entity", "object"]);
            fields.push(&["inputs", "driver_inputs"]);
            fields.push(match first {
                "secrets" => &["secrets", "secret_refs"],
                "values" => &["values"],
                "connection" => &["connection"],
                _ => &["inputs"],
            });
            around(&["spec", "entity", "object"])
        }
        DocumentPart::Params(_) => {
            fields.push(&["params"]);
            way.last().map(|step| step.node)
        }
        DocumentPart::Workload(_) => {
            let written = way.last().map(|step| step.node).filter(|node| node.get("spec").is_some());
            if written.is_none() && segments.first() == Some(&"spec") {
                segments.remove(0);
            }
            written.or_else(|| around(&["metadata", "containers"]))
        }
        DocumentPart::ResourceType(_) => {
            fields.push(&["spec"]);
            around(&["spec"])
        }
        DocumentPart::Manifest(_) => {
            let root = around(&["apiVersion"]);
            let spec = root.and_then(|root| root.get("spec"));
            fields.extend(spec.map(|_| -> &'static [&'static str] { &["spec"] }));
            fields.extend(
                spec.and_then(|spec| spec.get("forProvider"))
                    .map(|_| -> &'static [&'static str] { &["forProvider"] }),
            );
            root
        }
    };
    (start, fields)
}

/// The value at a pointer, from the anchor at the end of the way; an error is only the anchor's place.
fn value<'n, 't>(
    within: DocumentPart<'_>,
    way: &[Step<'n, 't>],
    pointer: &str,
) -> Result<Value<'n, 't>, Option<Span>> {
    let segments: Vec<String> =
        pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect();
    let mut segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let last = way.last();
    let anchor = last.map(|step| match (within, step.key) {
        (DocumentPart::Params(_), Some(entry)) => entry.key_span,
        _ => step.node.span,
    });
    let (start, fields) = start(within, way, &mut segments);
    let Some(mut node) = start else { return Err(anchor) };
    let mut own = anchor;
    let child = |node: &Node<'_>, name: &str| -> Option<usize> {
        match &node.kind {
            NodeKind::Map(entries) => entries.iter().position(|entry| &*entry.key == name),
            NodeKind::List(items) => name.parse::<usize>().ok().filter(|index| *index < items.len()),
            _ => None,
        }
    };
    let mut complete = true;
    let steps = fields.iter().map(|names| names.to_vec()).chain(segments.iter().map(|name| vec![*name]));
    for mut names in steps {
        let references = match within {
            DocumentPart::Manifest(_) => references_of(&names),
            _ => Vec::new(),
        };
        names.extend(references.iter().map(String::as_str));
        let Some(index) = names.iter().find_map(|name| child(node, name)) else {
            complete = false;
            break;
        };
        match &node.kind {
            NodeKind::Map(entries) => {
                let Some(entry) = entries.get(index) else { break };
                (node, own) = (&entry.value, Some(entry.key_span));
            }
            NodeKind::List(items) => {
                let Some(item) = items.get(index) else { break };
                (node, own) = (item, None);
            }
            _ => break,
        }
    }
    Ok(Value { node, own, complete })
}

fn spot(
    within: DocumentPart<'_>,
    way: &[Step<'_, '_>],
    pointer: &str,
    key: bool,
    text: &str,
    file: &Arc<str>,
) -> Spot {
    let Value { node, own, complete } = match value(within, way, pointer) {
        Ok(value) => value,
        Err(anchor) => return made(anchor.unwrap_or_default(), text, file),
    };
    let is_scalar = !matches!(node.kind, NodeKind::Map(_) | NodeKind::List(_) | NodeKind::Null);
    let span = own.filter(|_| !is_scalar || (key && complete)).unwrap_or(node.span);
    let block = complete && !key && matches!(node.kind, NodeKind::String(_, Style::Block));
    Spot { block, ..made(span, text, file) }
}

/// The reference fields that may fill a field of a manifest.
fn references_of(names: &[&str]) -> Vec<String> {
    let stems = names.iter().flat_map(|name| [Some(*name), name.strip_suffix('s')]).flatten();
    stems.flat_map(|stem| ["Ref", "Refs", "Selector"].map(|end| format!("{stem}{end}"))).collect()
}

fn made(span: Span, text: &str, file: &Arc<str>) -> Spot {
    let length = u32::try_from(span.width(text)).unwrap_or(0);
    Spot { location: span.location(file), length, block: false }
}

#[cfg(test)]
mod tests {
    use purlin_model::Location;

    use super::*;

    const TEXT: &str = "\
apiVersion: purlin.dev/v1
kind: ResourceType
metadata: {id: t}
spec:
  type: dns
  params:
    properties:
      ttl: {type: integer, minimum: 60}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: dns}
spec:
  type: dns
  driver: purlin/echo
  inputs:
    values:
      host: a
      list: [1, {x: 2}]
      text: |
        one
    secret_refs:
      password: {value: x}
  provision:
    s3: {params: {size: 3}}
---
apiVersion: score.dev/v1b1
metadata: {name: web}
containers: {main: {image: x}}
resources:
  site: {type: dns, params: {ttl: 30, \"a/b\": {c: 1}}}
  bare: {type: dns}
";

    fn at(within: fn(&Location) -> DocumentPart<'_>, anchor: (u32, u32), pointer: &str, key: bool) -> String {
        let mut sources = SourceMap::default();
        sources.insert("a.yaml", TEXT);
        let anchor = Location::new("a.yaml", anchor.0, anchor.1);
        let Some(spot) = sources.find(within(&anchor), pointer, key) else { return "nowhere".into() };
        let line = sources.line("a.yaml", spot.location.line).unwrap_or_default();
        let text = line.chars().skip(spot.location.column as usize - 1).take(spot.length as usize);
        format!("{}:{} {}", spot.location.line, spot.location.column, text.collect::<String>())
    }

    #[test]
    fn values_are_found() {
        let definition = |pointer, key| at(|place| DocumentPart::Definition(place), (12, 16), pointer, key);
        assert_eq!(definition("/values/host", false), "18:13 a");
        assert_eq!(definition("/values/host", true), "18:7 host");
        assert_eq!(definition("/values/list/1/x", false), "19:21 2");
        assert_eq!(definition("/values/list/0", false), "19:14 1");
        assert_eq!(definition("/values/list", false), "19:7 list");
        assert_eq!(definition("/values/nowhere/x", false), "17:5 values");
        assert_eq!(definition("/secrets/password", false), "23:7 password");
        assert_eq!(definition("", false), "17:5 values");
        let params = |anchor, pointer| at(|place| DocumentPart::Params(place), anchor, pointer, false);
        assert_eq!(params((31, 3), "/ttl"), "31:35 30");
        assert_eq!(params((31, 3), "/a~1b/c"), "31:50 1");
        assert_eq!(params((31, 3), "/other"), "31:21 params");
        assert_eq!(params((32, 3), "/other"), "32:3 bare");
        assert_eq!(params((25, 5), "/size"), "25:25 3");
        let rule =
            at(|place| DocumentPart::ResourceType(place), (5, 9), "/params/properties/ttl/minimum", true);
        assert_eq!(rule, "8:28 minimum");
        let workload =
            at(|place| DocumentPart::Workload(place), (28, 18), "/spec/containers/main/image", false);
        assert_eq!(workload, "29:28 x");
    }

    #[test]
    fn missing_texts_have_no_places() {
        let anchor = Location::new("b.yaml", 1, 1);
        assert_eq!(SourceMap::default().find(DocumentPart::Params(&anchor), "/a", false), None);
        let mut sources = SourceMap::default();
        sources.insert("b.yaml", "a: [");
        assert_eq!(sources.find(DocumentPart::Params(&anchor), "/a", false), None);
    }

    #[test]
    fn the_text_of_a_value_is_all_of_it() {
        let text = "resources:\n  x:\n    type: t\n    params:\n      one: {k: v}\n      two:\n        k: [v,\n          w]\n      three: 's'\n";
        let mut sources = SourceMap::default();
        sources.insert("a.yaml", format!("\u{feff}{text}"));
        let anchor = Location::new("a.yaml", 2, 3);
        let pointers = ["/one", "/two/k", "/two", "/three", "/four"].map(str::to_owned);
        let texts = sources.texts_of(DocumentPart::Params(&anchor), &pointers);
        let texts: Vec<&str> = texts.into_iter().map(|one| text[one.bytes].trim_end()).collect();
        assert_eq!(texts, ["{k: v}", "[v,\n          w]", "k: [v,\n          w]", "'s'"]);
    }
}
