//! `purlin/http` against a service that misbehaves as services do, and against an API that others
//! wrote.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use purlin_systems::powerdns::{KEY, PowerDns};
use purlin_systems::rest::{Fault, Service};
use purlin_systems::tools::root;
use purlin_systems::workspace::component;
use purlin_systems::{Done, Proxy, Workspace, at_every_message};
use serde_json::{Value, json};

const THING: &str = "thing.default#shared.thing";

/// A workspace with one resource, `thing.default#shared.thing`.
struct Scene {
    workspace: Workspace,
}

impl Scene {
    fn new(url: &str, values: &Value, secrets: &Value) -> Self {
        let scene = Self { workspace: Workspace::new() };
        scene.settings(&format!("http: [\"{url}/*\"]"), "time: 20s");
        scene.wants(values, secrets, &json!({}));
        scene
    }

    fn settings(&self, grants: &str, limits: &str) {
        self.workspace.write(
            "purlin.yaml",
            &format!(
                "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{org: acme, app: shop, env: dev, env_type: development}}\n  drivers:\n    purlin/http:\n      source: {}\n      grants: {{{grants}}}\n      limits: {{{limits}}}\n",
                component("http").display()
            ),
        );
    }

    fn wants(&self, values: &Value, secrets: &Value, params: &Value) {
        let definition = json!({
            "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "thing"},
            "spec": {
                "type": "thing", "driver": "purlin/http", "criteria": [{}],
                "inputs": {"values": values, "secrets": secrets},
            },
        });
        let shared = json!({"thing": {"type": "thing", "params": params}});
        let deployment = json!({
            "apiVersion": "purlin.dev/v1", "kind": "Deployment", "metadata": {"name": "shop"},
            "spec": {"shared": shared},
        });
        self.workspace.write("definition.json", &definition.to_string());
        self.workspace.write("deployment.json", &deployment.to_string());
    }

    fn up(&self) -> Done {
        self.workspace.purlin(&["up"])
    }

    fn fails(&self) -> Done {
        self.workspace.run(&["up"]).expect(1)
    }

    fn outputs(&self) -> Value {
        let done = self.workspace.purlin(&["outputs", "--format", "json", "--show-secrets"]);
        done.json()["resources"][THING].clone()
    }
}

/// A thing with an id of the server's choice, which is found by name and mark.
fn found(url: &str, name: &str) -> Value {
    json!({
        "base_url": url,
        "name": name,
        "create": {"path": "/things", "body": {"name": name, "size": 1, "owner": "${context.res.guresid}"}},
        "update": {"method": "PATCH"},
        "find": {"path": "/things?name={name}", "items": "/items", "name": "/name", "next": "/next"},
        "mark": "/owner",
        "observe": {"/create/body/size": "/size"},
        "outputs": {"size": "/size"},
        "secret_outputs": {"token": "/token"},
    })
}

/// A thing that nobody can look for.
fn lost(url: &str) -> Value {
    let mut values = found(url, "lost");
    values.as_object_mut().expect("an object").retain(|name, _| name != "find" && name != "mark");
    values
}

/// A thing whose name is its id.
fn named(url: &str, name: &str) -> Value {
    json!({
        "base_url": url,
        "name": name,
        "id": {"name": true},
        "create": {"path": "/things/{name}", "body": {"size": 1}},
        "update": {},
        "observe": {"/create/body/size": "/size"},
    })
}

fn size(mut values: Value, size: u32) -> Value {
    values["create"]["body"]["size"] = json!(size);
    values
}

/// All things of a name.
fn things(service: &Service, name: &str) -> Vec<Value> {
    service.all("things").into_values().filter(|thing| thing["name"] == name).collect()
}

fn none() -> Value {
    json!({})
}

