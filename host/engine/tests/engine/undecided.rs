//! Replacements that depend on a value that is not known yet: the plan shows them as possible, and
//! the run decides. Nothing is deleted before it is decided.

use crate::support::{FULL, Platform, at, documents};
use purlin_engine::{Action, DescribedDrivers, Plan, PlanOptions};
use purlin_model::Reason;

const DBR: &str = "delete_before_replace: true";

fn reasons<'a>(plan: &'a Plan, name: &str) -> &'a [Reason] {
    let step = plan.steps.iter().find(|step| step.key.id() == format!("shared.{name}"));
    &step.expect("a step").reasons
}

fn only_if(path: &str) -> Vec<Reason> {
    vec![Reason::ReplacedIfDiffers { path: path.into() }]
}

/// `b` reads `v` of `a`, which is updated in place. Whatever requires that the old `b` goes first,
/// it stays if the value does.
#[tokio::test]
async fn a_value_that_stays_deletes_nothing() {
    for (params, setting) in [("", DBR), (", first: yes", "protect: false"), ("", "protect: false")] {
        let platform = Platform::new();
        let of = |w: &str, v: &str| {
            let a = format!("v: {v}, w: {w}");
            let b = format!("fixed: <a.v>{params}");
            documents(&[("a", &a), ("b", &b), ("c", "fixed: <b.id>"), ("d", "x: <b.id>")], &[("b", setting)])
        };
        platform.deploys(&of("1", "same")).await;
        platform.done();
        let plan = platform.plan(&of("2", "same")).await.expect("a plan");
        assert_eq!(reasons(&plan, "b"), only_if("/params/fixed"));
        assert_eq!(reasons(&plan, "c"), only_if("/params/fixed"));
        assert_eq!(platform.deploys(&of("2", "same")).await, ["update a"], "{setting}{params}");
        // The plan agrees with what the run does if the value differs, too.
        let done = platform.deploys(&of("3", "other")).await;
        let before = at(&done, "delete b") < at(&done, "create b~2");
        assert_eq!(before, setting == DBR || !params.is_empty(), "{done:?}");
        // `c` is replaced with it, and goes before it.
        assert!(at(&done, "delete c") < at(&done, "delete b"), "{done:?}");
        assert!(at(&done, "create b~2") < at(&done, "create c~2"), "{done:?}");
        assert_eq!(platform.alive(), ["a", "b~2", "c~2", "d"]);
        assert_eq!(platform.copies().await, 0);
        assert_eq!(platform.up(&of("3", "other")).await.calls, 0);
    }
}

/// `b` depends on `a`, which is deleted first. But it is replaced only if `z` changes its value.
#[tokio::test]
async fn a_dependency_that_goes_first_does_not_decide_for_its_dependents() {
    for (v, replaced) in [("same", false), ("other", true)] {
        let platform = Platform::new();
        let of = |fixed: &str, w: &str, v: &str| {
            let z = format!("v: {v}, w: {w}");
            documents(&[("z", &z), ("a", fixed), ("b", "x: <a.id>, fixed: <z.v>")], &[("a", DBR)])
        };
        platform.deploys(&of("fixed: 1", "1", "same")).await;
        platform.done();
        let done = platform.deploys(&of("fixed: 2", "2", v)).await;
        assert_eq!(done.contains(&"create b~2".to_owned()), replaced, "{done:?}");
        assert_eq!(done.contains(&"delete b".to_owned()), replaced, "{done:?}");
        assert_eq!(done.contains(&"update b".to_owned()), !replaced, "{done:?}");
    }
}

#[tokio::test]
async fn together_means_only_if_the_other_is_really_replaced() {
    for (v, replaced) in [("same", false), ("other", true)] {
        let platform = Platform::new();
        let of = |w: &str, v: &str| {
            let a = format!("v: {v}, w: {w}");
            documents(&[("a", &a), ("b", "fixed: <a.v>"), ("c", "v: c")], &[("c", "replace_with: ['<b>']")])
        };
        platform.deploys(&of("1", "same")).await;
        platform.done();
        assert_eq!(platform.planned(&of("2", v)).await, ["update a", "replace b", "replace c"]);
        let done = platform.deploys(&of("2", v)).await;
        assert_eq!(done.contains(&"create c~2".to_owned()), replaced, "{done:?}");
        assert_eq!(done.contains(&"delete c".to_owned()), replaced, "{done:?}");
    }
}

