//! Schemas and parsers have to agree.

use purlin_model::{Limits, Reconcile, SecretCommand, SecretStoreKind, StateDatabase, Workspace};
use serde_json::json;

use super::*;
use crate::load::load_text;

/// Whether the schema and the parser both accept a document.
fn verdicts(kind: SchemaKind, document: &Value) -> (bool, bool) {
    let validator = jsonschema::draft202012::new(&schema(kind)).expect("a schema");
    let text = document.to_string();
    let loaded = match kind {
        SchemaKind::Lock => crate::load(&[crate::Input::Text { name: crate::LOCK_FILE.into(), text }]),
        SchemaKind::DriverCases => {
            let (cases, ..) = crate::cases_in(&"check.yaml".into(), &text.into());
            return (validator.is_valid(document), cases.is_some());
        }
        _ => load_text(&text),
    };
    (validator.is_valid(document), !loaded.has_errors())
}

#[track_caller]
fn agree(kind: SchemaKind, good: bool, documents: impl IntoIterator<Item = Value>) {
    for document in documents {
        assert_eq!(verdicts(kind, &document), (good, good), "{document:#}");
    }
}

/// The document with one part replaced; null removes it.
fn with(document: &Value, pointer: &str, value: Value) -> Value {
    let mut document = document.clone();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = document.pointer_mut(parent).expect(pointer).as_object_mut().expect("an object");
    match value {
        Value::Null => parent.shift_remove(key),
        value => parent.insert(key.to_owned(), value),
    };
    document
}

#[test]
fn every_schema_is_one() {
    for kind in SchemaKind::ALL.iter().copied() {
        let name = kind.name();
        let schema = schema(kind);
        assert!(jsonschema::draft202012::meta::is_valid(&schema), "{name}");
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{name}");
        assert_eq!(SchemaKind::from_name(name), Some(kind));
    }
    assert_eq!(SchemaKind::from_name("DeploymentSet"), Some(SchemaKind::DeploymentSet));
    assert_eq!(SchemaKind::from_name("porter"), None);
}

#[test]
fn schema_and_reader_agree_on_manifests() {
    let good = json!({
        "apiVersion": "ec2.aws.crossplane.io/v1beta1", "kind": "Subnet",
        "metadata": {
            "name": "front", "namespace": "shop", "labels": {"tier": "front"}, "uid": "x",
            "annotations": {"purlin.dev/protect": "true", "crossplane.io/paused": "false", "example.org/a": "b", "purlin.dev/depends-on": "- {name: a}"},
        },
        "spec": {
            "forProvider": {"vpcIdRef": {"name": "net"}, "a": [1]},
            "deletionPolicy": "Orphan",
            "managementPolicies": ["Observe", "Create"],
            "providerConfigRef": {"name": "p"},
        },
    });
    agree(
        SchemaKind::Manifest,
        true,
        [
            good.clone(),
            with(&good, "/metadata/namespace", Value::Null),
            with(&good, "/spec", json!({"anything": {"deletionPolicy": 3}})),
            with(&good, "/spec", json!({"dependsOn": [{"provider": "x", "version": "y"}]})),
            with(&with(&good, "/spec", Value::Null), "/data", json!({"a": 1})),
            with(&good, "/spec/managementPolicies", json!([])),
            with(&good, "/spec/managementPolicies", json!(["*"])),
            with(&good, "/apiVersion", json!("v1")),
        ],
    );
    agree(
        SchemaKind::Manifest,
        false,
        [
            with(&good, "/kind", Value::Null),
            with(&good, "/kind", json!("a b")),
            with(&good, "/metadata/name", Value::Null),
            with(&good, "/metadata/name", json!("a/b")),
            with(&good, "/metadata/namespace", json!("")),
            with(&good, "/metadata/labels", json!({"a": 1})),
            with(&good, "/metadata/annotations", json!({"purlin.dev/protect": "yes"})),
            with(&good, "/metadata/annotations", json!({"purlin.dev/other": "yes"})),
            with(&good, "/spec", json!([])),
            with(&good, "/spec/forProvider", json!([])),
            with(&good, "/spec/deletionPolicy", json!("Retain")),
            with(&good, "/spec/managementPolicies", json!(["Update"])),
            with(&good, "/spec/managementPolicies", json!(["*", "Update"])),
            with(&good, "/spec/providerConfigRef", json!({})),
        ],
    );
}

