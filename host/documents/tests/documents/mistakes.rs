//! Small mistakes, and the messages about them at 80 columns.

use purlin_documents::{Input, load};

const SCORE: &str = "apiVersion: score.dev/v1b1
metadata:
  name: web
containers:
  main:
    image: nginx
    variables:
      HOST: ${resources.site.host}
resources:
  site:
    type: dns
";

const DEFINITION: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata:
  id: dns
spec:
  type: dns
  driver: purlin/echo
  criteria:
    - {}
";

const ENTITY: &str = "apiVersion: entity.humanitec.io/v1b1
kind: Definition
metadata:
  id: dns
entity:
  type: dns
  driver_type: humanitec/echo
  provision:
    zone: {}
  criteria:
    - env_id: dev
";

const SET: &str = "modules:
  web:
    spec: {}
    externals:
      db:
        type: postgres
shared:
  zone:
    type: dns
";

/// The message for a text with one part of it replaced.
#[track_caller]
fn message(text: &str, part: &str, by: &str) -> String {
    assert!(text.contains(part), "{part}");
    shown("app.yaml", &text.replacen(part, by, 1))
}

fn shown(name: &str, text: &str) -> String {
    let loaded = load(&[Input::Text { name: name.into(), text: text.into() }]);
    assert!(loaded.has_errors(), "no error:\n{text}");
    loaded.sources.render(&loaded.diagnostics, false, 80)
}

#[test]
fn misspelt_heads_are_named() {
    let heads = [
        message(SCORE, "apiVersion", "apiversion"),
        message(SCORE, "apiVersion", "ApiVersion"),
        message(SCORE, "score.dev", "scor.dev"),
        message(SCORE, "apiVersion: score.dev/v1b1\n", ""),
        message(DEFINITION, "purlin.dev/v1", "purlin.io/v1"),
        message(DEFINITION, "purlin.dev/v1", "purlin.dev/V1"),
        message(DEFINITION, "purlin.dev/v1", "purlin.dev/v2"),
        message(DEFINITION, "kind: D", "Kind: D"),
        message(DEFINITION, "apiVersion: purlin.dev/v1\nkind: Definition\n", ""),
        message(DEFINITION, "purlin.dev/v1", "example.org/v1"),
        message(SET, "modules:", "module:"),
        message(SET, "modules:", "Modules:"),
    ];
    insta::assert_snapshot!(heads.join("\n"));
}

#[test]
fn misspelt_fields_are_named() {
    let fields = [
        message(SET, "externals:", "external:"),
        message(SET, "shared:", "share:"),
        message(SET, "  web:\n", "  web: {}\nother:\n"),
        shown(
            "app.yaml",
            "modules:\n  web:\n    spec:\n      externals:\n        db:\n          type: postgres\n",
        ),
        message(ENTITY, "provision", "provison"),
        message(ENTITY, "criteria", "criterea"),
        message(ENTITY, "env_id", "env_ip"),
        message(ENTITY, "env_id", "environment"),
        message(ENTITY, "  type: dns\n", "  type: dns\n  is_dependent: true\n"),
        message(
            DEFINITION,
            "driver: purlin/echo\n",
            "driver: purlin/echo\n  inputs:\n    values:\n      provision: {zone: {}}\n",
        ),
        message(SCORE, "resources:\n", "resources:\n  - "),
        message(SCORE, "variables:", "env:"),
    ];
    insta::assert_snapshot!(fields.join("\n"));
}

#[test]
fn values_of_another_form() {
    let values = [
        message(SET, "        type: postgres\n", ""),
        message(SET, "      db:\n        type: postgres\n", ""),
        shown("app.yaml", "modules:\nshared: {}\n"),
        message(ENTITY, "\n    - env_id: dev", ""),
        message(ENTITY, "zone: {}", "zone:"),
        message(SCORE, "      HOST: ${resources.site.host}", "      - name: HOST"),
        message(SCORE, "containers:", "service: {ports: {http: 80}}\ncontainers:"),
        message(DEFINITION, "  criteria", "  lifecycle: {protect: \"yes\"}\n  criteria"),
    ];
    insta::assert_snapshot!(values.join("\n"));
}

#[test]
fn parts_left_behind() {
    let parts = [
        message(SCORE, "resources:", "---\nresources:"),
        message(SCORE, "containers:", "...\ncontainers:"),
        message(DEFINITION, "  criteria", "---\n  criteria"),
    ];
    insta::assert_snapshot!(parts.join("\n"));
}

#[test]
fn yaml_in_plain_words() {
    let yaml = [
        message(SCORE, "    image", "\timage"),
        message(SCORE, "image: nginx", "image: nginx: latest"),
        message(SCORE, "    image", "     image"),
        message(SCORE, "    variables", "   variables"),
        message(SCORE, "image: nginx", "image: \"nginx"),
        message(SCORE, "image: nginx", "image: {nginx"),
        message(SCORE, "metadata:", "metadata"),
        message(SCORE, "metadata:\n", "<<<<<<< HEAD\nmetadata:\n=======\n>>>>>>> other\n"),
        shown("purlin.lock", "apiVersion: purlin.dev/v1\n<<<<<<< HEAD\nkind: Lock\n"),
    ];
    insta::assert_snapshot!(yaml.join("\n"));
}

