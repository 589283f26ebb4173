//! The dependencies of a manifest besides its reference fields: the annotation
//! `purlin.dev/depends-on`, `dependsOn` where a ResourceType describes it, and the configuration of
//! the provider.
//!
//! ```yaml
//! metadata:
//!   annotations:
//!     purlin.dev/depends-on: |
//!       - {kind: RouteTable, name: main}           # `apiVersion` where several groups have the kind
//!       - {name: audit, namespace: ops, blocking: false, optional: true}
//! ```

use std::sync::Arc;

use purlin_model::{
    Dependency, Diagnostic, Location, ManifestKind, ReferenceField, Target, TargetSelector, TypeName,
};

use super::head::{Body, DEPENDS_ON, Head};
use super::types;
use super::{Entry as Manifest, Scope};
use crate::declare::{Field, Form, form};
use crate::kinds::{Flag, Text};
use crate::reader::Reader;
use crate::x_reference::{Rule, Rules};
use crate::yaml::{self, Entry, Locator, Node, NodeKind, Span, Style};

/// The annotation with dependencies: a list like that of `dependsOn`, as text.
pub(super) const ANNOTATION: &str = "purlin.dev/depends-on";

form! {
    /// A manifest that another one depends on.
    struct DependsOn {
        /// Group and version of its kind, where several groups have the kind.
        API_VERSION: Text = "apiVersion";
        /// Its kind. Default: the kind that a ResourceType names, or that of any manifest with the name.
        KIND: Text = "kind";
        /// Its namespace. Default: that of the dependent manifest.
        NAMESPACE: Text = "namespace";
        /// Its name.
        NAME: Text = needed "name", "NAME";
        /// Whether the dependent manifest waits for it.
        BLOCKING: Flag = "blocking" default "true";
        /// Whether it may be missing.
        OPTIONAL: Flag = "optional" default "false";
    }

    const STRICT: bool = true;
}

form! {
    /// The configuration of a provider: an optional dependency.
    pub(super) struct ProviderConfig {
        /// Its name.
        NAME: Text = needed "name", "default";
        /// Its kind.
        KIND: Text = "kind" default "ProviderConfig";
    }

    const ALLOWED: &'static [&'static [&'static str]] = &[&["policy"]];
}

/// What an entry without a kind means.
#[derive(Clone, Copy)]
struct Of<'a> {
    head: &'a Head,
    scope: &'a Scope<'a>,
    /// The description of `dependsOn`.
    rule: Option<&'a Rule>,
    /// The name of the list, for messages.
    list: &'static str,
}

/// Reads the dependencies of a manifest. Takes `dependsOn` out of the params where a ResourceType
/// describes it; elsewhere it is a value like any other.
pub(super) fn read<'n, 't>(
    reader: &mut Reader<'_>,
    body: &mut Body<'n, 't>,
    head: &Head,
    rules: Option<&Rules>,
    scope: &Scope<'_>,
) -> (Vec<Dependency>, Vec<ReferenceField>) {
    let (mut found, mut fields) = (Vec::new(), Vec::new());
    let of = Of { head, scope, rule: None, list: ANNOTATION };
    if let Some(entry) = body.annotations.iter().find(|entry| &*entry.key == ANNOTATION) {
        found.extend(annotated(reader, entry, of));
    }
    let place = rules.and_then(|rules| rules.root().property(DEPENDS_ON));
    let rule = place.as_ref().and_then(|place| place.rule());
    for (pointer, entry) in body.depends_on(rule.is_some()) {
        if rule.is_some() {
            let of = Of { rule, list: DEPENDS_ON, ..of };
            found.extend(list(reader, &entry.value, of));
            let location = reader.at(&entry.key_span);
            fields.push(ReferenceField { field: pointer.into(), fills: None, location });
        } else if body.is_beside(entry) {
            let message = "`dependsOn` is a value like any other here, and Purlin does not wait for anything";
            let fault = reader.about(&entry.key_span, "no-effect", message);
            let fault = Diagnostic { severity: purlin_model::Severity::Warning, ..fault };
            reader.report(fault.help(format!("write the list into the annotation `{ANNOTATION}`")));
        }
    }
    if scope.convention.covers(&head.kind.group) {
        for name in ["providerConfigRef", "providerRef"] {
            if let Some(entry) = body.beside(name) {
                found.extend(provider(reader, &entry.value, head, scope));
            }
        }
    }
    (found, fields)
}

