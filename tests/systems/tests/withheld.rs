//! Secrets of many shapes through every driver for a real system: the system has them, and none of
//! Purlin's output or storage holds one in plain text.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

use purlin_systems::kubernetes::{Kubernetes, TOKEN};
use purlin_systems::moto::Moto;
use purlin_systems::postgres::{self, Postgres};
use purlin_systems::powerdns::{self, PowerDns};
use purlin_systems::redis::{self, Redis};
use purlin_systems::rest::Service;
use purlin_systems::secrets::{every_file, holds_none, needles, shapes};
use purlin_systems::tools::component;
use purlin_systems::{Project, Ran};
use serde_json::{Value, json};

/// The expression in a document that reads a shape of the vault.
fn read(name: &str) -> String {
    format!("${{resources['vault.default#shared.vault'].outputs.{name}}}")
}

/// The shapes that are texts, except these.
fn texts(but: &[&str]) -> Vec<(&'static str, String)> {
    let text = |(name, secret): (&'static str, Value)| Some((name, secret.as_str()?.to_owned()));
    shapes().into_iter().filter_map(text).filter(|(name, _)| !but.contains(name)).collect()
}

fn definition(kind: &str, driver: &str, inputs: &Value) -> Value {
    json!({
        "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": kind},
        "spec": {"type": kind, "driver": driver, "inputs": inputs, "criteria": [{}]},
    })
}

/// A workspace with a vault that gives the shapes, and a type `kind` of a driver.
fn workspace(driver: &str, grants: &Value, inputs: &Value, shared: &[(&str, Value)]) -> Project {
    let vault: serde_json::Map<String, Value> =
        shapes().into_iter().map(|(name, secret)| (name.to_owned(), secret)).collect();
    let mut resources = json!({"vault": {"type": "vault"}});
    for (name, params) in shared {
        resources[*name] = json!({"type": "kind", "params": params});
    }
    let drivers = json!({format!("purlin/{driver}"): {
        "source": component(driver), "grants": grants, "limits": {"time": "60s"},
    }});
    let files = [
        (
            "purlin.yaml",
            json!({"apiVersion": "purlin.dev/v1", "kind": "Workspace", "spec": {
                "defaults": {"app": "shop", "env": "dev"}, "drivers": drivers,
                "secret_stores": {"keys": {"file": "./secrets"}},
            }}),
        ),
        ("vault.yaml", definition("vault", "purlin/echo", &json!({"secrets": vault}))),
        ("kind.yaml", definition("kind", &format!("purlin/{driver}"), inputs)),
        (
            "deployment.yaml",
            json!({
                "apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": {"shared": resources},
            }),
        ),
    ];
    let workspace = Project::empty();
    for (name, document) in files {
        workspace.write(name, document.to_string());
    }
    workspace
}

/// Runs commands that show and store things, and searches their results for the secrets.
#[track_caller]
fn withheld(workspace: &Project, others: &[&str], resource: &str) {
    let mut needles = needles();
    needles.extend(others.iter().map(|&other| other.to_owned()));
    let clean = |done: Ran| {
        holds_none(&done.command, done.out.as_bytes(), &needles);
        holds_none(&done.command, done.err.as_bytes(), &needles);
        done
    };
    let key = format!("kind.default#shared.{resource}");
    let commands: [&[&str]; 11] = [
        &["plan", "--verbose", "--out", ".kept.plan"],
        &["up", "--yes", "-vv"],
        &["refresh", "--format", "json"],
        &["up", "--yes", "--refresh", "--full", "--format", "json"],
        &["plan", "--refresh"],
        &["outputs", "--format", "json"],
        &["state", "list", "--format", "json"],
        &["state", "show", &key],
        &["diff", "--format", "json"],
        &["graph", "--format", "json"],
        &["history", "latest", "--format", "json"],
    ];
    for command in commands {
        clean(workspace.run(command)).status(0);
    }
    let mut files = 0;
    every_file(&workspace.path().join(".purlin"), &mut |path, bytes| {
        files += 1;
        holds_none(&path.display().to_string(), bytes, &needles);
    });
    assert!(files > 3, "the state was not looked at");
    holds_none("the plan", &std::fs::read(workspace.path().join(".kept.plan")).expect("a plan"), &needles);
}

/// Destroys everything, without revealing the secrets.
#[track_caller]
fn destroyed(workspace: &Project) {
    let done = workspace.purlin(&["destroy", "--yes", "--allow-data-loss", "-vv"]);
    holds_none(&done.command, format!("{done}").as_bytes(), &needles());
    every_file(&workspace.path().join(".purlin"), &mut |path, bytes| {
        holds_none(&path.display().to_string(), bytes, &needles());
    });
}

