//! Tests that need no server; others run against real ones.

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

#[test]
fn an_unreachable_server_is_retried() {
    assert!(matches!(testing::create::<Http>(inputs(&declaration())), Err(Failure::RetryAfter { .. })));
    assert!(
        testing::messages().iter().all(|message| !matches!(message, testing::HostMessage::Checkpoint(_))),
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
