//! `purlin/redis` against a real Redis server.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

use purlin_systems::certificates::{Authority, Key};
use purlin_systems::cut::Wire;
use purlin_systems::interrupt::When;
use purlin_systems::redis::{PASSWORD, Redis};
use purlin_systems::tools::component;
use purlin_systems::tools::root;
use purlin_systems::{Project, Proxy, at_every_message};
use serde_json::{Value, json};

/// How many seconds the driver has to connect: more than any machine needs.
const TIMEOUT: u32 = 120;

/// How the driver reaches a server.
fn server(port: u16) -> Value {
    json!({"host": "127.0.0.1", "port": port, "tls": "disable", "connect_timeout": TIMEOUT})
}

/// A workspace for an environment, which may reach this server.
fn workspace(environment: &str, server: &Value, password: &str) -> Project {
    let port = &server["port"];
    let workspace = Project::empty();
    let grants = json!({"tcp": [format!("127.0.0.1:{port}"), format!("localhost:{port}")], "addresses": ["127.0.0.1"]});
    workspace.write(
        "purlin.yaml",
        json!({
            "apiVersion": "purlin.dev/v1", "kind": "Workspace", "spec": {
                "defaults": {"org": "acme", "app": "shop", "env": environment, "env_type": "development"},
                "drivers": {"purlin/redis": {
                    "source": component("redis"), "grants": grants, "limits": {"time": "10m"},
                }},
            },
        })
        .to_string(),
    );
    definition(&workspace, server, password);
    workspace
}

fn definition(workspace: &Project, server: &Value, password: &str) {
    let mut connection = server.clone();
    connection["password"] = password.into();
    let definition = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "redis"},
        "spec": {
            "type": "redis", "driver": "purlin/redis", "criteria": [{}],
            "inputs": {
                "connection": connection,
                "values": {"user": "${params.user}"},
                "secrets": {"user_password": "${params.password}"},
            },
        },
    });
    workspace.write("definitions.json", definition.to_string());
}

/// The wanted objects: one user, or none.
fn wanted(workspace: &Project, user: &Value) {
    let mut shared = json!({});
    if !user.is_null() {
        shared["cache"] =
            json!({"type": "redis", "params": {"user": user, "password": "the app's secret: %&/?"}});
    }
    let deployment = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {"shared": shared},
    });
    workspace.write("deployment.json", deployment.to_string());
}

fn user(name: &str, commands: &[&str]) -> Value {
    json!({"name": name, "keys": ["app:*", "%R~public:*"], "channels": ["news.*"], "commands": commands})
}

const SECRET: &str = "the app's secret: %&/?";

#[test]
fn a_user_is_created_changed_and_deleted() {
    let Some(redis) = Redis::start(true, None) else { return };
    let workspace = workspace("dev", &server(redis.port), PASSWORD);
    wanted(&workspace, &user("shop", &["+@read", "+@write", "+@connection", "-keys"]));
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(redis.users(), ["shop"]);
    let shop = |words: &[&str]| redis.ask_as("shop", SECRET, words);
    assert_eq!(shop(&["SET", "app:x", "1"]), "OK");
    assert_eq!(shop(&["GET", "public:x"]), "");
    assert!(shop(&["SET", "public:x", "1"]).contains("NOPERM"));
    assert!(shop(&["SET", "other", "1"]).contains("NOPERM"));
    assert!(shop(&["KEYS", "*"]).contains("NOPERM"));
    assert!(shop(&["FLUSHALL"]).contains("NOPERM") || shop(&["FLUSHALL"]).contains("OK"));
    // It survives a restart of the server, and holds digests only.
    let file = redis.users_file();
    assert!(file.contains("user shop on") && !file.contains("secret"), "{file}");
    let outputs = workspace.purlin(&["outputs", "--format", "json", "--show-secrets"]).json();
    let given = &outputs["resources"]["redis.default#shared.cache"];
    assert_eq!(given["persistent"], true);
    assert_eq!(given["username"], "shop");
    let url = given["url"].as_str().expect("a URL");
    assert_eq!(
        url,
        format!("redis://shop:the%20app%27s%20secret%3A%20%25%26%2F%3F@127.0.0.1:{}", redis.port)
    );

    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    workspace.purlin(&["refresh"]);
    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    wanted(&workspace, &user("shop", &["+get"]));
    workspace.purlin(&["up", "--yes"]);
    assert!(shop(&["SET", "app:x", "1"]).contains("NOPERM"));
    // Another name is another user.
    wanted(&workspace, &user("shop2", &["+get"]));
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(redis.users(), ["shop2"]);
    wanted(&workspace, &json!({"name": "shop2", "commands": ["+@nonsense"]}));
    workspace.run(&["up", "--yes"]).status(1).prints("`user.commands`").prints("Unknown command or category");
    wanted(&workspace, &json!({"name": "shop2", "commands": ["nopass"]}));
    workspace.run(&["up", "--yes"]).status(2).prints("has to be `+COMMAND`");
    workspace.purlin(&["destroy", "--yes"]);
    assert!(redis.users().is_empty() && !redis.users_file().contains("shop"));
}

