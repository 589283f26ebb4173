//! Existing objects: adopted, or only observed.

use std::time::Duration;

use crate::pending::{lose, pending};
use crate::support::{FULL, Lost, Platform, Thing, documents, locked};
use purlin_engine::{Cause, PlanOptions};
use purlin_model::{Unfinished, Value};
use purlin_state::Status;

/// Creates a thing, as others would.
fn create_object(platform: &Platform, id: &str, size: &str) {
    let values =
        Value::Map([("size".into(), size.into()), ("defaulted".into(), "yes".into())].into_iter().collect());
    let thing = Thing { key: id.into(), name: id.into(), values, made_with: "others".into() };
    locked(&platform.driver.world).insert(id.into(), thing);
}

fn sized(params: &str, size: &str, setting: &str) -> String {
    let inputs = format!("  inputs: {{values: {{size: {size}}}}}\n  criteria: [{{}}]");
    let settings = [("a", setting)];
    documents(&[("a", params), ("b", "x: <a.size>")], if setting.is_empty() { &[] } else { &settings })
        .replacen("  criteria: [{}]", &inputs, 1)
}

fn things(done: Vec<String>) -> Vec<String> {
    done.into_iter().filter(|call| !call.starts_with("read")).collect()
}

// case 47
#[tokio::test]
async fn an_adopted_resource_is_recorded_before_it_is_updated() {
    let platform = Platform::with(FULL);
    create_object(&platform, "i#shared.1", "huge");
    let all = |params: &str| sized(params, "small", "import: 'i#shared.1'");
    assert_eq!(platform.planned(&all("v: 1")).await, ["adopt a", "create b"]);
    let summary = platform.up(&all("fail: update")).await;
    assert_eq!(summary.failed.iter().map(|(key, _)| key.id()).collect::<Vec<_>>(), ["shared.a"]);
    let record = platform.record("shared.a").await.expect("it is ours");
    assert_eq!(
        (record.state.id.expose(), record.inputs.values.get("size")),
        ("i#shared.1", Some("huge".into()))
    );
    platform.done();
    // A managed resource is only updated, and the import may stay in the documents.
    assert_eq!(things(platform.deploys(&all("v: 1")).await), ["update 1", "create b"]);
    assert_eq!(platform.up(&all("v: 1")).await.calls, 0);
    assert_eq!(platform.record("shared.a").await.expect("recorded").status, Status::Ready);
    // As long as the import stays, the resource is not replaced.
    let faults = platform.refused(&all("v: 1, fixed: 2"), PlanOptions::default()).await;
    assert_eq!(faults[0].code, "import-replaced");
    let without = sized("v: 1, fixed: 2", "small", "");
    assert_eq!(platform.planned(&without).await[0], "replace a");
    // It is deleted like any other resource.
    platform.done();
    assert!(platform.destroy().await.is_success());
    assert_eq!(platform.done(), ["delete b", "delete 1"]);
}

#[tokio::test]
async fn a_matching_object_is_adopted_without_an_update() {
    let platform = Platform::with(FULL);
    create_object(&platform, "i#shared.1", "small");
    let all = sized("v: 1", "small", "import: 'i#shared.1'");
    let summary = platform.up(&all).await;
    assert!(summary.is_success());
    assert_eq!(summary.done.adopt, 1);
    assert_eq!(things(platform.done()), ["create b"]);
    assert_eq!(platform.up(&all).await.calls, 0);
}

#[tokio::test]
async fn a_missing_object_cannot_be_adopted() {
    let platform = Platform::with(FULL);
    for setting in ["import: i-9", "observe: i-9"] {
        let faults = platform.refused(&sized("v: 1", "small", setting), PlanOptions::default()).await;
        assert_eq!(faults[0].code, "not-found");
        assert!(faults[0].message.contains("i-9"));
    }
    assert!(platform.records().await.is_empty());
}

#[tokio::test]
async fn a_managed_object_is_not_adopted_again() {
    let platform = Platform::with(FULL);
    platform.deploys(&sized("v: 1", "small", "")).await;
    create_object(&platform, "i#shared.1", "small");
    for (setting, code) in [("import: 'i#shared.1'", "import"), ("observe: 'i#shared.1'", "observe")] {
        let faults = platform.refused(&sized("v: 1", "small", setting), PlanOptions::default()).await;
        assert_eq!(faults[0].code, code);
    }
}

