//! The dependencies of a manifest besides its reference fields: `dependsOn`, and the configuration
//! of its provider.
//!
//! ```yaml
//! dependsOn:
//!   - {kind: RouteTable, name: main}               # `apiVersion` where several groups have the kind
//!   - {name: audit, namespace: ops, blocking: false, optional: true}
//! ```

use std::sync::Arc;

use purlin_model::{Dependency, ManifestKind, Target, TargetSelector, TypeName};

use super::head::{Body, Head};
use super::types;
use super::{Entry as Manifest, Scope};
use crate::reader::Reader;
use crate::yaml::{Node, Span};

/// Reads the dependencies of a manifest.
pub(super) fn read(
    reader: &mut Reader<'_>,
    body: &Body<'_, '_>,
    head: &Head,
    scope: &Scope<'_>,
) -> Vec<Dependency> {
    let mut found = Vec::new();
    for node in &body.depends_on {
        if node.is_null() {
            continue;
        }
        let items = reader.list(node, "`dependsOn`").unwrap_or_default();
        found.extend(items.iter().filter_map(|item| entry(reader, item, head, scope)));
    }
    for name in ["providerConfigRef", "providerRef"] {
        if let Some(entry) = body.beside(name) {
            found.extend(provider(reader, &entry.value, head, scope));
        }
    }
    found
}

fn entry(reader: &mut Reader<'_>, node: &Node<'_>, head: &Head, scope: &Scope<'_>) -> Option<Dependency> {
    let before = reader.faults.len();
    let mut fields = reader.fields(node, "an entry of `dependsOn`")?.strict();
    let mut text = |reader: &mut Reader<'_>, name: &'static str| {
        let node = fields.get(reader, name)?;
        Some((Arc::<str>::from(reader.text(node, &format!("`{name}`"))?), node.span))
    };
    let (api_version, kind) = (text(reader, "apiVersion"), text(reader, "kind"));
    let namespace = text(reader, "namespace").map(|(text, _)| text);
    let name = fields.need(reader, "name", "NAME").and_then(|node| {
        let text = reader.text(node, "`name`")?;
        Some((Arc::<str>::from(text), reader.at(&node.span)))
    });
    let mut flag = |reader: &mut Reader<'_>, name: &'static str| {
        let node = fields.get(reader, name)?;
        reader.boolean(node, &format!("`{name}`"))
    };
    let blocking = flag(reader, "blocking").unwrap_or(true);
    let optional = flag(reader, "optional").unwrap_or(false);
    fields.done(reader);
    let type_name = match (api_version, kind) {
        (None, None) => None,
        (Some((_, span)), None) => {
            let fault = reader.about(&span, "missing-field", "`apiVersion` alone names no kind");
            reader.report(fault.help("add the `kind`, or leave `apiVersion` out"));
            None
        }
        (Some((version, _)), Some((kind, span))) => {
            let group = version.split_once('/').map_or("", |(group, _)| group);
            type_of(reader, &ManifestKind { group: group.into(), kind }, &span, scope)
        }
        (None, Some((kind, span))) => kind_alone(reader, &kind, &span, head, scope),
    };
    let (name, location) = name?;
    (reader.faults.len() == before).then(|| Dependency {
        target: Target {
            type_name,
            namespace: namespace.or_else(|| head.namespace.clone()),
            which: TargetSelector::Named(name),
        },
        blocking,
        optional,
        location,
    })
}

fn type_of(reader: &mut Reader<'_>, kind: &ManifestKind, span: &Span, scope: &Scope<'_>) -> Option<TypeName> {
    let found = scope.type_of(kind);
    if found.is_none() {
        reader.wrong_value(span, types::bad_kind(kind), types::FORM_OF_KINDS);
    }
    found
}

/// The type of a kind without its group: from the only group with such manifests, or from the
/// manifest's own group.
fn kind_alone(
    reader: &mut Reader<'_>,
    kind: &Arc<str>,
    span: &Span,
    head: &Head,
    scope: &Scope<'_>,
) -> Option<TypeName> {
    let own = ManifestKind { group: head.kind.group.clone(), kind: kind.clone() };
    let groups = scope.known.kinds.get(kind);
    if let Some(groups) = groups.filter(|groups| !groups.contains_key(&own.group)) {
        let mut found = groups.iter();
        if let (Some((_, type_name)), None) = (found.next(), found.next()) {
            return Some(type_name.clone());
        }
        let list: Vec<String> = groups.keys().map(|group| format!("`{group}`")).collect();
        let message = format!("several groups have manifests of kind `{kind}`: {}", list.join(", "));
        reader.wrong_value(span, message, "add the `apiVersion` of the one that is meant");
        return None;
    }
    type_of(reader, &own, span, scope)
}

/// The configuration of the provider, which is often not among the documents.
fn provider(reader: &mut Reader<'_>, node: &Node<'_>, head: &Head, scope: &Scope<'_>) -> Option<Dependency> {
    if node.is_null() {
        return None;
    }
    let mut fields = reader.fields(node, "`providerConfigRef`")?;
    let kind = fields.get(reader, "kind").and_then(|node| reader.text(node, "`kind`"));
    let kind: Arc<str> = kind.unwrap_or("ProviderConfig").into();
    fields.entry("policy");
    let name = fields.need(reader, "name", "default")?;
    fields.done(reader);
    let location = reader.at(&name.span);
    let name: Arc<str> = reader.text(name, "`name`")?.into();
    let group = types::provider(&head.kind.group);
    // The configuration of the provider, of the group itself, or of any group with one: the nearest
    // is used.
    let fits = |manifest: &&Manifest| {
        let near = manifest.kind.group == group || manifest.kind.group == head.kind.group;
        manifest.kind.kind == kind
            && manifest.name == name
            && near
            && (manifest.namespace.is_none() || manifest.namespace == head.namespace)
    };
    let found = scope.known.providers().filter(fits).max_by_key(|manifest| manifest.namespace.is_some());
    let (type_name, namespace) = match found {
        Some(manifest) => (manifest.type_name.clone(), manifest.namespace.clone()),
        None => (scope.type_of(&ManifestKind { group, kind })?, None),
    };
    let target = Target { type_name: Some(type_name), namespace, which: TargetSelector::Named(name) };
    Some(Dependency { target, blocking: true, optional: true, location })
}
