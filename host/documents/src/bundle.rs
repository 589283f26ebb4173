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
use serde_json::json;

use crate::declare::{self, Form, Kind, form};
use crate::definition::{DriverRange, Inputs};
use crate::kinds::{AnyText, Anything, Flag, List, Text, kind, matching};
use crate::lifecycle::OfDefinition;
use crate::reader::Reader;
use crate::recognise::{Format, INCOMPLETE_PORTER, Recognised, recognise};
use crate::requirement::{InBundle, requirements};
use crate::steps;
use crate::template::{constant, list, template};
use crate::walk::Collector;
use crate::yaml::{self, Node, NodeKind, Span};
use crate::{Input, SourceMap};

/// The help for a file that is not a bundle.
pub const FORMS_OF_BUNDLES: &str = "a bundle is a `kind: Bundle` of `purlin.dev/v1`, or a `porter.yaml`";
/// The help for two bundles with the same repository and version.
pub const ANOTHER_VERSION: &str = "give one of them another version";

form! {
    /// A recipe with a name, a version and requirements.
    pub(crate) struct Document {
        /// The identity of the document.
        METADATA: Metadata = needed "metadata", "{name: ORG/NAME, version: 1.0.0}";
        /// The recipe and its requirements.
        SPEC: Spec = needed "spec", "{outputs: []}";
    }

    const HEAD: Option<(&'static str, &'static str)> = Some(("Bundle", "Purlin Bundle"));

    const STRICT: bool = true;

}

form! {
    /// The identity of the document.
    pub(crate) struct Metadata {
        /// The repository of the bundle, such as `ORG/NAME`.
        NAME: Repository = needed "name", "ORG/NAME";
        /// A version with three numbers.
        VERSION: Version = needed "version", "1.0.0";
        /// Its purpose.
        DESCRIPTION: AnyText = "description";
    }

    const STRICT: bool = true;
}

form! {
    /// The recipe and its requirements.
    pub(crate) struct Spec {
        /// Driver `ORG/NAME`, optionally with `@RANGE` for its versions. Without a driver, the outputs are
        /// the parameters.
        DRIVER: DriverRange = "driver";
        /// Inputs of the driver.
        INPUTS: InputsOfBundle = "inputs", "{values: {NAME: VALUE}}";
        /// Parameters that users of the bundle can set.
        PARAMETERS: List<BundleValue> = "parameters", "[{name: NAME}]";
        /// Credentials for other systems. Always secret.
        CREDENTIALS: List<BundleValue> = "credentials", "[{name: NAME}]";
        /// Outputs of the bundle.
        OUTPUTS: List<BundleValue> = "outputs", "[{name: NAME}]";
        /// The bundles that it requires.
        REQUIRES: List<InBundle> = "requires";
        /// The interface that it implements.
        PROVIDES: Provides = "provides", "{interface: {id: URI}}";
        /// Settings for replacing and deleting.
        LIFECYCLE: OfDefinition = "lifecycle", "{protect: true}";
    }

    const STRICT: bool = true;
}

/// Inputs of the driver, without references to secrets: credentials are parameters.
pub(crate) struct InputsOfBundle;

impl Kind for InputsOfBundle {
    const FIELDS: &'static [declare::Declared] =
        &declare::except::<{ Inputs::FIELDS.len() - 1 }>(Inputs::FIELDS, &["secret_refs"]);

    fn schema() -> serde_json::Value {
        declare::schema_of::<Self>()
    }
}

impl Form for InputsOfBundle {
    const ABOUT: &'static str = "Inputs of the driver.";
}

form! {
    /// The interface that it implements.
    pub(crate) struct Provides {
        /// An interface.
        INTERFACE: Interface = needed "interface", "{id: URI}";
    }

    const STRICT: bool = true;
}

form! {
    /// An interface.
    pub(crate) struct Interface {
        /// Its name.
        ID: Text = needed "id", "URI";
    }

    const STRICT: bool = true;
}

