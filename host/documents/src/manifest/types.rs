//! The type of each kind of manifest: from a `ResourceType`, or by convention.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_expression::is_slip;
use purlin_model::{Diagnostic, Location, ManifestKind, TypeName, camel_words};

use super::head::Head;

/// The kinds of manifests that `ResourceType`s name.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    claims: HashMap<ManifestKind, (TypeName, Location)>,
    /// The types that a document names, whether or not it names a kind.
    named: HashSet<Arc<str>>,
}

impl Claims {
    /// Adds a kind.
    ///
    /// # Errors
    /// If another `ResourceType` already has it.
    pub(crate) fn add(
        &mut self,
        kind: &ManifestKind,
        type_name: &TypeName,
        place: &Location,
    ) -> Result<(), Box<Diagnostic>> {
        if let Some((other, first)) = self.claims.get(kind) {
            let message = match other == type_name {
                true => format!("the manifests {kind} are named twice"),
                false => {
                    format!("the manifests {kind} are of two types: `{type_name}` here, `{other}` elsewhere")
                }
            };
            let fault = Diagnostic::error("manifest-of-two-types", message)
                .at(place)
                .spanning(kind.kind.chars().count())
                .related(first, "first named here")
                .help("keep one of them");
            return Err(Box::new(fault));
        }
        self.claims.insert(kind.clone(), (type_name.clone(), place.clone()));
        Ok(())
    }

    pub(super) fn get(&self, kind: &ManifestKind) -> Option<&TypeName> {
        self.claims.get(kind).map(|(type_name, _)| type_name)
    }

    /// Sets the types that a document names.
    pub(crate) fn name(&mut self, types: impl Iterator<Item = Arc<str>>) {
        self.named.extend(types);
    }

    /// The described kind that another one misspells, in its group or in its name, with the type and
    /// the place of the description. A kind whose own type a document names is meant.
    fn near(&self, kind: &ManifestKind) -> Option<(&ManifestKind, &TypeName, &Location)> {
        if by_convention(kind).is_some_and(|own| self.named.contains(own.as_str())) {
            return None;
        }
        let is_near = |known: &ManifestKind| match known.group == kind.group {
            true => is_slip(&kind.kind, &known.kind),
            false => known.kind == kind.kind && is_slip_of_group(&kind.group, &known.group),
        };
        let near = self.claims.iter().filter(|(known, _)| is_near(known));
        near.min_by_key(|(known, _)| *known).map(|(known, (type_name, place))| (known, type_name, place))
    }
}

/// The help for a kind that has no type.
pub(super) const FORM_OF_KINDS: &str = "a kind begins with a letter; letters and digits follow";

/// The message for a kind that has no type.
pub(super) fn bad_kind(kind: &ManifestKind) -> String {
    format!("`{}` cannot be the kind of a manifest", kind.kind)
}