#[test]
fn schema_and_reader_agree_on_definitions() {
    let good = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "d"},
        "spec": {
            "type": "acme/*", "driver": "purlin/echo@^1.2", "driver_account": "x",
            "inputs": {"values": {"a": "${context.app.id}"}, "secrets": {}},
            "provision": {"dns.public": {"is_dependent": true, "match_dependents": false, "params": {}}, "x": {}},
            "criteria": [{}, {"app_id": "a", "class": "big"}],
            "lifecycle": {
                "protect": true, "retain": false, "delete_before_replace": false,
                "ignore_changes": ["values.a", "/values/a~1b/*", "account", "params.list[0]['a.b']", "values[*].x"],
                "replace_on_changes": ["/secrets", "values.*.size"],
                "replace_with": ["dns.@#x", "vpc"], "deleted_with": "vpc#@", "depends_on": ["dns#x"],
            },
        },
    });
    agree(
        SchemaKind::Definition,
        true,
        [
            good.clone(),
            with(&good, "/spec/criteria", json!({})),
            with(
                &good,
                "/spec/requires",
                json!([{"name": "db", "bundle": "a", "parameters": {"x": "${params.y}"}}]),
            ),
            with(&with(&good, "/spec/criteria", Value::Null), "/criteria", json!([{}])),
        ],
    );
    agree(
        SchemaKind::Definition,
        false,
        [
            with(&good, "/metadata", Value::Null),
            with(&good, "/metadata/id", json!("")),
            with(&good, "/metadata/nam", json!("x")),
            with(&good, "/spec", Value::Null),
            with(&good, "/spec/type", json!("a b")),
            with(&good, "/spec/driver", Value::Null),
            with(&good, "/spec/driver", json!("/echo")),
            with(&good, "/spec/driver_account", json!(3)),
            with(&good, "/spec/drivr", json!("x")),
            with(&good, "/spec/inputs/values", json!([])),
            with(&good, "/spec/inputs/secret_refs", json!({})),
            with(&good, "/spec/inputs/more", json!({})),
            with(&good, "/spec/provision/x", json!({"is_dependent": "yes"})),
            with(&good, "/spec/criteria", json!([{"app": "x"}])),
            with(&good, "/spec/criteria", json!([{"app_id": 1}])),
            with(&good, "/spec/criteria", json!([{"class": "Big"}])),
            with(&good, "/spec/criteria", json!("x")),
            with(&good, "/criteria", json!([])),
            with(&good, "/spec/lifecycle/protect", json!("x")),
            with(&good, "/spec/lifecycle/delete_before_replace", json!("no")),
            with(&good, "/spec/lifecycle/ignore_changes", json!(["a"])),
            with(&good, "/spec/lifecycle/ignore_changes", json!(["/a/b"])),
            with(&good, "/spec/lifecycle/ignore_changes", json!(["/values/~"])),
            with(&good, "/spec/lifecycle/ignore_changes", json!(["values.a b"])),
            with(&good, "/spec/lifecycle/ignore_changes", json!(["values.a*"])),
            with(&good, "/spec/lifecycle/ignore_changes", json!(["account.x"])),
            with(&good, "/spec/lifecycle/ignore_changes", json!("values.a")),
            with(&good, "/spec/lifecycle/replace_on_changes", json!(["values."])),
            with(&good, "/spec/lifecycle/replace_with", json!(["dns<x"])),
            with(&good, "/spec/lifecycle/deleted_with", json!(["vpc"])),
            with(&good, "/spec/lifecycle/depends_on", json!(["dns.Big"])),
            with(&good, "/spec/lifecycle/prevent_destroy", json!(true)),
            with(&good, "/spec/lifecycle/aliases", json!([])),
            with(&good, "/spec/lifecycle/import", json!("i-1")),
            with(&good, "/spec/lifecycle/observe", json!("i-1")),
            with(&good, "/spec/requires", json!([{"name": "db"}])),
            with(&good, "/spec/requires", json!([{"name": "db", "bundle": "a", "outputs": {}}])),
        ],
    );
}

