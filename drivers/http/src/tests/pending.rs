//! Resources that take their time, against a server on loopback that answers as each test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use purlin_sdk::testing::{self, inputs};
use purlin_sdk::{Failure, Json, State};
use serde_json::json;

use crate::Http;

/// The answers to `METHOD PATH`: a status, a header and a body.
type Answers = Vec<(&'static str, u16, &'static str, Json)>;

/// A server whose answers the test can replace. Anything else is missing.
struct Server {
    url: String,
    answers: Arc<Mutex<Answers>>,
}

impl Server {
    fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let answers = Arc::new(Mutex::new(answers));
        let known = Arc::clone(&answers);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(&stream);
                let (mut head, mut length) = (String::new(), 0);
                while !head.ends_with("\r\n\r\n") {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 {
                        break;
                    }
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap_or(0);
                    }
                    head.push_str(&line);
                }
                let mut body = vec![0; length];
                let _ = reader.read_exact(&mut body);
                let known = known.lock().expect("ours");
                let answer = known.iter().find(|(request, ..)| head.starts_with(&format!("{request} ")));
                let (status, header, body) = answer
                    .map_or((404, "", "{}".to_owned()), |(_, status, header, body)| {
                        (*status, *header, body.to_string())
                    });
                let length = body.len();
                let head = format!("HTTP/1.1 {status} X\r\n{header}Content-Length: {length}\r\n\r\n");
                let _ = (&stream).write_all(format!("{head}{body}").as_bytes());
            }
        });
        Self { url, answers }
    }

    fn answers(&self, answers: Answers) {
        *self.answers.lock().expect("ours") = answers;
    }
}

