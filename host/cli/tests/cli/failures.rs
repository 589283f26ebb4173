//! Tests of failures while applying, with real sockets and folders: the messages contain the place,
//! the cause, the number of attempts, and what to do. A failure is never reported as success.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use purlin_systems::{Project, Ran};
use serde_json::Value;

/// A server that answers every connection in the same way until the test ends.
fn server(answer: impl Fn(&mut std::net::TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.set_read_timeout(Some(Duration::from_secs(600)));
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            answer(&mut stream);
        }
    });
    address
}

/// An address on which nothing listens while this test runs.
fn reserved() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], purlin_systems::free_port()))
}

fn replying(reply: &'static str) -> SocketAddr {
    server(move |stream| {
        let _ = stream.write_all(reply.as_bytes());
    })
}

fn status(line: &str) -> String {
    format!("HTTP/1.1 {line}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}")
}

/// A bucket created by `purlin/http`, and a copy that depends on it.
fn bucket(base_url: &str, grants: &str) -> Project {
    Project::with(&[
        (
            "purlin.yaml",
            &format!(
                "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{app: shop, env: dev}}\n  drivers:\n    purlin/http:\n      grants: {grants}\n"
            ),
        ),
        (
            "bucket.yaml",
            &format!(
                "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata:\n  id: bucket\nspec:\n  type: bucket\n  driver: purlin/http\n  inputs:\n    connection:\n      base_url: {base_url}\n    values:\n      create: {{path: /api/x}}\n  criteria: [{{}}]\n"
            ),
        ),
        (
            "copy.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: copy}\nspec:\n  type: copy\n  driver: purlin/echo\n  inputs: {values: {of: \"${resources['bucket#shared.files'].outputs.id}\"}}\n  criteria: [{}]\n",
        ),
        (
            "deploy.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared: {files: {type: bucket}, copy: {type: copy}}\n",
        ),
    ])
}

fn granted(base_url: &str) -> Project {
    bucket(base_url, &format!("{{http: [\"{base_url}/*\"]}}"))
}

/// Text without the port, the folder and the times of this run.
fn golden(text: &str, port: u16) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = line.replace(&format!(":{port}"), ":PORT");
        // Times such as `(12 ms)` and `in 7 s` differ from run to run.
        let mut words: Vec<&str> = Vec::new();
        for word in line.split(' ') {
            words.push(word);
        }
        let mut line = String::new();
        let mut skip = false;
        for (index, word) in words.iter().enumerate() {
            let unit = words.get(index + 1).is_some_and(|next| {
                matches!(next.trim_end_matches([')', ':', ',', '.', '\n']), "ms" | "s" | "min")
            });
            let number = word.trim_start_matches('(').chars().next().is_some_and(|c| c.is_ascii_digit());
            let time = number && unit;
            if index > 0 && !skip {
                line.push(' ');
            }
            if skip {
                line.push_str(word.trim_start_matches(|c: char| c.is_ascii_alphabetic()));
                skip = false;
                continue;
            }
            if time {
                line.push_str(if word.starts_with('(') { "(TIME" } else { "TIME" });
                skip = true;
            } else {
                line.push_str(word);
            }
        }
        out.push_str(line.replace("(under TIME)", "(TIME)").trim_end());
        out.push('\n');
    }
    out
}

/// The report at the end of the run.
fn end(ran: &Ran, port: u16) -> String {
    let text = golden(&ran.err, port);
    let at = text.find("\nerror[").unwrap_or_else(|| panic!("{text}"));
    text[at + 1..].to_owned()
}

/// The error of a failed resource.
fn error(events: &[Value], key: &str) -> Value {
    let failed = events.iter().find(|event| event["phase"] == "failed" && event["key"] == key);
    failed.unwrap_or_else(|| panic!("{events:#?}"))["error"].clone()
}

const FILES: &str = "bucket.default#shared.files";

