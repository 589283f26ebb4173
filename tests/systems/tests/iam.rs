//! `purlin/iam` against moto, which checks every signature; boto3 checks the result.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

use purlin_systems::moto::stumble::{TROUBLES, Trouble, Wire};
use purlin_systems::moto::{Moto, names, tags};
use purlin_systems::{Project, Proxy, at_every_message, tools};
use serde_json::{Value, json};

/// A policy, and a role that has it. In the style of a platform: the role collects the existing
/// ones.
const ROLE: &str = r#"
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: policy}
spec:
  type: policy
  driver: purlin/iam
  inputs:
    connection: {SIGNED}
    values:
      policy: {path: /blue/, description: "reads pictures & more", tags: {team: "grün + b"}, document: {Version: "2012-10-17", Statement: {Effect: Allow, Action: [ACTIONS], Resource: ["arn:aws:s3:::pics/*", "arn:aws:s3:::pics"]}}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: role}
spec:
  type: role
  driver: purlin/iam
  inputs:
    connection: {SIGNED}
    values:
      role:
        path: /blue/
        description: "DESCRIPTION"
        max_session_duration: 7200
        tags: {team: blue}
        attached_policies: ["${resources['policy.default#shared.read'].outputs.arn}"]
        assume_role_policy: '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["sts:AssumeRole"], "Principal": {"AWS": "123456789012", "Service": ["ec2.amazonaws.com"]}}]}'
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  shared: {read: {type: policy}, web: {type: role}}
"#;

fn documents(actions: &str, description: &str) -> String {
    ROLE.replace("ACTIONS", actions).replace("DESCRIPTION", description)
}

fn output(workspace: &Project, key: &str, name: &str) -> String {
    let outputs = workspace.purlin(&["outputs", "--show-secrets", "--format", "json"]).json();
    outputs["resources"][key][name].as_str().unwrap_or_else(|| panic!("no {name}: {outputs}")).to_owned()
}

fn rewrite(moto: &Moto, workspace: &Project, documents: &str) {
    let other = moto.workspace(&["iam"], moto.port(), "dev", documents);
    let text = other.read("documents.yaml");
    workspace.write("documents.yaml", &text);
}

/// The default document of a policy.
fn document(moto: &Moto, arn: &str) -> Value {
    let policy = moto.ask("iam", "get_policy", json!({"PolicyArn": arn}));
    let version = json!({"PolicyArn": arn, "VersionId": policy["Policy"]["DefaultVersionId"]});
    moto.ask("iam", "get_policy_version", version)["PolicyVersion"]["Document"].clone()
}

fn policies(moto: &Moto) -> Vec<String> {
    names(&moto.ask("iam", "list_policies", json!({"Scope": "Local"}))["Policies"], "PolicyName")
}

fn roles(moto: &Moto) -> Vec<String> {
    names(&moto.ask("iam", "list_roles", json!({}))["Roles"], "RoleName")
}

