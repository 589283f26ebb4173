//! Tests of the status of resources: conditions with their reasons, and the complete chain of
//! resources that one waits for.

use purlin_systems::Project;
use serde_json::Value;

use crate::world::{World, reads, thing};

fn joined(text: &str) -> String {
    let words: Vec<&str> =
        text.split_whitespace().filter(|word| !matches!(*word, "│" | "├─" | "└─")).collect();
    words.join(" ")
}

#[track_caller]
fn standing(project: &Project, key: &str) -> Value {
    let report = project.run(&["status", "--format", "json"]).status(0).json();
    let resources = report["resources"].as_array().expect("resources").clone();
    resources.into_iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("{key} in {report}"))
}

/// `TYPE=STATUS REASON` of each condition.
fn conditions(resource: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let conditions = resource["conditions"].as_array().expect("conditions");
    conditions
        .iter()
        .map(|one| format!("{}={} {}", text(&one["type"]), text(&one["status"]), text(&one["reason"])))
        .collect()
}

#[test]
fn a_failure_is_reported_with_the_resources_that_it_blocks() {
    let world = World::new(
        &format!(
            "a: {{type: thing, params: {{value: v}}}}\nb: {{type: odd, params: {{do: explode}}}}\n\
             c: {{type: thing, params: {{value: \"${{resources['odd.default#shared.b'].outputs.do}}\"}}}}\n\
             d: {{type: thing, params: {{value: {}}}}}",
            reads("c", "id")
        ),
        "",
    );
    world.run(&["up", "--yes"]).status(1);
    let project = world.project();
    let ready =
        ["ReferencesResolved=True ReferencesFound", "Synced=True ReconcileSuccess", "Ready=True Available"];
    assert_eq!(conditions(&standing(project, &thing("a"))), ready);

    let failed = standing(project, "odd.default#shared.b");
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["obstacle"]["obstacle"], "failed");
    assert_eq!(
        (&failed["obstacle"]["action"], &failed["obstacle"]["code"]),
        (&"create".into(), &"failed".into())
    );
    assert_eq!(
        conditions(&failed),
        ["ReferencesResolved=True ReferencesFound", "Synced=False ReconcileError", "Ready=False Missing"]
    );

    let waiting = standing(project, &thing("d"));
    assert_eq!(waiting["status"], "waiting");
    assert_eq!(
        conditions(&waiting),
        [
            "ReferencesResolved=False ReferencesBlocked",
            "Synced=Unknown ReconcileWaiting",
            "Ready=False Missing"
        ]
    );
    assert_eq!(waiting["obstacle"]["waits"][0]["through"], serde_json::json!([thing("c")]));
    let since = waiting["conditions"][0]["since"].clone();
    assert!(since.as_str().is_some_and(|since| since.ends_with('Z')), "{since}");

    let text = project.run(&["status"]).status(0);
    let way =
        "it waits for `thing#shared.c`, which waits for `odd#shared.b`, which failed: it cannot `explode`";
    assert!(joined(&text.out).contains(way), "{}", text.out);
    assert!(text.out.contains("2 of 5 resources ready, 1 failed, 2 waiting"), "{}", text.out);

    // The time of the condition stays the same, however often the deployment is repeated.
    world.run(&["up", "--yes"]).status(1);
    assert_eq!(standing(project, &thing("d"))["conditions"][0]["since"], since);

    // A resource that is removed from the documents before it was created leaves nothing behind.
    world.write("a: {type: thing, params: {value: v}}", "");
    world.up();
    let report = project.run(&["status", "--format", "json"]).status(0).json();
    assert_eq!(report["summary"], serde_json::json!({"ready": 2}));
}

#[test]
fn a_missing_target_is_named_with_its_place_and_non_blocking_ones_count_for_readiness() {
    let project = Project::with(&[
        (
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {defaults: {app: shop, env: dev}}\n",
        ),
        (
            "platform.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: any}\nspec:\n  type: 'ec2/*'\n  driver: purlin/echo\n  inputs: {values: {id: x}}\n  criteria: [{}]\n",
        ),
        (
            "net.yaml",
            "apiVersion: ec2.crossplane.io/v1\nkind: Subnet\nmetadata: {name: web}\nspec: {forProvider: {vpcIdRef: {name: net}}}\n---\n\
             apiVersion: ec2.crossplane.io/v1\nkind: Instance\nmetadata: {name: host}\nspec: {forProvider: {subnetIdRef: {name: web}}}\n---\n\
             apiVersion: ec2.crossplane.io/v1\nkind: Monitor\nmetadata:\n  name: eye\n  annotations: {purlin.dev/depends-on: '[{kind: Instance, name: host, blocking: false}]'}\nspec: {forProvider: {}}\n---\n\
             apiVersion: ec2.crossplane.io/v1\nkind: Monitor\nmetadata:\n  name: ear\n  annotations: {purlin.dev/depends-on: '[{kind: VPC, name: net, blocking: false}]'}\nspec: {forProvider: {}}\n",
        ),
    ]);
    project.run(&["up", "--yes"]).status(1);
    let host = standing(&project, "ec2/instance.default#host");
    assert_eq!(host["obstacle"]["waits"][0]["at"], "net.yaml:4:39");
    assert_eq!(
        host["obstacle"]["message"],
        "it waits for `ec2/subnet#web`, which waits for manifest `net`, which no document declares \
         (`vpcIdRef: net`, net.yaml:4:39)"
    );
    let eye = standing(&project, "ec2/monitor.default#eye");
    assert_eq!(eye["status"], "not-ready");
    assert_eq!(conditions(&eye)[1..], ["Synced=True ReconcileSuccess", "Ready=False DependencyNotReady"]);

    let ear = standing(&project, "ec2/monitor.default#ear");
    assert_eq!(
        (&ear["status"], &ear["obstacle"]["waits"][0]["for"]),
        (&"not-ready".into(), &"missing".into())
    );

    project.write(
        "vpc.yaml",
        "apiVersion: ec2.crossplane.io/v1\nkind: VPC\nmetadata: {name: net}\nspec: {forProvider: {}}\n",
    );
    project.run(&["up", "--yes"]).status(0);
    let report = project.run(&["status", "--format", "json"]).status(0).json();
    assert_eq!(report["summary"], serde_json::json!({"ready": 6}), "{report}");
}

