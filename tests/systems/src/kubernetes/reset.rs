//! Makes a cluster ready for another test: deletes what the last one left, and waits until the controllers
//! have noticed. A cluster whose API server was configured is not used again.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::pool::Lendable;

use super::start::has_token;
use super::{Cluster, audit, eventually};

/// How long each step may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval between two looks at the objects.
const PAUSE: Duration = Duration::from_millis(100);
/// Several in a row must find nothing: a request of a killed program may arrive late, and a controller may
/// replace an object before it sees that the owner is gone, too.
const LOOKS: usize = 3;
/// The API server begins another audit log at 100 MB. Tests read only one.
const LONGEST_LOG: u64 = 60 << 20;

/// The namespaces of an empty cluster.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];
const NAMESPACE: &str = "/registry/namespaces/";

/// Keys that the cluster writes for itself at any time, and their beginnings.
const OF_THE_CLUSTER: [&str; 7] = [
    "/registry/ranges/",
    "/registry/masterleases/",
    "/registry/leases/",
    "/registry/events/",
    "/registry/services/endpoints/default/kubernetes",
    "/registry/endpointslices/default/kubernetes",
    "/registry/configmaps/kube-system/extension-apiserver-authentication",
];

/// Objects whose status or rules the cluster keeps current. They change soon after the start.
const KEPT_CURRENT: [&str; 6] = [
    "/registry/apiregistration.k8s.io/apiservices/",
    "/registry/flowschemas/",
    "/registry/prioritylevelconfigurations/",
    "/registry/clusterroles/admin",
    "/registry/clusterroles/edit",
    "/registry/clusterroles/view",
];

impl Lendable for Cluster {
    const KIND: &'static str = "kubernetes";

    fn start() -> Option<Self> {
        let mut cluster = Self::launch()?;
        for namespace in NAMESPACES {
            eventually("a namespace has its objects", || cluster.is_complete(namespace).then_some(()));
        }
        cluster.groups = cluster.groups_now();
        cluster.initial = cluster.store.objects().expect("the objects of an empty cluster");
        Some(cluster)
    }

    fn describe(&self) -> Value {
        json!({
            "port": self.port,
            "plain_port": self.door.port,
            "authority": self.authority,
            "audit": self.audit(),
        })
    }

    fn answer(&mut self, _: &str) -> Option<String> {
        None
    }

    fn reset(&mut self) -> bool {
        let reset = self.clean();
        if let Err(reason) = &reset {
            eprintln!("the cluster at port {} is not lent again: {reason}", self.port);
        }
        reset.is_ok()
    }
}

impl Cluster {
    fn audit(&self) -> PathBuf {
        self.api.folder().join("audit.log")
    }

    fn clean(&mut self) -> Result<(), String> {
        if audit::length(&self.audit()) > LONGEST_LOG {
            return Err("its audit log is long".to_owned());
        }
        self.delete_others()?;
        self.wait_for_controllers()?;
        self.delete_others()?;
        // A kind that a test defined disappears some time after its definition.
        within_patience("its groups of kinds are those of an empty cluster", || {
            self.groups_now() == self.groups
        })?;
        self.store.delete_events()
    }

