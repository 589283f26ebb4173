//! Compares documents with the last deployment in their environment (SPEC §9, recorded context):
//! another type, namespace, application or organisation counts as a mistake until the user confirms
//! it.

use std::collections::HashMap;
use std::sync::Arc;

use purlin_engine::Base;
use purlin_expression::is_slip;
use purlin_graph::Graph;
use purlin_model::{Context, Diagnostic, Key, Location};
use purlin_state::Environment;
use serde::{Deserialize, Serialize};

use crate::{Documents, Error, LastDeployed, Purlin, values};

/// The maximum number of resources that a note names.
const NAMED: usize = 3;

/// Confirmed changes to the recorded context of an environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextChanges {
    /// Another type.
    pub env_type: bool,
    /// Another namespace.
    pub namespace: bool,
    /// A new environment that is neither declared nor recorded, including one with the same id and
    /// the same documents as an existing one.
    pub new_environment: bool,
}

impl ContextChanges {
    /// The changes that either of the two confirms.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            env_type: self.env_type || other.env_type,
            namespace: self.namespace || other.namespace,
            new_environment: self.new_environment || other.new_environment,
        }
    }
}

impl Purlin {
    /// The context of the last deployment in an environment; `None` if no deployment from documents
    /// is kept.
    ///
    /// # Errors
    /// [`Error::State`] if the store cannot be read; [`Error::Archive`] if a newer program wrote
    /// the archive.
    pub async fn recorded_context(&self, environment: &Environment) -> Result<Option<Context>, Error> {
        let last = self.last_from_documents(environment).await?;
        last.map(|last| last.context()).transpose()
    }

    /// Checks that documents match the last deployment in their environment. Planning checks the
    /// same.
    ///
    /// # Errors
    /// [`Error::Documents`] if they do not; [`Error::State`] if the store cannot be read.
    pub async fn check_context(&self, documents: &Documents) -> Result<(), Error> {
        self.check_declared(documents).await?;
        let base = self.base(&documents.environment()).await?;
        self.check_context_at(documents, documents.changes, &base).await
    }

    /// Rejects an environment that is neither declared nor recorded.
    pub(crate) async fn check_declared(&self, documents: &Documents) -> Result<(), Error> {
        let Some(fault) = &documents.undeclared else { return Ok(()) };
        if documents.changes.new_environment {
            return Ok(());
        }
        match self.is_recorded(&documents.environment()).await {
            // An environment that was deployed once is known from then on.
            Ok(true) => Ok(()),
            Err(Error::State(error)) if error.is_unreached() => Err(error.into()),
            // A state that cannot be opened knows no environments.
            Ok(false) | Err(_) => Err(Error::Documents(vec![(**fault).clone()])),
        }
    }

    pub(crate) async fn check_context_at(
        &self,
        documents: &Documents,
        changes: ContextChanges,
        base: &Base,
    ) -> Result<(), Error> {
        let environment = documents.environment();
        let faults = if base.is_empty() {
            if changes.new_environment {
                return Ok(());
            }
            self.mistaken_for_new(documents).await?
        } else {
            let Some(last) = self.last_deployed_at(&environment, base).await? else { return Ok(()) };
            self.changed(documents, changes, &last).await?
        };
        if faults.is_empty() { Ok(()) } else { Err(Error::Documents(faults)) }
    }

