//! The values of reference fields.

use purlin_engine::{Cause, Summary};
use serde_json::json;

use super::given::{
    alive, all, calls, deploys, failed, manifest, options, params, subnet, subnets, up, vpc, waiting,
};
use crate::support::{FULL, Platform, locked};

const V: &str = "ec2/vpc.default#v";

/// The params that the subnet `s` gets, given params with references.
async fn given(parts: &[&str], params_of_s: &str) -> serde_json::Value {
    let platform = Platform::new();
    let s = subnet(params_of_s);
    deploys(&platform, &[parts, &[&s]].concat()).await;
    params(&platform, "s").await
}

#[tokio::test]
async fn ref_01_a_field_without_a_reference_stays_as_it_is() {
    assert_eq!(given(&[], "cidr: x").await, json!({"cidr": "x"}));
}

#[tokio::test]
async fn ref_02_a_reference_wins_over_a_literal() {
    // Crossplane keeps the literal. In Purlin it is kept only with `resolve: IfNotPresent`, and
    // then the target is not read.
    assert_eq!(given(&[&vpc("v", "")], "vpcId: coolv, vpcIdRef: {name: v}").await, json!({"vpcId": V}));
    let keeps = "vpcId: coolv, vpcIdRef: {name: nowhere, policy: {resolve: IfNotPresent}}";
    assert_eq!(given(&[], keeps).await, json!({"vpcId": "coolv"}));
    let fills = "vpcIdRef: {name: v, policy: {resolve: IfNotPresent}}";
    assert_eq!(given(&[&vpc("v", "")], fills).await, json!({"vpcId": V}));
}

#[tokio::test]
async fn ref_03_a_reference_that_always_resolves_wins_over_a_literal() {
    let always = "vpcId: oldValue, vpcIdRef: {name: v, policy: {resolve: Always}}";
    assert_eq!(given(&[&vpc("v", "")], always).await, json!({"vpcId": V}));
}

#[tokio::test]
async fn ref_04_a_failed_target_blocks_even_optional_references() {
    // Purlin reads no targets from an API server, so only the target's driver can fail.
    for policy in ["Required", "Optional"] {
        let platform = Platform::new();
        let parts =
            [&*vpc("v", ""), &subnet(&format!("vpcIdRef: {{name: v, policy: {{resolution: {policy}}}}}"))];
        locked(&platform.driver.broken).insert(V.into());
        let summary = up(&platform, &parts).await;
        assert_eq!((failed(&summary), calls(&platform)), (vec!["v"], vec!["create v".to_owned()]));
        assert_eq!(summary.skipped.iter().map(|(key, _)| key.id()).collect::<Vec<_>>(), ["s"]);
        locked(&platform.driver.broken).clear();
        assert_eq!(deploys(&platform, &parts).await, ["create v", "create s"]);
    }
}

#[tokio::test]
async fn ref_05_a_reference_to_a_missing_target_waits() {
    let platform = Platform::new();
    let s = subnet("vpcIdRef: {name: v}");
    let summary = up(&platform, &[&s]).await;
    assert_eq!((waiting(&summary), calls(&platform)), (vec!["s"], vec![]));
    assert!(platform.record("s").await.is_none());
    assert_eq!(deploys(&platform, &[&s, &vpc("v", "")]).await, ["create v", "create s"]);
}

#[tokio::test]
async fn ref_06_a_missing_target_that_is_optional_is_left_out() {
    let optional = "cidr: x, vpcIdRef: {name: v, policy: {resolution: Optional}}";
    assert_eq!(given(&[], optional).await, json!({"cidr": "x"}));
}

/// VPCs that have no network yet.
const EMPTY: [&str; 3] = ["", "network: null", "network: ''"];

