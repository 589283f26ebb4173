//! Archived documents, which are kept with the history and with saved plans: every text that was
//! read, and the resolved context.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use purlin_documents::{AttachedFile, FileContent, Loaded, SourceText, load_sources};
use purlin_model::{
    Answer, Choices, Claim, Context, ContextDefaults, ContextPlaces, EnvironmentId, Existing, GivenValue,
    InstallationShare, Installed, Location, RequirementChoice, RequirementContext, Setting, Urn, ValueOrigin,
};
use purlin_requirements::Installation;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::files::Files;
use crate::{Documents, Error};

/// The format of archives. A newer one is rejected.
const FORMAT: u32 = 1;

/// The content of an archive.
#[derive(Serialize, Deserialize)]
pub(crate) struct Archive {
    format: u32,
    context: RecordedContext,
    /// Values that were given in addition to the documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values: Vec<KeptValue>,
    /// Answers about requirements that were given in addition to the documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<ArchivedAnswer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    with: Vec<(String, String)>,
    /// The results of requirements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    installed: Vec<ArchivedInstallation>,
    /// The installations of other environments that are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    existing: Vec<ArchivedUse>,
    sources: Vec<Text>,
    /// The groups of manifests that the workspace added to those with references by convention.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) references: Vec<Arc<str>>,
    /// The file of the workspace, relative to its folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) workspace: Option<Arc<str>>,
    /// The files and folders that were named as inputs, relative to the workspace's folder.
    pub(crate) inputs: Vec<Arc<str>>,
    /// The workspace's folder on the machine that wrote the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<Arc<str>>,
}

/// The beginning of an archive without the texts, which are by far the largest part.
#[derive(Deserialize)]
struct Head {
    format: u32,
    context: RecordedContext,
    #[serde(default)]
    values: Vec<KeptValue>,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Self, Error> {
        let head: Self = serde_json::from_slice(bytes).map_err(|_| damaged())?;
        current(head.format)?;
        Ok(head)
    }
}

