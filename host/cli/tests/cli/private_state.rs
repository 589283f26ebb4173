//! What drivers keep privately, which is stored apart if it is large: the driver checks in each call that it
//! gets what it returned last.

use purlin_systems::Project;
use purlin_systems::tools::component;

use crate::reality;

const KEPT: usize = 1 << 20;

/// A platform whose resources keep a MiB each.
fn platform() -> Project {
    let workspace = format!(
        "apiVersion: purlin.dev/v1
kind: Workspace
metadata: {{name: keeps}}
spec:
  defaults: {{app: shop, env: dev}}
  drivers:
    acme/ledger:
      source: {}
      grants: {{dirs: [{{host: ./data, guest: /data, mode: rw}}]}}
      limits: {{grace: 0s, state: 2MiB}}
",
        component("ledger").display()
    );
    let project = Project::with(&[("purlin.yaml", &workspace)]);
    std::fs::create_dir(project.path().join("data")).expect("a folder");
    write(&project, &[("a", "one", ""), ("b", "one", "")]);
    project
}

fn write(project: &Project, things: &[(&str, &str, &str)]) {
    let mut documents = format!(
        "apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: thing}}
spec:
  type: thing
  driver: acme/ledger
  inputs: {{values: {{value: '${{params.value}}', fixed: '${{params.fixed}}', first: false, keeps: {KEPT}}}}}
  criteria: [{{}}]
---
apiVersion: purlin.dev/v1
kind: Deployment
metadata: {{name: shop}}
spec:
  shared:
"
    );
    for (name, value, fixed) in things {
        documents.push_str(&format!(
            "    {name}: {{type: thing, params: {{value: {value}, fixed: 'x{fixed}'}}}}\n"
        ));
    }
    project.write("documents.yaml", documents);
}

#[test]
fn a_driver_gets_its_private_state_wherever_the_record_goes() {
    let project = platform();
    let run = |arguments: &[&str]| project.run(arguments).status(0);
    run(&["up", "--yes"]);
    run(&["plan", "--detailed-exitcode"]);
    // Updates, replacements with an old copy, and reads.
    write(&project, &[("a", "two", ""), ("b", "one", "2")]);
    run(&["up", "--yes"]);
    run(&["refresh"]);
    run(&["plan", "--refresh", "--detailed-exitcode"]);
    // Another name, another environment, another key, and another folder.
    run(&["state", "rename", "a", "thing#shared.c"]);
    write(&project, &[("b", "two", "2"), ("c", "three", "")]);
    run(&["up", "--yes"]);
    run(&["state", "move", "c", "--to-env", "test", "--new-environment", "--yes"]);
    write(&project, &[("c", "four", "")]);
    run(&["up", "--yes", "--env", "test"]);
    run(&["state", "key", "rotate"]);
    write(&project, &[("c", "five", "")]);
    run(&["up", "--yes", "--env", "test"]);
    run(&["state", "export", "test.state", "--env", "test"]);
    run(&["state", "import", "test.state", "--replace"]);
    write(&project, &[("c", "six", "")]);
    run(&["up", "--yes", "--env", "test"]);
    run(&["state", "repair", "--check"]);
    run(&["destroy", "--yes", "--env", "test"]);
    run(&["destroy", "--yes"]);
    assert_eq!(reality::ids(project.path()), Vec::<String>::new());
}
