//! Documents that were read and validated, with a context.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use purlin_documents::{Loaded, SourceMap};
use purlin_engine::SchemaRules;
use purlin_graph::DefinitionIndex;
use purlin_model::{
    Context, ContextDefaults, Deployment, Diagnostic, Key, Location, Urn, ValueOrigin, Workload, Workspace,
};
use purlin_requirements::Resolution;
use purlin_state::Environment;

use crate::built::BuiltGraph;
use crate::files::{Files, argument_names_file};
use crate::resolve_context::resolve_context;
use crate::source_locations::SourceLocations;
use crate::{ContextChanges, Error, Purlin, values};

/// Documents that were read and validated, with a context.
pub struct Documents {
    /// What else was read: values, resource types, bundles and texts.
    pub(crate) loaded: Loaded,
    /// The context of the deployment.
    pub context: Arc<Context>,
    /// Confirmed changes to the recorded context of the environment; none by default.
    pub changes: ContextChanges,
    /// Warnings about the documents in this context, in addition to those from reading them.
    pub remarks: Vec<Diagnostic>,
    pub(crate) kind_place: Option<Location>,
    pub(crate) namespace_place: Option<Location>,
    pub(crate) undeclared: Option<Box<Diagnostic>>,
    /// Files and folders, as named on the command line, whose documents may have vanished since the
    /// last deployment, and keys of implicit resources whose definition may have.
    pub accept_missing: Vec<String>,
    /// The number of the original deployment, if its documents are deployed again.
    pub(crate) rollback_of: Option<u64>,
    /// The number of the latest deployment when the one to go back to was chosen.
    pub(crate) rollback_after: Option<u64>,
    pub(crate) files: Files,
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) definition_index: Arc<DefinitionIndex>,
    pub(crate) resolution: Resolution,
    /// The rules in their resource types.
    pub(crate) rules: Arc<SchemaRules>,
    pub(crate) built: BuiltGraph,
}

impl Documents {
    /// The texts that they were read from, to show diagnostics in.
    pub fn sources(&self) -> &SourceMap {
        &self.loaded.sources
    }

    /// The origin of a value that was given beside the documents; the last one overrides the others.
    pub fn value_origin(&self, name: &str) -> Option<ValueOrigin> {
        self.loaded.given.iter().rev().find(|given| &*given.name == name).map(|given| given.origin)
    }

    /// Resolves the context from the Deployments, or else from `flags`, or else from the
    /// workspace's declaration of the environment, or else from its defaults. Otherwise the
    /// organisation and the application are `default`, and the environment is `development` of type
    /// `development`. The namespace is by default the id of the environment. The first three
    /// sources must not contradict each other.
    ///
    /// Values come from Deployments. The workspace's values for the environment override them, and
    /// [`Loaded::given`] overrides those.
    ///
    /// `deployment_id`, which is `${context.deploy.id}`, must differ from run to run.
    ///
    /// # Errors
    /// [`Error::Documents`] with all faults found while reading, and those of the definitions as a
    /// whole.
    pub fn new(
        mut loaded: Loaded,
        flags: &ContextDefaults,
        workspace: Option<&Workspace>,
        deployment_id: &str,
    ) -> Result<Self, Error> {
        let mut faults: Vec<Diagnostic> =
            loaded.diagnostics.iter().filter(|d| d.is_error()).cloned().collect();
        let workspace = workspace.or(loaded.workspace.as_ref());
        let files = Files::new(&loaded, workspace);
        let resolved = resolve_context(&loaded, flags, workspace, deployment_id, &mut faults);
        let environment =
            workspace.and_then(|workspace| workspace.environments.get(&resolved.context.env.id));
        let mut given = environment.map(|environment| environment.values.clone()).unwrap_or_default();
        given.append(&mut loaded.given);
        values::override_values(&mut loaded.deployment, &mut given, &mut faults);
        loaded.given = given;
        let definition_index = match DefinitionIndex::new(std::mem::take(&mut loaded.definitions)) {
            Ok(definition_index) => Some(Arc::new(definition_index)),
            Err(errors) => {
                faults.extend(errors);
                None
            }
        };
        let context = Arc::new(resolved.context);
        let resolution = match &definition_index {
            Some(definition_index) => crate::installations::install(&mut loaded, &context, definition_index)
                .unwrap_or_else(|errors| {
                    faults.extend(errors);
                    Resolution::default()
                }),
            None => Resolution::default(),
        };
        let mut remarks = resolution.diagnostics.clone();
        if let Some(definition_index) = &definition_index {
            let Loaded { deployment, given, value_places, .. } = &loaded;
            let unread = values::unread(deployment, definition_index, given, value_places);
            let (wrong, odd): (Vec<_>, Vec<_>) = unread.into_iter().partition(Diagnostic::is_error);
            faults.extend(wrong);
            remarks.extend(odd);
        }
        match definition_index {
            Some(definition_index) if faults.is_empty() => Ok(Self {
                rules: Arc::new(rules(&loaded)),
                built: BuiltGraph::default(),
                resolution,
                deployment: Arc::new(std::mem::take(&mut loaded.deployment)),
                loaded,
                context,
                changes: ContextChanges::default(),
                remarks,
                kind_place: resolved.kind_place,
                namespace_place: resolved.namespace_place,
                undeclared: resolved.undeclared,
                accept_missing: Vec::new(),
                rollback_of: None,
                rollback_after: None,
                files,
                definition_index,
            }),
            _ => Err(Error::Documents(faults)),
        }
    }

