//! Tests of documents that disappear: nothing recorded is deleted because a file is empty,
//! unreadable or not named. A plan with deletions names the file responsible.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use purlin_systems::project::{Project, Ran, ran};
use serde_json::Value;

const WORKSPACE: &str =
    "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {app: shop, env: dev}\n";
const DEFINITION: &str = "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: dns}\nspec:\n  type: dns\n  driver: purlin/echo\n  inputs: {values: {host: example.test}}\n  criteria: [{}]\n";
const RESOURCE_TYPE: &str =
    "apiVersion: purlin.dev/v1\nkind: ResourceType\nmetadata: {name: dns}\nspec: {type: dns}\n";
const SCORE: &str = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: nginx}}\nresources: {site: {type: dns}}\n";
const DEPLOYMENT: &str = "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: shop}\nspec:\n  shared:\n    zone: {type: dns}\n";
const SET: &str = "modules:\n  api:\n    externals:\n      name: {type: dns}\n";

/// Files with documents, each with the kind of its contents.
const FILES: [(&str, &str, &str); 5] = [
    ("platform/dns.yaml", DEFINITION, "Definition `dns`"),
    ("platform/types.yaml", RESOURCE_TYPE, "ResourceType `dns`"),
    ("apps/web.yaml", SCORE, "Score file `web`"),
    ("apps/shop.yaml", DEPLOYMENT, "Deployment `shop`"),
    ("apps/api.yaml", SET, "Deployment Set"),
];

const WEB: [&str; 2] = ["dns.default#modules.web.externals.site", "workload.default#modules.web"];

fn written() -> Project {
    let project = Project::with(&[("purlin.yaml", WORKSPACE)]);
    FILES.iter().for_each(|(name, text, _)| project.write(name, text));
    project
}

fn deployed() -> Project {
    let project = written();
    project.run(&["up", "--yes"]).status(0);
    project
}

fn recorded(project: &Project) -> BTreeSet<String> {
    project.recorded().into_iter().collect()
}

/// Asserts that nothing is planned or changed, and that the message names the file.
#[track_caller]
fn refused(project: &Project, options: &[&str], names: &[&str]) -> String {
    let before = recorded(project);
    let all = |command: &str, more: &[&str]| -> Ran {
        let words: Vec<&str> =
            [command].into_iter().chain(options.iter().copied()).chain(more.iter().copied()).collect();
        project.run(&words)
    };
    let plan = all("plan", &[]).status(2);
    assert_eq!(plan.out, "");
    let up = all("up", &["--yes"]).status(2);
    for name in names {
        assert!(up.err.contains(name), "`{name}` is not in\n{}", up.err);
        assert!(plan.err.contains(name), "`{name}` is not in\n{}", plan.err);
    }
    assert_eq!(recorded(project), before);
    let events = all("up", &["--yes", "--format", "json"]).status(2).events();
    assert_eq!(events.last().expect("an event")["event"], "error");
    up.err
}

#[track_caller]
fn codes(project: &Project, options: &[&str]) -> BTreeSet<String> {
    let words: Vec<&str> = ["plan", "--format", "json"].iter().chain(options).copied().collect();
    let report = project.run(&words).status(2).json();
    let faults = report["error"]["diagnostics"].as_array().expect("diagnostics").clone();
    faults.iter().map(|fault| fault["code"].as_str().expect("a code").to_owned()).collect()
}

/// The resources that are deleted with `--accept-missing`.
#[track_caller]
fn accepted(project: &Project, options: &[&str]) -> BTreeSet<String> {
    let before = recorded(project);
    let words: Vec<&str> = ["up", "--yes"].iter().chain(options).copied().collect();
    project.run(&words).status(0);
    before.difference(&recorded(project)).cloned().collect()
}

/// The reasons for the deletions of a plan, by key.
#[track_caller]
fn reasons(project: &Project, options: &[&str]) -> Vec<(String, String)> {
    let words: Vec<&str> = ["plan", "--format", "json"].iter().chain(options).copied().collect();
    let plan = project.run(&words).status(0).json();
    let steps = plan["steps"].as_array().expect("steps").clone();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    steps
        .iter()
        .filter(|step| step["action"] == "delete")
        .map(|step| (text(&step["key"]), text(&step["reasons"][0]["message"])))
        .collect()
}

