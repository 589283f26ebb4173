//! Tests of the whole life of a project: created, changed, destroyed.

use std::path::Path;

use purlin_systems::Project;

const CREATED: usize = 5;

#[test]
fn a_deployment_is_created_repeated_changed_and_destroyed() {
    let project = Project::new();
    let first = project.run(&["up", "--yes"]).status(0);
    assert!(first.out.is_empty(), "data only on standard output");
    assert!(first.err.contains(&format!("{CREATED} created.")), "{}", first.err);
    assert!(first.err.contains("back it up"), "a new key is mentioned");

    // The second run changes nothing and calls no driver.
    let second = project.run(&["up", "--yes", "--format", "json"]).status(0).events();
    assert_eq!(second.len(), 1);
    assert_eq!((&second[0]["event"], &second[0]["calls"]), (&"summary".into(), &0.into()));
    assert_eq!(second[0]["done"]["none"], CREATED);
    assert!(project.run(&["up", "--yes"]).status(0).err.contains("Nothing to change"));
    project.run(&["plan", "--detailed-exitcode"]).status(0);

    // One input changes: this updates the resource and those that read it.
    project.edit("platform/postgres.yaml", "length: 24", "length: 30");
    let plan = project.run(&["plan", "--detailed-exitcode"]).status(3);
    assert!(plan.out.contains("values.length: 24 → 30"), "{}", plan.out);
    let events = project.run(&["up", "--yes", "--format", "json"]).status(0).events();
    let updated: Vec<&str> = events
        .iter()
        .filter(|event| event["phase"] == "succeeded")
        .map(|event| event["key"].as_str().expect("a key"))
        .collect();
    assert_eq!(
        updated,
        [
            "password.default#modules.web.externals.db",
            "postgres.default#modules.web.externals.db",
            "workload.default#modules.web"
        ]
    );

    // A workload is removed: the resources that only it needed are deleted.
    let score = project.read("apps/web.yaml");
    project.write("apps/api.yaml", score.replace("name: web", "name: api"));
    project.run(&["up", "--yes"]).status(0);
    assert_eq!(project.recorded().len(), 2 * CREATED - 1);
    std::fs::remove_file(project.path().join("apps/web.yaml")).expect("removed");
    let removed = project.run(&["up", "--yes"]).status(0);
    assert!(removed.err.contains("4 deleted, 5 unchanged"), "{}", removed.err);
    assert!(project.recorded().iter().all(|key| !key.contains("web")));

    let destroyed = project.run(&["destroy", "--yes"]).status(0);
    assert!(destroyed.err.contains("5 deleted."), "{}", destroyed.err);
    assert_eq!(project.recorded(), Vec::<String>::new());
    assert!(project.run(&["destroy", "--yes"]).status(0).err.contains("Nothing is recorded"));
}

#[test]
fn destroy_works_from_the_record_though_the_documents_are_wrong() {
    let project = Project::new();
    project.run(&["up", "--yes"]).status(0);
    project.write("apps/web.yaml", "apiVersion: score.dev/v1b1\nmetadata: {name: [}\n");
    std::fs::remove_file(project.path().join("platform/dns.yaml")).expect("removed");
    project.run(&["up", "--yes"]).status(2);
    // The faulty document may name another environment.
    let refused = project.run(&["destroy", "--yes"]).status(2);
    assert!(refused.err.contains("name the environment, such as `--app shop --env dev`"), "{}", refused.err);
    let destroyed = project.run(&["destroy", "--yes", "--app", "shop", "--env", "dev"]).status(0);
    assert!(destroyed.err.contains("5 deleted."), "{}", destroyed.err);
}

#[test]
fn environments_are_separate_deployments() {
    let project = Project::new();
    project.run(&["up", "--yes"]).status(0);
    project.run(&["up", "--yes", "--env", "staging"]).status(0);
    let all = project.run(&["state", "list", "--all", "--format", "json"]).status(0).json();
    assert_eq!(all["resources"].as_array().map(Vec::len), Some(2 * CREATED));
    let slip = project.run(&["destroy", "--yes", "--env", "stagin"]).status(0);
    assert!(slip.err.contains("hint: did you mean `--env staging`?\n"), "{}", slip.err);
    let slip = project.run(&["outputs", "--app", "shpo", "--env", "staging"]).status(0);
    assert!(slip.err.contains("hint: did you mean `--app shop`?\n"), "{}", slip.err);
    project.run(&["destroy", "--yes", "--env", "staging"]).status(0);
    assert_eq!(project.recorded().len(), CREATED);
    let none = project.run(&["outputs", "--env", "staging"]).status(0);
    assert!(none.err.contains("nothing is recorded in staging of default/shop"), "{}", none.err);
    assert!(none.err.contains("hint: the state has dev of default/shop"), "{}", none.err);
}

