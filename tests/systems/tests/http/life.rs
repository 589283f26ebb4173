//! The life of a thing: created, read, changed, replaced, imported, deleted.

use purlin_systems::powerdns::{KEY, PowerDns};
use purlin_systems::rest::Service;
use purlin_systems::tools::root;
use serde_json::{Value, json};

use crate::{Scene, THING, found, named, none, size, things};

#[test]
fn a_thing_is_created_changed_and_deleted() {
    let service = Service::start();
    service.key("t0ken-of-the-test");
    let secrets = json!({"bearer": "t0ken-of-the-test", "body": {"password": "hidden-in-the-body"}});
    let values = found(&service.url(), "main");
    let scene = Scene::new(&service.url(), &values, &secrets);
    // Others with the same name do not matter: they do not have our mark.
    for other in 0..3 {
        service.put(
            "things",
            &format!("other-{other}"),
            json!({"name": "main", "owner": "x", "id": format!("other-{other}")}),
        );
    }
    let done = scene.up();
    let all = things(&service, "main");
    assert_eq!(all.len(), 4);
    let id = all.iter().find(|thing| thing["size"] == 1).expect("made")["id"].clone();
    let id = id.as_str().expect("an id");
    assert_eq!(service.all("things")[id]["password"], "hidden-in-the-body");
    let outputs = scene.outputs();
    assert_eq!(outputs["id"], id);
    assert_eq!(outputs["url"], format!("{}/things/{id}", service.url()));
    assert_eq!((&outputs["size"], &outputs["token"]), (&json!(1), &json!(format!("token-of-{id}"))));
    let shown = scene.workspace.purlin(&["outputs"]).to_string();
    assert!(!shown.contains("token-of-"), "{shown}");
    for secret in ["t0ken-of-the-test", "hidden-in-the-body"] {
        assert!(!done.to_string().contains(secret), "{done}");
    }
    scene.up().prints("Nothing to change");
    scene.workspace.purlin(&["refresh"]);
    scene.up().prints("Nothing to change");
    assert_eq!(scene.outputs()["token"], format!("token-of-{id}"), "it was returned once, and is kept");

    // Drift.
    let mut changed = service.all("things")[id].clone();
    changed["size"] = json!(99);
    service.put("things", id, changed);
    scene.workspace.purlin(&["refresh"]).prints("values.create.body.size");
    scene.workspace.purlin(&["plan"]).prints("values.create.body.size: 99 → 1");
    scene.up();
    assert_eq!(service.all("things")[id]["size"], 1);

    // A change in place; then one that replaces.
    scene.wants(&size(values.clone(), 2), &secrets, &none());
    scene.up().prints("1 updated");
    assert_eq!(service.all("things")[id]["size"], 2);
    let mut moved = size(values.clone(), 3);
    moved["replaces"] = json!(["/create/body/size"]);
    scene.wants(&moved, &secrets, &none());
    scene.workspace.purlin(&["plan"]).prints("1 to replace");
    scene.up();
    let all = service.all("things");
    assert!(!all.contains_key(id) && all.values().any(|thing| thing["size"] == 3), "{all:?}");
    assert_eq!(things(&service, "main").len(), 4);

    scene.workspace.purlin(&["destroy", "--yes"]);
    assert_eq!(things(&service, "main").len(), 3, "those of others are there");
    scene.workspace.purlin(&["destroy", "--yes"]);
}

#[test]
fn a_thing_that_is_gone_comes_back() {
    let service = Service::start();
    let scene = Scene::new(&service.url(), &found(&service.url(), "gone"), &none());
    scene.up();
    service.empty();
    scene.workspace.purlin(&["refresh"]).prints("it no longer exists");
    scene.up();
    assert_eq!(things(&service, "gone").len(), 1);
    // Deleting a missing thing is a success.
    service.empty();
    scene.workspace.purlin(&["destroy", "--yes"]);
}

#[test]
fn a_name_can_be_the_id() {
    let service = Service::start();
    let values = named(&service.url(), "a b/c");
    let scene = Scene::new(&service.url(), &values, &none());
    scene.up();
    assert_eq!(service.all("things").keys().collect::<Vec<_>>(), ["a%20b%2Fc"]);
    scene.up().prints("Nothing to change");
    scene.wants(&size(values, 2), &none(), &none());
    scene.up().prints("1 updated");
    assert_eq!(service.all("things")["a%20b%2Fc"]["size"], 2);
    let renamed = named(&service.url(), "other");
    scene.wants(&renamed, &none(), &none());
    scene.up();
    assert_eq!(service.all("things").keys().collect::<Vec<_>>(), ["other"]);
    // An existing thing belongs to another.
    let second = Scene::new(&service.url(), &renamed, &none());
    second.fails().prints("`other` already exists");
    service.put("things", "other", json!({"id": "other", "size": 1000}));
    second.workspace.purlin(&["import", "--yes", THING, "other"]);
    // Nothing is observed, so the import says nothing about the size.
    second.up().prints("1 updated");
    assert_eq!(service.all("things")["other"]["size"], 1);
    second.up().prints("Nothing to change");
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(service.all("things").is_empty());
}

