//! A table of mistakes by family, in each kind of document. After each of them, nothing recorded
//! may be deleted, and the message must name the file. A clear request, such as deleting a file, is
//! executed, and the plan names the file responsible for each deletion.

use std::os::unix::fs::symlink;

use purlin_systems::{Project, Ran};

use crate::scene::{FILES, KEYS, deployed};

/// The expected result of an edit.
enum Expected<'a> {
    /// Exit status 2; nothing is deleted; the message contains each of these.
    Refused(&'a [&'a str]),
    /// The documents clearly request less: exactly these keys are deleted, and the plan contains
    /// each of these texts.
    Goes(&'a [&'a str], &'a [&'a str]),
    /// It is not a mistake: nothing is deleted, exit status 0.
    Stays,
}
use Expected::{Goes, Refused, Stays};

struct Table {
    rows: usize,
    wrong: Vec<String>,
}

impl Table {
    fn new() -> Self {
        Self { rows: 0, wrong: Vec::new() }
    }

    fn row(&mut self, name: &str, slip: impl FnOnce(&Project), expected: Expected<'_>) {
        self.row_with(name, slip, &["up", "--yes"], expected);
    }

    fn row_with(
        &mut self,
        name: &str,
        slip: impl FnOnce(&Project),
        command: &[&str],
        expected: Expected<'_>,
    ) {
        self.rows += 1;
        let project = deployed();
        slip(&project);
        let ran = project.run(command);
        let left = recorded(&project);
        let lost: Vec<&str> =
            KEYS.iter().copied().filter(|key| !left.iter().any(|left| left == key)).collect();
        let (status, goes, texts): (i32, &[&str], &[&str]) = match expected {
            Refused(texts) => (2, &[], texts),
            Goes(keys, texts) => (0, keys, texts),
            Stays => (0, &[], &[]),
        };
        let missing: Vec<&&str> = texts.iter().filter(|text| !output(&ran).contains(**text)).collect();
        if ran.status != status || lost != goes || !missing.is_empty() {
            self.wrong.push(format!(
                "## {name}\nstatus {} (expected {status}), lost {lost:?}, missing {missing:?}\n{}{}",
                ran.status, ran.out, ran.err
            ));
        }
    }

    /// Replaces text in a file.
    fn edit(&mut self, file: &str, from: &str, to: &str, expected: Expected<'_>) {
        let name = format!("{file}: {from:?} becomes {to:?}");
        self.row(&name, |project| project.edit(file, from, to), expected);
    }

    #[track_caller]
    fn done(self, at_least: usize) {
        assert!(
            self.wrong.is_empty(),
            "{} of {} rows\n{}",
            self.wrong.len(),
            self.rows,
            self.wrong.join("\n")
        );
        assert!(self.rows >= at_least, "{} rows", self.rows);
    }
}

/// The output of both streams.
fn output(ran: &Ran) -> String {
    format!("{}\n{}", ran.err, ran.out)
}

/// The keys recorded in the deployed environment, whatever the documents say now.
fn recorded(project: &Project) -> Vec<String> {
    let elsewhere = Project::empty();
    let state = project.path().join(".purlin");
    let arguments =
        ["state", "list", "--format", "json", "--org", "acme", "--app", "shop", "--env", "prod", "--state"];
    let mut arguments: Vec<&str> = arguments.to_vec();
    let state = state.to_string_lossy();
    arguments.push(&state);
    let listed = elsewhere.run(&arguments).status(0).json();
    let resources = listed["resources"].as_array().expect("resources").clone();
    resources.iter().map(|resource| resource["key"].as_str().expect("a key").to_owned()).collect()
}

/// The files of the deployment, without purlin.yaml.
fn documents() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.into_iter().filter(|(file, _)| *file != "purlin.yaml")
}