/// The list in an annotation, whose values are texts.
fn annotated(reader: &mut Reader<'_>, entry: &Entry<'_>, of: Of<'_>) -> Vec<Dependency> {
    let NodeKind::String(text, style) = &entry.value.kind else {
        let fault = reader.about(&entry.value.span, "wrong-type", format!("`{ANNOTATION}` takes a string"));
        reader.report(fault.help("begin the list with `|`: the values of annotations are strings"));
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut inner = Reader::new(reader.file, text, true);
    let mut documents = 0;
    let faults = yaml::parse(reader.file, text, &mut |document| {
        documents += 1;
        inner.faults.extend(document.faults);
        found.extend(list(&mut inner, &document.root, of));
    });
    inner.faults.extend(faults);
    if documents > 1 {
        let fault = reader.about(&entry.key_span, "wrong-value", format!("`{ANNOTATION}` takes one list"));
        reader.report(fault.help("write all entries into one list, without `---`"));
    }
    // Places within the text are places in the file.
    let outer = Places::new(reader, entry.value.span, text, *style);
    let mut faults = std::mem::take(&mut inner.faults);
    faults.sort_by(|a, b| a.location.cmp(&b.location));
    for fault in &mut faults {
        fault.location = fault.location.as_ref().map(|place| outer.of(place));
        for (place, _) in &mut fault.related {
            *place = outer.of(place);
        }
    }
    found.iter_mut().for_each(|dependency| dependency.location = outer.of(&dependency.location));
    reader.faults.append(&mut faults);
    found
}

/// The places in the file of the characters of a text in it.
struct Places<'a> {
    locator: Locator<'a>,
    text: &'a str,
    lines: Vec<usize>,
}

impl<'a> Places<'a> {
    fn new(reader: &Reader<'a>, span: Span, text: &'a str, style: Style) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { locator: Locator::new(reader.file, reader.text, span, text, style), text, lines }
    }

    fn of(&self, place: &Location) -> Location {
        let start = self.lines.get((place.line as usize).saturating_sub(1)).copied().unwrap_or_default();
        let line = self.text.get(start..).unwrap_or_default();
        let column = (place.column as usize).saturating_sub(1);
        let within = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
        self.locator.locate(start + within)
    }
}

/// The entries of a list of dependencies.
fn list(reader: &mut Reader<'_>, node: &Node<'_>, of: Of<'_>) -> Vec<Dependency> {
    if node.is_null() {
        return Vec::new();
    }
    let items = reader.list(node, &format!("`{}`", of.list)).unwrap_or_default();
    items.iter().filter_map(|item| entry(reader, item, of)).collect()
}

fn entry(reader: &mut Reader<'_>, node: &Node<'_>, of: Of<'_>) -> Option<Dependency> {
    let Of { head, scope, .. } = of;
    let before = reader.faults.len();
    let fields = DependsOn::open(reader, node, &format!("an entry of `{}`", of.list))?;
    let mut text = |field: Field<DependsOn, Text>| {
        let span = fields.node(field)?.span;
        Some((fields.read(reader, field)?, span))
    };
    let (api_version, kind) = (text(DependsOn::API_VERSION), text(DependsOn::KIND));
    let namespace = fields.read(reader, DependsOn::NAMESPACE);
    let name = fields.placed(reader, DependsOn::NAME);
    let blocking = fields.read(reader, DependsOn::BLOCKING).unwrap_or(true);
    let optional = fields.read(reader, DependsOn::OPTIONAL).unwrap_or(false);
    let type_name = match (api_version, kind) {
        (None, None) => of.rule.and_then(|rule| rule.type_name.clone()),
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
            hint: None,
            in_namespace: namespace.is_some(),
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
    let fields = ProviderConfig::open(reader, node, "`providerConfigRef`")?;
    let kind = fields.read(reader, ProviderConfig::KIND).unwrap_or_else(|| "ProviderConfig".into());
    let (name, location) = fields.placed(reader, ProviderConfig::NAME)?;
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
    let target = Target {
        type_name: Some(type_name),
        hint: None,
        in_namespace: namespace.is_some(),
        namespace,
        which: TargetSelector::Named(name),
    };
    Some(Dependency { target, blocking: true, optional: true, location })
}
