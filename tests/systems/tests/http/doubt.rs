//! Lost answers: nothing is created twice, nothing forgotten, nothing guessed.

use purlin_systems::Ran;
use purlin_systems::rest::{Misbehaviour, Service};
use serde_json::{Value, json};

use crate::{Scene, THING, TIME, found, lost, none, size, things, with_little_time};

#[test]
fn a_lost_answer_creates_nothing_twice() {
    let service = Service::start();
    let huge = 5 << 20;
    let faults = [
        Misbehaviour::LoseAnswer,
        Misbehaviour::CutOff,
        Misbehaviour::Huge(huge),
        Misbehaviour::DoAndAnswer(201, "this is no JSON".to_owned()),
        Misbehaviour::DoAndAnswer(201, "{\"ok\": true}".to_owned()),
        Misbehaviour::DoAndAnswer(500, "{\"error\": \"a bug\"}".to_owned()),
        Misbehaviour::DoAndAnswer(502, String::new()),
        Misbehaviour::DoAndAnswer(504, String::new()),
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
            scene.up().prints("Nothing to change");
        }
    }
    // Values that were only in the lost answer are unknown; the created object is not forgotten.
    let scene = Scene::new(&service.url(), &found(&service.url(), "token"), &none());
    service.fault("POST", Misbehaviour::LoseAnswer);
    scene.fails().prints("does not return the outputs `token`");
    assert_eq!(things(&service, "token").len(), 1);
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(things(&service, "token").is_empty());
    // A change, and a deletion.
    let values = found(&service.url(), "changed");
    let scene = Scene::new(&service.url(), &values, &none());
    scene.up();
    service.fault("PATCH", Misbehaviour::LoseAnswer);
    scene.wants(&size(values, 2), &none(), &none());
    scene.fails().prints("the connection ended before the answer");
    scene.up();
    assert_eq!(things(&service, "changed")[0]["size"], 2);
    service.fault("DELETE", Misbehaviour::LoseAnswer);
    scene.workspace.purlin(&["destroy", "--yes"]);
    assert!(things(&service, "changed").is_empty());
}

/// A run with a request that the server carries out later.
struct Late {
    service: Service,
    scene: Scene,
    done: Ran,
}

impl Late {
    fn new(hang_up: bool, time: &str) -> Self {
        let service = Service::start();
        let mut values = found(&service.url(), "late");
        // The token would be lost with the answer.
        values["secret_outputs"] = json!({});
        let scene = Scene::new(&service.url(), &values, &none());
        scene.settings(&format!("http: [\"{}/*\"]", service.url()), time);
        service.fault("POST", Misbehaviour::DoLater { hang_up });
        let done = scene.workspace.run(&["up", "--yes"]);
        Self { service, scene, done }
    }

    fn appears_once(self) {
        let Self { service, scene, done } = self;
        done.status(1).prints("the next run determines the outcome");
        assert!(things(&service, "late").is_empty(), "not yet");
        service.do_late();
        assert_eq!(things(&service, "late").len(), 1);
        scene.settings(&format!("http: [\"{}/*\"]", service.url()), TIME);
        scene.up();
        scene.up().prints("Nothing to change");
        assert_eq!(things(&service, "late").len(), 1, "and not made again");
    }
}

#[test]
fn late_objects_are_found() {
    let late = Late::new(true, TIME);
    assert!(late.done.has("it cannot be found yet, and may still be created"), "{}", late.done);
    late.appears_once();
    // The connection stays open, and the time of the call ends.
    let late = with_little_time(|time| {
        let late = Late::new(false, time);
        let text = format!("POST {}/things: no answer within", late.service.url());
        late.done.has(&text).then_some(late)
    });
    late.appears_once();
}

/// The list shows a new object late, as a read of a replica does.
#[test]
fn an_object_that_is_not_listed_yet_is_not_created_again() {
    let service = Service::start();
    let mut values = found(&service.url(), "unlisted");
    // The token would be lost with the answer.
    values["secret_outputs"] = json!({});
    let scene = Scene::new(&service.url(), &values, &none());
    let limits = "grace: 1h, time: 10m";
    scene.settings(&format!("http: [\"{}/*\"]", service.url()), limits);
    let hide = || service.fault("GET", Misbehaviour::Refuse(200, Vec::new(), "{\"items\": []}".to_owned()));
    for status in [None, Some(500)] {
        // Before the creation, after the lost answer, and in the next run.
        (0..3).for_each(|_| hide());
        service.fault(
            "POST",
            match status {
                None => Misbehaviour::LoseAnswer,
                Some(status) => Misbehaviour::DoAndAnswer(status, String::new()),
            },
        );
        scene.fails().prints("it cannot be found yet");
        scene.fails().prints("its system may not show it yet");
        assert_eq!(things(&service, "unlisted").len(), 1, "{status:?}");
        scene.up();
        scene.up().prints("Nothing to change");
        assert_eq!(things(&service, "unlisted").len(), 1, "{status:?}");
        scene.workspace.purlin(&["destroy", "--yes"]);
        assert!(things(&service, "unlisted").is_empty(), "{status:?}");
    }
}

#[test]
fn objects_that_cannot_be_found_are_left_to_a_person() {
    let service = Service::start();
    let mut values = lost(&service.url());
    values["secret_outputs"] = json!({});
    let scene = Scene::new(&service.url(), &values, &none());
    service.fault("POST", Misbehaviour::LoseAnswer);
    scene.fails();
    assert_eq!(things(&service, "lost").len(), 1);
    scene.workspace.run(&["up", "--yes"]).status(1).prints("it is unknown whether `lost` was created");
    assert_eq!(things(&service, "lost").len(), 1, "nothing is guessed");
    let id = things(&service, "lost")[0]["id"].as_str().expect("an id").to_owned();
    scene.workspace.purlin(&["import", "--yes", THING, &id]);
    // Nobody knows whether the object has the inputs of the documents.
    scene.up().prints("1 updated");
    scene.up().prints("Nothing to change");
    assert_eq!(things(&service, "lost").len(), 1);
    // An API with idempotency keys needs no person.
    service.empty();
    values["idempotency_header"] = json!("Idempotency-Key");
    let scene = Scene::new(&service.url(), &values, &none());
    service.fault("POST", Misbehaviour::LoseAnswer);
    scene.up();
    assert_eq!(things(&service, "lost").len(), 1);
}
