//! Tests of saved plans, and of unknown and secret values in plans.

use serde_json::json;

use crate::world::{World, reads};

const DRAWN: &str = "code: {type: password}\n\
    reader: {type: thing, params: {value: \"is ${resources['password.default#shared.code'].outputs.value}\"}}";

#[test]
fn a_plan_in_a_file_is_carried_out_as_it_was_seen_and_once() {
    let world = World::new(DRAWN, "");
    let output = world.run(&["plan", "--out", "up.plan"]).status(0);
    assert!(output.err.contains("hint: `purlin apply up.plan` applies exactly this"), "{}", output.err);
    let events = world.run(&["apply", "--yes", "up.plan", "--format", "json"]).status(0).events();
    assert_eq!(crate::world::steps_in(&events, "succeeded"), ["create code", "create reader"]);
    // The password was drawn once: the recorded value is the one that the reader got.
    let outputs = world.run(&["outputs", "--show-secrets", "--format", "json"]).status(0).json();
    let drawn = outputs["resources"]["password.default#shared.code"]["value"].as_str().expect("a text");
    assert_eq!(world.real()["reader"].0, format!("is {drawn}"));
    world.run(&["plan", "--detailed-exitcode"]).status(0);

    let again = world.run(&["apply", "--yes", "up.plan"]).status(2);
    assert_eq!(
        again.err,
        "error: the plan is stale: the state changed since it was made\n\
         hint: `purlin plan --out FILE` makes a new one; nothing was changed\n"
    );
    let json = world.run(&["apply", "--yes", "up.plan", "--format", "json"]).status(2).events();
    assert_eq!((json.len(), &json[0]["event"]), (1, &"error".into()));
    assert_eq!(world.effects(), (1, 0, 0));
}

#[test]
fn a_plan_keeps_its_secrets_to_itself() {
    let world = World::new("a: {type: thing, params: {value: open}}", "");
    world.run(&["plan", "--out", "up.plan"]).status(0);
    let bytes = std::fs::read(world.path().join("up.plan")).expect("read");
    for text in ["correct-horse", "open", "shared.a", "acme/ledger"] {
        assert!(!bytes.windows(text.len()).any(|at| at == text.as_bytes()), "`{text}` is in plain text");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(world.path().join("up.plan")).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "nobody else may read it");
    }

    // A file with one changed byte, a truncated file, a plan of another state, and another file are
    // rejected without effect.
    let mut changed = bytes.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    let other = World::new("a: {type: thing, params: {value: open}}", "");
    other.run(&["plan", "--out", "other.plan"]).status(0);
    let foreign = std::fs::read(other.path().join("other.plan")).expect("read");
    for (what, bytes) in [("changed", changed), ("short", bytes[..40].to_vec()), ("foreign", foreign)] {
        world.project().write("bad.plan", bytes);
        let refused = world.run(&["apply", "--yes", "bad.plan"]).status(2);
        assert!(
            refused.err.contains("the seal of the plan `bad.plan` does not match"),
            "{what}: {}",
            refused.err
        );
        assert!(refused.err.contains("hint: "), "{what}: {}", refused.err);
    }
    world.project().write("bad.plan", "hello");
    assert!(world.run(&["apply", "--yes", "bad.plan"]).status(2).err.contains("this is not a plan"));
    assert!(world.run(&["apply", "--yes", "nowhere.plan"]).status(2).err.contains("hint: "));
    // It has its own context, documents and values.
    for (option, value, said) in [
        ("--env", "prod", "not for `prod`"),
        ("--app", "blog", "not for `blog`"),
        ("--set", "a=b", "`--set` would have no effect"),
        ("--param", "a=b", "`--param` would have no effect"),
    ] {
        let refused = world.run(&["apply", "--yes", "up.plan", option, value]).status(2);
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    assert_eq!(world.effects(), (0, 0, 0));
    world.run(&["apply", "--yes", "up.plan"]).status(0);
}

