//! Secrets that definitions only name: read when needed, once, and never shown.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{FULL, Platform, documents, locked, steps};
use async_trait::async_trait;
use purlin_engine::{
    CancelToken, Deviation, Differs, PlanOptions, SecretFault, SecretRef, SecretStores, check_secrets,
    deviations,
};
use purlin_model::{Context, Value};
use secrecy::SecretString;

const WORD: &str = "correct-horse";

/// A store `vault` that is granted to `test/scripted`, and a store `other` that is granted to no
/// driver.
#[derive(Debug, Default)]
struct Scripted {
    secrets: Mutex<BTreeMap<String, String>>,
    reads: Mutex<Vec<String>>,
    now: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl SecretStores for Scripted {
    fn allows(&self, driver: &str, store: &str) -> Result<(), SecretFault> {
        match (driver, store) {
            ("test/scripted", "vault") => Ok(()),
            (_, "vault" | "other") => Err(SecretFault::new("not granted").help("grant it")),
            _ => Err(SecretFault::new("there is no such store").help("did you mean `vault`?")),
        }
    }

    async fn get(&self, secret: &SecretRef, context: &Context) -> Result<SecretString, SecretFault> {
        assert_eq!(&*context.app, "shop");
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        let name = match &secret.version {
            Some(version) => format!("{}@{version}", secret.name),
            None => secret.name.to_string(),
        };
        locked(&self.reads).push(name.clone());
        let found = locked(&self.secrets).get(&name).cloned();
        found.map(SecretString::from).ok_or_else(|| SecretFault::new("there is none"))
    }
}

impl Scripted {
    fn with(secrets: &[(&str, &str)]) -> Arc<Self> {
        let secrets = secrets.iter().map(|(name, secret)| ((*name).to_owned(), (*secret).to_owned()));
        Arc::new(Self { secrets: Mutex::new(secrets.collect()), ..Self::default() })
    }

    fn set(&self, name: &str, secret: &str) {
        locked(&self.secrets).insert(name.to_owned(), secret.to_owned());
    }

