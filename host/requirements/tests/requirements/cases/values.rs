//! Where the values of an installation come from.

use std::collections::BTreeSet;

use purlin_model::RequirementContext;
use purlin_requirements::{compile, unmapped_faults};

use super::{app, context_with, db, of};
use crate::support::{bundle, catalog, deployed, errors, names, resolved};

/// LINT-103: a parameter that the bundle lacks is dropped, and that is reported.
#[test]
fn a_parameter_that_the_bundle_lacks_is_left_out_with_a_note() {
    let resolution = of(&[db(), app("- {name: db, bundle: 'acme/db:v1.0.0', parameters: {siez: large}}")]);
    assert_eq!(errors(&resolution), [""; 0]);
    let [note] = &*resolution.diagnostics else { panic!("{:?}", resolution.diagnostics) };
    assert_eq!((note.code, note.help.as_deref()), ("left-out", Some("did you mean `size`?")));
    assert!(resolution.installations[0].given.is_empty());
}

/// `source` of a parameter: the output of a requirement, unless a person gives a value.
#[test]
fn an_unset_parameter_takes_an_output() {
    let web = |source: &str| {
        bundle(
            "app",
            "1.0.0",
            &format!(
                "parameters: [{{name: db, type: string, default: '', source: {source}}}]\n\
                 requires: [{{name: db, bundle: 'acme/db:v1.0.0'}}]"
            ),
        )
    };
    let compiled = |source: &str, context: &RequirementContext| {
        let resolution = resolved(&catalog(&[db(), web(source)]), "acme/app:v1.0.0", context);
        assert_eq!(errors(&resolution), [""; 0]);
        assert_eq!(resolution.unmapped, []);
        format!("{:?}", compile(&resolution).expect("compiles").last().expect("the root").params)
    };
    let source = "{dependency: db, output: connstr}";
    let reads = compiled(source, &RequirementContext::default());
    assert!(reads.contains("Named(\"root/db\")") && reads.contains("connstr"), "{reads}");
    let answered = compiled(source, &context_with(&[("root.db", "mine", true)]));
    assert!(answered.contains("mine") && !answered.contains("connstr"), "{answered}");
    for (source, code) in [
        ("{dependency: bd, output: connstr}", "unknown-requirement"),
        ("{dependency: db, output: connst}", "no-bundle"),
    ] {
        assert_eq!(errors(&of(&[db(), web(source)])), [code], "{source}");
    }
}

/// LINT-110: missing values are requested for the whole graph at once.
#[test]
fn missing_values_are_collected_from_the_entire_graph() {
    let deep = bundle("deep", "1.0.0", "credentials: [{name: token, description: to be let in}]");
    let middle = bundle(
        "middle",
        "1.0.0",
        "parameters: [{name: region, type: string}]\nrequires: [{name: deep, bundle: 'acme/deep:v1.0.0'}]",
    );
    let bundles = [deep, middle, app("- {name: middle, bundle: 'acme/middle:v1.0.0'}")];
    let missing = |context: &RequirementContext| -> Vec<String> {
        let resolution = resolved(&catalog(&bundles), "acme/app:v1.0.0", context);
        let unmapped = resolution.unmapped.iter();
        unmapped.map(|one| format!("{} {} of {}", one.part, one.name, one.installation)).collect()
    };
    assert_eq!(
        missing(&RequirementContext::default()),
        ["credential token of root/middle/deep", "parameter region of root/middle", "parameter size of root"]
    );
    let context = context_with(&[("root/middle.region", "eu", true)]);
    assert_eq!(missing(&context).len(), 2);
    let again = resolved(&catalog(&bundles), "acme/app:v1.0.0", &context).choices;
    assert_eq!(missing(&RequirementContext { before: again, ..RequirementContext::default() }).len(), 2);
}

