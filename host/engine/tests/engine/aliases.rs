//! Renames: a record continues under the new name.

use crate::support::{Lost, PLAIN, Platform, documents, locked};
use purlin_engine::{Error, PlanOptions};
use purlin_model::Urn;

fn urn(name: &str) -> Urn {
    Urn::parse(&format!("urn:purlin:dev/acme::shop::shared::thing.default::shared.{name}")).expect("a URN")
}

#[tokio::test]
async fn a_renamed_resource_is_neither_deleted_nor_created() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("old", "v: 1"), ("b", "x: <old.v>")], &[])).await;
    platform.done();
    let renamed =
        documents(&[("new", "v: 1"), ("b", "x: <new.v>")], &[("new", "aliases: [thing#shared.old]")]);
    let plan = platform.plan(&renamed).await.expect("a plan");
    let moved: Vec<_> = plan.steps.iter().filter_map(|step| step.moved_from.as_ref()).collect();
    assert_eq!(moved, [&urn("old")]);
    assert!(!plan.is_empty(), "a move is something to do");
    assert!(platform.deploys(&renamed).await.is_empty());
    let b = platform.record("shared.b").await.expect("recorded");
    assert_eq!(*b.dependencies, [urn("new")]);
    // The alias has served its purpose, and may stay or go.
    assert!(platform.plan(&renamed).await.expect("a plan").is_empty());
    let without = documents(&[("new", "v: 1"), ("b", "x: <new.v>")], &[]);
    assert!(platform.plan(&without).await.expect("a plan").is_empty());
}

#[tokio::test]
async fn without_an_alias_the_rename_is_only_suggested() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("old", "v: 1"), ("other", "v: 2")], &[])).await;
    platform.done();
    let renamed = documents(&[("new", "v: 1")], &[]);
    let plan = platform.plan(&renamed).await.expect("a plan");
    let suggested: Vec<_> = plan.suggestions.iter().map(|s| (s.from.id(), s.to.id())).collect();
    assert_eq!(suggested, [("shared.old", "shared.new")]);
    let done = platform.deploys(&renamed).await;
    assert_eq!(done.len(), 3, "{done:?}");
    // If two resources are alike, nothing is suggested.
    let two = documents(&[("one", "v: 1"), ("two", "v: 1")], &[]);
    assert!(platform.plan(&two).await.expect("a plan").suggestions.is_empty());
}

// case 40
#[tokio::test]
async fn two_resources_cannot_claim_one_name() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("old", "v: 1"), ("b", "v: 1")], &[])).await;
    platform.done();
    for (resources, settings) in [
        (
            vec![("x", "v: 1"), ("y", "v: 1")],
            vec![("x", "aliases: [thing#shared.old]"), ("y", "aliases: [thing#shared.old]")],
        ),
        (vec![("old", "v: 1"), ("x", "v: 1")], vec![("x", "aliases: [thing#shared.old]")]),
        // Two resources that swap names: each name belongs to a resource of this graph.
        (
            vec![("old", "v: 1"), ("b", "v: 1")],
            vec![("old", "aliases: [thing#shared.b]"), ("b", "aliases: [thing#shared.old]")],
        ),
    ] {
        let documents = documents(&resources, &settings);
        let refused = match platform.try_graph(&documents) {
            Err(faults) => faults.len(),
            Ok(_) => platform.refused(&documents, PlanOptions::default()).await.len(),
        };
        assert!(refused > 0);
    }
    assert!(platform.done().is_empty());
    assert_eq!(platform.records().await.len(), 3);
}

#[tokio::test]
async fn the_first_recorded_former_name_counts() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("first", "v: 1")], &[])).await;
    let chain = [("third", "aliases: [thing#shared.second, thing#shared.first]")];
    platform.done();
    assert!(platform.deploys(&documents(&[("third", "v: 1")], &chain)).await.is_empty());
    assert_eq!(platform.alive(), ["first"]);
    assert!(platform.record("shared.third").await.is_some());
}

#[tokio::test]
async fn old_copies_and_pending_calls_are_renamed_too() {
    let platform = Platform::with(PLAIN);
    platform.deploys(&documents(&[("old", "fixed: 1, fail: delete")], &[])).await;
    platform.up(&documents(&[("old", "fixed: 2, fail: delete")], &[])).await;
    locked(&platform.driver.lost).insert("create thing.default#shared.old".into(), Lost::After);
    platform.up(&documents(&[("old", "fixed: 3")], &[])).await;
    assert_eq!((platform.copies().await, platform.snapshot().await.pending.len()), (1, 1));
    let renamed = documents(&[("new", "fixed: 3")], &[("new", "aliases: [thing#shared.old]")]);
    platform.up(&renamed).await;
    let snapshot = platform.snapshot().await;
    assert_eq!(snapshot.pending[0].id().urn, urn("new"));
    assert!(snapshot.records.iter().all(|record| record.urn != urn("old")), "{:#?}", snapshot.records);
    assert_eq!(platform.alive(), ["old", "old~2", "old~3"], "nothing was taken for another");
}

#[tokio::test]
async fn a_name_can_be_changed_manually_once() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "x: <a.v>")], &[])).await;
    platform.done();
    let rename = |snapshot, old: &str, new: &str| purlin_engine::rename(snapshot, &urn(old), &urn(new));
    assert!(matches!(rename(platform.snapshot().await, "a", "b"), Err(Error::Taken(_))));
    assert!(matches!(rename(platform.snapshot().await, "nobody", "c"), Err(Error::Unknown(_))));
    let changes = rename(platform.snapshot().await, "a", "c").expect("changes");
    platform.write(changes).await;
    assert!(
        platform.plan(&documents(&[("c", "v: 1"), ("b", "x: <c.v>")], &[])).await.expect("a plan").is_empty()
    );
}

#[tokio::test]
async fn a_renamed_resource_can_be_replaced_in_the_same_run() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("old", "fixed: 1"), ("b", "x: <old.id>")], &[])).await;
    platform.done();
    let renamed =
        documents(&[("new", "fixed: 2"), ("b", "x: <new.id>")], &[("new", "aliases: [thing#shared.old]")]);
    assert_eq!(platform.deploys(&renamed).await, ["create new", "update b", "delete old"]);
}
