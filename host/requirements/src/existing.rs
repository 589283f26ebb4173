//! Existing installations in other environments (SPEC §6, step 2).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use purlin_model::{Existing, Interface, Requirement, Urn, Use, User, ValueKind};
use semver::Version;

use crate::choose::Rejection;
use crate::fit::{Wanted, installation_fits};
use crate::resolution::LookedFor;

/// The installations that are visible to a resolution.
pub(crate) struct VisibleInstallations<'a> {
    namespace: Arc<str>,
    by_group: HashMap<&'a str, Vec<&'a Existing>>,
    by_id: HashMap<(&'a str, &'a str), Vec<&'a Existing>>,
    by_urn: HashMap<&'a Urn, &'a Existing>,
    all: &'a [Existing],
}

/// A fitting one, and its names for the requested outputs.
pub(crate) type Fitting<'a> = (&'a Existing, BTreeMap<Arc<str>, Arc<str>>);

/// The others, by namespace and name.
pub(crate) type Rejected = Vec<(Arc<str>, Rejection)>;

impl<'a> VisibleInstallations<'a> {
    pub(crate) fn new(namespace: Arc<str>, all: &'a [Existing]) -> Self {
        let mut by_group: HashMap<&str, Vec<&Existing>> = HashMap::new();
        let is_seen = |one: &&Existing| *one.share.namespace == *namespace || one.share.namespace.is_empty();
        for one in all.iter().filter(is_seen) {
            if let Some(group) = &one.share.group {
                by_group.entry(group).or_default().push(one);
            }
        }
        let seen = || all.iter().filter(is_seen);
        let mut by_id: HashMap<(&str, &str), Vec<&Existing>> = HashMap::new();
        for one in seen() {
            by_id.entry((&one.share.namespace, &one.name)).or_default().push(one);
        }
        let by_urn = all.iter().map(|one| (&one.urn, one)).collect();
        Self { namespace, by_group, by_id, by_urn, all }
    }

    /// The installations with a namespace and a name: there may be several, in several
    /// environments.
    pub(crate) fn named(&self, (namespace, name): (&str, &str)) -> Vec<&'a Existing> {
        self.by_id.get(&(namespace, name)).cloned().unwrap_or_default()
    }

    /// The installation with a URN.
    pub(crate) fn of_urn(&self, urn: &Urn) -> Option<&'a Existing> {
        let is_seen =
            |one: &&Existing| one.share.namespace == self.namespace || one.share.namespace.is_empty();
        self.by_urn.get(urn).copied().filter(is_seen)
    }

    /// The same in a namespace that is not visible to others.
    pub(crate) fn hidden(&self, (namespace, name): (&str, &str)) -> bool {
        self.all.iter().any(|one| *one.share.namespace == *namespace && *one.name == *name)
    }

    /// The namespaces and names of all installations that may be named.
    pub(crate) fn ids(&self) -> impl Iterator<Item = String> {
        self.by_id.keys().map(|(namespace, name)| format!("{namespace}/{name}"))
    }

    /// The installation that a requirement has used since an earlier run, while it fits. Its group
    /// may have changed: a user of an installation continues to use it.
    pub(crate) fn used_before(
        &self,
        used: Option<&Urn>,
        wanted: Wanted<'_>,
    ) -> Result<Option<Fitting<'a>>, (Arc<str>, Rejection)> {
        let Some(one) = used.and_then(|urn| self.by_urn.get(urn)).copied() else { return Ok(None) };
        let outputs = versions_fit(one, wanted.requirement).and_then(|()| outputs_fit(one, wanted));
        outputs.map(|outputs| Some((one, outputs))).map_err(|why| (id(one), why))
    }

    /// The nearest fitting installation of a group: the same namespace comes before the global one,
    /// the named bundle before others, and then the highest version. Also returns the skipped ones.
    pub(crate) fn fitting(&self, group: &str, wanted: Wanted<'_>) -> (Option<Fitting<'a>>, Rejected) {
        let mut all: Vec<&Existing> = self.by_group.get(group).cloned().unwrap_or_default();
        let repository = wanted.requirement.reference.as_ref().map(|reference| &reference.repository);
        all.sort_by_cached_key(|one| {
            let version = one.reference.version().unwrap_or_else(|| Version::new(0, 0, 0));
            let is_near = one.share.namespace == self.namespace;
            (!is_near, Some(&one.reference.repository) != repository, Reverse(version), one.urn.clone())
        });
        let (mut found, mut lost) = (None, Vec::new());
        for one in all {
            let fit = match one.is_ready {
                true => versions_fit(one, wanted.requirement).and_then(|()| outputs_fit(one, wanted)),
                false => Err(Rejection::NotReady),
            };
            match fit {
                Ok(outputs) if found.is_none() => found = Some((one, outputs)),
                Ok(_) => lost.push((id(one), Rejection::Farther)),
                // There may be any number of other bundles, which were not requested.
                Err(Rejection::OtherBundle) => {}
                Err(why) => lost.push((id(one), why)),
            }
        }
        (found, lost)
    }
}

