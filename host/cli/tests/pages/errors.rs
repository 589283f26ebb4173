//! The page of errors has every code that the program can print, and no other.
//!
//! A code is the name of a variant, or a literal in the sources of the host: the first argument of what
//! makes a diagnostic, or an arm of a `fn code`. Where a code is passed on in a variable, `FORWARDED` has
//! its values.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use purlin_engine::Cause;
use purlin_model::driver::Failure;
use purlin_model::server_problem::ProblemKind;
use purlin_model::{Finding, Reason, Unfinished};
use purlin_requirements::Why;
use regex::Regex;
use strum::VariantNames as _;

/// Files with calls whose code is no literal: the number of these calls, and the codes that they add
/// to those which are found elsewhere. A new call needs a look at the codes that it can pass on.
const FORWARDED: &[(&str, usize, &[&str])] = &[
    // A parameter, whose values stand at its callers.
    ("documents/src/reader.rs", 1, &[]),
    ("documents/src/walk.rs", 1, &[]),
    // A constant.
    ("documents/src/template.rs", 1, &["placeholder-without-dollar"]),
    ("purlin/src/missing_documents/slips.rs", 1, &[]),
    ("engine/src/values/rules.rs", 1, &[]),
    ("expression/src/evaluate.rs", 1, &[]),
    ("expression/src/error.rs", 1, &[]),
    // The second is `wrong`.
    ("graph/src/build/analyse.rs", 2, &["unknown-resource", "unknown-root"]),
    ("requirements/src/bindings.rs", 1, &[]),
    // The same, and the two constants of that file.
    ("graph/src/evaluate.rs", 4, &["empty-reference", "unknown-output"]),
    // `fn code` of a failure.
    ("engine/src/explain.rs", 7, &[]),
    // One of two.
    ("cli/src/input/place.rs", 1, &["env-type-changed", "namespace-changed"]),
    ("engine/src/planner/decide.rs", 2, &["import", "observe"]),
    ("engine/src/planner/resolve.rs", 1, &["import", "observe"]),
    ("purlin/src/changes.rs", 1, &["app-changed", "org-changed"]),
    ("purlin/src/drivers/missing.rs", 1, &["driver", "driver-not-approved"]),
];

/// Files with a `fn code` whose arms are not shown, or not as codes.
const NO_CODES: &[&str] = &["cli/src/render/impact.rs"];

/// Variants that have the code of what they contain.
const TRANSPARENT: [&str; 2] = ["call", "unfinished"];

fn host() -> PathBuf {
    crate::root().join("host")
}

/// The sources of all crates of the host, without their tests, by path below `host`.
fn sources() -> BTreeMap<String, String> {
    fn walk(folder: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                if !path.ends_with("tests") {
                    walk(&path, found);
                }
                continue;
            }
            if path.extension().is_none_or(|ending| ending != "rs") || path.ends_with("tests.rs") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source");
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
            let name = path.strip_prefix(host()).expect("below the host").to_string_lossy().into_owned();
            found.insert(name, code);
        }
    }
    let mut found = BTreeMap::new();
    walk(&host(), &mut found);
    found
}

/// Codes of faults: the entries of the page above those of reasons, findings and choices, which have
/// no help.
pub(crate) fn codes_of_faults() -> BTreeSet<String> {
    let page = fs::read_to_string(crate::root().join("docs/src/reference/errors.md")).expect("a page");
    let faults = page.split("\n## Reasons of steps").next().unwrap_or_default();
    faults.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_owned).collect()
}

