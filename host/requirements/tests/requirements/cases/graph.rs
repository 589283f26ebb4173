//! Which installations there are, and in which order: sharing, loops, wires, limits.

use purlin_model::{RequiredBy, RequirementContext, Setting};
use purlin_requirements::compile;

use super::{DB, app, db, of, two};
use crate::support::{after, bundle, catalog, deployed, errors, faults_of, names, required_by, resolved};

/// GRAPH-01 to GRAPH-05. Sharing is on by default, and the empty group is a group.
#[test]
fn requirements_that_differ_only_in_name_are_one() {
    let (one, apart) = (["root/db1", "root"], ["root/db1", "root/db2", "root"]);
    let group = ", sharing: {group: {name: app-db}}";
    let none = ", sharing: {mode: none}";
    for (row, first, second, expected) in [
        ("GRAPH-01, by the design", "", "", &one[..]),
        ("GRAPH-02", group, group, &one),
        ("GRAPH-04", ", parameters: {size: large}", "", &apart),
        ("a group of its own", group, "", &apart),
        ("mode none", none, none, &apart),
        ("the same output of the same", "", ", sharing: {mode: group}", &one),
    ] {
        let resolution = of(&[db(), two(first, second)]);
        assert_eq!(names(&resolution), expected, "{row}");
        assert_eq!(errors(&resolution), [""; 0], "{row}");
        let root = resolution.root().expect("resolved");
        assert_eq!(root.requires.len(), 2, "{row}: both are edges");
    }
}

/// GRAPH-06: a value from another requirement is an edge, and that requirement comes first.
#[test]
fn providers_of_values_come_first() {
    let requires = "- {name: web, bundle: 'acme/web:v1.0.0', credentials: {db: '${bundle.dependencies.infra.outputs.connstr}'}}\n- {name: infra, bundle: 'acme/db:v1.0.0'}";
    let web = bundle("web", "1.0.0", "credentials: [{name: db}]");
    let resolution = of(&[db(), web, app(requires)]);
    assert_eq!(names(&resolution), ["root/infra", "root/web", "root"]);
    let web = &resolution.installations[1];
    assert_eq!((&*web.name, web.given[0].part), ("root/web", Setting::Credential));
}

/// GRAPH-07: the whole loop is reported.
#[test]
fn loops_of_bundles_are_reported_with_their_path() {
    let other = bundle("other", "1.0.0", "requires: [{name: back, bundle: 'acme/app:v1.0.0'}]");
    let resolution = of(&[other, app("- {name: other, bundle: 'acme/other:v1.0.0'}")]);
    assert_eq!(errors(&resolution), ["requirement-loop"]);
    let message = &resolution.diagnostics[0].message;
    assert!(message.ends_with("`acme/app:v1.0.0` → `acme/other:v1.0.0` → `acme/app:v1.0.0`"), "{message}");
}

/// GRAPH-09: a diamond has one installation at the bottom.
#[test]
fn a_diamond_is_not_a_loop() {
    let middle = |name| bundle(name, "1.0.0", "requires: [{name: db, bundle: 'acme/db:v1.0.0'}]");
    let app = app("- {name: a, bundle: 'acme/a:v1.0.0'}\n- {name: b, bundle: 'acme/b:v1.0.0'}");
    let resolution = of(&[db(), middle("a"), middle("b"), app]);
    assert_eq!(names(&resolution), ["root/a/db", "root/a", "root/b", "root"]);
}

/// GRAPH-11, GRAPH-12, LINT-107, LINT-109: everything that is read must exist, before anything
/// runs.
#[test]
fn wrong_wires_are_reported_before_anything_runs() {
    let wire = |value: &str| {
        let requires = format!("- {{name: db, bundle: 'acme/db:v1.0.0', parameters: {{size: '{value}'}}}}");
        errors(&of(&[db(), app(&requires)]))
    };
    assert_eq!(wire("${bundle.dependencies.lost.outputs.ip}"), ["unknown-requirement"]);
    assert_eq!(wire("${bundle.parameters.wrongName}"), ["unknown-parameter"]);
    assert_eq!(wire("${bundle.credentials.none}"), ["unknown-parameter"]);
    assert_eq!(wire("${bundle.dependencies.db.outputs.connstr}"), ["own-output"]);
    assert_eq!(wire("${bundle.parameters.size}"), [""; 0]);
    let output = "- {name: db, bundle: 'acme/db:v1.0.0', outputs: {url: '${outputs.wrongName}'}}";
    let resolution = of(&[db(), app(output)]);
    assert_eq!(errors(&resolution), ["no-bundle"]);
    assert_eq!(resolution.diagnostics[0].notes, ["`acme/db:v1.0.0`: lacks the output `wrongName`"]);
}

