//! The mistake that caused a syntax error. A parser notices a wrong indentation or an open quote
//! only when nothing fits any longer, which is often a line later; people need the line to change.
//! This module reads only lines, so its result is a guess, for texts that are known to be wrong.

/// The most likely mistake, and its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    /// From 1.
    pub(super) line: usize,
    /// In characters, from 1.
    pub(super) column: usize,
    /// In characters.
    pub(super) length: usize,
    pub(super) message: String,
    pub(super) help: String,
}

/// The most likely mistake in a text that the parser rejected in line `until`.
pub(super) fn find(text: &str, until: usize) -> Option<Mistake> {
    let lines: Vec<&str> = text.lines().collect();
    let mut scan = Scan::default();
    let mut index = 0;
    // The indentation of the line that a block of text belongs to: quotes have no meaning in it.
    let mut block: Option<usize> = None;
    while let Some(line) = lines.get(index) {
        if index >= until {
            return None;
        }
        let indent = line.len() - line.trim_start().len();
        if block.is_some_and(|outer| line.trim().is_empty() || indent > outer) {
            if let Some(mistake) = scan.line(index + 1, line) {
                return Some(mistake);
            }
            index += 1;
            continue;
        }
        block = begins_block(line).then_some(indent);
        if let Some(found) = open_quote(line) {
            let close = |line: &&str| closes(line, found.quote);
            let next = lines.iter().skip(index + 1).find(|line| !line.trim().is_empty());
            if next.is_none_or(|next| is_entry(next.trim_start())) {
                return Some(Mistake {
                    line: index + 1,
                    column: found.column,
                    length: line.chars().count().saturating_sub(found.column - 1),
                    message: format!("the quote {} is not closed", found.quote),
                    help: format!("close it with {} at the end of the text", found.quote),
                });
            }
            // It continues in the lines below.
            let rest = lines.iter().skip(index + 1).position(close).unwrap_or(0);
            scan.line(index + 1, line);
            index += rest + 2;
            continue;
        }
        if let Some(mistake) = scan.line(index + 1, line) {
            return Some(mistake);
        }
        index += 1;
    }
    None
}

/// Whether the value of this line is a following block of text.
fn begins_block(line: &str) -> bool {
    let last = line.split_whitespace().next_back().unwrap_or_default();
    last.strip_prefix(['|', '>']).is_some_and(|rest| rest.chars().all(|c| matches!(c, '+' | '-' | '0'..='9')))
}

struct Quote {
    quote: char,
    column: usize,
}

/// A quote that begins a value in this line, and does not end in it.
fn open_quote(line: &str) -> Option<Quote> {
    let mut open: Option<Quote> = None;
    let mut before = ':';
    let mut spaced = true;
    let mut chars = line.chars().enumerate().peekable();
    while let Some((index, c)) = chars.next() {
        match &open {
            Some(Quote { quote: '"', .. }) if c == '\\' => {
                chars.next();
            }
            Some(Quote { quote, .. }) if c == *quote => {
                if c == '\'' && chars.peek().is_some_and(|(_, next)| *next == '\'') {
                    chars.next();
                } else {
                    open = None;
                    before = 'x';
                }
            }
            Some(_) => {}
            None if c == '#' && spaced => return None,
            None if matches!(c, '"' | '\'') && matches!(before, ':' | '-' | '[' | '{' | ',' | '?') => {
                open = Some(Quote { quote: c, column: index + 1 });
            }
            None => {
                spaced = c == ' ';
                if !spaced {
                    before = c;
                }
            }
        }
    }
    open
}

fn closes(line: &str, quote: char) -> bool {
    line.contains(quote)
}

/// Whether a line begins an entry of a map or an item of a list.
fn is_entry(content: &str) -> bool {
    content.starts_with("- ") || content.starts_with("---") || key(content).is_some()
}

/// The plain key of a line, and the text after its `:`.
fn key(content: &str) -> Option<(&str, &str)> {
    let (key, value) = match content.split_once(": ") {
        Some((key, value)) => (key, value.trim()),
        None => (content.trim_end().strip_suffix(':')?, ""),
    };
    let plain = !key.is_empty() && !key.contains(['"', '\'', '{', '[', ' ']);
    plain.then_some((key, value))
}

/// Open block collections, as far as lines show.
#[derive(Default)]
struct Scan {
    /// Columns of the open maps and lists, in ascending order, each with a line in it.
    open: Vec<(usize, usize)>,
    /// Lines deeper than this are text.
    text: Option<usize>,
    /// Whether the last line may be followed by a deeper one.
    expects: bool,
    /// The nesting of open brackets and braces.
    flow: usize,
    /// A line that is a value if nothing follows it, and a key without `:` if entries do.
    lone: Option<Mistake>,
}