/// Codes in the sources.
fn codes() -> BTreeSet<String> {
    let direct = Regex::new(r#"Diagnostic::(?:error|warning|note)\(\s*("?)([^,\s]+)"#).expect("a pattern");
    // Functions and closures that take a code first, or second behind a place.
    let passed = Regex::new(
        r#"\b(?:ExpressionError::new|about|unread|fault|missing|worded|wrong_path|below|unknown|at)\(\s*(?:[^"();]*(?:\([^()]*\))?[^"();]*,\s*)?"([a-z]+(?:-[a-z0-9]+)+)"\s*,"#,
    )
    .expect("a pattern");
    let short = Regex::new(
        r#"(?:ExpressionError::new|worded|\.about)\(\s*(?:[^"();]*(?:\([^()]*\))?[^"();]*,\s*)?"([a-z]+)"\s*,"#,
    )
    .expect("a pattern");
    let replaced = Regex::new(r#"Diagnostic \{ code: "([a-z-]+)""#).expect("a pattern");
    let arm = Regex::new(r#"=> "([a-z-]+)","#).expect("a pattern");
    let (mut codes, mut forwarded) = (BTreeSet::new(), BTreeMap::new());
    for (name, text) in sources() {
        if name.starts_with("model/src/diagnostic") || name.starts_with("conformance/") {
            continue;
        }
        for found in direct.captures_iter(&text) {
            match &found[1] {
                "" => *forwarded.entry(name.clone()).or_insert(0) += 1,
                _ => drop(codes.insert(found[2].trim_end_matches('"').to_owned())),
            }
        }
        for pattern in [&passed, &short, &replaced] {
            codes.extend(pattern.captures_iter(&text).map(|found| found[1].to_owned()));
        }
        if !NO_CODES.contains(&&*name) {
            for body in text.split("fn code(").skip(1) {
                let body = body.split("\n    }\n").next().unwrap_or_default();
                codes.extend(arm.captures_iter(body).map(|found| found[1].to_owned()));
            }
        }
    }
    let listed: BTreeMap<String, usize> =
        FORWARDED.iter().map(|(name, count, _)| ((*name).to_owned(), *count)).collect();
    assert_eq!(forwarded, listed, "calls that pass on a code, by file: which codes can they have?");
    codes.extend(FORWARDED.iter().flat_map(|(_, _, codes)| codes.iter().map(|code| (*code).to_owned())));
    let variants = [
        Cause::VARIANTS,
        Failure::VARIANTS,
        Finding::VARIANTS,
        ProblemKind::VARIANTS,
        Reason::VARIANTS,
        Unfinished::VARIANTS,
        Why::VARIANTS,
    ];
    let named = variants.iter().copied().flatten().filter(|name| !TRANSPARENT.contains(name));
    codes.extend(named.map(|name| (*name).to_owned()));
    // What went wrong underneath.
    codes.insert("not-granted".to_owned());
    codes
}

#[test]
fn every_code_has_an_entry_and_every_entry_a_code() {
    let page = fs::read_to_string(crate::root().join("docs/src/reference/errors.md")).expect("a page");
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let entries: BTreeSet<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    assert_eq!(headings.len(), entries.len(), "an entry is there twice");
    let codes = codes();
    let without: Vec<&String> = codes.difference(&entries).collect();
    let stale: Vec<&String> = entries.difference(&codes).collect();
    assert!(codes.len() > 200, "only {} codes were found", codes.len());
    assert!(without.is_empty(), "errors.md has no entry for {without:?}");
    assert!(stale.is_empty(), "nothing has the codes {stale:?}, which errors.md explains");
}

/// Whatever tests and pages show was printed, so its code has an entry.
#[test]
fn every_code_in_a_page_or_a_snapshot_has_an_entry() {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.extension().and_then(|ending| ending.to_str()) {
                _ if path.is_dir() => walk(&path, found),
                Some("md" | "snap" | "txt") => found.push(path),
                _ => {}
            }
        }
    }
    let shown = Regex::new(r"(?m)^(?:error|warning|note)\[([a-z0-9-]+)\]: ").expect("a pattern");
    let page = fs::read_to_string(crate::root().join("docs/src/reference/errors.md")).expect("a page");
    let mut files = Vec::new();
    ["docs/src", "examples", "host"].iter().for_each(|folder| walk(&crate::root().join(folder), &mut files));
    let mut count = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        for found in shown.captures_iter(&text) {
            count += 1;
            let heading = format!("\n### {}\n", &found[1]);
            assert!(page.contains(&heading), "{}: errors.md lacks `{}`", file.display(), &found[1]);
        }
    }
    assert!(count > 100, "only {count} codes were found");
}

/// Codes whose example is not one text of the sources: it is made of several, or not ours.
const COMPOSED: [&str; 6] =
    ["denied", "driver-not-approved", "failed", "inputs", "outside-path", "retry-after"];

/// The texts of a source that may be messages, cut where values are put in.
fn messages(source: &str) -> Vec<Vec<String>> {
    let literal = Regex::new(r#"(?s)"((?:[^"\\]|\\.)*)""#).expect("a pattern");
    let broken = Regex::new(r"\\\n\s*").expect("a pattern");
    let hole = Regex::new(r"\{[^{}]*\}").expect("a pattern");
    // A quote as a character would begin a text.
    let source = source.replace("'\"'", "").replace("'\\\"'", "");
    let texts = literal.captures_iter(&source).map(|found| {
        let text = broken.replace_all(&found[1], "").replace("\\\"", "\"").replace("\\\\", "\\");
        let text = text.replace("{{", "\u{1}").replace("}}", "\u{2}");
        let piece = |piece: &str| piece.replace('\u{1}', "{").replace('\u{2}', "}");
        hole.split(&text).map(piece).collect::<Vec<String>>()
    });
    let is_message = |pieces: &Vec<String>| {
        pieces.iter().flat_map(|piece| piece.chars()).filter(|c| c.is_alphanumeric()).count() >= 5
    };
    texts.filter(is_message).collect()
}

/// Whether a text is these pieces, with anything between them.
fn is_made_of(text: &str, pieces: &[String]) -> bool {
    let [first, middle @ .., last] = pieces else { return pieces.first().is_some_and(|only| only == text) };
    let Some(mut rest) = text.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()))
    else {
        return false;
    };
    middle.iter().all(|piece| match rest.find(piece.as_str()) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}

/// An example does not keep words that the program has changed.
#[test]
fn every_example_is_a_message_of_the_program() {
    let example = Regex::new(r"(?s)\n### (\S+)\n\n```text\n(.*?)\n```").expect("a pattern");
    let start = Regex::new(r"^(?:error|warning|note)\[([^\]]+)\]: ").expect("a pattern");
    let tries = Regex::new(r", tried \d+ times in \d+ s$").expect("a pattern");
    let driver = crate::root().join("drivers/file/src/lib.rs");
    let mut known: Vec<Vec<String>> = messages(&fs::read_to_string(driver).expect("a source"));
    known.extend(sources().values().flat_map(|source| messages(source)));
    let page = fs::read_to_string(crate::root().join("docs/src/reference/errors.md")).expect("a page");
    let mut wrong = Vec::new();
    for found in example.captures_iter(&page) {
        let (code, text) = (&found[1], &found[2]);
        if let Some(shown) = start.captures(text) {
            assert_eq!(&shown[1], code, "the example of another code");
        }
        let message = tries.replace(&start.replace(text, ""), "").into_owned();
        if !COMPOSED.contains(&code) && !known.iter().any(|pieces| is_made_of(&message, pieces)) {
            wrong.push(format!("{code}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "no source has the messages of these examples:\n{}", wrong.join("\n"));
}
