//! What the steps of a `porter.yaml` read from its requirements (SPEC §6). Purlin does not run the
//! steps, but they are part of how a bundle uses its requirements: each of these must have the outputs
//! that the steps read, and a wrong name is an error before anything runs.

use purlin_expression::{Dialect, parse_text};
use purlin_model::Template;

use crate::reader::Reader;
use crate::yaml::{Locator, Node, NodeKind};

/// The beginning of a placeholder that reads a requirement. All others are for the tool that runs the
/// steps.
const OF_A_REQUIREMENT: &str = "bundle.dependencies.";

/// Adds the placeholders for outputs of requirements in a step, wherever they are.
pub(crate) fn reads(reader: &mut Reader<'_>, node: &Node<'_>, found: &mut Vec<Template>) {
    match &node.kind {
        NodeKind::String(text, style) if text.contains(OF_A_REQUIREMENT) => {
            let locator = Locator::new(reader.file, reader.text, node.span, text, *style);
            for (at, _) in text.match_indices("${") {
                let rest = text.get(at..).unwrap_or_default();
                let Some(written) = rest.find('}').and_then(|end| rest.get(..=end)) else { continue };
                if !written.trim_start_matches(['$', '{', ' ']).starts_with(OF_A_REQUIREMENT) {
                    continue;
                }
                match parse_text(written, Dialect::Bundle, &|offset| locator.locate(at + offset)) {
                    Ok(template) => found.push(template),
                    Err(faults) => reader.faults.extend(faults),
                }
            }
        }
        NodeKind::List(items) => items.iter().for_each(|item| reads(reader, item, found)),
        NodeKind::Map(entries) => entries.iter().for_each(|entry| reads(reader, &entry.value, found)),
        _ => {}
    }
}
