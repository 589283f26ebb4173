//! The names of installations, of groups and of roots.

use std::sync::Arc;

use purlin_model::{Choices, RequirementContext};
use purlin_requirements::{compile, resolve_requirements};

use super::{DB, app, by, context_with, db, of};
use crate::support::{after, around, bundle, catalog, deployed, errors, names, required_by, resolved};

/// Groups are named by values that are known before anything is created.
#[test]
fn the_name_of_a_group_may_hold_the_installation_and_its_root() {
    let shared = |name: &str| format!("sharing: {{group: {{name: '{name}'}}}}");
    let middle = bundle(
        "middle",
        "1.0.0",
        &format!(
            "requires: [{{name: db, bundle: 'acme/db:v1.0.0', {}}}]",
            shared("${installation.root.name}-${installation.namespace}")
        ),
    );
    let group = |name: &str| {
        let requires = format!(
            "- {{name: middle, bundle: 'acme/middle:v1.0.0'}}\n- {{name: db, bundle: 'acme/db:v1.0.0', {}}}",
            shared(name)
        );
        let resolution = of(&[db(), middle.clone(), app(&requires)]);
        (names(&resolution).len(), errors(&resolution))
    };
    assert_eq!(group("root-dev"), (3, vec![]));
    assert_eq!(group("other"), (4, vec![]));
    // Nothing sets it.
    assert_eq!(group("${bundle.parameters.size}").1, ["unknown-group"]);
    let named = |spec: &str, name: &str| {
        let spec = format!("{spec}\nrequires: [{{name: db, bundle: 'acme/db:v1.0.0', {}}}]", shared(name));
        let resolution = of(&[db(), bundle("app", "1.0.0", &spec)]);
        (resolution.installations.first().and_then(|one| one.group.clone()), errors(&resolution))
    };
    let size = "parameters: [{name: size, type: string, default: xl}]";
    let (group, _) = named(size, "${bundle.name}-${bundle.version}-${bundle.parameters.size}");
    assert_eq!(group.as_deref(), Some("acme/app-1.0.0-xl"));
    let secret = size.replace("default", "sensitive: true, default");
    assert_eq!(named(&secret, "${bundle.parameters.size}").1, ["unknown-group"]);
}

/// A deployment is no installation, and neither it nor a definition is a bundle: without a value of
/// their own, they would share with everybody.
#[test]
fn the_name_of_a_group_reads_only_what_its_document_has() {
    let catalog = catalog(&[db()]);
    let requires = |name: &str| {
        format!("{{name: db, bundle: 'acme/db:v1.0.0', sharing: {{group: {{name: '{name}'}}}}}}")
    };
    let of_deployment = |name: &str| deployed(&catalog, &[&requires(name)], &RequirementContext::default());
    let of_definition = |name: &str| {
        let requires = format!("requires: [{}]", requires(name));
        required_by(&catalog, &[("x.default#shared.a", &requires)], &RequirementContext::default())
    };
    let unknown = ["${installation.root.id}", "${installation.root.name}", "${installation.name}"];
    for name in unknown.iter().chain(&["${bundle.version}", "${bundle.name}"]) {
        assert_eq!(errors(&of_deployment(name)), ["unknown-group"], "{name}");
    }
    for name in ["${bundle.version}", "${bundle.name}"] {
        assert_eq!(errors(&of_definition(name)), ["unknown-group"], "{name}");
    }
    let group = |resolution: &purlin_requirements::Resolution| resolution.installations[0].group.clone();
    assert_eq!(group(&of_deployment("${installation.namespace}")).as_deref(), Some("dev"));
    let urn = "urn:purlin:development/acme::shop::shared::x.default::shared.a";
    assert_eq!(group(&of_definition("${installation.root.id}")).as_deref(), Some(urn));
}

/// A deployment reads its requirement by the requirement's name.
#[test]
fn a_requirement_of_a_deployment_has_an_installation_of_its_name() {
    let app = app("- {name: db, bundle: 'acme/db:v1.0.0'}");
    let catalog = catalog(&[db(), app]);
    let text = "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  requires:\n    - {name: app, bundle: acme/app, parameters: {size: s}}\n    - {name: one, bundle: acme/db}\n    - {name: two, bundle: acme/db}\n    - {name: late, bundle: acme/app, parameters: {size: t}}\n";
    let input = purlin_documents::Input::Text { name: "app.yaml".into(), text: text.into() };
    let loaded = purlin_documents::load(&[input]);
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    let requires = &loaded.deployment.requires;
    let (context, around) = (RequirementContext::default(), around());
    let resolving = resolve_requirements(requires, &[], &around, &catalog, &context);
    let resolution = futures::executor::block_on(resolving).expect("answers");
    // The same requirement is one installation, with all of its names.
    assert_eq!(names(&resolution), ["one", "app", "late"]);
    let compiled = compile(&resolution).expect("compiled");
    let required_by: Vec<_> = compiled[0].required_by.iter().map(|(by, _)| by.clone()).collect();
    let aliases: Vec<&str> = compiled[0].aliases.iter().map(|id| id.as_str()).collect();
    assert_eq!((required_by, aliases), (by(&[1, 2]), vec!["app/db", "late/db", "two"]));
}

