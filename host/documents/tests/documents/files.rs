//! Files and folders: which are read, which are skipped, and which are read once.

use std::fs;
use std::path::Path;
use std::slice::from_ref;

use purlin_documents::{Input, Loaded, load, load_within};
use purlin_model::Severity;

const SCORE: &str = "apiVersion: score.dev/v1b1\nmetadata: {name: NAME}\ncontainers: {main: {image: x}}\n";

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    fs::write(path, text).expect("written");
}

fn load_path(path: impl AsRef<Path>) -> Loaded {
    load(&[Input::Path(path.as_ref().to_owned())])
}

fn codes(loaded: &Loaded) -> Vec<(&'static str, Severity)> {
    loaded.diagnostics.iter().map(|diagnostic| (diagnostic.code, diagnostic.severity)).collect()
}

fn workloads(loaded: &Loaded) -> Vec<&str> {
    loaded.deployment.workloads.iter().map(|workload| &*workload.name).collect()
}

#[test]
fn folders_are_walked_in_order_without_foreign_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for name in
        ["b/two.yaml", "a.yml", "c.JSON", ".hidden/x.yaml", ".x.yaml", "target/x.yaml", "node_modules/x.yaml"]
    {
        write(at, name, &SCORE.replace("NAME", &format!("w-{}", &name[..1])));
    }
    write(at, "README.md", "# no");
    write(at, "values.yaml", "a: 1\n");
    write(at, "empty.yaml", "# nothing\n---\n");
    write(at, "humanitec.score.yaml", "apiVersion: humanitec.org/v1b1\nprofile: x\n");
    write(at, "porter.yaml", "schemaVersion: 1.0.0\nname: x\nversion: 0.1.0\n");
    write(at, "vpc.yaml", "apiVersion: ec2.aws.crossplane.io/v1beta1\nkind: VPC\nmetadata: {name: x}\n");
    write(at, "chart.yaml", "a: {{ .Values.x }}: {{\n");
    let loaded = load_path(at);
    assert_eq!(workloads(&loaded), ["w-a", "w-b", "w-c"]);
    assert_eq!(
        codes(&loaded),
        [
            ("yaml-syntax", Severity::Error),
            ("not-a-document", Severity::Note),
            ("not-a-document", Severity::Note),
        ]
    );
    assert_eq!((loaded.deployment.manifests.len(), loaded.bundles.len()), (1, 1));
    for name in ["values.yaml", "humanitec.score.yaml", "chart.yaml", "missing.yaml"] {
        assert!(load_path(at.join(name)).has_errors(), "{name}");
    }
    // Named and walked to: an error, because it was named; and nothing is read twice.
    let both = load(&[
        Input::Path(at.to_owned()),
        Input::Path(at.join("values.yaml")),
        Input::Path(at.join("a.yml")),
    ]);
    assert_eq!(both.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count(), 2);
    assert_eq!(workloads(&both).len(), 3);
}

#[test]
fn broken_documents_of_ours_are_errors_in_folders_too() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "a.yaml", "apiVersion: score.dev/v1b1\nmetadata: {name\n");
    write(folder.path(), "b.yaml", "apiVersion: purlin.dev/v9\nkind: Definition\n");
    let loaded = load_path(folder.path());
    assert_eq!(codes(&loaded), [("yaml-syntax", Severity::Error), ("unknown-version", Severity::Error)]);
}

#[test]
fn a_deployment_brings_its_score_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write(at, "web/score.yaml", &SCORE.replace("NAME", "web"));
    let deployment = "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n  env: {id: dev, type: development}\n\
        \x20 workloads:\n    - score: web/score.yaml\n    - metadata: {name: worker}\n      containers: {main: {image: x}}\n";
    write(at, "deployment.yaml", deployment);
    let loaded = load_path(at.join("deployment.yaml"));
    assert_eq!(codes(&loaded), []);
    assert_eq!(workloads(&loaded), ["worker", "web"]);
    assert_eq!(
        (loaded.context.app.as_deref(), loaded.context.env_type.as_deref()),
        (Some("shop"), Some("development"))
    );
    assert_eq!(workloads(&load_path(at)).len(), 2);

    write(at, "deployment.yaml", &deployment.replace("web/score", "web/nothing"));
    let loaded = load_path(at.join("deployment.yaml"));
    assert_eq!(codes(&loaded), [("unreadable-file", Severity::Error)]);
    assert_eq!(loaded.diagnostics[0].location.as_ref().map(|place| place.line), Some(7));
}

