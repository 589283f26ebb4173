use purlin_expression::Dialect;
use purlin_model::Deployment;
use serde_json::{Value as Json, json};

use crate::testing::{definition, has, request, resource_lifecycle, tell, try_build};
use crate::{EdgeKind, Graph};

/// Shared resources by name and type, and lifecycle settings for them by key.
fn deployment(shared: &[(&str, &str)], settings: &[(&str, Json)]) -> Deployment {
    Deployment {
        shared: shared
            .iter()
            .map(|(name, kind)| request("deploy", name, kind, None, Dialect::Definition))
            .collect(),
        lifecycle: settings.iter().map(|(key, json)| resource_lifecycle(key, json)).collect(),
        ..Deployment::default()
    }
}

fn node(graph: &Graph, key: &str) -> crate::NodeId {
    graph.find(key).expect(key)
}

#[test]
fn settings_of_the_deployment_override_those_of_the_definition() {
    let all = vec![
        definition("a", "a", json!({"protect": true, "depends_on": ["b#shared.b"]})),
        definition("b", "b", json!({"protect": true, "provision": {"c": {}}})),
        definition("c", "c", json!({})),
    ];
    let settings = [
        ("a.default#shared.a", json!({"protect": false, "depends_on": ["c#shared.b"]})),
        ("c.default#shared.b", json!({"protect": true})),
        ("base-env.default#base-env", json!({"protect": true})),
    ];
    let graph = try_build(all, deployment(&[("a", "a"), ("b", "b")], &settings)).expect("a graph");
    let protect = |key| graph.node(node(&graph, key)).expect(key).lifecycle.protect;
    assert!(!protect("a.default#shared.a"), "the deployment says otherwise");
    assert!(protect("b.default#shared.b") && protect("c.default#shared.b"));
    assert!(protect("base-env.default#base-env"));
    for to in ["b.default#shared.b", "c.default#shared.b"] {
        assert!(has(&graph, "a.default#shared.a", to, EdgeKind::DependsOn), "{to}");
    }
    let reasons = graph.reasons(node(&graph, "a.default#shared.a"), node(&graph, "c.default#shared.b"));
    assert_eq!(reasons[0].location.as_ref().map(|l| &*l.file), Some("a.default#shared.a"));
}

#[test]
fn replacing_and_deleting_with_others_waits_for_them() {
    let all = vec![
        definition("a", "a", json!({"replace_with": ["b", "b.@"], "deleted_with": "c#shared.c"})),
        definition("b", "b", json!({})),
        definition("c", "c", json!({})),
    ];
    let shared = [("x", "a"), ("x", "b"), ("c", "c")];
    let settings = [("b.default#shared.x", json!({"deleted_with": "c.default#shared.c"}))];
    let graph = try_build(all, deployment(&shared, &settings)).expect("a graph");
    let [a, b, c] =
        ["a.default#shared.x", "b.default#shared.x", "c.default#shared.c"].map(|key| node(&graph, key));
    assert_eq!((graph.replace_with(a), graph.deleted_with(a)), (vec![b], Some(c)));
    assert_eq!((graph.replace_with(b), graph.deleted_with(b)), (vec![], Some(c)));
    assert_eq!((graph.replace_with(c), graph.deleted_with(c)), (vec![], None));
    assert_eq!(graph.dependencies(a), [b, c]);
    assert_eq!(graph.dependencies(b), [c]);
    assert_eq!(graph.levels()[1], [b]);
}

