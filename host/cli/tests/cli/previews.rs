//! Drivers that foresee their effects, in the whole program: promises, parts, and answers that cannot be used.

use serde_json::json;

use crate::adversary::adversarial;

const ONE: &str = "thing.default#shared.one";

#[test]
fn a_preview_that_cannot_be_used_holds_back_its_resource() {
    let large = json!({"outputs": json!({"a": "x".repeat(4000)}).to_string()});
    for (preview, limits, message) in [
        (
            json!({"outputs": r#"{"host": "a"}"#}),
            "{}",
            "returned another value for the output `/host` than it had promised",
        ),
        (json!({"outputs": "{"}), "{}", "broke its contract: its outputs cannot be read as JSON"),
        (
            json!({"parts": 10_001}),
            "{}",
            "broke its contract: it foresees 10001 parts, and 10000 are allowed",
        ),
        (large, "{output: 2KiB}", "returned more than 2 KiB, its output limit"),
        (json!({"do": "trap"}), "{}", "the driver `acme/guests` crashed: it panicked or aborted"),
        (
            json!({"do": "loop"}),
            "{time: 1s}",
            "the driver `acme/guests` was stopped after 1s, its time limit",
        ),
        (json!({"do": "undecided"}), "{}", "`preview` has no effects, and cannot fail with `undecided`"),
    ] {
        let project = adversarial(&json!({"preview": preview}).to_string(), limits);
        let ran = project.run(&["up", "--yes"]).status(1);
        assert!(ran.has(message), "{preview}: {ran}");
        assert!(!ran.has("correct-horse"), "{preview}: {ran}");
        // Others are not affected.
        assert!(ran.has("dns.default#shared.two") && !ran.has("blocked"), "{preview}: {ran}");
    }
}

#[test]
fn inputs_that_a_preview_rejects_are_at_their_place() {
    let project = adversarial(&json!({"preview": {"do": "invalid"}}).to_string(), "{}");
    let ran = project.run(&["plan"]).status(2);
    assert!(ran.has("it cannot be foreseen") && ran.has("things.yaml:"), "{ran}");
}

#[test]
fn parts_that_lose_data_need_separate_consent() {
    let parts = json!([
        {"address": "db.main", "action": "delete", "holds_data": "every row of {secret}", "reason": "it left the module"},
        {"address": "net", "action": "create"},
    ]);
    let project = adversarial(&json!({"preview": {"parts": parts}}).to_string(), "{}");
    let plan = project.run(&["plan"]).status(0);
    let lines = "             - delete db.main
               loses data: every row of {secret}
               it left the module
             + create net
";
    assert!(plan.out.contains(lines), "{plan}");
    assert!(plan.out.ends_with("; 1 loses data.\n"), "{plan}");
    let refused = project.run(&["up", "--yes"]).status(2);
    let error = format!("error: 1 resource would lose its data, which needs separate consent:\n  {ONE}\n");
    assert!(refused.err.contains(&error), "{refused}");
    let json = project.run(&["plan", "--format", "json"]).status(0).json();
    let steps = json["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["key"] == ONE).expect("a step");
    assert_eq!(step["parts"][0]["action"], "delete");
    assert_eq!(step["loss"]["what"], "every row of {secret} (`db.main`)");
    project.run(&["up", "--yes", "--allow-data-loss"]).status(0);
}

/// The token of a forecast reaches the effect, from a saved plan, too, which is sealed.
#[test]
fn an_effect_has_the_token_of_its_forecast() {
    let project =
        adversarial(&json!({"do": "agreed", "preview": {"token": "plan-of-a-tool"}}).to_string(), "{}");
    project.run(&["plan", "--out", "kept.plan"]).status(0);
    let sealed = std::fs::read(project.path().join("kept.plan")).expect("a plan");
    assert!(!String::from_utf8_lossy(&sealed).contains("plan-of-a-tool"));
    project.run(&["apply", "--yes", "kept.plan"]).status(0);
    let shown = project.run(&["state", "show", ONE, "--format", "json"]).status(0).json();
    assert!(shown.to_string().contains(r#""token":"plan-of-a-tool""#), "{shown:#}");
}

/// The documents without the resource whose driver foresees.
const WITHOUT: &str = "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: shop}\nspec:\n  shared:\n    two: {type: dns}\n";

/// `destroy`, and documents that no longer have the resource.
#[test]
fn a_deletion_shows_the_parts_that_go_with_it() {
    let parts = json!([
        {"address": "db.main", "action": "delete", "holds_data": "every row of {secret}"},
        {"address": "logs", "action": "forget", "holds_data": "lines"},
    ]);
    let values = json!({"id": "consent", "deletion": {"parts": parts, "token": "seen"}});
    let project = adversarial(&values.to_string(), "{}");
    project.run(&["up", "--yes"]).status(0);
    let shown = "             - delete db.main
               loses data: every row of {secret}
             = forget logs
";
    let refused = project.run(&["destroy", "--yes"]).status(2);
    assert!(refused.err.contains(shown), "{refused}");
    let error = format!("error: 1 resource would lose its data, which needs separate consent:\n  {ONE}\n");
    assert!(refused.err.contains(&error), "{refused}");
    // The driver has the consent and the token.
    let failed = project.run(&["destroy", "--yes", "--allow-data-loss"]).status(1);
    assert!(failed.has(r#"data loss allowed: true, {"token":"seen"}"#), "{failed}");

    project.write("deploy.yaml", WITHOUT);
    let plan = project.run(&["plan"]).status(0);
    assert!(plan.out.contains(shown) && plan.out.ends_with("; 1 loses data.\n"), "{plan}");
    let json = project.run(&["plan", "--format", "json"]).status(0).json();
    let step =
        &json["steps"].as_array().expect("steps").iter().find(|step| step["key"] == ONE).expect("a step");
    assert_eq!((&step["action"], &step["parts"][0]["action"]), (&json!("delete"), &json!("delete")));
    assert_eq!(step["loss"]["allowed"], false);
    // A saved plan has the token, sealed.
    project.run(&["plan", "--out", "kept.plan"]).status(0);
    let failed = project.run(&["apply", "--yes", "--allow-data-loss", "kept.plan"]).status(1);
    assert!(failed.has(r#"data loss allowed: true, {"token":"seen"}"#), "{failed}");
}

#[test]
fn the_parts_of_a_resource_are_recorded() {
    let parts = json!([
        {"address": "db.main", "action": "create", "holds_data": "every row of {secret}"},
        {"address": "data.zone", "action": "read"},
        {"address": "log\u{1b}[2J", "action": "create"},
    ]);
    let project = adversarial(&json!({"preview": {"parts": parts}}).to_string(), "{}");
    project.run(&["up", "--yes"]).status(0);
    let listed = project.run(&["state", "list", "--parts"]).status(0);
    let below: Vec<&str> = listed.out.lines().skip_while(|line| !line.starts_with(ONE)).skip(1).collect();
    assert!(below[0].starts_with("  db.main (") && below[0].contains(", holds every row of "), "{listed}");
    assert!(below[1].starts_with("  log") && below.len() == 2, "{listed}");
    assert!(!listed.out.contains('\u{1b}') && !listed.has("correct-horse"), "{listed}");
    assert_eq!(project.run(&["state", "list"]).status(0).out.lines().count(), listed.out.lines().count() - 2);
    for (arguments, place) in [
        (&["state", "list", "--format", "json"][..], "resources"),
        (&["status", "--format", "json"], "resources"),
        (&["state", "show", ONE, "--format", "json"], "resource"),
    ] {
        let json = project.run(arguments).status(0).json();
        let all = json[place].as_array().cloned().unwrap_or_else(|| vec![json[place].clone()]);
        let one = all.iter().find(|resource| resource["key"] == ONE).expect("listed");
        let addresses: Vec<&serde_json::Value> =
            one["parts"].as_array().expect("parts").iter().map(|part| &part["address"]).collect();
        assert_eq!((addresses.len(), addresses[0]), (2, &json!("db.main")), "{json:#}");
        let two = all.iter().find(|resource| resource["key"] == "dns.default#shared.two");
        assert!(two.is_none_or(|two| two.get("parts").is_none()), "{json:#}");
    }
}

#[test]
fn the_impact_of_a_changed_definition_names_parts() {
    let project = adversarial("{id: one}", "{}");
    project.run(&["up", "--yes"]).status(0);
    let parts = json!([
        {"address": "db.main", "action": "delete-then-create", "holds_data": "rows"},
        {"address": "log", "action": "create"},
    ]);
    let preview = json!({"id": "one", "preview": {"parts": parts}}).to_string();
    project.edit("things.yaml", "{id: one}", &preview);
    let shown = project.run(&["impact", "things.yaml", "--check"]).status(0);
    let said = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("± replace db.main loses data: rows + create log"), "{shown}");
    let json = project.run(&["impact", "things.yaml", "--check", "--format", "json"]).status(0).events();
    let part = &json[0]["resources"][0]["parts"][1];
    assert_eq!((&part["address"], &part["action"]), (&json!("log"), &json!("create")), "{json:?}");
    // A preview that fails belongs to a resource.
    project.edit("things.yaml", &preview, r#"{"id": "one", "preview": {"do": "trap"}}"#);
    let shown = project.run(&["impact", "things.yaml", "--check"]).status(3);
    assert!(shown.out.contains("✗ thing.default#shared.one: the driver `acme/guests` crashed"), "{shown}");
    // Without asking drivers, nothing is known of parts.
    let json = project.run(&["impact", "things.yaml", "--format", "json"]).status(0).events();
    assert!(json[0]["resources"][0].get("parts").is_none(), "{json:?}");
}

#[test]
fn a_preview_that_fails_prevents_no_deletion() {
    for (deletion, limits, message) in [
        (json!({"do": "trap"}), "{}", "the driver `acme/guests` crashed"),
        (json!({"do": "loop"}), "{time: 1s}", "was stopped after 1s, its time limit"),
        (json!({"do": "undecided"}), "{}", "`preview` has no effects"),
        (json!({"do": "invalid"}), "{}", "it cannot be foreseen"),
        (json!({"outputs": "{"}), "{}", "broke its contract"),
        (json!({"parts": 10_001}), "{}", "it foresees 10001 parts, and 10000 are allowed"),
    ] {
        let project = adversarial(&json!({"deletion": deletion}).to_string(), limits);
        project.run(&["up", "--yes"]).status(0);
        let ran = project.run(&["destroy", "--yes"]).status(0);
        let warning = format!("warning: {ONE}: the plan does not show the parts that are deleted with it");
        let said = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&warning) && said.contains(message), "{deletion}: {ran}");
        assert!(!ran.has("correct-horse"), "{deletion}: {ran}");
    }
}

/// A driver that attacks with its forecasts: nothing that it says reveals a secret or has an effect on a
/// terminal, and nothing more happens than people agreed to.
#[test]
fn a_hostile_forecast_is_harmless() {
    let project = |values: serde_json::Value| {
        let project = adversarial(&values.to_string(), "{}");
        let hostile = |text: String| text.replace("guests.wasm", "hostile.wasm");
        project.write("purlin.yaml", hostile(project.read("purlin.yaml")));
        project
    };
    let escape = "\u{1b}[2J\u{202e}";
    let part = |address: &str| {
        json!({
            "address": address, "type": "{secret}", "action": "delete", "holds_data": format!("{{secret}}{escape}"),
            "before": "{\"a\": [\"{secret}\"], \"{secret}\": 1}", "replaces": ["/before/{secret}"],
            "notes": {"reason": "\"because of {secret}\"", "{secret}": "1"},
        })
    };
    let parts = json!([part("{secret}"), part(escape)]);
    let harmless = project(json!({"parts": parts, "notes": {"n": "\"{secret}\""}}));
    for arguments in [&["plan"][..], &["plan", "--format", "json"], &["plan", "--verbose"]] {
        let ran = harmless.run(arguments).status(0);
        assert!(!ran.has("correct-horse") && ran.has("[secret]"), "{ran}");
        assert!(!ran.out.contains(['\u{1b}', '\u{202e}']), "{ran}");
    }
    harmless.run(&["up", "--yes", "--allow-data-loss"]).status(0);
    let destroyed = harmless.run(&["destroy", "--yes", "--allow-data-loss"]).status(0);
    assert!(!destroyed.has("correct-horse") && destroyed.has("[secret]"), "{destroyed}");

    // A saved plan is of the parts that it shows.
    let varies = project(json!({"parts": [{"address": "a", "action": "delete"}], "varies": true}));
    varies.run(&["plan", "--out", "kept.plan"]).status(0);
    let refused = varies.run(&["apply", "--yes", "kept.plan"]).status(2);
    assert!(refused.has("the plan does not delete the part `a"), "{refused}");

    // Once all inputs are known, it says that more goes.
    let first = json!([{"address": "a", "action": "delete"}]);
    let then = json!([{"address": "a", "action": "delete"}, {"address": "b", "action": "delete", "holds_data": "rows"}]);
    let more = project(json!({"parts": first, "then": then, "x": "${resources.late.outputs.n}"}));
    let of_late =
        more.read("things.yaml").replace("{id: thing}", "{id: late}").replace("type: thing", "type: late");
    let (head, _) = of_late.split_once("    values:").expect("values");
    let late = format!("{head}    values: {{n: 1}}\n  criteria: [{{}}]\n");
    more.write("late.yaml", &late);
    let stopped = more.run(&["up", "--yes"]).status(1);
    assert!(
        stopped.has("the plan did not show `delete` of its part `b`, which loses data: rows"),
        "{stopped}"
    );
}
