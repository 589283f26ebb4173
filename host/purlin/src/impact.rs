//! The effect of changed documents on environments that others deploy: each environment is planned
//! from its own recorded documents with the changed ones substituted. Nothing is written, and
//! drivers are called only on request.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use purlin_documents::{DocumentHead, Loaded, SourceText, WITHOUT_DOLLAR, heads, load_sources};
use purlin_engine::{Action, Base, DescribedDrivers, Drivers, Plan, PlanOptions, RecordedSecrets, Step};
use purlin_graph::{Graph, may_match};
use purlin_model::{Context, Definition, Diagnostic, Key, ResourceType, Workspace};
use purlin_state::{EnvironmentSummary, Outcome, Snapshot};
use sha2::{Digest as _, Sha256};

use crate::archive::{Archive, cover};
use crate::files::Files;
use crate::last_deployment::LastDeployed;
use crate::missing_documents::slips;
use crate::rollouts::{ChangedDocuments, Substituted};
use crate::{ContextChanges, Documents, Error, Purlin};

/// Changed documents, to be compared with the recorded ones.
///
/// A document of an environment is replaced if its file was read, or is in a folder that was read.
/// A new file belongs to each environment whose last deployment read a folder that contains it.
#[derive(Debug)]
pub struct Proposal {
    /// The files that were read, and those that were named although they are gone.
    files: Files,
    pub(crate) changed: ChangedDocuments,
    pub(crate) accept_missing: Vec<String>,
    /// The differences, by the digest of the compared texts, since environments share them.
    differences: Mutex<HashMap<[u8; 32], Arc<Difference>>>,
}

/// What a proposal makes of the documents of an environment.
pub(crate) enum Revision {
    /// The environment was deployed from none of the files.
    Unused,
    /// They have the same content.
    Same,
    /// Other documents.
    Changed { archive: Box<Archive>, difference: Arc<Difference> },
}

/// The difference between two sets of documents.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// Definitions on either side that the other side does not have in the same form.
    definitions: Vec<Definition>,
    /// Resource types that differ in the same way.
    types: HashSet<Arc<str>>,
    /// Whether anything else differs, which may concern every resource.
    others: bool,
}

/// The effect of a proposal on one environment.
#[derive(Clone, Debug)]
pub enum EnvironmentImpact {
    /// It uses none of the documents.
    Unused,
    /// Nothing in it changes.
    None,
    /// Its resources change, each as in a plan.
    Changes(Vec<Step>),
    /// A deployment with these documents would be rejected.
    Rejected(Vec<Rejection>),
    /// Its documents are not recorded, so the effect is unknown.
    Unknown,
}

/// A reason for which a deployment would be rejected.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// The resource that cannot be planned; `None` if the fault is in the documents.
    pub key: Option<Key>,
    /// The fault.
    pub fault: Diagnostic,
}

impl Proposal {
    /// Takes documents that were just read.
    ///
    /// # Errors
    /// [`Error::Documents`] with their faults.
    pub fn new(loaded: &Loaded, workspace: Option<&Workspace>) -> Result<Self, Error> {
        let faults: Vec<Diagnostic> =
            loaded.diagnostics.iter().filter(|fault| fault.is_error()).cloned().collect();
        if !faults.is_empty() {
            return Err(Error::Documents(faults));
        }
        let files = Files::new(loaded, workspace);
        let with_path = |source: &SourceText| Some((source.clone(), Arc::clone(files.path(&source.name)?)));
        let texts = loaded.sources().iter().filter_map(with_path).collect();
        let references = loaded.workspace.as_ref().map(|_| loaded.references.clone());
        let changed = ChangedDocuments { places: files.inputs.clone(), texts, references };
        Ok(Self { files, changed, accept_missing: Vec::new(), differences: Mutex::default() })
    }

    /// Takes the documents of these files or folders away, which no longer exist. Relative paths are
    /// relative to the current folder.
    pub fn without(mut self, gone: &[PathBuf]) -> Self {
        self.files.name_gone(gone);
        self.changed.places.clone_from(&self.files.inputs);
        self
    }

    /// Accepts that these files or folders no longer contain documents, or that these resources are gone, as
    /// [`Documents::accept_missing`] does.
    pub fn accepting(self, accept_missing: Vec<String>) -> Self {
        Self { accept_missing, ..self }
    }

    /// Substitutes the changed documents in those of a deployment.
    ///
    /// # Errors
    /// [`Error::Archive`] if a newer program wrote the documents.
    pub(crate) fn revise(&self, last: &LastDeployed) -> Result<Revision, Error> {
        let mut archive = last.archive()?;
        let difference = match self.changed.substitute(&mut archive) {
            Substituted::Unused => return Ok(Revision::Unused),
            Substituted::Same => return Ok(Revision::Same),
            Substituted::Texts(taken, put) => self.difference(&taken, &put),
            Substituted::ReadElse => Arc::new(Difference { others: true, ..Difference::default() }),
        };
        Ok(Revision::Changed { archive: Box::new(archive), difference })
    }

