//! The effect of changed documents on environments that others deploy: each environment is planned
//! from its own recorded documents with the changed ones substituted. Nothing is written, and
//! drivers are called only on request.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use purlin_documents::{
    AttachedFile, DocumentHead, Loaded, SourceText, declares_resources, heads, load_sources,
};
use purlin_engine::{
    Action, Base, DescribedDrivers, LostData, Plan, PlanOptions, RecordedSecrets, Step, ValueChange,
};
use purlin_graph::{Graph, may_match};
use purlin_model::driver::Part;
use purlin_model::{Context, Definition, Diagnostic, Key, Reason, ResourceType, Workspace};
use purlin_state::{Environment, EnvironmentSummary, Outcome, Snapshot};
use sha2::{Digest as _, Sha256};

use crate::archive::{Archive, cover};
use crate::files::Files;
use crate::missing_documents::folders::{GoneFile, emptied, folder_without_documents};
use crate::missing_documents::{similar, slips};
use crate::rollouts::ChangedDocuments;
use crate::{Documents, Error, Purlin};

/// Changed documents, to be compared with the recorded ones.
///
/// A document of an environment is replaced if its file was read, or is in a folder that was read.
/// A new file belongs to each environment whose last deployment read a folder that contains it.
#[derive(Debug)]
pub struct Proposal {
    /// The files that were read.
    files: Files,
    texts: Vec<(SourceText, Arc<str>)>,
    /// The groups of manifests that the workspace adds to those with references by convention.
    references: Option<Vec<Arc<str>>>,
    /// The differences, by the digest of the compared texts, since environments share them.
    differences: Mutex<HashMap<[u8; 32], Arc<Difference>>>,
}

/// The difference between two sets of documents.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// Definitions on either side that the other side does not have in the same form.
    definitions: Vec<Definition>,
    /// Resource types that differ in the same way.
    types: BTreeSet<Arc<str>>,
    /// Whether anything else differs, which may concern every resource.
    others: bool,
    /// What is most likely not meant as a change.
    slips: Vec<Diagnostic>,
    /// The texts that were edited, before and now. Some slips depend on the environment.
    edited: Vec<(SourceText, SourceText)>,
}

/// The effect of a proposal on one environment.
#[derive(Clone, Debug)]
pub enum EnvironmentImpact {
    /// None: it uses none of the documents, or nothing in it changes.
    None,
    /// Its resources change.
    Changes(Vec<Affected>),
    /// A deployment with these documents would be rejected.
    Rejected(Vec<Diagnostic>),
    /// Its documents are not recorded, so the effect is unknown.
    Unknown,
}

