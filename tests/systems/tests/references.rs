//! `examples/references/kubernetes` and `examples/references/aws` as written, except for the
//! addresses of their servers: manifests with references between them become real objects, and are
//! deleted again.
#![allow(clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;

use purlin_systems::kubernetes::{Kubernetes, TOKEN};
use purlin_systems::moto::{Moto, names};
use purlin_systems::tools::component;
use purlin_systems::{Project, tools};
use serde_json::{Value, json};

/// An example in a separate workspace, with some texts replaced: each must exist.
fn example(name: &str, texts: &[(&str, &str)]) -> Project {
    fn copy(from: &Path, to: &Project, at: &str, texts: &[(&str, &str)], used: &mut Vec<bool>) {
        for entry in fs::read_dir(from).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            let place = format!("{at}{name}");
            if path.is_dir() {
                copy(&path, to, &format!("{place}/"), texts, used);
                continue;
            }
            let mut text = fs::read_to_string(&path).expect("a file");
            for ((old, new), used) in texts.iter().zip(used.iter_mut()) {
                *used |= text.contains(old);
                text = text.replace(old, new);
            }
            to.write(&place, &text);
        }
    }
    let workspace = Project::empty();
    let mut used = vec![false; texts.len()];
    let folder = tools::root().join("examples/references").join(name);
    copy(&folder, &workspace, "", texts, &mut used);
    for ((old, _), used) in texts.iter().zip(used) {
        assert!(used, "`{old}` is not in {}", folder.display());
    }
    workspace
}

/// The driver's entry in `purlin.yaml`, and the same with the built component.
fn driver(name: &str) -> (String, String) {
    let entry = format!("    purlin/{name}:\n");
    let source = format!("{entry}      source: {}\n", component(name).display());
    (entry, source)
}

/// Nothing is to be done, by the record and after a read.
fn unchanged(workspace: &Project) {
    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("Nothing to change");
    workspace.purlin(&["plan", "--refresh", "--detailed-exitcode"]);
}

/// Keys of the resources that a run created or deleted, in the order in which they were finished.
fn finished(workspace: &Project, arguments: &[&str]) -> Vec<String> {
    let done = workspace.purlin(&[arguments, &["--yes", "--format", "json"]].concat());
    let events = done.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let keys = events.filter(|event| event["phase"] == "succeeded");
    keys.map(|event| event["key"].as_str().expect("a key").to_owned()).collect()
}

/// Whether one was finished before the other.
#[track_caller]
fn in_order(finished: &[String], first: &str, second: &str) {
    let place = |key: &str| finished.iter().position(|one| one == key);
    assert!(place(first).is_some() && place(first) < place(second), "{first}, {second}: {finished:?}");
}

const REFERENCES: [(&str, &str); 6] = [
    ("apps/deployment.default#web", "service.default#database"),
    ("apps/deployment.default#web", "config-map.default#web"),
    ("apps/deployment.default#web", "service-account.default#web"),
    ("apps/deployment.default#web", "apps/deployment.default#database"),
    ("apps/deployment.default#database", "secret.default#credentials"),
    ("secret.default#credentials", "namespace.default#shop"),
];

