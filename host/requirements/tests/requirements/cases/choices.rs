//! Which bundle and which version is chosen, and why.

use std::sync::Arc;

use purlin_model::{Choices, RequirementContext, ValueKind};
use purlin_requirements::{Rejection, Why};

use super::{DB, app, db, of};
use crate::support::{after, bundle, catalog, errors, resolved};

/// A bundle that `--with` named stays until a person revokes it.
#[test]
fn a_named_bundle_is_remembered() {
    let versions = ["1.0.0", "2.0.0"].map(|version| bundle("db", version, DB));
    let app = app("- name: db\n  bundle: {reference: 'acme/db:v1.0.0', version: '1.x'}");
    let catalog = catalog(&[&versions[..], &[app]].concat());
    let with = |reference: Option<&str>| {
        let reference = reference.map(|text| text.parse().expect("a reference"));
        Choices { with: [(Arc::from("db"), reference)].into(), ..Choices::default() }
    };
    let resolution = |now: Choices, before: Choices| {
        let resolution = resolved(
            &catalog,
            "acme/app:v1.0.0",
            &RequirementContext { now, before, ..RequirementContext::default() },
        );
        let db = &resolution.installations[0];
        (db.reference.to_string(), db.why.code(), resolution.choices)
    };
    let (reference, why, before) = resolution(with(Some("acme/db:v2.0.0")), Choices::default());
    assert_eq!((&*reference, why), ("acme/db:v2.0.0", "named"));
    let (reference, why, again) = resolution(Choices::default(), before.clone());
    assert_eq!((&*reference, why), ("acme/db:v2.0.0", "named-before"));
    assert_eq!(before, again);
    let (reference, why, forgotten) = resolution(with(None), before);
    assert_eq!((&*reference, why), ("acme/db:v1.0.0", "highest-in-range"));
    assert!(forgotten.is_empty());
}

/// IFACE-*, INST-08, INST-10, INST-11, INST-13, and `$id` before the name.
#[test]
fn a_bundle_must_have_the_used_and_requested_outputs() {
    let wants = |interface: &str, outputs: &str| {
        let requires =
            format!("- name: db\n  bundle: {{reference: 'acme/db:v1.0.0', interface: {{{interface}}}}}\n");
        let db = bundle("db", "1.0.0", &format!("outputs: [{outputs}]"));
        let wide = bundle("wide", "1.0.0", "outputs: [{name: port, type: integer}]");
        errors(&of(&[db, wide, app(&requires)]))
    };
    let (fits, fails): (&[&str], &[&str]) = (&[], &["no-bundle"]);
    assert_eq!(wants("id: 'https://example.com/db'", ""), fails, "it does not provide the interface");
    assert_eq!(wants("document: {outputs: [{name: port}]}", "{name: port}"), fits);
    assert_eq!(wants("document: {outputs: [{name: port}]}", "{name: connstr}"), fails);
    assert_eq!(
        wants(
            "document: {outputs: [{name: port}], parameters: [{name: level, type: string}]}",
            "{name: port}"
        ),
        fails,
        "it lacks the parameter"
    );
    assert_eq!(wants("reference: 'acme/wide:v1.0.0'", "{name: port, type: integer}"), fits);
    assert_eq!(wants("reference: 'acme/wide:v1.0.0'", "{name: connstr}"), fails);
    assert_eq!(
        wants("reference: 'acme/wide:v1.0.0'", "{name: port, type: string}"),
        fails,
        "of another type"
    );
    assert_eq!(wants("reference: 'acme/lost:v1.0.0'", ""), fits, "an unknown bundle requires nothing");
    let pattern = "outputs: [{name: port, type: string, pattern: '^a'}]";
    assert_eq!(wants(pattern, "{name: port, type: string}"), fails, "it may have other values");
    assert_eq!(wants(pattern, "{name: port, enum: [ab, ac]}"), fits, "each of its values fits");
    let id = "document: {outputs: [{name: port, $id: 'https://example.com/port'}]}";
    assert_eq!(wants(id, "{name: listens, $id: 'https://example.com/port'}"), fits);
    assert_eq!(wants(id, "{name: port, $id: 'https://example.com/other'}"), fails);
}

