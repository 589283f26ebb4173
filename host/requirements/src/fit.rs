//! Whether a bundle offers the interface of a requirement (SPEC §6, interface).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use purlin_model::{Bundle, Offered, Piece, Placeholder, Reference, Requirement, Template};

use crate::choose::Rejection;

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

/// The offers of a bundle: its outputs, and those promoted from its requirements.
pub(crate) fn offered(bundle: &Bundle) -> Vec<Offered> {
    let mut all: Vec<Offered> = bundle.outputs.iter().map(Offered::from).collect();
    for binding in bundle.requires.iter().flat_map(|one| &one.outputs) {
        if !all.iter().any(|output| output.name == binding.name) {
            all.push(Offered { name: Arc::clone(&binding.name), ..Offered::default() });
        }
    }
    all
}

/// The offered output for each requested one, by the requested name.
///
/// # Errors
/// The first one that is not offered, or has another type.
pub(crate) fn fits(
    offered: &[Offered],
    requirement: &Requirement,
    used: &BTreeSet<Arc<str>>,
    by_reference: Option<&Bundle>,
) -> Result<BTreeMap<Arc<str>, Arc<str>>, Rejection> {
    let wanted: Vec<Offered> = match by_reference {
        Some(other) => self::offered(other),
        None => requirement.interface.outputs.iter().map(Offered::from).collect(),
    };
    let names: BTreeSet<&Arc<str>> = used.iter().chain(wanted.iter().map(|one| &one.name)).collect();
    let mut found = BTreeMap::new();
    for name in names {
        let expected = wanted.iter().find(|one| one.name == *name);
        let is_it = |output: &&Offered| match (expected.and_then(|one| one.id.as_ref()), &output.id) {
            (Some(wanted), Some(known)) => wanted == known,
            _ => output.name == *name,
        };
        let output = offered.iter().find(is_it).ok_or_else(|| Rejection::LacksOutput(Arc::clone(name)))?;
        // Both sides must declare the same schema.
        let differs = expected.is_some_and(|one| {
            one.schema.iter().any(|(word, value)| output.schema.get(word).is_some_and(|known| known != value))
        });
        if differs {
            return Err(Rejection::OtherType(Arc::clone(name)));
        }
        found.insert(Arc::clone(name), Arc::clone(&output.name));
    }
    Ok(found)
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
