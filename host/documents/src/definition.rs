//! Definitions in their three envelopes (SPEC §2, §3 [D]).

use std::sync::Arc;

use purlin_expression::{Dialect, parse_descriptor};
use purlin_model::{
    Class, Criterion, Definition, Descriptor, Diagnostic, DriverRequirement, Lifecycle, Provision, Recipe,
    Requirement, Severity, Template,
};
use purlin_range::Range;

use crate::reader::{Fields, Reader};
use crate::shape::{is_criteria, is_provision};
use crate::template::template;
use crate::yaml::{Entry, Node, NodeKind, Span};

/// The fields of definitions at all levels, in each envelope.
pub(crate) const VOCABULARY: &[&str] = &[
    "app_id",
    "class",
    "connection",
    "criteria",
    "driver_account",
    "driver_inputs",
    "driver_type",
    "entity",
    "env_id",
    "env_type",
    "is_dependent",
    "match_dependents",
    "provision",
    "res_id",
    "secret_refs",
    "secrets",
    "type",
    "values",
];

/// Reads a definition; `bodies` are the fields that may hold its body.
pub(crate) fn read(
    reader: &mut Reader<'_>,
    root: &Node<'_>,
    bodies: &'static [&'static str],
) -> Option<Definition> {
    let mut top = reader.fields(root, "the definition")?;
    top.entry("apiVersion");
    top.entry("kind");
    let metadata = top.need(reader, "metadata", "{id: NAME}");
    let id = metadata.and_then(|node| id(reader, node));
    let name = bodies.first().copied().unwrap_or("spec");
    let mut body = None;
    for name in bodies {
        body = body.or(top.get(reader, name));
    }
    if body.is_none() {
        let elsewhere = ["spec", "entity", "object"].into_iter().filter(|name| !bodies.contains(name));
        body = top.get_called(reader, name, &elsewhere.collect::<Vec<_>>());
    }
    if body.is_none() {
        let driver = if reader.foreign { "driver_type" } else { "driver" };
        body = top.need(reader, name, &format!("{{type: TYPE, {driver}: ORG/NAME}}"));
    }
    let outer = top.entry("criteria");
    top.done(reader);
    let body = read_body(reader, body?, name, outer);
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

fn id(reader: &mut Reader<'_>, metadata: &Node<'_>) -> Option<(Arc<str>, purlin_model::Location)> {
    let mut fields = reader.fields(metadata, "`metadata`")?;
    let id = fields.need(reader, "id", "NAME");
    fields.done(reader);
    let node = id?;
    let text = reader.text(node, "`metadata.id`")?;
    Some((text.into(), reader.at(&node.span)))
}

struct Body {
    type_pattern: Arc<str>,
    driver: DriverRequirement,
    account: Option<Template>,
    inputs: Inputs,
    provision: Vec<Provision>,
    requires: Vec<Requirement>,
    criteria: Vec<Criterion>,
    lifecycle: Lifecycle,
}

fn read_body(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    name: &str,
    outer_criteria: Option<&Entry<'_>>,
) -> Option<Body> {
    let foreign = reader.foreign;
    // The placeholders that are allowed depend on whether anything is required.
    let dialect = match node.get("requires") {
        _ if foreign => Dialect::Humanitec,
        Some(_) => Dialect::Requiring,
        None => Dialect::Definition,
    };
    let mut fields = reader.fields(node, &format!("`{name}`"))?;
    let type_pattern = fields.need(reader, "type", "TYPE").and_then(|node| type_pattern(reader, node));
    let (driver, other) = if foreign { ("driver_type", "driver") } else { ("driver", "driver_type") };
    let node = match fields.get_called(reader, driver, &[other]) {
        None => fields.need(reader, driver, "ORG/NAME"),
        found => found,
    };
    let driver = node.and_then(|node| driver_requirement(reader, node, driver));
    let account = fields.get(reader, "driver_account").and_then(|node| {
        reader.text(node, "`driver_account`")?;
        Some(template(reader, node, dialect))
    });
    let (inputs, other) = if foreign { ("driver_inputs", "inputs") } else { ("inputs", "driver_inputs") };
    let node = fields.get_called(reader, inputs, &[other]);
    let inputs = node.and_then(|node| read_inputs(reader, node, inputs, dialect));
    let provision =
        fields.get(reader, "provision").map(|node| provisions(reader, node, dialect)).unwrap_or_default();
    let inner_criteria = fields.entry("criteria");
    let criteria = criteria(reader, inner_criteria, outer_criteria);
    let mut lifecycle = None;
    let mut requires = Vec::new();
    if foreign {
        fields.entry("name");
    } else {
        lifecycle = fields.get(reader, "lifecycle").map(|node| crate::lifecycle::of_definition(reader, node));
        if let Some(node) = fields.get(reader, "requires") {
            requires = crate::requirement::requirements(reader, node, dialect);
        }
    }
    fields.done(reader);
    Some(Body {
        type_pattern: type_pattern?,
        driver: driver?,
        account,
        inputs: inputs.unwrap_or_default(),
        provision,
        requires,
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

/// Letters, digits, `_`, `.` and `-` between slashes.
fn is_driver_name(name: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
    };
    name.split('/').all(part)
}

#[derive(Default)]
struct Inputs {
    values: Template,
    secrets: Template,
    secret_refs: Option<Template>,
    connection: Option<Template>,
}

fn read_inputs(reader: &mut Reader<'_>, node: &Node<'_>, name: &str, dialect: Dialect) -> Option<Inputs> {
    let mut fields = reader.fields(node, &format!("`{name}`"))?;
    let values = map_of(reader, &mut fields, "values", dialect);
    let secrets = map_of(reader, &mut fields, "secrets", dialect);
    let secret_refs = map_of(reader, &mut fields, "secret_refs", dialect);
    let connection = map_of(reader, &mut fields, "connection", dialect);
    let (first, second) = (fields.entry("secrets"), fields.entry("secret_refs"));
    fields.done(reader);
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
    Some(Inputs { values, secrets, secret_refs, connection })
}

fn map_of(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_, '_>,
    name: &'static str,
    dialect: Dialect,
) -> Option<Template> {
    let node = fields.get(reader, name)?;
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
    let mut provision = Provision {
        descriptor: descriptor?,
        is_dependent: false,
        match_dependents: false,
        params: None,
        location: reader.at(&entry.key_span),
    };
    let mut fields = reader.fields(&entry.value, &format!("`provision.{}`", entry.key))?;
    let mut flag =
        |name| fields.get(reader, name).and_then(|node| reader.boolean(node, &format!("`{name}`")));
    provision.is_dependent = flag("is_dependent").unwrap_or(false);
    provision.match_dependents = flag("match_dependents").unwrap_or(false);
    provision.params = map_of(reader, &mut fields, "params", dialect).map(Arc::new);
    fields.done(reader);
    Some(provision)
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
    let mut fields = reader.fields(node, "a criterion")?.strict();
    let faults = reader.faults.len();
    let mut field = |name: &'static str| {
        let node = fields.get(reader, name)?;
        if let Some(each) = one_for_each(node, name) {
            let message = format!("`{name}` takes a string, not a list");
            let fault = reader.about(&node.span, "wrong-type", message);
            reader.report(fault.help(format!("write one criterion for each: {each}")));
            return None;
        }
        reader.text(node, &format!("`{name}`")).map(Arc::from)
    };
    let (env_type, app_id) = (field("env_type"), field("app_id"));
    let (env_id, res_id) = (field("env_id"), field("res_id"));
    let class = fields.get(reader, "class").and_then(|node| reader.name(node, "`class`"));
    fields.done(reader);
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
