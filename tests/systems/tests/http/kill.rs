//! The program is killed at every message.

use std::time::Duration;

use purlin_systems::rest::Service;
use purlin_systems::{Project, Proxy, at_every_message};
use serde_json::{Value, json};

use crate::{Scene, asynchronous, found, named, none, size, things};

fn kill_scene(proxy: &Proxy, values: &Value) -> Project {
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
    // The token is returned once, and lost with the answer.
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
            &["up", "--yes"],
            |number| kill_scene(&proxy, &values(number)),
            |number, workspace| {
                only(&format!("kill-{marked}-{number}"), 1);
                workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
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
    at_every_message(&proxy, &["up", "--yes"], changed, |number, _| only(&format!("change-{number}"), 2));
    let replaced = |number: usize| {
        let (scene, values) = made(number + 1000);
        let mut values = size(values, 3);
        values["replaces"] = json!(["/create/body/size"]);
        scene.wants(&values, &none(), &none());
        scene.workspace
    };
    at_every_message(&proxy, &["up", "--yes"], replaced, |number, workspace| {
        workspace.purlin(&["up", "--yes"]);
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
    at_every_message(&proxy, &["up", "--yes"], scene, |number, workspace| {
        assert_eq!(service.all("things")[&format!("named-{number}")]["size"], 1);
        workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    });
    service.asynchronous(true, false);
    service.takes(Some(Duration::from_millis(100)));
    let scene = |number: usize| kill_scene(&proxy, &asynchronous(&url, &format!("async-{number}")));
    at_every_message(&proxy, &["up", "--yes"], scene, |number, workspace| {
        assert_eq!(things(&service, &format!("async-{number}")).len(), 1);
        workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    });
}
