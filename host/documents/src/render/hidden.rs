//! Hides literal secrets of a document in the rendered text.
//!
//! A secret belongs in a secret store, and documents only name it. If there is one in a document
//! all the same, an error about its line would print it to the log of a pipeline (SPEC §6: secret
//! everywhere). The document alone determines what is secret, because it may be wrong before any
//! driver has run.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use purlin_expression::{Dialect, lost_placeholders};

use crate::yaml::{self, Entry, Node, NodeKind, Style};

/// Replaces each character of a secret, so that columns stay as they are.
const MASK: char = '*';

/// What an age identity begins with.
const IDENTITY: &str = "AGE-SECRET-KEY-";

/// The text with its secrets masked, character by character, and with others that schemas know; none if
/// it has none.
pub(crate) fn masked(file: &Arc<str>, text: &str, others: &[Range<usize>]) -> Option<String> {
    let mut secrets: Vec<Secret> = others.iter().map(|bytes| (bytes.clone(), Style::Plain)).collect();
    let faults = yaml::parse(file, text, &mut |document| find(&document.root, false, &mut secrets));
    if !faults.is_empty() {
        in_broken_lines(text, &mut secrets);
    }
    // The key of a state is secret whatever the file is.
    for (at, _) in text.match_indices(IDENTITY) {
        let rest = text.get(at..).unwrap_or_default();
        let is_end = |c: char| c.is_whitespace() || matches!(c, '\'' | '"');
        secrets.push((at..at + rest.find(is_end).unwrap_or(rest.len()), Style::Plain));
    }
    if secrets.is_empty() {
        return None;
    }
    secrets.sort_by_key(|(secret, _)| (secret.start, Reverse(secret.end)));
    let mut masked = String::with_capacity(text.len());
    let mut shown_to = 0;
    for (secret, style) in secrets {
        // One may be part of another one.
        if secret.start < shown_to {
            continue;
        }
        let Some(before) = text.get(shown_to..secret.start) else { continue };
        masked.push_str(before);
        mask(text.get(secret.clone()).unwrap_or_default(), style, &mut masked);
        shown_to = secret.end;
    }
    masked.push_str(text.get(shown_to..).unwrap_or_default());
    Some(masked)
}

/// A secret in a text, and how it is written.
type Secret = (Range<usize>, Style);

/// Adds the secrets of a text that has no tree, or only parts of one, by its lines: the value of a
/// line with the name of a credential, and everything below a map of secrets.
fn in_broken_lines(text: &str, secrets: &mut Vec<Secret>) {
    let mut at = 0;
    // The indentation of the line whose lines below are secret.
    let mut below: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        let start = at + indent;
        at += line.len();
        let content = content.trim_end();
        if content.is_empty() {
            continue;
        }
        below = below.filter(|outer| indent > *outer);
        let (holds, value) = match after_credential(content) {
            Some(value) => (true, value),
            None if below.is_none() => continue,
            None => (false, content.split_once(": ").map_or(content, |(_, value)| value.trim_start())),
        };
        if !value.is_empty() {
            let from = start + content.len() - value.len();
            secrets.push((from..start + content.len(), Style::Plain));
        }
        if holds && below.is_none() && (value.is_empty() || value.starts_with(['|', '>'])) {
            below = Some(indent);
        }
    }
}

/// The rest of a line after the first key that names a credential, or a map of secrets.
fn after_credential(line: &str) -> Option<&str> {
    line.match_indices(':').find_map(|(at, _)| {
        let before = line.get(..at)?.trim_end_matches([' ', '"', '\'']);
        let name = before.rsplit([' ', '{', '[', ',', '"', '\'']).next()?;
        let is_map = matches!(name, "secrets" | "credentials" | "stringData");
        (is_map || names_a_credential(name)).then(|| line.get(at + 1..).map(str::trim_start))?
    })
}

/// The words of a line that its masked form hides, long ones first.
pub(crate) fn secret_words<'t>(text: &'t str, shown: &str) -> Vec<&'t str> {
    /// Shorter ones reveal nothing, and are part of many words.
    const SHORT: usize = 3;
    let mut hidden = text.chars().zip(shown.chars()).map(|(c, shown)| c != shown);
    let whole: Vec<&str> = text.split(|_: char| !hidden.next().unwrap_or(false)).collect();
    let parts = whole.iter().flat_map(|word| word.split(|c: char| !c.is_alphanumeric()));
    let mut words: Vec<&str> = whole.iter().copied().chain(parts).collect();
    words.retain(|word| word.chars().count() >= SHORT);
    words.sort_by_key(|word| Reverse(word.len()));
    words.dedup();
    words
}

