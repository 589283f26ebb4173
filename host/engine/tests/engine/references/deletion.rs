//! Which resources are deleted, and which are left in place.

use serde_json::json;

use super::given::{alive, calls, deploys, exists, manifest};
use crate::support::{FULL, Platform};

/// All policies except `Delete`.
const NO_DELETE: &str = "managementPolicies: [Observe, Create, Update, LateInitialize]";

/// A VPC with these settings besides its params.
fn managed(beside: &str) -> String {
    let metadata = "name: v, annotations: {crossplane.io/external-name: real}";
    manifest("VPC", metadata, &format!("forProvider: {{}}, {beside}"))
}

/// Whether a VPC with these settings is deleted when the environment is destroyed. If Purlin may
/// not create it, it already exists.
async fn is_deleted(beside: &str, creates: bool) -> bool {
    let platform = Platform::with(FULL);
    if !creates {
        exists(&platform, "real", json!({}));
    }
    deploys(&platform, &[&managed(beside)]).await;
    assert_eq!(alive(&platform).len(), 1, "{beside}");
    assert!(platform.destroy().await.is_success());
    assert!(platform.records().await.is_empty(), "{beside}");
    alive(&platform).is_empty()
}

#[tokio::test]
async fn del_10_without_the_policy_delete_no_driver_is_called() {
    let platform = Platform::with(FULL);
    deploys(&platform, &[&managed(NO_DELETE)]).await;
    assert!(platform.destroy().await.is_success());
    assert_eq!(calls(&platform), Vec::<String>::new());
    assert_eq!(alive(&platform), ["ec2/vpc.default#v"]);
    assert!(platform.records().await.is_empty());
}

#[tokio::test]
async fn del_13_orphan_leaves_it() {
    assert!(!is_deleted("deletionPolicy: Orphan", true).await);
}

#[tokio::test]
async fn del_14_delete_deletes_it() {
    assert!(is_deleted("deletionPolicy: Delete", true).await);
}

#[tokio::test]
async fn del_15_all_policies_and_delete_delete_it() {
    assert!(is_deleted("deletionPolicy: Delete, managementPolicies: ['*']", true).await);
}

#[tokio::test]
async fn del_16_all_policies_leave_the_decision_to_orphan() {
    assert!(!is_deleted("deletionPolicy: Orphan, managementPolicies: ['*']", true).await);
}

#[tokio::test]
async fn del_17_the_policy_delete_deletes_it() {
    assert!(is_deleted("deletionPolicy: Delete, managementPolicies: [Delete]", false).await);
}

#[tokio::test]
async fn del_18_the_policy_delete_overrides_orphan() {
    assert!(is_deleted("deletionPolicy: Orphan, managementPolicies: [Delete]", false).await);
}

#[tokio::test]
async fn del_19_the_policy_observe_overrides_delete() {
    assert!(!is_deleted("deletionPolicy: Delete, managementPolicies: [Observe]", false).await);
}
