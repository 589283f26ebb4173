//! Checks that no change of the state is without its entry in the audit, whichever command makes it.

use std::collections::BTreeMap;

use crate::cases::{Before, CASES, Case, Compared};
use crate::scene::Scene;

/// The commands that write files only.
const FILES: [&str; 6] =
    ["plan-out", "export", "state-export", "state-key-new", "driver-add", "driver-approve"];

/// The actions in the audits of all environments, by environment; the state as a whole is ``.
fn actions(scene: &Scene) -> BTreeMap<String, Vec<String>> {
    // Status 1 if a chain is broken.
    scene.run(&["audit", "--all", "--verify"]);
    let audits = scene.json(&["audit", "--all", "--format", "json"]);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let audits = audits["audits"].as_array().expect("audits").iter().map(|audit| {
        let name = match audit["environment"].is_null() {
            true => String::new(),
            false => format!("{}/{}", text(&audit["environment"]["app"]), text(&audit["environment"]["env"])),
        };
        let said = |entry: &serde_json::Value| match entry["reason"] == "because" {
            true => text(&entry["action"]),
            false => format!("{} without a reason", text(&entry["action"])),
        };
        (name, audit["entries"].as_array().expect("entries").iter().rev().map(said).collect())
    });
    audits.collect()
}

/// The entries that a command leaves, and where.
fn expected(case: &Case) -> Vec<(&'static str, &'static str)> {
    match case.name {
        name if FILES.contains(&name) => vec![],
        // The reading that finds the drift, and the repair.
        "reconcile" => vec![("shop/dev", "run"), ("shop/dev", "run")],
        "rollout-start" => vec![("", "start-rollout"), ("", "advance-rollout"), ("shop/dev", "run")],
        "rollout-pause" => vec![("", "pause-rollout")],
        "rollout-resume" => vec![("", "resume-rollout"), ("", "advance-rollout"), ("shop/dev", "run")],
        "rollout-undo" => vec![("", "undo-rollout"), ("", "advance-rollout"), ("shop/dev", "run")],
        "state-rename" => vec![("shop/dev", "rename")],
        "state-move" => vec![("shop/dev", "move"), ("shop/other", "move")],
        "state-move-used" => vec![("base/dev", "move"), ("owner/dev", "move"), ("shop/dev", "move")],
        "state-forget" => vec![("shop/dev", "forget")],
        "state-settle" => vec![("shop/dev", "settle")],
        "state-protect" => vec![("shop/dev", "protect")],
        "state-taint" => vec![("shop/dev", "taint")],
        "installations-share" => vec![("owner/dev", "share")],
        "destroy-last-user" => vec![("owner/dev", "run"), ("shop/dev", "run")],
        "destroy-orphan-shared" => vec![("owner/dev", "run")],
        "state-lock" => vec![("shop/dev", "lock")],
        "state-unlock" => vec![("shop/dev", "unlock")],
        // The audit of the export comes along where there is none.
        "state-import" => vec![("shop/dev", "run"), ("shop/dev", "import")],
        "state-import-replace" => vec![("shop/dev", "import")],
        "state-copy" => vec![("shop/dev", "copy")],
        name if name.starts_with("state-key-rotate") => vec![("", "rotate-key")],
        name if name.starts_with("state-repair") => vec![("", "repair")],
        _ => vec![("shop/dev", "run")],
    }
}

#[test]
fn each_change_of_the_state_has_one_entry_in_the_audit() {
    let with_reason = |command: &[&'static str]| [command, &["--reason", "because"]].concat();
    for case in CASES.iter().filter(|case| case.compared != Compared::Files) {
        if case.before.iter().any(|before| matches!(before, Before::Killed(_))) {
            continue;
        }
        let scene = (case.scene)();
        for before in case.before {
            match before {
                Before::Run(command) => scene.finish(&with_reason(command)),
                Before::Do(work) => work(&scene),
                Before::Killed(_) => {}
            }
        }
        // Damage may keep the state from being read.
        let is_repair = case.name.starts_with("state-repair");
        let before = if is_repair { BTreeMap::new() } else { actions(&scene) };
        scene.finish(&with_reason(case.command));
        let mut new = Vec::new();
        for (environment, actions) in actions(&scene) {
            let known = before.get(&environment).map_or(0, Vec::len);
            // A repair cannot bring back what was damaged.
            let known = if is_repair && !environment.is_empty() { actions.len() } else { known };
            new.extend(actions.into_iter().skip(known).map(|action| (environment.clone(), action)));
        }
        let expected: Vec<(String, String)> = expected(case)
            .into_iter()
            .map(|(environment, action)| (environment.to_owned(), action.to_owned()))
            .collect();
        assert_eq!(new, expected, "`{}`", case.name);
    }
}
