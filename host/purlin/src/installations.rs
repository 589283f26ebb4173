//! What deployments require, as installations (SPEC §6).

use std::sync::Arc;

use futures::FutureExt as _;
use purlin_documents::Loaded;
use purlin_engine::{Action, Plan};
use purlin_model::{Context, Diagnostic};
use purlin_requirements::{Choices, Folders, Resolution, compile, resolve_requirements};

use crate::Error;

/// Resolves what the Deployments require among the bundles that were read, and adds the installations to the
/// deployment. What is worth a remark stands among the diagnostics of the resolution.
///
/// # Errors
/// Everything that is wrong with them.
pub(crate) fn install(loaded: &mut Loaded, context: &Context) -> Result<Resolution, Vec<Diagnostic>> {
    let requires = &loaded.deployment.requires;
    if requires.is_empty() {
        return Ok(Resolution::default());
    }
    // Each name and version was read once.
    let (catalog, _) = Folders::new(loaded.bundles.iter().cloned());
    let choices = Choices::default();
    let resolving = resolve_requirements(requires, Arc::clone(&context.namespace), &catalog, &choices);
    // Bundles that were read are there without waiting.
    let resolution = match resolving.now_or_never() {
        Some(Ok(resolution)) => resolution,
        Some(Err(error)) => return Err(vec![Diagnostic::error("catalog", error.0)]),
        None => return Err(vec![Diagnostic::error("catalog", "the bundles cannot be asked")]),
    };
    if resolution.has_errors() {
        return Err(resolution.diagnostics);
    }
    loaded.deployment.installations = compile(&resolution)?;
    Ok(resolution)
}

/// Whether what a plan makes can be made: the steps of another tool are not run.
///
/// # Errors
/// [`Error::Documents`] with a fault for each installation of a bundle that has nothing else.
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