#[test]
fn schema_and_reader_agree_on_deployments() {
    let good = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Deployment", "metadata": {"name": "shop"},
        "spec": {
            "org": "acme", "app": "shop", "env": {"id": "dev", "type": "development"}, "namespace": "",
            "values": {"a": [1, "${context.app.id}"]},
            "workloads": [{"metadata": {"name": "web"}, "containers": {"main": {"image": "x"}}}],
            "shared": {"db": {"type": "postgres", "class": "big", "id": "main", "params": {"a": 1}}},
        },
    });
    agree(
        SchemaKind::Deployment,
        true,
        [good.clone(), with(&good, "/spec/env", json!("dev")), with(&good, "/spec", json!({}))],
    );
    agree(
        SchemaKind::Deployment,
        false,
        [
            with(&good, "/spec", Value::Null),
            with(&good, "/spec/app", json!("a::b")),
            with(&good, "/spec/app", json!("a/b")),
            with(&good, "/spec/app", json!("a b")),
            with(&good, "/spec/app", json!("")),
            with(&good, "/spec/env/id", Value::Null),
            with(&good, "/spec/env/kind", json!("x")),
            with(&good, "/spec/env", json!(1)),
            with(&good, "/spec/values", json!([])),
            with(&good, "/spec/workloads", json!({})),
            with(&good, "/spec/workloads", json!([{"containers": {"main": {"image": "x"}}}])),
            with(&good, "/spec/workloads", json!([{"score": "x.yaml", "containers": {}}])),
            with(&good, "/spec/shared/db/type", Value::Null),
            with(&good, "/spec/shared/db/clas", json!("x")),
            with(&good, "/spec/shared/db/class", json!("Big")),
            with(&good, "/spec/shared/db/id", json!("a b")),
            with(&good, "/spec/shared/a#b", json!({"type": "x"})),
            with(&good, "/spec/requires", json!({})),
            with(&good, "/spec/requires", json!([{"name": "db"}])),
            with(&good, "/spec/requires", json!([{"name": "a/db", "bundle": "a"}])),
            with(&good, "/spec/requires", json!([{"name": "db", "bundle": "a b"}])),
            with(&good, "/spec/requires", json!([{"name": "db", "bundle": {}}])),
            with(&good, "/spec/requires", json!([{"name": "db", "bundle": "a", "outputs": {}}])),
            with(&good, "/spec/requires", json!([{"name": "db", "bundle": "a", "sharing": {"mode": "all"}}])),
            with(&good, "/metadata/id", json!("x")),
        ],
    );
}

