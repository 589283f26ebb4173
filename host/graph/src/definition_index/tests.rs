use purlin_model::Key;
use serde_json::json;

use super::*;
use crate::testing::{context, definition};

fn winner(definitions: Vec<Definition>, key: &str) -> Option<String> {
    let definition_index = DefinitionIndex::new(definitions).expect("valid definitions");
    let explanation = definition_index.explain(&context(), &Key::parse(key).expect("a key"));
    explanation.winner.map(|winner| winner.definition.to_string())
}

#[test]
fn the_most_specific_criterion_wins() {
    let all = vec![
        definition(
            "static",
            "dns",
            json!({"criteria": [{"app_id": "shop", "env_id": "dev", "res_id": "shared.api"}]}),
        ),
        definition(
            "random",
            "dns",
            json!({"criteria": [{"env_type": "development", "app_id": "shop", "res_id": "shared.api"}]}),
        ),
        definition(
            "weak",
            "dns",
            json!({"criteria": [{"env_type": "development", "app_id": "shop", "env_id": "dev"}]}),
        ),
        definition("any", "dns", json!({})),
        definition("none", "dns", json!({"criteria": []})),
    ];
    assert_eq!(winner(all.clone(), "dns#shared.api").as_deref(), Some("static"));
    assert_eq!(winner(all.clone(), "dns#shared.other").as_deref(), Some("weak"));
    assert_eq!(winner(all.clone(), "dns.public#shared.api"), None);
    let definition_index = DefinitionIndex::new(all).expect("valid definitions");
    let explanation = definition_index.explain(&context(), &Key::parse("dns#shared.api").expect("a key"));
    assert_eq!(explanation.runner_up.map(|second| second.definition.to_string()).as_deref(), Some("random"));
    let reasons: Vec<String> = explanation
        .losers
        .iter()
        .map(|loser| format!("{}: {}", loser.definition, loser.reasons[0]))
        .collect();
    assert_eq!(
        reasons,
        [
            "random: it is less specific (11 against 14)",
            "weak: it is less specific (7 against 14)",
            "any: it is less specific (0 against 14)",
            "none: it has no criteria, so it never matches"
        ]
    );
}

#[test]
fn a_class_needs_its_own_criterion() {
    let all = vec![definition("small", "db", json!({"criteria": [{"class": "small"}]}))];
    assert_eq!(winner(all.clone(), "db.small#x").as_deref(), Some("small"));
    assert_eq!(winner(all, "db#x"), None);
}

#[test]
fn patterns_count_where_nothing_exact_matches() {
    let all = vec![
        definition("all", "*", json!({})),
        definition("aws", "aws-*", json!({})),
        definition("role", "aws-role", json!({"criteria": [{"env_id": "prod"}, {"class": "x"}]})),
    ];
    assert_eq!(winner(all.clone(), "dns#a").as_deref(), Some("all"));
    assert_eq!(winner(all.clone(), "aws-role#a").as_deref(), Some("aws"));
    assert_eq!(winner(all.clone(), "aws-role.x#a").as_deref(), Some("role"));
    let definition_index = DefinitionIndex::new(all).expect("valid definitions");
    let explanation = definition_index.explain(&context(), &Key::parse("aws-role#a").expect("a key"));
    assert_eq!(explanation.runner_up.map(|second| second.definition.to_string()).as_deref(), Some("all"));
    assert_eq!(explanation.losers[0].reasons, [Reason::ShorterPattern]);
    let tied =
        DefinitionIndex::new(vec![definition("a", "x-*", json!({})), definition("b", "*-x", json!({}))]);
    let explanation =
        tied.expect("valid definitions").explain(&context(), &Key::parse("x-x#a").expect("a key"));
    assert_eq!((explanation.winner, explanation.tied.len()), (None, 2));
}

#[test]
fn equal_criteria_and_ids_are_rejected_with_both_places() {
    let faults = DefinitionIndex::new(vec![
        definition("a", "dns", json!({"criteria": [{"app_id": "x"}, {}]})),
        definition("b", "dns", json!({"criteria": [{"class": "default"}]})),
        definition("a", "other", json!({})),
    ])
    .expect_err("two faults");
    let codes: Vec<_> = faults.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, ["equal-criteria", "duplicate-definition"]);
    assert!(faults.iter().all(|fault| fault.location.is_some() && fault.related.len() == 1));
    // Another class, or the same row twice in one definition, is no conflict.
    assert!(
        DefinitionIndex::new(vec![
            definition("a", "dns", json!({"criteria": [{}, {}]})),
            definition("b", "dns", json!({"criteria": [{"class": "x"}]})),
        ])
        .is_ok()
    );
}
