use purlin_sdk::{Json, testing};
use serde_json::json;

use crate::Driven;

fn connection(endpoint: Json) -> Json {
    json!({"endpoint": endpoint, "access_key_id": "AKID", "secret_access_key": "key"})
}

fn given(values: &Json) -> testing::GivenInputs {
    testing::inputs(&json!({"connection": connection(json!({})), "values": values}))
}

fn checked(values: &Json) -> Json {
    testing::check::<Driven>(given(values), None).expect("checked").values
}

fn refused(values: &Json) -> String {
    testing::check::<Driven>(given(values), None).map(drop).expect_err("refused").to_string()
}

#[test]
fn inputs_get_one_spelling_and_checking_again_changes_nothing() {
    let once = checked(&json!({"bucket": {"encryption": {"kms_key_id": null}, "lifecycle_rules": [
        {"id": "b", "expire_after_days": 1},
        {"id": "a", "transitions": [], "abort_uploads_after_days": 2},
    ]}}));
    let guresid = testing::subject().guresid;
    let bucket = &once["bucket"];
    assert_eq!(bucket["name"], format!("purlin-{guresid}"));
    assert_eq!(bucket["tags"], json!({"purlin:resource": guresid}));
    assert_eq!(bucket["public_access_block"]["restrict_public_buckets"], true);
    assert_eq!(bucket["encryption"], json!({}));
    assert_eq!(
        bucket["lifecycle_rules"],
        json!([{"id": "a", "abort_uploads_after_days": 2}, {"id": "b", "expire_after_days": 1}])
    );
    assert_eq!(checked(&once), once);
    testing::chosen_inputs_stay::<Driven>(given(&json!({"bucket": {}}))).expect("the same");
    // Another server may not have AWS's public access settings.
    let url = json!({"url": "http://127.0.0.1:9000"});
    let elsewhere = testing::inputs(&json!({"connection": connection(url), "values": {"bucket": {}}}));
    let elsewhere = testing::check::<Driven>(elsewhere, None).expect("checked").values;
    assert_eq!(elsewhere["bucket"].get("public_access_block"), None);
}

/// Those of the inputs win.
#[test]
fn labels_become_tags() {
    let mut subject = testing::subject();
    subject.context.labels = [("owner", "blue"), ("cost", "7")].map(|(a, b)| (a.into(), b.into())).into();
    let inputs = given(&json!({"bucket": {"tags": {"owner": "red"}}}));
    let tags = json!({"owner": "red", "cost": "7", "purlin:resource": subject.guresid});
    let checked = testing::check_as::<Driven>(subject, inputs, None).expect("checked").values;
    assert_eq!(checked["bucket"]["tags"], tags);
}

#[test]
fn unknown_inputs_are_checked_later_and_all_others_at_once() {
    let values = json!({"bucket": {"name": null, "tags": {"a": null}}});
    let unknown = testing::unknown(given(&values), &["/values/bucket/name", "/values/bucket/tags/a"]);
    let found = testing::check::<Driven>(unknown, None).expect("checked").values;
    assert_eq!((&found["bucket"]["name"], &found["bucket"]["tags"]["a"]), (&Json::Null, &Json::Null));
    let values = json!({"bucket_policy": {"bucket": "UPPER", "policy": {"Statement": [{"Resource": null}]}}});
    let unknown = testing::unknown(given(&values), &["/values/bucket_policy/policy/Statement/0/Resource"]);
    let message = testing::check::<Driven>(unknown, None).map(drop).expect_err("refused").to_string();
    assert!(message.contains("/values/bucket_policy/bucket"), "{message}");
    let all = testing::unknown(given(&json!({"bucket": null})), &["/values/bucket"]);
    testing::check::<Driven>(all, None).expect("nothing is known, and nothing is wrong");
}

