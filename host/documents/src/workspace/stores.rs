//! Secret stores of the workspace: the sources of the secrets that definitions name (SPEC §3).
//!
//! ```yaml
//! secret_stores:
//!   local: {file: ./secrets}                      # a folder, or a YAML or JSON file
//!   ci: {env: SHOP_}                              # the prefix of the variables' names
//!   pass: {command: [pass, show, "{ref}"], time: 10s}
//!   vault: {driver: acme/vault@^1, values: {address: "https://vault.internal"}}
//! ```

use purlin_expression::did_you_mean;
use purlin_model::{Diagnostic, Map, SecretCommand, SecretDriver, SecretStore, SecretStoreKind};
use serde_json::{Value, json};

use crate::declare::{Field, Form, Opened, form};
use crate::definition::{DriverRange, driver_requirement};
use crate::kinds::{Names, Object, Text, Time, kind, matching};
use crate::reader::Reader;
use crate::template::constant;
use crate::yaml::{Entry, Node, NodeKind, Span};

const ONE: &str = "write one of `file: PATH`, `env: PREFIX`, `command: [PROGRAM, \"{ref}\"]` and \
                   `driver: ORG/NAME`";

form! {
    /// A secret store: one of `file`, `env`, `command` and `driver`.
    pub(crate) struct Store {
        /// A folder with a file for each secret, or a YAML or JSON file with all of them.
        FILE: Text = "file";
        /// Prefix of the environment variables.
        ENV: Prefix = "env";
        /// Program that prints a secret, and its arguments, which may contain `{ref}` and `{version}`.
        COMMAND: Printing = "command";
        /// Time limit of the command.
        TIME: Time = "time" default "30s";
        /// Driver that reads secrets, optionally with `@RANGE` for its versions.
        DRIVER: DriverRange = "driver";
        /// Inputs of the driver.
        VALUES: Object = "values", "{NAME: VALUE}";
        /// Secret inputs of the driver.
        SECRETS: Object = "secrets", "{NAME: VALUE}";
    }

    fn constrain(schema: &mut Value) {
        schema["oneOf"] = ["file", "env", "command", "driver"].map(|kind| json!({"required": [kind]})).into();
        schema["dependentRequired"] = json!({"time": ["command"], "values": ["driver"], "secrets": ["driver"]});
    }
}

/// The name of a store.
pub(crate) struct StoreName;

impl Names for StoreName {
    fn schema() -> Value {
        json!({"pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]*$"})
    }
}

kind! {
    /// The prefix of the names of variables.
    pub(crate) struct Prefix: matching("^[^=*\\s\\p{Cc}]*$")
}
kind! {
    /// A program that prints a secret.
    pub(crate) struct Printing: json!({
        "type": "array",
        "items": {"type": "string"},
        "prefixItems": [{"type": "string", "pattern": "\\S", "not": {"pattern": "\\{(ref|version)\\}"}}],
        "contains": {"type": "string", "pattern": "\\{ref\\}"},
    })
}

