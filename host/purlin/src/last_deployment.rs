//! The last deployment in an environment: its context and its documents, with which later runs are
//! compared (SPEC §9, recorded context).

use purlin_documents::{Loaded, SourceText};
use purlin_engine::Base;
use purlin_model::{Context, ContextDefaults, RequirementContext, Workspace};
use purlin_state::{Deployment, Environment, EnvironmentSummary};

use crate::archive::Archive;
use crate::resolve_context::resolve_context;
use crate::{Documents, Error, Purlin};

/// The latest deployment of an environment that was made from documents.
pub struct LastDeployed {
    /// Its entry in the history.
    pub deployment: Deployment,
    archive: Vec<u8>,
}

impl LastDeployed {
    /// Its context. Reads none of the documents.
    ///
    /// # Errors
    /// [`Error::Archive`] if a newer program wrote the archive, or it is damaged.
    pub fn context(&self) -> Result<Context, Error> {
        Archive::context(&self.archive, &self.deployment.id)
    }

    /// The names of the values that options gave, each with its file, if it came from one.
    ///
    /// # Errors
    /// As for [`Self::context`].
    pub(crate) fn given_by_option(&self) -> Result<Vec<(String, Option<String>)>, Error> {
        Archive::given_by_option(&self.archive)
    }

    /// Its archive.
    pub(crate) fn archive(&self) -> Result<Archive, Error> {
        Archive::read(&self.archive)
    }

    /// Every text that it was made from.
    ///
    /// # Errors
    /// As for [`Self::context`].
    pub fn sources(&self) -> Result<Vec<SourceText>, Error> {
        Ok(Archive::read(&self.archive)?.into_sources())
    }

    /// Its documents, in its context, for a new deployment.
    ///
    /// # Errors
    /// [`Error::Archive`] as for [`Self::context`]; [`Error::Documents`] if the documents are no
    /// longer valid.
    pub fn documents(&self, deployment_id: &str) -> Result<Documents, Error> {
        Documents::from_archive(&self.archive, deployment_id)
    }
}

/// The documents of the last deployment, compared with other documents.
pub(crate) enum LastDocuments {
    /// There was no deployment, or its documents are not kept.
    Unknown,
    /// The same documents.
    Same,
    /// Other documents.
    Other(Box<LastDeployed>),
}

impl Purlin {
    /// The documents of the last deployment. Identical ones are not read.
    pub(crate) async fn last_beside(
        &self,
        documents: &Documents,
        base: &Base,
    ) -> Result<LastDocuments, Error> {
        if base.is_empty() || self.is_untouched() {
            return Ok(LastDocuments::Unknown);
        }
        let store = self.store().await?;
        let deployment = store.last_from_documents(&documents.environment()).await?;
        let Some(deployment) = deployment else { return Ok(LastDocuments::Unknown) };
        let Some(digest) = deployment.documents else { return Ok(LastDocuments::Unknown) };
        if digest == documents.archive_digest() {
            return Ok(LastDocuments::Same);
        }
        Ok(match store.documents(&documents.environment(), &digest).await? {
            Some(archive) => LastDocuments::Other(Box::new(LastDeployed { deployment, archive })),
            None => LastDocuments::Unknown,
        })
    }

    /// The latest deployment of an environment that was made from documents; `None` if nothing is
    /// recorded any more, or its documents are not kept.
    ///
    /// Reads every record of the environment. If they were read already, [`Self::last_deployed_at`]
    /// is cheaper.
    ///
    /// # Errors
    /// [`Error::State`] if the store cannot be read.
    pub async fn last_deployed(&self, environment: &Environment) -> Result<Option<LastDeployed>, Error> {
        let snapshot = self.snapshot(environment).await?;
        if snapshot.records.is_empty() && snapshot.pending.is_empty() {
            return Ok(None);
        }
        self.last_from_documents(environment).await
    }

    /// The same, given the records of the environment as `base`.
    ///
    /// # Errors
    /// [`Error::State`] if the store cannot be read.
    pub async fn last_deployed_at(
        &self,
        environment: &Environment,
        base: &Base,
    ) -> Result<Option<LastDeployed>, Error> {
        if base.is_empty() {
            return Ok(None);
        }
        self.last_from_documents(environment).await
    }

    /// The same, given the entry of the environment in a list. Reads no records. The deployment may
    /// come without its steps.
    ///
    /// # Errors
    /// [`Error::State`] if the store cannot be read.
    pub async fn last_deployed_of(&self, known: &EnvironmentSummary) -> Result<Option<LastDeployed>, Error> {
        if known.records == 0 {
            return Ok(None);
        }
        // The last deployment is usually also the last one from documents.
        if let Some(last) = known.last.as_ref().filter(|last| last.documents.is_some()) {
            return self.with_documents(&known.environment, last.clone()).await;
        }
        self.last_from_documents(&known.environment).await
    }

    /// Reads the answers about requirements that were given to the last run in addition to its
    /// documents, and their results ([`RequirementContext`]), for a run that does not repeat them,
    /// and the installations of other environments. Nothing is remembered after everything was
    /// destroyed. Call this before [`Documents::new`], with the same context. Costs nothing if
    /// there are no requirements.
    ///
    /// # Errors
    /// [`Error::State`] if the store cannot be read; [`Error::Archive`] if a newer program wrote
    /// the archive.
    pub async fn recall(
        &self,
        loaded: &mut Loaded,
        flags: &ContextDefaults,
        workspace: Option<&Workspace>,
    ) -> Result<(), Error> {
        if !loaded.requires_bundles() {
            return Ok(());
        }
        let workspace = workspace.or(loaded.workspace.as_ref());
        // Contradictions are reported when the documents get their context.
        let resolved = resolve_context(loaded, flags, workspace, "", &mut Vec::new());
        let environment = Environment::of(&resolved.context);
        let snapshot = self.snapshot(&environment).await?;
        let now = std::mem::take(&mut loaded.requirement_context.now);
        let known = match snapshot.records.is_empty() && snapshot.pending.is_empty() {
            true => None,
            false => self.last_from_documents(&environment).await?,
        };
        let archive = known.map(|last| last.archive()).transpose()?;
        let before = archive.map(|archive| archive.requirement_context());
        let recorded = Some(crate::sharing::recorded(&snapshot));
        let handed_over = crate::sharing::handed_over(&snapshot);
        let (existing, users) = self.seen_from(&environment).await?;
        let before = before.unwrap_or_default();
        loaded.requirement_context =
            RequirementContext { now, recorded, existing, users, handed_over, ..before };
        Ok(())
    }

    pub(crate) async fn last_from_documents(
        &self,
        environment: &Environment,
    ) -> Result<Option<LastDeployed>, Error> {
        if self.is_untouched() {
            return Ok(None);
        }
        let store = self.store().await?;
        match store.last_from_documents(environment).await? {
            Some(deployment) => self.with_documents(environment, deployment).await,
            None => Ok(None),
        }
    }

    async fn with_documents(
        &self,
        environment: &Environment,
        deployment: Deployment,
    ) -> Result<Option<LastDeployed>, Error> {
        let Some(digest) = &deployment.documents else { return Ok(None) };
        let archive = self.store().await?.documents(environment, digest).await?;
        Ok(archive.map(|archive| LastDeployed { deployment, archive }))
    }
}
