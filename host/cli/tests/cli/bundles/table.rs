//! The outputs of a bundle are one table: declared, from the driver, promoted, `sensitive`.

use purlin_systems::project::{Project, ran};
use purlin_systems::secrets::{base64, every_file, holds_none};
use serde_json::json;

/// `acme/db` has a secret output from its driver. `acme/mid` promotes it, and declares what it
/// promotes. `acme/known` registers a value whose output alone is sensitive. A resource reads all of
/// them.
const SECRET: &str = r#"apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/db, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {host: a.local, pw: s3cr3t}}
  outputs: [{name: host, type: string}, {name: pw, type: string, sensitive: true}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/mid, version: 1.0.0}
spec:
  outputs: [{name: url, type: string}]
  requires:
    - name: d
      bundle: {reference: 'acme/db:v1.0.0'}
      outputs: {url: 'x://${outputs.host}', login: 'root:${outputs.pw}'}
---
schemaVersion: 1.0.0
name: known
registry: acme/
version: 1.0.0
parameters: [{name: dsn, type: string}]
outputs: [{name: dsn, type: string, sensitive: true}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  requires:
    - {name: mid, bundle: 'acme/mid:v1.0.0'}
    - {name: known, bundle: 'acme/known:v1.0.0', parameters: {dsn: 'pg://h1dden'}}
  shared:
    site: {type: site, params: {url: "${resources['installation#mid'].outputs.url}", u: "x-${resources['installation#mid'].outputs.login}", k: "${resources['installation#known'].outputs.dsn}"}}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: site}
spec: {type: site, driver: purlin/echo, inputs: {values: {url: '${params.url}', u: '${params.u}', k: '${params.k}'}}, criteria: [{}]}
"#;

#[test]
fn a_sensitive_output_is_a_secret_everywhere() {
    let project = Project::with(&[("all.yaml", SECRET)]);
    let shown = |words: &[&str]| {
        let run = project.run(words).status(0);
        let all = format!("{}{}", run.out, run.err);
        for secret in ["s3cr3t", "h1dden"] {
            assert!(!all.contains(secret), "{words:?}: {all}");
        }
        all
    };
    shown(&["plan"]);
    shown(&["plan", "--format", "json"]);
    shown(&["up", "--yes"]);
    let outputs = shown(&["outputs"]);
    assert!(outputs.contains("x://a.local"), "a promoted output that is declared stays: {outputs}");
    for key in ["installation#mid/d", "installation#mid", "installation#known", "site#shared.site"] {
        shown(&["state", "show", key]);
        shown(&["explain", key]);
    }
    shown(&["graph", "--format", "html"]);
    let clear = project.run(&["outputs", "--show-secrets"]).status(0).out;
    assert!(clear.contains("x-root:s3cr3t") && clear.contains("pg://h1dden"), "{clear}");
    assert!(project.run(&["up", "--yes"]).status(0).err.contains("Nothing to change"));
}

/// Bundles whose secrets no document contains as a whole, because a driver makes them, or a placeholder
/// does. Nothing but an output says that they are secret.
const AT_REST: &str = r#"apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/returned, version: 1.0.0}
spec:
  driver: purlin/echo
  parameters: [{name: a, type: string}, {name: b, type: string}]
  inputs: {values: {out: '${bundle.parameters.a}${bundle.parameters.b}'}}
  outputs: [{name: out, type: string, sensitive: true}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/made, version: 1.0.0}
spec:
  driver: purlin/template
  parameters: [{name: a, type: string}, {name: b, type: string}]
  inputs: {values: {templates: {outputs: 'out: {{ printf "%s%s" "${bundle.parameters.a}" "${bundle.parameters.b}" }}'}}}
  outputs: [{name: out, type: string, sensitive: true}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/clear, version: 1.0.0}
spec:
  driver: purlin/echo
  parameters: [{name: a, type: string}, {name: b, type: string}]
  inputs: {values: {one: '${bundle.parameters.a}', two: '${bundle.parameters.b}'}}
  outputs: [{name: one, type: string}, {name: two, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/promoted, version: 1.0.0}
spec:
  parameters: [{name: a, type: string}, {name: b, type: string}]
  outputs: [{name: out, type: string, sensitive: true}]
  requires:
    - name: clear
      bundle: 'acme/clear:v1.0.0'
      parameters: {a: '${bundle.parameters.a}', b: '${bundle.parameters.b}'}
      outputs: {out: '${outputs.one}${outputs.two}'}
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/driven, version: 1.0.0}
spec:
  driver: purlin/echo
  parameters: [{name: a, type: string}, {name: b, type: string}]
  outputs: [{name: out, type: string, sensitive: true}]
  requires:
    - name: clear
      bundle: 'acme/clear:v1.0.0'
      parameters: {a: '${bundle.parameters.a}', b: '${bundle.parameters.b}'}
      outputs: {out: '${outputs.one}${outputs.two}'}
---
schemaVersion: 1.0.0
name: unmanaged
registry: acme
version: 1.0.0
parameters: [{name: out, type: string}]
outputs: [{name: out, type: string, sensitive: true}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: site}
spec: {type: site, driver: purlin/echo, inputs: {values: {all: '${params.all}'}}, criteria: [{}]}
"#;

