//! Which resources are replaced, and why. `replace.rs` tests the order.

use crate::support::{FULL, PLAIN, Platform, documents, locked};
use purlin_engine::{Cause, Error, PlanOptions, Role};
use purlin_model::driver::Implements;

const DBR: &str = "delete_before_replace: true";

fn replacing(names: &[&str]) -> PlanOptions {
    let replace = names.iter().map(|name| format!("thing#shared.{name}")).collect();
    PlanOptions { replace, ..PlanOptions::default() }
}

// case 19, also indirectly
#[tokio::test]
async fn replace_with_replaces_an_unchanged_resource() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        documents(
            &[("a", fixed), ("b", "v: b"), ("c", "v: c"), ("d", "v: d")],
            &[("b", "replace_with: ['<a>']"), ("c", "replace_with: ['<b>']"), ("d", "depends_on: ['<c>']")],
        )
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    assert_eq!(platform.planned(&of("fixed: 2")).await, ["replace a", "replace b", "replace c"]);
    platform.deploys(&of("fixed: 2")).await;
    assert_eq!(platform.alive(), ["a~2", "b~2", "c~2", "d"]);
    // An update does not cause a replacement.
    assert_eq!(platform.planned(&of("fixed: 2, v: other")).await, ["update a"]);
}

// case 21
#[tokio::test]
async fn replace_on_changes_overrides_an_update() {
    let platform = Platform::new();
    let of = |zone: &str| {
        documents(
            &[("a", &format!("zone: {zone}, v: 1")), ("b", "zone: <a.zone>")],
            &[("a", "replace_on_changes: [params.zone]"), ("b", "replace_on_changes: [/params/zone]")],
        )
    };
    platform.deploys(&of("x")).await;
    platform.done();
    // A value that may change may cause a replacement; it turns out to be the same.
    assert_eq!(platform.planned(&of("x").replace("v: 1", "v: 2")).await, ["update a", "replace b"]);
    assert_eq!(platform.deploys(&of("x").replace("v: 1", "v: 2")).await, ["update a"]);
    assert_eq!(platform.planned(&of("y")).await, ["replace a", "replace b"]);
    platform.deploys(&of("y")).await;
    assert_eq!(platform.alive(), ["a~2", "b~2"]);
}

// case 21, within a cascade
#[tokio::test]
async fn replace_on_changes_works_with_deleting_first() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        documents(
            &[("a", fixed), ("b", "zone: <a.id>")],
            &[("a", DBR), ("b", "replace_on_changes: [params.zone]")],
        )
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["delete b", "delete a", "create a~2", "create b~2"]);
}

// case 50
#[tokio::test]
async fn a_marked_resource_is_replaced_once() {
    let platform = Platform::new();
    let of = documents(&[("a", "v: 1"), ("b", "x: <a.id>")], &[]);
    platform.deploys(&of).await;
    let urn = platform.record("shared.a").await.expect("recorded").urn;
    let marked = purlin_engine::taint(platform.snapshot().await, &urn, true).expect("changes");
    platform.write(marked).await;
    platform.done();
    assert_eq!(platform.deploys(&of).await, ["create a~2", "update b", "delete a"]);
    assert_eq!(platform.up(&of).await.calls, 0, "the mark is gone");
}

#[tokio::test]
async fn an_unchanged_resource_is_replaced_in_the_order_of_its_driver() {
    let of = documents(&[("a", "first: yes, v: 1"), ("b", "x: <a.id>")], &[]);
    for tainted in [true, false] {
        let platform = Platform::new();
        platform.deploys(&of).await;
        platform.done();
        let replace = match tainted {
            true => {
                let urn = platform.record("shared.a").await.expect("recorded").urn;
                let marked = purlin_engine::taint(platform.snapshot().await, &urn, true).expect("changes");
                platform.write(marked).await;
                PlanOptions::default()
            }
            false => replacing(&["a"]),
        };
        let plan = platform.plan_with(&of, replace.clone()).await.expect("a plan");
        let step = plan.steps.iter().find(|step| step.key.id() == "shared.a").expect("a step");
        assert!(step.delete_before_replace && step.reasons.len() == 1, "{step:#?}");
        assert!(platform.up_with(&of, replace).await.is_success());
        assert_eq!(platform.done(), ["delete a", "create a~2", "update b"]);
    }
}

#[tokio::test]
async fn the_driver_decides_the_order_of_forced_replacements() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        documents(&[("a", fixed), ("b", "first: yes, v: 1")], &[("b", "replace_with: ['<a>']")])
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    let done = platform.deploys(&of("fixed: 2")).await;
    let at = |call: &str| crate::support::at(&done, call);
    assert!(at("delete b") < at("create b~2") && at("create a~2") < at("delete a"), "{done:?}");
    // Created in part, by a driver that cannot update in place.
    let platform = Platform::with(Implements { update: false, ..PLAIN });
    let of = |more: &str| documents(&[("a", &format!("first: yes{more}"))], &[]);
    platform.up(&of(", partial: half")).await;
    platform.done();
    platform.up(&of(", partial: half")).await;
    assert_eq!(platform.done(), ["delete a", "create a~2"]);
}

