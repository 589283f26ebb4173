//! Objects and fields of other owners.

use purlin_systems::kubernetes::Kubernetes;
use serde_json::{Value, json};

use crate::scene::{self, destroy, give, map, one, refused, unchanged, up, within};

const ID: &str = "v1/ConfigMap/default/settings";

fn settings(k8s: &Kubernetes, data: &Value) -> Value {
    one(&k8s.url(), &map("settings", data))
}

fn data(k8s: &Kubernetes) -> Value {
    k8s.get("configmaps", "default", "settings").expect("there")["data"].clone()
}

#[test]
fn an_existing_object_is_adopted_by_an_import() {
    let Some(k8s) = Kubernetes::start() else { return };
    k8s.create("configmaps", &within("default", map("settings", &json!({"theirs": "1"}))));
    let inputs = settings(&k8s, &json!({"level": "info"}));
    let workspace = scene::workspace(&k8s, &inputs);
    refused(&workspace).prints("already exists and does not belong to this resource").prints(ID);
    assert_eq!(data(&k8s), json!({"theirs": "1"}));
    workspace.purlin(&["import", "--yes", "k8s#shared.it", ID]).prints("adopt");
    up(&workspace);
    // The documents may name it with these words, too, and continue to do so.
    let import = json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment",
        "spec": {"lifecycle": {"k8s#shared.it": {"import": ID}}}});
    workspace.write("import.json", import.to_string());
    up(&workspace);
    unchanged(&workspace);
    assert_eq!(data(&k8s), json!({"theirs": "1", "level": "info"}), "what is not ours stays");

    // Another environment of Purlin declares the same object.
    let other = scene::workspace(&k8s, &inputs);
    other.run(&["up", "--yes", "--env", "prod"]).status(1).prints("belongs to another resource of Purlin");
    other
        .run(&["import", "--yes", "k8s#shared.it", ID, "--env", "prod"])
        .prints("belongs to another resource");
    destroy(&workspace);
    assert_eq!(k8s.get("configmaps", "default", "settings"), None);
}

#[test]
fn an_unread_field_is_a_conflict() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = scene::workspace(&k8s, &settings(&k8s, &json!({"level": "info"})));
    up(&workspace);
    // Another manager takes a field that is about to change, without a read in between.
    k8s.edit("kubectl-edit", "configmaps", "default", "settings", |object| {
        object["data"] = json!({"level": "debug", "theirs": "1"});
    });
    give(&workspace, &settings(&k8s, &json!({"level": "warn"})));
    refused(&workspace).prints("`.data.level` (\"kubectl-edit\"").prints("force_conflicts: true");
    assert_eq!(data(&k8s)["level"], "debug");
    // A field that another manager owns is not taken either.
    give(&workspace, &settings(&k8s, &json!({"level": "debug", "theirs": "2"})));
    workspace.run(&["up", "--yes", "--refresh"]).status(1).prints(".data.theirs");
    assert_eq!(data(&k8s)["theirs"], "1");
    // It is read first, and then taken knowingly.
    let mut inputs = settings(&k8s, &json!({"level": "warn", "theirs": "2"}));
    inputs["values"]["force_conflicts"] = true.into();
    give(&workspace, &inputs);
    up(&workspace);
    assert_eq!(data(&k8s), json!({"level": "warn", "theirs": "2"}));
    unchanged(&workspace);
}

#[test]
fn drift_that_was_read_is_repaired() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = scene::workspace(&k8s, &settings(&k8s, &json!({"level": "info"})));
    up(&workspace);
    k8s.edit("kubectl-edit", "configmaps", "default", "settings", |object| {
        object["data"]["level"] = "debug".into();
    });
    workspace.purlin(&["refresh"]).prints("values.manifest.data.level");
    up(&workspace).prints("updated");
    assert_eq!(data(&k8s)["level"], "info");
    unchanged(&workspace);
    // A field that leaves the manifest stays while another manager has it, too.
    k8s.edit("kubectl-edit", "configmaps", "default", "settings", |object| {
        object["data"]["level"] = "debug".into();
    });
    k8s.edit("kubectl-edit", "configmaps", "default", "settings", |object| {
        object["data"]["level"] = "info".into();
    });
    give(&workspace, &settings(&k8s, &json!({"other": "1"})));
    up(&workspace);
    assert_eq!(data(&k8s), json!({"level": "info", "other": "1"}));
    unchanged(&workspace);
}
