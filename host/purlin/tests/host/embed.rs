//! Tests the example service over HTTP.

#[path = "../../examples/embed/service.rs"]
mod service;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use purlin_host::InProcess;
use serde_json::Value;

const DOCUMENTS: &str = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: greeting}
spec:
  type: greeting
  driver: purlin/echo
  inputs:
    values: {text: 'hello ${context.app.id}'}
  criteria: [{}]
---
apiVersion: score.dev/v1b1
metadata: {name: web}
containers:
  main:
    image: web
    variables: {GREETING: '${resources.greeting.text}'}
resources:
  greeting: {type: greeting}
";

/// Sends a plain request. Returns the status and the body.
fn post(address: SocketAddr, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("connect");
    write!(stream, "POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        .expect("send");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, body.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_plans_and_applies() {
    let state = tempfile::tempdir().expect("a folder");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = service::router(state.path().join("state"), InProcess);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let ask = |path: &'static str, body: &'static str| async move {
        tokio::task::spawn_blocking(move || post(address, path, body)).await.expect("a response")
    };

    let (status, plan) = ask("/plan?app=shop", DOCUMENTS).await;
    assert_eq!(status, 200, "{plan}");
    let plan: Value = serde_json::from_str(&plan).expect("json");
    assert_eq!(plan["summary"]["create"], 3, "{plan}");

    let (status, events) = ask("/apply?app=shop", DOCUMENTS).await;
    assert_eq!(status, 200, "{events}");
    let last: Value = serde_json::from_str(events.lines().last().expect("a line")).expect("json");
    assert_eq!((&last["done"]["create"], &last["failed"]), (&Value::from(3), &Value::from(0)), "{events}");

    let (_, events) = ask("/apply?app=shop", DOCUMENTS).await;
    let last: Value = serde_json::from_str(events.lines().last().expect("a line")).expect("json");
    assert_eq!(last["calls"], 0, "a second apply calls no driver: {events}");

    let taken = taken(&state.path().join("other")).await;
    assert!(matches!(taken, purlin_host::Error::DeploymentExists { number: 1, .. }), "{taken:?}");
    assert!(taken.is_input());

    let (status, wrong) = ask("/plan", "apiVersion: purlin.dev/v1\nkind: Nothing\n").await;
    assert_eq!(status, 422, "{wrong}");
    let wrong: Value = serde_json::from_str(&wrong).expect("json");
    let fault = &wrong["error"]["diagnostics"][0];
    assert_eq!((&fault["code"], &fault["line"]), (&"unknown-kind".into(), &2.into()), "{wrong}");

    // Whoever sends documents does not choose the grants.
    const WORKSPACE: &str = "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {drivers: {purlin/file: {grants: {dirs: [{host: /etc, guest: /etc, mode: ro}]}}}}\n";
    let (status, wrong) = ask("/plan?app=shop", WORKSPACE).await;
    assert_eq!(status, 422, "{wrong}");
    let wrong: Value = serde_json::from_str(&wrong).expect("json");
    assert_eq!(wrong["error"]["diagnostics"][0]["code"], "other-workspace", "{wrong}");
}

/// The service needs no other crate of the workspace, and nothing that is not documented.
#[test]
fn the_service_uses_only_the_documented_names() {
    for source in
        [include_str!("../../examples/embed/service.rs"), include_str!("../../examples/embed/main.rs")]
    {
        let hidden = source.split("purlin_").skip(1).filter(|rest| !rest.starts_with("host"));
        assert_eq!(hidden.count(), 0, "{source}");
        assert!(source.contains("purlin_host::") && !source.contains("internal"), "{source}");
    }
}

/// Deploys twice with the same id, in another state. Returns the error of the second deployment.
async fn taken(state: &std::path::Path) -> purlin_host::Error {
    use futures::StreamExt as _;
    use purlin_host::{Input, load};
    let purlin = purlin_host::Purlin::builder().state_folder(state).build();
    for app_text in ["one", "two"] {
        let text = DOCUMENTS.replace("hello", app_text);
        let loaded = load(&[Input::Text { name: "documents".into(), text }]);
        let documents =
            purlin_host::Documents::new(loaded, &Default::default(), None, "same").expect("right");
        let session = purlin.begin(&documents.environment()).await.expect("a session");
        let plan = session.plan(&documents, Default::default()).await.expect("a plan");
        match session.deploy(plan, Some(&documents), Default::default()).await {
            Ok(run) => drop(run.collect::<Vec<_>>().await),
            Err(error) => return error,
        }
    }
    panic!("the second one is refused");
}