#[test]
fn faulty_placeholders_are_explained() {
    let placeholders = [
        message(SCORE, "${resources.site.host}", "${upper(metadata.name)}"),
        message(DEFINITION, "  criteria", "  inputs: {values: {a: '${upper(context.app.id)}'}}\n  criteria"),
    ];
    insta::assert_snapshot!(placeholders.join("\n"));
}

#[test]
fn ids_of_shared_resources_are_taken_as_they_are() {
    for id in ["db", "shared.db"] {
        let set = SET.replace("type: postgres", &format!("type: postgres\n        id: {id}"));
        let loaded = load(&[Input::Text { name: "set.yaml".into(), text: set }]);
        assert!(!loaded.has_errors());
        assert_eq!(loaded.deployment.workloads[0].resources[0].id.as_deref(), Some("db"), "{id}");
    }
}

#[test]
fn documents_of_others_are_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts = [
        ("values.yaml", "replicas: 2\nimage: {tag: x}\nresources: {limits: {cpu: 1}}\n"),
        ("Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n"),
        ("package.json", "{\"name\": \"web\", \"version\": \"1.0.0\", \"type\": \"module\"}\n"),
        ("ci.yml", "on: push\njobs: {test: {steps: [{run: make}]}}\n"),
        ("compose.yaml", "services: {web: {image: x}}\n"),
        ("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{image: x}]}\n"),
        (
            "deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 1}\n",
        ),
        (
            "kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a]\n",
        ),
        ("extension.yaml", "apiVersion: humanitec.org/v1b1\nprofile: x\nspec: {}\n"),
        ("crd.yaml", "apiVersion: score.humanitec.com/v1\nkind: Workload\nmetadata: {name: a}\n"),
        ("list.json", "[1, 2]\n"),
        ("two.yaml", "a: 1\n---\nb: 2\n"),
    ];
    for (name, text) in texts {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let loaded = load(&[Input::Path(folder.path().to_owned())]);
    let shown = loaded.sources.render(&loaded.diagnostics, false, 80);
    assert!(!loaded.has_errors(), "{shown}");
    assert!(loaded.deployment.workloads.is_empty() && loaded.definitions.is_empty());
}

/// Help says what to write, and not only what is wrong.
#[test]
fn help_has_what_to_write() {
    let request = "  site:\n    type: dns\n";
    for (text, part, by, help) in [
        (SCORE, "image: nginx\n    variables", "image nginx\n      variables", "write `image: nginx`"),
        (
            SCORE,
            "variables:\n      HOST: ${resources.site.host}",
            "variables: {HOST: ${resources.site.host}}",
            r#"write "${resources.site.host}""#,
        ),
        (
            DEFINITION,
            "  criteria",
            "  inputs: {values: {a: {{ .x }}}}\n  criteria",
            r#"quote it: "{{ .x }}""#,
        ),
        (
            DEFINITION,
            "  criteria",
            "  inputs:\n    values:\n      host: {{ .driver.values.x }}\n  criteria",
            r#"quote it: "{{ .driver.values.x }}""#,
        ),
        (DEFINITION, "- {}", "- app_id: *", "leave `app_id` out: it then matches any"),
        (DEFINITION, "spec:", "entity:", "here the field is called `spec`"),
        (ENTITY, "entity:", "spec:", "here the field is called `entity`"),
        (DEFINITION, "driver:", "driver_type:", "here the field is called `driver`"),
        (ENTITY, "driver_type:", "driver:", "here the field is called `driver_type`"),
        (SCORE, request, "  site:\n    type: dns\n  params:\n    size: 1\n", "indent it below `site`"),
        (
            SET,
            "        type: postgres\n",
            "        type: postgres\n      class: large\n",
            "indent it below `db`",
        ),
        (
            SCORE,
            "    image: nginx\n    variables:\n  ",
            "    image: nginx\n  variables:\n",
            "indent it below `main`",
        ),
        (SCORE, "type: dns", "type: dns.large", "write `type: dns` and `class: large`"),
        (SET, "type: postgres", "type: postgres.large", "write `type: postgres` and `class: large`"),
        (
            DEFINITION,
            "type: dns",
            "type: dns.large",
            "write `type: dns`, and the class into the criteria: `criteria: [{class: large}]`",
        ),
        (
            DEFINITION,
            "- {}",
            "- env_type: [development, staging]",
            "write one criterion for each: `{env_type: development}`, `{env_type: staging}`",
        ),
        (SET, "  web:", "  a.externals.b:", "such as `a-externals-b`"),
    ] {
        assert!(text.contains(part), "{part}");
        let text = text.replacen(part, by, 1);
        let loaded = load(&[Input::Text { name: "app.yaml".into(), text: text.clone() }]);
        let errors: Vec<_> = loaded.diagnostics.iter().filter(|fault| fault.is_error()).collect();
        let helps: Vec<&str> = errors.iter().filter_map(|fault| fault.help.as_deref()).collect();
        assert!(errors.len() == 1 && helps[0].contains(help), "{text}\n{errors:#?}");
    }
}
