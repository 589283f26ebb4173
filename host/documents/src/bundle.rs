//! Bundles: `kind: Bundle`, and `porter.yaml` (SPEC §2, §6 [P]).
//!
//! ```yaml
//! apiVersion: purlin.dev/v1
//! kind: Bundle
//! metadata: {name: acme/wordpress, version: 1.0.0}
//! spec:
//!   driver: purlin/helm                   # none: its outputs are its parameters
//!   inputs: {values: {size: "${bundle.parameters.size}"}, secrets: {}}
//!   parameters: [{name: size, type: string, default: small}]
//!   credentials: [{name: kubeconfig}]
//!   outputs: [{name: endpoint, type: string}]
//!   requires:
//!     - name: mysql
//!       bundle: {reference: "acme/mysql:v1.0.0", version: 1.x}
//!       parameters: {database: wordpress}
//!   provides: {interface: {id: https://acme.example/interfaces/blog}}
//! ```
//!
//! The requirements of a `porter.yaml` are under `dependencies`. Of its steps, only the outputs of
//! requirements that they use are read.

use std::collections::HashMap;
use std::sync::Arc;

use purlin_expression::Dialect;
use purlin_model::{
    Binding, Bundle, BundleReference, Declared, Diagnostic, Path, Piece, Placeholder, Reference, Requirement,
    Severity, Template, Value,
};

use crate::reader::{Fields, Reader};
use crate::recognise::{Format, INCOMPLETE_PORTER, Recognised, recognise};
use crate::requirement::requirements;
use crate::steps;
use crate::template::{constant, list, template};
use crate::walk::Collector;
use crate::yaml::{self, Node, NodeKind};
use crate::{Input, SourceMap};

/// The help for a file that is not a bundle.
pub const FORMS_OF_BUNDLES: &str = "a bundle is a `kind: Bundle` of `purlin.dev/v1`, or a `porter.yaml`";
/// The help for two bundles with the same repository and version.
pub const ANOTHER_VERSION: &str = "give one of them another version";

/// The fields of a `porter.yaml` that describe it or control its steps.
const OF_PORTER: [&str; 13] = [
    "$schema",
    "custom",
    "customActions",
    "dockerfile",
    "images",
    "keywords",
    "license",
    "maintainers",
    "mixins",
    "registry",
    "required",
    "schemaType",
    "state",
];

/// Keywords of JSON Schema among the fields of a parameter, a credential or an output.
const OF_SCHEMA: [&str; 22] = [
    "type",
    "enum",
    "const",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "properties",
    "additionalProperties",
    "contentEncoding",
    "contentMediaType",
    "title",
    "examples",
];

/// The result of reading bundles.
#[derive(Clone, Debug, Default)]
pub struct Bundles {
    /// In reading order.
    pub bundles: Vec<Bundle>,
    /// Faults, warnings and notes, by file and line. In a folder, files that are not bundles are
    /// skipped.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts, to show faults in.
    pub sources: SourceMap,
}

/// Reads all bundles in files and folders. A folder is walked like that of a deployment.
pub fn bundles(paths: &[&std::path::Path]) -> Bundles {
    let inputs: Vec<Input> = paths.iter().map(|path| Input::Path(path.to_path_buf())).collect();
    bundles_in(&inputs)
}

/// The same for texts that have been read.
pub fn bundles_in(inputs: &[Input]) -> Bundles {
    let mut collector = Collector::new(&|_| false);
    for input in inputs {
        match input {
            Input::Path(path) | Input::Catalog(path) => collector.path(path),
            Input::Text { name, text } => collector.text(name, text),
        }
    }
    let mut all = Bundles::default();
    for source in &collector.sources {
        let (mut faults, mut found) = (Vec::new(), Vec::new());
        let wrong = yaml::parse(&source.name, &source.text, &mut |document| {
            let mut reader = Reader::new(&source.name, &source.text, false);
            match recognise(&reader, &document.root) {
                Recognised::Ours(Format::Bundle(form)) => {
                    reader.faults.extend(document.faults);
                    found.extend(read(&mut reader, &document.root, form));
                    faults.append(&mut reader.faults);
                }
                Recognised::Other(fault) if fault.code == INCOMPLETE_PORTER => {
                    let severity = if source.named { fault.severity } else { Severity::Warning };
                    faults.push(Diagnostic { severity, ..fault });
                }
                _ if source.named => {
                    let fault = Diagnostic::error("not-a-document", "this is not a bundle");
                    faults.push(fault.at(&reader.at(&document.root.span)).help(FORMS_OF_BUNDLES));
                }
                _ => {}
            }
        });
        // An unreadable file only matters if somebody named it.
        if source.named || !found.is_empty() || !faults.is_empty() {
            faults.extend(wrong);
            all.sources.insert(source.name.clone(), source.text.clone());
        }
        all.bundles.append(&mut found);
        all.diagnostics.append(&mut faults);
    }
    all.diagnostics.append(&mut collector.faults);
    all.diagnostics.sort_by(|a, b| a.location.cmp(&b.location));
    all
}

