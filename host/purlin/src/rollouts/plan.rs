//! What a roll-out brings, and where: recorded once, and read by every host.

use std::collections::HashMap;
use std::sync::Arc;

use purlin_documents::{AttachedFile, SourceText};
use purlin_state::Environment;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::archive::{Archive, Text, cover};

/// The format of plans. A newer one is rejected.
const FORMAT: u32 = 1;

/// The documents of some files, which take the place of those that environments were deployed from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "RecordedDocuments", into = "RecordedDocuments")]
pub(crate) struct ChangedDocuments {
    /// The files and folders that were named, relative to the workspace's folder.
    pub(crate) places: Vec<Arc<str>>,
    /// What is in them, each with its path.
    pub(crate) texts: Vec<(SourceText, Arc<str>)>,
    /// The groups of manifests that the workspace adds to those with references by convention; `None` leaves
    /// those of each environment.
    pub(crate) references: Option<Vec<Arc<str>>>,
}

/// The form in which they are recorded.
#[derive(Serialize, Deserialize)]
struct RecordedDocuments {
    places: Vec<Arc<str>>,
    texts: Vec<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    references: Option<Vec<Arc<str>>>,
}

impl From<RecordedDocuments> for ChangedDocuments {
    fn from(recorded: RecordedDocuments) -> Self {
        let RecordedDocuments { places, texts, references } = recorded;
        let with_path = |text: Text| {
            let (source, path) = text.read();
            Some((source, path?))
        };
        Self { places, texts: texts.into_iter().filter_map(with_path).collect(), references }
    }
}

impl From<ChangedDocuments> for RecordedDocuments {
    fn from(changed: ChangedDocuments) -> Self {
        let ChangedDocuments { places, texts, references } = changed;
        let texts = texts.iter().map(|(source, path)| Text::new(source, Some(path))).collect();
        Self { places, texts, references }
    }
}

/// The effect of changed documents on those of one environment.
pub(crate) enum Substituted {
    /// The environment was deployed from none of the files.
    Unused,
    /// They have the same content.
    Same,
    /// Others, read in the same way: those that were taken, and those that were put there.
    Texts(Vec<SourceText>, Vec<SourceText>),
    /// They are read in another way, whatever their content.
    ReadElse,
}

impl ChangedDocuments {
    /// Puts them into an archive.
    pub(crate) fn substitute(&self, archive: &mut Archive) -> Substituted {
        let references = self.references.as_ref().filter(|references| **references != archive.references);
        if let Some(references) = references {
            archive.references.clone_from(references);
        }
        let (taken, put) = archive.revise(&self.places, &self.texts);
        fn content(text: &SourceText) -> (&str, &[AttachedFile]) {
            (&text.text, &text.files)
        }
        match references.is_some() {
            true => Substituted::ReadElse,
            false if taken.is_empty() && put.is_empty() => Substituted::Unused,
            false if taken.iter().map(content).eq(put.iter().map(content)) => Substituted::Same,
            false => Substituted::Texts(taken, put),
        }
    }

    /// What these take the place of in an archive: putting it back restores the archive.
    fn before(&self, archive: &Archive) -> Self {
        let paths = self.texts.iter().map(|(_, path)| path);
        let places: Vec<Arc<str>> = self.places.iter().chain(paths).cloned().collect();
        let texts = archive.texts_at(&places);
        let references = self.references.as_ref().map(|_| archive.references.clone());
        RecordedDocuments { places, texts, references }.into()
    }

    /// Whether both are about the same files.
    fn overlaps(&self, other: &Self) -> bool {
        let files = |one: &Self| -> Vec<Arc<str>> {
            one.places.iter().chain(one.texts.iter().map(|(_, path)| path)).cloned().collect()
        };
        let (own, others) = (files(self), files(other));
        own.iter().any(|file| cover(&others, file)) || others.iter().any(|file| cover(&own, file))
    }
}

/// The plan of a roll-out.
#[derive(Serialize, Deserialize)]
pub(crate) struct RolloutPlan {
    format: u32,
    /// The number of the roll-out, so that no two have the same plan.
    number: u64,
    pub(crate) changed: ChangedDocuments,
    /// As [`crate::Documents::accept_missing`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) accept_missing: Vec<String>,
    /// The documents that environments had instead; many had the same.
    befores: Vec<ChangedDocuments>,
    environments: Vec<CoveredEnvironment>,
    #[serde(skip)]
    places: HashMap<Environment, usize>,
    /// The positions of the documents before, by their digest.
    #[serde(skip)]
    known: HashMap<[u8; 32], usize>,
}

