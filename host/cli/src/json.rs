//! Writes JSON. No character in the output can control a terminal, and documents are never in
//! memory as text, however large they are.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::text;

/// Writes an indented document in many small pieces, so the writer should be buffered.
pub(crate) fn write_indented(out: impl io::Write, document: &impl Serialize) -> io::Result<()> {
    write(out, document, PrettyFormatter::new())
}

/// A document on one line, with a newline at the end.
pub(crate) fn line(document: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(256);
    write(&mut line, document, CompactFormatter)?;
    line.push(b'\n');
    Ok(line)
}

fn write(out: impl io::Write, document: &impl Serialize, formatter: impl Formatter) -> io::Result<()> {
    document.serialize(&mut Serializer::with_formatter(out, Harmless(formatter)))?;
    Ok(())
}

/// Escapes characters that serde_json leaves unescaped but that are dangerous for a terminal.
struct Harmless<F>(F);

impl<F: Formatter> Formatter for Harmless<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // Below DEL, serde_json has already escaped every dangerous character.
        if fragment.bytes().all(|byte| byte < 0x7f) {
            return out.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some(at) = rest.find(text::is_dangerous) {
            let (before, after) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            let mut characters = after.chars();
            if let Some(dangerous) = characters.next() {
                for unit in dangerous.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
            rest = characters.as_str();
        }
        out.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_key(out)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn indented(value: &Value) -> String {
        let mut out = Vec::new();
        write_indented(&mut out, value).expect("writes");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn control_characters_are_escaped_and_mean_the_same() {
        let value = json!({"a": "ä\u{9b}2J\u{7f}\u{202e}\u{1b}x\n😀", "\u{200f}\u{e0041}": 1});
        let text = String::from_utf8(line(&value).expect("writes")).expect("UTF-8");
        assert_eq!(text, "{\"a\":\"ä\\u009b2J\\u007f\\u202e\\u001bx\\n😀\",\"\\u200f\\udb40\\udc41\":1}\n");
        assert!(!text.trim_end().chars().any(text::is_dangerous));
        for text in [text, indented(&value)] {
            assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
        }
    }

    #[test]
    fn other_json_looks_as_serde_json_writes_it() {
        let value = json!({"a": [1, 2.5, true, null, [], {}], "b": {"c": "d\"e", "f": [{"g": ""}]}});
        assert_eq!(indented(&value), serde_json::to_string_pretty(&value).expect("JSON"));
        let text = String::from_utf8(line(&value).expect("writes")).expect("UTF-8");
        assert_eq!(text.trim_end(), serde_json::to_string(&value).expect("JSON"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_survives(texts: Vec<String>) {
            let value = json!(texts);
            let text = indented(&value);
            proptest::prop_assert!(!text.chars().any(|c| c != '\n' && text::is_dangerous(c)));
            proptest::prop_assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
        }
    }
}
