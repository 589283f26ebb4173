//! What needs no server.

use purlin_sdk::testing::{self, inputs, resource, unknown};
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
fn defaults_are_filled_in_and_stay() {
    let values = check(&given(&json!({"database": {"encoding": "utf-8"}}))).expect("values");
    let name = format!("demo_{}", &resource().guresid[..12]);
    assert_eq!(values["database"]["name"], json!(name));
    assert_eq!(values["database"]["encoding"], "UTF8");
    assert_eq!(check(&given(&values)).ok(), Some(values));
}

#[test]
fn just_one_thing_is_wanted() {
    for things in [json!({}), json!({"role": {}, "database": {}})] {
        let text = check(&given(&things)).map_err(|failure| failure.to_string());
        assert!(text.as_ref().is_err_and(|text| text.contains("just one of")), "{text:?}");
    }
}

#[test]
fn without_a_word_on_tls_the_server_has_to_prove_who_it_is() {
    let faults = check(&json!({"connection": {"host": "127.0.0.1"}, "values": {"role": {}}}));
    let text = faults.map_err(|failure| failure.to_string());
    assert!(text.as_ref().is_err_and(|text| text.contains("/connection/ca: is missing")), "{text:?}");
}

#[test]
fn what_is_not_known_yet_is_no_fault_and_stays_open() {
    let document = given(&json!({"database": {"name": null, "owner": null}}));
    let given = unknown(inputs(&document), &["/values/database/name", "/values/database/owner"]);
    let values = testing::check::<Postgres>(given, None).expect("values").values;
    assert_eq!(values["database"]["name"], Json::Null);
    let database = values["database"].as_object().expect("an object");
    assert!(database.contains_key("owner") && database["force"] == json!(false));
}

/// The inputs that `check` makes of these.
fn checked(document: &Json) -> Json {
    json!({"connection": document["connection"], "values": check(document).expect("values")})
}

#[test]
fn another_kind_replaces_and_another_spelling_is_no_change() {
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

/// What is somewhere else does not have to go before.
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
fn the_schema_says_what_a_connection_is() {
    let schema = crate::inputs::input_schema();
    let connection = &schema["properties"]["connection"];
    assert_eq!(connection["additionalProperties"], false);
    assert_eq!(schema["required"], json!(["values", "connection"]));
    let with = |keyword: &str, value: Json| {
        let all = connection["properties"].as_object().expect("properties");
        all.iter().filter(|(_, of)| of[keyword] == value).map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(with("x-purlin-replaces", json!(true)), ["host", "port"]);
    assert_eq!(with("writeOnly", json!(true)), ["password"]);
    // What the schema fills in is what the driver takes for missing.
    let mut document = json!({"host": "h"});
    for (name, of) in connection["properties"].as_object().expect("properties") {
        if let Some(default) = of.get("default") {
            document[name] = default.clone();
        }
    }
    let read =
        |document: Json| serde_json::from_value::<crate::inputs::Connection>(document).expect("a connection");
    let (filled, bare) = (read(document), read(json!({"host": "h"})));
    assert_eq!(format!("{:?}", filled.place()), format!("{:?}", bare.place()));
    assert_eq!((&filled.user, &filled.database), (&bare.user, &bare.database));
    let values = &schema["properties"]["values"]["properties"];
    for fixed in ["/database/properties/encoding", "/database/properties/template"] {
        assert_eq!(values.pointer(fixed).expect("a property")["x-purlin-replaces"], true);
    }
}
