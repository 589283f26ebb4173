//! Names of installations: which requirements are one installation, and which recorded one it is.
//! An installation keeps its name as long as something requires it: under another name it would be
//! deleted, and a new one created in its place (SPEC §6, identity).
//!
//! A round of the resolution gives each requirement a name, and returns what it found out about
//! all of them ([`Asked`]). [`assign`] then decides, from all of these and the record, who has
//! which name. The next round uses that, until nothing changes. No decision therefore depends on
//! the order in which requirements are read.
//!
//! A requirement is named after its parent, so that what it had depends on the parent's name, and a
//! parent's name on what its requirements go on with: two of them could deny each other a name in
//! turns for ever. After a few rounds, what is denied stays so ([`Denied`]).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use purlin_model::{Claim, Installed};

/// What a round of the resolution found out about a requirement.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The requirement, with the identity that it has before a bundle is chosen.
    pub(crate) claim: Claim,
    /// The name that its installation would have if it were the only requirement.
    pub(crate) own_name: Arc<str>,
    /// Whether it is a requirement of the deployment itself.
    pub(crate) is_own: bool,
    /// The bundle that was chosen for it, in whichever version.
    pub(crate) repository: Arc<str>,
    /// What it came to: equal for requirements that the same installation satisfies.
    pub(crate) outcome: Arc<str>,
    /// What it would have come to without the choices of a person.
    pub(crate) unanswered: Arc<str>,
    /// The root of its parent.
    pub(crate) root: Arc<str>,
    /// The installation that it got in this round, and the root of that.
    pub(crate) got: AssignedName,
    /// Whether it was resolved as that one, and not as a recorded one that goes on with others: what
    /// was created already is not searched elsewhere.
    pub(crate) is_settled: bool,
}

/// The name of an installation, and that of its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AssignedName {
    pub(crate) name: Arc<str>,
    pub(crate) root: Arc<str>,
}

/// The installation of each requirement, by `PARENT/REQUIREMENT`.
pub(crate) type Assignments = HashMap<Arc<str>, AssignedName>;

/// What a person's choices need to know about the names in them, as the last round found it out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Relations {
    /// For each requirement, the names of those that are the same or come to the same. Requirements
    /// that are alone are left out.
    pub(crate) alike: HashMap<Arc<str>, Arc<BTreeSet<Arc<str>>>>,
    /// The names of requirements whose installation has another name. They are not the names of the
    /// installations that are called so.
    pub(crate) elsewhere: HashSet<Arc<str>>,
}

/// What a person says about one of several equal requirements counts for all of them.
pub(crate) fn relations(asked: &[Asked]) -> Relations {
    let keys = |one: &Asked| [one.claim.identity.clone(), Some(Arc::clone(&one.unanswered))];
    let mut groups: Vec<usize> = (0..asked.len()).collect();
    // Both relations together: one may be the same as a second, which comes to the same as a third.
    loop {
        let mut first: HashMap<Arc<str>, usize> = HashMap::new();
        for (one, group) in asked.iter().zip(&groups) {
            for key in keys(one).into_iter().flatten() {
                let least = first.entry(key).or_insert(*group);
                *least = (*least).min(*group);
            }
        }
        let least = |one: &Asked| keys(one).iter().flatten().filter_map(|key| first.get(key)).min().copied();
        let next: Vec<usize> = asked.iter().filter_map(least).collect();
        if next == groups {
            break;
        }
        groups = next;
    }
    let mut names: HashMap<usize, BTreeSet<Arc<str>>> = HashMap::new();
    for (one, group) in asked.iter().zip(&groups) {
        names.entry(*group).or_default().insert(Arc::clone(&one.own_name));
    }
    let names: HashMap<usize, Arc<BTreeSet<Arc<str>>>> = names
        .into_iter()
        .filter(|(_, names)| names.len() > 1)
        .map(|(group, all)| (group, all.into()))
        .collect();
    let alike = asked.iter().zip(&groups);
    let alike =
        alike.filter_map(|(one, group)| Some((Arc::clone(&one.claim.made_for), names.get(group)?.clone())));
    let elsewhere = asked.iter().filter(|one| one.got.name != one.own_name);
    Relations { alike: alike.collect(), elsewhere: elsewhere.map(|one| Arc::clone(&one.own_name)).collect() }
}

/// Which names requirements wanted that others go on with: the requirement and the name.
#[derive(Debug, Default)]
pub(crate) struct Denied(HashMap<Arc<str>, HashSet<Arc<str>>>);

impl Denied {
    fn add(&mut self, made_for: &str, name: &str) {
        self.0.entry(made_for.into()).or_default().insert(name.into());
    }

    fn has(&self, made_for: &str, name: &str) -> bool {
        self.0.get(made_for).is_some_and(|names| names.contains(name))
    }
}

/// The names of one round.
pub(crate) struct Names<'a> {
    record: Record<'a>,
    assigned: &'a Assignments,
    /// The assigned names, with the identities of those that they were assigned to.
    taken: HashMap<&'a str, HashSet<Option<&'a str>>>,
    /// The names of a deployment's own requirements.
    own: HashSet<Arc<str>>,
    /// Names of the installations so far.
    used: HashSet<Arc<str>>,
}

