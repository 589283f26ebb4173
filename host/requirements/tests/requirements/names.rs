//! Random histories of a deployment: a requirement keeps its installation as long as it requires the
//! same, a repeated resolution has the same result, and so has one in another order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use purlin_model::{Claim, RequirementContext};
use purlin_requirements::{Folders, Resolution};

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
/// Ways to ask for the same version.
const WAYS: [&str; 4] = [
    "{reference: acme/NAME}",
    "{reference: acme/NAME, version: '>=1.0.0'}",
    "{reference: acme/NAME, version: '1.x'}",
    "{reference: acme/NAME}",
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
    spec + &spec_lines(requirements, below).concat()
}

fn spec_lines(requirements: &[RequirementSpec], below: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, (of, sharing, parameters)) in requirements.iter().enumerate() {
        let (sharing, way, parameters) = (
            SHARING[sharing % SHARING.len()],
            WAYS[parameters / 4 % WAYS.len()].replace("NAME", below[of % below.len()]),
            PARAMETERS[parameters % PARAMETERS.len()],
        );
        lines.push(format!("- {{name: r{number}, bundle: {way}{parameters}{sharing}}}\n"));
    }
    lines
}

/// A deployment's own requirement: its name, the index of its bundle, and its settings.
type Root = (String, (usize, usize));

/// Each installation with the requirements that it satisfies.
type Claims = BTreeMap<Arc<str>, BTreeSet<Claim>>;

/// Each installation with the repository of its bundle.
fn bundles(resolution: &Resolution) -> BTreeMap<Arc<str>, Arc<str>> {
    resolution.installed().into_iter().map(|one| (one.name, one.reference.repository)).collect()
}

fn claims(resolution: &Resolution) -> Claims {
    let installed = resolution.installed().into_iter();
    installed.map(|one| (one.name, one.claims.into_iter().collect())).collect()
}

fn owner(all: &Claims, is_it: impl Fn(&Claim) -> bool) -> Option<&Arc<str>> {
    all.iter().find(|(_, claims)| claims.iter().any(&is_it)).map(|(name, _)| name)
}

/// What must hold between two runs.
fn check_kept(last_run: &Resolution, this_run: &Resolution) -> Result<(), TestCaseError> {
    let (last, now) = (&claims(last_run), &claims(this_run));
    let (last_bundles, now_bundles) = (bundles(last_run), bundles(this_run));
    // What somebody still asks for is neither replaced nor created again: whoever had it and wants
    // another bundle now leaves it to him. Those who have an installation of that bundle keep their own.
    let keeps = |name: &Arc<str>| {
        let had = |claim: &Claim| owner(last, |other| other.made_for == claim.made_for) == Some(name);
        now[name].iter().any(had) && now_bundles.get(name) == last_bundles.get(name)
    };
    let asking = now.iter().filter(|(name, _)| !keeps(name)).flat_map(|(_, claims)| claims);
    for claim in asking.filter(|claim| claim.identity.is_some()) {
        let homes: Vec<_> = last
            .iter()
            .filter(|(_, claims)| claims.iter().any(|one| one.identity == claim.identity))
            .map(|(name, _)| name)
            .collect();
        let goes_on = |home: &&Arc<str>| {
            let same = |one: &Claim, had: &Claim| one.identity.is_some() && one.identity == had.identity;
            let had =
                |one: &Claim| last[*home].iter().any(|had| had.made_for == one.made_for || same(one, had));
            now_bundles.get(*home) == last_bundles.get(*home) && now[*home].iter().any(had)
        };
        prop_assert!(homes.iter().all(goes_on), "{claim:?}, which {homes:?} was: {now:#?}");
    }
    for (name, claims) in last {
        for claim in claims {
            // A requirement that did not change keeps its installation, whoever else came or went.
            let kept = owner(now, |other| other == claim);
            prop_assert!(kept.is_none_or(|kept| kept == name), "{claim:?} was {name}: {now:#?}");
        }
    }
    for (name, claims) in now {
        let had = |claim: &Claim| owner(last, |other| other.made_for == claim.made_for);
        if claims.iter().any(|claim| had(claim).is_some()) {
            continue;
        }
        for claim in claims {
            // A new name for the same takes over what nobody else has.
            let same = owner(last, |other| other.identity.is_some() && other.identity == claim.identity);
            let free = same.filter(|same| {
                let had = &last[*same];
                !now.values().flatten().any(|now| had.iter().any(|had| had.made_for == now.made_for))
            });
            prop_assert!(free.is_none_or(|free| free == name), "{claim:?} is not {free:?}: {now:#?}");
        }
    }
    // Requirements that differ only in their names are one installation.
    let mut by_identity: BTreeMap<&Arc<str>, &Arc<str>> = BTreeMap::new();
    for (name, claim) in now.iter().flat_map(|(name, claims)| claims.iter().map(move |one| (name, one))) {
        if let Some(identity) = &claim.identity {
            let first = by_identity.entry(identity).or_insert(name);
            prop_assert_eq!(&*first, &name, "{:#?}", now);
        }
    }
    Ok(())
}

