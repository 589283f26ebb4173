//! Objects that take their time, in a cluster on loopback that has one kind, and whose controllers are the
//! test. The tests of systems use a real one.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use purlin_sdk::testing::{self, GivenInputs, inputs};
use purlin_sdk::{Failure, Json, State};
use serde_json::json;

use crate::{Kubernetes, object};

/// The objects of a cluster by their paths.
#[derive(Clone, Default)]
struct Cluster(Arc<Mutex<BTreeMap<String, Json>>>);

const PATH: &str = "/apis/x.example/v1/namespaces/default/things";

impl Cluster {
    /// A cluster, and its URL.
    fn start() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let cluster = Self::default();
        let served = cluster.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| served.serve(&stream)));
        (cluster, url)
    }

    fn serve(&self, mut stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        let _ = reader.read_exact(&mut body);
        let mut words = head.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let answer = self.answer(method, path, query.contains("dryRun"), &body);
        let (status, body) = match answer {
            Some(found) => (200, found),
            None => (404, json!({"kind": "Status", "code": 404, "message": "there is none"})),
        };
        let body = body.to_string();
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", body.len());
        let _ = stream.write_all(format!("{head}{body}").as_bytes());
    }

    fn answer(&self, method: &str, path: &str, rehearses: bool, body: &[u8]) -> Option<Json> {
        if path == "/apis/x.example/v1" {
            let things = json!({"name": "things", "kind": "Thing", "namespaced": true});
            return Some(json!({"kind": "APIResourceList", "resources": [things]}));
        }
        let mut objects = self.0.lock().expect("ours");
        match method {
            "PATCH" => {
                let wanted: Json = serde_json::from_slice(body).expect("a manifest");
                let mut applied =
                    objects.get(path).cloned().unwrap_or_else(|| json!({"metadata": {"uid": path}}));
                object::merge(&mut applied, &wanted);
                if !rehearses {
                    objects.insert(path.to_owned(), applied.clone());
                }
                Some(applied)
            }
            "DELETE" => {
                let found = objects.get_mut(path)?;
                found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
                let gone = found["metadata"]["finalizers"].is_null();
                if gone { objects.remove(path) } else { Some(found.clone()) }
            }
            _ => objects.get(path).cloned(),
        }
    }

    /// Writes a part of an object, as its controllers do.
    fn set(&self, name: &str, part: &Json) {
        let mut objects = self.0.lock().expect("ours");
        object::merge(objects.get_mut(&format!("{PATH}/{name}")).expect("an object"), part);
    }

    /// Removes an object, as the cluster does once its finalizers are gone.
    fn remove(&self, name: &str) {
        self.0.lock().expect("ours").remove(&format!("{PATH}/{name}"));
    }
}

