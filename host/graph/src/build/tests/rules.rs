use purlin_expression::Dialect;
use purlin_model::{Deployment, ResourceRequest};
use serde_json::{Value as Json, json};

use crate::testing::{definition, has, request, show, tell, template, try_build, workload};
use crate::{EdgeKind, Origin};

fn shared(requests: &[(&str, &str, Json)]) -> Deployment {
    let one = |(name, kind, params): &(&str, &str, Json)| -> ResourceRequest {
        request("deploy", name, kind, (!params.is_null()).then(|| params.clone()), Dialect::Definition)
    };
    Deployment { shared: requests.iter().map(one).collect(), ..Deployment::default() }
}

#[test]
fn every_declared_resource_is_a_dependency() {
    let all = vec![definition(
        "any",
        "*",
        json!({"criteria": [{"res_id": "modules.w.externals.a"}, {"res_id": "shared.s"}]}),
    )];
    let resources = [("a", "dns", Json::Null), ("b", "dns#s", Json::Null)];
    let deployment =
        Deployment { workloads: vec![workload("w", &resources, json!({}))], ..Deployment::default() };
    let graph = try_build(all, deployment).expect("a graph");
    insta::assert_snapshot!(show(&graph), @r"
    workload.default#modules.w -> dns.default#modules.w.externals.a dependency
    workload.default#modules.w -> dns.default#shared.s dependency
    0: base-env.default#base-env dns.default#modules.w.externals.a dns.default#shared.s
    1: workload.default#modules.w
    ");
    let node = graph.node(graph.find("workload.default#modules.w").expect("there")).expect("a node");
    assert!(node.implicit && node.shown && node.recipe.name.is_none());
    let origins = graph.origins(graph.find("dns.default#shared.s").expect("there"));
    assert!(matches!(&origins[..], [Origin::Declared { workload: Some(name), .. }] if **name == *"w"));
}

#[test]
fn params_that_read_make_edges() {
    let all = vec![definition("a", "a", json!({})), definition("b", "b", json!({}))];
    let resources = [("x", "a", json!({"from": "${resources.y.out}"})), ("y", "b", Json::Null)];
    let mut deployment = shared(&[
        ("p", "a", json!({"from": "${resources['b#shared.q'].outputs.out}"})),
        ("r", "a", json!({"from": "${values.v}"})),
    ]);
    deployment.values.insert("v".into(), template("deploy", &json!("${values.w.deep}"), Dialect::Definition));
    deployment.values.insert(
        "w".into(),
        template("deploy", &json!({"deep": "${resources['b#shared.z'].outputs.out}", "other": "${resources['b#shared.no'].guresid}"}), Dialect::Definition),
    );
    deployment.workloads.push(workload("w", &resources, json!({})));
    let graph = try_build(all, deployment).expect("a graph");
    for (from, to) in [
        ("a.default#modules.w.externals.x", "b.default#modules.w.externals.y"),
        ("a.default#shared.p", "b.default#shared.q"),
        ("a.default#shared.r", "b.default#shared.z"),
    ] {
        assert!(has(&graph, from, to, EdgeKind::Reference), "{from} {to}");
    }
    assert!(graph.find("b.default#shared.no").is_none(), "what nobody reads adds nothing");
    let origins = graph.origins(graph.find("b.default#shared.z").expect("there"));
    assert!(
        matches!(&origins[..], [Origin::Reference { from, placeholder, .. }]
            if from.as_str() == "a.default#shared.r" && placeholder.contains("shared.z")),
        "{origins:?}"
    );
}

#[test]
fn provision_params_are_those_of_the_co_provisioner() {
    let all = vec![
        definition(
            "app",
            "app",
            json!({"provision": {"db.big#fixed": {"is_dependent": true, "params": {
                "for": "${context.res.id}", "dns": "${resources.dns.outputs.host}", "size": "${params.size}"
            }}}}),
        ),
        definition("db", "db", json!({"criteria": [{"class": "big"}]})),
        definition("dns", "dns", json!({})),
        definition("size", "size", json!({})),
    ];
    let graph = try_build(all, shared(&[("a", "app", json!({"size": "${resources['size#s'].outputs.n}"}))]))
        .expect("a graph");
    insta::assert_snapshot!(show(&graph), @r"
    app.default#shared.a -> size.default#s reference
    db.big#fixed -> app.default#shared.a co-provision
    db.big#fixed -> dns.default#shared.a reference
    db.big#fixed -> size.default#s reference
    0: base-env.default#base-env dns.default#shared.a size.default#s
    1: app.default#shared.a
    2: db.big#fixed
    ");
}

#[test]
fn match_dependents_reaches_a_fixed_point() {
    // p reads a; a provisions b, b provisions c, and c provisions d, each for its dependents.
    let brings = |what: &str| json!({"provision": {what: {"match_dependents": true}}});
    let all = vec![
        definition("p", "p", json!({"values": {"a": "${resources.a.outputs.x}"}})),
        definition("a", "a", brings("b")),
        definition("b", "b", brings("c")),
        definition(
            "c",
            "c",
            json!({"provision": {"d": {"match_dependents": true}, "e": {"match_dependents": true}}}),
        ),
        definition("d", "d", json!({"values": {"c": "${resources.c.outputs.x}"}})),
        definition(
            "e",
            "e",
            json!({"values": {"c": "${resources.c.outputs.x}", "d": "${resources.d.outputs.x}"}}),
        ),
    ];
    let graph = try_build(all, shared(&[("x", "p", Json::Null)])).expect("a graph");
    insta::assert_snapshot!(show(&graph), @r"
    d.default#shared.x -> c.default#shared.x reference
    e.default#shared.x -> c.default#shared.x reference
    e.default#shared.x -> d.default#shared.x reference
    p.default#shared.x -> a.default#shared.x reference
    p.default#shared.x -> b.default#shared.x match-dependents
    p.default#shared.x -> c.default#shared.x match-dependents
    p.default#shared.x -> d.default#shared.x match-dependents
    p.default#shared.x -> e.default#shared.x match-dependents
    0: a.default#shared.x b.default#shared.x base-env.default#base-env c.default#shared.x
    1: d.default#shared.x
    2: e.default#shared.x
    3: p.default#shared.x
    ");
}

#[test]
fn selectors_hop_and_zip() {
    let all = vec![
        definition("gcs", "gcs", json!({})),
        definition(
            "iam",
            "iam",
            json!({"values": {
                "principals": "${resources['gcs.@#@<workload>account'].outputs.principal}",
                "names": "${resources['gcs.@#@<workload>account'].outputs.name}",
                "none": "${resources['gcs<nothing'].outputs.x}",
                "one": "${resources['gcs<workload#modules.b>account.default'].outputs.x}"
            }}),
        ),
        definition("workload", "workload", json!({"values": {"sa": "${resources.account.outputs.name}"}})),
        definition("account", "account", json!({})),
        definition(
            "s3",
            "s3",
            json!({"values": {"all": "${resources['base-env#base-env<s3'].guresid}"}, "provision": {}}),
        ),
    ];
    let bucket = [("data", "gcs#data", Json::Null)];
    let workloads = ["c", "a", "b"].map(|name| workload(name, &bucket, json!({})));
    let deployment = Deployment {
        workloads: workloads.into(),
        ..shared(&[("data", "iam", Json::Null), ("s", "s3", Json::Null)])
    };
    let graph = try_build(all, deployment).expect("a graph");
    insta::assert_snapshot!(show(&graph));
}

#[test]
fn the_foundation_comes_first_and_hides() {
    let all = |read: &str| {
        vec![
            definition(
                "cluster",
                "k8s-cluster",
                json!({"values": {"c": "${resources.config#cloud.outputs.x}"}}),
            ),
            definition(
                "namespace",
                "k8s-namespace",
                json!({"values": {"c": "${resources.k8s-cluster#k8s-cluster.outputs.x}"}}),
            ),
            definition("config", "config", json!({})),
            definition("dns", "dns", json!({"values": {"v": read}})),
        ]
    };
    let graph = try_build(all("x"), shared(&[("d", "dns", Json::Null)])).expect("a graph");
    insta::assert_snapshot!(show(&graph), @r"
    k8s-cluster.default#k8s-cluster -> config.default#cloud reference
    k8s-namespace.default#k8s-namespace -> k8s-cluster.default#k8s-cluster reference
    0: config.default#cloud
    1: k8s-cluster.default#k8s-cluster
    2: k8s-namespace.default#k8s-namespace
    3: base-env.default#base-env dns.default#shared.d
    ");
    let shown = |graph: &crate::Graph| graph.nodes().filter(|node| node.shown).count();
    assert_eq!((shown(&graph), graph.nodes().filter(|node| node.foundation).count()), (2, 3));
    let graph = try_build(
        all("${resources.k8s-namespace#k8s-namespace.outputs.x}"),
        shared(&[("d", "dns", Json::Null)]),
    )
    .expect("a graph");
    assert_eq!(shown(&graph), 5);
    // Without definitions they are omitted; an agent exists only if one is defined.
    let graph = try_build(vec![], Deployment::default()).expect("a graph");
    assert_eq!(show(&graph), "0: base-env.default#base-env");
    let graph =
        try_build(vec![definition("agent", "agent", json!({}))], Deployment::default()).expect("a graph");
    assert!(graph.find("agent.default#agent").is_some());
}

#[test]
fn equal_params_are_one_resource_and_others_a_fault() {
    let all = || vec![definition("a", "a", json!({})), definition("b", "b", json!({}))];
    let two = |first: Json, second: Json| {
        let one = |name, params| workload(name, &[("x", "a#s", params), ("y", "b#t", Json::Null)], json!({}));
        Deployment { workloads: vec![one("v", first), one("w", second)], ..Deployment::default() }
    };
    // The same resource under the same name, read by both workloads.
    let read = || json!({"n": 1, "from": ["${resources.y.out}"]});
    assert!(try_build(all(), two(read(), read())).is_ok());
    assert!(try_build(all(), two(Json::Null, read())).is_ok());
    let faults =
        try_build(all(), two(read(), json!({"n": 2, "from": ["${resources.y.out}"]}))).expect_err("differ");
    insta::assert_snapshot!(tell(&faults), @r"
    w:5:1+0 params-differ: `a.default#shared.s` is requested with different params
      v:5:1: the other params are given here
      help: give equal params in both places, or in one of them only
    ");
    // Equal text that refers to different resources is different.
    let own = |name| {
        workload(name, &[("x", "a#s", json!({"f": "${resources.z.out}"})), ("z", "b", Json::Null)], json!({}))
    };
    let deployment = Deployment { workloads: vec![own("v"), own("w")], ..Deployment::default() };
    assert_eq!(try_build(all(), deployment).expect_err("differ")[0].code, "params-differ");
}

#[test]
fn depends_on_waits_for_existing_resources() {
    let all = |setting: &str| {
        vec![definition("a", "a", json!({"depends_on": [setting]})), definition("b", "b", json!({}))]
    };
    let both = || shared(&[("x", "a", Json::Null), ("y", "b", Json::Null)]);
    let graph = try_build(all("b#shared.y"), both()).expect("a graph");
    assert!(has(&graph, "a.default#shared.x", "b.default#shared.y", EdgeKind::DependsOn));
    let faults = try_build(all("b#shared.no"), both()).expect_err("missing");
    assert_eq!(faults[0].location.as_ref().map(|place| place.line), Some(3));
}
