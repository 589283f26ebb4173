//! `environments` of a Workspace: their names, types and values.
//!
//! ```yaml
//! environments:
//!   prod: {type: production, namespace: shop, values: {domain: example.com}, protect: true}
//!   dev: {}
//! ```

use std::sync::Arc;

use indexmap::IndexMap;
use purlin_model::{DeclaredEnvironment, ValueOrigin};

use crate::names::{context_part, context_word};
use crate::reader::Reader;
use crate::values;
use crate::yaml::{Entry, Node};

/// Reads the environments.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node<'_>) -> IndexMap<Arc<str>, DeclaredEnvironment> {
    let entries = reader.map(node, "`environments`").unwrap_or_default();
    let mut environments = IndexMap::new();
    for entry in entries {
        if let Some(environment) = environment(reader, entry) {
            environments.insert(entry.key.clone(), environment);
        }
    }
    environments
}

fn environment(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<DeclaredEnvironment> {
    context_word(reader, &entry.key, &entry.key_span, "the id of an environment")?;
    let what = format!("the environment `{}`", entry.key);
    if entry.value.is_null() {
        let fault = reader
            .about(&entry.key_span, "wrong-type", format!("{what} takes a map, not nothing"))
            .help(format!("write `{}: {{}}`, or give it a `type` and `values`", entry.key));
        reader.report(fault);
        return None;
    }
    let mut fields = reader.fields(&entry.value, &what)?;
    let mut part = |name: &'static str| {
        let node = fields.get(reader, name)?;
        let text = context_part(reader, node, &format!("`{name}`"))?;
        Some((text, reader.at(&node.span)))
    };
    let (kind, namespace) = (part("type"), part("namespace"));
    let values = fields
        .get(reader, "values")
        .map(|node| values::read(reader, node, &format!("`values` of {what}"), ValueOrigin::Environment));
    let protect = fields.entry("protect").and_then(|entry| {
        let on = reader.boolean(&entry.value, "`protect`")?;
        on.then(|| reader.at(&entry.key_span))
    });
    fields.done_with(reader, &|name| {
        (name == "env_type").then(|| "the field is called `type` here".to_owned())
    });
    Some(DeclaredEnvironment {
        kind,
        namespace,
        values: values.unwrap_or_default(),
        protect,
        location: reader.at(&entry.key_span),
    })
}