fn thing(name: &str, size: u32) -> Json {
    json!({"apiVersion": "x.example/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {"size": size}})
}

fn ready(is_ready: &str) -> Json {
    json!({"status": {"conditions": [{"type": "Ready", "status": is_ready, "message": "it boots"}]}})
}

fn of(url: &str, manifests: &[Json]) -> GivenInputs {
    let values = json!({"manifests": manifests, "wait": {"for": "ready"}});
    inputs(&json!({"connection": {"server": url}, "values": values}))
}

#[track_caller]
fn pending<T>(answer: Result<T, Failure>) -> (Option<State>, String) {
    match answer {
        Err(Failure::Pending { state, message, .. }) => (state.map(|state| *state), message),
        Err(failure) => panic!("{failure}"),
        Ok(_) => panic!("it is done"),
    }
}

/// Calls have too little time to wait long.
fn hurry() {
    testing::time_left(Duration::from_secs(2));
}

#[test]
fn objects_are_pending_until_they_are_ready() {
    let (cluster, url) = Cluster::start();
    let given = of(&url, &[thing("a", 1)]);
    let made = testing::create::<Kubernetes>(given.clone()).expect("without conditions it is ready");
    cluster.set("a", &ready("False"));
    let after = of(&url, &[thing("a", 2)]);
    hurry();
    let (state, message) = pending(testing::update::<Kubernetes>(given, after.clone(), &made));
    let state = state.expect("it exists");
    assert_eq!(message, "Thing default/a is not ready: Ready is False: it boots");
    assert_eq!((&state.id, &state.outputs["objects"]), (&made.id, &made.outputs["objects"]));
    // A look.
    testing::time_left(Duration::from_secs(600));
    let (looked, _) = pending(testing::read::<Kubernetes>(after.clone(), &state));
    let looked = looked.expect("it exists");
    assert_eq!(looked.id, made.id);
    // What will not become ready is no success of a run that waits for it.
    cluster.set("a", &json!({"status": {"conditions": [{"type": "Stalled", "status": "True"}]}}));
    let failure = testing::read::<Kubernetes>(after.clone(), &looked).map(|_| ()).expect_err("it is stuck");
    assert!(failure.to_string().starts_with("Thing default/a will not become ready"), "{failure}");
    cluster.set("a", &json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}));
    let seen = testing::read::<Kubernetes>(after.clone(), &looked).expect("read").expect("there");
    assert_eq!(seen.values.expect("values")["wait"], json!({"for": "ready"}));
    // Later, it is drift.
    cluster.set("a", &json!({"status": {"conditions": [{"type": "Stalled", "status": "True"}]}}));
    let seen = testing::read::<Kubernetes>(after, &seen.state).expect("read").expect("there");
    assert_eq!(seen.values.expect("values")["wait"], json!({"for": "exists"}));
}

#[test]
fn drift_is_shown_although_the_object_is_not_ready() {
    let (cluster, url) = Cluster::start();
    let given = of(&url, &[thing("a", 1)]);
    let made = testing::create::<Kubernetes>(given.clone()).expect("made");
    cluster.set("a", &json!({"spec": {"size": 9}}));
    cluster.set("a", &ready("False"));
    // The fake cluster has no other manager, so applying the manifest would change it.
    let seen = testing::read::<Kubernetes>(given, &made).expect("read").expect("there");
    let values = seen.values.expect("values");
    assert_eq!(
        (&values["manifests"][0]["spec"], &values["wait"]),
        (&json!({"size": 9}), &json!({"for": "exists"}))
    );
}

#[test]
fn a_deletion_is_pending_until_the_object_is_gone() {
    let (cluster, url) = Cluster::start();
    let given = of(&url, &[thing("a", 1)]);
    let made = testing::create::<Kubernetes>(given.clone()).expect("made");
    cluster.set("a", &json!({"metadata": {"finalizers": ["x.example/hold"]}}));
    // Nobody waits for it.
    testing::cancel(true);
    for _ in 0..2 {
        let (state, message) = pending(testing::delete::<Kubernetes>(given.clone(), &made));
        assert!(state.is_none());
        assert_eq!(message, "Thing default/a is not gone; it waits for its finalizers `x.example/hold`");
    }
    testing::cancel(false);
    cluster.remove("a");
    testing::delete::<Kubernetes>(given, &made).expect("gone");
}

#[test]
fn a_pruned_object_is_pending_until_it_is_gone() {
    let (cluster, url) = Cluster::start();
    let (both, one) = (of(&url, &[thing("a", 1), thing("b", 1)]), of(&url, &[thing("a", 1)]));
    let made = testing::create::<Kubernetes>(both.clone()).expect("made");
    cluster.set("b", &json!({"metadata": {"finalizers": ["x.example/hold"]}}));
    hurry();
    let (state, message) = pending(testing::update::<Kubernetes>(both, one.clone(), &made));
    let state = state.expect("it exists");
    assert!(message.starts_with("Thing default/b is not gone"), "{message}");
    assert_eq!(state.outputs["objects"].as_array().map(Vec::len), Some(2), "it is not forgotten");
    testing::time_left(Duration::from_secs(600));
    let (looked, _) = pending(testing::read::<Kubernetes>(one.clone(), &state));
    cluster.remove("b");
    let seen = testing::read::<Kubernetes>(one, &looked.expect("it exists")).expect("read").expect("there");
    assert_eq!(seen.state.outputs["objects"].as_array().map(Vec::len), Some(1));
}
