//! A guest (`deleted_with`) is deleted with its host without a call of its own, and created again
//! in the new host by the same run.

use crate::support::{FULL, Lost, PLAIN, Platform, documents, locked};
use purlin_engine::{CancelToken, PlanOptions, Scope};
use purlin_model::driver::Implements;
use purlin_state::{Change, Record, Status};

const FIRST: &str = "delete_before_replace: true";
/// When its host is replaced, the guest requires a replacement, an update, or no change.
const GUESTS: [&str; 3] = ["fixed: <a.id>", "x: <a.id>", "v: b"];

fn of(guest: &str, fixed: &str, first: bool) -> String {
    let order = if first { FIRST } else { "protect: false" };
    documents(&[("a", fixed), ("b", guest)], &[("a", order), ("b", "deleted_with: <a>")])
}

fn calls(platform: &Platform) -> Vec<String> {
    platform.done().into_iter().filter(|call| !call.starts_with("read")).collect()
}

/// Nothing is left over, and the records are those of the new resources.
async fn is_whole(platform: &Platform, documents: &str) {
    for (id, there) in [("shared.a", "a~2"), ("shared.b", "b~2")] {
        let record = platform.record(id).await.expect("recorded");
        assert_eq!(record.status, Status::Ready);
        assert_eq!(record.state.id, format!("thing.default#shared.{there}").as_str());
    }
    assert_eq!((platform.copies().await, platform.snapshot().await.pending.len()), (0, 0));
    assert_eq!(platform.up(documents).await.calls, 0);
}

#[tokio::test]
async fn a_guest_is_deleted_without_a_call_and_recreated_in_either_order() {
    for implements in [PLAIN, FULL] {
        for guest in GUESTS {
            for (first, expected) in [
                (true, ["delete a", "create a~2", "create b~2"]),
                (false, ["create a~2", "create b~2", "delete a"]),
            ] {
                let platform = Platform::with(implements);
                platform.deploys(&of(guest, "fixed: 1", first)).await;
                platform.done();
                let then = of(guest, "fixed: 2", first);
                assert_eq!(platform.deploys(&then).await, expected, "{guest}");
                is_whole(&platform, &then).await;
            }
        }
    }
}

#[tokio::test]
async fn indirect_guests_are_deleted_too() {
    for first in [true, false] {
        let platform = Platform::new();
        let of = |fixed: &str| {
            let order = if first { FIRST } else { "protect: false" };
            let settings = [("a", order), ("b", "deleted_with: <a>"), ("c", "deleted_with: <b>")];
            documents(&[("a", fixed), ("b", "v: b"), ("c", "v: c")], &settings)
        };
        platform.deploys(&of("fixed: 1")).await;
        platform.done();
        let expected = match first {
            true => ["delete a", "create a~2", "create b~2", "create c~2"],
            false => ["create a~2", "create b~2", "create c~2", "delete a"],
        };
        assert_eq!(platform.deploys(&of("fixed: 2")).await, expected);
        assert_eq!((platform.copies().await, platform.up(&of("fixed: 2")).await.calls), (0, 0));
    }
}

