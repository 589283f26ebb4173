//! Roles, databases and privileges from their creation to their deletion, also after changes by others.

use purlin_systems::Project;
use purlin_systems::postgres::{PASSWORD, Postgres};
use purlin_systems::tools::root;
use serde_json::{Value, json};

use crate::{DATABASE, ROLE, database, role, server, wanted, workspace};

#[test]
fn a_role_a_database_and_privileges_are_created_changed_and_deleted() {
    let Some(postgres) = Postgres::start() else { return };
    let workspace = workspace("dev", &server(postgres.port), PASSWORD);
    let reader = || json!({"type": "pg-role", "params": {"role": {"name": "reader"}, "password": "r"}});
    let grant = |privileges: Value| {
        json!({"type": "pg-grant", "params": {"grant": {
            "role": "${resources['pg-role.default#shared.reader'].outputs.username}", "database": DATABASE,
            "on": "all_tables", "privileges": privileges, "future_of": [ROLE],
        }}})
    };
    let connect = || {
        json!({"type": "pg-grant", "params": {"grant": {
            "role": "${resources['pg-role.default#shared.reader'].outputs.username}", "database": DATABASE, "privileges": ["connect"],
        }}})
    };
    let all = |limit: i32, privileges: Value| {
        json!({
            "role": role("shop", json!({"connection_limit": limit, "database": "shop", "valid_until": "2099-01-31T00:00:00Z"})),
            "reader": reader(),
            "db": database("shop", json!({"owner": ROLE, "extensions": ["pg_trgm", "hstore"], "connection_limit": 20, "force_destroy": true})),
            "connect": connect(),
            "tables": grant(privileges),
        })
    };
    wanted(&workspace, &all(5, json!(["SELECT"])));
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(postgres.databases(), ["shop"]);
    assert_eq!(postgres.roles(), ["reader", "shop"]);
    // The app works with its outputs, and others may read its future tables.
    let shop = |sql: &str| postgres.try_as("shop", "the app's secret: %&/?", "shop", sql);
    shop("CREATE TABLE wares (name text); INSERT INTO wares VALUES ('tea')").expect("the owner may");
    let read = |sql: &str| postgres.try_as("reader", "r", "shop", sql);
    assert_eq!(read("SELECT name FROM wares").as_deref(), Ok("tea"));
    assert!(read("DELETE FROM wares").is_err_and(|error| error.contains("permission denied")));
    assert_eq!(postgres.ask("SELECT encoding, datconnlimit FROM pg_database WHERE datname = 'shop'"), "6|20");
    assert_eq!(
        postgres.ask("SELECT rolconnlimit, rolcanlogin, rolsuper FROM pg_roles WHERE rolname = 'shop'"),
        "5|t|f"
    );
    // The password never went to the server, not even to its log.
    let kept = postgres.ask("SELECT rolpassword FROM pg_authid WHERE rolname = 'shop'");
    assert!(kept.starts_with("SCRAM-SHA-256$4096:"), "{kept}");
    assert!(!postgres.log().contains("the app's secret") && !postgres.log().contains("the app''s secret"));
    let outputs = workspace.purlin(&["outputs", "--format", "json", "--show-secrets"]).json();
    let given = &outputs["resources"]["pg-role.default#shared.role"];
    assert_eq!(given["username"], "shop");
    assert_eq!(given["name"], "shop");
    assert_eq!(given["host"], "127.0.0.1");
    assert_eq!(given["port"], postgres.port);
    assert_eq!(given["password"], "the app's secret: %&/?");
    let url = given["url"].as_str().expect("a URL");
    assert!(
        url.starts_with("postgresql://shop:the%20app%27s%20secret%3A%20%25%26%2F%3F@127.0.0.1:"),
        "{url}"
    );

    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    workspace.purlin(&["refresh"]);
    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");

    // A change is made in place.
    let oid = postgres.ask("SELECT oid FROM pg_database WHERE datname = 'shop'");
    wanted(&workspace, &all(7, json!(["SELECT", "DELETE"])));
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(postgres.ask("SELECT rolconnlimit FROM pg_roles WHERE rolname = 'shop'"), "7");
    read("DELETE FROM wares").expect("it may now");
    wanted(&workspace, &all(7, json!(["SELECT"])));
    workspace.purlin(&["up", "--yes"]);
    assert!(read("DELETE FROM wares").is_err_and(|error| error.contains("permission denied")));
    assert_eq!(postgres.ask("SELECT oid FROM pg_database WHERE datname = 'shop'"), oid);

    // Objects that the role owns elsewhere prevent its deletion.
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert!(postgres.databases().is_empty() && postgres.roles().is_empty());
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
}