/// RES-07, RES-12 by the design, and `--with`.
#[test]
fn each_choice_has_its_reason_and_each_loser_too() {
    let versions = ["1.0.0", "1.2.0", "1.3.0-beta.1", "2.0.0"].map(|version| bundle("db", version, DB));
    let app = app("- name: db\n  bundle: {reference: 'acme/db:v1.0.0', version: '1.x'}");
    let catalog = catalog(&[&versions[..], &[app]].concat());
    let resolution = resolved(&catalog, "acme/app:v1.0.0", &RequirementContext::default());
    let db = &resolution.installations[0];
    assert_eq!(db.reference.to_string(), "acme/db:v1.2.0");
    assert!(matches!(db.why, Why::HighestInRange(_)));
    let mut lost: Vec<String> = db.lost.iter().map(|(one, why)| format!("{one} {why:?}")).collect();
    lost.sort();
    assert_eq!(
        lost,
        ["acme/db:v1.0.0 Lower", "acme/db:v1.3.0-beta.1 OutOfRange", "acme/db:v2.0.0 OutOfRange"]
    );
    let with = |name: &str| {
        let with = [(Arc::from(name), Some("acme/db:v2.0.0".parse().expect("a reference")))].into();
        let now = Choices { with, ..Choices::default() };
        resolved(&catalog, "acme/app:v1.0.0", &RequirementContext { now, ..RequirementContext::default() })
    };
    for name in ["db", "root/db"] {
        let resolution = with(name);
        assert_eq!(resolution.installations[0].reference.to_string(), "acme/db:v2.0.0");
        assert_eq!(resolution.installations[0].why, Why::Named);
    }
    assert_eq!(errors(&with("bd")), ["unknown-requirement"]);
}

/// Step 3 after the interface: the highest version that offers the requested outputs.
#[test]
fn a_version_that_lacks_an_output_loses() {
    let app = app(
        "- name: db\n  bundle: {reference: acme/db, version: '>=1'}\n  outputs: {url: '${outputs.connstr}'}",
    );
    let bundles = [db(), bundle("db", "2.0.0", "outputs: [{name: other}]"), app];
    let resolution = of(&bundles);
    let db = &resolution.installations[0];
    assert_eq!(db.reference.to_string(), "acme/db:v1.0.0");
    assert_eq!(db.lost[0].1, Rejection::Lacks(ValueKind::Output, "connstr".into()));
}

/// An installed bundle stays at its version while that fits, and a newer one is offered.
#[test]
fn a_new_version_is_offered_and_not_taken() {
    let version = |version: &str| bundle("db", version, DB);
    let app = app("- name: db\n  bundle: {reference: 'acme/db', version: '1.x'}");
    let first = resolved(
        &catalog(&[version("1.0.0"), app.clone()]),
        "acme/app:v1.0.0",
        &RequirementContext::default(),
    );
    let newer =
        catalog(&[version("1.0.0"), version("1.1.0"), version("1.2.0"), version("2.0.0"), app.clone()]);
    let second = resolved(&newer, "acme/app:v1.0.0", &after(&first));
    let db = &second.installations[0];
    assert_eq!((db.reference.to_string(), db.why.clone()), ("acme/db:v1.0.0".to_owned(), Why::Installed));
    let offer = &second.offers[0];
    assert_eq!((&*offer.installation, offer.newer.to_string()), ("root/db", "acme/db:v1.2.0".to_owned()));
    let mut lost: Vec<String> = db.lost.iter().map(|(one, why)| format!("{one} {why:?}")).collect();
    lost.sort();
    assert_eq!(lost, ["acme/db:v1.1.0 Lower", "acme/db:v1.2.0 Newer", "acme/db:v2.0.0 OutOfRange"]);
    // A person who requests it gets it, and it stays.
    let with = [(Arc::from("db"), Some("acme/db:v1.2.0".parse().expect("a reference")))].into();
    let context = RequirementContext { now: Choices { with, ..Choices::default() }, ..after(&second) };
    let third = resolved(&newer, "acme/app:v1.0.0", &context);
    assert_eq!(
        (third.installations[0].reference.to_string(), third.offers.len()),
        ("acme/db:v1.2.0".to_owned(), 0)
    );
    // And the next one is offered again.
    let newest = catalog(&[version("1.2.0"), version("1.3.0"), app.clone()]);
    assert!(third.choices.is_empty());
    let again = resolved(&newest, "acme/app:v1.0.0", &after(&third));
    assert_eq!(
        (again.installations[0].reference.to_string(), again.offers.len()),
        ("acme/db:v1.2.0".to_owned(), 1)
    );
    // A bundle that disappeared from the catalog, or does not fit any more, is replaced.
    let gone = catalog(&[version("1.1.0"), app]);
    let fourth = resolved(&gone, "acme/app:v1.0.0", &after(&first));
    assert_eq!(
        (fourth.installations[0].reference.to_string(), fourth.offers.len()),
        ("acme/db:v1.1.0".to_owned(), 0)
    );
}