#[test]
fn a_thing_lives() {
    let service = Service::start();
    service.key("t0ken-of-the-test");
    let secrets = json!({"bearer": "t0ken-of-the-test", "body": {"password": "hidden-in-the-body"}});
    let values = found(&service.url(), "main");
    let scene = Scene::new(&service.url(), &values, &secrets);
    // Others of the same name do not matter: they bear no mark of ours.
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
    scene.up().says("Nothing to change");
    scene.workspace.purlin(&["refresh"]);
    scene.up().says("Nothing to change");
    assert_eq!(scene.outputs()["token"], format!("token-of-{id}"), "it was said once, and is kept");

    // Drift.
    let mut changed = service.all("things")[id].clone();
    changed["size"] = json!(99);
    service.put("things", id, changed);
    scene.workspace.purlin(&["refresh"]).says("values.create.body.size");
    scene.workspace.purlin(&["plan"]).says("values.create.body.size: 99 → 1");
    scene.up();
    assert_eq!(service.all("things")[id]["size"], 1);

    // A change in place; then one that replaces.
    scene.wants(&size(values.clone(), 2), &secrets, &none());
    scene.up().says("1 updated");
    assert_eq!(service.all("things")[id]["size"], 2);
    let mut moved = size(values.clone(), 3);
    moved["replaces"] = json!(["/create/body/size"]);
    scene.wants(&moved, &secrets, &none());
    scene.workspace.purlin(&["plan"]).says("1 to replace");
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
    scene.workspace.purlin(&["refresh"]).says("it is gone");
    scene.up();
    assert_eq!(things(&service, "gone").len(), 1);
    // Deleting what is gone is a success.
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
    scene.up().says("Nothing to change");
    scene.wants(&size(values, 2), &none(), &none());
    scene.up().says("1 updated");
    assert_eq!(service.all("things")["a%20b%2Fc"]["size"], 2);
    let renamed = named(&service.url(), "other");
    scene.wants(&renamed, &none(), &none());
    scene.up();
    assert_eq!(service.all("things").keys().collect::<Vec<_>>(), ["other"]);
    // What is there already is another's.
    let second = Scene::new(&service.url(), &renamed, &none());
    second.fails().says("`other` is there already");
    second.workspace.purlin(&["import", THING, "other"]);
    second.up().says("Nothing to change");
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(service.all("things").is_empty());
}

#[test]
fn a_thing_that_exists_is_imported() {
    let service = Service::start();
    service.put("things", "things-0", json!({"id": "things-0", "name": "old", "size": 5}));
    let scene = Scene::new(&service.url(), &found(&service.url(), "old"), &none());
    scene.workspace.run(&["import", THING, "things-7"]).expect(2).says("there is no `things-7`");
    // The token was told to whoever made it.
    scene.workspace.purlin(&["import", THING, "things-0"]).says("does not tell the outputs `token`");
    let mut values = found(&service.url(), "old");
    values["secret_outputs"] = json!({});
    scene.wants(&values, &none(), &none());
    scene.workspace.purlin(&["plan"]).says("values.create.body.size: 5 → 1");
    scene.up();
    assert_eq!(service.all("things")["things-0"]["size"], 1);
    assert_eq!(things(&service, "old").len(), 1);
}

#[test]
fn a_lost_answer_makes_nothing_twice() {
    let service = Service::start();
    let huge = 5 << 20;
    let faults = [
        Fault::LoseAnswer,
        Fault::CutOff,
        Fault::Huge(huge),
        Fault::DoAndAnswer(201, "this is no JSON".to_owned()),
        Fault::DoAndAnswer(201, "{\"ok\": true}".to_owned()),
        Fault::DoAndAnswer(500, "{\"error\": \"a bug\"}".to_owned()),
        Fault::DoAndAnswer(502, String::new()),
        Fault::DoAndAnswer(504, String::new()),
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        for marked in [true, false] {
            let name = format!("lost-{number}-{marked}");
            let mut values = found(&service.url(), &name);
            values["secret_outputs"] = json!({});
            if !marked {
                values["mark"] = Value::Null;
            }
            let scene = Scene::new(&service.url(), &values, &none());
            service.fault("POST", fault.clone());
            scene.up();
            assert_eq!(things(&service, &name).len(), 1, "{fault:?}");
            scene.up().says("Nothing to change");
        }
    }
    // What was said once, in the answer that was lost, nobody knows; what was made is not forgotten.
    let scene = Scene::new(&service.url(), &found(&service.url(), "token"), &none());
    service.fault("POST", Fault::LoseAnswer);
    scene.fails().says("does not tell the outputs `token`");
    assert_eq!(things(&service, "token").len(), 1);
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(things(&service, "token").is_empty());
    // A change, and a deletion.
    let values = found(&service.url(), "changed");
    let scene = Scene::new(&service.url(), &values, &none());
    scene.up();
    service.fault("PATCH", Fault::LoseAnswer);
    scene.wants(&size(values, 2), &none(), &none());
    scene.fails().says("is not known");
    scene.up();
    assert_eq!(things(&service, "changed")[0]["size"], 2);
    service.fault("DELETE", Fault::LoseAnswer);
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(things(&service, "changed").is_empty());
}

