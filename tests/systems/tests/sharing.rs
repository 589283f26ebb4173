//! `examples/requirements/postgres` on a real server: two applications that share an account, each
//! with its own database. The first one creates the account, and the last one deletes it.
#![allow(clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::Path;

use purlin_systems::Project;
use purlin_systems::postgres::{PASSWORD, Postgres};
use purlin_systems::tools::root;

/// The port that the example names.
const PORT: &str = "15432";

/// The example, with the port that the server has.
fn example(server: &Postgres) -> Project {
    let workspace = Project::empty();
    let from = root().join("examples/requirements/postgres");
    put(&from, workspace.path(), &|text| text.replace(PORT, &server.port.to_string()));
    // Not a document, so its name has another extension.
    let credentials = format!("app/database/server.administrator: {PASSWORD}\n");
    fs::write(workspace.path().join("administrator"), credentials).expect("written");
    workspace
}

fn put(from: &Path, to: &Path, change: &dyn Fn(String) -> String) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let place = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true if path.ends_with(".purlin") => {}
            true => put(&path, &place, change),
            false => fs::write(place, change(fs::read_to_string(&path).expect("read"))).expect("written"),
        }
    }
}

#[test]
fn two_applications_share_an_account_until_the_last_is_gone() {
    let Some(server) = Postgres::start() else { return };
    let there = || (server.roles(), server.databases());
    let all = |roles: &[&str], databases: &[&str]| -> (Vec<String>, Vec<String>) {
        let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        (texts(roles), texts(databases))
    };
    let begin = there();
    let workspace = example(&server);
    let up = |app: &str, more: &[&str]| workspace.run(&[&["up", "--yes", "--app", app], more].concat());
    let destroy = |app: &str, more: &[&str]| {
        workspace.run(&[&["destroy", "--yes", "--allow-data-loss", "--app", app], more].concat())
    };

    // The administrator's password is missing.
    up("orders", &[]).status(2).prints("administrator");
    assert_eq!(there(), begin);
    up("orders", &["--credentials", "administrator"]).status(0);
    assert_eq!(there(), all(&["team"], &["orders"]));
    // The second one needs no input.
    up("invoices", &[]).status(0).prints("it uses `installation.default#app/database/server` of dev of");
    assert_eq!(there(), all(&["team"], &["invoices", "orders"]));
    let owners = "SELECT string_agg(DISTINCT pg_get_userbyid(datdba), ',') FROM pg_database WHERE datname IN ('orders', 'invoices')";
    assert_eq!(server.ask(owners).trim(), "team");
    for app in ["orders", "invoices"] {
        up(app, &["--refresh"]).status(0).prints("Nothing to change");
    }

    // The account is in use.
    destroy("orders", &[]).status(2).prints("in-use");
    assert_eq!(there(), all(&["team"], &["invoices", "orders"]), "nothing was deleted");
    destroy("orders", &["--orphan-shared"]).status(0);
    assert_eq!(there(), all(&["team"], &["invoices"]));
    up("invoices", &["--refresh"]).status(0).prints("Nothing to change");
    // A third one is added, and the second one removed.
    up("returns", &[]).status(0);
    destroy("invoices", &[]).status(0);
    assert_eq!(there(), all(&["team"], &["returns"]));
    destroy("returns", &[]).status(0).prints("which is no longer used");
    assert_eq!(there(), begin);
    workspace.run(&["installations", "list"]).status(0).prints("No installation is recorded");
}