impl Scan {
    fn line(&mut self, number: usize, line: &str) -> Option<Mistake> {
        let content = line.trim_start_matches(' ');
        let mut indent = line.len() - content.len();
        if content.trim().is_empty() || content.starts_with('#') {
            return None;
        }
        if let Some(text) = self.text {
            if indent > text {
                return None;
            }
            self.text = None;
        }
        if self.flow > 0 {
            return self.brackets(number, indent, content);
        }
        if indent == 0 && (content.starts_with("---") || content.starts_with("...")) {
            *self = Self { expects: true, ..Self::default() };
            return None;
        }
        let lone = self.lone.take().filter(|lone| is_entry(content) && indent + 1 >= lone.column);
        let mistake = lone.or_else(|| self.level(number, indent, content));
        if mistake.is_some() {
            return mistake;
        }
        let mut content = content;
        while let Some(item) = content.strip_prefix("- ") {
            let inner = item.trim_start_matches(' ');
            indent += content.len() - inner.len();
            content = inner;
            if key(content).is_some() {
                self.open.push((indent, number));
            }
        }
        let before = content.split(" #").next().unwrap_or(content).trim_end();
        match key(before) {
            Some((key, value)) => {
                let column = indent + before.chars().count() - value.chars().count() + 1;
                let found = alias(number, column, key, value);
                if let Some(mistake) = found.or_else(|| two_colons(number, column, value)) {
                    return Some(mistake);
                }
                self.expects = value.is_empty() || value.starts_with(['&', '!']);
                if value.starts_with(['|', '>']) {
                    self.text = Some(indent);
                }
                self.brackets(number, column - 1, value)
            }
            None => {
                self.expects = before == "-" || before.ends_with(':');
                if before.ends_with(['|', '>']) {
                    self.text = Some(indent);
                }
                self.brackets(number, indent, before)
            }
        }
    }

    /// Compares the indentation of a line with the open collections.
    fn level(&mut self, number: usize, indent: usize, content: &str) -> Option<Mistake> {
        let mut left = None;
        while self.open.last().is_some_and(|(open, _)| *open > indent) {
            left = self.open.pop();
        }
        let Some((open, line)) = self.open.last().copied() else {
            self.open.push((indent, number));
            return lone_word(number, indent, content);
        };
        if open == indent {
            return lone_word(number, indent, content);
        }
        let entry = is_entry(content);
        if let Some((deeper, sibling)) = left
            && entry
        {
            return Some(wrong(number, indent, content, &[(open, line), (deeper, sibling)]));
        }
        if !self.expects && entry && !content.starts_with("- ") {
            return Some(wrong(number, indent, content, &[(open, line)]));
        }
        if self.expects && entry {
            self.open.push((indent, number));
        }
        if self.expects && !entry {
            self.lone = lone_word(number, indent, content);
        }
        None
    }

    /// Follows the brackets of a text that begins after `before` characters of its line. A plain
    /// text between them cannot contain `${` or begin with `*`.
    fn brackets(&mut self, number: usize, before: usize, text: &str) -> Option<Mistake> {
        if !(text.starts_with(['[', '{']) || self.flow > 0) {
            return None;
        }
        let chars: Vec<char> = text.chars().collect();
        let (mut quote, mut key) = (None, String::new());
        // Where the current key or value begins.
        let mut start = 0;
        let mut index = 0;
        while let Some(&c) = chars.get(index) {
            let next = chars.get(index + 1).copied();
            match (quote, c) {
                (Some('"'), '\\') => index += 1,
                (Some(open), _) => quote = quote.filter(|_| c != open),
                (None, '"' | '\'') if index == start => quote = Some(c),
                (None, '#') if index > 0 && chars.get(index - 1) == Some(&' ') => return None,
                (None, '$') if self.flow > 0 && next == Some('{') => {
                    let value = in_flow(chars.get(start..)?);
                    return Some(Mistake {
                        line: number,
                        column: before + start + 1,
                        length: value.chars().count(),
                        message: "a placeholder in `{…}` or `[…]` is not quoted".to_owned(),
                        help: format!("write {}", quoted(&value)),
                    });
                }
                (None, '*') if self.flow > 0 && index == start => {
                    let value = in_flow(chars.get(start..)?);
                    if let Some(mistake) = alias(number, before + start + 1, &key, &value) {
                        return Some(mistake);
                    }
                }
                (None, '[' | '{') => {
                    self.flow += 1;
                    start = index + 1;
                }
                (None, ']' | '}') => self.flow = self.flow.saturating_sub(1),
                (None, ':') if next.is_none_or(|next| next == ' ') => {
                    key = chars.get(start..index)?.iter().collect();
                    start = index + 1;
                }
                (None, ',') => start = index + 1,
                (None, ' ') if index == start => start += 1,
                _ => {}
            }
            index += 1;
        }
        None
    }
}

