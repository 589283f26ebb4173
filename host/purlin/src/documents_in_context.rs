//! Documents that were read, found right, and put into a context.

use std::sync::Arc;

use purlin_documents::Loaded;
use purlin_engine::Rules;
use purlin_graph::Catalogue;
use purlin_model::{Context, ContextDefaults, Deployment, Diagnostic, EnvironmentId, Workspace};
use purlin_state::Environment;

use crate::Error;
use crate::written::Written;

/// Documents that were read, found right, and put into a context.
pub struct Documents {
    /// What was read. Its deployment and definitions have moved out.
    pub loaded: Loaded,
    /// Where it is to be deployed.
    pub context: Arc<Context>,
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) catalogue: Arc<Catalogue>,
    /// What their resource types say.
    pub(crate) rules: Arc<Rules>,
}

impl Documents {
    /// Settles the context: what a Deployment says; else `flags`, which may not contradict it; else
    /// the workspace's defaults; else organisation and application `default`, environment
    /// `development` of type `development`. The namespace is by default the environment's id.
    ///
    /// `deployment_id` has to differ from run to run; it is `${context.deploy.id}`.
    ///
    /// # Errors
    /// [`Error::Documents`] with all faults found while reading, and those of the definitions taken
    /// together.
    pub fn new(
        mut loaded: Loaded,
        flags: &ContextDefaults,
        workspace: Option<&Workspace>,
        deployment_id: &str,
    ) -> Result<Self, Error> {
        let mut faults: Vec<Diagnostic> =
            loaded.diagnostics.iter().filter(|d| d.is_error()).cloned().collect();
        let workspace = workspace.or(loaded.workspace.as_ref()).map(|workspace| &workspace.defaults);
        let context = context(&loaded.context, flags, workspace, deployment_id, &mut faults);
        let catalogue = match Catalogue::new(std::mem::take(&mut loaded.definitions)) {
            Ok(catalogue) => Some(catalogue),
            Err(errors) => {
                faults.extend(errors);
                None
            }
        };
        match catalogue {
            Some(catalogue) if faults.is_empty() => Ok(Self {
                rules: Arc::new(rules(&loaded)),
                deployment: Arc::new(std::mem::take(&mut loaded.deployment)),
                loaded,
                context: Arc::new(context),
                catalogue: Arc::new(catalogue),
            }),
            _ => Err(Error::Documents(faults)),
        }
    }

    /// The environment that they are about.
    pub fn environment(&self) -> Environment {
        Environment::of(&self.context)
    }

    /// What developers ask for.
    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// The definitions.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }
}

fn rules(loaded: &Loaded) -> Rules {
    let written = Written::new(loaded.sources.clone());
    Rules::new(&loaded.resource_types, Some(Arc::new(written)))
}

fn context(
    documents: &ContextDefaults,
    flags: &ContextDefaults,
    workspace: Option<&ContextDefaults>,
    deployment: &str,
    faults: &mut Vec<Diagnostic>,
) -> Context {
    let nothing = ContextDefaults::default();
    let workspace = workspace.unwrap_or(&nothing);
    let mut pick = |name: &str,
                    field: fn(&ContextDefaults) -> &Option<Arc<str>>,
                    fallback: &str|
     -> Arc<str> {
        if let (Some(written), Some(flag)) = (field(documents), field(flags))
            && written != flag
        {
            faults.push(
                Diagnostic::error(
                    "context-conflict",
                    format!("the Deployment says {name} `{written}`, the command line says `{flag}`"),
                )
                .help("change one of the two, or leave it out of the Deployment"),
            );
        }
        let chosen = [documents, flags, workspace].into_iter().find_map(|source| field(source).clone());
        let chosen = chosen.unwrap_or_else(|| fallback.into());
        // URNs are made of these words, so they must not hold what separates them.
        if chosen.contains(['/', ':']) || chosen.chars().any(|c| c.is_whitespace() || c.is_control()) {
            faults.push(
                Diagnostic::error("context-name", format!("{name} `{}` is no name", chosen.escape_debug()))
                    .help("names of the context are without blanks, `/` and `:`"),
            );
        }
        chosen
    };
    let org = pick("organisation", |source| &source.org, "default");
    let app = pick("application", |source| &source.app, "default");
    let id = pick("environment", |source| &source.env, "development");
    let kind = pick("environment type", |source| &source.env_type, "development");
    let namespace = pick("namespace", |source| &source.namespace, &id);
    Context { org, app, env: EnvironmentId { id, kind }, namespace, deployment: deployment.into() }
}
