//! Slow operations.

use std::time::{Duration, Instant};

use purlin_systems::project::{Ran, ran_with};
use purlin_systems::rest::{Misbehaviour, Service};
use serde_json::{Value, json};

use crate::{Scene, THING, TIME, asynchronous, found, none, things, with_little_time};

/// Longer than a test takes.
const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);

/// Longer than a call waits.
const LONG: Duration = Duration::from_secs(6);

/// The message about a thing, or an operation, that is not done when the run ends.
const CREATING: &str = "it is in progress: the resource is \"creating\"; the next run goes on";
const RUNNING: &str = "the operation is \"running\"; the next run continues from there";

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
        // It waits no longer than a call does.
        scene.settings(&format!("http: [\"{}/*\"]", service.url()), &format!("{time}, pending: 0s"));
        let done = scene.workspace.run(&["up", "--yes"]);
        Self { service, scene, done }
    }

    /// From now on, runs and calls have the time that they need.
    fn is_patient(&self) {
        self.scene.settings(&format!("http: [\"{}/*\"]", self.service.url()), TIME);
    }
}

#[test]
fn a_thing_becomes_ready_in_its_own_time() {
    let service = Service::start();
    // No call waits for it, but the run does.
    for time in [Duration::from_millis(1200), LONG] {
        service.takes(Some(time));
        let scene = Scene::new(&service.url(), &slow(&service.url()), &none());
        scene.up();
        assert_eq!(scene.outputs()["status"], "ready");
        scene.up().prints("Nothing to change");
        scene.workspace.purlin(&["destroy", "--yes"]);
        assert!(things(&service, "slow").is_empty(), "it is gone when it is said to be");
    }
    // Longer than the run waits, or a call may take: it exists, and the next run continues.
    let by_call = with_little_time(|time| {
        let early = Early::new(false, slow, time);
        early.done.has(CREATING).then_some(early)
    });
    for early in [Early::new(false, slow, TIME), by_call] {
        early.is_patient();
        let Early { service, scene, done } = early;
        done.status(1).prints(CREATING);
        let [thing] = &things(&service, "slow")[..] else { panic!("one thing") };
        let id = thing["id"].as_str().expect("an id");
        // The run that waits for it does not take a broken one for ready.
        let with = |status: &str| {
            let mut thing = thing.clone();
            thing["status"] = status.into();
            service.put("things", id, thing);
        };
        with("broken");
        scene.fails().prints("the resource failed: it is \"broken\"");
        with("creating");
        service.hurry();
        scene.up();
        let status = scene.outputs()["status"].clone();
        assert_eq!((things(&service, "slow").len(), status), (1, json!("ready")));
        // A broken one exists all the same, and is deleted in the end.
        service.takes(None);
        with("broken");
        scene.workspace.purlin(&["destroy", "--yes"]);
        assert!(things(&service, "slow").is_empty());
    }
}

#[test]
fn a_run_that_does_not_wait_leaves_the_rest_to_the_next_one() {
    let service = Service::start();
    service.takes(Some(FOREVER));
    let scene = Scene::new(&service.url(), &slow(&service.url()), &none());
    let without_waiting = |command: &str| scene.workspace.run(&[command, "--yes", "--no-wait"]);
    for _ in 0..2 {
        without_waiting("up").status(1).prints(CREATING).prints("warning[in-progress]");
        scene.workspace.purlin(&["state", "list"]).prints("in-progress");
    }
    service.hurry();
    without_waiting("up").status(0);
    assert_eq!(scene.outputs()["status"], "ready");
    scene.up().prints("Nothing to change");
    let made = service.requests().iter().filter(|request| request.method == "POST").count();
    assert_eq!((made, things(&service, "slow").len()), (1, 1), "the other runs only looked");
    // So does a deletion.
    for _ in 0..2 {
        without_waiting("destroy").status(1).prints("its deletion is in progress");
    }
    service.hurry();
    without_waiting("destroy").status(0);
    assert!(things(&service, "slow").is_empty());
    assert!(scene.workspace.recorded().is_empty());
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
    // It takes longer than the limit of the call.
    let early = || {
        let early = with_little_time(|time| {
            let early = Early::new(true, |url| asynchronous(url, "long"), time);
            early.done.has(RUNNING).then_some(early)
        });
        early.is_patient();
        let Early { service, scene, done } = early;
        done.status(1);
        assert!(things(&service, "long").is_empty());
        drop(service.requests());
        (service, scene)
    };
    let (service, scene) = early();
    service.hurry();
    scene.workspace.run(&["up", "--yes"]);
    scene.up();
    assert_eq!(things(&service, "long").len(), 1, "the operation is not begun anew");
    // It still runs when the next run begins.
    let (service, scene) = early();
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
    scene
        .workspace
        .run(&["destroy", "--yes", "--no-wait"])
        .status(1)
        .prints("its deletion is in progress: its deletion was accepted, but it still exists");
    assert!(things(&service, "lingering").is_empty());
    scene.workspace.purlin(&["state", "list"]).prints(THING);
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