form! {
    /// A parameter, a credential or an output. Keywords of JSON Schema are beside these fields.
    pub(crate) struct BundleValue {
        /// Its name.
        NAME: Text = "name", "NAME";
        /// Its global name.
        ID: Text = "$id";
        /// Its purpose.
        DESCRIPTION: AnyText = "description";
        /// The value that is used if none is set.
        DEFAULT: Anything = "default";
        /// Whether a value is required.
        REQUIRED: Flag = "required";
        /// Whether it is secret.
        SENSITIVE: Flag = "sensitive";
        /// The output of a requirement that is used if no value is set.
        SOURCE: Source = "source", "{dependency: NAME, output: NAME}";
    }

    const ALLOWED: &'static [&'static [&'static str]] = &[KEYWORDS, OF_STEPS];

    fn constrain(schema: &mut serde_json::Value) {
        schema["required"] = json!(["name"]);
        if let Some(fields) = schema.as_object_mut() {
            fields.shift_remove("additionalProperties");
        }
    }
}

/// Keywords of JSON Schema.
const KEYWORDS: &[&str] = &[
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
/// Where the steps of another tool find a value.
const OF_STEPS: &[&str] = &["env", "path", "applyTo", "destination", "definition", "regex", "jsonPath"];

form! {
    /// The output of a requirement.
    pub(crate) struct Source {
        /// The name of the requirement.
        DEPENDENCY: Text = "dependency";
        /// The name of the output.
        OUTPUT: Text = needed "output", "NAME";
    }

    const STRICT: bool = true;
}

kind! {
    /// The same without a tag and a digest.
    pub(crate) struct Repository: matching("^[A-Za-z0-9][A-Za-z0-9_.+-]*(:[0-9]+(?=/))?(/[A-Za-z0-9][A-Za-z0-9_.+-]*)*$")
}
kind! {
    /// A version with three numbers.
    pub(crate) struct Version: matching("^v?(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)([-+].+)?$")
}

kind! {
    /// As for container images: `HOST:PORT/NAME:TAG@DIGEST`.
    pub(crate) struct ReferenceText: matching("^[A-Za-z0-9][A-Za-z0-9_.+-]*(:[0-9]+)?(/[A-Za-z0-9][A-Za-z0-9_.+-]*)*(:[A-Za-z0-9][A-Za-z0-9_.+-]*)?(@.+)?$")
}

form! {
    /// A `porter.yaml`. All other fields are its actions, whatever their names, each a list of steps.
    struct Porter {
        /// The published bundle.
        REFERENCE: ReferenceText = "reference";
        /// Its name in the registry.
        NAME: Repository = needed "name", "ORG/NAME";
        /// Its version.
        VERSION: Version = needed "version", "1.0.0";
        /// Its purpose.
        DESCRIPTION: AnyText = "description";
        /// Parameters that users of the bundle can set.
        PARAMETERS: List<BundleValue> = "parameters", "[{name: NAME}]";
        /// Credentials for other systems.
        CREDENTIALS: List<BundleValue> = "credentials", "[{name: NAME}]";
        /// Outputs of the bundle.
        OUTPUTS: List<BundleValue> = "outputs", "[{name: NAME}]";
        /// What it requires and provides.
        DEPENDENCIES: Dependencies = "dependencies", "{requires: []}";
    }

    const OPEN: bool = true;
    /// What describes it, or controls its steps.
    const ALLOWED: &'static [&'static [&'static str]] = &[&[
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
        "schemaVersion",
        "state",
    ]];
}

form! {
    /// What a `porter.yaml` requires and provides.
    struct Dependencies {
        /// The bundles that it requires.
        REQUIRES: List<InBundle> = "requires";
        /// The interface that it implements.
        PROVIDES: Provides = "provides", "{interface: {id: URI}}";
    }
}

/// One that is asked for: it may have an `$id` in place of a name.
pub(crate) struct Asked;

impl Kind for Asked {
    const FIELDS: &'static [declare::Declared] = BundleValue::FIELDS;

    fn schema() -> serde_json::Value {
        let mut schema = BundleValue::schema();
        if let Some(fields) = schema.as_object_mut() {
            fields.shift_remove("required");
        }
        schema["anyOf"] = json!([{"required": ["name"]}, {"required": ["$id"]}]);
        schema
    }
}
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
                Recognised::Ours(Format::Bundle(format)) => {
                    reader.faults.extend(document.faults);
                    found.extend(read(&mut reader, &document.root, format));
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

/// The format of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BundleFormat {
    Own,
    Porter,
}

/// Reads a bundle.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>, format: BundleFormat) -> Option<Bundle> {
    reader.foreign = format == BundleFormat::Porter;
    match format {
        BundleFormat::Own => own(reader, root),
        BundleFormat::Porter => porter(reader, root),
    }
}

