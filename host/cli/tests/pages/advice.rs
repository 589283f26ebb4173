//! Advice works when it is followed: for every code whose help says what to write or run, a faulty
//! input to which the test does just that. Then the fault is gone, or another comes next.

mod cases;
mod follow;

use std::collections::{BTreeMap, BTreeSet};

use cases::{CASES, Case, Change, DEFINITION, DEPLOYMENT, Run, SCORE, Then};
use follow::{Scene, Spot};
use purlin_systems::Project;
use serde_json::Value;

use crate::errors;

/// Codes whose advice no test can follow, by the reason.
const UNFOLLOWED: &[(&str, &[&str])] = &[
    (
        "only a person knows which of the two is meant, or what the text should say",
        &[
            "alias",
            "ambiguous-reference",
            "asked-twice",
            "breaks-user",
            "bundle-twice",
            "duplicate-definition",
            "duplicate-resource",
            "duplicate-workload",
            "filled-twice",
            "import-and-observe",
            "manifest-of-two-types",
            "merge-conflict",
            "one-installation",
            "own-output",
            "set-twice",
            "tie",
        ],
    ),
    (
        "the error concerns a whole run, and no document",
        &["closed", "data-loss", "deployment-exists", "locked", "stale-plan"],
    ),
    (
        "it is about roll-outs, which have tests of their own",
        &["no-environment", "rollout-in-the-way", "rollout-rejected", "rollout-status"],
    ),
    ("nothing failed, and only time helps", &["in-progress", "pending"]),
    ("no built-in driver reads an account: see the tests of accounts", &["missing-account"]),
    (
        "the help shows a form to fill in, or a rule to keep",
        &[
            "account-not-text",
            "alias-bomb",
            "alias-loop",
            "bad-descriptor",
            "bad-key",
            "bad-schema",
            "bad-urn",
            "context-name",
            "control-character",
            "deprecated",
            "descriptor",
            "empty-reference",
            "name",
            "needs-driver",
            "nested-placeholder",
            "no-target",
            "syntax",
            "too-deep",
            "too-large",
            "requirements-too-deep",
            "too-many-requirements",
            "unknown-bundle",
            "unknown-group",
            "unknown-manifest-field",
            "wrong-case",
            "wrong-pipe",
        ],
    ),
    (
        "the file itself has to change, or to be elsewhere",
        &[
            "dangling-link",
            "file-too-large",
            "more-faults",
            "no-documents",
            "no-workspace",
            "not-a-document",
            "not-a-lock",
            "not-utf8",
            "outside-path",
            "unreadable-file",
        ],
    ),
    (
        "the advice is about the command line or about what earlier runs recorded, where other tests follow it",
        &[
            "deployed-meanwhile",
            "environment-loop",
            "environment-unknown",
            "has-dependents",
            "ignore-changes",
            "import",
            "import-replaced",
            "in-use",
            "left-alone",
            "no-effect",
            "no-installation",
            "no-longer-fits",
            "not-created",
            "not-movable",
            "not-recorded",
            "observe",
            "observe-ended",
            "other-value",
            "other-workspace",
            "protected",
            "unknown-parameter",
            "unread-param",
            "unresolved",
            "unseen-input",
            "value-not-given",
            "workspace-missing",
        ],
    ),
    (
        "a driver, a server or a store has to be in a certain state",
        &[
            "cancelled",
            "cannot-read",
            "catalog",
            "conflict",
            "connect-timeout",
            "connection",
            "connection-closed",
            "connection-refused",
            "denied",
            "driver-not-approved",
            "driver-schema",
            "failed",
            "id-taken",
            "inconsistent",
            "inputs",
            "memory-limit",
            "more-than-planned",
            "needs-delete-before",
            "no-driver",
            "not-found",
            "not-granted",
            "not-http",
            "output-limit",
            "outputs",
            "partial",
            "read-only-grant",
            "reply-timeout",
            "retry-after",
            "state",
            "status",
            "time-limit",
            "tls",
            "undecided",
            "unknown-host",
            "unreachable",
            "workload-patch",
        ],
    ),
];

/// Files by their names.
type Files = BTreeMap<String, String>;

/// The documents without a fault, changed.
fn files(changes: &[&[Change]]) -> Files {
    let base = [("web.yaml", SCORE), ("dns.yaml", DEFINITION), ("shop.yaml", DEPLOYMENT)];
    let mut files: Files = base.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    for (file, part, by) in changes.iter().copied().flatten() {
        if part.is_empty() && by.is_empty() {
            files.remove(*file).expect("a file");
            continue;
        }
        let text = files.entry((*file).to_owned()).or_default();
        assert!(text.contains(part), "{file} has `{part}`");
        *text = if part.is_empty() { (*by).to_owned() } else { text.replacen(part, by, 1) };
    }
    files
}