// case 50, with an old copy
#[tokio::test]
async fn a_mark_affects_only_the_current_resource() {
    let platform = Platform::new();
    let of = |params: &str| documents(&[("a", params)], &[]);
    platform.deploys(&of("fixed: 1, fail: delete")).await;
    platform.up(&of("fixed: 2")).await;
    let urn = platform.record("shared.a").await.expect("recorded").urn;
    platform.write(purlin_engine::taint(platform.snapshot().await, &urn, true).expect("changes")).await;
    assert!(
        platform
            .records()
            .await
            .iter()
            .all(|record| record.tainted == (record.superseded.is_none() && record.urn == urn))
    );
    platform.done();
    let summary = platform.up(&of("fixed: 2")).await;
    assert_eq!((summary.done.replace, summary.failed.len()), (1, 1), "the first still cannot be deleted");
    assert_eq!(platform.alive(), ["a", "a~3"]);
}

#[tokio::test]
async fn a_replacement_can_be_requested_by_name() {
    let platform = Platform::new();
    let of = documents(&[("a", "v: 1"), ("b", "fixed: <a.id>")], &[]);
    platform.deploys(&of).await;
    platform.done();
    assert!(platform.up_with(&of, replacing(&["a"])).await.is_success());
    assert_eq!(platform.done(), ["create a~2", "create b~2", "delete b", "delete a"]);
    let Err(Error::Names(names)) = platform.plan_with(&of, replacing(&["nobody"])).await else {
        panic!("there is no such resource")
    };
    let [(role, misnamed)] = names.as_slice() else { panic!("{names:?}") };
    assert_eq!((*role, &*misnamed.name), (Role::Replace, "thing#shared.nobody"));
}

#[tokio::test]
async fn a_replacement_that_turns_out_unnecessary_is_not_done() {
    let platform = Platform::new();
    // The value that `b` reads is unknown during planning, and turns out unchanged.
    let of = |v: &str| {
        documents(&[("a", &format!("v: same, w: {v}")), ("b", "fixed: <a.v>"), ("c", "fixed: <b.id>")], &[])
    };
    platform.deploys(&of("1")).await;
    platform.done();
    assert_eq!(platform.planned(&of("2")).await, ["update a", "replace b", "replace c"]);
    let summary = platform.up(&of("2")).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(platform.done(), ["update a"]);
    assert_eq!((summary.done.replace, summary.done.update), (0, 1));
    assert_eq!(platform.alive(), ["a", "b", "c"]);
}

#[tokio::test]
async fn a_driver_without_update_replaces() {
    let platform = Platform::with(Implements { update: false, update_impact: false, ..PLAIN });
    let of = |v: &str| documents(&[("a", v)], &[]);
    platform.deploys(&of("v: 1")).await;
    platform.done();
    assert_eq!(platform.deploys(&of("v: 2")).await, ["create a~2", "delete a"]);
}

#[tokio::test]
async fn a_resource_of_another_driver_is_replaced() {
    let mut platform = Platform::new();
    let other = platform.add_driver("test/other", PLAIN);
    let of = |driver: &str| documents(&[("a", "v: 1")], &[]).replace("test/scripted", driver);
    platform.deploys(&of("test/scripted")).await;
    platform.done();
    assert_eq!(platform.deploys(&of("test/other")).await, ["delete a"]);
    assert_eq!(platform.done_by(&other), ["create a"]);
}

#[tokio::test]
async fn more_than_planned_is_not_done() {
    let platform = Platform::new();
    let of = |v: &str| documents(&[("a", &format!("v: {v}")), ("b", "fixed: <a.v>, coy: true")], &[]);
    platform.deploys(&of("1")).await;
    platform.done();
    assert_eq!(platform.planned(&of("2")).await, ["update a", "update b"]);
    let summary = platform.up(&of("2")).await;
    let cause = summary.failed.first().map(|(_, cause)| cause);
    assert!(matches!(cause, Some(Cause::MoreThanPlanned { .. })), "{summary:#?}");
    assert_eq!(platform.done(), ["update a"]);
    // Planned again, with everything that is known by then, the replacement is shown and done.
    assert_eq!(platform.planned(&of("2")).await, ["replace b"]);
    assert_eq!(platform.deploys(&of("2")).await, ["create b~2", "delete b"]);
}

#[tokio::test]
async fn a_full_run_provisions_everything() {
    let platform = Platform::with(FULL);
    let of = documents(&[("a", "v: 1"), ("b", "x: <a.v>")], &[]);
    platform.deploys(&of).await;
    platform.done();
    let full = PlanOptions { full: true, ..PlanOptions::default() };
    assert!(platform.up_with(&of, full).await.is_success());
    assert_eq!(platform.done(), ["update a", "update b"]);
    assert!(locked(&platform.driver.lost).is_empty());
}

/// No driver is called about another driver's resource. The order that it required once decided
/// whether a resource waited, and only if something else forced its replacement as well.
#[tokio::test]
async fn a_driver_is_not_called_about_resources_of_another_one() {
    let mut platform = Platform::with(FULL);
    let other = platform.add_driver("test/other", FULL);
    let of = |a: &str| documents(&[("a", a), ("b", "fixed: <a.id>")], &[]);
    platform.deploys(&of("fixed: 1, first: yes")).await;
    platform.done();
    // With `first: yes`, a driver reports that the old resource must be deleted first.
    let elsewhere = of("fixed: 2, first: yes").replace("test/scripted", "test/other");
    let plan = platform.plan(&elsewhere).await.expect("a plan");
    assert!(plan.steps.iter().all(|step| !step.delete_before_replace), "{:#?}", plan.steps);
    assert_eq!(platform.deploys(&elsewhere).await, ["delete b", "delete a"]);
    assert_eq!(platform.done_by(&other), ["create a", "create b"]);
}