fn owned(keys: &[&str]) -> BTreeSet<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// Contents without a document, as mistakes leave them.
const TEXTS: [(&str, &[u8]); 9] = [
    ("nothing", b""),
    ("a line break", b"\n"),
    ("a mark of the byte order", b"\xef\xbb\xbf"),
    ("comments", b"# was: something\n# else\n"),
    ("separators", b"---\n---\n"),
    ("another group", b"apiVersion: example.org/v1\nkind: Thing\nspec: {}\n"),
    ("JSON of others", b"{\"name\": \"web\", \"version\": 1}"),
    ("a pointer of Git LFS", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"),
    ("a word", b"moved\n"),
];

#[test]
fn a_file_that_no_longer_contains_a_document_is_rejected() {
    let project = deployed();
    for (file, text, kind) in FILES {
        for (what, emptied) in TEXTS {
            project.write(file, emptied);
            let message = refused(&project, &[], &[file]);
            // Some contents are faults by themselves; the others cause this fault.
            if message.contains("file-without-documents") {
                assert!(
                    message.contains(&format!("contained the {kind} in deployment 1")),
                    "{what}\n{message}"
                );
                assert!(message.contains(&format!("--accept-missing {file}")), "{what}\n{message}");
                assert!(codes(&project, &[]).contains("file-without-documents"));
            } else {
                assert!(
                    ["another group", "JSON of others", "a pointer of Git LFS", "a word"].contains(&what),
                    "{what}\n{message}"
                );
            }
            project.write(file, text);
        }
    }
    assert!(reasons(&project, &[]).is_empty());
}

#[test]
fn an_emptied_file_reads_well() {
    let project = deployed();
    project.write("apps/web.yaml", "# for now\n");
    project.write("platform/types.yaml", "");
    insta::assert_snapshot!(refused(&project, &[], &[]));
}

#[test]
fn accepted_deletions_are_made_and_not_reported_again() {
    let project = deployed();
    project.write("apps/web.yaml", "");
    refused(&project, &[], &["apps/web.yaml"]);
    refused(&project, &["--accept-missing", "apps/api.yaml"], &["apps/web.yaml"]);
    assert_eq!(
        reasons(&project, &["--accept-missing", "apps/web.yaml"]),
        [
            (
                WEB[1].to_owned(),
                "`apps/web.yaml`, which declared it in deployment 1, no longer contains a document".to_owned()
            ),
            (
                WEB[0].to_owned(),
                "`apps/web.yaml`, which declared its workload `web` in deployment 1, no longer contains a document"
                    .to_owned()
            ),
        ]
    );
    assert_eq!(accepted(&project, &["--accept-missing", "./apps/../apps/web.yaml"]), owned(&WEB));
    project.run(&["up", "--yes"]).status(0);
    // A file without resources can be accepted permanently as well.
    project.write("platform/types.yaml", "");
    refused(&project, &[], &["platform/types.yaml"]);
    assert_eq!(accepted(&project, &["--accept-missing", "platform"]), owned(&[]));
    project.run(&["up", "--yes"]).status(0);
}

#[test]
fn a_file_replaced_by_something_else_is_rejected() {
    let project = deployed();
    for (file, text, _) in FILES {
        let path = project.path().join(file);
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("made");
        refused(&project, &[], &[file]);
        fs::remove_dir(&path).expect("removed");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("nowhere.yaml", &path).expect("linked");
            refused(&project, &[], &[file]);
            fs::remove_file(&path).expect("removed");
        }
        project.write(file, text);
    }
    fs::remove_file(project.path().join("apps/web.yaml")).expect("removed");
    fs::create_dir(project.path().join("apps/web.yaml")).expect("made");
    assert_eq!(accepted(&project, &["--accept-missing", "apps/web.yaml"]), owned(&WEB));
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_is_rejected() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = deployed();
    let path = project.path().join("apps/web.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).expect("set");
    if fs::read(&path).is_err() {
        refused(&project, &[], &["apps/web.yaml"]);
    }
}

#[test]
fn a_folder_replaced_by_something_else_is_rejected() {
    let project = deployed();
    let (apps, away) = (project.path().join("apps"), project.path().join("../away"));
    let away = away.with_file_name(format!("away-{}", std::process::id()));
    fs::rename(&apps, &away).expect("moved");
    fs::write(&apps, "").expect("written");
    refused(&project, &[], &["apps/web.yaml", "apps/shop.yaml", "apps/api.yaml"]);
    fs::remove_file(&apps).expect("removed");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", &apps).expect("linked");
        refused(&project, &[], &["apps"]);
        fs::remove_file(&apps).expect("removed");
    }
    fs::rename(&away, &apps).expect("moved");
    project.run(&["up", "--yes"]).status(0);
}