#[test]
fn secrets_stay_hidden_through_files() {
    let inputs = json!({"values": {"path": "/out/${params.name}", "content": "${params.content}"}});
    let grants = json!({"dirs": [{"host": "./.out", "guest": "/out", "mode": "rw"}]});
    let texts = texts(&[]);
    let shared: Vec<(&str, Value)> =
        texts.iter().map(|(name, _)| (*name, json!({"name": name, "content": read(name)}))).collect();
    let workspace = workspace("file", &grants, &inputs, &shared);
    std::fs::create_dir(workspace.path().join(".out")).expect("a folder");
    withheld(&workspace, &[], "text");
    for (name, secret) in &texts {
        let written = std::fs::read_to_string(workspace.path().join(format!(".out/{name}"))).expect(name);
        assert_eq!(written, *secret, "{name}");
    }
    destroyed(&workspace);
}

#[test]
fn secrets_stay_hidden_through_an_api() {
    let service = Service::start();
    let body: serde_json::Map<String, Value> =
        shapes().into_iter().map(|(name, _)| (format!("s_{name}"), json!(read(name)))).collect();
    let mut outputs = serde_json::Map::new();
    for (name, _) in shapes() {
        outputs.insert(format!("o_{name}"), format!("/s_{name}").into());
    }
    let mut sent = json!({"size": 1});
    sent.as_object_mut().expect("a map").extend(body);
    let inputs = json!({
        "values": {
            "name": "thing", "id": {"name": true},
            "create": {"path": "/things/{name}", "body": sent}, "update": {},
            "outputs": outputs,
            "headers": {"x-note": read("named")},
        },
        "connection": {"base_url": service.url(), "bearer": "bearer-of-the-test-0815"},
    });
    let grants = json!({"http": [format!("{}/*", service.url())]});
    let workspace = workspace("http", &grants, &inputs, &[("thing", json!({}))]);
    withheld(&workspace, &["bearer-of-the-test-0815"], "thing");
    let there = service.all("things")["thing"].clone();
    for (name, secret) in shapes() {
        assert_eq!(there[format!("s_{name}")], secret, "{name}");
    }
    destroyed(&workspace);
}

#[test]
fn secrets_stay_hidden_through_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    let inputs = json!({
        "connection": {
            "host": "127.0.0.1", "port": postgres.port, "tls": "disable", "password": postgres::PASSWORD,
            "connect_timeout": 120,
        },
        "values": {"role": {"name": "${params.name}"}},
        "secrets": {"role_password": "${params.password}"},
    });
    let grants = json!({"tcp": [format!("127.0.0.1:{}", postgres.port)], "addresses": ["127.0.0.1"]});
    let texts = texts(&["empty", "long", "control", "lines", "pem"]);
    let shared: Vec<(&str, Value)> = texts
        .iter()
        .map(|(name, _)| (*name, json!({"name": format!("role_{name}"), "password": read(name)})))
        .collect();
    let workspace = workspace("postgres", &grants, &inputs, &shared);
    withheld(&workspace, &[postgres::PASSWORD], "text");
    for (name, secret) in &texts {
        postgres.try_as(&format!("role_{name}"), secret, "postgres", "SELECT 1").expect(name);
    }
    destroyed(&workspace);
}

#[test]
fn secrets_stay_hidden_through_redis() {
    let Some(server) = Redis::start(false, None) else { return };
    let inputs = json!({
        "connection": {
            "host": "127.0.0.1", "port": server.port, "tls": "disable", "password": redis::PASSWORD,
            "connect_timeout": 120,
        },
        "values": {"user": {"name": "${params.name}", "keys": ["*"], "channels": [], "commands": ["+ping"]}},
        "secrets": {"user_password": "${params.password}"},
    });
    let grants = json!({"tcp": [format!("127.0.0.1:{}", server.port)], "addresses": ["127.0.0.1"]});
    let texts = texts(&["empty", "long", "control", "lines", "pem"]);
    let shared: Vec<(&str, Value)> = texts
        .iter()
        .map(|(name, _)| (*name, json!({"name": format!("user-{name}"), "password": read(name)})))
        .collect();
    let workspace = workspace("redis", &grants, &inputs, &shared);
    withheld(&workspace, &[redis::PASSWORD], "text");
    for (name, secret) in &texts {
        assert_eq!(server.ask_as(&format!("user-{name}"), secret, &["PING"]).trim(), "PONG", "{name}");
    }
    destroyed(&workspace);
}

