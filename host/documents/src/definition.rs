//! Definitions in their three envelopes (SPEC §2, §3 [D]).

use std::sync::{Arc, LazyLock};

use purlin_expression::{Dialect, parse_descriptor};
use purlin_model::{
    Class, Criterion, Definition, Descriptor, Diagnostic, DriverRequirement, Lifecycle, Provision, Recipe,
    Requirement, Severity, Template,
};
use purlin_range::Range;
use serde_json::{Value, json};

use crate::declare::{Declared, Field, Form, Kind, Opened, Read, form};
use crate::kinds::{Anything, DRIVER, Either, Flag, List, MapOf, Names, Object, Text, kind, matching};
use crate::lifecycle::OfDefinition;
use crate::reader::Reader;
use crate::requirement;
use crate::shape::{is_criteria, is_provision};
use crate::template::template;
use crate::yaml::{Entry, Node, NodeKind, Span};

form! {
    /// How a resource type is provisioned, and in which contexts.
    pub(crate) struct Document {
        /// The identity of the document.
        METADATA: Metadata = needed "metadata", "{id: NAME}";
        /// The recipe and its criteria.
        SPEC: Body = needed "spec" or "entity" or "object", "{type: TYPE, driver: ORG/NAME}";
        /// When the definition is used. Without a criterion, it is never used.
        CRITERIA: Criteria = "criteria", "[{env_id: dev}]";
    }

    const HEAD: Option<(&'static str, &'static str)> = Some(("Definition", "Purlin definition"));

    /// One place for criteria is enough.
    fn constrain(schema: &mut Value) {
        schema["not"] = json!({
            "required": ["criteria"],
            "properties": {"spec": {"required": ["criteria"]}},
        });
    }
}

form! {
    /// The identity of the document.
    pub(crate) struct Metadata {
        /// Id, unique among definitions.
        ID: Text = needed "id", "NAME";
    }

    const WITHIN: &'static str = "metadata.";
}

form! {
    /// The recipe and its criteria.
    pub(crate) struct Body {
        /// Resource type, or a pattern with `*`.
        TYPE: Text = needed "type" matching "^[A-Za-z0-9*][A-Za-z0-9_/*-]*$", "TYPE";
        /// Driver `ORG/NAME`, optionally with `@RANGE` for its versions.
        DRIVER: DriverRange = needed "driver" or "driver_type", "ORG/NAME";
        /// Account that the driver uses.
        DRIVER_ACCOUNT: Text = "driver_account";
        /// Inputs of the driver.
        INPUTS: Inputs = "inputs" or "driver_inputs", "{values: {NAME: VALUE}}";
        /// Resources that this definition adds whenever it is used, by descriptor.
        PROVISION: MapOf<AnyName, Added> = "provision", "{TYPE: {}}";
        /// When the definition is used. Without a criterion, it is never used.
        CRITERIA: Criteria = "criteria", "[{env_id: dev}]";
        /// Settings for replacing and deleting.
        LIFECYCLE: OfDefinition = "lifecycle" or "", "{protect: true}";
        /// The bundles that each of its resources requires.
        REQUIRES: List<requirement::InDeployment> = "requires" or "";
        /// A name for people in other formats.
        NAME: Anything = "" or "name";
    }
}

form! {
    /// Inputs of the driver.
    pub(crate) struct Inputs {
        /// Inputs that are not secret.
        VALUES: Object = "values", "{NAME: VALUE}";
        /// Secret inputs.
        SECRETS: Object = "secrets", "{NAME: VALUE}";
        /// How the driver reaches the system: server, credentials, CA. Leaves `{store, ref, version}` are
        /// secrets of a store.
        CONNECTION: Object = "connection", "{NAME: VALUE}";
        /// Secrets by reference: leaves `{store, ref, version}` or `{value}`.
        SECRET_REFS: Object = "secret_refs", "{NAME: {store: STORE, ref: NAME}}";
    }

    fn constrain(schema: &mut Value) {
        schema["not"] = json!({"required": ["secrets", "secret_refs"]});
    }
}

form! {
    /// The dependencies of the added resource.
    pub(crate) struct Added {
        /// Whether it depends on its co-provisioner.
        IS_DEPENDENT: Flag = "is_dependent" default "false";
        /// Whether resources that depend on the co-provisioner also depend on it.
        MATCH_DEPENDENTS: Flag = "match_dependents" default "false";
        /// Its params.
        PARAMS: Object = "params", "{NAME: VALUE}";
    }
}