/// The plain text at the beginning of this part of a list or map in brackets, with its placeholders.
fn in_flow(rest: &[char]) -> String {
    let mut open = 0_usize;
    let ends = |(index, c): (usize, &char)| {
        match c {
            '{' if index > 0 && rest.get(index - 1) == Some(&'$') => open += 1,
            '}' if open > 0 => open -= 1,
            ',' | ']' | '}' if open == 0 => return true,
            _ => {}
        }
        false
    };
    let end = rest.iter().enumerate().position(ends).unwrap_or(rest.len());
    rest.iter().take(end).collect::<String>().trim_end().to_owned()
}

/// A text in quotes that keep it as it is.
pub(super) fn quoted(text: &str) -> String {
    match text.contains(['"', '\\']) {
        true => format!("'{}'", text.replace('\'', "''")),
        false => format!("\"{text}\""),
    }
}

/// The template that a line has as a value without quotes: the characters before it, and its text.
pub(super) fn template(line: &str) -> Option<(usize, &str)> {
    let at = line.find("{{")?;
    let before = line.get(..at)?.trim_end();
    let begins = before.ends_with([':', '[', '{', ',']) || before.ends_with('-') || before.is_empty();
    let rest = line.get(at..)?;
    let count = |brackets: [char; 2]| before.chars().filter(|c| brackets.contains(c)).count();
    let text = match count(['[', '{']) > count([']', '}']) {
        true => in_braces(rest),
        false => rest.split(" #").next().unwrap_or(rest).trim_end(),
    };
    begins.then(|| (line.get(..at).map_or(0, |before| before.chars().count()), text))
}

/// The text before the `,` or the bracket that ends an item in brackets.
fn in_braces(rest: &str) -> &str {
    let mut open = 0_usize;
    let ends = |c: char| {
        match c {
            '{' => open += 1,
            '}' if open > 0 => open -= 1,
            ',' | ']' | '}' if open == 0 => return true,
            _ => {}
        }
        false
    };
    rest.split(ends).next().unwrap_or(rest).trim_end()
}

/// A `*` that is no alias: it stands for "any" elsewhere.
fn alias(number: usize, column: usize, key: &str, value: &str) -> Option<Mistake> {
    let rest = value.strip_prefix('*')?;
    if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let help = match key {
        "app_id" | "env_id" | "env_type" | "res_id" => format!("leave `{key}` out: it then matches any"),
        _ => format!("write {}", quoted(value)),
    };
    let message = "`*` begins an alias in YAML".to_owned();
    Some(Mistake { line: number, column, length: value.chars().count(), message, help })
}

/// A word in the place of a key, without `: ` after it.
fn lone_word(number: usize, indent: usize, content: &str) -> Option<Mistake> {
    let line = content.split(" #").next().unwrap_or(content).trim_end();
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    let (message, help) = if is_word(line) {
        (format!("`{line}` is neither a key nor a value"), format!("write `{line}:` if it is a key"))
    } else if line.contains(": ") || line.ends_with(':') {
        return None;
    } else if let Some(item) = line.strip_prefix('-').filter(|item| !item.starts_with(['-', ' '])) {
        (format!("`{line}` has no space after the `-`"), format!("write `- {item}`"))
    } else if let Some((key, value)) = line.split_once(':').filter(|(key, _)| is_word(key)) {
        (format!("`{line}` has no space after the `:`"), format!("write `{key}: {value}`"))
    } else if let Some((key, value)) = line.split_once(' ').filter(|(key, _)| is_word(key)) {
        (format!("`{line}` has no `:`"), format!("write `{key}: {}`", value.trim_start()))
    } else {
        return None;
    };
    Some(Mistake { line: number, column: indent + 1, length: line.chars().count(), message, help })
}

fn spaces(count: usize) -> String {
    match count {
        0 => "by 0 spaces".to_owned(),
        1 => "by 1 space".to_owned(),
        count => format!("by {count} spaces"),
    }
}

/// A line whose indentation is that of none of its neighbours.
fn wrong(number: usize, indent: usize, content: &str, near: &[(usize, usize)]) -> Mistake {
    let choices: Vec<String> =
        near.iter().map(|(open, line)| format!("{} as line {line}", spaces(*open))).collect();
    Mistake {
        line: number,
        column: indent + 1,
        length: content.split(':').next().map_or(1, |key| key.chars().count()),
        message: format!("this line is indented {}, and matches no line above", spaces(indent)),
        help: format!("indent it {}", choices.join(", or ")),
    }
}

