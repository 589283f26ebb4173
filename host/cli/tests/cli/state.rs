//! Tests of `purlin state`: commands that change the record without changing real objects.

use purlin_state::{Change, EmbeddedStore, Environment, Holder, KeyProvider, OpenOptions, Store as _};
use purlin_systems::project::{Project, ran};

/// The arguments of the commands that a text suggests for renames.
fn renames(text: &str) -> Vec<(String, String)> {
    let commands = text.lines().filter_map(|line| line.split_once("purlin state rename '"));
    let names = commands.filter_map(|(_, names)| names.split_once("' '"));
    names.map(|(old, new)| (old.to_owned(), new.split('\'').next().unwrap_or_default().to_owned())).collect()
}

const DNS: &str = "dns#modules.web.externals.dns";
const DB: &str = "postgres#modules.web.externals.db";
const PASSWORD: &str = "password#modules.web.externals.db";

/// A deployed project.
fn deployed() -> Project {
    let project = Project::new();
    project.run(&["up", "--yes"]).status(0);
    project
}

/// The entry of a resource in `state list`.
#[track_caller]
fn listed(project: &Project, key: &str) -> serde_json::Value {
    let list = project.run(&["state", "list", "--format", "json"]).status(0).json();
    let resources = list["resources"].as_array().expect("resources").clone();
    resources.into_iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("{key} in {list}"))
}

#[test]
fn a_renamed_workload_keeps_all_of_its_resources() {
    let project = deployed();
    let password = project.run(&["outputs", "--show-secrets", "--format", "json"]).status(0).json();
    project.edit("apps/web.yaml", "name: web", "name: notify");
    let plan = project.run(&["plan"]).status(0);
    assert!(
        plan.out.contains("hint: 4 resources would be deleted, and created under other names."),
        "{}",
        plan.out
    );
    let renames = renames(&plan.out);
    let new: Vec<&str> = renames.iter().map(|(_, new)| new.as_str()).collect();
    assert_eq!(
        new,
        [
            "dns.default#modules.notify.externals.dns",
            "password.default#modules.notify.externals.db",
            "postgres.default#modules.notify.externals.db",
            "workload.default#modules.notify",
        ]
    );
    for (old, new) in &renames {
        project.run(&["state", "rename", old, new]).status(0);
    }
    let plan = project.run(&["plan", "--format", "json"]).status(0).json();
    let steps = plan["steps"].as_array().expect("steps");
    let keeps = |step: &serde_json::Value| matches!(step["action"].as_str(), Some("none" | "update"));
    assert!(steps.iter().all(keeps) && plan.get("suggestions").is_none(), "{plan:#}");
    project.run(&["up", "--yes"]).status(0);
    let kept = project.run(&["outputs", "--show-secrets", "--format", "json"]).status(0).json();
    assert_eq!(
        kept["resources"][PASSWORD.replace("#", ".default#").replace("web", "notify")],
        password["resources"][PASSWORD.replace("#", ".default#")]
    );
}

#[test]
fn a_renamed_resource_is_neither_deleted_nor_made_again() {
    let project = deployed();
    let output = project.run(&["state", "rename", DNS, "dns#modules.web.externals.name"]).status(0);
    assert_eq!(
        (output.out.as_str(), output.err.as_str()),
        (
            "",
            "Renamed `dns.default#modules.web.externals.dns` to `dns.default#modules.web.externals.name`, and in the 1 resource that depends on it.\n\
             hint: `purlin plan` shows whether the documents use the new name\n"
        )
    );
    let workload = listed(&project, "workload.default#modules.web");
    let urn = "urn:purlin:dev/default::shop::web::dns.default::modules.web.externals.name";
    assert!(workload["dependencies"].as_array().expect("a list").contains(&urn.into()), "{workload}");
    // The documents still use the old name; the plan recognises the rename.
    let plan = project.run(&["plan"]).status(0);
    assert!(plan.out.contains("purlin state rename"), "{}", plan.out);
    project.edit("apps/web.yaml", "  dns:\n", "  name:\n");
    project.edit("apps/web.yaml", "resources.dns", "resources.name");
    project.run(&["plan", "--detailed-exitcode"]).status(0);

    let same = project.run(&["state", "rename", urn, urn, "--format", "json"]).status(0).json();
    assert_eq!((&same["edit"], &same["changed"]), (&"rename".into(), &false.into()));
    for (old, new, message) in [
        (
            "dns#modules.web.externals.nam",
            "dns#x",
            "hint: did you mean `dns.default#modules.web.externals.name`?",
        ),
        ("dns#x", "dns#y", "hint: did you mean `dns.default#modules.web.externals.name`?"),
        ("s3#x", "s3#y", "hint: `purlin state list` lists the resources"),
        (urn, DB, "error: `postgres.default#modules.web.externals.db` is already recorded"),
        (urn, "urn:purlin:prod/default::shop::web::dns.default::x", "is in a different environment"),
        (urn, "urn:purlin:prod", "is not a URN of Purlin"),
        (urn, "dns", "a key is TYPE[.CLASS]#ID"),
    ] {
        let refused = project.run(&["state", "rename", old, new]).status(2);
        assert!(refused.err.contains(message), "{old} {new}: {}", refused.err);
    }
    project.run(&["plan", "--detailed-exitcode"]).status(0);
}

