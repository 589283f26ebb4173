//! Tests of installations that several deployments share.

use std::collections::BTreeSet;
#[cfg(unix)]
use std::io::{BufReader, Read as _};
use std::process::Child;
#[cfg(unix)]
use std::process::ChildStderr;

use purlin_systems::project::{Project, Ran, ran_with, read_until, signal};
use purlin_systems::tools::component;

#[cfg(unix)]
use crate::gate::Gate;

const BUNDLES: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/mysql, version: 1.0.0}
spec:
  parameters: [{name: size, type: integer, default: 1}]
  credentials: [{name: root, default: hunter2}]
  driver: purlin/echo
  inputs: {values: {host: 'db-${bundle.parameters.size}', login: 'root:${bundle.credentials.root}'}}
  outputs: [{name: host, type: string}, {name: login, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/blog, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {url: 'http://${bundle.dependencies.db.outputs.host}', login: '${bundle.dependencies.db.outputs.login}'}}
  outputs: [{name: url, type: string}]
  requires:
    - {name: db, bundle: {reference: 'acme/mysql:v1.0.0', version: 1.x}}
";

fn project() -> Project {
    Project::with(&[("all.yaml", BUNDLES)])
}

fn blog(project: &Project, name: &str, namespace: &str, more: &[&str]) -> Ran {
    let all = ["up", "--yes", "--bundle", "acme/blog", "--name", name, "--namespace", namespace];
    project.run(&[&all, more].concat())
}

fn destroy(project: &Project, name: &str, namespace: &str, more: &[&str]) -> Ran {
    project
        .run(&[&["destroy", "--yes", "--app", name, "--env", namespace, "-f", "purlin.yaml"], more].concat())
}

fn with_workspace(project: Project) -> Project {
    project.write("purlin.yaml", "apiVersion: purlin.dev/v1\nkind: Workspace\nmetadata: {name: w}\n");
    project
}

fn listed(project: &Project) -> Vec<(String, usize, bool)> {
    let out = project.run(&["installations", "list", "--format", "json"]).status(0).out;
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let all = report["installations"].as_array().expect("a list").iter();
    all.map(|one| {
        let users = one["users"].as_array().expect("a list").len();
        (one["id"].as_str().expect("text").to_owned(), users, one["handed_over"].as_bool().expect("a word"))
    })
    .collect()
}

fn one(id: &str, users: usize, handed_over: bool) -> (String, usize, bool) {
    (id.to_owned(), users, handed_over)
}

#[test]
fn users_of_an_installation_follow_it_to_another_environment() {
    let project = with_workspace(project());
    blog(&project, "one", "dev", &[]).status(0);
    blog(&project, "two", "dev", &[]).status(0);
    blog(&project, "three", "dev", &[]).status(0);
    let shown = |name: &str| {
        let read =
            ["outputs", "--bundle", "acme/blog", "--name", name, "--namespace", "dev", "--show-secrets"];
        project.run(&read).status(0).out
    };
    let before = shown("two");
    let sent = ["state", "move", "one/db", "--app", "one", "--env", "dev", "-f", "purlin.yaml", "--force"];
    let run = |more: &[&str]| project.run(&[&sent, more].concat());
    // Where it would be used in its own environment, it stays.
    let refused = run(&["--yes", "--to-app", "two"]).status(2);
    assert!(refused.err.contains("error[not-movable]"), "{}", refused.err);
    assert!(
        refused.err.contains("`installation.default#two/db` of the target represents it"),
        "{}",
        refused.err
    );
    assert_eq!(shown("two"), before);

    let moved = run(&["--yes", "--to-app", "base", "--format", "json"]).status(0).json();
    assert_eq!(
        moved["users"],
        serde_json::json!([
            "urn:purlin:dev/default::three::shared::installation.default::three/db",
            "urn:purlin:dev/default::two::shared::installation.default::two/db",
        ]),
        "{moved}"
    );
    assert_eq!(shown("two"), before);
    let users: Vec<(String, usize, bool)> = listed(&project).into_iter().filter(|one| one.1 > 0).collect();
    assert_eq!(users, [one("dev/one/db", 2, false)]);
    // Both users have nothing to do, and neither makes an installation of its own.
    for name in ["two", "three"] {
        let plan =
            ["plan", "--bundle", "acme/blog", "--name", name, "--namespace", "dev", "--detailed-exitcode"];
        project.run(&plan).status(0);
    }
    let refused = destroy(&project, "base", "dev", &[]).status(2);
    assert!(
        refused.err.contains("`installation.default#two/db` of dev of default/two uses it"),
        "{}",
        refused.err
    );
    // What is moved once is not moved again.
    assert!(run(&["--yes", "--to-app", "base"]).status(0).err.contains("nothing was changed"));
}

#[test]
fn two_applications_share_an_installation_until_the_last_is_gone() {
    let project = with_workspace(project());
    blog(&project, "one", "dev", &[]).status(0);
    let second = blog(&project, "two", "dev", &[]).status(0);
    assert!(
        second.err.contains("uses `installation.default#one/db` of dev of default/one"),
        "{}",
        second.err
    );
    let read =
        ["outputs", "--bundle", "acme/blog", "--name", "two", "--namespace", "dev", "--format", "json"];
    let outputs: serde_json::Value = serde_json::from_str(&project.run(&read).status(0).out).expect("JSON");
    let of = |key: &str, name: &str| outputs["resources"][key][name].clone();
    assert_eq!(of("installation.default#two", "url"), "http://db-1");
    // A secret of the other environment stays secret in this one.
    assert_eq!(of("installation.default#two/db", "login"), "[secret]");
    assert_eq!(
        listed(&project),
        [one("dev/one", 0, false), one("dev/one/db", 1, false), one("dev/two", 0, false)]
    );

    let refused = destroy(&project, "one", "dev", &[]).status(2);
    assert!(refused.err.contains("error[in-use]"), "{}", refused.err);
    assert!(
        refused.err.contains("`installation.default#two/db` of dev of default/two uses it"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("--orphan-shared"), "{}", refused.err);
    assert_eq!(listed(&project).len(), 3, "nothing was deleted");

    let handed_over = destroy(&project, "one", "dev", &["--orphan-shared"]).status(0);
    assert!(handed_over.err.contains("it is kept until its last user is gone"), "{}", handed_over.err);
    assert_eq!(listed(&project), [one("dev/one/db", 1, true), one("dev/two", 0, false)]);
    // Destroying again reports that it stays.
    let again = destroy(&project, "one", "dev", &[]).status(0);
    assert!(again.err.contains("it is kept until its last user is gone"), "{}", again.err);
    // New users may still join.
    blog(&project, "three", "dev", &[]).status(0);
    let gone = destroy(&project, "two", "dev", &[]).status(0);
    assert!(!gone.err.contains("last user"), "{}", gone.err);
    let last = destroy(&project, "three", "dev", &[]).status(0);
    assert!(
        last.err.contains("it is the last user of `installation.default#one/db` of dev of default/one"),
        "{}",
        last.err
    );
    assert!(last.err.contains("deleted `installation.default#one/db` of dev of default/one"), "{}", last.err);
    assert_eq!(listed(&project), []);
}

/// ACT-02, ACT-04 and ACT-05 of the test cases: the effect of a change of one application on what
/// it shares.
#[test]
fn only_the_owner_changes_a_shared_installation() {
    let project = with_workspace(project());
    blog(&project, "one", "dev", &[]).status(0);
    blog(&project, "two", "dev", &[]).status(0);
    let again = BUNDLES.replace("http://${bundle", "https://${bundle");
    project.write("all.yaml", &again);
    let user = blog(&project, "two", "dev", &[]).status(0);
    assert!(user.err.contains("1 updated") && !user.err.contains("two/db"), "ACT-02: {}", user.err);
    // Only the value of a credential of the owner changes.
    let owner = blog(&project, "one", "dev", &["--credential", "one/db.root=swordfish"]).status(0);
    assert!(owner.err.contains("installation.default#one/db"), "ACT-05: {}", owner.err);
    assert!(!owner.err.contains("swordfish"), "{}", owner.err);
    blog(&project, "one", "dev", &[]).status(0);
    // A user reads the recorded outputs again.
    let user = blog(&project, "two", "dev", &[]).status(0);
    assert!(user.err.contains("updated"), "{}", user.err);
    let settled = blog(&project, "two", "dev", &[]).status(0);
    assert!(settled.err.contains("Nothing to change"), "{}", settled.err);
}

/// The services of the example `unshared`, each deployed by a run of its own.
#[test]
fn what_a_requirement_sets_counts_over_two_runs() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/requirements/unshared/bundles");
    let bundles = |name: &str| std::fs::read_to_string(format!("{example}/{name}.yaml")).expect(name);
    let project = with_workspace(Project::with(&[
        ("dns.yaml", &bundles("dns")),
        ("service.yaml", &bundles("service")),
    ]));
    let service = |name: &str| {
        let all = ["up", "--yes", "--bundle", "acme/service", "--name", name, "--namespace", "dev"];
        project.run(&all).status(0).err
    };
    service("a");
    let why = "`dev/a/dns` is not used for `dns`: its parameter `cname` differs";
    let explain = ["explain", "b/dns", "--bundle", "acme/service", "--name", "b", "--namespace", "dev"];
    let explained = project.run(&explain).status(0);
    assert!(explained.err.contains(why), "{}", explained.err);
    assert!(explained.out.contains("`cname`"), "{}", explained.out);
    let second = service("b");
    assert!(second.contains(why), "{second}");
    let read =
        ["outputs", "--bundle", "acme/service", "--name", "b", "--namespace", "dev", "--format", "json"];
    let outputs: serde_json::Value = serde_json::from_str(&project.run(&read).status(0).out).expect("JSON");
    assert_eq!(outputs["resources"]["installation.default#b"]["url"], "https://b.example.com");
    for name in ["a", "b"] {
        let settled = service(name);
        assert!(settled.contains("Nothing to change"), "{settled}");
    }
    // The advice works: the other service's record is used in any case.
    let all = ["up", "--yes", "--bundle", "acme/service", "--name", "c", "--namespace", "dev"];
    let ignored = project.run(&[&all[..], &["--with", "dns=dev/a/dns"]].concat()).status(0).err;
    assert!(ignored.contains("its parameter `cname` differs"), "{ignored}");
}

#[test]
fn what_is_protected_stays_after_its_last_user() {
    let protected = BUNDLES.replace(
        "metadata: {name: acme/mysql, version: 1.0.0}\nspec:\n",
        "metadata: {name: acme/mysql, version: 1.0.0}\nspec:\n  lifecycle: {protect: true}\n",
    );
    let project = with_workspace(Project::with(&[("all.yaml", &protected)]));
    blog(&project, "one", "dev", &[]).status(0);
    blog(&project, "two", "dev", &[]).status(0);
    destroy(&project, "one", "dev", &["--orphan-shared"]).status(0);
    let last = destroy(&project, "two", "dev", &[]).status(0);
    let stays = "dev of default/one keeps what is no longer used: `installation.default#one/db` is protected";
    assert!(last.err.contains(stays), "{}", last.err);
    assert!(!last.err.contains("nothing was done"), "{}", last.err);
    assert_eq!(listed(&project), [one("dev/one/db", 0, true)]);
}

#[test]
fn restored_documents_own_the_installation_again() {
    let project = with_workspace(project());
    blog(&project, "one", "dev", &[]).status(0);
    blog(&project, "two", "dev", &[]).status(0);
    destroy(&project, "one", "dev", &["--orphan-shared"]).status(0);
    let back = blog(&project, "one", "dev", &[]).status(0);
    assert!(!back.err.contains("create installation.default#one/db"), "{}", back.err);
    assert_eq!(listed(&project)[1], one("dev/one/db", 1, false));
    destroy(&project, "two", "dev", &[]).status(0);
    assert_eq!(listed(&project), [one("dev/one", 0, false), one("dev/one/db", 0, false)]);
}

#[test]
fn namespaces_are_kept_apart_and_the_global_one_is_for_all() {
    let project = with_workspace(project());
    blog(&project, "one", "dev", &[]).status(0);
    blog(&project, "two", "qa", &[]).status(0);
    let ids = |project: &Project| listed(project).into_iter().map(|(id, ..)| id).collect::<Vec<_>>();
    assert_eq!(ids(&project), ["dev/one", "dev/one/db", "qa/two", "qa/two/db"]);
    let global = [
        "up",
        "--yes",
        "--bundle",
        "acme/mysql",
        "--name",
        "everywhere",
        "--namespace",
        "",
        "--env",
        "shared",
    ];
    project.run(&global).status(0);
    blog(&project, "three", "stage", &[]).status(0);
    assert!(listed(&project).contains(&one("/everywhere", 1, false)), "{:?}", listed(&project));
    // The command line overrides this choice.
    let with = ["--with", "db=/everywhere"];
    let moved = blog(&project, "two", "qa", &with);
    assert_eq!(moved.status, 0, "{}", moved.err);
    assert!(listed(&project).contains(&one("/everywhere", 2, false)), "{:?}", listed(&project));
    assert!(!ids(&project).contains(&"qa/two/db".to_owned()), "{:?}", listed(&project));
    blog(&project, "two", "qa", &[]).status(0);
    assert!(listed(&project).contains(&one("/everywhere", 2, false)), "it is remembered");
    let unseen = blog(&project, "four", "stage", &["--with", "db=/nowhere"]).status(2);
    assert!(unseen.err.contains("error[no-installation]"), "{}", unseen.err);
}

#[test]
fn the_group_that_may_share_can_be_changed() {
    let project = with_workspace(project());
    blog(&project, "one", "dev", &[]).status(0);
    let output = project.run(&["installations", "share", "dev/one/db", "--nobody"]).status(0);
    assert!(output.err.contains("no longer shared with new users"), "{}", output.err);
    // The setting overrides the documents.
    blog(&project, "one", "dev", &[]).status(0);
    blog(&project, "two", "dev", &[]).status(0);
    let table = project.run(&["installations", "list"]).status(0).out;
    assert!(table.contains("dev/two/db") && table.contains("nobody"), "{table}");
    project.run(&["installations", "share", "dev/one/db", "--as-written"]).status(0);
    blog(&project, "one", "dev", &[]).status(0);
    let all = project.run(&["installations", "list", "--group", ""]).status(0).out;
    assert!(all.contains("dev/one/db"), "{all}");
    let unknown = project.run(&["installations", "share", "dev/nothing", "--nobody"]).status(2);
    assert!(unknown.err.contains("installations list"), "{}", unknown.err);
    let similar = project.run(&["installations", "share", "dev/one/bd", "--nobody"]).status(2);
    assert!(similar.err.contains("hint: did you mean `dev/one/db`?\n"), "{}", similar.err);
}

#[test]
fn changes_reach_the_users_and_breaking_ones_are_rejected() {
    let project = with_workspace(project());
    blog(&project, "one", "dev", &[]).status(0);
    blog(&project, "two", "dev", &[]).status(0);
    blog(&project, "one", "dev", &["--param", "one/db.size=7"]).status(0);
    let plan =
        project.run(&["plan", "--bundle", "acme/blog", "--name", "two", "--namespace", "dev"]).status(0);
    assert!(plan.out.contains("db-7"), "{}\n{}", plan.out, plan.err);
    // The other user does not accept this version.
    let newer = BUNDLES.split("---").next().expect("a bundle").replace("1.0.0", "2.0.0");
    project.write("newer.yaml", newer);
    let refused = blog(&project, "one", "dev", &["--with", "db=acme/mysql:v2.0.0"]).status(2);
    assert!(refused.err.contains("error[breaks-user]"), "{}", refused.err);
    assert!(refused.err.contains("default::two::shared::installation.default::two/db"), "{}", refused.err);
    // While it is used, it cannot be replaced or forgotten either.
    let replaced = blog(&project, "one", "dev", &["--replace", "installation#one/db"]).status(2);
    assert!(replaced.err.contains("would be replaced"), "{}", replaced.err);
    let key = "urn:purlin:dev/default::one::shared::installation.default::one/db";
    let forgotten = project.run(&["state", "forget", key, "--yes"]);
    assert!(
        forgotten.err.contains("would be forgotten") || forgotten.err.contains("depends on it"),
        "{}",
        forgotten.err
    );
}

/// Whatever the verb: `up`, `rollback`, a saved plan, another bundle.
#[test]
fn no_verb_leaves_a_user_with_an_installation_that_does_not_fit() {
    let mysql = BUNDLES.split("---").next().expect("a bundle");
    let shop = BUNDLES.split("---").nth(1).expect("a bundle");
    let shop = shop
        .replace("acme/blog", "acme/shop")
        .replace("v1.0.0', version: 1.x", "v1.1.0', version: '>=1.1.0'");
    let other = mysql.replace("acme/mysql", "acme/other");
    let (second, third) = (mysql.replace("1.0.0", "1.1.0"), mysql.replace("1.0.0", "2.0.0"));
    let project = with_workspace(project());
    project.write("more.yaml", [second, third, other, shop].join("---\n"));
    blog(&project, "one", "dev", &["--with", "db=acme/mysql:v1.0.0"]).status(0);
    blog(&project, "one", "dev", &["--with", "db=acme/mysql:v1.1.0"]).status(0);
    let plan = ["plan", "--bundle", "acme/blog", "--name", "one", "--namespace", "dev", "--out", "two.plan"];
    project.run(&[&plan[..], &["--with", "db=acme/mysql:v2.0.0"]].concat()).status(0);
    let user = ["up", "--yes", "--bundle", "acme/shop", "--name", "shop", "--namespace", "dev"];
    project.run(&user).status(0);
    assert!(listed(&project).contains(&one("dev/one/db", 1, false)), "{:?}", listed(&project));
    blog(&project, "two", "dev", &[]).status(0);
    let rejected = |ran: Ran, why: &str| {
        let ran = ran.status(2);
        assert!(ran.err.contains("error[breaks-user]") && ran.err.contains(why), "{}", ran.err);
    };
    let back = ["rollback", "1", "--yes", "--app", "one", "--env", "dev"];
    rejected(project.run(&back), "`acme/mysql:v1.0.0` would no longer suit");
    rejected(blog(&project, "one", "dev", &["--with", "db=acme/other:v1.0.0"]), "another bundle");
    rejected(blog(&project, "one", "dev", &["--with", "db=acme/mysql:v2.0.0"]), "in `1.x`");
    destroy(&project, "two", "dev", &[]).status(0);
    // `>=1.1.0` accepts it, and a saved plan is held against the users of now.
    destroy(&project, "shop", "dev", &[]).status(0);
    blog(&project, "two", "dev", &[]).status(0);
    rejected(project.run(&["apply", "two.plan", "--yes"]), "in `1.x`");
    assert!(listed(&project).contains(&one("dev/one/db", 1, false)), "{:?}", listed(&project));
}

#[test]
fn a_saved_plan_uses_only_existing_installations() {
    let project = with_workspace(project());
    blog(&project, "one", "dev", &[]).status(0);
    let plan = ["plan", "--bundle", "acme/blog", "--name", "two", "--namespace", "dev", "--out", "two.plan"];
    project.run(&plan).status(0);
    destroy(&project, "one", "dev", &[]).status(0);
    let gone = project.run(&["apply", "two.plan", "--yes"]).status(2);
    assert!(gone.err.contains("is gone"), "{}", gone.err);
    assert_eq!(listed(&project), []);
    blog(&project, "one", "dev", &[]).status(0);
    project.run(&["apply", "two.plan", "--yes"]).status(0);
    assert!(listed(&project).contains(&one("dev/one/db", 1, false)), "{:?}", listed(&project));
    // A rollback keeps using it.
    blog(&project, "two", "dev", &["--set", "x=1"]);
    let back = project.run(&["rollback", "1", "--yes", "--app", "two", "--env", "dev"]);
    assert_eq!(back.status, 0, "{}", back.err);
    assert!(listed(&project).contains(&one("dev/one/db", 1, false)), "{:?}", listed(&project));
}

/// Starts the first deployment of an application that requires a database.
fn start(project: &Project, name: &str, namespace: &str) -> Child {
    let all = ["up", "--yes", "--bundle", "acme/blog", "--name", name, "--namespace", namespace];
    project.start(&[&all[..], &["--app", name, "--env", "dev"]].concat())
}

/// Repeats a deployment that was rejected because another one was running, or that was killed.
fn settle(project: &Project, name: &str, namespace: &str, mut ran: Ran) -> Ran {
    while ran.status == 1 && ran.err.contains("is locked by") || ran.status == -1 {
        ran = ran_with(start(project, name, namespace));
    }
    assert_eq!(ran.status, 0, "{name}: {}", ran.err);
    ran
}

fn databases(project: &Project) -> Vec<(String, usize, bool)> {
    listed(project).into_iter().filter(|(id, ..)| id.ends_with("/db")).collect()
}

/// Neither deployment finds what the other one is creating, so the second one waits. The timing
/// decides which one that is and whether they meet at all, but the result is the same.
#[test]
fn first_deployments_at_the_same_moment_share_one_installation() {
    let mut repeated = 0;
    for round in 0..8 {
        let project = with_workspace(project());
        let names: &[&str] = if round % 2 == 0 { &["one", "two"] } else { &["one", "two", "three", "four"] };
        let begun: Vec<Child> = names.iter().map(|name| start(&project, name, "dev")).collect();
        for (name, child) in names.iter().zip(begun) {
            let ran = settle(&project, name, "dev", ran_with(child));
            repeated += usize::from(ran.err.contains("planning again"));
        }
        let databases = databases(&project);
        assert_eq!(databases.len(), 1, "round {round}: {databases:?}");
        assert_eq!(databases[0].1, names.len() - 1, "round {round}: {databases:?}");
        // The wait leaves no environment and no files behind.
        let known = project.run(&["env", "list", "--format", "json"]).status(0).json();
        assert_eq!(known["environments"].as_array().map(Vec::len), Some(names.len()), "{known}");
        assert_eq!(
            std::fs::read_dir(project.path().join(".purlin/vacancies")).map(Iterator::count).unwrap_or(0),
            0
        );
    }
    println!("{repeated} runs planned again");
}

/// A killed deployment does not block the other one. The installation that it began may exist in
/// addition to that of the other one, as if it had been deployed later. Two deployments that are
/// not killed never create two.
#[test]
fn a_killed_run_does_not_block_others() {
    for round in 0..6u64 {
        let project = with_workspace(project());
        let (mut first, second) = (start(&project, "one", "dev"), start(&project, "two", "dev"));
        std::thread::sleep(std::time::Duration::from_millis(round * 120));
        let _ = first.kill();
        let _ = first.wait();
        settle(&project, "two", "dev", ran_with(second));
        let made: BTreeSet<String> = databases(&project).into_iter().map(|(id, ..)| id).collect();
        assert!(!made.is_empty(), "round {round}");
        let again = ran_with(start(&project, "one", "dev"));
        let was_begun = made.contains("dev/one/db") || again.err.contains("interrupted");
        settle(&project, "one", "dev", again);
        let now = databases(&project);
        assert!(now.len() == 1 || was_begun && now.len() == 2, "round {round}: {made:?}, then {now:?}");
        for name in ["two", "one"] {
            destroy(&project, name, "dev", &["--orphan-shared"]).status(0);
        }
        assert_eq!(listed(&project), [], "round {round}");
    }
}

/// The global namespace does not search other namespaces, but others use its installations.
#[test]
fn global_installations_do_not_wait_and_are_found_once_created() {
    for round in 0..4 {
        let project = with_workspace(project());
        let all = [("everywhere", ""), ("one", "dev"), ("two", "dev")];
        let begun: Vec<Child> =
            all.iter().map(|(name, namespace)| start(&project, name, namespace)).collect();
        for ((name, namespace), child) in all.iter().zip(begun) {
            settle(&project, name, namespace, ran_with(child));
        }
        let made: Vec<String> = databases(&project).into_iter().map(|(id, ..)| id).collect();
        let own = made.iter().filter(|id| id.starts_with("dev/")).count();
        assert!(made.contains(&"/everywhere/db".to_owned()) && own <= 1, "round {round}: {made:?}");
        assert_eq!(made.len(), own + 1, "round {round}: {made:?}");
    }
}

/// At the end of a run, unused installations are deleted in other environments. These calls can be cancelled like
/// those of the run.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_deletion_of_unused_installations() {
    let mut gate = Gate::new();
    let project = project();
    project.write(
        "purlin.yaml",
        format!(
            "apiVersion: purlin.dev/v1\nkind: Workspace\nmetadata: {{name: w}}\nspec:\n  drivers:\n    acme/guests:\n      source: {}\n      limits: {{time: 20m, grace: 0s}}\n",
            component("guests").display()
        ),
    );
    gate.grant(&project);
    let waiting = format!("driver: acme/guests\n  inputs: {{values: {{{}, id: do, host", gate.inputs());
    project.edit("all.yaml", "driver: purlin/echo\n  inputs: {values: {host", &waiting);
    // The driver has other outputs than the bundle needs.
    project.edit(
        "all.yaml",
        "outputs: [{name: host, type: string}, {name: login, type: string}]",
        "outputs: []",
    );
    project.edit(
        "all.yaml",
        "http://${bundle.dependencies.db.outputs.host}', login: '${bundle.dependencies.db.outputs.login}'",
        "http://example.test'",
    );
    let mut owner =
        project.start(&["up", "--yes", "--bundle", "acme/blog", "--name", "one", "--namespace", "dev"]);
    gate.wait();
    gate.release();
    assert_eq!(owner.wait().expect("ended").code(), Some(0));
    blog(&project, "two", "dev", &[]).status(0);
    destroy(&project, "one", "dev", &["--orphan-shared"]).status(0);
    let last = ["destroy", "--yes", "--app", "two", "--env", "dev", "-f", "purlin.yaml"];

    let interrupted = |gate: &mut Gate| {
        let mut child = project.start(&last);
        let mut errors = BufReader::new(child.stderr.take().expect("stderr"));
        gate.wait();
        signal(&child, "-INT");
        read_until(&mut errors, "press Ctrl-C again");
        (child, errors)
    };
    let ended = |mut child: Child, mut errors: BufReader<ChildStderr>, status: i32, end: &str| {
        let mut rest = String::new();
        errors.read_to_string(&mut rest).expect("text");
        assert_eq!(child.wait().expect("ended").code(), Some(status), "{rest}");
        assert!(rest.contains(end), "{rest}");
    };

    // The call does not end by itself.
    let (mut child, _errors) = interrupted(&mut gate);
    signal(&child, "-INT");
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    gate.release();
    assert_eq!(listed(&project), [one("dev/one/db", 0, true)]);

    // Now the first call determines the outcome of the interrupted one. The run ends after it.
    let (child, errors) = interrupted(&mut gate);
    gate.release();
    ended(child, errors, 1, "was not deleted, because the run was interrupted; the next run deletes it");
    assert_eq!(listed(&project), [one("dev/one/db", 0, true)]);

    // A deletion that has begun is finished.
    let (child, errors) = interrupted(&mut gate);
    gate.open();
    ended(child, errors, 0, "deleted `installation.default#one/db` of dev of default/one");
    assert_eq!(listed(&project), []);
}