#[test]
fn loops_by_lifecycle_settings_are_loops() {
    let all = vec![
        definition("a", "a", json!({"replace_with": ["b"]})),
        definition("b", "b", json!({"values": {"x": "${resources.c.outputs.x}"}})),
        definition("c", "c", json!({})),
        definition("d", "d", json!({})),
    ];
    let shared = [("x", "a"), ("x", "b"), ("x", "d")];
    let settings = [
        ("c.default#shared.x", json!({"deleted_with": "a.default#shared.x"})),
        ("d.default#shared.x", json!({"replace_with": ["d.default#shared.x"]})),
    ];
    insta::assert_snapshot!(tell(&try_build(all, deployment(&shared, &settings)).expect_err("loops")), @r"
    a:3:1+0 loop: resources depend on each other in a loop: `a.default#shared.x` → `b.default#shared.x` → `c.default#shared.x` → `a.default#shared.x`
      a:3:1: `a.default#shared.x` depends on `b.default#shared.x` (depends-on)
      b:1:1: `b.default#shared.x` depends on `c.default#shared.x` (reference) by ${resources.c.outputs.x}
      c.default#shared.x:3:1: `c.default#shared.x` depends on `a.default#shared.x` (depends-on)
      help: remove one of these references, or move what is shared into a resource of its own
    d.default#shared.x:3:1+0 loop: resources depend on each other in a loop: `d.default#shared.x` → `d.default#shared.x`
      d.default#shared.x:3:1: `d.default#shared.x` depends on `d.default#shared.x` (depends-on)
      help: remove one of these references, or move what is shared into a resource of its own
    ");
}

#[test]
fn settings_of_missing_resources_are_faults() {
    let all = vec![
        definition("postgres", "postgres", json!({"replace_with": ["postgres#shared.dc"]})),
        definition("dns", "dns", json!({"deleted_with": "redis#cache"})),
    ];
    let shared = [("db", "postgres"), ("zone", "dns")];
    let settings = [
        ("postgres.default#shared.bd", json!({})),
        ("postgress.default#shared.db", json!({})),
        ("dns.default#shared.zone", json!({})),
        ("dns.default#shared.zone", json!({"protect": true})),
    ];
    insta::assert_snapshot!(tell(&try_build(all, deployment(&shared, &settings)).expect_err("faults")), @r"
    postgres.default#shared.bd:6:1+0 unknown-resource: `lifecycle` names `postgres.default#shared.bd`, which is not in the graph
      help: did you mean `postgres.default#shared.db`?
    postgress.default#shared.db:6:1+0 unknown-resource: `lifecycle` names `postgress.default#shared.db`, which is not in the graph
      help: did you mean `postgres.default#shared.db`?
    dns.default#shared.zone:6:1+0 lifecycle-twice: `dns.default#shared.zone` has two entries in `lifecycle`
      dns.default#shared.zone:6:1: the first one is here
      help: write all settings into one of them
    postgres:3:1+0 unknown-resource: `postgres.default#shared.db` is replaced together with `postgres.default#shared.dc`, which is not in the graph
      note: did you mean `postgres.default#shared.db`?
      help: `replace_with` does not add resources: declare it, or refer to it
    dns:3:1+0 unknown-resource: `dns.default#shared.zone` is deleted together with `redis.default#cache`, which is not in the graph
      note: the resources are `base-env.default#base-env`, `dns.default#shared.zone`, `postgres.default#shared.db`
      help: `deleted_with` does not add resources: declare it, or refer to it
    ");
}

#[test]
fn a_former_name_is_that_of_one_resource() {
    let all = || vec![definition("a", "a", json!({"provision": {"b": {}}})), definition("b", "b", json!({}))];
    let shared = [("x", "a"), ("y", "a")];
    let urn = |app: &str, id: &str| format!("urn:purlin:dev/acme::{app}::shared::a.default::{id}");
    let good = [
        ("a.default#shared.x", json!({"aliases": ["a#old", urn("shop", "old"), urn("blog", "shared.y")]})),
        ("b.default#shared.x", json!({"aliases": ["b#old"]})),
    ];
    let graph = try_build(all(), deployment(&shared, &good)).expect("a graph");
    let x = graph.node(node(&graph, "a.default#shared.x")).expect("a node");
    assert_eq!(x.lifecycle.aliases.len(), 3);
    let settings = [
        ("a.default#shared.x", json!({"aliases": ["a#old", "a#shared.x", "b#shared.y"]})),
        ("a.default#shared.y", json!({"aliases": [urn("shop", "shared.x"), urn("shop", "old"), "a#other"]})),
        ("b.default#shared.x", json!({"aliases": ["a#other", "base-env#base-env"]})),
    ];
    insta::assert_snapshot!(tell(&try_build(all(), deployment(&shared, &settings)).expect_err("faults")), @r"
    a.default#shared.x:8:1+0 alias-of-itself: `a.default#shared.x` has this name now
      help: write its previous name, or remove the alias
    a.default#shared.x:9:1+0 alias-in-use: `a.default#shared.x` has the alias `b.default#shared.y`, but `b.default#shared.y` is still in the graph
      a:2:1: `b.default#shared.y` is used here
      help: remove the alias, or remove the other resource
    a.default#shared.y:7:1+0 alias-in-use: `a.default#shared.y` has the alias `urn:purlin:dev/acme::shop::shared::a.default::shared.x`, but `a.default#shared.x` is still in the graph
      deploy:5:1: `a.default#shared.x` is used here
      help: remove the alias, or remove the other resource
    a.default#shared.y:8:1+0 alias-twice: `a.default#shared.x` and `a.default#shared.y` both have the alias `urn:purlin:dev/acme::shop::shared::a.default::old`
      a.default#shared.x:7:1: `a.default#shared.x` has it here
      help: keep only the alias of the renamed resource
    b.default#shared.x:7:1+0 alias-twice: `a.default#shared.y` and `b.default#shared.x` both have the alias `a.default#other`
      a.default#shared.y:9:1: `a.default#shared.y` has it here
      help: keep only the alias of the renamed resource
    b.default#shared.x:8:1+0 alias-in-use: `b.default#shared.x` has the alias `base-env.default#base-env`, but `base-env.default#base-env` is still in the graph
      note: `base-env.default#base-env` is in the graph, although no document names it
      help: remove the alias, or remove the other resource
    ");
}
