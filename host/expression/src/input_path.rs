//! Paths to inputs as documents write them (SPEC §9): `values.tags['a.b']`, with `*` for any key
//! or element, or a JSON Pointer as plans show it.

use purlin_model::InputPath;

use crate::dialect::Dialect;
use crate::nearest::nearest;
use crate::path;

/// A text that is not a path to an input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InputPathError {
    /// The fault, as a lower-case fragment.
    pub message: String,
    /// Byte offset of the wrong part within the text.
    pub start: usize,
    /// Byte offset after it.
    pub end: usize,
    /// How to correct it.
    pub help: String,
}

const FORM: &str = "write a path such as `values.size` or `values.tags['a.b']`, or a JSON Pointer such as \
                    `/values/size`; `*` stands for any key or element";

impl InputPathError {
    fn new(message: impl Into<String>, range: std::ops::Range<usize>, help: impl Into<String>) -> Self {
        Self { message: message.into(), start: range.start, end: range.end, help: help.into() }
    }
}

/// Reads a path to inputs as the JSON Pointer of [`InputPath::pointer`].
///
/// # Errors
/// If it is malformed, with its place, or begins with none of [`InputPath::ROOTS`].
pub fn parse_input_path(text: &str) -> Result<String, InputPathError> {
    let pointer = text.strip_prefix('/');
    let (root, from) = match pointer {
        Some(rest) => (rest.split('/').next().unwrap_or_default(), 1),
        None => (text.split(['.', '[']).next().unwrap_or_default(), 0),
    };
    if root.is_empty() {
        return Err(InputPathError::new("the path names no input", 0..text.len(), FORM));
    }
    let behind = from + root.len();
    if !InputPath::ROOTS.contains(&root) {
        let help = match nearest(root, InputPath::ROOTS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "a path begins with `values`, `secrets`, `params` or `account`".to_owned(),
        };
        let message = format!("no path to an input begins with `{root}`");
        return Err(InputPathError::new(message, from..behind, help));
    }
    if root == "account" && behind < text.len() {
        let help = "the account is one text: write `account` alone";
        return Err(InputPathError::new("nothing lies below `account`", behind..text.len(), help));
    }
    match pointer {
        Some(_) => escapes(text).map(|()| text.to_owned()),
        None => expression(text, behind),
    }
}

/// Checks that each `~` of a JSON Pointer begins an escape.
fn escapes(text: &str) -> Result<(), InputPathError> {
    for (at, _) in text.match_indices('~') {
        if !text[at + 1..].starts_with(['0', '1']) {
            let help = "in a JSON Pointer `~` is written `~0`, and `/` within a name `~1`";
            return Err(InputPathError::new("`~` begins no escape here", at..at + 1, help));
        }
    }
    Ok(())
}

/// Reads the segments after the root, separated by `.` or in brackets.
fn expression(text: &str, root: usize) -> Result<String, InputPathError> {
    let mut pointer = String::with_capacity(text.len() + 1);
    pointer.push('/');
    pointer.push_str(&text[..root]);
    let mut at = root;
    while at < text.len() {
        pointer.push('/');
        let rest = &text[at..];
        let any = [".*", "[*]"].into_iter().find(|any| {
            let behind = rest.strip_prefix(any);
            behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(['.', '[']))
        });
        if let Some(any) = any {
            pointer.push('*');
            at += any.len();
            continue;
        }
        let (segment, length) = path::segment(text, at, text.len(), Dialect::Definition)
            .map_err(|fault| InputPathError::new(fault.message, fault.start..fault.end, FORM))?;
        pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
        at += length;
    }
    Ok(pointer)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_forms_mean_the_same() {
        for (text, pointer) in [
            ("values", "/values"),
            ("/values", "/values"),
            ("values.size", "/values/size"),
            ("/values/size", "/values/size"),
            ("values.tags['a.b']", "/values/tags/a.b"),
            ("values.tags[\"a/b\"].c", "/values/tags/a~1b/c"),
            ("/values/tags/a~1b/~0", "/values/tags/a~1b/~0"),
            ("values.list[0].x", "/values/list/0/x"),
            ("values.list.0.x", "/values/list/0/x"),
            ("values.*.size", "/values/*/size"),
            ("values[*].size", "/values/*/size"),
            ("params.a.*", "/params/a/*"),
            ("secrets['*.*']", "/secrets/*.*"),
            ("account", "/account"),
            ("/params//x", "/params//x"),
        ] {
            assert_eq!(parse_input_path(text).as_deref(), Ok(pointer), "{text}");
        }
    }

    #[test]
    fn faults_have_their_place() {
        for (text, place, help) in [
            ("", (0, 0), "write a path"),
            ("/", (0, 1), "write a path"),
            ("size", (0, 4), "begins with `values`"),
            ("value.size", (0, 5), "did you mean `values`?"),
            ("/secret/x", (1, 7), "did you mean `secrets`?"),
            ("values..x", (6, 7), "write a path"),
            ("values.a b", (8, 9), "write a path"),
            ("values.*x", (7, 8), "write a path"),
            ("values['x", (6, 9), "write a path"),
            ("/values/~2", (8, 9), "`~0`"),
            ("account.x", (7, 9), "alone"),
            ("${values.x}", (0, 8), "did you mean `values`?"),
        ] {
            let error = parse_input_path(text).expect_err(text);
            assert_eq!((error.start, error.end), place, "{text}: {error}");
            assert!(error.help.contains(help), "{text}: {}", error.help);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z.\\[\\]'\"*/~0é ]{0,24}", root in "(values|/values|secrets)?") {
            let text = root + &text;
            match parse_input_path(&text) {
                Ok(pointer) => prop_assert_eq!(parse_input_path(&pointer), Ok(pointer.clone())),
                Err(error) => prop_assert!(text.get(error.start..error.end).is_some(), "{}", error),
            }
        }
    }
}