#[test]
fn documents_must_match_the_plan() {
    let world = World::deployed("a: {type: thing, params: {value: one}}", "");
    world.write("a: {type: thing, params: {value: two}}", "");
    world.run(&["plan", "--out", "change.plan"]).status(0);
    for other in [
        "a: {type: thing, params: {value: three}}",
        "a: {type: thing, params: {value: two}}\nb: {type: thing, params: {value: x}}",
        "",
    ] {
        world.write(other, "");
        let refused = world.run(&["apply", "--yes", "change.plan", "-f", "."]).status(2);
        assert!(refused.err.contains("deviates from the plan"), "{other}: {}", refused.err);
        let lines: Vec<&str> = refused.err.lines().filter(|line| line.starts_with("  ")).collect();
        let mut once = lines.clone();
        once.dedup();
        assert!(!lines.is_empty() && once == lines, "each deviation once: {}", refused.err);
        assert_eq!(world.effects(), (1, 0, 0));
    }
    // Without documents on the command line, the plan's own documents are used.
    assert_eq!(world.done(&["apply", "--yes", "change.plan"], 0), ["update a"]);
    assert_eq!(world.real()["a"].0, "two");
}

#[test]
fn unknown_values_are_marked_and_are_not_null() {
    let world = World::new(
        &format!(
            "a: {{type: thing, params: {{value: v}}}}\nb: {{type: thing, params: {{value: {}}}}}",
            reads("a", "id")
        ),
        "",
    );
    let plan = world.plan(&[]);
    let change = |plan: &serde_json::Value, name: &str, path: &str| {
        let steps = plan["steps"].as_array().expect("steps").clone();
        let step = steps.into_iter().find(|step| step["key"] == crate::world::thing(name)).expect("a step");
        let changes = step["changes"].as_array().expect("changes").clone();
        changes
            .into_iter()
            .find(|change| change["path"] == path)
            .unwrap_or_else(|| panic!("{path} in {step}"))
    };
    assert_eq!(
        change(&plan, "b", "/values/value"),
        json!({"path": "/values/value", "before": null, "after": null, "unknown": true, "secret": false, "replaces": false})
    );
    assert_eq!(change(&plan, "b", "/values/fixed")["unknown"], false);
    assert_eq!(
        change(&plan, "a", "/secrets/password"),
        json!({"path": "/secrets/password", "before": null, "after": "[secret]", "unknown": false, "secret": true, "replaces": false})
    );
    world.up();
    assert_eq!(world.real()["b"].0, world.id("a"));

    // A change that would replace the resource only if the value differs says so.
    let with = |fixed: &str| {
        format!(
            "a: {{type: thing, params: {{value: v, fixed: {fixed}}}}}\nb: {{type: thing, params: {{value: w, fixed: {}}}}}",
            reads("a", "value")
        )
    };
    let world = World::deployed(&with("one"), "");
    world.write(&with("two"), "");
    let plan = world.run(&["plan"]).status(0).out;
    assert!(plan.contains("values.fixed: \"v\" → (known after apply) (replaces if it differs)"), "{plan}");
    // The value did not differ.
    assert_eq!(world.done(&["up", "--yes"], 0).iter().filter(|line| line.ends_with(" b")).count(), 0);
    assert_eq!(world.effects(), (3, 0, 1));
}