#[tokio::test]
async fn guests_survive_a_kill_between_deletion_and_creation() {
    for implements in [PLAIN, FULL, Implements { repeat_create: true, ..PLAIN }] {
        for guest in GUESTS {
            for first in [true, false] {
                for when in [Lost::Before, Lost::After] {
                    let platform = Platform::with(implements);
                    platform.deploys(&of(guest, "fixed: 1", first)).await;
                    locked(&platform.driver.lost).insert("delete thing.default#shared.a".into(), when);
                    let then = of(guest, "fixed: 2", first);
                    platform.up(&then).await;
                    assert!(platform.up(&then).await.is_success());
                    let calls = calls(&platform);
                    assert!(!calls.contains(&"delete b".to_owned()), "{guest} {first} {when:?}: {calls:?}");
                    is_whole(&platform, &then).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn guests_survive_a_failed_creation_of_the_host() {
    for guest in GUESTS {
        for first in [true, false] {
            let platform = Platform::new();
            platform.deploys(&of(guest, "fixed: 1", first)).await;
            let then = of(guest, "fixed: 2", first);
            locked(&platform.driver.broken).insert("thing.default#shared.b".into());
            assert!(!platform.up(&then).await.is_success());
            locked(&platform.driver.broken).clear();
            assert!(platform.up(&then).await.is_success());
            let calls = calls(&platform);
            assert!(!calls.contains(&"delete b".to_owned()), "{guest} {first}: {calls:?}");
            is_whole(&platform, &then).await;
        }
    }
}

#[tokio::test]
async fn a_deleted_guest_is_absent_until_it_is_recreated() {
    for guest in GUESTS {
        let platform = Platform::new();
        platform.deploys(&of(guest, "fixed: 1", true)).await;
        assert!(!platform.up(&of(guest, "fixed: 2, fail: create", true)).await.is_success());
        assert_eq!(platform.record("shared.b").await.expect("its place").status, Status::Absent);
    }
}

#[tokio::test]
async fn a_guest_stays_if_its_host_turns_out_to_stay() {
    for guest in GUESTS {
        let platform = Platform::new();
        // The value that `a` reads is unknown during planning, and turns out unchanged.
        let of = |w: &str| {
            let z = format!("v: same, w: {w}");
            let all = [("z", z.as_str()), ("a", "fixed: <z.v>"), ("b", guest)];
            documents(&all, &[("b", "deleted_with: <a>")])
        };
        platform.deploys(&of("1")).await;
        platform.done();
        assert_eq!(platform.planned(&of("2")).await, ["update z", "replace a", "replace b"]);
        assert_eq!(platform.deploys(&of("2")).await, ["update z"]);
        assert_eq!(platform.alive(), ["a", "b", "z"]);
    }
}

#[tokio::test]
async fn a_guest_is_deleted_although_its_own_inputs_stay() {
    for first in [true, false] {
        let platform = Platform::new();
        let of = |fixed: &str, w: &str| {
            let order = if first { FIRST } else { "protect: false" };
            let z = format!("v: same, w: {w}");
            let all = [("z", z.as_str()), ("a", fixed), ("b", "fixed: <z.v>")];
            documents(&all, &[("a", order), ("b", "deleted_with: <a>")])
        };
        platform.deploys(&of("fixed: 1", "1")).await;
        platform.done();
        let done = platform.deploys(&of("fixed: 2", "2")).await;
        assert!(
            done.contains(&"create b~2".to_owned()) && !done.contains(&"delete b".to_owned()),
            "{done:?}"
        );
    }
}

/// The records, including old copies, determine the host: the new `b` has none.
#[tokio::test]
async fn a_guest_of_an_old_copy_is_deleted_with_the_host_of_the_copy() {
    let platform = Platform::new();
    let all = |b: &str, setting: &[(&str, &str)]| {
        documents(&[("c", "v: c"), ("b", b), ("a", "fixed: <b.id>, x: <c.id>")], setting)
    };
    platform.deploys(&all("fixed: <c.id>", &[("b", "deleted_with: <c>"), ("a", "deleted_with: <b>")])).await;
    // This run excludes `a`, so the old `b` stays for it.
    let scope = Scope { targets: vec!["b".into()], ..Scope::default() };
    let options = PlanOptions { scope, ..PlanOptions::default() };
    let summary = platform.up_with(&all("fixed: 2", &[("a", "deleted_with: <b>")]), options).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(platform.copies().await, 1);
    platform.done();
    let last = documents(&[("b", "fixed: 2"), ("a", "fixed: <b.id>")], &[("a", "deleted_with: <b>")]);
    // One call deletes all direct and indirect guests of `c`.
    assert_eq!(platform.deploys(&last).await, ["create a~2", "delete c"]);
    assert_eq!((platform.copies().await, platform.up(&last).await.calls), (0, 0));
}

/// `b` moved into the first `a`; meanwhile there is a second one.
#[tokio::test]
async fn a_guest_belongs_to_the_host_copy_of_its_last_change() {
    let platform = Platform::new();
    let of = |fixed: &str| documents(&[("a", fixed), ("b", "x: <a.id>")], &[("b", "deleted_with: <a>")]);
    platform.deploys(&documents(&[("b", "x: alone")], &[])).await;
    platform.deploys(&of("fixed: 1")).await;
    let scope = Scope { targets: vec!["a".into()], ..Scope::default() };
    let options = PlanOptions { scope, ..PlanOptions::default() };
    assert!(platform.up_with(&of("fixed: 2"), options).await.is_success());
    assert_eq!(platform.copies().await, 1);
    platform.done();
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["create b~2", "delete a"]);
    is_whole(&platform, &of("fixed: 2")).await;
}

/// It is unknown whether the interrupted update moved `b` into the old `a`.
#[tokio::test]
async fn a_guest_that_may_have_moved_in_is_deleted_too() {
    let platform = Platform::with(Implements { update: true, update_impact: true, ..PLAIN });
    let of = |fixed: &str| documents(&[("a", fixed), ("b", "x: <a.id>")], &[("b", "deleted_with: <a>")]);
    platform.deploys(&documents(&[("a", "fixed: 1"), ("b", "x: alone")], &[])).await;
    locked(&platform.driver.lost).insert("update thing.default#shared.b".into(), Lost::After);
    assert_eq!(platform.up(&of("fixed: 1")).await.unknown.len(), 1);
    platform.done();
    platform.recover().await;
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["create a~2", "create b~2", "delete b", "delete a"]);
    is_whole(&platform, &of("fixed: 2")).await;
}

/// It is unknown whether the interrupted update moved `b` out.
#[tokio::test]
async fn a_guest_that_may_have_stayed_is_deleted_too() {
    for lost in [Lost::Before, Lost::After] {
        let platform = Platform::with(Implements { update: true, update_impact: true, ..PLAIN });
        let of = |fixed: &str, x: &str, setting: &'static str| {
            documents(&[("a", fixed), ("b", x)], &[("b", setting)])
        };
        platform.deploys(&of("fixed: 1", "x: <a.id>", "deleted_with: <a>")).await;
        locked(&platform.driver.lost).insert("update thing.default#shared.b".into(), lost);
        assert_eq!(platform.up(&of("fixed: 1", "x: alone", "protect: false")).await.unknown.len(), 1);
        platform.done();
        platform.recover().await;
        let record = platform.record("shared.b").await.expect("recorded");
        assert_eq!((record.deleted_with.is_some(), record.perhaps_deleted_with.len()), (false, 1));
        let then = of("fixed: 2", "x: <a.id>", "deleted_with: <a>");
        assert_eq!(platform.deploys(&then).await, ["create a~2", "create b~2", "delete b", "delete a"]);
        is_whole(&platform, &then).await;
    }
}

#[tokio::test]
async fn a_guest_that_moves_out_first_is_not_replaced() {
    let of = |fixed: &str, b: &str, home: &str| {
        documents(&[("a", fixed), ("c", "v: c"), ("b", b)], &[("b", &format!("deleted_with: <{home}>"))])
    };
    for (moved, expected) in [
        ("x: <c.id>", vec!["update b", "create a~2", "delete a"]),
        // No call moves `b`, so it is deleted whatever host the documents name for the future.
        ("v: b", vec!["create b~2", "create a~2", "delete a"]),
    ] {
        let platform = Platform::new();
        platform.deploys(&of("fixed: 1", "v: b", "a")).await;
        platform.done();
        let mut done = platform.deploys(&of("fixed: 2", moved, "c")).await;
        done.sort_unstable();
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(done, expected);
    }
    let platform = Platform::new();
    platform.deploys(&of("fixed: 1", "v: b", "a")).await;
    platform.deploys(&of("fixed: 1", "v: b", "c")).await;
    platform.done();
    assert_eq!(platform.deploys(&of("fixed: 2", "v: b", "c")).await, ["create a~2", "delete a"]);
}

#[tokio::test]
async fn the_successor_of_a_retained_resource_is_not_absent() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        documents(&[("a", fixed), ("b", "fixed: <a.id>")], &[("b", "retain: true, deleted_with: <a>")])
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["create a~2", "create b~2", "delete a"]);
    assert_eq!(platform.record("shared.b").await.expect("recorded").status, Status::Ready);
}