impl Archive {
    /// Reads an archive.
    ///
    /// # Errors
    /// [`Error::Archive`] if a newer program wrote it, or it is damaged.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        let archive: Self = serde_json::from_slice(bytes).map_err(|_| damaged())?;
        current(archive.format)?;
        Ok(archive)
    }

    /// The context of an archive. Does not read its texts.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(crate) fn context(bytes: &[u8], deployment: &Arc<str>) -> Result<Context, Error> {
        let RecordedContext { org, app, env, env_type, namespace } = Head::read(bytes)?.context;
        Ok(Context {
            org: org.into(),
            app: app.into(),
            env: EnvironmentId { id: env.into(), kind: env_type.into() },
            namespace: namespace.into(),
            deployment: deployment.clone(),
        })
    }

    /// The names of the values that options gave, each with its file, if it came from one. Does not
    /// read the texts.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(crate) fn given_by_option(bytes: &[u8]) -> Result<Vec<(String, Option<String>)>, Error> {
        let mut names: Vec<(String, Option<String>)> = Vec::new();
        for value in Head::read(bytes)?.values {
            let file = match value.origin {
                Origin::Environment => continue,
                Origin::File => Some(value.file),
                Origin::Option => None,
            };
            // The later one overrode the earlier one.
            names.retain(|(name, _)| *name != value.name);
            names.push((value.name, file));
        }
        Ok(names)
    }

    /// The answers about requirements and their results, for a later run. Leaves out a bundle whose
    /// reference is no longer valid.
    pub(crate) fn requirement_context(&self) -> RequirementContext {
        let answer = |one: &ArchivedAnswer| {
            let part = if one.credential { Setting::Credential } else { Setting::Parameter };
            Answer { part, name: Arc::from(&*one.name), value: one.value.clone(), is_text: false }
        };
        let named =
            |(name, reference): &(String, String)| Some((Arc::from(&**name), Some(reference.parse().ok()?)));
        let before = Choices {
            with: self.with.iter().filter_map(named).collect(),
            answers: self.answers.iter().map(answer).collect(),
            makes: false,
        };
        let installed = self.installed.iter().filter_map(|one| {
            Some(Installed {
                name: Arc::from(&*one.name),
                root: Arc::from(&*one.root),
                claims: one.claims.iter().map(ArchivedClaim::read).collect(),
                reference: one.bundle.parse().ok()?,
                uses: one.uses.clone(),
            })
        });
        let existing = self.existing.iter().filter_map(ArchivedUse::read).collect();
        RequirementContext {
            before,
            installed: Some(installed.collect()),
            existing,
            ..RequirementContext::default()
        }
    }

    /// The texts, to be read again.
    pub(crate) fn into_sources(self) -> Vec<SourceText> {
        self.into_texts().into_iter().map(|(source, _)| source).collect()
    }

    /// The texts, each with the path of its file, relative to the workspace's folder.
    pub(crate) fn into_texts(self) -> Vec<(SourceText, Option<Arc<str>>)> {
        self.sources.into_iter().map(Text::read).collect()
    }

    /// Removes the texts of files within `places`, each of which is a file or a folder relative to
    /// the workspace's folder, and inserts those of `texts` that a run with the same arguments
    /// would read. A file that was deployed is replaced wherever it was read from, for example a
    /// Score file that a Deployment names. Returns the removed and the inserted texts.
    pub(crate) fn revise(
        &mut self,
        places: &[Arc<str>],
        texts: &[(SourceText, Arc<str>)],
    ) -> (Vec<SourceText>, Vec<SourceText>) {
        let recorded: HashMap<Arc<str>, (Arc<str>, bool)> = self
            .sources
            .iter()
            .filter_map(|text| Some((text.path.clone()?, (text.name.clone(), text.named))))
            .collect();
        let is_read = |path: &Arc<str>| recorded.contains_key(path) || cover(&self.inputs, path);
        let read: Vec<&(SourceText, Arc<str>)> = texts.iter().filter(|(_, path)| is_read(path)).collect();
        let paths: HashSet<&Arc<str>> = read.iter().map(|(_, path)| path).collect();
        let is_taken = |path: &Arc<str>| paths.contains(path) || cover(places, path);
        let (taken, kept): (Vec<Text>, Vec<Text>) = std::mem::take(&mut self.sources)
            .into_iter()
            .partition(|text| text.path.as_ref().is_some_and(is_taken));
        // Unchanged documents refer to files by their recorded names.
        let names: HashMap<&Arc<str>, &Arc<str>> =
            read.iter().filter_map(|(source, path)| Some((&source.name, &recorded.get(path)?.0))).collect();
        let name_of = |name: &Arc<str>| names.get(name).map_or_else(|| name.clone(), |name| (*name).clone());
        let read: Vec<(SourceText, &Arc<str>)> = read
            .iter()
            .map(|(source, path)| {
                let named =
                    recorded.get(path).map_or_else(|| self.inputs.contains(path), |(_, named)| *named);
                let scores = source.scores.iter().map(|(path, name)| (path.clone(), name_of(name))).collect();
                (SourceText { name: name_of(&source.name), named, scores, ..source.clone() }, path)
            })
            .collect();
        self.sources = kept;
        self.sources.extend(read.iter().map(|(source, path)| Text::new(source, Some(path))));
        let put = read.into_iter().map(|(source, _)| source).collect();
        (taken.into_iter().map(|text| text.read().0).collect(), put)
    }

    /// The texts of files within `places`, which are as for [`Self::revise`].
    pub(crate) fn texts_at(&self, places: &[Arc<str>]) -> Vec<Text> {
        let is_there = |text: &&Text| text.path.as_ref().is_some_and(|path| cover(places, path));
        self.sources.iter().filter(is_there).cloned().collect()
    }

    /// Whether it contains texts from a place, or a new run would read those that are there now.
    pub(crate) fn reads_from(&self, place: &Arc<str>, is_empty: bool) -> bool {
        let from = std::slice::from_ref(place);
        let mut paths = self.sources.iter().filter_map(|text| text.path.as_deref());
        paths.any(|path| cover(from, path)) || (!is_empty && cover(&self.inputs, place))
    }

    /// Where the documents were.
    pub(crate) fn files(&self) -> Files {
        let path = |text: &Text| Some((text.name.clone(), text.path.clone()?));
        let paths = self.sources.iter().filter_map(path).collect();
        Files::kept(paths, self.workspace.clone(), self.inputs.clone(), self.folder.clone())
    }
}

fn damaged() -> Error {
    Error::Archive("the recorded documents cannot be read: they are damaged".to_owned())
}

fn current(format: u32) -> Result<(), Error> {
    if format <= FORMAT {
        return Ok(());
    }
    Err(Error::Archive("a newer version of purlin recorded these documents; use that version".to_owned()))
}

#[derive(Clone, Serialize, Deserialize)]
struct RecordedContext {
    org: String,
    app: String,
    env: String,
    env_type: String,
    namespace: String,
}

/// A parameter or a credential that the user gave, by its full name.
#[derive(Serialize, Deserialize)]
struct ArchivedAnswer {
    name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    credential: bool,
    value: serde_json::Value,
}

