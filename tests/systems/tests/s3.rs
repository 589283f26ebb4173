//! `purlin/s3` against moto, which checks every signature; boto3 checks the result.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

use purlin_systems::moto::stumble::{TROUBLES, Trouble, Wire};
use purlin_systems::moto::{Moto, names};
use purlin_systems::{Project, Proxy, at_every_message, tools};
use serde_json::{Value, json};

/// A definition of buckets, and one bucket. `BUCKET` is its content.
const BUCKET: &str = r#"
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: s3}
spec:
  type: s3
  driver: purlin/s3
  inputs:
    connection: {SIGNED}
    values: {bucket: BUCKET}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  shared: {pics: {type: s3}}
"#;

const FULL: &str = r#"{
  name: shop-pics,
  versioning: true,
  tags: {team: "grün + blau", "a/b c": "", cost-centre: "12=3"},
  public_access_block: {restrict_public_buckets: false},
  encryption: {algorithm: "aws:kms", kms_key_id: "arn:aws:kms:eu-west-1:123456789012:key/1", bucket_key: true},
  lifecycle_rules: [
    {id: tmp, prefix: "tmp/ä & <b>/", expire_after_days: 3, abort_uploads_after_days: 1},
    {id: archive, transitions: [{after_days: 30, storage_class: GLACIER}], expire_noncurrent_after_days: 90, enabled: false}
  ]
}"#;

fn documents(bucket: &str) -> String {
    BUCKET.replace("BUCKET", bucket)
}

fn workspace(moto: &Moto, port: u16, env: &str, bucket: &str) -> Project {
    moto.workspace(&["s3"], port, env, &documents(bucket))
}

/// Writes the documents again.
fn rewrite(moto: &Moto, workspace: &Project, bucket: &str) {
    let other = moto.workspace(&["s3"], moto.port(), "dev", &documents(bucket));
    let text = other.read("documents.yaml");
    workspace.write("documents.yaml", &text);
}

fn bucket(name: &str) -> Value {
    json!({"Bucket": name})
}

/// All settings of `shop-pics`, from boto3.
fn settings(moto: &Moto) -> [Value; 5] {
    let ask = |call: &str| moto.try_ask("s3", call, bucket("shop-pics")).unwrap_or_else(Value::String);
    [
        moto.bucket_tags("shop-pics"),
        ask("get_bucket_versioning"),
        ask("get_public_access_block"),
        ask("get_bucket_encryption"),
        ask("get_bucket_lifecycle_configuration"),
    ]
}

