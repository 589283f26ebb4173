//! Tests of third-party drivers: inspected, approved, and rejected if they differ from what was
//! approved.

use purlin_systems::tools::component;
use purlin_systems::{Project, Ran};

const NAME: &str = "acme/guests";

fn workspace(grants: &str) -> String {
    format!(
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{app: shop, env: dev}}\n  drivers:\n    acme/guests:\n      source: ./drivers/guests.wasm\n      grants: {grants}\n"
    )
}

const FOLDER: &str = "{dirs: [{host: ./data, guest: /data, mode: rw}]}";

/// A project with the test driver in a separate folder.
fn project() -> Project {
    let project = Project::with(&[
        ("purlin.yaml", &workspace(FOLDER)),
        (
            "thing.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: thing}\nspec:\n  type: thing\n  driver: acme/guests\n  inputs: {values: {size: 3}}\n  criteria: [{}]\n---\napiVersion: purlin.dev/v1\nkind: Deployment\nspec: {shared: {one: {type: thing}}}\n",
        ),
    ]);
    project.write("drivers/guests.wasm", guests());
    std::fs::create_dir(project.path().join("data")).expect("made");
    project
}

fn guests() -> Vec<u8> {
    std::fs::read(component("guests")).expect("the adversary")
}

/// The same driver with an additional custom section, as after another build.
fn rebuilt() -> Vec<u8> {
    let mut bytes = guests();
    bytes.extend_from_slice(b"\0\x06\x05again");
    bytes
}

/// A component with another text of the same length.
#[track_caller]
pub(crate) fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let mut found = false;
    for at in 0..=bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
            found = true;
        }
    }
    assert!(found, "it is in there");
    bytes
}

/// Asserts that every command that would use a driver fails with this message.
#[track_caller]
fn refused(project: &Project, words: &[&str]) {
    for command in
        [&["plan"][..], &["up", "--yes"], &["up", "--yes", "--full"], &["refresh"], &["destroy", "--yes"]]
    {
        // Without records, there is nothing to read or delete.
        if matches!(command[0], "refresh" | "destroy") && !project.has_state() {
            continue;
        }
        let ran = project.run(command).status(2);
        for word in words {
            assert!(ran.err.contains(word), "{command:?} says `{word}`:\n{}", ran.err);
        }
    }
}

fn approve(project: &Project) -> Ran {
    project.run(&["driver", "approve"]).status(0)
}

#[test]
fn a_driver_is_inspected_before_it_is_used() {
    let project = project();
    let text = project.run(&["driver", "inspect", NAME]).status(0).out;
    for words in [
        "contract  purlin:driver@0.3.0",
        "digest    sha256:",
        "purlin:driver/types@0.3.0",
        "reads and writes files, in the folders that `dirs` grants",
        "Description, as the driver reports it",
        "purlin-test/guests 1.2.3: Does whatever its inputs ask for.",
        "implements check, name, read, update-impact, update, repeat-create",
        "any type",
        "dirs /data  granted",
        "to write where it is told to",
    ] {
        assert!(text.contains(words), "`{words}` in\n{text}");
    }
    assert!(!text.contains("Grants for it"), "{text}");
    // A file needs no workspace, and has no grants.
    let elsewhere = Project::empty();
    elsewhere.write("guests.wasm", guests());
    let text = elsewhere.run(&["driver", "inspect", "guests.wasm"]).status(0).out;
    assert!(text.contains("dirs /data  not granted"), "{text}");
    // The suggested lines can be copied into the workspace.
    let block = &text[text.find("drivers:\n").expect("lines to copy")..];
    elsewhere.write("purlin.yaml", format!("apiVersion: purlin.dev/v1\nkind: Workspace\n{block}"));
    elsewhere.run(&["validate"]).status(0);
    let text = elsewhere.run(&["driver", "inspect", "purlin-test/guests"]).status(0).out;
    assert!(text.contains("dirs /data  granted"), "{text}");
    // With `--static`, the driver's own statements are not shown.
    let text = elsewhere.run(&["driver", "inspect", "--static", "./guests.wasm"]).status(0).out;
    assert!(!text.contains("Does whatever") && text.contains("wasi:filesystem/types@"), "{text}");
    // Built-in drivers can be inspected, too.
    let text = elsewhere.run(&["driver", "inspect", "humanitec/echo"]).status(0).out;
    assert!(text.contains("came with purlin") && text.contains("It requests no capabilities."), "{text}");
    assert!(!elsewhere.has_state() && !project.has_state());

    let json = project.run(&["driver", "inspect", NAME, "--format", "json"]).status(0).json();
    let component = &json["components"][0];
    assert_eq!((&json["format"], &component["contract"]), (&1.into(), &"0.3.0".into()));
    assert_eq!(component["size"], guests().len());
    let files = component["imports"]
        .as_array()
        .expect("imports")
        .iter()
        .find(|import| import["capability"] == "dirs");
    assert_eq!(files.expect("files")["offered"], true);
    assert_eq!(component["info"]["requested_capabilities"][0]["granted"], "yes");
    assert_eq!(component["info"]["types"][0]["type"], "*");
}

