//! Logins to the database of a state, with the real program: passwords that are rotated while a service
//! runs, and what people read if no login can succeed.

use std::path::Path;

use purlin_systems::certificates::{Authority, Key};
use purlin_systems::postgres::{PASSWORD, Postgres};
use purlin_systems::project::{Project, ran_with, signal};
use serde_json::{Value, json};

use super::{deployment, kept, key, machine, machine_at, wait_until};

/// A machine whose user of the database has the password `one`, with a deployment of one thing.
fn member(postgres: &Postgres, things: &Path) -> Project {
    let team = machine(postgres, &key(), things, 1, "one");
    postgres.ask("CREATE USER member PASSWORD 'one'");
    postgres.ask("CREATE SCHEMA purlin AUTHORIZATION member");
    team.edit("purlin.yaml", "postgres://postgres@", "postgres://member@");
    team.write("secrets/password", "one\n");
    team.purlin(&["state", "init"]);
    team.purlin(&["up", "--yes"]);
    team
}

/// Changes the password in the database only, and ends all connections.
fn rotate(postgres: &Postgres) {
    postgres.ask("ALTER USER member PASSWORD 'two'");
    postgres.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'member'");
}

/// How many logins the database rejected.
fn rejected(postgres: &Postgres) -> usize {
    postgres.log().matches("password authentication failed for user \"member\"").count()
}

/// A service maintains environments while the password of its database is rotated: the database has the new
/// one first, and the file of the secret store gets it once the service was rejected.
#[test]
fn a_service_survives_the_rotation_of_its_password() {
    let Some(postgres) = Postgres::start() else { return };
    let things = tempfile::tempdir().expect("a folder");
    let team = member(&postgres, things.path());
    let service = team.start(&["reconcile", "--all", "--watch", "--yes"]);
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'member'";
    wait_until("the service works", || postgres.ask(connections) != "0");
    rotate(&postgres);
    wait_until("the service is rejected", || rejected(&postgres) > 3);
    team.write("secrets/password", "two\n");
    // What others take away comes back.
    std::fs::remove_dir_all(things.path()).expect("removed");
    std::fs::create_dir(things.path()).expect("made");
    signal(&service, "-USR1");
    wait_until("the service repairs it", || kept(things.path()) == 1);
    signal(&service, "-TERM");
    assert_eq!(ran_with(service).status, 0);
}

/// So does a watch of one environment, which opens the state for each pass.
#[test]
fn a_watch_survives_the_rotation_of_its_password() {
    let Some(postgres) = Postgres::start() else { return };
    let things = tempfile::tempdir().expect("a folder");
    let team = member(&postgres, things.path());
    let watch = team.start(&["reconcile", "--watch", "--yes"]);
    for count in 2..4 {
        team.write("deployment.yaml", deployment(count, "one"));
        wait_until("the watch applies the documents", || kept(things.path()) == count);
    }
    rotate(&postgres);
    team.write("deployment.yaml", deployment(4, "one"));
    wait_until("the watch is rejected", || rejected(&postgres) > 3);
    team.write("secrets/password", "two\n");
    wait_until("the watch applies the documents", || kept(things.path()) == 4);
    signal(&watch, "-TERM");
    assert_eq!(ran_with(watch).status, 0);
}

/// The options of `state.postgres`, changed.
fn with(team: &Project, change: impl FnOnce(&mut Value)) -> Project {
    let changed = team.copy();
    let mut workspace: Value = serde_json::from_str(&team.read("purlin.yaml")).expect("JSON");
    change(&mut workspace["spec"]["state"]["postgres"]);
    changed.write("purlin.yaml", workspace.to_string());
    changed
}