#[test]
fn schema_and_reader_agree_on_bundles() {
    let good = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Bundle",
        "metadata": {"name": "localhost:5000/acme/app", "version": "1.0.0", "description": "An app."},
        "spec": {
            "driver": "purlin/echo@1.x",
            "inputs": {"values": {"size": "${bundle.parameters.size}"}, "secrets": {}},
            "parameters": [{"name": "size", "$id": "https://example.com/size", "type": "string", "default": "small"}],
            "credentials": [{"name": "token", "required": false}],
            "outputs": [{"name": "url", "sensitive": true}],
            "requires": [{
                "name": "db",
                "bundle": {"reference": "acme/db:v1.0.0", "version": "1.x", "interface": {"document": {"outputs": [{"name": "port"}]}}},
                "parameters": {"size": "${bundle.parameters.size}"}, "credentials": {"token": "${bundle.credentials.token}"},
                "outputs": {"url": "http://${outputs.host}"},
                "sharing": {"mode": "group", "group": {"name": "${installation.namespace}"}},
            }],
            "provides": {"interface": {"id": "https://example.com/app"}},
            "lifecycle": {"protect": true},
        },
    });
    let bundle = "/spec/requires/0/bundle";
    agree(
        SchemaKind::Bundle,
        true,
        [
            good.clone(),
            with(&good, "/spec", json!({})),
            with(&good, bundle, json!("acme/db:v1.0.0")),
            with(&good, bundle, json!({"interface": {"id": "x"}})),
            with(&good, "/spec/requires/0/sharing", json!({"mode": "none"})),
            with(&good, "/spec/requires/0/sharing", json!({"mode": false, "group": {}})),
        ],
    );
    let both = json!({"interface": {"reference": "acme/x", "document": {"outputs": []}}});
    agree(
        SchemaKind::Bundle,
        false,
        [
            with(&good, "/metadata/version", json!("1.0")),
            with(&good, "/metadata/version", Value::Null),
            with(&good, "/metadata/name", json!("acme/app:v1")),
            with(&good, "/spec/parameters/0/name", Value::Null),
            with(&good, "/spec/credentials/0/required", json!("no")),
            with(&good, "/spec/outputs", json!({})),
            with(&good, "/spec/steps", json!([])),
            with(&good, "/spec/inputs/secret_refs", json!({})),
            with(&good, "/spec/provides", json!({"interface": {}})),
            with(&good, bundle, both),
            with(&good, bundle, json!({"version": "1.x"})),
            with(&good, "/spec/requires/0/sharing", json!({"mode": "none", "group": {"name": "x"}})),
        ],
    );
}

#[test]
fn lifecycle_settings_of_deployments() {
    let good = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Deployment",
        "spec": {"app": "shop", "lifecycle": {
            "postgres#shared.db": {
                "protect": false, "retain": true, "delete_before_replace": true,
                "ignore_changes": ["values.a"], "replace_on_changes": ["/values/a"],
                "replace_with": ["dns.big#x"], "deleted_with": "vpc#@x", "depends_on": ["dns#x"],
                "aliases": ["postgres.big#old", "urn:purlin:dev/acme::shop::shared::postgres.default::old"],
                "import": "i-1$\\{x}$",
            },
            "acme/x.y-1#modules.web.externals.x": {"observe": "i-2"},
        }},
    });
    let mut outer = with(&good, "/spec/lifecycle", Value::Null);
    outer["lifecycle"] = good["spec"]["lifecycle"].clone();
    agree(
        SchemaKind::Deployment,
        true,
        [good.clone(), outer.clone(), with(&good, "/spec/lifecycle", json!({}))],
    );
    let mut twice = outer.clone();
    twice["spec"]["lifecycle"] = json!({});
    let db = "/spec/lifecycle/postgres#shared.db";
    let mut bad = vec![twice, with(&good, "/spec/lifecycle", json!([]))];
    for key in ["postgres", "postgres#@", "postgres.@#x", "postgres.Big#x", "a<b#x", "post gres#x", "protect"]
    {
        bad.push(with(&good, &format!("/spec/lifecycle/{key}"), json!({})));
    }
    for (field, value) in [
        ("protect", json!("yes")),
        ("observe", json!("i-2")),
        ("import", json!("")),
        ("import", json!(7)),
        ("import", json!("${values.id}")),
        ("aliases", json!("x#y")),
        ("aliases", json!(["x"])),
        ("aliases", json!(["urn:purlin:dev"])),
        ("aliases", json!(["urn:purlin:dev/acme::shop::shared::postgres::old"])),
        ("aliases", json!(["urn:aws:dev/acme::shop::shared::postgres.default::old"])),
        ("replace_with", json!(["dns"])),
        ("deleted_with", json!("dns.@#x")),
        ("depends_on", json!(["dns#@"])),
        ("ignore_changes", json!(["value.x"])),
        ("prevent_destroy", json!(true)),
    ] {
        bad.push(with(&good, &format!("{db}/{field}"), value));
    }
    agree(SchemaKind::Deployment, false, bad);
}