#[test]
fn secrets_are_masked_everywhere() {
    let world = World::new(DRAWN, "");
    let mut all = String::new();
    let mut say = |arguments: &[&str]| {
        let ran = world.run(arguments);
        all.push_str(&ran.out);
        all.push_str(&ran.err);
    };
    say(&["plan", "--verbose"]);
    say(&["up", "--yes", "--verbose", "--format", "json"]);
    let outputs = world.run(&["outputs", "--show-secrets", "--format", "json"]).status(0).json();
    let drawn = outputs["resources"]["password.default#shared.code"]["value"].as_str().expect("a text");
    world.meddle("reader", "was changed");
    for arguments in [
        &["plan", "--refresh", "--verbose"][..],
        &["plan", "--refresh", "--format", "json"],
        &["refresh", "--format", "json"],
        &["refresh", "--verbose"],
        &["up", "--yes", "--verbose"],
        &["state", "list", "--format", "json"],
        &["state", "show", "thing#shared.reader"],
        &["state", "show", "password#shared.code", "--format", "json"],
        &["outputs"],
        &["history", "--format", "json"],
        &["history", "1", "--format", "json"],
        &["diff", "1", "--format", "json"],
        &["destroy", "--yes", "--format", "json"],
    ] {
        say(arguments);
    }
    assert!(all.contains("[secret]"));
    assert!(!all.contains(drawn) && !all.contains("correct-horse"));
    let mut files = vec![world.path().join(".purlin")];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(path).expect("read").map(|entry| entry.expect("an entry").path()));
        } else {
            let bytes = std::fs::read(&path).expect("read");
            for text in [drawn, "correct-horse"] {
                let found = bytes.windows(text.len()).any(|at| at == text.as_bytes());
                assert!(!found, "a secret is in {}", path.display());
            }
        }
    }
}

#[test]
fn a_plan_reads_the_same_without_colour() {
    let world = World::deployed("a: {type: thing, params: {value: one}}", "");
    world.write("a: {type: thing, params: {value: two}}", "");
    let plain = world.run(&["plan"]).status(0).out;
    assert!(!plain.contains('\u{1b}'));
    assert!(plain.contains("  ~ update thing.default#shared.a"), "{plain}");
    let coloured = world.run(&["plan", "--color", "always"]).status(0).out;
    assert!(coloured.contains('\u{1b}'));
    assert_eq!(anstream_free(&coloured), plain, "colour is all that colour adds");
    let mut command = world.project().command(&["plan"]);
    command.env("NO_COLOR", "1").env("CLICOLOR_FORCE", "1");
    assert_eq!(purlin_systems::project::ran(command).status(0).out, plain);
}

/// Text without colours.
fn anstream_free(text: &str) -> String {
    regex::Regex::new("\u{1b}\\[[0-9;]*m").expect("a pattern").replace_all(text, "").into_owned()
}

/// A world with two unchanged resources, and one of each other kind: created (two, one of which
/// reads the other), updated, replaced, deleted.
fn all_kinds() -> World {
    let things = |names: &[(&str, &str)]| -> String {
        names
            .iter()
            .map(|(name, params)| format!("{name}: {{type: thing, params: {{{params}}}}}\n"))
            .collect()
    };
    let kept = ("kept", "value: v");
    let world = World::deployed(
        &things(&[
            kept,
            ("changed", "value: one"),
            ("fixed", "value: v, fixed: one"),
            ("first", "value: v, fixed: one, first: true"),
            ("gone", "value: v"),
        ]),
        "",
    );
    let made = format!("value: {}", reads("made", "id"));
    world.write(
        &things(&[
            kept,
            ("changed", "value: two"),
            // Its name alone does not distinguish the new one from the old one, which still exists
            // at that time.
            ("fixed", "value: v, fixed: one"),
            ("first", "value: v, fixed: two, first: true"),
            ("made", "value: v"),
            ("reader", &made),
        ]),
        "",
    );
    world.run(&["plan", "--out", "up.plan"]).status(0);
    world
}

/// The real objects without the ids that differ from run to run.
fn kinds(world: &World) -> Vec<(String, String)> {
    let id = world.real().contains_key("made").then(|| world.id("made"));
    let value = |value: String| if Some(&value) == id.as_ref() { "the id".to_owned() } else { value };
    world.real().into_iter().map(|(name, thing)| (name, value(thing.0))).collect()
}