form! {
    /// Matches if every given field equals the context.
    pub(crate) struct Condition {
        /// Type of the environment; weight 1.
        ENV_TYPE: Text = "env_type";
        /// Application; weight 2.
        APP_ID: Text = "app_id";
        /// Environment; weight 4.
        ENV_ID: Text = "env_id";
        /// Id of the resource; weight 8.
        RES_ID: Text = "res_id";
        /// Class of the resource.
        CLASS: Class = "class" default "default";
    }

    const STRICT: bool = true;
}

/// A list of criteria, or one of them.
type Criteria = Either<List<Condition>, Condition>;

kind! {
    /// A driver, optionally with a range of its versions.
    pub(crate) struct DriverRange: matching(&format!("^{DRIVER}(@.+)?$"))
}
kind! {
    /// A range of versions.
    pub(crate) struct VersionRange: Text::schema()
}

/// The name of a driver.
pub(crate) struct DriverName;

impl Names for DriverName {
    fn schema() -> Value {
        json!({"pattern": format!("^{DRIVER}$")})
    }
}

/// A name that the reader alone checks.
pub(crate) struct AnyName;

impl Names for AnyName {
    fn schema() -> Value {
        json!({})
    }
}

/// The names of the fields of definitions at all levels, in our own envelope or in another one.
pub(crate) fn vocabulary(foreign: bool) -> &'static [&'static str] {
    fn collect(fields: &'static [Declared], foreign: bool, names: &mut Vec<&'static str>) {
        for field in fields {
            names.extend(field.names(foreign).0);
            collect(field.fields, foreign, names);
        }
    }
    static NAMES: [LazyLock<Vec<&'static str>>; 2] = [
        LazyLock::new(|| {
            let mut names = Vec::new();
            collect(Document::FIELDS, false, &mut names);
            names
        }),
        LazyLock::new(|| {
            let mut names = Vec::new();
            collect(Document::FIELDS, true, &mut names);
            names
        }),
    ];
    &NAMES[usize::from(foreign)]
}

/// Reads a definition.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>) -> Option<Definition> {
    let document = Document::open(reader, root, "the definition")?;
    let metadata = document.node(Document::METADATA);
    let id =
        metadata.and_then(|node| Metadata::open(reader, node, "`metadata`")?.placed(reader, Metadata::ID));
    let node = document.node(Document::SPEC);
    let body = node.and_then(|node| {
        body(reader, node, document.name(Document::SPEC), document.entry(Document::CRITERIA))
    });
    let ((id, location), body) = (id?, body?);
    let recipe = Recipe {
        name: Some(id.clone()),
        driver: body.driver,
        account: body.account,
        values: body.inputs.values,
        secrets: body.inputs.secrets,
        secret_refs: body.inputs.secret_refs,
        connection: body.inputs.connection,
        promoted: None,
        provision: body.provision,
        requires: body.requires,
        lifecycle: body.lifecycle,
        location: location.clone(),
    };
    Some(Definition {
        id,
        type_pattern: body.type_pattern,
        recipe: Arc::new(recipe),
        criteria: body.criteria,
        location,
    })
}

struct ReadBody {
    type_pattern: Arc<str>,
    driver: DriverRequirement,
    account: Option<Template>,
    inputs: ReadInputs,
    provision: Vec<Provision>,
    requires: Vec<Requirement>,
    criteria: Vec<Criterion>,
    lifecycle: Lifecycle,
}

