//! Tests of secrets that definitions refer to by name: every kind of store, all errors, and that no
//! secret appears anywhere.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use purlin_systems::project::{Project, Ran, ran};
use purlin_systems::tools::component;
use serde_json::{Value, json};

/// The value that the test driver stored under a name.
fn kept(name: &str, version: &str) -> String {
    format!("kept-shop-{name}-{version}")
}

/// A project with a store of each kind, and a resource with these `secret_refs`.
fn project(refs: &str) -> Project {
    let project = Project::empty();
    project.write(
        "purlin.yaml",
        format!(
            "apiVersion: purlin.dev/v1
kind: Workspace
spec:
  defaults: {{app: shop, env: dev}}
  secret_stores:
    folder: {{file: ./kept}}
    yaml: {{file: .kept.yml}}
    json: {{file: .kept.json}}
    lost: {{file: nowhere}}
    gone: {{file: nowhere.yml}}
    env: {{env: SHOP_}}
    print: {{command: [printf, '%s', 'printed-{{ref}}']}}
    versions: {{command: [printf, 'of %s in %s\\r\\n', '{{ref}}', 'v{{version}}']}}
    cat: {{command: [cat, '{{ref}}']}}
    script: {{command: [./script, 'x-{{ref}}']}}
    impatient: {{command: [./script, 'x-{{ref}}'], time: 300ms}}
    missing: {{command: [no-such-program-at-all, '{{ref}}']}}
    vault: {{driver: acme/guests@^1, values: {{realm: shop}}, secrets: {{token: open-sesame}}}}
    wrong: {{driver: acme/guests, secrets: {{token: close-sesame}}}}
    blind: {{driver: purlin/echo}}
    nobody: {{driver: acme/nobody}}
    secluded: {{env: ''}}
  drivers:
    acme/guests: {{source: {}, grants: {{secrets: [vault]}}}}
    purlin/echo:
      grants:
        secrets: [folder, yaml, json, lost, gone, env, print, versions, cat, script, impatient, missing, vault, wrong, blind, nobody]
",
            component("guests").display()
        ),
    );
    project.write("kept/db/password", "in-a-folder\n");
    project.write("kept/two-lines", "first-line\nsecond-line\r\n");
    project.write("kept/binary", b"\xff\xfe");
    project.write("kept/nul", b"a\0b");
    project.write("kept/empty", b"\n");
    project.write("kept/large", vec![b'x'; (1 << 20) + 1]);
    project.write("outside", "behind-the-wall");
    symlink("../outside", project.path().join("kept/out")).expect("a link");
    symlink("db", project.path().join("kept/inside")).expect("a link");
    project.write(
        ".kept.yml",
        "db: {password: in-a-yaml, port: 5432, gone: null}\nlist: [one-item, two-items]\n",
    );
    project.write(".kept.json", r#"{"db": {"password": "in-a-json"}}"#);
    project.write(
        "script",
        "#!/bin/sh\necho printed-before-it-failed\ncase $1 in\n\
         x-fail) echo first >&2; echo 'no entry, and printed-before-it-failed' >&2; exit 7;;\n\
         x-slow) sleep 600;;\nx-hold) sleep 600 & ;;\nx-env) env;;\nesac\n",
    );
    let script = project.path().join("script");
    std::fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("executable");
    project.write(
        "deploy.yaml",
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared: {one: {type: login}}\n",
    );
    define(&project, "purlin/echo", refs);
    project
}

fn define(project: &Project, driver: &str, refs: &str) {
    project.write(
        "login.yaml",
        format!(
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: login}}\nspec:\n  type: login\n  driver: {driver}\n  inputs:\n    values: {{user: ada}}\n    secret_refs: {refs}\n  criteria: [{{}}]\n"
        ),
    );
}

fn run(project: &Project, arguments: &[&str]) -> Ran {
    let mut command = project.command(arguments);
    command.env("SHOP_DB", "in-a-variable").env("PURLIN_LOG", "trace");
    ran(command)
}

/// Every kind of store, with the name of each output and its secret.
const REFS: &str = "{folder: {store: folder, ref: db/password}, link: {store: folder, ref: inside/password},
      lines: {store: folder, ref: two-lines}, yaml: {store: yaml, ref: db/password},
      item: {store: yaml, ref: list/1}, json: {store: json, ref: db/password}, env: {store: env, ref: DB},
      print: {store: print, ref: a b; $c}, versions: {store: versions, ref: x, version: 2},
      vault: {store: vault, ref: db, version: '7'}, open: {store: vault, ref: open},
      talk: {store: vault, ref: talk}, deep: {a: [{store: vault, ref: deep}, {value: written-here}]}}";

