//! Definitions that require bundles for their resources.

use purlin_systems::{Project, Ran};

const REQUIRING: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: database}
spec:
  type: database
  driver: purlin/echo
  requires:
    - name: server
      bundle: {reference: 'acme/server:v1.0.0', version: 1.x}
      parameters: {zone: '${values.zone}', size: \"${params.size ?? 'small'}\", net: \"${resources['network#main'].outputs.id}\"}
  inputs: {values: {url: 'db://${bundle.dependencies.server.outputs.host}/${context.res.id}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: network}
spec:
  type: network
  driver: purlin/echo
  requires: [{name: router, bundle: 'acme/router:v1.0.0', parameters: {zone: '${values.zone}'}}]
  inputs: {values: {id: 'net-of-${bundle.dependencies.router.outputs.name}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/server, version: 1.4.0}
spec:
  driver: purlin/echo
  parameters: [{name: zone, type: string}, {name: size, type: string}, {name: net, type: string}]
  inputs: {values: {host: '${bundle.parameters.size}.${bundle.parameters.net}'}}
  outputs: [{name: host, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/router, version: 1.0.0}
spec:
  driver: purlin/echo
  parameters: [{name: zone, type: string}]
  inputs: {values: {name: 'router-${bundle.parameters.zone}'}}
  outputs: [{name: name, type: string}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  values: {zone: north}
  shared:
    a: {type: database}
    b: {type: database, params: {size: big}}
";

/// Only a requirement reads the network, which brings it into the graph. The network itself
/// requires a router.
#[test]
fn requirements_of_definitions_are_installed_for_their_resources() {
    let project = Project::with(&[("all.yaml", REQUIRING)]);
    project.run(&["up", "--yes"]).status(0);
    let outputs = project.run(&["outputs", "--format", "json"]).status(0).out;
    let outputs: serde_json::Value = serde_json::from_str(&outputs).expect("JSON");
    let of = |key: &str| outputs["resources"][key].clone();
    assert_eq!(of("database.default#shared.a")["url"], "db://small.net-of-router-north/shared.a");
    assert_eq!(of("database.default#shared.b")["url"], "db://big.net-of-router-north/shared.b");
    assert_eq!(of("installation.default#main/router")["name"], "router-north");
    let up = project.run(&["up", "--yes"]).status(0);
    assert!(up.err.contains("Nothing to change"), "{}", up.err);
    // Resources that are no longer required are deleted, after the ones that required them.
    project.write("all.yaml", REQUIRING.replace("    b: {type: database, params: {size: big}}\n", ""));
    let up = project.run(&["up", "--yes"]).status(0);
    let deleted = |key: &str| up.err.find(&format!("deleted {key}"));
    let (database, server) =
        (deleted("database.default#shared.b"), deleted("installation.default#shared.b/server"));
    assert!(database.is_some() && database < server, "{}", up.err);
    project.run(&["destroy", "--yes"]).status(0);
    assert_eq!(project.run(&["outputs"]).status(0).out, "workloads: {}\nresources: {}\n");
}

#[test]
fn errors_in_requirements_of_definitions_are_reported_before_anything_runs() {
    let mut transcript = String::new();
    for (from, to) in [
        ("dependencies.server.outputs.host", "dependencies.servre.outputs.host"),
        ("dependencies.server.outputs.host", "dependencies.server.outputs.port"),
        ("${bundle.dependencies.server.outputs.host}", "${bundle.parameters.host}"),
        ("'acme/router:v1.0.0'", "'acme/ruter:v1.0.0'"),
        ("size: \"${params.size ?? 'small'}\", ", ""),
        ("{zone: '${values.zone}'}}]", "{zone: \"${resources['database#shared.a'].outputs.url}\"}}]"),
        (
            "  requires: [{name: router, bundle: 'acme/router:v1.0.0', parameters: {zone: '${values.zone}'}}]\n",
            "",
        ),
        ("parameters: {zone: '${values.zone}'}}]", "outputs: {x: y}}]"),
    ] {
        assert!(REQUIRING.contains(from), "{from}");
        let project = Project::with(&[("all.yaml", &REQUIRING.replacen(from, to, 1))]);
        let Ran { status, err, .. } = project.run(&["up", "--yes"]);
        assert_eq!(status, 2, "{from}: {err}");
        assert!(!project.path().join(".purlin").exists(), "{from}");
        transcript.push_str(&format!("{from} → {to}\n{err}\n"));
    }
    insta::assert_snapshot!(transcript);
}

/// A resource requires the router, but only the server's requirement brings this resource into the
/// graph.
#[test]
fn users_can_set_values_that_definitions_leave_open() {
    let documents = REQUIRING
        .replace("size: \"${params.size ?? 'small'}\", ", "")
        .replace(", parameters: {zone: '${values.zone}'}}]", "}]");
    let project = Project::with(&[("all.yaml", &documents)]);
    let open = project.run(&["plan"]).status(2).err;
    for name in ["main/router.zone", "shared.a/server.size", "shared.b/server.size"] {
        assert!(open.contains(&format!("`--param {name}=VALUE`")), "{open}");
    }
    let settings = ["main/router.zone=east", "shared.a/server.size=big", "shared.b/server.size=small"];
    let words: Vec<&str> = settings.iter().flat_map(|one| ["--param", one]).collect();
    project.run(&[&["up", "--yes"][..], &words].concat()).status(0);
    let outputs = project.run(&["outputs"]).status(0).out;
    assert!(outputs.contains("db://big.net-of-router-east/shared.a"), "{outputs}");
    assert!(project.run(&["up", "--yes"]).status(0).err.contains("Nothing to change"), "it is remembered");
    let wrong = project.run(&["plan", "--param", "shared.a/server.sise=big"]).status(2).err;
    assert_eq!(wrong.matches("error[").count(), 1, "{wrong}");
    assert!(wrong.contains("unknown-answer") && wrong.contains("shared.a/server.size"), "{wrong}");
}

/// A requirement of the resource of a workload can be shared like any other.
#[test]
fn requirements_of_definitions_for_workloads_are_shared_with_other_applications() {
    let documents = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: database}
spec:
  type: database
  driver: purlin/echo
  requires: [{name: server, bundle: 'acme/server:v1.0.0', parameters: {zone: north}}]
  inputs: {values: {url: 'db://${bundle.dependencies.server.outputs.host}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/server, version: 1.0.0}
spec:
  driver: purlin/echo
  parameters: [{name: zone, type: string}]
  inputs: {values: {host: '${bundle.parameters.zone}'}}
  outputs: [{name: host, type: string}]
---
apiVersion: score.dev/v1b1
metadata: {name: web}
containers: {main: {image: x, variables: {URL: '${resources.db.url}'}}}
resources: {db: {type: database}}
";
    let project = Project::with(&[("all.yaml", documents)]);
    let of = |app: &str, words: &[&str]| project.run(&[words, &["--app", app, "--env", "dev"]].concat());
    of("one", &["up", "--yes"]).status(0);
    let second = of("two", &["up", "--yes", "--new-environment"]).status(0);
    assert!(!second.err.contains("left-out"), "{}", second.err);
    let listed = project.run(&["installations", "list", "--format", "json"]).status(0).out;
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let installations = listed["installations"].as_array().expect("a list");
    let users = |one: &serde_json::Value| one["users"].as_array().map(Vec::len);
    assert_eq!(installations.iter().map(users).collect::<Vec<_>>(), [Some(1)], "{listed}");
    let refused = of("one", &["destroy", "--yes"]);
    assert!(refused.status == 2 && refused.err.contains("in-use"), "{}", refused.err);
    of("two", &["destroy", "--yes"]).status(0);
    of("one", &["destroy", "--yes"]).status(0);
}
