//! `x-reference`: the target of a field of a resource's params, from the schema of its type (SPEC
//! §7). This module knows schemas, and no manifest.
//!
//! ```yaml
//! vpcId:
//!   type: string
//!   x-reference: {type: ec2/vpc, output: id}
//! network:
//!   type: string
//!   x-reference: {type: gcp/network, build: "/projects/${ref.project}/global/networks/${ref.name}"}
//! subnetIds:
//!   type: array
//!   x-reference: {type: ec2/subnet, field: subnetIdRefs}
//! parentRefs: {type: array, x-reference: false}      # a value, whatever the convention of the group
//! dependsOn: {type: array, x-reference: {}}          # dependencies, see `manifest/depends.rs`
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use purlin_model::{Path, TypeName};
use serde_json::Value as Json;

use crate::declare::{Form, form};
use crate::kinds::Text;
use crate::near::slip;
use crate::reader::Reader;
use crate::yaml::{Entry, Locator, Node, NodeKind, Style};

const KEYWORD: &str = "x-reference";
/// The suffixes of reference fields.
pub(crate) const ENDS: [&str; 3] = ["Refs", "Ref", "Selector"];
/// How many schemas may apply to one place of the params, and how far `$ref` is followed.
const MOST_PLACES: usize = 32;

form! {
    /// The target of a field of a resource's params.
    struct XReference {
        /// Type of the target. Default: that of the only manifest with the name.
        TYPE: TypeName = "type";
        /// Name of the reference field, if it does not follow from the name of the field.
        FIELD: Text = "field" matching "(Refs|Ref|Selector)$";
        /// Output that is read, or a path into one.
        OUTPUT: Text = "output" default "id";
        /// Value that is built, such as `projects/${ref.project}/networks/${ref.name}`.
        BUILD: Text = "build";
    }
}

/// The target of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// The type of the target; `None` for the only matching manifest.
    pub(crate) type_name: Option<TypeName>,
    pub(crate) read: FieldSource,
    /// The name of the reference field, if it does not follow from the field.
    pub(crate) field: Option<Arc<str>>,
}

/// The value to read from the target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldSource {
    Output(Path),
    Build(Vec<CompositePart>),
}

/// A part of a composite attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CompositePart {
    Literal(Arc<str>),
    /// `${ref.X}`
    Field(Path),
}

/// The schema of a type's params with its reference fields.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) schema: Json,
    /// By the JSON Pointer of the schema that has the keyword; `None` for `false`.
    rules: HashMap<String, Option<Rule>>,
}

/// Reads the reference fields of a schema. Faults are reported.
pub(crate) fn read(reader: &mut Reader<'_>, schema: &Node<'_>) -> Rules {
    let mut rules = HashMap::new();
    each(schema, "", &mut |pointer, node| {
        let entries = node.entries().unwrap_or_default();
        for entry in entries {
            if &*entry.key == KEYWORD {
                let is_value = matches!(entry.value.kind, NodeKind::Bool(false));
                if pointer == "/properties/dependsOn" {
                    reads_nothing(reader, &entry.value);
                }
                let rule = if is_value { Some(None) } else { rule(reader, &entry.value).map(Some) };
                rules.extend(rule.map(|rule| (pointer.to_owned(), rule)));
            }
            keyword(reader, entry);
        }
    });
    Rules { schema: schema.to_json(), rules }
}

/// Keywords that make a value secret: one that is misspelt would show it.
const SECRECY: [&str; 2] = ["x-secret", "writeOnly"];

/// Reports a keyword with an effect that is misspelt or has a value without effect.
fn keyword(reader: &mut Reader<'_>, entry: &Entry<'_>) {
    if SECRECY.contains(&&*entry.key) {
        if !matches!(entry.value.kind, NodeKind::Bool(_)) {
            let message = format!("`{}` takes a boolean", entry.key);
            reader.wrong_value(
                &entry.value.span,
                message,
                "write it without quotes, and without anything else",
            );
        }
    } else if let Some(near) = slip(&entry.key, SECRECY.into_iter().chain([KEYWORD])) {
        let message = format!("a schema has no keyword `{}`", entry.key);
        let fault = reader.about(&entry.key_span, "unknown-field", message);
        reader.report(fault.help(format!("did you mean `{near}`?")));
    }
}

