//! Runs that cover only some resources.

use crate::support::{FULL, PLAIN, Platform, documents, locked, scope, steps};
use purlin_engine::{CancelToken, DestroyOptions, Error, PlanOptions, Role, Scope};
use purlin_model::Key;

fn only(names: &[&str]) -> PlanOptions {
    PlanOptions { scope: scope(names, &[]), ..PlanOptions::default() }
}

// case 34
#[tokio::test]
async fn the_dependencies_of_a_target_must_exist() {
    let platform = Platform::new();
    let all = documents(&[("a", "v: 1"), ("b", "x: <a.v>"), ("c", "v: 1")], &[("c", "depends_on: ['<a>']")]);
    let faults = platform.refused(&all, only(&["b", "c"])).await;
    assert_eq!(faults.len(), 2, "{faults:#?}");
    assert!(faults[0].message.contains("not created"), "{}", faults[0].message);
    assert!(platform.done().is_empty());
    // It works if the run also covers the dependency, or if that exists.
    assert!(platform.up_with(&all, only(&["a"])).await.is_success());
    assert!(platform.up_with(&all, only(&["b"])).await.is_success());
    assert_eq!(platform.done(), ["create a", "create b"]);
    assert_eq!(platform.alive(), ["a", "b"]);
}

#[tokio::test]
async fn an_absent_dependency_does_not_exist() {
    let platform = Platform::with(FULL);
    let all = |v: &str| documents(&[("a", "v: 1"), ("b", &format!("x: <a.v>, y: {v}"))], &[]);
    platform.deploys(&all("1")).await;
    locked(&platform.driver.world).clear();
    platform.refresh().await;
    assert_eq!(platform.refused(&all("2"), only(&["b"])).await[0].code, "not-created");
}

/// It has no outputs that others could read.
#[tokio::test]
async fn a_dependency_that_was_created_only_in_part_does_not_exist() {
    let platform = Platform::with(FULL);
    let all = |a: &str| documents(&[("a", a), ("b", "x: <a.v>")], &[]);
    assert!(!platform.up_with(&all("v: 1, partial: half way"), only(&["a"])).await.is_success());
    let faults = platform.refused(&all("v: 1"), only(&["b"])).await;
    assert!(faults[0].message.contains("created only in part"), "{faults:#?}");
    assert!(platform.up_with(&all("v: 1"), only(&["a", "b"])).await.is_success());
}

#[tokio::test]
async fn resources_out_of_scope_are_read_from_their_records() {
    let platform = Platform::new();
    let all = |v: &str| documents(&[("a", &format!("v: {v}")), ("b", "x: <a.v>"), ("c", "v: 1")], &[]);
    platform.deploys(&all("1")).await;
    platform.done();
    let plan = platform.plan_with(&all("2"), only(&["b"])).await.expect("a plan");
    assert!(steps(&plan).is_empty(), "{:?}", steps(&plan));
    let everything_but = PlanOptions { scope: scope(&[], &["a"]), ..PlanOptions::default() };
    assert!(steps(&platform.plan_with(&all("2"), everything_but).await.expect("a plan")).is_empty());
    let dependents =
        PlanOptions { scope: Scope { dependents: true, ..scope(&["a"], &[]) }, ..PlanOptions::default() };
    let plan = platform.plan_with(&all("2"), dependents).await.expect("a plan");
    assert_eq!(steps(&plan), ["update a", "update b"]);
}

// case 36
#[tokio::test]
async fn dependencies_of_remaining_resources_are_not_deleted() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "x: <a.v>"), ("c", "v: 1")], &[])).await;
    platform.done();
    let destroy = |scope| DestroyOptions { scope, ..DestroyOptions::default() };
    match platform.destroy_plan_with(destroy(scope(&["a"], &[]))).await {
        Err(Error::Documents(faults)) => {
            assert!(faults[0].message.contains("thing.default#shared.b"), "{}", faults[0].message);
        }
        _ => panic!("refused"),
    }
    // The same if the documents cause the deletion.
    let without = documents(&[("c", "v: 1")], &[]);
    assert_eq!(platform.refused(&without, only(&["a"])).await[0].code, "has-dependents");
    assert!(platform.done().is_empty());
    let with = Scope { dependents: true, ..scope(&["a"], &[]) };
    let plan = platform.destroy_plan_with(destroy(with)).await.expect("a plan");
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
    assert_eq!(platform.done(), ["delete b", "delete a"]);
    assert_eq!(platform.alive(), ["c"]);
}

#[tokio::test]
async fn a_resource_excluded_from_destruction_keeps_its_dependencies() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "x: <a.v>"), ("c", "x: <a.v>")], &[])).await;
    platform.done();
    let options = DestroyOptions { scope: scope(&[], &["b"]), ..DestroyOptions::default() };
    let plan = platform.destroy_plan_with(options).await.expect("a plan");
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
    assert_eq!(platform.done(), ["delete c"]);
    assert_eq!(platform.alive(), ["a", "b"]);
}

