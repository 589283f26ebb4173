//! Existing installations in other environments (SPEC §6, step 2).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use purlin_model::{
    BundleReference, Existing, InstallationUse, Interface, Requirement, Setting, SettingDigest, Table, Urn,
    User, Value, ValueKind,
};

use crate::candidates::Rejection;
use crate::identity::{self, Meant};
use crate::interface::{Wanted, installation_fits};
use crate::resolution::LookedFor;
use crate::resolve::Meanings;

/// The installations that are visible to a resolution.
pub(crate) struct VisibleInstallations<'a> {
    namespace: Arc<str>,
    /// Those of the same and of the global namespace.
    by_group: HashMap<&'a str, Vec<&'a Existing>>,
    by_id: HashMap<(&'a str, &'a str), Vec<&'a Existing>>,
    by_urn: HashMap<&'a Urn, &'a Existing>,
}

/// The demands on an existing installation: those on any candidate, and the values.
#[derive(Clone, Copy)]
pub(crate) struct Sought<'a> {
    pub(crate) wanted: Wanted<'a>,
    pub(crate) given: &'a Given,
    pub(crate) own_names: &'a OwnSettings,
}

/// For bundles of installations: their own names for the settings of a requirement, where a `$id`
/// decides them.
pub(crate) type OwnSettings = HashMap<BundleReference, BTreeMap<(Setting, Arc<str>), Arc<str>>>;

impl Sought<'_> {
    /// The digest that an installation has for a setting of the requirement.
    pub(crate) fn recorded(&self, one: &Existing, setting: &(Setting, Arc<str>)) -> Option<SettingDigest> {
        one.settings.digests.get(&self.own(one, setting)).copied()
    }

    /// The installation's name for a setting of the requirement.
    fn own(&self, one: &Existing, setting: &(Setting, Arc<str>)) -> (Setting, Arc<str>) {
        let own = self.own_names.get(&one.reference).and_then(|names| names.get(setting));
        (setting.0, Arc::clone(own.unwrap_or(&setting.1)))
    }

    /// The known values that the requirement gives an installation, as a use keeps them.
    fn text(&self, one: &Existing) -> Arc<str> {
        self.given.text(|setting| one.settings.secret.contains(&self.own(one, setting)))
    }
}

/// The digests of the parameters and credentials that a requirement gives. One without a digest is
/// not known yet, and equals nothing; of several, each is accepted.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) digests: BTreeMap<(Setting, Arc<str>), Vec<SettingDigest>>,
    /// The secret parameters. Credentials always are.
    secret: BTreeSet<Arc<str>>,
}

impl Given {
    /// `asked` is the interface of the requirement.
    pub(crate) fn new(meanings: &Meanings, asked: &Table) -> Self {
        let digest = |meant: &Meant| meant.value.as_ref().and_then(SettingDigest::of);
        let one = |(setting, meant): (&(Setting, Arc<str>), &Meant)| {
            (setting.clone(), digest(meant).into_iter().collect())
        };
        let is_secret = |meant: &Meant| meant.value.as_ref().is_some_and(Value::has_secret);
        let secret = meanings.iter().filter(|(_, meant)| is_secret(meant)).map(|((_, name), _)| name);
        Self {
            digests: meanings.iter().map(one).collect(),
            secret: secret.chain(asked.secrets(ValueKind::PARAMETER)).cloned().collect(),
        }
    }

    /// The known ones, to find out later whether they changed. It is kept in clear, so it holds only
    /// the names of secrets: a short secret can be guessed from its digest. `of_it` are settings
    /// that are secret in the installation.
    fn text(&self, of_it: impl Fn(&(Setting, Arc<str>)) -> bool) -> Arc<str> {
        let is_secret = |setting: &(Setting, Arc<str>)| {
            setting.0 == Setting::Credential || self.secret.contains(&setting.1) || of_it(setting)
        };
        let known = self.digests.iter().filter(|(_, digests)| !digests.is_empty());
        let known: Vec<_> =
            known.map(|(setting, digests)| (setting, (!is_secret(setting)).then_some(digests))).collect();
        if known.is_empty() { Arc::default() } else { identity::hex(&format!("{known:?}")).into() }
    }
}

/// The use of an installation in an earlier run.
#[derive(Clone, Copy)]
pub(crate) struct UsedBefore<'a> {
    pub(crate) urn: &'a Urn,
    /// The values that the requirement gave then; none if that was not read.
    pub(crate) given: Option<&'a str>,
}

impl<'a> From<&'a InstallationUse> for UsedBefore<'a> {
    fn from(used: &'a InstallationUse) -> Self {
        Self { urn: &used.installation, given: Some(&used.given) }
    }
}

