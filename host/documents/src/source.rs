//! The texts of documents, kept so that faults can show their lines.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use purlin_model::{Diagnostic, SecretText};

use crate::render::hidden;

/// Texts by the name under which the user knows them.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    texts: HashMap<Arc<str>, Text>,
}

/// A text, and its displayable form.
#[derive(Clone, Debug)]
struct Text {
    text: Arc<str>,
    /// What is secret in it, besides what it shows itself.
    secrets: Vec<Range<usize>>,
    /// Created when first needed.
    shown: OnceLock<Shown>,
}

/// A text with its secrets masked.
#[derive(Clone, Debug)]
struct Shown {
    text: Arc<str>,
    /// Byte offset of each line's first byte.
    lines: Arc<[usize]>,
}

impl SourceMap {
    /// Adds a text, replacing one of the same name. Removes a byte-order mark.
    pub fn insert(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) {
        let text: Arc<str> = text.into();
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.into(),
            None => text,
        };
        self.texts.insert(name.into(), Text { text, secrets: Vec::new(), shown: OnceLock::new() });
    }

    /// The text of that name.
    pub fn text(&self, name: &str) -> Option<&Arc<str>> {
        self.texts.get(name).map(|entry| &entry.text)
    }

    /// The same texts, in which lines do not show the secrets of diagnostics either.
    pub(crate) fn hiding(&self, diagnostics: &[Diagnostic]) -> Cow<'_, Self> {
        let mut hiding = Cow::Borrowed(self);
        // The faults of a resource have the same ones.
        let mut all: Vec<&Arc<[SecretText]>> = diagnostics.iter().map(|one| &one.secrets).collect();
        all.dedup_by(|one, other| Arc::ptr_eq(one, other));
        for SecretText { file, bytes } in all.into_iter().flat_map(|secrets| secrets.iter()) {
            if let Some(entry) = hiding.to_mut().texts.get_mut(file) {
                entry.secrets.push(bytes.start..bytes.end.min(entry.text.len()));
                entry.shown = OnceLock::new();
            }
        }
        hiding
    }

    /// Masks the literal secrets of a fault's line in its words too: they may quote it.
    pub(crate) fn mask(&self, fault: &mut Diagnostic) {
        let Some(place) = fault.location.as_ref().filter(|place| place.line > 0) else { return };
        let text = self.text(&place.file).and_then(|text| text.lines().nth(place.line as usize - 1));
        let Some((text, shown)) = text.zip(self.line(&place.file, place.line)) else { return };
        if text == shown {
            return;
        }
        let secrets = hidden::secret_words(text, shown);
        let words = [&mut fault.message].into_iter().chain(&mut fault.help).chain(&mut fault.notes);
        for word in words {
            *word = hidden::without(word, &secrets);
        }
    }

    /// One line of a text, counted from 1, without its end, for display: literal secrets are
    /// masked.
    pub fn line(&self, name: &str, line: u32) -> Option<&str> {
        let (name, entry) = self.texts.get_key_value(name)?;
        let Shown { text, lines } = entry.shown.get_or_init(|| {
            let text = hidden::masked(name, &entry.text, &entry.secrets)
                .map_or_else(|| Arc::clone(&entry.text), Into::into);
            let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(end, _)| end + 1);
            Shown { lines: std::iter::once(0).chain(ends).collect(), text }
        });
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = *lines.get(index)?;
        let end = lines.get(index + 1).copied().unwrap_or(text.len());
        Some(text.get(start..end)?.trim_end_matches(['\n', '\r']))
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