#[test]
fn schema_and_reader_agree_on_deployment_sets() {
    let good = json!({
        "modules": {"web": {
            "profile": "p/q", "spec": {"a": "${externals.db.host}"},
            "externals": {"db": {"type": "postgres"}}, "unknown": 1,
        }},
        "shared": {"dns": {"type": "dns", "class": "public"}},
        "version": 0,
    });
    agree(SchemaKind::DeploymentSet, true, [good.clone(), with(&good, "/shared", Value::Null)]);
    agree(
        SchemaKind::DeploymentSet,
        false,
        [
            with(&good, "/modules", json!([])),
            with(&good, "/modules/a:b", json!({})),
            with(&good, "/modules/a.externals.b", json!({})),
            with(&good, "/modules/web/spec", json!("x")),
            with(&good, "/modules/web/externals/db/type", json!(1)),
            with(&good, "/shared/dns/class", json!("A")),
            with(&good, "/shared/dns/size", json!(1)),
            with(&good, "/zone", json!({"type": "dns"})),
            with(&good, "/modules/web/zone", json!([1])),
        ],
    );
}

#[test]
fn schema_and_reader_agree_on_resource_types() {
    let good = json!({
        "apiVersion": "purlin.dev/v1", "kind": "ResourceType", "metadata": {"name": "n"},
        "spec": {
            "type": "postgres",
            "params": {"type": "object", "properties": {"net": {"type": "string", "x-reference": {"type": "vpc"}}}},
            "outputs": {"type": "object"},
        },
    });
    agree(SchemaKind::ResourceType, true, [good.clone(), with(&good, "/spec/params", Value::Null)]);
    agree(
        SchemaKind::ResourceType,
        false,
        [
            with(&good, "/spec/type", Value::Null),
            with(&good, "/spec/type", json!("a b")),
            with(&good, "/spec/params", json!({"type": "strin"})),
            with(&good, "/spec/params", json!({"properties": {"a": {"minLength": -1}}})),
            with(&good, "/spec/params", json!("x")),
            with(&good, "/spec/output", json!({})),
        ],
    );
}

/// What a schema says of a field that is left out is what applies then.
#[test]
fn the_defaults_of_a_workspace_are_those_that_apply() {
    let schema = schema(SchemaKind::Workspace);
    let spec = schema.pointer("/properties/spec/properties").expect("the settings");
    let default = |pointer: &str| spec.pointer(pointer).expect(pointer)["default"].clone();
    let limit =
        |name: &str| default(&format!("/drivers/additionalProperties/properties/limits/properties/{name}"));
    let names = [
        "memory",
        "time",
        "output",
        "log",
        "concurrency",
        "wait",
        "grace",
        "pending",
        "state",
        "response",
        "requests",
    ];
    let limits: Value = names.into_iter().map(|name| (name.to_owned(), limit(name))).collect();
    let postgres = |name: &str| default(&format!("/state/properties/postgres/properties/{name}"));
    let read = load_text(
        &json!({"apiVersion": "purlin.dev/v1", "kind": "Workspace", "spec": {
            "parallelism": default("/parallelism"),
            "reconcile": {"interval": default("/reconcile/properties/interval"), "drift": default("/reconcile/properties/drift")},
            "state": {"postgres": {
                "url": "postgres://purlin@db:5432/purlin", "schema": postgres("schema"), "lease": postgres("lease"),
            }, "audit": {"keep": default("/state/properties/audit/properties/keep")}},
            "secret_stores": {"vault": {
                "command": ["vault", "{ref}"], "time": default("/secret_stores/additionalProperties/properties/time"),
            }},
            "drivers": {"acme/db": {"source": "db.wasm", "limits": limits}},
        }})
        .to_string(),
    );
    assert!(!read.has_errors(), "{:?}", read.diagnostics);
    let workspace = read.workspace.expect("a workspace");
    assert_eq!(workspace.parallelism, Some(Workspace::PARALLELISM));
    assert_eq!(workspace.reconcile.interval, Some(Reconcile::INTERVAL));
    assert_eq!(workspace.reconcile.drift, Some(Reconcile::DRIFT));
    assert_eq!(workspace.audit_keep, Some(Workspace::AUDIT_KEEP));
    let database = workspace.database.expect("a database");
    assert_eq!(database.schema.as_deref(), Some(StateDatabase::SCHEMA));
    assert_eq!(database.lease, Some(StateDatabase::LEASE));
    let Some(SecretStoreKind::Command(command)) =
        workspace.secret_stores.get("vault").map(|store| &store.kind)
    else {
        panic!("no command: {:?}", workspace.secret_stores)
    };
    assert_eq!(command.time, Some(SecretCommand::TIME));
    let expected = Limits {
        memory: Some(Limits::MEMORY),
        time: Some(Limits::TIME),
        output: Some(Limits::OUTPUT),
        log: Some(Limits::LOG),
        concurrency: Some(Limits::CONCURRENCY),
        wait: Some(Limits::WAIT),
        grace: Some(Limits::GRACE),
        pending: Some(Limits::PENDING),
        state: Some(Limits::STATE),
        total: None,
        response: Some(Limits::RESPONSE),
        requests: Some(Limits::REQUESTS),
    };
    assert_eq!(workspace.drivers.get("acme/db").map(|driver| &driver.limits), Some(&expected));
}