fn deploy(catalog: &Folders, roots: &[Root], context: &RequirementContext) -> Resolution {
    let requires: Vec<String> = roots
        .iter()
        .map(|(name, (of, settings))| {
            let set = ["", ", parameters: {p: k}", ", sharing: {mode: none}"][settings % 3];
            format!(
                "{{name: {name}, bundle: {}{set}}}",
                WAYS[settings % WAYS.len()].replace("NAME", BUNDLES[*of])
            )
        })
        .collect();
    let requires: Vec<&str> = requires.iter().map(String::as_str).collect();
    deployed(catalog, &requires, context)
}

/// Deploys one life after another, and checks each against the last one, in another order, and
/// repeated.
fn check_lives(requirements: &[Vec<RequirementSpec>], lives: &[Vec<Root>]) -> Result<(), TestCaseError> {
    let all = |is_turned: bool| {
        let mut bundles =
            vec![bundle("leaf0", "1.0.0", &spec(&[], &[])), bundle("leaf1", "1.0.0", &spec(&[], &[]))];
        bundles.extend(bundles.clone().iter().map(|text| text.replace("1.0.0", "1.1.0")));
        for (number, requirements) in requirements.iter().enumerate() {
            let below = if number < 2 { &BUNDLES[..2] } else { &BUNDLES[..4] };
            let mut lines = spec_lines(requirements, below);
            if is_turned {
                lines.reverse();
            }
            bundles.push(bundle(
                BUNDLES[number + 2],
                "1.0.0",
                &(spec(&[], &[]) + "requires:\n" + &lines.concat()),
            ));
        }
        if is_turned {
            bundles.reverse();
        }
        catalog(&bundles)
    };
    let (catalog, turned) = (all(false), all(true));
    let mut last: Option<Resolution> = None;
    for roots in lives {
        let context = last.as_ref().map(after).unwrap_or_default();
        let now = deploy(&catalog, roots, &context);
        prop_assert_eq!(errors(&now), Vec::<&str>::new());
        let unique: BTreeSet<&str> = names(&now).into_iter().collect();
        prop_assert_eq!(unique.len(), now.installations.len());
        // Order means nothing.
        let other_way: Vec<_> = roots.iter().rev().cloned().collect();
        prop_assert_eq!(claims(&deploy(&turned, &other_way, &context)), claims(&now));
        prop_assert_eq!(claims(&deploy(&turned, roots, &after(&now))), claims(&now));
        if let Some(last) = &last {
            check_kept(last, &now)?;
        }
        last = Some(now);
    }
    Ok(())
}

/// A requirement that leaves what it had has no claim to it: what it requires in turn would be the
/// same as that, and have the better claim, as long as it does not replace it.
#[test]
fn what_leaves_an_installation_does_not_decide_what_it_is_by_itself() {
    let requirements = [vec![(0, 0, 0)], vec![(0, 0, 3)], vec![(3, 0, 0)], vec![(3, 0, 4), (3, 0, 1)]];
    let root = |name: &str, of, settings| (name.to_owned(), (of, settings));
    let lives = [vec![root("c", 3, 1)], vec![root("a", 5, 0), root("c", 4, 0)]];
    check_lives(&requirements, &lives).expect("kept");
}

/// The requirement of a requirement changes with its parent's name, and with it what it had: the two
/// must not deny each other a name in turns.
#[test]
fn names_of_a_requirement_and_of_what_it_requires_settle() {
    let requirements = [vec![(0, 2, 0), (2, 0, 1)], vec![(0, 0, 0)], vec![(0, 0, 4)], vec![(0, 0, 0)]];
    let root = |name: &str, of, settings| (name.to_owned(), (of, settings));
    let lives = [vec![root("c", 0, 9)], vec![root("a", 4, 1), root("c", 2, 0)], vec![root("c", 4, 0)]];
    check_lives(&requirements, &lives).expect("kept");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_is_still_required_changes_its_installation(
        requirements in prop::collection::vec(prop::collection::vec((0..8_usize, 0..5_usize, 0..16_usize), 1..4), 4),
        lives in prop::collection::vec(
            prop::collection::btree_map("[a-f]", (0..BUNDLES.len(), 0..12_usize), 1..5).prop_map(|roots| {
                roots.into_iter().collect::<Vec<_>>()
            }).prop_shuffle(),
            2..6,
        ),
    ) {
        check_lives(&requirements, &lives)?;
    }
}