/// Reads one store.
pub(super) fn read(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<SecretStore> {
    let named = is_store_name(&entry.key);
    if !named {
        let message = format!("`{}` is not a valid secret store name", entry.key.escape_debug());
        let fault = reader.about(&entry.key_span, "bad-name", message);
        reader.report(fault.help("a name has letters, digits, `_`, `.` and `-`, such as `vault`"));
    }
    let what = format!("the secret store `{}`", entry.key);
    let store = Store::open(reader, &entry.value, &what)?;
    let (file, env) = (store.node(Store::FILE), store.node(Store::ENV));
    let (command, driver) = (store.node(Store::COMMAND), store.node(Store::DRIVER));
    if [file, env, command, driver].iter().flatten().count() != 1 {
        reader.wrong_value(&entry.key_span, format!("{what} takes exactly one source"), ONE);
        return None;
    }
    // What belongs to another kind of store has no effect.
    let (of_command, of_driver) = (&["time"][..], &["values", "secrets"][..]);
    let misplaced = [(command, of_command), (driver, of_driver)].into_iter();
    for name in misplaced.filter(|(kind, _)| kind.is_none()).flat_map(|(_, names)| names) {
        if let Some(field) = entry.value.entry(name) {
            let message = format!("{what} has no field `{name}`");
            let owner = if of_command.contains(name) { "command" } else { "driver" };
            let fault = reader.about(&field.key_span, "unknown-field", message);
            reader.report(fault.help(format!("only a store with `{owner}` has it: leave it out")));
        }
    }
    let kind = if file.is_some() {
        store.read(reader, Store::FILE).map(|path| SecretStoreKind::File((&*path).into()))
    } else if let Some(node) = env {
        prefix(reader, node).map(SecretStoreKind::Env)
    } else if let Some(node) = command {
        let time = store.read(reader, Store::TIME);
        arguments(reader, node)
            .map(|(program, arguments)| SecretStoreKind::Command(SecretCommand { program, arguments, time }))
    } else {
        let (values, secrets) = (given(reader, &store, Store::VALUES), given(reader, &store, Store::SECRETS));
        let driver = driver.and_then(|node| driver_requirement(reader, node, "driver"));
        driver.map(|driver| {
            let secrets = secrets.into_iter().map(|(name, value)| (name, value.into_secret()));
            let secrets = purlin_model::Value::Map(secrets.collect());
            let values = purlin_model::Value::Map(values);
            SecretStoreKind::Driver(Box::new(SecretDriver { driver, values, secrets }))
        })
    };
    Some(SecretStore { kind: kind.filter(|_| named)?, location: reader.at(&entry.key_span) })
}

/// Letters, digits, `_`, `.` and `-`, so that it is the id of a resource, too.
pub(crate) fn is_store_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// The prefix of the names of variables; it may be empty.
fn prefix(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<String> {
    let text = reader.string(node, "`env`")?;
    if text.contains(|c: char| c == '=' || c == '*' || c.is_whitespace() || c.is_control()) {
        let message = format!("no environment variable begins with `{}`", text.escape_debug());
        let help = "write the prefix of the variables, such as `SHOP_`, or \"\" for none";
        reader.wrong_value(&node.span, message, help);
        return None;
    }
    Some(text.to_owned())
}

fn arguments(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<(String, Vec<String>)> {
    let words = reader.strings(node, "`command`")?;
    let mut words = words.into_iter().map(|(word, _)| word);
    let Some(program) = words.next().filter(|program| !program.trim().is_empty()) else {
        reader.wrong_value(&node.span, "`command` has no program", ONE);
        return None;
    };
    if program.contains("{ref}") || program.contains("{version}") {
        let help = "name the program in full; `{ref}` and `{version}` belong in its arguments";
        reader.wrong_value(&node.span, "the program of `command` depends on the secret", help);
        return None;
    }
    let arguments: Vec<String> = words.map(str::to_owned).collect();
    if !arguments.iter().any(|argument| argument.contains("{ref}")) {
        let help = "write `{ref}` in an argument, in place of the name of the secret";
        reader.wrong_value(&node.span, "`command` would print the same for every secret", help);
        return None;
    }
    Some((program.to_owned(), arguments))
}

/// A map that is passed to a driver as written.
fn given(reader: &mut Reader<'_>, store: &Opened<'_, '_, Store>, field: Field<Store, Object>) -> Map {
    let Some(node) = store.node(field) else { return Map::default() };
    if reader.map(node, &format!("`{}`", store.name(field))).is_none() {
        return Map::default();
    }
    no_placeholders(reader, node, "a secret store");
    match constant(node) {
        purlin_model::Value::Map(map) => map,
        _ => Map::default(),
    }
}

/// There is no resource in `what` that a placeholder could refer to.
pub(super) fn no_placeholders(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) {
    match &node.kind {
        NodeKind::String(text, _) if text.contains("${") => {
            let help = "write the value itself";
            reader.wrong_value(&node.span, format!("placeholders mean nothing in {what}"), help);
        }
        NodeKind::List(items) => items.iter().for_each(|item| no_placeholders(reader, item, what)),
        NodeKind::Map(entries) => {
            entries.iter().for_each(|entry| no_placeholders(reader, &entry.value, what))
        }
        _ => {}
    }
}

/// The faults of grants of stores that do not exist here.
pub(super) fn granted_unknown(
    reader: &Reader<'_>,
    drivers: &Node<'_>,
    stores: Option<&Node<'_>>,
) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for driver in drivers.entries().unwrap_or_default() {
        let Some(node) = driver.value.get("grants").and_then(|grants| grants.get("secrets")) else {
            continue;
        };
        let NodeKind::List(items) = &node.kind else { continue };
        let named = items.iter().filter_map(|item| Some((item.as_str()?, &item.span)));
        faults
            .extend(named.filter_map(|(name, span)| unknown(reader, "`grants.secrets`", name, span, stores)));
    }
    faults
}

/// The fault of a store that does not exist here, and which `what` names.
pub(super) fn unknown(
    reader: &Reader<'_>,
    what: &str,
    name: &str,
    span: &Span,
    stores: Option<&Node<'_>>,
) -> Option<Diagnostic> {
    let stores = stores.and_then(Node::entries).unwrap_or_default();
    if name.trim().is_empty() || stores.iter().any(|store| &*store.key == name) {
        return None;
    }
    let message = format!("{what} names the secret store `{name}`, which is not configured");
    let help = match stores.is_empty() {
        true => format!("configure it: `secret_stores: {{{name}: {{file: ./secrets}}}}`"),
        false => did_you_mean(name, "secret stores", stores.iter().map(|store| &*store.key)),
    };
    Some(reader.about(span, "unknown-store", message).help(help))
}
