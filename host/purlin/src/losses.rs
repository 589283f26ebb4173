//! The permission of deployed documents to lose data: for a resource that left the documents, the
//! last ones that contained it decide (`lifecycle.allow_data_loss`).

use std::collections::HashSet;

use purlin_engine::Plan;
use purlin_model::Key;
use purlin_state::Environment;

use crate::{Error, Purlin};

/// The maximum number of different sets of documents that are read, the newest first.
const FURTHEST: usize = 8;

/// The field, as documents spell it.
const FIELD: &[u8] = b"allow_data_loss";

/// Whether documents may contain the permission.
pub(crate) fn mentions_losses(archive: &[u8]) -> bool {
    archive.windows(FIELD.len()).any(|window| window == FIELD)
}

impl Purlin {
    /// Allows the losses of a plan that the documents of earlier deployments allow. Costs nothing
    /// if no permission is missing.
    ///
    /// # Errors
    /// [`Error::State`] if the history cannot be read.
    pub(crate) async fn allow_as_recorded(
        &self,
        mut plan: Plan,
        environment: &Environment,
    ) -> Result<Plan, Error> {
        let mut open: HashSet<Key> = plan.losses_not_allowed().into_iter().collect();
        // The documents of this plan decide about the resources that they contain.
        open.retain(|key| plan.graph().is_none_or(|graph| graph.find(key.as_str()).is_none()));
        if open.is_empty() {
            return Ok(plan);
        }
        let mut read = HashSet::new();
        for deployment in self.history(environment).await?.iter().rev() {
            if open.is_empty() || read.len() >= FURTHEST {
                break;
            }
            if !deployment.documents.is_some_and(|digest| read.insert(digest)) {
                continue;
            }
            // Documents that can no longer be read allow nothing.
            let documents = self.documents_of(environment, deployment, &deployment.id).await;
            let Ok(documents) = documents else { continue };
            let Ok(graph) = self.graph(&documents).await else { continue };
            let mut allowed = Vec::new();
            open.retain(|key| {
                let Some(node) = graph.find(key.as_str()).and_then(|id| graph.node(id)) else { return true };
                if node.lifecycle.allow_data_loss {
                    allowed.push(key.clone());
                }
                false
            });
            plan.allow_losses(&allowed);
        }
        Ok(plan)
    }
}
