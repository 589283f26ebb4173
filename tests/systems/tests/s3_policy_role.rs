//! The example `examples/s3-policy-role` as written, except for the address of AWS.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::path::Path;

use purlin_systems::moto::{Moto, names};
use purlin_systems::tools::component;
use purlin_systems::{Project, tools};
use serde_json::{Value, json};

/// The example in a separate workspace: only the environment and the operator's page differ, as its
/// README says.
fn example(moto: &Moto) -> Project {
    let folder = tools::root().join("examples/s3-policy-role");
    let workspace = Project::empty();
    let url = format!("http://127.0.0.1:{}", moto.port());
    for part in ["apps", "platform"] {
        for entry in fs::read_dir(folder.join(part)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            workspace.write(&format!("{part}/{name}"), read(&path));
        }
    }
    let environment = read(&folder.join("environment.yaml"));
    let region = "region: eu-central-1\n";
    assert!(environment.contains(region));
    workspace.write("environment.yaml", environment.replace(region, &format!("{region}      url: {url}\n")));
    let mut operator = read(&folder.join("purlin.yaml"));
    for (driver, grant) in
        [("s3", "\"https://*.amazonaws.com\""), ("iam", "\"POST https://iam.amazonaws.com\"")]
    {
        assert!(operator.contains(grant), "{operator}");
        operator = operator.replace(grant, &format!("\"{url}/*\""));
        let name = format!("    purlin/{driver}:\n");
        let source = format!("{name}      source: {}\n", component(driver).display());
        operator = operator.replace(&name, &source);
    }
    workspace.write("purlin.yaml", &operator);
    workspace.write("secrets/access_key_id", &moto.key.0);
    workspace.write("secrets/secret_access_key", &moto.key.1);
    workspace
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}

#[test]
fn each_role_has_the_rights_of_its_workload() {
    let Some(moto) = Moto::start() else { return };
    let workspace = example(&moto);
    workspace.purlin(&["up", "--yes"]);
    let outputs = workspace.purlin(&["outputs", "--format", "json"]).json();
    let output = |key: &str, name: &str| outputs["resources"][key][name].as_str().expect("a text").to_owned();
    assert_eq!(moto.buckets().len(), 2);
    let pictures = output("s3.default#shared.pictures", "bucket");
    let attached = |workload: &str| {
        let role = output(&format!("aws-role.default#modules.{workload}"), "name");
        let attached = moto.ask("iam", "list_attached_role_policies", json!({"RoleName": role}));
        names(&attached["AttachedPolicies"], "PolicyArn")
    };
    // Each role may write to the buckets that its workload declares for writing.
    assert_eq!(attached("upload"), [output("aws-policy.read-write#shared.pictures", "arn")]);
    assert_eq!(
        attached("gallery"),
        [output("aws-policy.read-write#modules.gallery.externals.thumbnails", "arn")]
    );
    let policy = output("aws-policy.read-write#shared.pictures", "arn");
    let version = moto.ask("iam", "get_policy_version", json!({"PolicyArn": policy, "VersionId": "v1"}));
    let document = &version["PolicyVersion"]["Document"];
    assert_eq!(document["Statement"][1]["Resource"], format!("arn:aws:s3:::{pictures}/*"));
    // And the bucket allows the roles of its readers.
    let policy = || {
        let answer = moto.ask("s3", "get_bucket_policy", json!({"Bucket": pictures}));
        serde_json::from_str::<Value>(answer["Policy"].as_str().expect("a text")).expect("JSON")
    };
    let gallery = output("aws-role.default#modules.gallery", "arn");
    assert_eq!(policy()["Statement"][0]["Principal"]["AWS"], gallery);
    let workload = &outputs["workloads"]["gallery"]["spec"]["containers"]["main"]["variables"];
    assert_eq!((&workload["PICTURES"], &workload["REGION"]), (&json!(pictures), &json!("eu-central-1")));
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");

    // A second reader: its role is added to the first one's in the bucket's policy.
    let reader = workspace.read("apps/gallery.yaml");
    let reader = reader
        .replace("name: gallery", "name: report")
        .replace("      THUMBNAILS: ${resources.thumbnails.bucket}\n", "");
    let reader = reader.replace("  thumbnails:\n    type: s3\n    class: read-write\n", "");
    workspace.write("apps/report.yaml", &reader);
    workspace.purlin(&["up", "--yes"]).prints("updated s3-policy.read-only#shared.pictures");
    assert_eq!(policy()["Statement"][0]["Principal"]["AWS"].as_array().map(Vec::len), Some(2));
    // It is removed again, and none of its rights stays.
    fs::remove_file(workspace.path().join("apps/report.yaml")).expect("removed");
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(policy()["Statement"][0]["Principal"]["AWS"], gallery);
    assert_eq!(moto.ask("iam", "list_roles", json!({}))["Roles"].as_array().map(Vec::len), Some(2));

    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(moto.buckets(), Vec::<String>::new());
    for (call, list) in [("list_roles", "Roles"), ("list_policies", "Policies")] {
        let scope = if list == "Policies" { json!({"Scope": "Local"}) } else { json!({}) };
        assert_eq!(moto.ask("iam", call, scope)[list].as_array().map(Vec::len), Some(0), "{list}");
    }
}