#[test]
fn a_file_that_no_longer_contains_a_document_is_rejected() {
    let mut table = Table::new();
    for (file, text) in documents() {
        let half = text.get(..text.len() / 2).expect("ASCII");
        let row = |table: &mut Table, what: &str, content: Vec<u8>| {
            table.row(&format!("{file} {what}"), |p| p.write(file, content), Refused(&[file]));
        };
        row(&mut table, "is emptied", Vec::new());
        row(&mut table, "has comments only", b"# nothing here\n# yet\n".to_vec());
        row(&mut table, "has a byte-order mark only", "\u{feff}".into());
        row(&mut table, "is null", b"null\n".to_vec());
        row(&mut table, "is commented out", commented(text).into());
        // Half of the Deployment Set is a valid Deployment Set, and clearly requests less.
        if file != "apps/set.yaml" {
            row(&mut table, "is cut in half", half.into());
        }
        row(
            &mut table,
            "is a pointer of git-lfs",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n".to_vec(),
        );
        row(
            &mut table,
            "has JSON of somebody else",
            b"{\"name\": \"shop\", \"version\": \"1.0.0\"}\n".to_vec(),
        );
        row(
            &mut table,
            "has a merge conflict",
            format!("<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> topic\n").into(),
        );
        row(&mut table, "is not UTF-8", [b"# \xff\n", text.as_bytes()].concat());
        row(&mut table, "is a binary", vec![0, 1, 2, 3]);
        table.row(
            &format!("{file} is a link that leads nowhere"),
            |project| {
                std::fs::remove_file(project.path().join(file)).expect("removed");
                symlink("nowhere.yaml", project.path().join(file)).expect("linked");
            },
            Refused(&[file]),
        );
    }
    table.done(95);
}

fn commented(text: &str) -> String {
    text.lines().map(|line| format!("# {line}\n")).collect()
}

#[test]
fn a_word_one_edit_away_is_rejected() {
    let mut table = Table::new();
    let near = |table: &mut Table, file: &str, from: &str, to: &str| {
        table.edit(file, from, to, Refused(&[file]));
    };
    for file in ["platform/names.yaml", "platform/types.yaml", "apps/common.yaml"] {
        near(&mut table, file, "apiVersion:", "apiversion:");
        near(&mut table, file, "apiVersion:", "apiVersions:");
        near(&mut table, file, "kind:", "Kind:");
        near(&mut table, file, "purlin.dev/v1", "purlin.io/v1");
        near(&mut table, file, "purlin.dev/v1", "purlin.dev/v2");
        near(&mut table, file, "purlin.dev/v1", "purlin.dev");
        near(&mut table, file, "spec:", "specs:");
        near(&mut table, file, "metadata:", "metdata:");
    }
    near(&mut table, "platform/names.yaml", "kind: Definition", "kind: Defintion");
    near(&mut table, "platform/names.yaml", "kind: Definition", "kind: definition");
    near(&mut table, "platform/types.yaml", "ResourceType", "ResourceTyp");
    near(&mut table, "apps/common.yaml", "kind: Deployment", "kind: Deploymnt");
    near(&mut table, "platform/caches.yaml", "entity.humanitec.io", "entity.humanitec.com");
    near(&mut table, "platform/caches.yaml", "v1b1", "v1b2");
    near(&mut table, "platform/caches.yaml", "entity:", "entitiy:");
    near(&mut table, "platform/caches.yaml", "driver_inputs:", "driver_input:");
    near(&mut table, "platform/caches.yaml", "criteria:", "criterea:");
    near(&mut table, "platform/caches.yaml", "env_type: production", "env_typ: production");
    near(&mut table, "platform/caches.yaml", "env_type: production", "region: production");
    near(&mut table, "apps/web.yaml", "score.dev/v1b1", "scor.dev/v1b1");
    near(&mut table, "apps/web.yaml", "score.dev/v1b1", "score.dev/v1b2");
    near(&mut table, "apps/web.yaml", "apiVersion:", "apiversion:");
    near(&mut table, "apps/web.yaml", "resources:", "resource:");
    near(&mut table, "apps/web.yaml", "containers:", "container:");
    near(&mut table, "apps/web.yaml", "metadata:", "metaData:");
    near(&mut table, "apps/web.yaml", "type: dns", "type: dsn");
    near(&mut table, "apps/web.yaml", "type: dns", "tpye: dns");
    near(&mut table, "apps/web.yaml", "params:", "param:");
    near(&mut table, "apps/web.yaml", "gigabytes:", "gigabyte:");
    near(&mut table, "apps/worker.json", "\"resources\"", "\"resource\"");
    near(&mut table, "apps/worker.json", "\"type\"", "\"typ\"");
    near(&mut table, "apps/common.yaml", "shared:", "share:");
    near(&mut table, "apps/common.yaml", "values:", "value:");
    near(&mut table, "apps/set.yaml", "modules:", "module:");
    near(&mut table, "apps/set.yaml", "externals:", "external:");
    near(&mut table, "apps/set.yaml", "shared:", "share:");
    near(&mut table, "apps/set.yaml", "type: s3", "typ: s3");
    near(&mut table, "platform/names.yaml", "provision:", "provison:");
    near(&mut table, "platform/names.yaml", "criteria:", "criterias:");
    near(&mut table, "platform/names.yaml", "inputs:", "input:");
    near(&mut table, "platform/names.yaml", "driver:", "drivers:");
    near(&mut table, "platform/names.yaml", "type: dns", "typ: dns");
    near(&mut table, "platform/names.yaml", "env_type:", "env-type:");
    near(&mut table, "platform/names.yaml", "is_dependent:", "is_dependant:");
    near(&mut table, "platform/stores.yaml", "app_id:", "appid:");
    near(&mut table, "purlin.yaml", "defaults:", "default:");
    near(&mut table, "purlin.yaml", "env_type:", "envtype:");
    near(&mut table, "purlin.yaml", "kind: Workspace", "kind: Workspaces");
    near(&mut table, "purlin.yaml", "purlin.dev/v1", "purlin.dve/v1");
    table.done(65);
}

