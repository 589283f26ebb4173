//! `requires`: the bundles that a bundle, a deployment or a definition needs (SPEC §6 [P]).

use std::collections::HashMap;
use std::sync::Arc;

use purlin_expression::Dialect;
use purlin_model::{Binding, Diagnostic, Interface, Requirement, Sharing, Template};

use crate::bundle::{declared, reference};
use crate::reader::{Fields, Reader};
use crate::template::{key, template};
use crate::yaml::{Node, NodeKind};

/// The help for a name with a `/` that is not the name of such an installation.
pub const NAMES_WITH_SLASHES: &str = "the installations that it requires are called `NAME/REQUIREMENT`";

/// `requires`: a list of requirements.
pub(crate) fn requirements(reader: &mut Reader<'_>, node: &Node<'_>, dialect: Dialect) -> Vec<Requirement> {
    let mut all: Vec<Requirement> = Vec::new();
    let mut first: HashMap<Arc<str>, usize> = HashMap::new();
    for item in reader.list(node, "`requires`").unwrap_or_default() {
        let Some(one) = requirement(reader, item, dialect) else { continue };
        if let Some(first) = first.get(&one.name).and_then(|at| all.get(*at)) {
            let message = format!("two requirements are called `{}`", one.name);
            let fault = Diagnostic::error("required-twice", message).at(&one.location);
            reader.report(
                fault.related(&first.location, "the first is here").help("give each a different name"),
            );
            continue;
        }
        first.insert(Arc::clone(&one.name), all.len());
        all.push(one);
    }
    all
}

fn requirement(reader: &mut Reader<'_>, node: &Node<'_>, dialect: Dialect) -> Option<Requirement> {
    let mut fields = reader.fields(node, "a requirement")?.strict();
    let name_node = fields.need(reader, "name", "NAME");
    let name = name_node.and_then(|node| {
        let text = reader.text(node, "`name`")?;
        // An installation's name is `PARENT/REQUIREMENT`.
        if text.contains('/') {
            reader.wrong_value(&node.span, "a requirement has a name without `/`", NAMES_WITH_SLASHES);
            return None;
        }
        Some(text)
    });
    let (mut found, mut version, mut interface) = (None, None, Interface::default());
    match fields.need(reader, "bundle", "{reference: REPOSITORY:TAG}") {
        Some(node) if node.as_str().is_some() => {
            let text = reader.text(node, "`bundle`")?;
            found = reference(reader, node, text);
        }
        Some(node) => {
            let mut inner = reader.fields(node, "`bundle`")?.strict();
            if let Some(node) = inner.get(reader, "reference") {
                found = reader.text(node, "`reference`").and_then(|text| reference(reader, node, text));
            }
            if let Some(node) = inner.get(reader, "version") {
                // The empty range is every release.
                let text = reader.string(node, "`version`");
                version = text.and_then(|text| crate::definition::range_of(reader, node, text));
            }
            let interface_node = inner.get(reader, "interface");
            interface = interface_node.and_then(|node| read_interface(reader, node)).unwrap_or_default();
            let id = id_of_porter(reader, &mut inner, &interface);
            interface.id = id.or(interface.id);
            if node.get("reference").is_none() && interface_node.is_none() && interface.id.is_none() {
                let help =
                    "name a bundle, `reference: REPOSITORY:TAG`, or describe its outputs with `interface`";
                reader.wrong_value(&node.span, "no bundle is specified", help);
            }
            inner.done(reader);
        }
        None => {}
    }
    let parameters = bindings(reader, &mut fields, "parameters", dialect);
    let credentials = bindings(reader, &mut fields, "credentials", dialect);
    let outputs = match (dialect, fields.entry("outputs")) {
        (Dialect::Bundle, _) => bindings(reader, &mut fields, "outputs", dialect),
        (_, Some(entry)) => {
            let help = match dialect {
                Dialect::Requiring => {
                    "read them where they are used: `${bundle.dependencies.NAME.outputs.OUTPUT}`"
                }
                _ => "read them where they are used: `${resources['installation#NAME'].outputs.OUTPUT}`",
            };
            reader.wrong_value(&entry.key_span, "only a bundle has outputs of its own", help);
            Vec::new()
        }
        (_, None) => Vec::new(),
    };
    let sharing = fields.get(reader, "sharing").and_then(|node| sharing(reader, node));
    fields.done(reader);
    let name: Arc<str> = name?.into();
    // The meaning of `${outputs.X}` is known here: outputs of this requirement.
    let outputs =
        outputs.into_iter().map(|binding| Binding { value: named(binding.value, &name), ..binding });
    Some(Requirement {
        reference: found,
        version,
        interface,
        parameters,
        credentials,
        outputs: outputs.collect(),
        sharing: sharing.unwrap_or_default(),
        location: name_node.map(|node| reader.at(&node.span))?,
        name,
    })
}