/// Reports what a list of dependencies would read: it only waits.
fn reads_nothing(reader: &mut Reader<'_>, node: &Node<'_>) {
    let read = |entry: &&Entry<'_>| ["output", "build", "field"].contains(&&*entry.key);
    if let Some(entry) = node.entries().unwrap_or_default().iter().find(read) {
        let message = format!("`dependsOn` reads nothing, so that `{}` has no effect", entry.key);
        reader.wrong_value(&entry.key_span, message, "keep only `type`, or write `x-reference: {}`");
    }
}

/// Reports reference fields where they are not allowed.
pub(crate) fn none(reader: &mut Reader<'_>, schema: &Node<'_>) {
    each(schema, "", &mut |_, node| {
        let entries = node.entries().unwrap_or_default();
        if let Some(entry) = entries.iter().find(|entry| &*entry.key == KEYWORD) {
            reader.misplaced(entry, "outputs", "write it into the schema of the params");
        }
        entries.iter().for_each(|entry| keyword(reader, entry));
    });
}

/// Visits every schema within a schema.
fn each<'n, 't>(schema: &'n Node<'t>, pointer: &str, visit: &mut dyn FnMut(&str, &'n Node<'t>)) {
    let Some(entries) = schema.entries() else { return };
    visit(pointer, schema);
    for entry in entries {
        let below = format!("{pointer}/{}", escaped(&entry.key));
        match &*entry.key {
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                for child in entry.value.entries().unwrap_or_default() {
                    each(&child.value, &format!("{below}/{}", escaped(&child.key)), visit);
                }
            }
            "items"
            | "additionalProperties"
            | "contains"
            | "not"
            | "if"
            | "then"
            | "else"
            | "propertyNames"
            | "unevaluatedProperties"
            | "unevaluatedItems" => each(&entry.value, &below, visit),
            "prefixItems" | "allOf" | "anyOf" | "oneOf" => {
                let NodeKind::List(items) = &entry.value.kind else { continue };
                for (index, item) in items.iter().enumerate() {
                    each(item, &format!("{below}/{index}"), visit);
                }
            }
            _ => {}
        }
    }
}

/// A segment of a JSON Pointer.
pub(crate) fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