    /// The environment of the documents.
    pub fn environment(&self) -> Environment {
        Environment::of(&self.context)
    }

    /// Builds the resource graph from the documents alone. Calls no drivers for the names of their
    /// outputs, so references to outputs that do not exist are not detected.
    ///
    /// # Errors
    /// [`Error::Documents`] with every fault.
    pub fn graph(&self) -> Result<purlin_graph::Graph, Error> {
        let input = purlin_graph::Input {
            context: Arc::clone(&self.context),
            definition_index: Arc::clone(&self.definition_index),
            deployment: Arc::clone(&self.deployment),
            outputs: &purlin_graph::UnknownOutputs,
            recorded: &|_| false,
        };
        purlin_graph::build(&input).map_err(Error::Documents)
    }

    /// The paused resources, for which no driver may be called.
    ///
    /// # Errors
    /// [`Error::Documents`] with every fault of the graph.
    pub(crate) fn paused(&self) -> Result<Arc<HashSet<Urn>>, Error> {
        let graph = match self.built.in_context(&self.context) {
            Some(graph) => graph,
            None => Arc::new(self.graph()?),
        };
        let paused = graph.nodes().filter(|node| node.lifecycle.paused);
        Ok(Arc::new(paused.map(|node| Urn::new(&self.context, node.key)).collect()))
    }

    /// The developers' declarations.
    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// The requirements of the deployment, and the bundle that each resolved to, with the reason.
    pub fn resolution(&self) -> &Resolution {
        &self.resolution
    }

    /// Whether the documents declare no resources. Definitions alone declare none.
    pub(crate) fn declare_nothing(&self) -> bool {
        let Deployment { workloads, shared, manifests, installations, .. } = &*self.deployment;
        workloads.is_empty() && shared.is_empty() && manifests.is_empty() && installations.is_empty()
    }

    /// The fault of documents that declare nothing, and contain no definitions; `None` if they do.
    pub fn nothing_declared(&self) -> Option<Diagnostic> {
        let is_nothing = self.declare_nothing() && self.definition_index.definitions().is_empty();
        is_nothing.then(|| {
            Diagnostic::error("no-documents", "the documents declare no resources").help(
                "`purlin init` writes a small project to begin with; `-f FILE|DIR` names other documents",
            )
        })
    }

    /// Whether a file may be missing.
    pub(crate) fn accepts(&self, name: &str, path: Option<&Path>) -> bool {
        self.accept_missing.iter().any(|word| argument_names_file(word, name, path))
    }

    /// Whether the definition of an implicit resource may be missing.
    pub(crate) fn accepts_key(&self, key: &Key) -> bool {
        let short = key.short();
        self.accept_missing.iter().any(|word| *word == short || word == key.as_str())
    }

    /// The workload whose own resource has this key.
    pub(crate) fn workload_of(&self, key: &Key) -> Option<&Workload> {
        let name = key.declared_workload()?;
        self.deployment.workloads.iter().find(|workload| *workload.name == *name)
    }

    /// The definitions.
    pub fn definition_index(&self) -> &DefinitionIndex {
        &self.definition_index
    }
}

fn rules(loaded: &Loaded) -> SchemaRules {
    let written = SourceLocations::new(loaded.sources.clone());
    SchemaRules::new(&loaded.resource_types, Some(Arc::new(written)))
}

impl Purlin {
    /// Puts documents into a context, as [`Documents::new`] does, for a deployment with a new id.
    /// Without a workspace among the documents, that of the builder counts. Another workspace is an error:
    /// whoever sends documents must not choose the grants, the state or the key.
    ///
    /// # Errors
    /// As for [`Documents::new`], [`Error::Documents`] if the documents contain another workspace than that of
    /// the builder, and [`Error::Random`] if the system provides no random numbers.
    pub fn documents(&self, mut loaded: Loaded, flags: &ContextDefaults) -> Result<Documents, Error> {
        if let Some(other) = loaded.workspace.as_ref().filter(|workspace| *workspace != self.workspace()) {
            let message = "the documents contain a Workspace that this orchestrator does not use";
            let fault = Diagnostic::error("other-workspace", message)
                .at(&other.location)
                .fact("its drivers, grants, state and key would have no effect")
                .help("remove it, or pass it to the builder: `Purlin::builder().workspace(…)`");
            return Err(Error::Documents(vec![fault]));
        }
        if !self.has_own_stores() {
            loaded.diagnostics.extend(self.workspace().unknown_stores.iter().cloned());
        }
        let workspace = loaded.workspace.is_none().then(|| self.workspace().clone());
        Documents::new(loaded, flags, workspace.as_ref(), &self.deployment_id()?)
    }
}
