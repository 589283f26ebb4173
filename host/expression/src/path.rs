//! Paths: segments after `.` or as `['x']`, `["x"]` or `[0]`.

use std::sync::Arc;

use purlin_model::short_text;

use crate::dialect::Dialect;
use crate::error::{ExpressionError, unclosed};

/// Reads `text[start..end]`, which is empty or begins with `.` or `[`, into segments.
pub(crate) fn parse(
    text: &str,
    start: usize,
    end: usize,
    dialect: Dialect,
) -> Result<Vec<Arc<str>>, ExpressionError> {
    let mut segments = Vec::new();
    let mut at = start;
    while at < end {
        let (segment, length) = segment(text, at, end, dialect)?;
        segments.push(segment);
        at += length;
    }
    Ok(segments)
}

/// Reads one segment that begins with `.` or `[` at `at`, and returns the number of its bytes.
pub(crate) fn segment(
    text: &str,
    at: usize,
    end: usize,
    dialect: Dialect,
) -> Result<(Arc<str>, usize), ExpressionError> {
    let rest = &text[at..end];
    if let Some(bracket) = rest.strip_prefix('[') {
        let (inner, length) = bracketed(bracket, text, at, end)?;
        Ok((short_text(inner), length + 1))
    } else if let Some(name) = rest.strip_prefix('.') {
        let (segment, length) = plain(name, at + 1, dialect)?;
        Ok((segment, length + 1))
    } else {
        Err(ExpressionError::new(
            "placeholder",
            "expected `.` or `[` here",
            at..end,
            "segments of a path are separated by `.`, or written `['x']`",
        ))
    }
}

/// The inside of `['x']`, `["x"]` or `[0]`, and the number of its bytes after the `[`.
pub(crate) fn bracketed<'a>(
    rest: &'a str,
    text: &str,
    at: usize,
    end: usize,
) -> Result<(&'a str, usize), ExpressionError> {
    const HELP: &str = "write `['name']` or `[\"name\"]`";
    let whole = at..end.min(text.len());
    let quote = match rest.chars().next() {
        Some(quote @ ('\'' | '"')) => quote,
        _ => {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 && rest[digits..].starts_with(']') {
                return Ok((&rest[..digits], digits + 1));
            }
            let name = rest.split(']').next().unwrap_or_default().trim_matches(['\'', '"', ' ']);
            let help = match name.is_empty() || name.contains(['\'', '}']) {
                true => HELP.to_owned(),
                false => format!("write `['{name}']`"),
            };
            return Err(ExpressionError::new("quoting", "the name in brackets is not quoted", whole, help));
        }
    };
    let inner = &rest[1..];
    let Some(close) = inner.find(quote) else {
        return Err(ExpressionError::new("quoting", unclosed(quote), whole, HELP));
    };
    if close == 0 {
        return Err(ExpressionError::new("quoting", "the name in brackets is empty", whole, HELP));
    }
    if !inner[close + 1..].starts_with(']') {
        let behind = at + 2 + close + 1;
        return Err(ExpressionError::new("quoting", "expected `]` after the quote", behind..end, HELP));
    }
    Ok((&inner[..close], close + 3))
}

/// A segment after a `.`, and its length in bytes. In Score files `\.` is a dot in a name.
fn plain(rest: &str, at: usize, dialect: Dialect) -> Result<(Arc<str>, usize), ExpressionError> {
    const HELP: &str = "quote a name with other characters in brackets: `['a name']`";
    let mut name = String::new();
    let mut chars = rest.char_indices().peekable();
    let mut end = rest.len();
    while let Some((index, c)) = chars.next() {
        match c {
            '.' | '[' => {
                end = index;
                break;
            }
            '\\' if dialect == Dialect::Score && chars.peek().is_some_and(|(_, next)| *next == '.') => {
                chars.next();
                name.push('.');
            }
            _ if c.is_whitespace() || c.is_control() || "]'\"`{}()$|<>:;,?!=&*\\".contains(c) => {
                let wrong = at + index..at + index + c.len_utf8();
                return Err(ExpressionError::new(
                    "placeholder",
                    format!("`{}` is not allowed in a path", c.escape_debug()),
                    wrong,
                    HELP,
                ));
            }
            _ => name.push(c),
        }
    }
    if name.is_empty() {
        return Err(ExpressionError::new(
            "placeholder",
            "a segment of the path is empty",
            at.saturating_sub(1)..at + end,
            "write a name between the dots",
        ));
    }
    Ok((short_text(&name), end))
}
