//! Slow operations.

use std::time::Duration;

use purlin_systems::rest::Service;
use serde_json::json;

use crate::{Scene, asynchronous, found, none, things};

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
    // Longer than a call may take: it exists, and the next run continues.
    service.takes(Some(Duration::from_millis(2500)));
    scene.settings(&format!("http: [\"{}/*\"]", service.url()), "time: 1500ms");
    scene.fails().says("the resource is \"creating\"");
    assert_eq!(things(&service, "slow").len(), 1);
    std::thread::sleep(Duration::from_secs(2));
    scene.up();
    assert_eq!((things(&service, "slow").len(), scene.outputs()["status"].as_str()), (1, Some("ready")));
    // A broken one exists all the same, and is deleted in the end.
    let broken = things(&service, "slow")[0]["id"].as_str().expect("an id").to_owned();
    service.takes(None);
    service.put("things", &broken, json!({"id": broken, "name": "slow", "size": 1, "status": "broken"}));
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(things(&service, "slow").is_empty());
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
    // It takes longer than the limit of the call.
    service.asynchronous(true, false);
    service.takes(Some(Duration::from_millis(2500)));
    let scene = Scene::new(&service.url(), &asynchronous(&service.url(), "long"), &none());
    scene.settings(&format!("http: [\"{}/*\"]", service.url()), "time: 1500ms");
    scene.fails().says("the operation is \"running\"");
    assert!(things(&service, "long").is_empty());
    scene.settings(&format!("http: [\"{}/*\"]", service.url()), "time: 20s");
    scene.workspace.run(&["up", "--yes"]);
    scene.up();
    assert_eq!(things(&service, "long").len(), 1, "the operation that ran was followed, none begun anew");
}
