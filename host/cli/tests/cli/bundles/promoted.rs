//! Outputs of requirements that a bundle passes on as its own.

use purlin_systems::Project;

/// A promoted output of a bundle with a driver is like an output of the driver. It appears in
/// `purlin outputs`, other applications can use it, and it is never older than the outputs of the
/// requirement that it reads.
#[test]
fn outputs_of_requirements_are_promoted_next_to_those_of_a_driver() {
    let documents = |host: &str| {
        format!(
            "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {{name: acme/server, version: 1.0.0}}
spec:
  driver: purlin/echo
  credentials: [{{name: root, type: string}}]
  inputs: {{values: {{host: {host}}}, secrets: {{password: '${{bundle.credentials.root}}'}}}}
  outputs: [{{name: host, type: string}}, {{name: password, type: string}}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {{name: acme/store, version: 1.0.0}}
spec:
  driver: purlin/echo
  inputs: {{values: {{bucket: media}}}}
  outputs: [{{name: bucket, type: string}}]
  requires:
    - name: server
      bundle: 'acme/server:v1.0.0'
      credentials: {{root: correct-horse}}
      outputs: {{address: 'tcp://${{outputs.host}}:80/$\\{{x}}', login: 'root:${{outputs.password}}'}}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: site}}
spec:
  type: site
  driver: purlin/echo
  requires: [{{name: store, bundle: 'acme/store:v1.0.0'}}]
  inputs: {{values: {{reads: '${{bundle.dependencies.store.outputs.bucket}} ${{bundle.dependencies.store.outputs.address}}'}}}}
  criteria: [{{}}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  shared: {{site: {{type: site}}}}
"
        )
    };
    let project = Project::with(&[("all.yaml", &documents("a.local"))]);
    let of = |app: &str, words: &[&str]| project.run(&[words, &["--app", app, "--env", "dev"]].concat());
    let outputs = |app: &str, words: &[&str]| -> serde_json::Value {
        let words = [&["outputs", "--format", "json"], words].concat();
        serde_json::from_str(&of(app, &words).status(0).out).expect("JSON")
    };
    of("one", &["up", "--yes"]).status(0);
    let store = outputs("one", &[])["resources"]["installation.default#shared.site/store"].clone();
    assert_eq!((&store["bucket"], &store["address"]), (&"media".into(), &"tcp://a.local:80/${x}".into()));
    assert!(!store.to_string().contains("correct-horse"), "{store}");
    let shown = outputs("one", &["--show-secrets"]);
    assert_eq!(shown["resources"]["installation.default#shared.site/store"]["login"], "root:correct-horse");
    // Another application uses it.
    let site = |app: &str| outputs(app, &[])["resources"]["site.default#shared.site"]["reads"].clone();
    of("two", &["up", "--yes", "--new-environment"]).status(0);
    assert_eq!(site("two"), "media tcp://a.local:80/${x}");
    assert!(of("two", &["up", "--yes"]).status(0).err.contains("Nothing to change"));
    // Only the requirement changes.
    project.write("all.yaml", documents("b.local"));
    of("one", &["up", "--yes"]).status(0);
    let store = outputs("one", &[])["resources"]["installation.default#shared.site/store"].clone();
    assert_eq!(store["address"], "tcp://b.local:80/${x}");
    of("two", &["up", "--yes"]).status(0);
    assert_eq!(site("two"), "media tcp://b.local:80/${x}");
}

/// Promoted outputs of bundles with drivers, two levels deep: one with a parameter of the bundle
/// that promotes it, one that is a map, and one that a Deployment reads by the name of the
/// installation.
const PROMOTED: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/server, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {host: a.local, ports: [80, 443], meta: {zone: x}}}
  outputs: [{name: host, type: string}, {name: ports, type: array}, {name: meta, type: object}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/mid, version: 1.0.0}