/// All secrets, and other text that must not appear.
fn needles() -> Vec<String> {
    let words = [
        "in-a-folder",
        "first-line",
        "in-a-yaml",
        "two-items",
        "one-item",
        "in-a-json",
        "in-a-variable",
        "printed-a b",
        "of x in v2",
        "written-here",
    ];
    let names = [("db", "7"), ("open", "latest"), ("talk", "latest"), ("deep", "latest")];
    let kept = names.iter().map(|(name, version)| kept(name, version));
    words.iter().map(|word| (*word).to_owned()).chain(kept).collect()
}

#[test]
fn every_kind_of_store_gives_its_secrets() {
    let project = project(REFS);
    run(&project, &["validate"]).status(0);
    run(&project, &["up", "--yes"]).status(0);
    let shown = run(&project, &["outputs", "--format", "json", "--show-secrets"]).status(0).json();
    let outputs = &shown["resources"]["login.default#shared.one"];
    let expected = json!({
        "user": "ada", "folder": "in-a-folder", "link": "in-a-folder", "lines": "first-line\nsecond-line",
        "yaml": "in-a-yaml", "item": "two-items", "json": "in-a-json", "env": "in-a-variable",
        "print": "printed-a b; $c", "versions": "of x in v2", "vault": kept("db", "7"),
        "open": kept("open", "latest"), "talk": kept("talk", "latest"),
        "deep": {"a": [kept("deep", "latest"), "written-here"]},
    });
    assert_eq!(outputs, &expected);
    // First nothing changes, and then one of the secrets does.
    run(&project, &["plan", "--detailed-exitcode"]).status(0);
    project.write("kept/db/password", "another-word\n");
    let plan = run(&project, &["plan", "--detailed-exitcode"]).status(3);
    assert!(
        plan.out.contains("secrets.folder: [secret]") && !plan.out.contains("another-word"),
        "{}",
        plan.out
    );
}

/// The contents of all files in a folder, except those that tests wrote there.
fn written(folder: &Path, into: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if ["kept", ".kept.yml", ".kept.json", "outside", "login.yaml"].contains(&name.as_str()) {
            continue;
        }
        match path.is_dir() {
            true => written(&path, into),
            false => into.push((path.display().to_string(), std::fs::read(&path).expect("read"))),
        }
    }
}

#[test]
fn no_secret_comes_out_anywhere() {
    let project = project(REFS);
    let all: &[(&[&str], i32)] = &[
        (&["-vv", "plan"], 0),
        (&["-vv", "plan", "--offline", "--format", "json"], 0),
        (&["plan", "--out", "kept.plan", "--verbose"], 0),
        (&["-vv", "apply", "--yes", "kept.plan", "--format", "json"], 0),
        (&["plan", "--format", "json"], 0),
        (&["-vv", "up", "--full", "--yes", "--format", "json"], 0),
        (&["up", "--yes", "--full", "--verbose"], 0),
        (&["outputs"], 0),
        (&["outputs", "--format", "json"], 0),
        (&["export", "exported"], 0),
        (&["state", "list", "--format", "json"], 0),
        (&["state", "show", "login#shared.one"], 0),
        (&["history"], 0),
        (&["history", "1", "--format", "json"], 0),
        (&["diff", "1", "2"], 0),
        (&["validate", "--format", "json"], 0),
        (&["graph", "--all", "--format", "json"], 0),
        (&["explain", "login#shared.one"], 0),
        (&["refresh", "-vv"], 0),
        (&["doctor"], 0),
        (&["driver", "list"], 0),
    ];
    let mut captured = Vec::new();
    for (arguments, status) in all {
        let ran = run(&project, arguments).status(*status);
        captured.push((arguments.join(" "), format!("{}\n{}", ran.out, ran.err).into_bytes()));
    }
    // One driver logs its secret, and another one includes it in an error.
    define(&project, "acme/guests", "{password: {store: vault, ref: db, version: '7'}}");
    for (word, status, masked) in [("say", 0, "log [secret]"), ("panic", 1, "I give up on [secret]")] {
        project.edit(
            "login.yaml",
            if word == "say" { "user: ada" } else { "do: say" },
            &format!("do: {word}"),
        );
        let ran = run(&project, &["-vv", "up", "--yes"]).status(status);
        assert!(ran.err.contains(masked), "{}", ran.err);
        captured.push((format!("up that does {word}"), format!("{}\n{}", ran.out, ran.err).into_bytes()));
    }
    written(project.path(), &mut captured);
    assert!(captured.iter().any(|(what, _)| what.contains("/.purlin/")) && captured.len() > all.len() + 5);
    for (what, bytes) in &captured {
        for needle in needles() {
            let found = bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
            assert!(!found, "`{needle}` in {what}: {}", String::from_utf8_lossy(bytes));
        }
    }
}

