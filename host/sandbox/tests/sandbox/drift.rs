//! A driver with real effects, as the shipped component: its writes, changes of others to them, and
//! the remains when it is killed at any moment.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_model::driver::{Checkpoint, Failure, Inputs, ResourceState, keywords};
use purlin_model::{DirGrant, Grants, Limits, Value};
use purlin_sandbox::{
    CallContext, CallError, CancelToken, Change, CheckpointSink, Driver, DriverSetup, ReadRequest, Source,
};
use serde_json::json;

use crate::common::{component, inputs, sandbox, subject};

/// `purlin/file` with one granted folder.
struct Files {
    driver: Driver,
    folder: tempfile::TempDir,
}

impl Files {
    async fn new() -> Self {
        Self::within(true, Limits::default()).await
    }

    async fn within(writable: bool, limits: Limits) -> Self {
        let folder = tempfile::tempdir().expect("folder");
        fs::create_dir(folder.path().join("out")).expect("made");
        let grant = DirGrant { host: "out".into(), guest: "/out".into(), writable, ..DirGrant::default() };
        let setup = DriverSetup {
            name: "purlin/file".into(),
            grants: Grants { dirs: vec![grant], ..Grants::default() },
            folder: folder.path().to_owned(),
            limits,
            ..DriverSetup::default()
        };
        let source = Source::Bytes(component("file").into());
        Self { driver: sandbox().load(source, &setup).await.expect("it is a driver"), folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("out").join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("")).expect("there");
        entries.map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("there")
}

fn file(content: &str) -> Inputs {
    inputs(json!({"path": "/out/a.txt", "content": content}))
}

#[tokio::test]
async fn manual_changes_are_reported_and_repaired() {
    let files = Files::new().await;
    let driver = &files.driver;
    let subject = subject();
    let implements = driver.info().implements(subject.key.type_name());
    assert!(implements.read && implements.name && implements.repeat_create && implements.update);
    let context = CallContext::new(&subject, "k");

    let odd = inputs(json!({"path": "/out/./sub//a.txt", "content": "mine\n"}));
    let checked = driver.check(&context, &odd, None).await.expect("valid");
    let given = Inputs { values: checked.values, secrets: checked.secrets, ..odd };
    let name = driver.name_of(&context, &given).await.expect("named");
    let state = driver.create(&context, &given, name.expose(), None).await.expect("made");
    assert_eq!((name.expose(), state.id.expose()), ("/out/sub/a.txt", "/out/sub/a.txt"));
    let read = async || {
        driver
            .read(
                &context,
                ReadRequest {
                    id: Some(state.id.expose()),
                    name: name.expose(),
                    inputs: &given,
                    state: Some(&state),
                    known: &[],
                },
            )
            .await
    };

    let seen = read().await.expect("read").expect("there");
    assert_eq!((seen.state, seen.values.as_ref()), (state.clone(), Some(&given.values)), "nothing differs");

    fs::write(files.at("sub/a.txt"), "theirs\n").expect("written");
    let seen = read().await.expect("read").expect("there");
    let values = seen.values.expect("values");
    assert_eq!(values.redact(), json!({"path": "/out/sub/a.txt", "content": "theirs\n"}));
    assert_ne!(seen.state.outputs, state.outputs);

    let change = Change { state: &seen.state, before: &given, after: &given, name: name.expose() };
    let repaired = driver.update(&context, change).await.expect("repaired");
    assert_eq!((repaired, text(&files.at("sub/a.txt")).as_str()), (state.clone(), "mine\n"));

    fs::write(files.at("sub/a.txt"), vec![b'x'; 100 << 20]).expect("written");
    let seen = read().await.expect("more than the memory and the answer may have").expect("there");
    assert_eq!(seen.values.expect("values").redact(), json!({"path": "/out/sub/a.txt"}));
    assert_eq!(seen.state.outputs.redact()["size"], 100 << 20);

    fs::remove_file(files.at("sub/a.txt")).expect("removed");
    assert_eq!(read().await, Ok(None));
    driver.update(&context, change).await.expect("made anew");
    assert_eq!(text(&files.at("sub/a.txt")), "mine\n");
    driver.delete(&context, (&state, false), &given).await.expect("deleted");
    driver.delete(&context, (&state, false), &given).await.expect("gone already");
    let moved = inputs(json!({"path": "/out/b.txt", "content": "mine\n"}));
    let change = Change { after: &moved, ..change };
    let mut impact = driver.update_impact(&context, change).await.expect("an impact");
    // The driver leaves to its schema everything that the host decides with it.
    assert_eq!(impact.replaces, Vec::<String>::new());
    let schema = driver.info().schema(subject.key.type_name()).expect("a schema");
    keywords::add_effects(&schema.inputs, change.before, change.after, &mut impact);
    assert_eq!(impact.replaces, ["/values/path"]);
}

#[tokio::test]
async fn a_change_of_secret_content_is_reported_without_the_content() {
    let files = Files::new().await;
    let subject = subject();
    let context = CallContext::new(&subject, "k");
    let mut given = inputs(json!({"path": "/out/a.txt"}));
    given.secrets = Value::from(json!({"content": "hush-hush"}));
    let state = files.driver.create(&context, &given, "/out/a.txt", None).await.expect("made");
    fs::write(files.at("a.txt"), "hush-hush, and more").expect("written");
    let seen = files
        .driver
        .read(
            &context,
            ReadRequest {
                id: Some(state.id.expose()),
                name: "/out/a.txt",
                inputs: &given,
                state: Some(&state),
                known: &[],
            },
        )
        .await;
    let seen = seen.expect("read").expect("there");
    assert_eq!(seen.values.expect("values").redact(), json!({"path": "/out/a.txt"}));
    assert_ne!(seen.state.outputs, state.outputs);
    // A value contains a secret of another resource: it comes back as a secret.
    let mut given = inputs(json!({"path": "/out/a.txt", "content": null}));
    if let Value::Map(values) = &mut given.values {
        values.insert("content".into(), Value::from("hush-hush").into_secret());
    }
    let seen = files
        .driver
        .read(
            &context,
            ReadRequest {
                id: Some(state.id.expose()),
                name: "/out/a.txt",
                inputs: &given,
                state: Some(&state),
                known: &[],
            },
        )
        .await;
    let values = seen.expect("read").expect("there").values.expect("values");
    assert_eq!(values.redact()["content"], "[secret]");
}

/// The host dies at the checkpoint: the id is stored, and the call has no result.
struct Death(CancelToken);

#[async_trait::async_trait]
impl CheckpointSink for Death {
    async fn checkpoint(&self, _: &Checkpoint) -> Result<(), String> {
        self.0.cut();
        std::future::pending().await
    }
}

#[tokio::test]
async fn killed_at_its_checkpoint_it_has_made_nothing() {
    let files = Files::new().await;
    let (driver, subject, given) = (&files.driver, subject(), file("mine"));
    let cancel = CancelToken::default();
    let dying = CallContext {
        checkpoint: Some(Arc::new(Death(cancel.clone()))),
        cancel,
        ..CallContext::new(&subject, "k")
    };
    assert_eq!(driver.create(&dying, &given, "/out/a.txt", None).await, Err(CallError::Cancelled));
    assert!(files.names().is_empty());
    let context = CallContext::new(&subject, "k");
    for id in [Some("/out/a.txt"), None] {
        assert_eq!(
            driver
                .read(
                    &context,
                    ReadRequest { id, name: "/out/a.txt", inputs: &given, state: None, known: &[] }
                )
                .await,
            Ok(None)
        );
    }
}

#[test]
fn killed_at_any_moment_it_leaves_all_or_nothing_and_can_be_repeated() {
    // One thread carries out all operations on files, in turn.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(1)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(kill_at_any_moment());
}

async fn kill_at_any_moment() {
    let files = Files::new().await;
    let (driver, subject) = (&files.driver, subject());
    let content = "0123456789abcdef".repeat(64 << 10);
    let (given, path) = (file(&content), files.at("a.txt"));
    let (mut nothing, mut all) = (0, 0);
    for step in 0..40u64 {
        let cancel = CancelToken::default();
        let context = CallContext { cancel: cancel.clone(), ..CallContext::new(&subject, "k") };
        let kill = async {
            // The first one is killed as it begins, however fast the machine is.
            if step > 0 {
                tokio::time::sleep(std::time::Duration::from_micros(step * 400)).await;
            }
            cancel.cut();
        };
        let (outcome, ()) = tokio::join!(driver.create(&context, &given, "/out/a.txt", None), kill);
        // An operation that has begun goes on when its call is killed, and ends before this one.
        tokio::task::spawn_blocking(|| {}).await.expect("it ran");
        match fs::read_to_string(&path) {
            Ok(there) => {
                assert!(there == content, "half a file after {step}: {} bytes", there.len());
                all += 1;
            }
            Err(_) => {
                assert!(outcome.is_err(), "an answer without a file");
                nothing += 1;
            }
        }
        let context = CallContext::new(&subject, "k");
        let state = driver.create(&context, &given, "/out/a.txt", None).await.expect("made again");
        assert!(text(&path) == content);
        let found = driver
            .read(
                &context,
                ReadRequest { id: None, name: "/out/a.txt", inputs: &given, state: None, known: &[] },
            )
            .await
            .expect("read");
        assert_eq!(found.expect("there").state, state);
        driver.delete(&context, (&state, false), &given).await.expect("deleted");
        assert!(files.names().is_empty(), "{:?}", files.names());
    }
    assert!(nothing > 0, "it was never killed: {nothing} and {all}");
}

#[tokio::test]
async fn a_foreign_file_is_not_an_earlier_attempt() {
    let files = Files::new().await;
    let (driver, subject, given) = (&files.driver, subject(), file("mine"));
    let context = CallContext::new(&subject, "k");
    fs::write(files.at("a.txt"), "a stranger's").expect("written");
    let refused = |outcome: CallError| match outcome {
        CallError::Failure(Failure::Conflict(why)) => {
            assert!(why.message.contains("with other content"), "{why}")
        }
        other => panic!("{other:?}"),
    };
    refused(driver.create(&context, &given, "/out/a.txt", None).await.expect_err("refused"));
    refused(
        driver
            .read(
                &context,
                ReadRequest { id: None, name: "/out/a.txt", inputs: &given, state: None, known: &[] },
            )
            .await
            .expect_err("refused"),
    );
    assert_eq!(text(&files.at("a.txt")), "a stranger's");
    // A person who names it means it.
    let import = driver
        .read(
            &context,
            ReadRequest {
                id: Some("/out/a.txt"),
                name: "/out/a.txt",
                inputs: &given,
                state: None,
                known: &[],
            },
        )
        .await;
    let import = import.expect("read").expect("there");
    assert_eq!(import.values.expect("values").redact()["content"], "a stranger's");
}

#[tokio::test]
async fn non_files_and_missing_grants_do_not_mean_gone() {
    let files = Files::new().await;
    let (driver, subject, given) = (&files.driver, subject(), file("mine"));
    let context = CallContext::new(&subject, "k");
    fs::create_dir(files.at("a.txt")).expect("made");
    let state = ResourceState { id: "/out/a.txt".into(), ..ResourceState::default() };
    let read = driver
        .read(
            &context,
            ReadRequest {
                id: Some("/out/a.txt"),
                name: "/out/a.txt",
                inputs: &given,
                state: Some(&state),
                known: &[],
            },
        )
        .await;
    assert!(matches!(read, Err(CallError::Failure(Failure::Conflict(_)))), "{read:?}");
    fs::remove_dir(files.at("a.txt")).expect("removed");
    for id in ["/elsewhere/a.txt", "/out/../a.txt"] {
        let read = driver
            .read(&context, ReadRequest { id: Some(id), name: id, inputs: &given, state: None, known: &[] })
            .await;
        assert!(matches!(read, Err(CallError::Failure(_))), "{id}: {read:?}");
    }

    let files = Files::within(false, Limits::default()).await;
    let made = files.driver.create(&context, &given, "/out/a.txt", None).await;
    assert!(matches!(made, Err(CallError::Failure(Failure::Denied { .. }))), "{made:?}");
    assert!(files.names().is_empty());
    fs::write(files.at("a.txt"), "mine").expect("written");
    let seen = files
        .driver
        .read(
            &context,
            ReadRequest {
                id: Some("/out/a.txt"),
                name: "/out/a.txt",
                inputs: &given,
                state: Some(&state),
                known: &[],
            },
        )
        .await;
    assert!(seen.expect("reading needs no more").is_some());
}

#[tokio::test]
async fn a_driver_without_read_takes_the_record_for_real_and_finds_nothing_else() {
    let source = Source::Bytes(component("echo").into());
    let setup = DriverSetup { name: "purlin/echo".into(), ..DriverSetup::default() };
    let driver = sandbox().load(source, &setup).await.expect("it is a driver");
    let subject = subject();
    let implements = driver.info().implements(subject.key.type_name());
    assert!(implements.repeat_create && !implements.read);
    let context = CallContext::new(&subject, "k");
    let given = inputs(json!({"a": 1}));
    let state = driver.create(&context, &given, "n", None).await.expect("made");
    let again = driver.create(&context, &given, "n", None).await.expect("made again");
    assert_eq!(state, again);
    let seen = driver
        .read(
            &context,
            ReadRequest {
                id: Some(state.id.expose()),
                name: "n",
                inputs: &given,
                state: Some(&state),
                known: &[],
            },
        )
        .await;
    let seen = seen.expect("read").expect("there");
    assert_eq!((seen.state, seen.values), (state.clone(), None));
    for id in [Some(state.id.expose()), None] {
        let found = driver
            .read(&context, ReadRequest { id, name: "n", inputs: &given, state: None, known: &[] })
            .await
            .expect_err("nothing found is not gone");
        assert_eq!(found.to_string(), "the driver `purlin/echo` cannot read existing objects");
    }
}