/// A resource of the server, with more values.
fn declared(server: &Server, more: &Json) -> testing::GivenInputs {
    let mut values = json!({
        "name": "n", "create": {"path": "/things", "body": {"size": 1}}, "update": {},
        "outputs": {"status": "/status"}, "secret_outputs": {"token": "/token"},
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        values[name] = value.clone();
    }
    inputs(&json!({"connection": {"base_url": server.url}, "values": values}))
}

fn thing(status: &str) -> Json {
    json!({"id": 7, "status": status})
}

#[track_caller]
fn pending<T>(answer: Result<T, Failure>) -> (Option<State>, String) {
    match answer {
        Err(Failure::Pending { state, message, .. }) => (state.map(|state| *state), message),
        Err(failure) => panic!("{failure}"),
        Ok(_) => panic!("it is ready"),
    }
}

#[test]
fn a_resource_is_pending_until_it_is_ready() {
    let mut made = thing("creating");
    made["token"] = json!("shown-once");
    let server =
        Server::start(vec![("POST /things", 201, "", made), ("GET /things/7", 200, "", thing("creating"))]);
    let wait = json!({"until": {"pointer": "/status", "equals": "ready"},
        "fail": {"pointer": "/status", "equals": "broken"}, "every_ms": 60_000});
    let given = declared(&server, &json!({"wait": wait}));
    let (state, message) = pending(testing::create::<Http>(given.clone()));
    let state = state.expect("it exists");
    assert_eq!(message, "the resource is \"creating\"");
    assert_eq!(
        (&state.id, &state.secrets["token"]),
        (&format!("{}/things/7", server.url), &json!("shown-once"))
    );
    // It is looked at, and keeps what was shown once.
    let (looked, _) = pending(testing::read::<Http>(given.clone(), &state));
    let looked = looked.expect("it exists");
    assert_eq!((&looked.id, &looked.secrets["token"]), (&state.id, &json!("shown-once")));
    server.answers(vec![("GET /things/7", 200, "", thing("broken"))]);
    let failure = testing::read::<Http>(given.clone(), &looked).map(|_| ()).expect_err("broken");
    assert_eq!(failure.to_string(), "the resource failed: it is \"broken\"");
    server.answers(vec![("GET /things/7", 200, "", thing("ready"))]);
    let ready = testing::read::<Http>(given.clone(), &looked).expect("read").expect("there").state;
    assert_eq!((&ready.outputs["status"], &ready.secrets["token"]), (&json!("ready"), &json!("shown-once")));
    // What breaks later is no failure of a look: its outputs show it.
    server.answers(vec![("GET /things/7", 200, "", thing("broken"))]);
    let broken = testing::read::<Http>(given, &ready).expect("read").expect("there").state;
    assert_eq!(broken.outputs["status"], json!("broken"));
}

#[test]
fn an_accepted_request_is_pending_until_its_operation_ends() {
    const OPERATION: &str = "Operation: /operations/1\r\n";
    let running = || ("GET /operations/1", 200, "", json!({"state": "running"}));
    let server = Server::start(vec![("POST /things", 202, OPERATION, thing("new")), running()]);
    let operation = json!({"header": "operation", "until": {"pointer": "/state", "equals": "done"},
        "fail": {"pointer": "/state", "equals": "failed"}, "every_ms": 60_000});
    let given = declared(&server, &json!({"operation": operation}));
    let (state, message) = pending(testing::create::<Http>(given.clone()));
    let state = state.expect("it has an id");
    assert_eq!((message.as_str(), &state.outputs["status"]), ("the operation is \"running\"", &json!("new")));
    let (looked, _) = pending(testing::read::<Http>(given.clone(), &state));
    assert_eq!(looked.map(|looked| looked.id), Some(state.id.clone()));
    // It failed, and made nothing.
    server.answers(vec![("GET /operations/1", 200, "", json!({"state": "failed"}))]);
    assert!(testing::read::<Http>(given.clone(), &state).expect("read").is_none());
    let done = ("GET /operations/1", 200, "", json!({"state": "done"}));
    server.answers(vec![done, ("GET /things/7", 200, "", thing("new"))]);
    let ready = testing::read::<Http>(given.clone(), &state).expect("read").expect("there").state;
    // The same for a change.
    server.answers(vec![
        ("PUT /things/7", 202, OPERATION, json!({})),
        running(),
        ("GET /things/7", 200, "", thing("new")),
    ]);
    let (changed, _) = pending(testing::update::<Http>(given.clone(), given.clone(), &ready));
    let changed = changed.expect("it exists");
    assert!(pending(testing::read::<Http>(given, &changed)).0.is_some());
}

#[test]
fn what_is_not_shown_yet_or_still_shown_is_pending() {
    let server = Server::start(vec![("POST /things", 202, "", thing("new"))]);
    let given = declared(&server, &json!({}));
    let (state, _) = pending(testing::create::<Http>(given.clone()));
    let state = state.expect("it was accepted");
    assert!(
        testing::read::<Http>(given.clone(), &state).expect("read").is_none(),
        "the host waits its grace"
    );
    server
        .answers(vec![("DELETE /things/7", 202, "", json!({})), ("GET /things/7", 200, "", thing("going"))]);
    // Nobody waits for it.
    testing::cancel(true);
    let (deleted, message) = pending(testing::delete::<Http>(given.clone(), &state));
    assert!(deleted.is_none() && message.contains("it still exists"), "{message}");
    testing::cancel(false);
    server.answers(vec![]);
    testing::delete::<Http>(given, &state).expect("gone");
}

/// Without its id, nothing can be recorded: the run after it looks.
#[test]
fn an_operation_without_an_id_is_undecided_and_then_pending() {
    let server = Server::start(vec![
        ("POST /things", 202, "Operation: /operations/1\r\n", json!({})),
        ("GET /operations/1", 200, "", json!({"state": "running"})),
    ]);
    let operation = json!({"header": "operation", "id": "/thing",
        "until": {"pointer": "/state", "equals": "done"}, "every_ms": 60_000});
    let given = declared(&server, &json!({"operation": operation}));
    testing::cancel(true);
    let failure = testing::create::<Http>(given.clone()).map(|_| ()).expect_err("it runs");
    testing::cancel(false);
    assert!(matches!(failure, Failure::Undecided(_)), "{failure}");
    let checkpoint = testing::messages().into_iter().rev().find_map(|message| match message {
        testing::HostMessage::Checkpoint(id, _) => Some(id),
        _ => None,
    });
    let checkpoint = checkpoint.expect("a checkpoint");
    let (state, _) = pending(testing::find::<Http>(given.clone(), Some(&checkpoint)));
    assert!(state.is_none());
    server.answers(vec![
        ("GET /operations/1", 200, "", json!({"state": "done", "thing": "7"})),
        ("GET /things/7", 200, "", thing("new")),
    ]);
    let found = testing::find::<Http>(given, Some(&checkpoint)).expect("read").expect("there");
    assert_eq!(found.state.id, format!("{}/things/7", server.url));
}
