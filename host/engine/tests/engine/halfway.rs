//! Partial changes: the record has the values that were reached.

use crate::support::{FULL, PLAIN, Platform, documents, locked};
use purlin_model::{Map, Unfinished, Value};
use purlin_state::Status;

fn map(entries: &[(&str, &str)]) -> Map {
    entries.iter().map(|(name, value)| ((*name).into(), Value::from(*value))).collect()
}

/// `a` was to become `v: 2, w: 2`, but only `v` changed.
async fn half_changed(implements: purlin_model::driver::Implements) -> Platform {
    let platform = Platform::with(implements);
    platform.deploys(&documents(&[("a", "v: one, w: one"), ("z", "v: z")], &[])).await;
    let changed = documents(
        &[("a", "v: two, w: two, stuck: midway"), ("z", "v: z")],
        &[("a", "depends_on: ['<z>'], protect: true")],
    );
    assert_eq!(platform.up(&changed).await.failed.len(), 1);
    locked(&platform.driver.changes).clear();
    platform
}

#[tokio::test]
async fn a_partial_change_records_what_was_reached() {
    let platform = half_changed(PLAIN).await;
    let record = platform.record("shared.a").await.expect("recorded");
    let status = Status::Partial(Unfinished::Failed { message: "midway".into() });
    assert_eq!(record.status, status);
    assert_eq!(
        record.inputs.params,
        Value::Map(map(&[("v", "one"), ("w", "one")])),
        "not what was requested"
    );
    assert_eq!(record.state.outputs.get("v"), Some("two".into()));
    assert_eq!(record.state.outputs.get("w"), Some("one".into()));
    assert_eq!((record.digest, record.protect), ([0; 32], true));
    assert!(
        record.dependencies.iter().any(|urn| urn.as_str().ends_with("shared.z")),
        "what it may need by now"
    );
    assert!(platform.snapshot().await.pending.is_empty());
}

#[tokio::test]
async fn the_next_attempt_gets_the_previous_inputs() {
    for implements in [PLAIN, FULL] {
        let platform = half_changed(implements).await;
        let changed = documents(&[("a", "v: two, w: two"), ("z", "v: z")], &[]);
        // The plan shows what remains to be done.
        let plan = platform.plan(&changed).await.expect("a plan");
        let step = plan.steps.iter().find(|step| step.key.id() == "shared.a").expect("a step");
        assert!(step.changes.iter().any(|change| change.path == "/params/w"), "{step:#?}");
        assert!(platform.up(&changed).await.is_success());
        let changes = std::mem::take(&mut *locked(&platform.driver.changes));
        let [(before, outputs, after)] = &changes[..] else { panic!("{changes:?}") };
        assert_eq!(*before, map(&[("v", "one"), ("w", "one")]));
        assert_eq!((outputs.get("v"), outputs.get("w")), (Some("two".into()), Some("one".into())));
        assert_eq!(*after, map(&[("v", "two"), ("w", "two")]));
        assert_eq!(platform.record("shared.a").await.expect("recorded").status, Status::Ready);
        assert_eq!(platform.up(&changed).await.calls, 0);
    }
}

#[tokio::test]
async fn a_partial_change_is_completed_even_if_the_documents_are_reverted() {
    let platform = half_changed(PLAIN).await;
    let before = documents(&[("a", "v: one, w: one"), ("z", "v: z")], &[]);
    assert!(platform.up(&before).await.is_success());
    assert_eq!(locked(&platform.driver.changes).len(), 1, "`v` is still another");
    assert_eq!(
        platform.record("shared.a").await.expect("recorded").state.outputs.get("v"),
        Some("one".into())
    );
}
