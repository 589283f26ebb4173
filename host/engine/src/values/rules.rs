//! The rules in the schemas of resource types and drivers (SPEC §2, §8): the allowed params, inputs
//! and outputs, their defaults, and which of them are secret.
//!
//! A driver's schema is untrusted. Each schema is compiled once, and an unusable one is reported as
//! a fault of the driver. The engine knows no documents; the caller looks up where a value was
//! written, and only if there is a fault.

pub(crate) mod connection;
mod driver_schemas;
mod gather;
mod hiding;
mod misplaced;
mod schema_guard;
mod sealing;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use purlin_graph::{Graph, Node};
use purlin_model::driver::{InputFinding, Inputs, TypeSchema, keywords};
use purlin_model::{Diagnostic, DocumentPart, Location, Map, Path, ResourceType, SecretText, Spot, Value};
use purlin_schema::{Describes, Fault, Schema, Subject, Violation, say};

use crate::driver::Driver;
use crate::values::accounts;

use driver_schemas::DriverSchemas;
pub(crate) use gather::{by_place, once};
use hiding::{Checked, hiding};
pub(crate) use sealing::keep_secret;
pub use sealing::seal_outputs;

/// Looks up where values were written.
pub trait Places: fmt::Debug + Send + Sync {
    /// The location of the value at a JSON Pointer, or of its nearest existing parent; with `key`,
    /// the location of the value's name. Slow, so called only if there is a fault.
    fn find(&self, within: DocumentPart<'_>, pointer: &str, key: bool) -> Option<Spot>;

    /// The texts of the values at JSON Pointers, to hide them. Slow, too.
    fn texts_of(&self, within: DocumentPart<'_>, pointers: &[String]) -> Vec<SecretText>;
}

/// All rules from schemas. Empty by default.
#[derive(Debug, Default)]
pub struct SchemaRules {
    types: HashMap<Arc<str>, TypeRules>,
    places: Option<Arc<dyn Places>>,
    /// By the digest of the driver.
    drivers: Mutex<HashMap<String, DriverSchemas>>,
    /// Unusable schemas that were already reported.
    reported: Mutex<HashSet<DriverType>>,
}

/// The digest of a driver, and one of its schemas.
type DriverType = (String, String);
#[derive(Debug)]
struct TypeRules {
    params: Option<Schema>,
    outputs: Option<Schema>,
    location: Location,
}

impl SchemaRules {
    /// Takes the resource types and the locations. Unusable schemas were already reported when they
    /// were read.
    pub fn new(types: &[ResourceType], places: Option<Arc<dyn Places>>) -> Self {
        let usable = |schema: &Option<serde_json::Value>| Schema::new(schema.as_ref()?).ok();
        let rules = |one: &ResourceType| TypeRules {
            params: usable(&one.params),
            outputs: usable(&one.outputs),
            location: one.location.clone(),
        };
        Self {
            types: types.iter().map(|one| (Arc::from(one.type_name.as_str()), rules(one))).collect(),
            places,
            ..Self::default()
        }
    }

    /// Whether any resource type has secret params.
    pub fn has_secret_params(&self) -> bool {
        let secrets = |one: &TypeRules| one.params.as_ref().is_some_and(Schema::has_secrets);
        self.types.values().any(secrets)
    }

    /// Adds the location to a fault, as close to the value as possible.
    pub(crate) fn at(
        &self,
        fault: Diagnostic,
        within: DocumentPart<'_>,
        pointer: &str,
        key: bool,
    ) -> Diagnostic {
        match self.places.as_ref().and_then(|places| places.find(within, pointer, key)) {
            Some(Spot { location, length, .. }) => fault.at(&location).spanning(length as usize),
            None => fault.at(within.location()),
        }
    }

    /// Where the value at a pointer is written.
    pub(crate) fn place(&self, within: DocumentPart<'_>, pointer: &str) -> Option<Spot> {
        self.places.as_ref()?.find(within, pointer, false)
    }

    /// The params that violate the schema of their type.
    pub(crate) fn params(&self, graph: &Graph, node: Node<'_>, params: &Value) -> Vec<Diagnostic> {
        let name = node.key.type_name();
        let of_bundle;
        let (schema, rule) = match (node.installation, self.types.get(name)) {
            (Some(installation), _) => {
                of_bundle = Schema::new(&installation.schema);
                let Ok(schema) = &of_bundle else { return Vec::new() };
                (schema, None)
            }
            (None, Some(TypeRules { params: Some(schema), location, .. })) => (schema, Some(location)),
            (None, _) => return Vec::new(),
        };
        let written = graph.params_written(node.id).unwrap_or(DocumentPart::Params(&node.recipe.location));
        let violations = match schema.validate(params) {
            Ok(violations) => violations,
            Err(error) => {
                let message = format!("the params of `{}` cannot be checked: {error}", node.key);
                return vec![self.at(Diagnostic::error("params", message), written, "", false)];
            }
        };
        let fault = |violation: &Violation| {
            let of = node.installation.and(node.recipe.name.as_deref()).unwrap_or(name);
            let fault = worded("params", Subject::Params(of), violation);
            let fault = self.at(fault, written, &violation.at, is_about_a_name(&violation.fault));
            match rule {
                Some(location) => self.with_rule(fault, location, "params", violation),
                None => fault,
            }
        };
        let of = Checked { type_name: name, params: Some((written, params)), inputs: None };
        hiding(violations.iter().map(fault).collect(), || self.secret_texts(&of))
    }

    /// Adds the location of the violated rule in the document of the resource type.
    fn with_rule(
        &self,
        fault: Diagnostic,
        location: &Location,
        part: &str,
        violation: &Violation,
    ) -> Diagnostic {
        // No single line of a schema rejects an unknown name.
        if matches!(violation.fault, Fault::Unknown { .. }) {
            return fault;
        }
        let pointer = format!("/{part}{}", violation.rule);
        let spot = self
            .places
            .as_ref()
            .and_then(|places| places.find(DocumentPart::ResourceType(location), &pointer, true));
        let keyword = violation.rule.rsplit('/').next().unwrap_or_default();
        let limit = match &violation.fault {
            Fault::Minimum(limit)
            | Fault::ExclusiveMinimum(limit)
            | Fault::Maximum(limit)
            | Fault::ExclusiveMaximum(limit)
            | Fault::MultipleOf(limit) => format!("`{keyword}: {limit}`"),
            Fault::Fewer { least, .. } => format!("`{keyword}: {least}`"),
            Fault::More { most, .. } => format!("`{keyword}: {most}`"),
            _ => format!("`{keyword}`"),
        };
        match spot {
            Some(spot) => fault.related(&spot.location, format!("{limit} is set here")),
            None => fault,
        }
    }

    /// The inputs that violate the schema of their driver.
    pub(crate) fn inputs(
        &self,
        graph: &Graph,
        node: Node<'_>,
        driver: &dyn Driver,
        inputs: &Inputs,
    ) -> Vec<Diagnostic> {
        let recipe = node.recipe;
        let written = graph.params_written(node.id);
        self.held_inputs(
            driver,
            node.key.type_name(),
            inputs,
            &recipe.location,
            &recipe.driver.location,
            written,
        )
    }

    /// Checks inputs without a resource.
    pub(crate) fn held_inputs(
        &self,
        driver: &dyn Driver,
        type_name: &str,
        inputs: &Inputs,
        definition: &Location,
        required_at: &Location,
        params: Option<DocumentPart<'_>>,
    ) -> Vec<Diagnostic> {
        let schema = match self.of_driver(driver, type_name) {
            Some(Ok(schema)) => schema,
            Some(Err(reason)) => {
                return self.unusable(driver, type_name, required_at, (Describes::Inputs, &reason));
            }
            None => return Vec::new(),
        };
        // Whatever the outputs are, they are there only once the resource is.
        if let Some(Err(reason)) = self.outputs_of_driver(driver, type_name) {
            return self.unusable(driver, type_name, required_at, (Describes::Outputs, &reason));
        }
        let filled = match accounts::known(driver, type_name, inputs) {
            Ok(filled) => filled,
            Err(fault) => return vec![fault.at(definition)],
        };
        let violations = match schema.validate(&document(driver, type_name, &filled)) {
            Ok(violations) => violations,
            Err(error) => {
                let message =
                    format!("the inputs cannot be checked by the schema of `{}`: {error}", driver.known_as());
                return vec![Diagnostic::error("invalid-inputs", message).at(definition)];
            }
        };
        let fault = |violation: &Violation| {
            let fault = worded("invalid-inputs", Subject::Inputs(driver.known_as()), violation);
            let is_of_account = |field: &str| filled.connection.get(field) != inputs.connection.get(field);
            let in_connection = violation.at.strip_prefix("/connection/");
            let of_account =
                in_connection.is_some_and(|rest| rest.split('/').next().is_some_and(is_of_account));
            if of_account || violation.at == "/account" || violation.at.starts_with("/account/") {
                return accounts::advised(fault.at(definition), driver, inputs);
            }
            let fault = match misplaced::help(driver, type_name, inputs, violation) {
                Some(help) => fault.help(help),
                None => fault,
            };
            let fault = match (&inputs.account, &violation.fault) {
                (Some(account), Fault::Missing { name, .. })
                    if violation.at == "/connection" && may_fill(driver, type_name, name) =>
                {
                    fault.fact(format!("the account `{account}` does not have it either"))
                }
                _ => fault,
            };
            let (within, pointer) = place_of(&violation.at, definition, params);
            self.at(fault, within, pointer, is_about_a_name(&violation.fault))
        };
        let of = Checked {
            type_name,
            params: params.map(|written| (written, &inputs.params)),
            inputs: Some((driver, inputs, definition)),
        };
        hiding(violations.iter().map(fault).collect(), || self.secret_texts(&of))
    }

    /// The inputs that a driver reports as invalid, with their locations, both during planning and
    /// during a run. `of` is the resource; `None` if the documents do not contain it. Its inputs may not
    /// be known.
    pub(crate) fn reported(
        &self,
        of: Option<(&Graph, Node<'_>)>,
        driver: &dyn Driver,
        inputs: Option<&Inputs>,
        invalid: &[InputFinding],
    ) -> Vec<Diagnostic> {
        let fault = |pointer: &str, message: &str| {
            let name = input_name(pointer);
            let written = of
                .map(|(graph, node)| place_of(pointer, &node.recipe.location, graph.params_written(node.id)));
            let find = |(within, pointer)| self.places.as_ref()?.find(within, pointer, false);
            let spot = written.filter(|_| !name.is_empty()).and_then(find);
            let (spot, message) = match spot {
                Some(spot) => {
                    let (spot, message) = spot.of_line(message);
                    (Some(spot), message)
                }
                None => (None, message),
            };
            let what = match (name.is_empty(), message.is_empty()) {
                (true, true) => "invalid inputs".to_owned(),
                (true, false) => format!("invalid inputs: {message}"),
                (false, _) => format!("invalid input `{name}`: {message}"),
            };
            let fault = Diagnostic::error("invalid-inputs", what);
            let reporter = format!("reported by the driver `{}`", driver.known_as());
            let Some(((_, node), (within, _))) = of.zip(written) else { return fault.fact(reporter) };
            let fault = match spot {
                Some(Spot { location, length, .. }) => fault.at(&location).spanning(length as usize),
                None if name.is_empty() => fault.at(&node.recipe.location),
                None => fault.at(within.location()),
            };
            // A fault in a definition affects all its resources and is reported once.
            fault.fact(match within {
                DocumentPart::Definition(_) => reporter,
                _ => format!("{reporter} for `{}`", node.key),
            })
        };
        let faults = match invalid {
            [] => vec![fault("", "")],
            some => some.iter().map(|input| fault(&input.pointer, &input.message)).collect(),
        };
        let Some(((graph, node), inputs)) = of.zip(inputs) else { return faults };
        let of = Checked {
            type_name: node.key.type_name(),
            params: graph.params_written(node.id).map(|written| (written, &inputs.params)),
            inputs: Some((driver, inputs, &node.recipe.location)),
        };
        hiding(faults, || self.secret_texts(&of))
    }

    /// Fills in the defaults of a driver's schema. An existing resource that was created without a
    /// default keeps going without it, since a default is no reason for a change. A new map gets
    /// all of its defaults.
    pub(crate) fn fill(
        &self,
        driver: &dyn Driver,
        type_name: &str,
        inputs: &mut Inputs,
        before: Option<&Inputs>,
    ) {
        let Some(Ok(schema)) = self.of_driver(driver, type_name) else { return };
        let wanted = |pointer: &str| before.is_none_or(|before| is_wanted(&before.values, pointer));
        schema.fill(&["values"], &mut inputs.values, &wanted);
    }

    /// The violations of the output schemas of the resource type and of the driver, one fragment
    /// each. A resource type allows additional outputs, since no document can read them.
    pub(crate) fn outputs(&self, driver: &dyn Driver, type_name: &str, outputs: &Value) -> Vec<String> {
        let mut broken = Vec::new();
        if let Some(schema) = self.types.get(type_name).and_then(|one| one.outputs.as_ref()) {
            let is_broken = |violation: &Violation| !matches!(violation.fault, Fault::Unknown { .. });
            broken.extend(broken_promises(type_name, schema, outputs, is_broken));
        }
        // The outputs of a driver that returns its inputs are not declared.
        let is_about_outputs = |schema: &&TypeSchema| {
            schema.outputs != serde_json::Value::Bool(true)
                && schema.outputs.get(keywords::OUTPUTS).is_none_or(|outputs| outputs != "inputs")
        };
        let own = driver.info().schema(type_name).filter(is_about_outputs);
        match own.and_then(|schema| self.outputs_of_driver(driver, &schema.type_name)) {
            None => {}
            Some(Ok(schema)) => {
                broken.extend(broken_promises(driver.known_as(), &schema, outputs, |_| true));
            }
            Some(Err(reason)) => broken.push(format!("their schema cannot be used: {reason}")),
        }
        broken
    }

    /// Marks the outputs as secret that the resource type or the driver declares secret.
    pub(crate) fn seal_outputs(&self, type_name: &str, driver: &dyn Driver, outputs: Value) -> Value {
        let outputs = match self.types.get(type_name).and_then(|one| one.outputs.as_ref()) {
            Some(schema) => schema.seal(outputs),
            None => outputs,
        };
        let own = driver.info().schema(type_name);
        match own
            .filter(|schema| sealing::has_secret_keyword(&schema.outputs))
            .and_then(|schema| self.outputs_of_driver(driver, &schema.type_name))
        {
            Some(Ok(schema)) => schema.seal(outputs),
            // Some output is secret, but it is unknown which.
            Some(Err(_)) => outputs.into_secret(),
            None => outputs,
        }
    }

    /// Whether any outputs of a driver may be secret.
    pub(crate) fn seals_outputs_of(&self, driver: &dyn Driver) -> bool {
        self.types.values().any(|one| one.outputs.as_ref().is_some_and(Schema::has_secrets))
            || driver.info().types.iter().any(|schema| sealing::has_secret_keyword(&schema.outputs))
    }

    /// Whether a resource can have an input at a path, such as `["values", "size"]`, by the schema of
    /// its driver or its type: `None` if neither says so.
    pub(crate) fn has_input(&self, driver: &dyn Driver, type_name: &str, path: &[&str]) -> Option<bool> {
        let of_driver = match self.of_driver(driver, type_name) {
            Some(Ok(schema)) => schema.has_place(path.iter().copied()),
            _ => None,
        };
        let of_type = path.split_first().filter(|(root, _)| **root == "params").and_then(|(_, rest)| {
            self.types.get(type_name)?.params.as_ref()?.has_place(rest.iter().copied())
        });
        match (of_driver, of_type) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (known, other) => known.or(other),
        }
    }

    /// The params that a developer gives a resource and that nothing reads, each as a remark at its
    /// place. A param that the resource type describes is meant for other definitions of the type.
    pub(crate) fn unread(&self, graph: &Graph, node: Node<'_>, params: &Value) -> Vec<Diagnostic> {
        let of_type = self.types.get(node.key.type_name()).and_then(|one| one.params.as_ref());
        let is_described = |name: &str| of_type.is_some_and(|schema| schema.has_place([name]) == Some(true));
        let unread = graph.params_not_named(node.id).iter();
        let unread: Vec<&Arc<str>> = unread.filter(|name| !is_described(name)).collect();
        let Some(written) = graph.params_written(node.id).filter(|_| !unread.is_empty()) else {
            return Vec::new();
        };
        let definition = node.recipe.name.as_deref().unwrap_or(node.key.type_name());
        let remark = |name: &Arc<str>| {
            let message = format!(
                "nothing reads the param `{name}`: neither the definition `{definition}` nor its driver"
            );
            let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            self.at(Diagnostic::warning("unread-param", message), written, &pointer, true)
                .help("remove it, or read it in the definition: a change of it changes nothing")
        };
        let params = Some((written, params));
        let of = Checked { type_name: node.key.type_name(), params, inputs: None };
        hiding(unread.into_iter().map(remark).collect(), || self.secret_texts(&of))
    }

    fn unusable(
        &self,
        driver: &dyn Driver,
        type_name: &str,
        required_at: &Location,
        (describes, why): (Describes, &str),
    ) -> Vec<Diagnostic> {
        let name = (driver.digest().to_owned(), type_name.to_owned());
        if !self.reported.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
            return Vec::new();
        }
        let message = format!(
            "the driver `{}` has a schema of {describes} that cannot be used: {why}",
            driver.known_as()
        );
        let help = "use another version of the driver, or ask its author to correct the schema";
        vec![Diagnostic::error("driver-schema", message).at(required_at).help(help)]
    }
}

impl purlin_graph::SecretParams for SchemaRules {
    fn seal(&self, type_name: &str, path: &Path, value: Value) -> Value {
        match self.types.get(type_name).and_then(|one| one.params.as_ref()) {
            Some(schema) => schema.seal_at(path.0.iter().map(|segment| &**segment), value),
            None => value,
        }
    }
}

/// What outputs lack that a resource type or a driver promises.
fn broken_promises(
    who: &str,
    schema: &Schema,
    outputs: &Value,
    counts: impl Fn(&Violation) -> bool,
) -> Vec<String> {
    match schema.validate(outputs) {
        Ok(violations) => {
            let broken = violations.iter().filter(|violation| counts(violation));
            broken.map(|violation| say(Subject::Outputs(who), violation).message).collect()
        }
        Err(error) => vec![format!("the outputs cannot be checked: {error}")],
    }
}

/// The violations of a driver's own schema of outputs, for a caller without documents.
pub fn check_outputs(driver: &dyn Driver, type_name: &str, outputs: &Value) -> Vec<String> {
    SchemaRules::default().outputs(driver, type_name, outputs)
}

/// Fills in the defaults of a driver's own schema and marks the secret parts of a connection, as a
/// deployment does. Returns the violations of the schema, without places. For a caller without
/// documents.
pub fn check_inputs(driver: &dyn Driver, type_name: &str, inputs: &mut Inputs) -> Vec<Diagnostic> {
    let (rules, nowhere) = (SchemaRules::default(), Location::default());
    let faults = rules.held_inputs(driver, type_name, inputs, &nowhere, &nowhere, None);
    if let Some(schema) = driver.info().schema(type_name) {
        schema.limit_account(inputs);
    }
    rules.fill(driver, type_name, inputs, None);
    rules.connect(driver, type_name, inputs);
    faults.into_iter().map(|fault| Diagnostic { location: None, ..fault }).collect()
}

fn worded(code: &'static str, subject: Subject<'_>, violation: &Violation) -> Diagnostic {
    let wording = say(subject, violation);
    let fault = Diagnostic::error(code, wording.message);
    let fault = wording.notes.into_iter().fold(fault, Diagnostic::fact);
    match wording.help {
        Some(help) => fault.help(help),
        None => fault,
    }
}

/// Whether a fault concerns the name of an entry rather than its value.
fn is_about_a_name(fault: &Fault) -> bool {
    matches!(fault, Fault::Unknown { .. } | Fault::Name { .. } | Fault::Forbidden | Fault::Missing { .. })
}

/// Whether an account may have a field of the connection.
fn may_fill(driver: &dyn Driver, type_name: &str, field: &str) -> bool {
    driver.info().schema(type_name).is_some_and(|schema| schema.account_in_connection().contains(&field))
}

/// The text that a pointer into `{values, secrets, params}` leads to, and the rest of the pointer.
fn place_of<'a, 'p>(
    pointer: &'p str,
    definition: &'a Location,
    params: Option<DocumentPart<'a>>,
) -> (DocumentPart<'a>, &'p str) {
    match (pointer.strip_prefix("/params"), params) {
        (Some(rest), Some(params)) if rest.is_empty() || rest.starts_with('/') => (params, rest),
        _ => (DocumentPart::Definition(definition), pointer),
    }
}

/// Whether to fill in a default at a pointer, given the previous values.
fn is_wanted(before: &Value, pointer: &str) -> bool {
    let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
    let plain = |segment: &str| segment.replace("~1", "/").replace("~0", "~");
    let mut map = Some(before.clone());
    for segment in parent.split('/').skip(1) {
        map = map.and_then(|map| map.get(&plain(segment)));
    }
    map.is_none_or(|map| matches!(map, Value::Null) || map.get(&plain(name)).is_some())
}

/// The name of an input for messages.
fn input_name(pointer: &str) -> String {
    let below = ["/values/", "/secrets/", "/params/", "/connection/", "/account/"]
        .iter()
        .find_map(|root| pointer.strip_prefix(root));
    let segments = below.unwrap_or(pointer.trim_start_matches('/')).split('/');
    let segments = segments.map(|segment| segment.replace("~1", "/").replace("~0", "~"));
    segments.collect::<Vec<_>>().join(".")
}

/// The document that a schema of inputs describes. Secrets and params that are absent appear as
/// empty if the schema mentions them; an account is there only if the schema mentions it.
fn document(driver: &dyn Driver, type_name: &str, inputs: &Inputs) -> Value {
    let spoken = driver.info().schema(type_name).and_then(|schema| schema.inputs.get("properties"));
    let mut map = Map::with_capacity(4);
    for (name, value) in [
        ("values", &inputs.values),
        ("secrets", &inputs.secrets),
        ("params", &inputs.params),
        ("connection", &inputs.connection),
        ("account", &inputs.account_fields),
    ] {
        let is_empty = matches!(value, Value::Null) || value.as_map().is_some_and(|map| map.is_empty());
        let is_spoken_of = spoken.is_some_and(|all| all.get(name).is_some());
        if name == "values" || !is_empty && name != "account" || is_spoken_of {
            let value = if matches!(value, Value::Null) { Value::map() } else { value.clone() };
            map.insert(name.into(), value);
        }
    }
    Value::Map(map)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_new_default_does_not_change_existing_resources() {
        let before = Value::from(json!({"a": {"known": 1, "list": [{"known": 1}]}, "b": null}));
        for (pointer, wanted) in [
            ("/a/known", true),
            ("/a/other", false),
            ("/other", false),
            ("/b/other", true),
            ("/c/other", true),
            ("/a/list/0/known", true),
            ("/a/list/0/other", false),
            ("/a/list/1/other", true),
        ] {
            assert_eq!(is_wanted(&before, pointer), wanted, "{pointer}");
        }
        assert!(is_wanted(&Value::Null, "/a"));
    }
}
