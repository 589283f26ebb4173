//! Random histories of a deployment: installations keep their names as long as something requires
//! the same, and a repeated resolution has the same result.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use purlin_requirements::Resolution;

use crate::support::{after, bundle, catalog, deployed, errors, names};

/// How a requirement is shared, and the values that it passes on.
const SHARING: [&str; 5] = [
    "",
    "",
    ", sharing: {mode: none}",
    ", sharing: {group: {name: '${installation.root.id}'}}",
    ", sharing: {group: {name: team}}",
];
const PARAMETERS: [&str; 4] = [
    "",
    ", parameters: {p: x}",
    ", parameters: {p: '${bundle.parameters.p}'}",
    ", parameters: {p: '${installation.root.name}'}",
];
const BUNDLES: [&str; 6] = ["leaf0", "leaf1", "middle0", "middle1", "top0", "top1"];

/// A requirement: the index of its bundle among the possible ones, and its other settings.
type RequirementSpec = (usize, usize, usize);

fn spec(requirements: &[RequirementSpec], below: &[&str]) -> String {
    let mut spec =
        "parameters: [{name: p, type: string, default: d}]\noutputs: [{name: v, default: v}]\n".to_owned();
    if !requirements.is_empty() {
        spec.push_str("requires:\n");
    }
    for (number, (of, sharing, parameters)) in requirements.iter().enumerate() {
        let (of, sharing, parameters) = (
            below[of % below.len()],
            SHARING[sharing % SHARING.len()],
            PARAMETERS[parameters % PARAMETERS.len()],
        );
        spec.push_str(&format!(
            "- {{name: r{number}, bundle: {{reference: acme/{of}}}{parameters}{sharing}}}\n"
        ));
    }
    spec
}

/// The names of shared installations, by identity. A deployment's own requirements keep their names
/// in any case.
fn shared(resolution: &Resolution) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in &resolution.installations {
        if let Some(identity) = one.identity.as_deref().filter(|_| one.name.contains('/')) {
            all.entry(identity).or_default().insert(&one.name);
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn equal_requirements_keep_their_installations(
        requirements in prop::collection::vec(prop::collection::vec((0..8_usize, 0..5_usize, 0..4_usize), 1..3), 4),
        lives in prop::collection::vec(
            prop::collection::btree_map("[a-f]", (0..BUNDLES.len(), any::<bool>()), 1..5).prop_map(|roots| {
                roots.into_iter().collect::<Vec<_>>()
            }).prop_shuffle(),
            2..6,
        ),
    ) {
        let mut bundles = vec![bundle("leaf0", "1.0.0", &spec(&[], &[])), bundle("leaf1", "1.0.0", &spec(&[], &[]))];
        for (number, requirements) in requirements.iter().enumerate() {
            let below = if number < 2 { &BUNDLES[..2] } else { &BUNDLES[..4] };
            bundles.push(bundle(BUNDLES[number + 2], "1.0.0", &spec(requirements, below)));
        }
        let catalog = catalog(&bundles);
        let mut last: Option<Resolution> = None;
        for roots in lives {
            let requires: Vec<String> = roots.iter().map(|(name, (of, is_set))| {
                let set = if *is_set { ", parameters: {p: k}" } else { "" };
                format!("{{name: {name}, bundle: acme/{}{set}}}", BUNDLES[*of])
            }).collect();
            let requires: Vec<&str> = requires.iter().map(String::as_str).collect();
            let context = last.as_ref().map(after).unwrap_or_default();
            let now = deployed(&catalog, &requires, &context);
            prop_assert_eq!(errors(&now), Vec::<&str>::new());
            let unique: BTreeSet<&str> = names(&now).into_iter().collect();
            prop_assert_eq!(unique.len(), now.installations.len());
            let again = deployed(&catalog, &requires, &after(&now));
            prop_assert_eq!(names(&now), names(&again));
            if let Some(last) = &last {
                let now = shared(&now);
                for (identity, names) in shared(last) {
                    let kept = now.get(identity).is_none_or(|now| now.iter().any(|name| names.contains(name)));
                    prop_assert!(kept, "{:?} became {:?}", names, now.get(identity));
                }
            }
            last = Some(now);
        }
    }
}
