//! Whether a bundle or an installation offers the interface of a requirement, and how its values are
//! called there (SPEC §6, interface).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use purlin_model::{
    Bundle, InstallationShare, Piece, Placeholder, Reference, Requirement, Row, Setting, Table, Template,
    ValueKind,
};
use purlin_schema::is_subset;

use crate::candidates::Rejection;

/// The outputs of requirements that a bundle uses, by requirement, each by the bundle's name for
/// it.
pub(crate) type Used = HashMap<Arc<str>, BTreeSet<Arc<str>>>;

/// The outputs of requirements that a bundle uses.
pub(crate) fn used(parent: &Bundle) -> Used {
    let mut used = Used::new();
    let bindings = parent.requires.iter().flat_map(|one| {
        one.parameters.iter().chain(&one.credentials).chain(&one.outputs).map(|binding| &binding.value)
    });
    let sources = parent.parameters.iter().filter_map(|one| one.source.as_ref());
    for template in bindings.chain(sources).chain([&parent.values, &parent.secrets]).chain(&parent.connection)
    {
        template.placeholders(&mut |placeholder| {
            if let Reference::Named(of, path) = &placeholder.reference {
                used.entry(Arc::clone(of)).or_default().extend(path.0.first().cloned());
            }
        });
    }
    used
}

/// The demands of a requirement.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) requirement: &'a Requirement,
    /// The values of the bundle with the requirement.
    pub(crate) parent: &'a Table,
    /// The outputs that the parent uses.
    pub(crate) used: &'a BTreeSet<Arc<str>>,
    /// The bundle of `interface.reference`.
    pub(crate) by_reference: Option<&'a Bundle>,
}

/// The names that a candidate has for the values of a requirement.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OwnNames {
    /// For each requested output.
    pub(crate) outputs: BTreeMap<Arc<str>, Arc<str>>,
    /// For each parameter and credential that the requirement sets, and that the candidate has.
    pub(crate) settings: BTreeMap<(Setting, Arc<str>), Arc<str>>,
}

/// The names of a bundle for the values of a requirement.
///
/// # Errors
/// The first thing that it does not offer.
pub(crate) fn bundle_fits(bundle: &Bundle, wanted: Wanted<'_>) -> Result<OwnNames, Rejection> {
    provides(bundle.provides.as_ref(), wanted)?;
    let table = Table::of(bundle);
    let asked = Table::of_interface(&wanted.requirement.interface, wanted.by_reference);
    let outputs = outputs(&table, &asked, wanted.used)?;
    accepts(&table, &asked)?;
    Ok(OwnNames { outputs, settings: settings(&table, &asked, wanted) })
}

/// The names of an installation for the requested outputs. Its parameters and credentials are
/// already set, so only its outputs matter.
///
/// # Errors
/// The first thing that it does not offer.
pub(crate) fn installation_fits(
    share: &InstallationShare,
    wanted: Wanted<'_>,
) -> Result<BTreeMap<Arc<str>, Arc<str>>, Rejection> {
    provides(share.provides.as_ref(), wanted)?;
    let asked = Table::of_interface(&wanted.requirement.interface, wanted.by_reference);
    outputs(&Table::of_existing(&share.offers), &asked, wanted.used)
}

/// Whether it claims to implement the requested interface.
fn provides(provided: Option<&Arc<str>>, wanted: Wanted<'_>) -> Result<(), Rejection> {
    match &wanted.requirement.interface.id {
        Some(id) if provided != Some(id) => Err(Rejection::LacksInterface(Arc::clone(id))),
        _ => Ok(()),
    }
}

fn outputs(
    offered: &Table,
    asked: &Table,
    used: &BTreeSet<Arc<str>>,
) -> Result<BTreeMap<Arc<str>, Arc<str>>, Rejection> {
    let kind = ValueKind::Output;
    let names = used.iter().chain(asked.of_kind(kind).map(|row| &row.offered.name));
    let mut found = BTreeMap::new();
    for name in names.collect::<BTreeSet<_>>() {
        let expected = asked.named(kind, name).map(|row| &row.offered);
        let output = match expected {
            Some(expected) => offered.counterpart(kind, expected),
            None => offered.named(kind, name),
        };
        let output =
            output.map(|row| &row.offered).ok_or_else(|| Rejection::Lacks(kind, Arc::clone(name)))?;
        if expected.is_some_and(|expected| !is_subset(&output.schema, &expected.schema)) {
            return Err(Rejection::OtherType(kind, Arc::clone(name)));
        }
        found.insert(Arc::clone(name), Arc::clone(&output.name));
    }
    Ok(found)
}