#[test]
fn forgotten_resources_stay_and_are_named() {
    let project = deployed();
    let refused = project.run(&["state", "forget", DB]).status(2);
    assert_eq!(
        refused.err,
        "error: there is no terminal to ask for confirmation\n\
         hint: `--yes` forgets without asking; `purlin state show` shows what it is\n"
    );
    let refused = project.run(&["state", "forget", DB, "--yes"]).status(2);
    assert_eq!(
        refused.err,
        "error: `postgres.default#modules.web.externals.db` cannot be forgotten: `workload.default#modules.web` depends on it\n\
         hint: forget what depends on it first, or add `--force`\n"
    );
    let id = listed(&project, "workload.default#modules.web")["provider_id"].clone();
    let output = project.run(&["state", "forget", "workload#modules.web", "--yes", "--format", "json"]);
    let report = output.status(0).json();
    assert_eq!(report["left"], serde_json::json!([{"driver": "purlin/echo@0.1.0", "provider_id": id}]));
    let output = project.run(&["state", "forget", DB, "--yes"]).status(0);
    assert!(output.err.contains("was not deleted, and is no longer managed"), "{}", output.err);
    assert_eq!(project.recorded().len(), 3);
    project.run(&["state", "forget", DB, "--yes"]).status(2);
    assert_eq!(
        project.run(&["history", "--format", "json"]).json()["deployments"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn manual_protection_lasts_until_it_is_removed() {
    let project = deployed();
    project.run(&["state", "protect", PASSWORD]).status(0);
    assert_eq!(listed(&project, "password.default#modules.web.externals.db")["marks"][0], "protected");
    let refused = project.run(&["destroy", "--yes"]).status(2);
    assert!(refused.err.contains("is protected"), "{}", refused.err);
    let again = project.run(&["state", "protect", PASSWORD, "--format", "json"]).status(0).json();
    assert_eq!(again["changed"], false);
    let lifted = project.run(&["state", "protect", PASSWORD, "--off", "--format", "json"]).status(0).json();
    assert_eq!((&lifted["edit"], &lifted["changed"]), (&"unprotect".into(), &true.into()));
    assert!(
        project
            .run(&["state", "protect", PASSWORD, "--off"])
            .status(0)
            .err
            .contains("had no manual protection")
    );
    project.run(&["destroy", "--yes"]).status(0);
}

#[test]
fn a_tainted_resource_is_replaced_once() {
    let project = deployed();
    project.run(&["state", "taint", PASSWORD]).status(0);
    assert_eq!(listed(&project, "password.default#modules.web.externals.db")["marks"][0], "tainted");
    let plan = project.run(&["plan", "--format", "json"]).status(0).json();
    assert_eq!(plan["summary"]["replace"], 1, "{plan}");
    project.run(&["state", "taint", PASSWORD, "--off"]).status(0);
    project.run(&["plan", "--detailed-exitcode"]).status(0);
    project.run(&["state", "taint", PASSWORD]).status(0);
    let output = project.run(&["up", "--yes"]).status(0);
    assert!(output.err.contains("1 replaced"), "{}", output.err);
    project.run(&["plan", "--detailed-exitcode"]).status(0);
    let history = project.run(&["history", "--format", "json"]).status(0).json();
    assert_eq!(history["deployments"][0]["done"]["replace"], 1, "{history}");
    assert_eq!(history["deployments"][0]["done"]["delete"], 0, "the end of the old one is part of it");
}

#[test]
fn a_closed_environment_can_be_read_but_not_deployed() {
    let project = deployed();
    let closed = project.run(&["state", "lock", "--reason", "moving\u{1b}[31m", "--format", "json"]);
    let closed = closed.status(0).json();
    assert_eq!(closed["locked"]["user"], "ada");
    assert_eq!(closed["environment"], serde_json::json!({"org": "default", "app": "shop", "env": "dev"}));
    for arguments in [&["up", "--yes"][..], &["destroy", "--yes"], &["refresh"], &["state", "lock"]] {
        let refused = project.run(arguments).status(1);
        assert!(refused.err.contains("by ada on ") && refused.err.contains("moving"), "{}", refused.err);
        assert!(
            refused.err.contains("purlin state unlock") && !refused.err.contains('\u{1b}'),
            "{}",
            refused.err
        );
    }
    let list = project.run(&["state", "list"]).status(0);
    assert!(list.err.contains("note: dev of default/shop is closed to deployments by ada"), "{}", list.err);
    project.run(&["plan"]).status(0);
    project.run(&["state", "taint", PASSWORD]).status(0);
    project.run(&["up", "--yes", "--env", "staging"]).status(0);
    let opened = project.run(&["state", "unlock"]).status(0);
    assert!(opened.err.contains("it was closed by ada"), "{}", opened.err);
    let again = project.run(&["state", "unlock", "--format", "json"]).status(0).json();
    assert_eq!((&again["locked"], &again["changed"]), (&serde_json::Value::Null, &false.into()));
    project.run(&["up", "--yes"]).status(0);
    project.run(&["state", "lock", "--reason", " "]).status(2);
}

#[test]
fn keys_are_created_and_rotated_but_never_printed() {
    let project = Project::new();
    assert!(project.run(&["state", "key", "show"]).status(0).err.contains("There is no key yet"));
    project.run(&["state", "key", "rotate"]).status(2);
    assert!(!project.has_state(), "looking makes no state");
    project.run(&["up", "--yes"]).status(0);
    let outputs = project.run(&["outputs", "--show-secrets"]).status(0).out;
    let first = project.run(&["state", "key", "show"]).status(0).out;
    assert!(first.starts_with("age1"), "{first}");

    let second = project.run(&["state", "key", "rotate"]).status(0);
    assert_ne!(second.out, first);
    assert_eq!(project.run(&["state", "key", "show"]).status(0).out, second.out);
    assert_eq!(project.run(&["outputs", "--show-secrets"]).status(0).out, outputs);

    let made = project.run(&["state", "key", "new", "team.key", "--format", "json"]).status(0).json();
    let recipient = made["recipient"].as_str().expect("a recipient").to_owned();
    let identity = project.read("team.key");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = project.path().join("team.key").metadata().expect("metadata");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
    assert!(project.run(&["state", "key", "new", "team.key"]).status(2).err.contains("already exists"));
    let third = project.run(&["state", "key", "rotate", "--to", "team.key"]).status(0);
    assert_eq!(third.out.trim(), recipient);
    assert_eq!(project.run(&["outputs", "--show-secrets"]).status(0).out, outputs);
    let secret = identity.lines().find(|line| line.starts_with("AGE-SECRET-KEY")).expect("a secret");
    assert!(!format!("{}{}{made}", third.out, third.err).contains(secret));

    // A file that is not a key, does not exist, or is readable by others is rejected.
    let refused = project.run(&["state", "key", "rotate", "--to", "none.key"]).status(2);
    assert!(refused.err.contains("cannot read the key file `none.key`"), "{}", refused.err);
    #[cfg(unix)]
    {
        let refused = project.run(&["state", "key", "rotate", "--to", "purlin.yaml"]).status(2);
        assert!(refused.err.contains("hint: run `chmod 600 purlin.yaml`"), "{}", refused.err);
        use std::os::unix::fs::PermissionsExt as _;
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(project.path().join("purlin.yaml"), private).expect("set");
        let refused = project.run(&["state", "key", "rotate", "--to", "purlin.yaml"]).status(2);
        assert!(refused.err.contains("contains no age identity"), "{}", refused.err);
    }
    assert_eq!(project.run(&["outputs", "--show-secrets"]).status(0).out, outputs);

    // A key that comes from elsewhere must be given.
    project.edit("purlin.yaml", "spec:\n", "spec:\n  key: {env: TEAM_KEY}\n");
    let with = |arguments: &[&str]| {
        let mut command = project.command(arguments);
        command.env("TEAM_KEY", secret);
        ran(command)
    };
    assert_eq!(with(&["outputs", "--show-secrets"]).status(0).out, outputs);
    let refused = with(&["state", "key", "rotate"]).status(2);
    assert!(refused.err.contains("the environment variable `TEAM_KEY`"), "{}", refused.err);
    project.run(&["state", "key", "new", "next.key"]).status(0);
    let rotated = with(&["state", "key", "rotate", "--to", "next.key"]).status(0);
    assert!(rotated.err.contains("store the new key in"), "{}", rotated.err);
    assert!(
        with(&["outputs"])
            .status(2)
            .err
            .contains("wrong key: the key in the environment variable `TEAM_KEY`")
    );
}

/// A repeated command that closes an environment succeeds. An environment that others closed stays
/// theirs.
#[test]
fn closing_an_environment_can_be_repeated() {
    let project = Project::new();
    project.run(&["up", "--yes"]).status(0);
    let first = project.run(&["state", "lock", "--reason", "moving", "--format", "json"]).status(0).json();
    let again = project.run(&["state", "lock", "--reason", "moving", "--format", "json"]).status(0).json();
    assert_eq!((&first["changed"], &again["changed"]), (&true.into(), &false.into()));
    assert_eq!(first["locked"], again["locked"]);
    let other = project.run(&["state", "lock", "--reason", "testing"]).status(1);
    assert!(other.err.contains("is already closed, by "), "{}", other.err);
    project.run(&["state", "unlock"]).status(0);
    project.run(&["up", "--yes"]).status(0);
}

#[test]
fn an_intact_state_is_unchanged_and_a_damaged_one_is_repaired() {
    let project = Project::new();
    project.run(&["state", "repair"]).status(2);
    assert!(!project.has_state());
    project.run(&["up", "--yes"]).status(0);
    let output = project.run(&["state", "repair", "--check"]).status(0);
    assert_eq!(output.out, "ok The state in `.purlin` is intact: 5 resources.\n");
    let report = project.run(&["state", "repair", "--format", "json"]).status(0).json();
    assert_eq!(
        (&report["intact"], &report["repaired"], &report["records"]),
        (&true.into(), &false.into(), &5.into())
    );

    let outputs = project.run(&["outputs", "--show-secrets"]).status(0).out;
    // The index is rebuilt from the journals, whatever happens to it.
    let index = project.path().join(".purlin/index/db");
    std::fs::write(&index, b"not what sled wrote").expect("damaged");
    project.run(&["state", "repair", "--check"]).status(0);
    project.run(&["env", "list"]).status(0);
    // So is the file with the data key.
    let key = project.path().join(".purlin/data-key");
    std::fs::remove_file(&key).expect("removed");
    project.run(&["state", "repair", "--check"]).status(1);
    let report = project.run(&["state", "repair", "--format", "json"]).status(0).json();
    assert_eq!((&report["intact"], &report["repaired"]), (&false.into(), &true.into()), "{report}");
    assert_eq!((&report["lost"], &report["records"]), (&serde_json::json!([]), &5.into()), "{report}");
    assert_eq!(project.run(&["outputs", "--show-secrets"]).status(0).out, outputs);
    project.run(&["state", "repair", "--check"]).status(0);

    // Lost resources are reported, and the exit status is 1.
    let places = std::fs::read_dir(project.path().join(".purlin/environments")).expect("environments");
    let mut places = places.map(|place| place.expect("an entry").path());
    // What concerns all environments, such as the audit of a repair, has a folder without a name.
    let is_named = |place: &std::path::PathBuf| {
        place.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'))
    };
    let place = places.find(is_named).expect("one");
    for journal in std::fs::read_dir(place.join("journal")).expect("journals") {
        let path = journal.expect("a journal").path();
        let mut bytes = std::fs::read(&path).expect("read");
        let middle = bytes.len() / 2;
        bytes[middle..middle + 40].iter_mut().for_each(|byte| *byte ^= 0xff);
        std::fs::write(&path, bytes).expect("damaged");
    }
    project.run(&["up", "--yes"]).status(1);
    let looked = project.run(&["state", "repair", "--check"]).status(1);
    assert!(looked.out.contains("lost: "), "{}{}", looked.out, looked.err);
    let saved = project.run(&["state", "repair"]).status(1);
    assert!(saved.out.contains("contains what could be saved: "), "{}", saved.out);
    assert!(saved.err.contains("adopt them with `purlin import`"), "{}", saved.err);
    assert!(place.join("stale").is_dir(), "nothing is thrown away");
    project.run(&["state", "repair", "--check"]).status(0);
    project.run(&["up", "--yes"]).status(0);
}

#[test]
fn contradicting_records_are_repaired() {
    let project = deployed();
    let folder = project.path().join(".purlin");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let holder = Holder { user: "a".into(), host: "b".into(), pid: 1, command: "c".into(), since: 0 };
        let options = OpenOptions {
            key: KeyProvider::Generate(folder.join("key")),
            holder: holder.clone(),
            wait: std::time::Duration::ZERO,
            probe: None,
        };
        let store = EmbeddedStore::open(&folder, options).expect("open");
        let environment = Environment { org: "default".into(), app: "shop".into(), env: "dev".into() };
        let snapshot = store.load(&environment).await.expect("loaded");
        let lost = snapshot.records.iter().find(|record| record.urn.as_str().contains("password"));
        let lock = store.lock(&environment, holder).await.expect("free");
        lock.writer().commit(vec![Change::Remove(lost.expect("a password").id())]).await.expect("removed");
        lock.release().await.expect("released");
        store.close().await.expect("closed");
    });
    let refused = project.run(&["up", "--yes"]).status(1);
    assert!(refused.err.contains("which is not recorded"), "{}", refused.err);
    let looked = project.run(&["state", "repair", "--check"]).status(1);
    assert!(looked.out.contains("wrong: in dev of default/shop"), "{}", looked.out);
    let mended = project.run(&["state", "repair"]).status(0);
    assert!(mended.out.contains("ok The state in `.purlin` was repaired: 4 resources."), "{}", mended.out);
    project.run(&["state", "repair", "--check"]).status(0);
    let output = project.run(&["up", "--yes"]).status(0);
    assert!(output.err.contains("1 created"), "{}", output.err);
    assert_eq!(project.recorded().len(), 5);
}

#[test]
fn calls_interrupted_by_a_kill_are_listed_and_can_be_forgotten() {
    let project = Project::new();
    // The order of crash points varies slightly, so take the first one that leaves a call pending.
    let pending = (8..60).find_map(|place: u32| {
        let _ = std::fs::remove_dir_all(project.path().join(".purlin"));
        let mut command = project.command(&["up", "--yes", "--parallelism", "1"]);
        command.env("PURLIN_CRASH_AT", place.to_string());
        ran(command);
        let list = project.run(&["state", "list", "--format", "json"]).json();
        let resources = list["resources"].as_array()?.clone();
        resources.into_iter().find(|one| one["status"] == "pending")
    });
    let pending = pending.expect("a creation that is open");
    let key = pending["key"].as_str().expect("a key");
    assert_eq!(pending["pending"]["operation"], "create");
    let list = project.run(&["state", "list"]).status(0);
    assert!(
        list.out.contains("create pending") && list.err.contains("determine the outcome"),
        "{}",
        list.err
    );
    let shown = project.run(&["state", "show", key, "--format", "json"]).status(0).json();
    assert_eq!(shown["resource"]["status"], "pending");
    let history = project.run(&["history"]).status(0).out;
    assert!(history.contains("unfinished  not known"), "{history}");
    let forgotten = project.run(&["state", "forget", key, "--yes"]).status(0);
    assert!(forgotten.err.contains("the object may exist"), "{}", forgotten.err);
    assert!(!project.recorded().contains(&key.to_owned()));
    project.run(&["up", "--yes"]).status(0);
    assert_eq!(project.recorded().len(), 5);
}

#[test]
fn long_keys_stay_on_one_line_at_every_width() {
    let project = deployed();
    for columns in [40, 60, 80, 100, 140] {
        let mut command = project.command(&["state", "list"]);
        command.env("COLUMNS", columns.to_string());
        let text = ran(command).status(0).out;
        // A narrow table says what it leaves out.
        let without = text.lines().last().is_some_and(|last| last.starts_with("without "));
        assert_eq!(without, !text.contains("PROVIDER ID\n"), "{columns}:\n{text}");
        assert_eq!(text.lines().count(), 6 + usize::from(without), "{columns}:\n{text}");
        assert!(text.contains("\npostgres.default#modules.web.externals.db "), "{columns}:\n{text}");
        let fits = text.lines().all(|line| line.chars().count() <= columns);
        assert!(fits || columns < 60, "{columns}:\n{text}");
    }
}

/// A password, a database that reads it, and a service that reads the database.
const CHAIN: &str = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: password}
spec: {type: password, driver: purlin/random, criteria: [{}]}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: db}
spec:
  type: db
  driver: purlin/echo
  inputs:
    values: {host: db.internal}
    secrets: {password: '${resources[\"password#shared.pw\"].outputs.password}'}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: service}