#[test]
fn a_thing_that_exists_is_imported() {
    let service = Service::start();
    service.put("things", "things-0", json!({"id": "things-0", "name": "old", "size": 5}));
    let scene = Scene::new(&service.url(), &found(&service.url(), "old"), &none());
    scene.workspace.run(&["import", "--yes", THING, "things-7"]).status(2).prints("there is no `things-7`");
    // Only the creator received the token.
    scene
        .workspace
        .purlin(&["import", "--yes", THING, "things-0"])
        .prints("does not return the outputs `token`");
    let mut values = found(&service.url(), "old");
    values["secret_outputs"] = json!({});
    scene.wants(&values, &none(), &none());
    scene.workspace.purlin(&["plan"]).prints("values.create.body.size: 5 → 1");
    scene.up();
    assert_eq!(service.all("things")["things-0"]["size"], 1);
    assert_eq!(things(&service, "old").len(), 1);
}

#[test]
fn values_of_a_developer_stay_in_their_place() {
    let service = Service::start();
    let values = json!({
        "base_url": service.url(),
        "id": {"name": true},
        "create": {"path": "/things/{params.name}", "body": {"size": 1}},
    });
    let scene = Scene::new(&service.url(), &values, &none());
    scene.wants(&values, &none(), &json!({"name": "../operations/x?y=z"}));
    scene.up();
    assert_eq!(service.all("things").keys().collect::<Vec<_>>(), ["..%2Foperations%2Fx%3Fy%3Dz"]);
    // Without `update`, changes replace.
    scene.wants(&size(values, 2), &none(), &json!({"name": "../operations/x?y=z"}));
    scene.workspace.purlin(&["plan"]).prints("1 to replace");
    scene.up();
    assert_eq!(service.all("things")["..%2Foperations%2Fx%3Fy%3Dz"]["size"], 2);
    for (path, output, expected) in
        [("/things/{oops}", "/b", "`{oops}`"), ("/things", "b", "`outputs.a` is `b`")]
    {
        let wrong = json!({"base_url": service.url(), "create": {"path": path}, "outputs": {"a": output}});
        scene.wants(&wrong, &none(), &none());
        scene.workspace.run(&["plan"]).status(2).prints(expected);
    }
}

#[test]
fn an_api_that_others_wrote_works() {
    let Some(dns) = PowerDns::start() else { return };
    let values = |kind: &str| {
        json!({
            "base_url": format!("{}/api/v1/servers/localhost", dns.url()),
            "name": "rest.example.",
            "create": {"path": "/zones", "expect": [201], "body": {
                "name": "rest.example.", "kind": kind, "nameservers": ["ns1.example.net."],
                "account": "${context.res.guresid}",
            }},
            "read": {"path": "/zones/{id}?rrsets=false"},
            "update": {"method": "PUT", "path": "/zones/{id}", "body": {"kind": kind}, "expect": [204]},
            "delete": {"path": "/zones/{id}"},
            "find": {"path": "/zones", "name": "/name"},
            "mark": "/account",
            "observe": {"/create/body/kind": "/kind", "/update/body/kind": "/kind"},
            "outputs": {"zone": "/name", "kind": "/kind"},
        })
    };
    let secrets = json!({"headers": {"X-API-Key": KEY}});
    let scene = Scene::new(&dns.url(), &values("Native"), &secrets);
    scene.up();
    assert_eq!(dns.dig("rest.example", "NS"), ["ns1.example.net."]);
    assert_eq!(scene.outputs()["kind"], "Native");
    scene.up().prints("Nothing to change");
    assert_eq!(dns.api("PUT", "/zones/rest.example.", &json!({"kind": "Master"})).0, 204);
    scene.workspace.purlin(&["refresh"]).prints("values.create.body.kind");
    scene.up();
    assert_eq!(dns.api("GET", "/zones/rest.example.", &Value::Null).1["kind"], "Native");
    scene.wants(&values("Master"), &secrets, &none());
    scene.up().prints("1 updated");
    assert_eq!(dns.api("GET", "/zones/rest.example.", &Value::Null).1["kind"], "Master");
    // Another resource with the same zone.
    let other = Scene::new(&dns.url(), &values("Native"), &secrets);
    other.fails().prints("rest.example.");
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert_eq!(dns.api("GET", "/zones/rest.example.", &Value::Null).0, 404);
}

#[test]
fn the_contract_is_held() {
    let service = Service::start();
    service.key("a-token-of-the-check");
    let scene = Scene::new(&service.url(), &none(), &none());
    let cases = std::fs::read_to_string(root().join("drivers/http/check.yaml")).expect("the cases");
    scene.workspace.write("cases.yaml", cases.replace("http://127.0.0.1:8081", &service.url()));
    scene.workspace.purlin(&["driver", "check", "purlin/http", "--cases", "cases.yaml"]);
    assert!(service.all("things").is_empty(), "nothing is left");
}