#[tokio::test]
async fn ref_07_an_empty_output_of_a_target_blocks_references() {
    for empty in EMPTY {
        let platform = Platform::new();
        let kind = subnets("{type: string, x-reference: {type: ec2/vpc, output: network}}");
        let s = subnet("vpcIdRef: {name: v}");
        let summary = up(&platform, &[&kind, &vpc("v", empty), &s]).await;
        assert_eq!((failed(&summary), waiting(&summary)), (vec![], vec!["s"]), "{empty}");
        assert_eq!(calls(&platform), ["create v"], "{empty}");
        assert!(ways(&summary, "s")[0].contains("`ec2/vpc#v`, which has no `network`"), "{summary:#?}");
        // The reference remains.
        let now = deploys(&platform, &[&kind, &vpc("v", "network: n"), &s]).await;
        assert_eq!(now, ["update v", "create s"]);
        assert_eq!(params(&platform, "s").await, json!({"vpcId": "n"}));
    }
}

#[tokio::test]
async fn ref_08_an_empty_output_that_is_optional_is_left_out() {
    for empty in EMPTY {
        let platform = Platform::new();
        let kind = subnets("{type: string, x-reference: {type: ec2/vpc, output: network}}");
        let s = subnet("cidr: x, vpcIdRef: {name: v, policy: {resolution: Optional}}");
        assert_eq!(deploys(&platform, &[&kind, &vpc("v", empty), &s]).await, ["create v", "create s"]);
        assert_eq!(params(&platform, "s").await, json!({"cidr": "x"}), "{empty}");
        // The reference remains.
        let now = deploys(&platform, &[&kind, &vpc("v", "network: n"), &s]).await;
        assert_eq!(now, ["update v", "update s"]);
        assert_eq!(params(&platform, "s").await, json!({"cidr": "x", "vpcId": "n"}));
    }
}

#[tokio::test]
async fn ref_09_a_selector_without_matches_waits() {
    for field in ["vpcId", "vpcIds"] {
        let platform = Platform::new();
        let s = subnet(&format!("{field}Selector: {{matchLabels: {{tier: shared}}}}"));
        let summary = up(&platform, &[&s]).await;
        assert_eq!((waiting(&summary), calls(&platform)), (vec!["s"], vec![]));
        assert_eq!(deploys(&platform, &[&s, &vpc("v", "")]).await, ["create v", "create s"]);
    }
}

#[tokio::test]
async fn ref_10_an_optional_selector_without_matches_is_left_out() {
    for field in ["vpcId", "vpcIds"] {
        let optional = "{matchLabels: {tier: shared}, policy: {resolution: Optional}}";
        assert_eq!(given(&[], &format!("cidr: x, {field}Selector: {optional}")).await, json!({"cidr": "x"}));
    }
}

#[tokio::test]
async fn ref_12_a_controller_does_not_filter() {
    for controller in ["", ", matchControllerRef: false"] {
        let selector = format!("vpcIdSelector: {{matchLabels: {{tier: shared}}{controller}}}");
        assert_eq!(given(&[&vpc("v", "")], &selector).await, json!({"vpcId": V}));
    }
}

#[tokio::test]
async fn ref_14_a_reference_by_name_wins_over_a_selector() {
    for labels in ["{tier: none}", "{tier: shared}"] {
        let both = format!("vpcIdRef: {{name: v}}, vpcIdSelector: {{matchLabels: {labels}}}");
        let parts = [&*vpc("u", ""), &vpc("v", "")];
        assert_eq!(given(&parts, &both).await, json!({"vpcId": V}), "{labels}");
    }
}

#[tokio::test]
async fn ref_15_a_deleted_resource_resolves_no_references() {
    let s = subnet("vpcIdRef: {name: v}");
    let lost = subnet("vpcIdRef: {name: nowhere}");
    for leaves in [false, true] {
        let platform = Platform::new();
        deploys(&platform, &[&vpc("v", ""), &s]).await;
        let summary = up(&platform, &[&vpc("v", ""), &lost]).await;
        assert_eq!((waiting(&summary), calls(&platform)), (vec!["s"], vec![]));
        if leaves {
            assert_eq!(deploys(&platform, &[&vpc("v", "")]).await, ["delete s"]);
        } else {
            assert!(platform.destroy().await.is_success());
            assert_eq!(calls(&platform), ["delete s", "delete v"]);
        }
    }
}