#[test]
fn what_is_made_after_everybody_left_is_found() {
    let service = Service::start();
    let scene = Scene::new(&service.url(), &found(&service.url(), "late"), &none());
    scene.settings(&format!("http: [\"{}/*\"]", service.url()), "time: 1s");
    service.fault("POST", Fault::DoLater(Duration::from_millis(1500)));
    scene.fails().says("no answer within").says("the next run finds out");
    assert!(things(&service, "late").is_empty(), "not yet");
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(things(&service, "late").len(), 1);
    scene.settings(&format!("http: [\"{}/*\"]", service.url()), "time: 10s");
    scene.workspace.run(&["up"]);
    scene.workspace.run(&["up"]);
    assert_eq!(things(&service, "late").len(), 1, "and not made again");
}

#[test]
fn what_nobody_can_look_for_is_left_to_a_person() {
    let service = Service::start();
    let mut values = lost(&service.url());
    values["secret_outputs"] = json!({});
    let scene = Scene::new(&service.url(), &values, &none());
    service.fault("POST", Fault::LoseAnswer);
    scene.fails();
    assert_eq!(things(&service, "lost").len(), 1);
    scene.workspace.run(&["up"]).expect(1).says("whether `lost` was made is not known");
    assert_eq!(things(&service, "lost").len(), 1, "nothing is guessed");
    let id = things(&service, "lost")[0]["id"].as_str().expect("an id").to_owned();
    scene.workspace.purlin(&["import", THING, &id]);
    scene.up().says("Nothing to change");
    assert_eq!(things(&service, "lost").len(), 1);
    // An API with idempotency keys needs nobody.
    service.empty();
    values["idempotency_header"] = json!("Idempotency-Key");
    let scene = Scene::new(&service.url(), &values, &none());
    service.fault("POST", Fault::LoseAnswer);
    scene.up();
    assert_eq!(things(&service, "lost").len(), 1);
}

#[test]
fn patience_is_given_where_it_is_asked_for() {
    let service = Service::start();
    let values = found(&service.url(), "busy");
    let scene = Scene::new(&service.url(), &values, &none());
    for status in [429, 503] {
        service.fault("POST", Fault::Refuse(status, vec![("retry-after", "1".to_owned())], String::new()));
    }
    service.fault("GET", Fault::Refuse(503, Vec::new(), String::new()));
    service.fault("GET", Fault::LoseAnswer);
    scene.up();
    assert_eq!(things(&service, "busy").len(), 1);
    // A status of the declaration's own.
    let mut values = size(values, 2);
    values["retry"] = json!([423]);
    scene.wants(&values, &none(), &none());
    service.fault("PATCH", Fault::Refuse(423, vec![("retry-after", "1".to_owned())], "locked".to_owned()));
    scene.up();
    assert_eq!(things(&service, "busy")[0]["size"], 2);
    // Slow is not lost.
    service.fault("GET", Fault::Slow(Duration::from_millis(1500)));
    scene.workspace.purlin(&["refresh"]);
    scene.up().says("Nothing to change");
}

