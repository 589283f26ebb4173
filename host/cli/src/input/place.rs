//! The environment that a command works on.

use std::path::Path;
use std::sync::Arc;

use purlin_documents::{Loaded, SourceMap};
use purlin_expression::is_slip;
use purlin_host::{Documents, Purlin};
use purlin_model::{Context, ContextDefaults, Diagnostic, EnvironmentId, Workspace};
use purlin_state::Environment;

use super::{in_context, load, orchestrator, recall, workspace};
use crate::app::App;
use crate::args::DocumentArgs;
use crate::failure::Failure;
use crate::surroundings::{self, WORKSPACE_FILE};

/// The environment of a command that needs no documents otherwise. It comes from the documents if
/// they are valid, otherwise from the flags and the workspace, otherwise it is the only recorded
/// environment.
pub(crate) struct Place {
    pub(crate) purlin: Purlin,
    pub(crate) context: Context,
    pub(crate) workspace: Workspace,
    /// `None` if the documents have faults.
    pub(crate) documents: Option<Documents>,
}

impl Place {
    pub(crate) fn environment(&self) -> Environment {
        Environment::of(&self.context)
    }
}

/// Finds the environment for a command that shows what is recorded.
pub(crate) async fn place(args: &DocumentArgs, app: &App) -> Result<Place, Failure> {
    let mut place = place_as_written(args, app).await?;
    as_recorded(&place.purlin, args, &mut place.context).await?;
    Ok(place)
}

/// Like [`place`], for a command that changes something: the environment is never guessed.
pub(crate) async fn place_to_change(args: &DocumentArgs, app: &App) -> Result<Place, Failure> {
    let loaded = load(args, app)?;
    let fault = unknown_environment(&loaded, args, app);
    certain_place(loaded, fault, args, app).await
}

/// Like [`place_to_change`], for a command that deletes: the environment's protection must be known, too.
pub(crate) async fn place_to_delete(args: &DocumentArgs, app: &App) -> Result<Place, Failure> {
    let loaded = load(args, app)?;
    let fault = unknown_protection(&loaded).or_else(|| unknown_environment(&loaded, args, app));
    let place = certain_place(loaded, fault, args, app).await?;
    let (declared, id) = (&place.workspace.environments, &place.context.env.id);
    let meant = declared.keys().find(|name| is_slip(id, name));
    if let Some(meant) = meant.filter(|_| !declared.contains_key(id) && !args.changes.new_environment) {
        let message = format!(
            "`purlin.yaml` declares no environment `{id}`, so it is unknown whether the environment is protected"
        );
        let fault = Diagnostic::error("unknown-environment", message)
            .help(format!("it declares `{meant}`: correct the name, or add `--new-environment`"));
        return Err(Failure::documents(vec![fault], SourceMap::default()));
    }
    Ok(place)
}

async fn certain_place(
    loaded: Loaded,
    fault: Option<Diagnostic>,
    args: &DocumentArgs,
    app: &App,
) -> Result<Place, Failure> {
    if let Some(fault) = fault {
        return Err(Failure::documents([loaded.diagnostics, vec![fault]].concat(), loaded.sources));
    }
    let mut place = place_of(loaded, args, app).await?;
    as_recorded(&place.purlin, args, &mut place.context).await?;
    Ok(place)
}

/// The fault if an invalid workspace leaves it unclear what is protected.
fn unknown_protection(loaded: &Loaded) -> Option<Diagnostic> {
    let of_workspace = |fault: &Diagnostic| {
        let file = fault.location.as_ref().map(|place| Path::new(&*place.file));
        fault.is_error() && file.and_then(Path::file_name).is_some_and(|name| name == WORKSPACE_FILE)
    };
    loaded.diagnostics.iter().any(of_workspace).then(|| {
        Diagnostic::error("environment-unknown", "`purlin.yaml` is invalid, so it is unknown whether the environment is protected: nothing was deleted")
            .help("correct `purlin.yaml` first")
    })
}

