//! Resources that their drivers call pending: they are recorded as in progress, waited for or left to the
//! next run, and never made twice or taken for ready.

use std::sync::atomic::Ordering;

use crate::pending::{lose, pending};
use crate::support::{FULL, Lost, PLAIN, Platform, at, documents, locked, scope};
use purlin_engine::{CancelToken, Cause, Phase, PlanOptions, Summary};
use purlin_model::Unfinished;
use purlin_model::driver::Implements;
use purlin_state::Status;

/// A driver without `update` and with `read`.
const RIGID: Implements = Implements { update: false, update_impact: false, ..FULL };

/// From now on, this call (`create a`) leaves an object that is not done for this many looks.
fn takes(platform: &Platform, call: &str, looks: u32) {
    let (what, name) = call.split_once(' ').expect("`what name`");
    locked(&platform.driver.takes).insert(format!("{what} thing.default#shared.{name}"), looks);
}

fn does_not_wait(platform: &Platform) {
    platform.waits.store(false, Ordering::SeqCst);
}

async fn status(platform: &Platform, name: &str) -> Status {
    platform.record(&format!("shared.{name}")).await.expect("recorded").status
}

fn in_progress(deletes: bool) -> Status {
    Status::Partial(Unfinished::InProgress { message: "it takes a while".into(), deletes, in_doubt: false })
}