#[tokio::test]
async fn guests_of_a_resource_retained_without_effect_are_deleted_too() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        let settings = [("b", "retain: true, deleted_with: <a>"), ("c", "deleted_with: <b>")];
        documents(&[("a", fixed), ("b", "v: b"), ("c", "v: c")], &settings)
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    let plan = platform.plan(&of("fixed: 2")).await.expect("a plan");
    let of_b = plan.steps.iter().find(|step| step.key.id() == "shared.b").expect("a step");
    assert!(of_b.reasons.iter().any(|reason| reason.code() == "old-one-not-retained"), "{of_b:#?}");
    let done = platform.deploys(&of("fixed: 2")).await;
    assert!(done.contains(&"create c~2".to_owned()) && !done.contains(&"delete b".to_owned()), "{done:?}");
    assert_eq!((platform.copies().await, platform.up(&of("fixed: 2")).await.calls), (0, 0));
}

/// `b` is retained without effect, since `a` is deleted; `c`, which lives in it, moves out before that.
#[tokio::test]
async fn guests_leave_a_resource_retained_without_effect_before_its_host_is_deleted() {
    let platform = Platform::new();
    let first = documents(
        &[("a", "v: 1"), ("d", "fixed: 1, v: d"), ("b", "v: b, x: <d.v>"), ("c", "v: b")],
        &[("d", FIRST), ("b", "retain: true, deleted_with: <a>"), ("c", "deleted_with: <b>")],
    );
    platform.deploys(&first).await;
    platform.done();
    // The old `d` is deleted first, and before that `b` is forgotten, which reads it.
    let then = documents(
        &[("d", "fixed: 2, v: d"), ("b2", "v: b, x: <d.v>"), ("c", "v: b2")],
        &[("d", FIRST), ("c", "deleted_with: <b2>")],
    );
    let calls = platform.deploys(&then).await;
    assert_eq!(calls, ["delete d", "create d~2", "create b2", "update c", "delete a"]);
    assert_eq!(platform.up(&then).await.calls, 0);
}

