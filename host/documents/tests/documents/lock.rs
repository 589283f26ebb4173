//! The lock beside a Workspace: it is found without being named, and is in force whatever is wrong
//! with it.

use std::path::Path;

use purlin_documents::{Input, LOCK_FILE, Loaded, load};
use purlin_model::Lock;

const WORKSPACE: &str = "apiVersion: purlin.dev/v1\nkind: Workspace\n";

fn pin(version: &str) -> String {
    format!(
        "      - version: {version}\n        digest: sha256:{}\n        grants: [\"dirs ./a as /a ro\"]\n",
        "0123456789abcdef".repeat(4)
    )
}

fn lock(pins: &str) -> String {
    format!("# who wrote it\napiVersion: purlin.dev/v1\nkind: Lock\nspec:\n  drivers:\n    acme/db:\n{pins}")
}

fn with(lock: Option<&str>) -> (Loaded, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("purlin.yaml"), WORKSPACE).expect("written");
    if let Some(text) = lock {
        std::fs::write(folder.path().join(LOCK_FILE), text).expect("written");
    }
    (load(&[Input::Path(folder.path().to_owned())]), folder)
}

#[track_caller]
fn read(loaded: &Loaded) -> Option<Lock> {
    loaded.workspace.as_ref().expect("a workspace").lock.clone()
}

/// The messages of a lock that is in force and approves nothing.
#[track_caller]
fn broken(text: &str) -> Vec<String> {
    let (loaded, folder) = with(Some(text));
    let lock = read(&loaded).expect("a lock");
    assert!(lock.faulty, "{text}");
    assert!(loaded.has_errors(), "{text}");
    for fault in &loaded.diagnostics {
        let place = fault.location.as_ref().expect("a place");
        assert_eq!(Path::new(&*place.file), folder.path().join(LOCK_FILE), "{text}");
    }
    loaded.diagnostics.into_iter().map(|fault| fault.message).collect()
}

#[test]
fn it_is_read_next_to_the_workspace() {
    assert_eq!(read(&with(None).0), None);
    let (loaded, folder) = with(Some(&lock(&pin("1.2.3"))));
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    let read_there = read(&loaded).expect("a lock");
    let pins = &read_there.drivers["acme/db"];
    assert_eq!((pins.len(), pins[0].version.to_string()), (1, "1.2.3".to_owned()));
    assert_eq!(pins[0].digest.hex(), "0123456789abcdef".repeat(4));
    assert!(pins[0].grants.contains("dirs ./a as /a ro") && pins[0].requested_capabilities.is_empty());
    assert_eq!((pins[0].location.line, read_there.faulty), (7, false));
    // It is the operator's current configuration, and not part of a deployment.
    assert!(loaded.sources().is_empty());

    // The file itself names the Workspace just as well; when the lock is named, it is read once.
    let alone = load(&[Input::Path(folder.path().join("purlin.yaml"))]);
    assert_eq!(read(&alone), Some(read_there));
    std::fs::write(folder.path().join(LOCK_FILE), "apiVersion: purlin.dev/v1\nkind: Lock\n")
        .expect("written");
    let both =
        load(&[Input::Path(folder.path().join("purlin.yaml")), Input::Path(folder.path().join(LOCK_FILE))]);
    assert_eq!(both.diagnostics.len(), 1, "{:?}", both.diagnostics);
}

#[test]
fn an_invalid_lock_approves_nothing() {
    assert_eq!(broken(""), ["the lock is empty"]);
    assert_eq!(broken("# removed\n"), ["the lock is empty"]);
    assert_eq!(broken(WORKSPACE), ["this file contains a `kind: Lock` and nothing else"]);
    assert_eq!(
        broken(&format!("{}---\n{}", lock(&pin("1.2.3")), lock(&pin("1.2.4")))),
        ["the lock contains 2 documents, but only one is allowed"]
    );
    assert_eq!(
        broken(&lock(&pin("1.2.3")).replace("dev/v1", "dev/v2")),
        ["the lock is of version `purlin.dev/v2`, and this version of Purlin reads `purlin.dev/v1`"]
    );
    assert_eq!(broken(&lock(&pin("1.2.3")).replace("grants", "grant")), ["a version has no field `grant`"]);
    let twice = broken(&lock(&format!("{}{}", pin("1.2.3"), pin("1.2.4"))));
    assert!(twice[0].ends_with(" twice"), "{twice:?}");
    // The remains of a merge.
    broken(&format!("<<<<<<< ours\n{}=======\n>>>>>>> theirs\n", lock(&pin("1.2.3"))));
    broken("[");
    broken("just text");
}

#[cfg(unix)]
#[test]
fn an_unreadable_lock_is_in_force() {
    let (_, folder) = with(None);
    let path = folder.path().join(LOCK_FILE);
    std::os::unix::fs::symlink("nowhere", &path).expect("a link");
    let loaded = load(&[Input::Path(folder.path().to_owned())]);
    assert!(read(&loaded).expect("a lock").faulty && loaded.has_errors());
    std::fs::remove_file(&path).expect("removed");
    std::fs::create_dir(&path).expect("a folder");
    let loaded = load(&[Input::Path(folder.path().to_owned())]);
    assert!(read(&loaded).expect("a lock").faulty && loaded.has_errors());
    std::fs::remove_dir(&path).expect("removed");
    std::fs::write(&path, b"\xff\xfe").expect("written");
    let loaded = load(&[Input::Path(folder.path().to_owned())]);
    assert!(read(&loaded).expect("a lock").faulty && loaded.has_errors());
}
