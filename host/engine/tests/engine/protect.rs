//! Resources that must not be deleted, that are deleted with others, and that are left in place.

use crate::support::{Platform, documents, locked};
use purlin_engine::{DestroyOptions, Error, PlanOptions};
use purlin_model::{Diagnostic, Reason};
use purlin_state::Status;

async fn destroy_refused(platform: &Platform) -> Vec<Diagnostic> {
    match platform.destroy_plan_with(DestroyOptions::default()).await {
        Err(Error::Documents(faults)) => faults,
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("a plan was made"),
    }
}

// case 14
#[tokio::test]
async fn deleting_first_does_not_affect_protected_dependents() {
    let platform = Platform::new();
    let of = |fixed: &str, setting: &str| {
        documents(
            &[("a", fixed), ("b", "fixed: <a.id>")],
            &[("a", "delete_before_replace: true"), ("b", setting)],
        )
    };
    platform.deploys(&of("fixed: 1", "protect: true")).await;
    platform.done();
    let faults = platform.refused(&of("fixed: 2", "protect: true"), PlanOptions::default()).await;
    assert_eq!((faults.len(), faults[0].code), (1, "protected"));
    assert!(faults[0].message.contains("shared.b"), "{}", faults[0].message);
    assert!(platform.done().is_empty());
    // The edit that removes the protection cannot replace the resource in the same run.
    assert_eq!(platform.refused(&of("fixed: 2", "protect: false"), PlanOptions::default()).await.len(), 1);
    platform.deploys(&of("fixed: 1", "protect: false")).await;
    let done = platform.deploys(&of("fixed: 2", "protect: false")).await;
    assert_eq!(done, ["delete b", "delete a", "create a~2", "create b~2"]);
}

// case 15
#[tokio::test]
async fn all_violations_of_protection_are_reported_at_once() {
    let platform = Platform::new();
    let protected = [("a", "protect: true"), ("b", "protect: true")];
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "x: <a.v>"), ("c", "v: 1")], &protected)).await;
    platform.done();
    let faults = platform.refused(&documents(&[], &[]), PlanOptions::default()).await;
    assert_eq!(faults.len(), 2, "{faults:#?}");
    assert_eq!(destroy_refused(&platform).await.len(), 2);
    assert!(platform.done().is_empty());
    assert_eq!(platform.alive().len(), 3);
}

#[tokio::test]
async fn manual_protection_is_independent_of_the_documents() {
    let platform = Platform::new();
    let of = |params: &str| documents(&[("a", params)], &[]);
    platform.deploys(&of("fixed: 1")).await;
    let urn = platform.record("shared.a").await.expect("recorded").urn;
    let change = |snapshot, on| purlin_engine::protect(snapshot, &urn, on).expect("changes");
    platform.write(change(platform.snapshot().await, true)).await;
    assert_eq!(platform.refused(&of("fixed: 2"), PlanOptions::default()).await[0].code, "protected");
    // It may be updated in place, and stays protected.
    platform.deploys(&of("fixed: 1, v: 2")).await;
    assert_eq!(destroy_refused(&platform).await.len(), 1);
    platform.write(change(platform.snapshot().await, false)).await;
    assert!(platform.destroy().await.is_success());
}

#[tokio::test]
async fn a_replacing_change_to_a_protected_resource_is_rejected() {
    let platform = Platform::new();
    let of = |zone: &str| {
        documents(
            &[("a", &format!("zone: {zone}"))],
            &[("a", "protect: true, replace_on_changes: [params.zone]")],
        )
    };
    platform.deploys(&of("x")).await;
    let faults = platform.refused(&of("y"), PlanOptions::default()).await;
    assert_eq!(faults[0].code, "protected");
    assert!(format!("{faults:?}").contains("params.zone"), "{faults:#?}");
}

#[tokio::test]
async fn a_kept_resource_stays_recorded_and_is_destroyed_finally() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "x: <a.v>")], &[])).await;
    platform.done();
    let keep = || PlanOptions { keep_removed: true, ..PlanOptions::default() };
    let less = documents(&[("a", "v: 1")], &[]);
    assert!(platform.up_with(&less, keep()).await.is_success());
    assert!(platform.up_with(&documents(&[], &[]), keep()).await.is_success());
    assert!(platform.done().is_empty());
    assert_eq!(platform.records().await.len(), 3);
    assert!(platform.destroy().await.is_success());
    assert_eq!(platform.done(), ["delete b", "delete a"]);
    assert!(platform.records().await.is_empty());
}

#[tokio::test]
async fn a_kept_resource_keeps_the_old_copy_of_its_dependency() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("a", "fixed: 1"), ("b", "x: <a.id>")], &[])).await;
    platform.done();
    let keep = || PlanOptions { keep_removed: true, ..PlanOptions::default() };
    assert!(platform.up_with(&documents(&[("a", "fixed: 2")], &[]), keep()).await.is_success());
    assert_eq!(platform.done(), ["create a~2"]);
    // Once the option is gone, both are deleted.
    let done = platform.deploys(&documents(&[("a", "fixed: 2")], &[])).await;
    assert_eq!(done, ["delete b", "delete a"]);
}

#[tokio::test]
async fn indirect_guests_need_no_calls() {
    let platform = Platform::new();
    let all = documents(
        &[("a", "v: a"), ("b", "v: b"), ("c", "v: c"), ("d", "x: <c.v>")],
        &[("b", "deleted_with: <a>"), ("c", "deleted_with: <b>")],
    );
    platform.deploys(&all).await;
    platform.done();
    let summary = platform.destroy().await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(platform.done(), ["delete d", "delete a"]);
    assert_eq!(summary.done.delete, 5, "four things and the environment");
    assert!(platform.records().await.is_empty());
}

