//! `purlin/http` against a service that misbehaves as services do, and against an API of another
//! project.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod doubt;
mod kill;
mod life;
mod recorded;
mod refusal;
mod waiting;

use purlin_systems::rest::Service;
use purlin_systems::tools::component;
use purlin_systems::{Project, Ran};
use serde_json::{Value, json};

const THING: &str = "thing.default#shared.thing";

/// The time limit of a call: more than any machine needs.
/// The service shows everything at once.
const TIME: &str = "grace: 0s, time: 10m";

/// A workspace with one resource, `thing.default#shared.thing`.
struct Scene {
    workspace: Project,
}

impl Scene {
    fn new(url: &str, values: &Value, secrets: &Value) -> Self {
        let scene = Self { workspace: Project::empty() };
        scene.settings(&format!("http: [\"{url}/*\"]"), TIME);
        scene.wants(values, secrets, &json!({}));
        scene
    }

    fn settings(&self, grants: &str, limits: &str) {
        self.workspace.write(
            "purlin.yaml",
            format!(
                "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{org: acme, app: shop, env: dev, env_type: development}}\n  drivers:\n    purlin/http:\n      source: {}\n      grants: {{{grants}}}\n      limits: {{{limits}}}\n",
                component("http").display()
            ),
        );
    }

    /// `values` has the URL as well, and `secrets` the credentials: both are parts of the connection.
    fn wants(&self, values: &Value, secrets: &Value, params: &Value) {
        let (mut values, mut secrets, mut connection) = (values.clone(), secrets.clone(), json!({}));
        for part in [&mut values, &mut secrets] {
            for name in ["base_url", "bearer", "basic"] {
                if let Some(value) = part.as_object_mut().and_then(|part| part.remove(name)) {
                    connection[name] = value;
                }
            }
        }
        if let Some(headers) = secrets.as_object_mut().and_then(|secrets| secrets.remove("headers")) {
            connection["headers"] = headers;
        }
        let definition = json!({
            "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "thing"},
            "spec": {
                "type": "thing", "driver": "purlin/http", "criteria": [{}],
                "inputs": {"connection": connection, "values": values, "secrets": secrets},
            },
        });
        let shared = json!({"thing": {"type": "thing", "params": params}});
        let deployment = json!({
            "apiVersion": "purlin.dev/v1", "kind": "Deployment", "metadata": {"name": "shop"},
            "spec": {"shared": shared},
        });
        self.workspace.write("definition.json", definition.to_string());
        self.workspace.write("deployment.json", deployment.to_string());
    }

    fn up(&self) -> Ran {
        self.workspace.purlin(&["up", "--yes"])
    }

    fn fails(&self) -> Ran {
        self.workspace.run(&["up", "--yes"]).status(1)
    }

    fn outputs(&self) -> Value {
        let done = self.workspace.purlin(&["outputs", "--format", "json", "--show-secrets"]);
        done.json()["resources"][THING].clone()
    }
}

/// A thing with an id of the server's choice, which can be found by name and mark.
fn found(url: &str, name: &str) -> Value {
    json!({
        "base_url": url,
        "name": name,
        "create": {"path": "/things", "body": {"name": name, "size": 1, "owner": "${context.res.guresid}"}},
        "update": {"method": "PATCH"},
        "find": {"path": "/things?name={name}", "items": "/items", "name": "/name", "next": "/next"},
        "mark": "/owner",
        "observe": {"/create/body/size": "/size"},
        "outputs": {"size": "/size"},
        "secret_outputs": {"token": "/token"},
    })
}

/// A thing that cannot be found.
fn lost(url: &str) -> Value {
    let mut values = found(url, "lost");
    values.as_object_mut().expect("an object").retain(|name, _| name != "find" && name != "mark");
    values
}

/// A thing whose name is its id.
fn named(url: &str, name: &str) -> Value {
    json!({
        "base_url": url,
        "name": name,
        "id": {"name": true},
        "create": {"path": "/things/{name}", "body": {"size": 1}},
        "update": {},
        "observe": {"/create/body/size": "/size"},
    })
}

fn size(mut values: Value, size: u32) -> Value {
    values["create"]["body"]["size"] = json!(size);
    values
}

/// All things of a name.
fn things(service: &Service, name: &str) -> Vec<Value> {
    service.all("things").into_values().filter(|thing| thing["name"] == name).collect()
}

/// Tries something with little time for a call. On a busy machine, the host may end the call before
/// the driver notices that its time is over: then there is another try with twice as much.
#[track_caller]
fn with_little_time<T>(try_it: impl Fn(&str) -> Option<T>) -> T {
    for seconds in [1, 2, 4, 8, 16, 32, 64, 128] {
        if let Some(done) = try_it(&format!("grace: 0s, time: {seconds}s")) {
            return done;
        }
    }
    panic!("the driver never notices that the time of a call is over");
}

fn none() -> Value {
    json!({})
}

fn asynchronous(url: &str, name: &str) -> Value {
    let mut values = found(url, name);
    values["secret_outputs"] = json!({});
    values["operation"] = json!({
        "header": "operation-location",
        "id": "/result/id",
        "until": {"pointer": "/state", "equals": "done"},
        "fail": {"pointer": "/state", "equals": "failed"},
        "every_ms": 50,
    });
    values
}