/// A workspace file above a document widens the folder that its paths stay in only if it counts, or is
/// named.
#[cfg(unix)]
#[test]
fn a_workspace_file_that_others_may_write_widens_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let file = at.join("purlin.yaml");
    write(at, "purlin.yaml", "apiVersion: purlin.dev/v1\nkind: Workspace\n");
    write(at, "web.yaml", &SCORE.replace("NAME", "web"));
    let deployment =
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {workloads: [{score: ../web.yaml}]}\n";
    write(at, "deploy/deployment.yaml", deployment);
    let document = Input::Path(at.join("deploy/deployment.yaml"));
    let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("set");
    mode(0o666);
    assert_eq!(codes(&load(from_ref(&document))), [("outside-path", Severity::Error)]);
    for named in [Input::Path(file.clone()), Input::Path(at.to_owned())] {
        assert_eq!(workloads(&load(&[named, document.clone()])), ["web"]);
    }
    assert_eq!(
        workloads(&load_within(from_ref(&document), &|found| found.ends_with("purlin.yaml"))),
        ["web"]
    );
    mode(0o644);
    assert_eq!(workloads(&load(from_ref(&document))), ["web"]);
    assert_eq!(codes(&load_within(&[document], &|_| false)), [("outside-path", Severity::Error)]);
}

/// With a Deployment, an author cannot read files outside its workspace, nor learn the content of a
/// file that is not a document.
#[test]
fn a_deployment_brings_nothing_but_score_files_of_its_workspace() {
    let outside = tempfile::tempdir().expect("a folder");
    write(outside.path(), "web.yaml", &SCORE.replace("NAME", "outside"));
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write(at, "purlin.yaml", "apiVersion: purlin.dev/v1\nkind: Workspace\n");
    write(at, "web.yaml", &SCORE.replace("NAME", "web"));
    write(at, "secrets/pw", "hunter2-and-more: [\n");
    write(at, "secrets/plain", "hunter2-and-more\n");
    write(at, "evil.yml", "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {key: {command: [touch, x]}}\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path().join("web.yaml"), at.join("link.yaml")).expect("a link");
    let score = |path: &str| {
        let text = format!(
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {{workloads: [{{score: '{path}'}}]}}\n"
        );
        write(at, "deploy/deployment.yaml", &text);
        load_path(at.join("deploy/deployment.yaml"))
    };
    assert_eq!(workloads(&score("../web.yaml")), ["web"]);
    let absolute = outside.path().join("web.yaml");
    for (path, code) in [
        (&*absolute.to_string_lossy(), "outside-path"),
        ("../../web.yaml", "outside-path"),
        ("../../../../../../../../etc/passwd", "outside-path"),
        ("/proc/self/environ", "outside-path"),
        #[cfg(unix)]
        ("../link.yaml", "outside-path"),
        ("../secrets", "unreadable-file"),
        ("../secrets/pw", "not-a-document"),
        ("../secrets/plain", "not-a-document"),
        ("../evil.yml", "misplaced-document"),
    ] {
        let loaded = score(path);
        assert_eq!(codes(&loaded), [(code, Severity::Error)], "{path}");
        let shown = loaded.sources.render(&loaded.diagnostics, false, 100);
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(workloads(&loaded).is_empty() && loaded.workspace.is_none(), "{path}");
    }
}

#[test]
fn the_same_document_twice_names_both_places() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "a.yaml", &SCORE.replace("NAME", "web"));
    write(folder.path(), "b.yaml", &SCORE.replace("NAME", "web"));
    write(folder.path(), "purlin.yaml", "apiVersion: purlin.dev/v1\nkind: Workspace\n");
    write(folder.path(), "x/purlin.yaml", "apiVersion: purlin.dev/v1\nkind: Workspace\n");
    let loaded = load_path(folder.path());
    assert_eq!(
        codes(&loaded),
        [("duplicate-document", Severity::Error), ("misplaced-document", Severity::Error)]
    );
    let fault = &loaded.diagnostics[0];
    assert_ne!(fault.related[0].0.file, fault.location.as_ref().expect("a place").file);
    assert_eq!(loaded.workspace.expect("a workspace").folder, folder.path());
}

