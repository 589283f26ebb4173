//! Checks whether drivers may have the secrets that their recipes name, before anything is read or
//! done.

use std::collections::HashSet;

use purlin_graph::Node;
use purlin_model::{Diagnostic, Template, Value};

use super::SecretStores;
use super::tree::{self, Leaf};
use crate::values::rules::SchemaRules;

/// A fault for each store that a recipe of the graph names but that does not exist or is not
/// granted to its driver, at its place in the definition. Stores that are named by placeholders are
/// checked once they are known. Recipes whose driver does not exist are skipped, since the driver
/// itself is reported elsewhere.
pub fn check<'a>(
    nodes: impl Iterator<Item = Node<'a>>,
    stores: &dyn SecretStores,
    rules: &SchemaRules,
) -> Vec<Diagnostic> {
    let mut seen = HashSet::new();
    let mut faults = Vec::new();
    for node in nodes {
        let recipe = node.recipe;
        if recipe.secret_refs.is_none() && recipe.connection.is_none()
            || !seen.insert((&recipe.name, &recipe.location))
            || !stores.knows_driver(&recipe.driver.name)
        {
            continue;
        }
        let check = |root: &str, place: &str, leaf: Leaf| {
            let (store, what) = match leaf {
                Leaf::Reference(secret) => (secret.store, format!("`{}`", secret.name)),
                Leaf::Unknown { store: Some(store) } => (store, "secrets".to_owned()),
                Leaf::Value(_) | Leaf::Unknown { store: None } => return Ok(Value::Null),
            };
            let allowed = stores.allows(&node.recipe.driver.name, &store);
            allowed.map_err(|fault| tree::diagnostic(root, place, &what, &store, fault)).map(|()| Value::Null)
        };
        let mut found = Vec::new();
        if let Some(refs) = &recipe.secret_refs {
            let mut visit = |place: &str, leaf: Leaf| check("secret_refs", place, leaf);
            tree::walk(&outline(refs), &mut String::new(), &mut visit, &mut found);
        }
        let mut in_connection = Vec::new();
        if let Some(connection) = &recipe.connection {
            let mut visit = |place: &str, leaf: Leaf| check("connection", place, leaf);
            tree::within(&outline(connection), &mut String::new(), &mut visit, &mut in_connection);
        }
        for (root, found) in [("secrets", found), ("connection", in_connection)] {
            faults.extend(tree::placed(found, root, rules, &recipe.location));
        }
    }
    faults
}

/// The literal parts of a template; placeholders are unknown.
pub(crate) fn outline(template: &Template) -> Value {
    match template {
        Template::Constant(value) => value.clone(),
        Template::Text(_) => Value::unknown(),
        Template::List(items) => Value::List(items.iter().map(outline).collect()),
        Template::Map(map) => {
            Value::Map(map.iter().map(|(key, value)| (key.clone(), outline(value))).collect())
        }
    }
}