impl ArchivedAnswer {
    fn new(answer: &Answer) -> Self {
        Self {
            name: answer.name.to_string(),
            credential: answer.part == Setting::Credential,
            value: answer.value.clone(),
        }
    }
}

/// The result of a requirement.
#[derive(Serialize, Deserialize)]
struct ArchivedInstallation {
    name: String,
    root: String,
    claims: Vec<ArchivedClaim>,
    bundle: String,
    /// The installation of another environment that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uses: Option<Urn>,
}

/// A requirement that an installation satisfied.
#[derive(Serialize, Deserialize)]
struct ArchivedClaim {
    requirement: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<Arc<str>>,
}

impl ArchivedClaim {
    fn new(claim: Claim) -> Self {
        Self { requirement: claim.made_for, identity: claim.identity }
    }

    fn read(&self) -> Claim {
        Claim { made_for: Arc::clone(&self.requirement), identity: self.identity.clone() }
    }
}

/// An installation of another environment that was used.
#[derive(Serialize, Deserialize)]
struct ArchivedUse {
    urn: Urn,
    name: Arc<str>,
    place: Arc<str>,
    bundle: String,
    share: InstallationShare,
    outputs: BTreeSet<Arc<str>>,
}

impl ArchivedUse {
    fn new(one: &Existing) -> Self {
        Self {
            urn: one.urn.clone(),
            name: Arc::clone(&one.name),
            place: Arc::clone(&one.place),
            bundle: one.reference.to_string(),
            share: InstallationShare::clone(&one.share),
            outputs: (*one.outputs).clone(),
        }
    }

    fn read(&self) -> Option<Existing> {
        Some(Existing {
            urn: self.urn.clone(),
            name: Arc::clone(&self.name),
            place: Arc::clone(&self.place),
            reference: self.bundle.parse().ok()?,
            share: Arc::new(self.share.clone()),
            outputs: Arc::new(self.outputs.clone()),
            // A run from an archive chooses nothing.
            settings: Arc::default(),
            created: 0,
            is_ready: true,
        })
    }
}

impl ArchivedInstallation {
    fn new(one: Installed) -> Self {
        let Installed { name, root, claims, reference, uses } = one;
        Self {
            name: name.to_string(),
            root: root.to_string(),
            claims: claims.into_iter().map(ArchivedClaim::new).collect(),
            bundle: reference.to_string(),
            uses,
        }
    }
}

/// A value and its origin.
#[derive(Clone, Serialize, Deserialize)]
struct KeptValue {
    name: String,
    value: serde_json::Value,
    origin: Origin,
    file: String,
    line: u32,
    column: u32,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Origin {
    Environment,
    File,
    Option,
}

impl KeptValue {
    fn new(given: &GivenValue) -> Self {
        Self {
            name: given.name.to_string(),
            value: given.written.clone(),
            origin: match given.origin {
                ValueOrigin::Environment => Origin::Environment,
                ValueOrigin::File => Origin::File,
                ValueOrigin::Text | ValueOrigin::Typed => Origin::Option,
            },
            file: given.location.file.to_string(),
            line: given.location.line,
            column: given.location.column,
        }
    }

    fn give(self, loaded: &mut Loaded) {
        let origin = match self.origin {
            Origin::Environment => ValueOrigin::Environment,
            Origin::File => ValueOrigin::File,
            Origin::Option => ValueOrigin::Typed,
        };
        let place = Location::new(self.file, self.line, self.column);
        loaded.give_again(&self.name, self.value, origin, place);
    }
}

/// A text with its file.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Text {
    name: Arc<str>,
    text: Arc<str>,
    named: bool,
    scores: Vec<(Arc<str>, Arc<str>)>,
    /// The path of its file, relative to the workspace's folder; `None` if the text is not from a
    /// file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<Arc<str>>,
    /// The files whose content it includes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<Attached>,
}

impl Text {
    pub(crate) fn new(source: &SourceText, path: Option<&Arc<str>>) -> Self {
        Self {
            name: Arc::clone(&source.name),
            text: Arc::clone(&source.text),
            named: source.named,
            scores: source.scores.clone(),
            files: source.files.iter().map(attached).collect(),
            path: path.cloned(),
        }
    }

    pub(crate) fn read(self) -> (SourceText, Option<Arc<str>>) {
        let Self { name, text, named, scores, path, files } = self;
        let files = files.into_iter().map(file).collect();
        (SourceText { name, text, named, scores, files }, path)
    }
}