#[test]
fn a_new_application_has_a_name_with_which_its_project_is_valid() {
    let project = Project::empty();
    for name in ["Notes", "'", "\"", "${context.app.id}", "{{x}}"] {
        let refused = project.run(&["init", "new", "--app", name]).status(2);
        assert!(refused.err.contains("cannot be the name of the application"), "{name}: {}", refused.err);
    }
    for name in ["notes", "12", "true"] {
        project.run(&["init", name, "--app", name]).status(0);
        let listed = project.run(&["validate", name, "--format", "json"]).status(0).json();
        assert_eq!(listed["valid"], true, "{name}");
    }
}

#[test]
fn documents_come_from_standard_input_too() {
    let project = Project::new();
    let score = project.read("apps/web.yaml");
    std::fs::remove_file(project.path().join("apps/web.yaml")).expect("removed");
    project.write("stdin.txt", score);
    let mut command = project.command(&["graph", "-f", "platform", "-", "--format", "json"]);
    command.stdin(std::fs::File::open(project.path().join("stdin.txt")).expect("open"));
    let graph = purlin_systems::project::ran(command).status(0).json();
    assert_eq!(graph["nodes"].as_array().map(Vec::len), Some(CREATED));
    assert_eq!(graph["nodes"][4]["urn"], "urn:purlin:dev/default::shop::web::workload.default::modules.web");
}

#[test]
fn init_overwrites_nothing() {
    let project = Project::empty();
    project.write("platform/dns.yaml", "mine");
    let refused = project.run(&["init"]).status(2);
    assert_eq!(
        refused.err,
        "error: `platform/dns.yaml` already exists; nothing was written\n\
         hint: `purlin init DIR` writes into another folder\n"
    );
    assert!(!project.path().join("purlin.yaml").exists());
    let written = project.run(&["init", "shop", "--format", "json"]).status(0).json();
    let files = ["purlin.yaml", "platform/dns.yaml", "platform/postgres.yaml", "apps/web.yaml", ".gitignore"];
    let files = files.map(|file| format!("shop/{file}"));
    assert_eq!(written, serde_json::json!({"format": 1, "app": "shop", "files": files}));
    let spaced = project.run(&["init", "my shop"]).status(0);
    assert!(
        spaced.err.contains(
            "hint: `cd 'my shop' && purlin graph` shows the resources, `cd 'my shop' && purlin up`"
        ),
        "{}",
        spaced.err
    );
    let valid = project.run(&["validate", "shop"]).status(0);
    assert_eq!(
        (valid.out.as_str(), valid.err.as_str()),
        ("Valid: 3 definitions, 5 resources in the graph.\n", "")
    );
}