/// A resource that a proposal would change.
#[derive(Clone, Debug)]
pub struct Affected {
    /// The resource.
    pub key: Key,
    /// The action.
    pub action: Action,
    /// The reasons, the main one first.
    pub reasons: Vec<Reason>,
    /// The changes to its inputs.
    pub changes: Vec<ValueChange>,
    /// The data that would be lost, if any.
    pub loses: Option<LostData>,
    /// Its parts to which something happens, as its driver foresees ([`Step::parts`]).
    pub parts: Vec<Part>,
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
        Ok(Self { texts, files, references, differences: Mutex::default() })
    }

    /// Substitutes the changed documents in an archive. Returns what they change; `None` if nothing.
    ///
    /// # Errors
    /// [`Error::Documents`] if a deployed file that a deployment would read again no longer
    /// contains documents, or was named and is gone, and for slips: resources must not vanish with
    /// them.
    pub(crate) fn revise(&self, archive: &mut Archive) -> Result<Option<Arc<Difference>>, Error> {
        let read: HashSet<&str> = self.texts.iter().map(|(_, path)| &**path).collect();
        let mut lost = Vec::new();
        let mut gone = Vec::new();
        for (path, text) in archive.texts_within(&self.files.inputs) {
            if read.contains(path) {
                continue;
            }
            let file = self.files.find(path);
            let is_named = archive.inputs.iter().any(|input| **input == *path);
            let what = match (file.exists(), is_named) {
                (true, _) => "no longer contains a document",
                (false, true) => "is gone, and the last deployment named it",
                (false, false) => {
                    gone.push(GoneFile { path: file, declares: declares_resources(text) });
                    continue;
                }
            };
            let help = "to remove what it declared, deploy the environment without it";
            lost.push(Diagnostic::error("file-without-documents", format!("`{path}` {what}")).help(help));
        }
        lost.extend(self.emptied(&gone));
        if !lost.is_empty() {
            return Err(Error::Documents(lost));
        }
        let references = self.references.as_ref().filter(|references| **references != archive.references);
        if let Some(references) = references {
            archive.references.clone_from(references);
        }
        let is_read_alike = references.is_none();
        let (taken, put) = archive.revise(&self.files.inputs, &self.texts);
        if is_read_alike && contents(&taken).eq(contents(&put)) {
            return Ok(None);
        }
        let difference = self.difference(&taken, &put);
        match &*difference.slips {
            [] if is_read_alike => Ok(Some(difference)),
            [] => {
                let edited = difference.edited.clone();
                Ok(Some(Arc::new(Difference { others: true, edited, ..Difference::default() })))
            }
            slips => Err(Error::Documents(slips.to_vec())),
        }
    }

    /// The documents alone, to be recorded.
    pub(crate) fn changed(&self) -> ChangedDocuments {
        ChangedDocuments::new(self.files.inputs.clone(), &self.texts, self.references.clone())
    }

    /// Whether it has no document at a place.
    fn is_empty_at(&self, place: &Arc<str>) -> bool {
        !self.texts.iter().any(|(_, path)| cover(std::slice::from_ref(place), path))
    }

    /// The faults of deployed folders that have lost all their documents.
    fn emptied(&self, gone: &[GoneFile]) -> Vec<Diagnostic> {
        if gone.is_empty() {
            return Vec::new();
        }
        let texts = self.texts.iter();
        let now: Vec<_> = texts.map(|(source, path)| (self.files.find(path), &*source.text)).collect();
        let top = |path: &Path| self.files.folder_over(path).map(Path::to_path_buf);
        let help = "to remove what its files declared, deploy the environment without them";
        let folders = emptied(gone, &now, &top).into_iter();
        folders.map(|(folder, count)| folder_without_documents(&folder, count, None).help(help)).collect()
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
        let all: OnceCell<Vec<DocumentHead>> = OnceCell::new();
        let is_put = |document: &DocumentHead| {
            all.get_or_init(|| put.iter().flat_map(|text| heads(&text.text)).collect()).contains(document)
        };
        let edited = taken.iter().filter_map(|then| {
            let now = put.iter().find(|now| now.name == then.name && now.text != then.text)?;
            Some((then.clone(), now.clone()))
        });
        let edited: Vec<(SourceText, SourceText)> = edited.collect();
        let mut difference = Self {
            others: attached(taken) != attached(put),
            slips: edited.iter().flat_map(|(then, now)| slips::between(then, now, &is_put)).collect(),
            edited,
            ..Self::default()
        };
        for part in before.symmetric_difference(&now) {
            let text = SourceText {
                name: "changed".into(),
                text: part.as_str().into(),
                named: true,
                scores: Vec::new(),
                files: Vec::new(),
            };
            let loaded = load_sources(vec![text], &[]);
            difference.others |= loaded.has_errors() || !is_of_platform(&loaded);
            difference.types.extend(loaded.resource_types.iter().map(|one| one.type_name.as_str().into()));
            difference.definitions.extend(loaded.definitions);
        }
        difference
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

/// The content of texts, regardless of their files.
fn contents(texts: &[SourceText]) -> impl Iterator<Item = (&str, &[AttachedFile])> {
    texts.iter().map(|text| (&*text.text, &*text.files))
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
            return Ok(if known.records == 0 { EnvironmentImpact::None } else { EnvironmentImpact::Unknown });
        };
        let mut archive = last.archive()?;
        let difference = match proposal.revise(&mut archive) {
            Ok(Some(difference)) => difference,
            Ok(None) => return Ok(EnvironmentImpact::None),
            Err(error) => return rejected(error),
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
        let foresight =
            RecordedEnvironment { purlin: self, base, secrets: Arc::new(secrets), deployed: graph, ask };
        let after = match Documents::of_archive(archive, &id) {
            Ok(documents) => foresight.plan_changed(&documents, &known.environment, &difference.edited).await,
            Err(error) => Err(error),
        };
        let after = match after {
            Ok(plan) => plan,
            Err(error) => return rejected(error),
        };
        if after.is_empty() {
            return Ok(EnvironmentImpact::None);
        }
        // Changes that would happen anyway are not effects of the proposal.
        let before = foresight.plan(&before, &known.environment).await.ok();
        let refused_anyway: Vec<Key> = before.iter().flat_map(Plan::refused).map(|(key, _)| key).collect();
        let refused = after.refused().into_iter().filter(|(key, _)| !refused_anyway.contains(key));
        let refused: Vec<Diagnostic> = refused.flat_map(|(_, cause)| cause.diagnostics()).collect();
        if !refused.is_empty() {
            return Ok(EnvironmentImpact::Rejected(refused));
        }
        let anyway: HashMap<&Key, &Step> =
            before.iter().flat_map(|plan| &plan.steps).map(|step| (&step.key, step)).collect();
        let affected: Vec<Affected> = after
            .steps
            .iter()
            .filter(|step| step.action != Action::None && !is_same(step, anyway.get(&step.key).copied()))
            .map(Affected::of)
            .collect();
        Ok(if affected.is_empty() { EnvironmentImpact::None } else { EnvironmentImpact::Changes(affected) })
    }
}