    async fn changed(
        &self,
        documents: &Documents,
        changes: ContextChanges,
        last: &LastDeployed,
    ) -> Result<Vec<Diagnostic>, Error> {
        let (before, now) = (last.context()?, &*documents.context);
        let mut faults = Vec::new();
        if before.env.kind != now.env.kind && !changes.env_type {
            let (id, old, new) = (&now.env.id, &before.env.kind, &now.env.kind);
            let message = format!("`{id}` was last deployed as type `{old}`, and is now `{new}`");
            let fault =
                at(Diagnostic::error("env-type-changed", message), documents.kind_place.as_ref(), new);
            let mut fault = fault.fact(recorded_by(last));
            let other = Context { env: before.env.clone(), ..now.clone() };
            if let Some(note) = self.other_definitions(documents, other).await {
                fault = fault.fact(note);
            }
            faults.push(fault.help(match &documents.kind_place {
                Some(_) => format!("write `{old}` here; if the change is meant, add `--change-env-type`"),
                None => format!(
                    "add `--env-type {old}`, or write `environments: {{{id}: {{type: {old}}}}}` into purlin.yaml; if the change is meant, add `--change-env-type`"
                ),
            }));
        }
        faults.extend(forgotten(documents, last)?);
        if before.namespace != now.namespace && !changes.namespace {
            let (id, old, new) = (&now.env.id, &before.namespace, &now.namespace);
            let message = format!("`{id}` was last deployed in the namespace `{old}`, and is now in `{new}`");
            let place = documents.namespace_place.as_ref();
            let fault = at(Diagnostic::error("namespace-changed", message), place, new);
            faults.push(fault.fact(recorded_by(last)).help(match place {
                Some(_) => format!("write `{old}` here; if the change is meant, add `--change-namespace`"),
                None => format!(
                    "add `--namespace {old}`, or write `environments: {{{id}: {{namespace: {old}}}}}` into purlin.yaml; if the change is meant, add `--change-namespace`"
                ),
            }));
        }
        Ok(faults)
    }

    /// The number of resources that another definition would provision in this context than in
    /// another one.
    async fn other_definitions(&self, documents: &Documents, other: Context) -> Option<String> {
        let before = self.graph_in(documents, Arc::new(other)).await.ok()?;
        let now = match self.graph_in(documents, Arc::clone(&documents.context)).await {
            Ok(now) => now,
            Err(_) => return Some("the documents make no valid graph in this type".to_owned()),
        };
        let names = |graph: &Graph| -> HashMap<Key, Option<Arc<str>>> {
            let name = |node: purlin_graph::Node<'_>| (node.key.clone(), node.recipe.name.clone());
            graph.nodes().map(name).collect()
        };
        let (before, now) = (names(&before), names(&now));
        let mut other: Vec<&Key> = now
            .iter()
            .filter(|(key, name)| before.get(*key).is_some_and(|old| old != *name))
            .map(|(key, _)| key)
            .collect();
        other.sort();
        let lost = before.keys().filter(|key| !now.contains_key(*key)).count();
        let named: Vec<String> = other.iter().take(NAMED).map(|key| format!("`{key}`")).collect();
        let more = if other.len() > NAMED { ", …" } else { "" };
        match (other.len(), lost) {
            (0, 0) => None,
            (0, lost) => Some(format!("{} would be deleted", resources(lost))),
            (count, 0) => Some(format!(
                "another definition would provision {}: {}{more}",
                resources(count),
                named.join(", ")
            )),
            (count, lost) => Some(format!(
                "another definition would provision {}: {}{more}; {} would be deleted",
                resources(count),
                named.join(", "),
                resources(lost)
            )),
        }
    }

