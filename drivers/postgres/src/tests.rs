//! What needs no server.

use purlin_sdk::testing::{self, inputs, resource, unknown};
use purlin_sdk::{Failure, Json};
use serde_json::json;

use crate::Postgres;

fn check(document: &Json) -> Result<Json, Failure> {
    testing::check::<Postgres>(inputs(document), None).map(|checked| checked.values)
}

fn server() -> Json {
    json!({"host": "db.internal", "tls": "require"})
}

#[test]
fn defaults_are_filled_in_and_stay() {
    let values =
        check(&json!({"values": {"server": server(), "database": {"encoding": "utf-8"}}})).expect("values");
    let name = format!("demo_{}", &resource().guresid[..12]);
    assert_eq!(values["database"]["name"], json!(name));
    assert_eq!(values["database"]["encoding"], "UTF8");
    assert_eq!(values["server"]["port"], 5432);
    assert_eq!(check(&json!({"values": values})).ok(), Some(values));
}

#[test]
fn just_one_thing_is_wanted() {
    for things in [json!({}), json!({"role": {}, "database": {}})] {
        let mut values = json!({"server": server()});
        values.as_object_mut().expect("an object").extend(things.as_object().expect("an object").clone());
        let text = check(&json!({"values": values})).map_err(|failure| failure.to_string());
        assert!(text.as_ref().is_err_and(|text| text.contains("just one of")), "{text:?}");
    }
}

#[test]
fn without_a_word_on_tls_the_server_has_to_prove_who_it_is() {
    let faults = check(&json!({"values": {"server": {"host": "127.0.0.1"}, "role": {}}}));
    let text = faults.map_err(|failure| failure.to_string());
    assert!(text.as_ref().is_err_and(|text| text.contains("/values/server/ca: is missing")), "{text:?}");
}

#[test]
fn what_is_not_known_yet_is_no_fault_and_stays_open() {
    let document = json!({"values": {"server": server(), "database": {"name": null, "owner": null}}});
    let given = unknown(inputs(&document), &["/values/database/name", "/values/database/owner"]);
    let values = testing::check::<Postgres>(given, None).expect("values").values;
    assert_eq!(values["database"]["name"], Json::Null);
    let database = values["database"].as_object().expect("an object");
    assert!(database.contains_key("owner") && database["force"] == json!(false));
}

#[test]
fn a_change_of_the_encoding_replaces_and_one_of_its_spelling_is_none() {
    let of = |encoding: &str, name: &str| {
        let document =
            json!({"values": {"server": server(), "database": {"name": name, "encoding": encoding}}});
        inputs(&json!({"values": check(&document).expect("values")}))
    };
    let state = purlin_sdk::State::new("x").outputs(json!({"name": "a"})).expect("a state");
    let impact = |encoding: &str, name: &str| {
        testing::update_impact::<Postgres>(of("UTF8", "a"), of(encoding, name), &state).expect("an impact")
    };
    assert!(impact("utf_8", "b").replaces.is_empty());
    let latin = impact("latin1", "a");
    assert_eq!(latin.replaces, ["/values/database/encoding"]);
    assert!(latin.delete_before_replace);
}
