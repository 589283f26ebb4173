//! The YAML parser's errors, in words that say how to correct them.

use std::path::Path;
use std::sync::Arc;

use granit_parser::{ErrorKind, ScanError};
use purlin_model::{Diagnostic, Location};

use super::{MAX_DEPTH, mistake};
use crate::lock::LOCK_FILE;

/// Collections that are nested too deep.
pub(super) fn too_deep(location: &Location) -> Diagnostic {
    Diagnostic::error("too-deep", format!("maps and lists are nested more than {MAX_DEPTH} deep"))
        .at(location)
        .help("flatten the document")
}

/// YAML forbids most control characters, and the parser treats NUL as the end.
pub(super) fn control_character(file: &Arc<str>, text: &str) -> Option<Diagnostic> {
    let offset = text.bytes().position(|b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r'))?;
    let before = text.get(..offset)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    let column = before.get(line_start..)?.chars().count() + 1;
    let code = text.as_bytes().get(offset)?;
    let location = Location::new(
        file.clone(),
        u32::try_from(line).unwrap_or(u32::MAX),
        u32::try_from(column).unwrap_or(u32::MAX),
    );
    Some(
        Diagnostic::error("control-character", format!("the control character U+{code:04X} is in the text"))
            .at(&location)
            .spanning(1)
            .help(format!("write it as an escape in double quotes: \"\\x{code:02X}\"")),
    )
}

/// Whether nothing useful can be read after this fault.
pub(super) fn syntax_stops(error: &ScanError) -> bool {
    matches!(error.kind(), ErrorKind::RecursionLimitExceeded)
}

pub(super) fn syntax(file: &Arc<str>, text: &str, error: &ScanError) -> Diagnostic {
    let marker = error.marker();
    let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let location = Location::new(file.clone(), narrow(marker.line().max(1)), narrow(marker.col() + 1));
    if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
        return too_deep(&location);
    }
    if is_tab(error.kind()) {
        // The parser may notice it at the end of the previous line.
        let from = marker.line().saturating_sub(1);
        let near = text.lines().enumerate().skip(from).take(3);
        let tab = near.filter_map(|(index, line)| {
            let indent = line.get(..line.len() - line.trim_start().len())?;
            Some(Location::new(file.clone(), narrow(index + 1), narrow(indent.find('\t')? + 1)))
        });
        return Diagnostic::error("yaml-tab", "YAML does not allow tabs for indentation")
            .at(&tab.min().unwrap_or(location))
            .spanning(1)
            .help("use spaces");
    }
    let line = text.lines().nth(marker.line().saturating_sub(1));
    let template = line.is_some_and(|line| line.contains("{{"));
    if let Some((before, value)) = line.and_then(mistake::template) {
        let place = Location::new(file.clone(), narrow(marker.line().max(1)), narrow(before + 1));
        return template_without_quotes(&place, value);
    }
    if !template && let Some(mistake) = mistake::find(text, marker.line().max(1)) {
        let place = Location::new(file.clone(), narrow(mistake.line), narrow(mistake.column));
        return Diagnostic::error("yaml-syntax", format!("not valid YAML: {}", mistake.message))
            .at(&place)
            .spanning(mistake.length)
            .help(mistake.help);
    }
    let fault = Diagnostic::error("yaml-syntax", format!("not valid YAML: {}", error.kind())).at(&location);
    if template {
        return fault.help("`{{` begins a map in YAML; quote text that contains it");
    }
    match help(error.kind()) {
        Some(help) => fault.help(help),
        None => fault,
    }
}

/// A template as a value without quotes: YAML reads a map in a map.
pub(super) fn template_without_quotes(place: &Location, value: &str) -> Diagnostic {
    Diagnostic::error("yaml-syntax", "not valid YAML: `{{` begins a map, and this text is a template")
        .at(place)
        .spanning(value.chars().count())
        .help(format!("quote it: {}", mistake::quoted(value)))
}

/// A merge conflict in the text. Its markers are at the beginning of a line, where a document
/// cannot contain anything like them.
pub(super) fn merge_conflict(file: &Arc<str>, text: &str) -> Option<Diagnostic> {
    if !text.contains("<<<<<<<") && !text.contains(">>>>>>>") {
        return None;
    }
    let marker = |line: &str| {
        ["<<<<<<<", ">>>>>>>"].iter().any(|marker| {
            line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    };
    let (index, line) = text.lines().enumerate().find(|(_, line)| marker(line))?;
    let place = Location::new(file.clone(), u32::try_from(index + 1).unwrap_or(u32::MAX), 1);
    let is_lock = Path::new(&**file).file_name().is_some_and(|name| name == LOCK_FILE);
    let help = match is_lock {
        true => "resolve it, or remove the file and run `purlin driver approve`",
        false => "keep one of the two versions, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`",
    };
    let message = format!("{file} has an unresolved merge conflict");
    let fault = Diagnostic::error("merge-conflict", message).at(&place);
    Some(fault.spanning(line.trim_end().chars().count()).help(help))
}

fn is_tab(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar
    )
}

fn help(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::UnknownAnchor => "an alias `*name` needs an anchor `&name` before it in the same document",
        ErrorKind::UnclosedQuotedScalar => "close the quote",
        ErrorKind::InvalidQuotedScalarIndent | ErrorKind::DocumentIndicatorInQuotedScalar => {
            "close the quote, or indent the lines that continue it"
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => "a key ends with `:` on the same line",
        ErrorKind::UnclosedFlowCollection { open: '[' } => "close the list with `]`",
        ErrorKind::UnclosedFlowCollection { .. } => "close the map with `}`",
        ErrorKind::InvalidIndentation | ErrorKind::ExpectedBlockMappingKey => {
            "entries of one map begin in the same column"
        }
        ErrorKind::ExpectedBlockSequenceEntry => "items of one list begin with `-` in the same column",
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            "text that contains `: ` has to be quoted"
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            "double a backslash that is meant as itself, or use single quotes"
        }
        ErrorKind::BomInsideDocument => "a byte-order mark may stand at the beginning of a file only",
        _ => return None,
    })
}
