//! The order of deletions of guests and their hosts (`deleted_with`), and the records in between.

use crate::support::{Platform, documents, scope};
use purlin_engine::PlanOptions;

const FIRST: &str = "delete_before_replace: true";

async fn is_settled(platform: &Platform, documents: &str) {
    assert_eq!((platform.copies().await, platform.up(documents).await.calls), (0, 0));
}

/// `b` gets another name, and `a`, its guest, would move with it, but `a` is deleted with `c`
/// before that.
#[tokio::test]
async fn a_guest_deleted_before_its_move_is_created_again() {
    let platform = Platform::new();
    platform
        .deploys(&documents(
            &[("c", "fixed: 1"), ("b", "v: b"), ("a", "v: b")],
            &[("b", "deleted_with: <c>"), ("a", "deleted_with: <b>")],
        ))
        .await;
    platform.done();
    let then = documents(
        &[("c", "fixed: 2"), ("b2", "v: b"), ("a", "v: b2")],
        &[("c", FIRST), ("b2", "deleted_with: <c>"), ("a", "deleted_with: <b2>")],
    );
    assert_eq!(platform.deploys(&then).await, ["delete c", "create c~2", "create b2", "create a~2"]);
    is_settled(&platform, &then).await;
}

/// `a` lives in `b` and must be deleted before `c`. The new `b` waits for `c`, and the deletion of
/// the old `b` waits for the new one.
#[tokio::test]
async fn a_guest_that_must_be_deleted_sooner_gets_its_own_call() {
    let platform = Platform::new();
    platform
        .deploys(&documents(
            &[("b", "fixed: 1"), ("c", "fixed: 1"), ("a", "fixed: <b.id>, x: <c.id>")],
            &[("a", "deleted_with: <b>")],
        ))
        .await;
    platform.done();
    let then = documents(&[("c", "fixed: 2"), ("b", "fixed: <c.id>")], &[("c", FIRST)]);
    let calls = platform.deploys(&then).await;
    assert_eq!(calls, ["delete a", "delete c", "create c~2", "create b~2", "delete b"]);
    is_settled(&platform, &then).await;
}

/// The record of a deleted resource stays while another record depends on it, but its own
/// dependencies are gone.
#[tokio::test]
async fn an_absent_record_has_no_dependencies() {
    let platform = Platform::new();
    let of = |fixed: &str, rest: &[(&'static str, &'static str)], e: &str| {
        let own = format!("fixed: {fixed}, first: yes");
        let all: Vec<(&str, &str)> = [("a", own.as_str()), ("b", "v: b")]
            .into_iter()
            .chain(rest.iter().copied())
            .chain([("e", e)])
            .collect();
        let mut settings = vec![("a", FIRST), ("b", "deleted_with: <a>")];
        if !rest.is_empty() {
            settings.push(("c", "deleted_with: <a>"));
        }
        documents(&all, &settings)
    };
    let gone = [("d", "v: d"), ("c", "fixed: <a.id>, x: <d.id>")];
    platform.deploys(&of("1", &gone, "x: <b.id>, y: <c.id>")).await;
    platform.done();
    let broken = of("2", &[], "x: <b.id>, fail: update");
    let summary = platform.up(&broken).await;
    assert!(!summary.is_success(), "{summary:#?}");
    let snapshot = platform.snapshot().await;
    let known = |urn: &purlin_model::Urn| snapshot.records.iter().any(|record| record.urn == *urn);
    for record in &snapshot.records {
        assert!(record.dependencies.iter().all(known), "{record:#?}");
    }
    let then = of("2", &[], "x: <b.id>");
    assert!(platform.up(&then).await.is_success());
    is_settled(&platform, &then).await;
}

/// `a` is retained: no deletion precedes the new one, least of all that of `b`, which `c` needs
/// until it has moved.
#[tokio::test]
async fn a_retained_resource_deletes_no_dependents_early() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("a", "fixed: 1"), ("b", "x: <a.id>"), ("c", "x: <b.id>")], &[])).await;
    platform.done();
    let then = documents(
        &[("a", "fixed: 2"), ("b2", "x: <a.id>"), ("c", "x: <b2.id>")],
        &[("a", "retain: true, delete_before_replace: true")],
    );
    let calls = platform.deploys(&then).await;
    assert_eq!(calls, ["create a~2", "create b2", "update c", "delete b"]);
    is_settled(&platform, &then).await;
}

/// `b` is retained without effect, since it is deleted with `a`; and so is `c`, which lives in `b`.
#[tokio::test]
async fn guests_of_a_resource_retained_without_effect_are_deleted_too() {
    let settings = |b: &'static str| {
        let of_c = if b == "b" { "deleted_with: <b>" } else { "deleted_with: <b2>" };
        [("a", FIRST), (b, "retain: true, deleted_with: <a>"), ("c", of_c)]
    };
    // `b` is replaced with its host, or has left the documents under this name.
    for b in ["b", "b2"] {
        let platform = Platform::new();
        let before = [("a", "fixed: 1, first: yes"), ("b", "fixed: <a.id>"), ("c", "x: <b.id>")];
        platform.deploys(&documents(&before, &settings("b"))).await;
        platform.done();
        let of_c = format!("x: <{b}.id>");
        let after = [("a", "fixed: 2, first: yes"), (b, "fixed: <a.id>"), ("c", of_c.as_str())];
        let then = documents(&after, &settings(b));
        let plan = platform.plan(&then).await.expect("a plan");
        let of_b = plan.steps.iter().find(|step| step.key.id() == "shared.b").expect("a step");
        assert!(of_b.reasons.iter().any(|reason| reason.code() == "old-one-not-retained"), "{of_b:#?}");
        let calls = platform.deploys(&then).await;
        match b {
            "b" => assert_eq!(calls, ["delete a", "create a~2", "create b~2", "create c~2"]),
            // The removal of a record that needs no call happens between the two deletions.
            _ => assert_eq!(calls, ["delete c", "delete a", "create a~2", "create b2", "create c~2"]),
        }
        is_settled(&platform, &then).await;
    }
}

/// An earlier run that excluded `b` replaced `a`, so `b` lives in the old copy. Whatever happens to
/// the new `a`, the old copy is deleted now.
#[tokio::test]
async fn a_guest_of_an_old_copy_is_certainly_replaced() {
    let platform = Platform::new();
    let of = |c: &str, a: &str| {
        documents(&[("c", c), ("a", a), ("b", "x: <a.id>")], &[("b", "deleted_with: <a>")])
    };
    platform.deploys(&of("v: 1, fixed: 1", "fixed: 0")).await;
    let options = PlanOptions { scope: scope(&["a"], &[]), ..PlanOptions::default() };
    assert!(platform.up_with(&of("v: 1, fixed: 1", "fixed: <c.v>"), options).await.is_success());
    assert_eq!(platform.copies().await, 1);
    platform.done();
    let then = of("v: 1, fixed: 2", "fixed: <c.v>");
    let calls = platform.deploys(&then).await;
    assert!(calls.contains(&"create b~2".to_owned()), "{calls:?}");
    is_settled(&platform, &then).await;
}
