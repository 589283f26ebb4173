//! What must exist for requirements, according to the specification and not to the program (SPEC
//! §6): [`check`] goes from the documents of an environment through everything that they ask for,
//! and compares that with what is recorded there.
//!
//! The program says which installation it gave to each requirement. That is not believed: two
//! requirements have the same one exactly if they are the same, and it has the values that they
//! ask for.

use std::collections::{BTreeMap, BTreeSet};

use purlin_model::{Installed, Urn, Value};
use purlin_state::{Record, Snapshot, Status};

use super::platform::{
    CHOSEN, Given, Group, OF_PARAMETER, OF_ROOT, OF_VERSION, Platform, Requirement, SECRET,
};

/// An installation, or the use of one, as it is recorded.
#[derive(Clone, Debug)]
pub(crate) struct One {
    pub(crate) urn: String,
    bundle: String,
    version: String,
    group: Option<String>,
    namespace: String,
    parameters: BTreeMap<String, String>,
    created: u64,
    /// The installation that it uses, and the range of versions.
    uses: Option<(String, Option<String>)>,
}

impl One {
    /// The installation that it uses.
    pub(crate) fn used(&self) -> Option<&str> {
        self.uses.as_ref().map(|(urn, _)| &**urn)
    }
}

/// The installations of an environment.
pub(crate) fn recorded(snapshot: &Snapshot, is_abandoned: bool) -> BTreeMap<String, One> {
    let current = snapshot.records.iter().filter(|record| record.superseded.is_none());
    let all = current.filter(|record| record.abandoned == is_abandoned && record.status != Status::Absent);
    all.filter_map(|record| Some((name(&record.urn)?, one(record)?))).collect()
}

fn name(urn: &Urn) -> Option<String> {
    urn.key()?.as_str().strip_prefix("installation.default#").map(str::to_owned)
}

fn one(record: &Record) -> Option<One> {
    let share = record.share.as_ref()?;
    let (bundle, version) = record.definition.as_ref()?.split_once(":v")?;
    let mut parameters = BTreeMap::new();
    if let Value::Map(params) = record.inputs.params.exposed()
        && let Some(Value::Map(given)) = params.get("parameters").map(Value::exposed)
    {
        for (name, value) in given.iter() {
            if let Value::String(text) = value.exposed() {
                parameters.insert(name.to_string(), text.to_string());
            }
        }
    }
    Some(One {
        urn: record.urn.as_str().to_owned(),
        bundle: bundle.to_owned(),
        version: version.to_owned(),
        group: share.group.as_ref().map(ToString::to_string),
        namespace: share.namespace.to_string(),
        parameters,
        created: record.created,
        uses: share.uses.as_ref().map(|uses| {
            (uses.installation.as_str().to_owned(), uses.version.as_ref().map(ToString::to_string))
        }),
    })
}

/// A value that a requirement gives: where it comes from, and its text if that is known before
/// anything runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Meant {
    from: String,
    known: Option<String>,
}

type Values = BTreeMap<&'static str, Meant>;

/// What a requirement had after a run.
#[derive(Clone, Debug)]
struct Had {
    /// All of its fields but the name, with the origins of its values.
    fields: String,
    /// The name of the installation.
    name: String,
}

/// The requirements of an environment after a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    had: BTreeMap<String, Had>,
    installed: BTreeMap<String, One>,
    roots: BTreeMap<String, String>,
}

/// An environment after a run of it.
pub(crate) struct Run<'a> {
    pub(crate) platform: &'a Platform,
    /// The application, and the namespace.
    pub(crate) place: (&'a str, &'a str),
    /// What the program says.
    pub(crate) says: &'a [Installed],
    pub(crate) snapshot: &'a Snapshot,
    /// What this environment had before, if it was deployed.
    pub(crate) before: Option<&'a Seen>,
    /// Whether installations of it were handed over before.
    pub(crate) was_handed_over: bool,
    /// The installations of other environments before the run.
    pub(crate) others: &'a [One],
}

/// How often what happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) requirements: usize,
    pub(crate) shared: usize,
    pub(crate) uses: usize,
    pub(crate) kept: usize,
}

