//! Errors, and requests for a retry.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use purlin_systems::rest::{Misbehaviour, Service};
use serde_json::json;

use crate::{Scene, TIME, found, none, size, things};

#[test]
fn retries_follow_the_server() {
    let service = Service::start();
    let values = found(&service.url(), "busy");
    let scene = Scene::new(&service.url(), &values, &none());
    for status in [429, 503] {
        service.fault(
            "POST",
            Misbehaviour::Refuse(status, vec![("retry-after", "1".to_owned())], String::new()),
        );
    }
    service.fault("GET", Misbehaviour::Refuse(503, Vec::new(), String::new()));
    service.fault("GET", Misbehaviour::LoseAnswer);
    scene.up();
    assert_eq!(things(&service, "busy").len(), 1);
    // A status from the declaration.
    let mut values = size(values, 2);
    values["retry"] = json!([423]);
    scene.wants(&values, &none(), &none());
    service.fault(
        "PATCH",
        Misbehaviour::Refuse(423, vec![("retry-after", "1".to_owned())], "locked".to_owned()),
    );
    scene.up();
    assert_eq!(things(&service, "busy")[0]["size"], 2);
    // A slow answer is not lost.
    service.fault("GET", Misbehaviour::Slow(Duration::from_millis(1500)));
    scene.workspace.purlin(&["refresh"]);
    scene.up().prints("Nothing to change");
}

#[test]
fn rejections_are_reported_and_nothing_is_recorded() {
    let service = Service::start();
    let values = found(&service.url(), "refused");
    let scene = Scene::new(&service.url(), &values, &none());
    let refuse = |status, headers, body: &str| {
        service.fault("POST", Misbehaviour::Refuse(status, headers, body.to_owned()));
    };
    refuse(400, vec![], "{\"error\": {\"message\": \"size has to be even\"}}");
    scene.fails().prints("status 400: size has to be even");
    refuse(409, vec![], "");
    scene.fails().prints("status 409");
    refuse(500, vec![], "{\"message\": \"a bug\"}");
    scene.fails().prints("status 500: a bug");
    refuse(302, vec![("location", "http://127.0.0.1:1/elsewhere".to_owned())], "");
    scene.fails().prints("redirects to `http://127.0.0.1:1/elsewhere`");
    assert!(service.all("things").is_empty());
    let state = scene.workspace.purlin(&["state", "list"]).to_string();
    assert!(!state.contains("shared.thing"), "{state}");
    // Lists that lead elsewhere are not followed, because credentials would be sent there.
    service.fault(
        "GET",
        Misbehaviour::DoAndAnswer(200, "{\"items\": [], \"next\": \"http://127.0.0.1:1/x\"}".to_owned()),
    );
    scene.fails().prints("which is not at");
    service.key("right");
    scene.wants(&values, &json!({"bearer": "wrong-and-secret"}), &none());
    let done = scene.fails().prints("status 401: who are you?").prints("credentials");
    assert!(!done.to_string().contains("wrong-and-secret"), "{done}");
    scene.settings(&format!("http: [\"GET {}/*\"]", service.url()), TIME);
    scene.wants(&values, &json!({"bearer": "right"}), &none());
    let done = scene.workspace.run(&["up", "--yes"]).status(2);
    done.prints(&format!("`purlin/http` is not granted POST requests to `{}/*`", service.url()))
        .prints(&format!("- \"POST,PATCH,DELETE {}/*\"", service.url()));
    // A path that is not granted shows where it is requested.
    scene.settings(&format!("http: [\"{}/other/*\"]", service.url()), TIME);
    scene.fails().prints("is not granted").prints(&format!("{}/things", service.url()));
    scene.settings("", TIME);
    let done = scene.workspace.run(&["up", "--yes"]).status(2);
    done.prints(&format!("is not granted requests to `{}/*`", service.url())).prints("purlin/http:");
    assert!(service.all("things").is_empty());
}

#[test]
fn a_large_body_arrives_completely_or_is_rejected() {
    let service = Service::start();
    let mut values = found(&service.url(), "large");
    values["secret_outputs"] = none();
    let blob: String = (0..300_000).map(|number| format!("{:05}", number % 100_000)).collect();
    values["create"]["body"]["blob"] = json!(blob);
    let scene = Scene::new(&service.url(), &values, &none());
    scene.up();
    assert_eq!(things(&service, "large")[0]["blob"], blob);
    scene.workspace.purlin(&["destroy", "--yes"]);
    // A server that does not even read the request, and says so.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        // They stay open: since data is left unread, their end could overtake the answer.
        let mut streams = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4];
            let _ = stream.read_exact(&mut head);
            let answer = match &head {
                b"POST" => "HTTP/1.1 413 X\r\nconnection: close\r\ncontent-length: 9\r\n\r\ntoo large",
                _ => "HTTP/1.1 200 X\r\nconnection: close\r\ncontent-length: 13\r\n\r\n{\"items\": []}",
            };
            let _ = stream.write_all(answer.as_bytes());
            streams.push(stream);
        }
    });
    values["base_url"] = json!(url);
    let begun = Instant::now();
    Scene::new(&url, &values, &none()).fails().prints("status 413: too large");
    // A call may take twice as long.
    assert!(begun.elapsed() < Duration::from_secs(300), "nobody waits for what does not come");
}
