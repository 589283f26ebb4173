//! Messages about faulty documents.

use purlin_documents::{Input, load};
use purlin_model::{Diagnostic, Location};

fn shown(text: &str) -> String {
    let mut loaded = load(&[Input::Text { name: "shop.yaml".into(), text: text.into() }]);
    loaded.report_unknown_stores();
    assert!(!loaded.diagnostics.is_empty());
    loaded.sources.render(&loaded.diagnostics, false, 100)
}

#[test]
fn all_faults_of_a_definition_are_reported() {
    insta::assert_snapshot!(shown(
        r#"apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: db}
spec:
  type: "post gres"
  drivr: purlin/echo
  inputs:
    values:
      a: "${contxt.app.id}"
      b: |
        hello
          ${resources['dns'].outputs.x} and ${values.y
    secrets: {a: b}
    secret_refs: {c: {store: x}}
  provision: {"aws policy": {is_dependent: 3}}
  criteria:
    - {app: 1}
    - {class: Big}
  requires: []
"#
    ));
}

#[test]
fn heads_of_documents() {
    insta::assert_snapshot!(shown(
        "apiVersion: purlin.dev/v2\nkind: Definition\n---\napiVersion: purlin.dev/v1\nkind: Definitio\n---\n\
         apiVersion: entity.humanitec.io/v1b1\nkind: Workload\n---\napiVersion: score.dev/v2\n---\n\
         apiVersion: humanitec.org/v1b1\nprofile: x\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\
         kind: Bundle\napiVersion: purlin.dev/v1\n---\njust text\n---\ncontainers: {}\n"
    ));
}

#[test]
fn a_lost_separator_is_one_fault() {
    let faults = |text: &str| {
        let loaded = load(&[Input::Text { name: "shop.yaml".into(), text: text.into() }]);
        let line = |fault: &Diagnostic| fault.location.as_ref().map_or(0, |place| place.line);
        let fault = |fault: &Diagnostic| (line(fault), fault.message.clone(), fault.help.clone());
        loaded.diagnostics.iter().map(fault).collect::<Vec<_>>()
    };
    let lost = |line: u32| {
        let help = format!("insert a line `---` before line {line}");
        vec![(line, "two documents without `---` between them".to_owned(), Some(help))]
    };
    let workload = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: x}}\n";
    let deployment = "kind: Deployment\napiVersion: purlin.dev/v1\nspec: {app: shop}\n";
    assert_eq!(faults(&format!("{deployment}{workload}")), lost(4));
    assert_eq!(faults(&format!("{deployment}{deployment}{workload}")), lost(4));
    assert_eq!(faults(&format!("{workload}{workload}")), lost(4));
    let repeated = [
        "apiVersion: purlin.dev/v1\napiVersion: purlin.dev/v1\nkind: Deployment\nspec: {app: shop}\n",
        "{apiVersion: purlin.dev/v1, kind: Deployment, apiVersion: purlin.dev/v1, spec: {app: shop}}",
    ];
    for text in repeated {
        let messages: Vec<String> = faults(text).into_iter().map(|(_, message, _)| message).collect();
        assert_eq!(messages, ["the key `apiVersion` is given twice"], "{text}");
    }
}

#[test]
fn a_score_file() {
    insta::assert_snapshot!(shown(
        r#"apiVersion: score.dev/v1b1
metadata: {name: Web, name: web}
containers:
  main:
    image: ""
    variables: {A: "${resources.bd.host}", B: 1}
    files:
      /a: {content: "x ${resources.db.host} $${y}", mode: 600}
resources:
  db: {type: postgres, class: Big}
"#
    ));
}

#[test]
fn invalid_yaml_is_explained() {
    insta::assert_snapshot!(
        [
            "a:\n\tb: 1\n",
            "a: [1, 2\n",
            "a: \"open\n",
            "a: b: c\n",
            "a: *nobody\n",
            "image: {{ .Values.image }}: x\n",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {values: {a: .inf, b: !Ref x, c: 123456789012345678901234}}\n",
            "a: \u{1b}[31mred\n",
        ]
        .map(|text| shown(&format!("# purlin.dev/v1\n{text}")))
        .join("\n")
    );
}

