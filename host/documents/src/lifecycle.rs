//! `lifecycle`: settings for replacing, deleting, adopting and renaming (SPEC §9), in a definition
//! for all its resources, or in a Deployment for single ones.
//!
//! ```yaml
//! lifecycle:
//!   postgres#shared.db:                 # in a Deployment, by descriptor; a Definition has the
//!     protect: true                     # fields right below `lifecycle`
//!     retain: false
//!     allow_data_loss: false
//!     paused: false
//!     delete_before_replace: false
//!     ignore_changes: [values.size]
//!     replace_on_changes: [/values/zone]
//!     replace_with: [network#shared.net]
//!     deleted_with: network#shared.net
//!     depends_on: [dns#shared.zone]
//!     aliases: [postgres#shared.main]   # from here on in a Deployment only
//!     import: i-123                     # or `observe: i-123`
//! ```

use std::sync::Arc;

use purlin_expression::{Dialect, parse_descriptor, parse_input_path};
use purlin_model::{
    Alias, AliasName, Descriptor, DescriptorPart, InputPath, Lifecycle, LifecycleOptions, Location, NotAUrn,
    ResourceLifecycle, Template, Urn,
};
use serde_json::{Value, json};

use crate::declare::{Declared, Field, Form, Kind, Opened, except, form};
use crate::kinds::{Flag, List, MapOf, Names, kind, matching};
use crate::reader::Reader;
use crate::template::template;
use crate::yaml::{Entry, Node, Span};

const TYPE: &str = "[A-Za-z0-9][A-Za-z0-9_/-]*";
const CLASS: &str = "[a-z0-9][a-z0-9-]*";
/// An id, except `@` alone.
const ID: &str =
    "(@[^\\s\\p{Cc}#<>'\"`()\\[\\]{}]+|[^@\\s\\p{Cc}#<>'\"`()\\[\\]{}][^\\s\\p{Cc}#<>'\"`()\\[\\]{}]*)";
/// A path to inputs: a JSON Pointer, or segments separated by `.` or in brackets.
const PATH: &str = concat!(
    r"^(/account|/(values|secrets|params)(/(~[01]|[^~/])*)*|account|(values|secrets|params)",
    r#"(\.\*(?=$|[.\[])|\[\*\](?=$|[.\[])|\.[^\s\p{Cc}.\[\]'"`{}()$|<>:;,?!=&*\\]+|\['[^']+'\]|\["[^"]+"\]|\[[0-9]+\])*)$"#
);

fn absolute() -> String {
    format!("^{TYPE}(\\.{CLASS})?#{ID}$")
}

form! {
    /// Settings for this resource; they override those of its definition.
    pub(crate) struct OfResource {
        /// Whether deleting or replacing the resource is an error.
        PROTECT: Flag = "protect";
        /// Whether the resource is only removed from the state instead of deleted.
        RETAIN: Flag = "retain";
        /// Whether the resource may lose its data without `--allow-data-loss`.
        ALLOW_DATA_LOSS: Flag = "allow_data_loss";
        /// Whether Purlin makes no driver calls for the resource.
        PAUSED: Flag = "paused";
        /// True: the old resource is deleted before the new one is created. False: the new one must be
        /// created first. Default: the driver decides.
        DELETE_BEFORE_REPLACE: Flag = "delete_before_replace";
        /// Inputs whose changes are ignored, such as `values.size`.
        IGNORE_CHANGES: List<PathToInput> = "ignore_changes";
        /// Inputs whose changes replace the resource, such as `values.zone`.
        REPLACE_ON_CHANGES: List<PathToInput> = "replace_on_changes";
        /// Descriptors of resources: if one is replaced, so is this one.
        REPLACE_WITH: List<Absolute> = "replace_with";
        /// Descriptor of the resource whose deletion also deletes this one, without a driver call.
        DELETED_WITH: Absolute = "deleted_with";
        /// Descriptors of additional dependencies.
        DEPENDS_ON: List<Absolute> = "depends_on";
        /// Its previous names: descriptors or URNs.
        ALIASES: List<PreviousName> = "aliases";
        /// Provider id of the existing object to adopt.
        IMPORT: ProviderId = "import";
        /// Provider id of the existing object to read, which others manage.
        OBSERVE: ProviderId = "observe";
    }

    fn hint(name: &str) -> Option<String> {
        elsewhere(name)
    }

    fn constrain(schema: &mut Value) {
        schema["not"] = json!({"required": ["import", "observe"]});
    }
}

/// Settings for replacing and deleting: those of a resource that apply to all of a definition.
/// Descriptors are relative to each of these.
pub(crate) struct OfDefinition;