#[test]
fn manifests_become_objects_of_a_cluster() {
    let Some(k8s) = Kubernetes::start() else { return };
    let url = k8s.url();
    let (entry, source) = driver("kubernetes");
    let workspace = example(
        "kubernetes",
        &[
            ("server: https://k8s.internal:6443", &format!("server: {url}")),
            ("https://k8s.internal:6443/*", &format!("{url}/*")),
            ("addresses: [10.0.0.0/8]\n", "addresses: [127.0.0.1]\n        ca: [ca.pem]\n"),
            // Before 1.21, server-side apply requires the protocol of each port.
            ("    - port: 5432\n", "    - port: 5432\n      protocol: TCP\n"),
            ("    - port: 80\n", "    - port: 80\n      protocol: TCP\n"),
            // A slow machine takes longer.
            ("time: 60s", "time: 160s"),
            (&entry, &source),
        ],
    );
    workspace.write("ca.pem", k8s.authority());
    workspace.write("secrets/token", TOKEN);
    workspace.purlin(&["validate"]);
    let plan = workspace.purlin(&["plan"]);
    assert!(!plan.to_string().contains("correct-horse"), "{plan}");
    let made = finished(&workspace, &["up"]);
    for (dependent, dependency) in REFERENCES {
        in_order(&made, dependency, dependent);
    }

    // References read the values in the cluster.
    let get = |kind: &str, name: &str| k8s.get(kind, "shop", name).expect("it was made");
    let pods = || get("deployments.apps", "web")["spec"]["template"].clone();
    let database = get("services", "database");
    let address = database["spec"]["clusterIP"].as_str().expect("the cluster gave it an address");
    let web = pods();
    let container = &web["spec"]["containers"][0];
    assert_eq!(container["env"][0], json!({"name": "DATABASE", "value": format!("{address}:5432")}));
    assert_eq!(container["envFrom"][0]["secretRef"]["name"], "credentials");
    assert_eq!(web["spec"]["volumes"][0]["configMap"]["name"], "web");
    assert_eq!(web["spec"]["serviceAccountName"], "web");
    let metadata = get("deployments.apps", "web")["metadata"].clone();
    assert_eq!(metadata["labels"]["app.kubernetes.io/part-of"], "shop", "{metadata}");
    assert_eq!(metadata["annotations"]["example.com/owner"], "team-web", "{metadata}");
    assert_eq!(get("configmaps", "web")["data"]["greeting.txt"], "Welcome, ${visitor}!\n");
    assert_eq!(get("serviceaccounts", "web")["automountServiceAccountToken"], false);
    assert_eq!(
        get("secrets", "credentials")["data"]["POSTGRES_PASSWORD"],
        "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZQ=="
    );
    unchanged(&workspace);

    // Another password: the Secret changes, its digest with it, and new pods start.
    workspace.edit("manifests/database.yaml", "correct-horse", "incorrect-horse");
    let changed = finished(&workspace, &["up"]);
    in_order(&changed, "secret.default#credentials", "apps/deployment.default#database");
    in_order(&changed, "apps/deployment.default#database", "apps/deployment.default#web");
    assert_eq!(changed.len(), 3, "{changed:?}");
    let digest = |pods: &Value| pods["metadata"]["annotations"]["checksum/credentials"].clone();
    assert!(digest(&web).is_string() && digest(&web) != digest(&pods()), "{web}");
    unchanged(&workspace);
    let state = workspace.purlin(&["state", "show", "secret#credentials"]);
    assert!(!state.to_string().contains("correct-horse"), "{state}");

    let gone = finished(&workspace, &["destroy", "--allow-data-loss"]);
    for (dependent, dependency) in REFERENCES {
        in_order(&gone, dependent, dependency);
    }
    assert_eq!(k8s.get("namespaces", "", "shop"), None);
    for kind in ["deployments.apps", "services", "configmaps", "secrets", "serviceaccounts", "pods"] {
        assert_eq!(k8s.names(kind, "shop"), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn manifests_become_buckets_and_rights() {
    let Some(moto) = Moto::start() else { return };
    let url = format!("http://127.0.0.1:{}", moto.port());
    let (s3, iam) = (driver("s3"), driver("iam"));
    let region = "region: eu-central-1\n";
    let workspace = example(
        "aws",
        &[
            (region, &format!("{region}      url: {url}\n")),
            ("\"https://*.amazonaws.com\"", &format!("\"{url}/*\"")),
            ("\"POST https://iam.amazonaws.com\"", &format!("\"{url}/*\"")),
            (&s3.0, &s3.1),
            (&iam.0, &iam.1),
        ],
    );
    workspace.write("secrets/access_key_id", &moto.key.0);
    workspace.write("secrets/secret_access_key", &moto.key.1);
    workspace.purlin(&["validate"]);
    let made = finished(&workspace, &["up"]);
    in_order(&made, "s3/bucket.default#pictures", "s3/bucket-policy.default#pictures");
    in_order(&made, "iam/role.default#gallery", "s3/bucket-policy.default#pictures");
    in_order(
        &made,
        "iam/policy.default#write-pictures",
        "iam/role-policy-attachment.default#upload-write-pictures",
    );

    assert_eq!(moto.buckets(), ["shop-dev-pictures"]);
    assert_eq!(moto.bucket_tags("shop-dev-pictures")["owner"], "gallery");
    let readers = || {
        let answer = moto.ask("s3", "get_bucket_policy", json!({"Bucket": "shop-dev-pictures"}));
        let policy: Value = serde_json::from_str(answer["Policy"].as_str().expect("a text")).expect("JSON");
        assert_eq!(policy["Statement"][0]["Resource"], "arn:aws:s3:::shop-dev-pictures/*");
        let readers = &policy["Statement"][0]["Principal"]["AWS"];
        let readers = readers.as_array().map_or_else(|| vec![readers], |all| all.iter().collect());
        let name = |arn: &Value| arn.as_str().expect("an ARN").rsplit('/').next().map(str::to_owned);
        readers.into_iter().filter_map(name).collect::<Vec<_>>()
    };
    assert_eq!(readers(), ["shop-dev-gallery"]);
    let of_role = moto.ask("iam", "list_attached_role_policies", json!({"RoleName": "shop-dev-upload"}));
    let policies = names(&of_role["AttachedPolicies"], "PolicyArn");
    let [policy] = policies.as_slice() else { panic!("{policies:?}") };
    let version = moto.ask("iam", "get_policy_version", json!({"PolicyArn": policy, "VersionId": "v1"}));
    let document = &version["PolicyVersion"]["Document"];
    assert_eq!(document["Statement"][0]["Resource"], "arn:aws:s3:::shop-dev-pictures/*");
    let of_user = moto.ask("iam", "list_attached_user_policies", json!({"UserName": "shop-dev-auditor"}));
    assert_eq!(names(&of_user["AttachedPolicies"], "PolicyArn"), ["arn:aws:iam::aws:policy/ReadOnlyAccess"]);
    unchanged(&workspace);

    // A second role with the label is added to the bucket's policy, and removed again.
    let roles = workspace.read("manifests/roles.yaml");
    let (reader, _) = roles.split_once("---\n").expect("several manifests");
    workspace.write("manifests/report.yaml", reader.replace("name: gallery", "name: report"));
    let changed = finished(&workspace, &["up"]);
    in_order(&changed, "iam/role.default#report", "s3/bucket-policy.default#pictures");
    assert_eq!(readers(), ["shop-dev-gallery", "shop-dev-report"]);
    fs::remove_file(workspace.path().join("manifests/report.yaml")).expect("removed");
    let changed = finished(&workspace, &["up"]);
    in_order(&changed, "s3/bucket-policy.default#pictures", "iam/role.default#report");
    assert_eq!(readers(), ["shop-dev-gallery"]);
    unchanged(&workspace);

    workspace.run(&["destroy", "--yes"]).status(2).prints("would lose its data");
    let gone = finished(&workspace, &["destroy", "--allow-data-loss"]);
    in_order(&gone, "s3/bucket-policy.default#pictures", "s3/bucket.default#pictures");
    in_order(&gone, "iam/user-policy-attachment.default#auditor-reads-all", "iam/user.default#auditor");
    assert_eq!(moto.buckets(), Vec::<String>::new());
    for (call, list) in [("list_roles", "Roles"), ("list_policies", "Policies")] {
        let scope = if list == "Policies" { json!({"Scope": "Local"}) } else { json!({}) };
        assert_eq!(moto.ask("iam", call, scope)[list].as_array().map(Vec::len), Some(0), "{list}");
    }
    assert_eq!(names(&moto.ask("iam", "list_users", json!({}))["Users"], "UserName"), ["tester"]);
}