/// The type of each existing kind, without those that have none, which are reported.
pub(super) fn resolve<'a>(
    heads: impl Iterator<Item = &'a Head>,
    claims: &Claims,
    faults: &mut Vec<Diagnostic>,
) -> HashMap<ManifestKind, TypeName> {
    let mut types = HashMap::new();
    // The kind that has a type by convention, or one of those that a `ResourceType` assigns to it.
    let mut owners: HashMap<TypeName, (ManifestKind, Location)> = HashMap::new();
    let mut claimed: Vec<_> = claims.claims.iter().collect();
    claimed.sort_by_key(|(kind, _)| *kind);
    for (kind, (type_name, place)) in claimed {
        owners.entry(type_name.clone()).or_insert_with(|| (kind.clone(), place.clone()));
    }
    let mut seen = HashSet::new();
    for head in heads {
        if !seen.insert(&head.kind) {
            continue;
        }
        if let Some(type_name) = claims.get(&head.kind) {
            types.insert(head.kind.clone(), type_name.clone());
            continue;
        }
        if let Some((near, type_name, place)) = claims.near(&head.kind) {
            faults.push(misspelt(head, near, place));
            types.insert(head.kind.clone(), type_name.clone());
            continue;
        }
        let Some(type_name) = by_convention(&head.kind) else {
            let fault = Diagnostic::error("bad-name", bad_kind(&head.kind))
                .at(&head.kind_location)
                .spanning(head.kind.kind.chars().count());
            faults.push(fault.help(FORM_OF_KINDS));
            continue;
        };
        if let Some((other, first)) = owners.get(&type_name) {
            let message =
                format!("two kinds of manifests are of type `{type_name}`: {} and {other}", head.kind);
            let fault = Diagnostic::error("type-collision", message)
                .at(&head.kind_location)
                .spanning(head.kind.kind.chars().count())
                .related(first, "the other one")
                .help(format!(
                    "give one of them another type: a ResourceType with `manifest: {{group: \"{}\", kind: {}}}`",
                    head.kind.group, head.kind.kind
                ));
            faults.push(fault);
            continue;
        }
        owners.insert(type_name.clone(), (head.kind.clone(), head.kind_location.clone()));
        types.insert(head.kind.clone(), type_name);
    }
    types
}

/// Whether a group misspells another one. Labels of one or two letters may differ on purpose.
fn is_slip_of_group(group: &str, known: &str) -> bool {
    let labels = || group.split('.').zip(known.split('.')).filter(|(own, known)| own != known);
    is_slip(group, known) && labels().all(|(own, known)| own.len() > 2 && known.len() > 2)
}

/// The fault of a kind that is one letter away from a described one: by convention it would be
/// another type, and another resource.
fn misspelt(head: &Head, near: &ManifestKind, place: &Location) -> Diagnostic {
    let own = &head.kind;
    let (part, word) = match own.group == near.group {
        true => (&own.kind, &near.kind),
        false => (&own.group, &near.group),
    };
    let message = format!("`{part}` is one letter away from `{word}`, which a ResourceType describes");
    Diagnostic::error("unknown-kind", message)
        .at(&head.kind_location)
        .spanning(own.kind.chars().count())
        .related(place, "described here")
        .help(format!(
            "did you mean `{word}`? Otherwise describe it: a ResourceType with `manifest: {{group: \"{}\", kind: {}}}`",
            own.group, own.kind
        ))
}

/// The first label of the group and the kind in kebab case; the kind alone in the core group.
pub(super) fn by_convention(kind: &ManifestKind) -> Option<TypeName> {
    let name = camel_words(&kind.kind).join("-");
    let text = match kind.group.split('.').next().unwrap_or_default() {
        "" if !kind.group.is_empty() => return None,
        "" => name,
        label => format!("{label}/{name}"),
    };
    TypeName::new(text).ok().filter(|_| kind.kind.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// The group of a manifest's provider: the group without its first label.
pub(super) fn provider(group: &str) -> Arc<str> {
    match group.split_once('.') {
        Some((_, rest)) if rest.contains('.') => rest.into(),
        _ => group.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_by_convention() {
        let by = |group: &str, kind: &str| {
            by_convention(&ManifestKind { group: group.into(), kind: kind.into() })
                .map(|name| name.to_string())
        };
        assert_eq!(by("ec2.aws.crossplane.io", "VPC").as_deref(), Some("ec2/vpc"));
        assert_eq!(by("", "ConfigMap").as_deref(), Some("config-map"));
        assert_eq!(by("rds.x.io", "DBSubnetGroup").as_deref(), Some("rds/db-subnet-group"));
        assert_eq!(by("apps", "Deployment").as_deref(), Some("apps/deployment"));
        assert_eq!(by("", "a b"), None);
        assert_eq!(by(".io", "A"), None);
        assert_eq!(by("a.io", "-"), None);
        assert_eq!(&*provider("ec2.aws.crossplane.io"), "aws.crossplane.io");
        assert_eq!(&*provider("example.org"), "example.org");
    }
}
