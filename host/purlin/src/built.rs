//! The graph of documents, built once: a run needs it before it takes the lock, for the inputs of calls
//! that fail, and for its plan.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use purlin_graph::Graph;
use purlin_model::{Context, Deployment};

use crate::drivers::Registry;

/// The last graph that was built from documents.
#[derive(Default)]
pub(crate) struct BuiltGraph(Mutex<Option<Built>>);

struct Built {
    context: Arc<Context>,
    deployment: Arc<Deployment>,
    /// The drivers whose outputs it knows.
    registry: Weak<Registry>,
    graph: Arc<Graph>,
}

impl BuiltGraph {
    /// The graph in a context, of a deployment whose used installations have the same outputs, and with
    /// the same drivers; `None` if it has to be built.
    pub(crate) fn get(
        &self,
        context: &Context,
        deployment: &Arc<Deployment>,
        registry: &Arc<Registry>,
    ) -> Option<Arc<Graph>> {
        let built = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let built = built.as_ref().filter(|built| *built.context == *context)?;
        let is_same =
            Arc::ptr_eq(&built.deployment, deployment) && built.registry.ptr_eq(&Arc::downgrade(registry));
        is_same.then(|| Arc::clone(&built.graph))
    }

    /// The graph in a context, whatever outputs it knows.
    pub(crate) fn in_context(&self, context: &Context) -> Option<Arc<Graph>> {
        let built = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        built.as_ref().filter(|built| *built.context == *context).map(|built| Arc::clone(&built.graph))
    }

    pub(crate) fn set(
        &self,
        context: Arc<Context>,
        deployment: Arc<Deployment>,
        registry: &Arc<Registry>,
        graph: &Arc<Graph>,
    ) {
        let (registry, graph) = (Arc::downgrade(registry), Arc::clone(graph));
        let built = Built { context, deployment, registry, graph };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(built);
    }
}