/// GRAPH-12 and LINT-106: references that no bundle can read.
#[test]
fn a_bundle_reads_neither_its_own_outputs_nor_the_environment() {
    for value in ["${bundle.outputs.y}", "${env.SOME_VAR}"] {
        let requires = format!("- {{name: db, bundle: 'acme/db:v1.0.0', parameters: {{size: '{value}'}}}}");
        assert_eq!(faults_of(app(&requires)).len(), 1, "{value}");
    }
}

/// GRAPH-14: the order in the documents does not matter for the resolution.
#[test]
fn the_same_bundles_give_the_same_resolution() {
    let app = app(
        "- {name: z, bundle: 'acme/db:v1.0.0', parameters: {size: a}}\n- {name: a, bundle: 'acme/db:v1.0.0'}",
    );
    let (first, second) = (of(&[db(), app.clone()]), of(&[app, db()]));
    let of = |resolution: &purlin_requirements::Resolution| -> Vec<String> {
        let all = resolution.installations.iter();
        all.map(|one| format!("{} {} {:?}", one.name, one.reference, one.requires)).collect()
    };
    assert_eq!(of(&first), of(&second));
    assert_eq!(names(&first), ["root/a", "root/z", "root"]);
}

/// GRAPH-15, INST-12, SHARE-02.
#[test]
fn contradictions_are_reported_on_reading() {
    let twice = "- {name: db, bundle: 'acme/db:v1.0.0'}\n- {name: db, bundle: 'acme/db:v1.0.0'}";
    assert_eq!(faults_of(app(twice)), ["required-twice"]);
    let both = "- name: db\n  bundle: {interface: {reference: 'acme/db:v1.0.0', document: {outputs: [{name: port}]}}}";
    assert_eq!(faults_of(app(both)), ["interface-twice"]);
    let alone = "- {name: db, bundle: 'acme/db:v1.0.0', sharing: {mode: none, group: {name: x}}}";
    assert_eq!(faults_of(app(alone)).len(), 1);
    // SHARE-01: the empty group is a group.
    let empty = "- {name: db, bundle: 'acme/db:v1.0.0', sharing: {mode: group, group: {name: ''}}}";
    assert_eq!(faults_of(app(empty)), [""; 0]);
}

/// The requests of untrusted bundles are limited, and quickly rejected.
#[test]
fn a_few_bundles_cannot_ask_for_more_than_anybody_could_count() {
    let level = |number: usize, of: &str| {
        let next = number + 1;
        let one = |name: &str| {
            format!(
                "- {{name: {name}, bundle: 'acme/l{next}:v1.0.0', {of}, parameters: {{p: '${{bundle.parameters.p}}${{bundle.parameters.p}}'}}, outputs: {{x: '${{outputs.x}}${{outputs.x}}'}}}}"
            )
        };
        bundle(
            &format!("l{number}"),
            "1.0.0",
            &format!(
                "parameters: [{{name: p, default: x}}]\nrequires:\n{}\n{}",
                one("a"),
                one("b").replace("{x:", "{y:")
            ),
        )
    };
    let bundles = |of: &str| {
        let mut all: Vec<String> = (0..40).map(|number| level(number, of)).collect();
        all.push(bundle("l40", "1.0.0", "parameters: [{name: p}]\noutputs: [{name: x}]"));
        catalog(&all)
    };
    let apart = resolved(&bundles("sharing: {mode: none}"), "acme/l0:v1.0.0", &RequirementContext::default());
    assert_eq!(errors(&apart), ["too-many-requirements"]);
    let mut reads = (0..40).map(|number| level(number, "sharing: {mode: group}")).collect::<Vec<_>>();
    reads.push(bundle("l40", "1.0.0", "parameters: [{name: p}]\noutputs: [{name: x}]"));
    reads.push(bundle(
        "reader",
        "1.0.0",
        "driver: purlin/echo\ninputs: {values: {x: '${bundle.dependencies.l.outputs.x}'}}\nrequires: [{name: l, bundle: 'acme/l0:v1.0.0'}]",
    ));
    let resolution = resolved(&catalog(&reads), "acme/reader:v1.0.0", &RequirementContext::default());
    assert_eq!(errors(&resolution), [""; 0]);
    // Each level reads the outputs of the next, and none holds the texts of all levels below it.
    let compiled = compile(&resolution).expect("compiles");
    assert_eq!(compiled.len(), resolution.installations.len());
}

