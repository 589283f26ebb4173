//! `purlin/postgres` against a real PostgreSQL server.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use purlin_systems::certificates::{Authority, Key};
use purlin_systems::cut::Wire;
use purlin_systems::interrupt::When;
use purlin_systems::postgres::{PASSWORD, Postgres};
use purlin_systems::tools::root;
use purlin_systems::workspace::component;
use purlin_systems::{Proxy, Workspace, at_every_message};
use serde_json::{Value, json};

/// How many seconds the driver has to connect: more than any machine needs.
const TIMEOUT: u32 = 120;

/// How the driver reaches a server, and with which role.
fn server(port: u16) -> Value {
    json!({"host": "127.0.0.1", "port": port, "tls": "disable", "connect_timeout": TIMEOUT})
}

/// A workspace for an environment, which may reach these ports.
fn workspace(environment: &str, server: &Value, password: &str) -> Workspace {
    let port = &server["port"];
    let workspace = Workspace::new();
    workspace.write(
        "purlin.yaml",
        &json!({
            "apiVersion": "purlin.dev/v1", "kind": "Workspace", "spec": {
                "defaults": {"org": "acme", "app": "shop", "env": environment, "env_type": "development"},
                "drivers": {"purlin/postgres": {
                    "source": component("postgres"),
                    "grants": {"tcp": [format!("127.0.0.1:{port}"), format!("localhost:{port}")], "addresses": ["127.0.0.1"]},
                    "limits": {"time": "10m"},
                }},
            },
        })
        .to_string(),
    );
    definitions(&workspace, server, password);
    workspace
}

/// One definition for each kind of thing.
fn definitions(workspace: &Workspace, server: &Value, password: &str) {
    let mut connection = server.clone();
    connection["password"] = password.into();
    let definition = |kind: &str, secrets: Value| {
        let values = json!({kind: format!("${{params.{kind}}}")});
        json!({
            "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": format!("pg-{kind}")},
            "spec": {
                "type": format!("pg-{kind}"), "driver": "purlin/postgres",
                "inputs": {"connection": connection, "values": values, "secrets": secrets}, "criteria": [{}],
            },
        })
    };
    let all = [
        definition("role", json!({"role_password": "${params.password}"})),
        definition("database", json!({})),
        definition("grant", json!({})),
    ];
    let texts: Vec<String> = all.iter().map(Value::to_string).collect();
    workspace.write("definitions.yaml", &texts.join("\n---\n"));
}

/// The wanted objects.
fn wanted(workspace: &Workspace, shared: &Value) {
    let deployment = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {"shared": shared},
    });
    workspace.write("deployment.json", &deployment.to_string());
}

fn role(name: &str, more: Value) -> Value {
    let mut role = json!({"name": name});
    if let (Value::Object(role), Value::Object(more)) = (&mut role, more) {
        role.extend(more);
    }
    json!({"type": "pg-role", "params": {"role": role, "password": "the app's secret: %&/?"}})
}

fn database(name: &str, more: Value) -> Value {
    let mut database = json!({"name": name});
    if let (Value::Object(database), Value::Object(more)) = (&mut database, more) {
        database.extend(more);
    }
    json!({"type": "pg-database", "params": {"database": database}})
}

const ROLE: &str = "${resources['pg-role.default#shared.role'].outputs.username}";
const DATABASE: &str = "${resources['pg-database.default#shared.db'].outputs.name}";