#[tokio::test]
async fn ref_16_unreadable_manifests_stop_selection() {
    // Purlin selects among the documents, so only a document that cannot be read can fail.
    let platform = Platform::new();
    let s = subnet("vpcIdSelector: {matchLabels: {tier: shared}, policy: {resolution: Optional}}");
    let wrong = vpc("w", "").replace("tier: shared", "tier: [shared]");
    let faults = platform.try_graph(&all(&[&vpc("v", ""), &s, &wrong])).map(|_| ()).expect_err("a fault");
    assert_eq!(faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), ["wrong-type"]);
}

#[tokio::test]
async fn ref_19_a_selector_follows_changes_of_its_candidates() {
    let platform = Platform::new();
    let kind = subnets("{type: array, x-reference: {type: ec2/vpc, output: v}}");
    let s = subnet("vpcIdSelector: {matchLabels: {tier: shared}}");
    let [one, two, four] = ["1", "2", "4"].map(|n| vpc(&format!("r{n}"), &format!("v: v{n}")));
    deploys(&platform, &[&kind, &s, &four, &one]).await;
    assert_eq!(params(&platform, "s").await, json!({"vpcId": ["v1", "v4"]}));
    assert_eq!(deploys(&platform, &[&kind, &s, &two, &four, &one]).await, ["create r2", "update s"]);
    assert_eq!(params(&platform, "s").await, json!({"vpcId": ["v1", "v2", "v4"]}));
    assert_eq!(deploys(&platform, &[&kind, &s, &two, &one]).await, ["update s", "delete r4"]);
    assert_eq!(params(&platform, "s").await, json!({"vpcId": ["v1", "v2"]}));
}

#[tokio::test]
async fn ref_21_a_reference_that_is_added_to_a_list_is_followed() {
    // Crossplane ignores it, since the list already has a value.
    let platform = Platform::new();
    let parts = [&*vpc("a", ""), &vpc("b", "")];
    deploys(&platform, &[&parts[..], &[&subnet("vpcIdRefs: [{name: b}]")]].concat()).await;
    let two = subnet("vpcIdRefs: [{name: b}, {name: a}]");
    assert_eq!(deploys(&platform, &[&parts[..], &[&two]].concat()).await, ["update s"]);
    let expected = json!({"vpcIds": ["ec2/vpc.default#b", "ec2/vpc.default#a"]});
    assert_eq!(params(&platform, "s").await, expected);
}

#[tokio::test]
async fn ref_23_a_reference_into_a_namespace_is_looked_up_there() {
    let platform = Platform::new();
    let within =
        |namespace: &str| vpc("v", "").replace("name: v", &format!("name: v, namespace: {namespace}"));
    let s = |reference: &str| {
        subnet(&format!("vpcIdRef: {reference}")).replace("name: s", "name: s, namespace: from-ns")
    };
    let two = [&*within("from-ns"), &within("cool-ns")];
    deploys(&platform, &[&two[..], &[&s("{name: v, namespace: cool-ns}")]].concat()).await;
    assert_eq!(params(&platform, "from-ns/s").await, json!({"vpcId": "ec2/vpc.default#cool-ns/v"}));
    deploys(&platform, &[&two[..], &[&s("{name: v}")]].concat()).await;
    assert_eq!(params(&platform, "from-ns/s").await, json!({"vpcId": "ec2/vpc.default#from-ns/v"}));
    let summary = up(&platform, &[&two[..], &[&s("{name: v, namespace: other}")]].concat()).await;
    assert_eq!(waiting(&summary), ["from-ns/s"]);
}

