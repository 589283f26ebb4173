//! Tests of secrets of many shapes in drivers, templates, manifests, workloads and exports. Purlin
//! never writes or stores a secret in plain text or in a usual encoding, unless the user asks for
//! it.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use purlin_systems::secrets::{base64, every_file, holds_none, needles, shapes};
use purlin_systems::{Project, Ran};
use serde_json::{Value, json};

fn definition(name: &str, driver: &str, inputs: &Value) -> String {
    let document = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": name},
        "spec": {"type": name, "driver": driver, "inputs": inputs, "criteria": [{}]},
    });
    document.to_string()
}

/// A project in which the vault provides the secrets and other resources read them.
fn project() -> Project {
    let project = Project::empty();
    project.write(
        "purlin.yaml",
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {app: shop, env: dev}\n",
    );
    let vault: serde_json::Map<String, Value> =
        shapes().into_iter().map(|(name, secret)| (name.to_owned(), secret)).collect();
    project.write(
        "vault.yaml",
        definition("vault", "purlin/echo", &json!({"values": {"open": "open"}, "secrets": vault})),
    );
    let read = |name: &str| format!("${{resources['vault.default#shared.one'].outputs.{name}}}");
    let names: Vec<&str> = shapes().into_iter().map(|(name, _)| name).collect();
    // Echo: in values, in texts, nested in lists and maps, and as secrets.
    let mut values = serde_json::Map::new();
    for name in &names {
        values.insert(format!("v_{name}"), json!(read(name)));
        values.insert(format!("t_{name}"), json!(format!("before {} after", read(name))));
        values.insert(format!("n_{name}"), json!({"list": [read(name), "clear"], "clear": "clear"}));
    }
    values.insert("clear".into(), json!("clear"));
    let secrets: serde_json::Map<String, Value> =
        names.iter().map(|name| (format!("s_{name}"), json!(read(name)))).collect();
    project.write(
        "mirror.yaml",
        definition("mirror", "purlin/echo", &json!({"values": values, "secrets": secrets})),
    );
    // Templates: each shape through functions, in outputs and manifests.
    let calls = [
        "toString",
        "toJson",
        "toString | upper",
        "toString | b64enc",
        "toString | sha256sum | trunc 40",
        "toString | quote",
        "printf \"%v\"",
        "list | join \",\"",
        "toString | splitList \"\" | join \"\"",
        "toString | replace \"z\" \"y\"",
        "toJson | fromJson | toJson",
        "toString | urlquery",
        "toString | repeat 2",
        "dict \"k\" | toJson",
        "toString | trunc 12",
        "toString | regexFind \".*\"",
    ];
    let mut outputs = "clear: {{ .driver.values.clear }}\n".to_owned();
    let mut manifest = "kind: Secret\nclear: clear\ndata:\n".to_owned();
    for name in names.iter().filter(|name| **name != "long") {
        for (index, call) in calls.iter().enumerate() {
            let _ = writeln!(outputs, "{name}_{index}: {{{{ .driver.secrets.{name} | {call} | toJson }}}}");
        }
        let _ = writeln!(
            outputs,
            "{name}_in:\n  clear: clear\n  secret: {{{{ .driver.secrets.{name} | toJson }}}}"
        );
        let _ = writeln!(manifest, "  {name}: {{{{ .driver.secrets.{name} | toJson | b64enc }}}}");
        let _ =
            writeln!(manifest, "  {name}_twice: {{{{ .driver.secrets.{name} | toJson | b64enc | b64enc }}}}");
    }
    let secrets: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!(read(name)))).collect();
    let templates = json!({"outputs": outputs, "cookie": "{{ toJson .driver.secrets.nested }}", "manifests": {
        "secret.yaml": {"location": "namespace", "data": manifest},
        "clear.yaml": {"location": "namespace", "data": "kind: Clear\n"},
    }});
    project.write(
        "rendered.yaml",
        definition(
            "rendered",
            "purlin/template",
            &json!({"values": {"clear": "clear", "templates": templates}, "secrets": secrets}),
        ),
    );
    project.write(
        "drawn.yaml",
        definition("drawn", "purlin/random", &json!({"values": {"kind": "password", "length": 24}})),
    );
    project.write(
        "named.yaml",
        definition("named", "purlin/dns-wildcard", &json!({"values": {"domain": "x.example"}})),
    );
    // A workload whose patch adds secrets, copies them and reads them.
    let update = json!([
        {"op": "add", "path": "/spec/added", "value": {"pw": read("text"), "clear": "clear"}},
        {"op": "test", "path": "/spec/added/clear", "value": "clear"},
        {"op": "copy", "from": "/spec/containers/main/variables/PW", "path": "/spec/copied"},
    ]);
    project.write(
        "workload.yaml",
        definition("workload", "purlin/echo", &json!({"values": {"update": update}})),
    );
    project.write(
        "web.score.yaml",
        "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers:\n  main:\n    image: i\n    variables: {PW: 'x-${resources.vv.text}', CLEAR: clear}\nresources:\n  vv: {type: vault, id: one}\n",
    );
    project.write(
        "deployment.yaml",
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n  shared:\n    one: {type: vault}\n    two: {type: mirror}\n    three: {type: rendered}\n    four: {type: drawn}\n    five: {type: named}\n",
    );
    project
}