/// The object of a resource under its old name may prevent its creation under the new one.
#[test]
fn a_rename_that_looks_like_a_conflict_is_named() {
    let web = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\n\
               containers: {main: {image: nginx, variables: {NOTE: '${resources.note.path}'}}}\n\
               resources: {note: {type: note}}\n";
    let project = Project::with(&[
        (
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  drivers: {purlin/file: {grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}}}\n",
        ),
        (
            "note.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: note}\nspec:\n  type: note\n  driver: purlin/file\n  inputs: {values: {path: /out/a.txt, content: '${context.res.id}'}}\n  criteria: [{}]\n",
        ),
        (
            "copy.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: copy}\nspec:\n  type: copy\n  driver: purlin/echo\n  inputs: {values: {of: '${params.of}'}}\n  criteria: [{}]\n",
        ),
    ]);
    std::fs::create_dir(project.path().join("out")).expect("a folder");
    // The copy reads the note, so that the old note is deleted only once the new one exists.
    let give = |name: &str| {
        project.write("web.yaml", web.replace("name: web", &format!("name: {name}")));
        project.write(
            "deployment.yaml",
            format!(
                "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared:\n    copy: {{type: copy, params: {{of: \"${{resources['note#modules.{name}.externals.note'].outputs.sha256}}\"}}}}\n"
            ),
        );
    };
    give("web");
    project.run(&["up", "--yes"]).status(0);
    give("site");
    let failed = project.run(&["up", "--yes"]).status(1);
    let (old, new) = ("note.default#modules.web.externals.note", "note.default#modules.site.externals.note");
    let hint = format!(
        "hint: if `{new}` is `{old}` under a new name, first run `purlin state rename '{old}' '{new}'`\n"
    );
    assert!(failed.err.contains("already exists") && failed.err.contains(&hint), "{}", failed.err);
    assert_eq!(failed.err.matches("under a new name").count(), 1, "{}", failed.err);
    project.run(&["state", "rename", old, new]).status(0);
    project.run(&["up", "--yes"]).status(0);
    assert_eq!(
        std::fs::read(project.path().join("out/a.txt")).expect("kept"),
        b"modules.site.externals.note"
    );
}

#[test]
fn a_server_that_is_down_is_reported() {
    let address = reserved();
    let project = granted(&format!("http://{address}"));
    let ran = project.run(&["up", "--yes"]).status(1);
    insta::assert_snapshot!(end(&ran, address.port()));
    let error = error(&project.run(&["up", "--yes", "--format", "json"]).status(1).events(), FILES);
    assert_eq!((&error["kind"], &error["attempts"]), (&"connection-refused".into(), &5.into()), "{error}");
    assert_eq!(error["server"]["address"], address.to_string());
    assert_eq!(error["server"]["method"], "POST");
    assert_eq!(
        (&error["places"][0]["of"], &error["places"][0]["name"], &error["places"][0]["file"]),
        (&"definition".into(), &"bucket".into(), &"bucket.yaml".into())
    );
    assert_eq!(error["places"][1]["name"], "/connection/base_url");
    assert_eq!(project.recorded(), ["base-env.default#base-env"]);
}

#[test]
fn an_unknown_host_is_reported() {
    let project = granted("http://nowhere.invalid:81");
    insta::assert_snapshot!(end(&project.run(&["up", "--yes"]).status(1), 81));
    let error = error(&project.run(&["up", "--yes", "--format", "json"]).status(1).events(), FILES);
    assert_eq!(error["kind"], "unknown-host", "{error}");
}

/// The lines about the progress only name the resource; the report at the end has the cause.
#[test]
fn a_cause_is_shown_once() {
    let project = Project::with(&[
        (
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  drivers:\n    purlin/file:\n      grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}\n",
        ),
        (
            "note.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: note}\nspec:\n  type: note\n  driver: purlin/file\n  inputs: {values: {path: /out/a.txt, content: ours}}\n  criteria: [{}]\n---\n\
             apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {shared: {a: {type: note}}}\n",
        ),
    ]);
    project.write("out/a.txt", "another's");
    for command in ["up", "reconcile"] {
        for arguments in [&[command, "--yes"][..], &[command, "--yes", "--quiet"]] {
            let ran = project.run(arguments).status(1);
            assert_eq!(ran.err.matches("`/out/a.txt` already exists").count(), 1, "{}", ran.err);
        }
    }
    let ran = project.run(&["up", "--yes"]).status(1);
    assert!(ran.err.contains("[1/1] failed note.default#shared.a ("), "{}", ran.err);
}