impl Kind for OfDefinition {
    const FIELDS: &'static [Declared] =
        &except::<{ OfResource::FIELDS.len() - Self::REJECTED.len() }>(OfResource::FIELDS, Self::REJECTED);

    fn schema() -> Value {
        let mut schema = crate::declare::schema_of::<Self>();
        let relative = format!("^{TYPE}(\\.(@|{CLASS}))?(#(@|{ID}))?$");
        for name in ["replace_with", "depends_on"] {
            schema["properties"][name]["items"]["pattern"] = relative.as_str().into();
        }
        schema["properties"]["deleted_with"]["pattern"] = relative.into();
        schema
    }
}

impl Form for OfDefinition {
    const ABOUT: &'static str = "Settings for replacing and deleting.";
    const REJECTED: &'static [&'static str] = &["aliases", "import", "observe"];

    fn hint(name: &str) -> Option<String> {
        elsewhere(name)
    }
}

kind! {
    /// A path to inputs.
    pub(crate) struct PathToInput: matching(PATH)
}
kind! {
    /// A complete descriptor, which names one resource.
    pub(crate) struct Absolute: matching(&absolute())
}
kind! {
    /// A complete descriptor or a URN.
    pub(crate) struct PreviousName: {
        let urn = format!("^urn:purlin:[^:/]+/[^:/]+::[^:/]+::[^:]+::{TYPE}\\.{CLASS}::{ID}$");
        json!({"type": "string", "if": {"pattern": "^urn:"}, "then": {"pattern": urn}, "else": {"pattern": absolute()}})
    }
}
kind! {
    /// A provider id, without placeholders.
    pub(crate) struct ProviderId: json!({"type": "string", "pattern": "\\S", "not": {"pattern": "\\$\\{"}})
}

impl Names for Absolute {
    fn schema() -> Value {
        json!({"pattern": absolute()})
    }
}

/// The settings of a Deployment, by descriptor.
pub(crate) type OfResources = MapOf<Absolute, OfResource>;

/// The owner of the settings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// A kind of resource: descriptors are relative to each of them.
    Definition,
    /// One resource, named by the Deployment: descriptors are complete.
    Resource,
}

/// Reads the settings of a definition.
pub(crate) fn of_definition(reader: &mut Reader<'_>, node: &Node<'_>) -> Lifecycle {
    options(reader, node, "`lifecycle`", Owner::Definition).over(&Lifecycle::default())
}

/// Reads the settings of a Deployment, by descriptor.
pub(crate) fn of_resources(reader: &mut Reader<'_>, node: &Node<'_>) -> Vec<ResourceLifecycle> {
    let entries = reader.map(node, "`lifecycle`").unwrap_or_default();
    entries.iter().filter_map(|entry| of_resource(reader, entry)).collect()
}