/// The fault if invalid documents leave it unclear which environment is meant: a Deployment that could not
/// be read may name another one than the workspace, and Deployments that contradict each other name none.
fn unknown_environment(loaded: &Loaded, args: &DocumentArgs, app: &App) -> Option<Diagnostic> {
    let given = args.defaults();
    let is_given = given.env.is_some() && given.app.is_some();
    let is_conflict = |fault: &Diagnostic| fault.code == "context-conflict";
    let is_read = !loaded.diagnostics.iter().any(is_conflict)
        && (loaded.context.env.is_some() || given.env.is_some() && loaded.context.app.is_some());
    if !loaded.has_errors() || is_given || is_read {
        return None;
    }
    let likely = written(&given, &loaded.context, &workspace(loaded, app));
    let message = "the documents are invalid, so the environment is unknown: nothing was changed";
    Some(Diagnostic::error("environment-unknown", message).help(format!(
        "correct the documents, or name the environment, such as `--app {} --env {}`",
        likely.app, likely.env.id
    )))
}

/// Like [`place`], but with the type and the namespace that documents, flags and workspace set.
pub(crate) async fn place_as_written(args: &DocumentArgs, app: &App) -> Result<Place, Failure> {
    place_of(load(args, app)?, args, app).await
}

async fn place_of(mut loaded: Loaded, args: &DocumentArgs, app: &App) -> Result<Place, Failure> {
    let workspace = workspace(&loaded, app);
    let purlin = orchestrator(&workspace, app)?;
    let sources = loaded.sources.clone();
    let faulty = loaded.has_errors();
    // Do not guess the environment if the named documents are invalid.
    if faulty && !args.named().is_empty() {
        return Err(Failure::documents(loaded.diagnostics, sources));
    }
    let environment_is_known = environment_is_known(&loaded, &workspace);
    let mut documents = None;
    let mut context = if faulty {
        written(&args.defaults(), &loaded.context, &workspace)
    } else {
        recall(&mut loaded, args, &workspace, app).await?;
        let read = in_context(loaded, args, &workspace).map_err(|error| Failure::host(error, &sources))?;
        (*documents.insert(read).context).clone()
    };
    if faulty && !args.names_environment() && environment_is_known {
        let environment = Environment::of(&context);
        app.ui.warning(&format!(
            "the documents are invalid and were not used; the environment is {environment}"
        ));
    } else if faulty && !args.names_environment() {
        let recorded = purlin.environments().await.map_err(|error| Failure::host(error, &sources))?;
        match recorded.as_slice() {
            [] => {}
            [only] => {
                context.org = Arc::clone(&only.org);
                context.app = Arc::clone(&only.app);
                context.env.id = Arc::clone(&only.env);
                context.namespace = Arc::clone(&only.env);
                app.ui.warning(&format!("the documents are invalid and were not used; the environment is {only}, the only recorded one"));
            }
            several => {
                let names: Vec<String> = several.iter().map(ToString::to_string).collect();
                return Err(Failure::input(format!(
                    "the documents are invalid, and the state has several environments: {}",
                    names.join(", ")
                ))
                .hint("name one with `--env`, `--app` and `--org`; `purlin validate` shows the errors"));
            }
        }
    }
    Ok(Place { purlin, context, workspace, documents })
}

/// Whether the environment is set in a way that the faulty documents cannot override.
fn environment_is_known(loaded: &Loaded, workspace: &Workspace) -> bool {
    loaded.context.env.is_some() || workspace.defaults.env.is_some()
}