spec:
  type: service
  driver: purlin/echo
  inputs: {values: {db: '${resources[\"db#shared.db\"].outputs.host}'}}
  criteria: [{}]
";

fn of_app(app: &str, shared: &str) -> String {
    format!(
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: {app}\n  env: dev\n  shared: {{{shared}}}\n"
    )
}

#[test]
fn resources_move_to_another_application_with_their_secrets() {
    const ALL: &str = "pw: {type: password}, db: {type: db}, web: {type: service}";
    let project = Project::with(&[("platform/chain.yaml", CHAIN), ("shop/shop.yaml", &of_app("shop", ALL))]);
    let shop = ["-f", "platform", "-f", "shop"];
    let orders = ["-f", "platform", "-f", "orders"];
    let run = |folders: &[&str], arguments: &[&str]| project.run(&[arguments, folders].concat());
    run(&shop, &["up", "--yes"]).status(0);
    let show = |folders: &[&str]| {
        let ran =
            run(folders, &["state", "show", "db#shared.db", "--show-secrets", "--format", "json"]).status(0);
        ran.json()["resource"].clone()
    };
    let before = show(&shop);
    // What belongs together is not separated.
    let refused = |keys: &[&str]| {
        let ran = run(&shop, &[&["state", "move", "--yes", "--to-app", "orders"], keys].concat()).status(2);
        assert!(ran.err.contains("error[not-movable]"), "{}", ran.err);
        ran.err
    };
    let text = refused(&["db"]);
    for what in [
        "`db.default#shared.db` cannot move: it depends on `password.default#shared.pw`, which stays",
        "`db.default#shared.db` cannot move: `service.default#shared.web` depends on it and stays",
    ] {
        assert!(text.contains(what), "{text}");
    }
    refused(&["pw"]);
    project.run(&["state", "move", "db", "--to-app", "orders", "-f", "shop"]).status(2);
    let text = run(&shop, &["state", "move", "db", "--yes", "--to-app", "shop"]).status(2).err;
    assert!(text.contains("are in dev of default/shop already"), "{text}");
    let text = run(&shop, &["state", "move", "db", "--yes", "--to-app", "a/b"]).status(2).err;
    assert!(text.contains("error[context-name]"), "{text}");
    assert_eq!(show(&shop), before);

    let both = ["state", "move", "db", "pw", "--to-app", "orders", "--force", "--yes"];
    let text = run(&shop, &both).status(0).err;
    assert!(text.contains("Moved `db.default#shared.db`, `password.default#shared.pw` from dev of default/shop to dev of default/orders."), "{text}");
    assert!(text.contains("service.default#shared.web depended on them"), "{text}");
    // Again, it does nothing.
    let text = run(&shop, &both).status(0).err;
    assert!(text.contains("nothing was changed"), "{text}");
    project.write("orders/orders.yaml", of_app("orders", "pw: {type: password}, db: {type: db}"));
    let after = show(&orders);
    assert_eq!(after["inputs"], before["inputs"]);
    assert_eq!(after["id"], before["id"]);
    let left = run(&shop, &["state", "list", "--format", "json"]).status(0).json();
    let keys: Vec<&str> = left["resources"]
        .as_array()
        .expect("resources")
        .iter()
        .filter_map(|one| one["key"].as_str())
        .collect();
    assert_eq!(keys, ["base-env.default#base-env", "service.default#shared.web"]);
    // Both applications go on with what they have.
    run(&orders, &["up", "--yes"]).status(0);
    assert_eq!(show(&orders)["inputs"], before["inputs"]);
    run(&shop, &["up", "--yes"]).status(0);
    assert_ne!(show(&shop)["inputs"], before["inputs"], "a new password");
}

