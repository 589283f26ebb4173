//! The secrets of a call, and how to find them again in its results.
//!
//! A string that a secret touched is secret (SPEC §4). The sandbox cannot see a driver's
//! computations, so it searches for the secret's text: verbatim, and in the encodings of JSON, XML,
//! base64, hex and URLs.

mod automaton;
mod encodings;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use purlin_model::{Label, Map, Value, is_dangerous};
use zeroize::Zeroize;

use self::automaton::Automaton;

/// Shorter secrets are only recognised as a whole: `1` is in too many texts.
const SHORTEST_PART: usize = 4;
/// Single lines of secrets with several lines (keys in PEM) are recognised from this length on.
const SHORTEST_LINE: usize = 8;
/// Longer secrets are recognised by this many bytes at their beginning, and everything after them
/// is hidden too.
const LONGEST_PART: usize = 1 << 10;
/// From this length on a needle may be the beginning of a longer text: some encodings are shorter
/// than the original. Everything after one is hidden to the end.
const BEGINNING: usize = LONGEST_PART / 4;
/// Bytes of all encodings of the secrets of a call, beside the secrets themselves. Beyond that, the
/// last secrets are recognised only verbatim.
const MOST_ENCODED_BYTES: usize = 1 << 20;
/// Bytes that are searched for names that documents show. Later names are secret if they contain a
/// secret.
const MOST_EXCUSES: usize = 64 << 20;
/// Values of granted variables are recognised anywhere from this length on.
const SHORTEST_SETTING: usize = 8;
const MASK: &str = "[secret]";

/// The texts that must not appear in plain text.
#[derive(Debug, Default)]
pub(crate) struct SecretMatcher {
    /// Found anywhere. They move out of here when `found` is built from them.
    parts: Vec<Box<[u8]>>,
    /// Finds all of them at once; none if there are none.
    found: Option<Automaton>,
    /// Bytes of encodings so far.
    encoded: usize,
    /// Bytes of the longest part.
    longest: usize,
    /// Found as a whole.
    wholes: Vec<Box<str>>,
    /// Names in the maps of the call: documents show them. A secret whose letters are part of one
    /// (`user` in `username`) is not revealed by it.
    names: HashSet<Arc<str>>,
    /// Texts of the call that are not secrets, because names are in templates too.
    shown: Vec<Arc<str>>,
    /// Bytes of those that were searched.
    searched: AtomicUsize,
}

impl Drop for SecretMatcher {
    fn drop(&mut self) {
        self.forget_parts();
        self.wholes.iter_mut().for_each(|needle| needle.zeroize());
    }
}

impl SecretMatcher {
    /// Adds every secret of a value; all of it if `secret`.
    pub(crate) fn collect(&mut self, value: &Value, secret: bool) {
        match value {
            Value::Secret(inner) => self.collect(inner.expose(), true),
            Value::List(items) => items.iter().for_each(|item| self.collect(item, secret)),
            Value::Map(map) => map.values().for_each(|item| self.collect(item, secret)),
            Value::String(text) if secret => self.add(text),
            Value::Number(number) if secret => {
                let text = number.to_string();
                if text.len() >= SHORTEST_PART {
                    self.add(&text);
                }
            }
            _ => {}
        }
    }