/// Whether every value that a requirement gives equals that of an installation. What its bundle
/// does not declare does not count.
pub(crate) fn values_fit(one: &Existing, sought: Sought<'_>) -> Result<(), Rejection> {
    let differs = sought.given.digests.iter().find(|(setting, digests)| {
        sought.recorded(one, setting).is_some_and(|recorded| !digests.contains(&recorded))
    });
    match differs {
        Some(((part, name), _)) => Err(Rejection::OtherValue(*part, Arc::clone(name))),
        None => Ok(()),
    }
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
        let mut by_id: HashMap<(&str, &str), Vec<&Existing>> = HashMap::new();
        for one in all {
            by_id.entry((&one.share.namespace, &one.name)).or_default().push(one);
        }
        let by_urn = all.iter().map(|one| (&one.urn, one)).collect();
        Self { namespace, by_group, by_id, by_urn }
    }

    /// The installations with a namespace and a name: there may be several, in several
    /// environments. A person may name those of other namespaces, too.
    pub(crate) fn named(&self, (namespace, name): (&str, &str)) -> Vec<&'a Existing> {
        self.by_id.get(&(namespace, name)).cloned().unwrap_or_default()
    }

    /// The installation with a URN.
    pub(crate) fn of_urn(&self, urn: &Urn) -> Option<&'a Existing> {
        self.by_urn.get(urn).copied()
    }

    /// The bundles of the visible installations of a group, and of one that was used before.
    pub(crate) fn references(
        &self,
        group: Option<&str>,
        used: Option<&Urn>,
    ) -> BTreeSet<&'a BundleReference> {
        let of_group = group.and_then(|group| self.by_group.get(group)).into_iter().flatten().copied();
        let used = used.and_then(|urn| self.by_urn.get(urn)).copied();
        of_group.chain(used).map(|one| &one.reference).collect()
    }

    /// Whether there are installations in a namespace.
    pub(crate) fn has_namespace(&self, namespace: &str) -> bool {
        self.by_id.keys().any(|(other, _)| *other == namespace)
    }

    /// The namespaces and names of all installations.
    pub(crate) fn ids(&self) -> impl Iterator<Item = String> {
        self.by_id.keys().map(|(namespace, name)| format!("{namespace}/{name}"))
    }

    /// The installation that a requirement has used since an earlier run, while it fits. Its group
    /// may have changed, and so may its values: a user of an installation continues to use it,
    /// until the user asks for other values.
    pub(crate) fn used_before(
        &self,
        used: Option<UsedBefore<'_>>,
        sought: Sought<'_>,
    ) -> Result<Option<Fitting<'a>>, (Arc<str>, Rejection)> {
        let Some(used) = used else { return Ok(None) };
        let Some(one) = self.by_urn.get(used.urn).copied() else { return Ok(None) };
        // A setting may have become secret since.
        let is_unchanged = used
            .given
            .is_none_or(|given| *given == *sought.text(one) || *given == *sought.given.text(|_| false));
        let fit = || {
            // Another bundle is only used for its interface, so that comes first.
            let outputs = outputs_fit(one, sought.wanted)?;
            versions_fit(one, sought.wanted.requirement)?;
            if !is_unchanged {
                values_fit(one, sought)?;
            }
            Ok(outputs)
        };
        fit().map(|outputs| Some((one, outputs))).map_err(|why| (id(one), why))
    }

    /// The nearest fitting installation of a group: the same namespace comes before the global one,
    /// the named bundle before others, and then the oldest. Also returns the skipped ones.
    pub(crate) fn fitting(&self, group: &str, sought: Sought<'_>) -> (Option<Fitting<'a>>, Rejected) {
        let mut all: Vec<&Existing> = self.by_group.get(group).cloned().unwrap_or_default();
        let repository = sought.wanted.requirement.reference.as_ref().map(|reference| &reference.repository);
        all.sort_by_key(|one| {
            let is_near = one.share.namespace == self.namespace;
            (!is_near, Some(&one.reference.repository) != repository, one.created, &one.urn)
        });
        let (mut found, mut lost) = (None, Vec::new());
        for one in all {
            let fit = match one.is_ready {
                true => versions_fit(one, sought.wanted.requirement)
                    .and_then(|()| outputs_fit(one, sought.wanted))
                    .and_then(|outputs| values_fit(one, sought).map(|()| outputs)),
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
    sought: Sought<'_>,
    by_hand: bool,
    outputs: &BTreeMap<Arc<str>, Arc<str>>,
) -> InstallationUse {
    let requirement = sought.wanted.requirement;
    let read: BTreeSet<Arc<str>> = outputs.values().cloned().collect();
    InstallationUse {
        installation: one.urn.clone(),
        by_hand,
        bundle: requirement.reference.as_ref().map(|reference| Arc::clone(&reference.repository)),
        by_interface: fits_by_interface(one, requirement),
        version: requirement.version.as_ref().map(|range| range.to_string().into()),
        outputs: read.into_iter().collect(),
        interface: requirement.interface.id.clone(),
        given: sought.text(one),
    }
}

/// Whether a user of an installation accepts another bundle, or version, for it: its repository and
/// version, the interface that it provides, and the outputs that it offers.
///
/// # Errors
/// The reason why not.
pub fn suits(
    user: &User,
    bundle: &BundleReference,
    provided: Option<&Arc<str>>,
    offered: &BTreeSet<Arc<str>>,
) -> Result<(), Rejection> {
    let named = user.needs.bundle.as_ref().filter(|_| !user.needs.by_hand);
    let is_named = named.is_none_or(|named| *named == bundle.repository);
    if !is_named && !user.needs.by_interface {
        return Err(Rejection::OtherBundle);
    }
    let range = user.needs.version.as_deref().filter(|_| is_named && !user.needs.by_hand);
    let range = range.and_then(|range| purlin_range::Range::parse(range).ok());
    if let (Some(range), Some(version)) = (range, bundle.version())
        && !range.matches(&version)
    {
        return Err(Rejection::OutOfRange);
    }
    if let Some(id) = user.needs.interface.as_ref().filter(|id| provided != Some(*id)) {
        return Err(Rejection::LacksInterface(Arc::clone(id)));
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

/// Whether an installation of another bundle than the named one fits a requirement.
fn fits_by_interface(one: &Existing, requirement: &Requirement) -> bool {
    let Interface { id, reference, outputs, .. } = &requirement.interface;
    let is_named = id.is_some() && *id == one.share.provides;
    is_named || reference.is_some() || !outputs.is_empty()
}

fn versions_fit(one: &Existing, requirement: &Requirement) -> Result<(), Rejection> {
    let by_interface = fits_by_interface(one, requirement);
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