// case 49
#[tokio::test]
async fn a_resource_that_becomes_observed_is_not_deleted_and_can_be_adopted_again() {
    let platform = Platform::with(FULL);
    platform.deploys(&sized("v: 1", "small", "")).await;
    platform.done();
    let observed = sized("v: 1", "small", "observe: 'thing.default#shared.a'");
    assert_eq!(platform.planned(&observed).await, ["read a"]);
    assert!(things(platform.deploys(&observed).await).is_empty());
    assert!(platform.record("shared.a").await.expect("recorded").external);
    // The inputs in the documents do not matter, but changes by others do.
    let other = observed.replace("size: small", "size: middle");
    assert_eq!(platform.planned(&other).await, ["update b"]);
    platform.driver.drift("thing.default#shared.a", "size", "huge");
    let plan = platform.plan(&observed).await.expect("a plan");
    assert!(plan.steps.iter().any(|step| step.changes.iter().any(|change| change.path == "/values/size")));
    assert_eq!(things(platform.deploys(&observed).await), ["update b"]);
    assert_eq!(platform.up(&observed).await.calls, 0);
    // It becomes managed again, but not because a line is missing.
    let faults = platform.refused(&sized("v: 1", "small", ""), PlanOptions::default()).await;
    assert_eq!(faults[0].code, "observe-ended");
    let ours = sized("v: 1", "small", "import: 'thing.default#shared.a'");
    assert_eq!(platform.planned(&ours).await[0], "adopt a");
    assert_eq!(things(platform.deploys(&ours).await), ["update a", "update b"]);
    assert!(!platform.record("shared.a").await.expect("recorded").external);
}

#[tokio::test]
async fn an_observed_resource_is_only_forgotten() {
    let platform = Platform::with(FULL);
    create_object(&platform, "i#shared.1", "huge");
    platform.deploys(&sized("v: 1", "small", "observe: 'i#shared.1'")).await;
    assert_eq!(platform.record("shared.b").await.expect("made").inputs.params.get("x"), Some("huge".into()));
    platform.done();
    assert!(platform.destroy().await.is_success());
    assert_eq!(things(platform.done()), ["delete b"]);
    assert_eq!(platform.alive(), ["1"]);
    assert!(platform.records().await.is_empty());
}

/// The object of others says nothing about what an interrupted call has made, or may still make.
#[tokio::test]
async fn what_may_exist_is_not_settled_by_observing_another() {
    let platform = Platform::with(FULL);
    *locked(&platform.driver.grace) = Duration::from_mins(1);
    lose(&platform, "create a", Lost::After);
    platform.up(&sized("v: 1", "small", "")).await;
    assert_eq!(pending(&platform).await, ["create a"]);
    // The system does not show what was made yet.
    let late = locked(&platform.driver.world).remove_entry("thing.default#shared.a");
    assert!(late.is_some(), "made");
    create_object(&platform, "i#shared.1", "huge");
    let summary = platform.up(&sized("v: 1", "small", "observe: 'i#shared.1'")).await;
    assert!(summary.failed.iter().any(|(_, cause)| matches!(cause, Cause::Undecided)), "{summary:?}");
    assert_eq!(pending(&platform).await, ["create a"]);
    locked(&platform.driver.world).extend(late);
    let deployed = platform.up(&sized("v: 1", "small", "")).await;
    assert!(deployed.is_success(), "{deployed:?}");
    assert!(pending(&platform).await.is_empty());
}

#[tokio::test]
async fn an_observed_resource_is_never_replaced() {
    let platform = Platform::with(FULL);
    create_object(&platform, "i#shared.1", "huge");
    platform.deploys(&sized("v: 1", "small", "observe: 'i#shared.1'")).await;
    let ours = sized("v: 1", "small", "import: 'i#shared.1', replace_on_changes: [values.size]");
    let faults = platform.refused(&ours, PlanOptions::default()).await;
    assert_eq!(faults[0].code, "import-replaced");
    assert_eq!(platform.alive().len(), 2);
}

#[tokio::test]
async fn an_import_by_command_leaves_the_object_unchanged() {
    let platform = Platform::with(FULL);
    create_object(&platform, "i#shared.1", "huge");
    let options = PlanOptions {
        import: vec![("thing#shared.a".into(), "i#shared.1".into())],
        import_only: true,
        scope: crate::support::scope(&["a"], &[]),
        ..PlanOptions::default()
    };
    let all = sized("v: 1", "small", "");
    assert!(platform.up_with(&all, options.clone()).await.is_success());
    assert!(things(platform.done()).is_empty());
    assert_eq!(platform.planned(&all).await, ["update a", "create b"]);
    // It is not changed either if it is already managed.
    assert!(platform.up_with(&all, options).await.is_success());
    assert!(things(platform.done()).is_empty());
    assert_eq!(platform.planned(&all).await, ["update a", "create b"]);
}