/// A resource with requirements.
struct Parent {
    /// Its name; that of a resource is its key; empty for the deployment.
    name: String,
    root: String,
    /// Its bundle and version, if it is an installation.
    bundle: Option<(usize, String)>,
    given: Values,
}

const DEFAULTS: [(&str, &str); 4] = [("p", "dp"), ("q", "dq"), ("g", "dg"), ("s", "TOPSECRET-default")];

/// Whether a version is in a range, by its place.
fn is_in(range: usize, version: &str) -> bool {
    match range {
        1 | 2 => true,
        _ => version == CHOSEN[range],
    }
}

impl Run<'_> {
    /// Checks the environment after a run.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn check(&self, tally: &mut Tally) -> Result<Seen, String> {
        let installed = recorded(self.snapshot, false);
        let mut by_claim: BTreeMap<&str, &Installed> = BTreeMap::new();
        let mut roots = BTreeMap::new();
        for one in self.says {
            roots.insert(one.name.to_string(), one.root.to_string());
            for claim in &one.claims {
                if by_claim.insert(&claim.made_for, one).is_some() {
                    return Err(format!("{} has two installations", claim.made_for));
                }
            }
        }
        let mut seen = Seen { had: BTreeMap::new(), installed, roots };
        let (mut by_class, mut classes) =
            (BTreeMap::<String, String>::new(), BTreeMap::<String, String>::new());
        let (mut parents, mut done) = (vec![], BTreeSet::new());
        let own =
            |name: &str| Parent { name: name.into(), root: name.into(), bundle: None, given: Values::new() };
        parents.push(own(""));
        let needy = self.platform.resources.iter().filter(|(_, kind, _)| *kind == "needy");
        parents.extend(needy.map(|(name, ..)| own(&format!("needy.default#shared.{name}"))));
        let mut allowed_roots: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        while let Some(parent) = parents.pop() {
            let requires = match (&parent.bundle, &*parent.name) {
                (Some((bundle, _)), _) => &self.platform.bundles[*bundle].requires,
                (None, "") => &self.platform.requires,
                (None, _) => &self.platform.of_definition,
            };
            for requirement in requires {
                let made_for = match &*parent.name {
                    "" => requirement.name.clone(),
                    name => format!("{name}/{}", requirement.name),
                };
                let Some(said) = by_claim.get(&*made_for) else {
                    return Err(format!("{made_for} has no installation"));
                };
                let name = said.name.to_string();
                let Some(one) = seen.installed.get(&name).cloned() else {
                    return Err(format!("{name}, of {made_for}, is not recorded"));
                };
                tally.requirements += 1;
                let given = self.given(requirement, &parent, &by_claim)?;
                let group = self.group(requirement, &parent);
                let fields = format!("{} {} {group:?} {given:?}", requirement.bundle, requirement.range);
                let at = |what: String| format!("{made_for}, which has {name}: {what}: {one:#?}\n{fields}");
                self.fits(requirement, &one, group.as_deref(), &given).map_err(at)?;
                self.is_right(
                    &made_for,
                    &fields,
                    requirement,
                    (&name, &one, group.as_deref(), &given),
                    tally,
                )
                .map_err(at)?;
                // Two requirements have the same one exactly if they are the same.
                let from: Vec<_> = given.iter().map(|(name, meant)| (name, &meant.from)).collect();
                let class = match (&group, &one.uses) {
                    (None, _) => made_for.clone(),
                    // A use is kept until other values are given.
                    (_, Some(uses)) => {
                        let known =
                            given.iter().filter_map(|(name, meant)| Some((name, meant.known.as_ref()?)));
                        let known: Vec<_> =
                            known.map(|(name, known)| (name, Some(known).filter(|_| *name != "s"))).collect();
                        format!("{uses:?} {group:?} {known:?}")
                    }
                    _ => format!("{} {} {group:?} {from:?}", requirement.bundle, one.version),
                };
                let twice = by_class.entry(class.clone()).or_insert_with(|| name.clone());
                if *twice != name && !self.were_two(twice, &name) {
                    return Err(at(format!("{twice} is the same")));
                }
                let other = classes.entry(name.clone()).or_insert_with(|| class.clone());
                if *other != class {
                    return Err(at(format!("something else has it, too: {other}")));
                }
                let root = if parent.name.is_empty() { &name } else { &parent.root };
                allowed_roots.entry(name.clone()).or_default().insert(root.clone());
                seen.had.insert(made_for, Had { fields, name: name.clone() });
                if done.insert(name.clone()) {
                    if one.uses.is_none() {
                        let root = seen.roots.get(&name).cloned().unwrap_or_default();
                        parents.push(Parent {
                            bundle: Some((requirement.bundle, one.version.clone())),
                            name,
                            root,
                            given,
                        });
                    }
                } else {
                    tally.shared += 1;
                }
            }
        }
        for (name, allowed) in &allowed_roots {
            let root = seen.roots.get(name).cloned().unwrap_or_default();
            let kept = self.before.and_then(|before| before.roots.get(name));
            // What was handed over comes back as it was.
            if !allowed.contains(&root) && kept != Some(&root) && !self.was_handed_over {
                return Err(format!("the root of {name} is {root}, but {allowed:?} lead to it"));
            }
        }
        match seen.installed.keys().find(|name| !done.contains(*name)) {
            Some(left) => Err(format!("nothing asks for {left}")),
            None => Ok(seen),
        }
    }

    fn given(
        &self,
        requirement: &Requirement,
        parent: &Parent,
        by_claim: &BTreeMap<&str, &Installed>,
    ) -> Result<Values, String> {
        let mut all = Values::new();
        for (name, given) in &requirement.given {
            let constant = |text: &str| Meant { from: format!("={text}"), known: Some(text.to_owned()) };
            let meant = match given {
                Given::Constant(text) => constant(text),
                Given::OfParent(of) => match parent.given.get(of) {
                    Some(meant) => meant.clone(),
                    None => constant(default(of)),
                },
                Given::Output(of, output) if parent.bundle.is_some() => {
                    let sibling = format!("{}/{of}", parent.name);
                    let of = by_claim.get(&*sibling).ok_or(format!("{sibling} has no installation"))?;
                    Meant { from: format!("{output} of {}", of.name), known: None }
                }
                Given::Output(of, output) => Meant { from: format!("{output} of #{of}"), known: None },
                Given::Written(text @ "${values.k}") => {
                    Meant { from: (*text).to_owned(), known: Some("known".into()) }
                }
                Given::Written(text) => Meant { from: format!("{text} of {}", parent.name), known: None },
            };
            all.insert(*name, meant);
        }
        Ok(all)
    }

    fn group(&self, requirement: &Requirement, parent: &Parent) -> Option<String> {
        let (app, namespace) = self.place;
        let text = match requirement.group {
            Group::None => return None,
            Group::Everybody => String::new(),
            Group::Named(OF_ROOT) => match parent.root.split_once('#') {
                Some((kind, id)) => format!("urn:purlin:dev/default::{app}::shared::{kind}::{id}"),
                None => {
                    format!("urn:purlin:dev/default::{app}::shared::installation.default::{}", parent.root)
                }
            },
            Group::Named(OF_PARAMETER) => {
                let g = parent.given.get("g").and_then(|meant| meant.known.clone());
                format!("g-{}", g.unwrap_or_else(|| default("g").to_owned()))
            }
            Group::Named(OF_VERSION) => {
                format!("{namespace}-{}", parent.bundle.as_ref().map_or("", |(_, version)| &**version))
            }
            Group::Named(name) => name.to_owned(),
        };
        Some(text)
    }

    /// Whether an installation, or the use of one, satisfies a requirement.
    fn fits(
        &self,
        requirement: &Requirement,
        one: &One,
        group: Option<&str>,
        given: &Values,
    ) -> Result<(), String> {
        if one.bundle != self.platform.bundles[requirement.bundle].name {
            return Err("it is of another bundle".into());
        }
        if !is_in(requirement.range, &one.version) {
            return Err("its version is not in the range".into());
        }
        if one.uses.is_some() {
            return Ok(());
        }
        if one.group.as_deref() != group {
            return Err(format!("its group is not {group:?}"));
        }
        for (name, default) in DEFAULTS {
            let wanted = match given.get(name) {
                Some(meant) => meant.known.as_deref(),
                None => Some(default),
            };
            if let Some(wanted) = wanted
                && one.parameters.get(name).is_none_or(|value| value != wanted)
            {
                return Err(format!("its {name} is not {}", wanted.replace(SECRET, "secret")));
            }
        }
        Ok(())
    }

    /// The installations of others that a requirement could use: the nearest and oldest first.
    fn usable(&self, requirement: &Requirement, group: Option<&str>, given: &Values) -> Vec<&One> {
        let (_, namespace) = self.place;
        let fits = |one: &&One| {
            group.is_some()
                && one.group.as_deref() == group
                && (one.namespace == namespace || one.namespace.is_empty())
                && one.bundle == self.platform.bundles[requirement.bundle].name
                && is_in(requirement.range, &one.version)
                && given.iter().all(|(name, meant)| {
                    meant.known.is_some() && one.parameters.get(*name) == meant.known.as_ref()
                })
        };
        let mut all: Vec<&One> = self.others.iter().filter(|one| one.uses.is_none()).filter(fits).collect();
        all.sort_by_key(|one| (one.namespace != namespace, one.created));
        all
    }

    /// Whether a requirement goes on with what it had, or has what it must have if it is new.
    fn is_right(
        &self,
        made_for: &str,
        fields: &str,
        requirement: &Requirement,
        (name, one, group, given): (&str, &One, Option<&str>, &Values),
        tally: &mut Tally,
    ) -> Result<(), String> {
        let used = one.used();
        tally.uses += usize::from(used.is_some());
        let usable = self.usable(requirement, group, given);
        let is_usable = |urn: &str| usable.iter().any(|one| one.urn == urn);
        let had = self.before.and_then(|before| before.had.get(made_for));
        if let Some(had) = had.filter(|had| had.fields == fields) {
            tally.kept += 1;
            if had.name != name {
                return Err(format!("it had {}", had.name));
            }
            let before = self.before.and_then(|before| before.installed.get(name));
            let before = before.ok_or("nothing was recorded before")?;
            let used_before = before.uses.as_ref().map(|(urn, _)| &**urn);
            if used_before != used {
                return Err(format!("it used {used_before:?}"));
            }
            if used.is_none() && before.created != one.created {
                return Err("it was replaced".into());
            }
            return Ok(());
        }
        // Another one of the same kind may have been there before.
        let is_new = self.before.is_none_or(|before| !before.installed.contains_key(name));
        match used {
            Some(used) => {
                let is_kept = self
                    .before
                    .and_then(|before| before.installed.get(name))
                    .is_some_and(|before| before.uses.as_ref().is_some_and(|(urn, _)| urn == used));
                // Whoever comes to a use that is there must ask for what it has.
                if !is_usable(used) && !is_kept {
                    return Err(format!("it cannot use {used}"));
                }
                let nearest = usable.first().map(|one| (one.namespace.clone(), one.created));
                let its = usable.iter().find(|one| one.urn == used);
                if is_new && its.map(|one| (one.namespace.clone(), one.created)) != nearest {
                    return Err(format!("{:?} comes before it", usable.first()));
                }
            }
            None if is_new && !self.was_handed_over => {
                if let Some(one) = usable.first() {
                    return Err(format!("it could use {one:?}"));
                }
                if one.version != CHOSEN[requirement.range] && had.is_none() {
                    let others = self.before.is_some();
                    return if others { Ok(()) } else { Err("it is not the highest version".into()) };
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Whether both were installations before: they may have become the same since.
    fn were_two(&self, one: &str, other: &str) -> bool {
        self.before
            .is_some_and(|before| before.installed.contains_key(one) && before.installed.contains_key(other))
    }
}

fn default(name: &str) -> &'static str {
    DEFAULTS.iter().find(|(of, _)| *of == name).map_or("", |(_, default)| default)
}