#[tokio::test]
async fn ref_27_one_empty_value_blocks_a_list() {
    let kind = subnets("{type: array, x-reference: {type: ec2/vpc, output: network}}");
    let s = subnet("vpcIdSelector: {matchLabels: {tier: shared}}");
    for empty in EMPTY {
        let platform = Platform::new();
        let summary = up(&platform, &[&kind, &s, &vpc("a", empty), &vpc("b", "network: n")]).await;
        assert_eq!((failed(&summary), waiting(&summary)), (vec![], vec!["s"]), "{empty}");
        assert!(ways(&summary, "s")[0].contains("`ec2/vpc#a`"), "{summary:#?}");
        assert_eq!(alive(&platform), ["ec2/vpc.default#a", "ec2/vpc.default#b"]);
    }
}

#[tokio::test]
async fn ref_28_a_value_of_the_wrong_type_is_rejected() {
    // Crossplane assigns null. The plan rejects the values that it knows; those that become known
    // later fail before the driver is called.
    let platform = Platform::new();
    let kind = subnets("{type: integer, x-reference: {type: ec2/vpc, output: port}}");
    let s = subnet("vpcIdRef: {name: v}");
    let summary = up(&platform, &[&kind, &vpc("v", "port: many"), &s]).await;
    assert_eq!((failed(&summary), calls(&platform)), (vec!["s"], vec!["create v".to_owned()]));
    // What the plan already knows prevents nothing else.
    let summary = up(&platform, &[&kind, &vpc("v", "port: many"), &s, &vpc("w", "port: 1")]).await;
    assert_eq!((failed(&summary), calls(&platform)), (vec!["s"], vec!["create w".to_owned()]));
    let [(_, Cause::Inputs(faults))] = &summary.failed[..] else { panic!("{summary:#?}") };
    assert!(faults[0].message.contains("vpcId"), "{faults:#?}");
    deploys(&platform, &[&kind, &vpc("v", "port: 80"), &s]).await;
    assert_eq!(params(&platform, "s").await, json!({"vpcId": 80}));
}

const READS_VPC_ID: &str = "{type: string, x-reference: {type: ec2/vpc, output: vpcId}}";