/// The name of an installation for people: its namespace and its name.
pub(crate) fn id(one: &Existing) -> Arc<str> {
    format!("{}/{}", one.share.namespace, one.name).into()
}

/// The needs of a requirement in the installation that it uses.
pub(crate) fn needs(
    one: &Existing,
    requirement: &Requirement,
    by_hand: bool,
    outputs: &BTreeMap<Arc<str>, Arc<str>>,
) -> Use {
    let read: BTreeSet<Arc<str>> = outputs.values().cloned().collect();
    Use {
        installation: one.urn.clone(),
        by_hand,
        version: requirement.version.as_ref().map(|range| range.to_string().into()),
        outputs: read.into_iter().collect(),
    }
}

/// Whether a user of an installation accepts another version of it.
///
/// # Errors
/// The reason why not.
pub(crate) fn suits(
    user: &User,
    version: Option<&Version>,
    offered: &BTreeSet<Arc<str>>,
) -> Result<(), Rejection> {
    let range = user.needs.version.as_deref().filter(|_| !user.needs.by_hand);
    let range = range.and_then(|range| purlin_range::Range::parse(range).ok());
    if let (Some(range), Some(version)) = (range, version)
        && !range.matches(version)
    {
        return Err(Rejection::OutOfRange);
    }
    match user.needs.outputs.iter().find(|output| !offered.contains(*output)) {
        Some(output) => Err(Rejection::Lacks(ValueKind::Output, Arc::clone(output))),
        None => Ok(()),
    }
}

/// The required properties of an installation for a requirement.
pub(crate) fn looked_for(requirement: &Requirement) -> LookedFor {
    let Interface { id, reference, outputs, .. } = &requirement.interface;
    let by_bundle = id.is_none() && reference.is_none() && outputs.is_empty();
    if by_bundle { LookedFor::Bundle } else { LookedFor::Interface }
}

fn versions_fit(one: &Existing, requirement: &Requirement) -> Result<(), Rejection> {
    let Interface { id, reference, outputs, .. } = &requirement.interface;
    let is_named = id.is_some() && *id == one.share.provides;
    let by_interface = is_named || reference.is_some() || !outputs.is_empty();
    let Some(bundle) = &requirement.reference else {
        return if by_interface { Ok(()) } else { Err(Rejection::OtherBundle) };
    };
    if bundle.repository != one.reference.repository {
        return if by_interface { Ok(()) } else { Err(Rejection::OtherBundle) };
    }
    let version = one.reference.version();
    match (&requirement.version, version) {
        (Some(range), Some(version)) if range.matches(&version) => Ok(()),
        (Some(_), _) => Err(Rejection::OutOfRange),
        // A digest identifies one content: the same tag may have another.
        (None, _) if bundle.digest.is_some() => match bundle.digest == one.reference.digest {
            true => Ok(()),
            false => Err(Rejection::OtherVersion),
        },
        (None, version) if bundle.is_open() || version == bundle.version() => Ok(()),
        (None, _) => Err(Rejection::OtherVersion),
    }
}

/// Whether it has the requested outputs: according to its bundle's declarations, and to the record.
pub(crate) fn outputs_fit(
    one: &Existing,
    wanted: Wanted<'_>,
) -> Result<BTreeMap<Arc<str>, Arc<str>>, Rejection> {
    if !one.share.is_whole() {
        return Err(Rejection::NotReady);
    }
    let found = installation_fits(&one.share, wanted)?;
    match found.iter().find(|(_, own)| !one.outputs.contains(*own)) {
        Some((name, _)) => Err(Rejection::Lacks(ValueKind::Output, Arc::clone(name))),
        None => Ok(found),
    }
}
