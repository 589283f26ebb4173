//! Slow operations.

use std::time::{Duration, Instant};

use purlin_systems::project::{Ran, ran_with};
use purlin_systems::rest::{Misbehaviour, Service};
use serde_json::{Value, json};

use crate::{Scene, THING, TIME, asynchronous, found, none, things, with_little_time};

/// Longer than a test takes.
const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);

/// The message about a thing, or an operation, that took too long.
const CREATING: &str = "the resource is \"creating\" after";
const RUNNING: &str = "the operation is \"running\" after";

/// A thing that has to become ready.
fn slow(url: &str) -> Value {
    let mut values = found(url, "slow");
    values["wait"] = json!({
        "until": {"pointer": "/status", "equals": "ready"},
        "fail": {"pointer": "/status", "in": ["broken"]},
        "every_ms": 100,
    });
    values["outputs"] = json!({"status": "/status"});
    values
}

/// A run that ends before its thing is ready: the service takes as long as the test wants.
struct Early {
    service: Service,
    scene: Scene,
    done: Ran,
}

impl Early {
    fn new(is_asynchronous: bool, values: impl Fn(&str) -> Value, time: &str) -> Self {
        let service = Service::start();
        service.takes(Some(FOREVER));
        service.asynchronous(is_asynchronous, false);
        let scene = Scene::new(&service.url(), &values(&service.url()), &none());
        scene.settings(&format!("http: [\"{}/*\"]", service.url()), time);
        let done = scene.workspace.run(&["up", "--yes"]);
        Self { service, scene, done }
    }

    /// From now on, calls have the time that they need.
    fn is_patient(&self) {
        self.scene.settings(&format!("http: [\"{}/*\"]", self.service.url()), TIME);
    }
}

#[test]
fn a_thing_becomes_ready_in_its_own_time() {
    let service = Service::start();
    service.takes(Some(Duration::from_millis(1200)));
    let scene = Scene::new(&service.url(), &slow(&service.url()), &none());
    scene.up();
    assert_eq!(scene.outputs()["status"], "ready");
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(things(&service, "slow").is_empty(), "it is gone when it is said to be");
    // Longer than it may take, or a call: it exists, and the next run continues.
    let limited = |url: &str| {
        let mut values = slow(url);
        values["wait"]["at_most_ms"] = json!(300);
        values
    };
    let by_call = with_little_time(|time| {
        let early = Early::new(false, slow, time);
        early.done.has(CREATING).then_some(early)
    });
    for early in [Early::new(false, limited, TIME), by_call] {
        early.is_patient();
        let Early { service, scene, done } = early;
        done.status(1).prints(CREATING);
        assert_eq!(things(&service, "slow").len(), 1);
        service.hurry();
        scene.up();
        let status = scene.outputs()["status"].clone();
        assert_eq!((things(&service, "slow").len(), status), (1, json!("ready")));
        // A broken one exists all the same, and is deleted in the end.
        let broken = things(&service, "slow")[0]["id"].as_str().expect("an id").to_owned();
        service.takes(None);
        let thing = json!({"id": broken, "name": "slow", "size": 1, "status": "broken"});
        service.put("things", &broken, thing);
        scene.workspace.purlin(&["destroy", "--yes"]);
        assert!(things(&service, "slow").is_empty());
    }
}

