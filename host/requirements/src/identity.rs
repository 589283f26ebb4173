//! Whether two requirements are the same (SPEC §6, sharing): in every field but the name, with each
//! value traced to its origin.

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_model::{
    Binding, Claim, Declared, Descriptor, DescriptorPart, Diagnostic, InstallationField, Piece, Reference,
    Requirement, Setting, Template, Value,
};

use sha2::{Digest as _, Sha256};

use crate::interface::pieces;
use crate::known::{self, Surroundings};
use crate::resolution::Installation;
use crate::resolve::{Meanings, Parent};

/// Everything that must be the same for two requirements to be one, except the chosen bundle: that
/// may change in the next run.
pub(crate) fn identity(requirement: &Requirement, group: &str, meaning: &Meanings) -> String {
    let bundle = requirement.reference.as_ref().map(ToString::to_string);
    let range = requirement.version.as_ref().map(ToString::to_string);
    let interface = &requirement.interface;
    let asked = [&interface.outputs, &interface.parameters, &interface.credentials].map(|all| {
        let one = |one: &Declared| {
            let schema = serde_json::to_string(&one.schema).unwrap_or_default();
            (Arc::clone(&one.name), one.id.clone(), schema)
        };
        let mut all: Vec<_> = all.iter().map(one).collect();
        all.sort();
        all
    });
    let meaning: Vec<_> = meaning.iter().map(|(setting, meant)| (setting, &meant.text)).collect();
    let by_reference = interface.reference.as_ref().map(ToString::to_string);
    let all =
        format!("{bundle:?} {range:?} {:?} {by_reference:?} {asked:?} {group:?} {meaning:?}", interface.id);
    hex(&all)
}

/// The digest of a text, in hex.
pub(crate) fn hex(text: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a requirement came to: equal for requirements that one installation satisfies, whatever
/// they asked for. That is the bundle or the existing installation, the group and the values.
pub(crate) fn outcome(
    chosen: &Installation,
    group: Option<&str>,
    meaning: &Meanings,
    claim: &Claim,
) -> Arc<str> {
    // Without a group, each has its own.
    let own = group.is_none().then_some(&claim.made_for);
    // A use records what its requirement gave, so that it is kept until that changes.
    let uses = chosen.uses.as_deref();
    let uses = uses.map(|(used, needs)| (used.urn.as_str(), needs.by_hand, &needs.version, &needs.given));
    // Placeholders read an output by the name that its parent has for it.
    let renamed: Vec<_> = chosen.outputs.iter().filter(|(name, own)| name != own).collect();
    let meaning: Vec<_> = meaning.iter().map(|(setting, meant)| (setting, &meant.text)).collect();
    let all = format!("{} {own:?} {uses:?} {group:?} {renamed:?} {meaning:?}", chosen.reference);
    hex(&all).into()
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

/// The meaning of a value that a requirement sets, and the value where it is known already.
#[derive(Clone, Debug)]
pub(crate) struct Meant {
    pub(crate) text: String,
    pub(crate) value: Option<Value>,
}

impl Meant {
    pub(crate) fn new(
        template: &Template,
        parent: Parent<'_>,
        siblings: &Siblings,
        around: &Surroundings,
    ) -> Self {
        Self {
            text: short(meaning(template, parent, siblings)),
            value: known::value(template, parent, around),
        }
    }

    /// The meaning of a value that a person gives. It may be secret: meanings become digests, which
    /// are only kept where the values are.
    pub(crate) fn answered(value: &serde_json::Value) -> Self {
        let value = Value::from(value.clone());
        Self { text: short(format!("={value:?}")), value: Some(value) }
    }
}

/// The meanings of all values that a requirement sets, as written.
pub(crate) fn meanings(
    requirement: &Requirement,
    parent: Parent<'_>,
    siblings: &Siblings,
    around: &Surroundings,
) -> Meanings {
    let parameters = requirement.parameters.iter().map(|wire| (Setting::Parameter, wire));
    let credentials = requirement.credentials.iter().map(|wire| (Setting::Credential, wire));
    let one = |(part, wire): (Setting, &Binding)| {
        ((part, Arc::clone(&wire.name)), Meant::new(&wire.value, parent, siblings, around))
    };
    parameters.chain(credentials).map(one).collect()
}

/// The meaning of a value: equal constants have the same one, and so have values from the same
/// output. A value that a person is asked for is unique.
pub(crate) fn meaning(value: &Template, parent: Parent<'_>, siblings: &Siblings) -> String {
    match value {
        Template::Constant(value) => format!("={value:?}"),
        Template::Text(text) => {
            // A value that is passed on is the value itself, through however many bundles it goes.
            if let [Piece::Placeholder(placeholder)] = &**text
                && placeholder.modifiers.is_none()
            {
                return reference(&placeholder.reference, parent, siblings);
            }
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
            let part = known::setting(path.0.first().map_or("", |word| word));
            let name = path.0.get(1).cloned().unwrap_or_default();
            let below = path.0.get(2..).unwrap_or_default();
            let default = || {
                let one = parent.table.declared(parent.bundle, part, &name)?;
                known::unset(one).map(|value| format!("={value:?}"))
            };
            let given = parent.given.get(&(part, name.clone())).map(|meant| meant.text.clone());
            match given.or_else(default) {
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
        Reference::Resource(
            Descriptor { class: DescriptorPart::Named(_), id: DescriptorPart::Named(_), .. },
            _,
        ) => {
            format!("{reference:?}")
        }
        other => format!("{other:?} of {}", parent.name),
    }
}

/// The name of a sharing group. It must be known before anything is created.
///
/// # Errors
/// If it depends on something that is only known then, or that is secret.
pub(crate) fn group(
    template: &Template,
    parent: Parent<'_>,
    around: &Surroundings,
) -> Result<Arc<str>, Box<Diagnostic>> {
    if let Template::Constant(Value::String(text)) = template {
        return Ok(Arc::from(&**text));
    }
    let mut name = String::new();
    for piece in pieces(template) {
        match piece {
            Piece::Literal(text) => name.push_str(text),
            Piece::Placeholder(placeholder) => {
                name.push_str(&known::text(placeholder, parent, around).ok_or_else(|| {
                    let message = format!("the name of a group cannot read `{}`", placeholder.source());
                    let fault = Diagnostic::error("unknown-group", message).at(&placeholder.location);
                    Box::new(fault.help(match parent.name.is_empty() {
                        true => "in a Deployment, it can read `${installation.namespace}`",
                        false => {
                            "it can read `${installation.root.id}`, `${installation.namespace}`, \
                             `${bundle.version}` and the like, and parameters that are neither secret nor \
                             made from outputs"
                        }
                    }))
                })?);
            }
        }
    }
    Ok(name.into())
}