/// Whether a file is one of the places, or within one.
pub(crate) fn cover(places: &[Arc<str>], file: &str) -> bool {
    places.iter().any(|place| {
        let below = || file.strip_prefix(&**place).is_some_and(|rest| rest.starts_with('/'));
        **place == *file || below() || (&**place == "." && !file.starts_with("../") && !file.starts_with('/'))
    })
}

#[derive(Clone, Serialize, Deserialize)]
struct Attached {
    path: String,
    #[serde(flatten)]
    content: Content,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
}

impl Documents {
    /// Archives everything that the documents were read from. The archive contains the secrets that
    /// the documents contain.
    pub fn archive(&self) -> Vec<u8> {
        // Text and numbers can always be encoded as JSON.
        serde_json::to_vec(&self.to_archive()).unwrap_or_default()
    }

    /// The digest of the archive, computed without building it in memory: a run that changes
    /// nothing needs only the digest, however large the documents are.
    pub(crate) fn archive_digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        match serde_json::to_writer(&mut digest, &self.to_archive()) {
            Ok(()) => digest.finalize().into(),
            Err(_) => Sha256::digest([]).into(),
        }
    }

    fn to_archive(&self) -> Archive {
        let Context { org, app, env, namespace, .. } = &*self.context;
        let named = |(name, choice): (&Arc<str>, &Option<RequirementChoice>)| {
            Some((name.to_string(), choice.as_ref()?.to_string()))
        };
        let used = |one: &Installation| one.uses.as_ref().map(|uses| ArchivedUse::new(&uses.0));
        Archive {
            format: FORMAT,
            context: RecordedContext {
                org: org.to_string(),
                app: app.to_string(),
                env: env.id.to_string(),
                env_type: env.kind.to_string(),
                namespace: namespace.to_string(),
            },
            values: self.loaded.given.iter().map(KeptValue::new).collect(),
            answers: self.resolution.choices.answers.iter().map(ArchivedAnswer::new).collect(),
            with: self.resolution.choices.with.iter().filter_map(named).collect(),
            existing: self.resolution.installations.iter().filter_map(used).collect(),
            installed: self.resolution.installed().into_iter().map(ArchivedInstallation::new).collect(),
            sources: self
                .loaded
                .sources()
                .iter()
                .map(|source| Text::new(source, self.files.path(&source.name)))
                .collect(),
            references: self.loaded.references.clone(),
            workspace: self.files.workspace.clone(),
            inputs: self.files.inputs.clone(),
            folder: self.files.folder.clone(),
        }
    }

    /// Reads documents from an archive, in their recorded context, for a new deployment.
    ///
    /// # Errors
    /// [`Error::Archive`] if a newer program wrote the archive, or it is damaged;
    /// [`Error::Documents`] if the documents are no longer valid.
    pub fn from_archive(bytes: &[u8], deployment_id: &str) -> Result<Self, Error> {
        Self::of_archive(Archive::read(bytes)?, deployment_id)
    }

    /// The same, from an archive that was already read.
    pub(crate) fn of_archive(mut archive: Archive, deployment_id: &str) -> Result<Self, Error> {
        let RecordedContext { org, app, env, env_type, namespace } = archive.context.clone();
        let values = std::mem::take(&mut archive.values);
        let flags = ContextDefaults {
            org: Some(org.into()),
            app: Some(app.into()),
            env: Some(env.into()),
            env_type: Some(env_type.into()),
            namespace: Some(namespace.into()),
        };
        let files = archive.files();
        let requirement_context = archive.requirement_context();
        let references = std::mem::take(&mut archive.references);
        let mut loaded: Loaded = load_sources(archive.into_sources(), &references);
        values.into_iter().for_each(|value| value.give(&mut loaded));
        // The context is already resolved, including the context in the documents.
        loaded.context = ContextDefaults::default();
        loaded.places = ContextPlaces::default();
        loaded.requirement_context = requirement_context;
        let documents = Self::new(loaded, &flags, None, deployment_id)?;
        Ok(Self { files, ..documents })
    }
}

fn attached(file: &AttachedFile) -> Attached {
    let content = match &file.content {
        FileContent::Text(text) => Content::Text(Arc::clone(text)),
        FileContent::Bytes(bytes) => Content::Bytes(Arc::clone(bytes)),
    };
    Attached { path: file.path.to_string(), content }
}

fn file(file: Attached) -> AttachedFile {
    let content = match file.content {
        Content::Text(text) => FileContent::Text(text),
        Content::Bytes(bytes) => FileContent::Bytes(bytes),
    };
    AttachedFile { path: file.path.into(), content }
}
