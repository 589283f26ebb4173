//! Tests with a folder of real manifests: each of their references becomes an edge or is reported,
//! and the folder is applied and deleted in the order of the references (SPEC §7).

mod scan;

use std::collections::{BTreeMap, BTreeSet};

use purlin_systems::Project;
use serde_json::Value;

use scan::{FileLine, Manifest, Meant, Outcomes, Texts};

/// A driver for all kinds, which returns the values that references read.
const PLATFORM: &str = "\
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: stand-in}
spec:
  type: '*'
  driver: purlin/echo
  inputs:
    values: {id: '${context.res.guresid}', arn: 'arn:${context.res.guresid}', spec: '${params}'}
  criteria: [{}]
";

/// The files of the corpus, if it exists.
fn corpus() -> Option<Texts> {
    purlin_corpus::find("manifests/provider-aws").map(|folder| scan::texts(&folder))
}

/// The corpus without duplicate manifests, and without files with ambiguous references.
fn clear() -> Option<Texts> {
    let mut texts = corpus()?;
    leave_out_repeated(&mut texts);
    leave_out_ambiguous(&mut texts);
    Some(texts)
}

/// Removes duplicate manifests. All other manifests keep their lines.
fn leave_out_repeated(texts: &mut Texts) {
    for repeated in scan::repeated(&scan::manifests(texts)) {
        let text = texts.get_mut(&repeated.file).expect("a file");
        let lines = (1..).zip(text.lines());
        let kept: Vec<&str> =
            lines.map(|(number, line)| if repeated.lines.contains(&number) { "#" } else { line }).collect();
        *text = kept.join("\n");
    }
}

/// Removes the files with ambiguous references.
fn leave_out_ambiguous(texts: &mut Texts) {
    for (file, _) in scan::outcomes(&scan::manifests(texts)).ambiguous {
        texts.remove(&file);
    }
}

fn project(texts: &Texts) -> Project {
    let project = Project::empty();
    project.write(
        "purlin.yaml",
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {defaults: {app: shop, env: dev}}\n",
    );
    project.write("platform.yaml", PLATFORM);
    for (name, text) in texts {
        project.write(&format!("aws/{name}"), text);
    }
    project
}

/// The places at which `purlin validate` reports a code, with their severity.
fn reported(texts: &Texts, code: &str) -> Vec<(String, FileLine)> {
    let ran = project(texts).run(&["validate", "--format", "json"]);
    let report = ran.json();
    let faults = report["diagnostics"].as_array().expect("diagnostics");
    let of_code = faults.iter().filter(|fault| fault["code"] == code);
    let mut found: Vec<_> = of_code.map(|fault| (word(&fault["severity"]), place(fault))).collect();
    found.sort();
    found
}

fn word(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn place(fault: &Value) -> FileLine {
    let file = word(&fault["file"]);
    (file.strip_prefix("aws/").unwrap_or(&file).to_owned(), fault["line"].as_u64().expect("a line"))
}

fn all_are(severity: &str, places: impl IntoIterator<Item = FileLine>) -> Vec<(String, FileLine)> {
    let mut places: Vec<_> = places.into_iter().map(|place| (severity.to_owned(), place)).collect();
    places.sort();
    places
}

/// The numbers of manifests, by their keys in a graph.
fn numbers(graph: &Value, manifests: &[Manifest]) -> BTreeMap<String, usize> {
    let declared: BTreeMap<FileLine, usize> = (0..)
        .zip(manifests)
        .map(|(number, manifest)| ((manifest.file.clone(), manifest.named_at), number))
        .collect();
    let nodes = graph["nodes"].as_array().expect("nodes");
    let number = |node: &Value| {
        let at = node["origin"][0]["at"].as_str()?.strip_prefix("aws/")?;
        let mut parts = at.split(':');
        let place = (parts.next()?.to_owned(), parts.next()?.parse().ok()?);
        Some((word(&node["key"]), *declared.get(&place)?))
    };
    let numbers: BTreeMap<_, _> = nodes.iter().filter_map(number).collect();
    assert_eq!(numbers.len(), manifests.len(), "each manifest is a resource");
    numbers
}

fn graph(project: &Project) -> Value {
    project.run(&["graph", "--format", "json"]).status(0).json()
}

#[test]
fn each_reference_is_an_edge_or_is_reported() {
    let Some(mut texts) = corpus() else { return };
    let all = scan::manifests(&texts);
    let repeated = scan::repeated(&all).into_iter().map(|it| (it.file.clone(), it.named_at));
    assert_eq!(reported(&texts, "duplicate-document"), all_are("error", repeated));
    leave_out_repeated(&mut texts);

    let ambiguous = scan::outcomes(&scan::manifests(&texts)).ambiguous;
    let files: BTreeSet<&String> = ambiguous.iter().map(|(file, _)| file).collect();
    assert_eq!((ambiguous.len(), files.len()), (0, 0));
    assert_eq!(reported(&texts, "ambiguous-reference"), all_are("error", ambiguous.clone()));
    leave_out_ambiguous(&mut texts);

    let manifests = scan::manifests(&texts);
    let Outcomes { edges, resolved, missing, .. } = scan::outcomes(&manifests);
    assert_eq!((manifests.len(), resolved, edges.len(), missing.len()), (167, 138, 138, 11));
    let missing = missing.into_iter().map(|(_, place, _)| place);
    assert_eq!(reported(&texts, "missing-target"), all_are("warning", missing));

    let graph = graph(&project(&texts));
    let numbers = numbers(&graph, &manifests);
    let number = |key: &Value| numbers.get(key.as_str().expect("a key")).copied();
    let of_kind = |kind: &str| -> BTreeSet<(usize, usize)> {
        let edges = graph["edges"].as_array().expect("edges").iter();
        let edges = edges.filter(|edge| edge["kinds"].as_array().expect("kinds").iter().any(|it| it == kind));
        edges.filter_map(|edge| Some((number(&edge["from"])?, number(&edge["to"])?))).collect()
    };
    assert_eq!(of_kind("ref"), edges);
    assert_eq!(of_kind("depends-on"), scan::providers(&manifests));
}

/// Declares a manifest for each of these targets.
fn declared(meant: &BTreeSet<Meant>) -> String {
    let metadata = (0..).zip(meant).map(|(number, meant)| match meant {
        Meant::Named(name) => serde_json::json!({"name": name.name, "namespace": name.namespace}),
        Meant::Labelled(labels) => serde_json::json!({"name": format!("late-{number}"), "labels": labels}),
    });
    let document =
        |metadata| format!("---\napiVersion: late.example.org/v1\nkind: Late\nmetadata: {metadata}\n");
    metadata.map(document).collect()
}

/// Runs a command that must end with this status, and returns its events.
fn run(project: &Project, command: &str, status: i32) -> Vec<Value> {
    project.run(&[command, "--yes", "--format", "json"]).status(status).events()
}

/// The keys of the events of a phase, in order.
fn keys<'a>(events: &'a [Value], phase: &str) -> Vec<&'a str> {
    let of_phase = events.iter().filter(|event| event["phase"] == phase);
    of_phase.filter_map(|event| event["key"].as_str()).collect()
}