#[test]
fn what_is_refused_is_said_and_nothing_is_recorded() {
    let service = Service::start();
    let values = found(&service.url(), "refused");
    let scene = Scene::new(&service.url(), &values, &none());
    let refuse =
        |status, headers, body: &str| service.fault("POST", Fault::Refuse(status, headers, body.to_owned()));
    refuse(400, vec![], "{\"error\": {\"message\": \"size has to be even\"}}");
    scene.fails().says("status 400: size has to be even");
    refuse(409, vec![], "");
    scene.fails().says("status 409");
    refuse(500, vec![], "{\"message\": \"a bug\"}");
    scene.fails().says("status 500: a bug");
    refuse(302, vec![("location", "http://127.0.0.1:1/elsewhere".to_owned())], "");
    scene.fails().says("redirects to `http://127.0.0.1:1/elsewhere`");
    assert!(service.all("things").is_empty());
    let state = scene.workspace.purlin(&["state", "list"]).to_string();
    assert!(!state.contains("shared.thing"), "{state}");
    // Lists that lead elsewhere are not followed: credentials would go along.
    service.fault(
        "GET",
        Fault::DoAndAnswer(200, "{\"items\": [], \"next\": \"http://127.0.0.1:1/x\"}".to_owned()),
    );
    scene.fails().says("which is not a place of");
    service.key("right");
    scene.wants(&values, &json!({"bearer": "wrong-and-secret"}), &none());
    let done = scene.fails().says("status 401: who are you?").says("credentials");
    assert!(!done.to_string().contains("wrong-and-secret"), "{done}");
    scene.settings(&format!("http: [\"GET {}/*\"]", service.url()), "time: 20s");
    scene.wants(&values, &json!({"bearer": "right"}), &none());
    scene.fails().says("denied").says(&format!("POST {}/things", service.url()));
    scene.settings("", "time: 20s");
    scene.fails().says(&format!("GET {}/things", service.url())).says("purlin/http.grants.http");
    assert!(service.all("things").is_empty());
}

#[test]
fn a_thing_becomes_ready_in_its_own_time() {
    let service = Service::start();
    service.takes(Some(Duration::from_millis(1200)));
    let mut values = found(&service.url(), "slow");
    values["wait"] = json!({
        "until": {"pointer": "/status", "equals": "ready"},
        "fail": {"pointer": "/status", "in": ["broken"]},
        "every_ms": 100,
    });
    values["outputs"] = json!({"status": "/status"});
    let scene = Scene::new(&service.url(), &values, &none());
    scene.up();
    assert_eq!(scene.outputs()["status"], "ready");
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(things(&service, "slow").is_empty(), "it is gone when it is said to be");
    // Longer than a call may take: it is there, and the next run goes on from there.
    service.takes(Some(Duration::from_millis(2500)));
    scene.settings(&format!("http: [\"{}/*\"]", service.url()), "time: 1500ms");
    scene.fails().says("the resource is \"creating\"");
    assert_eq!(things(&service, "slow").len(), 1);
    std::thread::sleep(Duration::from_secs(2));
    scene.up();
    assert_eq!((things(&service, "slow").len(), scene.outputs()["status"].as_str()), (1, Some("ready")));
    // One that breaks is there all the same, and is deleted in the end.
    let broken = things(&service, "slow")[0]["id"].as_str().expect("an id").to_owned();
    service.takes(None);
    service.put("things", &broken, json!({"id": broken, "name": "slow", "size": 1, "status": "broken"}));
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(things(&service, "slow").is_empty());
}

fn asynchronous(url: &str, name: &str) -> Value {
    let mut values = found(url, name);
    values["secret_outputs"] = json!({});
    values["operation"] = json!({
        "header": "operation-location",
        "id": "/result/id",
        "until": {"pointer": "/state", "equals": "done"},
        "fail": {"pointer": "/state", "equals": "failed"},
        "every_ms": 50,
    });
    values
}