spec:
  driver: purlin/echo
  parameters: [{name: suffix, type: string, default: \"it's\"}]
  inputs: {values: {own: mid}}
  outputs: [{name: own, type: string}]
  requires:
    - name: server
      bundle: {reference: 'acme/server:v1.0.0'}
      outputs:
        port: '${outputs.ports[1]}'
        all: {h: '${outputs.host | upper}', p: ['${outputs.ports[0]}', 5], z: '${outputs.meta.zone ?? \"none\"}'}
        suffixed: '${outputs.host}/${bundle.parameters.suffix | urlencode}'
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/top, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {own: top}}
  outputs: [{name: own, type: string}]
  requires:
    - name: mid
      bundle: {reference: 'acme/mid:v1.0.0'}
      outputs: {url: 'x://${outputs.suffixed}:${outputs.port}', copy: '${outputs.all}', named: '${installation.name} in ${context.env.id}'}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  requires: [{name: top, bundle: 'acme/top:v1.0.0'}]
  shared: {site: {type: site, params: {url: \"${resources['installation#top'].outputs.url}\", z: \"${resources['installation#top'].outputs.copy.z}\", n: \"${resources['installation#top'].outputs.named}\"}}}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: site}
spec: {type: site, driver: purlin/echo, inputs: {values: {url: '${params.url}', z: '${params.z}', n: '${params.n}'}}, criteria: [{}]}
";

#[test]
fn a_deployment_reads_promoted_outputs() {
    let project = Project::with(&[("all.yaml", PROMOTED)]);
    let outputs = |project: &Project| -> serde_json::Value {
        let outputs = project.run(&["outputs", "--format", "json"]).status(0).out;
        serde_json::from_str::<serde_json::Value>(&outputs).expect("JSON")["resources"].take()
    };
    project.run(&["up", "--yes"]).status(0);
    let now = outputs(&project);
    let all = serde_json::json!({"h": "A.LOCAL", "p": [80, 5], "z": "x"});
    let url = |host: &str| format!("x://{host}/it%27s:443");
    assert_eq!(
        now["installation.default#top"],
        serde_json::json!({"own": "top", "url": url("a.local"), "copy": all, "named": "top in development"})
    );
    assert_eq!(
        now["site.default#shared.site"],
        serde_json::json!({"url": url("a.local"), "z": "x", "n": "top in development"})
    );
    assert!(project.run(&["up", "--yes"]).status(0).err.contains("Nothing to change"));
    // They change in the same run as the server.
    project.write("all.yaml", PROMOTED.replace("host: a.local", "host: b.local"));
    let up = project.run(&["up", "--yes"]).status(0);
    assert!(up.err.contains("2 updated"), "{}", up.err);
    assert_eq!(outputs(&project)["site.default#shared.site"]["url"], url("b.local"));
    let wrong = PROMOTED.replace("outputs.url}", "outputs.urll}");
    project.write("all.yaml", wrong);
    let refused = project.run(&["plan"]).status(2).err;
    assert!(refused.contains("unknown-output") && refused.contains("did you mean `url`"), "{refused}");
    project.run(&["destroy", "--yes"]).status(0);
}

/// Each of forty bundles promotes the output of the next one twice. Computing it again for each
/// reader would not end.
#[test]
fn outputs_that_are_promoted_twice_at_each_level_are_computed_once() {
    const LEVELS: usize = 40;
    let level = |number: usize| {
        let next = number + 1;
        format!(
            "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {{name: acme/l{number}, version: 1.0.0}}
spec:
  driver: purlin/echo
  requires: [{{name: a, bundle: 'acme/l{next}:v1.0.0', outputs: {{x: '${{outputs.x}}${{outputs.x}}'}}}}]
---
"
        )
    };
    let mut documents: String = (0..LEVELS).map(level).collect();
    documents.push_str(&format!(
        "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {{name: acme/l{LEVELS}, version: 1.0.0}}
spec: {{driver: purlin/echo, inputs: {{values: {{x: ''}}}}, outputs: [{{name: x, type: string}}]}}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec: {{requires: [{{name: top, bundle: 'acme/l0:v1.0.0'}}]}}
"
    ));
    let project = Project::with(&[("all.yaml", &documents)]);
    project.run(&["up", "--yes"]).status(0);
    let outputs = project.run(&["outputs", "--format", "json"]).status(0).out;
    let outputs: serde_json::Value = serde_json::from_str(&outputs).expect("JSON");
    assert_eq!(outputs["resources"]["installation.default#top"], serde_json::json!({"x": ""}));
}
