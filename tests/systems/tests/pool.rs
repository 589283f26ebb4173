//! Servers that a pool lends to one test after the other.
#![allow(clippy::expect_used, clippy::panic)]

use purlin_systems::kubernetes::{Kubernetes, eventually};
use purlin_systems::moto::{Moto, names};
use purlin_systems::pool::Pool;
use serde_json::{Value, json};

/// Waits until the server that was given back waits for the next test.
fn returned(pool: &Pool) {
    eventually("the server is reset", || (pool.idle() == 1).then_some(()));
}

fn map(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": namespace},
    })
}

fn deployment(namespace: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "shop:1"}]},
            },
        },
    })
}

/// Creates objects in a namespace, and waits for what the controllers add.
fn fill(k8s: &Kubernetes, namespace: &str) {
    k8s.create("configmaps", &map(namespace));
    k8s.create("deployments.apps", &deployment(namespace));
    eventually("the pods are ready", || {
        let web = k8s.get("deployments.apps", namespace, "web").expect("it was created");
        (web["status"]["readyReplicas"] == 2).then_some(())
    });
}

#[test]
fn a_cluster_is_empty_when_it_is_lent_again() {
    let pool = Pool::start();
    let Some(first) = Kubernetes::lent(&pool.socket()) else { return };
    let port = first.port();
    first.create(
        "namespaces",
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
    );
    // The service account exists before the pods that use it.
    eventually("the namespace has its objects", || first.get("serviceaccounts", "shop", "default"));
    fill(&first, "shop");
    fill(&first, "default");
    drop(first);

    returned(&pool);
    let second = Kubernetes::lent(&pool.socket()).expect("it is installed");
    assert_eq!((second.port(), pool.servers()), (port, 1));
    assert_eq!(second.requests(), []);
    assert_eq!(second.get("namespaces", "", "shop"), None);
    assert_eq!(second.names("namespaces", "").len(), 3, "besides `default`");
    for kind in ["configmaps", "deployments.apps", "replicasets.apps", "pods"] {
        for namespace in ["default", "shop"] {
            assert_eq!(second.names(kind, namespace), Vec::<String>::new(), "{kind} in {namespace}");
        }
    }
    // Its controllers go on.
    fill(&second, "default");
}

#[test]
fn a_cluster_with_other_rights_is_not_lent_again() {
    let pool = Pool::start();
    let Some(first) = Kubernetes::lent(&pool.socket()) else { return };
    let port = first.port();
    first.create(
        "roles.rbac.authorization.k8s.io",
        &json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "see", "namespace": "default"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        }),
    );
    drop(first);
    eventually("the cluster ends", || {
        assert_eq!(pool.idle(), 0);
        (pool.servers() == 0).then_some(())
    });
    let second = Kubernetes::lent(&pool.socket()).expect("it is installed");
    assert_ne!(second.port(), port);
    assert_eq!(second.get("roles.rbac.authorization.k8s.io", "default", "see"), None);
}

#[test]
fn moto_is_empty_and_has_another_key_when_it_is_lent_again() {
    let pool = Pool::start();
    let Some(first) = Moto::lent(&pool.socket()) else { return };
    let (port, key) = (first.port(), first.key.clone());
    let bucket = json!({
        "Bucket": "pictures", "CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"},
    });
    first.ask("s3", "create_bucket", bucket);
    first.ask("iam", "create_user", json!({"UserName": "robot"}));
    assert_eq!(first.buckets(), ["pictures"]);
    drop(first);

    returned(&pool);
    let mut second = Moto::lent(&pool.socket()).expect("it is installed");
    assert_eq!((second.port(), pool.servers()), (port, 1));
    assert_eq!(second.buckets(), Vec::<String>::new());
    let users = second.ask("iam", "list_users", json!({}));
    assert_eq!(names(&users["Users"], "UserName"), ["tester"]);
    assert_ne!(second.key, key);
    second.key = key;
    let answer = second.try_ask("iam", "list_users", json!({}));
    assert_eq!(answer, Err("InvalidClientTokenId".to_owned()));
}

#[test]
fn servers_that_are_in_use_are_not_lent() {
    let pool = Pool::start();
    let Some(first) = Moto::lent(&pool.socket()) else { return };
    let second = Moto::lent(&pool.socket()).expect("it is installed");
    assert_ne!(first.port(), second.port());
    assert_eq!((pool.servers(), pool.idle()), (2, 0));
}
