//! What the driver may do with its rights, and with objects of others.

use purlin_systems::postgres::{PASSWORD, Postgres};
use serde_json::json;

use crate::{ROLE, database, definitions, role, server, wanted, workspace};

#[test]
fn resources_of_others_are_left_alone() {
    let Some(postgres) = Postgres::start() else { return };
    postgres.ask("CREATE DATABASE shop");
    postgres.ask("CREATE ROLE app; GRANT CONNECT ON DATABASE shop TO app");
    let at = server(postgres.port);
    let ours = workspace("dev", &at, PASSWORD);
    let all = json!({
        "db": database("shop", json!({})),
        "role": role("app", json!({})),
        "grant": {"type": "pg-grant", "params": {"grant": {"role": "app", "database": "shop", "privileges": ["CONNECT"]}}},
    });
    wanted(&ours, &all);
    let done = ours.run(&["up", "--yes"]).status(1);
    for what in [
        "the database `shop` already exists, without a mark of this resource",
        "the role `app` already exists, without a mark of this resource",
        "it already has CONNECT",
    ] {
        done.clone().prints(what);
    }
    // The same applies to an object of another environment.
    postgres.ask("DROP DATABASE shop");
    postgres.ask("DROP ROLE app");
    let only = json!({"db": database("shop", json!({}))});
    wanted(&ours, &only);
    ours.purlin(&["up", "--yes"]);
    let theirs = workspace("prod", &at, PASSWORD);
    wanted(&theirs, &only);
    theirs
        .run(&["up", "--yes"])
        .status(1)
        .prints("the database `shop` already exists, and belongs to another resource");
    theirs.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(postgres.databases(), ["shop"]);
    // Replacing our mark by another one does not make that object ours.
    ours.purlin(&["up", "--yes"]);
    postgres.ask("DROP DATABASE shop");
    postgres.ask("CREATE DATABASE shop");
    ours.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(postgres.databases(), ["shop"]);
    // A person may adopt it.
    ours.purlin(&["import", "--yes", "pg-database#shared.db", "shop"]);
    ours.purlin(&["up", "--full", "--yes"]);
    assert_eq!(postgres.ask("SELECT shobj_description(oid, 'pg_database') LIKE 'purlin:%' FROM pg_database WHERE datname = 'shop'"), "t");
    ours.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert!(postgres.databases().is_empty());
}

#[test]
fn missing_rights_are_reported_and_no_superuser_is_needed() {
    let Some(postgres) = Postgres::start() else { return };
    postgres.ask(
        "CREATE ROLE weak LOGIN PASSWORD 'w'; CREATE ROLE strong LOGIN CREATEDB CREATEROLE PASSWORD 's'",
    );
    let mut at = server(postgres.port);
    at["user"] = "weak".into();
    let workspace = workspace("dev", &at, "w");
    let all = json!({"role": role("shop", json!({})), "db": database("shop", json!({"owner": ROLE, "encoding": "LATIN1"}))});
    wanted(&workspace, &all);
    workspace.run(&["up", "--yes"]).status(1).prints("permission denied").prints("CREATEROLE for roles");
    at["user"] = "strong".into();
    definitions(&workspace, &at, "s");
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(
        postgres.ask("SELECT pg_get_userbyid(datdba), pg_encoding_to_char(encoding) FROM pg_database WHERE datname = 'shop'"),
        "shop|LATIN1"
    );
    workspace.purlin(&["refresh"]);
    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    // A new name keeps the contents.
    postgres.ask_in("shop", "CREATE TABLE wares (name text)");
    let all = json!({"role": role("shop2", json!({})), "db": database("shop2", json!({"owner": ROLE, "encoding": "latin-1", "force_destroy": true}))});
    wanted(&workspace, &all);
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(postgres.ask_in("shop2", "SELECT count(*) FROM wares"), "0");
    assert_eq!(postgres.databases(), ["shop2"]);
    postgres.try_as("shop2", "the app's secret: %&/?", "shop2", "SELECT 1").expect("the same password");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(postgres.roles(), ["strong", "weak"]);
}