#[test]
fn a_plan_killed_anywhere_can_be_completed() {
    let world = all_kinds();
    let whole = world.copy();
    whole.run(&["apply", "--yes", "up.plan"]).status(0);
    let (expected, effects) = (kinds(&whole), whole.effects());
    let mut went_on = 0;
    for number in 1.. {
        let world = world.copy();
        let mut command = world.project().command(&["apply", "--yes", "up.plan", "--parallelism", "1"]);
        command.env("PURLIN_CRASH_AT", number.to_string());
        let ended = purlin_systems::project::ran(command);
        if ended.status != -1 {
            assert!(number > 20, "{number}: {}", ended.err);
            break;
        }
        let again = world.run(&["apply", "--yes", "up.plan", "--format", "json"]);
        if again.status == 2 {
            assert!(again.err.contains("the plan is stale"), "{number}: {}", again.err);
            assert_eq!(
                world.run(&["history", "--format", "json"]).json()["deployments"][0]["outcome"],
                "succeeded"
            );
        } else {
            assert_eq!(again.status, 0, "{number}: {}{}", again.err, again.out);
            went_on += 1;
        }
        assert_eq!(kinds(&world), expected, "{number}");
        // A call that was killed may not have counted its effect.
        let (made, _, deleted) = world.effects();
        assert!(made <= effects.0 && deleted <= effects.2, "{number}: nothing twice");
        world.run(&["plan", "--detailed-exitcode"]).status(0);
        let history = world.run(&["history", "--format", "json"]).status(0).json();
        assert_eq!(history["deployments"].as_array().map(Vec::len), Some(2), "{number}: {history}");
        world.run(&["apply", "--yes", "up.plan"]).status(2);
    }
    assert!(went_on > 20, "{went_on}");
}

#[test]
fn a_plan_continues_only_its_own_run() {
    let world = all_kinds();
    let killed =
        world.interrupted(&["apply", "--yes", "up.plan", "--parallelism", "1"], "after create", |world| {
            // The first of three creations, so that changes remain.
            world.effects().0 == 6
        });
    let meddlers: [&[&str]; 4] = [
        &["state", "protect", "thing#shared.kept"],
        &["state", "forget", "thing#shared.kept", "--yes"],
        &["state", "rename", "thing#shared.kept", "thing#shared.other"],
        &["up", "--yes"],
    ];
    for meddler in meddlers {
        let world = killed.copy();
        world.run(meddler).status(0);
        let effects = world.effects();
        let refused = world.run(&["apply", "--yes", "up.plan"]).status(2);
        assert!(refused.err.contains("the plan is stale"), "{meddler:?}: {}", refused.err);
        assert_eq!(world.effects(), effects, "{meddler:?}");
    }
    // Reading changes nothing.
    killed.run(&["refresh"]).status(0);
    // The documents must still match the plan.
    let world = killed.copy();
    world.write("kept: {type: thing, params: {value: v}}\nmade: {type: thing, params: {value: other}}", "");
    let refused = world.run(&["apply", "--yes", "up.plan", "-f", "."]).status(2);
    assert!(refused.err.contains("deviates from the plan"), "{}", refused.err);
    let output = killed.run(&["apply", "--yes", "up.plan", "-f", "."]).status(0);
    assert!(
        output.err.contains("deployment 2 already started this plan; continuing with the remaining changes"),
        "{}",
        output.err
    );
    killed.run(&["plan", "--detailed-exitcode"]).status(0);
}

#[test]
fn a_failed_plan_continues_and_repeats_nothing() {
    let world =
        World::deployed("a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: v}}", "");
    let replace = "--replace=thing#shared.a";
    for (options, done) in [(&[replace][..], 1), (&["--full"], 0), (&["--full", replace], 1)] {
        let world = world.copy();
        world.write(
            "a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: v}}\nodd: {type: odd, params: {do: panic}}",
            "odd#shared.odd: {depends_on: [thing#shared.a, thing#shared.b]}",
        );
        world.run(&[&["plan", "--out", "up.plan"], options].concat()).status(0);
        for _ in 0..2 {
            world.run(&["apply", "--yes", "up.plan"]).status(1);
            assert_eq!(world.effects().0 - 2, done, "{options:?}");
            assert_eq!(
                world.effects().1,
                2 * usize::from(options[0] == "--full") - usize::from(options.len() > 1)
            );
        }
        let history = world.run(&["history", "--format", "json"]).status(0).json();
        assert_eq!(history["deployments"].as_array().map(Vec::len), Some(2), "{history}");
        assert_eq!(history["deployments"][0]["failed"], 1, "{history}");
    }
}
