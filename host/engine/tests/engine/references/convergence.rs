//! Applying a folder whose parts arrive in any order, over several runs, leads to the same state as
//! applying it at once (SPEC §7).

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use purlin_model::driver::Implements;
use purlin_state::Record;

use super::given::{self, up};
use crate::support::{FULL, Lost, Platform, locked};

/// A created object can be found, or its creation can be repeated.
const FINDABLE: [Implements; 2] = [FULL, Implements { repeat_create: true, ..FULL }];

/// The number of manifests that share a label.
const GROUP: usize = 3;

/// How a manifest refers to earlier ones, as numbers that are valid for any folder.
type Link = (u8, u8, u8);

/// Manifests that refer to earlier ones, one in each file.
fn folder(links: &[Vec<Link>]) -> Vec<String> {
    links.iter().enumerate().map(|(number, links)| manifest(number, links)).collect()
}

fn kind(number: usize) -> &'static str {
    ["Net", "Subnet", "Host"][number % 3]
}

fn key(number: usize) -> String {
    format!("ec2/{}.default#m{number}", kind(number).to_lowercase())
}

fn manifest(number: usize, links: &[Link]) -> String {
    // A selector must select earlier manifests, so it uses only the labels of earlier groups.
    let earlier_groups = number / GROUP;
    let field = |(at, (how, one, other)): (usize, &Link)| {
        let name = |pick: u8| Some(format!("name: m{}", usize::from(pick).checked_rem(number)?));
        let group = |pick: u8| usize::from(pick).checked_rem(earlier_groups);
        let optional = "policy: {resolution: Optional}";
        Some(match how % 6 {
            0 | 1 => format!("f{at}IdRef: {{{}}}", name(*one)?),
            2 => format!("f{at}IdRef: {{{}, {optional}}}", name(*one)?),
            3 => format!("f{at}IdRefs: [{{{}}}, {{{}}}]", name(*one)?, name(*other)?),
            4 => format!("f{at}IdsSelector: {{matchLabels: {{group: g{}}}}}", group(*one)?),
            _ => format!("f{at}IdsSelector: {{matchLabels: {{group: g{}}}, {optional}}}", group(*one)?),
        })
    };
    let fields: Vec<String> = links.iter().enumerate().filter_map(field).collect();
    let metadata = format!("name: m{number}, labels: {{group: g{}}}", number / GROUP);
    given::manifest(kind(number), &metadata, &format!("forProvider: {{{}}}", fields.join(", ")))
}

/// A failure of a driver call during one run.
#[derive(Clone, Copy, Debug)]
enum CallFailure {
    Fails,
    IsLost(Lost),
}

fn fault() -> impl Strategy<Value = CallFailure> {
    prop_oneof![
        Just(CallFailure::Fails),
        Just(CallFailure::IsLost(Lost::Before)),
        Just(CallFailure::IsLost(Lost::After)),
    ]
}

fn set_faults(platform: &Platform, faults: &[(usize, CallFailure)]) {
    let (mut broken, mut lost) = (locked(&platform.driver.broken), locked(&platform.driver.lost));
    broken.clear();
    lost.clear();
    for (number, fault) in faults {
        match fault {
            CallFailure::Fails => drop(broken.insert(key(*number))),
            CallFailure::IsLost(when) => {
                for call in ["create", "update"] {
                    lost.insert(format!("{call} {}", key(*number)), *when);
                }
            }
        }
    }
}

/// The records by URN, without times and deployments.
async fn state(platform: &Platform) -> BTreeMap<String, Record> {
    let records = platform.records().await.into_iter();
    let bare = records.map(|record| Record {
        created: 0,
        updated: 0,
        deployment: "".into(),
        ..Record::clone(&record)
    });
    bare.map(|record| (format!("{} {:?}", record.urn, record.superseded), record)).collect()
}

/// The files that are present in each run: all of them in the last one.
fn arrivals<'a>(files: &'a [String], order: &[u16], cuts: &[bool]) -> Vec<Vec<&'a str>> {
    let mut numbers: Vec<usize> = (0..files.len()).collect();
    numbers.sort_by_key(|number| order[*number]);
    let mut there = Vec::new();
    let mut runs = Vec::new();
    for (number, cut) in numbers.into_iter().zip(cuts) {
        there.push(&*files[number]);
        if *cut {
            runs.push(there.clone());
        }
    }
    runs.push(there);
    runs
}

async fn converges(
    files: &[String],
    runs: &[Vec<&str>],
    faults: &[Vec<(usize, CallFailure)>],
    implements: Implements,
) {
    let platform = Platform::with(implements);
    for (run, faults) in runs.iter().zip(faults) {
        set_faults(&platform, faults);
        up(&platform, run).await;
    }
    set_faults(&platform, &[]);
    let all: Vec<&str> = files.iter().map(String::as_str).collect();
    let last = up(&platform, &all).await;
    assert!(last.is_success(), "{last:#?}");
    assert_eq!(up(&platform, &all).await.calls, 0);

    let at_once = Platform::with(implements);
    assert!(up(&at_once, &all).await.is_success());
    assert_eq!(state(&platform).await, state(&at_once).await);
    assert_eq!(platform.driver.alive(), at_once.driver.alive());
}

const MOST: usize = 10;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_folder_whose_parts_arrive_in_any_order_converges(
        links in vec(vec(any::<Link>(), 0..4), 2..=MOST),
        order in vec(any::<u16>(), MOST),
        cuts in vec(any::<bool>(), MOST),
        faults in vec(vec((0..MOST, fault()), 0..3), MOST + 1),
        repeats in any::<bool>(),
    ) {
        let files = folder(&links);
        let runs = arrivals(&files, &order, &cuts);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(converges(&files, &runs, &faults, FINDABLE[usize::from(repeats)]));
    }
}
