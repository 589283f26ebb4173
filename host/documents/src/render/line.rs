//! One line of a document, prepared for display.

use std::ops::Range;

/// The longest line, in bytes, that is shown completely.
pub(super) const MAX_LINE: usize = 400;
/// How many characters around the place are shown of a longer one.
const AROUND: usize = 60;

/// A line to show, and the bytes to mark in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) span: Range<usize>,
    /// Whether its beginning is cut, so that columns do not match.
    pub(super) cut: bool,
}

/// A line with the place at `column` (from 1), `length` characters long; if that is 0, the word
/// that begins there. At most `widest` characters are marked, so that the renderer can cut the line
/// around them.
pub(super) fn show(line: &str, column: u32, length: u32, widest: usize) -> Shown {
    let start = column.saturating_sub(1) as usize;
    let length = match length {
        0 => {
            line.chars().skip(start).take_while(|c| c.is_alphanumeric() || "_-./".contains(*c)).count().max(1)
        }
        length => length as usize,
    }
    .min(widest);
    let (from, until) = if line.len() <= MAX_LINE {
        (0, usize::MAX)
    } else {
        (start.saturating_sub(AROUND), start + length.min(AROUND) + AROUND)
    };
    let mut shown =
        Shown { text: String::with_capacity(line.len().min(MAX_LINE) + 8), span: 0..0, cut: from > 0 };
    if from > 0 {
        shown.text.push('…');
    }
    let mut marked: Option<Range<usize>> = None;
    let mut rest = line.chars().enumerate().skip(from);
    for (index, c) in rest.by_ref().take_while(|(index, _)| *index < until) {
        let before = shown.text.len();
        push(&mut shown.text, c);
        if index >= start && index - start < length {
            let begin = marked.map_or(before, |marked| marked.start);
            marked = Some(begin..shown.text.len());
        }
    }
    let end = shown.text.len();
    if rest.next().is_some() {
        shown.text.push('…');
    }
    shown.span = marked.unwrap_or(end..end);
    shown
}

/// A text without characters that move a cursor, change colours or change the text direction.
pub(super) fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        push(&mut shown, if matches!(c, '\n' | '\t') { ' ' } else { c });
    }
    shown
}

fn push(text: &mut String, c: char) {
    match c {
        // The renderer shows it as spaces, and has to know it to count columns.
        '\t' => text.push(c),
        '\0'..='\u{1f}' => text.extend(char::from_u32(0x2400 + u32::from(c))),
        '\u{7f}' => text.push('␡'),
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => text.push('\u{fffd}'),
        c => text.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_survive_masking() {
        let shown = show("a\tb\u{1b}[31mc\u{202e}d", 4, 3, 80);
        assert_eq!(shown.text, "a\tb␛[31mc\u{fffd}d");
        assert_eq!(&shown.text[shown.span], "␛[3");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let line = format!("{}HERE{}", "é".repeat(5000), "z".repeat(5000));
        let shown = show(&line, 5001, 4, 80);
        assert_eq!(&shown.text[shown.span.clone()], "HERE");
        assert!(shown.text.starts_with("…é") && shown.text.ends_with("z…"));
        assert!(shown.text.chars().count() < 200);
    }

    #[test]
    fn marks_are_no_wider_than_the_terminal() {
        let line = format!("a: {}", "z".repeat(300));
        assert_eq!(show(&line, 4, 300, 80).span, 3..83);
        assert_eq!(show(&line, 4, 0, 80).span, 3..83);
        assert_eq!(show(&line, 4, 20, 80).span, 3..23);
    }

    #[test]
    fn places_behind_the_end_point_at_the_end() {
        assert_eq!(show("ab", 9, 2, 80), Shown { text: "ab".into(), span: 2..2, cut: false });
        assert_eq!(show("", 1, 0, 80), Shown { text: String::new(), span: 0..0, cut: false });
    }
}