/// The errors and warnings of a scene.
fn faults(case: &Case, scene: &Scene) -> Vec<Value> {
    let project = Project::empty();
    let write = |files: &Files| files.iter().for_each(|(name, text)| project.write(name, text));
    if case.run == Run::Deployed {
        let before = files(&[case.before]);
        write(&before);
        project.run(&["up", "--yes"]).status(0);
        for name in before.keys().filter(|name| !scene.files.contains_key(*name)) {
            std::fs::remove_file(project.path().join(name)).expect("removed");
        }
    }
    write(&scene.files);
    let command = if case.run == Run::Validate { "validate" } else { "plan" };
    let mut arguments = vec![command, "--format", "json"];
    arguments.extend(scene.arguments.iter().map(String::as_str));
    let report = project.run(&arguments).json();
    let all = [&report["diagnostics"], &report["error"]["diagnostics"]].into_iter().find_map(Value::as_array);
    let all = match all {
        Some(all) => all.clone(),
        None => report.get("error").cloned().into_iter().collect(),
    };
    all.into_iter().filter(|fault| fault["severity"] != "note").collect()
}

fn text<'a>(fault: &'a Value, name: &str) -> &'a str {
    fault[name].as_str().unwrap_or_default()
}

fn number(fault: &Value, name: &str) -> usize {
    fault[name].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(1)
}

/// The fault with the case's code, and what is wrong after its advice was followed.
fn followed(case: &Case) -> Result<(), String> {
    let arguments = case.arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let mut scene = Scene { files: files(&[case.before, case.changes]), arguments };
    let before = faults(case, &scene);
    let listed = |faults: &[Value]| faults.iter().map(|fault| format!("\n  {fault}")).collect::<String>();
    let Some(fault) = before.iter().find(|fault| fault["code"] == case.code) else {
        return Err(format!("the fault is another one:{}", listed(&before)));
    };
    let help = text(fault, "help");
    if help.is_empty() {
        return Err(format!("there is no help:{}", listed(&before)));
    }
    let (line, column) = (number(fault, "line"), number(fault, "column"));
    scene.follow(&Spot { file: text(fault, "file").to_owned(), line, column }, help);
    let after = faults(case, &scene);
    let same = |other: &Value| other["code"] == fault["code"] && other["message"] == fault["message"];
    let fine = match case.then {
        Then::Gone => after.iter().all(|other| other["severity"] == "warning"),
        Then::Next(code) => after.iter().any(|fault| fault["code"] == code),
    };
    let fine = fine && !after.iter().any(same);
    let written = |(name, text): (&String, &String)| format!("\n--- {name}\n{text}");
    let files: String = scene.files.iter().map(written).collect();
    match fine {
        true => Ok(()),
        false => Err(format!("`{help}` led to {:?}{}{files}", scene.arguments, listed(&after))),
    }
}

#[test]
fn advice_helps_whoever_follows_it() {
    // Advice that cannot be followed at all is a fault like the others.
    let followed = |case: &Case| match std::panic::catch_unwind(|| followed(case)) {
        Ok(followed) => followed,
        Err(panic) => Err(match panic.downcast::<String>() {
            Ok(words) => *words,
            Err(panic) => panic.downcast::<&str>().map(|words| (*words).to_owned()).unwrap_or_default(),
        }),
    };
    let wrong: Vec<String> = CASES
        .iter()
        .filter_map(|case| Some(format!("{}: {:?}: {}", case.code, case.changes, followed(case).err()?)))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), CASES.len(), wrong.join("\n\n"));
}

#[test]
fn all_advice_is_followed() {
    let followed: BTreeSet<&str> = CASES.iter().map(|case| case.code).collect();
    let known = errors::codes_of_faults();
    let listed: Vec<&str> = UNFOLLOWED.iter().flat_map(|(_, codes)| codes.iter().copied()).collect();
    let unfollowed: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(listed.len(), unfollowed.len(), "a code is listed twice");
    let both: Vec<&&str> = followed.intersection(&unfollowed).collect();
    assert!(both.is_empty(), "a case follows the advice of {both:?}");
    let covered: BTreeSet<String> = followed.union(&unfollowed).map(|code| (*code).to_owned()).collect();
    let without: Vec<&String> = known.difference(&covered).collect();
    assert!(
        without.is_empty(),
        "no case follows the advice of {without:?}, and `UNFOLLOWED` does not say why"
    );
    let stale: Vec<&String> = covered.difference(&known).collect();
    assert!(stale.is_empty(), "no fault has the codes {stale:?}");
}
