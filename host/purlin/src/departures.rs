//! Finds out why resources are deleted: the documents of earlier deployments show what declared
//! them, and the current files what became of that. Used only if a plan deletes something.

use std::collections::HashMap;
use std::sync::Arc;

use purlin_engine::Plan;
use purlin_graph::{Graph, Origin};
use purlin_model::{DeclaredBy, Departure, FileNow, Key, Location};
use purlin_state::Deployment;

use crate::missing_documents::Comparison;
use crate::{Documents, Error, Purlin};

/// The maximum number of earlier deployments that are searched, besides the last one.
const LOOKED_INTO: usize = 5;

/// An earlier deployment.
struct Past<'a> {
    number: u64,
    documents: Documents,
    graph: Arc<Graph>,
    comparison: Comparison<'a>,
}

impl Purlin {
    /// Adds to a plan why each resource is deleted. If that cannot be determined, because documents
    /// are no longer kept or cannot be read, the plan says so.
    ///
    /// # Errors
    /// [`Error::State`] if the store cannot be read.
    pub(crate) async fn explain_departures(
        &self,
        plan: &mut Plan,
        documents: &Documents,
    ) -> Result<(), Error> {
        let departing = plan.departing();
        if departing.is_empty() {
            return Ok(());
        }
        let history = self.history(&documents.environment()).await?;
        let mut found: HashMap<Key, Departure> = HashMap::new();
        let last = history.iter().rfind(|deployment| deployment.documents.is_some());
        let mut looked: Vec<u64> = Vec::new();
        for (key, id) in &departing {
            if found.contains_key(key) {
                continue;
            }
            let own = history.iter().find(|deployment| deployment.id == *id);
            for deployment in last.into_iter().chain(own) {
                if looked.contains(&deployment.number) || looked.len() > LOOKED_INTO {
                    continue;
                }
                looked.push(deployment.number);
                let Some(past) = self.past(deployment, documents).await else { continue };
                for (key, _) in &departing {
                    if !found.contains_key(key)
                        && let Some(departure) = past.departure(key, plan.graph())
                    {
                        found.insert(key.clone(), departure);
                    }
                }
            }
        }
        plan.explain_departures(|key| found.remove(key));
        Ok(())
    }

    async fn past<'a>(&self, deployment: &Deployment, now: &'a Documents) -> Option<Past<'a>> {
        let environment = now.environment();
        let archive = self.archive_of(&environment, deployment).await.ok()?;
        let documents = self.documents_of(&environment, deployment, "").await.ok()?;
        let graph = self.graph(&documents).await.ok()?;
        Some(Past { number: deployment.number, documents, graph, comparison: Comparison::new(now, archive) })
    }
}

impl Past<'_> {
    /// What declared a resource at that time. `now` is the graph that no longer contains it.
    fn departure(&self, key: &Key, now: Option<&Graph>) -> Option<Departure> {
        let id = self.graph.find(key.as_str())?;
        let is_there = |key: &str| now.is_some_and(|graph| graph.find(key).is_some());
        let gone = |key: &Key| Some(key.clone()).filter(|key| !is_there(key.as_str()));
        if let Some(workload) = self.documents.workload_of(key) {
            return Some(self.caused_by(DeclaredBy::Declaration, &workload.location));
        }
        let mut causes: Vec<(DeclaredBy, Location)> = Vec::new();
        for origin in self.graph.origins(id) {
            causes.push(match origin {
                Origin::Declared { workload: Some(name), location } => {
                    match is_there(&format!("workload.default#modules.{name}")) {
                        true => (DeclaredBy::Declaration, location),
                        false => (DeclaredBy::Workload { workload: name }, location),
                    }
                }
                Origin::Declared { workload: None, location }
                | Origin::Manifest { location }
                | Origin::Installed { location } => (DeclaredBy::Declaration, location),
                Origin::Required { by, location } => (DeclaredBy::Reference { of: gone(&by) }, location),
                Origin::CoProvision { by, location } => (DeclaredBy::Definition { of: gone(&by) }, location),
                Origin::Reference { from, location, .. } => {
                    (DeclaredBy::Reference { of: gone(&from) }, location)
                }
                Origin::Implicit => {
                    let definition = self.graph.node(id)?.definition?;
                    (DeclaredBy::Definition { of: None }, definition.location.clone())
                }
            });
        }
        // Declarations by the user come before their consequences.
        causes.sort_by_key(|(by, _)| match by {
            DeclaredBy::Declaration | DeclaredBy::Workload { .. } => 0,
            DeclaredBy::Definition { of } | DeclaredBy::Reference { of } => 1 + usize::from(of.is_some()),
        });
        let (by, location) = causes.into_iter().next()?;
        Some(self.caused_by(by, &location))
    }

    fn caused_by(&self, by: DeclaredBy, location: &Location) -> Departure {
        let known = self.comparison.file_state_of(&location.file);
        let (file, now) = match known {
            Some((file, state)) => (file, state.file_now()),
            None => (location.file.clone(), FileNow::Changed),
        };
        Departure { deployment: self.number, by, file, now }
    }
}
