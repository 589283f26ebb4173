//! Replacements: their order, and the state after failures. `replaced.rs` tests which resources are
//! replaced, and why.

use crate::support::{Platform, at, documents, scope, things};
use purlin_engine::PlanOptions;
use purlin_model::Reason;
use purlin_state::Status;

const DBR: &str = "delete_before_replace: true";

// case 1
#[tokio::test]
async fn new_resources_are_created_first_and_old_ones_deleted_dependents_first() {
    let platform = Platform::new();
    let of = |fixed: &str| documents(&[("a", fixed), ("b", "fixed: <a.id>")], &[]);
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    assert_eq!(platform.planned(&of("fixed: 2")).await, ["replace a", "replace b"]);
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["create a~2", "create b~2", "delete b", "delete a"]);
    assert_eq!(platform.alive(), ["a~2", "b~2"]);
    assert_eq!(platform.copies().await, 0);
}

// case 53
#[tokio::test]
async fn dependents_are_updated_before_the_old_resource_is_deleted() {
    let platform = Platform::new();
    let of = |fixed: &str| documents(&[("a", fixed), ("b", "x: <a.id>")], &[]);
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["create a~2", "update b", "delete a"]);
}

// case 3
#[tokio::test]
async fn deleting_first_affects_only_replaced_dependents() {
    let platform = Platform::new();
    // A dependent whose `fixed` reads the output is replaced, other readers are updated, and one
    // with only `depends_on` is not touched.
    let tree = |fixed: &str| {
        documents(
            &[
                ("a", fixed),
                ("b", "fixed: <a.id>"),
                ("c", "fixed: <a.id>"),
                ("d", "v: d"),
                ("e", "fixed: <b.id>"),
                ("f", "fixed: <c.id>"),
                ("g", "v: <d.v>"),
                ("h", "v: h"),
                ("i", "v: i"),
                ("j", "v: <g.v>"),
                ("k", "fixed: <f.id>"),
                ("l", "v: <h.v>"),
            ],
            &[
                ("a", DBR),
                ("d", "depends_on: ['<a>']"),
                ("h", "depends_on: ['<b>']"),
                ("i", "depends_on: ['<k>', '<e>']"),
            ],
        )
    };
    platform.deploys(&tree("fixed: 1")).await;
    platform.done();
    let mut planned = platform.planned(&tree("fixed: 2")).await;
    planned.sort_unstable();
    assert_eq!(planned, ["replace a", "replace b", "replace c", "replace e", "replace f", "replace k"]);
    let done = platform.deploys(&tree("fixed: 2")).await;
    assert_eq!(done.len(), 12, "{done:?}");
    let first_made = done.iter().position(|call| call.starts_with("create")).expect("made");
    assert_eq!(first_made, 6, "all go before any comes: {done:?}");
    for (dependent, dependency) in [("b", "a"), ("c", "a"), ("e", "b"), ("f", "c"), ("k", "f")] {
        let (gone, left) = (format!("delete {dependent}"), format!("delete {dependency}"));
        assert!(at(&done, &gone) < at(&done, &left), "{done:?}");
        let (first, then) = (format!("create {dependency}~2"), format!("create {dependent}~2"));
        assert!(at(&done, &first) < at(&done, &then), "{done:?}");
    }
}

// case 4
#[tokio::test]
async fn deleting_first_leaves_other_dependents_alone() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        documents(
            &[("a", fixed), ("b", "v: b"), ("c", "x: <a.id>"), ("d", "x: <b.v>")],
            &[("a", DBR), ("b", "depends_on: ['<a>']")],
        )
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    assert_eq!(platform.planned(&of("fixed: 2")).await, ["replace a", "update c"]);
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["delete a", "create a~2", "update c"]);
}

