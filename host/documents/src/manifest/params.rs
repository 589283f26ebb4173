//! The params of a manifest: plain data, in which each reference field is replaced by the field
//! that it fills, whose value is an ordinary template. `${` has no meaning in manifests.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_model::{
    Absent, Attribute, FieldReference, Modifiers, ParamsPosition, Piece, Placeholder, Reference,
    ReferenceField, Target, TargetSelector, Template, Value,
};

use super::field::{self, Field, Form, Labelled, ReadEntry, Said, TargetName};
use super::head::{Body, Head};
use super::policy::Policy;
use super::{Entry as Manifest, Scope};
use crate::reader::Reader;
use crate::template::{constant, list, map};
use crate::x_reference::{CompositePart, FieldSource, FilledFields, ParamSchemas, Rule, Rules, escaped};
use crate::yaml::{Entry, Node, NodeKind};

/// Compiles the params. Returns the reference fields in them as well.
pub(super) fn compile(
    reader: &mut Reader<'_>,
    body: &Body<'_, '_>,
    head: &Head,
    own: &Manifest,
    rules: Option<&Rules>,
    scope: &Scope<'_>,
) -> (Template, Vec<ReferenceField>) {
    let by_convention = body.under != ParamsPosition::Top && scope.convention.covers(&head.kind.group);
    let pointer = match body.under {
        ParamsPosition::ForProvider => "/spec/forProvider",
        ParamsPosition::Spec => "/spec",
        ParamsPosition::Top => "",
    };
    let mut compiler =
        Compiler { reader, own, scope, by_convention, pointer: pointer.to_owned(), fields: Vec::new() };
    let place = rules.map(Rules::root);
    let template = compiler.map(&body.params, place.as_ref());
    let fields = compiler.fields;
    match head.kind.group.is_empty() && &*head.kind.kind == "Secret" {
        true => (sealed(template), fields),
        false => (template, fields),
    }
}

/// The params of a `Secret`, whose data is secret whatever a schema defines.
fn sealed(template: Template) -> Template {
    let Template::Constant(Value::Map(entries)) = template else { return template };
    let entries = entries.into_iter().map(|(key, value)| {
        let value = match (&*key, value) {
            ("data" | "stringData", Value::Map(data)) => {
                Value::Map(data.into_iter().map(|(name, value)| (name, value.into_secret())).collect())
            }
            ("data" | "stringData", value) => value.into_secret(),
            (_, value) => value,
        };
        (key, Template::Constant(value))
    });
    map(entries)
}

struct Compiler<'c, 'a, 'r> {
    reader: &'c mut Reader<'r>,
    own: &'c Manifest,
    scope: &'c Scope<'a>,
    /// Whether fields are references without a description.
    by_convention: bool,
    /// The JSON Pointer of the current map or list.
    pointer: String,
    fields: Vec<ReferenceField>,
}

/// The field that a reference field fills.
struct Filled<'p> {
    name: Arc<str>,
    /// Whether its value is a list.
    is_list: bool,
    rule: Option<&'p Rule>,
}

/// What is known about one map of the params.
struct Around<'m, 'p> {
    place: Option<&'m ParamSchemas<'p>>,
    named: FilledFields<'p>,
    /// The manifest's own values that are set, by whether they are lists.
    literals: HashMap<&'m str, bool>,
}

impl<'p> Around<'_, 'p> {
    fn property(&self, name: &str) -> Option<ParamSchemas<'p>> {
        self.place?.property(name)
    }

    fn literal(&self, name: &str) -> Option<bool> {
        self.literals.get(name).copied()
    }
}

