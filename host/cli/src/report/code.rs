//! The meanings of codes, as plain data.

use serde::Serialize;

use super::FORMAT;
use crate::errors::Entry;

/// Codes, in the order of the page.
#[derive(Debug, Serialize)]
pub(crate) struct Codes<'a> {
    pub(crate) format: u8,
    pub(crate) codes: Vec<Code<'a>>,
}

/// One of them.
#[derive(Debug, Serialize)]
pub(crate) struct Code<'a> {
    pub(crate) code: &'a str,
    pub(crate) part: &'a str,
    pub(crate) text: String,
}

impl<'a> Codes<'a> {
    pub(crate) fn new(entries: &[Entry<'a>]) -> Self {
        let code = |entry: &Entry<'a>| Code { code: entry.code, part: entry.part, text: entry.text(None) };
        Self { format: FORMAT, codes: entries.iter().map(code).collect() }
    }
}
