//! Tests that need no server.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use purlin_sdk::Json;
use purlin_sdk::testing::{self, inputs, subject};
use serde_json::json;

use crate::Redis;
use crate::identity::{Identity, is_mark};

fn document(server: Json, user: Json) -> Json {
    json!({"connection": server, "values": {"user": user}, "secrets": {"user_password": "x"}})
}

#[test]
fn a_name_is_filled_in_and_stays() {
    let given = document(
        json!({"host": "cache.internal", "tls": "require"}),
        json!({"name": null, "commands": [" +@Read"]}),
    );
    let values = testing::check::<Redis>(inputs(&given), None).expect("values").values;
    assert_eq!(values["user"]["name"], json!(format!("demo-{}", &subject().guresid[..12])));
    assert_eq!(values["user"]["commands"], json!(["+@read"]));
    let again =
        json!({"connection": given["connection"], "values": values, "secrets": {"user_password": "x"}});
    let again = testing::check::<Redis>(inputs(&again), None).expect("values").values;
    assert_eq!(again, values);
    testing::chosen_inputs_stay::<Redis>(inputs(&given)).expect("the same");
}

#[test]
fn a_rule_for_commands_is_nothing_else() {
    for rule in ["nopass", "+@", "+get ~*", ">x", "reset", "+a\r\nFLUSHALL", "(+get)"] {
        let given = document(json!({"host": "h", "tls": "require"}), json!({"commands": [rule]}));
        let text =
            testing::check::<Redis>(inputs(&given), None).map(|_| ()).map_err(|failure| failure.to_string());
        assert!(
            text.as_ref().is_err_and(|text| text.contains("/values/user/commands/0")),
            "{rule}: {text:?}"
        );
    }
}

#[test]
fn a_mark_is_a_digest_that_identifies_the_owner() {
    let identity = Identity::of(&subject(), None);
    assert!(is_mark(&identity.mark()) && identity.mark().ends_with(&subject().guresid));
    let read = Identity::of(&subject(), Some(&identity.id("a/b")));
    assert_eq!((read.name.as_deref(), read.is_named), (Some("a/b"), false));
    assert!(Identity::of(&subject(), Some("user/x/y")).is_named);
}

/// Any bytes from a server, in any pieces, lead to a result.
#[test]
fn any_answer_is_borne() {
    let answers: [&[u8]; 12] = [
        b"",
        b"\r\n",
        b"+OK",
        b"$5\r\nab",
        b"$-1\r\n",
        b"*-1\r\n",
        b"*2\r\n+OK\r\n",
        b"$18446744073709551615\r\n",
        b"*9999999\r\n",
        b":1x\r\n",
        b"\xff\xfe\r\n",
        b"+OK\r\n*2\r\n$5\r\nflags\r\n*1\r\n$2\r\non\r\n",
    ];
    for answer in answers {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().expect("a client");
            let _ = client.read(&mut [0; 1024]);
            for byte in answer {
                let _ = client.write_all(&[*byte]).and_then(|()| client.flush());
            }
        });
        let given = document(json!({"host": "127.0.0.1", "port": port, "tls": "disable"}), json!({}));
        let values = testing::check::<Redis>(inputs(&given), None).expect("values").values;
        let given =
            json!({"connection": given["connection"], "values": values, "secrets": {"user_password": "x"}});
        assert!(testing::create::<Redis>(inputs(&given)).is_err(), "{answer:?}");
        server.join().expect("the server ends");
    }
}

#[test]
fn the_readme_has_the_tables_of_the_schema() {
    testing::check_readme::<Redis>(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
        .expect("the README agrees");
}

/// A user that keeps its name has to go first, unless the new one is on another server.
#[test]
fn a_name_is_given_once_on_a_server() {
    let first = |host: &str, name: &str| {
        let of = |host: &str, name: &str| {
            inputs(&document(json!({"host": host, "tls": "require"}), json!({"name": name})))
        };
        let state = purlin_sdk::State::new("x");
        testing::update_impact::<Redis>(of("a", "n"), of(host, name), &state)
            .expect("an impact")
            .delete_before_replace
    };
    assert!(first("a", "n") && !first("b", "n") && !first("a", "m"));
}