fn body(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    name: &str,
    outer_criteria: Option<&Entry<'_>>,
) -> Option<ReadBody> {
    // The placeholders that are allowed depend on whether anything is required.
    let dialect = match node.get("requires") {
        _ if reader.foreign => Dialect::Humanitec,
        Some(_) => Dialect::Requiring,
        None => Dialect::Definition,
    };
    let body = Body::open(reader, node, &format!("`{name}`"))?;
    let type_pattern = body.node(Body::TYPE).and_then(|node| type_pattern(reader, node));
    let driver = body.node(Body::DRIVER);
    let driver = driver.and_then(|node| driver_requirement(reader, node, body.name(Body::DRIVER)));
    let account = body.node(Body::DRIVER_ACCOUNT).and_then(|node| {
        reader.text(node, "`driver_account`")?;
        Some(template(reader, node, dialect))
    });
    let inputs = body.node(Body::INPUTS);
    let inputs = inputs.and_then(|node| inputs_of(reader, node, body.name(Body::INPUTS), dialect));
    let provision = body.node(Body::PROVISION).map(|node| provisions(reader, node, dialect));
    let criteria = criteria(reader, body.entry(Body::CRITERIA), outer_criteria);
    let lifecycle = body.node(Body::LIFECYCLE).map(|node| crate::lifecycle::of_definition(reader, node));
    let requires = body.node(Body::REQUIRES).map(|node| requirement::requirements(reader, node, dialect));
    Some(ReadBody {
        type_pattern: type_pattern?,
        driver: driver?,
        account,
        inputs: inputs.unwrap_or_default(),
        provision: provision.unwrap_or_default(),
        requires: requires.unwrap_or_default(),
        criteria,
        lifecycle: lifecycle.unwrap_or_default(),
    })
}

fn type_pattern(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Arc<str>> {
    let text = reader.text(node, "`type`")?;
    // With a letter for every `*`, a pattern has to be a type.
    match purlin_model::TypeName::new(text.replace('*', "x")) {
        Ok(_) => Some(text.into()),
        Err(_) => {
            let error = purlin_model::NameError::Type(text.into());
            let fault = reader.about(&node.span, "bad-name", error.to_string());
            let class = text.split_once('.').filter(|(name, class)| {
                purlin_model::TypeName::new(name).is_ok() && Class::new(class).is_ok()
            });
            reader.report(fault.help(match class {
                Some((name, class)) => {
                    format!("write `type: {name}`, and the class into the criteria: `criteria: [{{class: {class}}}]`")
                }
                None => "write a type such as `postgres`, or a pattern such as `aws-*`".to_owned(),
            }));
            None
        }
    }
}

/// `ORG/NAME`, optionally with `@RANGE`.
pub(crate) fn driver_requirement(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    field: &str,
) -> Option<DriverRequirement> {
    let text = reader.text(node, &format!("`{field}`"))?;
    let (name, range) = match text.split_once('@') {
        Some((name, range)) => (name, Some(range)),
        None => (text, None),
    };
    if !is_driver_name(name) {
        let fault = bad_driver_name(reader, &node.span, name);
        reader.report(fault.help("a driver is `ORG/NAME`, or `ORG/NAME@RANGE` such as `acme/postgres@^1`"));
        return None;
    }
    let range = match range {
        Some(text) if text.trim().is_empty() => {
            let fault = reader.about(&node.span, "bad-version", "the version range after `@` is missing");
            reader.report(fault.help("write a range such as `@^1`, or leave the `@` out for any version"));
            return None;
        }
        Some(text) => Some(range_of(reader, node, text)?),
        None => None,
    };
    Some(DriverRequirement { name: name.into(), range, location: reader.at(&node.span) })
}

/// A range of versions, as a node or as a part of its text.
pub(crate) fn range_of(reader: &mut Reader<'_>, node: &Node<'_>, text: &str) -> Option<Range> {
    match Range::parse(text) {
        Ok(range) => Some(range),
        Err(error) => {
            let message = format!("`{text}` is not a version range: {error}");
            let fault = reader.about(&node.span, "bad-version", message);
            reader.report(fault.help(error.help));
            None
        }
    }
}

impl Read for VersionRange {
    type Value = Range;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Range> {
        let text = reader.text(node, what)?;
        range_of(reader, node, text)
    }
}

/// Checks a key that has to be the name of a driver.
pub(crate) fn check_driver_name(reader: &mut Reader<'_>, entry: &Entry<'_>) {
    if !is_driver_name(&entry.key) {
        let fault = bad_driver_name(reader, &entry.key_span, &entry.key);
        reader.report(fault.help("a driver is `ORG/NAME`, such as `acme/postgres`"));
    }
}

fn bad_driver_name(reader: &Reader<'_>, span: &Span, name: &str) -> Diagnostic {
    reader.about(span, "bad-name", format!("`{name}` is not a valid driver name"))
}

/// Whether a driver can have this name: letters, digits, `_`, `.` and `-` between slashes.
pub fn is_driver_name(name: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
    };
    name.split('/').all(part)
}

