//! An admission webhook, over HTTPS: it decides which objects of Purlin the cluster accepts.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::certificates::{Authority, Key};
use crate::rest;
use crate::server::{Server, free_port, guarded, listens};
use crate::tools::need;

use super::{Kubernetes, eventually};

const KIND: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";
/// The label of objects of Purlin.
const MARK: &str = "purlin.dev/resource";

/// A webhook that runs until it is dropped.
#[derive(Debug)]
pub struct Webhook {
    _tls: Server,
    port: u16,
    authority: Authority,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    refusals: VecDeque<Value>,
    requests: usize,
}

impl Webhook {
    /// A webhook that admits everything; none if Python is not installed.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start() -> Option<Self> {
        let (authority, python) = (Authority::new(Key::P256)?, need("python3")?);
        let shared = Arc::<Mutex<Shared>>::default();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let behind = listener.local_addr().expect("an address").port();
        let serving = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = serving.clone();
                std::thread::spawn(move || review(&stream, &shared));
            }
        });
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        authority.issue("localhost", &path("server.crt"), &path("server.key"));
        std::fs::write(path("tls.py"), include_str!("tls.py")).expect("a file");
        let port = free_port();
        let mut command = guarded(python, None);
        command.arg(path("tls.py")).arg(port.to_string()).arg(path("server.crt")).arg(path("server.key"));
        command.arg(behind.to_string());
        let tls = Server::start(command, folder, || listens(port));
        Some(Self { _tls: tls, port, authority, shared })
    }

    /// Rejects the next requests with these statuses, one after the other.
    pub fn refuse(&self, statuses: &[Value]) {
        lock(&self.shared).refusals.extend(statuses.iter().cloned());
    }

    /// How many rejections are left.
    pub fn left(&self) -> usize {
        lock(&self.shared).refusals.len()
    }

    /// Registers it with a cluster for each ConfigMap of Purlin, and waits until the cluster calls
    /// it.
    ///
    /// # Panics
    /// If the cluster never calls it.
    pub fn decide_for(&self, k8s: &Kubernetes) {
        let authority = data_encoding::BASE64.encode(self.authority.pem().as_bytes());
        k8s.create(
            KIND,
            &json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "policy"},
                "webhooks": [{
                    "name": "policy.shop.example", "sideEffects": "None", "failurePolicy": "Fail",
                    "admissionReviewVersions": ["v1"], "timeoutSeconds": 30,
                    "clientConfig": {"url": format!("https://localhost:{}/", self.port), "caBundle": authority},
                    "objectSelector": {"matchExpressions": [{"key": MARK, "operator": "Exists"}]},
                    "rules": [{
                        "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                        "operations": ["CREATE", "UPDATE"],
                    }],
                }],
            }),
        );
        eventually("the cluster calls the webhook", || {
            let _ = rehearse(k8s);
            (lock(&self.shared).requests > 0).then_some(())
        });
    }

    /// Declares to a cluster that it has side effects, so that it cannot rehearse, and waits until
    /// that takes effect. Only the older version of the kind allows that.
    ///
    /// # Panics
    /// If that never takes effect.
    pub fn has_effects(&self, k8s: &Kubernetes) {
        let path = "/apis/admissionregistration.k8s.io/v1beta1/validatingwebhookconfigurations/policy";
        let mut policy = k8s.door.ask("GET", path, &Value::Null).1;
        policy["webhooks"][0]["sideEffects"] = "Some".into();
        let (status, answer) = k8s.door.ask("PUT", path, &policy);
        assert_eq!(status, 200, "{answer}");
        eventually("rehearsals are refused", || {
            let (_, answer) = rehearse(k8s);
            answer["message"].as_str().is_some_and(|message| message.contains("dry run")).then_some(())
        });
    }
}

/// Rehearses the creation of a ConfigMap of Purlin.
fn rehearse(k8s: &Kubernetes) -> (u16, Value) {
    let probe = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "labels": {MARK: "probe"}},
    });
    k8s.door.ask("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", &probe)
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn review(stream: &TcpStream, shared: &Mutex<Shared>) {
    let Some(request) = rest::read(stream) else { return };
    let refusal = {
        let mut shared = lock(shared);
        shared.requests += 1;
        shared.refusals.pop_front()
    };
    let mut response = json!({"uid": request.body["request"]["uid"], "allowed": refusal.is_none()});
    if let Some(status) = refusal {
        response["status"] = status;
    }
    let review =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    rest::answer(stream, 200, Vec::new(), review.to_string().as_bytes(), &None);
}