    /// Whether the documents were given another application or organisation by mistake: nothing is
    /// recorded under the new name, and the last deployment of an environment with the same id used
    /// the same documents.
    async fn mistaken_for_new(&self, documents: &Documents) -> Result<Vec<Diagnostic>, Error> {
        let here = documents.environment();
        let known = self.environments().await?;
        let workspace = documents.loaded.workspace.as_ref();
        let declared = workspace.is_some_and(|workspace| workspace.environments.contains_key(&here.env));
        let slip = known.iter().find(|other| {
            (&other.org, &other.app) == (&here.org, &here.app) && is_slip(&here.env, &other.env)
        });
        if let Some(meant) = slip.filter(|_| !declared) {
            let message = format!("nothing is recorded for the environment `{}`", here.env);
            let fault = Diagnostic::error("unknown-environment", message);
            let fault = at(fault, documents.loaded.places.env.as_ref(), &here.env);
            return Ok(vec![fault.help(format!(
                "did you mean `{}`? For a second environment, add `--new-environment`",
                meant.env
            ))]);
        }
        for other in known {
            if other == here || other.env != here.env || (other.org != here.org && other.app != here.app) {
                continue;
            }
            let Some(last) = self.last_deployed(&other).await? else { continue };
            if !is_same(documents, &last)? {
                continue;
            }
            let (code, name, option, old, new, place) = if other.app == here.app {
                ("org-changed", "organisation", "--org", &other.org, &here.org, &documents.loaded.places.org)
            } else {
                ("app-changed", "application", "--app", &other.app, &here.app, &documents.loaded.places.app)
            };
            let message = format!(
                "these documents were last deployed to `{}` as {name} `{old}`, and are now `{new}`",
                here.env
            );
            let fault =
                at(Diagnostic::error(code, message), place.as_ref(), new).fact(recorded_by(&last)).fact(
                    format!("nothing is recorded for {here}: every resource would be created a second time"),
                );
            return Ok(vec![fault.help(match place {
                Some(_) => format!("write `{old}` here; for a second environment, add `--new-environment`"),
                None => format!("add `{option} {old}`; for a second environment, add `--new-environment`"),
            })]);
        }
        Ok(Vec::new())
    }
}

/// Values that an option gave the last deployment, that placeholders still read, and that are not
/// given now. The resources would otherwise fall back to the values in the documents.
fn forgotten(documents: &Documents, last: &LastDeployed) -> Result<Vec<Diagnostic>, Error> {
    let before = last.given_by_option()?;
    if before.is_empty() {
        return Ok(Vec::new());
    }
    let read = values::names(documents.deployment(), documents.definition_index());
    let given = |name: &str| documents.loaded.given.iter().any(|value| &*value.name == name);
    let is_read = |name: &str| read.as_ref().is_none_or(|read| read.contains(name));
    let missing = before.into_iter().filter(|(name, _)| !given(name) && is_read(name));
    let fault = |(name, file): (String, Option<String>)| {
        let (how, again) = match file {
            Some(file) => (format!("`--values {file}`"), format!("add `--values {file}`")),
            None => ("`--set`".to_owned(), format!("add `--set {name}=…`")),
        };
        let message =
            format!("the last deployment was given the value `{name}` by {how}, and this one is not");
        Diagnostic::error("value-not-given", message)
            .fact(recorded_by(last))
            .help(format!("{again}; where another value is meant, give that one"))
    };
    Ok(missing.map(fault).collect())
}

/// Whether documents are those of an earlier deployment with at most small changes: every file that
/// declares a workload or resource was among the earlier ones, and so was at least one workload or
/// shared resource.
fn is_same(documents: &Documents, last: &LastDeployed) -> Result<bool, Error> {
    let now = documents.deployment();
    let shared = now.shared.iter().map(|request| (&request.name, &request.location));
    let declared: Vec<(&Arc<str>, &Location)> =
        now.workloads.iter().map(|workload| (&workload.name, &workload.location)).chain(shared).collect();
    let sources = last.sources()?;
    let known = |place: &Location| sources.iter().any(|source| source.name == place.file);
    if declared.is_empty() || !declared.iter().all(|(_, place)| known(place)) {
        return Ok(false);
    }
    // Documents that are no longer valid prove nothing.
    let Ok(then) = last.documents(&last.deployment.id) else { return Ok(false) };
    let then = then.deployment();
    let names = |name: &Arc<str>| {
        then.workloads.iter().any(|workload| workload.name == *name)
            || then.shared.iter().any(|request| request.name == *name)
    };
    Ok(declared.iter().any(|(name, _)| names(name)))
}

fn at(fault: Diagnostic, place: Option<&Location>, word: &str) -> Diagnostic {
    match place {
        Some(place) => fault.at(place).spanning(word.chars().count()),
        None => fault,
    }
}

fn recorded_by(last: &LastDeployed) -> String {
    let deployment = &last.deployment;
    format!("deployment {} by {} recorded this", deployment.number, deployment.holder.user)
}

fn resources(count: usize) -> String {
    if count == 1 { "1 resource".to_owned() } else { format!("{count} resources") }
}
