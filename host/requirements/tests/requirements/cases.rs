//! The cases for requirements, by their row. If the published implementation departs from its own
//! design, the design decides (SPEC §6).

use std::collections::BTreeSet;
use std::sync::Arc;

use purlin_model::{Answer, Choices, RequiredBy, RequirementContext, Setting, ValueKind};
use purlin_requirements::{Rejection, Why, compile, resolve_requirements, unmapped_faults};

use crate::support::{
    after, around, bundle, catalog, deployed, errors, faults_of, names, required_by, resolved,
};

const DB: &str =
    "parameters: [{name: size, type: string, default: small}]\noutputs: [{name: connstr, type: string}]";

fn db() -> String {
    bundle("db", "1.0.0", DB)
}

fn app(requires: &str) -> String {
    bundle("app", "1.0.0", &format!("parameters: [{{name: size, type: string}}]\nrequires:\n{requires}"))
}

fn two(first: &str, second: &str) -> String {
    app(&format!(
        "- {{name: db1, bundle: 'acme/db:v1.0.0'{first}}}\n- {{name: db2, bundle: 'acme/db:v1.0.0'{second}}}"
    ))
}

fn of(bundles: &[String]) -> purlin_requirements::Resolution {
    resolved(&catalog(bundles), "acme/app:v1.0.0", &RequirementContext::default())
}

fn by(places: &[u32]) -> Vec<RequiredBy> {
    places.iter().map(|place| RequiredBy::Installation(*place)).collect()
}

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