#[test]
fn no_output_or_file_contains_a_secret() {
    let (project, needles) = (project(), needles());
    // Error messages do not contain the secret either.
    let clean = |what: &str, ran: Ran| {
        holds_none(what, ran.out.as_bytes(), &needles);
        holds_none(what, ran.err.as_bytes(), &needles);
        ran
    };
    // The vault's definition contains the secrets; no other file of the project may contain one.
    let commands: &[&[&str]] = &[
        &["plan", "--verbose"],
        &["plan", "--format", "json"],
        &["plan", "--out", "kept.plan"],
        &["up", "--yes", "-vv"],
        &["up", "--yes", "--full", "--format", "json"],
        &["plan"],
        &["outputs"],
        &["outputs", "--format", "json"],
        &["graph", "--format", "tree"],
        &["graph", "--format", "json"],
        &["graph", "--format", "dot"],
        &["graph", "--format", "mermaid"],
        &["graph", "--format", "svg"],
        &["history"],
        &["history", "latest", "--format", "json"],
        &["diff"],
        &["diff", "--format", "json"],
        &["explain", "rendered.default#shared.three"],
        &["state", "list", "--format", "json"],
        &["state", "show", "rendered.default#shared.three"],
        &["state", "show", "mirror.default#shared.two", "--format", "json"],
        &["refresh"],
        &["export", ".export"],
        &["validate"],
    ];
    for command in commands {
        clean(&command.join(" "), project.run(command)).status(0);
    }
    for folder in [".purlin", ".export"] {
        every_file(&project.path().join(folder), &mut |path, bytes| {
            holds_none(&path.display().to_string(), bytes, &needles);
        });
    }
    holds_none("kept.plan", &std::fs::read(project.path().join("kept.plan")).expect("a plan"), &needles);

    // Values that do not depend on a secret are shown.
    let shown = project.run(&["outputs", "--format", "json"]).status(0).json();
    let rendered = &shown["resources"]["rendered.default#shared.three"];
    assert_eq!(rendered["clear"], "clear", "{rendered:#}");
    let mirror = &shown["resources"]["mirror.default#shared.two"];
    assert_eq!(mirror["clear"], "clear", "{mirror:#}");
    assert_eq!(mirror["n_text"], json!({"list": ["[secret]", "clear"], "clear": "clear"}));
    for (name, secret) in shapes() {
        if name != "empty" {
            assert_eq!(mirror[format!("v_{name}")], "[secret]", "{name}");
        }
        assert_eq!(mirror[format!("t_{name}")], "[secret]", "{name}");
        assert_eq!(mirror[format!("s_{name}")], "[secret]", "{name}");
        if name == "long" {
            continue;
        }
        for index in 0..16 {
            assert_eq!(rendered[format!("{name}_{index}")], "[secret]", "{name} {index}: {secret}");
        }
        assert_eq!(rendered[format!("{name}_in")], json!({"clear": "clear", "secret": "[secret]"}), "{name}");
    }
    assert_eq!(shown["resources"]["drawn.default#shared.four"]["value"], "[secret]");
    let web = &shown["workloads"]["web"]["spec"];
    assert_eq!(web["added"], json!({"pw": "[secret]", "clear": "clear"}), "{web:#}");
    assert_eq!((&web["copied"], &web["containers"]["main"]["image"]), (&json!("[secret]"), &json!("i")));

    // An export reports which files are incomplete. Files with requested secrets are readable only
    // by the user.
    let export = project.run(&["export", ".export", "--format", "json"]).status(0);
    assert!(export.err.contains("`--show-secrets` writes secrets in plain text"), "{}", export.err);
    let report = export.json();
    let incomplete: Vec<&str> =
        report["incomplete"].as_array().expect("files").iter().filter_map(Value::as_str).collect();
    assert_eq!(incomplete, [".export/workloads/web.yaml", ".export/manifests/namespace/secret.yaml"]);
    let manifest = project.read(".export/manifests/namespace/secret.yaml");
    assert!(manifest.contains("clear: clear") && manifest.contains("kind: Secret"), "{manifest}");
    project.run(&["export", ".shown", "--show-secrets"]).status(0);
    let secret = project.path().join(".shown/manifests/namespace/secret.yaml");
    let manifest = std::fs::read_to_string(&secret).expect("it");
    assert!(manifest.contains(&base64(br#""alpha-correct-horse""#)), "{manifest}");
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&secret), 0o600);
    assert_eq!(mode(&project.path().join(".shown/manifests/namespace/clear.yaml")), 0o644);
    let clear = project.run(&["outputs", "--format", "json", "--show-secrets"]).status(0).json();
    assert_eq!(clear["resources"]["rendered.default#shared.three"]["text_2"], "ALPHA-CORRECT-HORSE");
    for (name, secret) in shapes() {
        assert_eq!(clear["resources"]["vault.default#shared.one"][name], secret, "{name}");
    }
}

#[test]
fn failures_reveal_no_secret() {
    let needles = needles();
    let shape = "alpha-correct-horse";
    for (driver, inputs) in [
        (
            "purlin/template",
            json!({"values": {"templates": {"outputs": "a: {{ fail .driver.secrets.pw }}"}}, "secrets": {"pw": shape}}),
        ),
        (
            "purlin/template",
            json!({"values": {"templates": {"outputs": "a: {{ b64dec .driver.secrets.pw }}"}}, "secrets": {"pw": shape}}),
        ),
        (
            "purlin/template",
            json!({"values": {"templates": {"outputs": "{{ .driver.secrets.pw | upper }}"}}, "secrets": {"pw": shape}}),
        ),
        (
            "purlin/template",
            json!({"values": {"templates": {"outputs": "a: '{{ .driver.secrets.pw }}"}}, "secrets": {"pw": shape}}),
        ),
        (
            "purlin/template",
            json!({"secrets": {"templates": {"outputs": "a: {{ alpha-correct-horse }}"}, "pw": shape}}),
        ),
        ("purlin/random", json!({"values": {"kind": shape}, "secrets": {"pw": shape}})),
    ] {
        let project = Project::empty();
        project.write(
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {app: shop, env: dev}\n",
        );
        project.write("one.yaml", definition("one", driver, &inputs));
        project.write(
            "deployment.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n  shared: {one: {type: one}}\n",
        );
        let ran = project.run(&["up", "--yes", "-vv"]);
        assert_ne!(ran.status, 0, "{inputs}: {}", ran.out);
        if !ran.err.contains("one.yaml:1:") {
            holds_none(&inputs.to_string(), ran.err.as_bytes(), &needles);
        }
        holds_none(&inputs.to_string(), ran.out.as_bytes(), &needles);
    }
}

/// A file whose path is its id, its name and its checkpoint, and a resource with a secret in the
/// names of its manifest and its output.
fn named_by_a_secret() -> Project {
    let project = Project::empty();
    let drivers = std::path::PathBuf::from(std::env::var_os("PURLIN_DRIVERS_DIR").unwrap_or_default());
    project.write(
        "purlin.yaml",
        format!(
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{app: shop, env: dev}}\n  drivers:\n    purlin/file: {{grants: {{dirs: [{{host: ./out, guest: /out, mode: rw}}]}}}}\n    acme/hostile: {{source: {}}}\n",
            drivers.join("hostile.wasm").display()
        ),
    );
    std::fs::create_dir(project.path().join("out")).expect("a folder");
    project.write(
        "vault.yaml",
        definition("vault", "purlin/echo", &json!({"secrets": {"text": "alpha-correct-horse"}})),
    );
    let secret = "${resources['vault.default#shared.one'].outputs.text}";
    let values = json!({"path": format!("/out/{secret}.txt"), "content": "clear"});
    project.write("file.yaml", definition("file", "purlin/file", &json!({"values": values})));
    let answer = json!({
        "attack": "answer",
        "outputs": r#"{"at-{secret}": 1, "clear": "clear"}"#,
        "manifests": [
            {"name": "{secret}.yaml", "location": "at-{secret}", "data": "{}"},
            {"name": "clear.yaml", "location": "namespace", "data": "{}"},
        ],
    });
    let inputs = json!({"values": answer, "secrets": {"password": secret}});
    project.write("named.yaml", definition("named", "acme/hostile", &inputs));
    project.write(
        "deployment.yaml",
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n  shared:\n    one: {type: vault}\n    two: {type: file}\n    three: {type: named}\n",
    );
    project
}