#[test]
fn changes_by_others_are_found_and_repaired() {
    let Some(redis) = Redis::start(false, None) else { return };
    let workspace = workspace("dev", &server(redis.port), PASSWORD);
    wanted(&workspace, &user("shop", &["+get", "+set"]));
    // Without a file of users nothing of this survives a restart, and that is reported.
    workspace.purlin(&["up", "--yes", "--verbose"]);
    let outputs = workspace.purlin(&["outputs", "--format", "json"]).json();
    assert_eq!(outputs["resources"]["redis.default#shared.cache"]["persistent"], false);
    let before = redis.ask(&["ACL", "GETUSER", "shop"]);
    redis.ask(&["ACL", "SETUSER", "shop", "off", ">stolen", "+@all", "~*", "&*", "(+set ~x)"]);
    let found = workspace.purlin(&["refresh"]);
    for what in [
        "values.user.enabled",
        "values.user.keys",
        "values.user.channels",
        "values.user.commands",
        "values.user.selectors",
        "outputs.password_is",
    ] {
        found.clone().prints(what);
    }
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(redis.ask(&["ACL", "GETUSER", "shop"]), before);
    workspace.purlin(&["refresh"]);
    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    // Even if only a secret was changed, or everything.
    redis.ask(&["ACL", "SETUSER", "shop", "nopass"]);
    workspace.purlin(&["refresh"]).prints("values.user.nopass");
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(redis.ask(&["ACL", "GETUSER", "shop"]), before);
    redis.ask(&["ACL", "DELUSER", "shop"]);
    workspace.purlin(&["refresh"]).prints("it no longer exists");
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(redis.ask(&["ACL", "GETUSER", "shop"]), before);
}

#[test]
fn resources_of_others_are_left_alone() {
    let Some(redis) = Redis::start(true, None) else { return };
    redis.ask(&["ACL", "SETUSER", "shop", "on", ">hers", "+@all", "~*"]);
    let ours = workspace("dev", &server(redis.port), PASSWORD);
    wanted(&ours, &user("shop", &["+get"]));
    ours.run(&["up", "--yes"])
        .status(1)
        .prints("the user `shop` already exists, without a mark of this resource");
    // A person may adopt it.
    ours.purlin(&["import", "--yes", "redis#shared.cache", "shop"]);
    ours.purlin(&["up", "--yes"]);
    assert!(redis.ask_as("shop", "hers", &["GET", "app:x"]).contains("NOAUTH"));
    assert_eq!(redis.ask_as("shop", SECRET, &["GET", "app:x"]), "");
    let theirs = workspace("prod", &server(redis.port), PASSWORD);
    wanted(&theirs, &user("shop", &["+get"]));
    theirs
        .run(&["up", "--yes"])
        .status(1)
        .prints("the user `shop` already exists, and belongs to another resource");
    wanted(&theirs, &user("default", &["+get"]));
    theirs.run(&["up", "--yes"]).status(2).prints("is a user of every server");
    ours.purlin(&["destroy", "--yes"]);
    assert!(redis.users().is_empty());
}

#[test]
fn a_server_is_used_only_over_tls_and_with_the_right_password() {
    let (Some(authority), Some(other)) = (Authority::new(Key::P256), Authority::new(Key::Rsa)) else {
        return;
    };
    let Some(redis) = Redis::start(true, Some(&authority)) else { return };
    let at = |tls: &str, ca: &str| {
        json!({
            "host": "localhost", "port": redis.port, "tls": tls, "ca": ca, "connect_timeout": TIMEOUT,
        })
    };
    let workspace = workspace("dev", &at("verify-full", &authority.pem()), PASSWORD);
    wanted(&workspace, &user("shop", &["+get"]));
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(redis.users(), ["shop"]);
    let outputs = workspace.purlin(&["outputs", "--format", "json", "--show-secrets"]).json();
    let url = outputs["resources"]["redis.default#shared.cache"]["url"].as_str().expect("a URL").to_owned();
    assert!(url.starts_with("rediss://shop:"), "{url}");
    let again = || workspace.run(&["up", "--full", "--yes"]);
    definition(&workspace, &at("verify-full", &other.pem()), PASSWORD);
    again().status(1).prints("the server's certificate was not issued by an authority in `connection.ca`");
    definition(&workspace, &at("verify-full", &authority.pem()), "wrong");
    again().status(1).prints("WRONGPASS").prints("`connection.password` has to be");
    definition(&workspace, &at("disable", ""), PASSWORD);
    again().status(1);
    definition(&workspace, &at("verify-full", &authority.pem()), PASSWORD);
    workspace.purlin(&["destroy", "--yes"]);
    assert!(redis.users().is_empty());
}

