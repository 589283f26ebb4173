//! A driver reaches what it was granted, and nothing else; and tests of its log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use purlin_model::{DirGrant, Grants, Limits};
use purlin_sandbox::{CallContext, DriverSetup, Progress, Source};
use serde_json::json;

use crate::common::{
    DriverLog, PASSWORD, component, create, deed, guest, load, sandbox, setup, subject, with_password,
};

#[tokio::test]
async fn nothing_is_granted_by_default() {
    let driver = guest(Limits::default()).await;
    let state = deed(&driver, json!({"do": "look-around"})).await.expect("it looks");
    assert_eq!(
        state.outputs.redact(),
        json!({"stdin": "", "env": {}, "args": [], "tcp": "permission denied", "udp": "permission denied",
            "name": true, "root": true, "etc": true, "clock": true})
    );
}

#[tokio::test]
async fn grants_allow_their_targets() {
    let folder = tempfile::tempdir().expect("folder");
    std::fs::create_dir(folder.path().join("ro")).expect("made");
    let dir = |host: &str, writable| DirGrant {
        host: host.into(),
        guest: format!("/{host}"),
        writable,
        ..DirGrant::default()
    };
    let setup = DriverSetup {
        grants: Grants {
            dirs: vec![dir("rw", true), dir("ro", false)],
            env: vec!["A".into(), "C".into()],
            ..Grants::default()
        },
        folder: folder.path().to_owned(),
        env: BTreeMap::from([("A".into(), "1".into()), ("B".into(), "2".into())]),
        ..setup(Limits::default())
    };
    let driver = load(&sandbox(), &setup).await;
    let around = deed(&driver, json!({"do": "look-around"})).await.expect("it looks").outputs;
    assert_eq!(around.reveal().expect("known")["env"], json!({"A": "1"}));
    assert_eq!(around.redact()["env"], json!({"A": "[secret]"}));

    let write = |path: &str| json!({"do": "write", "path": path, "text": "hello"});
    deed(&driver, write("/rw/file")).await.expect("written");
    assert_eq!(std::fs::read_to_string(folder.path().join("rw/file")).expect("there"), "hello");
    std::os::unix::fs::symlink("/etc", folder.path().join("rw/link")).expect("made");
    for outside in ["/ro/file", "/rw/../out", "/rw/link/x", "/tmp/x", "file"] {
        assert!(deed(&driver, write(outside)).await.is_err(), "{outside}");
    }
    assert!(!folder.path().join("out").exists());
}

/// A driver that may write above a granted folder can move it, and put a link in its place.
#[tokio::test]
async fn a_granted_folder_stays_where_it_was() {
    let folder = tempfile::tempdir().expect("folder");
    for made in ["held", "elsewhere"] {
        std::fs::create_dir(folder.path().join(made)).expect("made");
    }
    let dir = |host: &str| DirGrant {
        host: host.into(),
        guest: format!("/{host}"),
        writable: true,
        ..DirGrant::default()
    };
    let write = |path: &str| json!({"do": "write", "path": path, "text": "hello"});
    // An existing folder, and one that a call would create.
    for (granted, made) in [("held", "elsewhere/file"), ("held/later", "elsewhere/later")] {
        let setup = DriverSetup {
            grants: Grants { dirs: vec![dir(granted)], ..Grants::default() },
            folder: folder.path().to_owned(),
            ..setup(Limits::default())
        };
        let driver = load(&sandbox(), &setup).await;
        std::fs::rename(folder.path().join("held"), folder.path().join("moved")).expect("moved");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), folder.path().join("held"))
            .expect("made");
        let error = deed(&driver, write(&format!("/{granted}/file"))).await.expect_err("it leads elsewhere");
        assert!(
            error.to_string().contains("it leads somewhere else than when the driver was loaded"),
            "{error}"
        );
        assert!(!folder.path().join(made).exists(), "{made}");

        std::fs::remove_file(folder.path().join("held")).expect("removed");
        std::fs::rename(folder.path().join("moved"), folder.path().join("held")).expect("moved back");
        deed(&driver, write(&format!("/{granted}/file"))).await.expect("it is where it was");
    }
}

#[tokio::test]
async fn lines_are_heard_without_secrets() {
    let log = DriverLog::default();
    let _guard = log.listen();
    let sandbox = sandbox();
    let driver = sandbox
        .load(Source::Bytes(component("guests").into()), &setup(Limits::default()))
        .await
        .expect("loaded");
    let subject = subject();
    let progress = Arc::new(Mutex::new(Vec::new()));
    let reports = Arc::clone(&progress);
    let context = CallContext {
        progress: Some(Arc::new(move |progress| reports.lock().expect("ours").push(progress))),
        ..CallContext::new(&subject, "k")
    };
    driver.create(&context, &with_password(json!({"do": "say"})), "n", None).await.expect("it talks");
    let mut lines = log.0.lock().expect("ours").clone();
    lines.sort();
    let tail = r#" driver="acme/bad" resource="postgres.default#modules.web.externals.db""#;
    assert_eq!(
        lines,
        [
            format!("DEBUG message=+2{tail} metric=\"things_made\""),
            format!("INFO message=log [secret]{tail}"),
            format!("INFO message=second line{tail}"),
            format!("INFO message=standard output [secret]{tail}"),
            format!("WARN message=standard error \\u{{1b}}[31m[secret]{tail}"),
        ]
    );
    let expected = Progress { message: "half way with [secret]".into(), percent: Some(100) };
    assert_eq!(*progress.lock().expect("ours"), [expected]);

    log.0.lock().expect("ours").clear();
    let error = create(&driver, &with_password(json!({"do": "panic"}))).await.expect_err("it panics");
    assert!(error.to_string().contains("I give up on [secret]"), "{error}");
    assert!(!log.0.lock().expect("ours").concat().contains(PASSWORD));
}

#[tokio::test]
async fn a_flood_of_lines_is_cut() {
    let log = DriverLog::default();
    let _guard = log.listen();
    let driver = guest(Limits { log: Some(10_000), ..Limits::default() }).await;
    deed(&driver, json!({"do": "flood", "lines": 1000})).await.expect("it floods");
    let lines = log.0.lock().expect("ours");
    assert_eq!(lines.len(), 10, "nine lines, and a word about the rest");
    assert!(lines[9].contains("`drivers.acme/bad.limits.log` in purlin.yaml raises it"), "{}", lines[9]);
}

#[tokio::test]
async fn a_secret_in_an_id_is_never_shown() {
    let log = DriverLog::default();
    let _guard = log.listen();
    let driver = guest(Limits::default()).await;
    let state = create(&driver, &with_password(json!({"do": "leak-id"}))).await.expect("it is made");
    assert!(state.id.expose().contains(PASSWORD), "what was made can be found again");
    assert_eq!(format!("{} {:?}", state.id, state.id), "[secret] \"[secret]\"");
    let lines = log.lines().concat();
    assert!(!lines.contains(PASSWORD), "{lines}");
}