#[derive(Default)]
struct ReadInputs {
    values: Template,
    secrets: Template,
    secret_refs: Option<Template>,
    connection: Option<Template>,
}

fn inputs_of(reader: &mut Reader<'_>, node: &Node<'_>, name: &str, dialect: Dialect) -> Option<ReadInputs> {
    let inputs = Inputs::open(reader, node, &format!("`{name}`"))?;
    let values = map_of(reader, &inputs, Inputs::VALUES, dialect);
    let secrets = map_of(reader, &inputs, Inputs::SECRETS, dialect);
    let secret_refs = map_of(reader, &inputs, Inputs::SECRET_REFS, dialect);
    let connection = map_of(reader, &inputs, Inputs::CONNECTION, dialect);
    let (first, second) = (inputs.entry(Inputs::SECRETS), inputs.entry(Inputs::SECRET_REFS));
    if let (Some(first), Some(second)) = (first, second)
        && secrets.is_some()
        && secret_refs.is_some()
    {
        let fault = reader
            .about(&second.key_span, "secrets-twice", "`secrets` and `secret_refs` cannot both be given")
            .related(&reader.at(&first.key_span), "`secrets` is given here")
            .help("keep one of them; a secret known here is `{value: …}` in `secret_refs`");
        reader.report(fault);
    }
    if let Some(entry) = second {
        secret_leaves(reader, &entry.value, true);
    }
    let (values, secrets) = (values.unwrap_or_default(), secrets.unwrap_or_default());
    Some(ReadInputs { values, secrets, secret_refs, connection })
}

/// A map of any values with placeholders. What belongs beside `type` has no effect in it.
fn map_of<F: Form>(
    reader: &mut Reader<'_>,
    fields: &Opened<'_, '_, F>,
    field: Field<F, Object>,
    dialect: Dialect,
) -> Option<Template> {
    let node = fields.node(field)?;
    let name = fields.name(field);
    let entries = reader.map(node, &format!("`{name}`"))?;
    reader.no_empty(
        entries,
        &["criteria", "provision"],
        name,
        "it belongs beside `type`: check its indentation",
    );
    for entry in entries {
        let criteria = &*entry.key == "criteria" && is_criteria(&entry.value);
        if criteria || (&*entry.key == "provision" && is_provision(&entry.value)) {
            reader.misplaced(entry, name, "it belongs beside `type`: check its indentation");
        }
    }
    Some(template(reader, node, dialect))
}

