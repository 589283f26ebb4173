//! An error in a part of a text, before the text's place in a document is known.

use purlin_model::{Diagnostic, Location};

/// An error, and the bytes of the text that it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpressionError {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Byte offset in the whole text.
    pub(crate) start: usize,
    /// Byte offset after it.
    pub(crate) end: usize,
    pub(crate) help: String,
}

/// The message for a quote without its end.
pub(crate) fn unclosed(quote: char) -> String {
    format!("the quote {quote} is not closed")
}

impl ExpressionError {
    pub(crate) fn new(
        code: &'static str,
        message: impl Into<String>,
        range: std::ops::Range<usize>,
        help: impl Into<String>,
    ) -> Self {
        Self { code, message: message.into(), start: range.start, end: range.end, help: help.into() }
    }

    pub(crate) fn diagnose(self, text: &str, locate: &dyn Fn(usize) -> Location) -> Diagnostic {
        let length = text.get(self.start..self.end).map_or(0, |part| part.chars().count());
        Diagnostic::error(self.code, self.message)
            .at(&locate(self.start))
            .spanning(length.max(1))
            .help(self.help)
    }
}
