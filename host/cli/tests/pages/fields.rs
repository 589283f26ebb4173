//! Each field of our own documents, as its declaration makes it part of a schema, is on the page of its
//! kind. Score's own format is described by Score. The pipes of placeholders are on theirs.

use std::collections::BTreeSet;
use std::fs;

use purlin_model::Pipe;
use purlin_systems::Project;
use serde_json::Value;

/// Kinds, and the pages below `docs/src` that describe their fields.
const PAGES: [(&str, &[&str]); 9] = [
    (
        "deployment",
        &[
            "reference/documents/deployment.md",
            "reference/documents/definition.md",
            "reference/documents/bundle.md",
        ],
    ),
    ("manifest", &["reference/manifests.md"]),
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

fn schema(kind: &str) -> Value {
    Project::empty().purlin(&["schema", kind]).json()
}

#[test]
fn each_kind_of_document_has_its_page() {
    let help = Project::empty().purlin(&["schema", "--help"]).out;
    let (_, rest) = help.split_once("[possible values: ").expect("the kinds");
    let (kinds, _) = rest.split_once(']').expect("the end of the kinds");
    let kinds: BTreeSet<&str> = kinds.split(',').map(str::trim).collect();
    let described: BTreeSet<&str> = PAGES.iter().map(|(kind, _)| *kind).chain(["score"]).collect();
    assert_eq!(kinds, described);
}

#[test]
fn each_pipe_is_on_the_page_of_placeholders() {
    let page = fs::read_to_string(crate::root().join("docs/src/reference/expressions.md")).expect("a page");
    let (_, rest) = page.split_once("\npipe        = ").expect("the grammar");
    let grammar = rest.lines().next().unwrap_or_default();
    let (_, table) = page.split_once("| pipe | input | result |").expect("the table");
    let table = table.split("\n\n").next().unwrap_or_default();
    for (name, _) in Pipe::ALL {
        assert!(grammar.contains(&format!("\"{name}\"")), "the grammar lacks `{name}`: {grammar}");
        assert!(table.contains(&format!("`{name}`")), "the table lacks `{name}`: {table}");
    }
}

#[test]
fn each_field_is_on_the_page_of_its_kind() {
    for (kind, pages) in PAGES {
        let (mut fields, mut of_score) = (BTreeSet::new(), BTreeSet::new());
        names(&schema(kind), &mut fields);
        names(&schema("score"), &mut of_score);
        // A Deployment has workloads in Score's form.
        fields.retain(|name| kind != "deployment" || !of_score.contains(name));
        let page =
            |page: &&str| fs::read_to_string(crate::root().join("docs/src").join(page)).expect("a page");
        let text: String = pages.iter().map(page).collect();
        let is_of_a_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.' | '/');
        let words = text.split(|c| !is_of_a_name(c)).map(|word| word.trim_matches(['.', '/']));
        // A field is named alone or in a path.
        let words: BTreeSet<&str> = words.flat_map(|word| word.split('.').chain([word])).collect();
        let missing: Vec<&String> = fields.iter().filter(|field| !words.contains(field.as_str())).collect();
        assert!(missing.is_empty(), "{kind}: no word about {missing:?} in {pages:?}");
        assert!(fields.len() > 5, "{kind}: {fields:?}");
    }
}
