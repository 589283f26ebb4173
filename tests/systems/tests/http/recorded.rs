//! The recorded connection stops working: a credential is rotated, a service moves.

use purlin_systems::rest::{Misbehaviour, Service};
use serde_json::json;

use crate::{Scene, TIME, found, none, things};

#[test]
fn a_rotated_credential_blocks_nothing() {
    let service = Service::start();
    service.key("first-token");
    let values = found(&service.url(), "main");
    let scene = Scene::new(&service.url(), &values, &json!({"bearer": "first-token"}));
    scene.up();
    service.key("second-token");
    scene.workspace.run(&["refresh"]).status(1);
    scene.workspace.run(&["destroy", "--yes"]).status(1);
    assert_eq!(things(&service, "main").len(), 1);
    // The documents have the new one, and every command uses it.
    scene.wants(&values, &json!({"bearer": "second-token"}), &none());
    let done = scene.workspace.purlin(&["refresh"]);
    assert!(!done.to_string().contains("-token"), "{done}");
    scene.up();
    assert_eq!(things(&service, "main").len(), 1);
    scene.workspace.run(&["plan", "--refresh", "--detailed-exitcode"]).status(0);
    service.key("third-token");
    scene.wants(&values, &json!({"bearer": "third-token"}), &none());
    let done = scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(!done.to_string().contains("-token"), "{done}");
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
    service.fault("POST", Misbehaviour::LoseAnswer);
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
    let _ = scene.up().prints("Nothing to change");
}

#[test]
fn another_service_gets_a_separate_object() {
    let (first, second) = (Service::start(), Service::start());
    let scene = Scene::new(&first.url(), &found(&first.url(), "main"), &none());
    scene.up();
    let ports = [&first, &second].map(|service| format!("\"{}/*\"", service.url())).join(", ");
    scene.settings(&format!("http: [{ports}]"), TIME);
    scene.wants(&found(&second.url(), "main"), &none(), &none());
    // A recorded thing is searched where it was created.
    let _ = scene.workspace.purlin(&["refresh"]);
    scene.workspace.purlin(&["plan"]).prints("`/connection/base_url` cannot be changed in place");
    scene.up().prints("1 replaced");
    assert!(things(&first, "main").is_empty());
    assert_eq!(things(&second, "main").len(), 1);
    let _ = scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(things(&second, "main").is_empty());
}
