//! Deletions that lose data or are blocked.

use purlin_systems::postgres::{PASSWORD, Postgres};
use serde_json::{Value, json};

use crate::{database, role, server, wanted, workspace};

#[test]
fn a_database_that_is_not_empty_is_not_dropped() {
    let Some(postgres) = Postgres::start() else { return };
    let workspace = workspace("dev", &server(postgres.port), PASSWORD);
    let all = |more: Value| wanted(&workspace, &json!({"db": database("shop", more)}));
    let destroy = ["destroy", "--yes", "--allow-data-loss"];
    // Without consent, the contents are not even checked.
    all(json!({"extensions": ["hstore"]}));
    workspace.purlin(&["up", "--yes"]);
    workspace
        .run(&["destroy", "--yes"])
        .status(2)
        .prints("loses data: every table of the database, and everything else in it")
        .prints("1 resource would lose its data")
        .prints("pg-database.default#shared.db");
    assert_eq!(postgres.databases(), ["shop"]);
    // Any kind of contents.
    for (make, expected, drop) in [
        ("CREATE TABLE orders (id serial)", "the table `public.orders`", "DROP TABLE orders"),
        ("CREATE SCHEMA s; CREATE VIEW s.v AS SELECT 1", "the view `s.v`", "DROP SCHEMA s CASCADE"),
        ("CREATE TYPE mood AS ENUM ('good')", "the type `public.mood`", "DROP TYPE mood"),
        ("CREATE SEQUENCE numbers", "the sequence `public.numbers`", "DROP SEQUENCE numbers"),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "the function `public.f`",
            "DROP FUNCTION f",
        ),
        ("SELECT lo_create(4711)", "the large object `4711`", "SELECT lo_unlink(4711)"),
    ] {
        postgres.ask_in("shop", make);
        workspace
            .run(&destroy)
            .status(1)
            .prints("conflict")
            .prints(expected)
            .prints("database.force_destroy: true");
        assert_eq!(postgres.databases(), ["shop"], "{make}");
        postgres.ask_in("shop", drop);
    }
    // A replacement does not drop it either, and the old one stays as it is.
    postgres.ask_in(
        "shop",
        "CREATE TABLE orders (id int); CREATE TABLE wares (id int); INSERT INTO orders VALUES (7)",
    );
    all(json!({"extensions": ["hstore"], "encoding": "LATIN1"}));
    workspace.run(&["up", "--yes"]).status(2).prints("1 to replace").prints("1 loses data");
    let refused = workspace.run(&["up", "--yes", "--allow-data-loss"]).status(1);
    refused.prints("the table `public.orders`, the table `public.wares`");
    assert_eq!(postgres.ask_in("shop", "SELECT id FROM orders"), "7");
    // Allowing it in the documents requires a deployment, too.
    all(json!({"extensions": ["hstore"], "force_destroy": true}));
    workspace.run(&destroy).status(1).prints("is not empty");
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(postgres.ask_in("shop", "SELECT id FROM orders"), "7");
    workspace.purlin(&destroy);
    assert!(postgres.databases().is_empty());
}

#[test]
fn open_sessions_block_a_deletion_unless_forced() {
    let Some(postgres) = Postgres::start() else { return };
    let workspace = workspace("dev", &server(postgres.port), PASSWORD);
    wanted(&workspace, &json!({"db": database("shop", json!({}))}));
    workspace.purlin(&["up", "--yes"]);
    let session = postgres.session("shop");
    let refused = workspace.run(&["destroy", "--yes", "--allow-data-loss"]).status(1);
    refused.prints("is being accessed by other users").prints("values.database.force: true");
    wanted(&workspace, &json!({"db": database("shop", json!({"force": true}))}));
    workspace.purlin(&["up", "--yes"]);
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert!(postgres.databases().is_empty());
    drop(session);
    // Objects that a role owns elsewhere prevent its deletion.
    wanted(&workspace, &json!({"role": role("shop", json!({}))}));
    workspace.purlin(&["up", "--yes"]);
    postgres.ask("CREATE TABLE of_shop (x int); ALTER TABLE of_shop OWNER TO shop");
    workspace
        .run(&["destroy", "--yes", "--allow-data-loss"])
        .status(1)
        .prints("conflict")
        .prints("owner of table of_shop");
    postgres.ask("DROP TABLE of_shop");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
}