/// The message and the help of a plan that fails because of one reference.
#[track_caller]
fn refused(project: &Project, refs: &str) -> (String, Option<String>) {
    define(project, "purlin/echo", &format!("{{p: {refs}}}"));
    let ran = run(project, &["plan", "--format", "json"]).status(2);
    let report = ran.json();
    let faults = report["error"]["diagnostics"].as_array().expect("faults").clone();
    assert_eq!(faults.len(), 1, "{report:#}");
    // The place of the reference.
    let place = (&faults[0]["file"], &faults[0]["line"], &faults[0]["column"]);
    assert_eq!(place, (&json!("login.yaml"), &json!(9), &json!(19)), "{report:#}");
    assert!(!project.has_state(), "no state is written");
    assert!(!ran.err.contains("printed-before") && !ran.err.contains("behind-the-wall"), "{}", ran.err);
    let message = faults[0]["message"].as_str().expect("a message");
    let message = message.strip_prefix("`secret_refs.p` reads ").unwrap_or(message);
    let help = faults[0]["help"].as_str().map(str::to_owned);
    (message.replace(&project.path().display().to_string(), "PROJECT"), help)
}

#[test]
fn unreadable_secrets_are_reported_with_store_reason_and_correction() {
    let project = project("{}");
    let messages: Vec<String> = [
        "{store: fodler, ref: x}",
        "{store: secluded, ref: PATH}",
        "{store: folder, ref: db/pasword}",
        "{store: folder, ref: two-lines.txt}",
        "{store: folder, ref: kept/db/password}",
        "{store: folder, ref: kept/new}",
        "{store: folder, ref: db}",
        "{store: folder, ref: ../outside}",
        "{store: folder, ref: /etc/passwd}",
        "{store: folder, ref: db/../../outside}",
        "{store: folder, ref: out}",
        "{store: folder, ref: binary}",
        "{store: folder, ref: nul}",
        "{store: folder, ref: empty}",
        "{store: folder, ref: large}",
        "{store: folder, ref: db/password, version: '1'}",
        "{store: lost, ref: x}",
        "{store: lost, ref: nowhere/x}",
        "{store: gone, ref: x}",
        "{store: yaml, ref: db/pasword}",
        "{store: yaml, ref: db/port}",
        "{store: yaml, ref: db/gone}",
        "{store: yaml, ref: db}",
        "{store: yaml, ref: list/2}",
        "{store: yaml, ref: db/password/x}",
        "{store: env, ref: DC}",
        "{store: env, ref: SHOP_DB}",
        "{store: env, ref: ELSEWHERE}",
        "{store: env, ref: DB, version: '1'}",
        "{store: print, ref: x, version: '1'}",
        "{store: versions, ref: x}",
        "{store: cat, ref: --version}",
        "{store: cat, ref: nowhere}",
        "{store: script, ref: fail}",
        "{store: impatient, ref: slow}",
        "{store: impatient, ref: hold}",
        "{store: missing, ref: x}",
        "{store: vault, ref: absent}",
        "{store: vault, ref: sealed}",
        "{store: vault, ref: crash}",
        "{store: vault, ref: bare}",
        "{store: vault, ref: number}",
        "{store: wrong, ref: x}",
        "{store: blind, ref: x}",
        "{store: nobody, ref: x}",
    ]
    .iter()
    .map(|refs| {
        let (message, help) = refused(&project, refs);
        format!("{message}\n  {}", help.as_deref().unwrap_or("-"))
    })
    .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn each_missing_secret_is_reported_once_at_its_reference() {
    let project = project("{}");
    project.write(
        "deploy.yaml",
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared: {one: {type: login}, \
         two: {type: login}}\n",
    );
    let refs = "{p: {store: folder, ref: a}, q: {deep: {store: folder, ref: b}}}\n    \
                connection: {password: {store: folder, ref: c}}";
    define(&project, "purlin/echo", refs);
    let report = run(&project, &["plan", "--format", "json"]).status(2).json();
    let faults = report["error"]["diagnostics"].as_array().expect("faults");
    let told: Vec<Value> =
        faults.iter().map(|one| json!([one["line"], one["column"], one["help"]])).collect();
    let expected = [
        json!([9, 19, "write the secret into `kept/a`"]),
        json!([9, 51, "write the secret into `kept/b`"]),
        json!([10, 18, "write the secret into `kept/c`"]),
    ];
    assert_eq!(told, expected, "{report:#}");
}

#[test]
fn a_file_that_does_not_read_is_not_quoted() {
    let project = project("{}");
    for text in ["db: {password: [behind-the-wall\n", "a: 'behind-the-wall\n", "&a [*a, behind-the-wall"] {
        project.write(".kept.yml", text);
        let (message, _) = refused(&project, "{store: yaml, ref: db}");
        assert!(message.contains(".kept.yml` does not read as YAML or JSON, at "), "{message}");
    }
    project.write(".kept.json", "{\"db\": [behind-the-wall}");
    let (message, _) = refused(&project, "{store: json, ref: db}");
    assert!(message.contains(".kept.json` does not read as YAML or JSON, at "), "{message}");
    project.write(".kept.json", "{\"db\": \"a\", \"db\": \"behind-the-wall\"}");
    let (message, _) = refused(&project, "{store: json, ref: db}");
    assert!(message.contains("does not read as"), "{message}");
}

#[test]
fn a_slow_command_is_ended() {
    let project = project("{p: {store: impatient, ref: slow}}");
    let begun = Instant::now();
    let ran = run(&project, &["plan"]).status(2);
    assert!(begun.elapsed() < Duration::from_secs(300), "{:?}", begun.elapsed());
    assert!(ran.err.contains("took longer than 300ms"), "{}", ran.err);
}

#[test]
fn a_command_gets_the_environment_and_nothing_else() {
    let project = project("{p: {store: script, ref: env}}");
    run(&project, &["up", "--yes"]).status(0);
    let shown = run(&project, &["outputs", "--format", "json", "--show-secrets"]).status(0).json();
    let printed = shown["resources"]["login.default#shared.one"]["p"].as_str().expect("text").to_owned();
    assert!(printed.contains("SHOP_DB=in-a-variable") && printed.contains("USER=ada"), "{printed}");
}

#[test]
fn missing_grants_of_secrets_are_reported_without_reading_any() {
    let project = project("{p: {store: folder, ref: no-such-secret}}");
    // `validate` does not report a missing secret, since it does not read it.
    run(&project, &["validate"]).status(0);
    define(&project, "acme/guests", "{p: {store: folder, ref: no-such-secret}}");
    for command in [&["validate"][..], &["plan"], &["up", "--yes"]] {
        let ran = run(&project, command).status(2);
        for part in [
            "`secret_refs.p` reads `no-such-secret` from the secret store `folder`",
            "the driver `acme/guests` is not granted its secrets",
            "`drivers: {acme/guests: {grants: {secrets: [folder]}}}`",
        ] {
            assert!(ran.err.contains(part), "{part}: {}", ran.err);
        }
    }
    // Grants also apply to the driver's other names.
    define(&project, "humanitec/echo", "{p: {store: env, ref: DB}}");
    run(&project, &["plan"]).status(0);
    // Without calling drivers, no store is necessary.
    define(&project, "purlin/echo", "{p: {store: anywhere, ref: x}}");
    run(&project, &["graph"]).status(0);
    let plan: Value = run(&project, &["plan", "--offline", "--format", "json"]).status(0).json();
    let steps = plan["steps"].as_array().expect("steps");
    let changes = steps.iter().flat_map(|step| step["changes"].as_array().expect("changes"));
    let change = changes.into_iter().find(|change| change["path"] == "/secrets/p").expect("a change");
    assert_eq!((&change["secret"], &change["unknown"]), (&json!(true), &json!(true)), "{change:#}");
}

#[test]
fn an_unknown_driver_is_the_only_error() {
    let project = project("{}");
    define(&project, "echo", "{p: {store: folder, ref: no-such-secret}}");
    for command in [&["validate"][..], &["plan"], &["up", "--yes"], &["driver", "inspect", "echo"]] {
        let ran = run(&project, command).status(2);
        assert!(ran.err.contains("error[driver]: there is no driver `echo`"), "{}", ran.err);
        assert!(ran.err.contains("help: did you mean `purlin/echo`?\n"), "{}", ran.err);
        assert!(ran.err.contains("error: 1 error") && !ran.err.contains("secret-store"), "{}", ran.err);
    }
    for (name, help) in [
        ("ecko", "help: did you mean `purlin/echo`? Otherwise add it to purlin.yaml: `drivers: {ecko: {"),
        ("guests", "help: did you mean `acme/guests`?\n"),
        ("purlin/ecko", "help: did you mean `purlin/echo`?\n"),
        ("purlin/nothing-like-it", "help: `purlin driver list` lists the drivers\n"),
        ("acme/nobody", "help: add it to purlin.yaml: `drivers: {acme/nobody: {source: ./driver.wasm}}`\n"),
    ] {
        define(&project, name, "{}");
        let ran = run(&project, &["plan"]).status(2);
        assert!(ran.err.contains(help), "{name}: {}", ran.err);
    }
}

#[test]
fn a_kept_plan_reads_again_and_notices_a_change() {
    let project = project("{p: {store: folder, ref: db/password}}");
    run(&project, &["up", "--yes"]).status(0);
    project.write("kept/db/password", "second-word");
    run(&project, &["plan", "--out", "kept.plan"]).status(0);
    project.write("kept/db/password", "third-word");
    let ran = run(&project, &["apply", "--yes", "kept.plan"]).status(2);
    assert!(ran.err.contains("the plan changes `login.default#shared.one` in another way"), "{}", ran.err);
    assert!(!ran.err.contains("-word"), "{}", ran.err);
    project.write("kept/db/password", "second-word");
    run(&project, &["apply", "--yes", "kept.plan"]).status(0);
    let shown = run(&project, &["outputs", "--format", "json", "--show-secrets"]).status(0).json();
    assert_eq!(shown["resources"]["login.default#shared.one"]["p"], "second-word");
}

#[test]
fn secrets_with_unknown_names_are_read_after_provisioning() {
    let project = project("{p: {store: folder, ref: 'db/${resources.place.outputs.value}'}}");
    project.write(
        "place.yaml",
        "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: place}\nspec:\n  type: place\n  driver: purlin/random\n  inputs: {values: {kind: pet}}\n  criteria: [{}]\n",
    );
    let plan = run(&project, &["plan"]).status(0);
    assert!(
        plan.out.contains("secrets.p:   [secret] (known after apply)")
            || plan.out.contains("secrets.p: [secret] (known after apply)"),
        "{}",
        plan.out
    );
    let ran = run(&project, &["up", "--yes"]).status(1);
    assert!(ran.err.contains("from the secret store `folder`: there is no `"), "{}", ran.err);
    let shown = run(&project, &["outputs", "--format", "json"]).status(0).json();
    let pet = shown["resources"]["place.default#shared.one"]["value"].as_str().expect("a pet").to_owned();
    project.write(&format!("kept/db/{pet}"), "after-all");
    run(&project, &["up", "--yes"]).status(0);
    let shown = run(&project, &["outputs", "--format", "json", "--show-secrets"]).status(0).json();
    assert_eq!(shown["resources"]["login.default#shared.one"]["p"], "after-all");
}

/// Only what reads or writes something sealed asks for the key, so that a stranger's change can be
/// looked at.
#[test]
fn commands_that_read_nothing_sealed_do_not_ask_for_the_key() {
    let project = Project::with(&[
        (
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {app: shop, env: dev}\n  key: {command: [sh, key.sh]}\n",
        ),
        (
            "all.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: db}\nspec:\n  type: db\n  driver: purlin/echo\n  inputs: {values: {host: h}, secrets: {password: p4ssw0rd}}\n  criteria: [{}]\n---\napiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared: {db: {type: db}}\n",
        ),
    ]);
    project.run(&["state", "key", "new", "key.txt"]).status(0);
    project.write("key.sh", "touch ran; cat key.txt");
    let has_run = || std::fs::remove_file(project.path().join("ran")).is_ok();
    project.run(&["up", "--yes"]).status(0);
    assert!(has_run());
    let looks: [&[&str]; 8] = [
        &["validate"],
        &["graph"],
        &["explain", "db"],
        &["driver", "list"],
        &["driver", "inspect", "purlin/echo"],
        &["schema", "definition"],
        &["completions", "bash"],
        &["explain-error", "no-match"],
    ];
    for broken in [false, true] {
        if broken {
            project.write("key.sh", "touch ran; echo it is locked >&2; exit 1");
        }
        for look in looks {
            project.run(look).status(0);
            assert!(!has_run(), "{look:?}");
        }
    }
    // What needs the key says why it cannot have it, before anything is done.
    for command in [&["outputs"][..], &["up", "--yes"], &["destroy", "--yes"]] {
        let refused = project.run(command).status(2);
        assert!(has_run(), "{command:?}");
        let why = "`sh`, which prints the key of recorded secrets, failed (exit status: 1)";
        assert!(refused.err.contains(why), "{}", refused.err);
    }
    project.write("key.sh", "touch ran; cat key.txt");
    let outputs = project.run(&["outputs", "--show-secrets"]).status(0);
    assert!(outputs.out.contains("p4ssw0rd"), "{}", outputs.out);
}