#[test]
fn changes_by_others_are_found_and_repaired() {
    let Some(postgres) = Postgres::start() else { return };
    let workspace = workspace("dev", &server(postgres.port), PASSWORD);
    postgres.ask("CREATE ROLE team; CREATE ROLE intruder; CREATE ROLE usurper");
    let all = json!({
        "role": role("shop", json!({"member_of": ["team"]})),
        "db": database("shop", json!({"owner": ROLE, "extensions": ["hstore"]})),
        "grant": {"type": "pg-grant", "params": {"grant": {"role": "team", "database": DATABASE, "privileges": ["CONNECT", "CREATE"]}}},
    });
    wanted(&workspace, &all);
    workspace.purlin(&["up", "--yes"]);
    postgres.ask(
        "ALTER ROLE shop NOLOGIN SUPERUSER CREATEDB CONNECTION LIMIT 3 PASSWORD 'stolen' VALID UNTIL '2001-01-01'; \
         REVOKE team FROM shop; GRANT intruder TO shop; COMMENT ON ROLE shop IS NULL; \
         ALTER DATABASE shop CONNECTION LIMIT 1; ALTER DATABASE shop OWNER TO usurper; COMMENT ON DATABASE shop IS 'mine'; \
         REVOKE CREATE ON DATABASE shop FROM team",
    );
    postgres.ask("ALTER DATABASE shop RENAME TO elsewhere");
    postgres.ask_in("elsewhere", "DROP EXTENSION hstore");
    let found = workspace.purlin(&["refresh"]);
    for what in [
        "superuser",
        "values.role.login",
        "member_of",
        "outputs.password_is",
        "values.database.owner",
        "values.database.name",
        "extensions",
        "privileges",
    ] {
        found.clone().prints(what);
    }
    workspace.purlin(&["up", "--yes"]);
    let role = "SELECT rolcanlogin, rolsuper, rolcreatedb, rolconnlimit, rolvaliduntil FROM pg_authid WHERE rolname = 'shop'";
    assert_eq!(postgres.ask(role), "t|f|f|-1|infinity");
    postgres.try_as("shop", "the app's secret: %&/?", "shop", "SELECT 1").expect("its own password again");
    let groups = "SELECT string_agg(r.rolname, ',') FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid JOIN pg_roles s ON s.oid = m.member WHERE s.rolname = 'shop'";
    assert_eq!(postgres.ask(groups), "team");
    let database = "SELECT pg_get_userbyid(datdba), datconnlimit, shobj_description(oid, 'pg_database') LIKE 'purlin:%' FROM pg_database WHERE datname = 'shop'";
    assert_eq!(postgres.ask(database), "shop|-1|t");
    assert_eq!(postgres.ask_in("shop", "SELECT count(*) FROM pg_extension WHERE extname = 'hstore'"), "1");
    assert_eq!(postgres.ask("SELECT has_database_privilege('team', 'shop', 'CREATE')"), "t");
    workspace.purlin(&["refresh"]);
    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");

    // Missing objects are created again.
    postgres.ask("DROP DATABASE shop");
    workspace.purlin(&["refresh"]).prints("it no longer exists");
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(postgres.databases(), ["shop"]);
    assert_eq!(postgres.ask("SELECT has_database_privilege('team', 'shop', 'CREATE')"), "t");
}

#[test]
fn the_contract_is_held() {
    let Some(postgres) = Postgres::start() else { return };
    postgres.ask("CREATE ROLE reader; CREATE ROLE maker");
    postgres.ask("CREATE DATABASE base OWNER maker");
    postgres.ask_in("base", "CREATE TABLE wares (name text)");
    let workspace = workspace("dev", &server(postgres.port), PASSWORD);
    let cases = std::fs::read_to_string(root().join("drivers/postgres/check.yaml")).expect("the cases");
    let cases = cases.replace("port: 5432", &format!("port: {}", postgres.port));
    workspace.write("cases.yaml", &cases);
    workspace.purlin(&["driver", "check", "purlin/postgres", "--cases", "cases.yaml"]);
    assert_eq!(postgres.databases(), ["base"]);
    assert_eq!(postgres.roles(), ["maker", "reader"]);
    let held =
        "SELECT datacl IS NULL OR datacl::text NOT LIKE '%reader%' FROM pg_database WHERE datname = 'base'";
    assert_eq!(postgres.ask(held), "t");
}

