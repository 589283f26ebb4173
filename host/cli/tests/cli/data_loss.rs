//! Tests that no data is lost without separate consent (SPEC §9).

use serde_json::Value;

use crate::lock::replaced;
use crate::terminal::typed;
use crate::world::{World, thing};
use purlin_systems::tools::component;

/// A definition of a resource that holds data, with the driver that counts effects.
const STORE: &str = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: store}
spec:
  type: store
  driver: acme/ledger
  inputs: {values: {value: '${params.value}', fixed: '${params.fixed}', data: true}, secrets: {password: correct-horse}}
  criteria: [{}]
";

const KEY: &str = "store.default#shared.db";

fn with(fixed: &str, beside: &str) -> String {
    format!(
        "db: {{type: store, params: {{value: v, fixed: {fixed}}}}}\n\
         beside: {{type: thing, params: {{value: {beside}}}}}"
    )
}

fn world() -> World {
    let world = World::new("", "");
    world.project().write("store.yaml", STORE);
    world.write(&with("one", "a"), "");
    world.up();
    assert_eq!(world.effects(), (2, 0, 0));
    world
}

/// Asserts that the command is rejected, names the resource, and calls no driver, not even for
/// other resources.
#[track_caller]
fn refuses(world: &World, arguments: &[&str]) {
    let before = world.effects();
    let refused = world.run(arguments).status(2);
    let hint = "hint: nothing was changed; `--yes --allow-data-loss` also deletes the data";
    let error = format!("error: 1 resource would lose its data, which needs separate consent:\n  {KEY}\n");
    assert!(refused.err.contains(&error) && refused.err.contains(hint), "{}", refused.err);
    assert!(refused.err.contains("loses data: what was entered into it"), "{}", refused.err);
    assert!(refused.err.contains("; 1 loses data."), "{}", refused.err);
    let json = world.run(&[arguments, &["--format", "json"]].concat()).status(2).events();
    assert_eq!(json.len(), 1, "{json:?}");
    assert_eq!(json[0]["event"], "error");
    assert!(json[0]["error"]["message"].as_str().expect("a message").contains(KEY), "{json:?}");
    assert_eq!(world.effects(), before);
}

#[test]
fn losses_by_changed_definitions_are_reported() {
    let world = world();
    world.project().edit("store.yaml", "fixed: '${params.fixed}'", "fixed: other");
    let arguments = ["impact", "store.yaml", "--check", "--fail-on", "loses-data"];
    let report = world.run(&arguments).status(3).out;
    assert!(
        report.contains("replace, loses data") && report.contains("loses data: what was entered into it"),
        "{report}"
    );
    assert!(report.ends_with("replace 1, of these 1 loses data\n"), "{report}");
    assert_eq!(world.effects(), (2, 0, 0));
}

#[test]
fn a_yes_alone_deletes_and_replaces_nothing_that_holds_data() {
    let world = world();
    // The resource is replaced, and another one changes.
    world.write(&with("two", "b"), "");
    refuses(&world, &["up", "--yes"]);
    world.run(&["plan", "--out", "kept.plan"]).status(0);
    refuses(&world, &["apply", "--yes", "kept.plan"]);
    refuses(&world, &["destroy", "--yes"]);
    refuses(&world, &["destroy", "--yes", "--target", KEY]);
    // The resource is removed from the documents.
    world.write("beside: {type: thing, params: {value: a}}", "");
    refuses(&world, &["up", "--yes"]);
    // A change that does not affect it needs no additional consent.
    let done = world.done(&["up", "--yes", "--keep-removed"], 0);
    assert!(done.is_empty(), "{done:?}");
    assert_eq!(world.done(&["destroy", "--yes", "--target", &thing("beside")], 0), ["delete beside"]);
    assert_eq!(world.real().len(), 1);
}