// cases 5 and 7
#[tokio::test]
async fn a_deleted_resource_is_created_by_the_next_run_without_another_deletion() {
    for goals in ["fixed: 2", "fixed: 1", "fixed: 2, v: other"] {
        let platform = Platform::new();
        let of = |params: &str| documents(&[("a", params), ("b", "x: <a.id>")], &[("a", DBR)]);
        platform.deploys(&of("fixed: 1")).await;
        platform.done();
        let summary = platform.up(&of("fixed: 2, fail: create")).await;
        assert_eq!(summary.failed.len(), 1, "{summary:#?}");
        assert_eq!(platform.done(), ["delete a", "create a~2"]);
        assert_eq!(platform.record("shared.a").await.expect("its place").status, Status::Absent);
        // Whatever the documents contain then, there is nothing to update or delete.
        assert_eq!(platform.planned(&of(goals)).await, ["create a", "update b"]);
        assert_eq!(platform.deploys(&of(goals)).await, ["create a~2", "update b"]);
        assert_eq!(platform.record("shared.a").await.expect("recorded").status, Status::Ready);
        assert_eq!(platform.up(&of(goals)).await.calls, 0);
    }
}

// case 8
#[tokio::test]
async fn a_repeatedly_failing_replacement_leaves_one_record() {
    let platform = Platform::new();
    let of = |params: &str| documents(&[("a", params), ("b", "fixed: <a.id>")], &[("a", DBR)]);
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    platform.up(&of("fixed: 2, fail: create")).await;
    assert_eq!(platform.done(), ["delete b", "delete a", "create a~2"]);
    for _ in 0..3 {
        platform.up(&of("fixed: 2, fail: create")).await;
        assert_eq!(platform.done(), ["create a~2"]);
        let absent = platform.records().await.into_iter().filter(|r| r.status == Status::Absent).count();
        assert_eq!((absent, platform.records().await.len()), (2, 3), "`a` and `b`, and the environment");
    }
    // Nothing exists, so no call is needed to delete it.
    assert!(platform.deploys(&documents(&[], &[])).await.is_empty());
    assert_eq!(platform.records().await.len(), 1);
}

// case 11
#[tokio::test]
async fn an_old_copy_that_failed_to_delete_is_deleted_once_later() {
    for destroyed in [false, true] {
        let platform = Platform::new();
        let of = |fixed: &str| documents(&[("a", fixed)], &[]);
        platform.deploys(&of("fixed: 1, fail: delete")).await;
        platform.done();
        let summary = platform.up(&of("fixed: 2")).await;
        assert_eq!((summary.failed.len(), summary.done.replace), (1, 1), "{summary:#?}");
        assert_eq!(platform.copies().await, 1);
        platform.mend_copies().await;
        platform.done();
        if destroyed {
            let plan = platform.destroy_plan().await.expect("a plan");
            let of_copy = plan.steps.iter().filter(|step| step.reasons == [Reason::Replaced]).count();
            assert_eq!(of_copy, 1);
            assert!(platform.destroy().await.is_success());
            let mut done = platform.done();
            done.sort_unstable();
            assert_eq!(done, ["delete a", "delete a~2"]);
            assert!(platform.records().await.is_empty());
        } else {
            assert_eq!(platform.deploys(&of("fixed: 2")).await, ["delete a"]);
            assert_eq!(platform.up(&of("fixed: 2")).await.calls, 0);
        }
    }
}

#[tokio::test]
async fn three_generations_are_kept_apart() {
    let platform = Platform::new();
    let of = |fixed: &str| documents(&[("a", fixed), ("b", "x: <a.id>")], &[]);
    platform.deploys(&of("fixed: 1, fail: delete")).await;
    platform.up(&of("fixed: 2, fail: delete")).await;
    platform.up(&of("fixed: 3, fail: delete")).await;
    assert_eq!(platform.copies().await, 2);
    assert_eq!(platform.alive(), ["a", "a~2", "a~3", "b"]);
    platform.mend_copies().await;
    platform.done();
    // A fourth one is created, and the first two are deleted; the third still cannot be deleted.
    let summary = platform.up(&of("fixed: 4")).await;
    assert_eq!((summary.failed.len(), summary.done.replace), (1, 1), "{summary:#?}");
    assert_eq!(platform.alive(), ["a~3", "a~4", "b"]);
    assert_eq!(platform.copies().await, 1);
}