#[test]
fn invalid_utf8_is_reported_with_its_position() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.yaml");
    fs::write(&path, b"a: b\nc\xc3\xa9: \xff\n").expect("written");
    let loaded = load_path(&path);
    let fault = &loaded.diagnostics[0];
    assert_eq!(
        (fault.code, fault.location.as_ref().map(|place| (place.line, place.column))),
        ("not-utf8", Some((2, 5)))
    );
    assert!(fault.message.contains("offset 10"), "{}", fault.message);
    fs::write(&path, "\u{feff}".to_owned() + &SCORE.replace("NAME", "web")).expect("written");
    assert_eq!(codes(&load_path(&path)), []);
}

#[cfg(unix)]
#[test]
fn folders_behind_links_are_walked_once_and_links_to_nothing_are_errors() {
    use std::os::unix::fs::symlink;
    let (folder, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let at = folder.path();
    write(other.path(), "web.yaml", &SCORE.replace("NAME", "web"));
    write(at, "b/worker.yaml", &SCORE.replace("NAME", "worker"));
    symlink(other.path(), at.join("a")).expect("a link");
    symlink(other.path(), at.join("c")).expect("a link");
    symlink(at, at.join("b/up")).expect("a link");
    let loaded = load_path(at);
    assert_eq!(codes(&loaded), []);
    assert_eq!(workloads(&loaded), ["web", "worker"]);

    symlink(at.join("gone.yaml"), at.join("api.yaml")).expect("a link");
    symlink(at.join("loop.yaml"), at.join("loop.yaml")).expect("a link");
    symlink(at.join("gone"), at.join("result")).expect("a link");
    assert_eq!(
        codes(&load_path(at)),
        [
            ("dangling-link", Severity::Error),
            ("dangling-link", Severity::Error),
            ("dangling-link", Severity::Warning),
        ]
    );
}

#[test]
fn a_workspace_counts_at_the_top_and_where_it_is_named() {
    const WORKSPACE: &str = "apiVersion: purlin.dev/v1\nkind: Workspace\n";
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for text in ["", "# nothing\n", "---\n", "a: 1\n", &SCORE.replace("NAME", "web")] {
        write(at, "purlin.yaml", text);
        let loaded = load_path(at);
        assert!(loaded.diagnostics.iter().any(|fault| fault.code == "no-workspace"), "{text:?}");
        assert!(load_path(at.join("purlin.yaml")).has_errors(), "{text:?}");
    }
    write(at, "purlin.yaml", WORKSPACE);
    write(at, "other.yaml", WORKSPACE);
    assert_eq!(codes(&load_path(at)), [("misplaced-document", Severity::Error)]);
    let named = load_path(at.join("other.yaml"));
    assert!(!named.has_errors() && named.workspace.is_some());
}

#[test]
fn a_misplaced_workspace_names_its_remedy() {
    const WORKSPACE: &str = "apiVersion: purlin.dev/v1\nkind: Workspace\n";
    let folder = tempfile::tempdir().expect("a folder");
    let (at, shop) = (folder.path(), folder.path().join("shop"));
    let help = |path: &Path| {
        let loaded = load_path(path);
        assert_eq!(codes(&loaded), [("misplaced-document", Severity::Error)]);
        loaded.diagnostics[0].help.clone().expect("a help")
    };
    write(at, "shop/purlin.yaml", WORKSPACE);
    let shown = shop.display();
    assert_eq!(help(at), format!("run the command in `{shown}`, or name this folder with `-f`"));
    fs::rename(shop.join("purlin.yaml"), shop.join("purlin.yml")).expect("renamed");
    assert_eq!(help(at), "rename the file to `purlin.yaml`");
    assert_eq!(help(&shop), "rename the file to `purlin.yaml`");
    write(at, "purlin.yaml", WORKSPACE);
    assert!(help(at).starts_with("move it into the `purlin.yaml` at the top, or name this file"));
    fs::rename(shop.join("purlin.yml"), shop.join("purlin.yaml")).expect("renamed");
    assert!(help(at).starts_with("move it into the `purlin.yaml` at the top, or name this folder"));
}

#[test]
fn folders_that_drivers_may_write_are_not_searched() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let grants = "grants: {dirs: [{host: out, guest: /out, mode: rw}, {host: in, guest: /in, mode: ro}]}";
    let workspace = format!(
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {{drivers: {{purlin/file: {{{grants}}}}}}}\n"
    );
    write(at, "purlin.yaml", &workspace);
    write(at, "out/made.yaml", "a: {{ broken\n");
    write(at, "in/web.yaml", &SCORE.replace("NAME", "web"));
    let loaded = load_path(at);
    assert_eq!(codes(&loaded), []);
    assert_eq!(workloads(&loaded), ["web"]);
    // Named, it is read.
    assert!(load_path(at.join("out")).has_errors());
}