#[test]
fn a_removed_file_is_reported_with_its_resources() {
    for away in [None, Some("apps/web.yaml.bak"), Some("apps/web.yaml.orig"), Some("apps/.old/web.yaml")] {
        let project = deployed();
        let file = project.path().join("apps/web.yaml");
        match away {
            None => fs::remove_file(&file).expect("removed"),
            Some(away) => {
                let away = project.path().join(away);
                fs::create_dir_all(away.parent().expect("a folder")).expect("made");
                fs::rename(&file, away).expect("moved");
            }
        }
        assert_eq!(
            reasons(&project, &[]),
            [
                (
                    WEB[1].to_owned(),
                    "`apps/web.yaml`, which declared it in deployment 1, was removed".to_owned()
                ),
                (
                    WEB[0].to_owned(),
                    "`apps/web.yaml`, which declared its workload `web` in deployment 1, was removed"
                        .to_owned()
                ),
            ]
        );
        assert_eq!(accepted(&project, &[]), owned(&WEB));
    }
}

#[test]
fn a_file_that_was_moved_takes_nothing_along() {
    let project = deployed();
    fs::rename(project.path().join("apps/web.yaml"), project.path().join("apps/site.yaml")).expect("moved");
    assert!(reasons(&project, &[]).is_empty());
    fs::rename(project.path().join("apps"), project.path().join("software")).expect("moved");
    assert!(reasons(&project, &[]).is_empty());
    // Two files are merged, and the other one is left empty.
    project.write("software/api.yaml", format!("{SET}---\n{SCORE}"));
    project.write("software/site.yaml", "");
    assert!(reasons(&project, &[]).is_empty());
    project.run(&["up", "--yes"]).status(0);
}

#[test]
fn a_document_that_left_a_file_with_others_is_reported() {
    let both = format!("{SCORE}---\n{DEPLOYMENT}");
    let project = Project::with(&[("purlin.yaml", WORKSPACE), ("dns.yaml", DEFINITION), ("all.yaml", &both)]);
    project.run(&["up", "--yes"]).status(0);
    project.write(
        "all.yaml",
        format!("# {}---\n{DEPLOYMENT}", SCORE.replace('\n', "\n# ").trim_end_matches("# ")),
    );
    let why = "`all.yaml` declared it in deployment 1, and no longer does";
    assert_eq!(reasons(&project, &[])[0], (WEB[1].to_owned(), why.to_owned()));
    // Two files contain documents with the same name, and one of them is lost.
    let other = DEPLOYMENT.replace("zone", "www");
    let project = Project::with(&[
        ("purlin.yaml", WORKSPACE),
        ("dns.yaml", DEFINITION),
        ("a.yaml", DEPLOYMENT),
        ("b.yaml", &other),
    ]);
    project.run(&["up", "--yes"]).status(0);
    project.write("a.yaml", "");
    project.write("b.yaml", format!("{other}    more: {{type: dns}}\n"));
    refused(&project, &[], &["a.yaml"]);
}

#[test]
fn removed_resources_are_reported_with_their_former_place() {
    let project = deployed();
    project.write("apps/shop.yaml", DEPLOYMENT.replace("zone", "www"));
    let why = "`apps/shop.yaml` declared it in deployment 1, and no longer does";
    assert_eq!(reasons(&project, &[]), [("dns.default#shared.zone".to_owned(), why.to_owned())]);
    // A run that keeps the resource does not hide the reason: the deployment that last changed it
    // determines it.
    project.run(&["up", "--yes", "--keep-removed"]).status(0);
    assert_eq!(reasons(&project, &[]), [("dns.default#shared.zone".to_owned(), why.to_owned())]);
}

#[test]
fn resources_added_by_a_definition_are_reported_as_such() {
    let with = DEFINITION.replace("  criteria", "  provision: {note: {is_dependent: false}}\n  criteria");
    let note = DEFINITION.replace("{id: dns}", "{id: note}").replace("type: dns", "type: note");
    let project = Project::with(&[
        ("purlin.yaml", WORKSPACE),
        ("dns.yaml", &with),
        ("note.yaml", &note),
        ("shop.yaml", DEPLOYMENT),
    ]);
    project.run(&["up", "--yes"]).status(0);
    let key = "note.default#shared.zone".to_owned();
    project.write("dns.yaml", DEFINITION);
    let why = "`dns.yaml` provisioned it in deployment 1, and no longer does".to_owned();
    assert_eq!(reasons(&project, &[]), [(key.clone(), why)]);
    project.write("dns.yaml", &with);
    project.write("shop.yaml", DEPLOYMENT.replace("zone: {type: dns}", "other: {type: note}"));
    let why = "`dns#shared.zone`, which requested it, is no longer in the documents".to_owned();
    assert!(reasons(&project, &[]).contains(&(key, why)), "{:?}", reasons(&project, &[]));
}

