//! Tests that need no server; others run against a real one.

use purlin_sdk::testing::inputs;
use purlin_sdk::{Failure, Json, State, testing};
use serde_json::json;

use crate::Dns;

fn given(values: Json) -> Json {
    json!({"connection": {"url": "http://127.0.0.1:1", "api_key": "k"}, "values": values})
}

fn records(records: Json) -> Json {
    given(json!({"records": records}))
}

#[test]
fn inputs_get_one_spelling() {
    let given = records(
        json!({"zone": "Example.ORG", "name": "WWW", "type": "A", "content": ["192.0.2.2", "192.0.2.1", "192.0.2.1"]}),
    );
    let checked = testing::check::<Dns>(inputs(&given), None).expect("valid");
    let wanted = json!({
        "records": {
            "zone": "example.org.", "name": "www.example.org.", "type": "A",
            "content": ["192.0.2.1", "192.0.2.2"],
        },
    });
    assert_eq!(checked.values, wanted);
    let again = self::given(checked.values);
    assert_eq!(testing::check::<Dns>(inputs(&again), None).expect("valid").values, wanted);
    let zone = self::given(
        json!({"zone": {"name": "Example.org", "nameservers": ["b.example", "a.example."]}, "records": null}),
    );
    let checked = testing::check::<Dns>(inputs(&zone), None).expect("valid");
    assert_eq!(
        checked.values,
        json!({"zone": {"name": "example.org.", "nameservers": ["a.example.", "b.example."]}})
    );
}

#[test]
fn all_faults_are_reported_at_once() {
    let fault = |document: Json| match testing::check::<Dns>(inputs(&document), None) {
        Err(Failure::InvalidInputs(faults)) => {
            faults.iter().map(|fault| fault.pointer.clone()).collect::<Vec<_>>()
        }
        Err(other) => vec![other.to_string()],
        Ok(_) => Vec::new(),
    };
    let wrong =
        records(json!({"zone": "example.org", "name": "a..b", "type": "A", "content": ["x", "192.0.2.1"]}));
    assert_eq!(fault(wrong), ["/values/records/name", "/values/records/content/0"]);
    let soa = records(json!({"zone": "example.org", "name": "@", "type": "SOA", "content": ["x"]}));
    assert_eq!(fault(soa), ["/values/records/type"]);
    let apex =
        records(json!({"zone": "example.org", "name": "@", "type": "CNAME", "content": ["a.b", "c.d"]}));
    assert_eq!(fault(apex), ["/values/records/content", "/values/records/name"]);
    assert_eq!(fault(given(json!({}))), ["/values"]);
    assert_eq!(fault(given(json!({"zone": {"name": "a", "kind": "Slave"}}))), ["/values/zone/masters"]);
    assert_eq!(
        fault(given(json!({"zone": {"name": "a", "masters": ["192.0.2.1"]}}))),
        ["/values/zone/masters"]
    );
}

#[test]
fn unknown_values_stay_unknown() {
    let document = records(json!({"zone": "example.org", "name": "www", "type": "A", "content": null}));
    let given = testing::unknown(inputs(&document), &["/values/records/content"]);
    let checked = testing::check::<Dns>(given, None).expect("nothing wrong so far");
    assert_eq!(checked.values["records"]["content"], Json::Null);
    assert_eq!(checked.values["records"]["name"], "www.example.org.");
    let document =
        records(json!({"zone": "example.org", "name": "www", "type": "A", "content": ["192.0.2.9", null]}));
    let given = testing::unknown(inputs(&document), &["/values/records/content/1"]);
    let checked = testing::check::<Dns>(given, None).expect("nothing wrong so far");
    assert_eq!(
        checked.values["records"]["content"],
        json!(["192.0.2.9", null]),
        "its place is known to others"
    );
}

#[test]
fn another_place_is_another_resource() {
    let before = records(
        json!({"zone": "example.org.", "name": "www.example.org.", "type": "A", "ttl": 60, "content": ["192.0.2.1"]}),
    );
    let state =
        State::new("http://127.0.0.1:1/api/v1/servers/localhost/zones/example.org.#www.example.org./A");
    let impact = |change: &dyn Fn(&mut Json)| {
        let mut after = before.clone();
        change(&mut after);
        testing::update_impact::<Dns>(inputs(&before), inputs(&after), &state).expect("an impact")
    };
    let in_place = impact(&|after| after["values"]["records"]["ttl"] = json!(61));
    assert!(in_place.replaces.is_empty() && in_place.delete_before_replace);
    let moved = impact(&|after| after["values"]["records"]["name"] = json!("w.example.org."));
    assert!(!moved.delete_before_replace);
    let server = impact(&|after| after["connection"]["url"] = json!("http://other"));
    assert!(!server.delete_before_replace);
    let zone = impact(&|after| after["values"] = json!({"zone": {"name": "example.org."}}));
    assert_eq!(zone.replaces, ["/values/zone", "/values/records"]);
}

#[test]
fn the_readme_has_the_tables_of_the_schema() {
    testing::check_readme::<Dns>(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
        .expect("the README agrees");
}

#[test]
fn an_unreachable_server_is_retried() {
    let document =
        records(json!({"zone": "example.org.", "name": "www", "type": "A", "content": ["192.0.2.1"]}));
    assert!(matches!(testing::create::<Dns>(inputs(&document)), Err(Failure::RetryAfter { .. })));
    assert!(
        testing::messages().iter().all(|message| !matches!(message, testing::HostMessage::Checkpoint(..)))
    );
}
