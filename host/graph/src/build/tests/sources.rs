//! The worked example of the resource graph's source [G], step by step, and its patterns.

use purlin_model::{Definition, Deployment};
use serde_json::{Value as Json, json};

use crate::testing::{definition, show, try_build, workload};

fn workloads(names: &[&str]) -> Deployment {
    let one = |name: &&str| {
        workload(
            name,
            &[("db", "postgres", Json::Null)],
            json!({"containers": {"main": {"variables": {"H": "${resources.db.host}"}}}}),
        )
    };
    Deployment { workloads: names.iter().map(one).collect(), ..Deployment::default() }
}

fn base() -> Vec<Definition> {
    vec![
        definition("env", "base-env", json!({})),
        definition("cluster", "k8s-cluster", json!({})),
        definition("namespace", "k8s-namespace", json!({})),
        definition(
            "postgres",
            "postgres",
            json!({
                "values": {"host": "${resources.base-env#base-env.outputs.pghost}"},
                "secrets": {"password": "${resources.base-env#base-env.outputs.pgpassword}"},
                "provision": {"aws-policy": {"is_dependent": false, "match_dependents": true}}
            }),
        ),
        definition("policy", "aws-policy", json!({"values": {"db": "${resources.postgres.outputs.name}"}})),
        definition(
            "workload",
            "workload",
            json!({"values": {"update": [{"value": "${resources.k8s-service-account.outputs.name}"}]}}),
        ),
        definition(
            "account",
            "k8s-service-account",
            json!({"values": {"role": "${resources.aws-role.outputs.arn}"}}),
        ),
        definition(
            "role",
            "aws-role",
            json!({"values": {"arns": "${resources.workload>aws-policy.outputs.name}"}}),
        ),
    ]
}

#[test]
fn the_example_of_the_source_has_exactly_its_edges() {
    let graph = try_build(base(), workloads(&["my-workload", "my-workload-2"])).expect("a graph");
    insta::assert_snapshot!(show(&graph));
    let hidden: Vec<&str> = graph.nodes().filter(|node| !node.shown).map(|node| node.key.as_str()).collect();
    assert_eq!(hidden, ["k8s-cluster.default#k8s-cluster", "k8s-namespace.default#k8s-namespace"]);
}

#[test]
fn equivalent_notations_make_one_graph() {
    let with = |reference: &str, provision: &str, selector: &str| {
        let all = vec![
            definition("dns", "dns", json!({"provision": {provision: {"match_dependents": true}}})),
            definition("policy", "aws-policy", json!({})),
            definition("route", "route", json!({"values": {"host": reference}})),
            definition("ingress", "ingress", json!({"values": {"paths": selector}})),
            definition("app", "app", json!({"provision": {"route": {}, "ingress": {}}})),
        ];
        let resources = [("a", "app#x", Json::Null)];
        let deployment =
            Deployment { workloads: vec![workload("w", &resources, json!({}))], ..Deployment::default() };
        show(&try_build(all, deployment).expect("a graph"))
    };
    let expected = with("${resources.dns.outputs.host}", "aws-policy", "${resources.dns<route.outputs.path}");
    assert!(expected.contains("ingress.default#shared.x -> route.default#shared.x selector"), "{expected}");
    for (reference, provision, selector) in [
        ("${resources['dns'].outputs.host}", "aws-policy.@#@", "${resources['dns<route'].outputs.path}"),
        (
            "${resources['dns.@#@'].outputs.host}",
            "aws-policy#@",
            "${resources['dns.@#@<route'].outputs.path}",
        ),
        ("${resources['dns.@'].outputs.host}", "aws-policy.@", "${resources['dns.@<route'].outputs.path}"),
        ("${resources['dns#@'].outputs.host}", "aws-policy", "${resources['dns#@<route'].outputs.path}"),
    ] {
        assert_eq!(with(reference, provision, selector), expected);
    }
}

#[test]
fn a_class_and_an_id_propagate() {
    let all = vec![
        definition(
            "s3",
            "s3",
            json!({"criteria": [{"class": "fast"}], "values": {"c": "${resources.config.outputs.x}"}}),
        ),
        definition("config", "config", json!({"criteria": [{"class": "fast"}]})),
    ];
    let resources = [("a", "s3.fast", Json::Null), ("b", "s3.fast#both", Json::Null)];
    let deployment =
        Deployment { workloads: vec![workload("w", &resources, json!({}))], ..Deployment::default() };
    let graph = try_build(all, deployment).expect("a graph");
    assert!(graph.find("config.fast#modules.w.externals.a").is_some());
    assert!(graph.find("config.fast#shared.both").is_some());
}

#[test]
fn a_loop_is_broken_by_a_separate_resource() {
    // The role needs the account's name and the account the role's; a config knows both names.
    let all = vec![
        definition(
            "workload",
            "workload",
            json!({"values": {"sa": "${resources.k8s-service-account.outputs.name}"}}),
        ),
        definition(
            "sa",
            "k8s-service-account",
            json!({"values": {"name": "${resources['config.names'].outputs.sa}", "arn": "${resources.aws-role.outputs.arn}"}}),
        ),
        definition("role", "aws-role", json!({"values": {"for": "${resources['config.names'].outputs.sa}"}})),
        definition(
            "names",
            "config",
            json!({"criteria": [{"class": "names"}], "values": {"sa": "${context.res.id}"}}),
        ),
    ];
    let deployment = Deployment { workloads: vec![workload("w", &[], json!({}))], ..Deployment::default() };
    insta::assert_snapshot!(show(&try_build(all, deployment).expect("a graph")));
}

#[test]
fn a_delegator_passes_through() {
    // Access to a shared bucket goes through a delegator, so that selectors can find the readers.
    let all = vec![
        definition(
            "bucket",
            "s3",
            json!({"values": {"principals": "${resources['s3.default<s3.read-only<workload>aws-role'].outputs.arn}"},
            "criteria": [{}]}),
        ),
        definition(
            "reader",
            "s3",
            json!({"criteria": [{"class": "read-only"}], "values": {"name": "${resources['s3.default'].outputs.name}"}}),
        ),
        definition("workload", "workload", json!({"values": {"role": "${resources.aws-role.outputs.arn}"}})),
        definition("role", "aws-role", json!({})),
    ];
    let reader = [("data", "s3.read-only#data", Json::Null)];
    let names = ["a", "b"].map(|name| workload(name, &reader, json!({})));
    let deployment = Deployment { workloads: names.into(), ..Deployment::default() };
    insta::assert_snapshot!(show(&try_build(all, deployment).expect("a graph")));
}