#[test]
fn a_bucket_is_created_changed_and_deleted_and_drift_is_repaired() {
    let Some(moto) = Moto::start() else { return };
    let workspace = workspace(&moto, moto.port(), "dev", FULL);
    workspace.purlin(&["up", "--yes"]).prints("created s3.default#shared.pics");
    let made = settings(&moto);
    let [tags, versioning, block, encryption, lifecycle] = &made;
    assert_eq!(
        (&tags["team"], &tags["a/b c"], &tags["cost-centre"]),
        (&json!("grün + blau"), &json!(""), &json!("12=3"))
    );
    assert_eq!(tags["purlin:resource"].as_str().map(str::len), Some(40));
    assert_eq!(versioning["Status"], "Enabled");
    let block = &block["PublicAccessBlockConfiguration"];
    assert_eq!((&block["BlockPublicAcls"], &block["RestrictPublicBuckets"]), (&json!(true), &json!(false)));
    let rule = &encryption["ServerSideEncryptionConfiguration"]["Rules"][0];
    assert_eq!(rule["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"], "aws:kms");
    assert_eq!(names(&lifecycle["Rules"], "ID"), ["archive", "tmp"]);
    let outputs = workspace.purlin(&["outputs", "--format", "json"]).json();
    let outputs = &outputs["resources"]["s3.default#shared.pics"];
    assert_eq!((&outputs["bucket"], &outputs["region"]), (&json!("shop-pics"), &json!("eu-west-1")));
    assert_eq!(outputs["arn"], "arn:aws:s3:::shop-pics");
    let place = moto.ask("s3", "get_bucket_location", bucket("shop-pics"));
    assert_eq!(place["LocationConstraint"], "eu-west-1");

    // There is nothing to do, even after a read.
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
    workspace.purlin(&["plan", "--refresh", "--detailed-exitcode"]).prints("up to date");

    // Somebody changes everything manually.
    let tag_set = json!([{"Key": "team", "Value": "red"}, {"Key": "new", "Value": "x"}]);
    moto.ask("s3", "put_bucket_tagging", json!({"Bucket": "shop-pics", "Tagging": {"TagSet": tag_set}}));
    let suspended = json!({"Bucket": "shop-pics", "VersioningConfiguration": {"Status": "Suspended"}});
    moto.ask("s3", "put_bucket_versioning", suspended);
    moto.ask("s3", "delete_public_access_block", bucket("shop-pics"));
    moto.ask("s3", "delete_bucket_encryption", bucket("shop-pics"));
    moto.ask("s3", "delete_bucket_lifecycle", bucket("shop-pics"));
    let plan = workspace.run(&["plan", "--refresh", "--verbose", "--detailed-exitcode"]).status(3);
    for place in [
        "tags.team",
        "tags.new",
        "tags.purlin:resource",
        "versioning",
        "block_public_acls",
        "encryption",
        "lifecycle_rules",
    ] {
        assert!(plan.out.contains(place), "{place} is not shown: {plan}");
    }
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("updated s3.default#shared.pics");
    assert_eq!(settings(&moto), made);
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");

    // Settings that are no longer mentioned are reset.
    rewrite(&moto, &workspace, "{name: shop-pics}");
    workspace.purlin(&["up", "--yes"]).prints("updated s3.default#shared.pics");
    let [tags, versioning, block, _, lifecycle] = settings(&moto);
    assert_eq!(tags.as_object().map(serde_json::Map::len), Some(1), "{tags}");
    assert_eq!(
        (&versioning["Status"], &block),
        (&json!("Suspended"), &json!("NoSuchPublicAccessBlockConfiguration"))
    );
    assert_eq!(lifecycle, "NoSuchLifecycleConfiguration");
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");

    // Another name is another bucket.
    rewrite(&moto, &workspace, "{name: shop-pics-2}");
    workspace.run(&["up", "--yes"]).status(2).prints("1 resource would lose its data");
    assert_eq!(moto.buckets(), ["shop-pics"]);
    workspace.purlin(&["up", "--yes", "--allow-data-loss"]).prints("replaced");
    assert_eq!(moto.buckets(), ["shop-pics-2"]);

    // It is deleted manually, and created again.
    moto.ask("s3", "delete_bucket", bucket("shop-pics-2"));
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("created s3.default#shared.pics");
    assert_eq!(moto.buckets(), ["shop-pics-2"]);
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(moto.buckets(), Vec::<String>::new());
}

#[test]
fn a_bucket_with_objects_is_deleted_only_if_forced() {
    let Some(moto) = Moto::start() else { return };
    let workspace = workspace(&moto, moto.port(), "dev", "{name: full, versioning: true}");
    workspace.purlin(&["up", "--yes"]);
    let put = |key: &str| {
        moto.ask("s3", "put_object", json!({"Bucket": "full", "Key": key, "Body": "x"}));
    };
    for key in ["a b+c", "ü/~*'()", "x&y=z?#%41", " leading", "<tag>\"&amp;"] {
        put(key);
        put(key);
    }
    moto.ask("s3", "delete_object", json!({"Bucket": "full", "Key": "a b+c"}));
    for number in 0..1040 {
        put(&format!("many/{number}"));
    }
    workspace
        .run(&["destroy", "--yes", "--allow-data-loss"])
        .status(1)
        .prints("the bucket `full` is not empty");
    assert_eq!(moto.buckets(), ["full"]);
    let kept = moto.ask("s3", "list_object_versions", bucket("full"));
    assert_eq!(kept["IsTruncated"], true, "nothing was deleted");

    rewrite(&moto, &workspace, "{name: full, versioning: true, force_destroy: true}");
    workspace.purlin(&["up", "--yes"]);
    // Without its mark it could be another's.
    moto.ask("s3", "delete_bucket_tagging", bucket("full"));
    workspace.run(&["destroy", "--yes", "--allow-data-loss"]).status(1).prints("has lost the tag");
    workspace.purlin(&["up", "--yes", "--refresh"]);
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(moto.buckets(), Vec::<String>::new());
}