#[test]
fn a_server_that_replies_with_an_error_is_reported() {
    for (reply, code, help) in [
        (status("500 Internal Server Error"), 500, "the failure is on the server's side"),
        (status("401 Unauthorized"), 401, "check the credentials"),
        (status("404 Not Found"), 404, "is `base_url` right"),
    ] {
        let address = replying(reply.leak());
        let project = granted(&format!("http://{address}"));
        let ran = project.run(&["up", "--yes"]).status(1);
        let message = end(&ran, address.port());
        assert!(message.contains(help) && message.contains(&code.to_string()), "{message}");
        assert!(message.contains("--> bucket.yaml:"), "{message}");
        let project = granted(&format!("http://{address}"));
        let error = error(&project.run(&["up", "--yes", "--format", "json"]).status(1).events(), FILES);
        assert_eq!(error["server"]["status"], code, "{error}");
    }
}

#[test]
fn a_server_that_does_not_speak_http_is_reported() {
    let address = replying("SSH-2.0-OpenSSH_9.9\r\n");
    let project = granted(&format!("http://{address}"));
    let error = error(&project.run(&["up", "--yes", "--format", "json"]).status(1).events(), FILES);
    assert_eq!(error["kind"], "not-http", "{error}");
}

#[test]
fn a_server_that_speaks_no_tls_is_reported() {
    let address = replying("HTTP/1.1 400 Bad Request\r\n\r\n");
    let base = format!("https://{address}");
    let project = granted(&base);
    let error = error(&project.run(&["up", "--yes", "--format", "json"]).status(1).events(), FILES);
    assert_eq!(error["kind"], "tls", "{error}");
    assert!(error["help"][0].as_str().is_some_and(|help| help.contains("grants.ca")), "{error}");
}

#[test]
fn a_database_server_that_is_down_is_reported() {
    let address = reserved();
    let project = Project::with(&[
        (
            "purlin.yaml",
            &format!(
                "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{app: shop, env: dev}}\n  drivers:\n    purlin/postgres:\n      grants: {{tcp: [\"{address}\"]}}\n"
            ),
        ),
        (
            "db.yaml",
            &format!(
                "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: db}}\nspec:\n  type: db\n  driver: purlin/postgres\n  inputs: {{connection: {{host: 127.0.0.1, port: {}, tls: disable}}, values: {{database: {{name: shop}}}}}}\n  criteria: [{{}}]\n",
                address.port()
            ),
        ),
        ("deploy.yaml", "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared: {main: {type: db}}\n"),
    ]);
    let error = error(
        &project.run(&["up", "--yes", "--format", "json"]).status(1).events(),
        "db.default#shared.main",
    );
    assert_eq!(error["kind"], "connection-refused", "{error}");
    assert_eq!(error["server"]["address"], address.to_string());
    assert_eq!(error["places"][1]["name"], "/connection/host");
}

#[test]
fn all_grants_that_are_lacking_are_listed_before_anything_runs() {
    let project = bucket("https://api.example/v1", "{http: [\"https://other.example/*\"]}");
    project.write(
        "note.yaml",
        "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: note}\nspec:\n  type: note\n  driver: purlin/file\n  inputs: {values: {path: '/out/${context.res.id}.txt', content: x}}\n  criteria: [{}]\n",
    );
    project.edit("deploy.yaml", "{files:", "{a: {type: note}, b: {type: note}, files:");
    let ran = project.run(&["up", "--yes"]).status(2);
    assert!(!project.has_state());
    insta::assert_snapshot!(ran.err);
    // The suggested lines grant the access.
    let lines = ran.err.split("include the current ones:\n").nth(1).expect("lines");
    let spec = lines.replace("spec:\n", "spec:\n  defaults: {app: shop, env: dev}\n");
    assert_ne!(spec, lines);
    project.write("purlin.yaml", format!("apiVersion: purlin.dev/v1\nkind: Workspace\n{spec}"));
    project.run(&["plan"]).status(0);
}

