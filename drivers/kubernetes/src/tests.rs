mod pending;

use purlin_sdk::testing::{self, inputs};
use purlin_sdk::{Failure, Json, State};
use serde_json::json;

use crate::Kubernetes;

fn config_map(name: &str, data: &Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn given(manifest: Json) -> testing::GivenInputs {
    inputs(&json!({"connection": {"server": "http://127.0.0.1:1"}, "values": {"manifest": manifest}}))
}

fn checked(values: Json) -> Result<Json, String> {
    let given = inputs(&json!({"connection": {"server": "https://k"}, "values": values}));
    testing::check::<Kubernetes>(given, None)
        .map(|checked| checked.values)
        .map_err(|failure| failure.to_string())
}

#[test]
fn unused_inputs_are_removed_and_manifests_are_unchanged() {
    let manifest = config_map("a", &json!({"k": null}));
    let once = checked(json!({"manifest": manifest, "manifests": null})).expect("valid");
    assert_eq!(once, json!({"manifest": manifest}));
    assert_eq!(checked(once.clone()).expect("valid"), once);
}

/// Those of the manifest win.
#[test]
fn labels_are_added_to_every_manifest() {
    let mut subject = testing::subject();
    let labels = [("owner", "blue"), ("acme.example/cost", "7"), ("team", "Blue & Red"), ("a b", "x")];
    subject.context.labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let mut own = config_map("a", &json!({}));
    own["metadata"]["labels"] = json!({"owner": "red"});
    let values = json!({"manifests": [own, config_map("b", &json!({}))]});
    let given = inputs(&json!({"connection": {"server": "https://k"}, "values": values}));
    let checked = testing::check_as::<Kubernetes>(subject, given, None).expect("valid");
    let labels = |index: usize| &checked.values["manifests"][index]["metadata"]["labels"];
    assert_eq!(labels(0), &json!({"owner": "red", "acme.example/cost": "7"}));
    assert_eq!(labels(1), &json!({"owner": "blue", "acme.example/cost": "7"}));
    let warnings: Vec<_> = checked.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("`team`") && warnings[1].contains("`a b`"), "{warnings:?}");
}

#[test]
fn faults_are_found_without_a_cluster() {
    let map = || config_map("a", &json!({}));
    let with = |path: &str, value: Json| {
        let mut map = map();
        map[path] = value;
        map
    };
    let at = |manifest: Json| json!({"manifest": manifest});
    let cases = [
        (json!({}), "/values/manifest: is missing"),
        (json!({"manifests": []}), "/values/manifests: is empty"),
        (json!({"manifests": [map(), map()]}), "is in the list twice"),
        (json!({"manifest": map(), "manifests": [map()]}), "given together with"),
        (json!({"manifest": map(), "wait": {"for": "luck"}}), "unknown variant `luck`"),
        (json!({"manifest": map(), "outputs": {"uid": "/a"}}), "/values/outputs/uid"),
        (at(with("status", json!({}))), "/values/manifest/status: is written by the cluster"),
        (at(with("kind", json!("List"))), "is a list"),
        (at(with("metadata", json!({"generateName": "a-"}))), "/values/manifest/metadata/name: is missing"),
        (at(with("metadata", json!({"name": "../x"}))), "is not a valid name of an object"),
    ];
    for (values, wanted) in cases {
        let message = checked(values.clone()).expect_err("refused");
        assert!(message.contains(wanted), "{values}: {message}");
    }
}