#[test]
fn a_foreign_bucket_is_unchanged_until_adopted() {
    let Some(moto) = Moto::start() else { return };
    let make = |name: &str| {
        let place = json!({"LocationConstraint": "eu-west-1"});
        moto.ask("s3", "create_bucket", json!({"Bucket": name, "CreateBucketConfiguration": place}));
    };
    make("theirs");
    let mine = workspace(&moto, moto.port(), "dev", "{name: theirs}");
    mine.run(&["up", "--yes"]).status(1).prints("the bucket `theirs` already exists").prints("purlin import");
    assert_eq!(moto.bucket_tags("theirs"), json!({}));
    mine.purlin(&["import", "--yes", "s3#shared.pics", "theirs"]);
    mine.purlin(&["up", "--yes"]).prints("updated");
    assert_ne!(moto.bucket_tags("theirs"), json!({}), "it bears the mark now");
    // A second resource cannot have it, neither by name nor by import.
    let second = workspace(&moto, moto.port(), "other", "{name: theirs}");
    second.run(&["up", "--yes"]).status(1).prints("belongs to another resource");
    second
        .run(&["import", "--yes", "s3#shared.pics", "theirs"])
        .status(1)
        .prints("belongs to another resource");
    // Under another name in the documents it is still the resource's own.
    mine.edit("documents.yaml", "shared: {pics:", "shared: {photos:");
    mine.purlin(&["state", "rename", "s3#shared.pics", "s3#shared.photos"]);
    mine.purlin(&["up", "--yes", "--refresh"]);
    mine.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(moto.buckets(), Vec::<String>::new());
}

#[test]
fn killed_at_any_message_there_is_one_bucket_and_no_orphan() {
    let Some(moto) = Moto::start() else { return };
    let proxy = Proxy::to(moto.port());
    for name in ["", "name: chosen-NUMBER, "] {
        let template = format!("{{{name}versioning: true, tags: {{a: b}}, public_access_block: {{}}}}");
        let scene = |number: usize| {
            let bucket = template.replace("NUMBER", &number.to_string());
            workspace(&moto, proxy.port(), &format!("dev{number}"), &bucket)
        };
        let kills = at_every_message(&proxy, &["up", "--yes"], scene, |_, workspace| {
            let buckets = moto.buckets();
            assert_eq!(buckets.len(), 1, "{buckets:?}");
            let name = &buckets[0];
            let tags = moto.bucket_tags(name);
            assert!(tags["a"] == "b" && tags.get("purlin:resource").is_some(), "{tags}");
            let versioning = moto.ask("s3", "get_bucket_versioning", bucket(name));
            assert_eq!(versioning["Status"], "Enabled");
            moto.ask("s3", "get_public_access_block", bucket(name));
            workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
            workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
            assert_eq!(moto.buckets(), Vec::<String>::new());
        });
        assert!(kills >= 10, "{kills} kills");
    }
}

#[test]
fn killed_at_any_message_of_a_change_it_is_made_in_the_end() {
    let Some(moto) = Moto::start() else { return };
    let proxy = Proxy::to(moto.port());
    let scene = |_| {
        let workspace =
            workspace(&moto, proxy.port(), "dev", "{name: shop-pics, encryption: {}, versioning: true}");
        workspace.purlin(&["up", "--yes"]);
        let changed = self::workspace(
            &moto,
            proxy.port(),
            "dev",
            "{name: shop-pics, tags: {a: b}, public_access_block: {}}",
        );
        let text = changed.read("documents.yaml");
        workspace.write("documents.yaml", &text);
        workspace
    };
    let kills = at_every_message(&proxy, &["up", "--yes"], scene, |_, workspace| {
        let [tags, versioning, block, ..] = settings(&moto);
        assert_eq!((&tags["a"], &versioning["Status"]), (&json!("b"), &json!("Suspended")));
        assert_eq!(block["PublicAccessBlockConfiguration"]["BlockPublicPolicy"], true);
        workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
        workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    });
    assert!(kills >= 10, "{kills} kills");
}

#[test]
fn after_any_failed_request_there_is_one_bucket() {
    let Some(moto) = Moto::start() else { return };
    let wire = Wire::to(moto.port());
    for (trouble, times) in TROUBLES {
        let scene = |number: usize| {
            let bucket = format!(
                "{{name: chosen-{number}, versioning: true, tags: {{a: b}}, public_access_block: {{}}}}"
            );
            workspace(&moto, wire.port(), "dev", &bucket)
        };
        let (places, failed) =
            wire.at_every_request((trouble, times), &["up", "--yes"], scene, |workspace| {
                let [name] = moto.buckets().try_into().expect("one bucket");
                assert_eq!(moto.bucket_tags(&name)["a"], "b");
                moto.ask("s3", "get_public_access_block", bucket(&name));
                workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
                workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
                assert_eq!(moto.buckets(), Vec::<String>::new());
            });
        assert!(places >= 4, "{places} places");
        // If the server asks for a retry, the driver retries.
        let must_be_tolerated = times == 1 || trouble == Trouble::Busy;
        assert!(
            !must_be_tolerated || failed == 0,
            "{times} × {trouble:?} must be tolerated everywhere, but failed at {failed} places"
        );
    }
}

