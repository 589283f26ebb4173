//! Whether two requirements are the same (SPEC §6, sharing): in every field but the name, with each
//! value traced to its origin.

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_model::{
    Binding, Descriptor, Diagnostic, InstallationField, Part, Piece, Reference, Requirement, Setting,
    Template, Value,
};

use sha2::{Digest as _, Sha256};

use crate::fit::pieces;
use crate::known;
use crate::resolve::{Meanings, Parent};

/// Everything that must be the same for two requirements to be one, except the chosen bundle: that
/// may change in the next run.
pub(crate) fn identity(requirement: &Requirement, group: &str, meaning: &Meanings) -> String {
    let bundle = requirement.reference.as_ref().map(ToString::to_string);
    let range = requirement.version.as_ref().map(ToString::to_string);
    let interface = &requirement.interface;
    let asked = [&interface.outputs, &interface.parameters, &interface.credentials];
    let asked = asked.map(|all| all.iter().map(|one| (&one.name, &one.id, &one.schema)).collect::<Vec<_>>());
    let by_reference = interface.reference.as_ref().map(ToString::to_string);
    let all =
        format!("{bundle:?} {range:?} {:?} {by_reference:?} {asked:?} {group:?} {meaning:?}", interface.id);
    let digest: [u8; 32] = Sha256::digest(all.as_bytes()).into();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Identifies the other requirements of a parent by their names, in this run and in the next.
pub(crate) type Siblings = BTreeMap<Arc<str>, Arc<str>>;

/// A meaning, as a digest if it is long: each level of requirements may double it.
pub(crate) fn short(meaning: String) -> String {
    const LONG: usize = 256;
    if meaning.len() <= LONG {
        return meaning;
    }
    let digest: [u8; 32] = Sha256::digest(meaning.as_bytes()).into();
    format!("#{digest:02x?}")
}

/// The meanings of all values that a requirement sets, as written.
pub(crate) fn meanings(requirement: &Requirement, parent: Parent<'_>, siblings: &Siblings) -> Meanings {
    let parameters = requirement.parameters.iter().map(|wire| (Setting::Parameter, wire));
    let credentials = requirement.credentials.iter().map(|wire| (Setting::Credential, wire));
    let one = |(part, wire): (Setting, &Binding)| {
        ((part, Arc::clone(&wire.name)), short(meaning(&wire.value, parent, siblings)))
    };
    parameters.chain(credentials).map(one).collect()
}

/// The meaning of a value: equal constants have the same one, and so have values from the same
/// output. A value that a person is asked for is unique.
pub(crate) fn meaning(value: &Template, parent: Parent<'_>, siblings: &Siblings) -> String {
    match value {
        Template::Constant(value) => format!("={value:?}"),
        Template::Text(text) => {
            let mut joined = String::new();
            for piece in text.iter() {
                match piece {
                    Piece::Literal(text) => joined.push_str(&format!("={text:?}")),
                    Piece::Placeholder(placeholder) => {
                        let modifiers = &placeholder.modifiers;
                        let of = reference(&placeholder.reference, parent, siblings);
                        joined.push_str(&format!("<{of} {modifiers:?}>"));
                    }
                }
            }
            joined
        }
        Template::List(items) => {
            let items: Vec<String> = items.iter().map(|item| meaning(item, parent, siblings)).collect();
            format!("{items:?}")
        }
        Template::Map(entries) => {
            let entries: BTreeMap<_, _> =
                entries.iter().map(|(name, item)| (name, meaning(item, parent, siblings))).collect();
            format!("{entries:?}")
        }
    }
}

fn reference(reference: &Reference, parent: Parent<'_>, siblings: &Siblings) -> String {
    match reference {
        Reference::Named(name, path) => match siblings.get(name) {
            Some(sibling) => format!("output {path} of {sibling}"),
            None => format!("output {path} of {}/{name}", parent.name),
        },
        Reference::Param(path) => {
            let word = path.0.first().map_or("", |word| word);
            let (part, declared) = match word {
                "credentials" => (Setting::Credential, &parent.bundle.credentials),
                _ => (Setting::Parameter, &parent.bundle.parameters),
            };
            let name = path.0.get(1).cloned().unwrap_or_default();
            let below = path.0.get(2..).unwrap_or_default();
            let default = || {
                let one = declared.iter().find(|one| one.name == name)?;
                one.default.as_ref().map(|default| format!("={default:?}"))
            };
            match parent.given.get(&(part, name.clone())).cloned().or_else(default) {
                Some(meaning) if below.is_empty() => meaning,
                Some(meaning) => format!("{meaning} {below:?}"),
                None => format!("{path} of {}", parent.name),
            }
        }
        Reference::Installation(InstallationField::RootId | InstallationField::RootName) => {
            format!("root {}", parent.root)
        }
        Reference::Installation(InstallationField::Namespace) => "namespace".to_owned(),
        Reference::Bundle(field) => format!("={:?}", parent.bundle.field(*field)),
        Reference::Context(field) if !field.path().starts_with("res.") => field.path().to_owned(),
        Reference::Value(_) => format!("{reference:?}"),
        // The default class is that of the resource with the requirement.
        Reference::Resource(Descriptor { class: Part::Named(_), id: Part::Named(_), .. }, _) => {
            format!("{reference:?}")
        }
        other => format!("{other:?} of {}", parent.name),
    }
}

/// The text of a field or a parameter of the bundle, if that is known.
fn known_text(reference: &Reference, parent: Parent<'_>) -> Option<String> {
    match reference {
        Reference::Bundle(field) => {
            Some(parent.bundle.field(*field).to_string()).filter(|text| !text.is_empty())
        }
        Reference::Param(path) => known::text(known::parameter(&path.0, parent)?),
        _ => None,
    }
}

/// The name of a sharing group. It must be known before anything is created.
///
/// # Errors
/// If it depends on something that is only known then.
pub(crate) fn group(
    template: &Template,
    parent: Parent<'_>,
    namespace: &str,
) -> Result<Arc<str>, Box<Diagnostic>> {
    if let Template::Constant(Value::String(text)) = template {
        return Ok(Arc::from(&**text));
    }
    let root = parent.root;
    let id = |name: &str| format!("{namespace}/{name}");
    let mut name = String::new();
    for piece in pieces(template) {
        match piece {
            Piece::Literal(text) => name.push_str(text),
            Piece::Placeholder(placeholder) => match &placeholder.reference {
                Reference::Installation(field) => name.push_str(&match field {
                    InstallationField::Id => id(parent.name),
                    InstallationField::Name => parent.name.to_owned(),
                    InstallationField::Namespace => namespace.to_owned(),
                    InstallationField::RootId => id(root),
                    InstallationField::RootName => root.to_owned(),
                }),
                reference => name.push_str(&known_text(reference, parent).ok_or_else(|| {
                    let message = format!("the name of a group cannot read `{}`", placeholder.source());
                    let fault = Diagnostic::error("unknown-group", message).at(&placeholder.location);
                    Box::new(fault.help(
                        "it can read `${installation.root.id}`, `${installation.namespace}`, \
                         `${bundle.version}` and the like, and parameters that are neither secret nor \
                         made from outputs",
                    ))
                })?),
            },
        }
    }
    Ok(name.into())
}