impl Compiler<'_, '_, '_> {
    fn tree(&mut self, node: &Node<'_>, place: Option<&ParamSchemas<'_>>) -> Template {
        match &node.kind {
            NodeKind::Map(entries) => self.map(&entries.iter().collect::<Vec<_>>(), place),
            NodeKind::List(items) => {
                let place = place.and_then(ParamSchemas::items);
                let item = |(index, item): (usize, &Node<'_>)| {
                    self.within(&index.to_string(), |this| this.tree(item, place.as_ref()))
                };
                list(items.iter().enumerate().map(item).collect())
            }
            _ => Template::Constant(constant(node)),
        }
    }

    /// Compiles a part at a key or a number of the current place.
    fn within<T>(&mut self, segment: &str, compile: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&escaped(segment));
        let result = compile(self);
        self.pointer.truncate(length);
        result
    }

    fn map(&mut self, entries: &[&Entry<'_>], place: Option<&ParamSchemas<'_>>) -> Template {
        let named = match entries.iter().any(|entry| field::end(&entry.key).is_some()) {
            true => place.map(ParamSchemas::named).unwrap_or_default(),
            false => FilledFields::default(),
        };
        let said: Vec<Said> = entries.iter().map(|entry| self.said(&entry.key, place, &named)).collect();
        let found: Vec<ReadEntry<'_>> =
            entries.iter().zip(&said).map(|(entry, said)| field::read(self.reader, entry, *said)).collect();
        let mut fillings = match found.iter().all(|found| matches!(found, ReadEntry::Data)) {
            true => HashMap::new(),
            false => self.fillings(entries, &found, place, named),
        };
        let taken: HashSet<Arc<str>> = fillings.values().map(|(name, _)| Arc::clone(name)).collect();
        let mut result: Vec<(Arc<str>, Template)> = Vec::with_capacity(entries.len());
        for (index, (entry, said)) in entries.iter().zip(&said).enumerate() {
            match found.get(index) {
                Some(ReadEntry::Data) if taken.contains(&entry.key) => {}
                Some(ReadEntry::Data) => {
                    if let (Said::Described, Some(place)) = (said, place) {
                        self.misshapen(entry, place);
                    }
                    let below = place.and_then(|place| place.field(&entry.key));
                    let value = self.within(&entry.key, |this| this.tree(&entry.value, below.as_ref()));
                    result.push((entry.key.clone(), value));
                }
                _ => result.extend(fillings.remove(&index)),
            }
        }
        map(result.into_iter())
    }

    /// Who says that a field is a reference.
    fn said(&self, key: &str, place: Option<&ParamSchemas<'_>>, named: &FilledFields<'_>) -> Said {
        let Some((end, stem)) = field::end(key).and_then(|end| Some((end, key.strip_suffix(end)?))) else {
            return Said::Nobody;
        };
        if let Some(place) = place {
            let plural = (end != "Ref").then(|| several(stem));
            let filled: Vec<_> = [Some(stem.to_owned()), plural]
                .into_iter()
                .flatten()
                .filter_map(|name| place.property(&name))
                .collect();
            if filled.iter().chain(&place.property(key)).any(ParamSchemas::is_value) {
                return Said::Nobody;
            }
            if filled.iter().any(|place| place.rule().is_some()) || named.filled_by(key).is_some() {
                return Said::Described;
            }
        }
        if self.by_convention { Said::Convention } else { Said::Nobody }
    }

    /// The values for the fields that the reference fields of a map fill, by the position of the
    /// entry that names the value.
    fn fillings<'p>(
        &mut self,
        entries: &[&Entry<'_>],
        found: &[ReadEntry<'_>],
        place: Option<&ParamSchemas<'p>>,
        named: FilledFields<'p>,
    ) -> HashMap<usize, (Arc<str>, Template)> {
        let is_set = |node: &Node<'_>| match &node.kind {
            NodeKind::Null => false,
            NodeKind::String(text, _) => !text.is_empty(),
            NodeKind::List(items) => !items.is_empty(),
            _ => true,
        };
        let literals = entries
            .iter()
            .zip(found)
            .filter(|(entry, found)| matches!(found, ReadEntry::Data) && is_set(&entry.value))
            .map(|(entry, _)| (&*entry.key, matches!(entry.value.kind, NodeKind::List(_))));
        let around = Around { place, named, literals: literals.collect() };
        let filled: Vec<(usize, &Field<'_>, Filled<'_>)> = found
            .iter()
            .enumerate()
            .filter_map(|(index, found)| match found {
                ReadEntry::Field(field) => Some((index, field, filled(field, &around))),
                ReadEntry::Data | ReadEntry::Faulty => None,
            })
            .collect();
        let names = |field: &Field<'_>| !matches!(field.form, Form::Labels(_));
        let by_name = || filled.iter().filter(|(_, field, _)| names(field));
        let targets: HashSet<&str> = by_name().map(|(_, _, target)| &*target.name).collect();
        let stems: HashSet<&str> = by_name().map(|(_, field, _)| field.stem).collect();
        let mut first: HashMap<(bool, &str), (usize, &Field<'_>)> = HashMap::new();
        let mut fillings = HashMap::new();
        for (index, field, target) in &filled {
            let Some(entry) = entries.get(*index) else { continue };
            // A reference by name makes a selector superfluous.
            let is_superfluous =
                !names(field) && (targets.contains(&*target.name) || stems.contains(field.stem));
            if !is_superfluous
                && let Some((at, before)) = first.insert((names(field), &target.name), (*index, field))
            {
                let message = format!("`{}` and `{}` both fill `{}`", before.key, field.key, target.name);
                let mut fault = self.reader.about(&entry.key_span, "filled-twice", message);
                if let Some(before) = entries.get(at) {
                    fault = fault.related(&self.reader.at(&before.key_span), "the other one");
                }
                self.reader.report(fault.help("keep one of them"));
                continue;
            }
            let keeps = field.form.keeps() && around.literal(&target.name).is_some();
            let value = match is_superfluous || keeps {
                true => None,
                false => self.filling(field, target),
            };
            let at = |name: &str| Arc::from(format!("{}/{}", self.pointer, escaped(name)));
            self.fields.push(ReferenceField {
                field: at(field.key),
                fills: value.is_some().then(|| at(&target.name)),
                location: self.reader.at(&entry.key_span),
            });
            if let Some(value) = value {
                fillings.insert(*index, (target.name.clone(), value));
            }
        }
        fillings
    }

    /// Reports a value that is not a reference, in a field that the schema defines as a reference
    /// field: if it were left as data, the field that it should fill would be missing silently.
    fn misshapen(&mut self, entry: &Entry<'_>, place: &ParamSchemas<'_>) {
        let key = &*entry.key;
        let is_empty_value = match &entry.value.kind {
            NodeKind::List(items) => items.is_empty(),
            kind => matches!(kind, NodeKind::Null),
        };
        if is_empty_value || place.property(key).is_some() {
            return;
        }
        let form = match field::end(key) {
            Some("Ref") => format!("{key}: {{name: NAME}}"),
            Some("Refs") => format!("{key}: [{{name: NAME}}]"),
            Some(_) => format!("{key}: {{matchLabels: {{LABEL: VALUE}}}}"),
            None => return,
        };
        let message = format!("the value of `{key}` is not a reference");
        self.reader.wrong_value(&entry.key_span, message, field::write(&form));
    }

    fn filling(&mut self, field: &Field<'_>, filled: &Filled<'_>) -> Option<Template> {
        match &field.form {
            Form::One(named) if filled.is_list => Some(list(vec![self.named(field, named, filled.rule)])),
            Form::One(named) => Some(self.named(field, named, filled.rule)),
            Form::Several(names) => {
                Some(list(names.iter().map(|named| self.named(field, named, filled.rule)).collect()))
            }
            Form::Labels(labelled) => self.labelled(field, labelled, filled),
        }
    }

    /// The target of a field, which a description may give a type.
    fn target(
        &self,
        field: &Field<'_>,
        rule: Option<&Rule>,
        namespace: Option<&Arc<str>>,
        which: TargetSelector,
    ) -> Target {
        let type_name = rule.and_then(|rule| rule.type_name.clone());
        Target {
            hint: type_name.is_none().then(|| field.stem.into()),
            type_name,
            namespace: namespace.or(self.own.namespace.as_ref()).cloned(),
            in_namespace: namespace.is_some(),
            which,
        }
    }

    fn named(&self, field: &Field<'_>, named: &TargetName, rule: Option<&Rule>) -> Template {
        let key = field.key;
        let source = match &named.namespace {
            Some(namespace) => format!("{key}: {namespace}/{}", named.name),
            None => format!("{key}: {}", named.name),
        };
        let which = TargetSelector::Named(named.name.clone());
        let target = self.target(field, rule, named.namespace.as_ref(), which);
        reading(rule, &target, &source, named.policy, &named.location)
    }

    fn labelled(&mut self, field: &Field<'_>, labelled: &Labelled, filled: &Filled<'_>) -> Option<Template> {
        let key = field.key;
        let labels: Vec<String> =
            labelled.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if labels.is_empty() && filled.rule.is_none_or(|rule| rule.type_name.is_none()) {
            let fault = purlin_model::Diagnostic::error(
                "missing-field",
                format!("`{key}` has no labels, and no ResourceType says what `{}` refers to", filled.name),
            );
            let help = "add labels, or an `x-reference` with a `type` to the ResourceType of this manifest";
            self.reader.report(fault.at(&labelled.location).help(help));
            return None;
        }
        let source =
            format!("{key}: {}", if labels.is_empty() { "all".to_owned() } else { labels.join(", ") });
        let which = match filled.is_list {
            true => TargetSelector::AllLabelled(labelled.labels.clone()),
            false => TargetSelector::Labelled(labelled.labels.clone()),
        };
        let target = self.target(field, filled.rule, labelled.namespace.as_ref(), which);
        if let (true, Some(Rule { read: FieldSource::Build(_), .. })) = (filled.is_list, filled.rule) {
            return Some(self.each(&target, labelled, &source, filled.rule));
        }
        Some(reading(filled.rule, &target, &source, labelled.policy, &labelled.location))
    }

    /// A composite attribute of each manifest with certain labels. A text reads one resource, so
    /// the list is created here.
    fn each(&mut self, target: &Target, labelled: &Labelled, source: &str, rule: Option<&Rule>) -> Template {
        let fits = |manifest: &&Manifest| {
            target.type_name.as_ref().is_none_or(|name| *name == manifest.type_name)
                && (manifest.namespace == target.namespace
                    || (manifest.namespace.is_none() && !target.in_namespace))
                && manifest.key != self.own.key
                && labelled.labels.iter().all(|(name, value)| manifest.labels.get(name) == Some(value))
        };
        let mut chosen: Vec<&Manifest> = self.scope.known.all.iter().filter(fits).collect();
        if chosen.iter().any(|manifest| manifest.namespace.is_some()) {
            chosen.retain(|manifest| manifest.namespace.is_some());
        }
        chosen.sort_by(|a, b| a.key.cmp(&b.key));
        if chosen.is_empty() && !labelled.policy.optional {
            let message = format!("no manifest fits `{source}`");
            let fault = purlin_model::Diagnostic::error("no-target", message).at(&labelled.location);
            let help = "correct the labels, or add `policy: {resolution: Optional}`";
            self.reader.report(fault.help(help));
        }
        list(
            chosen
                .into_iter()
                .map(|manifest| {
                    let target = Target {
                        type_name: Some(manifest.type_name.clone()),
                        hint: None,
                        which: TargetSelector::Named(manifest.name.clone()),
                        ..target.clone()
                    };
                    reading(rule, &target, source, labelled.policy, &labelled.location)
                })
                .collect(),
        )
    }
}

/// The plural of a field.
fn several(stem: &str) -> String {
    if stem.ends_with('s') { stem.to_owned() } else { format!("{stem}s") }
}

/// Which field a reference field fills.
fn filled<'p>(field: &Field<'_>, around: &Around<'_, 'p>) -> Filled<'p> {
    if let Some((name, place)) = around.named.filled_by(field.key) {
        let is_list = place.is_list() || matches!(field.form, Form::Several(_));
        return Filled { name: (*name).into(), is_list, rule: place.rule() };
    }
    let one = field.stem;
    let several = several(one);
    let is_list = |name: &str| around.property(name).is_some_and(|place| place.is_list());
    let written_list = |name: &str| around.literal(name) == Some(true);
    let (name, is_list) = match &field.form {
        Form::One(_) => (one, is_list(one)),
        Form::Several(_) if is_list(one) => (one, true),
        Form::Several(_) if around.property(&several).is_some() || around.literal(&several).is_some() => {
            (&*several, true)
        }
        Form::Several(_) if written_list(one) => (one, true),
        Form::Several(_) => (&*several, true),
        Form::Labels(_) if around.property(one).is_some() => (one, is_list(one)),
        Form::Labels(_) if is_list(&several) || written_list(&several) => (&*several, true),
        Form::Labels(_) => {
            let plural = ["Ids", "IDs", "Arns", "ARNs"].iter().any(|end| one.ends_with(end));
            (one, plural || written_list(one))
        }
    };
    Filled { name: name.into(), is_list, rule: around.property(name).and_then(|place| place.rule()) }
}

/// The expression that reads an attribute of the target.
fn reading(
    rule: Option<&Rule>,
    target: &Target,
    source: &str,
    policy: Policy,
    location: &purlin_model::Location,
) -> Template {
    let placeholder = |read: Attribute| {
        let modifiers = policy.optional.then(|| Modifiers { absent: Absent::LeftOut, pipes: Vec::new() });
        let reference = Reference::Field(Arc::new(FieldReference { target: target.clone(), read }));
        Piece::Placeholder(Placeholder::new(reference, modifiers.map(Box::new), source, location.clone()))
    };
    let pieces: Vec<Piece> = match rule.map(|rule| &rule.read) {
        None => vec![placeholder(Attribute::Output(purlin_model::Path(Box::new(["id".into()]))))],
        Some(FieldSource::Output(path)) => vec![placeholder(Attribute::Output(path.clone()))],
        Some(FieldSource::Build(parts)) => parts
            .iter()
            .map(|part| match part {
                CompositePart::Literal(text) => Piece::Literal(text.clone()),
                CompositePart::Field(path) => placeholder(Attribute::Field(path.clone())),
            })
            .collect(),
    };
    Template::Text(pieces.into())
}