#[test]
fn a_sensitive_output_is_never_stored_in_plain_text() {
    const SECRET: &str = "left-half-right-half";
    let encoded = base64(SECRET.as_bytes()).trim_end_matches('=').to_owned();
    let needles = [SECRET.to_owned(), encoded];
    // Each kind alone, because the first secret of a state has it encrypted as a whole.
    for kind in ["returned", "made", "promoted", "driven", "unmanaged"] {
        let parameters = match kind {
            "unmanaged" => "{out: '${values.a}${values.b}'}",
            _ => "{a: '${values.a}', b: '${values.b}'}",
        };
        let deployment = format!(
            "apiVersion: purlin.dev/v1
kind: Deployment
spec:
  values: {{a: left-half-, b: right-half, round: one}}
  requires: [{{name: it, bundle: 'acme/{kind}:v1.0.0', parameters: {parameters}}}]
  shared: {{site: {{type: site, params: {{all: \"${{resources['installation#it'].outputs.out}} ${{values.round}}\"}}}}}}
"
        );
        let workspace =
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {defaults: {app: one, env: dev}}\n";
        let files = [("bundles.yaml", AT_REST), ("deploy.yaml", &*deployment), ("purlin.yaml", workspace)];
        let project = Project::with(&files);
        let searched = |words: &[&str]| {
            let mut command = project.command(words);
            command.env("PURLIN_LOG", "trace");
            let run = ran(command).status(0);
            let shown = format!("{}{}", run.out, run.err);
            holds_none(&format!("{kind}: {words:?}"), shown.as_bytes(), &needles);
            let mut stored = 0;
            every_file(project.path(), &mut |path, bytes| {
                holds_none(&format!("{kind}: {} after {words:?}", path.display()), bytes, &needles);
                stored += bytes.len();
            });
            stored
        };
        let planned = searched(&["plan", "--out", "first.plan"]);
        let applied = searched(&["apply", "--yes", "first.plan", "--format", "json"]);
        assert!(applied > planned, "{kind}: the state is among the files");
        let clear = |words: &[&str]| {
            let words = [&["outputs", "--show-secrets"], words].concat();
            let shown = project.run(&words).status(0).out;
            assert!(shown.contains(&format!("all: {SECRET} ")), "{kind}: {shown}");
        };
        clear(&[]);
        // Another environment uses the installation.
        searched(&["up", "--yes", "--app", "two", "--new-environment"]);
        clear(&["--app", "two"]);
        project.edit("deploy.yaml", "round: one", "round: two");
        for words in [
            &["up", "--yes", "--refresh", "--format", "json"][..],
            &["history", "1"],
            &["rollback", "1", "--yes"],
            &["state", "export", "copy"],
            &["graph", "--format", "html"],
            &["installations", "list", "--format", "json"],
            &["destroy", "--yes", "--app", "two"],
            &["destroy", "--yes"],
        ] {
            searched(words);
        }
    }
}

/// A bundle declares what it promotes, whatever its form and whether it has a driver.
#[test]
fn declared_outputs_that_are_promoted_arrive() {
    let db = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/db, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {host: a.local, port: 5432}}
  outputs: [{name: host, type: string}, {name: port, type: integer}]
";
    let outputs = "outputs: [{name: url, type: string}, {name: port, type: integer}]";
    let requires = "requires:
    - name: d
      bundle: {reference: 'acme/db:v1.0.0'}
      outputs: {url: 'x://${outputs.host}', port: '${outputs.port}'}
";
    let porter = format!(
        "schemaVersion: 1.0.0\nname: mid\nversion: 1.0.0\nregistry: acme\n{outputs}\ndependencies:\n  {requires}"
    );
    let ours = |driver: &str| {
        format!(
            "apiVersion: purlin.dev/v1\nkind: Bundle\nmetadata: {{name: acme/mid, version: 1.0.0}}\nspec:\n  {driver}{outputs}\n  {requires}"
        )
    };
    let parent = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/parent, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {reads: '${bundle.dependencies.mid.outputs.url}:${bundle.dependencies.mid.outputs.port}'}}
  requires: [{name: mid, bundle: {reference: 'acme/mid:v1.0.0', interface: {outputs: [{name: port, type: integer}]}}}]
---
schemaVersion: 1.0.0
name: foreign
version: 1.0.0
registry: acme
outputs: [{name: address, type: string}]
dependencies: {requires: [{name: mid, bundle: 'acme/mid:v1.0.0', outputs: {address: '${outputs.url}/'}}]}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec: {requires: [{name: parent, bundle: 'acme/parent:v1.0.0'}, {name: foreign, bundle: 'acme/foreign:v1.0.0'}]}
";
    let driver = "driver: purlin/echo\n  inputs: {values: {own: o, url: overridden}}\n  ";
    for (form, mid, own) in [
        ("a porter.yaml", porter, None),
        ("a bundle", ours(""), None),
        ("a bundle with a driver", ours(driver), Some("o")),
    ] {
        let project = Project::with(&[("all.yaml", &[db, &mid, parent].join("---\n"))]);
        project.run(&["up", "--yes"]).status(0);
        let all = project.run(&["outputs", "--format", "json"]).status(0).json();
        let of = |name: &str| all["resources"][format!("installation.default#{name}")].clone();
        let mid = of("foreign/mid");
        assert_eq!((&mid["url"], &mid["port"]), (&json!("x://a.local"), &json!(5432)), "{form}");
        assert_eq!(mid["own"].as_str(), own, "{form}");
        assert_eq!(of("parent"), json!({"reads": "x://a.local:5432"}), "{form}");
        assert_eq!(of("foreign"), json!({"address": "x://a.local/"}), "{form}");
        assert!(project.run(&["up", "--yes"]).status(0).err.contains("Nothing to change"), "{form}");
    }
}
