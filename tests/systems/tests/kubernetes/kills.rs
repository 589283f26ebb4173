//! The program is killed at each message that it sends, before it arrives and after the answer, and
//! runs again. The wire is plain HTTP in front of `kubectl proxy`, so that each message is a
//! request.

use purlin_systems::cut::Wire;
use purlin_systems::interrupt::When;
use purlin_systems::kubernetes::Kubernetes;
use purlin_systems::{Project, Proxy, at_every_message};
use serde_json::{Value, json};

use crate::scene::{deployment, destroy, give, is_recorded, map, several, unchanged, up, workspace_at};

const DEPLOYMENTS: &str = "deployments.apps";

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// A Deployment and a ConfigMap, both named after the attempt, and optionally another ConfigMap.
fn manifests(port: u16, attempt: usize, image: &str, more: bool) -> Value {
    let name = format!("web-{attempt}");
    let mut all = vec![deployment(&name, image, 1), map(&name, &json!({"image": image}))];
    if more {
        all.push(map(&format!("more-{attempt}"), &json!({})));
    }
    several(&url(port), &all)
}

fn scene(k8s: &Kubernetes, port: u16, inputs: &Value) -> Project {
    workspace_at(&[url(port)], &k8s.authority(), inputs)
}

/// Each object was created once and exists, and nothing is left to do.
fn is_whole(k8s: &Kubernetes, attempt: usize, workspace: &Project) {
    let name = format!("web-{attempt}");
    for kind in [DEPLOYMENTS, "configmaps"] {
        assert_eq!(k8s.made(kind, "default", &name), 1, "{kind} {name}");
        assert!(k8s.get(kind, "default", &name).is_some(), "{kind} {name}");
    }
    unchanged(workspace);
}

#[test]
fn a_kill_during_creation_makes_nothing_twice() {
    let Some(k8s) = Kubernetes::start() else { return };
    let proxy = Proxy::to(k8s.plain_port());
    let kills = at_every_message(
        &proxy,
        &["up", "--yes"],
        |attempt| scene(&k8s, proxy.port(), &manifests(proxy.port(), attempt, "shop:1", false)),
        |attempt, workspace| is_whole(&k8s, attempt, workspace),
    );
    assert!(kills > 10, "{kills}");
}

#[test]
fn changes_and_pruning_finish_after_a_kill() {
    let Some(k8s) = Kubernetes::start() else { return };
    let proxy = Proxy::to(k8s.plain_port());
    let kills = at_every_message(
        &proxy,
        &["up", "--yes"],
        |attempt| {
            let workspace = scene(&k8s, proxy.port(), &manifests(proxy.port(), attempt, "shop:1", true));
            up(&workspace);
            give(&workspace, &manifests(proxy.port(), attempt, "shop:2", false));
            workspace
        },
        |attempt, workspace| {
            is_whole(&k8s, attempt, workspace);
            let settings = k8s.get("configmaps", "default", &format!("web-{attempt}"));
            assert_eq!(settings.expect("there")["data"]["image"], "shop:2");
            assert_eq!(k8s.get("configmaps", "default", &format!("more-{attempt}")), None, "pruned");
        },
    );
    assert!(kills > 10, "{kills}");
}

#[test]
fn a_kill_during_deletion_forgets_nothing() {
    let Some(k8s) = Kubernetes::start() else { return };
    let proxy = Proxy::to(k8s.plain_port());
    let kills = at_every_message(
        &proxy,
        &["destroy", "--yes", "--allow-data-loss"],
        |attempt| {
            let workspace = scene(&k8s, proxy.port(), &manifests(proxy.port(), attempt, "shop:1", false));
            up(&workspace);
            workspace
        },
        |attempt, workspace| {
            let name = format!("web-{attempt}");
            assert_eq!(k8s.get(DEPLOYMENTS, "default", &name), None);
            assert_eq!(k8s.get("configmaps", "default", &name), None);
            assert!(!is_recorded(workspace));
        },
    );
    assert!(kills > 5, "{kills}");
}

/// The connection breaks at each message in turn, and the program continues: it repeats the
/// request, or reports what it does not know, and the next run finds the result.
#[test]
fn a_broken_connection_makes_nothing_twice() {
    let Some(k8s) = Kubernetes::start() else { return };
    let wire = Wire::to(k8s.plain_port());
    let mut cuts = 0;
    for when in [When::Before, When::After] {
        for at in 1.. {
            cuts += 1;
            let name = format!("map-{cuts}");
            let inputs = several(&url(wire.port()), &[map(&name, &json!({"k": "1"}))]);
            let workspace = scene(&k8s, wire.port(), &inputs);
            wire.cut_at(at, when);
            let done = workspace.run(&["up", "--yes"]);
            let was_cut = wire.has_failed();
            if done.status != 0 {
                up(&workspace);
            }
            assert_eq!(k8s.made("configmaps", "default", &name), 1, "{name}: {done}");
            unchanged(&workspace);
            destroy(&workspace);
            assert_eq!(k8s.get("configmaps", "default", &name), None);
            if !was_cut {
                break;
            }
        }
    }
    assert!(cuts > 6, "{cuts}");
}
