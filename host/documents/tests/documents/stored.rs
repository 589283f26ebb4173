//! Kept texts can be read again without their files, with the same result.

use std::fs;
use std::path::Path;

use purlin_documents::{Input, Loaded, SourceText, load, load_sources};
use purlin_model::{Location, Severity};

fn faults(loaded: &Loaded) -> String {
    loaded.sources.render(&loaded.diagnostics, false, 100)
}

/// Reads the texts of `loaded` once more, and compares the results.
#[track_caller]
fn same_again(loaded: &Loaded) -> Loaded {
    let again = load_sources(loaded.sources().to_vec(), &loaded.references);
    assert_eq!(again.sources(), loaded.sources());
    assert_eq!(again.context, loaded.context);
    assert_eq!(again.deployment, loaded.deployment);
    assert_eq!(again.definitions, loaded.definitions);
    assert_eq!(again.resource_types, loaded.resource_types);
    // Files that are not kept are not mentioned.
    let kept = |place: &Location| loaded.sources().iter().any(|source| source.name == place.file);
    let mut others = loaded.diagnostics.clone();
    others.retain(|fault| fault.location.as_ref().is_none_or(kept));
    assert_eq!(again.diagnostics, others);
    assert_eq!(faults(&again), loaded.sources.render(&others, false, 100));
    again
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

const SCORE: &str = "apiVersion: score.dev/v1b1\nmetadata: {name: NAME}\ncontainers: {main: {image: x}}\n";
const HEAD: &str = "apiVersion: purlin.dev/v1\nkind: Deployment\n";
const WORKSPACE: &str = "apiVersion: purlin.dev/v1\nkind: Workspace\n";

#[test]
fn every_example_loads_identically_from_stored_texts() {
    let below = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    // Together they have more faults than are shown.
    let mut folders = below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"));
    let mut tried = 0;
    while let Some(folder) = folders.pop() {
        folders.extend(below(&folder));
        let loaded = load(&[Input::Path(folder.clone())]);
        let again = same_again(&loaded);
        assert!(again.workspace.is_none(), "{}", folder.display());
        tried += usize::from(!loaded.definitions.is_empty() && !loaded.deployment.workloads.is_empty());
    }
    assert!(tried > 5, "{tried} examples");
}

#[test]
fn errors_recur_and_skipped_files_do_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write(at, "chart.yaml", "a: {{ .Values.x }}: {{\n");
    write(at, "values.yaml", "a: 1\n");
    write(at, "purlin.yaml", &format!("{WORKSPACE}---\n{}", SCORE.replace("NAME", "mixed")));
    write(at, "marked.yaml", &format!("\u{feff}{}", SCORE.replace("NAME", "web")));
    write(at, "wrong.yaml", "apiVersion: score.dev/v1b1\nmetadata: {name: x}\nresources: {a: {typ: b}}\n");
    let loaded = load(&[Input::Path(at.to_owned())]);
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|fault| fault.code).collect();
    assert_eq!(codes[..2], ["yaml-syntax", "not-a-document"]);
    assert!(codes[2..].contains(&"unknown-field"), "{codes:?}");
    let again = same_again(&loaded);
    let names: Vec<&str> =
        again.sources().iter().filter_map(|source| source.name.rsplit('/').next()).collect();
    assert_eq!(names, ["chart.yaml", "marked.yaml", "purlin.yaml", "wrong.yaml"]);
    assert!(again.diagnostics.iter().all(|fault| fault.severity == Severity::Error));
    same_again(&load(&[Input::Path(at.join("values.yaml")), Input::Path(at.join("wrong.yaml"))]));
}

#[test]
fn score_files_are_found_however_they_were_reached() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    // Their workspace contains all of them.
    write(at, "purlin.yaml", "apiVersion: purlin.dev/v1\nkind: Workspace\n");
    write(at, "apps/web.yaml", &SCORE.replace("NAME", "web"));
    write(at, "far/away/worker.yaml", &SCORE.replace("NAME", "worker"));
    #[cfg(unix)]
    std::os::unix::fs::symlink(at.join("far/away"), at.join("near")).expect("a link");
    #[cfg(not(unix))]
    write(at, "near/worker.yaml", &SCORE.replace("NAME", "worker"));
    let spec = "spec:\n  workloads: [{score: ../apps/./web.yaml}, {score: ../near/worker.yaml}]\n";
    write(at, "deploy/deployment.yaml", &format!("{HEAD}{spec}"));
    let named = load(&[Input::Path(at.join("deploy/deployment.yaml"))]);
    assert_eq!(named.deployment.workloads.len(), 2);
    // If they are found by a walk first, the same files have other names.
    let walked = load(&[Input::Path(at.to_owned())]);
    assert_eq!(walked.deployment.workloads.len(), 2);
    drop(folder);
    same_again(&named);
    same_again(&walked);
}