/// A plain value that holds `: `.
fn two_colons(number: usize, column: usize, value: &str) -> Option<Mistake> {
    let plain = !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!']);
    if !plain || !(value.contains(": ") || value.ends_with(':')) {
        return None;
    }
    Some(Mistake {
        line: number,
        column,
        length: value.chars().count(),
        message: "this text contains a `:`, which YAML takes for the end of a key".to_owned(),
        help: format!("quote it: {}", quoted(value)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Line, column and the beginning of the text, for a text that is wrong up to its end.
    fn place(text: &str) -> Option<(usize, usize, String)> {
        let found = find(text, text.lines().count() + 1)?;
        let word = found.message.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
        Some((found.line, found.column, word))
    }

    #[test]
    fn the_line_to_change_is_found() {
        let indented = |line, column| Some((line, column, "this line is indented".to_owned()));
        assert_eq!(place("spec:\n  type: dns\n   driver: x\n  more: y\n"), indented(3, 4));
        assert_eq!(place("spec:\n  type: dns\n driver: x\n"), indented(3, 2));
        assert_eq!(place("a:\n    b: 1\n  c: 2\n"), indented(3, 3));
        assert_eq!(place("a:\n  - b: 1\n    c: 2\n   d: 3\n"), indented(4, 4));
        let quote = |line, column| Some((line, column, "the quote \" is".to_owned()));
        assert_eq!(place("a: 1\nb: \"open\nc: 2\nd: \"x\"\n"), quote(2, 4));
        assert_eq!(place("a: [x, \"open]\n"), quote(1, 8));
        let text = |line, column| Some((line, column, "this text contains a".to_owned()));
        assert_eq!(place("a:\n  image: nginx: latest\n"), text(2, 10));
        assert_eq!(
            place("spec:\n  a: 1\n  type dns\n  b: x\n"),
            Some((3, 3, "`type dns` has no".to_owned()))
        );
        assert_eq!(
            place("spec:\n  a: 1\n  type:dns # x\n  b: x\n"),
            Some((3, 3, "`type:dns` has no space".to_owned()))
        );
        assert_eq!(place("a:\n  - {}\n  -{}\n"), Some((3, 3, "`-{}` has no space".to_owned())));
        let lone = |line, column| Some((line, column, "`image nginx` has no".to_owned()));
        for rest in ["    args: []\n", "      args: []\n"] {
            assert_eq!(place(&format!("c:\n  main:\n    image nginx\n{rest}")), lone(3, 5));
        }
        let placeholder = |line, column| Some((line, column, "a placeholder in `{…}`".to_owned()));
        for (text, column) in [
            ("a: {DB: ${resources.db.host}, x: 1}\n", 9),
            ("a: {\"x\": 'y: [', DB: http://${a.b}/c}\n", 22),
            ("a: [${a.b}]\n", 5),
        ] {
            assert_eq!(place(text), placeholder(1, column), "{text}");
        }
        assert_eq!(place("a: {x: 1,\n  y: ${b}}\n"), placeholder(2, 6));
        let star = |line, column| Some((line, column, "`*` begins an alias".to_owned()));
        assert_eq!(place("a:\n  - app_id: *\n"), star(2, 13));
        assert_eq!(place("a: [{app_id: *, env_id: x}]\n"), star(1, 14));
        assert_eq!(place("metadata\n  name: x\n").map(|(line, column, _)| (line, column)), Some((1, 1)));
        assert_eq!(
            place("a: 1\nmetadata\n  name: x\n").map(|(line, column, _)| (line, column)),
            Some((2, 1))
        );
    }

    #[test]
    fn help_quotes_the_whole_value() {
        let help = |text: &str| find(text, text.lines().count() + 1).map(|found| found.help);
        for (text, expected) in [
            ("a: {DB: ${resources.db.host}, x: 1}\n", r#"write "${resources.db.host}""#),
            ("a: [\"x\", a${b['c']}-${d} ]\n", r#"write "a${b['c']}-${d}""#),
            ("a: {x: ${b[\"c\"]}}\n", r#"write '${b["c"]}'"#),
            ("a: {app_id: *}\n", "leave `app_id` out: it then matches any"),
            ("type: *\n", "write \"*\""),
            ("a: it's: \"x\"\n", r#"quote it: 'it''s: "x"'"#),
        ] {
            assert_eq!(help(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(template("  host: {{ .a }} # x"), Some((8, "{{ .a }}")));
        assert_eq!(template("  hosts: [{{ .a }}, {{ .b }}]"), Some((10, "{{ .a }}")));
        assert_eq!(template("  host: a{{ .a }}"), None);
    }

    #[test]
    fn valid_documents_pass() {
        let text = "a:\n- b: |\n    x: y: z\n     \"\n  c: 'it''s'\nd:\n    e: \"a\n      b\"\n    f: {g: 1,\n  h: 2}\n\
            i: plain\n  goes on\nj: &k\n  l: >-\n    text\n---\nm: http://x:1\n# \" '\nn: it's\n\
            o:\n  some text\np: [a, &x b, *x]\nq: {r: *x, s: \"${t}\", u: '${v}'}\n";
        assert_eq!(place(text), None);
    }
}