#[test]
fn schema_and_reader_agree_on_workspaces() {
    let good = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Workspace",
        "spec": {
            "state": {"path": ".purlin"}, "key": {"command": ["pass", "purlin"]},
            "defaults": {"org": "a", "app": "b", "env": "c", "env_type": "d", "namespace": ""},
            "parallelism": 4,
            "secret_stores": {
                "local": {"file": "./secrets"}, "ci": {"env": ""}, "a.b-c_1": {"env": "SHOP_"},
                "pass": {"command": ["pass", "show", "a/{ref}"], "time": "5s"},
                "vault": {"driver": "acme/vault@^1", "values": {"address": "x"}, "secrets": {"token": "t"}},
            },
            "drivers": {"acme/postgres": {
                "source": "oci://x/y", "version": "^1",
                "grants": {
                    "env": ["A"], "dirs": [{"host": "./d", "guest": "/d", "mode": "rw"}],
                    "http": ["https://a.b/v1/*", "GET,POST http://[::1]:8080"], "tcp": ["db:5432", "10.0.0.0/8:*"],
                    "udp": ["[fd00::/8]:53-54"], "dns": ["*.internal", "*"], "addresses": ["10.0.0.0/8", "::1"],
                    "ca": ["ca.pem"], "secrets": ["vault"],
                },
                "limits": {"memory": "64MiB", "time": "30s", "output": "1MB", "log": "10 kB", "concurrency": 2,
                    "wait": "10s", "total": "10m", "response": "1MiB", "requests": 10},
            }},
        },
    });
    let mut flat = good["spec"].clone();
    flat["apiVersion"] = good["apiVersion"].clone();
    flat["kind"] = good["kind"].clone();
    agree(SchemaKind::Workspace, true, [good.clone(), flat.clone(), with(&good, "/spec", Value::Null)]);
    let driver = "/spec/drivers/acme~1postgres";
    let database = json!({"postgres": {
        "url": "postgresql://purlin@db.internal:5432/purlin?sslmode=require", "schema": "team_1",
        "password": {"store": "vault", "ref": "a/b"}, "ca": "ca.pem", "lease": "1m",
    }});
    agree(
        SchemaKind::Workspace,
        true,
        [
            with(&good, "/spec/state", database.clone()),
            with(&good, "/spec/state", json!({"postgres": {"url": "postgres://x"}})),
            with(&good, "/spec/state", json!({"path": "a", "audit": {"keep": "30d"}})),
            with(&good, "/spec/state", json!({"audit": {"keep": "30d"}})),
        ],
    );
    let in_database = with(&good, "/spec/state", database);
    let mut bad = vec![
        with(&flat, "/spec", json!({})),
        with(&flat, "/driver", json!({})),
        with(&good, "/spec/state", json!({})),
        with(&good, "/spec/state", json!({"path": "a", "postgres": {"url": "postgres://x"}})),
        with(&good, "/spec/state", json!({"audit": {"keep": "0d"}})),
        with(&good, "/spec/state", json!({"audit": {"keep": "long"}})),
        with(&in_database, "/spec/state/postgres", json!({})),
        with(&in_database, "/spec/state/postgres/url", json!("mysql://x")),
        with(&in_database, "/spec/state/postgres/schema", json!("Team")),
        with(&in_database, "/spec/state/postgres/lease", json!("soon")),
        with(&in_database, "/spec/state/postgres/password", json!("secret")),
        with(&good, "/spec/key", json!({})),
        with(&good, "/spec/key", json!({"file": "a", "env": "B"})),
        with(&good, "/spec/key", json!({"env": "A=B"})),
        with(&good, "/spec/key", json!({"command": []})),
        with(&good, "/spec/defaults/app", json!("a/b")),
        with(&good, "/spec/parallelism", json!(0)),
        with(&good, "/spec/drivers/a b", json!({})),
    ];
    for store in [
        json!({}),
        json!("x"),
        json!({"file": ""}),
        json!({"file": "a", "env": "B"}),
        json!({"env": "A B"}),
        json!({"env": "A="}),
        json!({"env": 1}),
        json!({"command": []}),
        json!({"command": ["pass"]}),
        json!({"command": ["pass", 1, "{ref}"]}),
        json!({"command": ["{ref}", "{ref}"]}),
        json!({"command": "pass {ref}"}),
        json!({"command": ["pass", "{ref}"], "time": "soon"}),
        json!({"file": "a", "time": "5s"}),
        json!({"env": "A", "values": {}}),
        json!({"driver": "a b"}),
        json!({"driver": "acme/vault", "values": []}),
        json!({"driver": "acme/vault", "secrets": "x"}),
        json!({"driver": "acme/vault", "time": "5s"}),
        json!({"fiel": "a"}),
    ] {
        bad.push(with(&good, "/spec/secret_stores/vault", store));
    }
    bad.push(with(&good, "/spec/secret_stores", json!([])));
    bad.push(with(&good, "/spec/secret_stores/a b", json!({"file": "x"})));
    bad.push(with(&good, "/spec/secret_stores/-a", json!({"file": "x"})));
    for (path, value) in [
        ("/version", json!(1)),
        ("/grants/http", json!(["ftp://a"])),
        ("/grants/http", json!(["https://u@a"])),
        ("/grants/http", json!("https://a")),
        ("/grants/tcp", json!(["db"])),
        ("/grants/udp", json!(["db:x"])),
        ("/grants/dns", json!(["10.0.0.0/8"])),
        ("/grants/addresses", json!(["db"])),
        ("/grants/ca", json!([""])),
        ("/grants/secrets", json!([1])),
        ("/grants/smtp", json!([])),
        ("/limits/requests", json!(0)),
        ("/limits/total", json!("soon")),
        ("/grants/env", json!(["A*"])),
        ("/grants/dirs", json!([{"host": "x"}])),
        ("/grants/dirs", json!([{"host": "x", "guest": "x"}])),
        ("/grants/dirs", json!([{"host": "x", "guest": "/x/../y"}])),
        ("/grants/dirs", json!([{"host": "x", "guest": "/x", "mode": "wr"}])),
        ("/limits/memory", json!("64")),
        ("/limits/memory", json!(64)),
        ("/limits/time", json!("0s")),
        ("/limits/concurrency", json!(1.5)),
        ("/limits/cpu", json!("1s")),
    ] {
        bad.push(with(&good, &format!("{driver}{path}"), value));
    }
    agree(SchemaKind::Workspace, false, bad);
}