#[test]
fn all_faults_of_a_workspace_are_reported() {
    insta::assert_snapshot!(shown(
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  drivers:\n    acme/db:\n      grants:\n        tcp: [x, 'db:0']\n        http: ['get https://a', 'https://a/../b']\n\
         \x20       dns: [10.0.0.1, 127.1]\n        addresses: [10.0.0.1/8, host]\n        smtp: [a]\n\
         \x20       dirs: [{host: a, guest: b}]\n      limits: {memory: 64, time: soon}\n  secret_stores: {}\n  key: {}\n"
    ));
}

#[test]
fn all_faults_of_secret_stores_are_reported() {
    insta::assert_snapshot!(shown(
        "apiVersion: purlin.dev/v1
kind: Workspace
spec:
  drivers:
    acme/db: {grants: {secrets: [valut, local]}}
  secret_stores:
    local: {file: ./secrets}
    none: {}
    two: {file: a, env: B}
    a b: {env: A}
    gap: {env: A B}
    same: {command: [pass, show], time: soon}
    any: {command: ['{ref}', '{ref}']}
    bare: {command: [' ']}
    vault: {drivr: acme/vault}
    other: {driver: acme/vault, values: {a: ['${context.app.id}']}, secrets: x}
    late: {file: x, time: 5s}
"
    ));
}

#[test]
fn all_faults_of_a_lock_are_reported() {
    let text = "apiVersion: purlin.dev/v1\nkind: Lock\nspec:\n  drivers:\n    acme/db:\n      - version: ^1\n        digest: sha256:12\n        request: []\n      - {}\n    a b: []\n    acme/x: {}\n";
    let loaded = load(&[Input::Text { name: "purlin.lock".into(), text: text.into() }]);
    insta::assert_snapshot!(loaded.sources.render(&loaded.diagnostics, false, 100));
    // Elsewhere it has no effect, and must not appear to have one.
    insta::assert_snapshot!(shown("apiVersion: purlin.dev/v1\nkind: Lock\nspec: {drivers: {}}\n"));
}

#[test]
fn all_faults_of_settings_are_reported() {
    let definition = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: db}