/// The form of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Own,
    Porter,
}

/// Reads a bundle.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>, form: Form) -> Option<Bundle> {
    reader.foreign = form == Form::Porter;
    match form {
        Form::Own => own(reader, root),
        Form::Porter => porter(reader, root),
    }
}

fn own(reader: &mut Reader<'_>, root: &Node<'_>) -> Option<Bundle> {
    let mut top = reader.fields(root, "the Bundle")?.strict();
    top.entry("apiVersion");
    top.entry("kind");
    let head = top.need(reader, "metadata", "{name: ORG/NAME, version: 1.0.0}");
    let head = head.and_then(|node| {
        let mut fields = reader.fields(node, "`metadata`")?.strict();
        let head = name_and_version(reader, &mut fields, "");
        let description = words(reader, &mut fields);
        fields.done(reader);
        Some((head?, description))
    });
    let spec = top.need(reader, "spec", "{outputs: []}");
    top.done(reader);
    let mut fields = reader.fields(spec?, "`spec`")?.strict();
    let driver = fields.get(reader, "driver");
    let driver = driver.and_then(|node| crate::definition::driver_requirement(reader, node, "driver"));
    let (mut values, mut secrets, mut connection) = (Template::default(), Template::default(), None);
    if let Some(node) = fields.get(reader, "inputs")
        && let Some(mut inputs) = reader.fields(node, "`inputs`")
    {
        let mut map = |name: &'static str| {
            let node = inputs.get(reader, name)?;
            reader.map(node, &format!("`{name}`"))?;
            Some(template(reader, node, Dialect::Bundle))
        };
        (values, secrets) = (map("values").unwrap_or_default(), map("secrets").unwrap_or_default());
        connection = map("connection");
        inputs.done(reader);
    }
    let lifecycle = fields.get(reader, "lifecycle");
    let lifecycle = lifecycle.map(|node| crate::lifecycle::of_definition(reader, node)).unwrap_or_default();
    let mut bundle = body(reader, &mut fields)?;
    let requires = fields.get(reader, "requires").map(|node| requires(reader, node));
    let provides = fields.get(reader, "provides").and_then(|node| provides(reader, node));
    fields.done(reader);
    let ((repository, version, location), description) = head?;
    bundle.requires = requires.unwrap_or_default();
    Some(Bundle {
        name: Arc::clone(&repository),
        repository,
        version,
        description,
        driver,
        values,
        secrets,
        connection,
        provides,
        lifecycle,
        location,
        ..bundle
    })
}

fn porter(reader: &mut Reader<'_>, root: &Node<'_>) -> Option<Bundle> {
    let mut fields = reader.fields(root, "the bundle")?;
    fields.entry("schemaVersion");
    let registry = root.get("registry").and_then(|node| node.as_str()).unwrap_or_default();
    let registry = registry.trim_end_matches('/').to_owned();
    let described = fields.get(reader, "reference").and_then(|node| {
        let text = reader.text(node, "`reference`")?;
        reference(reader, node, text)
    });
    let head = name_and_version(reader, &mut fields, &registry);
    let description = words(reader, &mut fields);
    for name in OF_PORTER {
        fields.entry(name);
    }
    let mut bundle = body(reader, &mut fields)?;
    let mut provided = None;
    // All other fields are its actions, whatever their names, each a list of steps.
    let actions: Vec<_> = fields.unread().filter(|entry| &*entry.key != "dependencies").collect();
    let mut reads = Vec::new();
    for entry in actions {
        let NodeKind::List(steps) = &entry.value.kind else { continue };
        bundle.has_steps |= !steps.is_empty();
        steps.iter().for_each(|step| steps::reads(reader, step, &mut reads));
    }
    if !reads.is_empty() {
        bundle.values = list(reads);
    }
    if let Some(node) = fields.get(reader, "dependencies")
        && let Some(mut inner) = reader.fields(node, "`dependencies`")
    {
        bundle.requires =
            inner.get(reader, "requires").map(|node| requires(reader, node)).unwrap_or_default();
        provided = inner.get(reader, "provides").and_then(|node| provides(reader, node));
        inner.done(reader);
    }
    let (repository, version, location) = head?;
    let repository = described.map_or(repository, |reference| reference.repository);
    let name = root.get("name").and_then(Node::as_str).unwrap_or_default().into();
    Some(Bundle { name, repository, version, description, provides: provided, location, ..bundle })
}

