//! Code that must never panic, whatever it reads: everything that comes from a document, a command
//! line, a state or a driver.
//!
//! A target takes bytes. It may check more than panics: for example, that written data reads back
//! the same. The fuzzer is in `main.rs`; without it the targets run over its earlier findings.
#![allow(clippy::panic, clippy::expect_used, reason = "a target fails by panicking")]

mod components;

use purlin_documents::{Input, load};
use purlin_expression::{Dialect, parse_descriptor, parse_input_path, parse_selector, parse_text};
use purlin_model::grants::{Endpoint, HostPattern, HttpGrant, PathPattern, is_plain_path};
use purlin_model::{Key, Location, Urn};

/// Reads bytes, and panics if they show a fault.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("documents", documents),
    ("workspace", workspace),
    ("score", score),
    ("expressions", expressions),
    ("descriptors", descriptors),
    ("grants", grants),
    ("state", state),
    ("answers", answers),
    ("schemas", schemas),
    ("secrets", purlin_sandbox::fuzz::secrets),
    ("artifacts", purlin_sandbox::fuzz::artifact),
    ("workers", purlin_sandbox::fuzz::worker),
    ("components", components::target),
];

/// A driver's schema, and a value that is checked against it: `[SCHEMA, VALUE]`.
fn schemas(bytes: &[u8]) {
    let Ok((schema, value)) = serde_json::from_slice::<(serde_json::Value, serde_json::Value)>(bytes) else {
        return;
    };
    let Ok(schema) = purlin_schema::Schema::new(&schema) else { return };
    let value = purlin_model::Value::from(value);
    for violation in schema.validate(&value).into_iter().flatten() {
        let diagnostic = purlin_schema::say(purlin_schema::Subject::Inputs("a/driver"), &violation);
        assert!(!diagnostic.message.is_empty());
    }
    let sealed = schema.seal(value.clone());
    assert_eq!(sealed.reveal().ok(), value.reveal().ok(), "a sealed value is the same value");
    schema.fill(&["values"], &mut value.clone(), &|_| true);
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Any document, alone, and the messages about it.
fn documents(bytes: &[u8]) {
    read("fuzzed.yaml", "", bytes);
}

/// The operator's file, and the lock beside it.
fn workspace(bytes: &[u8]) {
    read("purlin.yaml", "apiVersion: purlin.dev/v1\nkind: Workspace\n", bytes);
    read("purlin.lock", "apiVersion: purlin.dev/v1\nkind: Lock\n", bytes);
}

/// Score files, and references to their resources.
fn score(bytes: &[u8]) {
    read("score.yaml", "apiVersion: score.dev/v1b1\nmetadata: {name: web}\n", bytes);
}

fn read(name: &str, head: &str, bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let text = format!("{head}{text}");
    let loaded = load(&[Input::Text { name: name.into(), text }]);
    for width in [20, 80] {
        let shown = loaded.sources.render(&loaded.diagnostics, false, width);
        let escape = shown.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(escape, None, "what is shown holds a control character: {shown:?}");
    }
}

/// Texts with placeholders, in every dialect.
fn expressions(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    for dialect in [Dialect::Definition, Dialect::Score, Dialect::DeploymentSet] {
        let at = |offset: usize| {
            assert!(text.is_char_boundary(offset), "a fault within a character, at {offset}");
            Location::new("fuzzed.yaml", 1, 1)
        };
        if let Err(faults) = parse_text(text, dialect, &at) {
            assert!(!faults.is_empty(), "refused without a reason");
        }
    }
    let _ = parse_input_path(text);
}

/// Names of resources.
fn descriptors(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    if let Ok(descriptor) = parse_descriptor(text) {
        assert_eq!(parse_descriptor(&descriptor.to_string()).as_ref(), Ok(&descriptor), "of {text:?}");
    }
    if let Ok(selector) = parse_selector(text) {
        assert_eq!(parse_selector(&selector.to_string()).as_ref(), Ok(&selector), "of {text:?}");
    }
    if let Ok(key) = Key::parse(text) {
        assert_eq!(Key::parse(key.as_str()).as_ref(), Ok(&key));
    }
    if let Ok(urn) = Urn::parse(text) {
        assert_eq!(Urn::parse(urn.as_str()).as_ref(), Ok(&urn));
        let _ = (urn.key(), urn.guresid());
    }
}

/// Patterns of grants, and the targets that they allow.
fn grants(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let (text, other) = text.split_once('\n').unwrap_or((text, "/"));
    if let Ok(grant) = HttpGrant::parse(text) {
        assert_eq!(HttpGrant::parse(&grant.to_string()).as_ref(), Ok(&grant), "of {text:?}");
    }
    if let Ok(endpoint) = Endpoint::parse(text) {
        assert_eq!(Endpoint::parse(&endpoint.to_string()).as_ref(), Ok(&endpoint), "of {text:?}");
    }
    if let Ok(host) = HostPattern::parse(text) {
        assert_eq!(HostPattern::parse(&host.to_string()).as_ref(), Ok(&host), "of {text:?}");
        let matches = host.matches_name(other);
        let is_meant = match &host {
            HostPattern::Any => true,
            HostPattern::Name(name) => other.to_ascii_lowercase() == **name,
            HostPattern::Below(name) => {
                other.len() > name.len() + 1 && other.to_ascii_lowercase().ends_with(&format!(".{name}"))
            }
            HostPattern::Network(_) => false,
        };
        assert_eq!(matches, is_meant, "{text:?} and {other:?}");
    }
    if let Ok(path) = PathPattern::parse(text) {
        let full = path.to_string();
        if path.matches(other) && full != "/*" {
            assert!(is_plain_path(other), "{other:?} got through {text:?}");
            assert!(other.starts_with(full.trim_end_matches('*')), "{other:?} got through {text:?}");
        }
    }
}

/// Records and changes of a state.
fn state(bytes: &[u8]) {
    if let Ok(changes) = purlin_state::decode_changes(bytes) {
        let written = purlin_state::encode_changes(&changes).expect("what was read can be written");
        let again = purlin_state::decode_changes(&written).expect("what was written can be read");
        assert_eq!(again, changes);
    }
}

/// Results of a driver.
fn answers(bytes: &[u8]) {
    purlin_sandbox::fuzz::answer(bytes);
}