#[test]
fn a_policy_and_a_role_are_created_changed_and_deleted_and_drift_is_repaired() {
    let Some(moto) = Moto::start() else { return };
    let workspace =
        moto.workspace(&["iam"], moto.port(), "dev", &documents("s3:GetObject, s3:ListBucket", "for web"));
    workspace.purlin(&["up", "--yes"]);
    let arn = output(&workspace, "policy.default#shared.read", "arn");
    let role = output(&workspace, "role.default#shared.web", "name");
    let seen = || {
        let described = moto.ask("iam", "get_role", json!({"RoleName": role}))["Role"].clone();
        let attached = moto.ask("iam", "list_attached_role_policies", json!({"RoleName": role}));
        let policy_tags = moto.ask("iam", "list_policy_tags", json!({"PolicyArn": arn}));
        let mut trust = described["AssumeRolePolicyDocument"].clone();
        let principal = trust["Statement"][0]["Principal"].take();
        (
            names(&attached["AttachedPolicies"], "PolicyArn"),
            [principal, tags(&described["Tags"]), tags(&policy_tags["Tags"]), document(&moto, &arn)],
            (
                described["Description"].clone(),
                described["MaxSessionDuration"].clone(),
                described["Path"].clone(),
            ),
        )
    };
    let made = seen();
    assert_eq!(made.0, [arn.as_str()]);
    assert_eq!((&made.1[1]["team"], &made.1[2]["team"]), (&json!("blue"), &json!("grün + b")));
    assert_eq!(made.1[1]["purlin:resource"].as_str().map(str::len), Some(40));
    assert_eq!(made.2, (json!("for web"), json!(7200), json!("/blue/")));
    assert!(arn.starts_with("arn:aws:iam::123456789012:policy/blue/purlin-"), "{arn}");
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
    workspace.purlin(&["plan", "--refresh", "--detailed-exitcode"]).prints("up to date");

    // The same documents in another form are equal.
    let dressed = json!({"Statement": {"Sid": "x", "Resource": ["arn:aws:s3:::pics", "arn:aws:s3:::pics/*"],
        "Action": ["s3:listbucket", "s3:GetObject"], "Effect": "Allow"}, "Version": "2012-10-17"});
    let version = |document: &Value| json!({"PolicyArn": arn, "PolicyDocument": document.to_string(), "SetAsDefault": true});
    moto.ask("iam", "create_policy_version", version(&dressed));
    let trust = json!({"Version": "2012-10-17", "Statement": {"Action": "sts:AssumeRole", "Effect": "Allow",
        "Principal": {"Service": "ec2.amazonaws.com", "AWS": ["arn:aws:iam::123456789012:root"]}}});
    let trusts = |trust: &Value| json!({"RoleName": role, "PolicyDocument": trust.to_string()});
    moto.ask("iam", "update_assume_role_policy", trusts(&trust));
    workspace.purlin(&["plan", "--refresh", "--detailed-exitcode"]).prints("up to date");

    // Somebody changes everything manually.
    let mut wider = dressed.clone();
    wider["Statement"]["Action"] = json!("s3:*");
    moto.ask("iam", "create_policy_version", version(&wider));
    let mut trusting = trust.clone();
    trusting["Statement"]["Principal"] = json!({"AWS": "*"});
    moto.ask("iam", "update_assume_role_policy", trusts(&trusting));
    moto.ask(
        "iam",
        "update_role",
        json!({"RoleName": role, "Description": "mine", "MaxSessionDuration": 3600}),
    );
    moto.ask(
        "iam",
        "tag_role",
        json!({"RoleName": role, "Tags": [{"Key": "team", "Value": "red"}, {"Key": "new", "Value": "x"}]}),
    );
    moto.ask("iam", "untag_policy", json!({"PolicyArn": arn, "TagKeys": ["team", "purlin:resource"]}));
    moto.ask("iam", "detach_role_policy", json!({"RoleName": role, "PolicyArn": arn}));
    let admin = "arn:aws:iam::aws:policy/AdministratorAccess";
    moto.ask("iam", "attach_role_policy", json!({"RoleName": role, "PolicyArn": admin}));
    let plan = workspace.run(&["plan", "--refresh", "--verbose", "--detailed-exitcode"]).status(3);
    for place in [
        "document",
        "assume_role_policy",
        "description",
        "max_session_duration",
        "tags.new",
        "tags.purlin:resource",
        "attached_policies",
    ] {
        assert!(plan.out.contains(place), "{place} is not shown: {plan}");
    }
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("2 updated");
    assert_eq!(seen(), made);
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");

    // Versions never accumulate.
    for number in 0..7 {
        rewrite(&moto, &workspace, &documents(&format!("s3:Get{number}"), "for web"));
        workspace.purlin(&["up", "--yes"]).prints("updated policy");
        assert_eq!(document(&moto, &arn)["Statement"][0]["Action"], format!("s3:Get{number}"));
    }
    let versions = moto.ask("iam", "list_policy_versions", json!({"PolicyArn": arn}));
    assert_eq!(versions["Versions"].as_array().map(Vec::len), Some(5));

    // If they are removed manually, they are attached again.
    moto.ask("iam", "detach_role_policy", json!({"RoleName": role, "PolicyArn": arn}));
    moto.ask("iam", "delete_role", json!({"RoleName": role}));
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("created role");
    // Others use the policy, so it stays.
    moto.ask("iam", "attach_user_policy", json!({"UserName": "tester", "PolicyArn": arn}));
    workspace.run(&["destroy", "--yes"]).status(1).prints("is attached to the user `tester`");
    moto.ask("iam", "detach_user_policy", json!({"UserName": "tester", "PolicyArn": arn}));
    workspace.purlin(&["destroy", "--yes"]);
    assert_eq!((policies(&moto), roles(&moto)), (Vec::new(), Vec::new()));
}

