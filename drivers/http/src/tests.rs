//! Tests that need no server; others run against real ones.

mod pending;

use purlin_sdk::testing::inputs;
use purlin_sdk::{Failure, Json, State, testing};
use serde_json::json;

use crate::Http;
use crate::inputs::HttpInputs;

fn declaration() -> Json {
    json!({
        "connection": {"base_url": "http://127.0.0.1:1/v1"},
        "values": {
            "name": "n",
            "create": {"path": "/things", "body": {"size": 1}},
            "update": {},
            "find": {"path": "/things?name={name}", "items": "/items", "name": "/name"},
        },
    })
}

fn with(place: &str, value: Json) -> Json {
    let mut declaration = declaration();
    let (parent, name) = place.rsplit_once('/').expect("a pointer");
    declaration
        .pointer_mut(parent)
        .and_then(Json::as_object_mut)
        .expect("an object")
        .insert(name.to_owned(), value);
    declaration
}

fn faults(declaration: &Json) -> String {
    match testing::check::<Http>(inputs(declaration), None) {
        Ok(_) => String::new(),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn a_declaration_is_judged_before_anything_is_sent() {
    let checked = testing::check::<Http>(inputs(&declaration()), None).expect("valid");
    assert!(checked.warnings.is_empty(), "{:?}", checked.warnings);
    for (place, value, expected) in [
        ("/connection/base_url", json!("ftp://a"), "/connection/base_url"),
        ("/connection/base_url", json!("http://u:p@a"), "/connection/base_url"),
        ("/connection/base_url", json!("http://a/?x=1"), "takes no query"),
        ("/connection/base_url", json!("http://a/"), "must not end with `/`"),
        ("/values/create/path", json!("/things/{id}"), "does not exist yet"),
        ("/values/read", json!({"path": "/things/1"}), "has no `{id}`"),
        ("/values/read", json!({"path": "/things/{outputs.a}/{id}"}), "cannot contain `{outputs.X}`"),
        ("/values/read", json!({"pth": "/x"}), "unknown field `pth`"),
        ("/values/id", json!({"name": true, "header": "location"}), "comes from one place"),
        ("/values/observe", json!({"/create/body/colour": "/colour"}), "is not in"),
        ("/values/observe", json!({"/base_url": "/url"}), "is not in"),
        ("/values/wait", json!({"until": {"pointer": "/status"}}), "either `equals` or `in`"),
        ("/values/find", json!({"path": "things", "name": "/name"}), "/values/find/path"),
        ("/values/without", json!(["create"]), "/values/without/0"),
        (
            "/connection",
            json!({"base_url": "http://a", "bearer": "t", "basic": {"user": "u", "password": "p"}}),
            "/connection/basic",
        ),
    ] {
        let text = faults(&with(place, value));
        assert!(text.contains(expected), "{place}: {text:?} does not contain {expected:?}");
    }
    let mut declaration = with("/values/create", json!({"path": "x"}));
    declaration["values"]["find"]["path"] = json!("x");
    let text = faults(&declaration);
    assert!(text.contains("/values/create/path") && text.contains("/values/find/path"), "{text}");
}

#[test]
fn unknown_values_are_no_fault() {
    let given = testing::unknown(inputs(&with("/values/name", Json::Null)), &["/values/name"]);
    assert!(testing::check::<Http>(given, None).is_ok());
    let wrong = with("/connection/base_url", json!("nowhere"));
    let given = testing::unknown(inputs(&wrong), &["/values/create/body/size"]);
    assert!(testing::check::<Http>(given, None).is_err());
}

#[test]
fn a_change_replaces_if_it_moves_the_resource_or_is_declared_to() {
    let state =
        State::new("http://127.0.0.1:1/v1/things/7").cookie(json!({"id": "7", "name": "n"})).expect("JSON");
    let impact = |after: Json| {
        testing::update_impact::<Http>(inputs(&declaration()), inputs(&after), &state)
            .expect("an impact")
            .replaces
    };
    assert!(impact(with("/values/create/body/size", json!(2))).is_empty());
    assert_eq!(impact(with("/values/read", json!({"path": "/other/{id}"}))), ["/values/read/path"]);
    let mut after = with("/values/create/body/size", json!(2));
    after["values"]["replaces"] = json!(["/create/body/size"]);
    assert_eq!(impact(after), ["/values/create/body/size"]);
    let mut after = with("/values/create/body/size", json!(2));
    after["values"]["update"] = Json::Null;
    assert_eq!(impact(after), ["/values/create/body"]);
}

/// Only the placeholders of its path decide whether a resource moves.
#[test]
fn an_unknown_value_outside_of_the_path_replaces_nothing() {
    let replaced = |declaration: &Json, params: Json, unknown: &[&str]| {
        let id = State::new("http://127.0.0.1:1/v1/x/7").cookie(json!({"id": "7", "name": "n"}));
        let mut before = declaration.clone();
        before["params"] = json!({"zone": "x", "vpc": "v1", "a/b": "x"});
        let mut after = declaration.clone();
        after["params"] = params;
        let after = testing::unknown(inputs(&after), unknown);
        testing::update_impact::<Http>(inputs(&before), after, &id.expect("a state"))
    };
    let with_path = |path: &str| {
        json!({
            "connection": {"base_url": "http://127.0.0.1:1/v1"},
            "values": {"name": "n", "create": {"path": path, "body": {"v": 1}}, "update": {}},
        })
    };
    let same = || json!({"zone": "x", "vpc": "v1", "a/b": "x"});
    for update in [json!({}), json!({"method": "PUT", "body": {"v": 1}})] {
        for find in [Json::Null, json!({"path": "/x?name={name}", "name": "/name"})] {
            for named in [false, true] {
                let id = json!({"name": named});
                let mut declaration =
                    with_path(if named { "/{params.zone}/{name}" } else { "/{params.zone}" });
                for (name, value) in [("update", &update), ("find", &find), ("id", &id)] {
                    declaration["values"][name] = value.clone();
                }
                let replaces = |params, unknown: &[&str]| {
                    replaced(&declaration, params, unknown).expect("an impact").replaces
                };
                for unknown in [
                    "/params/vpc",
                    "/values/create/body",
                    "/values/create/body/v",
                    "/values/update/body",
                    "/secrets/body",
                    "/values/outputs",
                    "/connection/bearer",
                    "/values/headers",
                ] {
                    assert!(replaces(same(), &[unknown]).is_empty(), "{unknown}");
                }
                let mut other = same();
                other["vpc"] = json!("v2");
                assert!(replaces(other.clone(), &["/params/vpc"]).is_empty());
                assert!(replaces(other.clone(), &["/values/create/body/v"]).is_empty());
                assert_eq!(replaces(same(), &["/params/zone"]), ["/params/zone"]);
                assert_eq!(replaces(same(), &["/params"]), ["/params/zone"]);
                assert_eq!(replaces(same(), &["/values/create/path"]), ["/values/create/path"]);
                other["zone"] = json!("y");
                assert_eq!(replaces(other, &["/params/vpc"]), ["/params/zone"]);
            }
        }
    }
    // Another spelling of the same path.
    let escaped = with_path("/{params.a/b}");
    assert_eq!(replaced(&escaped, same(), &["/params/a~1b"]).expect("an impact").replaces, ["/params/a~1b"]);
    let id = State::new("http://127.0.0.1:1/v1/things/7").cookie(json!({"id": "7", "name": "n"}));
    let read = with("/values/read", json!({"path": "/things/{id}"}));
    let impact = testing::update_impact::<Http>(inputs(&declaration()), inputs(&read), &id.expect("a state"));
    assert!(impact.expect("an impact").replaces.is_empty());
}

/// The name that the driver chooses is recorded: writing it changes nothing, and neither does
/// another default, which a rename causes.
#[test]
fn a_chosen_name_stays() {
    let mut declaration = declaration();
    declaration["values"].as_object_mut().expect("values").remove("name");
    testing::chosen_inputs_stay::<Http>(inputs(&declaration)).expect("the same");
    let checked = testing::check::<Http>(inputs(&declaration), None).expect("valid");
    assert_eq!(checked.values["name"], json!("0123456789abcdef0123456789abcdef01234567"));
    let previous = json!({"values": {"name": "old"}, "secrets": {}, "params": {}, "connection": {}});
    let kept = testing::check::<Http>(inputs(&declaration), Some(&previous)).expect("valid");
    assert_eq!(kept.values["name"], json!("old"));
    declaration["values"]["name"] = json!("new");
    let given = testing::check::<Http>(inputs(&declaration), Some(&previous)).expect("valid");
    assert_eq!(given.values["name"], json!("new"));
}

#[test]
fn an_unreachable_server_is_retried() {
    assert!(matches!(testing::create::<Http>(inputs(&declaration())), Err(Failure::RetryAfter { .. })));
    assert!(
        testing::messages().iter().all(|message| !matches!(message, testing::HostMessage::Checkpoint(..))),
        "nothing was begun"
    );
}

#[test]
fn secrets_are_laid_over_the_body() {
    let mut document = declaration();
    document["secrets"] = json!({"body": {"auth": {"key": "s"}, "size": 9}});
    document["values"]["create"]["body"] = json!({"auth": {"user": "u"}, "size": 1});
    let inputs = testing::raw::<HttpInputs>(inputs(&document)).and_then(|raw| raw.parse()).expect("inputs");
    let body = inputs.body(inputs.values.create.body.as_ref());
    assert_eq!(body, Some(json!({"auth": {"user": "u", "key": "s"}, "size": 9})));
}

#[test]
fn no_secret_becomes_part_of_a_url() {
    let mut document = with("/values/create/path", json!("/things/{params.key}"));
    document["params"] = json!({"key": "k", "other": "o"});
    let mut given = inputs(&document);
    given.sensitive = vec!["/params/other".to_owned(), "/values/create/body/size".to_owned()];
    assert!(testing::check::<Http>(given.clone(), None).is_ok(), "these are not in it");
    given.sensitive = vec!["/params/key".to_owned()];
    let message = testing::check::<Http>(given, None).err().map(|failure| failure.to_string());
    assert!(
        message.as_ref().is_some_and(|message| message.contains("/params/key: is a secret")),
        "{message:?}"
    );
}

#[test]
fn the_readme_has_the_tables_of_the_schema() {
    testing::check_readme::<Http>(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
        .expect("the README agrees");
}
