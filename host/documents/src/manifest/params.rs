//! The params of a manifest: plain data, in which each reference field is replaced by the field
//! that it fills, whose value is an ordinary template. `${` has no meaning in manifests.

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_model::{
    Absent, Attribute, FieldReference, Modifiers, Piece, Placeholder, Reference, Target, TargetSelector,
    Template, Value,
};

use super::field::{self, Field, Form, Labelled, Named, ReadEntry};
use super::head::{Body, Head};
use super::policy::Policy;
use super::{Entry as Manifest, Scope};
use crate::reader::Reader;
use crate::template::{constant, list, map};
use crate::x_reference::{ParamSchemas, Part, Read, Rule, Rules};
use crate::yaml::{Entry, Node, NodeKind};

/// Compiles the params.
pub(super) fn compile(
    reader: &mut Reader<'_>,
    body: &Body<'_, '_>,
    head: &Head,
    own: &Manifest,
    rules: Option<&Rules>,
    scope: &Scope<'_>,
) -> Template {
    let of_kubernetes = field::is_of_kubernetes(&head.kind.group);
    let mut compiler = Compiler { reader, own, scope, of_kubernetes };
    let place = rules.map(Rules::root);
    let template = compiler.map(&body.params, place.as_ref());
    match head.kind.group.is_empty() && &*head.kind.kind == "Secret" {
        true => sealed(template),
        false => template,
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
    of_kubernetes: bool,
}

/// The field that a reference field fills.
struct Filled<'p> {
    name: Arc<str>,
    /// Whether its value is a list.
    is_list: bool,
    rule: Option<&'p Rule>,
}

