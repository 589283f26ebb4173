//! The right form of a wrong value, as an example to copy.

use crate::yaml::{Node, NodeKind};

/// The help for a `what` that expects `expected` if `node` is something else. `declared` is the name of
/// the field with this value, and an example of what it takes.
pub(crate) fn right_form(
    node: &Node<'_>,
    what: &str,
    expected: &str,
    text: &str,
    declared: Option<(&str, &str)>,
) -> String {
    let name = declared.map_or_else(|| what.split('`').nth(1).unwrap_or_default(), |(name, _)| name);
    let example = || {
        let declared = declared.map(|(name, example)| format!("{name}: {example}"));
        declared.or_else(|| example(&node.kind, what, name, node.span.slice(text).trim()))
    };
    let written = node.span.slice(text).trim();
    let map = expected.starts_with("a map");
    let list = expected.starts_with("a list");
    match &node.kind {
        NodeKind::Null if map => "write its entries, or `{}` if it has none".to_owned(),
        NodeKind::Null if list => "write its items, or `[]` if it has none".to_owned(),
        NodeKind::Null => "write a value, or remove the field".to_owned(),
        NodeKind::Bool(_) | NodeKind::Number(_) if expected.starts_with("a string") => {
            format!("quote it: \"{written}\"")
        }
        NodeKind::String(text, _) if expected == "true or false" => {
            let yes = matches!(text.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "y" | "1");
            let no = matches!(text.to_ascii_lowercase().as_str(), "false" | "no" | "off" | "n" | "0");
            match (yes, no) {
                (true, _) => format!("write `{name}: true`, without quotes"),
                (_, true) => format!("write `{name}: false`, without quotes"),
                _ => format!("write `{name}: true` or `{name}: false`"),
            }
        }
        NodeKind::String(text, _) if expected == "a number" && text.parse::<f64>().is_ok() => {
            format!("write `{name}: {text}`, without quotes")
        }
        NodeKind::String(text, _)
            if list && is_list_of_texts(declared) && !text.contains(['\n', '"', ',']) =>
        {
            format!("write a list: `{name}: [\"{text}\"]`")
        }
        _ => match example() {
            Some(example) => format!("write it as `{example}`"),
            None if map => "a map is written as `NAME: VALUE`, one entry a line".to_owned(),
            None if list => "a list is written as `- ITEM`, one item a line".to_owned(),
            None => format!("write {expected}"),
        },
    }
}

/// Whether the items of a list may be texts, as far as the example tells.
fn is_list_of_texts(declared: Option<(&str, &str)>) -> bool {
    declared.is_none_or(|(_, example)| !example.starts_with("[{"))
}

fn example(kind: &NodeKind<'_>, what: &str, name: &str, written: &str) -> Option<String> {
    let port = if matches!(kind, NodeKind::Number(_)) { written } else { "80" };
    if what.starts_with("the port") {
        return Some(format!("{name}: {{port: {port}}}"));
    }
    if what.starts_with("the resource") {
        return Some(format!("{name}: {{type: TYPE}}"));
    }
    if what.starts_with("the container") {
        return Some(format!("{name}: {{image: IMAGE}}"));
    }
    if what.starts_with("the module") {
        return Some(format!("{name}: {{externals: {{db: {{type: postgres}}}}}}"));
    }
    None
}
