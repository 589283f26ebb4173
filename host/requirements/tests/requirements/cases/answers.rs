//! What was answered before, and for which requirements it counts.

use std::sync::Arc;

use purlin_model::{Answer, Choices, RequirementContext, Setting};

use super::db;
use crate::support::{after, bundle, catalog, deployed, errors, names};

/// What a person says about one of several equal requirements counts for all of them, whichever it
/// is; two different values make them two.
#[test]
fn an_answer_counts_for_all_equal_requirements() {
    let db = "parameters: [{name: size, type: string}]\ncredentials: [{name: root}]\noutputs: [{name: v, default: x}]";
    let app = "parameters: [{name: title, type: string}]\nrequires: [{name: db, bundle: acme/db}]";
    let catalog = catalog(&[bundle("db", "1.0.0", db), bundle("app", "1.0.0", app)]);
    let one = |name: &str| format!("{{name: {name}, bundle: acme/app, parameters: {{title: {name}}}}}");
    let (a, b) = (one("a"), one("b"));
    let answer = |(name, value): &(&str, &str)| {
        let part = if name.ends_with("root") { Setting::Credential } else { Setting::Parameter };
        Answer { part, name: Arc::from(*name), value: (*value).into(), is_text: true }
    };
    let context = |answers: &[(&str, &str)]| {
        let answers = answers.iter().map(answer).collect();
        let now = Choices { answers, ..Choices::default() };
        RequirementContext { now, ..RequirementContext::default() }
    };
    let shared = [
        vec![("a/db.size", "1"), ("a/db.root", "x")],
        vec![("b/db.size", "1"), ("b/db.root", "x")],
        vec![("a/db.size", "1"), ("b/db.root", "x")],
        vec![("a/db.size", "1"), ("a/db.root", "x"), ("b/db.size", "1"), ("b/db.root", "x")],
    ];
    for answers in &shared {
        for requires in [[&*a, &*b], [&*b, &*a]] {
            let first = deployed(&catalog, &requires, &context(answers));
            assert_eq!(errors(&first), Vec::<&str>::new(), "{answers:?}");
            assert!(first.unmapped.is_empty(), "{answers:?}: {:?}", first.unmapped);
            let mut all = names(&first);
            all.sort_unstable();
            assert_eq!(all, ["a", "a/db", "b"], "{answers:?}");
            // It stays so without them.
            let second = deployed(&catalog, &requires, &after(&first));
            assert!(second.unmapped.is_empty(), "{answers:?}: {:?}", second.unmapped);
            assert_eq!(names(&second), names(&first));
        }
    }
    let apart = [("a/db.size", "1"), ("b/db.size", "2"), ("a/db.root", "x"), ("b/db.root", "y")];
    let first = deployed(&catalog, &[&a, &b], &context(&apart));
    assert_eq!(names(&first), ["a/db", "a", "b/db", "b"]);
    assert_eq!(names(&deployed(&catalog, &[&b, &a], &after(&first))), names(&first));
}

fn answering(answers: &[(&str, &str)], before: RequirementContext) -> RequirementContext {
    let answer = |(name, value): &(&str, &str)| Answer {
        part: Setting::Parameter,
        name: Arc::from(*name),
        value: (*value).into(),
        is_text: true,
    };
    let answers = answers.iter().map(answer).collect();
    RequirementContext { now: Choices { answers, ..Choices::default() }, ..before }
}

/// The value of `size` of each installation, by name.
fn sizes(resolution: &purlin_requirements::Resolution) -> Vec<(&str, String)> {
    let size = |one: &purlin_requirements::Installation| {
        let given = one.given.iter().find(|given| &*given.binding.name == "size");
        given.map(|given| format!("{:?}", given.binding.value)).unwrap_or_default()
    };
    resolution.installations.iter().map(|one| (&*one.name, size(one))).collect()
}

/// An answer stays with each requirement that it counted for, and one for a name means the
/// requirement with that name.
#[test]
fn an_answer_stays_with_its_requirement() {
    let catalog = catalog(&[db()]);
    let one = |name: &str, more: &str| format!("{{name: {name}, bundle: acme/db{more}}}");
    let (a, b) = (one("a", ""), one("b", ""));
    let alone = ", sharing: {mode: none}";
    let first =
        deployed(&catalog, &[&a, &b], &answering(&[("b.size", "big")], RequirementContext::default()));
    assert_eq!(sizes(&first).len(), 1);
    assert!(sizes(&first)[0].1.contains("big"), "{:?}", sizes(&first));
    for parted in [[&one("a", alone), &b], [&a, &one("b", alone)]] {
        let second = deployed(&catalog, &[parted[0], parted[1]], &after(&first));
        let all = sizes(&second);
        assert!(all.len() == 2 && all.iter().all(|(_, size)| size.contains("big")), "{all:?}");
    }
    // `a` parts, and the installation `a` stays with `b`.
    let shared = deployed(&catalog, &[&a, &b], &RequirementContext::default());
    let a = one("a", alone);
    let parted = deployed(&catalog, &[&a, &b], &after(&shared));
    let mut all = names(&parted);
    all.sort_unstable();
    assert_eq!(all, ["a", "a~2"]);
    let answered = deployed(&catalog, &[&a, &b], &answering(&[("a.size", "mine")], after(&parted)));
    for (name, size) in sizes(&answered) {
        assert_eq!(size.contains("mine"), name == "a~2", "{name}: {size}");
    }
}

/// Requirements with different ranges that come to the same are equal, and so are values that nobody
/// gives.
#[test]
fn an_answer_counts_for_all_that_come_to_the_same() {
    let db = "parameters: [{name: size, type: string}]\noutputs: [{name: v, default: x}]";
    let key = "parameters: [{name: key, type: string, required: false}]\noutputs: [{name: v, default: x}]";
    let pass = "parameters: [{name: k, type: string, required: false}]\nrequires: [{name: key, bundle: acme/key, parameters: {key: '${bundle.parameters.k}'}}]";
    let catalog =
        catalog(&[bundle("db", "1.0.0", db), bundle("key", "1.0.0", key), bundle("pass", "1.0.0", pass)]);
    let one = |name: &str, range: &str| {
        format!("{{name: {name}, bundle: {{reference: acme/db:v1.0.0, version: '{range}'}}}}")
    };
    let (a, b) = (one("a", "1.x"), one("b", ">=1.0.0"));
    for name in ["a.size", "b.size"] {
        let context = answering(&[(name, "big")], RequirementContext::default());
        let first = deployed(&catalog, &[&a, &b], &context);
        assert!(first.unmapped.is_empty(), "{name}: {:?}", first.unmapped);
        assert_eq!(names(&first), ["a"], "{name}");
        let second = deployed(&catalog, &[&b, &a], &answering(&[(name, "bigger")], after(&first)));
        assert_eq!(names(&second), ["a"], "{name}");
    }
    let pass = |name: &str| format!("{{name: {name}, bundle: acme/pass, sharing: {{mode: none}}}}");
    let passed = deployed(&catalog, &[&pass("a"), &pass("b")], &RequirementContext::default());
    assert_eq!(names(&passed), ["a/key", "a", "b"]);
}