#[test]
fn any_name_is_a_name_and_nothing_else() {
    let Some(postgres) = Postgres::start() else { return };
    let names = [
        "a\"; DROP ROLE postgres; --",
        "it's \\ here",
        "$$purlin$$",
        "Großbuchstaben und Zeichen",
        "データベース",
        " leading and trailing ",
        "%s %n {} ;",
        "select",
    ];
    for (index, name) in names.iter().enumerate() {
        let workspace = workspace(&format!("env-{index}"), &server(postgres.port), PASSWORD);
        let all = json!({
            "role": role(name, json!({})),
            "db": database(name, json!({"owner": ROLE})),
            "grant": {"type": "pg-grant", "params": {"grant": {"role": ROLE, "database": DATABASE, "on": "schema", "schema": "public", "privileges": ["CREATE"]}}},
        });
        wanted(&workspace, &all);
        workspace.purlin(&["up", "--yes"]);
        assert_eq!(postgres.databases(), [*name]);
        assert_eq!(postgres.roles(), [*name]);
        postgres.try_as(name, "the app's secret: %&/?", name, "SELECT 1").expect("it may log in");
        workspace.purlin(&["refresh"]);
        workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
        workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
        assert!(postgres.databases().is_empty() && postgres.roles().is_empty());
    }
    // A name that PostgreSQL would silently truncate is rejected, and so is an invalid name.
    let workspace = workspace("long", &server(postgres.port), PASSWORD);
    wanted(&workspace, &json!({"db": database(&"ü".repeat(32), json!({}))}));
    workspace.run(&["up", "--yes"]).status(2).prints("has 64 bytes; PostgreSQL's names have at most 63");
    wanted(&workspace, &json!({"role": role("nul\u{0}byte", json!({}))}));
    workspace.run(&["up", "--yes"]).status(2).prints("must not contain a NUL");
    wanted(
        &workspace,
        &json!({"grant": {"type": "pg-grant", "params": {"grant": {"role": "x", "database": "postgres", "privileges": ["CONNECT; DROP"]}}}}),
    );
    workspace
        .run(&["up", "--yes"])
        .status(2)
        .prints("cannot be granted here; the possible privileges are CONNECT, CREATE, TEMPORARY");
}

/// A password that is generated when the role is deployed.
fn with_generated_password(workspace: &Project, name: &str, lifecycle: &Value) {
    let definitions = workspace.read("definitions.yaml");
    let password = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "password"},
        "spec": {"type": "password", "driver": "purlin/random", "criteria": [{}]},
    });
    workspace.write("definitions.yaml", format!("{definitions}\n---\n{password}\n"));
    let mut wanted = role(name, json!({}));
    wanted["params"]["password"] = "${resources['password.default#shared.pw'].outputs.password}".into();
    let deployment = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {
            "shared": {"pw": {"type": "password"}, "role": wanted}, "lifecycle": lifecycle,
        },
    });
    workspace.write("deployment.json", deployment.to_string());
}

/// A driver never reports a password, so an adopted role gets the one of the documents.
#[test]
fn an_adopted_role_works_with_the_password_of_the_documents() {
    let Some(postgres) = Postgres::start() else { return };
    postgres.ask("CREATE ROLE old LOGIN PASSWORD 'oldoldold'; CREATE ROLE more LOGIN PASSWORD 'oldoldold'");
    let by_command = workspace("dev", &server(postgres.port), PASSWORD);
    wanted(&by_command, &json!({"role": role("old", json!({}))}));
    by_command
        .purlin(&["import", "--yes", "pg-role#shared.role", "old"])
        .prints("not all of its inputs could be compared with the documents");
    postgres.try_as("old", "oldoldold", "postgres", "SELECT 1").expect("an import changes nothing");
    by_command.purlin(&["up", "--yes", "--refresh"]);
    postgres.try_as("old", "the app's secret: %&/?", "postgres", "SELECT 1").expect("the new password");
    by_command.purlin(&["up", "--yes"]).prints("Nothing to change");
    // The password is generated in the same run.
    let in_documents = workspace("prod", &server(postgres.port), PASSWORD);
    with_generated_password(&in_documents, "more", &json!({"pg-role#shared.role": {"import": "more"}}));
    in_documents.purlin(&["plan"]).prints("1 to adopt");
    in_documents.purlin(&["up", "--yes"]);
    let outputs = in_documents.purlin(&["outputs", "--format", "json", "--show-secrets"]).json();
    let password =
        outputs["resources"]["pg-role.default#shared.role"]["password"].as_str().expect("one").to_owned();
    postgres.try_as("more", &password, "postgres", "SELECT 1").expect("the generated password");
    in_documents.purlin(&["up", "--yes"]).prints("Nothing to change");
    // Another role than the one that is named is not adopted.
    postgres.ask("CREATE ROLE other LOGIN");
    let again = workspace("dev", &server(postgres.port), PASSWORD);
    wanted(&again, &json!({"role": role("other", json!({}))}));
    again
        .run(&["import", "--yes", "pg-role#shared.role", "other"])
        .status(1)
        .prints("the role `old` has the mark of this resource in its comment, and not the role `other`");
}
