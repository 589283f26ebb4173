//! The modifiers after the path of a placeholder: `?`, `?? literal`, and pipes (SPEC §4 [+]).

use purlin_model::{Absent, Modifiers, Pipe, Value};

use crate::error::ExpressionError;
use crate::nearest::did_you_mean;

/// The end of the path in `text[start..end]`: the first space, `?` or `|` outside of brackets. The
/// id of a descriptor without brackets may contain `?` and `|`; there, only a space ends the path,
/// and a `?` at its end.
pub(crate) fn path_end(text: &str, start: usize, end: usize) -> usize {
    let body = &text[start..end];
    let plain = !body.starts_with("resources.");
    let mut quote = None;
    let mut previous = ' ';
    for (index, c) in body.char_indices() {
        match quote {
            Some(open) if open == c => quote = None,
            Some(_) => {}
            None if previous == '[' && matches!(c, '\'' | '"') => quote = Some(c),
            None if c.is_whitespace() || (plain && matches!(c, '?' | '|')) => {
                return start + body[..index].strip_suffix('?').map_or(index, str::len);
            }
            None => {}
        }
        previous = c;
    }
    start + body.strip_suffix('?').map_or(body.len(), str::len)
}

/// Reads `text[start..end]`, which begins after the path.
pub(crate) fn parse(text: &str, start: usize, end: usize) -> Result<Option<Box<Modifiers>>, ExpressionError> {
    let mut modifiers = Modifiers::default();
    let mut at = start;
    if text[at..end].starts_with('?') && !text[at..end].starts_with("??") {
        modifiers.absent = Absent::LeftOut;
        at += 1;
    }
    at = skip(text, at, end);
    if text[at..end].starts_with("??") {
        if modifiers.absent == Absent::LeftOut {
            let what = "the placeholder has both `?` and a default";
            return Err(ExpressionError::new("placeholder", what, start..at + 2, "keep one of them"));
        }
        let from = skip(text, at + 2, end);
        let to = literal_end(text, from, end);
        modifiers.absent = Absent::Default(literal(text, from, to)?);
        at = skip(text, to, end);
    }
    while at < end {
        if !text[at..end].starts_with('|') {
            return Err(ExpressionError::new(
                "placeholder",
                "expected `??`, `|` or the end of the placeholder here",
                at..end,
                "write `${path?}`, `${path ?? literal}` or `${path | pipe}`; a name with spaces stands in \
                 brackets: `['a name']`",
            ));
        }
        let from = skip(text, at + 1, end);
        let to = text[from..end].find(|c: char| c.is_whitespace() || c == '|').map_or(end, |len| from + len);
        modifiers.pipes.push(pipe(text, from, to)?);
        at = skip(text, to, end);
    }
    let any = modifiers.absent != Absent::Fault || !modifiers.pipes.is_empty();
    Ok(any.then(|| Box::new(modifiers)))
}

fn skip(text: &str, from: usize, end: usize) -> usize {
    end - text[from..end].trim_start().len()
}

/// After a quoted string, or before a space or a pipe.
fn literal_end(text: &str, from: usize, end: usize) -> usize {
    let rest = &text[from..end];
    let quoted = rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let length = match quoted {
        Some(quote) => rest[1..].find(quote).map(|length| length + 2),
        None => rest.find(|c: char| c.is_whitespace() || c == '|'),
    };
    length.map_or(end, |length| from + length)
}

fn literal(text: &str, from: usize, to: usize) -> Result<Value, ExpressionError> {
    let written = &text[from..to];
    let quoted = ['\'', '"']
        .iter()
        .find_map(|quote| written.strip_prefix(*quote).and_then(|rest| rest.strip_suffix(*quote)));
    if let Some(inner) = quoted {
        return Ok(Value::string(inner));
    }
    let json = serde_json::from_str::<serde_json::Value>(written).ok();
    json.filter(|json| !json.is_string()).map(Value::from).ok_or_else(|| {
        let what = match written.is_empty() {
            true => "there is no default after `??`".to_owned(),
            false => format!("`{written}` is not a literal"),
        };
        let help = "a default is a quoted string, a number, `true`, `false`, `null`, `[]` or `{}`";
        ExpressionError::new("placeholder", what, from.min(to)..to.max(from), help)
    })
}

fn pipe(text: &str, from: usize, to: usize) -> Result<Pipe, ExpressionError> {
    let name = &text[from..to];
    Pipe::ALL.iter().find(|(known, _)| *known == name).map(|(_, pipe)| *pipe).ok_or_else(|| {
        let help = did_you_mean(name, "pipes", Pipe::ALL.iter().map(|(known, _)| *known));
        let what = match name.is_empty() {
            true => "there is no pipe after `|`".to_owned(),
            false => format!("there is no pipe `{name}`"),
        };
        ExpressionError::new("unknown-pipe", what, from..to, help)
    })
}