#[test]
fn an_operation_is_followed() {
    let service = Service::start();
    service.takes(Some(Duration::from_millis(600)));
    service.asynchronous(true, false);
    let scene = Scene::new(&service.url(), &asynchronous(&service.url(), "async"), &none());
    scene.up();
    assert_eq!(things(&service, "async").len(), 1);
    scene.up().says("Nothing to change");
    service.asynchronous(true, true);
    let scene = Scene::new(&service.url(), &asynchronous(&service.url(), "fails"), &none());
    scene.fails().says("there is no room");
    assert!(things(&service, "fails").is_empty());
    let state = scene.workspace.purlin(&["state", "list"]).to_string();
    assert!(!state.contains("shared.thing"), "{state}");
    // It takes longer than the call may.
    service.asynchronous(true, false);
    service.takes(Some(Duration::from_millis(2500)));
    let scene = Scene::new(&service.url(), &asynchronous(&service.url(), "long"), &none());
    scene.settings(&format!("http: [\"{}/*\"]", service.url()), "time: 1500ms");
    scene.fails().says("the operation is \"running\"");
    assert!(things(&service, "long").is_empty());
    scene.settings(&format!("http: [\"{}/*\"]", service.url()), "time: 20s");
    scene.workspace.run(&["up"]);
    scene.up();
    assert_eq!(things(&service, "long").len(), 1, "the operation that ran was followed, none begun anew");
}

#[test]
fn what_a_developer_gives_stays_in_its_place() {
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
    // Without `update` what changes is replaced.
    scene.wants(&size(values, 2), &none(), &json!({"name": "../operations/x?y=z"}));
    scene.workspace.purlin(&["plan"]).says("1 to replace");
    scene.up();
    assert_eq!(service.all("things")["..%2Foperations%2Fx%3Fy%3Dz"]["size"], 2);
    let wrong =
        json!({"base_url": service.url(), "create": {"path": "/things/{oops}"}, "outputs": {"a": "b"}});
    scene.wants(&wrong, &none(), &none());
    scene.workspace.run(&["plan"]).expect(2).says("`{oops}`").says("is no JSON Pointer");
}

fn kill_scene(proxy: &Proxy, values: &Value) -> Workspace {
    let url = format!("http://127.0.0.1:{}", proxy.port());
    Scene::new(&url, values, &none()).workspace
}

#[test]
fn a_kill_at_any_message_makes_nothing_twice() {
    let service = Service::start();
    let proxy = Proxy::to(service.port());
    let url = format!("http://127.0.0.1:{}", proxy.port());
    let only = |name: &str, size: u32| {
        let all = things(&service, name);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(all[0]["size"], size);
    };
    // The token is said once, and lost with the answer.
    let quiet = |mut values: Value| {
        values["secret_outputs"] = json!({});
        values
    };
    for marked in [true, false] {
        let values = |number: usize| {
            let mut values = quiet(found(&url, &format!("kill-{marked}-{number}")));
            if !marked {
                values["mark"] = Value::Null;
            }
            values
        };
        let kills = at_every_message(
            &proxy,
            &["up"],
            |number| kill_scene(&proxy, &values(number)),
            |number, workspace| {
                only(&format!("kill-{marked}-{number}"), 1);
                workspace.purlin(&["up"]).says("Nothing to change");
            },
        );
        assert!(kills >= 6, "there are messages to be killed at: {kills}");
    }
    let made = |number: usize| {
        let values = quiet(found(&url, &format!("change-{number}")));
        let scene = Scene::new(&url, &values, &none());
        scene.up();
        (scene, values)
    };
    let changed = |number: usize| {
        let (scene, values) = made(number);
        scene.wants(&size(values, 2), &none(), &none());
        scene.workspace
    };
    at_every_message(&proxy, &["up"], changed, |number, _| only(&format!("change-{number}"), 2));
    let replaced = |number: usize| {
        let (scene, values) = made(number + 1000);
        let mut values = size(values, 3);
        values["replaces"] = json!(["/create/body/size"]);
        scene.wants(&values, &none(), &none());
        scene.workspace
    };
    at_every_message(&proxy, &["up"], replaced, |number, workspace| {
        workspace.purlin(&["up"]);
        only(&format!("change-{}", number + 1000), 3);
    });
    at_every_message(
        &proxy,
        &["destroy", "--yes"],
        |number| made(number + 2000).0.workspace,
        |number, _| {
            assert!(things(&service, &format!("change-{}", number + 2000)).is_empty());
        },
    );
}