#[test]
fn schema_and_reader_agree_on_locks() {
    let good = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Lock",
        "spec": {"drivers": {"acme/db": [{
            "version": "1.2.3-rc.1", "digest": format!("sha256:{}", "0123456789abcdef".repeat(4)),
            "imports": ["dirs"], "requests": ["dirs /data"], "grants": [],
        }]}},
    });
    let place = "/spec/drivers/acme~1db/0";
    let pin = |field: &str, value: Value| {
        let mut document = good.clone();
        let pin = document.pointer_mut(place).expect("a version").as_object_mut().expect("a map");
        match value {
            Value::Null => pin.shift_remove(field),
            value => pin.insert(field.to_owned(), value),
        };
        document
    };
    agree(
        SchemaKind::Lock,
        true,
        [good.clone(), pin("requests", Value::Null), with(&good, "/spec/drivers", json!({}))],
    );
    agree(
        SchemaKind::Lock,
        false,
        [
            with(&good, "/spec", Value::Null),
            with(&good, "/spec/drivers", Value::Null),
            with(&good, "/spec/driver", json!({})),
            with(&good, "/metadata", json!({})),
            with(&good, "/spec/drivers", json!({"a b": []})),
            with(&good, "/spec/drivers", json!({"acme/db": {}})),
            pin("version", Value::Null),
            pin("version", json!("^1")),
            pin("version", json!(1)),
            pin("digest", Value::Null),
            pin("digest", json!("0123456789abcdef".repeat(4))),
            pin("digest", json!("sha256:0123")),
            pin("imports", json!("dirs")),
            pin("grants", json!([1])),
            pin("limits", json!({})),
        ],
    );
}