#[test]
fn files_that_were_not_named_this_time_are_reported() {
    let project = written();
    project.run(&["up", "--yes", "-f", "platform", "-f", "apps"]).status(0);
    // The notation of paths does not matter.
    let whole = project.path().display().to_string();
    for same in [&["."][..], &[], &["platform/", "./apps"], &[&whole], &["apps", "platform"]] {
        let words: Vec<&str> = ["plan", "--detailed-exitcode"].iter().chain(same).copied().collect();
        project.run(&words).status(0);
    }
    let message =
        refused(&project, &["-f", "platform"], &["apps/web.yaml", "apps/shop.yaml", "-f platform -f apps"]);
    insta::assert_snapshot!(message);
    refused(&project, &["-f", "apps/web.yaml", "-f", "platform"], &["apps/shop.yaml", "apps/api.yaml"]);
    assert!(codes(&project, &["-f", "apps/web.yaml", "-f", "platform"]).contains("files-not-named"));
    // A run of selected resources records all documents, so all of them must be named.
    refused(&project, &["-f", "platform", "--keep-removed"], &["apps/web.yaml"]);
    refused(&project, &["-f", "platform", "--target", "base-env*"], &["apps/web.yaml"]);
    let gone = accepted(
        &project,
        &["-f", "platform", "-f", "apps/shop.yaml", "-f", "apps/api.yaml", "--accept-missing", "apps"],
    );
    assert_eq!(gone, owned(&WEB));
}

#[test]
fn another_current_folder_loses_no_documents() {
    let project = deployed();
    let below = |words: &[&str]| {
        let mut command = project.command(words);
        command.current_dir(project.path().join("apps"));
        ran(command)
    };
    below(&["plan", "--detailed-exitcode"]).status(0);
    let stderr = below(&["up", "--yes", "-f", "."]).status(2).err;
    assert!(stderr.contains("`../platform/dns.yaml`"), "{stderr}");
    // Another workspace uses the same state.
    project.write("apps/purlin.yaml", format!("{WORKSPACE}  state: {{path: ../.purlin}}\n"));
    let before = recorded(&project);
    let stderr = below(&["up", "--yes"]).status(2).err;
    assert!(stderr.contains("dns.yaml"), "{stderr}");
    assert_eq!(recorded(&project), before);
}

#[test]
fn empty_standard_input_deletes_nothing() {
    let project = Project::with(&[("purlin.yaml", WORKSPACE), ("dns.yaml", DEFINITION)]);
    let up = |words: &[&str], text: &str| {
        project.write(".in", text);
        let mut command = project.command(words);
        command.stdin(fs::File::open(project.path().join(".in")).expect("opened"));
        ran(command)
    };
    up(&["up", "--yes", ".", "-"], SCORE).status(0);
    up(&["plan", "--detailed-exitcode", "-", "."], SCORE).status(0);
    let before = recorded(&project);
    for text in ["", "\n", "# nothing\n"] {
        let stderr = up(&["up", "--yes", ".", "-"], text).status(2).err;
        assert!(stderr.contains("standard input"), "{stderr}");
    }
    let stderr = up(&["up", "--yes"], "").status(2).err;
    assert!(stderr.contains("standard input") && stderr.contains("--accept-missing -"), "{stderr}");
    assert_eq!(recorded(&project), before);
    up(&["up", "--yes", "--accept-missing", "-"], "").status(0);
    assert!(!recorded(&project).contains(WEB[0]));
}

#[test]
fn no_documents_create_and_delete_nothing() {
    // Without records, nothing is created.
    let project = Project::empty();
    let stderr = project.run(&["up", "--yes"]).status(2).err;
    assert!(
        stderr.contains("the documents declare no resources") && stderr.contains("purlin init"),
        "{stderr}"
    );
    assert!(!project.has_state());
    assert_eq!(fs::read_dir(project.path()).expect("read").count(), 0);
    project.run(&["plan"]).status(2);
    // With records, nothing is deleted.
    let project = deployed();
    fs::create_dir(project.path().join("empty")).expect("made");
    refused(&project, &["-f", "empty"], &["apps/web.yaml"]);
    for (file, ..) in FILES {
        fs::remove_file(project.path().join(file)).expect("removed");
    }
    insta::assert_snapshot!(refused(
        &project,
        &[],
        &["the documents declare no resources", "purlin destroy"]
    ));
    assert!(accepted(&project, &["--accept-missing", "."]).len() > 4);
}