/// The requirements of a bundle. Each of its outputs may be made by one of them only.
fn requires(reader: &mut Reader<'_>, node: &Node<'_>) -> Vec<Requirement> {
    let all = requirements(reader, node, Dialect::Bundle);
    let mut made: HashMap<&str, &Binding> = HashMap::new();
    for output in all.iter().flat_map(|one| &one.outputs) {
        if let Some(first) = made.insert(&output.name, output) {
            let message = format!("two requirements set the output `{}`", output.name);
            let fault = Diagnostic::error("declared-twice", message).at(&output.location);
            reader.report(fault.related(&first.location, "first set here").help("keep one of them"));
        }
    }
    all
}

/// The common part of both forms.
fn body(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>) -> Option<Bundle> {
    let mut list = |name: &'static str, what: &str| {
        fields.get(reader, name).map(|node| declared(reader, node, name, what, false)).unwrap_or_default()
    };
    Some(Bundle {
        parameters: list("parameters", "parameter"),
        credentials: list("credentials", "credential"),
        outputs: list("outputs", "output"),
        location: reader.at(&fields.span),
        ..Bundle::requiring(Vec::new())
    })
}

fn words(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>) -> Option<Arc<str>> {
    let node = fields.get(reader, "description")?;
    reader.string(node, "`description`").map(Arc::from)
}

fn name_and_version(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_, '_>,
    registry: &str,
) -> Option<(Arc<str>, semver::Version, purlin_model::Location)> {
    let name = fields.need(reader, "name", "ORG/NAME");
    let version = fields.need(reader, "version", "1.0.0");
    let named = name.and_then(|node| {
        let text = reader.text(node, "`name`")?;
        let full = if registry.is_empty() { text.to_owned() } else { format!("{registry}/{text}") };
        let found = reference(reader, node, &full)?;
        if found.tag.is_some() || found.digest.is_some() {
            let help = "write the version in `version`";
            reader.wrong_value(&node.span, "`name` takes a name without a version", help);
            return None;
        }
        Some((found.repository, reader.at(&node.span)))
    });
    let version = version.and_then(|node| {
        let text = match &node.kind {
            // `1.10` is a number in YAML, and its zero counts.
            NodeKind::Number(_) if reader.foreign => {
                reader.text.get(node.span.start as usize..node.span.end as usize)?
            }
            _ => reader.text(node, "`version`")?,
        };
        if let Some(found) = purlin_range::lenient(text).filter(|_| reader.foreign) {
            return Some(found);
        }
        let found = semver::Version::parse(text.strip_prefix('v').unwrap_or(text));
        if let Err(error) = &found {
            let fault = bad_version(reader, node, text, error);
            reader.report(fault.help("write three numbers, such as `1.0.0`"));
        }
        found.ok()
    });
    let (name, location) = named?;
    Some((name, version?, location))
}

/// The bundle in a text.
pub(crate) fn reference(reader: &mut Reader<'_>, node: &Node<'_>, text: &str) -> Option<BundleReference> {
    match text.parse() {
        Ok(reference) => Some(reference),
        Err(purlin_model::BadReference(_)) => {
            let message = format!("`{text}` does not name a bundle");
            let fault = reader.about(&node.span, "bad-reference", message);
            reader.report(fault.help("write `REPOSITORY:TAG`, such as `getporter/mysql:v1.0.0`"));
            None
        }
    }
}

/// Parameters, credentials or outputs. Those that are asked for may have an `$id` in place of a
/// name.
pub(crate) fn declared(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    name: &str,
    what: &str,
    is_asked: bool,
) -> Vec<Declared> {
    let mut all: Vec<Declared> = Vec::new();
    let mut first: HashMap<Arc<str>, usize> = HashMap::new();
    for item in reader.list(node, &format!("`{name}`")).unwrap_or_default() {
        let Some(one) = declared_one(reader, item, what, is_asked) else { continue };
        if let Some(first) = first.get(&one.name).and_then(|at| all.get(*at)) {
            let message = format!("the {what} `{}` is declared twice", one.name);
            let fault = Diagnostic::error("declared-twice", message).at(&one.location);
            reader.report(fault.related(&first.location, "first declared here").help("keep one of them"));
            continue;
        }
        first.insert(Arc::clone(&one.name), all.len());
        all.push(one);
    }
    all
}

