//! The information in the documents about a resource that they no longer describe: how its
//! definition reaches the system that the resource is in.

use purlin_expression::{Unread, evaluate, read_path};
use purlin_model::{Diagnostic, Key, Placeholder, Recipe, Reference, Value};

use crate::docs;
use crate::evaluate::context_value;
use crate::graph::Graph;

impl Graph {
    /// The recipe of a definition, whether it is used in this graph or not.
    pub fn recipe(&self, definition: &str) -> Option<&Recipe> {
        let definitions = self.docs().definition_index.definitions();
        definitions.iter().map(|one| &*one.recipe).find(|recipe| recipe.name.as_deref() == Some(definition))
    }

    /// The connection of a recipe for a resource with this key and these params, which need not be
    /// in the graph. None if the recipe has no connection, or one that reads other resources.
    pub fn connection_of(&self, recipe: &Recipe, key: &Key, params: &Value) -> Option<Value> {
        evaluate(recipe.connection.as_ref()?, &Alone { graph: self, key, params }).ok().flatten()
    }
}

/// The scope of a recipe whose resource has no place in the graph.
struct Alone<'a> {
    graph: &'a Graph,
    key: &'a Key,
    params: &'a Value,
}

impl purlin_expression::Scope for Alone<'_> {
    fn read(&self, placeholder: &Placeholder) -> Result<Value, Unread> {
        let fault =
            |message: String| Box::new(docs::at(placeholder, Diagnostic::error("unknown-resource", message)));
        match &placeholder.reference {
            Reference::Context(field) => context_value(self.graph.context(), *field, || Some(self.key))
                .ok_or_else(|| Unread::Fault(fault(format!("there is no `context.{}`", field.path())))),
            Reference::Param(path) => {
                read_path(self.params, path).map_err(|error| Unread::Absent(fault(error.message)))
            }
            _ => {
                let message = format!("`{}`, for which this is read, is in no document", self.key);
                Err(Unread::Fault(fault(message)))
            }
        }
    }
}