#[test]
fn the_contract_is_held() {
    let Some(redis) = Redis::start(true, None) else { return };
    let workspace = workspace("dev", &server(redis.port), PASSWORD);
    let cases = std::fs::read_to_string(root().join("drivers/redis/check.yaml")).expect("the cases");
    workspace.write("cases.yaml", cases.replace("port: 6379", &format!("port: {}", redis.port)));
    workspace.purlin(&["driver", "check", "purlin/redis", "--cases", "cases.yaml"]);
    assert!(redis.users().is_empty() && !redis.users_file().contains("checked"));
}

#[test]
fn a_missing_grant_or_right_is_reported() {
    let Some(redis) = Redis::start(true, None) else { return };
    let open = workspace("dev", &server(redis.port), PASSWORD);
    let text = open.read("purlin.yaml");
    open.write(
        "purlin.yaml",
        text.replace("\"127.0.0.1:", "\"192.0.2.1:").replace("\"localhost:", "\"example.net:"),
    );
    wanted(&open, &user("shop", &["+get"]));
    let address = format!("127.0.0.1:{}", redis.port);
    open.run(&["up", "--yes"])
        .status(2)
        .prints(&format!("`purlin/redis` is not granted connections to `{address}`"))
        .prints(&format!("- \"{address}\""));
    redis.ask(&["ACL", "SETUSER", "weak", "on", ">w", "+get"]);
    let mut at = server(redis.port);
    at["user"] = "weak".into();
    let weak = workspace("dev", &at, "w");
    wanted(&weak, &user("shop", &["+get"]));
    weak.run(&["up", "--yes"]).status(1).prints("NOPERM").prints("needs the commands");
    assert_eq!(redis.users(), ["weak"]);
}

#[test]
fn a_kill_at_any_message_leaves_nothing_twice_and_nothing_behind() {
    let Some(redis) = Redis::start(true, None) else { return };
    let proxy = Proxy::to(redis.port);
    let prepared = |attempt: usize, commands: &[&str]| {
        let workspace = workspace(&format!("env-{attempt}"), &server(proxy.port()), PASSWORD);
        wanted(&workspace, &user(&format!("shop-{attempt}"), commands));
        workspace
    };
    let only = |attempt: usize, word: &str| {
        let name = format!("shop-{attempt}");
        assert_eq!(redis.users(), [name.as_str()]);
        assert!(redis.users_file().contains(&format!("user {name} on")));
        let may = redis.ask_as(&name, SECRET, &[word, "app:x"]);
        assert!(!may.contains("NOPERM") && !may.contains("WRONGPASS"), "{may}");
    };
    let made = at_every_message(
        &proxy,
        &["up", "--yes"],
        |attempt| prepared(attempt, &["+get"]),
        |attempt, workspace| {
            only(attempt, "GET");
            workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
            workspace.purlin(&["destroy", "--yes"]);
            assert!(redis.users().is_empty());
        },
    );
    let changed = at_every_message(
        &proxy,
        &["up", "--yes"],
        |attempt| {
            let workspace = prepared(attempt + 1000, &["+get"]);
            workspace.purlin(&["up", "--yes"]);
            wanted(&workspace, &user(&format!("shop-{}", attempt + 1000), &["+strlen"]));
            workspace
        },
        |attempt, workspace| {
            only(attempt + 1000, "STRLEN");
            workspace.purlin(&["destroy", "--yes"]);
        },
    );
    let deleted = at_every_message(
        &proxy,
        &["destroy", "--yes"],
        |attempt| {
            let workspace = prepared(attempt + 2000, &["+get"]);
            workspace.purlin(&["up", "--yes"]);
            workspace
        },
        |_, _| assert!(redis.users().is_empty() && !redis.users_file().contains("shop")),
    );
    assert!(made >= 8 && changed >= 8 && deleted >= 6, "{made}, {changed}, {deleted} kills");
    eprintln!("killed {made} times while made, {changed} while changed, {deleted} while deleted");
}

