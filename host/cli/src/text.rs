//! Text for a terminal: escaping untrusted text, measuring width, and formatting numbers and times.
//! This module does not know what the text means.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

pub(crate) use purlin_model::{duration, is_dangerous, moment};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

fn escape_into(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        other => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(other));
        }
    }
}

/// Untrusted text as one safe line: control characters are escaped.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_dangerous(c) { escape_into(&mut out, c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Untrusted text as safe lines: only line ends stay, and tabs become spaces.
pub(crate) fn block(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c != '\n' && is_dangerous(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\t' => out.push_str("    "),
            c if is_dangerous(c) => escape_into(&mut out, c),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A path without a leading `./`, on one safe line.
pub(crate) fn path(path: &Path) -> String {
    let path = path.strip_prefix(".").ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path);
    line(&path.display().to_string()).into_owned()
}

/// A word of a command line, in single quotes if a shell would interpret it otherwise.
pub(crate) fn shell_word(word: &str) -> String {
    let word = line(word);
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%:,=".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The width of safe text in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text truncated to this width, with `…` in place of the rest.
pub(crate) fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if text.len() <= columns || width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        out.push(c);
    }
    out.push('…');
    Cow::Owned(out)
}

/// Wraps text at spaces into lines of at most this width; longer words stay whole.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut current = String::new();
        for word in paragraph.split(' ') {
            if !current.is_empty() && width(&current) + 1 + width(word) > columns {
                lines.push(std::mem::take(&mut current));
            } else if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        lines.push(current);
    }
    lines
}

/// `1 resource`, `2 resources`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A number of bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => count(usize::try_from(bytes).unwrap_or(0), "byte"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_do_nothing_to_the_terminal() {
        assert_eq!(line("a\u{1b}[31mred\u{7}\nb"), "a\\u{1b}[31mred\\u{7}\\nb");
        assert_eq!(line("\u{9b}2J \u{202e}txt"), "\\u{9b}2J \\u{202e}txt");
        assert_eq!(block("one\r\n\ttwo\u{1b}c\n"), "one\n    two\\u{1b}c\n");
        assert!(matches!(line("plain ü 漢"), Cow::Borrowed(_)));
    }

    #[test]
    fn words_mean_themselves_to_a_shell() {
        for (word, quoted) in [
            ("shop/a-1.yaml", "shop/a-1.yaml"),
            ("my shop", "'my shop'"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(word), quoted);
        }
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdefg", 6), "abcde…");
        assert_eq!(fit("abc", 0), "…");
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("incomprehensible a", 4), ["incomprehensible", "a"]);
        assert_eq!(wrap("", 4), [""]);
    }

    proptest! {
        #[test]
        fn nothing_dangerous_is_left(text in any::<String>()) {
            prop_assert!(!line(&text).chars().any(is_dangerous));
            prop_assert!(!block(&text).chars().any(|c| c != '\n' && is_dangerous(c)));
        }

        #[test]
        fn shortened_text_fits(text in any::<String>(), columns in 1usize..40) {
            let text = line(&text);
            prop_assert!(width(&fit(&text, columns)) <= columns);
        }
    }
}
