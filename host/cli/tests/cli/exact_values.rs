//! What the documents say is what drivers, `outputs` and `export` have (SPEC §4, §5).

use purlin_systems::Project;
use serde_json::json;

const DEFINITIONS: &str = r#"
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: w}
spec: {type: workload, driver: purlin/echo, inputs: {values: {s: 1}}, criteria: [{}]}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: db}
spec:
  type: postgres
  driver: purlin/echo
  inputs:
    values: {port: 5432, "on": true, map: {k: [1]}, cluster: {a: 1, c: {d: 1}}, plain: {x: 1}}
    secrets: {cluster: {b: s, c: {e: t}}, plain: text}
  criteria: [{}]
"#;

/// A resource of the type `workload` is the declared workload: both documents stay whole.
#[test]
fn each_workload_keeps_its_document() {
    let score = |name: &str, rest: &str| {
        format!(
            "apiVersion: score.dev/v1b1\nmetadata: {{name: {name}}}\ncontainers: {{main: {{image: i, variables: {{A: b}}}}}}\n{rest}"
        )
    };
    let project = Project::with(&[
        ("platform.yaml", DEFINITIONS),
        ("web.yaml", &score("web", "resources: {front: {type: workload}}\n")),
    ]);
    let refused = project.run(&["up", "--yes", "--app", "shop", "--env", "dev"]).status(2);
    assert!(refused.err.contains("error[unknown-workload]"), "{}", refused.err);
    project.write("front.yaml", score("front", ""));
    project.run(&["up", "--yes", "-q", "--app", "shop", "--env", "dev"]).status(0);
    let outputs =
        project.run(&["outputs", "--app", "shop", "--env", "dev", "--format", "json"]).status(0).json();
    let spec = json!({"containers": {"main": {"image": "i", "variables": {"A": "b"}}}});
    assert_eq!(
        outputs["workloads"],
        json!({
            "front": {"metadata": {"name": "front"}, "spec": spec},
            "web": {"metadata": {"name": "web"}, "spec": spec},
        })
    );
    project.run(&["export", "out", "--app", "shop", "--env", "dev"]).status(0);
    for name in ["web", "front"] {
        let files: Vec<_> = walk(&project.path().join("out"));
        let holds = |text: &String| text.contains(&format!("name: {name}")) && text.contains("image: i");
        assert!(files.iter().any(holds), "{name}: {files:?}");
    }
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => texts.extend(walk(&path)),
            path => texts.push(std::fs::read_to_string(path).unwrap()),
        }
    }
    texts
}

/// Variables and files are texts, params keep the type, and echo returns what the plan promised.
#[test]
fn values_reach_texts_params_and_outputs_exactly() {
    let project = Project::with(&[
        ("platform.yaml", DEFINITIONS),
        (
            "more.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: dns}\nspec:\n  type: dns\n  driver: purlin/echo\n  inputs: {values: {port: '${params.port}'}}\n  criteria: [{}]\n",
        ),
        (
            "web.yaml",
            r#"
apiVersion: score.dev/v1b1
metadata: {name: web}
containers:
  main:
    image: i
    variables: {PORT: "${resources.db.port}", ON: "${resources.db.on}", MAP: "${resources.db.map}"}
    files: {/f: {content: "${resources.db.map}"}}
resources:
  db: {type: postgres}
  dns: {type: dns, params: {port: "${resources.db.port}"}}
"#,
        ),
    ]);
    let context = ["--app", "shop", "--env", "dev"];
    project.run(&[&["up", "--yes", "-q"][..], &context].concat()).status(0);
    let shown = [&["outputs", "--format", "json", "--show-secrets"][..], &context].concat();
    let outputs = project.run(&shown).status(0).json();
    let main = &outputs["workloads"]["web"]["spec"]["containers"]["main"];
    assert_eq!(main["variables"], json!({"PORT": "5432", "ON": "true", "MAP": r#"{"k":[1]}"#}));
    assert_eq!(main["files"]["/f"]["content"], json!(r#"{"k":[1]}"#));
    let resources = &outputs["resources"];
    assert_eq!(resources["dns.default#modules.web.externals.dns"]["port"], json!(5432));
    let db = &resources["postgres.default#modules.web.externals.db"];
    assert_eq!(db["cluster"], json!({"a": 1, "b": "s", "c": {"d": 1, "e": "t"}}));
    assert_eq!(db["plain"], json!("text"));
    // There is nothing left to change.
    project.run(&[&["plan", "--detailed-exitcode"][..], &context].concat()).status(0);
}

/// The names of the outputs of a template are known once its inputs are.
#[test]
fn an_unknown_output_of_a_template_is_found_before_anything_runs() {
    let definition = |id: &str, inputs: &str| {
        format!(
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: {id}}}\nspec:\n  type: {id}\n  driver: purlin/{}\n  inputs: {{values: {inputs}}}\n  criteria: [{{}}]\n---\n",
            if id == "reader" { "echo" } else { "template" }
        )
    };
    let of = |template: &str, read: &str| {
        let reader = format!("{{x: \"${{resources['rt#shared.rt'].outputs.{read}}}\"}}");
        Project::with(&[
            ("platform.yaml", &(definition("rt", template) + &definition("reader", &reader))),
            (
                "deploy.yaml",
                "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n  env: dev\n  shared: {rt: {type: rt}, reader: {type: reader}}\n",
            ),
        ])
    };
    let known = "{templates: {outputs: 'a: 1', secrets: 's: {{ randAlphaNum 5 }}'}}";
    let project = of(known, "b");
    let refused = project.run(&["up", "--yes"]).status(2);
    assert!(refused.err.contains("error[unknown-output]"), "{}", refused.err);
    assert_eq!(project.recorded(), [""; 0]);
    for name in ["a", "s"] {
        of(known, name).run(&["up", "--yes", "-q"]).status(0);
    }
    // What one of its inputs decides is known only later.
    let unknown =
        "{name: \"${resources.random.outputs.value}\", templates: {outputs: '{{ .driver.values.name }}: 1'}}";
    let random = "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: random}\nspec: {type: random, driver: purlin/random, criteria: [{}]}\n";
    let project = of(unknown, "b");
    project.write("random.yaml", random);
    let failed = project.run(&["up", "--yes"]).status(1);
    assert!(failed.err.contains("has no `b`") || failed.err.contains("unknown-output"), "{}", failed.err);
}

/// `.values` of a resource in a definition of Humanitec are its outputs, whatever the driver.
#[test]
fn a_humanitec_definition_reads_outputs_as_values() {
    let project = Project::with(&[
        (
            "platform.yaml",
            r#"
apiVersion: entity.humanitec.io/v1b1
kind: Definition
metadata: {id: dns}
entity:
  type: dns
  driver_type: humanitec/template
  driver_inputs: {values: {host: input, templates: {outputs: "host: output"}}}
  criteria: [{}]
---
apiVersion: entity.humanitec.io/v1b1
kind: Definition
metadata: {id: route}
entity:
  type: route
  driver_type: humanitec/echo
  driver_inputs: {values: {to: "${resources['dns#shared.dns'].values.host}"}}
  criteria: [{}]
"#,
        ),
        (
            "deploy.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n  env: dev\n  shared: {dns: {type: dns}, route: {type: route}}\n",
        ),
    ]);
    project.run(&["up", "--yes", "-q"]).status(0);
    let outputs = project.run(&["outputs", "--format", "json"]).status(0).json();
    assert_eq!(outputs["resources"]["route.default#shared.route"], json!({"to": "output"}));
}