fn declared_one(reader: &mut Reader<'_>, node: &Node<'_>, what: &str, is_asked: bool) -> Option<Declared> {
    let mut fields = reader.fields(node, &format!("a {what}"))?;
    let id_node = fields.get(reader, "$id");
    let id = id_node.and_then(|node| reader.text(node, "`$id`")).map(Arc::<str>::from);
    let name = match (fields.get(reader, "name"), id_node) {
        (None, Some(node)) if is_asked => Some((node.as_str()?, node.span)),
        _ => {
            let node = fields.need(reader, "name", "NAME");
            node.and_then(|node| Some((reader.text(node, "`name`")?, node.span)))
        }
    };
    let description = words(reader, &mut fields);
    let default = fields.entry("default").map(|entry| constant(&entry.value));
    let mut flag = |name: &'static str| {
        fields.get(reader, name).and_then(|node| reader.boolean(node, &format!("`{name}`")))
    };
    let (required, sensitive) = (flag("required"), flag("sensitive"));
    // Where the steps of another tool find them.
    let source = fields.entry("source").map(|entry| source(reader, &entry.value));
    let sourced = source.is_some();
    for name in ["env", "path", "applyTo", "destination", "definition", "regex", "jsonPath"] {
        fields.entry(name);
    }
    let mut schema = serde_json::Map::new();
    for name in OF_SCHEMA {
        if let Some(node) = fields.get(reader, name) {
            schema.insert(name.to_owned(), node.to_json());
        }
    }
    // All other programs treat a file as text.
    if schema.get("type").is_some_and(|kind| kind == "file") {
        schema.insert("type".to_owned(), "string".into());
    }
    if let Some(node) = node.get("type")
        && purlin_schema::Schema::new(&serde_json::Value::Object(schema.clone())).is_err()
    {
        let help = "a type is `string`, `integer`, `number`, `boolean`, `array`, `object`, or `file`";
        reader.wrong_value(&node.span, "this is not a JSON Schema type", help);
        schema.clear();
    }
    fields.done(reader);
    let (name, span) = name?;
    let is_secret = sensitive.unwrap_or(what == "credential");
    Some(Declared {
        name: name.into(),
        id,
        description,
        schema,
        is_required: required.unwrap_or(what != "output") && default.is_none() && !sourced,
        default: default.filter(|value| !matches!(value, Value::Null)),
        source: source.flatten(),
        is_sensitive: is_secret || what == "credential",
        location: reader.at(&span),
    })
}

/// The output of a requirement that a parameter uses. One without a `dependency` is an output of
/// the bundle's own last run, which only the steps of another tool read.
fn source(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Template> {
    let mut fields = reader.fields(node, "`source`")?.strict();
    let of = fields.get(reader, "dependency").and_then(|node| reader.text(node, "`dependency`"));
    let output = fields.need(reader, "output", "NAME").and_then(|node| reader.text(node, "`output`"));
    fields.done(reader);
    let (of, output) = (of?, output?);
    let source = format!("${{bundle.dependencies.{of}.outputs.{output}}}");
    let reference = Reference::Named(of.into(), Path(Box::new([output.into()])));
    let placeholder = Placeholder::new(reference, None, &source, reader.at(&node.span));
    Some(Template::Text([Piece::Placeholder(placeholder)].into()))
}

fn provides(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Arc<str>> {
    let mut fields = reader.fields(node, "`provides`")?.strict();
    let node = fields.need(reader, "interface", "{id: URI}");
    fields.done(reader);
    let mut fields = reader.fields(node?, "`interface`")?.strict();
    let id = fields.need(reader, "id", "URI").and_then(|node| reader.text(node, "`id`"));
    fields.done(reader);
    id.map(Arc::from)
}

/// The fault of a version that is not written as three numbers.
pub(crate) fn bad_version(
    reader: &Reader<'_>,
    node: &Node<'_>,
    text: &str,
    error: &semver::Error,
) -> Diagnostic {
    reader.about(&node.span, "bad-version", format!("`{text}` is not a version: {error}"))
}
