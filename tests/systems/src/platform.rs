//! The servers of `examples/kubernetes`: a cluster as its administrators configure it, and
//! PostgreSQL.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::example::{self, Example};
use crate::kubernetes::{Kubernetes, TOKEN};
use crate::postgres::{self, Postgres};
use crate::tools::need;

/// The objects that the README shows.
pub const LOOK: [&[&str]; 4] = [
    &["get", "deployments,services", "-n", "shop-dev"],
    &["get", "ingresses.networking.k8s.io", "-n", "shop-dev"],
    &["get", "persistentvolumeclaims", "-n", "shop-dev"],
    &["get", "secrets,configmaps", "-n", "shop-dev", "-l", "app.kubernetes.io/managed-by=purlin"],
];

/// Every kind that the example creates.
const KINDS: &str = "namespaces,serviceaccounts,secrets,configmaps,persistentvolumeclaims,services,\
                     deployments.apps,replicasets.apps,pods,ingresses.networking.k8s.io";

/// The servers, as long as this lives.
#[derive(Debug)]
pub struct Platform {
    /// The cluster, with the classes that the example names.
    pub k8s: Kubernetes,
    /// PostgreSQL.
    pub postgres: Postgres,
    kubectl: PathBuf,
    /// Holds the configuration of `kubectl`.
    folder: TempDir,
}

impl Platform {
    /// Starts them; none if one of them is not installed.
    ///
    /// # Panics
    /// If one of them cannot be configured.
    pub fn start() -> Option<Self> {
        let (postgres, k8s) = (Postgres::start()?, Kubernetes::start()?);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let platform = Self { k8s, postgres, kubectl: need("kubectl")?, folder };
        std::fs::write(platform.configuration(), platform.kubeconfig().to_string()).expect("a file");
        platform.k8s.create(
            "storageclasses.storage.k8s.io",
            &json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "standard"},
                "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer",
            }),
        );
        platform.k8s.create(
            "ingressclasses.networking.k8s.io",
            &json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"},
                "spec": {"controller": "k8s.io/ingress-nginx"},
            }),
        );
        Some(platform)
    }

    /// The output of `kubectl`.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(&self.kubectl);
        command.args(arguments).env("KUBECONFIG", self.configuration()).env("HOME", self.folder.path());
        let done = command.output().expect("kubectl runs");
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "kubectl {arguments:?}: {error}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    fn configuration(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    fn kubeconfig(&self) -> Value {
        let authority = data_encoding::BASE64.encode(self.k8s.authority().as_bytes());
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{
                "name": "it",
                "cluster": {"server": self.k8s.url(), "certificate-authority-data": authority},
            }],
            "users": [{"name": "it", "user": {"token": TOKEN}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        })
    }
}

impl Example for Platform {
    fn put_into(&self, folder: &Path) {
        let port = self.postgres.port;
        let replaced = [
            ("https://k8s.internal:6443", self.k8s.url()),
            ("db.internal:5432", format!("127.0.0.1:{port}")),
            (
                "host: db.internal, port: 5432, tls: require",
                format!("host: 127.0.0.1, port: {port}, tls: disable"),
            ),
            // Both are on loopback.
            ("10.0.0.0/8", "127.0.0.0/8".to_owned()),
        ];
        example::copy("kubernetes", folder, &replaced);
        std::fs::write(folder.join("cluster-ca.pem"), self.k8s.authority()).expect("a file");
        example::secrets(folder, &[("cluster", TOKEN), ("postgres", postgres::PASSWORD)]);
    }

    fn inventory(&self) -> Vec<String> {
        let columns = "custom-columns=K:.kind,N:.metadata.name";
        // Pods and their sets inherit the label.
        let label = "app.kubernetes.io/managed-by=purlin";
        let objects = self.kubectl(&["get", KINDS, "-A", "--no-headers", "-l", label, "-o", columns]);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut all: Vec<String> = objects.lines().map(words).collect();
        all.extend(self.postgres.roles().into_iter().map(|role| format!("PostgreSQL role {role}")));
        let databases = self.postgres.databases().into_iter();
        all.extend(databases.map(|database| format!("PostgreSQL database {database}")));
        all
    }

    fn shown(&self) -> String {
        let look =
            LOOK.map(|arguments| format!("$ kubectl {}\n{}", arguments.join(" "), self.kubectl(arguments)));
        format!("{}\n\n{}", self.inventory().join("\n"), look.join("\n"))
    }

    fn hints(&self) -> Vec<String> {
        vec![
            format!("export KUBECONFIG={}", self.configuration().display()),
            "kubectl get all -n shop-dev".to_owned(),
        ]
    }
}