impl Affected {
    fn of(step: &Step) -> Self {
        Self {
            key: step.key.clone(),
            action: step.action,
            reasons: step.reasons.clone(),
            changes: step.changes.clone(),
            loses: step.loss().map(|loss| loss.what().clone()),
            parts: step.parts().cloned().collect(),
        }
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
            Ok(EnvironmentImpact::Rejected(faults.into_iter().filter(Diagnostic::is_error).collect()))
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
    /// Plans changed documents, unless a change is most likely a slip, as a deployment would.
    async fn plan_changed(
        &self,
        documents: &Documents,
        environment: &Environment,
        edited: &[(SourceText, SourceText)],
    ) -> Result<Plan, Error> {
        let slips = edited.iter().flat_map(|(then, now)| slips::of_definitions(documents, then, now));
        let slips: Vec<Diagnostic> = slips.collect();
        if !slips.is_empty() {
            return Err(Error::Documents(slips));
        }
        let plan = self.plan(documents, environment).await?;
        let unsuited = self.purlin.unsuited_users(&plan).await?;
        if !unsuited.is_empty() {
            return Err(Error::Documents(unsuited));
        }
        let mut gone = plan.graph().map(|graph| similar::gone(&self.base, graph)).unwrap_or_default();
        // What is recorded and was not deployed is about to be deleted anyway.
        gone.retain(|key| self.deployed.find(key.as_str()).is_some());
        match similar::similar(documents, &gone, &plan) {
            slips if slips.is_empty() => Ok(plan),
            slips => Err(Error::Documents(slips)),
        }
    }

    async fn plan(&self, documents: &Documents, environment: &Environment) -> Result<Plan, Error> {
        let Self { purlin, base, secrets, deployed, ask } = self;
        crate::installations::check_answered(documents.resolution())?;
        let graph = purlin.graph_in(documents, Arc::clone(&documents.context)).await?;
        let base = base.clone().protected(purlin.protection(environment));
        let options = PlanOptions {
            parallelism: purlin.parallelism(),
            stores: Arc::clone(secrets) as _,
            rules: Arc::clone(&documents.rules),
            ..PlanOptions::default()
        };
        let registry = &purlin.drivers_without_secrets()?;
        let context = &documents.context;
        Ok(match ask {
            true => purlin_engine::plan(graph, context, base, registry, options).await?,
            false => {
                let drivers = DescribedDrivers::new(registry, deployed, &base);
                purlin_engine::plan(graph, context, base, &drivers, options).await?
            }
        })
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
