//! Starts the processes of a cluster, each once the previous one answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::certificates::{Authority, Key};
use crate::server::{Server, free_port, guarded, listens};
use crate::tools::need;

use super::client::Door;
use super::kubelet::Kubelet;
use super::store::Store;
use super::{READER, TESTER, TOKEN};

/// The processes of a cluster, until it is dropped.
#[derive(Debug)]
pub(crate) struct Cluster {
    // Fields are dropped in this order: clients before their servers.
    _kubelet: Kubelet,
    _manager: Server,
    pub(super) api: Server,
    _proxy: Server,
    _etcd: Server,
    pub(super) port: u16,
    pub(super) door: Door,
    pub(super) store: Store,
    /// The authority of its certificate, as PEM.
    pub(super) authority: String,
    /// The objects of a cluster that no test has used yet, as [`Store::objects`] returns them.
    pub(super) initial: BTreeMap<String, String>,
    /// The groups of kinds of such a cluster.
    pub(super) groups: Value,
    pub(super) resets: usize,
}

/// The programs of a cluster: etcd, `kubectl`, the API server and the controller manager; none and a
/// message if one of them, or `openssl`, is not installed.
pub(super) fn programs() -> Option<[PathBuf; 4]> {
    need("openssl")?;
    Some([need("etcd")?, need("kubectl")?, need("kube-apiserver")?, need("kube-controller-manager")?])
}

impl Cluster {
    /// An empty cluster; none if a program is not installed.
    ///
    /// # Panics
    /// If it does not start.
    pub(super) fn launch() -> Option<Self> {
        let [etcd, kubectl, api, manager] = programs()?;
        let authority = Authority::new(Key::P256)?;
        let (store, port) = (free_port(), free_port());
        let door = Door { port: free_port(), token: TESTER };

        let etcd = {
            let folder = folder();
            let (clients, peers) = (url("http", store), url("http", free_port()));
            let mut command = guarded(etcd, None);
            command.arg("--data-dir").arg(folder.path().join("data"));
            command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
            command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
            command.args(["--initial-cluster", &format!("default={peers}")]);
            Server::start(command, folder, || listens(store))
        };

        let proxy = {
            let folder = folder();
            let mut command = guarded(kubectl, None);
            command.env("HOME", folder.path()).env("KUBECONFIG", folder.path().join("none"));
            // It requires a token, and forwards that of a request if there is one.
            command.args(["--server", &url("https", port), "--token", "of-nobody"]);
            command.arg("--certificate-authority").arg(given(&folder, "ca.crt", &authority.pem()));
            command.args(["proxy", "--port", &door.port.to_string()]);
            Server::start(command, folder, || listens(door.port))
        };

        let api = {
            let folder = folder();
            let (certificate, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
            authority.issue("localhost", &certificate, &key);
            let mut command = guarded(api, None);
            command.arg("--etcd-servers").arg(url("http", store));
            command.args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"]);
            command.args(["--secure-port", &port.to_string()]);
            command.arg("--tls-cert-file").arg(&certificate).arg("--tls-private-key-file").arg(&key);
            command.arg("--cert-dir").arg(folder.path().join("certificates"));
            // Tokens of service accounts are signed with the same key.
            command.arg("--service-account-key-file").arg(&certificate);
            command.arg("--service-account-signing-key-file").arg(&key);
            command.args(["--service-account-issuer", "https://kubernetes.default.svc"]);
            command.args(["--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC"]);
            command.arg("--token-auth-file").arg(given(&folder, "tokens.csv", &users()));
            command.arg("--audit-policy-file").arg(given(&folder, "policy.json", &audited().to_string()));
            command.arg("--audit-log-path").arg(folder.path().join("audit.log"));
            Server::start(command, folder, || door.ask("GET", "/readyz", &Value::Null).0 == 200)
        };

        let manager = {
            let folder = folder();
            let configuration = kubeconfig(&url("https", port), &authority.pem());
            let mut command = guarded(manager, None);
            command.arg("--kubeconfig").arg(given(&folder, "kubeconfig", &configuration.to_string()));
            command.arg("--service-account-private-key-file").arg(api.folder().join("tls.key"));
            command.args(["--leader-elect=false", "--port=0", "--secure-port=0"]);
            // A test does not wait for the rate limits of clients of a real cluster.
            command.args(["--kube-api-qps=500", "--kube-api-burst=1000"]);
            Server::start(command, folder, || has_token(door, "default"))
        };

        Some(Self {
            _kubelet: Kubelet::start(door),
            _manager: manager,
            api,
            _proxy: proxy,
            _etcd: etcd,
            port,
            door,
            store: Store { port: store },
            authority: authority.pem(),
            initial: BTreeMap::new(),
            groups: Value::Null,
            resets: 0,
        })
    }
}

/// Whether the service account `default` of a namespace has its token.
pub(super) fn has_token(door: Door, namespace: &str) -> bool {
    let account = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
    let (_, account) = door.ask("GET", &account, &Value::Null);
    account["secrets"].as_array().is_some_and(|tokens| !tokens.is_empty())
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn url(scheme: &str, port: u16) -> String {
    let host = if scheme == "https" { "localhost" } else { "127.0.0.1" };
    format!("{scheme}://{host}:{port}")
}

/// A file of a server with this content.
fn given(folder: &TempDir, name: &str, content: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).expect("a file");
    path
}

fn users() -> String {
    format!("{TOKEN},administrator,1,system:masters\n{READER},reader,2\n{TESTER},tester,3,system:masters\n")
}

/// The requests of the users of tests, once answered.
fn audited() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "users": ["administrator", "reader"]}, {"level": "None"}],
    })
}

fn kubeconfig(server: &str, authority: &str) -> Value {
    let authority = data_encoding::BASE64.encode(authority.as_bytes());
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": "it", "user": {"token": TESTER}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    })
}
