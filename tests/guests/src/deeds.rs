//! The deeds of the adversary.

use std::io::Read as _;
use std::time::Duration;

use crate::{http, net};
use purlin_sdk::bindings::purlin::driver::types::{
    Call, Denial, Failure, Finding, Inputs, ManifestFile, Partial, Pending, Problem, Retry, State, Subject,
};
use purlin_sdk::bindings::purlin::driver::{log, operation};
use purlin_sdk::bindings::purlin::metrics::metrics;
use serde_json::{Value, json};

/// Colours, a link, the clipboard, a title, a bell, overwriting, other directions, nothing at all.
const PAINT: &str = "\u{1b}[31mred\u{1b}]8;;http://evil.example\u{1b}\\link\u{1b}]8;;\u{1b}\\\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}]0;title\u{7}\u{9b}2J\rover\u{8}\u{202e}esrever\u{2066}\u{200b}\u{7f}\u{0}.";

/// A state that holds the host's facts about the call.
pub(crate) fn facts(id: &str, call: &Call) -> State {
    let hints: serde_json::Map<String, Value> =
        call.hints.iter().map(|(name, fact)| (name.clone(), serde_json::from_str(fact).unwrap())).collect();
    let outputs = json!({"key": call.idempotency_key, "deadline": call.deadline, "hints": hints}).to_string();
    State { outputs, ..found(id) }
}

/// The state of an object without a record.
pub(crate) fn found(id: &str) -> State {
    State {
        id: id.into(),
        outputs: json!({"found": id}).to_string(),
        secrets: "{}".into(),
        cookie: vec![],
        manifests: vec![],
        sensitive: vec![],
        version: 0,
        notes: vec![],
    }
}

/// Whether a resource is of the types that show how they are reached.
pub(crate) fn shows_access(subject: &Subject) -> bool {
    matches!(subject.type_name.as_str(), "account" | "connected")
}

/// A state that shows the account, the connection and the labels of a resource, and a log line with the account.
pub(crate) fn account(subject: &Subject, inputs: &Inputs) -> State {
    log::write(log::Level::Info, &format!("the account is {}", inputs.account));
    let account: Value = serde_json::from_str(&inputs.account).unwrap();
    let mut shown = account.as_object().unwrap().clone();
    let secrets = json!({"token": shown.remove("token")}).to_string();
    let labels: serde_json::Map<String, Value> =
        subject.context.labels.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut outputs = json!({"account": shown, "labels": labels, "sensitive": inputs.sensitive});
    let mut connection: Value = serde_json::from_str(&inputs.connection).unwrap();
    if let Some(fields) = connection.as_object_mut().filter(|fields| !fields.is_empty()) {
        let secrets = json!({"token": fields.remove("token")}).to_string();
        outputs["connection"] = connection;
        return State { outputs: outputs.to_string(), secrets, ..found(&subject.guresid) };
    }
    State { outputs: outputs.to_string(), secrets, ..found(&subject.guresid) }
}

/// A state that holds, as texts, what the host returned of an earlier one.
pub(crate) fn recalled(state: &State) -> State {
    let notes = state.notes.iter().map(|(name, note)| format!("{}:{note}", json!(name)));
    let outputs = json!({
        "outputs": state.outputs,
        "secrets": state.secrets,
        "sensitive": json!(state.sensitive).to_string(),
        "version": state.version.to_string(),
        "notes": format!("{{{}}}", notes.collect::<Vec<_>>().join(",")),
    });
    State { outputs: outputs.to_string(), ..found(&state.id) }
}

