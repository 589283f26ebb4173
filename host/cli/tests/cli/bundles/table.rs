//! The outputs of a bundle are one table: declared, from the driver, promoted, `sensitive`.

use crate::project::Project;

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