/// Checks that every leaf of `secret_refs` is `{store, ref, version}` or `{value}`.
fn secret_leaves(reader: &mut Reader<'_>, node: &Node<'_>, top: bool) {
    const FORM: &str = "a leaf is `{store: STORE, ref: NAME, version: VERSION}` or `{value: TEXT}`";
    match &node.kind {
        NodeKind::Null if top => {}
        NodeKind::Map(entries) => {
            let scalar = |name| node.get(name).is_some_and(|node: &Node<'_>| node.as_str().is_some());
            if !top && (scalar("ref") || scalar("store") || node.get("value").is_some_and(is_scalar)) {
                let allowed: &[&str] =
                    if scalar("ref") || scalar("store") { &["store", "ref", "version"] } else { &["value"] };
                for entry in entries.iter().filter(|entry| !allowed.contains(&&*entry.key)) {
                    let message = format!("`{}` does not belong in this secret reference", entry.key);
                    reader.wrong_value(&entry.key_span, message, FORM);
                }
                if scalar("store") && !scalar("ref") {
                    reader.wrong_value(&node.span, "this secret reference lacks `ref`", FORM);
                }
            } else {
                entries.iter().for_each(|entry| secret_leaves(reader, &entry.value, false));
            }
        }
        NodeKind::List(items) => items.iter().for_each(|item| secret_leaves(reader, item, false)),
        _ => {
            let message = format!("a secret reference is a map, not {}", node.describe());
            reader.wrong_value(&node.span, message, FORM);
        }
    }
}

fn is_scalar(node: &Node<'_>) -> bool {
    !matches!(node.kind, NodeKind::Map(_) | NodeKind::List(_))
}

fn provisions(reader: &mut Reader<'_>, node: &Node<'_>, dialect: Dialect) -> Vec<Provision> {
    let entries = reader.map(node, "`provision`").unwrap_or_default();
    entries.iter().filter_map(|entry| provision(reader, entry, dialect)).collect()
}

fn provision(reader: &mut Reader<'_>, entry: &Entry<'_>, dialect: Dialect) -> Option<Provision> {
    let descriptor = descriptor(reader, &entry.key, &entry.key_span);
    let added = Added::open(reader, &entry.value, &format!("`provision.{}`", entry.key));
    let descriptor = descriptor?;
    let added = added?;
    Some(Provision {
        descriptor,
        is_dependent: added.read(reader, Added::IS_DEPENDENT).unwrap_or(false),
        match_dependents: added.read(reader, Added::MATCH_DEPENDENTS).unwrap_or(false),
        params: map_of(reader, &added, Added::PARAMS, dialect).map(Arc::new),
        location: reader.at(&entry.key_span),
    })
}

fn descriptor(reader: &mut Reader<'_>, text: &str, span: &Span) -> Option<Descriptor> {
    match parse_descriptor(text) {
        Ok(descriptor) => Some(descriptor),
        Err(error) => {
            let fault = reader.about(span, "bad-descriptor", error.message).help(error.help);
            reader.report(fault);
            None
        }
    }
}

fn criteria(reader: &mut Reader<'_>, inner: Option<&Entry<'_>>, outer: Option<&Entry<'_>>) -> Vec<Criterion> {
    if let (Some(inner), Some(outer)) = (inner, outer) {
        let fault = reader
            .about(&inner.key_span, "criteria-twice", "`criteria` is given twice")
            .related(&reader.at(&outer.key_span), "also given here")
            .help("keep one of them");
        reader.report(fault);
    }
    let Some(node) = inner.or(outer).map(|entry| &entry.value) else { return Vec::new() };
    match &node.kind {
        NodeKind::List(items) => items.iter().filter_map(|item| criterion(reader, item)).collect(),
        NodeKind::Map(entries) => {
            let written =
                |entry: &Entry<'_>| format!("{}: {}", entry.key, entry.value.span.slice(reader.text).trim());
            let fields: Vec<String> = entries.iter().map(written).collect();
            let warning = Diagnostic::warning("criteria-map", "`criteria` is a map, read as one criterion")
                .at(&reader.at(&node.span))
                .help(format!("write a list: `criteria: [{{{}}}]`", fields.join(", ")));
            reader.report(warning);
            criterion(reader, node).into_iter().collect()
        }
        _ => {
            reader.wrong_type(node, "`criteria`", "a list");
            Vec::new()
        }
    }
}

fn criterion(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Criterion> {
    let faults = reader.faults.len();
    let condition = Condition::open(reader, node, "a criterion")?;
    let mut text = |field: Field<Condition, Text>| {
        let (node, name) = (condition.node(field)?, condition.name(field));
        if let Some(each) = one_for_each(node, name) {
            let message = format!("`{name}` takes a string, not a list");
            let fault = reader.about(&node.span, "wrong-type", message);
            reader.report(fault.help(format!("write one criterion for each: {each}")));
            return None;
        }
        condition.read(reader, field)
    };
    let (env_type, app_id) = (text(Condition::ENV_TYPE), text(Condition::APP_ID));
    let (env_id, res_id) = (text(Condition::ENV_ID), text(Condition::RES_ID));
    let class = condition.read(reader, Condition::CLASS);
    // A criterion with a wrong field would match more than intended.
    let wrong = reader.faults.iter().skip(faults).any(|fault| fault.severity == Severity::Error);
    (!wrong).then(|| Criterion {
        env_type,
        app_id,
        env_id,
        res_id,
        class: class.unwrap_or_else(Class::default_class),
        location: reader.at(&node.span),
    })
}

/// The criteria that a list of values in one stands for.
fn one_for_each(node: &Node<'_>, name: &str) -> Option<String> {
    const SHOWN: usize = 4;
    let NodeKind::List(items) = &node.kind else { return None };
    let each = |item: &Node<'_>| Some(format!("`{{{name}: {}}}`", item.as_str()?));
    let written: Vec<String> = items.iter().take(SHOWN).map(each).collect::<Option<_>>()?;
    (!written.is_empty()).then(|| written.join(", "))
}