/// A current choice overrides the written value, and the written value overrides an earlier choice.
#[test]
fn options_override_documents() {
    let db = "parameters: [{name: size, type: integer, default: 1}, {name: kind, type: string}]";
    let app = app("- name: db\n  bundle: 'acme/db:v1.0.0'\n  parameters: {kind: small}");
    let catalog = catalog(&[bundle("db", "1.0.0", db), app]);
    let given = |context: &RequirementContext| -> Vec<String> {
        let resolution = resolved(&catalog, "acme/app:v1.0.0", context);
        let codes = errors(&resolution).into_iter().map(str::to_owned);
        let all = resolution.installations.first().map(|one| one.given.clone()).unwrap_or_default();
        codes.chain(all.iter().map(|one| format!("{} {:?}", one.binding.name, one.binding.value))).collect()
    };
    let holds = |context: &RequirementContext, words: &[&str]| {
        let given = given(context).join("; ");
        words.iter().for_each(|word| assert!(given.contains(word), "{word} in {given}"));
        given
    };
    holds(&context_with(&[("root/db.size", "3", true), ("root/db.kind", "7", true)]), &["Number(3", "\"7\""]);
    holds(&context_with(&[("root/db.size", "4", false)]), &["Number(4", "small"]);
    holds(&context_with(&[("root/db.size", "three", true)]), &["answer-type"]);
    holds(&context_with(&[("root/db.sise", "3", true)]), &["unknown-answer"]);
    // A bare name refers to the requested installation, and to no other one.
    holds(&context_with(&[("kind", "3", true)]), &["unknown-answer"]);
    let context = context_with(&[("root/db.size", "3", true), ("root/db.kind", "large", true)]);
    let before = resolved(&catalog, "acme/app:v1.0.0", &context).choices;
    let remembered =
        holds(&RequirementContext { before, ..RequirementContext::default() }, &["Number(3", "small"]);
    assert!(!remembered.contains("large"), "{remembered}");
}

/// A `$id` decides which parameter or credential a requirement sets: that of its interface, or that
/// of the parent's own credential.
#[test]
fn an_id_decides_which_setting_a_requirement_sets() {
    let db = bundle(
        "db",
        "1.0.0",
        "credentials: [{name: admin, $id: 'urn:kc'}]\nparameters: [{name: level, $id: 'urn:l', default: x}]",
    );
    let given = |app: String| {
        let resolution = of(&[db.clone(), app]);
        assert_eq!((errors(&resolution), resolution.unmapped.clone()), (vec![], vec![]));
        let given = &resolution.installations[0].given;
        given.iter().map(|one| one.binding.name.to_string()).collect::<Vec<_>>()
    };
    let interface = "requires:\n- name: db\n  bundle: {reference: acme/db, interface: {document: {credentials: [{name: kc, $id: 'urn:kc'}], parameters: [{name: l, $id: 'urn:l'}]}}}\n  credentials: {kc: s}\n  parameters: {l: y}";
    assert_eq!(given(bundle("app", "1.0.0", interface)), ["level", "admin"]);
    let direct = interface.replace("{document: {", "{").replace("}]}}}", "}]}}");
    assert_eq!(given(bundle("app", "1.0.0", &direct)), ["level", "admin"]);
    let own = "credentials: [{name: kc, $id: 'urn:kc', required: false}]\nrequires:\n- name: db\n  bundle: acme/db\n  credentials: {kc: '${bundle.credentials.kc}'}";
    assert_eq!(given(bundle("app", "1.0.0", own)), ["admin"]);
    let twice = interface.replace("{kc: s}", "{kc: s, admin: t}");
    let asked = twice.replace(
        "credentials: [{name: kc, $id: 'urn:kc'}], ",
        "credentials: [{name: kc, $id: 'urn:kc'}, {name: admin}], ",
    );
    assert_eq!(errors(&of(&[db.clone(), bundle("app", "1.0.0", &asked)])), ["set-twice"]);
}

