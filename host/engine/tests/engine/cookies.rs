//! Large cookies are stored apart: plans do not read them, calls get them, and what nothing has is collected.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::support::{FULL, Platform, documents};
use purlin_engine::{CancelToken, Cause, DestroyOptions, PlanOptions, Scope};
use purlin_sandbox::CallError;
use purlin_state::{Change, MemoryStore, Store};

/// A platform with `a` and `b`, whose driver keeps 5000 bytes for each.
async fn platform() -> (Platform, Arc<dyn Store>) {
    let platform = Platform::with(FULL);
    platform.driver.keeps.store(5000, Ordering::SeqCst);
    platform.deploys(&all("1")).await;
    let store = Arc::clone(&platform.store.inner) as Arc<dyn Store>;
    (platform, store)
}

fn all(value: &str) -> String {
    documents(&[("a", &format!("v: {value}")), ("b", "x: <a.id>")], &[])
}

#[tokio::test(start_paused = true)]
async fn a_plan_reads_no_cookie_and_a_call_gets_it() {
    let (platform, store) = platform().await;
    for record in platform.records().await.iter().filter(|record| record.state.id.expose() != "base-env") {
        assert!(record.state.cookie.stored().is_some() && record.state.cookie.len() == 5000);
    }
    let lost: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let plan = |drivers: Arc<dyn Store>, value| {
        let (platform, options) = (&platform, PlanOptions::default());
        let documents = all(value);
        async move {
            let (graph, context) = (platform.graph(&documents), platform.context());
            let base = platform.base().await.expect("whole");
            purlin_engine::plan(graph, &context, base, &platform.supplied(drivers), options).await
        }
    };
    // From a store without them, nothing could be read.
    let unchanged = plan(Arc::clone(&lost), "1").await.expect("a plan");
    let (_, summary) = platform.run(unchanged, CancelToken::default()).await;
    assert_eq!((summary.calls, summary.failed.len()), (0, 0));
    // A change asks the driver what it means, with what it keeps.
    let error = plan(lost, "2").await.err().map(|error| format!("{error:?}"));
    assert!(error.as_ref().is_none_or(|error| error.contains("Cookie")), "{error:?}");
    platform.driver.keeps.store(6000, Ordering::SeqCst);
    let change = plan(Arc::clone(&store), "2").await.expect("a plan");
    let (_, summary) = platform.run(change, CancelToken::default()).await;
    assert!(summary.failed.is_empty(), "{:?}", summary.failed);
    // The new one took the place of the old one, which is collected.
    let snapshot = platform.snapshot().await;
    assert!(!snapshot.unused_cookies.is_empty());
    platform.write(vec![Change::RemoveCookies(snapshot.unused_cookies)]).await;
    assert!(platform.snapshot().await.unused_cookies.is_empty());
    // A look that finds the same leaves it where it is.
    let drivers = platform.supplied(Arc::clone(&store));
    let mut seen = Vec::new();
    for _ in 0..2 {
        let (context, base) = (platform.context(), platform.base().await.expect("whole"));
        let refresh = purlin_engine::refresh(&context, base, &drivers, &Scope::default()).await;
        platform.run(refresh.expect("a plan"), CancelToken::default()).await;
        let records = platform.records().await;
        seen.push(records.iter().map(|record| record.state.cookie.stored().copied()).collect::<Vec<_>>());
    }
    assert!(seen[0] == seen[1] && seen[0].iter().all(Option::is_some), "{seen:?}");
    let (context, base) = (platform.context(), platform.base().await.expect("whole"));
    let destroy = purlin_engine::destroy(&context, base, &drivers, DestroyOptions::default()).await;
    let (_, summary) = platform.run(destroy.expect("a plan"), CancelToken::default()).await;
    assert_eq!((summary.failed.len(), platform.driver.alive().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_cookie_is_lost_is_not_made() {
    let (platform, _) = platform().await;
    let (context, base) = (platform.context(), platform.base().await.expect("whole"));
    let lost = platform.supplied(Arc::new(MemoryStore::new()));
    let destroy = purlin_engine::destroy(&context, base, &lost, DestroyOptions::default()).await;
    let alive = platform.driver.alive().len();
    let (_, summary) = platform.run(destroy.expect("a plan"), CancelToken::default()).await;
    let is_lost = |cause: &Cause| matches!(cause, Cause::Call(failed) if matches!(failed.error, CallError::Cookie { .. }));
    assert!(summary.failed.iter().any(|(_, cause)| is_lost(cause)), "{:?}", summary.failed);
    assert_eq!(platform.driver.alive().len(), alive);
    assert!(summary.unknown.is_empty(), "nothing is in doubt");
}