#[tokio::test]
async fn an_import_settles_a_possible_creation() {
    for by_command in [true, false] {
        let platform = Platform::with(purlin_model::driver::Implements { read: false, ..FULL });
        let call = "create thing.default#shared.a".to_owned();
        locked(&platform.driver.lost).insert(call, Lost::After);
        platform.up(&sized("v: 1", "small", "")).await;
        assert_eq!(platform.snapshot().await.pending.len(), 1);
        // Its driver is replaced by one that can read.
        let able = crate::support::Scripted::new("test/scripted", FULL);
        locked(&able.world).clone_from(&locked(&platform.driver.world));
        let mut platform = platform;
        platform.shelf.drivers = vec![std::sync::Arc::clone(&able)];
        platform.driver = able;
        let id = "thing.default#shared.a";
        let (all, import) = if by_command {
            (sized("v: 1", "small", ""), vec![("thing#shared.a".into(), id.into())])
        } else {
            (sized("v: 1", "small", &format!("import: '{id}'")), Vec::new())
        };
        let summary = platform.up_with(&all, PlanOptions { import, ..PlanOptions::default() }).await;
        assert!(summary.is_success(), "{summary:#?}");
        assert!(platform.snapshot().await.pending.is_empty());
        assert_eq!(platform.alive(), ["a", "b"]);
    }
}

#[tokio::test]
async fn an_id_may_be_written_differently_than_by_its_driver() {
    for setting in ["import", "observe"] {
        let platform = Platform::with(FULL);
        create_object(&platform, "i#shared.1", "small");
        let named = |id: &str| sized("v: 1", "small", &format!("{setting}: '{id}'"));
        assert!(platform.up(&named("./i#shared.1")).await.is_success());
        let record = platform.record("shared.a").await.expect("recorded");
        assert_eq!((record.state.id.expose(), record.named.as_deref()), ("i#shared.1", Some("./i#shared.1")));
        // The next run recognises it, and does not read an imported object.
        platform.done();
        assert_eq!(platform.planned(&named("./i#shared.1")).await, Vec::<String>::new());
        assert_eq!(platform.done().is_empty(), setting == "import");
        // It is recognised by either form of the id.
        for id in ["i#shared.1", "././i#shared.1"] {
            assert_eq!(platform.planned(&named(id)).await, Vec::<String>::new(), "{setting} {id}");
            assert_eq!(things(platform.deploys(&named(id)).await), Vec::<String>::new());
            let record = platform.record("shared.a").await.expect("recorded");
            assert_eq!(record.named.as_deref(), Some(id).filter(|id| id.starts_with("./")));
        }
        // A different object is still different.
        create_object(&platform, "i#shared.2", "small");
        let faults = platform.refused(&named("./i#shared.2"), PlanOptions::default()).await;
        assert!(faults[0].message.contains("it is recorded as `i#shared.1`"), "{}", faults[0].message);
        // An update keeps the given id, and an imported resource is not replaced.
        if setting == "import" {
            let larger = sized("v: 1", "large", "import: './i#shared.1'");
            assert!(platform.up(&larger).await.is_success());
            let fixed = sized("v: 1, fixed: 2", "large", "import: './i#shared.1'");
            assert_eq!(platform.refused(&fixed, PlanOptions::default()).await[0].code, "import-replaced");
            platform.done();
            assert_eq!(platform.up(&larger).await.calls, 0);
        }
    }
}

/// A definition with a secret input, which no driver reports.
fn with_secret(setting: &str) -> String {
    sized("v: 1", "small", setting).replacen("size: small}", "size: small}, secrets: {token: t}", 1)
}