#[test]
fn names_from_drivers_reveal_no_secret() {
    const FILE: &str = "file.default#shared.two";
    const NAMED: &str = "named.default#shared.three";
    let (project, needles) = (named_by_a_secret(), needles());
    let clean = |command: &[&str]| {
        let ran = project.run(command).status(0);
        holds_none(&command.join(" "), ran.out.as_bytes(), &needles);
        holds_none(&command.join(" "), ran.err.as_bytes(), &needles);
        ran
    };
    let nothing_is_stored = |folder: &str| {
        every_file(&project.path().join(folder), &mut |path, bytes| {
            holds_none(&path.display().to_string(), path.as_os_str().as_encoded_bytes(), &needles);
            holds_none(&path.display().to_string(), bytes, &needles);
        });
    };
    let made = project.path().join("out/alpha-correct-horse.txt");
    clean(&["plan", "--out", "kept.plan"]);
    let up = clean(&["up", "--yes", "-vv"]);
    assert!(!up.err.contains("shown and kept in plain text"), "{}", up.err);
    assert!(made.exists(), "the driver has the true path");
    nothing_is_stored(".purlin");

    // Drift is found by the true id, and repaired.
    std::fs::write(&made, "theirs").expect("written");
    let plan = clean(&["plan", "--format", "json"]).json();
    assert_eq!(plan["summary"]["update"], 0, "a plan looks at the record: {plan:#}");
    clean(&["refresh"]);
    clean(&["up", "--yes", "--format", "json"]);
    assert_eq!(std::fs::read_to_string(&made).expect("there"), "clear");
    for command in [
        &["plan"][..],
        &["up", "--yes", "--full"],
        &["outputs"],
        &["history"],
        &["history", "latest", "--format", "json"],
        &["diff"],
        &["graph", "--format", "json"],
        &["state", "list"],
        &["state", "show", NAMED],
        &["explain", FILE],
        &["export", ".export"],
    ] {
        clean(command);
    }
    let listed = clean(&["state", "list", "--format", "json"]).json();
    let file = listed["resources"].as_array().expect("resources").iter().find(|one| one["key"] == FILE);
    assert_eq!(file.expect("listed")["provider_id"], "[secret]");
    let shown = clean(&["state", "show", FILE, "--format", "json"]).json();
    assert_eq!(
        (&shown["resource"]["provider_id"], &shown["resource"]["name"]),
        (&json!("[secret]"), &json!("[secret]"))
    );
    let shown = clean(&["state", "show", NAMED, "--format", "json"]).json();
    assert_eq!(
        shown["resource"]["manifests"],
        json!([{"location": "[secret]", "name": "[secret]"}, {"location": "namespace", "name": "clear.yaml"}])
    );
    let outputs = clean(&["outputs", "--format", "json"]).json();
    assert_eq!(outputs["resources"][NAMED], "[secret]", "a name among them holds a secret");
    nothing_is_stored(".export");

    // Secrets are shown if the user asks for them.
    let shown = project.run(&["state", "show", FILE, "--show-secrets", "--format", "json"]).status(0).json();
    let path = json!("/out/alpha-correct-horse.txt");
    assert_eq!((&shown["resource"]["provider_id"], &shown["resource"]["name"]), (&path, &path));

    // Commands without a deployment also use the true id.
    let forgot = clean(&["state", "forget", NAMED, "--yes"]);
    assert!(forgot.err.contains("was not deleted, and is no longer managed"), "{}", forgot.err);
    clean(&["destroy", "--yes", "--format", "json"]);
    assert!(!made.exists(), "it was deleted by its true id");
    nothing_is_stored(".purlin");
    holds_none("kept.plan", &std::fs::read(project.path().join("kept.plan")).expect("a plan"), &needles);
}