#[test]
fn an_interrupted_move_closes_both_environments_until_it_is_finished() {
    let project = Project::with(&[
        ("platform/chain.yaml", CHAIN),
        ("shop/shop.yaml", &of_app("shop", "pw: {type: password}")),
        ("orders/orders.yaml", &of_app("orders", "")),
    ]);
    let shop = ["-f", "platform", "-f", "shop"];
    let orders = ["-f", "platform", "-f", "orders"];
    let run = |folders: &[&str], arguments: &[&str]| project.run(&[arguments, folders].concat());
    run(&shop, &["up", "--yes"]).status(0);
    run(&orders, &["up", "--yes"]).status(0);
    let command = "purlin state move 'password.default#shared.pw' --org default --app shop --env dev \
                   --to-org default --to-app orders --to-env dev";
    // As a move leaves it that was killed after its first commit.
    run(&shop, &["state", "lock", "--reason", command]).status(0);
    for arguments in [&["up", "--yes"][..], &["state", "unlock"], &["destroy", "--yes"]] {
        let ran = run(&shop, arguments);
        assert!(ran.status != 0 && ran.err.contains(command), "{arguments:?}: {}", ran.err);
    }
    // The move would not find the records as it left them.
    for edit in [
        &["state", "protect", "pw"][..],
        &["state", "taint", "pw"],
        &["state", "forget", "pw", "--yes"],
        &["state", "rename", "pw", "password#shared.other"],
    ] {
        let ran = run(&shop, edit);
        assert!(ran.status != 0 && ran.err.contains(command), "{edit:?}: {}", ran.err);
    }
    // Another move does not mix with it.
    let other = ["state", "move", "pw", "--to-env", "prod", "--yes"];
    assert!(run(&shop, &other).status(1).err.contains(command));
    run(&shop, &["state", "move", "pw", "--to-app", "orders", "--yes"]).status(0);
    run(&orders, &["plan"]).status(0);
    let list = run(&orders, &["state", "list"]).status(0).out;
    assert!(list.contains("password#shared.pw") || list.contains("password.default#shared.pw"), "{list}");
    run(&shop, &["up", "--yes"]).status(0);
}