#[test]
fn separate_consent_deletes_and_replaces_what_holds_data() {
    let world = world();
    world.write(&with("two", "b"), "");
    world.run(&["plan", "--out", "kept.plan"]).status(0);
    let done = world.done(&["apply", "--yes", "--allow-data-loss", "kept.plan"], 0);
    assert_eq!(done.iter().filter(|line| line.ends_with(" db")).count(), 2, "{done:?}");
    assert_eq!(world.real()["db"], ("v".into(), "two".into()));
    // Changing it back is another replacement.
    refuses(&world, &["rollback", "--yes", "1"]);
    world.run(&["rollback", "--yes", "--allow-data-loss", "1"]).status(0);
    assert_eq!(world.real()["db"], ("v".into(), "one".into()));
    // `--allow-data-loss` does not replace `--yes`.
    let refused = world.run(&["destroy", "--allow-data-loss"]).status(2);
    assert!(
        refused.err.starts_with("error: there is no terminal to ask for confirmation"),
        "{}",
        refused.err
    );
    world.run(&["destroy", "--yes", "--allow-data-loss"]).status(0);
    assert!(world.real().is_empty());
}

#[test]
fn a_plan_distinguishes_losses() {
    let world = world();
    world.write(&with("two", "a"), "");
    let plan = world.plan(&[]);
    assert_eq!(plan["summary"]["loses_data"], 1, "{plan}");
    let steps = plan["steps"].as_array().expect("steps");
    let losing: Vec<&Value> = steps.iter().filter(|step| step["loses_data"] == true).collect();
    assert_eq!(losing.len(), 1, "{plan}");
    assert_eq!(losing[0]["key"], KEY);
    assert_eq!(losing[0]["loss"], serde_json::json!({"what": "what was entered into it", "allowed": false}));
    let text = world.run(&["plan"]).status(0).out;
    assert!(text.contains("loses data: what was entered into it\n"), "{text}");
    assert!(text.ends_with("Plan: 1 to replace, 2 unchanged; 1 loses data.\n"), "{text}");
    // An update loses nothing.
    world.write(
        "db: {type: store, params: {value: w, fixed: one}}\nbeside: {type: thing, params: {value: a}}",
        "",
    );
    let plan = world.plan(&[]);
    assert_eq!((&plan["summary"]["update"], &plan["summary"]["loses_data"]), (&1.into(), &Value::Null));
    world.run(&["up", "--yes"]).status(0);
}

#[test]
fn documents_allow_a_loss_also_after_the_resource_left_them() {
    let world = world();
    let allowed = "store#shared.db: {allow_data_loss: true}";
    world.write(&with("two", "a"), allowed);
    world.run(&["up", "--yes"]).status(0);
    assert_eq!(world.real()["db"], ("v".into(), "two".into()));
    // The permission is removed and deployed: from then on, consent is necessary again.
    world.write(&with("two", "a"), "");
    assert!(world.done(&["up", "--yes"], 0).is_empty());
    refuses(&world, &["destroy", "--yes"]);
    // The newest deployment that contained the resource decides, although there is a newer one
    // without it.
    world.write(&with("two", "c"), allowed);
    world.run(&["up", "--yes"]).status(0);
    world.write("beside: {type: thing, params: {value: d}}", "");
    world.run(&["up", "--yes", "--keep-removed"]).status(0);
    let text = world.run(&["plan"]).status(0).out;
    assert!(text.contains("(allowed by `allow_data_loss`)"), "{text}");
    assert_eq!(world.done(&["up", "--yes"], 0), ["delete db"]);
}

#[test]
fn a_definition_allows_the_loss_of_all_that_it_makes() {
    let world = World::new("", "");
    world.project().write("store.yaml", format!("{STORE}  lifecycle: {{allow_data_loss: true}}\n"));
    world.write(&with("one", "a"), "");
    world.up();
    world.run(&["destroy", "--yes"]).status(0);
    assert!(world.real().is_empty());
}