/// The last run's installations.
struct Record<'a> {
    by_name: HashMap<&'a str, &'a Installed>,
    by_identity: HashMap<&'a str, Vec<&'a Installed>>,
    by_claim: HashMap<&'a str, (&'a Installed, &'a Claim)>,
}

impl<'a> Record<'a> {
    fn new(installed: &'a [Installed]) -> Self {
        let mut by_identity: HashMap<&str, Vec<&Installed>> = HashMap::new();
        let mut by_claim = HashMap::new();
        for one in installed {
            for claim in &one.claims {
                by_claim.insert(&*claim.made_for, (one, claim));
                if let Some(identity) = &claim.identity {
                    by_identity.entry(identity).or_default().push(one);
                }
            }
        }
        Self { by_name: installed.iter().map(|one| (&*one.name, one)).collect(), by_identity, by_claim }
    }
}

impl<'a> Names<'a> {
    /// `last` are the requirements of the last round.
    pub(crate) fn new(
        installed: &'a [Installed],
        (assigned, last): (&'a Assignments, &'a [Asked]),
        own: HashSet<Arc<str>>,
    ) -> Self {
        let mut taken: HashMap<&str, HashSet<Option<&str>>> = HashMap::new();
        for Claim { made_for, identity } in last.iter().map(|one| &one.claim) {
            if let Some(named) = assigned.get(made_for) {
                taken.entry(&named.name).or_default().insert(identity.as_deref());
            }
        }
        Self { record: Record::new(installed), assigned, taken, own, used: HashSet::new() }
    }

    /// The installation with a name.
    pub(crate) fn installed(&self, name: &str) -> Option<&'a Installed> {
        self.record.by_name.get(name).copied()
    }

    /// Whether a deployment's own requirement has this name.
    pub(crate) fn is_own(&self, requirement: &str) -> bool {
        self.own.contains(requirement)
    }

    /// The name for a requirement, and the root that was decided for it: as assigned, else that of
    /// the recorded installation that it had, else of a recorded one that was the same, else `own`.
    pub(crate) fn of(&self, claim: &Claim, own: &Arc<str>) -> (Arc<str>, Option<Arc<str>>) {
        if let Some(AssignedName { name, root }) = self.assigned.get(&claim.made_for) {
            return (Arc::clone(name), Some(Arc::clone(root)));
        }
        // A requirement that the last round did not have is named like a new one if the recorded name
        // was given to different ones then: otherwise the two could change places for ever.
        let is_free = |one: &&Installed| {
            let identities = self.taken.get(&*one.name);
            identities.is_none_or(|identities| identities.contains(&claim.identity.as_deref()))
        };
        let had = self.record.by_claim.get(&*claim.made_for).map(|(one, _)| *one).filter(is_free);
        let same = || {
            let identity = claim.identity.as_deref()?;
            self.record.by_identity.get(identity)?.iter().copied().filter(is_free).min_by_key(|one| &one.name)
        };
        match had.or_else(same) {
            Some(one) => (Arc::clone(&one.name), Some(Arc::clone(&one.root))),
            None => (Arc::clone(own), None),
        }
    }

    /// The same name, or another one if an installation of this round has it already.
    pub(crate) fn only(&mut self, name: &Arc<str>) -> Arc<str> {
        let only = free(name, |name| self.used.contains(name));
        self.used.insert(Arc::clone(&only));
        only
    }
}

/// The first free one of a name and the numbered ones.
fn free(name: &Arc<str>, is_taken: impl Fn(&str) -> bool) -> Arc<str> {
    if !is_taken(name) {
        return Arc::clone(name);
    }
    let mut numbered = (2_u32..).map(|number| format!("{name}~{number}"));
    numbered.find(|name| !is_taken(name)).unwrap_or_default().into()
}

/// Requirements that the same installation satisfies and that are the same in every field but the
/// name.
type Cell<'a> = Vec<&'a Asked>;

/// The outcome and the identity of the requirements of a cell.
type CellKey<'a> = (&'a str, &'a str);