/// Those who share an installation keep it when the requirement that it was created for disappears,
/// whatever its name and place; a child keeps its name with it.
#[test]
fn a_shared_installation_keeps_its_name_without_its_first_user() {
    let net = bundle("net", "1.0.0", "outputs: [{name: id, default: n}]");
    let db = bundle(
        "db",
        "1.0.0",
        "parameters: [{name: size, type: string, default: small}]\noutputs: [{name: connstr, default: c}]\nrequires: [{name: net, bundle: 'acme/net:v1.0.0'}]",
    );
    let catalog = catalog(&[net, db, app("- {name: db, bundle: 'acme/db:v1.0.0'}")]);
    let of = |name: &str, more: &str| {
        format!(
            "{{name: {name}, bundle: acme/app, parameters: {{size: s}}, sharing: {{group: {{name: {name}}}}}{more}}}"
        )
    };
    let (a, b, c) = (of("a", ""), of("b", ""), of("c", ""));
    let first = deployed(&catalog, &[&a, &b], &RequirementContext::default());
    assert_eq!(names(&first), ["a/db/net", "a/db", "a", "b"]);
    // The second stays alone, and moves before a third.
    let second = deployed(&catalog, &[&b], &after(&first));
    assert_eq!(names(&second), ["a/db/net", "a/db", "b"]);
    let third = deployed(&catalog, &[&c, &b], &after(&second));
    assert_eq!(names(&third), ["a/db/net", "a/db", "b", "c"]);
    // The values are those of the current owner.
    let compiled = compile(&third).expect("compiled");
    assert_eq!(compiled[1].required_by.iter().map(|(by, _)| by.clone()).collect::<Vec<_>>(), by(&[2, 3]));
    // The original requirement comes back, and has the same as before.
    assert_eq!(names(&deployed(&catalog, &[&b, &a], &after(&third))), ["a/db/net", "a/db", "a", "b"]);
    // If it comes back with other settings, it keeps the name, and the other one gets the new
    // installation.
    let other = "{name: a, bundle: acme/app, parameters: {size: s}, sharing: {mode: none}}";
    assert_eq!(names(&deployed(&catalog, &[&b, other], &after(&second))), ["a/db/net", "a/db", "a", "b"]);
    let answers = context_with(&[("a/db.size", "large", true)]);
    let context = RequirementContext { now: answers.now, ..after(&first) };
    assert_eq!(errors(&deployed(&catalog, &[&b], &context)), Vec::<&str>::new());
}

/// The same for a requirement below one that keeps its own name.
#[test]
fn shared_installations_below_shared_ones_keep_their_names() {
    let leaf = bundle("leaf", "1.0.0", "outputs: [{name: v, default: x}]");
    let middle = bundle("middle", "1.0.0", "requires: [{name: leaf, bundle: acme/leaf}]");
    let top = "parameters: [{name: size, type: string}]\nrequires: [{name: middle, bundle: acme/middle, sharing: {group: {name: team}}}]";
    let catalog = catalog(&[leaf, middle, bundle("top", "1.0.0", top)]);
    let (b, of) = ("{name: b, bundle: acme/middle}", |name: &str| {
        format!("{{name: {name}, bundle: acme/top, parameters: {{size: s}}}}")
    });
    let (f, d) = (of("f"), of("d"));
    let first = deployed(&catalog, &[b], &RequirementContext::default());
    let second = deployed(&catalog, &[&f, b], &after(&first));
    assert_eq!(names(&second), ["b/leaf", "b", "f/middle", "f"]);
    let third = deployed(&catalog, &[&d, &f, b], &after(&second));
    assert_eq!(names(&third), ["b/leaf", "b", "f/middle", "f"], "`d` is the same as `f`");
}

/// A name without a parent means one requirement.
#[test]
fn an_ambiguous_name_is_reported() {
    let inner = bundle("inner", "1.0.0", "requires: [{name: d, bundle: acme/other}]");
    let app = bundle("app", "1.0.0", "requires: [{name: d, bundle: acme/db}, {name: i, bundle: acme/inner}]");
    let catalog = catalog(&[db(), bundle("other", "1.0.0", DB), inner, app]);
    let with = |name: &str| {
        let with = [(Arc::from(name), Some("acme/db:v1.0.0".parse().expect("a choice")))].into();
        let now = Choices { with, ..Choices::default() };
        let context = RequirementContext { now, ..RequirementContext::default() };
        resolved(&catalog, "acme/app:v1.0.0", &context)
    };
    assert_eq!(errors(&with("d")), ["ambiguous-requirement"]);
    for (name, expected) in [("root/d", "acme/other:v1.0.0"), ("root/i/d", "acme/db:v1.0.0")] {
        let resolution = with(name);
        assert_eq!(errors(&resolution), Vec::<&str>::new(), "{name}");
        let inner =
            resolution.installations.iter().find(|one| &*one.name != "root/d" && one.own_name() == "d");
        let reference = inner.map(|one| one.reference.to_string());
        // A choice that makes it equal to the other makes it one with it.
        assert_eq!(reference.unwrap_or_else(|| "acme/db:v1.0.0".into()), expected, "{name}");
    }
}

/// Two applications may have installations of one name.
#[test]
fn the_id_of_a_root_is_its_urn() {
    let app =
        app("- {name: db, bundle: 'acme/db:v1.0.0', sharing: {group: {name: '${installation.root.id}'}}}");
    let resolution = of(&[db(), app]);
    let group = resolution.installations[0].group.as_deref();
    assert_eq!(group, Some("urn:purlin:development/acme::shop::shared::installation.default::root"));
}

#[test]
fn two_names_of_a_deployment_for_one_installation_are_reported() {
    let catalog = catalog(&[db()]);
    let codes = |requires: &[&str]| {
        let resolution = deployed(&catalog, requires, &RequirementContext::default());
        resolution.diagnostics.iter().map(|one| one.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&["{name: a, bundle: acme/db}", "{name: b, bundle: acme/db}"]), ["one-installation"]);
    let own = "sharing: {mode: none}";
    let (a, b) =
        (format!("{{name: a, bundle: acme/db, {own}}}"), format!("{{name: b, bundle: acme/db, {own}}}"));
    assert_eq!(codes(&[&a, &b]), [""; 0]);
}