pub(crate) fn perform(inputs: &Inputs, id: &str) -> Result<State, Failure> {
    let values: Value = serde_json::from_str(&inputs.values).unwrap();
    let secrets: Value = serde_json::from_str(&inputs.secrets).unwrap();
    let number = |name: &str, default: u64| values[name].as_u64().unwrap_or(default);
    let text = |name: &str| values[name].as_str().unwrap_or_default().to_owned();
    let secret = secrets["password"].as_str().unwrap_or_default().to_owned();
    let filled = |text: &str| text.replace("{secret}", &secret);
    let state =
        |outputs: Value| State { outputs: outputs.to_string(), cookie: b"cookie".to_vec(), ..found(id) };
    Ok(match text("do").as_str() {
        "" | "echo" => State { secrets: inputs.secrets.clone(), ..state(values) },

        "loop" => {
            let mut turns = 0u64;
            loop {
                turns = std::hint::black_box(turns.wrapping_add(1));
            }
        }
        "trap" => core::arch::wasm32::unreachable(),
        "panic" => panic!("I give up on {secret}"),
        "exit" => std::process::exit(3),
        "stack" => state(json!({"depth": dig(0)})),
        "alloc" => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(vec![1u8; 1 << 20]);
                std::hint::black_box(&hoard);
            }
        }
        "sleep" => {
            std::thread::sleep(Duration::from_millis(number("ms", 60_000)));
            state(json!({"slept": true}))
        }

        "junk" => State { outputs: "{oops".into(), ..state(json!({})) },
        "list" => state(json!([1, 2])),
        "deep" => State { outputs: "[".repeat(number("depth", 100_000) as usize), ..state(json!({})) },
        "deep-object" => {
            State { outputs: "{\"a\":".repeat(number("depth", 100_000) as usize), ..state(json!({})) }
        }
        "huge" => state(json!({"x": "x".repeat(number("bytes", 8 << 20) as usize)})),
        "many" => {
            let data = format!("\"{}\"", "x".repeat(1 << 20));
            let file =
                |n: usize| ManifestFile { name: n.to_string(), location: "l".into(), data: data.clone() };
            State { manifests: (0..20).map(file).collect(), ..state(json!({})) }
        }
        "twice" => State { secrets: r#"{"x":1}"#.into(), ..state(json!({"x": 1})) },
        "twins" => {
            let file = || ManifestFile { name: "a".into(), location: "l".into(), data: "{}".into() };
            State { manifests: vec![file(), file()], ..state(json!({})) }
        }
        "empty-id" => State { id: String::new(), ..state(json!({})) },
        "long-id" => State { id: "i".repeat(5000), ..state(json!({})) },
        "other-id" => State { id: "another".into(), ..state(json!({})) },
        "cookie" => State { cookie: vec![0; 10_241], ..state(json!({})) },

        "leak" => {
            let file = ManifestFile {
                name: "a".into(),
                location: "l".into(),
                data: json!({"url": format!("x://{secret}@h"), "open": 1}).to_string(),
            };
            let outputs = json!({
                "url": format!("postgres://u:{secret}@host"), "plain": "host",
                "list": [secret], "json": json!({"p": secret}).to_string(),
            });
            State { manifests: vec![file], ..state(outputs) }
        }
        "leak-id" => State { id: format!("id-of-{secret}"), ..state(json!({})) },
        "say" => {
            println!("standard output {secret}");
            eprint!("standard error \x1b[31m{secret}");
            log::write(log::Level::Info, &format!("log {secret}\nsecond line"));
            metrics::count("things_made", 2);
            metrics::count("Not A Name", 1);
            operation::progress(&format!("half way with {secret}"), Some(150));
            state(json!({}))
        }
        "flood" => {
            let line = "x".repeat(1000);
            for _ in 0..number("lines", 100_000) {
                println!("{line}");
                log::write(log::Level::Info, &line);
            }
            state(json!({}))
        }

        "checkpoint" => {
            let bytes = values["cookie-bytes"].as_u64().map(|bytes| vec![0; bytes as usize]);
            let cookie = bytes.or_else(|| values["cookie"].as_str().map(|text| text.as_bytes().to_vec()));
            operation::checkpoint(&filled(&text("id")), cookie.as_deref());
            if values["then"] == "loop" {
                loop {
                    std::hint::spin_loop();
                }
            }
            if values["then"] == "say" {
                operation::progress("after the checkpoint", None);
            }
            state(json!({"after": "checkpoint"}))
        }
        "time-left" => {
            let before = operation::time_left();
            std::thread::sleep(Duration::from_millis(number("ms", 0)));
            state(json!({"before": before, "after": operation::time_left()}))
        }
        "wait-for-cancel" => {
            while !operation::cancelled() {
                std::thread::sleep(Duration::from_millis(5));
            }
            return Err(Failure::Failed("cancelled, so it stopped".into()));
        }

        "look-around" => {
            let mut input = String::new();
            std::io::stdin().read_to_string(&mut input).unwrap();
            let env: serde_json::Map<String, Value> = std::env::vars().map(|(k, v)| (k, v.into())).collect();
            let tcp = std::net::TcpStream::connect("127.0.0.1:1").map_err(|e| e.kind().to_string());
            let udp = std::net::UdpSocket::bind("127.0.0.1:0").map_err(|e| e.kind().to_string());
            let name = std::net::ToSocketAddrs::to_socket_addrs("localhost:80").map_err(|e| e.to_string());
            state(json!({
                "stdin": input, "env": env, "args": std::env::args().collect::<Vec<_>>(),
                "tcp": tcp.err(), "udp": udp.err(), "name": name.is_err(),
                "root": std::fs::read_dir("/").is_err(), "etc": std::fs::read("/etc/passwd").is_err(),
                "clock": std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() > 1_700_000_000,
            }))
        }
        // Connects, sends a text and reads until the other side ends.
        "connect" => match net::connect(&text("to"), &text("send")) {
            Ok(answer) => state(json!({"answer": answer})),
            Err(error) => return Err(Failure::Failed(error.kind().to_string().into())),
        },
        "send" => match net::send(&text("to"), &text("send")) {
            Ok(answer) => state(json!({"answer": answer})),
            Err(error) => return Err(Failure::Failed(error.kind().to_string().into())),
        },
        "look-up" => match net::look_up(&text("name")) {
            Ok(addresses) => state(json!({"addresses": addresses})),
            Err(error) => return Err(Failure::Failed(error.to_string().into())),
        },
        "listen" => match std::net::TcpListener::bind("0.0.0.0:0") {
            Ok(_) => state(json!({"listens": true})),
            Err(error) => return Err(Failure::Failed(error.kind().to_string().into())),
        },
        "hold-sockets" => state(json!({"sockets": net::hold_sockets(&text("to"), number("count", 1_000))})),
        "request" => match http::request(&values) {
            Ok(answer) => state(answer),
            Err(error) => return Err(Failure::Failed(error.into())),
        },
        // One after the other.
        "requests" => match (0..number("count", 1)).try_for_each(|_| http::request(&values).map(drop)) {
            Ok(()) => state(json!({})),
            Err(error) => return Err(Failure::Failed(error.into())),
        },
        "write" => match std::fs::write(text("path"), text("text")) {
            Ok(()) => state(json!({"read": std::fs::read_to_string(text("path")).unwrap()})),
            Err(error) => return Err(Failure::Failed(error.to_string().into())),
        },

        // Paints wherever it can put its own text.
        "paint" => {
            println!("out {PAINT}");
            eprintln!("err {PAINT}");
            log::write(log::Level::Warn, &format!("log {PAINT}"));
            operation::progress(&format!("progress {PAINT}"), None);
            let file = ManifestFile {
                name: format!("{}-{PAINT}", values["n"]),
                location: format!("location-{PAINT}"),
                data: json!({PAINT: PAINT}).to_string(),
            };
            let outputs = json!({format!("key-{PAINT}"): format!("value-{PAINT}"), "host": PAINT});
            State { id: format!("{id}-{PAINT}"), manifests: vec![file], ..state(outputs) }
        }
        "paint-invalid" => {
            let fault = Finding { pointer: format!("/values/{PAINT}"), message: PAINT.into() };
            return Err(Failure::InvalidInputs(vec![fault]));
        }
        "paint-denied" => {
            let (capability, target) = (PAINT.to_owned(), PAINT.to_owned());
            return Err(Failure::Denied(Denial { capability, target, message: PAINT.into() }));
        }
        "paint-partial" => {
            let state = State { id: PAINT.into(), ..state(json!({"host": PAINT})) };
            return Err(Failure::Partial(Partial { state, problem: PAINT.into() }));
        }
        "paint-failed" => return Err(Failure::Failed(PAINT.into())),
        "paint-panic" => panic!("{PAINT}"),
        "invalid" => {
            let fault = |pointer: &str| Finding { pointer: pointer.into(), message: format!("not {secret}") };
            return Err(Failure::InvalidInputs(vec![fault("/values/a"), fault("/values/b")]));
        }
        "denied" => {
            return Err(Failure::Denied(Denial {
                capability: "tcp".into(),
                target: "db:5432".into(),
                message: "to talk to it".into(),
            }));
        }
        "busy" => {
            return Err(Failure::RetryAfter(Retry { after_ms: u64::MAX, message: "later".into() }));
        }
        "half" => {
            return Err(Failure::Partial(Partial {
                state: state(json!({"half": true})),
                problem: "the other half is missing".into(),
            }));
        }
        // It exists, or is going away, and is not done yet.
        "pending" => {
            let id = if values["other-id"] == true { "another" } else { id };
            let begun =
                State { id: id.into(), ..state(json!({"starts": true, "url": format!("x://{secret}@h")})) };
            return Err(Failure::Pending(Pending {
                state: (values["state"] == true).then_some(begun),
                after_ms: number("after", 0),
                message: filled(&text("message")),
            }));
        }
        "programs" => state(crate::programs::tried()),
        "agreed" => state(crate::forecast::agreed()),
        // A failure with details.
        "problem" => {
            let details = values["details"].as_array().into_iter().flatten().map(|pair| {
                let part = |index: usize| filled(pair[index].as_str().unwrap_or_default());
                (part(0), part(1))
            });
            let problem = Problem { message: filled(&text("message")), details: details.collect() };
            return Err(match text("kind").as_str() {
                "not-found" => Failure::NotFound(problem),
                "conflict" => Failure::Conflict(problem),
                "undecided" => Failure::Undecided(problem),
                "needs-delete-before" => Failure::NeedsDeleteBefore(problem),
                "partial" => Failure::Partial(Partial { state: state(json!({})), problem }),
                _ => Failure::Failed(problem),
            });
        }
        // Whatever can be said of a state.
        "tell" => {
            let object = |name: &str| values[name].as_object().cloned().unwrap_or_default();
            let file = |(name, data): (String, Value)| ManifestFile {
                name,
                location: "cluster".into(),
                data: data.to_string(),
            };
            let note = |(name, note): (String, Value)| (filled(&name), filled(&note.to_string()));
            let raw = values["note"].as_str().map(|text| ("note".to_owned(), text.to_owned()));
            let places = values["sensitive"].as_array().into_iter().flatten().filter_map(Value::as_str);
            State {
                manifests: object("manifests").into_iter().map(file).collect(),
                sensitive: places.map(str::to_owned).collect(),
                version: number("version", 0) as u32,
                notes: object("notes").into_iter().map(note).chain(raw).collect(),
                ..state(object("outputs").into())
            }
        }
        other => return Err(Failure::Failed(format!("it cannot `{other}`").into())),
    })
}

#[inline(never)]
fn dig(depth: u64) -> u64 {
    let pad = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { dig(depth + 1) + pad[3] }
}