fn rule(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Rule> {
    let before = reader.faults.len();
    if node.entries().is_none() {
        reader.wrong_type(node, &format!("`{KEYWORD}`"), "a map, or false");
        return None;
    }
    let fields = XReference::open(reader, node, &format!("`{KEYWORD}`"))?;
    let type_name = fields.read(reader, XReference::TYPE);
    let field = fields.node(XReference::FIELD).and_then(|node| {
        let text = reader.text(node, "`field`")?;
        if !ENDS.iter().any(|end| text.len() > end.len() && text.ends_with(end)) {
            let help = "write the whole name of the field, such as `subnetIdRefs`";
            reader.wrong_value(
                &node.span,
                "the name of a reference field ends with `Ref`, `Refs` or `Selector`",
                help,
            );
            return None;
        }
        Some(Arc::from(text))
    });
    let (output, build) = (fields.entry(XReference::OUTPUT), fields.entry(XReference::BUILD));
    let read = match (output, build) {
        (Some(output), Some(build)) => {
            let fault = reader
                .about(&build.key_span, "wrong-value", "`output` and `build` cannot both be given")
                .related(&reader.at(&output.key_span), "`output` is given here")
                .help("keep one of them");
            reader.report(fault);
            return None;
        }
        (Some(output), None) => {
            let text = reader.text(&output.value, "`output`")?;
            match path(text) {
                Some(path) => FieldSource::Output(path),
                None => {
                    let help =
                        "write the name of an output, such as `id`, or a path, such as `endpoint.host`";
                    reader.wrong_value(&output.value.span, format!("`{text}` is not an output"), help);
                    return None;
                }
            }
        }
        (None, Some(build)) => FieldSource::Build(parts(reader, &build.value)?),
        (None, None) => FieldSource::Output(Path(Box::new(["id".into()]))),
    };
    (reader.faults.len() == before).then_some(Rule { type_name, read, field })
}

/// The pieces of a composite attribute.
fn parts(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Vec<CompositePart>> {
    let text = reader.text(node, "`build`")?;
    let style = match &node.kind {
        NodeKind::String(_, style) => *style,
        _ => Style::Plain,
    };
    let locator = Locator::new(reader.file, reader.text, node.span, text, style);
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut faults = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(start) = rest.find('$') else {
            literal.push_str(rest);
            break;
        };
        let (before, from) = rest.split_at(start);
        literal.push_str(before);
        at += start;
        if let Some(escape) = from.strip_prefix("$\\{") {
            literal.push_str("${");
            at += from.len() - escape.len();
            continue;
        }
        let Some(inside) = from.strip_prefix("${") else {
            literal.push('$');
            at += 1;
            continue;
        };
        let end = inside.find('}');
        let inner = inside.get(..end.unwrap_or(inside.len())).unwrap_or_default();
        match inner.trim().strip_prefix("ref.").and_then(path).filter(|_| end.is_some()) {
            Some(path) => {
                if !literal.is_empty() {
                    parts.push(CompositePart::Literal(std::mem::take(&mut literal).into()));
                }
                parts.push(CompositePart::Field(path));
            }
            None => faults.push((locator.locate(at), inner.chars().count() + 3, end.is_some())),
        }
        at += 2 + inner.len() + 1;
    }
    if !literal.is_empty() {
        parts.push(CompositePart::Literal(literal.into()));
    }
    for (place, length, closed) in &faults {
        let message = match closed {
            true => "`build` reads the target and nothing else",
            false => "the placeholder has no `}`",
        };
        let fault = purlin_model::Diagnostic::error("placeholder", message).at(place).spanning(*length);
        reader.report(fault.help(
            "write `${ref.NAME}`: the target's `name` or `namespace`, a field of its params, or an output",
        ));
    }
    if faults.is_empty() && !parts.iter().any(|part| matches!(part, CompositePart::Field(_))) {
        let help = "write `${ref.name}` where the name of the target belongs";
        reader.wrong_value(&node.span, "`build` reads nothing from the target", help);
        return None;
    }
    faults.is_empty().then_some(parts)
}

/// A path of segments separated by `.`.
fn path(text: &str) -> Option<Path> {
    let fits = |segment: &str| {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | ':' | '@');
        !segment.is_empty() && segment.chars().all(plain)
    };
    let segments: Vec<&str> = text.split('.').collect();
    segments.iter().all(|segment| fits(segment)).then(|| Path(segments.into_iter().map(Arc::from).collect()))
}

/// The schemas that apply to one place of the params.
#[derive(Clone, Debug)]
pub(crate) struct ParamSchemas<'r> {
    rules: &'r Rules,
    schemas: Vec<(String, &'r Json)>,
}

impl Rules {
    /// The place of all params.
    pub(crate) fn root(&self) -> ParamSchemas<'_> {
        let mut place = ParamSchemas { rules: self, schemas: Vec::new() };
        place.add(String::new(), &self.schema);
        place
    }
}

impl<'r> ParamSchemas<'r> {
    /// Adds a schema, and the schemas that it refers to or consists of.
    fn add(&mut self, pointer: String, schema: &'r Json) {
        if self.schemas.len() >= MOST_PLACES || self.schemas.iter().any(|(known, _)| *known == pointer) {
            return;
        }
        self.schemas.push((pointer.clone(), schema));
        if let Some(target) =
            schema.get("$ref").and_then(Json::as_str).and_then(|text| text.strip_prefix('#'))
            && let Some(found) = self.rules.schema.pointer(target)
        {
            self.add(target.to_owned(), found);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let parts = schema.get(keyword).and_then(Json::as_array);
            for (index, part) in parts.into_iter().flatten().enumerate() {
                self.add(format!("{pointer}/{keyword}/{index}"), part);
            }
        }
        for keyword in ["then", "else"] {
            if let Some(part) = schema.get(keyword) {
                self.add(format!("{pointer}/{keyword}"), part);
            }
        }
    }

