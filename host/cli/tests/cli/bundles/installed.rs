//! Bundles that are installed with `--bundle`: their settings, their versions, and their environments.

use purlin_systems::{Project, Ran};

use super::{CATALOG, and};

/// A Deployment in a folder of bundles.
const BESIDE: &str = "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {app: shop, env: prod}\n";

const BLOG: [&str; 6] = ["up", "--yes", "--bundle", "acme/blog", "--namespace", "dev"];

fn catalog() -> Project {
    Project::with(&[("catalog/all.yaml", CATALOG), ("catalog/shop.yaml", BESIDE)])
}

fn outputs(project: &Project) -> serde_json::Value {
    let out =
        project.run(&["outputs", "--app", "blog", "--env", "dev", "catalog/all.yaml", "--format", "json"]);
    serde_json::from_str(&out.status(0).out).expect("JSON")
}

#[test]
fn settings_of_a_bundle_are_recorded_and_kept_secret() {
    let project = catalog();
    let first = project.run(&and(&BLOG, &["--param", "title=News"])).status(2);
    assert!(first.err.contains("--credential-env blog/db.root=VARIABLE"), "{}", first.err);
    assert!(!project.path().join(".purlin").exists());
    project.write("answers.yaml", "blog/db.size: 20\nblog.title: Old\n");
    let mut command = project.command(&and(
        &BLOG,
        &["--params", "answers.yaml", "--param", "title=News", "--credential-env", "blog/db.root=ROOT"],
    ));
    command.env("ROOT", "correct-horse");
    let first = purlin_systems::project::ran(command).status(0);
    let resources = &outputs(&project)["resources"];
    let blog = resources["installation.default#blog"].clone();
    assert_eq!(blog, serde_json::json!({"title": "News", "url": "http://blog/db.db.local"}));
    assert_eq!(resources["installation.default#blog/db"]["size"], 20);
    // The answers are remembered.
    let again = project.run(&BLOG).status(0);
    assert!(again.err.contains("Nothing to change"), "{}", again.err);
    // The last answer applies until there is another one.
    project.run(&and(&BLOG, &["--param", "blog/db.size:=30"])).status(0);
    project.run(&and(&BLOG, &["--param", "title=Late"])).status(0);
    assert_eq!(outputs(&project)["resources"]["installation.default#blog/db"]["size"], 30);
    // A rollback uses the answers of its deployment.
    project
        .run(&["rollback", "1", "--yes", "--app", "blog", "--env", "dev", "-f", "catalog/all.yaml"])
        .status(0);
    let resources = &outputs(&project)["resources"];
    assert_eq!(resources["installation.default#blog/db"]["size"], 20);
    assert_eq!(resources["installation.default#blog"]["title"], "News");
    // The secret appears nowhere.
    let shown = format!("{}{}{}{}", first.out, first.err, again.out, again.err);
    assert!(!shown.contains("correct-horse"), "{shown}");
    let secret = b"correct-horse";
    for file in files(&project.path().join(".purlin")) {
        let bytes = std::fs::read(&file).expect("read");
        assert!(!bytes.windows(secret.len()).any(|part| part == secret), "{}", file.display());
    }
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_bundle_that_was_named_stays_until_that_is_taken_back() {
    let project = catalog();
    let answers = ["--param", "title=News", "--param", "db.size=1", "--credential", "blog/db.root=x"];
    // This requirement must be named in full: `db.size` sets nothing.
    project.run(&and(&BLOG, &answers)).status(2);
    let with = ["--param", "title=News", "--with", "db=acme/mysql:v2.0.0"];
    project.run(&and(&BLOG, &with)).status(0);
    let host =
        |project: &Project| outputs(project)["resources"]["installation.default#blog/db"]["host"].clone();
    assert_eq!(host(&project), "two.local");
    assert!(project.run(&BLOG).status(0).err.contains("Nothing to change"));
    let explained = project.run(&["explain", "blog/db", "--bundle", "acme/blog", "--namespace", "dev"]);
    assert!(explained.status(0).out.contains("`--with` named it in an earlier run"));
    let back = ["--with", "db=", "--param", "blog/db.size=1", "--credential", "blog/db.root=x"];
    project.run(&and(&BLOG, &back)).status(0);
    assert_eq!(host(&project), "db.db.local");
}

#[test]
fn installations_keep_their_version_and_newer_ones_are_offered() {
    let project = catalog();
    project.run(&and(&BLOG, &["--with", "db=acme/mysql:v2.0.0", "--param", "title=News"])).status(0);
    let answers = ["--with", "db=", "--param", "blog/db.size=1", "--credential", "blog/db.root=x"];
    project.run(&and(&BLOG, &answers)).status(0);
    let newer = CATALOG.replace("version: 1.2.0", "version: 1.3.0").replace(".db.local", ".new.local");
    project.write("catalog/newer.yaml", newer.split("---\n").next().expect("a bundle"));
    let stays = project.run(&BLOG).status(0);
    assert!(stays.err.contains("Nothing to change"), "{}", stays.err);
    let offer = "`blog/db` stays at acme/mysql:v1.2.0, which fits; `--with blog/db=acme/mysql:v1.3.0` takes the newer";
    assert!(stays.err.contains(offer), "{}", stays.err);
    let plan = ["plan", "--bundle", "acme/blog", "--namespace", "dev", "--format", "json"];
    let plan: serde_json::Value = serde_json::from_str(&project.run(&plan).status(0).out).expect("JSON");
    let offer = serde_json::json!({
        "installation": "blog/db", "installed": "acme/mysql:v1.2.0", "newer": "acme/mysql:v1.3.0"
    });
    assert_eq!(plan["offers"], serde_json::json!([offer]));
    project.run(&and(&BLOG, &["--with", "blog/db=acme/mysql:v1.3.0"])).status(0);
    assert_eq!(outputs(&project)["resources"]["installation.default#blog/db"]["host"], "db.new.local");
    let done = project.run(&BLOG).status(0);
    assert!(!done.err.contains("stays at"), "{}", done.err);
    // Destroying everything also deletes the answers.
    project.run(&["destroy", "--yes", "--app", "blog", "--env", "dev", "catalog/all.yaml"]).status(0);
    assert!(project.run(&BLOG).status(2).err.contains("error[unmapped]"));
}

#[test]
fn a_shared_installation_outlives_its_first_user() {
    let deployment = |names: &[&str]| {
        let one = |name: &&str| {
            format!("    - {{name: {name}, bundle: acme/blog, parameters: {{title: {name}}}}}\n")
        };
        let all: String = names.iter().map(one).collect();
        format!(
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n  env: dev\n  requires:\n{all}"
        )
    };
    let project = Project::with(&[("all.yaml", CATALOG), ("app.yaml", &deployment(&["one", "two"]))]);
    let answers = ["--param", "one/db.size=1", "--credential", "one/db.root=x"];
    let up = project.run(&and(&["up", "--yes"], &answers)).status(0);
    assert!(up.err.contains("created installation.default#one/db ("), "{}", up.err);
    assert!(!up.err.contains("#two/db"), "{}", up.err);
    project.write("app.yaml", deployment(&["three", "two"]));
    let up = project.run(&["up", "--yes"]).status(0);
    assert!(up.err.contains("1 deleted") && up.err.contains("1 created"), "{}", up.err);
    assert!(up.err.contains("deleted installation.default#one ("), "{}", up.err);
    assert!(up.err.contains("created installation.default#three ("), "{}", up.err);
    assert!(!up.err.contains("updated"), "{}", up.err);
    project.write("app.yaml", deployment(&["three"]));
    let graph = project.run(&["graph"]).status(0).out;
    assert!(graph.contains("installation.default#one/db"), "{graph}");
}

#[test]
fn each_installed_bundle_has_its_own_environment() {
    let project = catalog();
    let two = ["up", "--yes", "--bundle", "acme/mysql:v2.0.0", "--name"];
    for name in ["one", "two"] {
        project.run(&and(&two, &[name])).status(0);
    }
    let known = project.run(&["env", "list", "-f", "catalog/all.yaml", "--format", "json"]).out;
    assert!(known.contains("\"one\"") && known.contains("\"two\""), "{known}");
    // Without `--bundle`, the message says what would be deleted.
    let forgotten = project.run(&["up", "--yes", "--app", "one", "catalog/all.yaml"]).status(2);
    assert!(forgotten.err.contains("--accept-missing=--bundle"), "{}", forgotten.err);
    project.run(&["destroy", "--yes", "--app", "one", "catalog/all.yaml"]).status(0);
}

#[test]
fn missing_values_are_requested_on_a_terminal() {
    let project = catalog();
    let typed =
        crate::terminal::typed(&project, &["up", "--bundle", "acme/blog"], "20\ncorrect-horse\nNews\ny\n");
    let Some(output) = typed else { return };
    let output = output.status(0);
    assert!(output.out.contains("The parameter `size` of `blog/db` (GiB of disk):"), "{}", output.out);
    assert!(
        output.out.contains("The credential `root` of `blog/db` (of the administrator):"),
        "{}",
        output.out
    );
    assert!(output.out.contains("The parameter `title` of `blog`:"), "{}", output.out);
    assert!(!output.out.contains("correct-horse"), "{}", output.out);
    // The user is not asked again.
    let again = project.run(&["up", "--yes", "--bundle", "acme/blog"]).status(0);
    assert!(again.err.contains("Nothing to change"), "{}", again.err);
}

#[test]
fn invalid_options_for_bundles_are_reported() {
    let project = catalog();
    project.write("list.yaml", "[1]\n");
    project.write("torn.txt", "a: [secret\n");
    let mut transcript = String::new();
    for words in [
        &["--bundle", "acme/blgo"][..],
        &["--bundle", "a b"],
        &["--bundle", "acme/blog", "--name", "a/b"],
        &["--bundle", "acme/blog", "--name", "a b"],
        &["--name", "blog"],
        &["--bundle", "acme/blog", "--param", "title"],
        &["--bundle", "acme/blog", "--param", "=x"],
        &["--bundle", "acme/blog", "--param", "titel=x"],
        &["--bundle", "acme/blog", "--param", "blog/db.size=correct-horse"],
        &["--bundle", "acme/blog", "--param", "blog/db.size:=[correct-horse"],
        &["--bundle", "acme/blog", "--credential", "blog.root=correct-horse"],
        &["--bundle", "acme/blog", "--credential-env", "blog/db.root=NOT_SET"],
        &["--bundle", "acme/blog", "--params", "list.yaml"],
        &["--bundle", "acme/blog", "--params", "torn.txt"],
        &["--bundle", "acme/blog", "--params", "lost.yaml"],
        &["--bundle", "acme/blog", "--with", "bd=acme/mysql:v2.0.0"],
        &["catalog/shop.yaml", "--param", "blog.title=x"],
    ] {
        let Ran { status, err, .. } = project.run(&and(&["plan"], words));
        assert_eq!(status, 2, "{words:?}: {err}");
        assert!(!err.contains("correct-horse"), "{err}");
        transcript.push_str(&format!("$ purlin plan {}\n{err}\n", words.join(" ")));
    }
    insta::assert_snapshot!(transcript);
}
