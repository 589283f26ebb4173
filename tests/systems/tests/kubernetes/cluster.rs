//! The identity of clusters, and servers that are not clusters.

use purlin_systems::Proxy;
use purlin_systems::kubernetes::Kubernetes;
use serde_json::json;

use crate::kubectl::kubectl;
use crate::scene::{
    destroy, give, is_recorded, map, one, refused, unchanged, up, workspace, workspace_at, workspace_with,
};

#[test]
fn another_name_of_a_cluster_loses_nothing_and_another_cluster_gets_the_objects() {
    let (Some(k8s), Some(other)) = (Kubernetes::start(), Kubernetes::start()) else { return };
    let alias = format!("https://localhost:{}", Proxy::to(k8s.port()).port());
    let at = |url: &str, value: &str| one(url, &map("a", &json!({"k": value})));
    let authorities = k8s.authority() + &other.authority();
    let urls = [k8s.url(), alias.clone(), other.url()];
    let workspace = workspace_at(&urls, &authorities, &at(&k8s.url(), "1"));
    up(&workspace);
    let before = k8s.get("configmaps", "default", "a").expect("made");
    // The same cluster with another name: the new object would be the old one.
    give(&workspace, &at(&alias, "2"));
    refused(&workspace).prints("created by this resource earlier");
    assert_eq!(k8s.get("configmaps", "default", "a").expect("there")["data"]["k"], "1");
    // So the resource is forgotten, and its objects are imported.
    workspace.purlin(&["state", "forget", "k8s#shared.it", "--yes"]);
    workspace.purlin(&["import", "--yes", "k8s#shared.it", "v1/ConfigMap/default/a"]);
    up(&workspace);
    let after = k8s.get("configmaps", "default", "a").expect("there");
    assert_eq!((&after["metadata"]["uid"], &after["data"]["k"]), (&before["metadata"]["uid"], &json!("2")));
    // A different cluster: the resource moves.
    give(&workspace, &at(&other.url(), "3"));
    workspace.purlin(&["plan"]).prints("`/connection/server` cannot be changed in place");
    up(&workspace).prints("replaced");
    assert_eq!(k8s.get("configmaps", "default", "a"), None);
    assert!(other.get("configmaps", "default", "a").is_some());
    unchanged(&workspace);
}

#[test]
fn the_cluster_has_to_prove_who_it_is() {
    let Some(k8s) = Kubernetes::start() else { return };
    let grants = json!({"http": [format!("GET,PATCH,DELETE {}/*", k8s.url())], "addresses": ["127.0.0.1"]});
    let inputs = one(&k8s.url(), &map("a", &json!({"k": "1"})));
    let stranger = workspace_with(&grants, "60s", &inputs);
    let done = refused(&stranger);
    assert!(done.err.contains("certificate"), "{done}");
    assert_eq!(k8s.requests(), [], "no token went to a stranger");
    let workspace = workspace(&k8s, &inputs);
    up(&workspace);
    unchanged(&workspace);
    // The same way, for another client.
    let seen = kubectl(&k8s, &workspace, &["get", "configmap", "a", "-o", "json"]).status(0);
    assert_eq!(seen.json()["data"]["k"], "1");
    destroy(&workspace);
    assert!(k8s.names("configmaps", "default").is_empty());
}

#[test]
fn the_driver_keeps_the_contract() {
    let Some(k8s) = Kubernetes::start() else { return };
    let url = format!("http://127.0.0.1:{}", k8s.plain_port());
    let workspace = workspace_at(std::slice::from_ref(&url), &k8s.authority(), &json!({"values": {}}));
    let root = purlin_systems::tools::root();
    let cases = std::fs::read_to_string(root.join("drivers/kubernetes/check.yaml")).expect("the cases");
    assert!(cases.contains("http://127.0.0.1:8001"), "{cases}");
    workspace.write("cases.yaml", cases.replace("http://127.0.0.1:8001", &url));
    workspace.purlin(&["driver", "check", "purlin/kubernetes", "--cases", "cases.yaml"]);
    assert!(k8s.names("configmaps", "default").is_empty());
    assert!(k8s.names("deployments.apps", "default").is_empty());
}

/// A server that answers everything in the same way.
fn stranger(answer: &'static str) -> u16 {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

#[test]
fn a_server_that_is_no_api_server_is_not_an_empty_cluster() {
    let cases = [
        (
            "HTTP/1.1 404 Not Found\r\ncontent-length: 12\r\nconnection: close\r\n\r\n<html></html",
            "is `connection.server` the API server?",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 12\r\nconnection: close\r\n\r\n<html></html",
            "the answer is not the JSON expected",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnull",
            "lists no kinds; is `connection.server` the API server?",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]",
            "lists no kinds; is `connection.server` the API server?",
        ),
        ("HTTP/1.1 401 No\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno", "are the credentials right?"),
        (
            "HTTP/1.1 301 Moved\r\nlocation: /x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            "status 301",
        ),
    ];
    for (answer, expected) in cases {
        let url = format!("http://127.0.0.1:{}", stranger(answer));
        let grants = json!({"http": [format!("{url}/*")]});
        let workspace = workspace_with(&grants, "60s", &one(&url, &map("a", &json!({"k": "1"}))));
        let done = refused(&workspace).prints(expected);
        assert!(!done.to_string().contains("crashed"), "{done}");
        assert!(!is_recorded(&workspace));
    }
}