    /// The revised documents of an environment, as a new run with the same arguments would read them.
    ///
    /// # Errors
    /// [`Error::Documents`] with their faults.
    pub(crate) fn documents(&self, archive: Archive, deployment_id: &str) -> Result<Documents, Error> {
        let gone = self.files.gone_of(&archive.files());
        match Documents::of_archive(archive, deployment_id) {
            Ok(documents) => {
                let files = self.files.revised(documents.files);
                Ok(Documents { files, accept_missing: self.accept_missing.clone(), ..documents })
            }
            Err(Error::Documents(faults)) => {
                let explained = faults.into_iter().map(|fault| match &*gone {
                    [file, ..] if fault.code.starts_with("duplicate") => fault.help(format!(
                        "`{file}` was deployed and no longer exists: if its documents were moved, name it too, or its folder"
                    )),
                    _ => fault,
                });
                Err(Error::Documents(explained.collect()))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether it has no document at a place.
    fn is_empty_at(&self, place: &Arc<str>) -> bool {
        !self.changed.texts.iter().any(|(_, path)| cover(std::slice::from_ref(place), path))
    }

    fn difference(&self, taken: &[SourceText], put: &[SourceText]) -> Arc<Difference> {
        let mut digest = Sha256::new();
        for (mark, texts) in [(b"-", taken), (b"+", put)] {
            for text in texts {
                digest.update(mark);
                digest.update((text.text.len() as u64).to_le_bytes());
                digest.update(text.text.as_bytes());
            }
        }
        let digest = digest.finalize().into();
        let known = || self.differences.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(difference) = known().get(&digest) {
            return Arc::clone(difference);
        }
        let difference = Arc::new(Difference::between(taken, put));
        known().insert(digest, Arc::clone(&difference));
        difference
    }
}

impl Difference {
    /// Reads the documents that differ; identical ones are left out.
    fn between(taken: &[SourceText], put: &[SourceText]) -> Self {
        let parts = |texts: &[SourceText]| -> HashSet<String> {
            texts.iter().flat_map(|text| parts(&text.text)).map(str::to_owned).collect()
        };
        let attached =
            |texts: &[SourceText]| -> Vec<_> { texts.iter().map(|text| text.files.clone()).collect() };
        let (before, now) = (parts(taken), parts(put));
        let mut difference = Self {
            // A guard may reject it in every environment that reads the files.
            others: attached(taken) != attached(put) || is_guarded(taken, put),
            ..Self::default()
        };
        let old = difference.add(before.difference(&now));
        let new = difference.add(now.difference(&before));
        difference.others |= slips::may_be_slips(&old, &new);
        difference.definitions = old.into_iter().chain(new).collect();
        difference
    }

    /// Adds documents that only one side has. Returns the definitions among them.
    fn add<'a>(&mut self, parts: impl Iterator<Item = &'a String>) -> Vec<Definition> {
        let mut definitions = Vec::new();
        for part in parts {
            let loaded = load_sources(vec![text(part)], &[]);
            self.others |= loaded.has_errors() || !is_of_platform(&loaded);
            self.types.extend(loaded.resource_types.iter().map(|one| one.type_name.as_str().into()));
            definitions.extend(loaded.definitions);
        }
        definitions
    }

    /// Whether the difference may concern a recorded resource.
    fn concerns(&self, context: &Context, snapshot: &Snapshot) -> bool {
        let concerns = |key: &Key| {
            self.types.contains(key.type_name())
                || self.definitions.iter().any(|definition| may_match(definition, context, key))
        };
        self.others || snapshot.records.iter().filter_map(|record| record.urn.key()).any(|key| concerns(&key))
    }
}

/// Whether a text has lost a document, or has a placeholder without its dollar sign, so that a guard may
/// reject the change whatever it does to resources.
fn is_guarded(taken: &[SourceText], put: &[SourceText]) -> bool {
    let all = |texts: &[SourceText]| -> Vec<DocumentHead> {
        texts.iter().flat_map(|text| heads(&text.text)).collect()
    };
    let mut now = all(put);
    let is_lost = |head: DocumentHead| match now.iter().position(|one| *one == head) {
        Some(at) => {
            now.swap_remove(at);
            false
        }
        None => true,
    };
    let warned = || load_sources(put.to_vec(), &[]).diagnostics;
    all(taken).into_iter().any(is_lost) || warned().iter().any(|fault| fault.code == WITHOUT_DOLLAR)
}

/// A part of a changed text.
fn text(part: &str) -> SourceText {
    SourceText {
        name: "changed".into(),
        text: part.into(),
        named: true,
        scores: Vec::new(),
        files: Vec::new(),
    }
}

/// Whether a document is a definition or a resource type, which concerns only resources of its
/// type. Definitions that require bundles and types of manifests may concern others too, so they do
/// not count.
fn is_of_platform(loaded: &Loaded) -> bool {
    let is_plain = |one: &ResourceType| one.manifests.is_empty();
    let needs_nothing = |one: &Definition| one.recipe.requires.is_empty();
    match (&*loaded.definitions, &*loaded.resource_types) {
        ([one], []) => needs_nothing(one),
        ([], [one]) => is_plain(one),
        _ => false,
    }
}

/// The documents of a text, without the separator lines.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    let next = move || {
        let whole = rest.take()?;
        let mut start = 0;
        for line in whole.split_inclusive('\n') {
            if line.trim_end() == "---" {
                rest = whole.get(start + line.len()..);
                return whole.get(..start);
            }
            start += line.len();
        }
        Some(whole)
    };
    std::iter::from_fn(next).map(str::trim).filter(|part| !part.is_empty())
}