#[tokio::test]
async fn a_guest_stays_if_its_host_cannot_be_deleted() {
    let platform = Platform::new();
    let all =
        |v: &str| documents(&[("a", v), ("b", "v: b"), ("c", "x: <b.v>")], &[("b", "deleted_with: <a>")]);
    platform.deploys(&all("v: a")).await;
    platform.done();
    locked(&platform.driver.broken).insert("thing.default#shared.a".into());
    let summary = platform.destroy().await;
    assert_eq!(summary.failed.len(), 1);
    assert_eq!(summary.skipped.iter().map(|(key, _)| key.id()).collect::<Vec<_>>(), ["shared.b"]);
    assert_eq!(platform.records().await.len(), 2, "`a` and `b`");
    locked(&platform.driver.broken).clear();
    platform.done();
    assert!(platform.destroy().await.is_success());
    assert_eq!(platform.done(), ["delete a"]);
}

#[tokio::test]
async fn a_guest_of_a_retained_host_gets_its_own_call() {
    let platform = Platform::new();
    let settings = [("a", "retain: true"), ("b", "deleted_with: <a>")];
    platform.deploys(&documents(&[("a", "v: a"), ("b", "v: b")], &settings)).await;
    platform.done();
    assert!(platform.destroy().await.is_success());
    assert_eq!(platform.done(), ["delete b"]);
    assert!(platform.records().await.is_empty());
}

#[tokio::test]
async fn a_guest_that_must_precede_a_dependent_gets_its_own_call() {
    let platform = Platform::new();
    // `b` lives in `a`, reads `d`, and `d` reads `a`: `b` must be deleted before `d`, and `d`
    // before `a`.
    let all =
        documents(&[("a", "v: a"), ("b", "x: <d.x>"), ("d", "x: <a.v>")], &[("b", "deleted_with: <a>")]);
    platform.deploys(&all).await;
    platform.done();
    assert!(platform.destroy().await.is_success());
    assert_eq!(platform.done(), ["delete b", "delete d", "delete a"]);
}

#[tokio::test]
async fn a_guest_is_deleted_with_the_old_copy_of_its_host() {
    let platform = Platform::new();
    let of = |fixed: &str| documents(&[("a", fixed), ("b", "fixed: <a.id>")], &[("b", "deleted_with: <a>")]);
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    let done = platform.deploys(&of("fixed: 2")).await;
    assert_eq!(done, ["create a~2", "create b~2", "delete a"]);
    assert_eq!((platform.copies().await, platform.records().await.len()), (0, 3));
}

#[tokio::test]
async fn a_retained_guest_is_still_deleted_with_its_host() {
    let platform = Platform::new();
    let of = |a: &str| {
        let settings = [("a", "delete_before_replace: true"), ("b", "retain: true, deleted_with: <a>")];
        documents(&[("a", a), ("b", "fixed: <a.id>")], &settings)
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    // The new `a` cannot be created. `b` was deleted with the old one, and the record must not
    // claim that it exists.
    let broken = of("fixed: 2, fail: create");
    let plan = platform.plan(&broken).await.expect("a plan");
    let of_b = plan.steps.iter().find(|step| step.key.id() == "shared.b").expect("a step");
    assert!(
        matches!(&of_b.reasons[..], [.., Reason::OldOneNotRetained { other }] if other.id() == "shared.a")
    );
    assert!(!platform.up(&broken).await.is_success());
    assert_eq!(platform.done(), ["delete a", "create a~2"]);
    assert_eq!(platform.record("shared.b").await.expect("its place").status, Status::Absent);
    let done = platform.deploys(&of("fixed: 2")).await;
    assert_eq!(done, ["create a~2", "create b~2"]);
}

#[tokio::test]
async fn nothing_is_forgotten_if_the_host_turns_out_to_stay() {
    let platform = Platform::new();
    let of = |w: &str, more: bool| {
        let a = format!("v: same, w: {w}");
        let mut all = vec![("z", a.as_str()), ("h", "fixed: <z.v>")];
        let mut settings = Vec::new();
        if more {
            all.push(("g", "v: g"));
            settings.push(("g", "deleted_with: <h>"));
        }
        documents(&all, &settings)
    };
    platform.deploys(&of("1", true)).await;
    platform.done();
    // `h` might be replaced but is not; `g`, which lives in it, leaves the documents.
    let done = platform.deploys(&of("2", false)).await;
    assert!(done.len() == 2 && done.contains(&"delete g".to_owned()), "{done:?}");
    assert_eq!(platform.alive(), ["h", "z"]);
}

// case 28
#[tokio::test]
async fn a_failed_deletion_leaves_only_its_dependencies() {
    let platform = Platform::new();
    let all = documents(
        &[("u1", "v: 1"), ("u2", "v: 2"), ("dep", "v: d"), ("failing", "v: f"), ("x", "v: x")],
        &[("u2", "depends_on: ['<u1>']"), ("failing", "depends_on: ['<dep>']")],
    );
    platform.deploys(&all).await;
    locked(&platform.driver.broken).insert("thing.default#shared.failing".into());
    let summary = platform.destroy().await;
    assert_eq!((summary.failed.len(), summary.skipped.len()), (1, 1));
    assert_eq!(platform.alive(), ["dep", "failing"]);
    assert!(!summary.is_success());
}