/// Every command says at once, and once, what to change. So does `doctor`.
#[test]
fn a_login_that_cannot_succeed_says_what_to_change() {
    let Some(authority) = Authority::new(Key::P256) else { return };
    let issue =
        |data: &Path| authority.issue("db.internal", &data.join("server.crt"), &data.join("server.key"));
    let rules = "host all postgres all scram-sha-256\nhostssl all coded all scram-sha-256\n\
                 hostssl all certified all cert\n";
    let settings = ["ssl=on", "ssl_ca_file=server.crt"];
    let Some(encrypting) = Postgres::with_rules(Some(rules), issue, &settings) else { return };
    let Some(plain) = Postgres::start() else { return };
    plain.ask("CREATE USER member PASSWORD 'one'");
    plain.ask("CREATE SCHEMA purlin");
    plain.ask("CREATE TABLE purlin.meta (version integer)");
    let things = tempfile::tempdir().expect("a folder");
    let team = machine_at(plain.port, &key(), things.path(), 1, "one");
    team.write("secrets/member", "one");
    team.write("ca.pem", authority.pem());
    let url = |server: &Postgres, user: &str, rest: &str| {
        json!(format!("postgres://{user}@127.0.0.1:{}/{rest}", server.port))
    };
    let store = |name: &str| json!({"store": "local", "ref": name});
    let (ca, no_ca) = (json!("ca.pem"), Value::Null);
    for (url, password, ca, status, message, hint) in [
        (
            json!("postgres://postgres@127.0.0.1:1/postgres"),
            store("password"),
            &no_ca,
            1,
            "the state in `postgres://postgres@127.0.0.1:1/postgres` cannot be reached: error connecting to server: \
             Connection refused",
            "start the database, or correct the host and the port in `state.postgres.url`",
        ),
        (
            url(&plain, "postgres", "postgres?sslmode=verify-full"),
            store("password"),
            &no_ca,
            1,
            "server does not support TLS",
            "turn on `ssl` in the configuration of the server",
        ),
        (
            url(&encrypting, "coded", "postgres"),
            store("password"),
            &no_ca,
            1,
            "no encryption (SQLSTATE 28000)",
            "add `?sslmode=verify-full` to `state.postgres.url`",
        ),
        (
            url(&encrypting, "certified", "postgres?sslmode=verify-ca"),
            store("password"),
            &ca,
            1,
            "valid client certificate",
            "name a certificate that the server accepts: `client:",
        ),
        (
            url(&encrypting, "postgres", "postgres?sslmode=verify-full"),
            store("password"),
            &no_ca,
            1,
            "invalid peer certificate: UnknownIssuer",
            "name the certificate of its authority, or the server's own, as `ca: FILE` in `state.postgres`",
        ),
        (
            url(&encrypting, "postgres", "postgres?sslmode=verify-full"),
            store("password"),
            &ca,
            1,
            "certificate not valid for name \"127.0.0.1\"",
            "write the name of the certificate as the host",
        ),
        (
            url(&plain, "postgres", "nothing"),
            store("password"),
            &no_ca,
            1,
            "database \"nothing\" does not exist",
            "create the database, or correct its name",
        ),
        (
            url(&plain, "member", "postgres"),
            store("member"),
            &no_ca,
            1,
            "permission denied for schema purlin",
            "grant the user USAGE on the schema of the state",
        ),
        (
            url(&plain, "postgres", "postgres"),
            store("member"),
            &no_ca,
            1,
            "password authentication failed",
            "correct the user in `state.postgres.url`, or the password in its secret store",
        ),
        (
            url(&plain, "postgres", "postgres"),
            json!({"store": "ci", "ref": "STATE_PASSWORD"}),
            &no_ca,
            2,
            "the login to the state needs `STATE_PASSWORD` from the secret store `ci`: the environment variable \
             `STATE_PASSWORD` is not set",
            "set `STATE_PASSWORD` to the secret",
        ),
        (
            url(&plain, "postgres", "postgres?sslmode=allow"),
            store("password"),
            &no_ca,
            2,
            "`sslmode=allow` encrypts only if the server insists",
            "correct the address",
        ),
    ] {
        let changed = with(&team, |database| {
            database["url"] = url;
            database["password"] = password;
            if !ca.is_null() {
                database["ca"] = ca.clone();
            }
        });
        changed.edit("purlin.yaml", r#""secret_stores":{"#, r#""secret_stores":{"ci":{"env":""},"#);
        let logins = || [&plain, &encrypting].map(|server| server.log().matches("FATAL: ").count());
        let before = logins();
        let done = changed.run(&["state", "list"]).status(status).prints(message).prints(hint);
        let attempts: usize = logins().iter().zip(before).map(|(now, before)| now - before).sum();
        assert!(attempts <= 1, "{attempts} logins were rejected: {done}");
        assert_eq!(done.err.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{done}");
        assert!(!done.has(PASSWORD), "{done}");
        changed.run(&["doctor"]).status(1).prints(message).prints(hint);
    }
}

/// A certificate of the client is in the workspace, and its key in a secret store.
#[test]
fn a_workspace_names_the_certificate_of_its_user() {
    let Some(authority) = Authority::new(Key::Rsa) else { return };
    let issue = |data: &Path| {
        authority.issue("localhost", &data.join("server.crt"), &data.join("server.key"));
        std::fs::write(data.join("clients.crt"), authority.pem()).expect("written");
    };
    let rules = "host all postgres all scram-sha-256\nhostssl all member all cert\n";
    let settings = ["ssl=on", "ssl_ca_file=clients.crt"];
    let Some(postgres) = Postgres::with_rules(Some(rules), issue, &settings) else { return };
    postgres.ask("CREATE USER member");
    postgres.ask("CREATE SCHEMA purlin AUTHORIZATION member");
    let things = tempfile::tempdir().expect("a folder");
    let team = machine(&postgres, &key(), things.path(), 1, "one");
    authority.issue("member", &team.path().join("member.pem"), &team.path().join("secrets/member-key"));
    team.write("ca.pem", authority.pem());
    let team = with(&team, |database| {
        *database = json!({
            "url": format!("postgres://member@localhost:{}/postgres", postgres.port),
            "ca": "ca.pem",
            "client": {"certificate": "member.pem", "key": {"store": "local", "ref": "member-key"}},
        });
    });
    team.purlin(&["state", "init"]);
    team.purlin(&["up", "--yes"]);
    assert_eq!(kept(things.path()), 1);
    assert_eq!(
        postgres.ask("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'member' AND NOT ssl"),
        "0"
    );
}