// case 13
#[tokio::test]
async fn the_order_does_not_depend_on_response_times() {
    for (slow_a, slow_b) in [("0", "40"), ("40", "0")] {
        let platform = Platform::new();
        let of = |n: u8| {
            documents(
                &[
                    ("a", &format!("fixed: {n}, slow: '{slow_a}'")),
                    ("b", &format!("fixed: {n}, slow: '{slow_b}'")),
                ],
                &[("a", DBR), ("b", "depends_on: ['<a>']")],
            )
        };
        platform.deploys(&of(1)).await;
        platform.done();
        let done = platform.deploys(&of(2)).await;
        assert_eq!(done, ["delete b", "delete a", "create a~2", "create b~2"]);
    }
}

// case 52
#[tokio::test]
async fn a_demand_to_be_created_first_is_passed_on() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        documents(
            &[("a", fixed), ("b", "fixed: <a.id>")],
            &[("a", DBR), ("b", "delete_before_replace: false")],
        )
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    let plan = platform.plan(&of("fixed: 2")).await.expect("a plan");
    assert!(plan.warnings.iter().any(|warning| warning.key.id() == "shared.a"), "{:?}", plan.warnings);
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["create a~2", "create b~2", "delete b", "delete a"]);
}

#[tokio::test]
async fn an_order_that_a_driver_cannot_fulfil_is_reported() {
    let platform = Platform::new();
    let of = |n: u8| {
        documents(&[("a", &format!("fixed: {n}, first: true"))], &[("a", "delete_before_replace: false")])
    };
    platform.deploys(&of(1)).await;
    platform.done();
    let plan = platform.plan(&of(2)).await.expect("a plan");
    assert_eq!(plan.warnings.len(), 1, "{:?}", plan.warnings);
    assert_eq!(platform.deploys(&of(2)).await, ["delete a", "create a~2"]);
}

#[tokio::test]
async fn a_failed_update_of_a_dependent_keeps_the_old_resource() {
    let platform = Platform::new();
    let of = |fixed: &str, b: &str| documents(&[("a", fixed), ("b", b)], &[]);
    platform.deploys(&of("fixed: 1", "x: <a.id>")).await;
    platform.done();
    let summary = platform.up(&of("fixed: 2", "x: <a.id>, fail: update")).await;
    assert_eq!(summary.failed.len(), 1, "{summary:#?}");
    assert_eq!(platform.done(), ["create a~2", "update b"]);
    assert_eq!(platform.alive(), ["a", "a~2", "b"]);
    assert_eq!(platform.deploys(&of("fixed: 2", "x: <a.id>")).await, ["update b", "delete a"]);
}

#[tokio::test]
async fn the_old_resource_stays_while_a_dependent_is_out_of_scope() {
    let platform = Platform::new();
    let of = |fixed: &str| documents(&[("a", fixed), ("b", "x: <a.id>")], &[]);
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    let only_a = || PlanOptions { scope: scope(&["a"], &[]), ..PlanOptions::default() };
    let plan = platform.plan_with(&of("fixed: 2"), only_a()).await.expect("a plan");
    assert!(plan.warnings[0].message.contains("thing.default#shared.b"), "{:?}", plan.warnings);
    assert!(platform.run(plan, Default::default()).await.1.is_success());
    assert_eq!(platform.done(), ["create a~2"]);
    // Neither a second such run nor one that excludes both deletes it.
    assert!(platform.up_with(&of("fixed: 2"), only_a()).await.is_success());
    let neither = PlanOptions { scope: scope(&[], &["a", "b"]), ..PlanOptions::default() };
    assert!(platform.up_with(&of("fixed: 2"), neither).await.is_success());
    assert_eq!((platform.done().len(), platform.copies().await), (0, 1));
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["update b", "delete a"]);
}

