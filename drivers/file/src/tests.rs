use std::fs;

use purlin_sdk::testing::{self, HostMessage, inputs};
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
    assert!(
        testing::messages()
            .iter()
            .any(|message| matches!(message, HostMessage::Checkpoint(id, None) if *id == real))
    );
    assert_eq!(fs::read_to_string(&real).expect("there"), "hello");
    assert_eq!(state.outputs["sha256"], "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    assert_eq!(fs::read_dir(folder.path().join("a/b")).expect("a folder").count(), 1, "nothing else is left");

    assert!(testing::find::<File>(before.clone(), None).expect("looked").is_some(), "its name is its path");
    let again = testing::create::<File>(before.clone()).expect("the same attempt once more");
    assert_eq!(again.outputs, state.outputs);
    assert!(matches!(testing::create::<File>(given(&path, "other")), Err(Failure::Conflict(_))));

    fs::write(&real, "drifted").expect("written");
    let seen = testing::read::<File>(before.clone(), &state).expect("read").expect("there");
    assert_eq!((seen.state.outputs["size"].as_u64(), seen.state.id == state.id), (Some(7), true));
    assert_eq!(seen.values.map(Json::Object), Some(json!({"path": real, "content": "drifted"})));

    let after = inputs(&json!({"values": {"path": real, "mode": "0600"}, "secrets": {"content": "s"}}));
    let impact = testing::update_impact::<File>(before.clone(), after.clone(), &state).expect("an impact");
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
    let schema = &testing::describe::<File>().types[0].inputs;
    let schema: Json = serde_json::from_str(schema).expect("a schema");
    assert_eq!(schema.pointer("/properties/values/properties/path/x-purlin-replaces"), Some(&true.into()));
    let impact =
        testing::update_impact::<File>(before.clone(), given(&at("b"), "x"), &state).expect("an impact");
    assert!(impact.stable_outputs.is_empty(), "the host replaces it");
    assert!(testing::update::<File>(before.clone(), given(&at("b"), "x"), &state).is_err());
    let unknown = testing::unknown(inputs(&json!({"values": {"path": null}})), &["/values/path"]);
    let impact = testing::update_impact::<File>(before, unknown, &state).expect("an impact");
    assert!(impact.stable_outputs.is_empty());
}

#[test]
fn an_unchanged_file_reads_as_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = format!("{}/.//a", folder.path().display());
    let given = inputs(&json!({"values": {"path": path, "content": "x", "mode": null}}));
    let checked = testing::check::<File>(given, None).expect("valid");
    assert_eq!(checked.values["mode"], Json::Null, "there is none");
    let checked = inputs(&json!({"values": checked.values}));
    let again = testing::check::<File>(checked.clone(), None).expect("valid");
    let state = testing::create::<File>(checked.clone()).expect("made");
    let seen = testing::read::<File>(checked, &state).expect("read").expect("there");
    assert_eq!(seen.values.map(Json::Object), Some(again.values));
    assert_eq!(seen.state.outputs, state.outputs);
}

#[test]
fn a_secret_content_is_not_shown_but_its_change_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = format!("{}/a", folder.path().display());
    let given = inputs(&json!({"values": {"path": path}, "secrets": {"content": "hush"}}));
    let state = testing::create::<File>(given.clone()).expect("made");
    fs::write(&path, "hush, changed").expect("written");
    let older = json!({"values": {"path": path, "was": 1}, "secrets": {"content": "hush"}});
    let seen = testing::find::<File>(inputs(&older), Some(&path)).expect("read").expect("there");
    assert_eq!(seen.values.map(Json::Object), Some(json!({"path": path})), "inputs of another version");
    let seen = testing::read::<File>(given, &state).expect("read").expect("there");
    assert_eq!(seen.values.map(Json::Object), Some(json!({"path": path})));
    assert_ne!(seen.state.outputs["sha256"], state.outputs["sha256"]);
}

