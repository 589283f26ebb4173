//! What nobody described reaches the driver as it was written, whatever its shape; what is
//! described, or named by the convention of a group, leads to exactly the right edges (SPEC §7).

use std::collections::BTreeSet;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value as Json, json};

use crate::support::Platform;

const WHOLE: &str = "\
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: all}
spec: {type: '*', driver: test/scripted, inputs: {values: {manifest: '${manifest}'}}, criteria: [{}]}
";

/// Groups whose manifests have no references by convention.
const GROUPS: [&str; 7] = [
    "",
    "apps/",
    "keda.sh/",
    "gateway.networking.k8s.io/",
    "apiextensions.crossplane.io/",
    "meta.dev.upbound.io/",
    "acme.example.org/",
];

/// Keys that mean something elsewhere.
const KEYS: [&str; 14] = [
    "fooRef",
    "fooRefs",
    "fooSelector",
    "foo",
    "dependsOn",
    "name",
    "namespace",
    "matchLabels",
    "policy",
    "from",
    "kind",
    "deletionPolicy",
    "providerConfigRef",
    "x",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec!["own", "a", "${b}", "true", "1e3", "", "$\\{c}"]).prop_map(str::to_owned),
        "[ -~äß漢🎉]{0,9}"
    ]
}

fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        prop::num::f64::NORMAL.prop_map(Json::from),
        text().prop_map(Json::from),
        // The exact shapes of references.
        Just(json!({"name": "own"})),
        Just(json!([{"name": "own", "namespace": "n"}, {"name": "b", "policy": {"resolve": "Always"}}])),
        Just(json!({"matchLabels": {"a": "b"}})),
        Just(json!({"from": {"name": "own"}})),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Json::from), map(inner)]
    })
}

