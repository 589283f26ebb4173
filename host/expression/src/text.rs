//! Text with placeholders: where they begin and end, and escapes.

use purlin_model::{Diagnostic, Location, Modifiers, Piece, Placeholder, Reference, Template, Value};

use crate::dialect::Dialect;
use crate::error::{ExpressionError, unclosed};
use crate::{modifiers, placeholder};

/// Parses a text. Without a placeholder it is a constant, with its escapes undone. Any other `$` is
/// literal. Spaces directly inside `${` and `}` are allowed in bundles only, whose published format
/// has them; elsewhere `${path}` is the only form, as for every reader of Score files.
///
/// `locate` returns the place in the document of a byte of the text.
///
/// # Errors
/// Every fault of the text, each with its place, its length and how to correct it.
pub fn parse_text(
    text: &str,
    dialect: Dialect,
    locate: &dyn Fn(usize) -> Location,
) -> Result<Template, Vec<Diagnostic>> {
    if !text.contains('$') {
        return Ok(Template::Constant(Value::string(text)));
    }
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut faults = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('$') {
        let dollar = at + found;
        literal.push_str(&text[at..dollar]);
        let rest = &text[dollar + 1..];
        if dialect == Dialect::Score && rest.starts_with('$') {
            literal.push('$');
            at = dollar + 2;
        } else if dialect != Dialect::Score && rest.starts_with("\\{") {
            literal.push_str("${");
            at = dollar + 3;
        } else if rest.starts_with('{') {
            let (end, parsed) = one(text, dollar, dialect);
            at = end;
            match parsed {
                Ok((reference, modifiers)) => {
                    if !literal.is_empty() {
                        pieces.push(Piece::Literal(std::mem::take(&mut literal).into()));
                    }
                    let (source, location) = (&text[dollar..end], locate(dollar));
                    pieces.push(Piece::Placeholder(Placeholder::new(reference, modifiers, source, location)));
                }
                Err(fault) => faults.push(fault.diagnose(text, locate)),
            }
        } else {
            literal.push('$');
            at = dollar + 1;
        }
    }
    literal.push_str(&text[at..]);
    if !faults.is_empty() {
        return Err(faults);
    }
    if pieces.is_empty() {
        return Ok(Template::Constant(Value::string(literal)));
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal.into()));
    }
    Ok(Template::Text(pieces.into()))
}

/// The target of a placeholder, and its modifiers.
type Parsed = (Reference, Option<Box<Modifiers>>);

/// Parses the placeholder that begins at `dollar`; also returns where to continue.
fn one(text: &str, dollar: usize, dialect: Dialect) -> (usize, Result<Parsed, ExpressionError>) {
    let close = match end(text, dollar, dialect) {
        Ok(close) => close,
        Err((resume, fault)) => return (resume, Err(fault)),
    };
    let body = &text[dollar + 2..close];
    let start = dollar + 2 + (body.len() - body.trim_start().len());
    let trimmed = body.trim();
    if trimmed.is_empty() {
        let help =
            format!("name what to read, or write `{}}}` if the text itself is meant", dialect.escaped());
        let fault =
            ExpressionError::new("empty-placeholder", "the placeholder is empty", dollar..close + 1, help);
        return (close + 1, Err(fault));
    }
    let (path, end) = (modifiers::path_end(text, start, start + trimmed.len()), start + trimmed.len());
    let parsed = placeholder::parse(text, start, path, dialect)
        .and_then(|reference| Ok((reference, modifiers::parse(text, path, end)?)));
    let parsed = parsed.and_then(|parsed| match trimmed.len() < body.len() && dialect != Dialect::Bundle {
        true => Err(ExpressionError::new(
            "placeholder",
            "the placeholder has spaces directly inside `${` and `}`",
            dollar..close + 1,
            format!("write `${{{trimmed}}}`"),
        )),
        false => Ok(parsed),
    });
    (close + 1, parsed)
}

/// The position of the `}` of the placeholder that begins at `dollar`; otherwise the fault, and
/// where to continue.
fn end(text: &str, dollar: usize, dialect: Dialect) -> Result<usize, (usize, ExpressionError)> {
    let inside = dollar + 2;
    let mut quote: Option<(char, usize)> = None;
    let mut previous = '{';
    for (index, c) in text[inside..].char_indices() {
        let at = inside + index;
        match quote {
            Some((open, _)) if open == c => quote = None,
            Some(_) => {}
            None if c == '}' && is_empty_map(&text[inside..at]) => {}
            None if c == '}' => return Ok(at),
            None if matches!(c, '\'' | '"') && matches!(previous, '[' | ' ' | '?') => quote = Some((c, at)),
            None if c == '$' && text[at + 1..].starts_with('{') => {
                let fault = ExpressionError::new(
                    "nested-placeholder",
                    "a placeholder cannot contain another",
                    at..balanced(text, at),
                    "read the inner value elsewhere first, or write the name out",
                );
                return Err((balanced(text, dollar), fault));
            }
            None => {}
        }
        previous = c;
    }
    let first = text[inside..].find('}').map(|index| inside + index);
    Err(match (quote, first) {
        (Some((quote, at)), Some(close)) if close > at => (
            close + 1,
            ExpressionError::new(
                "quoting",
                unclosed(quote),
                at..close,
                format!("close it with {quote} before `]`"),
            ),
        ),
        _ => (
            // No later placeholder could be closed either.
            text.len(),
            ExpressionError::new(
                "unclosed-placeholder",
                "the placeholder is not closed",
                dollar..inside,
                format!("close it with `}}`, or write `{}` if the text itself is meant", dialect.escaped()),
            ),
        ),
    })
}

/// Whether a `}` after this text closes the default `{}`, and not the placeholder.
fn is_empty_map(before: &str) -> bool {
    before.strip_suffix('{').is_some_and(|before| before.trim_end().ends_with("??"))
}

/// The position after the `}` that balances the `${` at `dollar`, or the end of the text.
fn balanced(text: &str, dollar: usize) -> usize {
    let mut depth = 0_usize;
    for (index, c) in text[dollar..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return dollar + index + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests;
