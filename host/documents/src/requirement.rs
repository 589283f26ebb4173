//! `requires`: the bundles that a bundle, a deployment or a definition needs (SPEC §6 [P]).

use std::collections::HashMap;
use std::sync::Arc;

use purlin_expression::Dialect;
use purlin_model::{Binding, Diagnostic, Interface, Requirement, Sharing, Template};
use serde_json::{Value, json};

use crate::bundle::{Asked, ReferenceText, declared, reference};
use crate::declare::{Declared, Field, Form, Kind, Opened, except, form};
use crate::kinds::{AnyText, Either, List, Object, Text, kind};
use crate::reader::Reader;
use crate::template::{key, template};
use crate::yaml::{Node, NodeKind};

/// The help for a name with a `/` that is not the name of such an installation.
pub const NAMES_WITH_SLASHES: &str = "the installations that it requires are called `NAME/REQUIREMENT`";

form! {
    /// A requirement.
    pub(crate) struct InBundle {
        /// The name of the requirement.
        NAME: Text = needed "name" matching "^[^/]*[^/\\s][^/]*$", "NAME";
        /// The bundle.
        BUNDLE: Either<ReferenceText, RequiredBundle> = needed "bundle", "{reference: REPOSITORY:TAG}";
        /// Values of its parameters.
        PARAMETERS: Object = "parameters", "{NAME: VALUE}";
        /// Values of its credentials.
        CREDENTIALS: Object = "credentials", "{NAME: VALUE}";
        /// How the installation is shared.
        SHARING: HowShared = "sharing", "{mode: none}";
        /// Outputs derived from its outputs: `${outputs.NAME}`.
        OUTPUTS: Object = "outputs", "{NAME: VALUE}";
    }

    const STRICT: bool = true;
}

/// A requirement of a deployment or a definition, which have no outputs of their own.
pub(crate) struct InDeployment;

impl Kind for InDeployment {
    const FIELDS: &'static [Declared] =
        &except::<{ InBundle::FIELDS.len() - Self::REJECTED.len() }>(InBundle::FIELDS, Self::REJECTED);

    fn schema() -> Value {
        crate::declare::schema_of::<Self>()
    }
}

impl Form for InDeployment {
    const ABOUT: &'static str = "A requirement.";
    const STRICT: bool = true;
    const REJECTED: &'static [&'static str] = &["outputs"];
}

form! {
    /// The required bundle.
    pub(crate) struct RequiredBundle {
        /// The bundle, such as `getporter/mysql:v1.0.0`.
        REFERENCE: ReferenceText = "reference";
        /// Version range.
        VERSION: AnyText = "version";
        /// The interface that the bundle must have, in addition to the outputs that are used.
        INTERFACE: RequiredInterface = "interface", "{id: URI}";
    }

    const STRICT: bool = true;
    const REJECTED: &'static [&'static str] = &["id"];

    fn constrain(schema: &mut Value) {
        schema["anyOf"] = json!([{"required": ["reference"]}, {"required": ["interface"]}]);
    }
}

form! {
    /// The interface that the bundle must have.
    pub(crate) struct InterfaceDocument {
        /// Outputs that the bundle must have.
        OUTPUTS: List<Asked> = "outputs", "[{name: NAME}]";
        /// Parameters that the bundle must accept.
        PARAMETERS: List<Asked> = "parameters", "[{name: NAME}]";
        /// Credentials that the bundle must accept.
        CREDENTIALS: List<Asked> = "credentials", "[{name: NAME}]";
    }

    const STRICT: bool = true;
}

form! {
    /// The interface that the bundle must have, in addition to the outputs that are used.
    pub(crate) struct RequiredInterface {
        /// Outputs that the bundle must have.
        OUTPUTS: List<Asked> = "outputs", "[{name: NAME}]";
        /// Parameters that the bundle must accept.
        PARAMETERS: List<Asked> = "parameters", "[{name: NAME}]";
        /// Credentials that the bundle must accept.
        CREDENTIALS: List<Asked> = "credentials", "[{name: NAME}]";
        /// Name of the interface.
        ID: Text = "id";
        /// A bundle with the same interface.
        REFERENCE: ReferenceText = "reference";
        /// The interface that the bundle must have.
        DOCUMENT: InterfaceDocument = "document", "{outputs: [{name: NAME}]}";
    }

    const STRICT: bool = true;

    fn constrain(schema: &mut Value) {
        let twice =
            ["document", "outputs", "parameters", "credentials"].map(|name| json!({"required": [name]}));
        schema["not"] = json!({"required": ["reference"], "anyOf": twice});
    }
}

form! {
    /// How the installation is shared.
    pub(crate) struct HowShared {
        /// `group` or `none`.
        MODE: SharingMode = "mode";
        /// The group.
        GROUP: Group = "group", "{name: NAME}";
    }

    const STRICT: bool = true;

    fn constrain(schema: &mut Value) {
        schema["not"] = json!({
            "required": ["mode", "group"],
            "properties": {"mode": {"enum": ["none", false]}, "group": {"required": ["name"]}},
        });
    }
}

kind! {
    /// A word, or a boolean as in other programs.
    pub(crate) struct SharingMode: json!({"enum": ["group", "none", true, false]})
}