/// A removed dependent of a resource that may make room leaves before it.
#[tokio::test]
async fn removed_dependents_leave_before_room_is_made() {
    let platform = Platform::new();
    let of = |v: &str, r: bool| {
        let a = format!("v: {v}");
        let mut all = vec![("a", a.as_str()), ("b", "fixed: <a.v>")];
        if r {
            all.push(("r", "x: <b.id>"));
        }
        documents(&all, &[("b", DBR)])
    };
    platform.deploys(&of("1", true)).await;
    platform.done();
    let done = platform.deploys(&of("2", false)).await;
    assert_eq!(
        done.iter().filter(|call| call.starts_with("delete")).collect::<Vec<_>>(),
        ["delete r", "delete b"]
    );
    assert_eq!(platform.alive(), ["a", "b~2"]);
}

/// An existing object that documents import is never replaced for a value that may stay the same;
/// if the value differs, the run stops.
#[tokio::test]
async fn an_imported_resource_waits_for_the_value() {
    let platform = Platform::new();
    let of = |v: &str| {
        let a = format!("v: {v}");
        documents(&[("a", &a), ("b", "fixed: <a.v>")], &[("b", "import: thing.default#shared.b")])
    };
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "fixed: 1")], &[])).await;
    platform.done();
    let plan = platform.plan(&of("2")).await.expect("a plan");
    let b = plan.steps.iter().find(|step| step.key.id() == "shared.b").expect("a step");
    assert_eq!(b.action, Action::Update);
    let summary = platform.up(&of("2")).await;
    assert_eq!(summary.failed.len(), 1, "{summary:#?}");
    assert_eq!(platform.alive(), ["a", "b"]);
}

/// The record contains an input that the driver chose, and that no document has. A forecast that
/// calls no driver agrees with a plan.
#[tokio::test]
async fn a_forecast_keeps_what_the_driver_chose() {
    let platform = Platform::with(FULL);
    let of = |params: &str| documents(&[("a", &format!("draw: true, {params}"))], &[]);
    platform.deploys(&of("v: 1, zone: x")).await;
    for (params, action) in [
        ("v: 1, zone: x", Action::None),
        ("v: 2, zone: x", Action::Update),
        ("v: 1, zone: y", Action::Replace),
    ] {
        let base = platform.base().await.expect("a state");
        let drivers = DescribedDrivers::new(&platform.shelf, &platform.graph(&of("v: 1, zone: x")), &base);
        let graph = platform.graph(&of(params));
        let options = PlanOptions::default();
        let plan = purlin_engine::plan(graph, &platform.context(), base, &drivers, options).await;
        let plan = plan.expect("a plan");
        let step = |plan: &Plan| {
            let step = plan.steps.iter().find(|step| step.key.id() == "shared.a").expect("a step");
            (step.action, step.reasons.clone(), step.changes.clone())
        };
        let real = platform.plan(&of(params)).await.expect("a plan");
        assert_eq!(step(&plan), step(&real), "{params}");
        assert_eq!(step(&plan).0, action, "{params}");
    }
}

/// `b` was a dependent of `a`, and is now a dependency of it: its new resource is not in the way of a
/// new `a`, and the old one goes before the old `a`.
#[tokio::test]
async fn a_dependent_that_turns_round_is_not_deleted_again() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("a", "fixed: 1"), ("b", "fixed: <a.id>")], &[])).await;
    platform.done();
    let turned = documents(&[("b", "fixed: 2"), ("a", "fixed: <b.id>")], &[("a", DBR)]);
    let done = platform.deploys(&turned).await;
    assert_eq!(done, ["create b~2", "delete b", "delete a", "create a~2"]);
    assert_eq!((platform.alive(), platform.copies().await), (vec!["a~2".into(), "b~2".into()], 0));
}
