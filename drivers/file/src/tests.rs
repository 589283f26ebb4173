use std::fs;

use purlin_sdk::testing::{self, Said, inputs};
use purlin_sdk::{Failure, Json};
use serde_json::json;

use crate::File;

fn given(path: &str, content: &str) -> testing::GivenInputs {
    inputs(&json!({"values": {"path": path, "content": content}}))
}

#[test]
fn a_file_is_made_read_changed_and_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = format!("{}/a/b/./c.txt", folder.path().display());
    let real = path.replace("/./", "/");
    let before = given(&path, "hello");
    let state = testing::create::<File>(before.clone()).expect("made");
    assert_eq!(state.id, real);
    assert!(testing::said().iter().any(|said| matches!(said, Said::Checkpoint(id) if *id == real)));
    assert_eq!(fs::read_to_string(&real).expect("there"), "hello");
    assert_eq!(state.outputs["sha256"], "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    assert_eq!(fs::read_dir(folder.path().join("a/b")).expect("a folder").count(), 1, "nothing else is left");

    let again = testing::create::<File>(before.clone()).expect("the same attempt once more");
    assert_eq!(again.outputs, state.outputs);
    assert!(matches!(testing::create::<File>(given(&path, "other")), Err(Failure::Conflict(_))));

    fs::write(&real, "drifted").expect("written");
    let seen = testing::read::<File>(before.clone(), &state).expect("read").expect("there");
    assert_eq!((seen.outputs["size"].as_u64(), seen.id == state.id), (Some(7), true));

    let after = inputs(&json!({"values": {"path": real, "mode": "0600"}, "secrets": {"content": "s"}}));
    let impact = testing::update_impact::<File>(before.clone(), after.clone(), &state).expect("asked");
    assert!(impact.replaces.is_empty());
    testing::update::<File>(before.clone(), after, &state).expect("updated");
    assert_eq!(fs::read_to_string(&real).expect("there"), "s");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&real).expect("there").permissions().mode() & 0o777, 0o600);
    }

    testing::delete::<File>(before.clone(), &state).expect("deleted");
    testing::delete::<File>(before.clone(), &state).expect("gone already");
    assert!(testing::read::<File>(before, &state).expect("read").is_none());
}

#[test]
fn another_path_is_another_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| format!("{}/{name}", folder.path().display());
    let before = given(&at("a"), "x");
    let state = testing::create::<File>(before.clone()).expect("made");
    let impact = testing::update_impact::<File>(before.clone(), given(&at("b"), "x"), &state).expect("asked");
    assert_eq!(impact.replaces, ["/values/path"]);
    assert!(testing::update::<File>(before.clone(), given(&at("b"), "x"), &state).is_err());
    let unknown = testing::unknown(inputs(&json!({"values": {"path": null}})), &["/values/path"]);
    let impact = testing::update_impact::<File>(before, unknown, &state).expect("asked");
    assert_eq!(impact.replaces, ["/values/path"]);
}

#[test]
fn inputs_that_lead_astray_are_refused() {
    let cases: [(Json, &str); 8] = [
        (json!({"path": "/data/../etc/passwd", "content": ""}), "/values/path: may not have `..`"),
        (json!({"path": "", "content": ""}), "/values/path: names no file"),
        (json!({"path": "/data/", "content": ""}), "/values/path: names a folder"),
        (json!({"path": "a\\b", "content": ""}), "/values/path: may not have a backslash"),
        (json!({"path": "a"}), "/values/content: is missing"),
        (json!({"path": "a", "content": "", "mode": "abc"}), "/values/mode: has to be octal"),
        (json!({"path": "a", "content": "", "mode": 640}), "/values/mode: invalid type"),
        (json!({"path": "a", "contents": ""}), "unknown field `contents`"),
    ];
    for (values, wanted) in cases {
        let given = inputs(&json!({"values": values}));
        let said = testing::check::<File>(given.clone(), None).map(drop).expect_err("refused").to_string();
        assert!(said.contains(wanted), "{values}: {said}");
        assert!(testing::create::<File>(given).is_err(), "{values}");
    }
    let unknown = inputs(&json!({"values": {"path": "../x", "content": null}}));
    let unknown = testing::unknown(unknown, &["/values/content"]);
    assert!(testing::check::<File>(unknown, None).is_err(), "the path is known");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = format!("{}/taken", folder.path().display());
    fs::create_dir(&path).expect("made");
    assert!(testing::create::<File>(given(&path, "x")).is_err());
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}