#[test]
fn files_that_are_no_drivers_are_recognised() {
    let project = Project::empty();
    project.write("script.wasm", b"#!/bin/sh\n");
    project.write("core.wasm", b"\0asm\x01\0\0\0");
    project.write("torn.wasm", &guests()[..1000]);
    project.write(
        "other.wasm",
        replaced(&guests(), b"purlin:driver/lifecycle@0.3.0", b"purlin:driver/lifecycle@0.7.0"),
    );
    project.write("keyval.wasm", replaced(&guests(), b"wasi:clocks/", b"wasi:keyval/"));
    for (file, words, shown) in [
        ("script.wasm", "`script.wasm` is not a WebAssembly file", ""),
        ("core.wasm", "`core.wasm` is a core WebAssembly module, not a component", ""),
        ("torn.wasm", "`torn.wasm` is not a valid component", ""),
        ("gone.wasm", "`gone.wasm` cannot be read: no such file", ""),
        (
            "other.wasm",
            "`other.wasm` is made for contract `purlin:driver@0.7.0`",
            "contract  purlin:driver@0.7.0",
        ),
        ("keyval.wasm", "`keyval.wasm` imports `wasi:keyval/", "unknown: not available to drivers"),
        ("acme/none", "no driver `acme/none`", ""),
        ("postgres", "did you mean `purlin/postgres`?", ""),
    ] {
        let ran = project.run(&["driver", "inspect", file]).status(2);
        assert!(ran.err.contains(words), "{file}: {}", ran.err);
        assert!(ran.out.contains(shown) && (ran.out.is_empty() == shown.is_empty()), "{file}: {}", ran.out);
        let json = project.run(&["driver", "inspect", file, "--format", "json"]).status(2).json();
        assert!(json["error"]["message"].is_string() || json["components"][0]["unfit"].is_string(), "{json}");
    }
}

