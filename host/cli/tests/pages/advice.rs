//! Advice works when it is followed: for every code whose help says what to write or run, a faulty
//! input to which the test does just that. Then the fault is gone, or another comes next.

mod cases;
mod follow;

use std::collections::{BTreeMap, BTreeSet};

use cases::{CASES, Case, DEFINITION, DEPLOYMENT, SCORE, Then};
use follow::{Scene, Spot};
use serde_json::Value;

use crate::errors;
use crate::project::Project;

/// Codes whose advice no test can follow, by the reason.
const UNFOLLOWED: &[(&str, &[&str])] = &[
    (
        "only a person knows which of the two is meant, or what the text should say",
        &[
            "alias",
            "alias-in-use",
            "alias-of-itself",
            "alias-twice",
            "ambiguous-reference",
            "asked-twice",
            "breaks-user",
            "bundle-twice",
            "context-conflict",
            "declared-twice",
            "duplicate-definition",
            "duplicate-resource",
            "duplicate-workload",
            "equal-criteria",
            "filled-twice",
            "import-and-observe",
            "interface-twice",
            "left-behind",
            "loop",
            "manifest-of-two-types",
            "merge-conflict",
            "own-output",
            "params-differ",
            "required-twice",
            "requirement-loop",
            "set-twice",
            "tie",
            "type-collision",
            "unknown-workload",
            "unread-value",
            "value-conflict",
        ],
    ),
    (
        "the help shows a form to fill in, or a rule to keep",
        &[
            "account-not-text",
            "alias-bomb",
            "alias-loop",
            "answer-type",
            "bad-descriptor",
            "bad-key",
            "bad-merge",
            "bad-path",
            "bad-reference",
            "bad-schema",
            "bad-urn",
            "bad-version",
            "context-name",
            "control-character",
            "criteria-map",
            "deprecated",
            "descriptor",
            "empty-placeholder",
            "empty-reference",
            "missing-id",
            "name",
            "needs-driver",
            "nested-placeholder",
            "no-manifest",
            "no-target",
            "params",
            "placeholder-in-key",
            "secret-ref",
            "syntax",
            "too-deep",
            "too-large",
            "too-many-requirements",
            "unknown-account",
            "unknown-bundle",
            "unknown-group",
            "unknown-manifest-field",
            "unmapped",
            "value-type",
            "wrong-case",
            "wrong-pipe",
        ],
    ),
    (
        "the file itself has to change, or to be elsewhere",
        &[
            "dangling-link",
            "file-too-large",
            "misplaced-document",
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
            "app-changed",
            "deployed-meanwhile",
            "document-not-read",
            "env-type-changed",
            "environment-unknown",
            "file-without-documents",
            "files-not-named",
            "folder-without-documents",
            "has-dependents",
            "ignore-changes",
            "import",
            "import-replaced",
            "in-use",
            "left-alone",
            "left-out",
            "missing-target",
            "namespace-changed",
            "no-bundle",
            "no-effect",
            "no-installation",
            "not-created",
            "not-recorded",
            "observe",
            "observe-ended",
            "org-changed",
            "other-workspace",
            "protected",
            "similar-criterion",
            "similar-type",
            "unknown-answer",
            "unknown-environment",
            "unknown-parameter",
            "unknown-requirement",
            "unresolved",
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
            "secret-store",
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

fn scene(case: &Case) -> Scene {
    let base = [("web.yaml", SCORE), ("dns.yaml", DEFINITION), ("shop.yaml", DEPLOYMENT)];
    let mut files: BTreeMap<String, String> =
        base.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    for (file, part, by) in case.changes {
        let text = files.entry((*file).to_owned()).or_default();
        assert!(text.contains(part), "{file} has `{part}`");
        *text = if part.is_empty() { (*by).to_owned() } else { text.replacen(part, by, 1) };
    }
    Scene { files, arguments: Vec::new() }
}

/// The errors and warnings of a scene.
fn faults(scene: &Scene) -> Vec<Value> {
    let files: Vec<(&str, &str)> = scene.files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let mut arguments = vec!["validate", "--format", "json"];
    arguments.extend(scene.arguments.iter().map(String::as_str));
    let report = Project::with(&files).run(&arguments).json();
    let all = report["diagnostics"].as_array().expect("diagnostics").clone();
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
    let mut scene = scene(case);
    let before = faults(&scene);
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
    let after = faults(&scene);
    let same = |other: &Value| other["code"] == fault["code"] && other["message"] == fault["message"];
    let fine = match case.then {
        Then::Gone => after.iter().all(|other| other["severity"] != "error"),
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