#[test]
fn immutable_changes_replace_and_foreign_additions_stay() {
    let Some(moto) = Moto::start() else { return };
    let named =
        |more: &str| documents("s3:Get", "x").replace("policy: {path", &format!("policy: {{{more}path"));
    let workspace = moto.workspace(&["iam"], moto.port(), "dev", &named("name: first, "));
    workspace.purlin(&["up", "--yes"]);
    rewrite(&moto, &workspace, &named("name: second, "));
    workspace.purlin(&["up", "--yes"]).prints("replaced policy");
    assert_eq!(policies(&moto), ["second"]);
    // The same name under another path: the old one would have to be deleted first, and the role
    // uses it.
    rewrite(
        &moto,
        &workspace,
        &named("name: second, ").replace("path: /blue/, description", "path: /red/, description"),
    );
    workspace
        .run(&["up", "--yes"])
        .status(1)
        .prints("is attached to the role")
        .prints("detach it there first");
    rewrite(
        &moto,
        &workspace,
        &named("name: third, ").replace("path: /blue/, description", "path: /red/, description"),
    );
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(policies(&moto), ["third"]);
    // Permissions that others gave a role are not removed.
    let role = output(&workspace, "role.default#shared.web", "name");
    let document = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "x:y", "Resource": "*"}]});
    moto.ask(
        "iam",
        "put_role_policy",
        json!({"RoleName": role, "PolicyName": "theirs", "PolicyDocument": document.to_string()}),
    );
    workspace.run(&["destroy", "--yes"]).status(1).prints("the inline policy `theirs`, which others added");
    assert_eq!(
        names(
            &moto.ask("iam", "list_attached_role_policies", json!({"RoleName": role}))["AttachedPolicies"],
            "PolicyName"
        ),
        ["third"]
    );
    moto.ask("iam", "delete_role_policy", json!({"RoleName": role, "PolicyName": "theirs"}));
    workspace.purlin(&["destroy", "--yes"]);
    assert_eq!((policies(&moto), roles(&moto)), (Vec::new(), Vec::new()));
}

#[test]
fn foreign_objects_are_unchanged_until_adopted() {
    let Some(moto) = Moto::start() else { return };
    let document = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "x:y", "Resource": "*"}]});
    let made = moto.ask(
        "iam",
        "create_policy",
        json!({"PolicyName": "theirs", "Path": "/blue/", "PolicyDocument": document.to_string()}),
    );
    let arn = made["Policy"]["Arn"].as_str().expect("an ARN");
    let named = documents("s3:Get", "x").replace("policy: {path", "policy: {name: theirs, path");
    let named = named.replace("description: \"reads pictures & more\", ", "");
    let workspace = moto.workspace(&["iam"], moto.port(), "dev", &named);
    workspace.run(&["up", "--yes"]).status(1).prints("the policy `theirs` already exists").prints(arn);
    workspace.purlin(&["import", "--yes", "policy#shared.read", arn]);
    workspace.purlin(&["up", "--yes"]).prints("updated policy");
    assert_eq!(self::document(&moto, arn)["Statement"][0]["Action"], "s3:Get");
    let other = moto.workspace(&["iam"], moto.port(), "other", &named);
    other.run(&["up", "--yes"]).status(1).prints("the policy `theirs` belongs to another resource");
    other
        .run(&["import", "--yes", "policy#shared.read", arn])
        .status(1)
        .prints("belongs to another resource");
    workspace.purlin(&["destroy", "--yes"]);
    assert_eq!(policies(&moto), Vec::<String>::new());
}