#[test]
fn killed_at_any_message_a_deletion_can_be_completed() {
    let Some(moto) = Moto::start() else { return };
    let proxy = Proxy::to(moto.port());
    let scene = |number: usize| {
        let name = format!("gone-{number}");
        let workspace =
            workspace(&moto, proxy.port(), "dev", &format!("{{name: {name}, force_destroy: true}}"));
        workspace.purlin(&["up", "--yes"]);
        for key in ["a", "b c"] {
            moto.ask("s3", "put_object", json!({"Bucket": name, "Key": key, "Body": "x"}));
        }
        workspace
    };
    let kills = at_every_message(&proxy, &["destroy", "--yes", "--allow-data-loss"], scene, |_, _| {
        assert_eq!(moto.buckets(), Vec::<String>::new());
    });
    assert!(kills >= 6, "{kills} kills");
}

const POLICY: &str = r#"
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: s3}
spec:
  type: s3
  driver: purlin/s3
  inputs:
    connection: {SIGNED}
    values: {bucket: {name: guarded}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: s3-policy}
spec:
  type: s3-policy
  driver: purlin/s3
  inputs:
    connection: {SIGNED}
    values:
      bucket_policy:
        bucket: "${resources['s3.default#shared.pics'].outputs.bucket}"
        policy:
          Version: "2012-10-17"
          Statement:
            Effect: Allow
            Principal: {AWS: ["123456789012"]}
            Action: [ACTIONS]
            Resource: ["${resources['s3.default#shared.pics'].outputs.arn}/*", "${resources['s3.default#shared.pics'].outputs.arn}"]
            Condition: {Bool: {"aws:SecureTransport": true}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  shared: {pics: {type: s3}, guard: {type: s3-policy}}
"#;

#[test]
fn a_bucket_policy_is_compared_by_meaning() {
    let Some(moto) = Moto::start() else { return };
    let documents = |actions: &str| POLICY.replace("ACTIONS", actions);
    let workspace = moto.workspace(&["s3"], moto.port(), "dev", &documents("s3:GetObject, s3:ListBucket"));
    workspace.purlin(&["up", "--yes"]);
    let policy = || {
        let answer = moto.ask("s3", "get_bucket_policy", bucket("guarded"));
        serde_json::from_str::<Value>(answer["Policy"].as_str().expect("a text")).expect("JSON")
    };
    let made = policy();
    assert_eq!(made["Statement"][0]["Resource"], json!(["arn:aws:s3:::guarded", "arn:aws:s3:::guarded/*"]));
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
    let put = |policy: &Value| {
        moto.ask("s3", "put_bucket_policy", json!({"Bucket": "guarded", "Policy": policy.to_string()}));
    };
    // The same in another form.
    put(&json!({"Statement": [{
        "Sid": "x", "Action": ["s3:listbucket", "s3:GetObject"], "Effect": "Allow",
        "Condition": {"Bool": {"aws:SecureTransport": ["true"]}},
        "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
        "Resource": ["arn:aws:s3:::guarded/*", "arn:aws:s3:::guarded"],
    }], "Version": "2012-10-17"}));
    workspace.purlin(&["plan", "--refresh", "--detailed-exitcode"]).prints("up to date");
    // More rights.
    let mut wider = made.clone();
    wider["Statement"][0]["Action"] = json!("s3:*");
    put(&wider);
    workspace.run(&["plan", "--refresh", "--verbose", "--detailed-exitcode"]).status(3).prints("s3:*");
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("updated s3-policy");
    assert_eq!(policy(), made);
    // Removed entirely.
    moto.ask("s3", "delete_bucket_policy", bucket("guarded"));
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("created s3-policy");
    assert_eq!(policy(), made);
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(moto.buckets(), Vec::<String>::new());
}

/// Contents of keys and texts that cause errors in signatures.
const KEYS: [&str; 8] = [
    "plain",
    "a b+c",
    "ü/~*'()!@:,;$=&",
    "x?y#z%41%2F",
    "[]{}|^`<>\"\\",
    "deep//twice/",
    " lead and trail ",
    "日本/🦀",
];

#[test]
fn objects_with_any_key_arrive() {
    let Some(moto) = Moto::start() else { return };
    moto.ask(
        "s3",
        "create_bucket",
        json!({"Bucket": "keys", "CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}),
    );
    let definition = r#"
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: object}
spec:
  type: object
  driver: purlin/s3
  inputs:
    connection: {SIGNED}
    values:
      object: {bucket: keys, key: "${params.key}", content: "${params.content}", content_type: "text/plain; charset=utf-8"}
  criteria: [{}]
"#;
    let workspace = moto.workspace(&["s3"], moto.port(), "dev", definition);
    let wanted = |content: &str| {
        let shared: serde_json::Map<String, Value> = KEYS
            .iter()
            .enumerate()
            .map(|(index, key)| {
                (
                    format!("o{index}"),
                    json!({"type": "object", "params": {"key": key, "content": format!("{content} {key}")}}),
                )
            })
            .collect();
        let deployment =
            json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": {"shared": shared}});
        workspace.write("deployment.json", deployment.to_string());
    };
    wanted("first");
    workspace.purlin(&["up", "--yes"]);
    let content =
        |key: &str| moto.ask("s3", "get_object", json!({"Bucket": "keys", "Key": key}))["Body"].clone();
    for key in KEYS {
        assert_eq!(content(key), format!("first {key}"));
    }
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
    moto.ask("s3", "put_object", json!({"Bucket": "keys", "Key": "a b+c", "Body": "by hand"}));
    moto.ask("s3", "delete_object", json!({"Bucket": "keys", "Key": "plain"}));
    workspace.run(&["plan", "--refresh", "--verbose", "--detailed-exitcode"]).status(3).prints("by hand");
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("1 created, 1 updated");
    wanted("second");
    workspace.purlin(&["up", "--yes"]).prints("8 updated");
    assert_eq!(content("日本/🦀"), "second 日本/🦀");
    // Another owner's object is not overwritten.
    let other = moto.workspace(&["s3"], moto.port(), "other", definition);
    other.write("deployment.json", workspace.read("deployment.json"));
    other.run(&["up", "--yes"]).status(1).prints("the object `keys/plain` already exists");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert!(moto.ask("s3", "list_objects_v2", bucket("keys")).get("Contents").is_none());
}

#[test]
fn contents_of_a_secret_object_are_never_shown_but_drift_is() {
    let Some(moto) = Moto::start() else { return };
    moto.ask(
        "s3",
        "create_bucket",
        json!({"Bucket": "safe", "CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}),
    );
    let documents = r#"
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: object}
spec:
  type: object
  driver: purlin/s3
  inputs:
    connection: {SIGNED}
    values: {object: {bucket: safe, key: token}}
    secret_refs: {content: {store: keys, ref: content}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  shared: {token: {type: object}}
"#;
    let workspace = moto.workspace(&["s3"], moto.port(), "dev", documents);
    workspace.write("secrets/content", "very-secret-content");
    let up = workspace.purlin(&["up", "--yes", "--verbose"]);
    assert!(!format!("{up}").contains("very-secret-content"));
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("up to date");
    let object = json!({"Bucket": "safe", "Key": "token"});
    moto.ask("s3", "put_object", json!({"Bucket": "safe", "Key": "token", "Body": "by hand"}));
    workspace.run(&["plan", "--refresh", "--detailed-exitcode"]).status(3).prints("1 to update");
    workspace.purlin(&["up", "--yes", "--refresh"]).prints("updated object");
    assert_eq!(moto.ask("s3", "get_object", object)["Body"], "very-secret-content");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
}

#[test]
fn temporary_credentials_come_with_their_token() {
    let Some(moto) = Moto::start() else { return };
    let all =
        json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]});
    let trust = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}},
    ]});
    let role = moto.ask(
        "iam",
        "create_role",
        json!({"RoleName": "operator", "AssumeRolePolicyDocument": trust.to_string()}),
    );
    let inline = json!({"RoleName": "operator", "PolicyName": "all", "PolicyDocument": all.to_string()});
    moto.ask("iam", "put_role_policy", inline);
    let request = json!({"RoleArn": role["Role"]["Arn"], "RoleSessionName": "test"});
    let session = moto.ask("sts", "assume_role", request)["Credentials"].clone();
    let text = |name: &str| session[name].as_str().expect("a text").to_owned();
    let documents =
        documents("{name: by-token}").replace("SIGNED", "SIGNED, session_token: {store: keys, ref: token}");
    let workspace = moto.workspace(&["s3"], moto.port(), "dev", &documents);
    workspace.write("secrets/id", text("AccessKeyId"));
    workspace.write("secrets/key", text("SecretAccessKey"));
    workspace.write("secrets/token", "not-the-token");
    workspace.run(&["up", "--yes"]).status(1).prints("`session_token`");
    workspace.write("secrets/token", text("SessionToken"));
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(moto.buckets(), ["by-token"]);
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
}

