//! `purlin/postgres` against a real PostgreSQL server.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod connections;
mod deletion;
mod kills;
mod life;
mod rights;

use purlin_systems::Project;
use purlin_systems::tools::component;
use serde_json::{Value, json};

/// How many seconds the driver has to connect: more than any machine needs.
const TIMEOUT: u32 = 120;

/// How the driver reaches a server, and with which role.
fn server(port: u16) -> Value {
    json!({"host": "127.0.0.1", "port": port, "tls": "disable", "connect_timeout": TIMEOUT})
}

/// A workspace for an environment, which may reach these ports.
fn workspace(environment: &str, server: &Value, password: &str) -> Project {
    let port = &server["port"];
    let workspace = Project::empty();
    workspace.write(
        "purlin.yaml",
        json!({
            "apiVersion": "purlin.dev/v1", "kind": "Workspace", "spec": {
                "defaults": {"org": "acme", "app": "shop", "env": environment, "env_type": "development"},
                "drivers": {"purlin/postgres": {
                    "source": component("postgres"),
                    "grants": {"tcp": [format!("127.0.0.1:{port}"), format!("localhost:{port}")], "addresses": ["127.0.0.1"]},
                    "limits": {"time": "10m"},
                }},
            },
        })
        .to_string(),
    );
    definitions(&workspace, server, password);
    workspace
}

/// One definition for each kind of thing.
fn definitions(workspace: &Project, server: &Value, password: &str) {
    let mut connection = server.clone();
    connection["password"] = password.into();
    let definition = |kind: &str, secrets: Value| {
        let values = json!({kind: format!("${{params.{kind}}}")});
        json!({
            "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": format!("pg-{kind}")},
            "spec": {
                "type": format!("pg-{kind}"), "driver": "purlin/postgres",
                "inputs": {"connection": connection, "values": values, "secrets": secrets}, "criteria": [{}],
            },
        })
    };
    let all = [
        definition("role", json!({"role_password": "${params.password}"})),
        definition("database", json!({})),
        definition("grant", json!({})),
    ];
    let texts: Vec<String> = all.iter().map(Value::to_string).collect();
    workspace.write("definitions.yaml", texts.join("\n---\n"));
}

/// The wanted objects.
fn wanted(workspace: &Project, shared: &Value) {
    let deployment = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {"shared": shared},
    });
    workspace.write("deployment.json", deployment.to_string());
}

fn role(name: &str, more: Value) -> Value {
    let mut role = json!({"name": name});
    if let (Value::Object(role), Value::Object(more)) = (&mut role, more) {
        role.extend(more);
    }
    json!({"type": "pg-role", "params": {"role": role, "password": "the app's secret: %&/?"}})
}

fn database(name: &str, more: Value) -> Value {
    let mut database = json!({"name": name});
    if let (Value::Object(database), Value::Object(more)) = (&mut database, more) {
        database.extend(more);
    }
    json!({"type": "pg-database", "params": {"database": database}})
}

const ROLE: &str = "${resources['pg-role.default#shared.role'].outputs.username}";
const DATABASE: &str = "${resources['pg-database.default#shared.db'].outputs.name}";
