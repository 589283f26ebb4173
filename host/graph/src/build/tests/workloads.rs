//! Workloads are declared by documents, and by nothing else (SPEC §5).

use purlin_expression::Dialect;
use purlin_model::{Definition, Deployment, Workload};
use serde_json::{Value as Json, json};

use crate::testing::{definition, has, request, tell, try_build, workload};
use crate::{EdgeKind, Graph};

fn all(definitions: Vec<Definition>, workloads: Vec<Workload>) -> Result<Graph, String> {
    try_build(definitions, Deployment { workloads, ..Deployment::default() }).map_err(|faults| tell(&faults))
}

fn refused(definitions: Vec<Definition>, workloads: Vec<Workload>) -> String {
    all(definitions, workloads).expect_err("a workload that nobody declares")
}

fn own() -> Definition {
    definition("w", "workload", json!({"values": {"s": 1}}))
}

#[test]
fn a_resource_of_the_type_workload_is_the_declared_one() {
    let spec = json!({"containers": {"main": {"variables": {"A": "${resources.front.s}"}}}});
    let web = workload("web", &[("front", "workload", Json::Null)], spec);
    for order in [[0, 1], [1, 0]] {
        let both = [web.clone(), workload("front", &[], json!({}))];
        let graph = all(vec![own()], order.map(|index| both[index].clone()).into()).expect("a graph");
        let (from, to) = ("workload.default#modules.web", "workload.default#modules.front");
        assert!(has(&graph, from, to, EdgeKind::Dependency));
        let workloads = graph.nodes().filter(|node| node.key.type_name() == "workload");
        assert_eq!(workloads.count(), 2);
    }
}

#[test]
fn a_loop_of_workloads_is_a_loop() {
    let to = |name: &str, other: &str| workload(name, &[(other, "workload", Json::Null)], json!({}));
    let faults = refused(vec![own()], vec![to("a", "b"), to("b", "a")]);
    assert!(faults.contains("loop: resources depend on each other in a loop"), "{faults}");
    let faults = refused(vec![own()], vec![to("a", "a")]);
    assert!(faults.contains("`workload.default#modules.a` → `workload.default#modules.a`"), "{faults}");
}

#[test]
fn a_declared_resource_names_the_nearest_workload() {
    let of = |resource: &str, kind: &str| {
        let web = workload("web", &[(resource, kind, Json::Null)], json!({}));
        refused(vec![own()], vec![web, workload("front", &[], json!({}))])
    };
    let mut shown = String::new();
    for (resource, kind) in [
        ("fornt", "workload"),
        ("database", "workload"),
        // Never the workload itself: it would depend on itself.
        ("wbe", "workload"),
        ("front", "workload.large"),
        ("f", "workload#front"),
    ] {
        shown.push_str(&of(resource, kind));
    }
    shown.push_str(&refused(vec![own()], vec![workload("web", &[("x", "workload", Json::Null)], json!({}))]));
    insta::assert_snapshot!(shown);
}

#[test]
fn references_that_take_an_id_name_the_workload_that_they_can_mean() {
    let database = |spec: Json| {
        let web = workload("web", &[("db", "postgres", Json::Null)], json!({}));
        refused(vec![own(), definition("pg", "postgres", spec)], vec![web])
    };
    let mut shown = String::new();
    shown.push_str(&database(json!({"values": {"x": "${resources.workload.outputs.s}"}})));
    shown.push_str(&database(json!({"provision": {"workload": {}}})));
    shown.push_str(&database(json!({"values": {"x": "${resources['workload#modules.ghost'].outputs.s}"}})));
    shown.push_str(&database(json!({"values": {"x": "${resources['workload#shared.web'].outputs.s}"}})));
    shown.push_str(&database(json!({"values": {"x": "${resources['workload.big#modules.web'].guresid}"}})));
    let shared = request("deploy", "web", "workload", None, Dialect::Definition);
    let deployment = Deployment {
        workloads: vec![workload("web", &[], json!({}))],
        shared: vec![shared],
        ..Deployment::default()
    };
    shown.push_str(&tell(&try_build(vec![own()], deployment).expect_err("no shared workload")));
    insta::assert_snapshot!(shown);
}

#[test]
fn an_omitted_class_of_a_workload_is_default() {
    let volume = definition("v", "volume", json!({"provision": {"job#modules.web": {"is_dependent": true}}}));
    let job = definition(
        "j",
        "job",
        json!({
            "values": {
                "a": "${resources['workload#modules.web'].guresid}",
                "b": "${resources['workload.@#modules.web'].guresid}",
                "c": "${resources['workload#modules.web>volume'].guresid}",
            },
            "criteria": [{"class": "large"}],
        }),
    );
    let web = workload("web", &[("data", "volume.large", Json::Null)], json!({}));
    let volume = Definition { criteria: job.criteria.clone(), ..volume };
    let graph = all(vec![own(), volume, job], vec![web]).expect("a graph");
    assert!(has(&graph, "job.large#modules.web", "workload.default#modules.web", EdgeKind::Reference));
}

#[test]
fn a_workload_takes_no_params() {
    let web = workload("web", &[("front", "workload", json!({"a": 1}))], json!({}));
    let faults = refused(vec![own()], vec![web, workload("front", &[], json!({}))]);
    assert!(faults.contains("params-differ: the workload `front` takes no params"), "{faults}");
}

#[test]
fn params_of_the_same_text_show_what_they_read() {
    let of = |name: &str, default: &str| {
        let host = format!("${{resources.dns.host{default}}}");
        workload(
            name,
            &[("dns", "dns", Json::Null), ("site", "route#site", json!({"host": host}))],
            json!({}),
        )
    };
    let definitions = || vec![definition("d", "dns", json!({})), definition("r", "route", json!({}))];
    let faults = refused(definitions(), vec![of("one", ""), of("two", "")]);
    assert!(faults.contains("params-differ"), "{faults}");
    assert!(
        faults.contains(
            "`${resources.dns.host}` reads `dns.default#modules.two.externals.dns` here, and \
             `dns.default#modules.one.externals.dns` there"
        ),
        "{faults}"
    );
    // Defaults and pipes are part of the meaning.
    let shared = |default: &str, name: &str| {
        let host = format!("${{resources.dns.host{default}}}");
        let resources = [("dns", "dns#pub", Json::Null), ("site", "route#site", json!({"host": host}))];
        workload(name, &resources, json!({}))
    };
    assert!(all(definitions(), vec![shared(" ?? 'a'", "one"), shared(" ?? 'a'", "two")]).is_ok());
    let faults = refused(definitions(), vec![shared(" ?? 'a'", "one"), shared(" ?? 'b'", "two")]);
    assert!(faults.contains("params-differ"), "{faults}");
}