#[test]
fn a_connection_that_breaks_at_any_message_leaves_nothing_twice_and_nothing_behind() {
    let Some(redis) = Redis::start(true, None) else { return };
    let wire = Wire::to(redis.port);
    let mut cuts = 0;
    for when in [When::Before, When::After] {
        for at in 1.. {
            cuts += 1;
            assert!(cuts < 60, "it never gets through");
            let workspace = workspace(&format!("env-{cuts}"), &server(wire.port()), PASSWORD);
            let name = format!("shop-{cuts}");
            let mut over = true;
            for word in ["get", "strlen"] {
                wanted(&workspace, &user(&name, &[&format!("+{word}")]));
                wire.cut_at(at, when);
                workspace.run(&["up", "--yes"]);
                over &= !wire.has_failed();
                workspace.purlin(&["up", "--yes"]);
                assert_eq!(redis.users(), [name.as_str()]);
                let may = redis.ask_as(&name, SECRET, &[word, "app:x"]);
                assert!(!may.contains("NO"), "{may}");
            }
            wire.cut_at(at, when);
            workspace.run(&["destroy", "--yes"]);
            over &= !wire.has_failed();
            workspace.purlin(&["destroy", "--yes"]);
            assert!(redis.users().is_empty() && !redis.users_file().contains("shop"));
            if over {
                break;
            }
        }
    }
}

#[test]
fn any_name_is_a_name_and_nothing_else() {
    let Some(redis) = Redis::start(true, None) else { return };
    let names = ["on", "reset", ">x", "it's\"quoted\"", "データベース", "a\\b", "$1", "*2"];
    for (index, name) in names.iter().enumerate() {
        let workspace = workspace(&format!("env-{index}"), &server(redis.port), PASSWORD);
        wanted(&workspace, &json!({"name": name, "keys": ["k\"'\\:*"], "commands": ["+get"]}));
        workspace.purlin(&["up", "--yes"]);
        assert_eq!(redis.ask_as(name, SECRET, &["GET", "k\"':1"]), "");
        workspace.purlin(&["refresh"]);
        workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
        workspace.purlin(&["destroy", "--yes"]);
        assert!(redis.users().is_empty());
    }
    let workspace = workspace("bad", &server(redis.port), PASSWORD);
    for name in ["two words", "line\r\nbreak", ""] {
        wanted(&workspace, &json!({"name": name}));
        workspace.run(&["up", "--yes"]).status(2).prints("`user.name`");
    }
}

#[test]
fn broken_and_silent_servers_are_reported_in_time() {
    use std::io::{Read as _, Write as _};
    let answers: [(&str, &[u8]); 6] = [
        ("does not answer like a Redis server", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        ("too long or too deep", b"$99999999999\r\n"),
        ("too long or too deep", b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
        ("a number is missing", b":x\r\n"),
        ("the server is loading", b"-LOADING the server is loading\r\n"),
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
        wanted(&workspace, &user("shop", &["+get"]));
        let begun = std::time::Instant::now();
        workspace.run(&["up", "--yes"]).status(1).prints(words);
        assert!(begun.elapsed() < std::time::Duration::from_secs(300), "{words}: {:?}", begun.elapsed());
    }
}

/// A driver never reports a password, so an adopted user gets the one of the documents.
#[test]
fn an_adopted_user_works_with_the_password_of_the_documents() {
    let Some(redis) = Redis::start(true, None) else { return };
    let ours = workspace("dev", &server(redis.port), PASSWORD);
    wanted(&ours, &user("shop", &["+get"]));
    ours.purlin(&["up", "--yes"]);
    ours.purlin(&["state", "forget", "--yes", "redis#shared.cache"]);
    // Only the password differs, and it is generated in the same run.
    let password = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "password"},
        "spec": {"type": "password", "driver": "purlin/random", "criteria": [{}]},
    });
    ours.write("password.json", password.to_string());
    let generated = "${resources['password.default#shared.pw'].outputs.password}";
    let deployment = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {
            "shared": {
                "pw": {"type": "password"},
                "cache": {"type": "redis", "params": {"user": user("shop", &["+get"]), "password": generated}},
            },
            "lifecycle": {"redis#shared.cache": {"import": "shop"}},
        },
    });
    ours.write("deployment.json", deployment.to_string());
    ours.purlin(&["plan"]).prints("1 to adopt");
    assert_eq!(redis.ask_as("shop", SECRET, &["GET", "app:x"]), "");
    ours.purlin(&["up", "--yes"]);
    let outputs = ours.purlin(&["outputs", "--format", "json", "--show-secrets"]).json();
    let password =
        outputs["resources"]["redis.default#shared.cache"]["password"].as_str().expect("one").to_owned();
    assert_eq!(redis.ask_as("shop", &password, &["GET", "app:x"]), "");
    assert!(redis.ask_as("shop", SECRET, &["GET", "app:x"]).contains("NOAUTH"));
    ours.purlin(&["up", "--yes"]).prints("Nothing to change");
}