    fn below(&self, keyword: &str, name: Option<&str>) -> Option<Self> {
        let mut place = ParamSchemas { rules: self.rules, schemas: Vec::new() };
        for (pointer, schema) in &self.schemas {
            let Some(found) = schema.get(keyword) else { continue };
            match name {
                None => place.add(format!("{pointer}/{keyword}"), found),
                Some(name) => {
                    let Some(found) = found.get(name) else { continue };
                    place.add(format!("{pointer}/{keyword}/{}", escaped(name)), found);
                }
            }
        }
        (!place.schemas.is_empty()).then_some(place)
    }

    /// The place of a field that the schema defines.
    pub(crate) fn property(&self, name: &str) -> Option<Self> {
        self.below("properties", Some(name))
    }

    /// The place of a field, defined or not.
    pub(crate) fn field(&self, name: &str) -> Option<Self> {
        self.property(name).or_else(|| self.below("additionalProperties", None))
    }

    /// The place of the items of a list.
    pub(crate) fn items(&self) -> Option<Self> {
        self.below("items", None)
    }

    fn written(&self) -> Option<&'r Option<Rule>> {
        let own = |place: &Self| place.schemas.iter().find_map(|(at, _)| place.rules.rules.get(at));
        own(self).or_else(|| own(&self.items()?))
    }

    /// The reference of the place, or of each of its items.
    pub(crate) fn rule(&self) -> Option<&'r Rule> {
        self.written()?.as_ref()
    }

    /// Whether the schema says that it is no reference.
    pub(crate) fn is_value(&self) -> bool {
        matches!(self.written(), Some(None))
    }

    /// Whether it is a list.
    pub(crate) fn is_list(&self) -> bool {
        self.schemas.iter().any(|(_, schema)| match schema.get("type") {
            Some(Json::String(name)) => name == "array",
            Some(Json::Array(names)) => names.iter().any(|name| name == "array"),
            _ => false,
        })
    }

    /// The fields that reference fields fill by their `field`.
    pub(crate) fn named(&self) -> FilledFields<'r> {
        let mut named = FilledFields::default();
        let names = self.schemas.iter().filter_map(|(_, schema)| schema.get("properties")?.as_object());
        for name in names.flat_map(|properties| properties.keys()) {
            let Some(place) = self.property(name) else { continue };
            let Some(field) = place.rule().and_then(|rule| rule.field.as_deref()) else { continue };
            named.by_stem.entry(stem(field)).or_insert_with(|| (name.as_str(), place.clone()));
            named.by_field.entry(field).or_insert((name.as_str(), place));
        }
        named
    }
}

/// A reference field without its suffix.
fn stem(field: &str) -> &str {
    ENDS.iter().find_map(|end| field.strip_suffix(end)).unwrap_or(field)
}

/// The fields of one map that reference fields fill by their `field`.
#[derive(Debug, Default)]
pub(crate) struct FilledFields<'r> {
    by_field: HashMap<&'r str, (&'r str, ParamSchemas<'r>)>,
    by_stem: HashMap<&'r str, (&'r str, ParamSchemas<'r>)>,
}

impl<'r> FilledFields<'r> {
    /// The field that a reference field fills by its `field`, or the one whose reference field has
    /// the same name except for its suffix: `subnetIdSelector` beside `field: subnetIdRefs`.
    pub(crate) fn filled_by(&self, reference: &str) -> Option<&(&'r str, ParamSchemas<'r>)> {
        self.by_field.get(reference).or_else(|| self.by_stem.get(stem(reference)))
    }
}