    /// Adds the visible parts of documents: names and, unless all of it is `secret`, texts that are
    /// not secrets.
    pub(crate) fn excuse(&mut self, value: &Value, secret: bool) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::List(items) => items.iter().for_each(|item| self.excuse(item, secret)),
            Value::Map(map) => {
                for (name, item) in map {
                    self.names.insert(Arc::clone(name));
                    self.excuse(item, secret);
                }
            }
            Value::String(text) if !secret => self.shown.push(Arc::clone(text)),
            _ => {}
        }
    }

    /// Adds a granted variable. Most short ones are not secrets (`require`, `info`): they are
    /// recognised only if they stand alone.
    pub(crate) fn collect_setting(&mut self, text: &str) {
        if text.len() >= SHORTEST_SETTING {
            self.add(text);
        } else if !text.is_empty() {
            self.wholes.push(text.into());
        }
    }

    /// A driver's name for something: secret if it reveals a secret.
    pub(crate) fn label(&self, text: String) -> Label {
        let secret = self.touch_name(&text);
        Label::new(text, secret)
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.found.is_none() && self.wholes.is_empty()
    }

    /// Whether the name of something reveals a secret.
    fn touch_name(&self, name: &str) -> bool {
        self.touch(name) && !self.names.contains(name) && !self.is_shown(name)
    }

    /// Whether a name is in a text of the call. A driver can answer with many names.
    fn is_shown(&self, name: &str) -> bool {
        for text in &self.shown {
            if self.searched.fetch_add(text.len() + 1, Ordering::Relaxed) >= MOST_EXCUSES {
                return false;
            }
            if text.contains(name) {
                return true;
            }
        }
        false
    }

    fn add(&mut self, text: &str) {
        if text.len() < SHORTEST_PART {
            if !text.is_empty() {
                self.wholes.push(text.into());
            }
            return;
        }
        let beginning = text.get(..text.floor_char_boundary(LONGEST_PART)).unwrap_or(text);
        self.part(beginning.as_bytes());
        if self.encoded < MOST_ENCODED_BYTES {
            for mut encoding in encodings::encodings(beginning) {
                self.encoded += encoding.len().min(LONGEST_PART);
                self.part(encoding.as_bytes());
                encoding.zeroize();
            }
        }
        if text.contains('\n') {
            let lines = text.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE);
            lines.for_each(|line| self.part(line.as_bytes()));
        }
    }

    fn part(&mut self, bytes: &[u8]) {
        self.parts.push(bytes.get(..LONGEST_PART).unwrap_or(bytes).into());
    }

    /// Call this after all are collected.
    pub(crate) fn finish(&mut self) {
        self.wholes.sort_unstable();
        self.wholes.dedup();
        self.parts.sort_unstable();
        self.parts.dedup();
        self.longest = self.parts.iter().map(|part| part.len()).max().unwrap_or_default();
        self.found = (!self.parts.is_empty()).then(|| Automaton::new(&self.parts));
        self.forget_parts();
    }

    fn forget_parts(&mut self) {
        self.parts.iter_mut().for_each(|part| part.zeroize());
        self.parts.clear();
    }

    /// Length of the longest, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    fn is_whole(&self, text: &str) -> bool {
        self.wholes.binary_search_by(|whole| (**whole).cmp(text)).is_ok()
    }

    /// The positions of secrets in a text, in the order of their ends.
    fn spans<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        let found = self.found.iter().flat_map(|found| found.matches(text.as_bytes()));
        found.map(|(end, longest)| {
            let to = if longest >= BEGINNING { text.len() } else { end };
            (end - longest, to)
        })
    }

    fn touch(&self, text: &str) -> bool {
        self.spans(text).next().is_some() || self.is_whole(text)
    }

    /// The text without secrets.
    pub(crate) fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_whole(text) {
            return Cow::Borrowed(MASK);
        }
        // If two overlap, both are hidden completely.
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for (mut from, mut to) in self.spans(text) {
            while let Some((before, end)) = spans.pop_if(|(_, end)| *end > from) {
                (from, to) = (from.min(before), to.max(end));
            }
            spans.push((from, to));
        }
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut masked, mut end) = (String::with_capacity(text.len()), 0);
        for (from, to) in spans {
            // If a secret was cut within a character, that character is hidden too.
            let (from, to) = (text.floor_char_boundary(from), text.ceil_char_boundary(to));
            masked.push_str(text.get(end..from).unwrap_or_default());
            masked.push_str(MASK);
            end = to;
        }
        masked.push_str(text.get(end..).unwrap_or_default());
        Cow::Owned(masked)
    }

    /// The value in which every leaf that a secret touched is secret. A map with such a key is
    /// secret as a whole.
    pub(crate) fn taint(&self, value: Value) -> Value {
        self.taint_beside(value, &Value::Null)
    }

    /// The same for inputs that a driver returns: an unchanged value in its place is no more secret
    /// than before. Otherwise a short secret (`user`) would hide the text of a template that
    /// contains the word (`username: …`), and everything made from that.
    pub(crate) fn taint_beside(&self, value: Value, given: &Value) -> Value {
        if self.is_empty() {
            return value;
        }
        match value {
            same @ (Value::String(_) | Value::Number(_)) if same == *given => same,
            Value::String(text) if self.touch(&text) => Value::String(text).into_secret(),
            Value::Number(number) if self.touch_number(&number) => Value::Number(number).into_secret(),
            Value::List(items) => {
                let beside = |index| match given {
                    Value::List(given) => given.get(index),
                    _ => None,
                };
                let item = |(index, item)| self.taint_beside(item, beside(index).unwrap_or(&Value::Null));
                Value::List(items.into_iter().enumerate().map(item).collect())
            }
            Value::Map(map) if map.keys().any(|key| self.touch_name(key)) => Value::Map(map).into_secret(),
            Value::Map(map) => {
                let beside = |key: &str| match given {
                    Value::Map(given) => given.get(key),
                    _ => None,
                };
                let entry = |(key, item): (Arc<str>, Value)| {
                    let item = self.taint_beside(item, beside(&key).unwrap_or(&Value::Null));
                    (key, item)
                };
                Value::Map(map.into_iter().map(entry).collect::<Map>())
            }
            other => other,
        }
    }

    /// Whether a name in a value contains a secret.
    pub(crate) fn is_in_a_name(&self, value: &Value) -> bool {
        match value {
            Value::Secret(inner) => self.is_in_a_name(inner.expose()),
            Value::List(items) => items.iter().any(|item| self.is_in_a_name(item)),
            Value::Map(map) => {
                map.iter().any(|(name, item)| self.touch_name(name) || self.is_in_a_name(item))
            }
            _ => false,
        }
    }

    fn touch_number(&self, number: &serde_json::Number) -> bool {
        let text = number.to_string();
        self.spans(&text).any(|span| span == (0, text.len())) || self.is_whole(&text)
    }
}