fn own(reader: &mut Reader<'_>, root: &Node<'_>) -> Option<Bundle> {
    let document = Document::open(reader, root, "the Bundle")?;
    let head = document.node(Document::METADATA).and_then(|node| {
        let metadata = Metadata::open(reader, node, "`metadata`")?;
        let (name, version) = (metadata.node(Metadata::NAME), metadata.node(Metadata::VERSION));
        let head = name_and_version(reader, name, version, "");
        let description = metadata.read(reader, Metadata::DESCRIPTION);
        Some((head?, description))
    });
    let spec = Spec::open(reader, document.node(Document::SPEC)?, "`spec`")?;
    let driver = spec.node(Spec::DRIVER);
    let driver = driver.and_then(|node| crate::definition::driver_requirement(reader, node, "driver"));
    let (mut values, mut secrets, mut connection) = (Template::default(), Template::default(), None);
    if let Some(node) = spec.node(Spec::INPUTS)
        && let Some(inputs) = InputsOfBundle::open(reader, node, "`inputs`")
    {
        let mut map = |field| {
            let inputs = inputs.as_form::<Inputs>();
            let node = inputs.node(field)?;
            reader.map(node, &format!("`{}`", inputs.name(field)))?;
            Some(template(reader, node, Dialect::Bundle))
        };
        values = map(Inputs::VALUES).unwrap_or_default();
        secrets = map(Inputs::SECRETS).unwrap_or_default();
        connection = map(Inputs::CONNECTION);
    }
    let lifecycle = spec.node(Spec::LIFECYCLE);
    let lifecycle = lifecycle.map(|node| crate::lifecycle::of_definition(reader, node)).unwrap_or_default();
    let lists = [spec.node(Spec::PARAMETERS), spec.node(Spec::CREDENTIALS), spec.node(Spec::OUTPUTS)];
    let mut bundle = body(reader, lists, &spec.span);
    let requires = spec.node(Spec::REQUIRES).map(|node| requires(reader, node));
    let provides = spec.node(Spec::PROVIDES).and_then(|node| provides(reader, node));
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
    let fields = Porter::open(reader, root, "the bundle")?;
    let registry = root.get("registry").and_then(|node| node.as_str()).unwrap_or_default();
    let registry = registry.trim_end_matches('/').to_owned();
    let described = fields.node(Porter::REFERENCE).and_then(|node| {
        let text = reader.text(node, "`reference`")?;
        reference(reader, node, text)
    });
    let head = name_and_version(reader, fields.node(Porter::NAME), fields.node(Porter::VERSION), &registry);
    let description = fields.read(reader, Porter::DESCRIPTION);
    let lists =
        [fields.node(Porter::PARAMETERS), fields.node(Porter::CREDENTIALS), fields.node(Porter::OUTPUTS)];
    let mut bundle = body(reader, lists, &fields.span);
    let mut provided = None;
    let mut reads = Vec::new();
    for entry in fields.others() {
        let NodeKind::List(steps) = &entry.value.kind else { continue };
        bundle.has_steps |= !steps.is_empty();
        steps.iter().for_each(|step| steps::reads(reader, step, &mut reads));
    }
    if !reads.is_empty() {
        bundle.values = list(reads);
    }
    if let Some(node) = fields.node(Porter::DEPENDENCIES)
        && let Some(inner) = Dependencies::open(reader, node, "`dependencies`")
    {
        let required = inner.node(Dependencies::REQUIRES).map(|node| requires(reader, node));
        bundle.requires = required.unwrap_or_default();
        provided = inner.node(Dependencies::PROVIDES).and_then(|node| provides(reader, node));
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

/// The parameters, credentials and outputs of both forms.
fn body(reader: &mut Reader<'_>, lists: [Option<&Node<'_>>; 3], span: &Span) -> Bundle {
    let mut list = |node: Option<&Node<'_>>, what: &str| {
        let name = format!("{what}s");
        node.map(|node| declared(reader, node, &name, what, false)).unwrap_or_default()
    };
    let [parameters, credentials, outputs] = lists;
    Bundle {
        parameters: list(parameters, "parameter"),
        credentials: list(credentials, "credential"),
        outputs: list(outputs, "output"),
        location: reader.at(span),
        ..Bundle::requiring(Vec::new())
    }
}

