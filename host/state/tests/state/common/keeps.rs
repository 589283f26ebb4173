//! The promises of every store, in one test for all of them.

use futures::executor::block_on as run;
use purlin_model::Urn;
use purlin_state::{Change, Environment, Error, RecordId, Store, Vacancy};

use super::*;

/// Every store keeps what it is given, and keeps environments apart.
pub fn keeps(store: &dyn Store) {
    run(async {
        let other = Environment { env: "prod".into(), ..environment() };
        let elsewhere =
            Urn::parse("urn:purlin:prod/acme::shop::web::dns.default::modules.web").expect("a URN");
        let mut stranger = record(0);
        stranger.urn = elsewhere.clone();
        let lock = store.lock(&environment(), holder()).await.expect("free");
        let there = store.lock(&other, holder()).await.expect("another environment is free");
        let (here, beside) = (lock.writer(), there.writer());
        here.commit(
            (0..40).rev().map(|n| put(if n % 2 == 0 { record(n) } else { secret_record(n) })).collect(),
        )
        .await
        .expect("commits");
        // A submission concerns the locked environment.
        let error = here.commit(vec![put(stranger.clone())]).await.expect_err("another environment");
        assert!(error.to_string().contains("is not in the locked environment"), "{error}");
        beside.commit(vec![put(stranger)]).await.expect("commits");
        let expected: Vec<_> =
            (0..40).map(|n| if n % 2 == 0 { record(n) } else { secret_record(n) }).collect();
        let snapshot = store.load(&environment()).await.expect("loads");
        assert_eq!(plain(&snapshot.records), expected);
        let names = |after: Option<Environment>, most| async move {
            let known = store.environments(after.as_ref(), most).await.expect("lists");
            known.into_iter().map(|known| (known.environment, known.records)).collect::<Vec<_>>()
        };
        let both = [(environment(), 40), (other.clone(), 1)];
        assert_eq!(names(None, 10).await, both);
        assert_eq!(names(None, 1).await, both[..1]);
        assert_eq!(names(Some(environment()), 1).await, both[1..]);
        assert_eq!(names(Some(other.clone()), 1).await, []);
        assert_eq!(store.load(&other).await.expect("loads").records.len(), 1);

        // The last change of a URN counts, and removing a missing record does nothing.
        let mut changed = record(3);
        changed.protect = true;
        here.commit(vec![remove(3), put(changed.clone()), remove(4), remove(999)]).await.expect("commits");
        let now = store.load(&environment()).await.expect("loads");
        assert_eq!(now.records.len(), 39);
        assert!(now.records.contains(&changed.clone().into()));
        assert_ne!(now.revision, snapshot.revision);
        here.commit(vec![put(record(3)), put(record(4)), remove(3), put(changed)]).await.expect("commits");
        here.commit(vec![remove(4)]).await.expect("commits");

        beside.commit(vec![Change::Remove(RecordId::current(elsewhere))]).await.expect("commits");
        assert_eq!(names(None, 10).await, [(environment(), 39)]);
        assert_eq!(plain(&store.load(&other).await.expect("loads").records), []);

        let error = store.lock(&environment(), holder()).await.expect_err("taken");
        assert_eq!(
            error.to_string(),
            format!(
                "the environment dev of acme/shop is locked by ada on build-7 (`purlin up`, process {}) since 2026-09-21T14:13:20Z; wait until it is done",
                std::process::id()
            )
        );
        let fence = lock.fence();
        assert!(!lock.is_lost());
        drop(lock);
        assert!(matches!(here.commit(vec![remove(5)]).await, Err(Error::Lost { .. })));
        let again = store.lock(&environment(), holder()).await.expect("free again");
        assert!(again.fence() > fence, "{} after {fence}", again.fence());
        // A new lock does not allow the previous holder to write.
        assert!(matches!(here.commit(vec![remove(5)]).await, Err(Error::Lost { .. })));
        again.release().await.expect("writes");
        there.release().await.expect("writes");

        let vacancy = |bundle: Option<&str>| Vacancy {
            namespace: "dev".into(),
            group: "".into(),
            bundle: bundle.map(Into::into),
        };
        let (db, any) = (vacancy(Some("acme/db")), vacancy(None));
        let reserved = store.reserve(&db, holder()).await.expect("free");
        let beside = store.reserve(&any, holder()).await.expect("another one is free");
        let error = store.reserve(&db, holder()).await.expect_err("taken");
        assert_eq!(
            error.to_string(),
            format!(
                "`acme/db` in the namespace `dev` is being installed by ada on build-7 (`purlin up`, process {}) since 2026-09-21T14:13:20Z; wait until it is done",
                std::process::id()
            )
        );
        drop(reserved);
        let again = store.reserve(&db, holder()).await.expect("free again");
        assert!(matches!(store.reserve(&any, holder()).await, Err(Error::Reserved { .. })));
        assert_eq!(names(None, 10).await, [(environment(), 39)]);
        drop((again, beside));

        store.close().await.expect("closes");
        store.close().await.expect("closes again");
        assert!(matches!(store.lock(&environment(), holder()).await, Err(Error::Closed)));
        assert!(matches!(store.load(&environment()).await, Err(Error::Closed)));
        assert!(matches!(store.reserve(&db, holder()).await, Err(Error::Closed)));
    });
}