/// Whether a bundle has the parameters and credentials that an interface asks for, and accepts what
/// that allows.
fn accepts(table: &Table, asked: &Table) -> Result<(), Rejection> {
    for kind in [ValueKind::PARAMETER, ValueKind::CREDENTIAL] {
        for expected in asked.of_kind(kind).map(|row| &row.offered) {
            let name = || Arc::clone(&expected.name);
            let own = table.counterpart(kind, expected).ok_or_else(|| Rejection::Lacks(kind, name()))?;
            if !is_subset(&expected.schema, &own.offered.schema) {
                return Err(Rejection::OtherType(kind, name()));
            }
        }
    }
    Ok(())
}

/// The names of the bundle of an installation for what a requirement sets by a name of its
/// interface or of its parent.
pub(crate) fn own_settings(bundle: &Bundle, wanted: Wanted<'_>) -> BTreeMap<(Setting, Arc<str>), Arc<str>> {
    let asked = Table::of_interface(&wanted.requirement.interface, wanted.by_reference);
    settings(&Table::of(bundle), &asked, wanted)
}

/// Whether a `$id` may decide what a requirement sets.
pub(crate) fn sets_by_id(wanted: Wanted<'_>) -> bool {
    let asked = Table::of_interface(&wanted.requirement.interface, wanted.by_reference);
    let own = wanted.parent;
    let parts = [
        (Setting::Parameter, &wanted.requirement.parameters),
        (Setting::Credential, &wanted.requirement.credentials),
    ];
    parts.into_iter().any(|(part, bindings)| {
        bindings.iter().any(|binding| {
            let of = |table: &Table| {
                let row = table.named(ValueKind::Setting(part), &binding.name);
                row.is_some_and(|row| row.offered.id.is_some())
            };
            of(&asked) || of(own)
        })
    })
}

fn settings(table: &Table, asked: &Table, wanted: Wanted<'_>) -> BTreeMap<(Setting, Arc<str>), Arc<str>> {
    let Wanted { requirement, parent, .. } = wanted;
    let parts =
        [(Setting::Parameter, &requirement.parameters), (Setting::Credential, &requirement.credentials)];
    let all = parts.into_iter().flat_map(|(part, bindings)| bindings.iter().map(move |one| (part, one)));
    let named = all.filter_map(|(part, binding)| {
        let row = setting(table, asked, parent, ValueKind::Setting(part), &binding.name)?;
        Some(((part, Arc::clone(&binding.name)), Arc::clone(&row.offered.name)))
    });
    named.collect()
}

/// The parameter or credential of a bundle that a requirement sets by a name: a name in its
/// interface, of a value with the same `$id` of the parent, or in the bundle.
fn setting<'t>(
    table: &'t Table,
    asked: &Table,
    parent: &Table,
    kind: ValueKind,
    name: &str,
) -> Option<&'t Row> {
    if let Some(asked) = asked.named(kind, name) {
        return table.counterpart(kind, &asked.offered);
    }
    let id = parent.all_named(kind, name).find_map(|row| row.offered.id.as_deref());
    id.and_then(|id| table.with_id(kind, id)).or_else(|| table.named(kind, name))
}

/// The placeholders of a template.
pub(crate) fn placeholders(template: &Template) -> Vec<&Placeholder> {
    let mut all = Vec::new();
    template.placeholders(&mut |placeholder| all.push(placeholder));
    all
}

/// The pieces of a template, if it is a text.
pub(crate) fn pieces(template: &Template) -> &[Piece] {
    match template {
        Template::Text(pieces) => pieces,
        _ => &[],
    }
}