/// Many parameters, credentials and outputs of one bundle take processor time in proportion to their
/// number.
#[test]
fn values_of_one_bundle_take_linear_time() {
    let list =
        |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(", ");
    type Spec<'a> = &'a dyn Fn(usize) -> (String, String);
    let requiring = "bundle: 'acme/db:v1.0.0'";
    let parts: [(&str, Spec<'_>); 6] = [
        ("parameters", &|count| {
            let declared = list(count, &|at| format!("{{name: p{at}, type: string, default: x}}"));
            let given = list(count, &|at| format!("p{at}: '${{bundle.parameters.p{at}}}'"));
            let app = format!(
                "parameters: [{declared}]\nrequires: [{{name: db, {requiring}, parameters: {{{given}}}}}]"
            );
            (format!("parameters: [{declared}]"), app)
        }),
        ("credentials", &|count| {
            let declared = list(count, &|at| format!("{{name: c{at}, required: false}}"));
            let given = list(count, &|at| format!("c{at}: '${{bundle.credentials.c{at}}}'"));
            let app = format!(
                "credentials: [{declared}]\nrequires: [{{name: db, {requiring}, credentials: {{{given}}}}}]"
            );
            (format!("credentials: [{declared}]"), app)
        }),
        ("credentials by id", &|count| {
            let declared = |name: &str| {
                list(count, &|at| format!("{{name: {name}{at}, $id: 'urn:{at}', required: false}}"))
            };
            let given = list(count, &|at| format!("own{at}: '${{bundle.credentials.own{at}}}'"));
            let app = format!(
                "credentials: [{}]\nrequires: [{{name: db, {requiring}, credentials: {{{given}}}}}]",
                declared("own")
            );
            (format!("credentials: [{}]", declared("c")), app)
        }),
        ("missing parameters", &|count| {
            let declared = list(count, &|at| format!("{{name: p{at}, type: string}}"));
            (format!("parameters: [{declared}]"), format!("requires: [{{name: db, {requiring}}}]"))
        }),
        ("unknown parameters", &|count| {
            let declared = list(count, &|at| format!("{{name: p{at}, type: string, default: x}}"));
            let given = list(count, &|at| format!("unknown{at}: x"));
            (
                format!("parameters: [{declared}]"),
                format!("requires: [{{name: db, {requiring}, parameters: {{{given}}}}}]"),
            )
        }),
        ("outputs", &|count| {
            let declared = list(count, &|at| format!("{{name: o{at}, type: string}}"));
            let taken = list(count, &|at| format!("o{at}: '${{outputs.o{at}}}'"));
            (
                format!("outputs: [{declared}]"),
                format!("requires: [{{name: db, {requiring}, outputs: {{{taken}}}}}]"),
            )
        }),
    ];
    for (part, spec) in parts {
        let time = |count: usize| {
            let (db, app) = spec(count);
            let catalog = catalog(&[bundle("db", "1.0.0", &db), bundle("app", "1.0.0", &app)]);
            let begun = cpu_time::ThreadTime::now();
            let resolution = resolved(&catalog, "acme/app:v1.0.0", &RequirementContext::default());
            assert_eq!(names(&resolution), ["root/db", "root"], "{part}");
            assert_eq!(compile(&resolution).expect("compiles").len(), 2, "{part}");
            let expected = if part.starts_with("missing") { count } else { 0 };
            assert_eq!(unmapped_faults(&resolution).len(), expected, "{part}");
            begun.elapsed()
        };
        let (few, many) = (time(1_000), time(8_000));
        assert!(many < few * 32, "{part}: {few:?} for 1,000, {many:?} for 8,000");
    }
}

/// A value is the same through however many bundles it is passed on.
#[test]
fn values_that_are_passed_on_are_equal_to_those_that_are_given() {
    let passes = |name: &str, below: &str| {
        let requires = format!(
            "{{name: r, bundle: acme/{below}:v1.0.0, parameters: {{p: '${{bundle.parameters.p}}'}}}}"
        );
        bundle(
            name,
            "1.0.0",
            &format!("parameters: [{{name: p, type: string, default: d}}]\nrequires: [{requires}]"),
        )
    };
    let leaf = bundle("leaf", "1.0.0", "parameters: [{name: p, type: string, default: d}]");
    let catalog = catalog(&[leaf, passes("one", "leaf"), passes("two", "one")]);
    let resolution = deployed(
        &catalog,
        &[
            "{name: a, bundle: acme/one:v1.0.0}",
            "{name: b, bundle: acme/two:v1.0.0}",
            "{name: c, bundle: acme/leaf:v1.0.0, parameters: {p: d}}",
        ],
        &RequirementContext::default(),
    );
    // `b/r` gives its `p`, and `a` does not, so these two differ.
    assert_eq!(names(&resolution).into_iter().collect::<BTreeSet<_>>(), ["a", "b", "b/r", "c"].into());
}

/// Names of installations are not values: two roots that pass theirs on have two databases.
#[test]
fn values_made_from_the_name_of_the_root_differ_between_roots() {
    let app = app("- {name: db, bundle: 'acme/db:v1.0.0', parameters: {size: '${installation.root.name}'}}");
    let catalog = catalog(&[db(), app]);
    let of = |name: &str| {
        format!("{{name: {name}, bundle: acme/app, parameters: {{size: s}}, sharing: {{mode: none}}}}")
    };
    assert_eq!(
        names(&deployed(&catalog, &[&of("a"), &of("b")], &RequirementContext::default())),
        ["a/db", "a", "b/db", "b"]
    );
}