#[test]
fn cases_of_drivers() {
    let good = json!({
        "cases": [{
            "name": "a", "type": "acme/db", "class": "big",
            "inputs": {"values": {"a": 1}, "secrets": {"p": "x"}, "params": {}, "account": {"name": "me"}},
            "update": {"values": {"a": null}}, "replace": {},
            "rotate": {"connection": {"token": "next"}},
            "invalid": [
                {"values": {"a": "x"}, "at": ["/values/a", "/secrets"]},
                {"inputs": {"values": {}}, "at": ["/values/a"]},
            ],
            "skip": [{"rule": "update.cut", "why": "slow"}],
        }],
        "skip": [],
    });
    let kind = SchemaKind::DriverCases;
    let without = |field: &str| with(&good, &format!("/cases/0/{field}"), Value::Null);
    agree(kind, true, [good.clone(), with(&good, "/skip", Value::Null)]);
    agree(kind, true, ["type", "class", "update", "replace", "rotate", "invalid", "skip"].map(without));
    agree(
        kind,
        false,
        [
            json!({}),
            json!([]),
            with(&good, "/cases/0/rotate", json!({})),
            with(&good, "/cases/0/rotate", json!({"connection": {}, "values": {}})),
            with(&good, "/cases", json!([])),
            with(&good, "/kind", json!("DriverCases")),
            with(&good, "/cases/0/name", Value::Null),
            with(&good, "/cases/0/name", json!("a b")),
            with(&good, "/cases/0/type", json!("a b")),
            with(&good, "/cases/0/class", json!("Big")),
            with(&good, "/cases/0/inputs", Value::Null),
            with(&good, "/cases/0/inputs", json!({"value": {}})),
            with(&good, "/cases/0/inputs/values", json!([])),
            with(&good, "/cases/0/inputs/account", json!("me")),
            with(&good, "/cases/0/updates", json!({})),
            with(&good, "/cases/0/invalid", json!([{"values": {}}])),
            with(&good, "/cases/0/invalid", json!([{"at": ["/value"]}])),
            with(&good, "/cases/0/invalid", json!([{"at": []}])),
            with(&good, "/cases/0/invalid", json!([{"inputs": {"x": {}}, "at": ["/values"]}])),
            with(&good, "/cases/0/skip", json!([{"rule": "x"}])),
            with(&good, "/skip", json!(["x"])),
        ],
    );
}