/// `b` is retained without effect, and there is a new one by the time the old one is deleted: `c`
/// is still deleted with the old one.
#[tokio::test]
async fn guests_of_an_old_resource_retained_without_effect_are_deleted_too() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        let settings = [
            ("b", "retain: true, deleted_with: <a>"),
            ("c", "delete_before_replace: true, deleted_with: <b>"),
        ];
        documents(&[("a", fixed), ("b", "fixed: <a.id>"), ("c", "v: c")], &settings)
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    let done = platform.deploys(&of("fixed: 2")).await;
    assert_eq!(done, ["create a~2", "create b~2", "delete a", "create c~2"]);
    assert_eq!((platform.copies().await, platform.up(&of("fixed: 2")).await.calls), (0, 0));
}

/// The old `a` stays for `b` at first, and the old `b`, which is retained without effect, stays as
/// long as the old `a`.
#[tokio::test]
async fn a_resource_retained_without_effect_stays_recorded_until_its_host_is_deleted() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        let settings = [("b", "retain: true, deleted_with: <a>"), ("c", "deleted_with: <b>")];
        documents(&[("a", fixed), ("b", "fixed: <a.id>"), ("c", "v: c")], &settings)
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    for (target, copies) in [("a", 1), ("b", 2)] {
        let scope = Scope { targets: vec![format!("thing#shared.{target}")], ..Scope::default() };
        let options = PlanOptions { scope, ..PlanOptions::default() };
        let plan = platform.plan_with(&of("fixed: 2"), options).await.expect("a plan");
        platform.run(plan, CancelToken::default()).await;
        assert_eq!(platform.copies().await, copies);
    }
    assert_eq!(platform.done(), ["create a~2", "create b~2"]);
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["create c~2", "delete a"]);
    assert_eq!((platform.copies().await, platform.up(&of("fixed: 2")).await.calls), (0, 0));
}

/// `a` becomes an old copy in the run that replaces `b`, which is retained, and stays for `c`. So
/// does the old `b`, in which `c` lives.
#[tokio::test]
async fn a_retained_guest_of_a_new_old_copy_stays_recorded_with_it() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        let settings = [("b", "retain: true, deleted_with: <a>"), ("c", "deleted_with: <b>")];
        documents(&[("a", fixed), ("b", "fixed: <a.id>"), ("c", "v: c")], &settings)
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    // The second run must not delete the old `a` either, since `c` would be deleted with it.
    for expected in [&["create a~2", "create b~2"][..], &[]] {
        let scope = Scope { targets: vec!["a".into(), "b".into()], ..Scope::default() };
        let options = PlanOptions { scope, ..PlanOptions::default() };
        assert!(platform.up_with(&of("fixed: 2"), options).await.is_success());
        assert_eq!(platform.done(), expected);
        assert_eq!(platform.copies().await, 2);
    }
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["create c~2", "delete a"]);
    assert_eq!((platform.copies().await, platform.up(&of("fixed: 2")).await.calls), (0, 0));
}

/// A damaged journal may leave two records of one real object; both must be updated.
#[tokio::test]
async fn a_guest_deleted_with_its_host_is_gone_in_all_its_records() {
    let platform = Platform::new();
    let guest = [("b", "deleted_with: <a>")];
    platform.deploys(&documents(&[("a", "v: a"), ("b", "fixed: <a.id>"), ("twin", "v: b")], &guest)).await;
    let (b, twin) = (platform.record("shared.b").await, platform.record("shared.twin").await);
    let (b, twin) = (b.expect("recorded"), twin.expect("recorded"));
    platform.write(vec![Change::Put(Box::new(Record { state: b.state, ..twin }))]).await;
    let only_the_twin = documents(&[("twin", "v: b")], &[]);
    platform.up(&only_the_twin).await;
    assert_eq!(platform.record("shared.twin").await.map(|record| record.status), Some(Status::Absent));
    platform.done();
    assert_eq!(platform.deploys(&only_the_twin).await, ["create twin~2"]);
}