/// A text without these words.
pub(crate) fn without(text: &str, words: &[&str]) -> String {
    words.iter().fold(text.to_owned(), |text, word| text.replace(word, "***"))
}

fn is_lost_placeholder(text: &str) -> bool {
    let lost = lost_placeholders(text, Dialect::Definition);
    matches!(&*lost, [(part, _)] if *part == (0..text.len()))
}

/// Adds the secrets of a node, in the order of the text.
fn find(node: &Node<'_>, is_secret: bool, secrets: &mut Vec<Secret>) {
    match &node.kind {
        NodeKind::Map(entries) => {
            let is_manifest = node.get("kind").and_then(Node::as_str) == Some("Secret");
            for entry in entries {
                let in_manifest = is_manifest && matches!(&*entry.key, "data" | "stringData");
                match &entry.value.kind {
                    // References name secrets, except one that is given as `value`.
                    NodeKind::Map(references) if &*entry.key == "secret_refs" => {
                        let given = references.iter().filter_map(|reference| reference.value.get("value"));
                        given.for_each(|value| find(value, true, secrets));
                    }
                    NodeKind::Map(accounts) if &*entry.key == "accounts" => {
                        accounts.iter().for_each(|account| of_account(&account.value, secrets));
                    }
                    _ => find(&entry.value, is_secret || in_manifest || holds_secrets(entry), secrets),
                }
            }
        }
        NodeKind::List(items) => items.iter().for_each(|item| find(item, is_secret, secrets)),
        // A placeholder that lost its `$` is no secret, and its help shows how it is written.
        NodeKind::String(text, _) if is_lost_placeholder(text) => {}
        NodeKind::String(..) | NodeKind::Number(_) if is_secret => {
            let style = if let NodeKind::String(_, style) = node.kind { style } else { Style::Plain };
            secrets.push((node.span.start as usize..node.span.end as usize, style));
        }
        NodeKind::String(..) | NodeKind::Number(_) | NodeKind::Null | NodeKind::Bool(_) => {}
    }
}

/// Adds the fields of an account. Which of them are secret is known only to the drivers that read them.
fn of_account(node: &Node<'_>, secrets: &mut Vec<Secret>) {
    for entry in node.entries().unwrap_or_default() {
        let is_reference = |node: &Node<'_>| node.get("store").is_some() && node.get("ref").is_some();
        match &entry.value.kind {
            NodeKind::Map(fields) if &*entry.key == "fields" => {
                let given = fields.iter().filter(|field| !is_reference(&field.value));
                given.for_each(|field| find(&field.value, true, secrets));
            }
            _ => find(&entry.value, &*entry.key == "fields" || holds_secrets(entry), secrets),
        }
    }
}

/// Whether all content of an entry is secret: the map `secrets` of inputs, or a field with the name
/// of a credential.
fn holds_secrets(entry: &Entry<'_>) -> bool {
    match &entry.value.kind {
        NodeKind::Map(_) => matches!(&*entry.key, "secrets" | "credentials"),
        // A list with this name is a list of names, as in the grants of a driver.
        NodeKind::List(_) => &*entry.key != "secrets" && names_a_credential(&entry.key),
        _ => names_a_credential(&entry.key),
    }
}

/// Whether a name is that of a password, a token or a private key, however its words are joined.
pub fn names_a_credential(name: &str) -> bool {
    let mut letters = name.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    letters.make_ascii_lowercase();
    let ends = |end: &str| letters.strip_suffix('s').unwrap_or(&letters).ends_with(end);
    ["password", "passwd", "passphrase", "secret", "token", "credential"].into_iter().any(ends)
        || ["apikey", "secretkey", "privatekey", "accesskey", "secretaccesskey"].into_iter().any(ends)
        || letters.ends_with("pass")
}

