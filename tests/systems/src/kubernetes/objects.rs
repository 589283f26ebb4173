//! Reads and changes objects as clients other than Purlin do. Kinds are named as in `kubectl`: by
//! plural, and by group if there is one, such as `deployments.apps`.

use serde_json::{Value, json};

use super::{Kubernetes, eventually};

/// Objects that the controller manager creates in each namespace.
const OF_EACH_NAMESPACE: [&str; 3] = ["kube-root-ca.crt", "default", "kubernetes"];

impl Kubernetes {
    /// An object. Cluster-wide ones have the namespace "".
    ///
    /// # Panics
    /// If the API server reports neither that it exists nor that it does not.
    #[track_caller]
    pub fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        match self.door.ask("GET", &path(kind, namespace, name), &Value::Null) {
            (200, object) => Some(object),
            (404, _) => None,
            other => panic!("{kind} {name}: {other:?}"),
        }
    }

    /// Names of the objects of a kind in a namespace, except those that each namespace has.
    pub fn names(&self, kind: &str, namespace: &str) -> Vec<String> {
        let (_, list) = self.door.ask("GET", &path(kind, namespace, ""), &Value::Null);
        let names = list["items"].as_array().into_iter().flatten();
        names
            .filter_map(|object| object["metadata"]["name"].as_str())
            .filter(|name| !OF_EACH_NAMESPACE.contains(name) && !name.starts_with("default-token-"))
            .map(str::to_owned)
            .collect()
    }

    /// Creates an object, which has its namespace in its metadata.
    ///
    /// # Panics
    /// If it is rejected.
    #[track_caller]
    pub fn create(&self, kind: &str, object: &Value) -> Value {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let path = format!("{}?fieldManager=kubectl-create", path(kind, namespace, ""));
        let (status, made) = self.door.ask("POST", &path, object);
        assert_eq!(status, 201, "{kind}: {made}");
        made
    }

    /// Changes an object like a client that reads it and writes it back.
    ///
    /// # Panics
    /// If it is rejected.
    #[track_caller]
    pub fn edit(
        &self,
        manager: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        mut edit: impl FnMut(&mut Value),
    ) {
        let path = format!("{}?fieldManager={manager}", path(kind, namespace, name));
        // A controller may write at the same time.
        eventually("an edit", || {
            let mut object = self.get(kind, namespace, name).expect("it is there");
            edit(&mut object);
            match self.door.ask("PUT", &path, &object) {
                (409, _) => None,
                (status, answer) => {
                    assert_eq!(status, 200, "{kind} {name}: {answer}");
                    Some(())
                }
            }
        });
    }

    /// Sets the status of an object, as its controller does.
    ///
    /// # Panics
    /// If it is rejected.
    #[track_caller]
    pub fn set_status(&self, kind: &str, namespace: &str, name: &str, status: &Value) {
        let path = format!("{}/status", path(kind, namespace, name));
        let (code, answer) = self.door.merge(&path, &json!({"status": status}));
        assert_eq!(code, 200, "{kind} {name}: {answer}");
    }

    /// Deletes an object in the background, and waits until it is gone.
    ///
    /// # Panics
    /// If it does not disappear.
    #[track_caller]
    pub fn delete(&self, kind: &str, namespace: &str, name: &str) {
        let uid = |object: Value| object["metadata"]["uid"].clone();
        let before = self.get(kind, namespace, name).map(uid);
        self.begin_deletion(kind, namespace, name);
        eventually("a deletion", || (self.get(kind, namespace, name).map(uid) != before).then_some(()));
    }

    /// Deletes an object in the background. Its finalizers may delay that.
    ///
    /// # Panics
    /// If it is rejected.
    #[track_caller]
    pub fn begin_deletion(&self, kind: &str, namespace: &str, name: &str) {
        let options = json!({"propagationPolicy": "Background"});
        let (status, answer) = self.door.ask("DELETE", &path(kind, namespace, name), &options);
        assert!(matches!(status, 200 | 202), "{kind} {name}: {answer}");
    }
}

/// The path of an object, or of all of a kind.
fn path(kind: &str, namespace: &str, name: &str) -> String {
    let (plural, root) = match kind.split_once('.') {
        Some((plural, group)) => (plural, format!("/apis/{group}/v1")),
        None => (kind, "/api/v1".to_owned()),
    };
    let within = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
    let name = if name.is_empty() { String::new() } else { format!("/{name}") };
    format!("{root}{within}/{plural}{name}")
}
