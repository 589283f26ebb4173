//! Tests of changed documents and their effect on resources: replacing, protecting, keeping,
//! failing.

use purlin_systems::Project;

use crate::world::{World, reads, thing};

fn place(done: &[String], line: &str) -> usize {
    done.iter().position(|one| one == line).unwrap_or_else(|| panic!("{line} in {done:?}"))
}

#[test]
fn new_resources_come_before_old_ones_go_and_dependents_go_first() {
    let with = |fixed: &str| {
        format!(
            "a: {{type: thing, params: {{value: v, fixed: {fixed}}}}}\nb: {{type: thing, params: {{value: w, fixed: {}}}}}",
            reads("a", "fixed")
        )
    };
    let world = World::deployed(&with("one"), "");
    world.write(&with("two"), "");
    let plan = world.plan(&[]);
    assert_eq!(plan["summary"]["replace"], 2, "{plan}");
    let done = world.done(&["up", "--yes"], 0);
    assert_eq!(done, ["replace a", "replace b", "delete b", "delete a"]);
    assert_eq!(world.effects(), (4, 0, 2));
    assert_eq!(world.real()["b"], ("w".into(), "two".into()));
}

#[test]
fn updates_run_between_creations_and_deletions() {
    let with = |fixed: &str| {
        format!(
            "a: {{type: thing, params: {{value: v, fixed: {fixed}}}}}\nb: {{type: thing, params: {{value: {}}}}}",
            reads("a", "fixed")
        )
    };
    let world = World::deployed(&with("one"), "");
    world.write(&with("two"), "");
    assert_eq!(world.done(&["up", "--yes"], 0), ["replace a", "update b", "delete a"]);
    assert_eq!(world.effects(), (3, 1, 1));
}