fn map(value: impl Strategy<Value = Json>) -> impl Strategy<Value = Json> {
    btree_map(select(KEYS.to_vec()), value, 0..5)
        .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// A manifest with a `spec`, with params under `forProvider`, or without either.
fn undescribed() -> impl Strategy<Value = Json> {
    (select(GROUPS.to_vec()), map(value()), 0..3_u8).prop_map(|(group, body, form)| {
        let mut manifest = json!({
            "apiVersion": format!("{group}v1"), "kind": "Thing",
            "metadata": {"name": "own", "labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["e/f"]},
        });
        match form {
            0 => manifest["spec"] = body,
            1 => manifest["spec"] = json!({"forProvider": body, "dependsOn": [{"name": "own"}]}),
            _ => {
                for (key, value) in body.as_object().into_iter().flatten().filter(|(key, _)| *key != "kind") {
                    manifest[key] = value.clone();
                }
            }
        }
        manifest
    })
}

/// The kinds that others refer to, with the field that names each.
const KINDS: [(&str, &str); 3] = [("Net", "netId"), ("ComputeDisk", "disk"), ("VPCPolicy", "vpcPolicyArn")];

fn key(kind: &str, name: &str) -> String {
    let kind = match kind {
        "Net" => "net",
        "ComputeDisk" => "compute-disk",
        _ => "vpc-policy",
    };
    format!("ec2/{kind}.default#{name}")
}

fn manifest(group: &str, kind: &str, name: &str, spec: &str) -> String {
    format!(
        "---\n{{apiVersion: ec2.{group}/v1, kind: {kind}, metadata: {{name: {name}}}, spec: {{{spec}}}}}\n"
    )
}

/// The targets of the edges from the user.
fn edges(text: &str) -> Result<BTreeSet<String>, Vec<&'static str>> {
    let graph = Platform::new().try_graph(text);
    let codes = |faults: &[purlin_model::Diagnostic]| faults.iter().map(|fault| fault.code).collect();
    let graph = graph.map_err(|faults| codes(&faults))?;
    let reported: Vec<_> = graph.missing().iter().map(purlin_graph::Missing::report).collect();
    if reported.iter().any(purlin_model::Diagnostic::is_error) {
        return Err(codes(&reported));
    }
    let user = graph.find("ec2/user.default#u").expect("the user");
    let keys = graph.dependencies(user).iter().map(|node| graph.key(*node).expect("a key").to_string());
    Ok(keys.collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_undescribed_manifest_reaches_the_driver_as_it_was_written(manifest in undescribed()) {
        let platform = Platform::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let reached = runtime.block_on(async {
            platform.deploys(&format!("{WHOLE}---\n{manifest}\n")).await;
            platform.record("own").await.expect("a record").inputs.values.redact()
        });
        prop_assert_eq!(&reached["manifest"], &manifest);
    }

    #[test]
    fn references_are_edges_to_exactly_their_targets(
        declared in btree_set((0..KINDS.len(), 0..3_usize), 0..9),
        fields in btree_map(0..KINDS.len(), 0..4_usize, 0..=3),
        described in any::<bool>(),
    ) {
        let group = if described { "acme.org" } else { "crossplane.io" };
        let name = |number: usize| ["a", "b", "c", "nowhere"][number];
        let others = declared.iter().map(|(kind, number)| manifest(group, KINDS[*kind].0, name(*number), ""));
        let spec: Vec<String> = fields
            .iter()
            .map(|(kind, number)| {
                let field = KINDS[*kind].1;
                format!("{field}Ref: {{name: {}}}, other{kind}Ref: {{name: a, more: b}}", name(*number))
            })
            .collect();
        let mut text = format!("{WHOLE}{}{}", others.collect::<String>(), manifest(group, "User", "u", &spec.join(", ")));
        if described {
            let properties = KINDS.map(|(kind, field)| {
                let target = key(kind, "");
                format!("{field}: {{x-reference: {{type: {}}}}}", target.split('.').next().expect("a type"))
            });
            text.push_str(&format!(
                "---\napiVersion: purlin.dev/v1\nkind: ResourceType\nspec: {{type: ec2/user, params: {{properties: {{{}}}}}}}\n",
                properties.join(", ")
            ));
        }
        // The kind that the field names, else the only one with the name.
        let mut expected = BTreeSet::new();
        let mut ambiguous = 0;
        for (kind, number) in &fields {
            let of_name: Vec<usize> = declared.iter().filter(|(_, own)| own == number).map(|(kind, _)| *kind).collect();
            match (of_name.contains(kind), &*of_name) {
                (true, _) => drop(expected.insert(key(KINDS[*kind].0, name(*number)))),
                (false, [one]) if !described => drop(expected.insert(key(KINDS[*one].0, name(*number)))),
                (false, [_, _, ..]) if !described => ambiguous += 1,
                _ => {}
            }
        }
        match edges(&text) {
            Ok(found) => {
                prop_assert_eq!(ambiguous, 0);
                prop_assert_eq!(found, expected);
            }
            Err(codes) => {
                let wrong = codes.iter().filter(|code| **code == "ambiguous-reference").count();
                prop_assert_eq!(wrong, ambiguous, "{:?}", codes);
                prop_assert!(ambiguous > 0, "{:?}", codes);
            }
        }
    }
}

/// Many references in one manifest take processor time in proportion to their number.
#[test]
fn references_of_one_manifest_take_linear_time() {
    let time = |count: usize| {
        let fields: Vec<String> = (0..count).map(|at| format!("f{at}Ref: {{name: n{at}}}")).collect();
        let text = format!("{WHOLE}{}", manifest("crossplane.io", "User", "u", &fields.join(", ")));
        let begun = cpu_time::ThreadTime::now();
        let graph = Platform::new().graph(&text);
        assert_eq!(graph.missing().len(), count);
        begun.elapsed()
    };
    let (few, many) = (time(1_000), time(8_000));
    assert!(many < few * 32, "{few:?} for 1,000, {many:?} for 8,000");
}