#[test]
fn a_write_into_a_folder_granted_for_reading_is_rejected() {
    let project = Project::with(&[
        (
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {app: shop, env: dev}\n  drivers:\n    purlin/file:\n      grants:\n        dirs: [{host: ./out, guest: /out, mode: ro}]\n",
        ),
        ("out/keep", ""),
        (
            "note.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: note}\nspec:\n  type: note\n  driver: purlin/file\n  inputs: {values: {path: /out/a.txt, content: x}}\n  criteria: [{}]\n",
        ),
        ("deploy.yaml", "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared: {a: {type: note}}\n"),
    ]);
    insta::assert_snapshot!(project.run(&["up", "--yes"]).status(2).err);
    assert!(!project.path().join("out/a.txt").exists());
    project.edit("purlin.yaml", "mode: ro", "mode: rw");
    project.run(&["up", "--yes"]).status(0);
}

/// A workload whose definition patches its document.
fn patched(driver: &str, inputs: &str) -> Project {
    Project::with(&[
        (
            "web.yaml",
            "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: nginx, variables: {PASS: top-secret}}}\n",
        ),
        (
            "workload.yaml",
            &format!(
                "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: workload}}\nspec:\n  type: workload\n  driver: {driver}\n  inputs:\n    values:\n{inputs}\n  criteria: [{{}}]\n"
            ),
        ),
    ])
}

#[test]
fn operations_for_a_workload_that_do_not_apply_are_found_in_the_plan() {
    let project = patched(
        "purlin/echo",
        "      update:\n        - {op: replace, path: /spec/containers/man/image, value: x}",
    );
    let ran = project.run(&["plan"]).status(2);
    insta::assert_snapshot!(ran.err);
    project.run(&["up", "--yes"]).status(2);
    assert!(!project.has_state());
}

#[test]
fn operations_for_a_workload_that_do_not_apply_fail_the_deployment() {
    let project = patched(
        "purlin/template",
        "      templates:\n        outputs: |\n          update:\n            - {op: replace, path: /spec/containers/man/image, value: x}",
    );
    let ran = project.run(&["up", "--yes"]).status(1);
    insta::assert_snapshot!(end(&ran, 0));
    // The second run fails as well, and commands that read the state do not treat it as success.
    project.run(&["up", "--yes"]).status(1);
    let outputs = project.run(&["outputs"]).status(1);
    assert!(outputs.err.contains("`replace` at `/spec/containers/man/image`"), "{}", outputs.err);
    project.run(&["export", "made"]).status(1);
    assert!(!outputs.err.contains("top-secret"), "{}", outputs.err);
    project.edit("workload.yaml", "containers/man/", "containers/main/");
    project.run(&["up", "--yes"]).status(0);
    project.run(&["outputs"]).status(0);
}

#[test]
fn a_template_that_renders_no_yaml_is_found_in_the_plan() {
    let project = Project::with(&[
        (
            "thing.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: thing}\nspec:\n  type: thing\n  driver: purlin/template\n  inputs:\n    values:\n      name: \"a: b: c\"\n      templates:\n        outputs: |\n          port: 1\n          name: {{ .driver.values.name }}\n  criteria: [{}]\n",
        ),
        ("deploy.yaml", "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared: {a: {type: thing}}\n"),
    ]);
    let ran = project.run(&["plan"]).status(2);
    assert!(ran.err.contains("thing.yaml:13:11"), "{}", ran.err);
    let expected = ": it renders `name: a: b: c`, which is not valid YAML (`: ` in a text without quotes)";
    assert!(ran.err.contains(expected), "{}", ran.err);
    // Neither a secret nor a value derived from it is shown.
    project.edit(
        "thing.yaml",
        "      templates:",
        "      templates:\n        secrets: {pw: \"{{ .driver.secrets.pw }}\"}",
    );
    project.edit("thing.yaml", "  criteria:", "    secrets: {pw: \"x: top: secret\"}\n  criteria:");
    project.edit("thing.yaml", "a: b: c", "a");
    project.edit("thing.yaml", "port: 1", "port: {{ .driver.secrets.pw }}");
    let ran = project.run(&["plan"]).status(2);
    assert!(ran.err.contains("it contains a secret, so it is not shown"), "{}", ran.err);
    assert!(!ran.err.contains("top"), "{}", ran.err);
}