#[tokio::test]
async fn the_secrets_of_an_adopted_resource_are_set_by_the_next_update() {
    let unconfirmed = Status::Partial(Unfinished::Unconfirmed);
    for by_command in [true, false] {
        let platform = Platform::with(FULL);
        create_object(&platform, "i#shared.1", "small");
        let setting = if by_command { "" } else { "import: 'i#shared.1'" };
        if by_command {
            let options = PlanOptions {
                import: vec![("thing#shared.a".into(), "i#shared.1".into())],
                import_only: true,
                scope: crate::support::scope(&["a"], &[]),
                ..PlanOptions::default()
            };
            assert!(platform.up_with(&with_secret(""), options).await.is_success());
            assert!(things(platform.done()).is_empty());
            assert_eq!(platform.record("shared.a").await.expect("adopted").status, unconfirmed);
            // A look at it does not show that the secret is set.
            platform.refresh().await;
            assert_eq!(platform.record("shared.a").await.expect("adopted").status, unconfirmed);
            platform.done();
        }
        assert_eq!(things(platform.deploys(&with_secret(setting)).await), ["update 1", "create b"]);
        assert_eq!(platform.record("shared.a").await.expect("recorded").status, Status::Ready);
        assert_eq!(platform.up(&with_secret(setting)).await.calls, 0);
    }
}

#[tokio::test]
async fn a_resource_that_was_only_observed_gets_its_secrets_once_it_is_managed() {
    let platform = Platform::with(FULL);
    create_object(&platform, "i#shared.1", "small");
    platform.deploys(&with_secret("observe: 'i#shared.1'")).await;
    assert_eq!(things(platform.deploys(&with_secret("import: 'i#shared.1'")).await), ["update 1"]);
    assert_eq!(platform.up(&with_secret("import: 'i#shared.1'")).await.calls, 0);
}

/// The driver does not report secrets: whether the update that failed half way set the new one stays in doubt,
/// also if the documents then ask again for the old one.
#[tokio::test]
async fn a_secret_that_a_failed_update_may_have_set_is_set_again() {
    let platform = Platform::with(FULL);
    let before = with_secret("");
    assert!(platform.up(&before).await.is_success());
    let changed = before.replace("token: t", "token: u").replacen("v: 1", "v: 1, stuck: half way", 1);
    assert_ne!(before, changed);
    assert!(!platform.up(&changed).await.is_success());
    platform.refresh().await;
    platform.done();
    assert_eq!(things(platform.deploys(&before).await), ["update a"]);
    assert_eq!(platform.record("shared.a").await.expect("recorded").status, Status::Ready);
    assert_eq!(platform.up(&before).await.calls, 0);
}

#[tokio::test]
async fn a_driver_without_an_update_adopts_what_is_there() {
    let platform = Platform::with(purlin_model::driver::Implements { update: false, ..FULL });
    create_object(&platform, "i#shared.1", "small");
    let all = with_secret("import: 'i#shared.1'");
    assert_eq!(things(platform.deploys(&all).await), ["create b"]);
    assert_eq!(platform.up(&all).await.calls, 0);
}

#[tokio::test]
async fn a_plan_shows_the_id_that_the_driver_found_for_another_one() {
    let platform = Platform::with(FULL);
    create_object(&platform, "i#shared.1", "small");
    let reason = |plan: &purlin_engine::Plan| {
        let step = plan.steps.iter().find(|step| step.key.id() == "shared.a").expect("a step");
        step.reasons[0].to_string()
    };
    let plan = platform.plan(&sized("v: 1", "small", "import: 'i#shared.1'")).await.expect("a plan");
    assert_eq!(reason(&plan), "it exists as `i#shared.1`");
    let plan = platform.plan(&sized("v: 1", "small", "import: './i#shared.1'")).await.expect("a plan");
    assert_eq!(reason(&plan), "it exists as `i#shared.1`, which is what its driver found for `./i#shared.1`");
}

/// An object that was managed before, and let go, still refers to what it needed then.
#[tokio::test]
async fn what_an_adopted_object_may_need_goes_after_its_update() {
    let platform = Platform::with(FULL);
    let of = |fixed: &str, settings: &[(&str, &str)]| {
        let (host, guest) = (format!("fixed: {fixed}"), "x: <h.id>");
        documents(&[("h", &host), ("a", guest)], settings)
    };
    platform.deploys(&of("1", &[("a", "retain: true")])).await;
    platform.deploys(&documents(&[("h", "fixed: 1")], &[])).await;
    assert_eq!((platform.alive(), platform.record("shared.a").await), (vec!["a".into(), "h".into()], None));
    let all = of("2", &[("a", "import: 'thing.default#shared.a'")]);
    assert_eq!(things(platform.deploys(&all).await), ["create h~2", "update a", "delete h"]);
}