/// Two requirements change places: what is still required stays, under its name, and in any order.
#[test]
fn requirements_that_change_places_leave_what_is_required() {
    let catalog = catalog(&[
        bundle("leaf", "1.0.0", &spec(&[], &[])),
        bundle("other", "1.0.0", &spec(&[], &[])),
        bundle("middle", "1.0.0", "requires: [{name: r, bundle: acme/leaf:v1.0.0}]"),
        bundle("top", "1.0.0", "requires: [{name: r, bundle: acme/middle:v1.0.0}]"),
        bundle("last", "1.0.0", "requires: [{name: r, bundle: acme/other:v1.0.0}]"),
    ]);
    let leaf = "{name: b, bundle: {reference: acme/leaf:v1.0.0, version: 1.x}}";
    let before =
        deployed(&catalog, &[leaf, "{name: e, bundle: acme/top:v1.0.0}"], &RequirementContext::default());
    assert_eq!(owner(&claims(&before), |one| &*one.made_for == "e/r/r").map(|name| &**name), Some("b"));
    let requires = ["{name: b, bundle: acme/top:v1.0.0}", "{name: e, bundle: acme/last:v1.0.0}"];
    let now = deployed(&catalog, &requires, &after(&before));
    check_kept(&before, &now).expect("kept");
    let mut names = names(&now);
    names.sort_unstable();
    assert_eq!(names, ["b", "e", "e/r", "e~2", "e~2/r"]);
    let made_of = bundles(&now);
    let made_of: Vec<_> = made_of.iter().map(|(name, bundle)| (&**name, &**bundle)).collect();
    let expected = [
        ("b", "acme/leaf"),
        ("e", "acme/top"),
        ("e/r", "acme/middle"),
        ("e~2", "acme/last"),
        ("e~2/r", "acme/other"),
    ];
    assert_eq!(made_of, expected);
    assert_eq!(claims(&deployed(&catalog, &requires, &after(&now))), claims(&now));
}

/// A deployment's requirement goes, and another one gets its name: what the other one required stays.
#[test]
fn what_a_renamed_requirement_requires_stays() {
    let catalog = catalog(&[
        bundle("leaf", "1.0.0", &spec(&[], &[])),
        bundle("middle", "1.0.0", "requires: [{name: r, bundle: acme/leaf:v1.0.0}]"),
        bundle("top", "1.0.0", "requires: [{name: r, bundle: acme/middle:v1.0.0}]"),
    ]);
    let leaf = "{name: c, bundle: {reference: acme/leaf:v1.0.0, version: 1.x}}";
    let requires = [leaf, "{name: d, bundle: acme/top:v1.0.0}"];
    let before = deployed(&catalog, &requires, &RequirementContext::default());
    let now = deployed(&catalog, &["{name: c, bundle: acme/top:v1.0.0}"], &after(&before));
    check_kept(&before, &now).expect("kept");
    let mut names = names(&now);
    names.sort_unstable();
    assert_eq!(names, ["c", "d", "d/r"]);
}

/// A requirement asks for the bundle that uses what it asked for before: that is not turned into the
/// user of a new one.
#[test]
fn what_a_requirement_leaves_stays_with_those_who_require_it() {
    let catalog = catalog(&[
        bundle("leaf", "1.0.0", &spec(&[], &[])),
        bundle("app", "1.0.0", "requires: [{name: r, bundle: acme/leaf:v1.0.0}]"),
        bundle("other", "1.0.0", &spec(&[], &[])),
    ]);
    let before = deployed(&catalog, &["{name: m, bundle: acme/leaf:v1.0.0}"], &RequirementContext::default());
    let requires = ["{name: m, bundle: acme/app:v1.0.0}"];
    let now = deployed(&catalog, &requires, &after(&before));
    check_kept(&before, &now).expect("kept");
    let made_of = bundles(&now);
    let made_of: Vec<_> = made_of.iter().map(|(name, bundle)| (&**name, &**bundle)).collect();
    assert_eq!(made_of, [("m", "acme/leaf"), ("m~2", "acme/app")]);
    // Without such a requirement, the installation is replaced under its name.
    let alone = deployed(&catalog, &["{name: m, bundle: acme/other:v1.0.0}"], &after(&before));
    assert_eq!(bundles(&alone).into_iter().collect::<Vec<_>>(), [("m".into(), "acme/other".into())]);
}
