//! Each field of our own documents, as its declaration makes it part of a schema, is on the page of its
//! kind. Score's own format is described by Score.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

/// Kinds, and the pages below `docs/src` that describe their fields.
const PAGES: [(&str, &[&str]); 7] = [
    ("definition", &["reference/documents/definition.md", "reference/documents/bundle.md"]),
    ("deployment-set", &["reference/documents/deployment-set.md"]),
    ("resource-type", &["reference/documents/resource-type.md"]),
    ("workspace", &["reference/documents/workspace.md", "reference/grants.md"]),
    ("bundle", &["reference/documents/bundle.md", "reference/documents/definition.md"]),
    ("lock", &["reference/grants.md", "reference/files.md", "reference/json.md"]),
    ("driver-cases", &["reference/conformance.md", "guides/check-a-driver.md"]),
];

/// The names of the properties in a schema.
fn names(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let properties = fields.get("properties").and_then(Value::as_object);
            found.extend(properties.into_iter().flatten().map(|(name, _)| name.clone()));
            fields.values().for_each(|value| names(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        _ => {}
    }
}

#[test]
fn each_field_is_on_the_page_of_its_kind() {
    for (kind, pages) in PAGES {
        let done = Command::new(env!("CARGO_BIN_EXE_purlin")).args(["schema", kind]).output();
        let schema: Value = serde_json::from_slice(&done.expect("purlin runs").stdout).expect("JSON");
        let mut fields = BTreeSet::new();
        names(&schema, &mut fields);
        let page =
            |page: &&str| fs::read_to_string(crate::root().join("docs/src").join(page)).expect("a page");
        let text: String = pages.iter().map(page).collect();
        let is_of_a_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
        let words: BTreeSet<&str> = text.split(|c| !is_of_a_name(c)).collect();
        let missing: Vec<&String> = fields.iter().filter(|field| !words.contains(field.as_str())).collect();
        assert!(missing.is_empty(), "{kind}: no word about {missing:?} in {pages:?}");
        assert!(fields.len() > 5, "{kind}: {fields:?}");
    }
}