#[test]
fn an_operation_is_followed() {
    let service = Service::start();
    service.takes(Some(Duration::from_millis(600)));
    service.asynchronous(true, false);
    let scene = Scene::new(&service.url(), &asynchronous(&service.url(), "async"), &none());
    scene.up();
    assert_eq!(things(&service, "async").len(), 1);
    scene.up().prints("Nothing to change");
    service.asynchronous(true, true);
    let scene = Scene::new(&service.url(), &asynchronous(&service.url(), "fails"), &none());
    scene.fails().prints("there is no room");
    assert!(things(&service, "fails").is_empty());
    let state = scene.workspace.purlin(&["state", "list"]).to_string();
    assert!(!state.contains("shared.thing"), "{state}");
    // It takes longer than it may.
    let long = |url: &str| asynchronous(url, "long");
    let limited = |url: &str| {
        let mut values = long(url);
        values["operation"]["at_most_ms"] = json!(300);
        values
    };
    let Early { service, scene, done } = Early::new(true, limited, TIME);
    done.status(1).prints(RUNNING);
    assert!(things(&service, "long").is_empty());
    service.hurry();
    scene.workspace.run(&["up", "--yes"]);
    scene.up();
    assert_eq!(things(&service, "long").len(), 1, "the operation is not begun anew");
    // It takes longer than the limit of the call, and still runs when the next run begins.
    let early = with_little_time(|time| {
        let early = Early::new(true, long, time);
        early.done.has(RUNNING).then_some(early)
    });
    early.is_patient();
    let Early { service, scene, done } = early;
    done.status(1);
    assert!(things(&service, "long").is_empty());
    drop(service.requests());
    let child = scene.workspace.start(&["up", "--yes"]);
    let begun = Instant::now();
    while !service.requests().iter().any(|request| request.path.starts_with("/operations/")) {
        assert!(begun.elapsed() < Duration::from_secs(120), "nobody reads the operation");
        std::thread::sleep(Duration::from_millis(5));
    }
    service.hurry();
    ran_with(child);
    scene.up();
    assert_eq!(things(&service, "long").len(), 1, "the operation that ran was followed, none begun anew");
}

/// The API answers 200 to a deletion, and still shows the thing for a while.
#[test]
fn a_deleted_thing_is_gone_once_it_is_no_longer_shown() {
    let service = Service::start();
    let values = found(&service.url(), "lingering");
    let scene = Scene::new(&service.url(), &values, &none());
    for reads in [1, 2] {
        scene.up();
        service.lingers(reads);
        service.requests();
        scene.workspace.purlin(&["destroy", "--yes"]);
        assert!(things(&service, "lingering").is_empty());
        let looks = service.requests().into_iter().skip_while(|request| request.method != "DELETE").count();
        assert_eq!(looks as u32, 1 + reads + 1, "the deletion, and the looks until it was gone");
    }
    // A replacement needs the name.
    service.lingers(0);
    scene.up();
    service.lingers(2);
    scene.workspace.purlin(&["up", "--yes", "--replace", THING]);
    assert_eq!(things(&service, "lingering").len(), 1);
    scene.up().prints("Nothing to change");
    // It never goes: it stays recorded, and nothing is created beside it.
    service.lingers(u32::MAX);
    with_little_time(|time| {
        scene.settings(&format!("http: [\"{}/*\"]", service.url()), time);
        let done = scene.workspace.run(&["destroy", "--yes"]).status(1);
        done.has("its deletion was accepted, but it still exists").then_some(())
    });
    assert!(things(&service, "lingering").is_empty());
    scene.workspace.purlin(&["state", "list"]).prints(THING);
    scene.settings(&format!("http: [\"{}/*\"]", service.url()), TIME);
    service.lingers(0);
    scene.up();
    assert_eq!(things(&service, "lingering").len(), 1);
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(things(&service, "lingering").is_empty());
}

/// The answer to a deletion is lost, and the API still shows the thing: whether it was deleted is
/// decided once the grace has passed.
#[test]
fn a_thing_that_is_still_shown_after_a_lost_deletion_is_undecided() {
    let service = Service::start();
    let values = found(&service.url(), "perhaps");
    let scene = Scene::new(&service.url(), &values, &none());
    scene.up();
    let limits = |limits: &str| scene.settings(&format!("http: [\"{}/*\"]", service.url()), limits);
    limits("grace: 1h, time: 10m");
    service.lingers(u32::MAX);
    for _ in 0..20 {
        service.fault("DELETE", Misbehaviour::LoseAnswer);
    }
    scene.workspace.run(&["destroy", "--yes"]).status(1).prints("thing.default#shared.thing");
    service.behave();
    assert!(things(&service, "perhaps").is_empty());
    // The documents have it again.
    scene.fails().prints("its system may still show it");
    assert!(things(&service, "perhaps").is_empty(), "nothing is created beside it");
    service.lingers(0);
    scene.up();
    assert_eq!(things(&service, "perhaps").len(), 1);
    scene.up().prints("Nothing to change");
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(things(&service, "perhaps").is_empty());
}