fn of_resource(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<ResourceLifecycle> {
    let faults = reader.faults.len();
    let descriptor = descriptor(reader, &entry.key, &entry.key_span, Owner::Resource);
    // A user who writes the fields directly has the form of a definition in mind.
    if reader.faults.len() > faults && OfResource::has(&entry.key) {
        reader.faults.truncate(faults);
        let fault = reader
            .about(&entry.key_span, "misplaced-field", format!("`{}` names no resource", entry.key))
            .help(format!("name the resource first: `TYPE#ID: {{{}: …}}`", entry.key));
        reader.report(fault);
        return None;
    }
    let options = options(reader, &entry.value, &format!("`lifecycle` of `{}`", entry.key), Owner::Resource);
    let key = descriptor?.absolute()?;
    Some(ResourceLifecycle { key, options, location: reader.at(&entry.key_span) })
}

/// The help for a setting that was written in the resource itself.
pub(crate) fn in_a_resource(name: &str) -> Option<String> {
    let known = OfResource::FIELDS.iter().any(|known| plain(known.name) == plain(name));
    (name == "lifecycle" || known || elsewhere(name).is_some()).then(|| {
        "lifecycle settings belong in a Deployment, by descriptor: `lifecycle: {TYPE#ID: {protect: true}}`".to_owned()
    })
}

/// A name without `_`, `-` and case, so that all ways of joining words are equal.
fn plain(name: &str) -> String {
    name.replace(['_', '-'], "").to_ascii_lowercase()
}

/// The names of settings in other programs, and their names here.
const ELSEWHERE: [(&str, &str); 14] = [
    ("preventdestroy", "write `protect`: deleting or replacing is an error"),
    ("preventdelete", "write `protect`: deleting or replacing is an error"),
    ("preventdeletion", "write `protect`: deleting or replacing is an error"),
    ("retainondelete", "write `retain`: Purlin forgets the resource instead of deleting it"),
    ("createbeforedestroy", "write `delete_before_replace: false`; creating first is the default"),
    ("createbeforedelete", "write `delete_before_replace: false`; creating first is the default"),
    ("replacetriggeredby", "write `replace_with` for resources, `replace_on_changes` for inputs"),
    ("deletewith", "write `deleted_with`"),
    ("moved", "write `aliases`: the previous names of the resource"),
    ("previousaddress", "write `aliases`: the previous names of the resource"),
    ("removed", "write `retain`, deploy, and then take the resource out of the documents"),
    ("importid", "write `import`: the provider id of the object to adopt"),
    (
        "forcedestroy",
        "write `allow_data_loss`, which lets Purlin delete it; `force_destroy` is an input of drivers",
    ),
    ("readonly", "write `observe`: the provider id of the object to read"),
];

fn elsewhere(name: &str) -> Option<String> {
    let name = plain(name);
    ELSEWHERE.iter().find(|(known, _)| *known == name).map(|(_, help)| (*help).to_owned())
}

fn options(reader: &mut Reader<'_>, node: &Node<'_>, what: &str, owner: Owner) -> LifecycleOptions {
    let opened = match owner {
        Owner::Resource => OfResource::open(reader, node, what),
        Owner::Definition => OfDefinition::open(reader, node, what).map(|opened| {
            for entry in OfDefinition::REJECTED.iter().filter_map(|name| opened.entry_called(name)) {
                let name = &entry.key;
                let message = format!("`{name}` applies to one resource, but a definition applies to many");
                let help = format!("write it into a Deployment: `lifecycle: {{TYPE#ID: {{{name}: …}}}}`");
                let fault = reader.about(&entry.key_span, "misplaced-field", message).help(help);
                reader.report(fault);
            }
            opened.as_form()
        }),
    };
    let Some(fields) = opened else { return LifecycleOptions::default() };
    type Of = OfResource;
    let deleted_with = fields.node(Of::DELETED_WITH).and_then(|node| {
        let text = reader.text(node, "`deleted_with`")?;
        Some((descriptor(reader, text, &node.span, owner)?, reader.at(&node.span)))
    });
    let (aliases, identity): (_, Identity) = match owner {
        Owner::Resource => (aliases(reader, &fields), identity(reader, &fields)),
        Owner::Definition => Default::default(),
    };
    LifecycleOptions {
        protect: fields.read(reader, Of::PROTECT),
        retain: fields.read(reader, Of::RETAIN),
        allow_data_loss: fields.read(reader, Of::ALLOW_DATA_LOSS),
        paused: fields.read(reader, Of::PAUSED),
        delete_before_replace: fields.read(reader, Of::DELETE_BEFORE_REPLACE),
        ignore_changes: paths(reader, &fields, Of::IGNORE_CHANGES),
        replace_on_changes: paths(reader, &fields, Of::REPLACE_ON_CHANGES),
        replace_with: descriptors(reader, &fields, Of::REPLACE_WITH, owner),
        deleted_with,
        depends_on: descriptors(reader, &fields, Of::DEPENDS_ON, owner),
        aliases,
        import: identity.import,
        observe: identity.observe,
        id_location: identity.location,
        // Settings of manifests.
        poll_interval: None,
        reconcile_requested: None,
    }
}

type Options<'n, 't> = Opened<'n, 't, OfResource>;

/// The texts of a list.
fn texts<'n, K>(
    reader: &mut Reader<'_>,
    fields: &Options<'n, '_>,
    field: Field<OfResource, List<K>>,
) -> Vec<(&'n str, Span)> {
    let Some(node) = fields.node(field) else { return Vec::new() };
    reader.strings(node, &format!("`{}`", fields.name(field))).unwrap_or_default()
}

fn paths(
    reader: &mut Reader<'_>,
    fields: &Options<'_, '_>,
    field: Field<OfResource, List<PathToInput>>,
) -> Vec<InputPath> {
    let texts = texts(reader, fields, field).into_iter();
    texts.filter_map(|(text, span)| path(reader, text, &span)).collect()
}

fn path(reader: &mut Reader<'_>, text: &str, span: &Span) -> Option<InputPath> {
    match parse_input_path(text) {
        Ok(pointer) => {
            Some(InputPath { text: text.into(), pointer: pointer.into(), location: reader.at(span) })
        }
        Err(error) => {
            let fault = reader.about(span, "bad-path", error.message).help(error.help);
            reader.report(fault);
            None
        }
    }
}

fn descriptors(
    reader: &mut Reader<'_>,
    fields: &Options<'_, '_>,
    field: Field<OfResource, List<Absolute>>,
    owner: Owner,
) -> Vec<(Descriptor, Location)> {
    let texts = texts(reader, fields, field).into_iter();
    texts
        .filter_map(|(text, span)| Some((descriptor(reader, text, &span, owner)?, reader.at(&span))))
        .collect()
}