/// Masks everything except spaces, placeholders and the quotation marks of a string, which reveal
/// nothing about a secret.
fn mask(secret: &str, style: Style, masked: &mut String) {
    let quote = match style {
        Style::Single => "'",
        Style::Double => "\"",
        Style::Plain | Style::Block => "",
    };
    let inside = secret.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let (quote, mut rest) = inside.map_or(("", secret), |inside| (quote, inside));
    masked.push_str(quote);
    while let Some(c) = rest.chars().next() {
        let placeholder =
            rest.strip_prefix("${").and_then(|inside| inside.find('}')).map_or(0, |end| end + 3);
        if placeholder > 0 {
            masked.push_str(&rest[..placeholder]);
            rest = &rest[placeholder..];
        } else {
            masked.push(if c.is_whitespace() { c } else { MASK });
            rest = &rest[c.len_utf8()..];
        }
    }
    masked.push_str(quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        masked(&"a.yaml".into(), text, &[]).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn credentials_are_masked_everywhere() {
        let cases = [
            ("a: {url: http://x, api_key: s3cr3t, b: 1}", "a: {url: http://x, api_key: ******, b: 1}"),
            ("inputs: {secrets: {a: {b: [x, 12]}}}", "inputs: {secrets: {a: {b: [*, **]}}}"),
            ("dbPassword: 'two words'", "dbPassword: '*** *****'"),
            (r#"dbPassword: "a \" b""#, r#"dbPassword: "* ** *""#),
            (r#"{"token": "s3cr3t", "x": "y"}"#, r#"{"token": "******", "x": "y"}"#),
            ("key: \"AGE-SECRET-KEY-1AB\"\nb: c", "key: \"******************\"\nb: c"),
            ("tokens: [ab, é]\nlast: x", "tokens: [**, *]\nlast: x"),
            ("secret_access_key: |\n  one\n  two\nb: c", "secret_access_key: |\n  ***\n  ***\nb: c"),
            ("password: |\n  \"one\"\nb: c", "password: |\n  *****\nb: c"),
            (
                "secret_refs: {a: {store: vault, ref: db}, b: {value: x}}",
                "secret_refs: {a: {store: vault, ref: db}, b: {value: *}}",
            ),
            ("kind: Secret\nstringData: {a: b}", "kind: Secret\nstringData: {a: *}"),
            (
                "secrets: {dsn: 'pg://u:p@${resources.db.outputs.host}/x'}",
                "secrets: {dsn: '*********${resources.db.outputs.host}**'}",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn credentials_of_broken_documents_are_masked() {
        for (text, expected) in [
            ("a: b\npassword: s3: x: y\nc: d", "a: b\npassword: *** ** *\nc: d"),
            ("secrets:\n  a: \"b\n  c: d\ne: f", "secrets:\n  a: **\n  c: *\ne: f"),
            ("token: |\n  one\n  two\nb: {", "token: *\n  ***\n  ***\nb: {"),
            ("a: {\"apiKey\": \"xy\", b: [", "a: {\"apiKey\": ***** ** *"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_schemas_declare_secret_is_masked_with_its_keys() {
        let text = "a: {b: {k: v, 'x y': ['${resources.x}', 1]}, password: p}";
        let part = |part: &str| text.find(part).map(|at| at..at + part.len()).expect("a part");
        let others =
            [part("'x y': ['${resources.x}', 1]"), part("{k: v, 'x y': ['${resources.x}', 1]}"), part("v")];
        let shown = masked(&"a.yaml".into(), text, &others).expect("masked");
        assert_eq!(shown, "a: {b: *** ** ** *** **${resources.x}** ***, password: *}");
        assert_eq!(masked(&"a.yaml".into(), "a: b", &[]), None);
    }

    #[test]
    fn words_of_a_fault_are_those_of_its_line() {
        let (text, shown) = ("password: s3-hunter2: tail", "password: *********** ****");
        let words = secret_words(text, shown);
        assert_eq!(words, ["s3-hunter2:", "hunter2", "tail"]);
        assert_eq!(without("quote it: \"s3-hunter2: tail\"", &words), "quote it: \"*** ***\"");
    }

    #[test]
    fn other_values_stay_readable() {
        for text in [
            "grants: {secrets: [vault]}",
            "secret: true",
            "secret_refs: {a: b}",
            "password: ${secrets.vault.db}",
            "password: \"${secrets.vault.db}\"",
            "password: '${secrets.vault.db}'",
            "token_ttl: 5m",
            "password_length: 24",
            "secretName: tls",
            "key: value",
        ] {
            assert_eq!(shown(text), text);
        }
    }
}
