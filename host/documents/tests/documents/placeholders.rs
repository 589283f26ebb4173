//! Where placeholders count, and what they become there (SPEC §4).

use purlin_documents::{Input, Loaded, load};
use purlin_model::{Access, Piece, Reference, Template};

fn loaded(text: &str) -> Loaded {
    load(&[Input::Text { name: "shop.yaml".into(), text: text.into() }])
}

/// The template at a path of maps.
fn at<'a>(template: &'a Template, path: &[&str]) -> &'a Template {
    path.iter().fold(template, |template, name| match template {
        Template::Map(entries) => entries.get(*name).unwrap_or_else(|| panic!("no `{name}`")),
        other => panic!("{other:?} has no `{name}`"),
    })
}

/// Whether a template that is one placeholder is filled in as text.
fn is_text(template: &Template) -> bool {
    match template {
        Template::Text(pieces) => {
            matches!(&**pieces, [Piece::Literal(nothing), Piece::Placeholder(_)] if nothing.is_empty())
        }
        _ => false,
    }
}

#[test]
fn text_fields_of_score_files_are_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file.txt"), "${resources.db.map}").expect("written");
    std::fs::write(
        folder.path().join("score.yaml"),
        r#"
apiVersion: score.dev/v1b1
metadata: {name: web}
containers:
  main:
    image: i
    variables: {A: "${resources.db.port}"}
    files:
      /a: {content: "${resources.db.map}"}
      /b: {source: file.txt}
    volumes:
      /v: {source: "${resources.db}", path: "${resources.db.port}"}
resources:
  db: {type: postgres}
  dns: {type: dns, params: {port: "${resources.db.port}"}}
"#,
    )
    .expect("written");
    let loaded = load(&[Input::Path(folder.path().to_owned())]);
    assert_eq!(loaded.diagnostics, []);
    let workload = &loaded.deployment.workloads[0];
    for path in [
        vec!["variables", "A"],
        vec!["files", "/a", "content"],
        vec!["files", "/b", "content"],
        vec!["volumes", "/v", "source"],
        vec!["volumes", "/v", "path"],
    ] {
        let template = at(&workload.spec, &[&["containers", "main"], &*path].concat());
        assert!(is_text(template), "{path:?}: {template:?}");
    }
    let params = workload.resources[1].params.as_deref().expect("params");
    assert!(!is_text(at(params, &["port"])), "params keep the type of the value");
}

/// Documents with a placeholder in each kind of key, marked `KEY`.
const KEYS: &str = r#"
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: d}
spec:
  type: t
  driver: purlin/echo
  inputs:
    values:
      a: [{"KEY": 1}]
      "KEY": 1
    secrets: {"KEY": x}
    connection: {deep: {"KEY": 1}}
  provision:
    dns: {params: {"KEY": 1}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: e}
spec:
  type: t2
  driver: purlin/echo
  inputs: {secret_refs: {"KEY": {value: x}}}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  app: shop
  values: {"KEY": 1, a: {"KEY": 1}}
  shared: {s: {type: t, params: {"KEY": 1}}}
  requires:
    - {name: r, bundle: {reference: "a/b:v1.0.0"}, parameters: {"KEY": 1}}
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: b, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {"KEY": 1}}
---
modules: {w: {spec: {"KEY": 1}, externals: {x: {type: t, params: {"KEY": 1}}}}}
"#;

const SCORE: &str = r#"
apiVersion: score.dev/v1b1
metadata: {name: web}
containers: {main: {image: i, variables: {"KEY": x}}}
resources: {site: {type: t, params: {"KEY": 1}}}
"#;

#[test]
fn no_placeholder_may_stand_in_a_key() {
    for (documents, placeholder, escaped) in [
        (KEYS, "${context.app.id}-x", "$\\\\{context.app.id}-x"),
        (SCORE, "${metadata.name}-x", "$${metadata.name}-x"),
    ] {
        let refused = loaded(&documents.replace("KEY", placeholder));
        let found: Vec<_> =
            refused.diagnostics.iter().filter(|fault| fault.code == "placeholder-in-key").collect();
        let mut lines: Vec<u32> =
            found.iter().filter_map(|fault| Some(fault.location.as_ref()?.line)).collect();
        lines.sort_unstable();
        let numbered = (1_u32..).zip(documents.lines());
        let expected: Vec<u32> =
            numbered.flat_map(|(number, line)| vec![number; line.matches("KEY").count()]).collect();
        assert_eq!(lines, expected, "{:#?}", refused.diagnostics);
        // The advice: the escape makes it text.
        let escaped = loaded(&documents.replace("KEY", escaped));
        assert!(
            escaped.diagnostics.iter().all(|fault| fault.code != "placeholder-in-key"),
            "{:?}",
            escaped.diagnostics
        );
    }
    let text = SCORE.replace("KEY", "$${metadata.name}-x");
    let params = loaded(&text).deployment.workloads[0].resources[0].params.clone().expect("params");
    let Template::Constant(params) = &*params else { panic!("a constant") };
    assert!(params.get("${metadata.name}-x").is_some(), "{params:?}");
}

#[test]
fn values_of_a_resource_are_its_outputs_for_humanitec() {
    let read = |envelope: &str, driver: &str, inputs: &str, body: &str| {
        let text = format!(
            "apiVersion: {envelope}\nkind: Definition\nmetadata: {{id: d}}\n{body}:\n  type: t\n  {driver}: purlin/echo\n  \
             {inputs}:\n    values: {{x: \"${{resources['dns#shared.x'].values.host}}\"}}\n  criteria: [{{}}]\n"
        );
        let loaded = loaded(&text);
        assert_eq!(loaded.diagnostics, []);
        let recipe = &loaded.definitions[0].recipe;
        let mut found = None;
        recipe.values.placeholders(&mut |placeholder| found = Some(placeholder.reference.clone()));
        match found {
            Some(Reference::Resource(_, access)) => access,
            other => panic!("{other:?}"),
        }
    };
    let foreign = read("entity.humanitec.io/v1b1", "driver_type", "driver_inputs", "entity");
    assert!(matches!(foreign, Access::Outputs(path) if path.to_string() == "host"));
    let foreign = read("core.api.humanitec.io/v1", "driver_type", "driver_inputs", "object");
    assert!(matches!(foreign, Access::Outputs(_)));
    let own = read("purlin.dev/v1", "driver", "inputs", "spec");
    assert!(matches!(own, Access::Values(path) if path.to_string() == "host"));
}