#[test]
fn an_empty_value_where_something_belongs_is_rejected() {
    let mut table = Table::new();
    let mut null = |file: &str, from: &str, to: &str| table.edit(file, from, to, Refused(&[file]));
    null(
        "apps/web.yaml",
        "resources:\n  site:\n    type: dns\n  orders:\n    type: postgres\n    params:\n      gigabytes: 10\n",
        "resources:\n",
    );
    null("apps/web.yaml", "    type: dns\n", "");
    null("apps/web.yaml", "    type: postgres\n    params:\n      gigabytes: 10\n", "");
    null("apps/worker.json", "{\"type\": \"redis\"}", "null");
    null("apps/worker.json", "{\n    \"sessions\": {\"type\": \"redis\"}\n  }", "null");
    null("apps/common.yaml", "    uploads:\n      type: s3\n    landing:\n      type: dns\n", "");
    null("apps/common.yaml", "      type: s3\n", "");
    null("apps/set.yaml", "      outbox:\n        type: s3\n", "");
    null("apps/set.yaml", "  archive:\n    type: s3\n", "");
    null("apps/set.yaml", "        type: s3\n", "");
    null(
        "platform/names.yaml",
        "    policy#shared.guard:\n      is_dependent: true\n      params:\n        level: strict\n",
        "",
    );
    null("platform/stores.yaml", "    - app_id: shop\n", "");
    null("platform/stores.yaml", "      bucket: ${context.res.guresid}\n", "");
    // A document separator is inserted in the middle of a document.
    null("apps/web.yaml", "resources:\n  site", "---\nresources:\n  site");
    null("apps/web.yaml", "resources:\n  site", "...\nresources:\n  site");
    null("apps/common.yaml", "  shared:\n", "---\n  shared:\n");
    null("apps/set.yaml", "shared:\n", "---\nshared:\n");
    null("platform/names.yaml", "  criteria:\n    - env_type", "---\n  criteria:\n    - env_type");
    table.done(18);
}

#[test]
fn a_slip_in_an_operators_file_is_rejected() {
    let mut table = Table::new();
    table.row("purlin.yaml is emptied", |p| p.write("purlin.yaml", ""), Refused(&["purlin.yaml"]));
    table.row(
        "purlin.yaml has comments only",
        |p| p.write("purlin.yaml", "# later\n"),
        Refused(&["purlin.yaml"]),
    );
    table.row(
        "purlin.yaml is gone",
        |p| std::fs::remove_file(p.path().join("purlin.yaml")).expect("removed"),
        Refused(&[]),
    );
    table.row(
        "purlin.yaml has another name",
        |p| std::fs::rename(p.path().join("purlin.yaml"), p.path().join("purlin.yml")).expect("renamed"),
        Refused(&[]),
    );
    table.edit(
        "purlin.yaml",
        "env_type: production",
        "env_type: development",
        Refused(&["production", "development"]),
    );
    table.edit("purlin.yaml", "    env_type: production\n", "", Refused(&["production", "development"]));
    table.edit("purlin.yaml", "app: shop", "app: shopp", Refused(&["shop"]));
    table.edit("purlin.yaml", "org: acme", "org: acne", Refused(&["acme"]));
    table.done(8);
}