#[test]
fn a_workspace_that_vanished_is_reported() {
    for emptied in [None, Some(""), Some("# defaults\n")] {
        let project = deployed();
        match emptied {
            None => fs::remove_file(project.path().join("purlin.yaml")).expect("removed"),
            Some(text) => project.write("purlin.yaml", text),
        }
        refused(&project, &["--env", "dev", "--app", "shop"], &["purlin.yaml"]);
        let stderr = project.run(&["up", "--yes"]).status(2).err;
        assert!(stderr.contains("purlin.yaml"), "{stderr}");
        project.write("purlin.yaml", WORKSPACE);
        project.run(&["plan", "--detailed-exitcode"]).status(0);
        fs::remove_file(project.path().join("purlin.yaml")).expect("removed");
        let words = ["up", "--yes", "--app", "shop", "--env", "dev", "--accept-missing", "purlin.yaml"];
        project.run(&words).status(0);
        project.run(&["up", "--yes", "--app", "shop", "--env", "dev"]).status(0);
    }
}

#[test]
fn implicit_resources_outlive_their_definition() {
    for kind in ["k8s-namespace", "k8s-cluster", "agent", "base-env"] {
        let own = DEFINITION.replace("{id: dns}", "{id: own}").replace("type: dns", &format!("type: {kind}"));
        let project = Project::with(&[
            ("purlin.yaml", WORKSPACE),
            ("own.yaml", &own),
            ("dns.yaml", DEFINITION),
            ("shop.yaml", DEPLOYMENT),
        ]);
        project.run(&["up", "--yes"]).status(0);
        let key = format!("{kind}#{kind}");
        // The criterion no longer matches.
        project.write("own.yaml", own.replace("[{}]", "[{env_type: production}]"));
        refused(&project, &[], &[&key, "own.yaml"]);
        // The file was deleted.
        fs::remove_file(project.path().join("own.yaml")).expect("removed");
        refused(&project, &[], &[&key, "--accept-missing"]);
        project.run(&["up", "--yes", "--accept-missing", &key]).status(0);
        assert_eq!(recorded(&project).contains(&format!("{kind}.default#{kind}")), kind == "base-env");
        project.run(&["up", "--yes"]).status(0);
    }
}

#[test]
fn earlier_documents_are_deployed_as_they_were() {
    let project = written();
    let later = ["apps/web.yaml", "apps/api.yaml"];
    let texts = later.map(|name| fs::read_to_string(project.path().join(name)).expect("read"));
    later.iter().for_each(|name| fs::remove_file(project.path().join(name)).expect("removed"));
    project.run(&["up", "--yes"]).status(0);
    later.iter().zip(&texts).for_each(|(name, text)| project.write(name, text));
    project.run(&["up", "--yes"]).status(0);
    project.run(&["rollback", "--yes", "1"]).status(0);
    assert!(!recorded(&project).contains(WEB[0]));
    project.run(&["up", "--yes"]).status(0);
    // A plan made with `--accept-missing` is applied as it is.
    project.write("apps/web.yaml", "");
    project.run(&["plan", "--out", "change.plan", "--accept-missing", "apps/web.yaml"]).status(0);
    assert!(Path::new(&project.path().join("change.plan")).is_file());
    project.run(&["apply", "--yes", "change.plan"]).status(0);
    assert!(!recorded(&project).contains(WEB[0]));
}

#[test]
fn a_score_file_that_a_deployment_no_longer_names_is_reported() {
    let names = DEPLOYMENT.replace("  shared:", "  workloads:\n    - score: parts/web.txt\n  shared:");
    let project = Project::with(&[
        ("purlin.yaml", WORKSPACE),
        ("dns.yaml", DEFINITION),
        ("shop.yaml", &names),
        ("parts/web.txt", SCORE),
    ]);
    project.run(&["up", "--yes"]).status(0);
    project.write("shop.yaml", DEPLOYMENT);
    let why = "`parts/web.txt`, which declared it in deployment 1, was not read";
    assert_eq!(reasons(&project, &[])[0], (WEB[1].to_owned(), why.to_owned()));
    assert_eq!(accepted(&project, &[]), owned(&WEB));
}