    /// The secrets that were read since the last call, sorted.
    fn take_reads(&self) -> Vec<String> {
        let mut reads = std::mem::take(&mut *locked(&self.reads));
        reads.sort();
        reads
    }
}

/// Things whose definition has these `secret_refs`.
fn things(refs: &str, things: &[(&str, &str)]) -> String {
    let inputs = format!("  inputs: {{secret_refs: {refs}}}\n  criteria: [{{}}]");
    documents(things, &[]).replacen("  criteria: [{}]", &inputs, 1)
}

fn options(stores: &Arc<Scripted>) -> PlanOptions {
    PlanOptions { stores: Arc::clone(stores) as _, ..PlanOptions::default() }
}

async fn password(platform: &Platform, name: &str) -> Option<Value> {
    let record = platform.record(&format!("shared.{name}")).await.expect("recorded");
    record.inputs.secrets.get("password")
}

#[tokio::test]
async fn each_secret_is_read_once_and_all_concurrently() {
    let platform = Platform::with(FULL);
    let stores = Scripted::with(&[("a", WORD), ("b", "battery-staple"), ("b@2", "newer")]);
    let refs = "{password: {store: vault, ref: '${params.from}', version: '${params.version}'}, \
                more: [{store: vault, ref: b}, {value: plain-word}]}";
    let documents = things(
        refs,
        &[
            ("a", "from: a, version: null"),
            ("b", "from: b, version: null"),
            ("c", "from: b, version: 2"),
            ("d", "from: b, version: '2'"),
        ],
    );
    let plan = platform.plan_with(&documents, options(&stores)).await.expect("a plan");
    assert_eq!(stores.take_reads(), ["a", "b", "b@2"]);
    assert!(stores.most.load(Ordering::SeqCst) > 1, "one after the other");
    let shown = format!("{:#?}{:#?}", plan.steps, plan.warnings);
    for word in [WORD, "battery-staple", "newer", "plain-word"] {
        assert!(!shown.contains(word), "{shown}");
    }
    let (events, summary) = platform.run(plan, CancelToken::default()).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert!(!format!("{events:#?}").contains(WORD));
    assert_eq!(stores.take_reads(), [""; 0], "what the plan read is used");
    for (name, word) in [("a", WORD), ("b", "battery-staple"), ("c", "newer"), ("d", "newer")] {
        assert_eq!(password(&platform, name).await, Some(Value::from(word).into_secret()), "{name}");
    }
    let more = platform.record("shared.a").await.expect("recorded").inputs.secrets.get("more");
    assert_eq!(more.expect("a list").get("1"), Some(Value::from("plain-word").into_secret()));
}

#[tokio::test]
async fn a_changed_secret_is_a_change_and_a_deviation_from_a_saved_plan() {
    let platform = Platform::with(FULL);
    let stores = Scripted::with(&[("a", WORD)]);
    let documents = things("{password: {store: vault, ref: a}}", &[("a", "v: 1")]);
    assert!(platform.up_with(&documents, options(&stores)).await.is_success());
    let again = platform.plan_with(&documents, options(&stores)).await.expect("a plan");
    assert_eq!(steps(&again), [""; 0]);
    assert_eq!(stores.take_reads(), ["a", "a"], "once a run");
    stores.set("a", "battery-staple");
    let changed = platform.plan_with(&documents, options(&stores)).await.expect("a plan");
    assert_eq!(steps(&changed), ["update a"]);
    let shown = format!("{:#?}", changed.steps);
    assert!(!shown.contains("battery") && !shown.contains(WORD), "{shown}");
    let saved = changed.save();
    stores.set("a", "third-word");
    let later = platform.plan_with(&documents, options(&stores)).await.expect("a plan");
    let deviation = Deviation { resource: "thing.default#shared.a".into(), how: Differs::Otherwise };
    assert_eq!(deviations(&saved.outline, &later.outline()), [deviation]);
}

#[tokio::test]
async fn a_reference_known_after_provisioning_is_read_then() {
    let platform = Platform::with(FULL);
    let documents = things(
        "{password: {store: vault, ref: '${params.from}'}}",
        &[("a", "from: start"), ("b", "from: 'x<a.id>'")],
    )
    .replace("'x\"", "\"x")
    .replace("\"'", "\"");
    let stores = Scripted::with(&[("start", WORD)]);
    let plan = platform.plan_with(&documents, options(&stores)).await.expect("a plan");
    assert_eq!(stores.take_reads(), ["start"]);
    let b = plan.steps.iter().find(|step| step.key.id() == "shared.b").expect("a step");
    let secret = b.changes.iter().find(|change| change.path == "/secrets/password").expect("a change");
    assert!(secret.is_unknown() && secret.is_secret());
    // The secret does not exist yet: the resource fails, and names the secret.
    let (_, summary) = platform.run(plan, CancelToken::default()).await;
    assert_eq!(summary.failed.len(), 1);
    let reads = stores.take_reads();
    let [name] = reads.as_slice() else { panic!("{reads:?}") };
    let cause = summary.failed[0].1.to_string();
    assert_eq!(
        cause,
        format!("`secret_refs.password` reads `{name}` from the secret store `vault`: there is none")
    );
    stores.set(name, "battery-staple");
    assert!(platform.up_with(&documents, options(&stores)).await.is_success());
    assert_eq!(password(&platform, "b").await, Some(Value::from("battery-staple").into_secret()));
}

#[tokio::test]
async fn unreadable_secrets_are_reported_at_their_definition_first() {
    let platform = Platform::with(FULL);
    let stores = Scripted::with(&[("nul", "a\0b"), ("empty", "")]);
    for (refs, message, help) in [
        (
            "{p: {store: vault, ref: a}}",
            "`secret_refs.p` reads `a` from the secret store `vault`: there is none",
            None,
        ),
        (
            "{p: {q: {store: vault, ref: a, version: 3}}}",
            "`secret_refs.p.q` reads `a` in version `3` from the secret store `vault`: there is none",
            None,
        ),
        (
            "{p: {store: valut, ref: a}}",
            "`secret_refs.p` reads `a` from the secret store `valut`: there is no such store",
            Some("did you mean `vault`?"),
        ),
        (
            "{p: {store: other, ref: '${context.app.id}'}}",
            "`secret_refs.p` reads secrets from the secret store `other`: not granted",
            Some("grant it"),
        ),
        (
            "{p: {store: '${params.v}', ref: a}}",
            "`secret_refs.p` reads `a` from the secret store `x`: there is no such store",
            Some("did you mean `vault`?"),
        ),
        (
            "{p: {store: vault, ref: nul}}",
            "`secret_refs.p` reads `nul` from the secret store `vault`: it contains a NUL character",
            None,
        ),
        (
            "{p: {store: vault, ref: empty}}",
            "`secret_refs.p` reads `empty` from the secret store `vault`: it is empty",
            Some("an empty secret can be given as `{value: \"\"}`"),
        ),
        (
            "{p: {store: vault, ref: '${params.none}'}}",
            "`secret_refs.p` has an empty `ref`",
            Some("write `{store: NAME, ref: NAME}` or `{value: TEXT}`"),
        ),
        (
            "{p: {ref: a}}",
            "`secret_refs.p` lacks `store`",
            Some("write `{store: NAME, ref: NAME}` or `{value: TEXT}`"),
        ),
    ] {
        let documents = things(refs, &[("a", "v: x, none: ''")]);
        let errors = platform.refused(&documents, options(&stores)).await;
        assert_eq!(errors.len(), 1, "{errors:#?}");
        assert_eq!((errors[0].message.as_str(), errors[0].help.as_deref()), (message, help));
        assert!(errors[0].location.is_some());
        assert!(platform.driver.take_calls().is_empty());
    }
}

#[tokio::test]
async fn faulty_references_in_a_connection_are_named() {
    let platform = Platform::with(FULL);
    let inputs = "  inputs: {connection: {key: {store: vault, ref: '${params.none}'}}}\n  criteria: [{}]";
    let documents = documents(&[("a", "none: ''")], &[]).replacen("  criteria: [{}]", inputs, 1);
    let errors = platform.refused(&documents, options(&Scripted::with(&[]))).await;
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!(errors[0].message, "`connection.key` has an empty `ref`");
}

#[tokio::test]
async fn without_a_grant_nothing_is_read() {
    let platform = Platform::with(FULL);
    let stores = Scripted::with(&[("a", WORD)]);
    let documents = things("{p: {store: other, ref: a}, q: {store: vault, ref: a}}", &[("a", "v: 1")]);
    let errors = check_secrets(platform.graph(&documents).nodes(), &*stores, &Default::default());
    assert_eq!(errors, platform.refused(&documents, options(&stores)).await);
    // If a placeholder names the store, this is found out once the name is known.
    let documents = things("{p: {store: '${params.v}', ref: a}}", &[("a", "v: other")]);
    assert_eq!(check_secrets(platform.graph(&documents).nodes(), &*stores, &Default::default()), []);
    platform.refused(&documents, options(&stores)).await;
    assert_eq!(stores.take_reads(), [""; 0]);
}

#[tokio::test]
async fn offline_nothing_is_read() {
    let platform = Platform::with(FULL);
    let stores = Scripted::with(&[]);
    let documents = things("{password: {store: nobody, ref: a}}", &[("a", "v: 1")]);
    let options = PlanOptions { offline: true, ..options(&stores) };
    let plan = platform.plan_with(&documents, options).await.expect("a plan");
    let change = plan.steps.iter().flat_map(|step| &step.changes);
    let change = change.into_iter().find(|change| change.path == "/secrets/password").expect("a change");
    assert!(change.is_unknown() && change.is_secret());
    assert_eq!(stores.take_reads(), [""; 0]);
    // Without any stores, the same documents are rejected when drivers are called.
    let errors = platform.refused(&documents, PlanOptions::default()).await;
    assert!(errors[0].message.ends_with("no such store is configured"), "{errors:#?}");
}

#[tokio::test]
async fn secrets_in_a_connection_are_read_for_plans_and_recorded_when_they_change() {
    let platform = Platform::with(FULL);
    let stores = Scripted::with(&[("a", WORD), ("s", "server")]);
    let inputs = "  inputs: {connection: {host: {store: vault, ref: s}, key: {store: vault, ref: a}}}\n  criteria: [{}]";
    let documents = documents(&[("a", "v: 1")], &[]).replacen("  criteria: [{}]", inputs, 1);
    assert!(platform.up_with(&documents, options(&stores)).await.is_success());
    let again = platform.plan_with(&documents, options(&stores)).await.expect("a plan");
    assert_eq!(steps(&again), [""; 0], "the server is the same");
    stores.set("a", "rotated");
    stores.take_reads();
    assert!(platform.up_with(&documents, options(&stores)).await.is_success());
    assert_eq!(stores.take_reads(), ["a", "s"]);
    let key = platform.record("shared.a").await.expect("recorded").inputs.connection.get("key");
    assert_eq!(key, Some(Value::from("rotated").into_secret()));
    assert_eq!(platform.done().iter().filter(|call| call.starts_with("update")).count(), 0);
}
