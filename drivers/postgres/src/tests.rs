//! Tests that need no server.

use purlin_sdk::testing::{self, inputs, subject, unknown};
use purlin_sdk::{Failure, Json};
use serde_json::json;

use crate::Postgres;

fn check(document: &Json) -> Result<Json, Failure> {
    testing::check::<Postgres>(inputs(document), None).map(|checked| checked.values)
}

/// Inputs with these values, for a server.
fn given(values: &Json) -> Json {
    json!({"connection": {"host": "db.internal", "tls": "require"}, "values": values})
}

#[test]
fn a_name_is_filled_in_and_stays() {
    let values = check(&given(&json!({"database": {"encoding": "utf-8", "owner": null}, "role": null})))
        .expect("values");
    let name = format!("demo_{}", &subject().guresid[..12]);
    assert_eq!(values["database"]["name"], json!(name));
    assert_eq!(values["database"]["encoding"], "UTF8");
    assert_eq!(check(&given(&values)).ok(), Some(values));
}

#[test]
fn just_one_thing_is_wanted() {
    for things in [json!({}), json!({"role": {}, "database": {}})] {
        let text = check(&given(&things)).map_err(|failure| failure.to_string());
        assert!(text.as_ref().is_err_and(|text| text.contains("exactly one of")), "{text:?}");
    }
}

#[test]
fn without_a_word_on_tls_the_server_has_to_prove_who_it_is() {
    let faults = check(&json!({"connection": {"host": "127.0.0.1"}, "values": {"role": {}}}));
    let text = faults.map_err(|failure| failure.to_string());
    assert!(text.as_ref().is_err_and(|text| text.contains("/connection/ca: is missing")), "{text:?}");
}

#[test]
fn unknown_values_are_no_fault_and_stay_unknown() {
    let document = given(&json!({"database": {"name": null, "owner": null}}));
    let given = unknown(inputs(&document), &["/values/database/name", "/values/database/owner"]);
    let values = testing::check::<Postgres>(given, None).expect("values").values;
    assert_eq!(values["database"]["name"], Json::Null);
    let database = values["database"].as_object().expect("an object");
    assert!(database.contains_key("owner"));
}

/// The result of `check` for these inputs.
fn checked(document: &Json) -> Json {
    json!({"connection": document["connection"], "values": check(document).expect("values")})
}

#[test]
fn another_kind_replaces_and_another_spelling_does_not() {
    let of = |values: Json| checked(&given(&values));
    let state = purlin_sdk::State::new("x").outputs(json!({"name": "a"})).expect("a state");
    let before = || of(json!({"database": {"name": "a", "encoding": "UTF8"}}));
    let impact = |after: Json| {
        testing::update_impact::<Postgres>(inputs(&before()), inputs(&after), &state).expect("an impact")
    };
    let spelled = of(json!({"database": {"name": "b", "encoding": "utf_8"}}));
    assert_eq!(spelled["values"]["database"]["encoding"], before()["values"]["database"]["encoding"]);
    assert!(impact(spelled).replaces.is_empty());
    let role = impact(of(json!({"role": {"name": "a"}})));
    assert_eq!(role.replaces, ["/values/database", "/values/role"]);
    assert!(role.delete_before_replace);
}

/// If the new one is on another server, the old one need not go first.
#[test]
fn another_server_has_room_for_both() {
    let of = |host: &str| {
        checked(&json!({"connection": {"host": host, "tls": "require"}, "values": {"role": {}}}))
    };
    let state = purlin_sdk::State::new("x");
    let (before, after) = (inputs(&of("a")), inputs(&of("b")));
    let impact = testing::update_impact::<Postgres>(before, after, &state).expect("an impact");
    assert!(!impact.delete_before_replace);
}

#[test]
fn the_readme_has_the_tables_of_the_schema() {
    testing::check_readme::<Postgres>(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
        .expect("the README agrees");
}