#[test]
fn missing_and_wrong_inputs_are_reported() {
    let Some(moto) = Moto::start() else { return };
    let fresh = || workspace(&moto, moto.port(), "dev", "{name: nothing-comes-of-it}");
    // No grant.
    let workspace = fresh();
    let text = workspace.read("purlin.yaml");
    workspace.write("purlin.yaml", text.replace("http: [\"http://127.0.0.1", "http: [\"http://127.0.0.2"));
    let grant = format!("http://127.0.0.1:{}/nothing-comes-of-it", moto.port());
    workspace.run(&["up", "--yes"]).status(1).prints("`purlin/s3` is not granted requests to").prints(&grant);
    // Unknown keys, and keys that do not match.
    let workspace = fresh();
    workspace.write("secrets/id", "AKIANOBODYKNOWSTHIS0");
    workspace.run(&["up", "--yes"]).status(1).prints("`access_key_id`: is not known to AWS");
    let workspace = fresh();
    workspace.write("secrets/key", "notthesecret");
    let done = workspace.run(&["up", "--yes"]).status(1).prints("`secret_access_key`: does not belong");
    assert!(!done.err.contains("notthesecret"), "{done}");
    // Keys with fewer rights.
    let document = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": ["s3:GetBucketTagging", "s3:ListAllMyBuckets"], "Resource": "*"},
    ]});
    moto.ask("iam", "create_user", json!({"UserName": "reader"}));
    let policy = json!({"UserName": "reader", "PolicyName": "read", "PolicyDocument": document.to_string()});
    moto.ask("iam", "put_user_policy", policy);
    let key = moto.ask("iam", "create_access_key", json!({"UserName": "reader"}));
    let workspace = fresh();
    workspace.write("secrets/id", key["AccessKey"]["AccessKeyId"].as_str().expect("a text"));
    workspace.write("secrets/key", key["AccessKey"]["SecretAccessKey"].as_str().expect("a text"));
    workspace.run(&["up", "--yes"]).status(1).prints("the credentials may not do `s3:CreateBucket`");
    assert_eq!(moto.buckets(), Vec::<String>::new());
    // With the right ones the same documents succeed.
    workspace.write("secrets/id", &moto.key.0);
    workspace.write("secrets/key", &moto.key.1);
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(moto.buckets(), ["nothing-comes-of-it"]);
    // Wrong inputs are found before anything runs.
    let wrong = |bucket: &str| self::workspace(&moto, moto.port(), "dev", bucket).run(&["plan"]).status(2);
    wrong("{name: \"Not_A_Bucket\", tags: {\"aws:x\": y}}").prints("lower-case letters").prints("`aws:`");
    wrong("{encryption: {algorithm: rot13}}")
        .prints("`bucket.encryption.algorithm` is `rot13`")
        .prints("AES256");
}

#[test]
fn the_contract_is_kept() {
    let Some(moto) = Moto::start() else { return };
    let url = format!("http://127.0.0.1:{}", moto.port());
    let cases = std::fs::read_to_string(tools::root().join("drivers/s3/check.yaml")).expect("cases");
    let cases = cases.replace("http://127.0.0.1:5000", &url);
    let cases = cases.replace("AKIDOFTHECHECK", &moto.key.0).replace("secret-of-the-check", &moto.key.1);
    for name in ["base-bucket", "base-bucket-2"] {
        let place = json!({"LocationConstraint": "eu-west-1"});
        moto.ask("s3", "create_bucket", json!({"Bucket": name, "CreateBucketConfiguration": place}));
    }
    let workspace = moto.workspace(&["s3"], moto.port(), "dev", "");
    workspace.write("check.yaml", &cases);
    workspace.purlin(&["driver", "check", "purlin/s3", "--cases", "check.yaml"]).prints(" ok, 3 skipped");
    assert_eq!(moto.buckets(), ["base-bucket", "base-bucket-2"], "nothing is left");
}