/// Asserts that the first key of each pair comes before the second. Returns the number of pairs
/// whose keys both have events.
///
/// The event `succeeded` means that the result is durable, and the call for the next resource does
/// not wait for that. Therefore, each phase is compared only with itself.
fn in_order(events: &[Value], pairs: impl Iterator<Item = (String, String)>) -> usize {
    let at = |key: &str, phase: &str| {
        events.iter().position(|event| event["key"] == key && event["phase"] == phase)
    };
    let both = pairs.filter(|(first, then)| {
        ["started", "succeeded"].iter().all(|phase| match (at(first, phase), at(then, phase)) {
            (Some(one), Some(other)) => {
                assert!(one < other, "`{then}` has {phase} before `{first}` has");
                true
            }
            _ => false,
        })
    });
    both.count()
}

#[test]
fn the_corpus_is_applied_where_possible_and_deleted_in_order() {
    let Some(texts) = clear() else { return };
    let manifests = scan::manifests(&texts);
    let Outcomes { edges, missing, .. } = scan::outcomes(&manifests);
    let needs = &edges | &scan::providers(&manifests);
    let waiting = scan::with_dependents(missing.iter().map(|(owner, ..)| *owner), &needs);
    let project = project(&texts);
    let numbers = numbers(&graph(&project), &manifests);
    let numbered = |keys: Vec<&str>| -> BTreeSet<usize> {
        keys.into_iter().filter_map(|key| numbers.get(key).copied()).collect()
    };
    let named: BTreeMap<usize, &String> = numbers.iter().map(|(key, number)| (*number, key)).collect();
    let pair = |(from, to): &(usize, usize)| (named[from].clone(), named[to].clone());

    // The first run applies everything that does not wait for a missing target.
    let first = run(&project, "up", 1);
    let rest: BTreeSet<usize> = (0..manifests.len()).filter(|number| !waiting.contains(number)).collect();
    assert_eq!(numbered(keys(&first, "waiting")), waiting);
    assert_eq!(numbered(keys(&first, "succeeded")), rest);
    assert_eq!((waiting.len(), rest.len()), (12, 155));
    in_order(&first, needs.iter().map(pair).map(|(from, to)| (to, from)));

    // Once the targets exist, the second run applies the rest.
    let late = declared(&missing.into_iter().map(|(.., meant)| meant).collect());
    project.write("late.yaml", &late);
    let second = run(&project, "up", 0);
    assert_eq!(numbered(keys(&second, "succeeded")), waiting);
    assert_eq!(keys(&second, "succeeded").len(), waiting.len() + late.matches("kind:").count());
    let outputs = project.run(&["outputs", "--format", "json"]).status(0).json();
    for (from, to) in edges.iter().map(pair) {
        let (spec, id) = (&outputs["resources"][&from]["spec"], &outputs["resources"][&to]["id"]);
        assert!(id.is_string() && spec.to_string().contains(&id.to_string()), "{from} reads {to}: {spec}");
    }

    let third = run(&project, "up", 0);
    assert_eq!(third.last().expect("a summary")["calls"], 0);

    // Dependents are deleted first, even though the documents are empty by now.
    for name in texts.keys() {
        project.write(&format!("aws/{name}"), "# empty\n");
    }
    let last = run(&project, "destroy", 0);
    assert_eq!(numbered(keys(&last, "succeeded")).len(), manifests.len());
    assert_eq!(in_order(&last, needs.iter().map(pair)), needs.len());
    assert_eq!(project.recorded(), Vec::<String>::new());
}