/// A folder that may be listed and not entered looks like one whose files are gone.
#[test]
#[cfg(unix)]
fn a_folder_that_cannot_be_entered_is_not_an_empty_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "apps/web.yaml", &SCORE.replace("NAME", "web"));
    let apps = folder.path().join("apps");
    fs::set_permissions(&apps, fs::Permissions::from_mode(0o600)).expect("changed");
    let for_whom = fs::metadata(apps.join("web.yaml")).is_err();
    let loaded = load_path(folder.path());
    fs::set_permissions(&apps, fs::Permissions::from_mode(0o700)).expect("changed");
    if !for_whom {
        println!("skipped: whoever runs this may enter every folder");
        return;
    }
    assert_eq!(codes(&loaded), [("unreadable-file", Severity::Error)]);
    let help = loaded.diagnostics[0].help.as_deref().unwrap_or_default();
    assert!(help.contains("chmod u+rx") && help.ends_with("apps`"), "{help}");
}

/// Neither the lines nor the words of a file that is not a document are shown, however it is broken.
#[test]
fn faults_of_other_files_quote_nothing() {
    const SECRET: &str = "s3-hunter2";
    for text in [
        "password: S: tail\n",
        "password: \"S\n",
        "a: 1\nS\nb: 2\n",
        "a:\n  S word\n  b: c\n",
        "S:x\na: b\n",
        "a: {b: ${S}}\n",
        "a: {{ S }}: x\n",
        "a: [*, S\n",
        "a: *S\n",
        "a: &S b: c\n",
        "a: !S% b\n",
        "a: S\n\tb: c\n",
        "{\"S\": \n",
        "<<<<<<< S\na: b\n=======\n>>>>>>> S\n",
        "a: S\u{1}\n",
        "--- S: b: c\n",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), "creds.yaml", &text.replace('S', SECRET));
        let loaded = load_path(folder.path());
        assert!(loaded.has_errors(), "{text}");
        let shown = loaded.sources.render(&loaded.diagnostics, false, 100);
        let json = serde_json::to_string(&loaded.diagnostics).expect("JSON");
        for secret in [SECRET, "hunter2"] {
            assert!(!shown.contains(secret) && !json.contains(secret), "{text}: {shown}");
        }
    }
}

/// A document of ours is shown, without its literal secrets.
#[test]
fn faults_of_documents_do_not_quote_their_secrets() {
    for text in [
        "    secrets: {password: s3-hunter2: tail}\n",
        "    secrets:\n      password: s3-hunter2: tail\n",
        "    secrets:\n      one: \"s3-hunter2\n      two: 1\n",
        "    values: {a: [\n      token: s3-hunter2: tail\n",
    ] {
        let definition = format!(
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: a}}\nspec:\n  type: a\n  inputs:\n{text}"
        );
        let loaded = load(&[Input::Text { name: "a.yaml".into(), text: definition }]);
        assert!(loaded.has_errors(), "{text}");
        let shown = loaded.sources.render(&loaded.diagnostics, false, 100);
        let json = serde_json::to_string(&loaded.diagnostics).expect("JSON");
        assert!(!shown.contains("hunter2") && !json.contains("hunter2"), "{text}: {shown}");
        assert!(shown.contains("| "), "the line is shown: {shown}");
    }
}
