//! Tests of runs for selected resources only.

use crate::world::{World, reads, thing};

fn pair() -> String {
    format!(
        "a: {{type: thing, params: {{value: v}}}}\nb: {{type: thing, params: {{value: {}}}}}\nc: {{type: thing, params: {{value: w}}}}",
        reads("a", "id")
    )
}

#[test]
fn missing_dependencies_are_rejected_before_any_call() {
    let world = World::new(&pair(), "");
    let refused = world.run(&["up", "--yes", "--target", "thing#shared.b"]).status(2);
    assert!(refused.err.contains(&thing("a")) && refused.err.contains("= help: "), "{}", refused.err);
    assert_eq!((refused.out.as_str(), world.effects()), ("", (0, 0, 0)));
    assert_eq!(world.done(&["up", "--yes", "--target", "thing#shared.c"], 0), ["create c"]);
    let done = world.done(&["up", "--yes", "--target", "thing#shared.a", "--target-dependents"], 0);
    assert_eq!(done, ["create a", "create b"]);
    for option in ["--target", "--exclude"] {
        let unknown = world.run(&["up", "--yes", option, "thing#shared.bb"]).status(2);
        assert!(
            unknown.err.contains(&format!("`{option} thing#shared.bb` names no resource")),
            "{}",
            unknown.err
        );
        assert!(unknown.err.contains("did you mean `thing.default#shared.b`?"), "{}", unknown.err);
    }
}

#[test]
fn exactly_the_others_are_read_when_one_is_left_out() {
    let world = World::deployed(&pair(), "");
    let mut read = world.done(&["refresh", "--exclude", "thing#shared.b"], 0);
    read.sort();
    assert_eq!(read, ["read a", "read c"]);
    assert_eq!(world.done(&["refresh", "--target", "thing#shared.b"], 0), ["read b"]);
}

#[test]
fn resources_with_dependents_are_not_destroyed_alone() {
    let world = World::deployed(&pair(), "");
    let refused = world.run(&["destroy", "--yes", "--target", "thing#shared.a"]).status(2);
    assert!(refused.err.contains(&thing("b")), "{}", refused.err);
    assert!(refused.err.contains("= help: "), "{}", refused.err);
    assert_eq!(world.effects(), (3, 0, 0));
    let done = world.done(&["destroy", "--yes", "--target", "thing#shared.a", "--target-dependents"], 0);
    assert_eq!(done, ["delete b", "delete a"]);
    assert_eq!(world.real().keys().collect::<Vec<_>>(), ["c"]);
    world.run(&["destroy", "--yes", "--target-dependents"]).status(2);
}

#[test]
fn a_missing_driver_affects_only_its_own_resources() {
    let world = World::new(&format!("{}\nd: {{type: odd, params: {{do: echo}}}}", pair()), "");
    let workspace = std::fs::read_to_string(world.path().join("purlin.yaml")).expect("read");
    let guests = purlin_systems::tools::component("guests").display().to_string();
    world.project().write("purlin.yaml", workspace.replace(&guests, "no-such.wasm"));
    world.run(&["up", "--yes"]).status(2);
    assert_eq!(world.done(&["up", "--yes", "--target", "thing#shared.c"], 0), ["create c"]);
    let mut done = world.done(&["up", "--yes", "--exclude", "odd#shared.d"], 0);
    done.sort();
    assert_eq!(done, ["create a", "create b"]);
}