// case 37
#[tokio::test]
async fn unneeded_drivers_are_not_looked_up() {
    let mut platform = Platform::new();
    let other = platform.add_driver("test/other", PLAIN);
    let all = documents(&[("a", "v: 1")], &[]).replace(
        "---",
        "---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: far}
spec: {type: far, driver: test/missing, criteria: [{}]}
---",
    );
    let all = format!("{all}    z: {{type: far}}\n");
    locked(&platform.shelf.lookups).clear();
    let summary = platform.up_with(&all, only(&["a"])).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert!(!locked(&platform.shelf.lookups).iter().any(|name| name == "test/missing"));
    assert!(platform.done_by(&other).is_empty());
    match platform.plan(&all).await {
        Err(Error::Documents(faults)) => assert!(faults[0].message.contains("test/missing")),
        _ => panic!("without a target it is missed"),
    }
}

// case 33
#[tokio::test]
async fn a_refresh_reads_only_resources_in_scope() {
    let platform = Platform::with(FULL);
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "v: 1"), ("c", "v: 1"), ("d", "v: 1")], &[])).await;
    for (targets, exclude, expected) in [
        (&[][..], &["b"][..], &["read a", "read c", "read d"][..]),
        (&["b", "d"][..], &[][..], &["read b", "read d"][..]),
        (&["b", "d"][..], &["d"][..], &["read b"][..]),
    ] {
        platform.done();
        let plan = platform.refresh_plan(&scope(targets, exclude)).await.expect("a plan");
        assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
        let mut done = platform.done();
        done.sort_unstable();
        assert_eq!(done, expected);
    }
}

#[tokio::test]
async fn a_name_without_a_match_is_an_error_with_suggestions() {
    let platform = Platform::new();
    let all = documents(&[("alpha", "v: 1")], &[]);
    let Err(Error::Names(wrong)) = platform.plan_with(&all, only(&["alhpa"])).await else {
        panic!("a plan was made")
    };
    let [(Role::Target, name)] = wrong.as_slice() else { panic!("{wrong:?}") };
    let near: Vec<&str> = name.near.iter().map(Key::as_str).collect();
    assert_eq!((name.name.as_str(), near), ("thing#shared.alhpa", vec!["thing.default#shared.alpha"]));
}

#[tokio::test]
async fn old_copies_out_of_scope_are_left_alone() {
    let platform = Platform::new();
    let of = |fixed: &str| documents(&[("a", fixed), ("b", "v: 1")], &[]);
    platform.deploys(&of("fixed: 1, fail: delete")).await;
    platform.up(&of("fixed: 2")).await;
    platform.mend_copies().await;
    assert_eq!(platform.copies().await, 1);
    platform.done();
    assert!(platform.up_with(&of("fixed: 2"), only(&["b"])).await.is_success());
    let options = DestroyOptions { scope: scope(&["b"], &[]), ..DestroyOptions::default() };
    let plan = platform.destroy_plan_with(options).await.expect("a plan");
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
    assert_eq!(platform.done(), ["delete b"]);
    assert_eq!((platform.copies().await, platform.alive()), (1, vec!["a".to_owned(), "a~2".to_owned()]));
    assert!(platform.up_with(&of("fixed: 2"), only(&["a"])).await.is_success());
    assert_eq!(platform.done(), ["delete a"]);
}

#[tokio::test]
async fn a_missing_driver_is_named_with_its_resources() {
    let mut platform = Platform::new();
    platform.add_driver("test/other", PLAIN);
    let other = documents(&[("a", "v: 1")], &[]).replace("test/scripted", "test/other");
    assert!(platform.up(&other).await.is_success());
    platform.shelf.drivers.truncate(1);
    // It is needed to delete its resources, even if another driver makes the new one.
    for documents in [documents(&[], &[]), documents(&[("a", "v: 1")], &[])] {
        let faults = platform.refused(&documents, PlanOptions::default()).await;
        let text = format!("{faults:?}");
        assert!(text.contains("test/other") && text.contains("thing.default#shared.a"), "{text}");
    }
    assert!(platform.done().is_empty());
}

#[tokio::test]
async fn a_resource_to_replace_must_be_in_scope() {
    let platform = Platform::new();
    let all = documents(&[("a", "v: 1"), ("b", "v: 2")], &[]);
    platform.deploys(&all).await;
    let replace = vec!["thing#shared.b".to_owned()];
    let options = PlanOptions { replace, scope: scope(&["a"], &[]), ..PlanOptions::default() };
    let Err(Error::Documents(faults)) = platform.plan_with(&all, options).await else { panic!("refused") };
    assert!(faults.iter().any(|fault| fault.message.contains("shared.b")), "{faults:#?}");
}
