//! What was deployed last in an environment: its context and its documents, which later runs are
//! held against (SPEC §9, recorded context).

use purlin_documents::{Loaded, SourceText};
use purlin_engine::Base;
use purlin_model::{Context, ContextDefaults, Said, Workspace};
use purlin_state::{Deployment, Environment, Known};

use crate::archive::Archive;
use crate::settle::settle;
use crate::{Documents, Error, Purlin};

/// The latest deployment of an environment that was made from documents.
pub struct LastDeployed {
    /// Its entry in the history.
    pub deployment: Deployment,
    archive: Vec<u8>,
}

impl LastDeployed {
    /// The context that it was deployed in. Reads none of the documents.
    ///
    /// # Errors
    /// [`Error::Archive`] when a newer program wrote it, or it is damaged.
    pub fn context(&self) -> Result<Context, Error> {
        Archive::context(&self.archive, &self.deployment.id)
    }

    /// The names of the values that options gave, each with the file that gave it, if it was one.
    ///
    /// # Errors
    /// As [`Self::context`].
    pub(crate) fn given_by_option(&self) -> Result<Vec<(String, Option<String>)>, Error> {
        Archive::given_by_option(&self.archive)
    }

    /// What was kept of it.
    pub(crate) fn archive(&self) -> Result<Archive, Error> {
        Archive::read(&self.archive)
    }

    /// Every text that it was made from.
    ///
    /// # Errors
    /// As [`Self::context`].
    pub fn sources(&self) -> Result<Vec<SourceText>, Error> {
        Ok(Archive::read(&self.archive)?.into_sources())
    }

    /// Its documents, in its context, for a deployment of now.
    ///
    /// # Errors
    /// [`Error::Archive`] as [`Self::context`]; [`Error::Documents`] when what was right then is
    /// wrong now.
    pub fn documents(&self, deployment_id: &str) -> Result<Documents, Error> {
        Documents::from_archive(&self.archive, deployment_id)
    }
}

/// What the last deployment of an environment was made from, beside other documents.
pub(crate) enum LastDocuments {
    /// There was none, or its documents are not kept.
    Unknown,
    /// The same documents.
    Same,
    /// Other documents.
    Other(Box<LastDeployed>),
}

impl Purlin {
    /// What the last deployment was made from. Where that is the same, it is not read.
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

    /// The latest deployment of an environment that was made from documents; none where nothing is
    /// recorded any more, or its documents are not kept.
    ///
    /// Reads every record of the environment. Where they are read already, [`Self::last_deployed_at`]
    /// is cheap.
    ///
    /// # Errors
    /// [`Error::State`] when the store cannot be read.
    pub async fn last_deployed(&self, environment: &Environment) -> Result<Option<LastDeployed>, Error> {
        let snapshot = self.snapshot(environment).await?;
        if snapshot.records.is_empty() && snapshot.pending.is_empty() {
            return Ok(None);
        }
        self.last_from_documents(environment).await
    }

    /// The same, where `base` is what is recorded in the environment.
    ///
    /// # Errors
    /// [`Error::State`] when the store cannot be read.
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

    /// The same, where this is what a list of all environments says of one. Reads no record, and does not say which
    /// steps the deployment had.
    ///
    /// # Errors
    /// [`Error::State`] when the store cannot be read.
    pub async fn last_deployed_of(&self, known: &Known) -> Result<Option<LastDeployed>, Error> {
        if known.records == 0 {
            return Ok(None);
        }
        // The last deployment is most often the last one from documents, too.
        if let Some(last) = known.last.as_ref().filter(|last| last.documents.is_some()) {
            return self.with_documents(&known.environment, last.clone()).await;
        }
        self.last_from_documents(&known.environment).await
    }

    /// Reads what the last run was told of requirements beside its documents, and what it made of them
    /// ([`Said`]), for a run that does not say it again, and which installations are there in other environments.
    /// Where everything was destroyed, nothing is remembered. To be called before [`Documents::new`], with the same
    /// context.
    /// Costs nothing where nothing is required.
    ///
    /// # Errors
    /// [`Error::State`] when the store cannot be read, [`Error::Archive`] when a newer program wrote it.
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
        // What contradicts itself is told where the documents are put into their context.
        let settled = settle(loaded, flags, workspace, "", &mut Vec::new());
        let environment = Environment::of(&settled.context);
        let snapshot = self.snapshot(&environment).await?;
        let now = std::mem::take(&mut loaded.said.now);
        let known = match snapshot.records.is_empty() && snapshot.pending.is_empty() {
            true => None,
            false => self.last_from_documents(&environment).await?,
        };
        let before = known.map(|last| last.archive()).transpose()?.map(|archive| archive.said());
        let recorded = Some(crate::sharing::recorded(&snapshot));
        let (existing, users) = self.seen_from(&environment).await?;
        loaded.said = Said { now, recorded, existing, users, ..before.unwrap_or_default() };
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