#[test]
fn paused_resources_are_not_called_at_all() {
    let world = World::deployed("a: {type: thing, params: {value: v}}", "");
    world.write("a: {type: thing, params: {value: w}}", "thing#shared.a: {paused: true}");
    world.up();
    assert_eq!(
        conditions(&standing(world.project(), &thing("a"))),
        ["ReferencesResolved=True ReferencesFound", "Synced=False ReconcilePaused", "Ready=True Available"]
    );
    // Nothing reads the resource, so the change is not found.
    world.meddle("a", "meddled");
    let events = world.run(&["refresh", "--format", "json"]).status(0).events();
    assert!(events.iter().all(|event| event["key"] != thing("a")), "{events:?}");
    assert_eq!(world.effects(), (1, 0, 0));
    world.write("a: {type: thing, params: {value: w}}", "");
    world.up();
    assert_eq!(standing(world.project(), &thing("a"))["status"], "ready");
    assert_eq!(world.real()["a"].0, "w");
    // A pause ends with the document, which is said.
    world.write("a: {type: thing, params: {value: x}}", "thing#shared.a: {paused: true}");
    world.up();
    world.write("b: {type: thing, params: {value: v}}", "");
    let plan = world.run(&["plan"]).status(0).out;
    assert!(plan.contains("it was paused, and is deleted because it left the documents"), "{plan}");
}

#[test]
fn many_resources_are_counted_unless_something_is_wrong_with_them() {
    let shared: String = (0..60)
        .map(|index| format!("r{index}: {{type: thing, params: {{value: v}}}}\n"))
        .chain(["bad: {type: odd, params: {do: explode}}\n".to_owned()])
        .collect();
    let world = World::new(&shared, "");
    world.run(&["up", "--yes"]).status(1);
    let text = world.run(&["status"]).status(0).out;
    assert!(
        text.contains("odd#shared.bad  failed") && text.contains("and 61 other resources, ready"),
        "{text}"
    );
    assert!(text.lines().count() < 10, "{text}");
    let all = world.run(&["status", "--verbose"]).status(0).out;
    assert!(all.contains("thing#shared.r59  ready"), "{all}");
}

/// The old copy of a resource is a separate step, which may succeed or wait.
#[test]
fn a_replacement_that_fails_stays_failed_however_often_it_is_tried() {
    let project = Project::with(&[
        (
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {app: shop, env: dev}\n  drivers:\n    purlin/file:\n      grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}\n",
        ),
        (
            "platform.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: all}\nspec:\n  type: '*'\n  driver: purlin/file\n  inputs: {values: {path: '/out/${params.path}', content: '${manifest | json}'}}\n  criteria: [{}]\n---\n\
             apiVersion: purlin.dev/v1\nkind: ResourceType\nspec: {type: x/b, params: {type: object, properties: {a: {x-reference: {type: x/a, output: path}}}}}\n",
        ),
    ]);
    std::fs::create_dir(project.path().join("out")).expect("made");
    let deploy = |a: &str, b: &str, status: i32| {
        let manifest = |kind: &str, name: &str, spec: &str| {
            format!(
                "apiVersion: x.example.org/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"
            )
        };
        project.write("a.yaml", manifest("A", "a", &format!("forProvider: {{{a}}}")));
        project.write(
            "b.yaml",
            manifest("B", "b", &format!("{b}forProvider: {{path: b, aRef: {{name: a}}, v: 1}}")),
        );
        project.run(&["up", "--yes", "--allow-data-loss"]).status(status);
    };
    deploy("path: one", "", 0);
    deploy("path: two", "managementPolicies: [], ", 0);
    for _ in 0..3 {
        deploy("path: one, v: 2", "", 1);
        let a = standing(&project, "x/a.default#a");
        assert_eq!((&a["status"], &a["obstacle"]["code"]), (&"failed".into(), &"conflict".into()), "{a}");
        assert_ne!(a["obstacle"]["action"], "delete");
    }
}
