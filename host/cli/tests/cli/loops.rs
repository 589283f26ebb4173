//! Tests of installations that use each other across environments: loops, and what becomes of an
//! own installation when a use begins in its place (SPEC §6, identity).

use purlin_systems::{Project, Ran};

/// `acme/ring` has a version that requires `acme/next`, which requires `acme/ring` or
/// `acme/third`; that one requires `acme/ring`, too. `acme/plain` can stand in for all of them.
const BUNDLES: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/ring, version: 1.0.0}
spec: {driver: purlin/echo, inputs: {values: {val: ring}}, outputs: [{name: val, type: string}]}
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/ring, version: 1.1.0}
spec:
  requires: [{name: n, bundle: {reference: 'acme/next:v1.0.0', version: 1.x, interface: {document: {outputs: [{name: val, type: string}]}}}}]
  driver: purlin/echo
  inputs: {values: {val: '${bundle.dependencies.n.outputs.val}+'}}
  outputs: [{name: val, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/next, version: 1.0.0}
spec:
  requires: [{name: r, bundle: {reference: 'acme/ring:v1.0.0', version: 1.x}}]
  driver: purlin/echo
  inputs: {values: {val: '${bundle.dependencies.r.outputs.val}-next'}}
  outputs: [{name: val, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/next, version: 1.1.0}
spec:
  requires: [{name: r, bundle: {reference: 'acme/third:v1.0.0', version: 1.x}}]
  driver: purlin/echo
  inputs: {values: {val: '${bundle.dependencies.r.outputs.val}-next'}}
  outputs: [{name: val, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/third, version: 1.0.0}
spec:
  requires: [{name: r, bundle: {reference: 'acme/ring:v1.0.0', version: 1.x}}]
  driver: purlin/echo
  inputs: {values: {val: '${bundle.dependencies.r.outputs.val}-third'}}
  outputs: [{name: val, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/plain, version: 1.0.0}
spec: {driver: purlin/echo, inputs: {values: {val: plain}}, outputs: [{name: val, type: string}]}
";

fn project() -> Project {
    let workspace = "apiVersion: purlin.dev/v1\nkind: Workspace\nmetadata: {name: w}\n";
    Project::with(&[("all.yaml", BUNDLES), ("purlin.yaml", workspace)])
}

fn up(project: &Project, bundle: &str, name: &str, more: &[&str]) -> Ran {
    let all = ["up", "--yes", "--bundle", bundle, "--name", name, "--namespace", "dev"];
    project.run(&[&all, more].concat())
}

fn destroy(project: &Project, name: &str) -> Ran {
    project.run(&["destroy", "--yes", "--app", name, "--env", "dev", "-f", "purlin.yaml"])
}

fn installations(project: &Project) -> Vec<String> {
    let out = project.run(&["installations", "list", "--format", "json"]).status(0).out;
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let all = report["installations"].as_array().expect("a list").iter();
    all.map(|one| one["id"].as_str().expect("text").to_owned()).collect()
}

fn value(project: &Project, bundle: &str, name: &str) -> String {
    let read = ["outputs", "--bundle", bundle, "--name", name, "--namespace", "dev", "--format", "json"];
    let outputs: serde_json::Value = serde_json::from_str(&project.run(&read).status(0).out).expect("JSON");
    let key = format!("installation.default#{name}");
    outputs["resources"][key]["val"].as_str().expect("text").to_owned()
}

#[test]
fn a_loop_over_two_environments_is_refused_with_its_path() {
    let project = project();
    up(&project, "acme/ring:v1.0.0", "a", &[]).status(0);
    up(&project, "acme/next:v1.0.0", "b", &[]).status(0);
    assert_eq!(value(&project, "acme/next:v1.0.0", "b"), "ring-next");
    for command in ["up", "plan"] {
        let consent: &[&str] = if command == "up" { &["--yes"] } else { &[] };
        let all = [command, "--bundle", "acme/ring:v1.1.0", "--name", "a", "--namespace", "dev"];
        let refused = project.run(&[&all, consent].concat()).status(2).err;
        assert!(refused.contains("error[environment-loop]"), "{refused}");
        let there = "`installation.default#a/n` of dev of default/a uses `installation.default#b` of dev of default/b";
        let back = "`installation.default#b/r` of dev of default/b uses `installation.default#a` of dev of default/a";
        assert!(refused.contains(there) && refused.contains(back), "{refused}");
    }
    // The advice works, and so does every later run of both.
    up(&project, "acme/ring:v1.1.0", "a", &["--with", "n=acme/plain:v1.0.0"]).status(0);
    assert_eq!(value(&project, "acme/ring:v1.1.0", "a"), "plain+");
    up(&project, "acme/next:v1.0.0", "b", &[]).status(0);
    assert_eq!(value(&project, "acme/next:v1.0.0", "b"), "plain+-next");
    for (bundle, name) in [("acme/ring:v1.1.0", "a"), ("acme/next:v1.0.0", "b")] {
        let settled = up(&project, bundle, name, &[]).status(0);
        assert!(settled.err.contains("Nothing to change"), "{}", settled.err);
    }
    destroy(&project, "b").status(0);
    destroy(&project, "a").status(0);
    assert_eq!(installations(&project), [""; 0]);
}

#[test]
fn a_loop_over_three_environments_is_refused_with_its_path() {
    let project = project();
    up(&project, "acme/ring:v1.0.0", "a", &[]).status(0);
    up(&project, "acme/third:v1.0.0", "c", &[]).status(0);
    up(&project, "acme/next:v1.1.0", "b", &[]).status(0);
    assert_eq!(value(&project, "acme/next:v1.1.0", "b"), "ring-third-next");
    let refused = up(&project, "acme/ring:v1.1.0", "a", &[]).status(2).err;
    assert!(refused.contains("error[environment-loop]"), "{refused}");
    let places: Vec<usize> = ["a/n` of dev", "b/r` of dev", "c/r` of dev"]
        .map(|part| refused.find(&format!("`installation.default#{part}")).expect(part))
        .into();
    assert!(places.is_sorted(), "{refused}");
    // What was deployed before the refusal is as it was, and goes in the order of the uses.
    let settled = up(&project, "acme/ring:v1.0.0", "a", &[]).status(0);
    assert!(settled.err.contains("Nothing to change"), "{}", settled.err);
    for name in ["b", "c", "a"] {
        destroy(&project, name).status(0);
    }
    assert_eq!(installations(&project), [""; 0]);
}

/// A file that the driver wrote shows what really exists.
const FILES: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/note, version: 1.0.0}
spec:
  parameters: [{name: path, type: string, default: own}]
  driver: purlin/file
  inputs: {values: {path: '${bundle.parameters.path}', content: note}}
  outputs: [{name: path, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/site, version: 1.0.0}
spec:
  requires: [{name: note, bundle: {reference: 'acme/note:v1.0.0', version: 1.x}, parameters: {path: '${bundle.parameters.path}'}}]
  parameters: [{name: path, type: string, default: own}]
  driver: purlin/echo
  inputs: {values: {val: '${bundle.dependencies.note.outputs.path}'}}
  outputs: [{name: val, type: string}]
";

#[test]
fn an_own_installation_becomes_a_use_and_an_own_one_again() {
    let workspace = "apiVersion: purlin.dev/v1\nkind: Workspace\nmetadata: {name: w}\nspec:\n  drivers:\n    purlin/file: {grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}}\n";
    let project = Project::with(&[("all.yaml", FILES), ("purlin.yaml", workspace)]);
    std::fs::create_dir(project.path().join("out")).expect("a folder");
    let exists = |name: &str| project.path().join("out").join(name).exists();
    let site = |name: &str, more: &[&str]| {
        let path = format!("path=/out/{name}");
        let all = ["up", "--yes", "--bundle", "acme/site", "--name", name, "--namespace", "dev"];
        project.run(&[&all[..], &["--param", &path], more].concat())
    };
    site("one", &[]).status(0);
    site("two", &[]).status(0);
    assert!(exists("one") && exists("two"));
    let settled = |name: &str| {
        let settled = site(name, &[]).status(0).err;
        assert!(settled.contains("Nothing to change"), "{settled}");
    };
    let plan = ["plan", "--bundle", "acme/site", "--name", "two", "--namespace", "dev"];
    let plan = project.run(&[&plan[..], &["--with", "note=dev/one/note"]].concat()).status(0).out;
    let reason = "it uses `installation.default#one/note` of dev of default/one in place of its own";
    assert!(plan.contains(reason), "{plan}");
    assert!(plan.contains("± ") && plan.contains("purlin/file"), "{plan}");
    site("two", &["--with", "note=dev/one/note"]).status(0);
    assert!(exists("one") && !exists("two"));
    assert_eq!(value(&project, "acme/site", "two"), "/out/one");
    settled("two");
    settled("one");
    // The use ends: the other one stays, and a new own one is made.
    let back = site("two", &["--with", "note=acme/note:v1.0.0"]).status(0);
    assert!(back.err.contains("it no longer uses `installation.default#one/note`"), "{}", back.err);
    assert!(back.err.contains("which stays") && !back.err.contains("its driver changes"), "{}", back.err);
    assert!(exists("one") && exists("two"));
    settled("two");
    settled("one");
    destroy(&project, "one").status(0);
    assert!(!exists("one") && exists("two"));
    destroy(&project, "two").status(0);
    assert!(!exists("two"));
}