impl Purlin {
    /// The files and folders of a proposal that no environment was deployed from, so that their
    /// effect is unknown. If there are no deployments, these are only those without any document:
    /// a mistyped or empty folder.
    ///
    /// # Errors
    /// [`Error::State`] if the records cannot be read; [`Error::Archive`].
    pub async fn unread(&self, proposal: &Proposal) -> Result<Vec<Arc<str>>, Error> {
        let mut unread = proposal.files.inputs.clone();
        let mut is_deployed = false;
        for known in self.known_environments().await? {
            if unread.is_empty() {
                break;
            }
            if let Some(last) = self.last_deployed_of(&known).await? {
                is_deployed = true;
                let archive = last.archive()?;
                unread.retain(|place| !archive.reads_from(place, proposal.is_empty_at(place)));
            }
        }
        if !is_deployed {
            unread.retain(|place| proposal.is_empty_at(place));
        }
        Ok(unread)
    }

    /// The effect of a proposal on an environment, compared with a deployment of its own documents.
    /// Drivers are called, for `check` and `update-impact`, only with `ask`; otherwise the effect
    /// of a change is derived from their schemas. Takes no lock, and reads no secrets: each is
    /// assumed to be unchanged since the resource was last provisioned.
    ///
    /// # Errors
    /// [`Error::State`] if the records cannot be read; [`Error::Archive`] if a newer program wrote
    /// the documents; [`Error::Documents`] if the recorded documents are no longer valid.
    pub async fn impact(
        &self,
        known: &EnvironmentSummary,
        proposal: &Proposal,
        ask: bool,
    ) -> Result<EnvironmentImpact, Error> {
        let Some(last) = self.last_deployed_of(known).await? else {
            return Ok(match known.records {
                0 => EnvironmentImpact::Unused,
                _ => EnvironmentImpact::Unknown,
            });
        };
        let (archive, difference) = match proposal.revise(&last)? {
            Revision::Changed { archive, difference } => (archive, difference),
            Revision::Unused => return Ok(EnvironmentImpact::Unused),
            Revision::Same => return Ok(EnvironmentImpact::None),
        };
        let snapshot = self.snapshot(&known.environment).await?;
        let is_complete = last.deployment.outcome == Outcome::Succeeded
            && snapshot.pending.is_empty()
            && snapshot.obstacles.is_empty();
        if is_complete && !difference.concerns(&last.context()?, &snapshot) {
            return Ok(EnvironmentImpact::None);
        }
        let id = Arc::clone(&last.deployment.id);
        let base = self.with_users(Base::new(snapshot)?, &known.environment).await?;
        let before = last.documents(&id)?;
        let graph = self.graph_in(&before, Arc::clone(&before.context)).await?;
        let secrets = RecordedSecrets::new(&graph, &base, self.secret_stores()?);
        let recorded =
            RecordedEnvironment { purlin: self, base, secrets: Arc::new(secrets), deployed: graph, ask };
        let revised = match proposal.documents(*archive, &id) {
            Ok(documents) => documents,
            Err(error) => return rejected(error),
        };
        let after = match recorded.plan(&revised, true).await {
            Ok(plan) => plan,
            Err(error) => return rejected(error),
        };
        if after.is_empty() {
            return Ok(EnvironmentImpact::None);
        }
        // Changes that would happen anyway are not effects of the proposal.
        let before = recorded.plan(&before, false).await.ok();
        let refused_anyway: Vec<Key> = before.iter().flat_map(Plan::refused).map(|(key, _)| key).collect();
        let refused = after.refused().into_iter().filter(|(key, _)| !refused_anyway.contains(key));
        let refused: Vec<Rejection> = refused
            .flat_map(|(key, cause)| {
                cause.diagnostics().into_iter().map(move |fault| Rejection { key: Some(key.clone()), fault })
            })
            .collect();
        if !refused.is_empty() {
            return Ok(EnvironmentImpact::Rejected(refused));
        }
        let anyway: HashMap<&Key, &Step> =
            before.iter().flat_map(|plan| &plan.steps).map(|step| (&step.key, step)).collect();
        let is_effect =
            |step: &&Step| step.action != Action::None && !is_same(step, anyway.get(&step.key).copied());
        let mut affected: Vec<Step> = after.steps.iter().filter(is_effect).cloned().collect();
        if !ask && affected.len() > 1 {
            recorded.forget_outputs(&revised, &mut affected).await?;
        }
        Ok(if affected.is_empty() { EnvironmentImpact::None } else { EnvironmentImpact::Changes(affected) })
    }
}