/// Decides which requirements are one installation, and its name.
///
/// A recorded installation goes on with those who had it, first with the unchanged ones; if none of
/// these still wants that bundle, with those who require the same. Two recorded installations become
/// one only if their requirements became the same in every field. All other requirements with the
/// same outcome are one installation, named after a deployment's own requirement, else after the one
/// nearest to a root. It replaces what that requirement had under this name, unless others go on
/// with that. A requirement that wants another bundle has no other claim to what it had: such a claim
/// could depend on itself, since what it requires in turn may be the same as what it had, as long as
/// it does not replace it.
///
/// Nobody gets a name that was `denied` to him. What is denied now is added.
pub(crate) fn assign(asked: &[Asked], installed: &[Installed], denied: &mut Denied) -> Assignments {
    let record = Record::new(installed);
    let mut cells: BTreeMap<CellKey<'_>, Cell<'_>> = BTreeMap::new();
    for one in asked {
        let identity = one.claim.identity.as_ref().unwrap_or(&one.claim.made_for);
        cells.entry((&one.outcome, identity)).or_default().push(one);
    }
    for cell in cells.values_mut() {
        cell.sort_by(|a, b| a.claim.made_for.cmp(&b.claim.made_for));
    }
    let homes = homes(&cells, &record, denied);
    // The cells of an installation: those of a recorded one, and with them the new ones with the
    // same outcome.
    let mut first: HashMap<&str, &str> = HashMap::new();
    for ((outcome, _), home) in &homes {
        let first = first.entry(outcome).or_insert(home);
        *first = (*first).min(home);
    }
    let mut recorded: Vec<(&Cell<'_>, &str)> = Vec::new();
    let mut new: BTreeMap<&str, Cell<'_>> = BTreeMap::new();
    for (key, cell) in &cells {
        match homes.get(key).or_else(|| first.get(key.0)) {
            Some(home) => recorded.push((cell, home)),
            None => new.entry(key.0).or_default().extend(cell),
        }
    }
    let mut assigned = Assignments::with_capacity(asked.len());
    let mut give = |cell: &Cell<'_>, named: &AssignedName| {
        assigned.extend(cell.iter().map(|one| (Arc::clone(&one.claim.made_for), named.clone())));
    };
    for (cell, home) in recorded {
        if let Some(one) = record.by_name.get(home) {
            give(cell, &AssignedName { name: Arc::clone(&one.name), root: Arc::clone(&one.root) });
        }
    }
    let taken: HashSet<&str> = homes.values().copied().collect();
    let mut given: HashSet<Arc<str>> = HashSet::new();
    let mut new: Vec<(_, Cell<'_>)> =
        new.into_values().filter_map(|cell| Some((cell.iter().map(|one| rank(one)).min()?, cell))).collect();
    new.sort_by(|a, b| a.0.cmp(&b.0));
    for (_, cell) in new {
        let Some(named_after) = cell.iter().min_by_key(|one| rank(one)) else { continue };
        let is_taken = |name: &str| {
            // What is recorded under another requirement's name is not taken over.
            let is_others = || {
                let had = record.by_claim.get(&*named_after.claim.made_for);
                record.by_name.contains_key(name) && had.is_none_or(|(had, _)| &*had.name != name)
            };
            let is_denied = taken.contains(name) || denied.has(&named_after.claim.made_for, name);
            is_denied || given.contains(name) || (!named_after.is_own && is_others())
        };
        let name = free(&named_after.own_name, is_taken);
        if taken.contains(&*named_after.own_name) {
            denied.add(&named_after.claim.made_for, &named_after.own_name);
        }
        given.insert(Arc::clone(&name));
        let root = if named_after.is_own { Arc::clone(&name) } else { Arc::clone(&named_after.root) };
        give(&cell, &AssignedName { name, root });
    }
    assigned
}

/// The one of several requirements that names their installation comes first.
fn rank(one: &Asked) -> (bool, usize, &str) {
    (!one.is_own, one.claim.made_for.split('/').count(), &one.claim.made_for)
}

/// How strong a requirement's relation to a recorded installation is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bond {
    /// It had it, and is unchanged.
    Unchanged,
    /// It had it.
    Had,
    /// It is the same as one that had it.
    Same,
}

/// The strongest first; of these, those of the requirement that an installation is named after. With
/// the installation, the requirement, and its cell.
type Bonds<'a> = BTreeSet<(Bond, Reverse<bool>, &'a str, &'a str, CellKey<'a>)>;

/// The recorded installation that each cell goes on with, by its name.
fn homes<'a>(
    cells: &BTreeMap<CellKey<'a>, Cell<'a>>,
    record: &Record<'a>,
    denied: &mut Denied,
) -> HashMap<CellKey<'a>, &'a str> {
    let mut bonds: Bonds<'_> = BTreeSet::new();
    for (key, cell) in cells {
        for one in cell {
            let Claim { made_for, identity } = &one.claim;
            if let Some((had, claim)) = record.by_claim.get(&**made_for) {
                let wants_the_same = had.reference.repository == one.repository;
                let bond = match claim.identity == *identity {
                    true => Some(Bond::Unchanged),
                    false => wants_the_same.then_some(Bond::Had),
                };
                let is_after = Reverse(had.name == *made_for);
                bonds.extend(bond.map(|bond| (bond, is_after, &*had.name, &**made_for, *key)));
            }
            let same = identity.as_deref().and_then(|identity| record.by_identity.get(identity));
            for other in same.into_iter().flatten() {
                bonds.insert((Bond::Same, Reverse(other.name == *made_for), &other.name, made_for, *key));
            }
        }
    }
    let mut homes: HashMap<CellKey<'_>, &str> = HashMap::new();
    let mut goes_on: HashMap<&str, &str> = HashMap::new();
    for (_, _, home, made_for, key) in bonds {
        if homes.contains_key(&key) || denied.has(made_for, home) {
            continue;
        }
        if goes_on.get(home).is_some_and(|outcome| *outcome != key.0) {
            denied.add(made_for, home);
            continue;
        }
        goes_on.insert(home, key.0);
        homes.insert(key, home);
    }
    homes
}