#[test]
fn on_a_terminal_the_name_of_the_environment_is_typed_in() {
    let world = world();
    for answer in ["y\n", "yes\n", "\n", "prod\n", "DEV\n"] {
        let Some(refused) = typed(world.project(), &["destroy"], answer) else { return };
        let refused = refused.status(1);
        assert!(refused.out.contains("1 resource loses its data:"), "{}", refused.out);
        assert!(refused.out.contains(KEY), "{}", refused.out);
        assert!(refused.out.contains("type the name of the environment, `dev`:"), "{}", refused.out);
        assert!(refused.out.contains("Nothing was changed."), "{}", refused.out);
        assert_eq!(world.effects(), (2, 0, 0));
    }
    // With `--yes`, the question is not asked, and the loss is rejected.
    let Some(refused) = typed(world.project(), &["destroy", "--yes"], "dev\n") else { return };
    refused.status(2);
    // With `--allow-data-loss` only, the usual question is asked.
    let Some(refused) = typed(world.project(), &["destroy", "--allow-data-loss"], "dev\n") else { return };
    let refused = refused.status(1);
    assert!(refused.out.contains("[y/N]"), "{}", refused.out);
    assert_eq!(world.effects(), (2, 0, 0));
    let Some(done) = typed(world.project(), &["destroy"], "dev\n") else { return };
    done.status(0);
    assert!(world.real().is_empty());
}

#[test]
fn another_driver_with_the_same_name_does_not_hide_held_data() {
    let world = world();
    let right = std::fs::read_to_string(world.path().join("purlin.yaml")).expect("it");
    let swapped = right.replace("ledger.wasm", "blind.wasm");
    assert_ne!(right, swapped);
    world.project().write("purlin.yaml", &swapped);
    world.write("beside: {type: thing, params: {value: a}}", "");
    let refused = world.run(&["up", "--yes"]).status(2);
    assert!(refused.err.contains("1 resource would lose its data"), "{}", refused.err);
    assert!(refused.err.contains("loses data: what was entered into it"), "{}", refused.err);
    assert_eq!(world.real().len(), 2);
    let shown = world.run(&["state", "show", KEY, "--format", "json"]).status(0).json();
    assert_eq!(shown["resource"]["holds_data"], "what was entered into it");
}

/// A keyword that this version does not know may say what the right one says.
#[test]
fn a_misspelt_keyword_takes_no_consent_away() {
    let world = world();
    let ledger = std::fs::read(component("ledger")).expect("a driver");
    let misspelt = replaced(&ledger, b"x-purlin-holds-data", b"x-purlin-holds-dato");
    world.project().write("misspelt.wasm", misspelt);
    let right = std::fs::read_to_string(world.path().join("purlin.yaml")).expect("it");
    let swapped = right.replace(&*component("ledger").to_string_lossy(), "misspelt.wasm");
    assert_ne!(right, swapped);
    world.project().write("purlin.yaml", &swapped);
    world.write(&with("one", "b"), "");
    for command in [&["validate"][..], &["plan"], &["up", "--yes"]] {
        let refused = world.run(command).status(2);
        let keyword = "does not know the keyword `x-purlin-holds-dato`: it is misspelt (did you mean \
                       `x-purlin-holds-data`?), or the driver needs a newer Purlin";
        let text = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("error[driver-schema]") && text.contains(keyword), "{}", refused.err);
    }
    let check = world.run(&["driver", "check", "misspelt.wasm", "--rule", "schema.valid"]).status(1);
    assert!(format!("{}{}", check.out, check.err).contains("x-purlin-holds-dato"), "{}", check.out);
    let inspected = world.run(&["driver", "inspect", "misspelt.wasm"]).status(0);
    assert!(
        inspected.err.contains("warning: the schema of the inputs of `*` cannot be used"),
        "{}",
        inspected.err
    );
    // What the right driver made is still known to hold data, and so is what this one would delete.
    let refused = world.run(&["destroy", "--yes"]).status(2);
    assert!(refused.err.contains("1 resource would lose its data"), "{}", refused.err);
    assert_eq!(world.effects(), (2, 0, 0));
    world.run(&["destroy", "--yes", "--allow-data-loss"]).status(0);
    assert!(world.real().is_empty());
}