#[test]
fn standard_input_names_score_files_too() {
    let folder = tempfile::tempdir_in(".").expect("a folder");
    let path = folder.path().join("web.yaml");
    fs::write(&path, SCORE.replace("NAME", "web")).expect("written");
    let named = folder.path().file_name().expect("a name").to_string_lossy();
    let text = format!("{HEAD}spec: {{workloads: [{{score: '{named}/web.yaml'}}]}}\n");
    let loaded = load(&[Input::Text { name: "-".into(), text }]);
    assert_eq!(loaded.deployment.workloads.len(), 1);
    drop(folder);
    same_again(&loaded);
}

#[test]
fn texts_of_an_embedding_program_name_each_other() {
    let deployment =
        format!("{HEAD}spec: {{workloads: [{{score: ../apps/web.yaml}}, {{score: gone.yaml}}]}}\n");
    let texts = vec![
        SourceText::new("shop/deploy/main.yaml", deployment),
        SourceText::new("shop/apps/web.yaml", SCORE.replace("NAME", "web")),
    ];
    let loaded = load_sources(texts, &[]);
    assert_eq!(loaded.deployment.workloads.len(), 1);
    insta::assert_snapshot!(faults(&loaded), @r"
    error[unreadable-file]: the text of this file is not among those given
     --> shop/deploy/gone.yaml
      |
     ::: shop/deploy/main.yaml:3:55
      |
    3 | spec: {workloads: [{score: ../apps/web.yaml}, {score: gone.yaml}]}
      |                                                       --------- named here
      |
      = help: give its text too, or read the files
    ");
}

#[test]
fn files_that_content_is_taken_from_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let score = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers:\n  main:\n    image: x\n    files:\n\
        \x20     /a: {source: conf/app.conf, mode: \"0600\"}\n      /b: {source: conf/app.conf, noExpand: true}\n\
        \x20     /c: {source: ./logo.png}\nresources: {db: {type: postgres}}\n";
    write(at, "apps/web.yaml", score);
    write(at, "apps/conf/app.conf", "host = ${resources.db.host}\nname = ${metadata.name}\n");
    fs::write(at.join("apps/logo.png"), b"\xff\xfe\x00\x10").expect("written");
    let loaded = load(&[Input::Path(at.to_owned())]);
    assert!(loaded.diagnostics.is_empty(), "{}", faults(&loaded));
    let spec = format!("{:?}", loaded.deployment.workloads[0].spec);
    assert!(
        spec.contains("${resources.db.host}") && spec.contains("//4AEA==") && !spec.contains("source\""),
        "{spec}"
    );
    drop(folder);
    let again = same_again(&loaded);
    assert_eq!(again.sources()[0].files.len(), 2);
}

#[test]
fn files_must_be_next_to_the_score_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write(at, "secret.txt", "x");
    write(at, "apps/broken.txt", "a ${resources.nobody.x} ${oops");
    fs::create_dir(at.join("apps/folder")).expect("a folder");
    #[cfg(unix)]
    std::os::unix::fs::symlink(at.join("secret.txt"), at.join("apps/link.txt")).expect("a link");
    for (source, code) in [
        ("../secret.txt", "outside-path"),
        ("a/../../secret.txt", "outside-path"),
        ("/etc/passwd", "outside-path"),
        #[cfg(unix)]
        ("link.txt", "outside-path"),
        ("gone.txt", "unreadable-file"),
        ("folder", "unreadable-file"),
        ("'${metadata.name}.txt'", "wrong-value"),
        ("broken.txt", "unclosed-placeholder"),
    ] {
        let text = SCORE
            .replace("NAME", "web")
            .replace("image: x", &format!("image: x, files: {{/a: {{source: {source}}}}}"));
        write(at, "apps/web.yaml", &text);
        let loaded = load(&[Input::Path(at.join("apps/web.yaml"))]);
        let codes: Vec<&str> = loaded.diagnostics.iter().map(|fault| fault.code).collect();
        assert_eq!(codes, [code], "{source}\n{}", faults(&loaded));
    }
}
