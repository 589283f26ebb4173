//! Bundles from texts and folders, and the results of their resolution.

use std::sync::Arc;

use purlin_documents::{Input, bundles_in};
use purlin_model::{Context, Diagnostic, EnvironmentId, RequirementContext};
use purlin_requirements::{Folders, Resolution, Root, Surroundings, resolve, resolve_requirements};

/// An environment with the namespace `dev`.
pub(crate) fn context() -> Arc<Context> {
    let id = "development";
    Arc::new(Context {
        org: "acme".into(),
        app: "shop".into(),
        env: EnvironmentId { id: id.into(), kind: id.into() },
        namespace: "dev".into(),
        deployment: "1".into(),
    })
}

pub(crate) fn around() -> Surroundings {
    Surroundings { context: context(), ..Surroundings::default() }
}

/// A `kind: Bundle` named `acme/NAME`, with the rest of its `spec`.
pub(crate) fn bundle(name: &str, version: &str, spec: &str) -> String {
    let head = format!(
        "apiVersion: purlin.dev/v1\nkind: Bundle\nmetadata: {{name: acme/{name}, version: {version}}}\n"
    );
    let lines: Vec<String> = spec.trim().lines().map(|line| format!("  {line}\n")).collect();
    if lines.is_empty() { format!("{head}spec: {{}}\n") } else { format!("{head}spec:\n{}", lines.concat()) }
}

/// The faults of the bundles, and the catalog of them.
pub(crate) fn read(inputs: &[Input]) -> (Folders, Vec<Diagnostic>) {
    let read = bundles_in(inputs);
    let (catalog, twins) = Folders::new(read.bundles);
    assert!(twins.iter().all(|(one, _)| one.has_steps), "{twins:?}");
    (catalog, read.diagnostics)
}

/// Reads valid bundles.
pub(crate) fn catalog(bundles: &[String]) -> Folders {
    let input = |(number, text): (usize, &String)| {
        let name = format!("bundle-{number}.yaml");
        Input::Text { name, text: text.clone() }
    };
    let inputs = bundles.iter().enumerate().map(input);
    let (catalog, faults) = read(&inputs.collect::<Vec<_>>());
    assert!(faults.is_empty(), "{faults:#?}");
    catalog
}

/// Reads one faulty bundle: the codes of its faults.
pub(crate) fn faults_of(bundle: String) -> Vec<&'static str> {
    let (_, faults) = read(&[Input::Text { name: "bundle.yaml".into(), text: bundle }]);
    faults.into_iter().filter(Diagnostic::is_error).map(|fault| fault.code).collect()
}

/// Resolves a bundle of the catalog as the installation `root` in the namespace `dev`.
pub(crate) fn resolved(catalog: &Folders, reference: &str, context: &RequirementContext) -> Resolution {
    use purlin_requirements::Catalog as _;

    futures::executor::block_on(async {
        let reference = reference.parse().expect("a reference");
        let bundle = catalog.bundle(&reference).await.expect("answers").expect("is there");
        let root = Root { bundle, name: Arc::from("root"), context: self::context() };
        resolve(root, catalog, context).await.expect("answers")
    })
}

/// The names of the installations, in their order.
pub(crate) fn names(resolution: &Resolution) -> Vec<&str> {
    resolution.installations.iter().map(|one| &*one.name).collect()
}

/// The codes of the errors.
pub(crate) fn errors(resolution: &Resolution) -> Vec<&'static str> {
    resolution.diagnostics.iter().filter(|one| one.is_error()).map(|one| one.code).collect()
}

/// The input of the next run after the same requirements.
pub(crate) fn after(before: &Resolution) -> RequirementContext {
    RequirementContext {
        installed: Some(before.installed()),
        before: before.choices.clone(),
        ..RequirementContext::default()
    }
}

/// The resolution of resources whose definitions require bundles: each a key, and `requires` and `inputs` of the
/// definition's `spec`.
pub(crate) fn required_by(
    catalog: &Folders,
    resources: &[(&str, &str)],
    context: &RequirementContext,
) -> Resolution {
    let one = |(key, spec): &(&str, &str)| {
        let head = "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: d}\n";
        let text = format!("{head}spec:\n  type: x\n  driver: purlin/echo\n  criteria: [{{}}]\n  {spec}\n");
        let loaded = purlin_documents::load(&[Input::Text { name: "platform.yaml".into(), text }]);
        assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
        let recipe = loaded.definitions.into_iter().next().expect("a definition").recipe;
        (purlin_model::Key::parse(key).expect("a key"), recipe)
    };
    let requirers: Vec<_> = resources.iter().map(one).collect();
    let around = around();
    let resolving = resolve_requirements(&[], &requirers, &around, catalog, context);
    futures::executor::block_on(resolving).expect("answers").finished()
}

/// The resolution of a deployment that requires bundles under names, with parameters.
pub(crate) fn deployed(catalog: &Folders, requires: &[&str], context: &RequirementContext) -> Resolution {
    let requires: String = requires.iter().map(|one| format!("    - {one}\n")).collect();
    let head = "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  values: {known: k}\n";
    let text = format!("{head}  requires:\n{requires}");
    let loaded = purlin_documents::load(&[Input::Text { name: "app.yaml".into(), text }]);
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    let around = Surroundings { values: loaded.deployment.values.clone(), ..around() };
    let resolving = resolve_requirements(&loaded.deployment.requires, &[], &around, catalog, context);
    futures::executor::block_on(resolving).expect("answers").finished()
}
