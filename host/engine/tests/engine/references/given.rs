//! Manifests, and checks of the results.

use std::sync::Arc;

use purlin_documents::{Input, load};
use purlin_engine::{PlanOptions, SchemaRules, Summary};
use serde_json::Value as Json;

use crate::support::{Platform, Thing, locked};

/// One driver for all kinds.
pub(crate) const PLATFORM: &str = "\
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: all}
spec: {type: 'ec2/*', driver: test/scripted, criteria: [{}]}
";

/// A manifest of `KIND` with this metadata and spec.
pub(crate) fn manifest(kind: &str, metadata: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: ec2.crossplane.io/v1\nkind: {kind}\nmetadata: {{{metadata}}}\nspec: {{{spec}}}\n"
    )
}

/// A VPC `NAME` with these params and the label `tier: shared`.
pub(crate) fn vpc(name: &str, params: &str) -> String {
    manifest("VPC", &format!("name: {name}, labels: {{tier: shared}}"), &format!("forProvider: {{{params}}}"))
}

/// The subnet `s` with these params.
pub(crate) fn subnet(params: &str) -> String {
    manifest("Subnet", "name: s", &format!("forProvider: {{{params}}}"))
}

/// A type of subnets in which this is the schema of the field `vpcId`.
pub(crate) fn subnets(vpc_id: &str) -> String {
    format!(
        "---\napiVersion: purlin.dev/v1\nkind: ResourceType\nspec: {{type: ec2/subnet, params: {{type: object, properties: {{vpcId: {vpc_id}}}}}}}\n"
    )
}

/// The documents with these parts.
pub(crate) fn all(parts: &[&str]) -> String {
    format!("{PLATFORM}{}", parts.concat())
}

/// Plans and applies, with the schemas of the resource types in the documents.
pub(crate) async fn up(platform: &Platform, parts: &[&str]) -> Summary {
    let text = all(parts);
    if platform.base().await.expect("a whole state").has_pending() {
        platform.recover().await;
    }
    platform.up_with(&text, options(&text)).await
}

pub(crate) fn options(text: &str) -> PlanOptions {
    let loaded = load(&[Input::Text { name: "test.yaml".into(), text: text.into() }]);
    PlanOptions { rules: Arc::new(SchemaRules::new(&loaded.resource_types, None)), ..PlanOptions::default() }
}

/// Like [`up`], but must succeed. Returns the calls of the driver, such as `create s`.
pub(crate) async fn deploys(platform: &Platform, parts: &[&str]) -> Vec<String> {
    let summary = up(platform, parts).await;
    assert!(summary.is_success(), "{summary:#?}");
    calls(platform)
}

/// The calls since the last look, each with the id of its resource.
pub(crate) fn calls(platform: &Platform) -> Vec<String> {
    let calls = platform.driver.take_calls();
    let ours = calls.iter().filter(|call| !call.contains("base-env"));
    ours.map(|call| {
        let (what, key) = call.split_once(' ').expect("`what key`");
        format!("{what} {}", key.rsplit('#').next().unwrap_or(key))
    })
    .collect()
}

/// The ids of the waiting resources.
pub(crate) fn waiting(summary: &Summary) -> Vec<&str> {
    summary.waiting.iter().map(|(key, _)| key.id()).collect()
}

/// The ids of the failed resources.
pub(crate) fn failed(summary: &Summary) -> Vec<&str> {
    summary.failed.iter().map(|(key, _)| key.id()).collect()
}

/// The params of the last driver call.
pub(crate) async fn params(platform: &Platform, id: &str) -> Json {
    platform.record(id).await.expect("a record").inputs.params.redact()
}

/// Adds an object that Purlin did not create.
pub(crate) fn exists(platform: &Platform, id: &str, values: Json) {
    let thing = Thing { key: id.into(), name: id.into(), values: values.into(), made_with: String::new() };
    locked(&platform.driver.world).insert(id.into(), thing);
}

/// The provider ids of the existing objects, except the environment's own resource.
pub(crate) fn alive(platform: &Platform) -> Vec<String> {
    let world = locked(&platform.driver.world);
    world.keys().filter(|id| !id.contains("base-env")).cloned().collect()
}