#[test]
fn a_driver_cannot_write_to_the_terminal() {
    let project = Project::empty();
    let words = b"Does whatever its inputs ask for.";
    let mut escape = *b"\x1b[2J\x1b[31m\xe2\x80\xae\x9b reads well, no fear";
    // Text must be UTF-8, in which C1 control characters take two bytes.
    escape[12] = b'\x07';
    let mut dangerous = escape.to_vec();
    dangerous.resize(words.len(), b'!');
    project.write("guests.wasm", replaced(&guests(), words, &dangerous));
    let text = project.run(&["driver", "inspect", "guests.wasm"]).status(0).out;
    assert!(text.contains("\\u{1b}[2J\\u{1b}[31m\\u{202e}\\u{7}"), "{text}");
    assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
    let json = project.run(&["driver", "inspect", "guests.wasm", "--format", "json"]).status(0);
    assert!(!json.out.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{}", json.out);
}

#[test]
fn an_approved_component_runs() {
    let project = project();
    let list = || project.run(&["driver", "list", "--format", "json"]).status(0).json();
    let pinned = |list: &serde_json::Value, name: &str| {
        list["drivers"].as_array().expect("drivers").iter().find(|one| one["name"] == name).expect("it")["pinned"].clone()
    };
    // Without a lock file, drivers run unapproved.
    assert_eq!(pinned(&list(), NAME), false);
    assert!(pinned(&list(), "purlin/echo").is_null());
    let check = project.run(&["driver", "approve", "--check"]).status(1);
    assert!(check.err.contains("not everything is approved"), "{}", check.err);
    assert!(!project.path().join("purlin.lock").exists());

    let output = approve(&project);
    for line in [
        "acme/guests 1.2.3\n",
        "  + version 1.2.3\n",
        "  + import dirs\n",
        "  + request dirs /data\n",
        "  + grant dirs ./data as /data rw\n",
    ] {
        assert!(output.out.contains(line), "{line} in\n{}", output.out);
    }
    let lock = project.read("purlin.lock");
    assert!(lock.starts_with("# Written by `purlin driver approve`"), "{lock}");
    project.run(&["validate", "purlin.lock"]).status(0);
    project.run(&["driver", "approve", "--check"]).status(0);
    let again = approve(&project);
    assert_eq!(again.out, "");
    assert_eq!(project.read("purlin.lock"), lock);
    assert_eq!(pinned(&list(), NAME), true);
    let text = project.run(&["driver", "list"]).status(0).out;
    assert!(text.contains("pinned"), "{text}");

    project.run(&["up", "--yes"]).status(0);
    project.run(&["plan", "--refresh"]).status(0);
    project.run(&["destroy", "--yes"]).status(0);
}

#[test]
fn another_build_is_rejected_before_any_call() {
    let project = project();
    approve(&project);
    project.run(&["up", "--yes"]).status(0);
    let before = project.recorded();
    // An unapproved file is not even parsed.
    for bytes in [rebuilt(), b"anything".to_vec()] {
        project.write("drivers/guests.wasm", bytes);
        refused(
            &project,
            &[
                "the driver `acme/guests` is not used: it is not the approved component",
                "purlin.yaml:6:5",
                "has a different digest: sha256:",
                "purlin.lock:8:",
                "approved here",
                "`purlin driver approve acme/guests`",
            ],
        );
    }
    assert_eq!(project.recorded(), before);
    let list = project.run(&["driver", "list"]).status(1).out;
    assert!(list.contains("not pinned"), "{list}");
    // Commands that need no driver still work.
    project.run(&["graph"]).status(0);
    project.run(&["plan", "--offline"]).status(0);

    project.write("drivers/guests.wasm", rebuilt());
    let check = project.run(&["driver", "approve", "--check", "--format", "json"]).status(1).json();
    assert_eq!((&check["approved"], &check["written"]), (&false.into(), &false.into()));
    let change = &check["changes"][0];
    assert_eq!((&change["driver"], &change["version"]), (&NAME.into(), &"1.2.3".into()));
    for side in ["removed", "added"] {
        assert_eq!(change[side].as_array().expect(side).len(), 1, "{check}");
        assert!(change[side][0].as_str().expect("a line").starts_with("digest sha256:"), "{check}");
    }
    let output = approve(&project);
    assert!(
        output.out.contains("  - digest sha256:") && output.out.contains("  + digest sha256:"),
        "{}",
        output.out
    );
    project.run(&["up", "--yes", "--full"]).status(0);
}

#[test]
fn more_than_approved_is_rejected_and_less_is_not() {
    let project = project();
    approve(&project);
    project.run(&["up", "--yes"]).status(0);
    project.write("purlin.yaml", workspace("{dirs: [{host: ./data, guest: /data, mode: rw}], env: [HOME]}"));
    refused(&project, &["it is not the approved component", "it is granted more: `env HOME`"]);
    project.write("purlin.yaml", workspace("{dirs: [{host: ./more, guest: /data, mode: rw}]}"));
    refused(&project, &["it is granted more: `dirs ./more as /data rw`"]);
    for less in ["{dirs: [{host: ./data, guest: /data, mode: ro}]}", "{}"] {
        project.write("purlin.yaml", workspace(less));
        project.run(&["up", "--yes", "--full"]).status(0);
        project.run(&["driver", "approve", "--check"]).status(if less == "{}" { 0 } else { 1 });
    }
    project.write("purlin.yaml", workspace(FOLDER));
    project.run(&["up", "--yes", "--full"]).status(0);

    // The lock approves less than the driver requests or could use.
    project.edit("purlin.lock", "          - \"dirs /data\"\n", "          - \"dirs /else\"\n");
    refused(&project, &["it requests more: `dirs /data`"]);
    let output = approve(&project);
    assert!(
        output.out.contains("- request dirs /else") && output.out.contains("+ request dirs /data"),
        "{}",
        output.out
    );
    project.edit("purlin.lock", "          - \"dirs\"\n", "");
    refused(&project, &["its imports can use more capabilities: `dirs`"]);
    approve(&project);
    project.edit("purlin.lock", "version: 1.2.3", "version: 1.2.2");
    refused(&project, &["it is version 1.2.3, but 1.2.2 is approved"]);
    approve(&project);
    project.edit("purlin.lock", "acme/guests:", "acme/others:");
    refused(&project, &["purlin.lock does not approve it", "without an entry for it"]);
    // Approving one driver leaves the other entries unchanged. Approving all removes unused
    // entries.
    project.run(&["driver", "approve", NAME]).status(0);
    let lock = || project.read("purlin.lock");
    assert!(lock().contains("acme/others:") && lock().contains("acme/guests:"), "{}", lock());
    project.run(&["driver", "approve", "--check"]).status(0);
    approve(&project);
    assert!(!lock().contains("acme/others:"), "{}", lock());
    project.run(&["up", "--yes", "--full"]).status(0);
}

#[test]
fn a_lock_with_a_fault_approves_nothing() {
    let project = project();
    approve(&project);
    project.run(&["up", "--yes"]).status(0);
    let whole = project.read("purlin.lock");
    for (text, words) in [
        (String::new(), "the lock is empty"),
        (whole.replace("requests", "request"), "a version has no field `request`"),
        (
            whole.replace("dev/v1", "dev/v9"),
            "the lock is of version `purlin.dev/v9`, and this version of Purlin reads `purlin.dev/v1`",
        ),
        (whole.replace("digest: sha256:", "digest: md5:"), "is not a digest"),
        (format!("<<<<<<< ours\n{whole}=======\n{whole}>>>>>>> theirs\n"), "purlin.lock"),
    ] {
        project.write("purlin.lock", text);
        let before = project.recorded();
        for command in [
            &["plan"][..],
            &["up", "--yes"],
            &["validate"],
            &["driver", "approve"],
            &["driver", "inspect", NAME],
        ] {
            let ran = project.run(command).status(2);
            assert!(ran.err.contains(words) && ran.err.contains("purlin.lock"), "{command:?}: {}", ran.err);
        }
        // These commands work without documents, but not without approval.
        for command in [&["destroy", "--yes"][..], &["refresh"]] {
            let ran = project.run(command).status(2);
            assert!(ran.err.contains("purlin.lock"), "{command:?}: {}", ran.err);
        }
        assert_eq!(project.recorded(), before);
        let list = project.run(&["driver", "list"]).status(1);
        assert!(list.out.contains("purlin.lock has a fault, so nothing is approved"), "{}", list.out);
    }
    std::fs::remove_file(project.path().join("purlin.lock")).expect("removed");
    project.run(&["up", "--yes", "--full"]).status(0);
}

#[test]
fn a_new_version_in_a_folder_waits_for_approval() {
    let project = project();
    project.edit("purlin.yaml", "./drivers/guests.wasm", "./drivers");
    approve(&project);
    project.run(&["up", "--yes"]).status(0);
    project.write("drivers/newer.wasm", rebuilt());
    project.run(&["up", "--yes", "--full"]).status(0);
    let list = project.run(&["driver", "list", "--format", "json"]).status(0).json();
    let driver = list["drivers"]
        .as_array()
        .expect("drivers")
        .iter()
        .find(|one| one["name"] == NAME)
        .expect("it")
        .clone();
    assert_eq!(
        (&driver["pinned"], driver["versions"].as_array().expect("versions").len()),
        (&true.into(), 1)
    );
    assert!(driver["skipped"][0].as_str().expect("a file").ends_with("newer.wasm"), "{driver}");
    project.run(&["driver", "approve", "--check"]).status(1);
    // The approved component no longer exists.
    std::fs::remove_file(project.path().join("drivers/guests.wasm")).expect("removed");
    refused(&project, &["has a different digest"]);
    let output = approve(&project);
    assert!(output.out.contains("- digest") && output.out.contains("+ digest"), "{}", output.out);
    project.run(&["up", "--yes", "--full"]).status(0);
}

#[test]
fn approving_a_missing_driver_is_an_error() {
    let nowhere = Project::empty();
    let ran = nowhere.run(&["driver", "approve"]).status(2);
    assert!(ran.err.contains("there is no purlin.yaml"), "{}", ran.err);
    let project = project();
    for (name, words) in [
        ("acme/guest", "did you mean `acme/guests`?"),
        ("purlin/echo", "came with Purlin and needs no approval"),
    ] {
        let ran = project.run(&["driver", "approve", name]).status(2);
        assert!(ran.err.contains(words), "{}", ran.err);
    }
    project.write("drivers/guests.wasm", b"\0asm\x01\0\0\0");
    let ran = project.run(&["driver", "approve"]).status(2);
    assert!(ran.err.contains("core WebAssembly module"), "{}", ran.err);
    assert!(!project.path().join("purlin.lock").exists());
    // Without third-party drivers, there is nothing to approve.
    let plain = Project::new();
    let ran = plain.run(&["driver", "approve"]).status(0);
    assert!(
        ran.err.contains("Nothing to approve") && !plain.path().join("purlin.lock").exists(),
        "{}",
        ran.err
    );
}

#[test]
fn a_driver_whose_file_is_gone_is_reported() {
    let project = project();
    std::fs::remove_file(project.path().join("drivers/guests.wasm")).expect("removed");
    let ran = project.run(&["plan"]).status(2);
    insta::assert_snapshot!(ran.err);
}