/// Takes the type and the namespace from the record unless they are given. If they are given, they
/// must equal those of the record.
async fn as_recorded(purlin: &Purlin, args: &DocumentArgs, context: &mut Context) -> Result<(), Failure> {
    let environment = Environment::of(context);
    let recorded = match purlin.recorded_context(&environment).await {
        Ok(Some(recorded)) => recorded,
        // Each later step would wait for the database again.
        Err(purlin_host::Error::State(error)) if error.is_unreached() => {
            return Err(Failure::without_sources(error.into()));
        }
        // A later step that needs the record reports why it cannot be read.
        Ok(None) | Err(_) => return Ok(()),
    };
    let given = [
        ("--env-type", "type", &args.context.env_type, &recorded.env.kind, "env-type-changed"),
        ("--namespace", "namespace", &args.context.namespace, &recorded.namespace, "namespace-changed"),
    ];
    for (option, what, given, recorded, code) in given {
        let Some(given) = given.as_ref().filter(|given| given.as_str() != &**recorded) else { continue };
        let snapshot = purlin.snapshot(&environment).await;
        let snapshot = snapshot.map_err(Failure::without_sources)?;
        if !snapshot.records.is_empty() || !snapshot.pending.is_empty() {
            let message = format!("the {what} of {environment} is `{recorded}`, not `{given}`");
            let fault = Diagnostic::error(code, message).help(format!("leave out `{option}`"));
            return Err(Failure::documents(vec![fault], SourceMap::default()));
        }
    }
    context.env.kind = recorded.env.kind;
    context.namespace = recorded.namespace;
    Ok(())
}

/// The context as far as it is set outside of the faulty documents.
pub(crate) fn written(
    flags: &ContextDefaults,
    documents: &ContextDefaults,
    workspace: &Workspace,
) -> Context {
    let pick = |field: fn(&ContextDefaults) -> &Option<Arc<str>>, fallback: &str| -> Arc<str> {
        let sources = [flags, documents, &workspace.defaults];
        sources.into_iter().find_map(|source| field(source).clone()).unwrap_or_else(|| fallback.into())
    };
    let id = pick(|c| &c.env, "development");
    Context {
        org: pick(|c| &c.org, "default"),
        app: pick(|c| &c.app, "default"),
        namespace: pick(|c| &c.namespace, &id),
        env: EnvironmentId { id, kind: pick(|c| &c.env_type, "development") },
        deployment: surroundings::deployment_id().into(),
    }
}

/// Checks that something is recorded in the environment. Otherwise names others.
pub(crate) async fn check_recorded(place: &Place, app: &App) -> Result<(), Failure> {
    let environment = place.environment();
    if place.purlin.is_recorded(&environment).await.map_err(Failure::without_sources)? {
        return Ok(());
    }
    hint_at_others(place, app).await?;
    Err(Failure::input(format!("nothing is recorded in {environment}")))
}

/// Names other recorded environments if this one is empty.
pub(crate) async fn hint_at_others(place: &Place, app: &App) -> Result<(), Failure> {
    let mut others = place.purlin.environments().await.map_err(Failure::without_sources)?;
    // An environment with nothing but a history is recorded, too.
    others.retain(|environment| *environment != place.environment());
    if let Some(near) = near(&place.environment(), &others) {
        app.ui.hint(&format!("did you mean `{near}`?"));
    }
    if !others.is_empty() {
        let names: Vec<String> = others.iter().map(ToString::to_string).collect();
        app.ui
            .hint(&format!("the state has {}; name one with `--env`, `--app` and `--org`", names.join(", ")));
    }
    Ok(())
}

/// The option that leads to the recorded environment whose name this one most likely misspells.
fn near(own: &Environment, others: &[Environment]) -> Option<String> {
    let is_env = |other: &&Environment| other.app == own.app && is_slip(&own.env, &other.env);
    let is_app = |other: &&Environment| other.env == own.env && is_slip(&own.app, &other.app);
    let mut of_org = others.iter().filter(|other| other.org == own.org);
    let env = of_org.clone().find(is_env).map(|other| format!("--env {}", other.env));
    env.or_else(|| of_org.find(is_app).map(|other| format!("--app {}", other.app)))
}