/// The paths of all waits of a resource, in words.
fn ways(summary: &Summary, id: &str) -> Vec<String> {
    let waiting = summary.waiting.iter().find(|(key, _)| key.id() == id);
    waiting.iter().flat_map(|(_, reasons)| reasons).map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_reader_of_an_empty_value_waits() {
    let platform = Platform::with(FULL);
    let host = manifest("Host", "name: h", "forProvider: {subnetIdRef: {name: s}}");
    let parts = [&*subnets(READS_VPC_ID), &vpc("v", ""), &subnet("vpcIdRef: {name: v}"), &host];
    let way = "it waits for `ec2/vpc#v`, which has no `vpcId` yet (test.yaml:";
    let obstacles = async || -> Vec<String> {
        let obstacles = platform.snapshot().await.obstacles.into_iter();
        obstacles.map(|obstacle| obstacle.obstacle.to_string()).collect()
    };
    locked(&platform.driver.weather).insert("vpcId".into(), String::new());
    // The run that creates it finds out that the value is empty.
    let summary = up(&platform, &parts).await;
    assert_eq!((failed(&summary), waiting(&summary)), (vec![], vec!["s"]), "{summary:#?}");
    assert!(ways(&summary, "s")[0].starts_with(way), "{summary:#?}");
    let first = obstacles().await;
    assert!(first[0].starts_with("it waits for `ec2/subnet#s`, which waits for `ec2/vpc#v`"), "{first:#?}");
    // The next run knows that in advance, and writes nothing new.
    let summary = up(&platform, &parts).await;
    assert_eq!((failed(&summary), waiting(&summary)), (vec![], vec!["s", "h"]), "{summary:#?}");
    assert!(ways(&summary, "h")[0].contains("which waits for `ec2/vpc#v`, which has no `vpcId` yet"));
    assert_eq!(obstacles().await, first);
    assert_eq!(calls(&platform), ["create v"]);

    locked(&platform.driver.weather).insert("vpcId".into(), "vpc-1".into());
    platform.refresh().await;
    assert_eq!(deploys(&platform, &parts).await, ["read v", "create s", "create h"]);
    assert_eq!(params(&platform, "s").await, json!({"vpcId": "vpc-1"}));
    assert!(obstacles().await.is_empty());
    // If the value is removed, existing resources are left alone.
    locked(&platform.driver.weather).insert("vpcId".into(), String::new());
    platform.refresh().await;
    calls(&platform);
    let summary = up(&platform, &parts).await;
    assert_eq!((failed(&summary), waiting(&summary)), (vec![], vec!["s"]), "{summary:#?}");
    assert_eq!((params(&platform, "s").await, calls(&platform)), (json!({"vpcId": "vpc-1"}), vec![]));
}

#[tokio::test]
async fn an_output_that_an_update_adds_is_read_in_the_same_run() {
    let platform = Platform::with(FULL);
    deploys(&platform, &[&vpc("v", "size: 1")]).await;
    let parts = [&*subnets(READS_VPC_ID), &vpc("v", "size: 1, vpcId: later"), &subnet("vpcIdRef: {name: v}")];
    assert_eq!(deploys(&platform, &parts).await, ["update v", "create s"]);
    assert_eq!(params(&platform, "s").await, json!({"vpcId": "later"}));
    // Without an update there are no new outputs.
    let other = subnets("{type: string, x-reference: {type: ec2/vpc, output: nothing}}");
    assert_eq!(waiting(&up(&platform, &[&other, parts[1], parts[2]]).await), ["s"]);
}

#[tokio::test]
async fn a_reversed_dependency_waits_too() {
    let subnet = |params: &str, beside: &str| {
        manifest("Subnet", "name: s", &format!("forProvider: {{{params}}}, {beside}"))
    };
    let turned = vpc("v", "subnetIdRef: {name: s}");
    let lost = "vpcIdRef: {name: lost}";
    for (left_alone, waits) in
        [(subnet(lost, ""), vec!["s", "v"]), (subnet("", "managementPolicies: []"), vec!["v"])]
    {
        let platform = Platform::new();
        deploys(&platform, &[&vpc("v", ""), &subnet("vpcIdRef: {name: v}", "")]).await;
        // `s` still depends on `v`, so `v` must not become dependent on `s`.
        let summary = up(&platform, &[&turned, &left_alone]).await;
        assert_eq!((failed(&summary), waiting(&summary)), (vec![], waits), "{summary:#?}");
        assert!(ways(&summary, "v")[0].starts_with("it waits for `ec2/subnet#s`, which "), "{summary:#?}");
        assert_eq!((summary.integrity, calls(&platform)), (None, vec![]));
        // Once `s` is updated, so is `v`.
        assert_eq!(deploys(&platform, &[&turned, &subnet("", "")]).await, ["update s", "update v"]);
    }
}

#[tokio::test]
async fn a_removed_resource_stays_while_a_resource_left_alone_needs_it() {
    for beside in ["", "managementPolicies: []"] {
        let platform = Platform::new();
        let s = manifest("Subnet", "name: s", &format!("forProvider: {{vpcIdRef: {{name: v}}}}, {beside}"));
        deploys(&platform, &[&vpc("v", ""), &subnet("vpcIdRef: {name: v}")]).await;
        // `v` is not deleted, and everything else continues.
        let summary = up(&platform, &[&s, &vpc("other", "")]).await;
        assert_eq!(
            (failed(&summary), calls(&platform)),
            (vec![], vec!["create other".to_owned()]),
            "{beside}"
        );
        assert_eq!(alive(&platform).len(), 3);
        let text = all(&[&s, &vpc("other", "")]);
        let plan = platform.plan_with(&text, options(&text)).await.expect("a plan");
        let expected = "it is kept for now, because `ec2/subnet.default#s`, which is left alone, depends on it according to the state";
        assert!(plan.warnings.iter().any(|warning| warning.message == expected), "{:#?}", plan.warnings);
        // Once nothing needs it, it is deleted.
        assert_eq!(deploys(&platform, &[&subnet(""), &vpc("other", "")]).await, ["update s", "delete v"]);
    }
}
