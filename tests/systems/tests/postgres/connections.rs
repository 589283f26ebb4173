//! Connections over TLS, without a grant, and to servers that are broken or silent.

use std::time::Duration;

use purlin_systems::Project;
use purlin_systems::certificates::{Authority, Key};
use purlin_systems::postgres::{PASSWORD, Postgres};
use serde_json::json;

use crate::{TIMEOUT, database, definitions, server, wanted, workspace};

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
        let outputs = |workspace: &Project| workspace.run(&["up", "--full", "--yes"]);
        definitions(&workspace, &at("localhost", "verify-ca", &authority.pem()), PASSWORD);
        outputs(&workspace).status(0);
        definitions(&workspace, &at("localhost", "require", ""), PASSWORD);
        outputs(&workspace).status(0);
        definitions(&workspace, &at("localhost", "verify-full", &other.pem()), PASSWORD);
        outputs(&workspace)
            .status(1)
            .prints("the server's certificate was not issued by an authority in `connection.ca`");
        definitions(&workspace, &at("localhost", "disable", ""), PASSWORD);
        outputs(&workspace).status(1).prints("no pg_hba.conf entry");
        definitions(&workspace, &at("localhost", "verify-full", ""), PASSWORD);
        outputs(&workspace).status(2).prints("invalid input `ca`: is missing");
        definitions(&workspace, &at("localhost", "verify-full", &authority.pem()), "wrong");
        outputs(&workspace)
            .status(1)
            .prints("password authentication failed for user \"postgres\"")
            .prints("28P01");
        definitions(&workspace, &at("localhost", "verify-full", &authority.pem()), PASSWORD);
        workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
        // Under the name of another host, the server is reached unless its name is verified.
        let workspace =
            self::workspace("address", &at("127.0.0.1", "verify-full", &authority.pem()), PASSWORD);
        wanted(&workspace, &json!({"db": database("shop", json!({}))}));
        outputs(&workspace).status(1).prints("the server's certificate is for another host");
        definitions(&workspace, &at("127.0.0.1", "verify-ca", &authority.pem()), PASSWORD);
        outputs(&workspace).status(0);
        workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    }
}

#[test]
fn a_missing_grant_is_reported() {
    let Some(postgres) = Postgres::start() else { return };
    let workspace = workspace("dev", &server(postgres.port), PASSWORD);
    workspace.edit("purlin.yaml", "\"127.0.0.1:", "\"192.0.2.1:");
    workspace.edit("purlin.yaml", "\"localhost:", "\"example.net:");
    wanted(&workspace, &json!({"db": database("shop", json!({}))}));
    let address = format!("127.0.0.1:{}", postgres.port);
    workspace
        .run(&["up", "--yes"])
        .status(2)
        .prints(&format!("`purlin/postgres` is not granted connections to `{address}`"))
        .prints(&format!("- \"{address}\""));
    assert!(postgres.databases().is_empty());
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
        workspace.run(&["up", "--yes"]).status(1).prints(words);
        assert!(begun.elapsed() < Duration::from_secs(300), "{words}: {:?}", begun.elapsed());
    }
    // No server at all.
    let port = purlin_systems::free_port();
    let workspace = workspace("dev", &server(port), PASSWORD);
    wanted(&workspace, &json!({"db": database("shop", json!({}))}));
    workspace.run(&["up", "--yes"]).status(1).prints("connection refused");
}
