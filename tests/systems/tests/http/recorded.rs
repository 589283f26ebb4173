//! What is recorded stops working: a credential is rotated, a service moves.

use purlin_systems::rest::{Fault, Service};
use serde_json::json;

use crate::{Scene, THING, found, none, things};

const USED: &str = "with those of the current documents it succeeded";

#[test]
fn a_rotated_credential_is_in_nobodys_way() {
    let service = Service::start();
    service.key("first-token");
    let values = found(&service.url(), "main");
    let scene = Scene::new(&service.url(), &values, &json!({"bearer": "first-token"}));
    scene.up();
    service.key("second-token");
    let _ = scene.workspace.run(&["refresh"]).expect(1);
    let _ = scene.workspace.run(&["destroy", "--yes"]).expect(1);
    assert_eq!(things(&service, "main").len(), 1);
    // The documents have the new one: every command that works from the record goes on with it.
    scene.wants(&values, &json!({"bearer": "second-token"}), &none());
    let said = scene.workspace.purlin(&["refresh"]).says(USED);
    assert!(!said.to_string().contains("-token"), "{said}");
    let _ = scene.workspace.purlin(&["plan", "--refresh"]);
    let _ = scene.workspace.purlin(&["up", "--yes", "--refresh"]).says(USED);
    service.key("third-token");
    scene.wants(&values, &json!({"bearer": "third-token"}), &none());
    let events = scene.workspace.purlin(&["destroy", "--yes", "--format", "json"]);
    let used = events.stdout.lines().find(|line| line.contains("\"current-inputs\"")).expect("an event");
    assert!(used.contains("/secrets/bearer") && used.contains(THING) && !used.contains("-token"), "{used}");
    assert!(things(&service, "main").is_empty());
}

#[test]
fn an_answer_that_was_lost_is_found_out_with_the_current_credential() {
    let service = Service::start();
    service.key("first-token");
    let mut values = found(&service.url(), "main");
    // The token would be lost with the answer.
    values["secret_outputs"] = none();
    let scene = Scene::new(&service.url(), &values, &json!({"bearer": "first-token"}));
    service.fault("POST", Fault::LoseAnswer);
    let mut child = scene.workspace.start(&["up", "--yes"]);
    // It is killed while it tries to find out by itself.
    while things(&service, "main").is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    service.key("second-token");
    service.behave();
    scene.wants(&values, &json!({"bearer": "second-token"}), &none());
    scene.up();
    assert_eq!(things(&service, "main").len(), 1, "it is not made twice");
    let _ = scene.up().says("Nothing to change");
}

#[test]
fn a_service_that_moved_is_found_where_the_documents_say() {
    let first = Service::start();
    let scene = Scene::new(&first.url(), &found(&first.url(), "main"), &none());
    scene.up();
    let second = first.clone().moved();
    let third = second.clone().moved();
    let ports = [&first, &second, &third].map(|service| format!("\"{}/*\"", service.url())).join(", ");
    scene.settings(&format!("http: [{ports}]"), "time: 20s");
    let _ = scene.workspace.run(&["refresh"]).expect(1);
    scene.wants(&found(&third.url(), "main"), &none(), &none());
    let _ = scene.workspace.purlin(&["refresh"]).says(USED);
    let fourth = third.clone().moved();
    scene.settings(&format!("http: [{ports}, \"{}/*\"]", fourth.url()), "time: 20s");
    let _ = scene.workspace.run(&["destroy", "--yes"]).expect(1);
    assert_eq!(things(&fourth, "main").len(), 1);
    scene.wants(&found(&fourth.url(), "main"), &none(), &none());
    let _ = scene.workspace.purlin(&["destroy", "--yes"]).says(USED);
    assert!(things(&fourth, "main").is_empty());
}