spec:
  type: postgres
  driver: purlin/echo
  lifecycle:
    prevent_destroy: true
    create_before_destroy: true
    retainOnDelete: true
    dependsOn: [a]
    moved: []
    aliases: [postgres#old]
    import: x
    ignore_changes: [size, value.size, 'values.a b', /values/~2]
    replace_with: ['dns<x']
";
    let deployment = "---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  lifecycle:
    protect: true
    postgres: {protect: true}
    postgres#shared.db:
      import: i-1
      observe: i-2
      aliases: [postgres, 'urn:purlin:dev']
      depends_on: [dns.@#x]
    postgres.default#shared.db: {import: '${values.id}', observ: x}
---
apiVersion: purlin.dev/v1
kind: Deployment
lifecycle: {}
spec:
  lifecycle: {postgres#shared.db: {protect: true}}
---
modules: {}
lifecycle: {}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec: {shared: {db: {type: postgres, dependsOn: [], lifecycle: {protect: true}}}}
---
apiVersion: score.dev/v1b1
metadata: {name: web}
containers: {main: {image: x}}
resources: {db: {type: postgres, prevent_destroy: true}}
";
    insta::assert_snapshot!(shown(&format!("{definition}{deployment}")));
}

/// The example of a wrong value is that of its own declaration, in the words of its format.
#[test]
fn examples_are_those_of_the_field() {
    insta::assert_snapshot!(shown(
        r#"apiVersion: purlin.dev/v1
kind: Definition
metadata: 7
spec: {type: a, driver: purlin/echo, lifecycle: 7, provision: 7}
---
apiVersion: core.api.humanitec.io/v1
kind: Definition
metadata: {id: b}
---
apiVersion: core.api.humanitec.io/v1
kind: Definition
metadata: {id: c}
entity: {type: c, driver_type: humanitec/echo, lifecycle: {protect: true}}
object: {type: c, driver_type: humanitec/echo}
---
apiVersion: purlin.dev/v1
kind: Workspace
spec: {drivers: {acme/db: {limits: 64MiB, grants: {http: "https://x"}}}, reconcile: {rules: fast}, parallelism: 9999999999}
defaults: {app: shop}
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/w, version: 1.0.0}
spec: {parameters: [title, {name: a, source: {output: b}}], outputs: [{}], requires: [{name: db, bundle: acme/db, parameters: 7}]}
---
apiVersion: purlin.dev/v1
kind: ResourceType
spec: {type: t, params: {properties: {pin: {x-secrt: true}, key: {x-secret: "true"}}}, outputs: {properties: {pin: {writeonly: true}}}}
---
apiVersion: ec2.aws.crossplane.io/v1beta1
kind: Subnet
metadata: {name: s}
spec: {forProvder: {cidr: x}}
"#
    ));
}

#[test]
fn context_is_given_once_or_identically() {
    let head = "apiVersion: purlin.dev/v1\nkind: Deployment\n";
    insta::assert_snapshot!(shown(&format!(
        "{head}spec: {{app: shop, env: dev, values: {{a: 1, b: 1}}}}\n---\n\
         {head}spec: {{app: shop, env: prod, values: {{a: 1, b: 2}}, namespace: 'a b'}}\n"
    )));
}

#[test]
fn terminals_are_safe_and_long_lines_short() {
    let name = "x".repeat(600);
    insta::assert_snapshot!(shown(&format!(
        "apiVersion: purlin.dev/v1\nkind: ResourceType\nspec: {{type: a, \"\\e[31m\u{202e}{name}\": 1, other: 2}}\n"
    )));
}

#[test]
fn many_faults_are_counted_and_errors_come_first() {
    let place = |line| Location::new("a.yaml", line, 1);
    let mut diagnostics: Vec<_> =
        (1..=60).map(|line| Diagnostic::note("n", "a note").at(&place(line))).collect();
    diagnostics
        .extend((61..=120).map(|line| Diagnostic::error("e", format!("error {line}")).at(&place(line))));
    let shown = load(&[]).sources.render(&diagnostics, false, 80);
    assert_eq!(shown.matches("error[e]").count(), 50);
    assert!(shown.ends_with("and 70 more, 10 of them errors\n"), "{shown}");
    assert_eq!(load(&[]).sources.render(&[], false, 80), "");
}

#[test]
fn faults_end_at_a_hundred() {
    let many: String = (0..5_000).map(|n| format!("  unknown-{n}: x\n")).collect();
    let text = format!("apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n{many}");
    let loaded = load(&[Input::Text { name: "a.yaml".into(), text }]);
    assert_eq!(loaded.diagnostics.len(), 101);
    let last = loaded.diagnostics.last().expect("a fault");
    assert_eq!((last.code, &*last.message), ("more-faults", "4900 more from here on are not shown"));
    assert_eq!(last.location.as_ref().map(|place| place.line), Some(105));
}

/// A range of a driver's versions is read completely, and text after the `@` that is not a range is
/// a fault.
#[test]
fn ranges_of_versions() {
    for (range, fault) in [
        ("@^1", None),
        ("@>=1.2 <2 || 3.x", None),
        ("@", Some("the version range after `@` is missing")),
        ("@ ", Some("the version range after `@` is missing")),
        ("@latest", Some("`latest` is not a version range: there should be a version, not `latest`")),
        ("@01", Some("`01` is not a version range: `01` begins with a zero")),
    ] {
        let text = format!(
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: a}}\nspec: {{type: a, driver: 'acme/a{range}', criteria: [{{}}]}}\n"
        );
        let loaded = load(&[Input::Text { name: "a.yaml".into(), text }]);
        let messages: Vec<&str> = loaded.diagnostics.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(messages, Vec::from_iter(fault), "{range}");
    }
}
