//! Reference fields of managed resources (SPEC §7 [X]).
//!
//! A test that begins with an id, such as `ref_18`, shows a case of Crossplane's resolution of
//! references; the others are in the engine's tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_model::{
    Absent, Attribute, Definition, Dependency, Deployment, Entries, FieldReference, Location, Manifest, Map,
    Modifiers, Path, Piece, Placeholder, Reference, ResourceId, Target, TargetSelector, Template, TypeName,
    Value,
};
use serde_json::json;

use crate::testing::{KnownOutputs, definition, has, show, tell, try_build};
use crate::{EdgeKind, Graph};

/// A reference field: its target and its form.
#[derive(Clone)]
struct Field {
    type_name: Option<&'static str>,
    which: TargetSelector,
    read: Attribute,
    optional: bool,
    /// The namespace, if the field names one.
    namespace: Option<&'static str>,
}

fn path(text: &str) -> Path {
    Path(text.split('.').map(Into::into).collect())
}

fn labels(labels: &[(&str, &str)]) -> BTreeMap<Arc<str>, Arc<str>> {
    labels.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// `NAME` or `TYPE NAME`.
fn named(text: &'static str) -> Field {
    let (type_name, name) = text.split_once(' ').map_or((None, text), |(kind, name)| (Some(kind), name));
    let read = Attribute::Output(path("id"));
    Field { type_name, which: TargetSelector::Named(name.into()), read, optional: false, namespace: None }
}

fn selected(type_name: Option<&'static str>, all: bool, by: &[(&str, &str)]) -> Field {
    let which =
        if all { TargetSelector::AllLabelled(labels(by)) } else { TargetSelector::Labelled(labels(by)) };
    Field { type_name, which, ..named("x") }
}

fn target(id: &str, name: &str, field: &Field) -> Target {
    let own = id.split_once('/').map(|(namespace, _)| namespace);
    Target {
        type_name: field.type_name.map(|name| TypeName::new(name).expect("a type")),
        hint: field.type_name.is_none().then(|| name.into()),
        in_namespace: field.namespace.is_some(),
        namespace: field.namespace.or(own).map(Into::into),
        which: field.which.clone(),
    }
}

/// A manifest `TYPE ID`; its fields are at lines 2, 3 and so on.
fn manifest(name: &str, fields: &[(&str, Field)]) -> Manifest {
    let (kind, id) = name.split_once(' ').expect("a type and an id");
    let params = fields.iter().zip(2..).map(|((field, reference), line)| {
        let modifiers = reference
            .optional
            .then(|| Box::new(Modifiers { absent: Absent::LeftOut, ..Modifiers::default() }));
        let field_reference = Reference::Field(Arc::new(FieldReference {
            target: target(id, field, reference),
            read: reference.read.clone(),
        }));
        let place = Location::new(id, line, 1);
        let placeholder = Placeholder::new(field_reference, modifiers, &format!("{field}Ref"), place);
        (Arc::from(*field), Template::Text([Piece::Placeholder(placeholder)].into()))
    });
    let (namespace, own) = id.split_once('/').map_or((None, id), |(ns, own)| (Some(ns.into()), own));
    Manifest {
        api_version: "acme.dev/v1".into(),
        kind: kind.into(),
        type_name: TypeName::new(kind).expect("a type"),
        namespace,
        name: own.into(),
        id: ResourceId::new(id).expect("an id"),
        around: Map::from_iter([("kind".into(), Value::from(kind))]),
        under: purlin_model::ParamsPosition::Spec,
        labels: labels(&[("own", own), ("tier", "web")]),
        params: Arc::new(Template::Map(Box::new(params.collect::<Entries<_>>()))),
        references: Arc::default(),
        depends_on: Vec::new(),
        location: Location::new(id, 1, 1),
    }
}

fn definitions() -> Vec<Definition> {
    vec![definition("all", "*", json!({"values": {"spec": "${params}"}}))]
}

fn build(manifests: Vec<Manifest>) -> Result<Graph, String> {
    let deployment = Deployment { manifests, ..Deployment::default() };
    try_build(definitions(), deployment).map_err(|faults| tell(&faults))
}

fn inputs(graph: &Graph, key: &str, outputs: &[(&str, Value)]) -> serde_json::Value {
    let node = graph.find(key).expect("a node");
    let inputs = graph.evaluate(node, &KnownOutputs::new(graph, outputs)).expect("evaluates");
    inputs.values.reveal_marked(&mut |_, _| {})["spec"].clone()
}

#[test]
fn a_name_is_an_edge_and_reads_an_output() {
    let graph = build(vec![
        manifest("subnet cool/s", &[("vpcId", named("v")), ("typed", named("vpc v"))]),
        manifest("vpc cool/v", &[]),
        manifest("vpc other/v", &[]),
        manifest("other v", &[]),
    ])
    .expect("a graph");
    assert_eq!(
        show(&graph).lines().next(),
        Some("subnet.default#cool/s -> vpc.default#cool/v ref"),
        "the one in its own namespace"
    );
    let done = [("vpc.default#cool/v", json!({"id": "vpc-1"}).into())];
    let expected = json!({"vpcId": "vpc-1", "typed": "vpc-1"});
    assert_eq!(inputs(&graph, "subnet.default#cool/s", &done), expected);
    let subnet = graph.find("subnet.default#cool/s").expect("a node");
    let reasons = graph.reasons(subnet, graph.dependencies(subnet)[0]);
    let lines: Vec<u32> = reasons.iter().filter_map(|r| r.location.as_ref()).map(|at| at.line).collect();
    assert_eq!(lines, [2, 3]);
}

#[test]
fn ref_18_labels_select_values_sorted_by_value_and_never_the_selecting_one() {
    let (graph, done) = labelled();
    assert_eq!(inputs(&graph, "subnet.default#a", &done), json!({"peers": ["y", "z"]}));
    assert_eq!(inputs(&graph, "subnet.default#c", &done), json!({"one": "z"}));
    assert!(has(&graph, "subnet.default#a", "subnet.default#c", EdgeKind::Ref));
}

#[test]
fn ref_20_equal_values_of_two_resources_are_both_kept() {
    // Crossplane keeps one of them.
    let (graph, done) = labelled();
    let done = done.map(|(key, _)| (key, json!({"id": "y"}).into()));
    assert_eq!(inputs(&graph, "subnet.default#a", &done), json!({"peers": ["y", "y"]}));
}

/// `a` selects `b` and `c`, whose ids sort in reverse.
fn labelled() -> (Graph, [(&'static str, Value); 2]) {
    let web = [("tier", "web")];
    let graph = build(vec![
        manifest("subnet a", &[("peers", selected(Some("subnet"), true, &web))]),
        manifest("subnet b", &[]),
        manifest("subnet c", &[("one", selected(None, false, &[("own", "b")]))]),
        manifest("vpc d", &[]),
    ])
    .expect("a graph");
    let done =
        [("subnet.default#b", json!({"id": "z"}).into()), ("subnet.default#c", json!({"id": "y"}).into())];
    (graph, done)
}

#[test]
fn missing_targets_are_waited_for_or_left_out() {
    let optional = |field: Field| Field { optional: true, ..field };
    let graph = build(vec![
        manifest(
            "subnet a",
            &[
                ("need", named("vpc later")),
                ("want", optional(named("vpc never"))),
                ("all", optional(selected(None, true, &[("no", "one")]))),
                ("some", selected(None, true, &[("no", "one")])),
            ],
        ),
        manifest("vpc late", &[]),
    ])
    .expect("a graph");
    let missing: Vec<String> = graph
        .missing()
        .iter()
        .map(|missing| {
            format!("{} {} {} {:?}", missing.location, missing.field, missing.target, missing.near)
        })
        .collect();
    assert_eq!(
        missing,
        [
            "a:2:1 needRef vpc `later` Some(\"vpc.default#late\")",
            "a:5:1 someRef any manifest with `no: one` None"
        ]
    );
    let node = graph.find("subnet.default#a").expect("a node");
    let values = graph.evaluate(node, &KnownOutputs::default()).expect("evaluates").values;
    let Value::Map(map) = values else { panic!("a map") };
    let Some(Value::Map(spec)) = map.get("spec") else { panic!("a map") };
    assert_eq!(spec.keys().map(|key| &**key).collect::<Vec<_>>(), ["need", "some"]);
    assert!(spec.values().all(|value| *value == Value::unknown()));
}

#[test]
fn ambiguous_references_wait_and_name_all_candidates() {
    let graph = build(vec![
        manifest("subnet a", &[("target", named("x")), ("one", selected(None, false, &[("own", "x")]))]),
        manifest("vpc x", &[]),
        manifest("net x", &[]),
    ])
    .expect("a graph");
    let faults: Vec<_> = graph.missing().iter().map(crate::Missing::report).collect();
    assert!(faults.iter().all(purlin_model::Diagnostic::is_error));
    assert_eq!(
        tell(&faults),
        "a:2:1+9 ambiguous-reference: `targetRef` can mean any of 2 resources\n  x:1:1: `net.default#x`\n  x:1:1: \
         `vpc.default#x`\n  help: describe the field in a ResourceType: `x-reference: {type: TYPE}`\na:3:1+6 \
         ambiguous-reference: `oneRef` can mean any of 2 resources\n  x:1:1: `net.default#x`\n  x:1:1: \
         `vpc.default#x`\n  help: describe the field in a ResourceType: `x-reference: {type: TYPE}`\n"
    );
}

fn is_a_loop(manifests: Vec<Manifest>, way: &str) {
    let fault = build(manifests).expect_err("a loop");
    assert!(fault.contains(&format!("resources depend on each other in a loop: {way}")), "{fault}");
    assert!(fault.contains("(ref)"), "{fault}");
}

#[test]
fn ref_24_a_reference_to_itself_is_rejected() {
    // Crossplane waits for it forever.
    is_a_loop(vec![manifest("a x", &[("own", named("a x"))])], "`a.default#x` → `a.default#x`");
}

/// The targets of the edges from a resource, and the texts of those that it waits for.
fn targets(manifests: Vec<Manifest>, from: &str) -> Vec<String> {
    let graph = build(manifests).expect("a graph");
    let node = graph.find(from).expect("a node");
    let key = |node: &crate::NodeId| graph.key(*node).expect("a key").to_string();
    let edges = graph.dependencies(node).iter().map(key);
    let missing = graph.missing().iter().map(|missing| {
        let fault = missing.report();
        format!("{} ({})", fault.message, fault.help.unwrap_or_default())
    });
    edges.chain(missing).collect()
}

#[test]
fn the_kind_in_the_name_of_a_field_decides_and_never_the_resource_itself() {
    let all = || {
        vec![
            manifest("dns/dns-record x", &[("zoneName", named("x")), ("other", named("y"))]),
            manifest("other y", &[]),
        ]
    };
    // Alone, it waits for a target that may come later.
    assert_eq!(
        targets(all(), "dns/dns-record.default#x"),
        ["other.default#y", "no document declares manifest `x` ()"]
    );
    let with = |more: &[&str]| {
        let more = more.iter().map(|name| manifest(name, &[]));
        targets(all().into_iter().chain(more).collect(), "dns/dns-record.default#x")
    };
    assert_eq!(with(&["zone x"]), ["other.default#y", "zone.default#x"]);
    assert_eq!(with(&["zone x", "vpc x", "net x"]), ["other.default#y", "zone.default#x"]);
    // Nothing else has the name.
    assert_eq!(with(&["vpc x"]), ["other.default#y", "vpc.default#x"]);
    let fields = [("vpcId", selected(None, false, &[("tier", "web")]))];
    let labelled = vec![manifest("subnet a", &fields), manifest("vpc v", &[]), manifest("net n", &[])];
    assert_eq!(targets(labelled, "subnet.default#a"), ["vpc.default#v"]);
    let fields = [("subnetIds", selected(None, true, &[("tier", "web")]))];
    let labelled = [("group g", &fields[..]), ("subnet a", &[]), ("subnet b", &[]), ("vpc v", &[])];
    let labelled = labelled.iter().map(|(name, fields)| manifest(name, fields)).collect();
    assert_eq!(targets(labelled, "group.default#g"), ["subnet.default#a", "subnet.default#b"]);
}

#[test]
fn a_written_namespace_is_never_passed_over() {
    let into = |name: &'static str, namespace| Field { namespace: Some(namespace), ..named(name) };
    let of = |field: Field, others: &[&str]| {
        let others = others.iter().map(|name| manifest(name, &[]));
        let all = std::iter::once(manifest("subnet own/a", &[("vpcId", field)])).chain(others).collect();
        targets(all, "subnet.default#own/a")
    };
    for (typed, what) in [("v", "manifest"), ("vpc v", "vpc")] {
        assert_eq!(of(named(typed), &["vpc v", "vpc own/v"]), ["vpc.default#own/v"]);
        // One that is only assumed falls back to none, as kinds without namespaces need it.
        assert_eq!(of(named(typed), &["vpc v"]), ["vpc.default#v"]);
        assert_eq!(
            of(into(typed, "cool"), &["vpc v"]),
            [format!("no document declares {what} `cool/v` (`v` is in no namespace: leave `namespace` out)")]
        );
        assert_eq!(of(into(typed, "cool"), &["vpc v", "vpc cool/v"]), ["vpc.default#cool/v"]);
        assert_eq!(
            of(named(typed), &["vpc other/v"]),
            [format!(
                "no document declares {what} `own/v` (`v` is in another namespace: add `namespace: other`)"
            )]
        );
    }
    // The kind of the field comes before the namespace.
    assert_eq!(of(named("v"), &["net own/v", "vpc v"]), ["vpc.default#v"]);
}

#[test]
fn a_similar_name_is_neither_the_resource_itself_nor_of_another_kind() {
    let of = |more: &[&str]| {
        let fields = [("vpcId", named("v0")), ("typed", named("vpc v9"))];
        let more = more.iter().map(|name| manifest(name, &[]));
        let all = std::iter::once(manifest("vpc v1", &fields)).chain(more).collect();
        targets(all, "vpc.default#v1")
    };
    let missing = |v0: &str, v9: &str| {
        [
            format!("no document declares manifest `v0` ({v0})"),
            format!("no document declares vpc `v9` ({v9})"),
        ]
    };
    assert_eq!(of(&["subnet v2", "net v3"]), missing("", ""));
    assert_eq!(of(&["subnet v2", "vpc v4"]), missing("did you mean `v4`?", "did you mean `v4`?"));
}

#[test]
fn ref_25_a_loop_of_references_is_rejected_optional_or_not() {
    // Crossplane waits for it forever, unless one of the references is optional.
    for optional in [false, true] {
        let back = Field { optional, ..named("a x") };
        let loop_of_two = vec![manifest("a x", &[("b", named("b y"))]), manifest("b y", &[("a", back)])];
        is_a_loop(loop_of_two, "`a.default#x` → `b.default#y` → `a.default#x`");
    }
}

#[test]
fn an_empty_value_is_a_fault_or_left_out() {
    for empty in [json!(null), json!("")] {
        let optional = Field { optional: true, ..named("v") };
        let graph = build(vec![
            manifest("subnet a", &[("vpcId", named("v"))]),
            manifest("subnet b", &[("vpcId", optional)]),
            manifest("vpc v", &[]),
        ])
        .expect("a graph");
        let done = [("vpc.default#v", json!({"id": empty}).into())];
        assert_eq!(inputs(&graph, "subnet.default#b", &done), json!({}));
        let node = graph.find("subnet.default#a").expect("a node");
        let faults =
            graph.evaluate(node, &KnownOutputs::new(&graph, &done)).map(|_| ()).expect_err("a fault");
        assert_eq!(
            tell(&faults),
            "a:2:1+8 empty-reference: `id` of `vpc.default#v` is empty\n  help: if the field may be left out, \
             write `policy: {resolution: Optional}`\n"
        );
        let empty = graph.empty_references(node, &KnownOutputs::new(&graph, &done));
        assert_eq!((empty.len(), empty[0].path.as_str()), (1, "id"));
        assert_eq!(graph.key(empty[0].target).map(purlin_model::Key::as_str), Some("vpc.default#v"));
    }
}

#[test]
fn composite_attributes_are_built_from_what_is_known_first() {
    let part = |text: &str| Field { read: Attribute::Field(path(text)), ..named("net main") };
    let mut net = manifest("net main", &[]);
    net.params = Arc::new(Template::Constant(json!({"project": "p1", "own": {"a": 1}}).into()));
    let fields = ["name", "project", "own.a", "region"].map(|name| (name, part(name)));
    let graph = build(vec![net, manifest("subnet s", &fields)]).expect("a graph");
    let done = [("net.default#main", json!({"region": "r1", "project": "other"}).into())];
    assert_eq!(
        inputs(&graph, "subnet.default#s", &done),
        json!({"name": "main", "project": "p1", "own.a": 1, "region": "r1"})
    );
}

#[test]
fn an_ambiguous_dependency_requires_the_kind() {
    let mut a = manifest("a x", &[]);
    a.depends_on = vec![Dependency {
        target: Target { hint: None, ..target("x", "", &named("y")) },
        blocking: true,
        optional: false,
        location: Location::new("x", 9, 1),
    }];
    let graph = build(vec![a, manifest("b y", &[]), manifest("c y", &[])]).expect("a graph");
    let fault = tell(&[graph.missing()[0].report()]);
    assert!(fault.contains("`depends-on: y` can mean any of 2 resources"), "{fault}");
    assert!(fault.contains("help: add the `kind` of the one that is meant"), "{fault}");
}

#[test]
fn dependencies_may_block_or_not() {
    let mut a = manifest("a x", &[]);
    let dependency = |named_as: &'static str, blocking, optional| Dependency {
        target: target("x", "", &named(named_as)),
        blocking,
        optional,
        location: Location::new("x", 9, 1),
    };
    a.depends_on = vec![
        dependency("b y", true, false),
        dependency("c z", false, false),
        dependency("d no", true, true),
        dependency("d later", true, false),
    ];
    // Without an order, each may wait for the other.
    let mut c = manifest("c z", &[]);
    c.depends_on = vec![dependency("a x", false, false)];
    let graph = build(vec![a, manifest("b y", &[]), c]).expect("a graph");
    assert!(has(&graph, "a.default#x", "b.default#y", EdgeKind::DependsOn));
    assert_eq!(graph.edge_count(), 1);
    let key = |node| graph.key(node).expect("a node").as_str();
    let non_blocking_dependencies: Vec<_> =
        graph.non_blocking_dependencies().iter().map(|(a, b)| (key(*a), key(*b))).collect();
    assert_eq!(non_blocking_dependencies, [("a.default#x", "c.default#z"), ("c.default#z", "a.default#x")]);
    let missing: Vec<&str> = graph.missing().iter().map(|missing| &*missing.field).collect();
    assert_eq!(missing, ["depends-on: later"]);
    let (from, to) = (graph.find("a.default#x").expect("a"), graph.find("b.default#y").expect("b"));
    assert_eq!(graph.reasons(from, to)[0].location.as_ref().map(|at| at.line), Some(9));
}
