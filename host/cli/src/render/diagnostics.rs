//! Faults in documents, each with the line it is about.

use purlin_host::documents::SourceMap;
use purlin_host::model::Diagnostic;

/// Columns where nobody says how many there are.
pub(crate) const USUAL: usize = 100;

/// The faults as text, with an empty line between them and at the end.
pub(crate) fn render(faults: &[Diagnostic], sources: &SourceMap, columns: Option<usize>) -> String {
    // The stream it goes to takes the colours out where nobody wants them.
    let mut text = sources.render(faults, true, columns.unwrap_or(USUAL));
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    text
}