#[test]
fn a_role_a_database_and_privileges_live() {
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
fn over_tls_both_sides_authenticate() {
    for key in [Key::Rsa, Key::P256] {
        let (Some(authority), Some(other)) = (Authority::new(key), Authority::new(key)) else { return };
        let Some(postgres) = Postgres::with_tls(&authority) else { return };
        let at = |host: &str, tls: &str, ca: &str| {
            json!({
                "host": host, "port": postgres.port, "tls": tls, "ca": ca, "connect_timeout": TIMEOUT,
            })
        };
        let workspace = workspace("dev", &at("localhost", "verify-full", &authority.pem()), PASSWORD);
        wanted(&workspace, &json!({"db": database("shop", json!({}))}));
        workspace.purlin(&["up", "--yes"]);
        assert_eq!(postgres.databases(), ["shop"]);
        // The password's proof is bound to this connection.
        let outputs = |workspace: &Workspace| workspace.run(&["up", "--full", "--yes"]);
        definitions(&workspace, &at("localhost", "verify-ca", &authority.pem()), PASSWORD);
        let _ = outputs(&workspace).expect(0);
        definitions(&workspace, &at("localhost", "require", ""), PASSWORD);
        let _ = outputs(&workspace).expect(0);
        definitions(&workspace, &at("localhost", "verify-full", &other.pem()), PASSWORD);
        outputs(&workspace)
            .expect(1)
            .prints("the server's certificate was not issued by an authority in `connection.ca`");
        definitions(&workspace, &at("localhost", "disable", ""), PASSWORD);
        outputs(&workspace).expect(1).prints("no pg_hba.conf entry");
        definitions(&workspace, &at("localhost", "verify-full", ""), PASSWORD);
        outputs(&workspace).expect(2).prints("invalid input `ca`: is missing");
        definitions(&workspace, &at("localhost", "verify-full", &authority.pem()), "wrong");
        outputs(&workspace)
            .expect(1)
            .prints("password authentication failed for user \"postgres\"")
            .prints("28P01");
        definitions(&workspace, &at("localhost", "verify-full", &authority.pem()), PASSWORD);
        workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
        // Under the name of another host, the server is reached unless its name is verified.
        let workspace =
            self::workspace("address", &at("127.0.0.1", "verify-full", &authority.pem()), PASSWORD);
        wanted(&workspace, &json!({"db": database("shop", json!({}))}));
        outputs(&workspace).expect(1).prints("the server's certificate is for another host");
        definitions(&workspace, &at("127.0.0.1", "verify-ca", &authority.pem()), PASSWORD);
        let _ = outputs(&workspace).expect(0);
        workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    }
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
fn a_missing_grant_is_reported() {
    let Some(postgres) = Postgres::start() else { return };
    let workspace = workspace("dev", &server(postgres.port), PASSWORD);
    let path = workspace.path("purlin.yaml");
    let text = std::fs::read_to_string(&path).expect("a file").replace("\"127.0.0.1:", "\"192.0.2.1:");
    workspace.write("purlin.yaml", &text.replace("\"localhost:", "\"example.net:"));
    wanted(&workspace, &json!({"db": database("shop", json!({}))}));
    let address = format!("127.0.0.1:{}", postgres.port);
    workspace
        .run(&["up", "--yes"])
        .expect(2)
        .prints(&format!("`purlin/postgres` is not granted connections to `{address}`"))
        .prints(&format!("- \"{address}\""));
    assert!(postgres.databases().is_empty());
}

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
    let done = ours.run(&["up", "--yes"]).expect(1);
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
        .expect(1)
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
fn a_kill_at_any_message_leaves_nothing_twice_and_nothing_behind() {
    let Some(postgres) = Postgres::start() else { return };
    let proxy = Proxy::to(postgres.port);
    let all = |attempt: usize, limit: i32| {
        json!({
            "role": role(&format!("shop_{attempt}"), json!({"connection_limit": limit})),
            "db": database(&format!("shop_{attempt}"), json!({"owner": ROLE, "extensions": ["hstore"], "connection_limit": limit})),
            "grant": {"type": "pg-grant", "params": {"grant": {
                "role": ROLE, "database": DATABASE, "on": "schema", "privileges": if limit > 5 { json!(["USAGE"]) } else { json!(["USAGE", "CREATE"]) },
            }}},
        })
    };
    let environment = |attempt: usize| format!("env-{attempt}");
    let prepared = |attempt: usize, limit: i32| {
        let workspace = workspace(&environment(attempt), &server(proxy.port()), PASSWORD);
        wanted(&workspace, &all(attempt, limit));
        workspace
    };
    let only = |attempt: usize, limit: i32| {
        assert_eq!(postgres.databases(), [format!("shop_{attempt}")]);
        assert_eq!(postgres.roles(), [format!("shop_{attempt}")]);
        let database = format!(
            "SELECT datconnlimit, pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'shop_{attempt}'"
        );
        assert_eq!(postgres.ask(&database), format!("{limit}|shop_{attempt}"));
        assert_eq!(
            postgres.ask(&format!("SELECT rolconnlimit FROM pg_roles WHERE rolname = 'shop_{attempt}'")),
            limit.to_string()
        );
        let name = format!("shop_{attempt}");
        assert_eq!(postgres.ask_in(&name, "SELECT count(*) FROM pg_extension WHERE extname = 'hstore'"), "1");
    };
    let made = at_every_message(
        &proxy,
        &["up", "--yes"],
        |attempt| prepared(attempt, 5),
        |attempt, workspace| {
            only(attempt, 5);
            workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
            workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
            assert!(postgres.databases().is_empty() && postgres.roles().is_empty());
        },
    );
    assert!(made > 20, "{made} kills while it was made");
    let changed = at_every_message(
        &proxy,
        &["up", "--yes"],
        |attempt| {
            let workspace = prepared(attempt + 1000, 5);
            workspace.purlin(&["up", "--yes"]);
            wanted(&workspace, &all(attempt + 1000, 9));
            workspace
        },
        |attempt, workspace| {
            only(attempt + 1000, 9);
            workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
        },
    );
    let deleted = at_every_message(
        &proxy,
        &["destroy", "--yes", "--allow-data-loss"],
        |attempt| {
            let workspace = prepared(attempt + 2000, 5);
            workspace.purlin(&["up", "--yes"]);
            workspace
        },
        |_, _| assert!(postgres.databases().is_empty() && postgres.roles().is_empty()),
    );
    eprintln!("killed {made} times while made, {changed} while changed, {deleted} while deleted");
}

/// `CREATE DATABASE` continues after the client that sent it was killed. The next run must not
/// treat the database as missing meanwhile. A lock on the template keeps the server busy until the
/// test has seen it at work, and one second longer.
#[test]
fn requests_of_a_killed_attempt_are_awaited() {
    let Some(postgres) = Postgres::start() else { return };
    postgres.ask("CREATE DATABASE mould");
    let proxy = Proxy::to(postgres.port);
    // A statement of the driver waits 8 s for a lock. On a busy machine, the test may not look in that
    // time.
    let is_caught = (0..5).any(|_| caught(&postgres, &proxy) > 0);
    assert!(is_caught, "the server was never caught at it");
}

/// Kills an attempt at each message. Returns how often that left the server at work.
fn caught(postgres: &Postgres, proxy: &Proxy) -> usize {
    let name = |attempt: usize| format!("shop_{attempt}");
    let is_busy = || {
        let busy =
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE DATABASE%' AND state = 'active'";
        postgres.ask(busy) != "0"
    };
    let mut slow = 0;
    for at in 1.. {
        let workspace = workspace(&format!("env-{at}"), &server(proxy.port()), PASSWORD);
        wanted(&workspace, &json!({"db": database(&name(at), json!({"template": "mould"}))}));
        let observed = AtomicBool::new(false);
        let done = std::thread::scope(|scope| {
            // Whatever happens here, the other threads end.
            let observing = Observing(&observed);
            let lock = "COMMENT ON DATABASE mould IS 'locked'; SELECT pg_sleep(600)";
            scope.spawn(|| postgres.try_as("postgres", PASSWORD, "postgres", lock));
            let held = "FROM pg_stat_activity WHERE query LIKE 'COMMENT%' AND wait_event = 'PgSleep'";
            wait_until(|| postgres.ask(&format!("SELECT count(*) {held}")) == "1");
            let (is_busy, observed) = (&is_busy, &observed);
            scope.spawn(move || {
                // An attempt that is not killed at this statement waits for it, and so cannot be observed.
                wait_until(|| observed.load(Ordering::Acquire) || (is_busy() && proxy.messages() < at));
                std::thread::sleep(Duration::from_secs(1));
                postgres.ask(&format!("SELECT pg_terminate_backend(pid) {held}"));
            });
            // The server does not answer while it waits for the lock.
            let mut was_busy = false;
            let done = proxy.run_until(&workspace, &["up", "--yes"], at, When::After, || {
                was_busy = was_busy || is_busy();
                was_busy
            });
            slow += usize::from(was_busy && done.is_none());
            drop(observing);
            // Immediately, and with another goal: nothing may be left behind.
            if at % 2 == 0 {
                workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
                assert_eq!(postgres.databases(), ["mould"]);
            }
            workspace.purlin(&["up", "--yes"]);
            done
        });
        assert_eq!(postgres.databases(), ["mould".to_owned(), name(at)]);
        workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
        assert_eq!(postgres.databases(), ["mould"]);
        if done.is_some() {
            break;
        }
    }
    slow
}

/// Reports at its end that the test has seen enough.
struct Observing<'a>(&'a AtomicBool);

impl Drop for Observing<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_connection_that_breaks_at_any_message_leaves_nothing_twice_and_nothing_behind() {
    let Some(postgres) = Postgres::start() else { return };
    let wire = Wire::to(postgres.port);
    let all = |attempt: usize, limit: i32| {
        json!({
            "role": role(&format!("shop_{attempt}"), json!({"connection_limit": limit})),
            "db": database(&format!("shop_{attempt}"), json!({"owner": ROLE, "extensions": ["hstore"], "connection_limit": limit})),
        })
    };
    let mut cuts = 0;
    for when in [When::Before, When::After] {
        for at in 1.. {
            cuts += 1;
            assert!(cuts < 200, "it never gets through");
            let workspace = workspace(&format!("env-{cuts}"), &server(wire.port()), PASSWORD);
            wanted(&workspace, &all(cuts, 5));
            wire.cut_at(at, when);
            workspace.run(&["up", "--yes"]);
            let made = !wire.has_failed();
            workspace.purlin(&["up", "--yes"]);
            let there = format!(
                "SELECT datname, datconnlimit, pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'shop_{cuts}'"
            );
            assert_eq!(postgres.databases(), [format!("shop_{cuts}")]);
            assert_eq!(postgres.ask(&there), format!("shop_{cuts}|5|shop_{cuts}"));
            wanted(&workspace, &all(cuts, 9));
            wire.cut_at(at, when);
            workspace.run(&["up", "--yes"]);
            let changed = !wire.has_failed();
            workspace.purlin(&["up", "--yes"]);
            assert_eq!(postgres.ask(&there), format!("shop_{cuts}|9|shop_{cuts}"));
            assert_eq!(postgres.databases().len() + postgres.roles().len(), 2);
            wire.cut_at(at, when);
            workspace.run(&["destroy", "--yes", "--allow-data-loss"]);
            let deleted = !wire.has_failed();
            workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
            assert!(postgres.databases().is_empty() && postgres.roles().is_empty());
            if made && changed && deleted {
                break;
            }
        }
    }
    eprintln!("cut {cuts} times");
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
    workspace.run(&["up", "--yes"]).expect(2).prints("has 64 bytes; PostgreSQL's names have at most 63");
    wanted(&workspace, &json!({"role": role("nul\u{0}byte", json!({}))}));
    workspace.run(&["up", "--yes"]).expect(2).prints("must not contain a NUL");
    wanted(
        &workspace,
        &json!({"grant": {"type": "pg-grant", "params": {"grant": {"role": "x", "database": "postgres", "privileges": ["CONNECT; DROP"]}}}}),
    );
    workspace
        .run(&["up", "--yes"])
        .expect(2)
        .prints("cannot be granted here; the possible privileges are CONNECT, CREATE, TEMPORARY");
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
    workspace.run(&["up", "--yes"]).expect(1).prints("permission denied").prints("CREATEROLE for roles");
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
        .expect(2)
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
            .expect(1)
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
    workspace.run(&["up", "--yes"]).expect(2).prints("1 to replace").prints("1 loses data");
    let refused = workspace.run(&["up", "--yes", "--allow-data-loss"]).expect(1);
    refused.prints("the table `public.orders`, the table `public.wares`");
    assert_eq!(postgres.ask_in("shop", "SELECT id FROM orders"), "7");
    // Allowing it in the documents requires a deployment, too.
    all(json!({"extensions": ["hstore"], "force_destroy": true}));
    workspace.run(&destroy).expect(1).prints("is not empty");
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
    let refused = workspace.run(&["destroy", "--yes", "--allow-data-loss"]).expect(1);
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
        .expect(1)
        .prints("conflict")
        .prints("owner of table of_shop");
    postgres.ask("DROP TABLE of_shop");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
}

#[test]
fn broken_and_silent_servers_are_reported_in_time() {
    use std::io::{Read as _, Write as _};
    let answers: [(&str, &[u8]); 6] = [
        (
            "it announces a message of more than 8 MiB; this is not a PostgreSQL server",
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
        ),
        ("announces a message of more than 8 MiB", b"R\x7f\xff\xff\xff"),
        ("cannot talk to", b"R\x00\x00\x00\x00"),
        ("requires an authentication method other", b"R\x00\x00\x00\x08\x00\x00\x00\x07"),
        ("asks for the password in plain text", b"R\x00\x00\x00\x08\x00\x00\x00\x03"),
        ("did not answer in time", b""),
    ];
    for (words, answer) in answers {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut buffer = [0; 1024];
                    let _ = client.read(&mut buffer);
                    let _ = client.write_all(answer);
                    // It stays connected, and sends nothing more.
                    while matches!(client.read(&mut buffer), Ok(1..)) {}
                });
            }
        });
        let mut at = server(port);
        if answer.is_empty() {
            at["connect_timeout"] = 1.into();
        }
        let workspace = workspace("dev", &at, PASSWORD);
        wanted(&workspace, &json!({"db": database("shop", json!({}))}));
        let begun = std::time::Instant::now();
        workspace.run(&["up", "--yes"]).expect(1).prints(words);
        assert!(begun.elapsed() < Duration::from_secs(300), "{words}: {:?}", begun.elapsed());
    }
    // No server at all.
    let port = purlin_systems::free_port();
    let workspace = workspace("dev", &server(port), PASSWORD);
    wanted(&workspace, &json!({"db": database("shop", json!({}))}));
    workspace.run(&["up", "--yes"]).expect(1).prints("connection refused");
}