#[test]
fn secrets_belong_to_manifests() {
    let values = json!({"manifests": [config_map("a", &json!({}))]});
    let check = |secrets: Json| {
        let given =
            inputs(&json!({"connection": {"server": "https://k"}, "values": values, "secrets": secrets}));
        testing::check::<Kubernetes>(given, None).map(drop).map_err(|failure| failure.to_string())
    };
    assert_eq!(check(json!({"manifests": {"ConfigMap/a": {"data": {"x": "y"}}}})), Ok(()));
    for (secrets, wanted) in [
        (json!({"manifests": {"ConfigMap/b": {}}}), "/secrets/manifests/ConfigMap~1b: matches no manifest"),
        (json!({"manifest": {}}), "/secrets/manifest: belongs to `values.manifest`"),
    ] {
        let message = check(secrets).expect_err("refused");
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn a_connection_has_complete_credentials() {
    for (connection, wanted) in [
        (json!({"server": "k8s:6443"}), "/connection/server: has to be"),
        (json!({"server": "https://k/"}), "/connection/server: has to be"),
        (json!({"server": "https://k", "token": "t\n"}), "/connection/token: has leading or trailing spaces"),
        (
            json!({"server": "https://k", "token": "t", "username": "u", "password": "p"}),
            "given together with",
        ),
        (json!({"server": "https://k", "username": "u"}), "together with `password`"),
    ] {
        let given =
            inputs(&json!({"connection": connection, "values": {"manifest": config_map("a", &json!({}))}}));
        let message = testing::check::<Kubernetes>(given, None).map(drop).expect_err("refused").to_string();
        assert!(message.contains(wanted), "{connection}: {message}");
    }
}

#[test]
fn the_readme_has_the_tables_of_the_schema() {
    testing::check_readme::<Kubernetes>(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
        .expect("the README agrees");
}

#[test]
fn unknown_values_are_no_fault() {
    let values = json!({"manifest": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": null}}});
    let unknown = &["/connection/server", "/values/manifest/metadata/name"];
    let given = json!({"connection": {"server": null}, "values": values});
    let given = testing::unknown(inputs(&given), unknown);
    testing::check::<Kubernetes>(given, None).expect("valid");
    let given = testing::unknown(
        inputs(&json!({"connection": {"server": "x"}, "values": {"manifest": null}})),
        &["/values/manifest"],
    );
    let message =
        testing::check::<Kubernetes>(given, None).map(drop).expect_err("the server is known").to_string();
    assert!(message.contains("/connection/server"), "{message}");
}

#[test]
fn a_change_of_identity_replaces_the_object() {
    let impact = |before: Json, after: Json| {
        testing::update_impact::<Kubernetes>(given(before), given(after), &State::new("x")).expect("judged")
    };
    let map = config_map("a", &json!({"k": "1"}));
    assert!(impact(map.clone(), config_map("a", &json!({"k": "2"}))).replaces.is_empty());
    let other = impact(map.clone(), config_map("b", &json!({"k": "1"})));
    assert_eq!(
        (other.replaces, other.delete_before_replace),
        (vec!["/values/manifest/metadata/name".to_owned()], false)
    );
    let at = |server: &str| inputs(&json!({"connection": {"server": server}, "values": {"manifest": map}}));
    let moved = testing::update_impact::<Kubernetes>(at("http://a"), at("http://b"), &State::new("x"));
    assert!(!moved.expect("judged").delete_before_replace, "another cluster has room");
    let deployment = |app: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"selector": {"matchLabels": {"app": app}}}})
    };
    let selector = impact(deployment("x"), deployment("y"));
    assert_eq!(
        (selector.replaces, selector.delete_before_replace),
        (vec!["/values/manifest/spec/selector".to_owned()], true)
    );
    let unknown = testing::unknown(given(config_map("a", &json!({"k": null}))), &["/values/manifest/data/k"]);
    let judged = testing::update_impact::<Kubernetes>(given(map), unknown, &State::new("x")).expect("judged");
    assert!(judged.replaces.is_empty());
}

/// Where a namespace is written makes no difference, and neither does an object without one.
#[test]
fn only_another_namespace_replaces_the_object() {
    let with = |of_all: &str, own: Option<&str>| {
        let mut map = config_map("a", &json!({"k": "1"}));
        if let Some(own) = own {
            map["metadata"]["namespace"] = json!(own);
        }
        inputs(
            &json!({"connection": {"server": "http://a"}, "values": {"namespace": of_all, "manifest": map}}),
        )
    };
    let replaces = |before, after, state: &State| {
        testing::update_impact::<Kubernetes>(before, after, state).expect("judged").replaces
    };
    let (own, of_all) = ("/values/manifest/metadata/namespace", "/values/namespace");
    let there = State::new("x");
    for (before, after, expected) in [
        (("x", None), ("x", Some("x")), None),
        (("x", Some("x")), ("x", None), None),
        (("y", Some("x")), ("x", None), None),
        (("x", None), ("y", Some("x")), None),
        (("x", Some("z")), ("y", Some("z")), None),
        (("x", None), ("y", None), Some(of_all)),
        (("x", None), ("x", Some("y")), Some(own)),
        (("x", Some("y")), ("x", None), Some(own)),
    ] {
        let found = replaces(with(before.0, before.1), with(after.0, after.1), &there);
        assert_eq!(
            found,
            expected.map(str::to_owned).into_iter().collect::<Vec<_>>(),
            "{before:?} {after:?}"
        );
    }
    let unknown = testing::unknown(with("x", Some("z")), &[of_all]);
    assert!(replaces(with("x", Some("z")), unknown, &there).is_empty());
    let unknown = testing::unknown(with("x", None), &[of_all]);
    assert_eq!(replaces(with("x", None), unknown, &there), [of_all]);
    let mut of_cluster = State::new("x");
    of_cluster.outputs.insert("kind".to_owned(), json!("Namespace"));
    assert!(replaces(with("x", None), with("y", None), &of_cluster).is_empty());
}

#[test]
fn an_unreachable_cluster_is_retried() {
    let result = testing::create::<Kubernetes>(given(config_map("a", &json!({}))));
    assert!(matches!(result, Err(Failure::RetryAfter { .. })), "{:?}", result.err());
    let read = testing::find::<Kubernetes>(given(config_map("a", &json!({}))), None);
    assert!(
        matches!(read, Err(Failure::RetryAfter { .. })),
        "that nothing answers is not that nothing is there"
    );
    let wrong = testing::find::<Kubernetes>(given(config_map("a", &json!({}))), Some("settings"));
    assert!(
        matches!(wrong, Err(Failure::Failed(problem)) if problem.message.contains("apiVersion/kind/namespace/name"))
    );
}