#[test]
fn secrets_stay_hidden_through_dns() {
    let Some(dns) = PowerDns::start() else { return };
    let zone = json!({"name": "shop.example.", "kind": "Native", "nameservers": ["ns1.example.net."]});
    assert_eq!(dns.api("POST", "/zones", &zone).0, 201);
    let inputs = json!({
        "connection": {"url": dns.url(), "api_key": powerdns::KEY},
        "values": {
            "records": {
                "zone": "shop.example", "name": "${params.name}", "type": "TXT", "ttl": 60,
                "content": ["${params.content}"],
            },
        },
    });
    let grants = json!({"http": [format!("{}/*", dns.url())]});
    // Spaces around a text are not part of a record.
    let texts = texts(&["empty", "long", "control", "lines", "pem", "unicode", "padded"]);
    let shared: Vec<(&str, Value)> =
        texts.iter().map(|(name, _)| (*name, json!({"name": name, "content": read(name)}))).collect();
    let workspace = workspace("dns", &grants, &inputs, &shared);
    withheld(&workspace, &[powerdns::KEY], "text");
    for (name, secret) in &texts {
        let escaped = secret.replace('\\', "\\\\").replace('"', "\\\"");
        assert_eq!(dns.dig(&format!("{name}.shop.example"), "TXT"), [format!("\"{escaped}\"")], "{name}");
    }
    destroyed(&workspace);
}

/// A workspace for a driver of AWS, with the key in a secret store.
fn aws(moto: &Moto, driver: &str, mut inputs: Value, shared: &[(&str, Value)]) -> Project {
    let url = format!("http://127.0.0.1:{}", moto.port());
    inputs["connection"] = json!({
        "endpoint": {"url": url, "region": "eu-west-1"},
        "access_key_id": {"store": "keys", "ref": "id"},
        "secret_access_key": {"store": "keys", "ref": "key"},
    });
    let grants = json!({"http": [format!("{url}/*")], "secrets": ["keys"]});
    let workspace = workspace(driver, &grants, &inputs, shared);
    let (id, key) = &moto.key;
    workspace.write("secrets/id", id);
    workspace.write("secrets/key", key);
    workspace
}

#[test]
fn secrets_stay_hidden_through_s3() {
    let Some(moto) = Moto::start() else { return };
    let safe = json!({"Bucket": "safe", "CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}});
    moto.ask("s3", "create_bucket", safe);
    let inputs = json!({"values": {
        "object": {"bucket": "safe", "key": "${params.name}", "content": "${params.content}"},
    }});
    let texts = texts(&[]);
    let shared: Vec<(&str, Value)> =
        texts.iter().map(|(name, _)| (*name, json!({"name": name, "content": read(name)}))).collect();
    let workspace = aws(&moto, "s3", inputs, &shared);
    withheld(&workspace, &[moto.key.1.as_str()], "text");
    for (name, secret) in &texts {
        let object = moto.ask("s3", "get_object", json!({"Bucket": "safe", "Key": name}));
        assert_eq!(object["Body"], **secret, "{name}");
    }
    destroyed(&workspace);
}

#[test]
fn secrets_stay_hidden_through_iam() {
    let Some(moto) = Moto::start() else { return };
    let document = json!({"Version": "2012-10-17", "Statement": {
        "Effect": "Allow", "Action": "s3:GetObject", "Resource": "*",
        "Condition": {"StringEquals": {"aws:UserAgent": "${params.content}"}},
    }});
    let inputs = json!({"values": {"policy": {"name": "policy-${params.name}", "document": document}}});
    let texts = texts(&["empty", "long", "control", "lines", "pem"]);
    let shared: Vec<(&str, Value)> =
        texts.iter().map(|(name, _)| (*name, json!({"name": name, "content": read(name)}))).collect();
    let workspace = aws(&moto, "iam", inputs, &shared);
    withheld(&workspace, &[moto.key.1.as_str()], "text");
    let policies = moto.ask("iam", "list_policies", json!({"Scope": "Local"}));
    assert_eq!(policies["Policies"].as_array().map(Vec::len), Some(texts.len()));
    destroyed(&workspace);
}

#[test]
fn secrets_stay_hidden_through_kubernetes() {
    let Some(k8s) = Kubernetes::start() else { return };
    let texts = texts(&[]);
    let data: serde_json::Map<String, Value> =
        texts.iter().map(|(name, _)| ((*name).to_owned(), json!(read(name)))).collect();
    let manifest = |kind: &str, name: &str, field: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, field: data});
    let inputs = json!({
        "connection": {"server": k8s.url(), "token": TOKEN},
        "values": {
            "manifests": [manifest("Secret", "given", "stringData"), manifest("ConfigMap", "plain", "data")],
            "outputs": {"plain": "/1/data/text"},
        },
    });
    let grants = json!({"http": [format!("{}/*", k8s.url())], "addresses": ["127.0.0.1"], "ca": ["ca.pem"]});
    let workspace = workspace("kubernetes", &grants, &inputs, &[("it", json!({}))]);
    workspace.write("ca.pem", k8s.authority());
    withheld(&workspace, &[TOKEN], "it");
    let plain = k8s.get("configmaps", "default", "plain").expect("made");
    for (name, secret) in &texts {
        assert_eq!(plain["data"][*name], **secret, "{name}");
    }
    destroyed(&workspace);
}