#[test]
fn killed_at_any_message_there_is_one_of_each() {
    let Some(moto) = Moto::start() else { return };
    let proxy = Proxy::to(moto.port());
    let scene = |number: usize| {
        moto.workspace(&["iam"], proxy.port(), &format!("dev{number}"), &documents("s3:Get", "x"))
    };
    let kills = at_every_message(&proxy, &["up", "--yes"], scene, |_, workspace| {
        let (policies, roles) = (policies(&moto), roles(&moto));
        assert_eq!((policies.len(), roles.len()), (1, 1), "{policies:?} {roles:?}");
        let attached = moto.ask("iam", "list_attached_role_policies", json!({"RoleName": roles[0]}));
        assert_eq!(names(&attached["AttachedPolicies"], "PolicyName"), policies);
        workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
        workspace.purlin(&["destroy", "--yes"]);
        assert_eq!((self::policies(&moto), self::roles(&moto)), (Vec::new(), Vec::new()));
    });
    assert!(kills >= 8, "{kills} kills");
}

#[test]
fn killed_at_any_message_of_a_change_or_a_deletion_it_is_made_in_the_end() {
    let Some(moto) = Moto::start() else { return };
    let proxy = Proxy::to(moto.port());
    let started = || {
        let workspace = moto.workspace(&["iam"], proxy.port(), "dev", &documents("s3:Get", "x"));
        workspace.purlin(&["up", "--yes"]);
        workspace
    };
    let changed = |_| {
        let workspace = started();
        let other = moto.workspace(
            &["iam"],
            proxy.port(),
            "dev",
            &documents("s3:Put", "y").replace("team: blue", "team: red"),
        );
        let text = other.read("documents.yaml");
        workspace.write("documents.yaml", &text);
        workspace
    };
    let kills = at_every_message(&proxy, &["up", "--yes"], changed, |_, workspace| {
        let arn = output(workspace, "policy.default#shared.read", "arn");
        assert_eq!(document(&moto, &arn)["Statement"][0]["Action"], "s3:Put");
        let role = moto.ask("iam", "get_role", json!({"RoleName": roles(&moto)[0]}))["Role"].clone();
        assert_eq!((&role["Description"], &tags(&role["Tags"])["team"]), (&json!("y"), &json!("red")));
        workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
        workspace.purlin(&["destroy", "--yes"]);
    });
    assert!(kills >= 8, "{kills} kills");
    let kills = at_every_message(
        &proxy,
        &["destroy", "--yes"],
        |_| started(),
        |_, _| {
            assert_eq!((policies(&moto), roles(&moto)), (Vec::new(), Vec::new()));
        },
    );
    assert!(kills >= 8, "{kills} kills");
}

const USER: &str = r#"
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: user}
spec:
  type: user
  driver: purlin/iam
  inputs:
    connection: {SIGNED}
    values:
      user: {tags: {a: b}, access_key: true, attached_policies: ["arn:aws:iam::aws:policy/ReadOnlyAccess"]}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  shared: {robot: {type: user}}
"#;

fn users(moto: &Moto) -> Vec<String> {
    let mut users = names(&moto.ask("iam", "list_users", json!({}))["Users"], "UserName");
    users.retain(|user| user != "tester");
    users
}

fn keys(moto: &Moto, user: &str) -> Vec<String> {
    names(&moto.ask("iam", "list_access_keys", json!({"UserName": user}))["AccessKeyMetadata"], "AccessKeyId")
}