/// The run ended with these resources in progress, and with no other failure.
fn ended_with(summary: &Summary, names: &[&str]) {
    let ids: Vec<&str> = summary.failed.iter().map(|(key, _)| key.id()).collect();
    let names: Vec<String> = names.iter().map(|name| format!("shared.{name}")).collect();
    assert_eq!(ids, names, "{summary:#?}");
    let is_in_progress = |(_, cause): &(_, Cause)| matches!(cause, Cause::InProgress { .. });
    assert!(summary.failed.iter().all(is_in_progress), "{summary:#?}");
    assert!(summary.unknown.is_empty(), "nothing is in doubt: {summary:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_for_what_is_created_and_then_goes_on() {
    for implements in [FULL, RIGID] {
        let platform = Platform::with(implements);
        takes(&platform, "create a", 3);
        let all = documents(&[("a", "v: 1"), ("b", "x: <a.id>"), ("i", "v: 1")], &[]);
        let calls = platform.deploys(&all).await;
        let creates: Vec<&String> = calls.iter().filter(|call| !call.starts_with("read")).collect();
        assert_eq!(creates.iter().filter(|call| **call == "create a").count(), 1, "{calls:?}");
        assert!(at(&calls, "read a") < at(&calls, "create b"), "dependents wait: {calls:?}");
        assert_eq!(calls.iter().filter(|call| *call == "read a").count(), 4, "{calls:?}");
        assert_eq!(status(&platform, "a").await, Status::Ready);
        let again = platform.up(&all).await;
        assert_eq!((again.calls, platform.done().len()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_does_not_wait_ends_with_it_and_the_next_one_goes_on() {
    for implements in [FULL, RIGID] {
        let platform = Platform::with(implements);
        does_not_wait(&platform);
        takes(&platform, "create a", 1);
        let all = documents(&[("a", "v: 1"), ("b", "x: <a.id>")], &[]);
        let summary = platform.up(&all).await;
        ended_with(&summary, &["a"]);
        assert_eq!(summary.skipped.iter().map(|(key, _)| key.id()).collect::<Vec<_>>(), ["shared.b"]);
        assert_eq!(status(&platform, "a").await, in_progress(false));
        assert!(pending(&platform).await.is_empty(), "the call is over");
        assert_eq!(platform.done(), ["create a"]);
        // It looks once, and does not wait either.
        ended_with(&platform.up(&all).await, &["a"]);
        assert_eq!(platform.done(), ["read a"]);
        let summary = platform.up(&all).await;
        assert!(summary.is_success(), "{summary:#?}");
        assert_eq!(platform.done(), ["read a", "create b"]);
        assert_eq!(status(&platform, "a").await, Status::Ready);
        assert_eq!(platform.up(&all).await.calls, 0);
    }
}

/// What never becomes ready, such as a workload with a wrong image, can be corrected.
#[tokio::test(start_paused = true)]
async fn what_the_documents_ask_for_meanwhile_does_not_wait() {
    let platform = Platform::with(FULL);
    does_not_wait(&platform);
    takes(&platform, "create a", u32::MAX);
    ended_with(&platform.up(&documents(&[("a", "v: 1")], &[])).await, &["a"]);
    platform.done();
    locked(&platform.driver.on_their_way).clear();
    assert_eq!(platform.deploys(&documents(&[("a", "v: 2")], &[])).await, ["update a"]);
    assert_eq!(status(&platform, "a").await, Status::Ready);
    // So does a change that replaces it, and a change of its driver.
    let platform = Platform::with(FULL);
    does_not_wait(&platform);
    takes(&platform, "create a", 0);
    ended_with(&platform.up(&documents(&[("a", "fixed: 1")], &[])).await, &["a"]);
    platform.done();
    let calls = platform.deploys(&documents(&[("a", "fixed: 2")], &[])).await;
    assert!(calls.contains(&"create a~2".to_owned()), "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_takes_longer_is_waited_for() {
    let platform = Platform::with(FULL);
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "x: <a.v>")], &[])).await;
    let all = documents(&[("a", "v: 2"), ("b", "x: <a.v>")], &[]);
    takes(&platform, "update a", 2);
    let calls = platform.deploys(&all).await;
    assert!(at(&calls, "update a") < at(&calls, "read a") && at(&calls, "read a") < at(&calls, "update b"));
    does_not_wait(&platform);
    let all = documents(&[("a", "v: 3"), ("b", "x: <a.v>")], &[]);
    takes(&platform, "update a", 0);
    ended_with(&platform.up(&all).await, &["a"]);
    assert_eq!(
        (status(&platform, "a").await, platform.done()),
        (in_progress(false), vec!["update a".into()])
    );
    assert_eq!(platform.deploys(&all).await, ["read a", "update b"]);
    assert_eq!(platform.up(&all).await.calls, 0);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_takes_longer_is_waited_for() {
    let platform = Platform::with(FULL);
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "x: <a.id>"), ("i", "v: 1")], &[])).await;
    takes(&platform, "delete b", 1);
    let calls = platform.deploys(&documents(&[("i", "v: 1")], &[])).await;
    assert_eq!(calls, ["delete b", "delete b", "delete b", "delete a"], "in order");
    assert!(platform.record("shared.b").await.is_none());

    does_not_wait(&platform);
    takes(&platform, "delete i", 1);
    let nothing = documents(&[], &[]);
    ended_with(&platform.up(&nothing).await, &["i"]);
    assert_eq!(status(&platform, "i").await, in_progress(true));
    assert!(pending(&platform).await.is_empty(), "the call is over");
    ended_with(&platform.up(&nothing).await, &["i"]);
    assert!(platform.up(&nothing).await.is_success());
    assert_eq!(platform.done(), ["delete i", "delete i", "delete i"]);
    assert!(platform.alive().is_empty() && platform.record("shared.i").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn what_is_going_is_replaced_when_it_is_wanted_again() {
    for implements in [FULL, RIGID] {
        let platform = Platform::with(implements);
        let all = documents(&[("a", "v: 1"), ("i", "v: 1")], &[]);
        platform.deploys(&all).await;
        does_not_wait(&platform);
        takes(&platform, "delete a", 0);
        ended_with(&platform.up(&documents(&[("i", "v: 1")], &[])).await, &["a"]);
        platform.done();
        assert_eq!(platform.planned(&all).await, ["replace a"]);
        let calls: Vec<String> = platform.deploys(&all).await;
        let calls: Vec<&String> = calls.iter().filter(|call| !call.starts_with("read")).collect();
        assert_eq!(calls, ["delete a", "create a~2"], "first the old one");
        assert_eq!(status(&platform, "a").await, Status::Ready);
        assert_eq!(platform.up(&all).await.calls, 0);
    }
}

/// Its lost update may have arrived: that it is in progress says nothing of it, also if the documents go back.
#[tokio::test(start_paused = true)]
async fn what_is_in_progress_and_in_doubt_is_updated_once_it_is_done() {
    let platform = Platform::with(FULL);
    let of = |v: u8| documents(&[("a", &format!("v: {v}"))], &[]);
    platform.deploys(&of(1)).await;
    takes(&platform, "update a", 2);
    lose(&platform, "update a", Lost::After);
    assert_eq!(platform.up(&of(2)).await.unknown.len(), 1);
    platform.done();
    // The system works on.
    locked(&platform.driver.on_their_way).insert("thing.default#shared.a".into(), 2);
    locked(&platform.driver.takes).clear();
    let summary = platform.up(&of(1)).await;
    assert!(summary.is_success(), "{summary:#?}");
    let calls = platform.done();
    assert_eq!(calls.last().map(String::as_str), Some("update a"), "{calls:?}");
    assert!(calls.iter().filter(|call| *call == "read a").count() >= 2, "it waits first: {calls:?}");
    assert_eq!((status(&platform, "a").await, platform.up(&of(1)).await.calls), (Status::Ready, 0));
}

/// Its deletion is finished, whatever the documents and the record say by then: to retain it would record
/// what soon is no more.
#[tokio::test(start_paused = true)]
async fn what_is_going_is_not_retained() {
    let platform = Platform::with(FULL);
    does_not_wait(&platform);
    let retained = |of: &str, retain: &str| documents(&[("a", of)], &[("a", retain)]);
    platform.deploys(&retained("fixed: 1", "retain: true")).await;
    takes(&platform, "delete a", 2);
    let order = "delete_before_replace: true";
    ended_with(&platform.up(&retained("fixed: 2", order)).await, &["a"]);
    assert_eq!((status(&platform, "a").await, platform.done()), (in_progress(true), vec!["delete a".into()]));
    ended_with(&platform.up(&retained("fixed: 2", "retain: true")).await, &["a"]);
    assert_eq!(platform.done(), ["delete a"]);
    // Where the documents name it no more, too.
    ended_with(&platform.up(&documents(&[], &[])).await, &["a"]);
    assert_eq!(platform.done(), ["delete a"]);
    assert!(platform.up(&documents(&[], &[])).await.is_success());
    assert_eq!((platform.done(), platform.alive()), (vec!["delete a".to_owned()], Vec::new()));
}

/// It went with its host as soon as the deletion of that began, wherever the documents want it now.
#[tokio::test(start_paused = true)]
async fn what_lives_in_a_host_that_is_going_cannot_move_out() {
    let platform = Platform::with(FULL);
    does_not_wait(&platform);
    let all = |host: &str| {
        let of_b = format!("v: {host}");
        let settings = [("b", &*format!("deleted_with: <{host}>"))];
        documents(&[(host, "v: 1"), ("b", &of_b)], &settings)
    };
    platform.deploys(&all("a")).await;
    takes(&platform, "delete a", 2);
    ended_with(&platform.up(&documents(&[], &[])).await, &["a"]);
    platform.done();
    ended_with(&platform.up(&all("a2")).await, &["a"]);
    locked(&platform.driver.on_their_way).clear();
    let summary = platform.up(&all("a2")).await;
    assert!(summary.is_success(), "{summary:#?}");
    let calls = platform.done();
    let of_b: Vec<&String> = calls.iter().filter(|call| call.contains(" b")).collect();
    assert_eq!(of_b, ["create b~2"], "{calls:?}");
    assert_eq!(platform.up(&all("a2")).await.calls, 0);
}

#[tokio::test(start_paused = true)]
async fn a_refresh_leaves_what_is_in_progress_so() {
    let platform = Platform::with(FULL);
    does_not_wait(&platform);
    takes(&platform, "create a", 1);
    let all = documents(&[("a", "v: 1"), ("b", "v: 1")], &[]);
    ended_with(&platform.up(&all).await, &["a"]);
    let (_, summary) = platform.refresh().await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(status(&platform, "a").await, in_progress(false));
    platform.refresh().await;
    assert_eq!(status(&platform, "a").await, Status::Ready, "it is done now");
    takes(&platform, "delete b", 5);
    ended_with(&platform.up(&documents(&[("a", "v: 1")], &[])).await, &["b"]);
    locked(&platform.driver.on_their_way).clear();
    platform.refresh().await;
    assert_eq!(status(&platform, "b").await, in_progress(true), "it is not there again because it is shown");
}

#[tokio::test(start_paused = true)]
async fn what_vanishes_meanwhile_is_created_again() {
    let platform = Platform::with(FULL);
    does_not_wait(&platform);
    takes(&platform, "create a", 1);
    let all = documents(&[("a", "v: 1")], &[]);
    ended_with(&platform.up(&all).await, &["a"]);
    locked(&platform.driver.world).clear();
    let summary = platform.up(&all).await;
    assert!(matches!(summary.failed[..], [(_, Cause::MoreThanPlanned { .. })]), "{summary:#?}");
    platform.done();
    assert_eq!(platform.deploys(&all).await, ["create a~2"]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_waits_no_longer_and_forgets_nothing() {
    let platform = Platform::with(FULL);
    takes(&platform, "create a", 50);
    let all = documents(&[("a", "v: 1")], &[]);
    let plan = platform.plan(&all).await.expect("a plan");
    let cancel = CancelToken::default();
    let stop = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        cancel.request();
    };
    let ((_, summary), ()) = tokio::join!(platform.run(plan, cancel.clone()), stop);
    ended_with(&summary, &["a"]);
    assert_eq!(status(&platform, "a").await, in_progress(false));
    locked(&platform.driver.on_their_way).clear();
    platform.done();
    assert_eq!(platform.deploys(&all).await, ["read a"]);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_at_the_operators_limit() {
    let platform = Platform::with(FULL);
    takes(&platform, "create a", u32::MAX);
    let begun = tokio::time::Instant::now();
    ended_with(&platform.up(&documents(&[("a", "v: 1")], &[])).await, &["a"]);
    let minutes = begun.elapsed().as_secs() / 60;
    assert!((9..=10).contains(&minutes), "{minutes}");
}

/// A call whose answer is lost is an open call, whatever the answer would have been.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_found_in_progress() {
    let platform = Platform::with(FULL);
    takes(&platform, "create a", 3);
    lose(&platform, "create a", Lost::After);
    let all = documents(&[("a", "v: 1")], &[]);
    let summary = platform.up(&all).await;
    assert_eq!(summary.unknown.len(), 1);
    // The system works on.
    locked(&platform.driver.on_their_way).insert("thing.default#shared.a".into(), 3);
    locked(&platform.driver.takes).clear();
    let summary = platform.up(&all).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(platform.alive(), ["a"]);
    assert_eq!(status(&platform, "a").await, Status::Ready);
    assert_eq!(platform.up(&all).await.calls, 0);
}

/// Without `read`, nobody could look: the next run updates it.
#[tokio::test(start_paused = true)]
async fn a_driver_that_cannot_look_leaves_it_in_part() {
    let platform = Platform::with(PLAIN);
    takes(&platform, "create a", 3);
    let all = documents(&[("a", "v: 1")], &[]);
    let summary = platform.up(&all).await;
    assert_eq!(summary.failed.len(), 1);
    let Status::Partial(Unfinished::Failed { message }) = status(&platform, "a").await else {
        panic!("it is not ready")
    };
    assert!(message.contains("has no `read`") && message.contains("it takes a while"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn people_see_what_a_run_waits_for() {
    let platform = Platform::with(FULL);
    takes(&platform, "create a", 2);
    let plan = platform.plan(&documents(&[("a", "v: 1")], &[])).await.expect("a plan");
    let (events, _) = platform.run(plan, CancelToken::default()).await;
    let progress = events.iter().filter(|event| match event {
        purlin_engine::Event::Resource { phase: Phase::Progress { message, .. }, .. } => {
            &**message == "it takes a while"
        }
        _ => false,
    });
    assert_eq!(progress.count(), 3);
}

/// That it is shown no longer proves that it went, however new it is.
#[tokio::test(start_paused = true)]
async fn a_new_resource_that_is_going_need_not_be_shown() {
    let platform = Platform::with(FULL);
    *locked(&platform.driver.grace) = std::time::Duration::from_secs(30);
    platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
    does_not_wait(&platform);
    takes(&platform, "delete a", 0);
    let nothing = documents(&[], &[]);
    ended_with(&platform.up(&nothing).await, &["a"]);
    *locked(&platform.driver.hides) = true;
    let summary = platform.up(&nothing).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert!(platform.alive().is_empty());
}

/// Also where a run leaves it out.
#[tokio::test(start_paused = true)]
async fn dependents_wait_for_what_a_run_leaves_out() {
    let platform = Platform::with(FULL);
    does_not_wait(&platform);
    takes(&platform, "create a", u32::MAX);
    let all = documents(&[("a", "v: 1"), ("b", "x: <a.id>"), ("i", "v: 1")], &[]);
    ended_with(&platform.up(&all).await, &["a"]);
    let without = PlanOptions { scope: scope(&[], &["a"]), ..PlanOptions::default() };
    let summary = platform.up_with(&all, without.clone()).await;
    ended_with(&summary, &["a"]);
    assert_eq!(platform.alive(), ["a", "i"]);
    // What does not read it does not wait.
    let of_i = PlanOptions { scope: scope(&["i"], &[]), ..PlanOptions::default() };
    assert!(platform.up_with(&all, of_i).await.is_success());
    // It is looked at where others read it.
    locked(&platform.driver.on_their_way).clear();
    platform.done();
    let summary = platform.up_with(&all, without).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(platform.done(), ["read a", "create b"]);
    assert_eq!(status(&platform, "a").await, Status::Ready);
}