/// Parameters from a person, by full name and text.
fn context_with(answers: &[(&str, &str, bool)]) -> RequirementContext {
    let answer = |(name, text, is_text): &(&str, &str, bool)| {
        let value = if *is_text { (*text).into() } else { serde_json::from_str(text).expect("JSON") };
        Answer { part: Setting::Parameter, name: Arc::from(*name), value, is_text: *is_text }
    };
    let answers = answers.iter().map(answer).collect();
    RequirementContext { now: Choices { answers, ..Choices::default() }, ..RequirementContext::default() }
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

/// A bundle that `--with` named stays until a person revokes it.
#[test]
fn a_named_bundle_is_remembered() {
    let versions = ["1.0.0", "2.0.0"].map(|version| bundle("db", version, DB));
    let app = app("- name: db\n  bundle: {reference: 'acme/db:v1.0.0', version: '1.x'}");
    let catalog = catalog(&[&versions[..], &[app]].concat());
    let with = |reference: Option<&str>| {
        let reference = reference.map(|text| text.parse().expect("a reference"));
        Choices { with: [(Arc::from("db"), reference)].into(), ..Choices::default() }
    };
    let resolution = |now: Choices, before: Choices| {
        let resolution = resolved(
            &catalog,
            "acme/app:v1.0.0",
            &RequirementContext { now, before, ..RequirementContext::default() },
        );
        let db = &resolution.installations[0];
        (db.reference.to_string(), db.why.code(), resolution.choices)
    };
    let (reference, why, before) = resolution(with(Some("acme/db:v2.0.0")), Choices::default());
    assert_eq!((&*reference, why), ("acme/db:v2.0.0", "named"));
    let (reference, why, again) = resolution(Choices::default(), before.clone());
    assert_eq!((&*reference, why), ("acme/db:v2.0.0", "named-before"));
    assert_eq!(before, again);
    let (reference, why, forgotten) = resolution(with(None), before);
    assert_eq!((&*reference, why), ("acme/db:v1.0.0", "highest-in-range"));
    assert!(forgotten.is_empty());
}

/// IFACE-*, INST-08, INST-10, INST-11, INST-13, and `$id` before the name.
#[test]
fn a_bundle_must_have_the_used_and_requested_outputs() {
    let wants = |interface: &str, outputs: &str| {
        let requires =
            format!("- name: db\n  bundle: {{reference: 'acme/db:v1.0.0', interface: {{{interface}}}}}\n");
        let db = bundle("db", "1.0.0", &format!("outputs: [{outputs}]"));
        let wide = bundle("wide", "1.0.0", "outputs: [{name: port, type: integer}]");
        errors(&of(&[db, wide, app(&requires)]))
    };
    let (fits, fails): (&[&str], &[&str]) = (&[], &["no-bundle"]);
    assert_eq!(wants("id: 'https://example.com/db'", ""), fails, "it does not provide the interface");
    assert_eq!(wants("document: {outputs: [{name: port}]}", "{name: port}"), fits);
    assert_eq!(wants("document: {outputs: [{name: port}]}", "{name: connstr}"), fails);
    assert_eq!(
        wants(
            "document: {outputs: [{name: port}], parameters: [{name: level, type: string}]}",
            "{name: port}"
        ),
        fails,
        "it lacks the parameter"
    );
    assert_eq!(wants("reference: 'acme/wide:v1.0.0'", "{name: port, type: integer}"), fits);
    assert_eq!(wants("reference: 'acme/wide:v1.0.0'", "{name: connstr}"), fails);
    assert_eq!(
        wants("reference: 'acme/wide:v1.0.0'", "{name: port, type: string}"),
        fails,
        "of another type"
    );
    assert_eq!(wants("reference: 'acme/lost:v1.0.0'", ""), fits, "an unknown bundle requires nothing");
    let pattern = "outputs: [{name: port, type: string, pattern: '^a'}]";
    assert_eq!(wants(pattern, "{name: port, type: string}"), fails, "it may have other values");
    assert_eq!(wants(pattern, "{name: port, enum: [ab, ac]}"), fits, "each of its values fits");
    let id = "document: {outputs: [{name: port, $id: 'https://example.com/port'}]}";
    assert_eq!(wants(id, "{name: listens, $id: 'https://example.com/port'}"), fits);
    assert_eq!(wants(id, "{name: port, $id: 'https://example.com/other'}"), fails);
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

/// Many parameters, credentials and outputs of one bundle take time in proportion to their number.
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
            let begun = std::time::Instant::now();
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

/// RES-07, RES-12 by the design, and `--with`.
#[test]
fn each_choice_has_its_reason_and_each_loser_too() {
    let versions = ["1.0.0", "1.2.0", "1.3.0-beta.1", "2.0.0"].map(|version| bundle("db", version, DB));
    let app = app("- name: db\n  bundle: {reference: 'acme/db:v1.0.0', version: '1.x'}");
    let catalog = catalog(&[&versions[..], &[app]].concat());
    let resolution = resolved(&catalog, "acme/app:v1.0.0", &RequirementContext::default());
    let db = &resolution.installations[0];
    assert_eq!(db.reference.to_string(), "acme/db:v1.2.0");
    assert!(matches!(db.why, Why::HighestInRange(_)));
    let mut lost: Vec<String> = db.lost.iter().map(|(one, why)| format!("{one} {why:?}")).collect();
    lost.sort();
    assert_eq!(
        lost,
        ["acme/db:v1.0.0 Lower", "acme/db:v1.3.0-beta.1 OutOfRange", "acme/db:v2.0.0 OutOfRange"]
    );
    let with = |name: &str| {
        let with = [(Arc::from(name), Some("acme/db:v2.0.0".parse().expect("a reference")))].into();
        let now = Choices { with, ..Choices::default() };
        resolved(&catalog, "acme/app:v1.0.0", &RequirementContext { now, ..RequirementContext::default() })
    };
    for name in ["db", "root/db"] {
        let resolution = with(name);
        assert_eq!(resolution.installations[0].reference.to_string(), "acme/db:v2.0.0");
        assert_eq!(resolution.installations[0].why, Why::Named);
    }
    assert_eq!(errors(&with("bd")), ["unknown-requirement"]);
}

/// Step 3 after the interface: the highest version that offers the requested outputs.
#[test]
fn a_version_that_lacks_an_output_loses() {
    let app = app(
        "- name: db\n  bundle: {reference: acme/db, version: '>=1'}\n  outputs: {url: '${outputs.connstr}'}",
    );
    let bundles = [db(), bundle("db", "2.0.0", "outputs: [{name: other}]"), app];
    let resolution = of(&bundles);
    let db = &resolution.installations[0];
    assert_eq!(db.reference.to_string(), "acme/db:v1.0.0");
    assert_eq!(db.lost[0].1, Rejection::Lacks(ValueKind::Output, "connstr".into()));
}

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

/// An installed bundle stays at its version while that fits, and a newer one is offered.
#[test]
fn a_new_version_is_offered_and_not_taken() {
    let version = |version: &str| bundle("db", version, DB);
    let app = app("- name: db\n  bundle: {reference: 'acme/db', version: '1.x'}");
    let first = resolved(
        &catalog(&[version("1.0.0"), app.clone()]),
        "acme/app:v1.0.0",
        &RequirementContext::default(),
    );
    let newer =
        catalog(&[version("1.0.0"), version("1.1.0"), version("1.2.0"), version("2.0.0"), app.clone()]);
    let second = resolved(&newer, "acme/app:v1.0.0", &after(&first));
    let db = &second.installations[0];
    assert_eq!((db.reference.to_string(), db.why.clone()), ("acme/db:v1.0.0".to_owned(), Why::Installed));
    let offer = &second.offers[0];
    assert_eq!((&*offer.installation, offer.newer.to_string()), ("root/db", "acme/db:v1.2.0".to_owned()));
    let mut lost: Vec<String> = db.lost.iter().map(|(one, why)| format!("{one} {why:?}")).collect();
    lost.sort();
    assert_eq!(lost, ["acme/db:v1.1.0 Lower", "acme/db:v1.2.0 Newer", "acme/db:v2.0.0 OutOfRange"]);
    // A person who requests it gets it, and it stays.
    let with = [(Arc::from("db"), Some("acme/db:v1.2.0".parse().expect("a reference")))].into();
    let context = RequirementContext { now: Choices { with, ..Choices::default() }, ..after(&second) };
    let third = resolved(&newer, "acme/app:v1.0.0", &context);
    assert_eq!(
        (third.installations[0].reference.to_string(), third.offers.len()),
        ("acme/db:v1.2.0".to_owned(), 0)
    );
    // And the next one is offered again.
    let newest = catalog(&[version("1.2.0"), version("1.3.0"), app.clone()]);
    assert!(third.choices.is_empty());
    let again = resolved(&newest, "acme/app:v1.0.0", &after(&third));
    assert_eq!(
        (again.installations[0].reference.to_string(), again.offers.len()),
        ("acme/db:v1.2.0".to_owned(), 1)
    );
    // A bundle that disappeared from the catalog, or does not fit any more, is replaced.
    let gone = catalog(&[version("1.1.0"), app]);
    let fourth = resolved(&gone, "acme/app:v1.0.0", &after(&first));
    assert_eq!(
        (fourth.installations[0].reference.to_string(), fourth.offers.len()),
        ("acme/db:v1.1.0".to_owned(), 0)
    );
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

/// What a person says about one of several equal requirements counts for all of them, whichever it
/// is; two different values make them two.
#[test]
fn an_answer_counts_for_all_equal_requirements() {
    let db = "parameters: [{name: size, type: string}]\ncredentials: [{name: root}]\noutputs: [{name: v, default: x}]";
    let app = "parameters: [{name: title, type: string}]\nrequires: [{name: db, bundle: acme/db}]";
    let catalog = catalog(&[bundle("db", "1.0.0", db), bundle("app", "1.0.0", app)]);
    let one = |name: &str| format!("{{name: {name}, bundle: acme/app, parameters: {{title: {name}}}}}");
    let (a, b) = (one("a"), one("b"));
    let answer = |(name, value): &(&str, &str)| {
        let part = if name.ends_with("root") { Setting::Credential } else { Setting::Parameter };
        Answer { part, name: Arc::from(*name), value: (*value).into(), is_text: true }
    };
    let context = |answers: &[(&str, &str)]| {
        let answers = answers.iter().map(answer).collect();
        let now = Choices { answers, ..Choices::default() };
        RequirementContext { now, ..RequirementContext::default() }
    };
    let shared = [
        vec![("a/db.size", "1"), ("a/db.root", "x")],
        vec![("b/db.size", "1"), ("b/db.root", "x")],
        vec![("a/db.size", "1"), ("b/db.root", "x")],
        vec![("a/db.size", "1"), ("a/db.root", "x"), ("b/db.size", "1"), ("b/db.root", "x")],
    ];
    for answers in &shared {
        for requires in [[&*a, &*b], [&*b, &*a]] {
            let first = deployed(&catalog, &requires, &context(answers));
            assert_eq!(errors(&first), Vec::<&str>::new(), "{answers:?}");
            assert!(first.unmapped.is_empty(), "{answers:?}: {:?}", first.unmapped);
            let mut all = names(&first);
            all.sort_unstable();
            assert_eq!(all, ["a", "a/db", "b"], "{answers:?}");
            // It stays so without them.
            let second = deployed(&catalog, &requires, &after(&first));
            assert!(second.unmapped.is_empty(), "{answers:?}: {:?}", second.unmapped);
            assert_eq!(names(&second), names(&first));
        }
    }
    let apart = [("a/db.size", "1"), ("b/db.size", "2"), ("a/db.root", "x"), ("b/db.root", "y")];
    let first = deployed(&catalog, &[&a, &b], &context(&apart));
    assert_eq!(names(&first), ["a/db", "a", "b/db", "b"]);
    assert_eq!(names(&deployed(&catalog, &[&b, &a], &after(&first))), names(&first));
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

fn answering(answers: &[(&str, &str)], before: RequirementContext) -> RequirementContext {
    let answer = |(name, value): &(&str, &str)| Answer {
        part: Setting::Parameter,
        name: Arc::from(*name),
        value: (*value).into(),
        is_text: true,
    };
    let answers = answers.iter().map(answer).collect();
    RequirementContext { now: Choices { answers, ..Choices::default() }, ..before }
}

/// The value of `size` of each installation, by name.
fn sizes(resolution: &purlin_requirements::Resolution) -> Vec<(&str, String)> {
    let size = |one: &purlin_requirements::Installation| {
        let given = one.given.iter().find(|given| &*given.binding.name == "size");
        given.map(|given| format!("{:?}", given.binding.value)).unwrap_or_default()
    };
    resolution.installations.iter().map(|one| (&*one.name, size(one))).collect()
}

/// An answer stays with each requirement that it counted for, and one for a name means the
/// requirement with that name.
#[test]
fn an_answer_stays_with_its_requirement() {
    let catalog = catalog(&[db()]);
    let one = |name: &str, more: &str| format!("{{name: {name}, bundle: acme/db{more}}}");
    let (a, b) = (one("a", ""), one("b", ""));
    let alone = ", sharing: {mode: none}";
    let first =
        deployed(&catalog, &[&a, &b], &answering(&[("b.size", "big")], RequirementContext::default()));
    assert_eq!(sizes(&first).len(), 1);
    assert!(sizes(&first)[0].1.contains("big"), "{:?}", sizes(&first));
    for parted in [[&one("a", alone), &b], [&a, &one("b", alone)]] {
        let second = deployed(&catalog, &[parted[0], parted[1]], &after(&first));
        let all = sizes(&second);
        assert!(all.len() == 2 && all.iter().all(|(_, size)| size.contains("big")), "{all:?}");
    }
    // `a` parts, and the installation `a` stays with `b`.
    let shared = deployed(&catalog, &[&a, &b], &RequirementContext::default());
    let a = one("a", alone);
    let parted = deployed(&catalog, &[&a, &b], &after(&shared));
    let mut all = names(&parted);
    all.sort_unstable();
    assert_eq!(all, ["a", "a~2"]);
    let answered = deployed(&catalog, &[&a, &b], &answering(&[("a.size", "mine")], after(&parted)));
    for (name, size) in sizes(&answered) {
        assert_eq!(size.contains("mine"), name == "a~2", "{name}: {size}");
    }
}

/// Requirements with different ranges that come to the same are equal, and so are values that nobody
/// gives.
#[test]
fn an_answer_counts_for_all_that_come_to_the_same() {
    let db = "parameters: [{name: size, type: string}]\noutputs: [{name: v, default: x}]";
    let key = "parameters: [{name: key, type: string, required: false}]\noutputs: [{name: v, default: x}]";
    let pass = "parameters: [{name: k, type: string, required: false}]\nrequires: [{name: key, bundle: acme/key, parameters: {key: '${bundle.parameters.k}'}}]";
    let catalog =
        catalog(&[bundle("db", "1.0.0", db), bundle("key", "1.0.0", key), bundle("pass", "1.0.0", pass)]);
    let one = |name: &str, range: &str| {
        format!("{{name: {name}, bundle: {{reference: acme/db:v1.0.0, version: '{range}'}}}}")
    };
    let (a, b) = (one("a", "1.x"), one("b", ">=1.0.0"));
    for name in ["a.size", "b.size"] {
        let context = answering(&[(name, "big")], RequirementContext::default());
        let first = deployed(&catalog, &[&a, &b], &context);
        assert!(first.unmapped.is_empty(), "{name}: {:?}", first.unmapped);
        assert_eq!(names(&first), ["a"], "{name}");
        let second = deployed(&catalog, &[&b, &a], &answering(&[(name, "bigger")], after(&first)));
        assert_eq!(names(&second), ["a"], "{name}");
    }
    let pass = |name: &str| format!("{{name: {name}, bundle: acme/pass, sharing: {{mode: none}}}}");
    let passed = deployed(&catalog, &[&pass("a"), &pass("b")], &RequirementContext::default());
    assert_eq!(names(&passed), ["a/key", "a", "b"]);
}
