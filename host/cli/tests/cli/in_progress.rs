//! What people and programs see of a resource that is in progress when a run ends.

use purlin_systems::project::Project;
use purlin_systems::tools::component;

/// A resource whose driver always calls it pending, one that depends on it, and one that does not.
fn project() -> Project {
    let project = Project::empty();
    project.write(
        "purlin.yaml",
        format!(
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{app: shop, env: dev}}\n  drivers: {{acme/guests: {{source: {}}}}}\n",
            component("guests").display()
        ),
    );
    project.write(
        "app.yaml",
        "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: slow}
spec: {type: slow, driver: acme/guests, inputs: {values: {do: pending, state: true, id: do, message: it starts}}, criteria: [{}]}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: reader}
spec: {type: reader, driver: purlin/echo, inputs: {values: {of: '${resources.slow#shared.a.guresid}', all: '${params.all}'}}, criteria: [{}]}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec: {shared: {a: {type: slow}, b: {type: reader, params: {all: 1}}, c: {type: other}}}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: other}
spec: {type: other, driver: purlin/echo, inputs: {values: {a: 1}}, criteria: [{}]}
",
    );
    project
}

#[test]
fn a_run_that_does_not_wait_says_in_progress_and_not_failed() {
    let project = project();
    let ran = project.run(&["up", "--yes", "--no-wait"]).status(1);
    assert!(ran.err.contains("in progress slow.default#shared.a"), "{}", ran.err);
    assert!(ran.err.contains("warning[in-progress]"), "{}", ran.err);
    assert!(
        ran.err.contains("In progress after") && ran.err.contains("1 in progress, 1 not tried"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("nothing failed; run the same command again to continue"), "{}", ran.err);
    assert!(!ran.err.contains("Failed") && !ran.err.contains("error"), "{}", ran.err);

    let json = project.run(&["up", "--yes", "--no-wait", "--format", "json"]).status(1);
    let events: Vec<serde_json::Value> =
        json.out.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let phase = |phase: &str| events.iter().filter(|event| event["phase"] == phase).count();
    assert_eq!((phase("in-progress"), phase("failed")), (1, 0), "{}", json.out);
    let summary = events.iter().rfind(|event| event["event"] == "summary").expect("a summary");
    assert_eq!(
        (&summary["status"], &summary["failed"], &summary["in_progress"]),
        (&"in-progress".into(), &0.into(), &1.into()),
        "{summary}"
    );
}