#[test]
fn a_slip_on_the_command_line_is_rejected() {
    let mut table = Table::new();
    let none = |_: &Project| {};
    let up = |rest: &[&'static str]| [&["up", "--yes"][..], rest].concat();
    table.row_with(
        "another type",
        none,
        &up(&["--env-type", "development"]),
        Refused(&["--change-env-type"]),
    );
    table.row_with("another application", none, &up(&["--app", "shopp"]), Refused(&["shopp"]));
    table.row_with("another organisation", none, &up(&["--org", "acne"]), Refused(&["acne"]));
    table.row_with("another namespace", none, &up(&["--namespace", "other"]), Refused(&["other"]));
    table.row_with(
        "only a part of the folders",
        none,
        &up(&["-f", "platform", "-f", "purlin.yaml"]),
        Refused(&["apps"]),
    );
    table.row_with("only one file", none, &up(&["platform", "apps/web.yaml"]), Refused(&["apps"]));
    table.row_with("nothing on standard input", none, &up(&["-"]), Refused(&[]));
    table.row_with("no consent", none, &["up"], Refused(&["--yes"]));
    table.row_with("no consent to destroy", none, &["destroy"], Refused(&["--yes"]));
    table.row_with(
        "destroy with another type",
        none,
        &["destroy", "--yes", "--env-type", "development"],
        Refused(&["production"]),
    );
    table.done(10);
}

#[test]
fn a_slip_with_a_folder_deletes_nothing() {
    let mut table = Table::new();
    table.row(
        "a definition is removed",
        |p| std::fs::remove_file(p.path().join("platform/stores.yaml")).expect("removed"),
        Refused(&["postgres", "s3"]),
    );
    table.row(
        "the definitions' folder is hidden",
        |p| std::fs::rename(p.path().join("platform"), p.path().join(".platform")).expect("renamed"),
        Refused(&[]),
    );
    table.row(
        "the definition of a namespace goes",
        |p| {
            let text = FILES[2].1;
            let (rest, _) = text.rsplit_once("---").expect("documents");
            p.write("platform/stores.yaml", rest);
        },
        Refused(&["k8s-namespace"]),
    );
    table.row(
        "a folder is walked behind a link",
        |p| {
            std::fs::rename(p.path().join("apps"), p.path().join(".apps-elsewhere")).expect("renamed");
            symlink(".apps-elsewhere", p.path().join("apps")).expect("linked");
        },
        Stays,
    );
    table.row(
        "a link to a folder leads nowhere",
        |p| {
            std::fs::rename(p.path().join("apps"), p.path().join(".apps-elsewhere")).expect("renamed");
            symlink("gone", p.path().join("apps")).expect("linked");
        },
        Refused(&["apps"]),
    );
    table.row(
        "a file is moved to another folder",
        |p| {
            std::fs::rename(p.path().join("apps/web.yaml"), p.path().join("platform/web.yaml"))
                .expect("renamed")
        },
        Stays,
    );
    table.done(6);
}

#[test]
fn clearly_removed_resources_are_deleted_and_reported() {
    let mut table = Table::new();
    table.row(
        "a file is removed",
        |p| std::fs::remove_file(p.path().join("apps/web.yaml")).expect("removed"),
        Goes(
            &[
                "dns.default#modules.frontend.externals.site",
                "postgres.default#modules.frontend.externals.orders",
                "workload.default#modules.frontend",
            ],
            &["apps/web.yaml"],
        ),
    );
    table.edit(
        "apps/common.yaml",
        "    uploads:\n      type: s3\n",
        "",
        Goes(&["s3.default#shared.uploads"], &["apps/common.yaml"]),
    );
    table.edit(
        "apps/set.yaml",
        "shared:\n  archive:\n    type: s3\n",
        "",
        Goes(&["s3.default#shared.archive"], &["apps/set.yaml"]),
    );
    table.row_with(
        "an emptied file is accepted",
        |p| p.write("apps/worker.json", ""),
        &["up", "--yes", "--accept-missing", "apps/worker.json"],
        Goes(
            &["redis.default#modules.backend.externals.sessions", "workload.default#modules.backend"],
            &["apps/worker.json"],
        ),
    );
    table.done(4);
}
