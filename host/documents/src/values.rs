//! Values that are given beside the documents: by the environment in the Workspace, by files, and
//! one by one (SPEC §9). They override the `values` of Deployments; later ones override earlier
//! ones.
//!
//! A file of values is a map in YAML or JSON. Placeholders in it are those of definitions.

use std::path::Path;

use purlin_expression::{Dialect, parse_text};
use purlin_model::{Diagnostic, GivenValue, Location, Template, Value, ValueOrigin};

use crate::Loaded;
use crate::load::withheld;
use crate::reader::Reader;
use crate::template::{self, template};
use crate::walk;
use crate::yaml::{self, Entry, Node};

/// Reads the entries of a map of values.
pub(crate) fn read(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    what: &str,
    origin: ValueOrigin,
) -> Vec<GivenValue> {
    let entries = reader.map(node, what).unwrap_or_default();
    entries.iter().map(|entry| value(reader, entry, origin)).collect()
}

fn value(reader: &mut Reader<'_>, entry: &Entry<'_>, origin: ValueOrigin) -> GivenValue {
    GivenValue {
        name: template::key(reader, entry, Dialect::Definition),
        written: entry.value.to_json(),
        template: template(reader, &entry.value, Dialect::Definition),
        origin,
        location: reader.at(&entry.key_span),
    }
}

impl Loaded {
    /// Reads a file of values. Its faults are added to the others.
    pub fn read_values(&mut self, path: &Path) {
        let name = walk::display(path);
        let text = match walk::read_named(path) {
            Ok(text) => text,
            Err(fault) => {
                self.diagnostics.push(*fault);
                return;
            }
        };
        let place = Location::new(name.clone(), 0, 0);
        let (mut documents, mut is_map) = (0, true);
        let mut given = Vec::new();
        let mut found: Vec<Diagnostic> = Vec::new();
        let mut broken: Vec<Diagnostic> = Vec::new();
        let faults = yaml::parse(&name, &text, &mut |document| {
            documents += 1;
            let mut reader = Reader::new(&name, &text, false);
            broken.extend(document.faults);
            let root = &document.root;
            if documents == 1
                && let (Some(_), Some(kind)) = (root.get("apiVersion"), root.get("kind"))
            {
                let fault = reader
                    .about(&kind.span, "wrong-type", "this is a document, not a file of values")
                    .help("name it with `-f`, or write a map of values");
                reader.report(fault);
            } else if root.entries().is_none() {
                is_map = false;
            } else if documents == 1 {
                given = read(&mut reader, root, "a file of values", ValueOrigin::File);
            }
            found.append(&mut reader.faults);
        });
        broken.extend(faults);
        if broken.is_empty() && is_map {
            self.sources.insert(name, text);
            found.iter_mut().for_each(|fault| self.sources.mask(fault));
        } else {
            // What is secret in a text without a structure is unknown.
            let help = "correct this place: a file of values is one map, such as `domain: example.com`";
            broken.iter_mut().for_each(|fault| withheld::fault(fault, help));
            found = broken;
        }
        if found.is_empty() && (documents != 1 || !is_map) {
            let holds = match documents {
                0 => "is empty",
                1 => "is not a map",
                _ => "contains several documents",
            };
            let fault = Diagnostic::error("wrong-type", format!("the file of values {holds}"));
            found.push(fault.at(&place).help("write one map, such as `domain: example.com`"));
        }
        self.diagnostics.append(&mut found);
        self.given.append(&mut given);
    }

    /// Sets a value: text, which becomes a number or a boolean if it replaces one. `${` has no
    /// meaning in it.
    pub fn set_text(&mut self, name: &str, text: &str) {
        self.set(name, text.into(), ValueOrigin::Text);
    }

    /// Sets a value unchanged. `${` has no meaning in it.
    pub fn set_value(&mut self, name: &str, value: serde_json::Value) {
        self.set(name, value, ValueOrigin::Typed);
    }

    fn set(&mut self, name: &str, written: serde_json::Value, origin: ValueOrigin) {
        self.given.push(GivenValue {
            name: name.into(),
            template: Template::Constant(Value::from(written.clone())),
            written,
            origin,
            location: Location::default(),
        });
    }

    /// Sets a value of an earlier run again.
    pub fn give_again(
        &mut self,
        name: &str,
        written: serde_json::Value,
        origin: ValueOrigin,
        location: Location,
    ) {
        let template = match origin {
            ValueOrigin::Text | ValueOrigin::Typed => Template::Constant(Value::from(written.clone())),
            ValueOrigin::Environment | ValueOrigin::File => {
                parsed(&written, &location, &mut self.diagnostics)
            }
        };
        self.given.push(GivenValue { name: name.into(), written, template, origin, location });
    }
}

/// A value with its placeholders parsed, all with the same place.
fn parsed(written: &serde_json::Value, place: &Location, faults: &mut Vec<Diagnostic>) -> Template {
    match written {
        serde_json::Value::String(text) if text.contains('$') => {
            match parse_text(text, Dialect::Definition, &|_| place.clone()) {
                Ok(template) => template,
                Err(found) => {
                    faults.extend(found);
                    Template::Constant(Value::Null)
                }
            }
        }
        serde_json::Value::Array(items) => {
            template::list(items.iter().map(|item| parsed(item, place, faults)).collect())
        }
        serde_json::Value::Object(entries) => template::map(entries.iter().map(|(key, item)| {
            // A placeholder in a key was reported when the value was given.
            let key = template::constant_key(key, Dialect::Definition).unwrap_or_else(|| key.as_str().into());
            (key, parsed(item, place, faults))
        })),
        other => Template::Constant(Value::from(other.clone())),
    }
}