fn is_same(step: &Step, other: Option<&Step>) -> bool {
    other.is_some_and(|other| {
        (step.action, &step.reasons, &step.changes) == (other.action, &other.reasons, &other.changes)
            && step.parts().eq(other.parts())
    })
}

fn rejected(error: Error) -> Result<EnvironmentImpact, Error> {
    match error {
        Error::Documents(faults) | Error::Engine(purlin_engine::Error::NotGranted { faults, .. }) => {
            let faults = faults.into_iter().filter(Diagnostic::is_error);
            Ok(EnvironmentImpact::Rejected(faults.map(|fault| Rejection { key: None, fault }).collect()))
        }
        other => Err(other),
    }
}

/// Plans one environment from its records.
struct RecordedEnvironment<'a> {
    purlin: &'a Purlin,
    base: Base,
    secrets: Arc<RecordedSecrets>,
    /// The graph of the last deployment.
    deployed: Arc<Graph>,
    ask: bool,
}

impl RecordedEnvironment<'_> {
    /// Plans documents, as a deployment would. Those of the last deployment (`is_new` is false) passed the
    /// guards at that time.
    async fn plan(&self, documents: &Documents, is_new: bool) -> Result<Plan, Error> {
        let Self { purlin, base, .. } = self;
        let changes = ContextChanges::default();
        let (graph, gone) = purlin.guarded_graph(documents, changes, base, is_new).await?;
        let plan = self.plan_graph(documents, graph, true).await?;
        purlin.guard_plan(plan, Some(documents), &gone, &documents.environment()).await
    }

    /// Without drivers, the outputs of an updated resource count as unchanged if it `keeps_outputs`.
    async fn plan_graph(
        &self,
        documents: &Documents,
        graph: Arc<Graph>,
        keeps_outputs: bool,
    ) -> Result<Plan, Error> {
        let Self { purlin, base, secrets, deployed, ask } = self;
        let base = base.clone().protected(purlin.protection(&documents.environment()));
        let options = PlanOptions {
            parallelism: purlin.parallelism(),
            stores: Arc::clone(secrets) as _,
            rules: Arc::clone(&documents.rules),
            ..PlanOptions::default()
        };
        let registry = &purlin.drivers_without_secrets()?;
        let described = DescribedDrivers::new(registry, deployed, &base);
        let described = if keeps_outputs { described } else { described.with_unknown_outputs() };
        let drivers: &dyn Drivers = if *ask { registry } else { &described };
        Ok(purlin_engine::plan(graph, &documents.context, base, drivers, options).await?)
    }

    /// Makes the values unknown that come from outputs of updated resources: that these count as unchanged
    /// decides what happens, but is not a value to show.
    async fn forget_outputs(&self, documents: &Documents, steps: &mut [Step]) -> Result<(), Error> {
        let graph = self.purlin.graph_in(documents, Arc::clone(&documents.context)).await?;
        // If every unknown value were a change, something else might be in the way.
        let Ok(plan) = self.plan_graph(documents, graph, false).await else { return Ok(()) };
        for step in steps {
            let Some(other) = plan.steps.iter().find(|other| other.key == step.key) else { continue };
            for change in &mut step.changes {
                let of_it = other.changes.iter().find(|other| {
                    let below = change.path.strip_prefix(&*other.path);
                    other.is_unknown() && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                });
                if let Some(unknown) = of_it {
                    change.after.clone_from(&unknown.after);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_at_separator_lines() {
        let all = |text| parts(text).collect::<Vec<_>>();
        assert_eq!(
            all("a: 1\n---\nb: |\n  ---\n  x\n--- \n\n---\nc: 3"),
            ["a: 1", "b: |\n  ---\n  x", "c: 3"]
        );
        assert_eq!(all(""), Vec::<&str>::new());
        assert_eq!(all("---\r\na: 1\r\n"), ["a: 1"]);
    }
}