#[test]
fn a_move_does_not_end_in_a_misspelt_environment_or_without_protection() {
    const WORKSPACE: &str = "apiVersion: purlin.dev/v1\nkind: Workspace\nmetadata: {name: w}\nspec:\n  defaults: {app: shop, env: prod}\n  environments:\n    prod: {protect: true}\n    dev: {}\n";
    let project = Project::with(&[
        ("purlin.yaml", WORKSPACE),
        ("chain.yaml", CHAIN),
        (
            "shop.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: shop}\nspec: {shared: {pw: {type: password}}}\n",
        ),
    ]);
    project.run(&["up", "--yes"]).status(0);
    let moved = |more: &[&str]| project.run(&[&["state", "move", "pw", "--yes"], more].concat());
    for (to, text) in [
        (&["--to-env", "prdo"][..], "is not"),
        (&["--to-env", "dev"], "prod of default/shop is protected, and dev of default/shop is not"),
        (
            &["--to-app", "shpo"],
            "did you mean prod of default/shop? For another environment, add `--new-environment`",
        ),
    ] {
        let refused = moved(to).status(2).err;
        assert!(refused.contains(text), "{to:?}: {refused}");
    }
    project.edit("purlin.yaml", "prod: {protect: true}", "prod: {}");
    let refused = moved(&["--to-env", "prdo"]).status(2).err;
    assert!(
        refused.contains("error[unknown-environment]") && refused.contains("did you mean `prod`?"),
        "{refused}"
    );
    project.run(&["plan", "--detailed-exitcode"]).status(0);
    moved(&["--to-env", "dev"]).status(0);
    project
        .run(&["state", "move", "pw", "--yes", "--env", "dev", "--to-env", "test", "--new-environment"])
        .status(0);
}