#[test]
fn delete_before_create_affects_only_the_dependents_that_must_be_replaced() {
    // `mid` cannot be updated, and `leaf` depends on it; `soft` can be updated, and `later` only
    // waits.
    let with = |fixed: &str| {
        format!(
            "root: {{type: thing, params: {{value: v, fixed: {fixed}, first: true}}}}\n\
             mid: {{type: thing, params: {{value: m, fixed: {}, first: true}}}}\n\
             leaf: {{type: thing, params: {{value: l, fixed: {}, first: true}}}}\n\
             soft: {{type: thing, params: {{value: {}}}}}\n\
             later: {{type: thing, params: {{value: x}}}}\n\
             beside: {{type: thing, params: {{value: y}}}}",
            reads("root", "fixed"),
            reads("mid", "fixed"),
            reads("root", "fixed"),
        )
    };
    let setting = "thing#shared.later: {depends_on: [thing#shared.root]}";
    let world = World::deployed(&with("one"), setting);
    world.write(&with("two"), setting);
    let plan = world.plan(&[]);
    let replaced: Vec<&str> = plan["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter(|step| step["action"] == "replace")
        .map(|step| {
            assert_eq!(step["delete_before_replace"], true, "{step}");
            step["key"].as_str().expect("a key")
        })
        .collect();
    assert_eq!(replaced, [thing("root"), thing("mid"), thing("leaf")], "{plan}");
    let text = world.run(&["plan"]).status(0).out;
    assert!(text.contains("the old one is deleted first"), "{text}");
    let done = world.done(&["up", "--yes"], 0);
    let order: Vec<&String> = done.iter().filter(|line| !line.ends_with("soft")).collect();
    assert_eq!(
        order,
        ["delete leaf", "delete mid", "delete root", "replace root", "replace mid", "replace leaf"]
    );
    assert!(place(&done, "update soft") > place(&done, "replace root"), "{done:?}");
    assert_eq!(world.effects(), (6 + 3, 1, 3));
    world.run(&["plan", "--detailed-exitcode"]).status(0);
}

#[test]
fn a_protected_resource_stops_the_run_before_any_call() {
    let with = |fixed: &str| {
        format!(
            "a: {{type: thing, params: {{value: v, fixed: {fixed}, first: true}}}}\nb: {{type: thing, params: {{value: w, fixed: {}, first: true}}}}",
            reads("a", "fixed")
        )
    };
    let world = World::deployed(&with("one"), "thing#shared.b: {protect: true}");
    world.write(&with("two"), "thing#shared.b: {protect: true}");
    for arguments in [&["plan"][..], &["up", "--yes"]] {
        let refused = world.run(arguments).status(2);
        assert_eq!(refused.out, "");
        assert!(
            refused.err.contains("`thing.default#shared.b` is protected and would be replaced")
                && refused.err.contains("= help: "),
            "{}",
            refused.err
        );
    }
    let events = world.run(&["up", "--yes", "--format", "json"]).status(2).events();
    assert_eq!((events.len(), &events[0]["error"]["diagnostics"][0]["code"]), (1, &"protected".into()));
    assert_eq!(world.effects(), (2, 0, 0));
    // An edit that removes the protection cannot make use of that at the same time.
    world.write(&with("two"), "");
    world.run(&["up", "--yes"]).status(2);
    world.write(&with("one"), "");
    world.up();
    world.write(&with("two"), "");
    world.up();
    assert_eq!(world.effects(), (4, 0, 2));
}

#[test]
fn all_that_is_protected_is_named_at_once() {
    let protected = "thing#shared.a: {protect: true}\nthing#shared.b: {protect: true}";
    let all = "a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}\nc: {type: thing, params: {value: x}}";
    let world = World::deployed(all, protected);
    world.write("c: {type: thing, params: {value: x2}}", "");
    for arguments in [&["plan"][..], &["up", "--yes"], &["destroy", "--yes"]] {
        let refused = world.run(arguments).status(2);
        for name in ["a", "b"] {
            assert!(
                refused.err.contains(&format!("`{}` is protected and would be deleted", thing(name))),
                "{arguments:?}: {}",
                refused.err
            );
        }
    }
    assert_eq!(world.effects(), (3, 0, 0));
    // A deployment that still contains the resources removes their protection.
    world.write(all, "");
    world.up();
    world.run(&["destroy", "--yes"]).status(0);
    assert_eq!(world.effects(), (3, 0, 3));
}

#[test]
fn retained_resources_are_never_deleted() {
    let with = |fixed: &str| format!("a: {{type: thing, params: {{value: v, fixed: {fixed}}}}}");
    let setting = "thing#shared.a: {retain: true}";
    let world = World::deployed(&with("one"), setting);
    world.write(&with("two"), setting);
    world.up();
    world.write("b: {type: thing, params: {value: w}}", "");
    let removed = world.run(&["up", "--yes"]).status(0);
    assert!(removed.err.contains("1 deleted"), "{}", removed.err);
    assert_eq!(world.effects(), (3, 0, 0), "nobody deleted either");
    assert_eq!(crate::reality::ids(world.path()).len(), 3);
    assert!(!world.project().recorded().contains(&thing("a")));
}

#[test]
fn replace_with_replaces_one_resource_with_another() {
    let with = |fixed: &str| {
        format!(
            "a: {{type: thing, params: {{value: v, fixed: {fixed}}}}}\nb: {{type: thing, params: {{value: w}}}}"
        )
    };
    let setting = "thing#shared.b: {replace_with: [thing#shared.a]}";
    let world = World::deployed(&with("one"), setting);
    world.write(&with("two"), setting);
    let plan = world.plan(&[]);
    let b = plan["steps"].as_array().expect("steps").iter().find(|step| step["key"] == thing("b"));
    assert_eq!(b.expect("b")["action"], "replace", "{plan}");
    assert_eq!(b.expect("b")["changes"], serde_json::json!([]), "it did not change itself");
    assert_eq!(world.done(&["up", "--yes"], 0), ["replace a", "replace b", "delete b", "delete a"]);
}

#[test]
fn ignored_changes_change_nothing() {
    let with = |value: &str| format!("a: {{type: thing, params: {{value: {value}}}}}");
    let setting = "thing#shared.a: {ignore_changes: [values.value]}";
    let world = World::deployed(&with("one"), setting);
    world.write(&with("two"), setting);
    world.run(&["plan", "--detailed-exitcode"]).status(0);
    world.up();
    assert_eq!(world.effects(), (1, 0, 0));
    assert_eq!(world.real()["a"].0, "one");
    for bad in ["values.nope", "outputs.value", "'values.'"] {
        world.write(&with("two"), &format!("thing#shared.a: {{ignore_changes: [{bad}]}}"));
        let refused = world.run(&["up", "--yes"]).status(2);
        assert!(refused.err.contains("deploy.yaml:"), "{bad}: {}", refused.err);
        assert!(refused.err.contains("= help: "), "{bad}: {}", refused.err);
    }
    assert_eq!(world.effects(), (1, 0, 0));
}

#[test]
fn replace_on_changes_replaces_although_the_driver_could_update() {
    let with = |value: &str| format!("a: {{type: thing, params: {{value: {value}}}}}");
    let setting = "thing#shared.a: {replace_on_changes: [values.value]}";
    let world = World::deployed(&with("one"), setting);
    world.write(&with("two"), setting);
    let plan = world.run(&["plan"]).status(0).out;
    assert!(plan.contains("values.value: \"one\" → \"two\" (forces replacement)"), "{plan}");
    assert!(plan.contains("a change of `values.value` replaces it (`replace_on_changes`)"), "{plan}");
    assert_eq!(world.done(&["up", "--yes"], 0), ["replace a", "delete a"]);
}

#[test]
fn half_a_resource_is_recorded_and_finished_by_the_next_run() {
    let with = |what: &str| format!("a: {{type: odd, params: {{do: {what}}}}}");
    let world = World::new(&with("half"), "");
    let failed = world.run(&["up", "--yes", "--format", "json"]).status(1).events();
    let event = failed.iter().find(|event| event["phase"] == "failed").expect("a failure");
    assert_eq!(event["error"]["code"], "partial");
    assert_eq!(world.listed("odd.default#shared.a")["status"], "partial");
    // The next run finishes it with an update, even if nothing changed.
    let plan = world.plan(&[]);
    let step = plan["steps"].as_array().expect("steps").iter().find(|step| step["action"] == "update");
    assert_eq!(step.expect("an update")["reasons"][0]["reason"], "failed", "{plan}");
    world.write(&with("echo"), "");
    assert_eq!(world.done(&["up", "--yes"], 0), ["update a"]);
    assert_eq!(world.listed("odd.default#shared.a")["status"], "ready");
    world.run(&["plan", "--detailed-exitcode"]).status(0);
}

#[test]
fn a_failure_stops_only_its_dependents() {
    let world = World::new(
        "bad: {type: odd, params: {do: nope}}\n\
         child: {type: thing, params: {value: c}}\n\
         grandchild: {type: thing, params: {value: \"${resources['thing.default#shared.child'].outputs.id}\"}}\n\
         free: {type: thing, params: {value: f}}",
        "thing#shared.child: {depends_on: [odd#shared.bad]}",
    );
    let events = world.run(&["up", "--yes", "--format", "json"]).status(1).events();
    assert_eq!(crate::world::steps_in(&events, "failed"), ["create bad"]);
    assert_eq!(crate::world::steps_in(&events, "skipped"), ["create child", "create grandchild"]);
    for event in events.iter().filter(|event| event["phase"] == "skipped") {
        assert_eq!(event["because"], "odd.default#shared.bad", "the cause, not what it stopped");
    }
    let summary = events.last().expect("a summary");
    assert_eq!(
        (&summary["status"], &summary["failed"], &summary["skipped"]),
        (&"failed".into(), &1.into(), &2.into())
    );
    assert_eq!(world.real().keys().collect::<Vec<_>>(), ["free"]);
    assert_eq!(world.project().recorded(), ["base-env.default#base-env", "thing.default#shared.free"]);
    let output = world.run(&["up", "--yes"]).status(1);
    assert_eq!(output.out, "");
    assert!(output.err.contains("error[failed]: it cannot `nope`"));
    assert!(
        output.err.contains("= note: for `odd.default#shared.bad`\nblocked 2 resources:\n"),
        "{}",
        output.err
    );
    assert!(output.err.contains("hint: completed changes are kept; run the same command again to continue"));
}

#[test]
fn a_failed_deletion_keeps_only_its_dependencies() {
    let world = World::deployed(
        "dep: {type: thing, params: {value: d}}\n\
         stuck: {type: thing, params: {value: s}}\n\
         u1: {type: thing, params: {value: one}}\n\
         u2: {type: thing, params: {value: \"${resources['thing.default#shared.u1'].outputs.value}\"}}",
        "thing#shared.stuck: {depends_on: [thing#shared.dep]}",
    );
    // The driver cannot delete a folder in the place of a file.
    let file = world.file("stuck");
    std::fs::remove_file(&file).expect("removed");
    std::fs::create_dir(&file).expect("made");
    let ended = world.run(&["destroy", "--yes", "--format", "json"]).status(1);
    let events = ended.events();
    assert_eq!(crate::world::steps_in(&events, "failed"), ["delete stuck"], "{}", ended.err);
    assert_eq!(crate::world::steps_in(&events, "skipped"), ["delete dep"], "{}", ended.err);
    assert_eq!(world.project().recorded(), [thing("dep"), thing("stuck")]);
    std::fs::remove_dir(&file).expect("removed");
    world.run(&["destroy", "--yes"]).status(0);
    assert_eq!(world.project().recorded(), [""; 0]);
}

#[test]
fn only_tainted_resources_are_replaced() {
    let world =
        World::deployed("a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}", "");
    world.run(&["state", "taint", "thing#shared.a"]).status(0);
    assert_eq!(world.done(&["up", "--yes"], 0), ["replace a", "delete a"]);
    assert_eq!(world.done(&["up", "--yes", "--replace", "thing#shared.b"], 0), ["replace b", "delete b"]);
    world.run(&["up", "--yes", "--replace", "thing#shared.x"]).status(2);
    world.run(&["plan", "--detailed-exitcode"]).status(0);
}

#[test]
fn everything_is_provisioned_again_only_on_request() {
    let world =
        World::deployed("a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}", "");
    assert_eq!(world.done(&["up", "--yes"], 0), [""; 0]);
    let mut done = world.done(&["up", "--yes", "--full"], 0);
    done.sort();
    assert_eq!(done, ["update a", "update b"]);
    assert_eq!(world.effects(), (2, 2, 0));
}

#[test]
fn removed_resources_are_kept_on_request() {
    let world =
        World::deployed("a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}", "");
    world.write("a: {type: thing, params: {value: v}}", "");
    world.run(&["up", "--yes", "--keep-removed"]).status(0);
    world.run(&["plan", "--keep-removed", "--detailed-exitcode"]).status(0);
    assert_eq!((world.effects(), world.real().len()), ((2, 0, 0), 2));
    world.run(&["plan", "--detailed-exitcode"]).status(3);
    assert_eq!(world.done(&["up", "--yes"], 0), ["delete b"]);
}

#[test]
fn two_resources_with_the_same_alias_are_rejected() {
    let world = World::deployed("old: {type: thing, params: {value: v}}", "");
    let two = "a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: v}}";
    let claim = "aliases: [thing#shared.old]";
    world.write(two, &format!("thing#shared.a: {{{claim}}}\nthing#shared.b: {{{claim}}}"));
    let refused = world.run(&["up", "--yes"]).status(2);
    assert!(refused.err.contains("deploy.yaml:"), "{}", refused.err);
    assert_eq!(world.effects(), (1, 0, 0));
    world.write(two, &format!("thing#shared.a: {{{claim}}}"));
    let plan = world.plan(&[]);
    assert_eq!(plan["summary"]["moved"], 1, "{plan}");
    assert_eq!(world.done(&["up", "--yes"], 0), ["create b"]);
    assert_eq!(world.effects(), (2, 0, 0));
    // The second plan has nothing left to move.
    world.run(&["plan", "--detailed-exitcode"]).status(0);
}

/// A definition that reads one param, and whose driver reads none.
const NOTE: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: note}
spec:
  type: note
  driver: purlin/random
  inputs: {values: {kind: id, length: '${params.length}'}}
  criteria: [{}]