/// The old `a` is retained and forgotten, and nothing moved `b` into the new one.
#[tokio::test]
async fn a_guest_of_a_retained_resource_does_not_live_in_its_successor() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        documents(&[("a", fixed), ("b", "v: b")], &[("a", "retain: true"), ("b", "deleted_with: <a>")])
    };
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["create a~2"]);
    let b = platform.record("shared.b").await.expect("recorded");
    assert_eq!((b.deleted_with, b.perhaps_deleted_with.len(), b.tainted), (None, 1, false));
    platform.done();
    // It is deleted by its own call.
    assert_eq!(platform.deploys(&documents(&[], &[])).await, ["delete b"]);
}

#[tokio::test]
async fn a_replacement_without_deletion_keeps_the_guests() {
    // The new `a` is the same real object, so neither the old one nor its guest `b` is deleted.
    let platform = Platform::new();
    let of = |fixed: &str, b: &str| {
        documents(&[("a", &format!("same: it, fixed: {fixed}")), ("b", b)], &[("b", "deleted_with: <a>")])
    };
    platform.deploys(&of("1", "fixed: b1")).await;
    platform.done();
    let done = platform.deploys(&of("2", "fixed: b2")).await;
    assert!(done.contains(&"delete b".to_owned()), "{done:?}");
    assert_eq!(platform.alive(), ["b~2"]);
}

/// `b` is still in the first `a`, and `c` in `b`.
#[tokio::test]
async fn a_guest_that_others_manage_from_now_on_stays_in_its_host() {
    let platform = Platform::with(FULL);
    let of = |fixed: &str, b: &str| {
        let settings = [("b", b), ("c", "deleted_with: <b>")];
        documents(&[("a", fixed), ("b", "v: b"), ("c", "v: c")], &settings)
    };
    platform.deploys(&of("fixed: 1", "deleted_with: <a>")).await;
    let then = of("fixed: 2", "observe: 'thing.default#shared.b'");
    platform.deploys(&then).await;
    assert!(platform.record("shared.c").await.is_some_and(|guest| guest.tainted));
    assert_eq!(platform.planned(&then).await, ["replace c"]);
}

/// The documents that replace a resource decide whether the old one is retained, not those that were
/// deployed before.
#[tokio::test]
async fn an_old_copy_is_deleted_unless_its_successor_is_retained() {
    let platform = Platform::with(FULL);
    let resources = |fixed| [("a", fixed), ("b", "x: <a.id>")];
    platform.deploys(&documents(&resources("fixed: 1"), &[("a", "retain: true")])).await;
    // The update of `b` fails, so that the old `a` stays for now.
    let lifted = documents(&resources("fixed: 2"), &[]);
    locked(&platform.driver.broken).insert("thing.default#shared.b".into());
    platform.up(&lifted).await;
    locked(&platform.driver.broken).clear();
    assert_eq!(platform.alive(), ["a", "a~2", "b"]);
    platform.up(&lifted).await;
    assert_eq!(platform.alive(), ["a~2", "b"]);
}

/// `b`, which is retained, may be replaced, but only moves from the old `a` to the new one. The old
/// `c` in it refers to the old `a`.
#[tokio::test]
async fn the_guest_of_a_host_that_may_leave_goes_before_the_host_of_that() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        let all = [("a", fixed), ("b", "x: <a.id>"), ("c", "fixed: <a.id>"), ("d", "fixed: <a.v>")];
        let b = "deleted_with: <a>, retain: true, replace_with: ['<d>']";
        documents(&all, &[("b", b), ("c", "deleted_with: <b>")])
    };
    platform.deploys(&of("fixed: 1, v: same")).await;
    platform.done();
    let then = of("fixed: 2, v: same");
    assert_eq!(platform.planned(&then).await, ["replace a", "replace d", "replace b", "replace c"]);
    assert_eq!(
        platform.deploys(&then).await,
        ["create a~2", "update b", "create c~2", "delete c", "delete a"]
    );
    // Nobody knows whether `b` left in time, so the next run makes sure.
    platform.deploys(&then).await;
    assert_eq!((platform.copies().await, platform.up(&then).await.calls), (0, 0));
}