fn name_and_version(
    reader: &mut Reader<'_>,
    name: Option<&Node<'_>>,
    version: Option<&Node<'_>>,
    registry: &str,
) -> Option<(Arc<str>, semver::Version, purlin_model::Location)> {
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
    let article = if what.starts_with('o') { "an" } else { "a" };
    let what_is_read = format!("{article} {what}");
    let fields = BundleValue::open(reader, node, &what_is_read)?;
    let id_node = fields.node(BundleValue::ID);
    let id = fields.read(reader, BundleValue::ID);
    let name = match (fields.node(BundleValue::NAME), id_node) {
        (None, Some(node)) if is_asked => Some((node.as_str()?, node.span)),
        (None, _) => {
            fields.report_missing(reader, &what_is_read, "name", "NAME");
            None
        }
        (Some(node), _) => reader.text(node, "`name`").map(|name| (name, node.span)),
    };
    let description = fields.read(reader, BundleValue::DESCRIPTION);
    let default = fields.entry(BundleValue::DEFAULT).map(|entry| constant(&entry.value));
    let required = fields.read(reader, BundleValue::REQUIRED);
    let sensitive = fields.read(reader, BundleValue::SENSITIVE);
    let source = fields.entry(BundleValue::SOURCE).map(|entry| source(reader, &entry.value));
    let sourced = source.is_some();
    let mut schema = serde_json::Map::new();
    for entry in fields.entries.iter().filter(|entry| KEYWORDS.contains(&&*entry.key)) {
        schema.insert(entry.key.to_string(), entry.value.to_json());
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
    let fields = Source::open(reader, node, "`source`")?;
    let (of, output) = (fields.read(reader, Source::DEPENDENCY), fields.read(reader, Source::OUTPUT));
    // Only the steps of another tool read outputs of the bundle's own last run.
    if !reader.foreign && fields.node(Source::DEPENDENCY).is_none() {
        fields.report_missing(reader, "`source`", "dependency", "NAME");
    }
    let (of, output) = (of?, output?);
    let source = format!("${{bundle.dependencies.{of}.outputs.{output}}}");
    let reference = Reference::Named(of, Path(Box::new([output])));
    let placeholder = Placeholder::new(reference, None, &source, reader.at(&node.span));
    Some(Template::Text([Piece::Placeholder(placeholder)].into()))
}

fn provides(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Arc<str>> {
    let node = Provides::open(reader, node, "`provides`")?.node(Provides::INTERFACE)?;
    Interface::open(reader, node, "`interface`")?.read(reader, Interface::ID)
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