/// A requirement that changes gets a new installation, and an unchanged one keeps the existing one,
/// whatever its name.
#[test]
fn existing_installations_stay_with_equal_requirements() {
    let db = bundle("db", "1.0.0", DB);
    let one = |name: &str, size: &str| {
        bundle(
            name,
            "1.0.0",
            &format!("requires: [{{name: db, bundle: 'acme/db:v1.0.0', parameters: {{size: {size}}}}}]"),
        )
    };
    let before = catalog(&[db.clone(), one("a", "s"), one("b", "s")]);
    let both = ["{name: a, bundle: acme/a}", "{name: b, bundle: acme/b}"];
    let first = deployed(&before, &both, &RequirementContext::default());
    assert_eq!(names(&first), ["a/db", "a", "b"]);
    let now = catalog(&[db.clone(), one("a", "l"), one("b", "s")]);
    let second = deployed(&now, &both, &after(&first));
    assert_eq!(names(&second), ["a/db~2", "a", "a/db", "b"]);
    // From then on it is settled, and a later change affects the one that was created for it.
    let third = deployed(&now, &both, &after(&second));
    assert_eq!(names(&third), ["a/db~2", "a", "a/db", "b"]);
    let again = catalog(&[db.clone(), one("a", "xl"), one("b", "s")]);
    assert_eq!(names(&deployed(&again, &both, &after(&third))), ["a/db~2", "a", "a/db", "b"]);
    // If it requires the same again, it shares it again.
    assert_eq!(names(&deployed(&before, &both, &after(&third))), ["a/db", "a", "b"]);
}

/// Requirements of definitions: one installation if all values are known to be the same, and one
/// for each resource if they may differ. Resources may have the same id and another type.
#[test]
fn equal_requirements_of_definitions_share_an_installation() {
    let catalog = catalog(&[db()]);
    let requires = |more: &str| format!("requires: [{{name: db, bundle: 'acme/db:v1.0.0'{more}}}]");
    let (one, each) = (["shared.a/db"], ["shared.a/db", "shared.b/db"]);
    for (more, expected) in [
        ("", &one[..]),
        (", parameters: {size: big}", &one),
        (", parameters: {size: '${values.size}'}", &one),
        (", parameters: {size: '${context.env.id}'}", &one),
        (", parameters: {size: \"${resources['net.default#net'].outputs.size}\"}", &one),
        (", parameters: {size: \"${resources.net.outputs.size}\"}", &each),
        (", parameters: {size: \"${resources['net#net'].outputs.size}\"}", &each),
        (", parameters: {size: '${params.size}'}", &each),
        (", parameters: {size: '${context.res.id}'}", &each),
        (", sharing: {mode: none}", &each),
        (", sharing: {group: {name: '${installation.root.id}'}}", &each),
    ] {
        let spec = requires(more);
        let resources = [("x.default#shared.a", &*spec), ("x.default#shared.b", &*spec)];
        let resolution = required_by(&catalog, &resources, &RequirementContext::default());
        assert_eq!((errors(&resolution), names(&resolution)), (vec![], expected.to_vec()), "{more}");
        let again = required_by(&catalog, &resources, &after(&resolution));
        assert_eq!(names(&again), expected, "{more}");
    }
    let spec = requires(", parameters: {size: '${params.size}'}");
    let resources = [("x.default#shared.a", &*spec), ("y.default#shared.a", &*spec)];
    let resolution = required_by(&catalog, &resources, &RequirementContext::default());
    assert_eq!(names(&resolution), ["shared.a/db", "shared.a/db~2"]);
    let swapped = required_by(&catalog, &[resources[1], resources[0]], &after(&resolution));
    let compiled = compile(&swapped).expect("compiles");
    let requires_it = |name: &str| {
        let one = compiled.iter().find(|one| one.id.as_str() == name).expect("is there");
        one.required_by.iter().map(|(by, _)| by.clone()).collect::<Vec<_>>()
    };
    let resource = |key: &str| vec![RequiredBy::Resource(purlin_model::Key::parse(key).expect("a key"))];
    assert_eq!(requires_it("shared.a/db"), resource("x.default#shared.a"), "names stay");
    assert_eq!(requires_it("shared.a/db~2"), resource("y.default#shared.a"));
}

/// A definition may refer only to its own requirements, and each requirement must have the outputs
/// that the definition reads.
#[test]
fn outputs_of_requirements_exist_for_definitions() {
    let catalog = catalog(&[db()]);
    for (reads, expected) in [
        ("db.outputs.connstr", vec![]),
        ("db.outputs.port", vec!["no-bundle"]),
        ("web.outputs.x", vec!["unknown-requirement"]),
    ] {
        let spec = format!(
            "requires: [{{name: db, bundle: 'acme/db:v1.0.0'}}]\n  inputs: {{values: {{x: '${{bundle.dependencies.{reads}}}'}}}}"
        );
        let resolution =
            required_by(&catalog, &[("x.default#shared.a", &spec)], &RequirementContext::default());
        assert_eq!(errors(&resolution), expected, "{reads}");
    }
}

