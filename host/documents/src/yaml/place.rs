//! Places: spans of nodes, and the position in the file of a character of a decoded string.

use std::cell::Cell;
use std::sync::Arc;

use purlin_model::Location;

use super::Style;

/// The place of a node. Byte offsets are into the text without its byte-order mark; files are
/// limited far below 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// From 1.
    pub(crate) line: u32,
    /// In characters, from 1.
    pub(crate) column: u32,
}

impl Span {
    pub(crate) fn location(&self, file: &Arc<str>) -> Location {
        Location { file: file.clone(), line: self.line, column: self.column }
    }

    /// The text, if the span is inside it.
    pub(crate) fn slice<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// How many characters of its first line it covers.
    pub(crate) fn width(&self, text: &str) -> usize {
        self.slice(text).lines().next().map_or(0, |line| line.trim_end().chars().count())
    }
}

/// Finds the position in the file of the bytes of one decoded string.
///
/// Decoded and written text are compared in parallel, except spaces, which line folding and
/// indentation change. Querying ascending offsets takes one pass in total.
pub(crate) struct Locator<'a> {
    file: &'a Arc<str>,
    decoded: &'a str,
    raw: &'a str,
    style: Style,
    span: Span,
    at: Cell<Position>,
}

#[derive(Clone, Copy)]
struct Position {
    decoded: usize,
    raw: usize,
    line: u32,
    column: u32,
    lost: bool,
}

impl<'a> Locator<'a> {
    pub(crate) fn new(file: &'a Arc<str>, text: &'a str, span: Span, decoded: &'a str, style: Style) -> Self {
        let raw = span.slice(text);
        let locator = Self { file, decoded, raw, style, span, at: Cell::new(Position::start(&span)) };
        locator.at.set(locator.begin());
        locator
    }

    /// The beginning of the content: after the quote, or after the header line of a block scalar.
    fn begin(&self) -> Position {
        let mut position = Position::start(&self.span);
        let skip = match self.style {
            Style::Plain => 0,
            Style::Single | Style::Double => 1,
            Style::Block if self.raw.starts_with(['|', '>']) => {
                self.raw.find('\n').map_or(0, |newline| newline + 1)
            }
            Style::Block => 0,
        };
        position.pass(self.raw.get(..skip).unwrap_or_default());
        position
    }

    /// The place of a byte of the decoded text; the scalar's start if it cannot be determined.
    pub(crate) fn locate(&self, offset: usize) -> Location {
        let mut position = self.at.get();
        if position.decoded > offset || position.lost {
            position = self.begin();
        }
        self.advance(&mut position, offset);
        self.at.set(position);
        if position.lost {
            return self.span.location(self.file);
        }
        Location { file: self.file.clone(), line: position.line, column: position.column }
    }

    fn advance(&self, position: &mut Position, offset: usize) {
        while let Some(wanted) = self.decoded.get(position.decoded..).and_then(|rest| rest.chars().next()) {
            let reached = position.decoded >= offset;
            if wanted.is_whitespace() {
                if reached {
                    return;
                }
                position.decoded += wanted.len_utf8();
                continue;
            }
            let Some((found, width)) = self.solid(position) else {
                position.lost = true;
                return;
            };
            if found != wanted {
                position.lost = true;
                return;
            }
            if reached {
                return;
            }
            position.decoded += wanted.len_utf8();
            let passed = self.raw.get(position.raw..position.raw + width).unwrap_or_default();
            position.pass(passed);
        }
    }

    /// Skips spaces, then returns the character there and the number of bytes that it takes.
    fn solid(&self, position: &mut Position) -> Option<(char, usize)> {
        loop {
            let rest = self.raw.get(position.raw..)?;
            let first = rest.chars().next()?;
            let (found, width) = match (self.style, first) {
                (Style::Double, '\\') => escape(rest)?,
                (Style::Single, '\'') => ('\'', 2),
                _ => (first, first.len_utf8()),
            };
            if !found.is_whitespace() {
                return Some((found, width));
            }
            position.pass(rest.get(..width)?);
        }
    }
}

impl Position {
    fn start(span: &Span) -> Self {
        Self { decoded: 0, raw: 0, line: span.line, column: span.column, lost: false }
    }

    fn pass(&mut self, text: &str) {
        self.raw += text.len();
        for c in text.chars() {
            if c == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
    }
}

/// The character of an escape, and its length. A line break after the backslash is treated as a
/// space.
fn escape(rest: &str) -> Option<(char, usize)> {
    let mut chars = rest.chars();
    chars.next()?;
    let letter = chars.next()?;
    let digits = match letter {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    if digits > 0 {
        let code = u32::from_str_radix(rest.get(2..2 + digits)?, 16).ok()?;
        if let Some(c) = char::from_u32(code) {
            return Some((c, 2 + digits));
        }
        // The first half of a surrogate pair: JSON writes characters beyond the first plane in this
        // way.
        let second = u32::from_str_radix(rest.get(8..12)?, 16).ok()?;
        let high = code.checked_sub(0xD800)?;
        let low = second.checked_sub(0xDC00)?;
        return char::from_u32(0x10000 + (high << 10) + low).map(|c| (c, 12));
    }
    let c = match letter {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | 'n' | 'v' | 'f' | 'r' | 'N' | 'L' | 'P' | '_' | ' ' | '\t' | '\n' | '\r' => ' ',
        'e' => '\u{1b}',
        other => other,
    };
    Some((c, 1 + letter.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<(u32, u32)> {
        let file: Arc<str> = "t.yaml".into();
        let mut documents = Vec::new();
        crate::yaml::parse(&file, text, &mut |document| documents.push(document));
        let node = documents[0].root.get("a").expect("a");
        let crate::yaml::NodeKind::String(decoded, style) = &node.kind else { panic!("a string") };
        let locator = Locator::new(&file, text, node.span, decoded, *style);
        decoded
            .match_indices('$')
            .map(|(offset, _)| {
                let place = locator.locate(offset);
                (place.line, place.column)
            })
            .collect()
    }

    #[test]
    fn dollars_are_found_however_they_are_written() {
        assert_eq!(places("a: x$y $"), [(1, 5), (1, 8)]);
        assert_eq!(places("a: 'it''s $'"), [(1, 11)]);
        assert_eq!(places(r#"a: "\té\u00e9\" \n$ \ud83d\ude00$""#), [(1, 19), (1, 33)]);
        assert_eq!(places("a: \"b\n\n  c \\\n   $\""), [(4, 4)]);
        assert_eq!(places("a: b\n  c\n\n  $"), [(4, 3)]);
        assert_eq!(places("a: |-  # $\n  b\n\n   $ $\n"), [(4, 4), (4, 6)]);
        assert_eq!(places("a: >2\n   b $\n  c$\r\n  $\n"), [(2, 6), (3, 4), (4, 3)]);
    }
}
