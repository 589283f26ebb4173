use std::collections::HashMap;

use purlin_expression::Dialect;
use purlin_model::Deployment;
use serde_json::{Value as Json, json};

use crate::testing::{Names, definition, request, tell, template, try_build, try_build_with, workload};

fn deploy(resources: &[(&str, &str, Json)]) -> Deployment {
    Deployment { workloads: vec![workload("w", resources, json!({}))], ..Deployment::default() }
}

#[test]
fn no_match_lists_who_lost_and_why() {
    let all = vec![
        definition("prod", "postgres", json!({"criteria": [{"env_id": "prod", "app_id": "shop"}]})),
        definition("never", "postgres", json!({"criteria": []})),
        definition("big", "postgres", json!({"criteria": [{"class": "big", "env_type": "production"}]})),
        definition("left", "x-*", json!({})),
        definition("right", "*-y", json!({})),
    ];
    let faults = try_build(
        all,
        deploy(&[("db", "postgres", Json::Null), ("q", "postgress", Json::Null), ("t", "x-y", Json::Null)]),
    );
    insta::assert_snapshot!(tell(&faults.expect_err("no match")));
}

/// The help for the first fault of resources that a workload declares.
fn help_for(all: Vec<purlin_model::Definition>, resources: &[(&str, &str, Json)]) -> String {
    let faults = try_build(all, deploy(resources)).expect_err("a fault");
    faults[0].help.clone().unwrap_or_default()
}

#[test]
fn help_for_no_match_is_what_matches() {
    let one = |kind: &'static str| vec![("r", kind, Json::Null)];
    let add = "add a definition of type `t` with `criteria: [{class: big}]`";
    assert_eq!(help_for(Vec::new(), &one("t.big")), add);
    let add = "add a definition of type `t` with `criteria: [{}]`";
    assert_eq!(help_for(Vec::new(), &one("t")), add);
    let other = vec![definition("tt", "tt", json!({"criteria": [{}]}))];
    assert_eq!(help_for(other, &one("t")), format!("did you mean `tt`? Otherwise {add}"));
    // A pattern is not a type.
    let pattern = vec![definition("p", "u*", json!({"criteria": [{}]}))];
    assert_eq!(help_for(pattern, &one("t")), add);
}