/// The order of a deployment's list means nothing, and what exists goes on being the shared one.
#[test]
fn the_order_of_requirements_means_nothing() {
    let catalog = catalog(&[db(), bundle("app", "1.0.0", "requires: [{name: db, bundle: acme/db}]")]);
    let (site, main) = ("{name: site, bundle: acme/app}", "{name: main, bundle: acme/db}");
    let nothing = RequirementContext::default();
    for list in [[site, main], [main, site]] {
        let first = deployed(&catalog, &list, &nothing);
        assert_eq!(names(&first), ["main", "site"], "{list:?}");
        assert_eq!(names(&deployed(&catalog, &[list[1], list[0]], &after(&first))), ["main", "site"]);
        // Whoever is left keeps it, under the name that it has.
        assert_eq!(names(&deployed(&catalog, &[site], &after(&first))), ["main", "site"]);
    }
    let alone = deployed(&catalog, &[site], &nothing);
    assert_eq!(names(&alone), ["site/db", "site"]);
    for list in [[site, main], [main, site]] {
        let both = deployed(&catalog, &list, &after(&alone));
        assert_eq!(names(&both), ["site/db", "site"], "an entry that was added uses what exists");
        let compiled = compile(&both).expect("compiled");
        assert_eq!(compiled[0].aliases.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["main"]);
        let renamed = ["{name: other, bundle: acme/db}", site];
        assert_eq!(names(&deployed(&catalog, &renamed, &after(&both))), ["site/db", "site"]);
    }
    // A renamed entry keeps its installation, and a changed one updates it.
    let first = deployed(&catalog, &[main], &nothing);
    assert_eq!(names(&deployed(&catalog, &["{name: other, bundle: acme/db}"], &after(&first))), ["main"]);
    let large = "{name: main, bundle: acme/db, parameters: {size: large}}";
    assert_eq!(names(&deployed(&catalog, &[large], &after(&first))), ["main"]);
    // A name that another requirement has kept is not taken from it.
    let second = deployed(&catalog, &["{name: other, bundle: acme/db}"], &after(&first));
    let both = deployed(&catalog, &[large, "{name: other, bundle: acme/db}"], &after(&second));
    assert_eq!(names(&both), ["main~2", "main"]);
    let aliases: Vec<_> = compile(&both).expect("compiled").into_iter().map(|one| one.aliases).collect();
    let aliases: Vec<&str> = aliases.iter().flatten().map(|id| id.as_str()).collect();
    assert_eq!(aliases, ["main", "other"], "documents mean it by the name of the requirement");
}

/// Ranges that overlap and come out at one version are one installation.
#[test]
fn overlapping_ranges_share_an_installation() {
    let version = |version: &str| bundle("db", version, DB);
    let catalog = catalog(&[version("1.0.0"), version("2.0.0")]);
    let of = |name: &str, range: &str| {
        format!("{{name: {name}, bundle: {{reference: acme/db, version: '{range}'}}}}")
    };
    let (a, b, c) = (of("a", ">=1.0.0"), of("b", ">=1.1.0"), of("c", "1.x"));
    let first = deployed(&catalog, &[&a, &b, &c], &RequirementContext::default());
    assert_eq!(names(&first), ["a", "c"]);
    // Two that exist remain two.
    let apart = deployed(&catalog, &[&of("a", "1.x"), &b], &RequirementContext::default());
    assert_eq!(names(&apart), ["a", "b"]);
    let now = [of("a", ">=1.0.0").replace("acme/db", "acme/db:v2.0.0"), b.clone()];
    assert_eq!(names(&deployed(&catalog, &[&now[0], &now[1]], &after(&apart))), ["a", "b"]);
}

/// The limit has a code of its own.
#[test]
fn requirements_that_lead_too_deep_are_no_loop() {
    let mut all = vec![bundle("b70", "1.0.0", "")];
    for number in 0..70 {
        let next = number + 1;
        all.push(bundle(
            &format!("b{number}"),
            "1.0.0",
            &format!("requires: [{{name: n, bundle: acme/b{next}}}]"),
        ));
    }
    assert_eq!(
        errors(&resolved(&catalog(&all), "acme/b0:v1.0.0", &RequirementContext::default())),
        ["requirements-too-deep"]
    );
    assert_eq!(
        errors(&resolved(&catalog(&all), "acme/b10:v1.0.0", &RequirementContext::default())),
        Vec::<&str>::new()
    );
}