/// The platform of the example is written unchanged except for the name of the application.
#[test]
fn init_writes_a_platform_for_kubernetes() {
    let project = Project::empty();
    let written = project.run(&["init", "store", "--platform", "kubernetes"]).status(0);
    assert!(written.err.contains("secrets/cluster"), "{}", written.err);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kubernetes");
    let read = |path: &Path| {
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let mut definitions = 0;
    for entry in std::fs::read_dir(example.join("platform")).expect("the example") {
        let name = Path::new("platform").join(entry.expect("an entry").file_name());
        assert_eq!(
            read(&project.path().join("store").join(&name)),
            read(&example.join(&name)),
            "{}",
            name.display()
        );
        definitions += 1;
    }
    assert_eq!(written.out.lines().filter(|line| line.contains("/platform/")).count(), definitions);
    let (workspace, of_example) =
        (read(&project.path().join("store/purlin.yaml")), read(&example.join("purlin.yaml")));
    // Granted files have to be there, and this one is not yet.
    let (authority, later) = ("        ca: [", "        # ca: [");
    assert_eq!(workspace, of_example.replace("app: shop", "app: store").replace(authority, later));
    project.run(&["validate", "store"]).status(0);
    assert!(workspace.contains("app: store"), "{workspace}");
    assert!(read(&project.path().join("store/.gitignore")).contains("/secrets/"));
    // The workload is the same for every platform.
    project.run(&["init", "small"]).status(0);
    let app = |project_name: &str| read(&project.path().join(project_name).join("apps/web.yaml"));
    assert_eq!(app("store"), app("small"));
    let mut command = project.command(&["graph", "--format", "json"]);
    command.current_dir(project.path().join("store"));
    let graph = purlin_systems::project::ran(command).status(0).json();
    let key = "k8s-deployment.default#modules.web";
    assert!(graph["nodes"].as_array().expect("nodes").iter().any(|node| node["key"] == key), "{graph}");
}

#[test]
fn exported_files_stay_in_their_folder() {
    let project = Project::new();
    project.run(&["up", "--yes"]).status(0);
    let exported = project.run(&["export", ".out", "--format", "json"]).status(0).json();
    assert_eq!(exported["files"], serde_json::json!([".out/workloads/web.yaml"]));
    let text = project.read(".out/workloads/web.yaml");
    assert!(text.contains("PUBLIC_URL: https://shop-dev.example.test"), "{text}");
    assert!(text.contains("DB_PASSWORD: \"[secret]\""), "{text}");
    project.run(&["export", ".out", "--show-secrets"]).status(0);
    let text = project.read(".out/workloads/web.yaml");
    assert!(!text.contains("[secret]"), "{text}");
    let warned = project.run(&["export", "visible"]).status(0);
    assert!(warned.err.contains("will read the exported files as documents"), "{}", warned.err);
}

/// A file exists, and the documents import or observe it by a path that differs in notation from
/// the driver's.
#[test]
fn an_import_is_known_again_however_its_id_is_written() {
    for (setting, content) in [("import", "Open all week."), ("observe", "Closed on Mondays.")] {
        let project = Project::empty();
        std::fs::create_dir(project.path().join("out")).expect("made");
        project.write("out/motd", "Closed on Mondays.");
        project.write(
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {app: shop, env: dev}\n  drivers:\n    purlin/file:\n      grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}\n---\napiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: motd}\nspec:\n  type: settings\n  driver: purlin/file\n  inputs: {values: {path: /out/motd, content: Open all week.}}\n  criteria: [{}]\n",
        );
        for id in ["/out/./motd", "/out//motd", "/out/motd"] {
            project.write(
                "deploy.yaml",
                format!("apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared: {{motd: {{type: settings}}}}\n  lifecycle: {{settings#shared.motd: {{{setting}: {id}}}}}\n"),
            );
            project.run(&["up", "--yes"]).status(0);
            for _ in 0..2 {
                let again = project.run(&["up", "--yes"]).status(0);
                assert!(again.err.contains("Nothing to change"), "{setting} {id}: {}", again.err);
            }
            project.run(&["plan", "--detailed-exitcode", "--refresh"]).status(0);
        }
        assert_eq!(project.read("out/motd"), content);
        project.run(&["destroy", "--yes", "--allow-data-loss"]).status(0);
        assert_eq!(project.path().join("out/motd").exists(), setting == "observe");
    }
}

#[test]
fn validate_says_that_a_folder_has_no_document() {
    let project = Project::empty();
    for _ in 0..2 {
        let ran = project.run(&["validate"]).status(0);
        let warning = "warning[no-documents]: no document was found\n";
        assert!(ran.err.contains(warning) && ran.err.contains("`purlin init` writes"), "{}", ran.err);
        let json = project.run(&["validate", "--format", "json"]).status(0).json();
        assert_eq!(json["diagnostics"][0]["code"], "no-documents", "{json}");
        // A workspace alone is nothing to deploy either.
        project.write("purlin.yaml", "apiVersion: purlin.dev/v1\nkind: Workspace\n");
    }
    project.write(
        "a.yaml",
        "apiVersion: purlin.dev/v1\nkind: ResourceType\nmetadata: {name: a}\nspec: {type: a}\n",
    );
    assert_eq!(project.run(&["validate"]).status(0).err, "");
}
