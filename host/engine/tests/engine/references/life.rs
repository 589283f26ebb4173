//! Creations, updates and reads.

use serde_json::json;

use super::given::{all, calls, deploys, exists, failed, manifest, params, subnet, up, vpc};
use crate::support::{FULL, Platform, locked};

/// A VPC with these params and settings.
fn managed(values: &str, beside: &str) -> String {
    let metadata = "name: v, annotations: {crossplane.io/external-name: real}";
    manifest("VPC", metadata, &format!("forProvider: {{{values}}}, {beside}"))
}

#[tokio::test]
async fn life_03_a_failed_create_is_recorded_and_tried_again() {
    let platform = Platform::new();
    locked(&platform.driver.broken).insert("ec2/vpc.default#v".into());
    let summary = up(&platform, &[&vpc("v", "")]).await;
    assert_eq!((failed(&summary), summary.unknown.len()), (vec!["v"], 0));
    // A crash could leave the same state: no outcome has to be found out.
    let snapshot = platform.snapshot().await;
    assert!(snapshot.pending.is_empty() && platform.record("v").await.is_none());
    calls(&platform);
    locked(&platform.driver.broken).clear();
    assert_eq!(deploys(&platform, &[&vpc("v", "")]).await, ["create v"]);
}

#[tokio::test]
async fn life_06_an_observed_resource_is_read_and_never_changed() {
    let platform = Platform::with(FULL);
    exists(&platform, "real", json!({"endpoint": "db.example"}));
    let observed = managed("size: 1", "managementPolicies: [Observe]");
    let s = subnet("vpcIdRef: {name: v}");
    assert_eq!(deploys(&platform, &[&observed, &s]).await.last().map(String::as_str), Some("create s"));
    let outputs = platform.record("v").await.expect("a record").state.outputs;
    assert_eq!(outputs.get("endpoint"), Some("db.example".into()));
    assert_eq!(params(&platform, "s").await, json!({"vpcId": "real"}));
    // Purlin updates it neither after a change to the documents nor after a change to the resource.
    platform.driver.drift("real", "endpoint", "other.example");
    platform.refresh().await;
    deploys(&platform, &[&managed("size: 2", "managementPolicies: [Observe]"), &s]).await;
    assert!(platform.destroy().await.is_success());
    let log = locked(&platform.driver.log).clone();
    let on_it: Vec<_> = log.iter().filter(|(what, id)| what != "read" && id == "real").collect();
    assert!(on_it.is_empty(), "{on_it:?}");
}

#[tokio::test]
async fn life_07_without_the_policy_update_nothing_is_updated() {
    let platform = Platform::with(FULL);
    let no_update = "managementPolicies: [Observe, Create, Delete, LateInitialize]";
    deploys(&platform, &[&managed("size: 1", no_update)]).await;
    platform.driver.drift("ec2/vpc.default#v", "size", "9");
    platform.refresh().await;
    for size in ["size: 1", "size: 2"] {
        assert_eq!(
            platform.planned(&all(&[&managed(size, no_update)])).await,
            Vec::<String>::new(),
            "{size}"
        );
    }
    // Such drift is repaired if updates are allowed.
    assert_eq!(
        platform.planned(&all(&[&managed("size: 1", "managementPolicies: ['*']")])).await,
        ["update v"]
    );
}

#[tokio::test]
async fn life_08_no_policy_fills_in_observed_values() {
    // With the policy LateInitialize, Crossplane fills in the spec. Purlin never writes to a
    // document.
    for policies in ["[Observe, Create, Update, Delete]", "[Observe, Create, Update, Delete, LateInitialize]"]
    {
        let platform = Platform::with(FULL);
        let beside = format!("managementPolicies: {policies}");
        deploys(&platform, &[&managed("size: 1", &beside)]).await;
        assert_eq!(params(&platform, "v").await, json!({"size": 1}));
        assert!(up(&platform, &[&managed("size: 1", &beside)]).await.calls == 0, "{policies}");
    }
}

#[tokio::test]
async fn life_09_policies_that_read_nothing_are_rejected() {
    let platform = Platform::new();
    let documents = all(&[&managed("", "managementPolicies: [Update]")]);
    let faults = platform.try_graph(&documents).map(|_| ()).expect_err("a fault");
    let errors = faults.iter().filter(|fault| fault.is_error());
    assert_eq!(errors.map(|fault| fault.code).collect::<Vec<_>>(), ["wrong-value"]);
}
