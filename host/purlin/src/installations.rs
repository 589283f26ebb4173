//! Turns the requirements of deployments and definitions into installations (SPEC §6).
//!
//! Which definitions have requirements depends on what matches in the graph. So the graph names these
//! resources (`purlin_graph::requiring_resources`), and requirements are resolved again until there are no more. Each
//! resource then has the recipe of its definition with the installations filled in (`Requirer`).

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use purlin_documents::Loaded;
use purlin_engine::{Action, Plan};
use purlin_graph::DefinitionIndex;
use purlin_model::{
    Bundle, Context, ContextDefaults, Deployment, Diagnostic, Key, Recipe, RequirementContext, Workspace,
};
use purlin_requirements::{Folders, Resolution, Surroundings, Unmapped, compile, resolve_requirements};

use crate::resolve_context::resolve_context;
use crate::{Documents, Error};

/// Resolves the requirements of the Deployments, and of the definitions that provision their
/// resources, with the bundles that were read, and adds the installations to the deployment.
/// Remarks are among the diagnostics of the resolution.
///
/// # Errors
/// Every fault in them.
pub(crate) fn install(
    loaded: &mut Loaded,
    context: &Arc<Context>,
    definition_index: &Arc<DefinitionIndex>,
) -> Result<Resolution, Vec<Diagnostic>> {
    let is_requiring = definition_index.definitions().iter().any(|one| !one.recipe.requires.is_empty());
    if !is_requiring && loaded.deployment.requires.is_empty() && loaded.requirement_context.now.is_empty() {
        return Ok(Resolution::default());
    }
    let (mut requirers, mut round) = (BTreeMap::new(), 0);
    loop {
        // A requirement may read resources that were not there before and that have requirements in
        // turn. This ends, because the documents contain a limited number of types, classes and
        // ids.
        let before = requirers.len();
        if is_requiring {
            requirers.extend(who_requires(loaded, context, definition_index));
        }
        let known: Vec<_> =
            requirers.iter().map(|(key, recipe)| (Key::clone(key), Arc::clone(recipe))).collect();
        let resolution =
            resolved(&loaded.deployment, &known, &loaded.bundles, &loaded.requirement_context, context)?;
        let is_last = !is_requiring || (round > 0 && requirers.len() == before);
        let resolution = if is_last { resolution.finished() } else { resolution };
        if resolution.has_errors() {
            return Err(resolution.diagnostics);
        }
        loaded.deployment.installations = compile(&resolution)?;
        loaded.deployment.requirers = purlin_requirements::requirers(&resolution);
        if is_last {
            return Ok(resolution);
        }
        round += 1;
    }
}

/// The resources whose definitions require bundles.
fn who_requires(
    loaded: &mut Loaded,
    context: &Arc<Context>,
    definition_index: &Arc<DefinitionIndex>,
) -> Vec<(Key, Arc<Recipe>)> {
    let deployment = Arc::new(std::mem::take(&mut loaded.deployment));
    let found = purlin_graph::requiring_resources(&purlin_graph::Input {
        context: Arc::clone(context),
        definition_index: Arc::clone(definition_index),
        deployment: Arc::clone(&deployment),
        outputs: &purlin_graph::UnknownOutputs,
        recorded: &|_| false,
    });
    loaded.deployment = Arc::unwrap_or_clone(deployment);
    found
}

/// The undecided questions about the installations that documents require, so that the user can be
/// asked. Plans reject the same ones. Empty if there are other faults.
pub fn unmapped(loaded: &Loaded, flags: &ContextDefaults, workspace: Option<&Workspace>) -> Vec<Unmapped> {
    let workspace = workspace.or(loaded.workspace.as_ref());
    let resolved = resolve_context(loaded, flags, workspace, "", &mut Vec::new());
    let Ok(definition_index) = DefinitionIndex::new(loaded.definitions.clone()) else { return Vec::new() };
    let mut loaded = loaded.clone();
    let resolution = install(&mut loaded, &Arc::new(resolved.context), &Arc::new(definition_index));
    resolution.map(|resolution| resolution.unmapped).unwrap_or_default()
}

/// Resolves the requirements of documents again, with the installations that others have created
/// meanwhile.
///
/// # Errors
/// Every fault in them.
pub(crate) fn resolve_again(
    documents: &Documents,
    requirement_context: &RequirementContext,
) -> Result<Resolution, Vec<Diagnostic>> {
    let known = documents.resolution.requirers.iter().map(|one| (one.key.clone(), Arc::clone(&one.recipe)));
    let known: Vec<_> = known.collect();
    let resolution = resolved(
        &documents.deployment,
        &known,
        &documents.loaded.bundles,
        requirement_context,
        &documents.context,
    )?
    .finished();
    if resolution.has_errors() { Err(resolution.diagnostics) } else { Ok(resolution) }
}

fn resolved(
    deployment: &Deployment,
    requirers: &[(Key, Arc<Recipe>)],
    bundles: &[Bundle],
    requirement_context: &RequirementContext,
    context: &Arc<Context>,
) -> Result<Resolution, Vec<Diagnostic>> {
    // The bundles were read once for each name and version.
    let (catalog, _) = Folders::new(bundles.iter().cloned());
    let around = Surroundings { context: Arc::clone(context), values: deployment.values.clone() };
    let requires = &deployment.requires;
    let resolving = resolve_requirements(requires, requirers, &around, &catalog, requirement_context);
    // Bundles that were read are available without waiting.
    match resolving.now_or_never() {
        Some(Ok(resolution)) => Ok(resolution),
        Some(Err(error)) => Err(vec![Diagnostic::error("catalog", error.0)]),
        None => Err(vec![Diagnostic::error("catalog", "the catalog of bundles does not respond")]),
    }
}

/// # Errors
/// [`Error::Documents`] with every undecided question about the installations that documents
/// require: without the answers, nothing can be created. Commands that only read are not affected.
pub(crate) fn check_answered(resolution: &Resolution) -> Result<(), Error> {
    let undecided = purlin_requirements::unmapped_faults(resolution);
    if undecided.is_empty() { Ok(()) } else { Err(Error::Documents(undecided)) }
}

/// Checks that the resources of a plan can be created: the steps of another tool are not run.
///
/// # Errors
/// [`Error::Documents`] with a fault for each installation of a bundle that has only such steps.
pub(crate) fn check_drivers(plan: &Plan) -> Result<(), Error> {
    let Some(graph) = plan.graph() else { return Ok(()) };
    let makes = |action| matches!(action, Action::Create | Action::Update | Action::Replace | Action::Adopt);
    let made = plan.steps.iter().filter(|step| makes(step.action));
    let faults = made.filter_map(|step| {
        let node = graph.node(graph.find(step.key.as_str())?)?;
        let installation = node.installation.filter(|installation| installation.needs_driver)?;
        let bundle = node.recipe.name.as_deref().unwrap_or_default();
        let message = format!("`{bundle}` has only steps of another tool, which Purlin does not run");
        let fault = Diagnostic::error("needs-driver", message).at(&node.recipe.location);
        Some(
            fault
                .related(&installation.location, "it is required here")
                .help("write a `kind: Bundle` with a `driver` that does what the steps do"),
        )
    });
    let faults: Vec<Diagnostic> = faults.collect();
    if faults.is_empty() { Ok(()) } else { Err(Error::Documents(faults)) }
}
