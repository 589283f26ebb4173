//! The failures and keywords of the contract: what drivers can report, and what the host does
//! according to their schemas.

use crate::pending::lose;
use crate::support::{Lost, PLAIN, Platform, documents, locked, steps};
use purlin_engine::{CancelToken, Cause, CurrentInputs, DestroyOptions, PlanOptions, Summary};
use purlin_model::Value;
use purlin_model::driver::Implements;
use purlin_state::{Change, RecordId, Status};
use std::sync::Arc;

const READS: Implements = Implements { read: true, ..PLAIN };

fn one(params: &str) -> String {
    documents(&[("a", params)], &[])
}

/// The same, with a connection.
fn reached(connection: &str, params: &str) -> String {
    one(params).replace("  criteria", &format!("  inputs: {{connection: {{{connection}}}}}\n  criteria"))
}

async fn destroy(platform: &Platform, documents: &str) -> Summary {
    let (graph, options) = (platform.graph(documents), PlanOptions::default());
    let current =
        CurrentInputs::new(graph, &platform.context(), Arc::clone(&options.rules), options.stores, 1);
    let base = platform.base().await.expect("whole").with_inputs(Some(current));
    let context = platform.context();
    let plan = purlin_engine::destroy(&context, base, &platform.shelf, DestroyOptions::default());
    platform.run(plan.await.expect("a plan"), CancelToken::default()).await.1
}

/// The `key` in the recorded connection of `a`.
async fn key(platform: &Platform) -> Value {
    let record = platform.record("shared.a").await.expect("recorded");
    record.inputs.connection.get("key").expect("a key")
}