/// Text for people: characters that could move a cursor or change the writing direction are made
/// visible.
pub(crate) fn neutralise(text: &str) -> Cow<'_, str> {
    let risky = |c: char| is_dangerous(c) && c != '\n' && c != '\t';
    if !text.contains(risky) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if risky(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        out
    }))
}

/// Searches the last line for secrets, one per line, and panics if a search for each of them has
/// another result.
#[cfg(feature = "fuzz")]
pub(crate) fn fuzz(text: &str) {
    let lines: Vec<&str> = text.split('\n').collect();
    let Some((text, secrets)) = lines.split_last() else { return };
    let mut matcher = SecretMatcher::default();
    secrets.iter().for_each(|secret| matcher.add(secret));
    let mut parts = matcher.parts.clone();
    parts.extend(matcher.wholes.iter().map(|whole| whole.as_bytes().into()));
    matcher.finish();
    let in_it =
        |part: &[u8]| part.len() >= SHORTEST_PART && text.as_bytes().windows(part.len()).any(|at| at == part);
    let is_there =
        parts.iter().any(|part| in_it(part)) || matcher.wholes.iter().any(|whole| **whole == **text);
    let masked = matcher.mask(text);
    // The replacement of a secret may be a secret itself.
    let is_masked = masked != *text || is_there && text.contains(MASK);
    assert_eq!(is_there, is_masked, "{text:?} among {secrets:?}");
    // The replacement of a secret may be a secret itself.
    if !secrets.iter().any(|secret| secret.contains(['[', ']']) || MASK.contains(secret)) {
        for secret in secrets.iter().filter(|secret| (SHORTEST_PART..LONGEST_PART).contains(&secret.len())) {
            assert!(!masked.contains(secret), "{secret:?} in {masked:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn matcher(secrets: serde_json::Value) -> SecretMatcher {
        let mut matcher = SecretMatcher::default();
        matcher.collect(&Value::from(secrets), true);
        matcher.finish();
        matcher
    }

    #[test]
    fn a_secret_is_found_in_every_encoding() {
        let matcher = matcher(json!({"password": "pa\"ss\nword-is-long", "pin": 12345, "short": "abc"}));
        for text in [
            "before pa\"ss\nword-is-long after",
            r#"{"p":"pa\"ss\nword-is-long"}"#,
            "cGEic3MKd29yZC1pcy1sb25n",
            "the line word-is-long alone",
            "pin 12345",
            "abc",
        ] {
            assert!(matcher.touch(text), "{text}");
            assert!(matcher.mask(text).contains(MASK), "{text}");
        }
        for text in ["abcd", "pa", "word"] {
            assert_eq!(matcher.mask(text), text);
        }
    }

    #[test]
    fn overlapping_secrets_are_masked_completely() {
        let matcher = matcher(json!(["abcdef", "defghi", "cdef"]));
        assert_eq!(matcher.mask("-abcdefghi-"), "-[secret]-");
        assert_eq!(matcher.mask("abcdefabcdef"), "[secret][secret]");
        assert_eq!(matcher.mask("cdefghi and xcdef"), "[secret] and x[secret]");
    }

    #[test]
    fn a_long_secret_is_known_by_its_beginning() {
        let long = format!("{}{}", "abcdefgé".repeat(200), "the end of it");
        let matcher = matcher(json!([long, "short"]));
        assert!(matcher.longest() <= LONGEST_PART);
        assert_eq!(matcher.mask(&format!("it is {long}")), "it is [secret]");
        assert_eq!(
            matcher.mask(&format!("{}, short", &long[..1020])),
            format!("{}, [secret]", &long[..1020])
        );
        let quoted = json!({ "key": format!("\"{long}") }).to_string();
        assert!(!matcher.mask(&quoted).contains("the end"));
        // A character across the end of the known part, and encodings that are shorter.
        for middle in ["é", "\u{212a}"] {
            let long = format!("{}{middle}the end of it", "b".repeat(LONGEST_PART - 1));
            let matcher = self::matcher(json!(long));
            for text in [long.to_uppercase(), long.to_lowercase()] {
                assert!(!matcher.mask(&text).to_lowercase().contains("the end"), "{middle}");
            }
        }
        let long = "\u{212a}".repeat(2_000) + "the end";
        assert!(!self::matcher(json!(long)).mask(&long.to_lowercase()).contains("the end"));
    }

    #[test]
    fn more_secrets_than_can_be_encoded_are_found_as_they_are() {
        let many: Vec<String> = (0..40_000).map(|n| format!("a-secret-{n}")).collect();
        let matcher = matcher(json!(many));
        for n in [0, 39_999] {
            assert_eq!(matcher.mask(&format!("({})", many[n])), "([secret])");
        }
        assert!(matcher.touch(&many[0].to_uppercase()));
    }

    #[test]
    fn values_made_with_a_secret_are_secret() {
        let matcher = matcher(json!(["hunter2", 5432]));
        let value = Value::from(json!({
            "url": "postgres://u:hunter2@h", "port": 5432, "host": "h", "list": ["hunter2", "x"],
            "map": {"hunter2": 1},
        }));
        assert_eq!(
            matcher.taint(value).redact(),
            json!({"url": "[secret]", "port": "[secret]", "host": "h", "list": ["[secret]", "x"],
                "map": "[secret]"})
        );
    }

    #[test]
    fn a_name_in_the_documents_reveals_nothing() {
        let mut matcher = matcher(json!({"username": "user", "key": "data"}));
        matcher.excuse(&Value::from(json!({"username": 1, "template": "database: {{ .x }}"})), false);
        let taint = |value| matcher.taint(Value::from(value)).redact();
        assert_eq!(taint(json!({"username": "user", "a": "b"})), json!({"username": "[secret]", "a": "b"}));
        assert_eq!(taint(json!({"database": 1})), json!({"database": 1}));
        assert_eq!(taint(json!({"superuser": 1})), json!("[secret]"));
        let inputs = json!({"username": "user"});
        assert!(!matcher.is_in_a_name(&Value::from(inputs)));
        assert!(matcher.is_in_a_name(&Value::from(json!({"my-user": 1}))));
    }

    #[test]
    fn returned_inputs_are_as_secret_as_given() {
        let mut matcher = matcher(json!(["user", 5432]));
        let given = json!({"text": "username: x", "port": 5432, "list": ["user"], "moved": "x"});
        matcher.excuse(&Value::from(given.clone()), false);
        let beside = |value| matcher.taint_beside(Value::from(value), &Value::from(given.clone())).redact();
        assert_eq!(beside(given.clone()), given);
        assert_eq!(
            beside(json!({"text": "user: x", "port": [5432], "list": ["x", "user"], "moved": "username: x"})),
            json!({"text": "[secret]", "port": ["[secret]"], "list": ["x", "[secret]"], "moved": "[secret]"})
        );
        // A given secret stays secret.
        let secret = Value::from(json!("user")).into_secret();
        assert_eq!(matcher.taint_beside(Value::from("user"), &secret).redact(), json!("[secret]"));
    }

    #[test]
    fn a_short_setting_matches_only_the_whole_text() {
        let mut matcher = SecretMatcher::default();
        ["require", "a-long-token", ""].iter().for_each(|setting| matcher.collect_setting(setting));
        matcher.finish();
        assert_eq!(matcher.mask("sslmode=require"), "sslmode=require");
        assert_eq!(matcher.mask("require"), "[secret]");
        assert_eq!(matcher.mask("with a-long-token"), "with [secret]");
    }

    #[test]
    fn names_from_a_driver_are_secret_if_they_contain_a_secret() {
        let mut matcher = matcher(json!({"username": "user", "password": "hunter2"}));
        matcher.excuse(&Value::from(json!({"name": "user-db"})), false);
        let label = |text: &str| matcher.label(text.to_owned());
        assert!(label("db-hunter2").is_secret() && label("superuser").is_secret());
        // Documents show it.
        assert!(!label("user-db").is_secret() && !label("db").is_secret());
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(neutralise("a\x1b[2Jb\u{202e}\tc\n"), "a\\u{1b}[2Jb\\u{202e}\tc\n");
    }
}
