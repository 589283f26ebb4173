//! In which order things go where some go with others (`deleted_with`), and what is recorded meanwhile.
#![allow(clippy::expect_used, clippy::panic)]

mod support;

use support::{Platform, documents};

const FIRST: &str = "delete_before_replace: true";

async fn is_settled(platform: &Platform, documents: &str) {
    assert_eq!((platform.copies().await, platform.up(documents).await.calls), (0, 0));
}

/// `b` gets another name, and `a`, which lives in it, would move there: by then it went with `c`.
#[tokio::test]
async fn who_goes_before_it_can_move_is_made_again() {
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

/// `a` lives in `b` and has to go before `c` is, for which the new `b` waits, and the old one for that.
#[tokio::test]
async fn what_has_to_go_sooner_is_deleted_by_itself() {
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

/// The place of what went stays while somebody is recorded to need it; what that needed itself is gone.
#[tokio::test]
async fn a_place_that_stays_needs_nothing() {
    let platform = Platform::new();
    let of = |fixed: &str, rest: &[(&'static str, &'static str)], e: &str| {
        let own = format!("fixed: {fixed}, first: yes");
        let all: Vec<(&str, &str)> = [("a", own.as_str()), ("b", "v: b")]
            .into_iter()
            .chain(rest.iter().copied())
            .chain([("e", e)])
            .collect();
        let mut wishes = vec![("a", FIRST), ("b", "deleted_with: <a>")];
        if !rest.is_empty() {
            wishes.push(("c", "deleted_with: <a>"));
        }
        documents(&all, &wishes)
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

/// `a` is retained: nothing has to go for the new one, least of all `b`, which `c` needs until it has moved.
#[tokio::test]
async fn what_is_retained_makes_nothing_go_before_somebody_left() {
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
