//! Renders faults in documents, each with the line that it concerns.

use purlin_documents::SourceMap;
use purlin_model::Diagnostic;

/// The width if it is not known.
pub(crate) const USUAL: usize = 100;

/// The faults as text, with an empty line after each.
pub(crate) fn render(faults: &[Diagnostic], sources: &SourceMap, columns: Option<usize>) -> String {
    // The output stream removes the colours if they are not wanted.
    let mut text = sources.render(faults, true, columns.unwrap_or(USUAL));
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    text
}