#[test]
fn the_outcome_of_a_call_can_be_determined() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = format!("{}/a", folder.path().display());
    let given = given(&path, "mine");
    let state = testing::create::<File>(given.clone()).expect("made");
    let read = || testing::read::<File>(given.clone(), &state);
    fs::write(&path, [0xff, b'x']).expect("written");
    let values = read().expect("read").expect("there").values.expect("values");
    assert_eq!(values["content"], "\u{fffd}x", "not text, and yet not the same");
    fs::write(&path, vec![b'x'; 3 << 20]).expect("written");
    let seen = read().expect("read").expect("there");
    assert_eq!(
        (seen.values.expect("values").get("content"), &seen.state.outputs["size"]),
        (None, &json!(3 << 20))
    );
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("made");
    assert!(matches!(read(), Err(Failure::Conflict(_))), "gone would mean that it can be made");
    fs::remove_dir(&path).expect("removed");
    assert!(read().expect("read").is_none());
}

#[test]
fn an_interrupted_attempt_is_found_again_and_a_stranger_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = format!("{}/a", folder.path().display());
    let given = given(&path, "mine");
    assert!(testing::find::<File>(given.clone(), None).expect("looked").is_none());
    // Killed between the temporary file and its move, and once more.
    fs::write(folder.path().join(".a.purlin-new"), "mi").expect("written");
    assert!(testing::find::<File>(given.clone(), Some(&path)).expect("looked").is_none());
    let state = testing::create::<File>(given.clone()).expect("made");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left");
    let found = testing::find::<File>(given.clone(), None).expect("looked").expect("there");
    assert_eq!(found.state.outputs, state.outputs);
    // Killed in an update: the remains go with the file.
    fs::write(folder.path().join(".a.purlin-new"), "new").expect("written");
    testing::delete::<File>(given.clone(), &state).expect("deleted");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);

    fs::write(&path, "a stranger's").expect("written");
    assert!(matches!(testing::find::<File>(given.clone(), None), Err(Failure::Conflict(_))));
    assert!(matches!(testing::create::<File>(given.clone()), Err(Failure::Conflict(_))));
    let import = testing::find::<File>(given.clone(), Some(&path)).expect("looked").expect("there");
    assert_eq!(import.values.expect("values")["content"], "a stranger's", "a person asked for this one");
    assert!(testing::find::<File>(given, Some("../a")).is_err());
}

#[cfg(unix)]
#[test]
fn links_lead_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("treasure"), "gold").expect("written");
    std::os::unix::fs::symlink(at("treasure"), at(".a.purlin-new")).expect("linked");
    testing::create::<File>(given(&at("a").display().to_string(), "x")).expect("made");
    assert_eq!(fs::read_to_string(at("treasure")).expect("there"), "gold");
}

#[test]
fn unsafe_paths_are_rejected() {
    let cases: [(Json, &str); 7] = [
        (json!({"path": "/data/../etc/passwd", "content": ""}), "/values/path: must not contain `..`"),
        (json!({"path": "", "content": ""}), "/values/path: names no file"),
        (json!({"path": "/data/", "content": ""}), "/values/path: names a folder"),
        (json!({"path": "a\\b", "content": ""}), "/values/path: must not contain a backslash"),
        (json!({"path": "a"}), "/values/content: is missing"),
        (json!({"path": "a", "content": "", "mode": 640}), "/values/mode: invalid type"),
        (json!({"path": "a", "contents": ""}), "unknown field `contents`"),
    ];
    for (values, wanted) in cases {
        let given = inputs(&json!({"values": values}));
        let message = testing::check::<File>(given.clone(), None).map(drop).expect_err("refused").to_string();
        assert!(message.contains(wanted), "{values}: {message}");
        assert!(testing::create::<File>(given).is_err(), "{values}");
    }
    let unknown = inputs(&json!({"values": {"path": "../x", "content": null}}));
    let unknown = testing::unknown(unknown, &["/values/content"]);
    assert!(testing::check::<File>(unknown, None).is_err(), "the path is known");
}

#[cfg(unix)]
#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = format!("{}/taken", folder.path().display());
    fs::create_dir(&path).expect("made");
    assert!(testing::create::<File>(given(&path, "x")).is_err());
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn the_readme_has_the_tables_of_the_schema() {
    testing::check_readme::<File>(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
        .expect("the README agrees");
}