#[test]
fn a_user_has_one_key_that_opens() {
    let Some(moto) = Moto::start() else { return };
    let workspace = moto.workspace(&["iam"], moto.port(), "dev", USER);
    workspace.purlin(&["up", "--yes"]);
    let key = || output(&workspace, "user.default#shared.robot", "access_key_id");
    let [user] = users(&moto).try_into().expect("one user");
    assert_eq!(keys(&moto, &user), [key()]);
    let shown = workspace.purlin(&["outputs"]);
    let secret = output(&workspace, "user.default#shared.robot", "secret_access_key");
    assert!(!shown.out.contains(&secret) && secret.len() > 20);
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
    // The key is deleted, or deactivated: a new one is created.
    let first = key();
    moto.ask("iam", "delete_access_key", json!({"UserName": user, "AccessKeyId": first}));
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("updated user");
    let second = key();
    assert!(second != first && keys(&moto, &user) == [second.as_str()]);
    moto.ask(
        "iam",
        "update_access_key",
        json!({"UserName": user, "AccessKeyId": second, "Status": "Inactive"}),
    );
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("updated user");
    assert!(key() != second && keys(&moto, &user) == [key()]);
    // Another person's key is left alone, and prevents the deletion of the user.
    let theirs =
        moto.ask("iam", "create_access_key", json!({"UserName": user}))["AccessKey"]["AccessKeyId"].clone();
    rewrite(&moto, &workspace, &USER.replace("access_key: true", "access_key: false"));
    workspace.purlin(&["up", "--yes"]).prints("updated user");
    assert_eq!(keys(&moto, &user), [theirs.as_str().expect("an id")]);
    workspace.run(&["destroy", "--yes"]).status(1).prints("which others created");
    moto.ask("iam", "delete_access_key", json!({"UserName": user, "AccessKeyId": theirs}));
    workspace.purlin(&["destroy", "--yes"]);
    assert_eq!(users(&moto), Vec::<String>::new());
}

#[test]
fn killed_at_any_message_a_user_has_one_key_that_is_known() {
    let Some(moto) = Moto::start() else { return };
    let proxy = Proxy::to(moto.port());
    let scene = |number: usize| moto.workspace(&["iam"], proxy.port(), &format!("dev{number}"), USER);
    let kills = at_every_message(&proxy, &["up", "--yes"], scene, |_, workspace| {
        let [user] = users(&moto).try_into().expect("one user");
        assert_eq!(keys(&moto, &user), [output(workspace, "user.default#shared.robot", "access_key_id")]);
        workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
        workspace.purlin(&["destroy", "--yes"]);
        assert_eq!(users(&moto), Vec::<String>::new());
    });
    assert!(kills >= 8, "{kills} kills");
}

#[test]
fn after_any_failed_request_a_user_has_one_known_key() {
    let Some(moto) = Moto::start() else { return };
    let wire = Wire::to(moto.port());
    let scene = |number: usize| moto.workspace(&["iam"], wire.port(), &format!("dev{number}"), USER);
    for (trouble, times) in TROUBLES {
        let (places, failed) =
            wire.at_every_request((trouble, times), &["up", "--yes"], scene, |workspace| {
                let [user] = users(&moto).try_into().expect("one user");
                assert_eq!(
                    keys(&moto, &user),
                    [output(workspace, "user.default#shared.robot", "access_key_id")]
                );
                workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
                workspace.purlin(&["destroy", "--yes"]);
                assert_eq!(users(&moto), Vec::<String>::new());
            });
        assert!(places >= 6, "{places} places");
        // The only request that cannot be repeated is the one that creates a key.
        let allowed = if trouble == Trouble::Busy { Some(0) } else { (times == 1).then_some(1) };
        assert!(
            allowed.is_none_or(|most| failed <= most),
            "{times} × {trouble:?} was not tolerated at {failed} places"
        );
    }
}

const PARTS: &str = r#"
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: inline}
spec:
  type: inline
  driver: purlin/iam
  inputs:
    connection: {SIGNED}
    values:
      role_policy: {role: host, name: part, document: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "ACTION", Resource: "*"}]}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: attachment}