#[test]
fn an_implicit_type_with_the_id_of_another_resource_is_explained() {
    let reads = |text: &str| definition("t", "t", json!({"values": {"x": text}}));
    let private = [("r", "t", Json::Null)];
    let help = help_for(vec![reads("${resources.base-env.outputs.h}")], &private);
    assert_eq!(help, "did you mean `base-env#base-env`?");
    let help = help_for(vec![reads("${resources.k8s-cluster.outputs.h}")], &private);
    let add =
        "write `k8s-cluster#k8s-cluster`, and add a definition of type `k8s-cluster` with `criteria: [{}]`";
    assert_eq!(help, add);
    // With a definition, the descriptor makes a second one, which few mean.
    let base = || definition("base", "base-env", json!({"values": {"h": 1}}));
    let graph = try_build(vec![reads("${resources.base-env.outputs.h}"), base()], deploy(&private));
    let graph = graph.expect("a graph");
    let warnings: Vec<String> = graph
        .warnings()
        .iter()
        .map(|(key, fault)| format!("{key} {}: {}", fault.code, fault.help.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        warnings,
        ["base-env.default#modules.w.externals.r second-implicit: \
          did you mean `base-env#base-env`? Otherwise write `base-env#@`"]
    );
    for text in ["${resources['base-env#@'].outputs.h}", "${resources['base-env#base-env'].outputs.h}"] {
        let graph = try_build(vec![reads(text), base()], deploy(&private)).expect("a graph");
        assert_eq!(graph.warnings(), [], "{text}");
    }
}

#[test]
fn the_echo_of_base_env_has_no_outputs() {
    let all =
        vec![definition("t", "t", json!({"values": {"x": "${resources['base-env#base-env'].outputs.h}"}}))];
    struct Echo;
    impl crate::OutputNames for Echo {
        fn outputs(&self, _: &str, recipe: &purlin_model::Recipe) -> Option<Vec<String>> {
            recipe.name.is_none().then(Vec::new)
        }
    }
    let faults = try_build_with(all, deploy(&[("r", "t", Json::Null)]), &Echo).expect_err("no output");
    assert_eq!(faults[0].code, "unknown-output");
    assert_eq!(faults[0].notes[0], "no definition matches `base-env#base-env`, so it has no outputs");
    assert_eq!(faults[0].help.as_deref(), Some("add a definition of type `base-env` with `criteria: [{}]`"));
}

#[test]
fn an_arrow_is_no_hop() {
    let all = vec![definition("t", "t", json!({"values": {"x": "${resources['t->u'].outputs.h}"}}))];
    assert_eq!(help_for(all, &[("r", "t", Json::Null)]), "a hop is `<` or `>`: write `t>u`");
}

#[test]
fn loops_show_the_entire_path() {
    let all = vec![
        definition("a", "a", json!({"values": {"x": "in ${resources.b.outputs.x}"}})),
        definition("b", "b", json!({"values": {"x": "${values.c}"}})),
        definition(
            "c",
            "c",
            json!({"values": {"d": "${resources.d.guresid}"}, "provision": {"d": {"is_dependent": true}}}),
        ),
        definition("d", "d", json!({"values": {"x": "${resources['c<a'].outputs.x}"}})),
        definition(
            "e",
            "e",
            json!({"values": {"x": "${resources.a.guresid}", "d": "${resources.d.guresid}"}}),
        ),
        definition("f", "f", json!({"values": {"x": "${resources.f.outputs.x}"}})),
        definition("g", "g", json!({"depends_on": ["h"], "values": {}})),
        definition("h", "h", json!({"values": {"x": "${resources.g.outputs.x}"}})),
    ];
    let mut deployment = deploy(&[("x", "f", Json::Null), ("y", "h", Json::Null)]);
    deployment.shared.push(request("deploy", "e", "e", None, Dialect::Definition));
    deployment.values.insert(
        "c".into(),
        template("deploy", &json!("${resources['c#shared.e'].outputs.y}"), Dialect::Definition),
    );
    insta::assert_snapshot!(tell(&try_build(all, deployment).expect_err("loops")));
}

#[test]
fn a_loop_that_a_selector_makes_is_found() {
    let all = vec![
        definition(
            "a",
            "a",
            json!({"values": {"x": "${resources['b<c'].outputs.x}", "b": "${resources.b.guresid}"}}),
        ),
        definition("b", "b", json!({})),
        definition(
            "c",
            "c",
            json!({"values": {"a": "${resources.a.outputs.x}", "b": "${resources.b.outputs.x}"}}),
        ),
    ];
    let faults = try_build(all, deploy(&[("x", "c#x", Json::Null)])).expect_err("a loop");
    insta::assert_snapshot!(tell(&faults), @r"
    a:1:1+29 loop: resources depend on each other in a loop: `a.default#shared.x` → `c.default#shared.x` → `a.default#shared.x`
      a:1:1: `a.default#shared.x` depends on `c.default#shared.x` (selector) by ${resources['b<c'].outputs.x}
      c:1:1: `c.default#shared.x` depends on `a.default#shared.x` (reference) by ${resources.a.outputs.x}
      help: remove one of these references, or move what is shared into a resource of its own
    ");
}

#[test]
fn all_unknown_names_are_reported_at_once() {
    let all = vec![
        definition(
            "a",
            "a",
            json!({"values": {
                "1": "${resources['b#shared.b'].outputs.hots}",
                "2": "${resources['b#shared.b'].account}",
                "3": "${resources['b#shared.b'].values.sise}",
                "4": "${values.nme}",
                "5": "${params.siez}",
                "6": "${resources['b#shared.no<a'].outputs.host}",
                "7": "${resources.base-env#base-env.outputs.x}"
            }}),
        ),
        definition("b", "b", json!({"values": {"size": 1, "p": "${params.x}"}})),
    ];
    let mut deployment = deploy(&[
        ("x", "a", json!({"size": "${resources.yy}", "m": "${metadata.nmae}"})),
        ("y", "b#b", Json::Null),
    ]);
    deployment.shared.push(request(
        "deploy",
        "s",
        "a",
        Some(json!({"siez": "${resources.b.outputs.host}", "k": "${params.z}"})),
        Dialect::Definition,
    ));
    deployment.values.insert("name".into(), template("deploy", &json!("x"), Dialect::Definition));
    let names = Names(HashMap::from([("b", vec!["host", "port"])]));
    insta::assert_snapshot!(tell(&try_build_with(all, deployment, &names).expect_err("faults")));
}

#[test]
fn a_mistake_that_each_resource_repeats_is_reported_once() {
    let all = vec![definition("dns", "dns", json!({"values": {"kind": "${manifest.kind}"}}))];
    let resources = ["a", "b", "c", "d", "e", "f"].map(|name| (name, "dns", Json::Null));
    let faults = try_build(all, deploy(&resources)).expect_err("a fault");
    let [fault] = &*faults else { panic!("{faults:?}") };
    assert_eq!((fault.code, fault.notes.len()), ("no-manifest", 4));
    assert_eq!(fault.notes.last().map(String::as_str), Some("and 2 more like these"));
}

#[test]
fn a_missing_start_is_a_fault_and_a_missing_hop_is_not() {
    let all = |selector: &str| {
        vec![definition("a", "a", json!({"values": {"x": selector}})), definition("b", "b", json!({}))]
    };
    let resources = [("x", "a", Json::Null), ("y", "b", Json::Null)];
    assert!(try_build(all("${resources['a<z'].outputs.x}"), deploy(&resources)).is_ok());
    let faults = try_build(all("${resources['b<z'].outputs.x}"), deploy(&resources)).expect_err("no start");
    insta::assert_snapshot!(tell(&faults), @r"
    a:1:1+29 selector-start: the selector starts at `b.default#modules.w.externals.x`, which is not in the graph
      help: did you mean `b.default#modules.w.externals.y`?
    ");
}

#[test]
fn text_that_refers_to_itself_is_a_loop() {
    let mut deployment = Deployment::default();
    for (name, text) in [("a", "${values.b}"), ("b", "x${values.c.d}"), ("c", "${values.a}")] {
        deployment.values.insert(name.into(), template("deploy", &json!(text), Dialect::Definition));
    }
    let faults = try_build(vec![], deployment).expect_err("a loop");
    assert_eq!((faults[0].code, faults[0].related.len()), ("loop", 3));
    // A long chain that ends is rejected too: it would not fit on the stack.
    let mut deployment = Deployment::default();
    for number in 0..10_000 {
        let text = if number == 0 { json!("end") } else { json!(format!("${{values.v{}}}", number - 1)) };
        deployment.values.insert(format!("v{number}").into(), template("deploy", &text, Dialect::Definition));
    }
    assert_eq!(try_build(vec![], deployment).expect_err("too deep")[0].code, "loop");
    // Two that use each other's params.
    let all = vec![
        definition("a", "a", json!({"provision": {"b": {"params": {"x": "${params.x}"}}}})),
        definition("b", "b", json!({"provision": {"a": {"params": {"x": "${params.x}"}}}})),
    ];
    let faults = try_build(all, deploy(&[("x", "a", Json::Null)])).expect_err("a loop");
    assert!(faults.iter().any(|fault| fault.code == "loop"), "{}", tell(&faults));
}

#[test]
fn names_that_cannot_be_ids_and_names_given_twice_are_faults() {
    let all = vec![definition("a", "*", json!({}))];
    let mut deployment =
        deploy(&[("a b", "dns", Json::Null), ("x", "dns", Json::Null), ("x", "s3", Json::Null)]);
    deployment.workloads.push(workload("w", &[], json!({})));
    deployment.shared.push(request("deploy", "a#b", "dns", None, Dialect::Definition));
    let faults = try_build(all, deployment).expect_err("faults");
    let mut codes: Vec<_> = faults.iter().map(|fault| fault.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["duplicate-resource", "duplicate-workload", "name", "name"]);
}
