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
use serde_json::Value;

use crate::declare::{Form, Kind, form};
use crate::kinds::{ContextPart, Flag, MapOf, Names, Namespace, Object};
use crate::names::context_word;
use crate::reader::Reader;
use crate::values;
use crate::yaml::{Entry, Node};

/// The environments, by id.
pub(crate) type Environments = MapOf<EnvironmentId, Environment>;

/// The id of an environment.
pub(crate) struct EnvironmentId;

impl Names for EnvironmentId {
    fn schema() -> Value {
        ContextPart::schema()
    }
}

form! {
    /// An environment.
    pub(crate) struct Environment {
        /// Type of the environment. Default: `defaults.env_type`.
        TYPE: ContextPart = "type";
        /// Namespace. Default: the id of the environment. An empty namespace is global.
        NAMESPACE: Namespace = "namespace";
        /// Values that `${values.NAME}` reads in this environment. They override those of Deployments.
        VALUES: Object = "values", "{NAME: VALUE}";
        /// Whether deleting or replacing any resource in it is an error.
        PROTECT: Flag = "protect" default "false";
    }

    fn hint(name: &str) -> Option<String> {
        (name == "env_type").then(|| "the field is called `type` here".to_owned())
    }
}

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
    let environment = Environment::open(reader, &entry.value, &what)?;
    let values = environment
        .node(Environment::VALUES)
        .map(|node| values::read(reader, node, &format!("`values` of {what}"), ValueOrigin::Environment));
    let protect = environment.read(reader, Environment::PROTECT) == Some(true);
    Some(DeclaredEnvironment {
        kind: environment.placed(reader, Environment::TYPE),
        namespace: environment.placed(reader, Environment::NAMESPACE),
        values: values.unwrap_or_default(),
        protect: environment
            .entry(Environment::PROTECT)
            .filter(|_| protect)
            .map(|entry| reader.at(&entry.key_span)),
        location: reader.at(&entry.key_span),
    })
}
