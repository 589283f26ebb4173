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
    ResourceLifecycle, Template, Urn, Value,
};

use crate::reader::{Fields, Reader};
use crate::template::template;
use crate::yaml::{Entry, Node, Span};

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
    if reader.faults.len() > faults && KNOWN.contains(&&*entry.key) {
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

/// The fields of one resource, preceded by those of a definition.
const KNOWN: [&str; 13] = [
    "protect",
    "retain",
    "allow_data_loss",
    "paused",
    "delete_before_replace",
    "ignore_changes",
    "replace_on_changes",
    "replace_with",
    "deleted_with",
    "depends_on",
    "aliases",
    "import",
    "observe",
];

/// The help for a setting that was written in the resource itself.
pub(crate) fn in_a_resource(name: &str) -> Option<String> {
    let known = KNOWN.iter().any(|known| plain(known) == plain(name));
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
    let Some(mut fields) = reader.fields(node, what) else { return LifecycleOptions::default() };
    let mut flag = |name| {
        let node = fields.get(reader, name)?;
        reader.boolean(node, &format!("`{name}`"))
    };
    let (protect, retain) = (flag("protect"), flag("retain"));
    let allow_data_loss = flag("allow_data_loss");
    let paused = flag("paused");
    let mut rest = Lifecycle { delete_before_replace: flag("delete_before_replace"), ..Lifecycle::default() };
    rest.ignore_changes = paths(reader, &mut fields, "ignore_changes");
    rest.replace_on_changes = paths(reader, &mut fields, "replace_on_changes");
    rest.replace_with = descriptors(reader, &mut fields, "replace_with", owner);
    rest.deleted_with = fields.get(reader, "deleted_with").and_then(|node| {
        let text = reader.text(node, "`deleted_with`")?;
        Some((descriptor(reader, text, &node.span, owner)?, reader.at(&node.span)))
    });
    rest.depends_on = descriptors(reader, &mut fields, "depends_on", owner);
    match owner {
        Owner::Resource => {
            rest.aliases = aliases(reader, &mut fields);
            identity(reader, &mut fields, &mut rest);
        }
        Owner::Definition => {
            for name in ["aliases", "import", "observe"] {
                if let Some(entry) = fields.refused(name) {
                    let message =
                        format!("`{name}` applies to one resource, but a definition applies to many");
                    let help = format!("write it into a Deployment: `lifecycle: {{TYPE#ID: {{{name}: …}}}}`");
                    let fault = reader.about(&entry.key_span, "misplaced-field", message).help(help);
                    reader.report(fault);
                }
            }
        }
    }
    fields.done_with(reader, &elsewhere);
    LifecycleOptions { protect, retain, allow_data_loss, paused, rest }
}

fn paths(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>, name: &'static str) -> Vec<InputPath> {
    let Some(node) = fields.get(reader, name) else { return Vec::new() };
    let texts = reader.strings(node, &format!("`{name}`")).unwrap_or_default();
    texts.into_iter().filter_map(|(text, span)| path(reader, text, &span)).collect()
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
    fields: &mut Fields<'_, '_>,
    name: &'static str,
    owner: Owner,
) -> Vec<(Descriptor, Location)> {
    let Some(node) = fields.get(reader, name) else { return Vec::new() };
    let texts = reader.strings(node, &format!("`{name}`")).unwrap_or_default();
    let read = |(text, span): (&str, Span)| Some((descriptor(reader, text, &span, owner)?, reader.at(&span)));
    texts.into_iter().filter_map(read).collect()
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

fn aliases(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>) -> Vec<Alias> {
    let Some(node) = fields.get(reader, "aliases") else { return Vec::new() };
    let texts = reader.strings(node, "`aliases`").unwrap_or_default();
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

/// `import` or `observe`: who owns an existing object.
fn identity(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>, lifecycle: &mut Lifecycle) {
    let (import, observe) = (fields.entry("import"), fields.entry("observe"));
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
        lifecycle.id_location = Some(reader.at(&entry.value.span));
        match name {
            "import" => lifecycle.import = Some(id),
            _ => lifecycle.observe = Some(id),
        }
    }
}

/// A provider id: non-empty text without placeholders.
fn id(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Arc<str>> {
    reader.text(node, what)?;
    match template(reader, node, Dialect::Definition) {
        Template::Constant(Value::String(id)) => Some(id),
        Template::Text(_) => {
            let help = "write the provider id itself; for `${` in an id write `$\\{`";
            reader.wrong_value(&node.span, format!("{what} takes no placeholder"), help);
            None
        }
        // The fault in a placeholder was already reported.
        _ => None,
    }
}