impl Compiler<'_, '_, '_> {
    fn tree(&mut self, node: &Node<'_>, place: Option<&ParamSchemas<'_>>) -> Template {
        match &node.kind {
            NodeKind::Map(entries) => self.map(&entries.iter().collect::<Vec<_>>(), place),
            NodeKind::List(items) => {
                let place = place.and_then(ParamSchemas::items);
                list(items.iter().map(|item| self.tree(item, place.as_ref())).collect())
            }
            _ => Template::Constant(constant(node)),
        }
    }

    fn map(&mut self, entries: &[&Entry<'_>], place: Option<&ParamSchemas<'_>>) -> Template {
        let found: Vec<ReadEntry<'_>> =
            entries.iter().map(|entry| field::read(self.reader, entry, self.of_kubernetes)).collect();
        let fields: Vec<(usize, &Field<'_>)> = found
            .iter()
            .enumerate()
            .filter_map(|(index, found)| match found {
                ReadEntry::Field(field) => Some((index, field)),
                ReadEntry::Data | ReadEntry::Faulty => None,
            })
            .collect();
        // The manifest's own value in a field, by whether it is a list.
        let literal = |name: &str| -> Option<bool> {
            let at = entries.iter().position(|entry| &*entry.key == name)?;
            let node = &entries.get(at)?.value;
            let is_set = match &node.kind {
                NodeKind::Null => false,
                NodeKind::String(text, _) => !text.is_empty(),
                NodeKind::List(items) => !items.is_empty(),
                _ => true,
            };
            (matches!(found.get(at), Some(ReadEntry::Data)) && is_set)
                .then_some(matches!(node.kind, NodeKind::List(_)))
        };
        let filled: Vec<(usize, &Field<'_>, Filled<'_>)> = fields
            .iter()
            .map(|(index, field)| (*index, *field, self.filled(field, place, &literal)))
            .collect();
        // The value for a field, by the position of the entry that names it.
        let mut fillings: BTreeMap<usize, (Arc<str>, Template)> = BTreeMap::new();
        for (position, (index, field, target)) in filled.iter().enumerate() {
            let names = |form: &Form| !matches!(form, Form::Labels(_));
            let rivals = filled.iter().enumerate().filter(|(other, _)| *other != position);
            let mut rivals = rivals.map(|(other, (at, rival, goal))| (other, at, rival, goal));
            let same =
                |rival: &Field<'_>, goal: &Filled<'_>| goal.name == target.name || rival.stem == field.stem;
            if !names(&field.form)
                && rivals.clone().any(|(_, _, rival, goal)| names(&rival.form) && same(rival, goal))
            {
                // A reference by name makes a selector superfluous.
                continue;
            }
            let first = rivals.find(|(other, _, rival, goal)| {
                *other < position && names(&rival.form) == names(&field.form) && goal.name == target.name
            });
            if let Some((_, at, rival, _)) = first
                && let (Some(entry), Some(before)) = (entries.get(*index), entries.get(*at))
            {
                let message = format!("`{}` and `{}` both fill `{}`", rival.key, field.key, target.name);
                let fault = self
                    .reader
                    .about(&entry.key_span, "filled-twice", message)
                    .related(&self.reader.at(&before.key_span), "the other one");
                self.reader.report(fault.help("keep one of them"));
                continue;
            }
            if field.form.keeps() && literal(&target.name).is_some() {
                continue;
            }
            if let Some(template) = self.filling(field, target) {
                fillings.insert(*index, (target.name.clone(), template));
            }
        }
        let taken: Vec<Arc<str>> = fillings.values().map(|(name, _)| name.clone()).collect();
        let mut result: Vec<(Arc<str>, Template)> = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            match found.get(index) {
                Some(ReadEntry::Data) if taken.contains(&entry.key) => {}
                Some(ReadEntry::Data) => {
                    self.misshapen(entry, place);
                    let below = place.and_then(|place| place.field(&entry.key));
                    result.push((entry.key.clone(), self.tree(&entry.value, below.as_ref())));
                }
                _ => result.extend(fillings.remove(&index)),
            }
        }
        map(result.into_iter())
    }

    /// Reports a value that is not a reference, in a field that the schema defines as a reference
    /// field: if it were left as data, the field that it should fill would be missing silently.
    fn misshapen(&mut self, entry: &Entry<'_>, place: Option<&ParamSchemas<'_>>) {
        let Some(place) = place else { return };
        let key = &*entry.key;
        let is_empty_value = match &entry.value.kind {
            NodeKind::List(items) => items.is_empty(),
            kind => matches!(kind, NodeKind::Null),
        };
        let is_data = self.of_kubernetes && field::OF_KUBERNETES.contains(&key);
        if is_empty_value || is_data || place.property(key).is_some() {
            return;
        }
        let form = match field::end(key) {
            Some("Ref") => format!("{key}: {{name: NAME}}"),
            Some("Refs") => format!("{key}: [{{name: NAME}}]"),
            Some(_) => format!("{key}: {{matchLabels: {{LABEL: VALUE}}}}"),
            None => return,
        };
        let is_described = || {
            let stem = field::end(key).and_then(|end| key.strip_suffix(end))?;
            let properties = [stem.to_owned(), format!("{stem}s")];
            let named = properties.iter().filter_map(|name| place.property(name));
            named.chain(place.filled_by(key).map(|(_, place)| place)).find_map(|place| place.rule())
        };
        if is_described().is_some() {
            let message = format!("the value of `{key}` is not a reference");
            self.reader.wrong_value(&entry.key_span, message, field::write(&form));
        }
    }

    /// Which field a reference field fills.
    fn filled<'p>(
        &self,
        field: &Field<'_>,
        place: Option<&ParamSchemas<'p>>,
        literal: &dyn Fn(&str) -> Option<bool>,
    ) -> Filled<'p> {
        if let Some((name, place)) = place.and_then(|place| place.filled_by(field.key)) {
            let is_list = place.is_list() || matches!(field.form, Form::Several(_));
            return Filled { name: name.into(), is_list, rule: place.rule() };
        }
        let one = field.stem;
        let several = match one.ends_with('s') {
            true => one.to_owned(),
            false => format!("{one}s"),
        };
        let property = |name: &str| place.and_then(|place| place.property(name));
        let is_list = |name: &str| property(name).is_some_and(|place| place.is_list());
        let written_list = |name: &str| literal(name) == Some(true);
        let (name, is_list) = match &field.form {
            Form::One(_) => (one, is_list(one)),
            Form::Several(_) if is_list(one) => (one, true),
            Form::Several(_) if property(&several).is_some() || literal(&several).is_some() => {
                (&*several, true)
            }
            Form::Several(_) if written_list(one) => (one, true),
            Form::Several(_) => (&*several, true),
            Form::Labels(_) if property(one).is_some() => (one, is_list(one)),
            Form::Labels(_) if is_list(&several) || written_list(&several) => (&*several, true),
            Form::Labels(_) => {
                let plural = ["Ids", "IDs", "Arns", "ARNs"].iter().any(|end| one.ends_with(end));
                (one, plural || written_list(one))
            }
        };
        Filled { name: name.into(), is_list, rule: property(name).and_then(|place| place.rule()) }
    }

    fn filling(&mut self, field: &Field<'_>, filled: &Filled<'_>) -> Option<Template> {
        match &field.form {
            Form::One(named) if filled.is_list => Some(list(vec![self.named(field.key, named, filled.rule)])),
            Form::One(named) => Some(self.named(field.key, named, filled.rule)),
            Form::Several(names) => {
                Some(list(names.iter().map(|named| self.named(field.key, named, filled.rule)).collect()))
            }
            Form::Labels(labelled) => self.labelled(field.key, labelled, filled),
        }
    }

    fn named(&self, key: &str, named: &Named, rule: Option<&Rule>) -> Template {
        let source = match &named.namespace {
            Some(namespace) => format!("{key}: {namespace}/{}", named.name),
            None => format!("{key}: {}", named.name),
        };
        let target = Target {
            type_name: rule.and_then(|rule| rule.type_name.clone()),
            namespace: named.namespace.clone().or_else(|| self.own.namespace.clone()),
            which: TargetSelector::Named(named.name.clone()),
        };
        reading(rule, &target, &source, named.policy, &named.location)
    }

    fn labelled(&mut self, key: &str, labelled: &Labelled, filled: &Filled<'_>) -> Option<Template> {
        let labels: Vec<String> =
            labelled.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let type_name = filled.rule.and_then(|rule| rule.type_name.clone());
        if labels.is_empty() && type_name.is_none() {
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
        let namespace = labelled.namespace.clone().or_else(|| self.own.namespace.clone());
        let which = match filled.is_list {
            true => TargetSelector::AllLabelled(labelled.labels.clone()),
            false => TargetSelector::Labelled(labelled.labels.clone()),
        };
        let target = Target { type_name, namespace, which };
        if let (true, Some(Rule { read: Read::Build(_), .. })) = (filled.is_list, filled.rule) {
            return Some(self.each(&target, labelled, &source, filled.rule));
        }
        Some(reading(filled.rule, &target, &source, labelled.policy, &labelled.location))
    }

    /// A composite attribute of each manifest with certain labels. A text reads one resource, so
    /// the list is created here.
    fn each(&mut self, target: &Target, labelled: &Labelled, source: &str, rule: Option<&Rule>) -> Template {
        let fits = |manifest: &&Manifest| {
            target.type_name.as_ref().is_none_or(|name| *name == manifest.type_name)
                && manifest.namespace == target.namespace
                && manifest.key != self.own.key
                && labelled.labels.iter().all(|(name, value)| manifest.labels.get(name) == Some(value))
        };
        let mut chosen: Vec<&Manifest> = self.scope.known.all.iter().filter(fits).collect();
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
                        which: TargetSelector::Named(manifest.name.clone()),
                        ..target.clone()
                    };
                    reading(rule, &target, source, labelled.policy, &labelled.location)
                })
                .collect(),
        )
    }
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
        Some(Read::Output(path)) => vec![placeholder(Attribute::Output(path.clone()))],
        Some(Read::Build(parts)) => parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => Piece::Literal(text.clone()),
                Part::Field(path) => placeholder(Attribute::Field(path.clone())),
            })
            .collect(),
    };
    Template::Text(pieces.into())
}