    /// Deletes all objects except the initial ones.
    fn delete_others(&self) -> Result<(), String> {
        let (begun, mut looks) = (Instant::now(), 0);
        while looks < LOOKS {
            let (namespaces, others): (Vec<_>, Vec<_>) =
                self.others()?.into_iter().partition(|key| key.starts_with(NAMESPACE));
            if let Some(key) = namespaces.first().or(others.first()) {
                if begun.elapsed() > PATIENCE {
                    return Err(format!("{key} is created again and again"));
                }
                looks = 0;
                // Without its namespace, a deleted object is not replaced.
                self.store.delete(&namespaces)?;
                self.store.delete(&others)?;
            } else {
                looks += 1;
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Keys of the objects that are not of the initial ones.
    ///
    /// # Errors
    /// If the configuration of the cluster or an initial object differs.
    fn others(&self) -> Result<Vec<String>, String> {
        let now = self.store.objects()?;
        for (key, revision) in self.initial.iter().filter(|(key, _)| !begins(key, &OF_THE_CLUSTER)) {
            match now.get(key) {
                None => return Err(format!("{key} is gone")),
                Some(current) if current != revision && !begins(key, &KEPT_CURRENT) => {
                    return Err(format!("{key} has changed"));
                }
                Some(_) => {}
            }
        }
        let is_other = |key: &String| !self.initial.contains_key(key) && !begins(key, &OF_THE_CLUSTER);
        let others: Vec<String> = now.into_keys().filter(is_other).collect();
        match others.iter().find(|key| is_configuration(key)) {
            Some(key) => Err(format!("{key} was added")),
            None => Ok(others),
        }
    }

    /// Waits until a new namespace is complete, and until a Deployment in it is ready and deleted again after
    /// its pods. The events of a kind arrive in order, so the controllers have then seen all earlier ones.
    fn wait_for_controllers(&mut self) -> Result<(), String> {
        self.resets += 1;
        let name = format!("between-tests-{}", self.resets);
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.create("/api/v1/namespaces", &namespace)?;
        within_patience("a new namespace has its objects", || self.is_complete(&name))?;
        let deployments = format!("/apis/apps/v1/namespaces/{name}/deployments");
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "probe"},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": "probe"}},
                "template": {
                    "metadata": {"labels": {"app": "probe"}},
                    "spec": {"containers": [{"name": "main", "image": "probe:1"}]},
                },
            },
        });
        self.create(&deployments, &deployment)?;
        let path = format!("{deployments}/probe");
        let get = || self.door.ask("GET", &path, &Value::Null);
        within_patience("a new Deployment is ready", || get().1["status"]["readyReplicas"] == 1)?;
        // The garbage collector stops for a while after a kind has disappeared.
        let options = json!({"propagationPolicy": "Foreground"});
        let (status, answer) = self.door.ask("DELETE", &path, &options);
        if !matches!(status, 200 | 202) {
            return Err(format!("it answers a deletion of {path} with {status}: {answer}"));
        }
        within_patience("a Deployment is deleted after its pods", || get().0 == 404)
    }

    fn create(&self, path: &str, object: &Value) -> Result<(), String> {
        match self.door.ask("POST", path, object) {
            (201, _) => Ok(()),
            (status, answer) => Err(format!("it answers a request to {path} with {status}: {answer}")),
        }
    }

    /// Whether a namespace has the objects that controllers create in each of them.
    fn is_complete(&self, namespace: &str) -> bool {
        let authority = format!("/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt");
        has_token(self.door, namespace) && self.door.ask("GET", &authority, &Value::Null).0 == 200
    }

    fn groups_now(&self) -> Value {
        self.door.ask("GET", "/apis", &Value::Null).1
    }
}

/// Whether a key begins with one of these.
fn begins(key: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| key.starts_with(beginning))
}

/// Whether an object configures the cluster: rights, custom kinds and their objects, and everything outside
/// of namespaces except namespaces and volumes.
fn is_configuration(key: &str) -> bool {
    let parts: Vec<&str> = key.split('/').skip(2).collect();
    match parts.as_slice() {
        ["namespaces" | "persistentvolumes", _] => false,
        ["roles" | "rolebindings", ..] => true,
        // Custom kinds have their group in the key.
        [group, ..] if group.contains('.') => true,
        [_, _] => true,
        _ => false,
    }
}

fn within_patience(what: &str, mut is_true: impl FnMut() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !is_true() {
        if begun.elapsed() > PATIENCE {
            return Err(format!("this does not happen: {what}"));
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_configuration;

    #[test]
    fn a_cluster_is_used_again_unless_it_was_configured() {
        for key in [
            "/registry/namespaces/shop",
            "/registry/persistentvolumes/disk",
            "/registry/configmaps/default/settings",
            "/registry/deployments/shop/web",
            "/registry/services/specs/shop/web",
            "/registry/services/endpoints/shop/web",
        ] {
            assert!(!is_configuration(key), "{key}");
        }
        for key in [
            "/registry/roles/shop/see",
            "/registry/rolebindings/default/reader",
            "/registry/clusterroles/all",
            "/registry/storageclasses/standard",
            "/registry/ingressclasses/nginx",
            "/registry/validatingwebhookconfigurations/policy",
            "/registry/apiextensions.k8s.io/customresourcedefinitions/gadgets.shop.example",
            "/registry/apiregistration.k8s.io/apiservices/v1.shop.example",
            "/registry/shop.example/gadgets/default/g",
            "/registry/minions/node",
        ] {
            assert!(is_configuration(key), "{key}");
        }
    }
}
