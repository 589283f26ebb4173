use purlin_expression::Dialect;
use purlin_model::{Deployment, Key, Unknown, Urn, Value};
use serde_json::{Value as Json, json};

use crate::testing::{KnownOutputs, context, definition, request, tell, template, try_build, workload};

#[test]
fn every_placeholder_is_read_in_its_own_scope() {
    let all = vec![
        definition(
            "app",
            "app",
            json!({
                "account": "acme/${context.env.id}",
                "values": {
                    "id": "${context.res.id}", "size": "${params.size}", "v": "${values.v}",
                    "host": "http://${resources.dns.outputs.host}:${resources.dns.outputs.port}/",
                    "all": "${resources.dns.outputs}", "g": "${resources.dns.guresid}",
                    "acc": "${resources.dns.account}", "in": "${resources.dns.values.host}",
                    "sel": "${resources['dns<app'].outputs.x}"
                },
                "secrets": {"plain": "x", "deep": {"a": "${resources.dns.outputs.token}"}},
                "provision": {"db": {"params": {"for": "${context.res.type}", "size": "${params.size}", "own": "${params}"}}}
            }),
        ),
        definition("dns", "dns", json!({"account": "a", "values": {"host": "h"}})),
        definition(
            "db",
            "db",
            json!({
                "values": {"for": "${params.for}", "me": "${context.res.type}", "s": "${params.size.n}"},
                "secret_refs": {"a": {"store": "s", "ref": "${context.app.id}"}, "b": {"value": "${params.for}"}}
            }),
        ),
    ];
    let resources = [("x", "app", json!({"size": {"n": "${resources.y.n}"}})), ("y", "dns", Json::Null)];
    let mut w = workload(
        "w",
        &resources,
        json!({"vars": ["${resources.y.host}", "${metadata.name}", "${resources.y}"]}),
    );
    w.profile = Some("p".into());
    let mut deployment = Deployment { workloads: vec![w], ..Deployment::default() };
    deployment
        .values
        .insert("v".into(), template("deploy", &json!(["${context.org.id}"]), Dialect::Definition));
    let graph = try_build(all, deployment).expect("a graph");
    let node = |key: &str| graph.find(key).expect("a node");
    let dns = Value::from(json!({"host": "h", "port": 80, "n": 7}));
    let mut with_token = dns.as_map().cloned().expect("a map");
    with_token.insert("token".into(), Value::from("hidden").into_secret());
    let done = KnownOutputs::new(
        &graph,
        &[
            ("dns.default#modules.w.externals.x", Value::Map(with_token)),
            ("dns.default#modules.w.externals.y", dns),
        ],
    );

    let app = graph.evaluate(node("app.default#modules.w.externals.x"), &done).expect("inputs");
    let guresid = Urn::new(&context(), &Key::parse("dns#modules.w.externals.x").expect("a key")).guresid();
    assert_eq!(app.params.redact(), json!({"size": {"n": 7}}));
    assert_eq!(
        app.values.redact(),
        json!({
            "id": "modules.w.externals.x", "size": {"n": 7}, "v": ["acme"], "host": "http://h:80/",
            "all": {"host": "h", "port": 80, "n": 7, "token": "[secret]"}, "g": guresid.as_str(),
            "acc": "acme/account", "in": "h", "sel": []
        })
    );
    assert_eq!(app.secrets.redact(), json!({"plain": "[secret]", "deep": "[secret]"}));
    assert_eq!(app.secrets.reveal().expect("known"), json!({"plain": "x", "deep": {"a": "hidden"}}));
    assert_eq!(app.account, Some("acme/dev".into()));

    let db = graph.evaluate(node("db.default#modules.w.externals.x"), &done).expect("inputs");
    assert_eq!(db.params.redact(), json!({"for": "app", "size": {"n": 7}, "own": {"size": {"n": 7}}}));
    assert_eq!(db.values.redact(), json!({"for": "app", "me": "db", "s": 7}));
    assert_eq!(
        db.secret_refs.map(|refs| refs.redact()),
        Some(json!({"a": {"store": "s", "ref": "shop"}, "b": {"value": "[secret]"}}))
    );

    let w = graph.evaluate(node("workload.default#modules.w"), &done).expect("inputs");
    assert_eq!(
        w.params.redact(),
        json!({"id": "w", "profile": "p", "metadata": {"name": "w"}, "spec": {"vars": ["h", "w", "modules.w.externals.y"]}})
    );

    // Before anything runs, all of it is unknown, and values that a secret touches are known to be
    // secret.
    let app =
        graph.evaluate(node("app.default#modules.w.externals.x"), &KnownOutputs::default()).expect("inputs");
    assert_eq!(app.values.get("host"), Some(Value::unknown()));
    assert_eq!(app.secrets.get("deep").map(|deep| deep.has_secret()), Some(true));
    assert_eq!(app.params.get("size").and_then(|size| size.get("n")), Some(Value::unknown()));
    let hidden = KnownOutputs::new(
        &graph,
        &[("dns.default#modules.w.externals.x", Value::Unknown(Unknown { secret: true }))],
    );
    let app = graph.evaluate(node("app.default#modules.w.externals.x"), &hidden).expect("inputs");
    assert_eq!(app.values.get("host"), Some(Value::Unknown(Unknown { secret: true })));
}