#[tokio::test]
async fn nothing_is_deleted_first_if_a_dependent_is_out_of_scope() {
    let platform = Platform::new();
    let of = |fixed: &str| documents(&[("a", fixed), ("b", "x: <a.id>")], &[("a", DBR)]);
    platform.deploys(&of("fixed: 1")).await;
    let only_a = PlanOptions { scope: scope(&["a"], &[]), ..PlanOptions::default() };
    let faults = platform.refused(&of("fixed: 2"), only_a).await;
    assert_eq!(faults[0].code, "has-dependents");
    assert_eq!(platform.alive(), ["a", "b"]);
}

// case 17
#[tokio::test]
async fn a_retained_resource_is_never_deleted() {
    for order in ["retain: true", "retain: true, delete_before_replace: true"] {
        let platform = Platform::new();
        let of = |fixed: &str| documents(&[("a", fixed)], &[("a", order)]);
        platform.deploys(&of("fixed: 1")).await;
        platform.done();
        let plan = platform.plan(&of("fixed: 2")).await.expect("a plan");
        let is_reported = plan.steps.iter().any(|step| step.reasons.contains(&Reason::OldOneRetained));
        assert!(is_reported && plan.steps.iter().all(|step| !step.delete_before_replace));
        assert_eq!(platform.deploys(&of("fixed: 2")).await, ["create a~2"]);
        assert_eq!(platform.copies().await, 0);
        assert!(platform.deploys(&documents(&[], &[])).await.is_empty());
        assert_eq!((platform.alive().len(), platform.records().await.len()), (2, 1));
    }
}

#[tokio::test]
async fn a_record_stays_until_its_dependents_have_moved() {
    let platform = Platform::new();
    // Before, `b` reads `a`, which reads `c`. Then `a` leaves, `b` reads `c`, and `c` is deleted
    // first.
    platform.deploys(&documents(&[("c", "fixed: 1"), ("a", "x: <c.id>"), ("b", "x: <a.id>")], &[])).await;
    platform.done();
    let then = documents(&[("c", "fixed: 2"), ("b", "x: <c.id>")], &[("c", DBR)]);
    // The store checks its own consistency after each change.
    assert_eq!(platform.deploys(&then).await, ["delete a", "delete c", "create c~2", "update b"]);
    assert_eq!(platform.records().await.len(), 3);
    assert_eq!(platform.up(&then).await.calls, 0);
}

#[tokio::test]
async fn a_retained_resource_that_makes_room_waits_for_its_dependents() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        documents(
            &[("a", fixed), ("b", "fixed: <a.id>")],
            &[("a", "retain: true, delete_before_replace: true")],
        )
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["delete b", "create a~2", "create b~2"]);
    assert_eq!(platform.alive(), ["a", "a~2", "b~2"]);
}

/// A driver that mistakes an existing object for the new one returns the same id again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_with_another_record_is_not_deleted() {
    let platform = Platform::new();
    let one = |name: &str, fixed: &str| {
        things(&format!("    {name}: {{type: thing, params: {{same: it, fixed: {fixed}}}}}\n"))
    };
    platform.up(&one("a", "f1")).await;
    platform.driver.take_calls();
    let summary = platform.up(&one("a", "f2")).await;
    assert!(summary.is_success(), "{summary:?}");
    assert_eq!(platform.driver.take_calls(), ["create thing.default#shared.a"], "no deletion");
    // The same under another name, without a move.
    let summary = platform.up(&one("b", "f2")).await;
    assert!(summary.is_success(), "{summary:?}");
    let alive = platform.driver.alive();
    assert!(alive.contains(&"thing.default#shared.b".to_owned()), "the old one went first: {alive:?}");
    assert_eq!(platform.records().await.len(), 2, "`b` and the environment");
    // No other record has it any more.
    platform.destroy().await;
    assert!(platform.driver.take_calls().contains(&"delete thing.default#shared.b".to_owned()));
    assert!(platform.driver.alive().is_empty());
}