#[test]
fn a_kill_at_any_message_of_other_ways_to_make_makes_nothing_twice() {
    let service = Service::start();
    let proxy = Proxy::to(service.port());
    let url = format!("http://127.0.0.1:{}", proxy.port());
    let scene = |number: usize| kill_scene(&proxy, &named(&url, &format!("named-{number}")));
    at_every_message(&proxy, &["up"], scene, |number, workspace| {
        assert_eq!(service.all("things")[&format!("named-{number}")]["size"], 1);
        workspace.purlin(&["up"]).says("Nothing to change");
    });
    service.asynchronous(true, false);
    service.takes(Some(Duration::from_millis(100)));
    let scene = |number: usize| kill_scene(&proxy, &asynchronous(&url, &format!("async-{number}")));
    at_every_message(&proxy, &["up"], scene, |number, workspace| {
        assert_eq!(things(&service, &format!("async-{number}")).len(), 1);
        workspace.purlin(&["up"]).says("Nothing to change");
    });
}

#[test]
fn an_api_that_others_wrote_is_spoken_to() {
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
    scene.up().says("Nothing to change");
    assert_eq!(dns.api("PUT", "/zones/rest.example.", &json!({"kind": "Master"})).0, 204);
    scene.workspace.purlin(&["refresh"]).says("values.create.body.kind");
    scene.up();
    assert_eq!(dns.api("GET", "/zones/rest.example.", &Value::Null).1["kind"], "Native");
    scene.wants(&values("Master"), &secrets, &none());
    scene.up().says("1 updated");
    assert_eq!(dns.api("GET", "/zones/rest.example.", &Value::Null).1["kind"], "Master");
    // Another that wants the same zone.
    let other = Scene::new(&dns.url(), &values("Native"), &secrets);
    other.fails().says("rest.example.");
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert_eq!(dns.api("GET", "/zones/rest.example.", &Value::Null).0, 404);
}

#[test]
fn the_contract_is_held() {
    let service = Service::start();
    service.key("a-token-of-the-check");
    let scene = Scene::new(&service.url(), &none(), &none());
    let cases = std::fs::read_to_string(root().join("drivers/http/check.yaml")).expect("the cases");
    scene.workspace.write("cases.yaml", &cases.replace("http://127.0.0.1:8081", &service.url()));
    scene.workspace.purlin(&["driver", "check", "purlin/http", "--cases", "cases.yaml"]);
    assert!(service.all("things").is_empty(), "nothing is left");
}

#[test]
fn a_large_body_arrives_whole_or_is_refused() {
    let service = Service::start();
    let mut values = found(&service.url(), "large");
    values["secret_outputs"] = none();
    let blob: String = (0..300_000).map(|number| format!("{:05}", number % 100_000)).collect();
    values["create"]["body"]["blob"] = json!(blob);
    let scene = Scene::new(&service.url(), &values, &none());
    scene.up();
    assert_eq!(things(&service, "large")[0]["blob"], blob);
    scene.workspace.purlin(&["destroy", "--yes"]);
    // A server that does not even read it, and says so.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4];
            let _ = stream.read_exact(&mut head);
            let answer = match &head {
                b"POST" => "HTTP/1.1 413 X\r\nconnection: close\r\ncontent-length: 9\r\n\r\ntoo large",
                _ => "HTTP/1.1 200 X\r\nconnection: close\r\ncontent-length: 13\r\n\r\n{\"items\": []}",
            };
            let _ = stream.write_all(answer.as_bytes());
            std::thread::sleep(Duration::from_millis(300));
        }
    });
    values["base_url"] = json!(url);
    let begun = Instant::now();
    Scene::new(&url, &values, &none()).fails().says("status 413: too large");
    assert!(begun.elapsed() < Duration::from_secs(10), "nobody waits for what does not come");
}