#[test]
fn an_excerpt_masks_the_secrets_in_its_line() {
    let project = Project::with(&[
        (
            "thing.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: thing}\nspec:\n  type: thing\n  driver: purlin/echo\n  inputs: {values: {of: '${params.x | upcase}', apiKey: hunter2}, secrets: {pin: 48151}}\n  criteria: [{}]\n",
        ),
        ("deploy.yaml", "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared: {a: {type: thing}}\n"),
    ]);
    for arguments in [&["validate"][..], &["plan"], &["up", "--yes"]] {
        let ran = project.run(arguments).status(2);
        assert!(
            ran.err.contains("${params.x | upcase}', apiKey: *******}, secrets: {pin: *****}}"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn an_invalid_input_reads_the_same_in_a_run_and_in_a_plan() {
    let integer = |id: &str, values: &str| {
        format!(
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: {id}}}\nspec:\n  type: {id}\n  driver: purlin/random\n  inputs:\n    values:\n      kind: integer\n{values}  criteria: [{{}}]\n"
        )
    };
    let second = "      min: ${resources['first#shared.a'].outputs.value}\n      max: 5\n";
    let project = Project::with(&[
        ("first.yaml", &integer("first", "      min: 9\n      max: 9\n")),
        ("second.yaml", &integer("second", second)),
        (
            "deploy.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n  env: dev\n  shared: {a: {type: first}, b: {type: second}}\n",
        ),
    ]);
    let block = |text: &str| {
        let lines = text.lines().skip_while(|line| !line.starts_with("error[invalid-inputs]"));
        lines.take_while(|line| !line.contains("= note: ")).collect::<Vec<_>>().join("\n")
    };
    // The number is drawn while the plan is applied, and the next plan knows it.
    let events = project.run(&["up", "--yes", "--format", "json"]).status(1).events();
    let error = &events.iter().find(|event| event["phase"] == "failed").expect("a failure")["error"];
    let again = project.run(&["plan", "--format", "json"]).status(1).json();
    let steps = again["steps"].as_array().expect("steps");
    assert!(steps.iter().any(|step| step["reasons"][0]["reason"] == "refused"), "{again}");
    assert_eq!(error["diagnostics"][0]["message"], "invalid input `min`: is higher than `max`");
    let planned = project.run(&["plan"]).status(1);
    project.run(&["destroy", "--yes"]).status(0);
    let ran = project.run(&["up", "--yes"]).status(1);
    assert!(!block(&ran.err).is_empty());
    assert_eq!(block(&ran.err), block(&planned.err), "{}\n{}", ran.err, planned.err);
}

#[test]
fn a_driver_that_fails_in_a_plan_is_explained_like_one_that_fails_in_a_run() {
    let address = reserved();
    let project = granted(&format!("http://{address}"));
    project.edit(
        "bucket.yaml",
        "create: {path: /api/x}",
        "name: files\n      id: {name: true}\n      create: {path: '/things/{name}', body: {size: 1}}",
    );
    project.edit("deploy.yaml", "spec:\n", "spec:\n  lifecycle: {bucket#shared.files: {observe: files}}\n");
    let ran = project.run(&["plan"]).status(1);
    let message = golden(&ran.err, address.port());
    for part in [
        "error[connection-refused]: cannot connect to 127.0.0.1:PORT (connection refused)",
        "--> bucket.yaml:10:",
        "for `bucket.default#shared.files`",
        "is the server running, and is `base_url` right?",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let plan = project.run(&["plan", "--format", "json"]).status(1).json();
    let steps = plan["steps"].as_array().expect("steps");
    let refused = steps.iter().find(|step| step["key"] == "bucket.default#shared.files").expect("a step");
    assert_eq!(refused["reasons"][0]["reason"], "refused", "{plan}");
    // Everything else is done.
    let ran = project.run(&["up", "--yes"]).status(1);
    assert!(ran.err.contains("1 created, 1 failed"), "{}", ran.err);
}

/// A service with one thing. It answers requests to create it only if `creates` is set.
fn things(address: SocketAddr, creates: bool) -> (std::sync::mpsc::Receiver<()>, Closed) {
    let listener = TcpListener::bind(address).expect("the port is reserved");
    let (sender, creation) = std::sync::mpsc::channel();
    let closed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_closed = std::sync::Arc::clone(&closed);
    let serving = std::thread::spawn(move || {
        let mut made = false;
        let mut waiting = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            if is_closed.load(std::sync::atomic::Ordering::SeqCst) {
                return;
            }
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap_or(0);
            let looks = head[..length].starts_with(b"GET");
            if !looks && !creates {
                let _ = sender.send(());
                waiting.push(stream);
                continue;
            }
            made |= !looks;
            let _ = stream.write_all(status(if made { "200 OK" } else { "404 Not Found" }).as_bytes());
        }
    });
    (creation, Closed { address, closed, serving: Some(serving) })
}

/// Closes a service when dropped.
struct Closed {
    address: SocketAddr,
    closed: std::sync::Arc<std::sync::atomic::AtomicBool>,
    serving: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Closed {
    fn drop(&mut self) {
        self.closed.store(true, std::sync::atomic::Ordering::SeqCst);
        let _ = std::net::TcpStream::connect(self.address);
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

#[test]
fn a_server_that_is_down_keeps_only_its_own_resource_undecided() {
    let address = reserved();
    let (creation, service) = things(address, false);
    let base_url = format!("http://{address}");
    let project = granted(&base_url);
    // The service shows everything at once.
    project.edit("purlin.yaml", "grants:", "limits: {grace: 0s}\n      grants:");
    project.write(
        "bucket.yaml",
        format!(
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata:\n  id: bucket\nspec:\n  type: bucket\n  driver: purlin/http\n  inputs:\n    connection:\n      base_url: {base_url}\n    values:\n      name: files\n      id: {{name: true}}\n      create: {{path: '/things/{{name}}', body: {{size: 1}}}}\n  criteria: [{{}}]\n"
        ),
    );
    project.write(
        "other.yaml",
        "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: other}\nspec:\n  type: other\n  driver: purlin/echo\n  inputs: {values: {of: me}}\n  criteria: [{}]\n",
    );
    project.write(
        "deploy.yaml",
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared: {files: {type: bucket}, copy: {type: copy}, other: {type: other}}\n  lifecycle: {other#shared.other: {depends_on: []}}\n",
    );
    // Killed while the server is slowly creating the bucket.
    let mut child = project.start(&["up", "--yes", "--target", "bucket#shared.files"]);
    creation.recv_timeout(Duration::from_secs(600)).expect("a request");
    child.kill().expect("killed");
    child.wait().expect("ended");
    drop(service);
    let down = project.run(&["up", "--yes", "--format", "json"]).status(1);
    let events = down.events();
    let ended = |key: &str| {
        let last = events.iter().rfind(|event| event["event"] == "resource" && event["key"] == key);
        last.map(|event| event["phase"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(ended("other.default#shared.other").as_deref(), Some("succeeded"), "{events:#?}");
    assert_eq!(ended("copy.default#shared.copy").as_deref(), Some("skipped"), "{events:#?}");
    assert!(events.iter().any(|event| event["error"]["code"] == "undecided"), "{events:#?}");
    assert!(down.out.contains("the connection was refused"), "{events:#?}");
    let (_, service) = things(address, true);
    project.run(&["up", "--yes"]).status(0);
    project.run(&["plan", "--detailed-exitcode"]).status(0);
    drop(service);
}
