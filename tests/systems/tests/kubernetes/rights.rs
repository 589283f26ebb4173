//! The rights of a user in the cluster, and the operator's grants for the driver.

use purlin_systems::Project;
use purlin_systems::kubernetes::{Kubernetes, READER, eventually};
use serde_json::{Value, json};

use crate::scene::{give, map, one, refused, unchanged, undestroyed, up, workspace, workspace_at};

/// Gives the user `reader` rights to ConfigMaps and Roles of the namespace `default`.
fn allow(k8s: &Kubernetes, verbs: &Value) {
    let rules = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs},
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": verbs},
    ]);
    let metadata = json!({"name": "reader", "namespace": "default"});
    let roles = "roles.rbac.authorization.k8s.io";
    if k8s.get(roles, "default", "reader").is_some() {
        return k8s.edit("kubectl-edit", roles, "default", "reader", |role| role["rules"] = rules.clone());
    }
    let version = "rbac.authorization.k8s.io/v1";
    k8s.create(roles, &json!({"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules}));
    k8s.create(
        "rolebindings.rbac.authorization.k8s.io",
        &json!({
            "apiVersion": version, "kind": "RoleBinding", "metadata": metadata,
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        }),
    );
}

fn as_reader(inputs: &Value) -> Value {
    let mut inputs = inputs.clone();
    inputs["connection"]["token"] = READER.into();
    inputs
}

#[test]
fn missing_rights_are_reported() {
    let Some(k8s) = Kubernetes::start() else { return };
    let inputs = one(&k8s.url(), &map("a", &json!({"k": "1"})));
    let denied = workspace_at(&[], &k8s.authority(), &inputs);
    denied
        .run(&["up", "--yes"])
        .status(2)
        .prints("`purlin/kubernetes` is not granted requests to")
        .prints(&k8s.url());
    let workspace = workspace(&k8s, &inputs);
    let mut wrong = inputs.clone();
    wrong["connection"]["token"] = "wrong-token-of-nobody".into();
    give(&workspace, &wrong);
    let done =
        refused(&workspace).prints("does not accept the credentials (401").prints("`connection.token`");
    assert!(!done.to_string().contains("wrong-token-of-nobody"), "{done}");
    give(&workspace, &as_reader(&inputs));
    refused(&workspace)
        .prints("User \"reader\" cannot get resource \"configmaps\"")
        .prints("the user of the token lacks this right");
    allow(&k8s, &json!(["get"]));
    eventually_prints(&workspace, "User \"reader\" cannot patch resource \"configmaps\"");
    give(&workspace, &inputs);
    up(&workspace);
    // A user who may only read sees drift, and cannot repair it.
    k8s.edit("kubectl-edit", "configmaps", "default", "a", |object| object["data"]["k"] = "2".into());
    give(&workspace, &as_reader(&inputs));
    workspace.purlin(&["refresh"]).prints("values.manifest.data.k");
    workspace.run(&["up", "--yes", "--refresh"]).status(1).prints("cannot patch");
    give(&workspace, &inputs);
    up(&workspace);
    assert_eq!(k8s.get("configmaps", "default", "a").expect("there")["data"]["k"], "1");
}

/// Deploys until this is printed: a new right takes a moment to take effect.
fn eventually_prints(workspace: &Project, text: &str) {
    eventually(text, || {
        let done = workspace.run(&["up", "--yes"]).to_string();
        done.contains(text).then_some(())
    });
}

#[test]
fn few_rights_are_enough() {
    let Some(k8s) = Kubernetes::start() else { return };
    allow(&k8s, &json!(["get", "create", "patch"]));
    let inputs = as_reader(&one(&k8s.url(), &map("a", &json!({"k": "1"}))));
    let workspace = workspace(&k8s, &inputs);
    up(&workspace);
    unchanged(&workspace);
    undestroyed(&workspace).prints("User \"reader\" cannot delete resource \"configmaps\"");
    assert!(k8s.get("configmaps", "default", "a").is_some());
    allow(&k8s, &json!(["get", "create", "patch", "delete"]));
    eventually("the right arrives", || {
        let done = workspace.run(&["destroy", "--yes", "--allow-data-loss"]);
        (done.status == 0).then_some(())
    });
    assert_eq!(k8s.get("configmaps", "default", "a"), None);
    // A user cannot grant rights that the user lacks.
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "all"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    });
    give(&workspace, &as_reader(&one(&k8s.url(), &role)));
    refused(&workspace).prints("attempting to grant RBAC permissions not currently held");
    assert_eq!(k8s.get("roles.rbac.authorization.k8s.io", "default", "all"), None);
}