form! {
    /// A group of deployments.
    pub(crate) struct Group {
        /// Its name.
        NAME: AnyText = "name";
    }

    const STRICT: bool = true;
}

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
    const WHAT: &str = "a requirement";
    let fields = match dialect {
        Dialect::Bundle => InBundle::open(reader, node, WHAT)?,
        _ => InDeployment::open(reader, node, WHAT)?.as_form(),
    };
    let name_node = fields.node(InBundle::NAME);
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
    match fields.node(InBundle::BUNDLE) {
        Some(node) if node.as_str().is_some() => {
            let text = reader.text(node, "`bundle`")?;
            found = reference(reader, node, text);
        }
        Some(node) => {
            let bundle = RequiredBundle::open(reader, node, "`bundle`")?;
            if let Some(node) = bundle.node(RequiredBundle::REFERENCE) {
                found = reader.text(node, "`reference`").and_then(|text| reference(reader, node, text));
            }
            if let Some(node) = bundle.node(RequiredBundle::VERSION) {
                // The empty range is every release.
                let text = reader.string(node, "`version`");
                version = text.and_then(|text| crate::definition::range_of(reader, node, text));
            }
            let interface_node = bundle.node(RequiredBundle::INTERFACE);
            interface = interface_node.and_then(|node| read_interface(reader, node)).unwrap_or_default();
            let id = id_of_porter(reader, &bundle, &interface);
            interface.id = id.or(interface.id);
            if node.get("reference").is_none() && interface_node.is_none() && interface.id.is_none() {
                let help =
                    "name a bundle, `reference: REPOSITORY:TAG`, or describe its outputs with `interface`";
                reader.wrong_value(&node.span, "no bundle is specified", help);
            }
        }
        None => {}
    }
    let parameters = bindings(reader, &fields, InBundle::PARAMETERS, dialect);
    let credentials = bindings(reader, &fields, InBundle::CREDENTIALS, dialect);
    let outputs = match (dialect, fields.entry(InBundle::OUTPUTS)) {
        (Dialect::Bundle, _) => bindings(reader, &fields, InBundle::OUTPUTS, dialect),
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
    let sharing = fields.node(InBundle::SHARING).and_then(|node| sharing(reader, node));
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
    fields: &Opened<'_, '_, InBundle>,
    field: Field<InBundle, Object>,
    dialect: Dialect,
) -> Vec<Binding> {
    let Some(node) = fields.node(field) else { return Vec::new() };
    let entries = reader.map(node, &format!("`{}`", fields.name(field))).unwrap_or_default();
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
    bundle: &Opened<'_, '_, RequiredBundle>,
    interface: &Interface,
) -> Option<Arc<str>> {
    let entry = bundle.entry_called("id")?;
    if !reader.foreign {
        let fault = reader.about(&entry.key_span, "unknown-field", "`bundle` has no field `id`");
        reader.report(fault.help("name the interface: `interface: {id: URI}`"));
        return None;
    }
    let id = reader.text(&entry.value, "`id`")?;
    if interface.id.as_deref().is_some_and(|other| other != id) {
        let fault = reader.about(&entry.key_span, "interface-twice", "two interfaces are named");
        reader.report(fault.help("keep this one, or `interface.id`"));
    }
    Some(id.into())
}

fn read_interface(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Interface> {
    type Of = RequiredInterface;
    let fields = Of::open(reader, node, "`interface`")?;
    let id = fields.read(reader, Of::ID);
    let by_reference = fields.entry(Of::REFERENCE);
    let reference = by_reference.and_then(|entry| {
        let text = reader.text(&entry.value, "`reference`")?;
        reference(reader, &entry.value, text)
    });
    let document = fields.entry(Of::DOCUMENT);
    // In places, the design writes the content of the document directly under `interface`.
    let lists = [Of::OUTPUTS, Of::PARAMETERS, Of::CREDENTIALS];
    let direct = lists.into_iter().find_map(|list| fields.entry(list));
    let mut interface = asked(reader, &fields.as_form());
    if let Some(inner) =
        document.and_then(|entry| InterfaceDocument::open(reader, &entry.value, "`document`"))
    {
        let Interface { outputs, parameters, credentials, .. } = asked(reader, &inner);
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
fn asked(reader: &mut Reader<'_>, fields: &Opened<'_, '_, InterfaceDocument>) -> Interface {
    let mut list = |field: Field<InterfaceDocument, List<Asked>>, what: &str| {
        let entry = fields.entry(field);
        let name = fields.name(field);
        entry.map(|entry| declared(reader, &entry.value, name, what, true)).unwrap_or_default()
    };
    Interface {
        outputs: list(InterfaceDocument::OUTPUTS, "output"),
        parameters: list(InterfaceDocument::PARAMETERS, "parameter"),
        credentials: list(InterfaceDocument::CREDENTIALS, "credential"),
        ..Interface::default()
    }
}

fn sharing(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Sharing> {
    const MODES: &str = "a mode is `group`, to share it within a group, or `none`, not to share it";
    let fields = HowShared::open(reader, node, "`sharing`")?;
    let (mode, group) = (fields.node(HowShared::MODE), fields.entry(HowShared::GROUP));
    let is_shared = match mode.map(|node| (&node.kind, node.as_str())) {
        None | Some((NodeKind::Bool(true), _) | (_, Some("group"))) => true,
        Some((NodeKind::Bool(false), _) | (_, Some("none"))) => false,
        Some(_) => {
            reader.wrong_value(&mode?.span, "this is not a sharing mode", MODES);
            return None;
        }
    };
    let name = match group {
        Some(entry) => match Group::open(reader, &entry.value, "`group`")?.entry(Group::NAME) {
            Some(name) => {
                reader.string(&name.value, "`name`")?;
                Some(template(reader, &name.value, Dialect::Bundle))
            }
            None => None,
        },
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