/// Turns outputs without a name into outputs of the requirement with this name.
fn named(value: Template, name: &Arc<str>) -> Template {
    use purlin_model::{Piece, Reference};
    match value {
        Template::Text(text) => {
            let pieces = text.iter().cloned().map(|piece| match piece {
                Piece::Placeholder(mut placeholder) => {
                    if let Reference::Named(of, _) = &mut placeholder.reference
                        && of.is_empty()
                    {
                        *of = Arc::clone(name);
                    }
                    Piece::Placeholder(placeholder)
                }
                piece => piece,
            });
            Template::Text(pieces.collect())
        }
        Template::List(items) => Template::List(items.into_iter().map(|item| named(item, name)).collect()),
        Template::Map(entries) => {
            let entries = entries.into_iter().map(|(key, item)| (key, named(item, name)));
            Template::Map(Box::new(entries.collect()))
        }
        constant => constant,
    }
}

fn bindings(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_, '_>,
    name: &'static str,
    dialect: Dialect,
) -> Vec<Binding> {
    let Some(node) = fields.get(reader, name) else { return Vec::new() };
    let entries = reader.map(node, &format!("`{name}`")).unwrap_or_default();
    let bindings = entries.iter().map(|entry| Binding {
        name: key(reader, entry, dialect),
        value: template(reader, &entry.value, dialect),
        location: reader.at(&entry.key_span),
    });
    bindings.collect()
}

/// `bundle.id`, by which a `porter.yaml` may name the interface.
fn id_of_porter(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_, '_>,
    interface: &Interface,
) -> Option<Arc<str>> {
    let entry = if reader.foreign { fields.entry("id")? } else { return None };
    let id = reader.text(&entry.value, "`id`")?;
    if interface.id.as_deref().is_some_and(|other| other != id) {
        let fault = reader.about(&entry.key_span, "interface-twice", "two interfaces are named");
        reader.report(fault.help("keep this one, or `interface.id`"));
    }
    Some(id.into())
}

fn read_interface(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Interface> {
    let mut fields = reader.fields(node, "`interface`")?.strict();
    let id = fields.get(reader, "id").and_then(|node| reader.text(node, "`id`")).map(Arc::from);
    let by_reference = fields.entry("reference");
    let reference = by_reference.and_then(|entry| {
        let text = reader.text(&entry.value, "`reference`")?;
        reference(reader, &entry.value, text)
    });
    let document = fields.entry("document");
    // In places, the design writes the content of the document directly under `interface`.
    let direct = ["outputs", "parameters", "credentials"].into_iter().find_map(|name| fields.entry(name));
    let mut interface = asked(reader, &mut fields);
    fields.done(reader);
    if let Some(entry) = document {
        let mut inner = reader.fields(&entry.value, "`document`")?.strict();
        let Interface { outputs, parameters, credentials, .. } = asked(reader, &mut inner);
        inner.done(reader);
        interface.outputs.extend(outputs);
        interface.parameters.extend(parameters);
        interface.credentials.extend(credentials);
    }
    if let (Some(first), Some(second)) = (by_reference, document.or(direct)) {
        let message = "an interface is given by a reference or by a document, not by both";
        let fault = reader.about(&second.key_span, "interface-twice", message);
        reader.report(
            fault.related(&reader.at(&first.key_span), "the reference is here").help("keep one of them"),
        );
    }
    Some(Interface { id, reference, ..interface })
}

/// The outputs, parameters and credentials that an interface asks for.
fn asked(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>) -> Interface {
    let mut list = |name: &'static str, what: &str| {
        let entry = fields.entry(name);
        entry.map(|entry| declared(reader, &entry.value, name, what, true)).unwrap_or_default()
    };
    Interface {
        outputs: list("outputs", "output"),
        parameters: list("parameters", "parameter"),
        credentials: list("credentials", "credential"),
        ..Interface::default()
    }
}

fn sharing(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Sharing> {
    const MODES: &str = "a mode is `group`, to share it within a group, or `none`, not to share it";
    let mut fields = reader.fields(node, "`sharing`")?.strict();
    let mode = fields.get(reader, "mode");
    let group = fields.entry("group");
    fields.done(reader);
    let is_shared = match mode.map(|node| (&node.kind, node.as_str())) {
        None | Some((NodeKind::Bool(true), _) | (_, Some("group"))) => true,
        Some((NodeKind::Bool(false), _) | (_, Some("none"))) => false,
        Some(_) => {
            reader.wrong_value(&mode?.span, "this is not a sharing mode", MODES);
            return None;
        }
    };
    let name = match group {
        Some(entry) => {
            let mut fields = reader.fields(&entry.value, "`group`")?.strict();
            let name = fields.entry("name").map(|entry| &entry.value);
            fields.done(reader);
            match name {
                Some(node) => {
                    reader.string(node, "`name`")?;
                    Some(template(reader, node, Dialect::Bundle))
                }
                None => None,
            }
        }
        None => None,
    };
    match (is_shared, name, group) {
        (true, None, _) => Some(Sharing::default()),
        (true, Some(name), _) => Some(Sharing::Group(name)),
        (false, Some(_), Some(group)) => {
            let help = "remove the group, or write `mode: group`";
            reader.wrong_value(&group.key_span, "an installation that is not shared has no group", help);
            None
        }
        (false, ..) => Some(Sharing::None),
    }
}
