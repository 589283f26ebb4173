//! The texts that documents came from, kept so that faults can show the lines they are about.

use std::collections::HashMap;
use std::sync::Arc;

/// Texts by the name under which the user knows them.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    texts: HashMap<Arc<str>, Text>,
}

/// A text and where its lines begin.
#[derive(Clone, Debug)]
struct Text {
    text: Arc<str>,
    /// Byte offset of each line's first byte, made when first needed.
    lines: std::sync::OnceLock<Arc<[usize]>>,
}

impl SourceMap {
    /// Adds a text, replacing one of the same name. A byte-order mark is left out.
    pub fn insert(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) {
        let text: Arc<str> = text.into();
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.into(),
            None => text,
        };
        self.texts.insert(name.into(), Text { text, lines: std::sync::OnceLock::new() });
    }

    /// The text of that name.
    pub fn text(&self, name: &str) -> Option<&Arc<str>> {
        self.texts.get(name).map(|entry| &entry.text)
    }

    /// One line of a text, counted from 1, without its end.
    pub fn line(&self, name: &str, line: u32) -> Option<&str> {
        let entry = self.texts.get(name)?;
        let lines = entry.lines.get_or_init(|| {
            let ends = entry.text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(end, _)| end + 1);
            std::iter::once(0).chain(ends).collect()
        });
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = *lines.get(index)?;
        let end = lines.get(index + 1).copied().unwrap_or(entry.text.len());
        Some(entry.text.get(start..end)?.trim_end_matches(['\n', '\r']))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let mut sources = SourceMap::default();
        sources.insert("a", "\u{feff}one\r\ntwo\n\nfour");
        let line = |n| sources.line("a", n);
        assert_eq!((line(0), line(1), line(2)), (None, Some("one"), Some("two")));
        assert_eq!((line(3), line(4), line(5)), (Some(""), Some("four"), None));
        assert_eq!(sources.line("b", 1), None);
    }
}