#[test]
fn wrong_inputs_are_reported_with_pointers() {
    for (values, expected) in [
        (json!({}), "/values: has to contain exactly one of"),
        (
            json!({"bucket": {}, "object": {"bucket": "abc", "key": "k", "content": ""}}),
            "/values: has to contain exactly one of",
        ),
        (
            json!({"bucket": {"name": "ab"}}),
            "/values/bucket/name: is not a valid bucket name: it needs 3 to 63",
        ),
        (
            json!({"bucket": {"name": "a_b"}}),
            "/values/bucket/name: is not a valid bucket name: use only lower-case",
        ),
        (
            json!({"bucket": {"name": "-ab"}}),
            "/values/bucket/name: is not a valid bucket name: it has to begin",
        ),
        (
            json!({"bucket": {"name": "a..b"}}),
            "/values/bucket/name: is not a valid bucket name: it must not have two dots",
        ),
        (
            json!({"bucket": {"name": "10.0.0.1"}}),
            "/values/bucket/name: is not a valid bucket name: it looks like",
        ),
        (json!({"bucket": {"name": "xn--abc"}}), "AWS reserves"),
        (json!({"bucket": {"nam": "abc"}}), "unknown field `nam`"),
        (
            json!({"bucket": {"tags": {"purlin:resource": "x"}}}),
            "/values/bucket/tags/purlin:resource: is set by Purlin",
        ),
        (json!({"bucket": {"tags": {"aws:x": "x"}}}), "/values/bucket/tags/aws:x: "),
        (json!({"bucket": {"tags": {"n": 1}}}), "/values/bucket/tags/n: invalid type"),
        (
            json!({"bucket": {"lifecycle_rules": [{"id": "a"}]}}),
            "/values/bucket/lifecycle_rules/0: has no effect",
        ),
        (
            json!({"bucket": {"lifecycle_rules": [{"id": "a", "other": true}]}}),
            "/values/bucket/lifecycle_rules/0/other: unknown field",
        ),
        (json!({"bucket": {"encryption": {"kms_key_id": "k"}}}), "/values/bucket/encryption/kms_key_id"),
        (
            json!({"object": {"bucket": "abc", "key": "a/../b", "content": ""}}),
            "/values/object/key: must not contain `.`",
        ),
        (json!({"object": {"bucket": "abc", "key": "a"}}), "/values/object/content: is missing"),
        (
            json!({"bucket_policy": {"bucket": "abc", "policy": "{"}}),
            "/values/bucket_policy/policy: is not JSON",
        ),
    ] {
        let message = refused(&values);
        assert!(message.contains(expected), "{values}: {message}");
    }
    let with = |connection: Json| {
        let given = testing::inputs(&json!({"connection": connection, "values": {"bucket": {}}}));
        testing::check::<Driven>(given, None).map(drop).expect_err("refused").to_string()
    };
    let message = with(json!({}));
    assert!(message.contains("`access_key_id`") && message.contains("`secret_access_key`"), "{message}");
    for (endpoint, place) in [
        (json!({"url": "ftp://x"}), "/connection/endpoint/url"),
        (
            json!({"url": "http://x/"}),
            "/connection/endpoint/url: names a server, so it must not end with `/`",
        ),
        (json!({"region": "EU"}), "/connection/endpoint/region"),
    ] {
        let message = with(connection(endpoint));
        assert!(message.contains(place), "{message}");
    }
}

#[test]
fn a_change_of_an_immutable_input_replaces() {
    let state = purlin_sdk::State::new("abc").outputs(json!({"arn": "a"})).expect("a state");
    let impact = |before: Json, after: Json| {
        testing::update_impact::<Driven>(given(&checked(&before)), given(&checked(&after)), &state)
            .expect("an impact")
    };
    let renamed = impact(json!({"bucket": {"name": "abc"}}), json!({"bucket": {"name": "abd"}}));
    assert!(!renamed.delete_before_replace);
    let set =
        impact(json!({"bucket": {"name": "abc"}}), json!({"bucket": {"name": "abc", "versioning": true}}));
    assert!(
        set.replaces.is_empty()
            && set.delete_before_replace
            && set.stable_outputs.contains(&"/outputs/arn".to_owned())
    );
    let other = impact(
        json!({"bucket": {"name": "abc"}}),
        json!({"object": {"bucket": "abc", "key": "k", "content": "x"}}),
    );
    assert_eq!(other.replaces, ["/values/bucket", "/values/object"]);
}

#[test]
fn names_and_addresses_are_certain_before_anything_is_made() {
    let foreseen = |values: Json, unknown: &[&str]| {
        let given = testing::unknown(given(&values), unknown);
        json!(testing::preview::<Driven>(given).expect("a forecast").outputs)
    };
    let region = purlin_sdk_aws::Endpoint::REGION;
    let expected = json!({
        "bucket": "abc", "region": region, "arn": "arn:aws:s3:::abc",
        "domain": format!("abc.s3.{region}.amazonaws.com"), "url": format!("https://abc.s3.{region}.amazonaws.com"),
    });
    let bucket = json!({"bucket": {"name": "abc"}});
    assert_eq!(foreseen(bucket.clone(), &[]), expected);
    assert_eq!(foreseen(bucket.clone(), &["/values/bucket/tags", "/connection/secret_access_key"]), expected);
    assert_eq!(foreseen(bucket.clone(), &["/values/bucket/name"]), json!({}));
    assert_eq!(foreseen(bucket, &["/connection/endpoint/region"]), json!({}));
    let object = json!({"object": {"bucket": "abc", "key": "k", "content": null}});
    assert_eq!(
        foreseen(object, &["/values/object/content"]),
        json!({
            "bucket": "abc", "key": "k", "arn": "arn:aws:s3:::abc/k",
            "url": format!("https://abc.s3.{region}.amazonaws.com/k"),
        })
    );
    let policy = json!({"bucket_policy": {"bucket": "abc", "policy": null}});
    let expected = json!({"bucket": "abc", "arn": "arn:aws:s3:::abc"});
    assert_eq!(foreseen(policy, &["/values/bucket_policy/policy"]), expected);
}

#[test]
fn the_readme_has_the_tables_of_the_schema() {
    testing::check_readme::<Driven>(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
        .expect("the README agrees");
}

#[test]
fn a_name_given_by_the_user_must_be_an_id() {
    for id in ["arn:aws:s3:::abc", "s3://abc", "abc/../other", "Abc", "a?policy", "abc?versioning", "abc/"] {
        let found = testing::find::<Driven>(given(&json!({"bucket": {"name": "abc"}})), Some(id)).map(|_| ());
        let message = found.expect_err("no id").to_string();
        assert!(message.contains("is not an id of this driver"), "{id}: {message}");
    }
}