spec:
  type: attachment
  driver: purlin/iam
  inputs:
    connection: {SIGNED}
    values: {attachment: {role: host, policy_arn: "arn:aws:iam::aws:policy/job-function/ViewOnlyAccess"}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  shared: {part: {type: inline}, view: {type: attachment}}
"#;

#[test]
fn parts_of_a_role_come_and_go() {
    let Some(moto) = Moto::start() else { return };
    let documents = PARTS.replace("ACTION", "s3:Get");
    let workspace = moto.workspace(&["iam"], moto.port(), "dev", &documents);
    workspace.run(&["up", "--yes"]).status(1).prints("there is no role `host`");
    let trust = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}]});
    moto.ask(
        "iam",
        "create_role",
        json!({"RoleName": "host", "AssumeRolePolicyDocument": trust.to_string()}),
    );
    workspace.purlin(&["up", "--yes"]);
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
    let part = || {
        moto.ask("iam", "get_role_policy", json!({"RoleName": "host", "PolicyName": "part"}))["PolicyDocument"].clone()
    };
    let attached = || {
        names(
            &moto.ask("iam", "list_attached_role_policies", json!({"RoleName": "host"}))["AttachedPolicies"],
            "PolicyName",
        )
    };
    let made = part();
    let wider = made.to_string().replace("s3:Get", "s3:*");
    moto.ask(
        "iam",
        "put_role_policy",
        json!({"RoleName": "host", "PolicyName": "part", "PolicyDocument": wider}),
    );
    moto.ask(
        "iam",
        "detach_role_policy",
        json!({"RoleName": "host", "PolicyArn": "arn:aws:iam::aws:policy/job-function/ViewOnlyAccess"}),
    );
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("1 created, 1 updated");
    assert_eq!((part(), attached()), (made, vec!["ViewOnlyAccess".to_owned()]));
    workspace.purlin(&["destroy", "--yes"]);
    assert_eq!(attached(), Vec::<String>::new());
    assert_eq!(
        moto.try_ask("iam", "get_role_policy", json!({"RoleName": "host", "PolicyName": "part"})),
        Err("NoSuchEntity".to_owned())
    );
}

#[test]
fn missing_and_wrong_inputs_are_reported() {
    let Some(moto) = Moto::start() else { return };
    let fresh = || moto.workspace(&["iam"], moto.port(), "dev", &documents("s3:Get", "x"));
    let workspace = fresh();
    workspace.edit("purlin.yaml", "http: [\"http://127.0.0.1", "http: [\"http://127.0.0.2");
    let target = format!("is not granted requests to `http://127.0.0.1:{}/*`", moto.port());
    workspace.run(&["up", "--yes"]).status(2).prints(&target);
    let workspace = fresh();
    workspace.write("secrets/id", "AKIANOBODYKNOWSTHIS0");
    workspace.run(&["up", "--yes"]).status(1).prints("`access_key_id`: is not known to AWS");
    let workspace = fresh();
    workspace.write("secrets/key", "notthesecret");
    workspace.run(&["up", "--yes"]).status(1).prints("`secret_access_key`: does not belong");
    assert_eq!(policies(&moto), Vec::<String>::new());
    // The same documents succeed with the right key.
    workspace.write("secrets/key", &moto.key.1);
    workspace.purlin(&["up", "--yes"]);
    let wrong = documents("s3:Get", "x")
        .replace("Effect: Allow", "Effect: allow")
        .replace("path: /blue/, description", "path: blue, description");
    rewrite(&moto, &workspace, &wrong);
    workspace
        .run(&["plan"])
        .status(2)
        .prints("has to be `Allow` or `Deny`")
        .prints("has to begin and end with `/`");
}

#[test]
fn the_contract_is_kept() {
    let Some(moto) = Moto::start() else { return };
    let url = format!("http://127.0.0.1:{}", moto.port());
    let cases = std::fs::read_to_string(tools::root().join("drivers/iam/check.yaml")).expect("cases");
    let cases = cases.replace("http://127.0.0.1:5000", &url);
    let cases = cases.replace("AKIDOFTHECHECK", &moto.key.0).replace("secret-of-the-check", &moto.key.1);
    let trust = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}},
    ]});
    let role = json!({"RoleName": "base-role", "AssumeRolePolicyDocument": trust.to_string()});
    moto.ask("iam", "create_role", role);
    let workspace = moto.workspace(&["iam"], moto.port(), "dev", "");
    workspace.write("check.yaml", &cases);
    workspace.purlin(&["driver", "check", "purlin/iam", "--cases", "check.yaml"]).prints(" ok, 2 skipped");
    assert_eq!(
        (policies(&moto), roles(&moto)),
        (Vec::new(), vec!["base-role".to_owned()]),
        "nothing is left"
    );
    assert_eq!(users(&moto), Vec::<String>::new());
}
