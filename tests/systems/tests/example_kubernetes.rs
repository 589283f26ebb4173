//! `examples/kubernetes` on a real API server and PostgreSQL: deployed, changed, and gone.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs)]

use data_encoding::BASE64;
use purlin_systems::kubernetes::eventually;
use purlin_systems::platform::{LOOK, Platform};
use purlin_systems::tools::root;
use purlin_systems::{Example, Project};
use serde_json::Value;

const UP: &[&str] = &["up", "apps", "platform", "--yes"];
const NAMESPACE: &str = "shop-dev";
const DEPLOYMENTS: &str = "deployments.apps";

#[test]
fn a_score_file_becomes_a_workload() {
    let Some(platform) = Platform::start() else { return };
    assert_eq!(platform.inventory(), Vec::<String>::new(), "the servers are empty");
    let workspace = Project::empty();
    platform.put_into(workspace.path());
    workspace.purlin(&["validate"]);
    let done = workspace.purlin(UP);
    let made = platform.inventory();
    let get = |kind: &str, name: &str| {
        platform.k8s.get(kind, NAMESPACE, name).unwrap_or_else(|| panic!("no {kind} {name}: {made:#?}"))
    };

    // The README's output appears.
    let readme = std::fs::read_to_string(root().join("examples/kubernetes/README.md")).expect("the README");
    for arguments in LOOK {
        let shown = after(&readme, &format!("$ kubectl {}\n", arguments.join(" ")));
        assert_eq!(lasting(&platform.kubectl(arguments)), lasting(shown));
    }
    for line in
        after(&readme, "$ purlin up apps platform --yes\n").lines().filter(|line| line.starts_with('['))
    {
        let key = line.split("created ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a key");
        workspace.purlin(&["state", "show", key]);
    }

    // The password reaches the container only through the Secret, and works for the database.
    let url = || secret(&get("secrets", "orders"), "main.DATABASE_URL");
    let access = |sql| platform.postgres.try_as("nobody", "", &url(), sql);
    access("CREATE TABLE orders (id int)").expect("the workload's own access");
    let outputs = workspace.purlin(&["outputs", "--show-secrets", "--format", "json"]).json();
    let database = &outputs["resources"]["postgres.default#modules.orders.externals.db"];
    let password = database["password"].as_str().unwrap_or_else(|| panic!("{outputs:#}"));
    let orders = get(DEPLOYMENTS, "orders");
    assert!(!done.to_string().contains(password), "{done}");
    for object in [&orders, &get("configmaps", "orders"), &get("ingresses.networking.k8s.io", "orders-api")] {
        let text = object.to_string();
        assert!(!text.contains(password) && !text.contains(&url()), "{object}");
    }
    let [archive, main] = containers(&orders) else { panic!("{orders}") };
    assert_eq!(archive["name"], "archive");
    assert_eq!(main["env"][0]["name"], "DATABASE_URL");
    let of_secret = &main["env"][0]["valueFrom"]["secretKeyRef"];
    assert_eq!((&of_secret["name"], &of_secret["key"]), (&"orders".into(), &"main.DATABASE_URL".into()));
    assert_eq!(main["env"][0]["value"], Value::Null);
    assert_eq!(main["resources"]["limits"]["memory"], "128Mi");
    assert_eq!(main["readinessProbe"]["httpGet"]["path"], "/ready");
    assert_eq!(archive["command"][0], "/bin/archive");
    let mounts: Vec<&Value> = main["volumeMounts"].as_array().expect("mounts").iter().collect();
    let places: Vec<&str> = mounts.iter().filter_map(|mount| mount["mountPath"].as_str()).collect();
    assert_eq!(places, ["/etc/orders/config.json", "/etc/orders/invoice.tmpl", "/var/lib/invoices"]);
    let file = secret(&get("secrets", "orders"), "main-etc-orders-config.json");
    assert_eq!(file, r#"{"database": "shop-dev-orders-db", "invoices": "/var/lib/invoices"}"#);
    let template = &get("configmaps", "orders")["data"]["main-etc-orders-invoice.tmpl"];
    assert_eq!(*template, "Dear ${customer}, you owe us ${amount}.\n");
    assert_eq!(orders["metadata"]["annotations"]["example.com/team"], "orders");
    assert_eq!(orders["spec"]["template"]["spec"]["serviceAccountName"], "orders");
    let backend = &get("ingresses.networking.k8s.io", "orders-api")["spec"]["rules"][0]["http"]["paths"][0];
    assert_eq!(
        (&backend["path"], &backend["backend"]["service"]["name"]),
        (&"/orders".into(), &"orders".into())
    );
    assert_eq!(secret(&get("secrets", "web"), "main.ORDERS_URL"), "http://orders:80");

    // The workload is done when its pods are ready.
    assert_eq!(orders["status"]["readyReplicas"], 1);
    workspace.purlin(&[UP, &["--refresh"]].concat()).prints("Nothing to change");

    // Another image: the same Deployment, with another pod; nothing else changes.
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    workspace.edit("apps/orders.yaml", "orders:1.0.0", "orders:1.1.0");
    workspace
        .purlin(UP)
        .prints("updated k8s-deployment.default#modules.orders")
        .prints("2 updated, 23 unchanged");
    let changed = get(DEPLOYMENTS, "orders");
    assert_eq!(uid(&changed), uid(&orders));
    assert_eq!(containers(&changed)[1]["image"], "ghcr.io/example/orders:1.1.0");
    assert_eq!(changed["status"]["updatedReplicas"], 1);
    let revision =
        |object: &Value| object["metadata"]["annotations"]["deployment.kubernetes.io/revision"].clone();
    assert_eq!(revision(&changed), "2");

    // Another variable: the Secret changes, and new pods start.
    workspace.edit("apps/orders.yaml", "LOG_LEVEL: info", "LOG_LEVEL: debug");
    workspace.purlin(UP).prints("updated k8s-secret.default#modules.orders");
    assert_eq!(secret(&get("secrets", "orders"), "main.LOG_LEVEL"), "debug");
    assert_eq!(revision(&get(DEPLOYMENTS, "orders")), "3");

    // Another password: for the database, and for new pods.
    let before = url();
    workspace.purlin(&[UP, &["--replace", "password#modules.orders.externals.db"]].concat());
    assert_ne!(url(), before);
    access("SELECT * FROM orders").expect("the workload's own access");
    assert!(platform.postgres.try_as("nobody", "", &before, "SELECT 1").is_err());
    assert_eq!(revision(&get(DEPLOYMENTS, "orders")), "4");

    // Without ports there is no Service, and the claim stays.
    let claim = uid(&get("persistentvolumeclaims", "orders-invoices"));
    let text = workspace.read("apps/orders.yaml");
    let (before, rest) = text.split_once("service:\n").expect("a service");
    let (_, after) = rest.split_once("resources:\n  db:").expect("resources");
    workspace.write("apps/orders.yaml", format!("{before}resources:\n  db:{after}"));
    workspace.purlin(UP);
    assert_eq!(platform.k8s.names("services", NAMESPACE), ["web"]);
    assert_eq!(uid(&get("persistentvolumeclaims", "orders-invoices")), claim);
    workspace.write("apps/orders.yaml", &text);
    workspace.purlin(UP);
    assert_eq!(platform.k8s.names("services", NAMESPACE), ["orders", "web"]);

    // Data is not deleted without consent, and a database with contents not even then.
    let last = url();
    workspace.run(&["destroy", "--yes"]).status(2).prints("would lose their data");
    workspace.run(&["destroy", "--yes", "--allow-data-loss"]).status(1).prints("it is not empty");
    platform.postgres.try_as("nobody", "", &last, "DROP TABLE orders").expect("the workload's own access");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    eventually("nothing is left", || platform.inventory().is_empty().then_some(()));
    assert_eq!(platform.k8s.get("namespaces", "", NAMESPACE), None);
    workspace.purlin(&["destroy", "--yes"]).prints("Nothing is recorded");
}

/// A workload with everything that the example lacks: files and volumes as lists, a container that
/// runs before another one, no ports; and one with nothing at all.
#[test]
fn other_workloads_get_their_resources() {
    let Some(platform) = Platform::start() else { return };
    let workspace = Project::empty();
    platform.put_into(workspace.path());
    for name in ["orders", "web"] {
        std::fs::remove_file(workspace.path().join(format!("apps/{name}.yaml"))).expect("removed");
    }
    workspace.write("apps/idle.yaml", score("idle", "  main:\n    image: idle:1\n"));
    workspace.write("apps/worker.yaml", score("worker", WORKER));
    std::fs::write(workspace.path().join("apps/logo"), [0, 255]).expect("a file");
    workspace.purlin(UP);
    let get = |kind: &str, name: &str| {
        platform.k8s.get(kind, NAMESPACE, name).unwrap_or_else(|| panic!("no {kind} {name}"))
    };
    assert_eq!(platform.k8s.names("services", NAMESPACE), Vec::<String>::new());
    assert_eq!(platform.k8s.names("configmaps", NAMESPACE), ["worker"]);
    assert_eq!(get("configmaps", "worker")["binaryData"]["main-etc-logo"], "AP8=");
    assert_eq!(secret(&get("secrets", "worker"), "migrate.TEXT"), "a \"b\": <c>\n${d}");
    let worker = get(DEPLOYMENTS, "worker");
    let pod = &worker["spec"]["template"]["spec"];
    assert_eq!(pod["initContainers"][0]["name"], "migrate");
    assert_eq!(containers(&worker).len(), 1);
    assert_eq!(pod["volumes"][1]["persistentVolumeClaim"]["claimName"], "shared-room");
    let mount = &containers(&worker)[0]["volumeMounts"][1];
    assert_eq!((&mount["mountPath"], &mount["subPath"]), (&"/room".into(), &"a/b".into()));
    assert_eq!(pod["volumes"][0]["projected"]["sources"][0]["configMap"]["items"][0]["mode"], 0o400);
    workspace.purlin(&[UP, &["--refresh"]].concat()).prints("Nothing to change");

    // Features that Kubernetes does not have: nothing can be done with the workload, as the plan says.
    let text = score("worker", WORKER);
    for (from, to, expected) in [
        ("source: \"${resources.room}\"", "source: room", "`room` is no `volume`"),
        ("image: worker:1", "image: .", "`main` has no image"),
        ("ready: complete", "ready: healthy", "`migrate` before `main`: only `ready: complete` works"),
        (
            "target: /etc/logo}",
            "target: /etc/logo}\n      - {content: x, target: /etc-logo}",
            "differs too little from another file",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        workspace.write("apps/worker.yaml", text.replace(from, to));
        workspace.run(&["plan"]).status(1).prints(expected);
    }
}

const WORKER: &str = r#"  migrate:
    image: migrate:1
    before: {main: {ready: complete}}
    variables: {TEXT: "a \"b\": <c>\n$${d}"}
  main:
    image: worker:1
    files:
      - {source: ./logo, mode: "0400", target: /etc/logo}
    volumes:
      - {target: /room, source: "${resources.room}", path: a/b}
resources:
  room: {type: volume, id: room}
"#;

fn score(name: &str, rest: &str) -> String {
    format!("apiVersion: score.dev/v1b1\nmetadata: {{name: {name}}}\ncontainers:\n{rest}")
}

fn containers(deployment: &Value) -> &[Value] {
    deployment["spec"]["template"]["spec"]["containers"].as_array().expect("containers")
}

/// The value of a key of a Secret.
fn secret(secret: &Value, key: &str) -> String {
    let data = secret["data"][key].as_str().unwrap_or_else(|| panic!("no {key}: {secret}"));
    String::from_utf8(BASE64.decode(data.as_bytes()).expect("base64")).expect("a text")
}

/// The text of a page below a command, up to the next one.
fn after<'a>(page: &'a str, command: &str) -> &'a str {
    let rest = page.split_once(command).unwrap_or_else(|| panic!("the page does not show `{command}`")).1;
    let end = rest.find("\n$ ").into_iter().chain(rest.find("```")).min();
    &rest[..end.expect("an end")]
}

/// The words of each line, except addresses and ages.
fn lasting(table: &str) -> Vec<Vec<&str>> {
    let is_address = |word: &str| word.split('.').filter(|part| part.parse::<u8>().is_ok()).count() == 4;
    let is_age = |word: &str| word.ends_with(['s', 'm']) && word.starts_with(|c: char| c.is_ascii_digit());
    let lasting =
        |line| str::split_whitespace(line).filter(|word| !is_address(word) && !is_age(word)).collect();
    table.lines().map(lasting).filter(|words: &Vec<&str>| !words.is_empty()).collect()
}