/// An environment that a roll-out covers.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct CoveredEnvironment {
    org: Arc<str>,
    app: Arc<str>,
    env: Arc<str>,
    /// Its type.
    pub(crate) kind: Arc<str>,
    /// Its wave, from 0.
    pub(crate) wave: u32,
    /// The position of what it had before.
    before: usize,
    /// Whether it had these documents before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) had_it: bool,
}

impl CoveredEnvironment {
    pub(crate) fn environment(&self) -> Environment {
        Environment { org: Arc::clone(&self.org), app: Arc::clone(&self.app), env: Arc::clone(&self.env) }
    }
}

impl RolloutPlan {
    pub(crate) fn new(number: u64, changed: ChangedDocuments, accept_missing: Vec<String>) -> Self {
        Self {
            format: FORMAT,
            number,
            changed,
            accept_missing,
            befores: Vec::new(),
            environments: Vec::new(),
            places: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// Adds an environment, with the documents of its last deployment, unless these have nothing to do with
    /// the changed ones.
    pub(crate) fn add(&mut self, environment: &Environment, kind: Arc<str>, mut archive: Archive) {
        let before = self.changed.before(&archive);
        let had_it = match self.changed.substitute(&mut archive) {
            Substituted::Unused => return,
            Substituted::Same => true,
            Substituted::Texts(..) | Substituted::ReadElse => false,
        };
        let digest = Sha256::digest(serde_json::to_vec(&before).unwrap_or_default()).into();
        let before = *self.known.entry(digest).or_insert_with(|| {
            self.befores.push(before);
            self.befores.len() - 1
        });
        let Environment { org, app, env } = environment.clone();
        self.environments.push(CoveredEnvironment { org, app, env, kind, wave: 0, before, had_it });
    }

    /// Gives each environment its wave.
    pub(crate) fn divide(&mut self, wave: impl Fn(usize, &CoveredEnvironment) -> u32) {
        for (number, one) in self.environments.iter_mut().enumerate() {
            one.wave = wave(number, one);
        }
        self.index();
    }

    /// Orders the environments.
    pub(crate) fn sort_by_key<K: Ord>(&mut self, key: impl FnMut(&CoveredEnvironment) -> K) {
        self.environments.sort_by_cached_key(key);
    }

    /// Every environment, in the order of the waves.
    pub(crate) fn environments(&self) -> &[CoveredEnvironment] {
        &self.environments
    }

    pub(crate) fn find(&self, environment: &Environment) -> Option<&CoveredEnvironment> {
        self.environments.get(*self.places.get(environment)?)
    }

    /// What an environment had before.
    pub(crate) fn before(&self, covered: &CoveredEnvironment) -> Option<&ChangedDocuments> {
        self.befores.get(covered.before)
    }

    /// Whether it brings the same documents as another plan, to all of its environments.
    pub(crate) fn brings_all_of(&self, other: &Self) -> bool {
        let text = |one: &ChangedDocuments| serde_json::to_vec(one).unwrap_or_default();
        other.places.keys().all(|environment| self.places.contains_key(environment))
            && text(&self.changed) == text(&other.changed)
    }

    /// Whether both bring the same files to one environment at least.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.changed.overlaps(&other.changed)
            && self.places.keys().any(|environment| other.places.contains_key(environment))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        // Text and numbers can always be encoded as JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// # Errors
    /// [`Error::Archive`] if a newer program wrote it, or it is damaged.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let damaged = |_| Error::Archive("the plan of the roll-out cannot be read: it is damaged".into());
        let Head { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        if format > FORMAT {
            let newer = "a newer version of purlin recorded this roll-out; use that version";
            return Err(Error::Archive(newer.into()));
        }
        let mut plan: Self = serde_json::from_slice(bytes).map_err(damaged)?;
        plan.index();
        Ok(plan)
    }

    fn index(&mut self) {
        let places = self.environments.iter().enumerate();
        self.places = places.map(|(place, covered)| (covered.environment(), place)).collect();
    }
}