#[test]
fn selected_values_come_sorted_by_key() {
    let all = vec![
        definition(
            "hub",
            "hub",
            json!({"values": {"n": "${resources['env<leaf'].outputs.n}", "i": "${resources['env<leaf'].outputs.i}"}}),
        ),
        definition("env", "env", json!({})),
        definition("leaf", "leaf", json!({"values": {"e": "${resources['env#shared.h'].outputs.x}"}})),
    ];
    let mut deployment = Deployment::default();
    for (name, kind) in [("c", "leaf"), ("h", "hub"), ("a", "leaf"), ("h", "env"), ("b", "leaf")] {
        deployment.shared.push(request("deploy", name, kind, None, Dialect::Definition));
    }
    let graph = try_build(all, deployment).expect("a graph");
    let leaf = |name: &str, i: u32| Value::from(json!({"n": name, "i": i}));
    let done = KnownOutputs::new(
        &graph,
        &[
            ("leaf.default#shared.a", leaf("a", 1)),
            ("leaf.default#shared.b", leaf("b", 2)),
            ("leaf.default#shared.c", leaf("c", 3)),
        ],
    );
    let hub = graph.evaluate(graph.find("hub.default#shared.h").expect("there"), &done).expect("inputs");
    assert_eq!(hub.values.redact(), json!({"n": ["a", "b", "c"], "i": [1, 2, 3]}));
}