#[tokio::test]
async fn an_undecided_creation_is_found_out_and_never_repeated_blindly() {
    for (doubt, done) in [
        ("after", vec!["read by name #shared.a", "update a"]),
        ("before", vec!["read by name #shared.a", "create a"]),
    ] {
        let platform = Platform::with(READS);
        assert!(!platform.up(&one(&format!("doubt: {doubt}"))).await.is_success());
        assert!(platform.base().await.expect("whole").has_pending(), "{doubt}: it is not taken back");
        platform.done();
        let summary = platform.up(&one("v: 1")).await;
        assert!(summary.is_success(), "{doubt}: {summary:#?}");
        let calls = platform.done();
        let calls: Vec<&str> = calls.iter().map(String::as_str).filter(|call| *call != "by name").collect();
        assert_eq!(calls.last(), done.last(), "{doubt}: {calls:?}");
        assert_eq!(platform.alive(), ["a"], "{doubt}: {calls:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeatable_call_is_repeated_if_undecided() {
    let platform = Platform::with(READS);
    assert_eq!(platform.deploys(&one("v: 1")).await, ["create a"]);
    assert!(!platform.up(&one("doubt: before")).await.is_success());
    assert_eq!(platform.done(), ["update a", "update a", "update a"]);
    assert!(platform.base().await.expect("whole").has_pending(), "nobody knows what the first one did");
    assert_eq!(platform.deploys(&one("v: 2")).await.last().map(String::as_str), Some("update a"));
}

#[tokio::test]
async fn a_driver_can_require_deletion_before_creation() {
    let platform = Platform::with(READS);
    platform.deploys(&one("alone: true, fixed: 1")).await;
    let documents = one("alone: true, fixed: 2");
    assert_eq!(platform.planned(&documents).await, ["replace a"]);
    assert_eq!(platform.deploys(&documents).await, ["crowded by a", "delete a", "create a~2"]);
    assert_eq!((platform.alive(), platform.copies().await), (vec!["a~2".to_owned()], 0));
    assert!(platform.planned(&documents).await.is_empty());
    // If the old resource cannot be deleted, nothing is created and nothing is forgotten.
    locked(&platform.driver.broken).insert("thing.default#shared.a".into());
    let documents = one("alone: true, fixed: 3");
    assert!(!platform.up(&documents).await.is_success());
    assert_eq!(platform.alive(), ["a~2"]);
    locked(&platform.driver.broken).clear();
    platform.done();
    assert_eq!(platform.deploys(&documents).await, ["crowded by a~2", "delete a~2", "create a~3"]);
}

#[tokio::test]
async fn a_read_by_name_gets_the_ids_of_others_with_the_name() {
    let platform = Platform::with(READS);
    platform.deploys(&one("fixed: 1")).await;
    let lost = Lost::After;
    locked(&platform.driver.lost).insert("create thing.default#shared.a".into(), lost);
    assert!(!platform.up(&one("fixed: 2")).await.is_success());
    locked(&platform.driver.known).clear();
    platform.recover().await;
    assert_eq!(*locked(&platform.driver.known), [["thing.default#shared.a"]], "the one that is replaced");
}

#[tokio::test]
async fn a_changed_connection_is_not_a_change() {
    let platform = Platform::with(READS);
    platform.deploys(&reached("host: db, key: old", "v: 1")).await;
    assert!(matches!(key(&platform).await, Value::Secret(_)), "its schema says so");
    let rotated = reached("host: db, key: new", "v: 1");
    assert!(platform.planned(&rotated).await.is_empty());
    assert!(platform.deploys(&rotated).await.is_empty(), "nobody is called");
    assert_eq!(key(&platform).await.exposed().as_str(), Some("new"), "it is written down");
    // Together with another change, only that change is shown.
    let plan = platform.plan(&reached("host: db, key: newer", "v: 2")).await.expect("a plan");
    let changes: Vec<&str> =
        plan.steps.iter().flat_map(|step| &step.changes).map(|change| &*change.path).collect();
    assert_eq!((steps(&plan), changes), (vec!["update a".to_owned()], vec!["/params/v"]));
    // The connection of a new resource is not shown either.
    let plan = Platform::with(READS).plan(&rotated).await.expect("a plan");
    assert!(
        plan.steps.iter().flat_map(|step| &step.changes).all(|change| !change.path.contains("connection"))
    );
}

#[tokio::test]
async fn another_system_is_another_resource() {
    let platform = Platform::with(READS);
    platform.deploys(&reached("host: db, key: k", "v: 1")).await;
    let moved = reached("host: other, key: k2", "v: 1");
    let plan = platform.plan(&moved).await.expect("a plan");
    let replaces: Vec<&str> = plan
        .steps
        .iter()
        .flat_map(|step| &step.changes)
        .filter(|change| change.replaces)
        .map(|change| &*change.path)
        .collect();
    assert_eq!((steps(&plan), replaces), (vec!["replace a".to_owned()], vec!["/connection/host"]));
    // Writing out a default is not a change.
    assert!(platform.planned(&reached("host: db, key: k, port: 80", "v: 1")).await.is_empty());
    assert_eq!(platform.planned(&reached("host: db, key: k, port: 81", "v: 1")).await, ["replace a"]);
}

#[tokio::test]
async fn reads_and_deletions_use_the_current_connection() {
    let platform = Platform::with(READS);
    platform.deploys(&reached("host: db, key: old", "v: 1")).await;
    *locked(&platform.driver.rejected) = Some("old".into());
    let summary = destroy(&platform, &reached("host: db, key: new", "v: 1")).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(platform.done(), ["delete a"], "the first attempt succeeds");
    // If the connection in the documents is wrong, the recorded one may be right.
    let platform = Platform::with(READS);
    platform.deploys(&reached("host: db, key: good", "v: 1")).await;
    *locked(&platform.driver.rejected) = Some("bad".into());
    assert!(destroy(&platform, &reached("host: db, key: bad", "v: 1")).await.is_success());
    assert!(platform.alive().is_empty());
}

#[tokio::test]
async fn a_removed_resource_uses_the_connection_of_its_definition() {
    let connection = |key: &str| format!("host: \"${{params.name}}-${{context.env.id}}\", key: {key}");
    let gone = |written: &str| {
        written.replace("    a: {type: thing", "    b: {type: thing").replace("name: db", "name: other")
    };
    for (written, is_reached) in [
        (reached(&connection("new"), "name: db, v: 1"), true),
        // Another system, and another definition.
        (reached("host: elsewhere, key: new", "name: db, v: 1"), false),
        (reached(&connection("new"), "name: db, v: 1").replace("{id: thing}", "{id: other}"), false),
    ] {
        let platform = Platform::with(READS);
        platform.deploys(&reached(&connection("old"), "name: db, v: 1")).await;
        *locked(&platform.driver.rejected) = Some("old".into());
        let summary = platform.up(&gone(&written)).await;
        assert_eq!(platform.record("shared.a").await.is_none(), is_reached, "{written}: {summary:#?}");
    }
}

#[tokio::test]
async fn schemas_determine_the_effect_of_a_change() {
    // A driver without `update-impact`.
    let platform = Platform::with(Implements { update_impact: false, ..READS });
    platform.deploys(&one("zone: 1, engine: x, v: 1")).await;
    assert_eq!(platform.planned(&one("zone: 1, engine: x, v: 2")).await, ["update a"]);
    assert_eq!(platform.planned(&one("zone: 2, engine: x, v: 2")).await, ["replace a"]);
    let refused = platform.refused(&one("zone: 1, engine: y, v: 1"), PlanOptions::default()).await;
    let [fault] = &refused[..] else { panic!("{refused:?}") };
    assert!(fault.message.contains("`engine`") && fault.message.contains("--replace"), "{}", fault.message);
    // A requested replacement is allowed, and so is one for another reason.
    let forced = PlanOptions { replace: vec!["thing#shared.a".into()], ..PlanOptions::default() };
    let plan = platform.plan_with(&one("zone: 1, engine: y, v: 1"), forced).await.expect("a plan");
    assert_eq!(steps(&plan), ["replace a"]);
    assert_eq!(platform.planned(&one("zone: 2, engine: y, v: 1")).await, ["replace a"]);
}

#[tokio::test]
async fn an_unknown_value_does_not_change_an_immutable_input() {
    let platform = Platform::with(READS);
    let both = |v: u32| documents(&[("a", &format!("v: {v}")), ("b", "engine: <a.name>, v: 1")], &[]);
    let with_name = |v: u32| both(v).replace("v: ", "name: x, v: ");
    platform.deploys(&with_name(1)).await;
    let plan = platform.plan(&with_name(2)).await.expect("a plan");
    assert!(steps(&plan).contains(&"update a".to_owned()), "{:?}", steps(&plan));
    assert!(platform.up(&with_name(2)).await.is_success());
}

#[tokio::test]
async fn without_a_schema_the_recorded_connection_counts() {
    let mut platform = Platform::with(READS);
    let driver = crate::support::Scripted::of_types("test/scripted", READS, &["other"]);
    platform.shelf.drivers = vec![Arc::clone(&driver)];
    platform.driver = driver;
    platform.deploys(&reached("host: db, key: k", "v: 1")).await;
    assert!(platform.deploys(&reached("host: other, key: k", "v: 1")).await.is_empty());
    let record = platform.record("shared.a").await.expect("recorded");
    assert_eq!(
        record.inputs.connection.get("host").and_then(|host| host.as_str().map(str::to_owned)).as_deref(),
        Some("db")
    );
}

/// A platform with a driver that returns the output `token` only from `create`.
fn returning_once() -> Platform {
    promising(serde_json::json!({"properties": {
        "token": {"type": "string", "writeOnly": true, "x-purlin-write-once": true},
    }}))
}

/// A platform with a driver that promises these outputs.
fn promising(outputs: serde_json::Value) -> Platform {
    let mut platform = Platform::with(READS);
    let driver = crate::support::Scripted::with_outputs("test/scripted", READS, outputs);
    platform.shelf.drivers = vec![Arc::clone(&driver)];
    platform.driver = driver;
    platform
}

#[tokio::test]
async fn an_output_that_is_returned_once_stays_recorded() {
    let platform = returning_once();
    platform.deploys(&one("token: t1, v: 1")).await;
    let token =
        async || platform.record("shared.a").await.and_then(|record| record.state.outputs.get("token"));
    let created = token().await.expect("a token");
    assert!(matches!(&created, Value::Secret(_)) && created.exposed().as_str() == Some("t1"), "{created:?}");
    platform.refresh().await;
    assert_eq!(token().await.as_ref(), Some(&created), "a look does not lose it");
    platform.deploys(&one("token: t1, v: 2")).await;
    assert_eq!(token().await, Some(created), "nor does an update");
}

#[tokio::test]
async fn a_lost_output_suggests_a_replacement() {
    let platform = returning_once();
    // The response of the creation had no token.
    platform.deploys(&one("v: 1")).await;
    let reads = documents(
        &[("a", "v: 1"), ("b", "got: \"${resources['thing.default#shared.a'].outputs.token}\"")],
        &[],
    );
    let plan = platform.plan(&reads).await.expect("a plan of the rest");
    let message = format!("{:#?}", plan.refused());
    assert!(message.contains("`token` was not recorded when the resource was created"), "{message}");
    assert!(message.contains("`--replace 'thing.default#shared.a'` creates the resource again"), "{message}");
}

/// The driver promises that `v` is `1`. What breaks the promise exists, and is recorded as partial.
#[tokio::test]
async fn outputs_are_held_against_the_schema_of_their_driver() {
    let promise = || promising(serde_json::json!({"properties": {"v": {"const": 1}}}));
    let is_broken = |summary: &Summary| {
        let failed = summary.failed.iter().find(|(key, _)| key.id() == "shared.a");
        let Some((_, cause @ Cause::Outputs { driver, faults })) = failed else { panic!("{summary:#?}") };
        assert_eq!((driver.as_str(), cause.code()), ("test/scripted", "outputs"));
        assert!(faults[0].contains("`v`") && faults[0].contains("`test/scripted`"), "{faults:?}");
    };
    let is_partial = async |platform: &Platform| {
        let record = platform.record("shared.a").await.expect("nothing is lost");
        assert!(matches!(record.status, Status::Partial(_)) && !record.state.id.is_empty(), "{record:#?}");
    };
    let broken = one("v: 2");
    // create
    let platform = promise();
    is_broken(&platform.up(&broken).await);
    is_partial(&platform).await;
    assert!(platform.destroy().await.is_success());
    assert!(platform.alive().is_empty());
    // update
    platform.deploys(&one("v: 1")).await;
    is_broken(&platform.up(&broken).await);
    is_partial(&platform).await;
    // read
    let platform = promise();
    platform.deploys(&one("v: 1")).await;
    locked(&platform.driver.weather).insert("v".into(), "storm".into());
    is_broken(&platform.refresh().await.1);
    is_partial(&platform).await;
    locked(&platform.driver.weather).clear();
    assert!(platform.up(&one("v: 1")).await.is_success(), "a later run repairs it");
    // The outcome of an interrupted creation
    let platform = promise();
    lose(&platform, "create a", Lost::After);
    platform.up(&broken).await;
    platform.recover().await;
    is_partial(&platform).await;
}

#[tokio::test]
async fn an_import_is_held_against_the_schema_of_its_driver() {
    let platform = promising(serde_json::json!({"properties": {"v": {"const": 1}}}));
    platform.deploys(&one("v: 1")).await;
    let urn = platform.record("shared.a").await.expect("recorded").urn;
    platform.write(vec![Change::Remove(RecordId::current(urn))]).await;
    locked(&platform.driver.weather).insert("v".into(), "storm".into());
    let import = vec![("thing#shared.a".into(), "thing.default#shared.a".into())];
    let options = PlanOptions { import, ..PlanOptions::default() };
    let plan = platform.plan_with(&one("v: 1"), options).await.expect("a plan");
    let summary = platform.run(plan, CancelToken::default()).await.1;
    assert!(matches!(summary.failed[..], [(_, Cause::Outputs { .. })]), "{summary:#?}");
    let record = platform.record("shared.a").await.expect("nothing is lost");
    assert!(matches!(record.status, Status::Partial(_)), "{record:#?}");
}