";

fn noted(params: &str, lifecycle: &str) -> String {
    format!(
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n  env: dev\n  shared:\n    \
         a: {{type: note, params: {params}}}\n  lifecycle: {{note#shared.a: {{{lifecycle}}}}}\n"
    )
}

#[test]
fn a_param_that_nothing_reads_is_a_warning_and_no_reason_for_a_step() {
    let project = Project::with(&[("platform.yaml", NOTE), ("shop.yaml", &noted("{length: 8}", ""))]);
    project.run(&["up", "--yes"]).status(0);
    project.write("shop.yaml", noted("{length: 8, note: a remark}", ""));
    let ran = project.run(&["validate"]).status(0);
    assert!(ran.err.contains("warning[unread-param]: nothing reads the param `note`"), "{}", ran.err);
    assert!(ran.err.contains("shop.yaml:7:"), "{}", ran.err);
    let ran = project.run(&["plan", "--detailed-exitcode"]).status(0);
    assert!(ran.out.contains("nothing reads the param `note`"), "{}", ran.out);
    project.run(&["up", "--yes"]).status(0);
    // The record follows, and what is read still counts.
    let shown = project.run(&["state", "show", "note#shared.a", "--format", "json"]).status(0).json();
    assert_eq!(shown["resource"]["inputs"]["params"]["note"], "a remark");
    project.write("shop.yaml", noted("{length: 9}", ""));
    let text = project.run(&["plan"]).status(0).out;
    assert!(text.contains("values.length: 8 → 9") && !text.contains("params.length"), "{text}");
    // Naming the input that the driver sees is enough, and a param is not one.
    project.write("shop.yaml", noted("{length: 9}", "ignore_changes: [values.length]"));
    project.run(&["plan", "--detailed-exitcode"]).status(0);
    for setting in ["ignore_changes", "replace_on_changes"] {
        project.write("shop.yaml", noted("{length: 9}", &format!("{setting}: [params.length]")));
        let text = project.run(&["validate"]).status(2).err;
        assert!(
            text.contains("error[unseen-input]") && text.contains(&format!("`{setting}` names")),
            "{text}"
        );
    }
    // A type that describes the param has other definitions that read it.
    project.write(
        "type.yaml",
        "apiVersion: purlin.dev/v1\nkind: ResourceType\nmetadata: {id: note}\nspec:\n  type: note\n  params:\n    \
         properties: {length: {type: integer}, note: {type: string}}\n",
    );
    project.write("shop.yaml", noted("{length: 8, note: other}", ""));
    assert!(!project.run(&["validate"]).status(0).err.contains("unread-param"));
}

/// An optional input need not be given for its changes to be ignored, in any run.
#[test]
fn changes_of_an_input_that_is_not_given_are_ignored_in_every_run() {
    let project = Project::with(&[
        ("platform.yaml", NOTE),
        ("shop.yaml", &noted("{length: 8}", "ignore_changes: [values.upper]")),
    ]);
    for command in
        [&["validate"][..], &["up", "--yes"], &["up", "--yes"], &["plan", "--offline"], &["validate"]]
    {
        project.run(command).status(0);
    }
    project.write("shop.yaml", noted("{length: 8}", "ignore_changes: [values.uper]"));
    for command in [&["validate"][..], &["up", "--yes"]] {
        let text = project.run(command).status(2).err;
        assert!(text.contains("error[ignore-changes]"), "{text}");
    }
}