#[test]
fn a_missing_output_is_reported_where_it_is_read() {
    let all = vec![
        definition(
            "a",
            "a",
            json!({"values": {"x": "on ${resources['b#b'].outputs.hots}", "y": ["${resources['b#b'].outputs.hots}"]}}),
        ),
        definition("b", "b", json!({})),
    ];
    let deployment = Deployment {
        shared: vec![request("deploy", "a", "a", None, Dialect::Definition)],
        ..Deployment::default()
    };
    let graph = try_build(all, deployment).expect("a graph");
    let done = KnownOutputs::new(&graph, &[("b.default#b", Value::from(json!({"host": "h"})))]);
    let faults =
        graph.evaluate(graph.find("a.default#shared.a").expect("there"), &done).expect_err("missing");
    insta::assert_snapshot!(tell(&faults), @r"
    a:1:4+32 unknown-output: there is no `hots` in the outputs of `b.default#b`
      help: did you mean `host`?
    a:1:1+32 unknown-output: there is no `hots` in the outputs of `b.default#b`
      help: did you mean `host`?
    ");
}

#[test]
fn exponentially_growing_text_is_rejected() {
    let mut deployment = Deployment {
        shared: vec![request("deploy", "a", "a", None, Dialect::Definition)],
        ..Deployment::default()
    };
    for number in 0..60 {
        let text =
            if number == 0 { json!("laugh") } else { json!(vec![format!("${{values.v{}}}", number - 1); 4]) };
        deployment.values.insert(format!("v{number}").into(), template("deploy", &text, Dialect::Definition));
    }
    let graph = try_build(vec![definition("a", "a", json!({"values": {"x": "${values.v59}"}}))], deployment)
        .expect("a graph");
    let faults = graph
        .evaluate(graph.find("a.default#shared.a").expect("there"), &KnownOutputs::default())
        .expect_err("too large");
    assert_eq!(faults[0].code, "too-large");
}

/// The limit of one resource does not allow many resources to make as much each.
#[test]
fn the_texts_of_all_resources_together_are_limited() {
    let mut deployment = Deployment::default();
    for number in 0..7 {
        let text = match number {
            0 => "x".repeat(10),
            _ => format!("${{values.v{}}}", number - 1).repeat(10),
        };
        let text = template("deploy", &json!(text), Dialect::Definition);
        deployment.values.insert(format!("v{number}").into(), text);
    }
    let params = json!({"a": "y${values.v6}"});
    for number in 0..200 {
        deployment.shared.push(request(
            "deploy",
            &format!("a{number}"),
            "a",
            Some(params.clone()),
            Dialect::Definition,
        ));
    }
    let graph = try_build(vec![definition("a", "a", json!({"values": {"x": "${params.a}"}}))], deployment)
        .expect("a graph");
    // A resource counts once, however often it is evaluated.
    let first = graph.nodes().next().expect("one").id;
    (0..40).for_each(|_| assert!(graph.evaluate(first, &KnownOutputs::default()).is_ok()));
    let mut kept = Vec::new();
    let fault = graph.nodes().find_map(|node| match graph.evaluate(node.id, &KnownOutputs::default()) {
        Ok(inputs) => {
            kept.push(inputs);
            None
        }
        Err(faults) => Some(faults),
    });
    let fault = fault.expect("too large").swap_remove(0);
    assert_eq!(fault.code, "too-large");
    assert!(fault.message.contains("all resources together read more than 1024 MiB"), "{}", fault.message);
    assert!((10..100).contains(&kept.len()), "{}", kept.len());
}

/// If params use params twice, each level has twice as many placeholders to follow.
#[test]
fn params_of_params_are_followed_once() {
    const LEVELS: usize = 40;
    let level = |number: usize| {
        let next = format!("t{}", number + 1);
        let provision = json!({next: {"params": {"p": "${params.p}${params.p}"}}});
        definition(
            &format!("d{number}"),
            &format!("t{number}"),
            json!({"values": {}, "provision": provision}),
        )
    };
    let mut all: Vec<_> = (0..LEVELS).map(level).collect();
    all.push(definition("last", &format!("t{LEVELS}"), json!({"values": {"p": "${params.p}"}})));
    let w = workload("w", &[("x", "t0", json!({"p": "x"}))], json!({}));
    let graph = try_build(all, Deployment { workloads: vec![w], ..Deployment::default() }).expect("a graph");
    assert!(graph.len() > LEVELS);
}

#[test]
fn optional_placeholders_and_defaults_allow_missing_values() {
    let all = vec![
        definition(
            "app",
            "app",
            json!({"values": {
                "size": "${params.size?}", "port": "${params.port ?? 80}", "value": "${values.no ?? 'x'}",
                "url": "http://${params.host?}/", "out": "${resources.db.outputs.no?}",
                "through": "${resources.db.outputs.none ?? 'a b' | urlencode}", "text": "${values.text?}",
                "inner": "${params.deep.inner?}"
            }}),
        ),
        definition("db", "db", json!({})),
    ];
    let resources = [("x", "app", json!({"deep": {}}))];
    let mut deployment =
        Deployment { workloads: vec![workload("w", &resources, json!({}))], ..Deployment::default() };
    deployment.values.insert("text".into(), template("v", &json!("${values.nope?}"), Dialect::Definition));
    let names = crate::testing::Names([("db", vec!["host"])].into());
    let graph = crate::testing::try_build_with(all, deployment, &names).map_err(|faults| tell(&faults));
    let graph = graph.expect("a graph");
    let done = [("db.default#modules.w.externals.x", json!({"host": 1}).into())];
    let node = graph.find("app.default#modules.w.externals.x").expect("a node");
    let inputs = graph.evaluate(node, &KnownOutputs::new(&graph, &done)).expect("evaluates");
    assert_eq!(inputs.values, json!({"port": 80, "value": "x", "through": "a%20b"}).into());
}