/// A descriptor; it must be complete if there is no resource to take class and id from.
fn descriptor(reader: &mut Reader<'_>, text: &str, span: &Span, owner: Owner) -> Option<Descriptor> {
    let descriptor = match parse_descriptor(text) {
        Ok(descriptor) => descriptor,
        Err(error) => {
            let fault = reader.about(span, "bad-descriptor", error.message).help(error.help);
            reader.report(fault);
            return None;
        }
    };
    if owner == Owner::Definition {
        return Some(descriptor);
    }
    let Some(key) = descriptor.absolute() else {
        let (part, form) = match &descriptor.id {
            DescriptorPart::Named(_) => ("class", "leave `.@` out, or name the class"),
            _ => ("id", "write it out, such as `postgres#shared.db`"),
        };
        let message = Descriptor::lacks(text, part);
        let fault = reader.about(span, "missing-id", message).help(form);
        reader.report(fault);
        return None;
    };
    // Class and id must not be filled in later from the resource that has these settings.
    parse_descriptor(key.as_str()).ok()
}

fn aliases(reader: &mut Reader<'_>, fields: &Options<'_, '_>) -> Vec<Alias> {
    let texts = texts(reader, fields, OfResource::ALIASES);
    let mut aliases = Vec::with_capacity(texts.len());
    for (text, span) in texts {
        let name = if text.starts_with("urn:") {
            let urn = Urn::parse(text).ok().filter(is_whole);
            if urn.is_none() {
                let fault = reader
                    .about(&span, "bad-urn", NotAUrn(text.to_owned()).to_string())
                    .help("write `urn:purlin:ENV/ORG::APP::MODULE::TYPE.CLASS::ID`, or a key such as `postgres#shared.db`");
                reader.report(fault);
            }
            urn.map(AliasName::Urn)
        } else {
            let descriptor = descriptor(reader, text, &span, Owner::Resource);
            descriptor.and_then(|descriptor| descriptor.absolute()).map(AliasName::Key)
        };
        aliases.extend(name.map(|name| Alias { name, location: reader.at(&span) }));
    }
    aliases
}

/// Whether a URN is in Purlin's form: any other would name nothing.
fn is_whole(urn: &Urn) -> bool {
    let whole = |key: purlin_model::Key| {
        let module = key.workload().unwrap_or("shared");
        let end = format!("::{module}::{}.{}::{}", key.type_name(), key.class(), key.id());
        let place = urn.as_str().strip_prefix("urn:purlin:")?.strip_suffix(&end)?;
        let (place, app) = place.split_once("::")?;
        let (env, org) = place.split_once('/')?;
        Some([env, org, app].iter().all(|part| !part.is_empty() && !part.contains([':', '/'])))
    };
    urn.key().and_then(whole).unwrap_or(false)
}

/// Who owns an existing object.
#[derive(Default)]
struct Identity {
    import: Option<Arc<str>>,
    observe: Option<Arc<str>>,
    location: Option<Location>,
}

/// Reads `import` or `observe`.
fn identity(reader: &mut Reader<'_>, fields: &Options<'_, '_>) -> Identity {
    let mut identity = Identity::default();
    let (import, observe) = (fields.entry(OfResource::IMPORT), fields.entry(OfResource::OBSERVE));
    if let (Some(import), Some(observe)) = (import, observe) {
        let fault = reader
            .about(&observe.key_span, "import-and-observe", "`import` and `observe` cannot both be given")
            .related(&reader.at(&import.key_span), "`import` is given here")
            .help("with `import`, Purlin manages the existing object; with `observe`, it only reads an object that others manage");
        reader.report(fault);
    }
    for (entry, name) in [(import, "import"), (observe, "observe")] {
        let Some(entry) = entry else { continue };
        let Some(id) = id(reader, &entry.value, &format!("`{name}`")) else { continue };
        identity.location = Some(reader.at(&entry.value.span));
        match name {
            "import" => identity.import = Some(id),
            _ => identity.observe = Some(id),
        }
    }
    identity
}

/// A provider id: non-empty text without placeholders.
fn id(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Arc<str>> {
    reader.text(node, what)?;
    match template(reader, node, Dialect::Definition) {
        Template::Constant(purlin_model::Value::String(id)) => Some(id),
        Template::Text(_) => {
            let help = "write the provider id itself; for `${` in an id write `$\\{`";
            reader.wrong_value(&node.span, format!("{what} takes no placeholder"), help);
            None
        }
        // The fault in a placeholder was already reported.
        _ => None,
    }
}
