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

fn document() -> Json {
    json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": ["b", "a"], "Resource": ["x"]}})
}

fn trust() -> Json {
    json!({"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "123456789012"}}]})
}

#[test]
fn inputs_get_one_spelling_and_checking_again_changes_nothing() {
    let guresid = testing::subject().guresid;
    let policy = checked(&json!({"policy": {"document": document().to_string(), "description": ""}}));
    assert_eq!(
        policy["policy"],
        json!({
            "name": format!("purlin-{guresid}"), "tags": {"purlin:resource": guresid},
            "document": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["a", "b"], "Resource": "x"}]},
        })
    );
    assert_eq!(checked(&policy), policy);
    let attached = ["arn:aws:iam::aws:policy/b", "arn:aws:iam::aws:policy/a", "arn:aws:iam::aws:policy/b"];
    let role = checked(&json!({"role": {"assume_role_policy": trust(), "attached_policies": attached}}));
    assert_eq!(role["role"]["attached_policies"], json!([attached[1], attached[0]]));
    assert_eq!(checked(&role), role);
    let user = checked(&json!({"user": {}}));
    assert_eq!(checked(&user), user);
    for thing in [
        json!({"user": {}}),
        json!({"policy": {"document": document()}}),
        json!({"role": {"assume_role_policy": trust()}}),
    ] {
        testing::chosen_inputs_stay::<Driven>(given(&thing)).expect("the same");
    }
}

#[test]
fn unknown_inputs_are_checked_later_and_all_others_at_once() {
    let values = json!({"role": {"name": "a b", "assume_role_policy": trust(), "attached_policies": [null]}});
    let unknown = testing::unknown(given(&values), &["/values/role/attached_policies/0"]);
    let message = testing::check::<Driven>(unknown, None).map(drop).expect_err("refused").to_string();
    assert!(message.contains("/values/role/name") && !message.contains("attached"), "{message}");
    let values = json!({"role": {"assume_role_policy": trust(), "attached_policies": null}});
    let unknown = testing::unknown(given(&values), &["/values/role/attached_policies"]);
    let found = testing::check::<Driven>(unknown, None).expect("checked").values;
    assert_eq!(found["role"]["attached_policies"], Json::Null, "unknown is not the same as none");
}

#[test]
fn wrong_inputs_are_reported_with_pointers() {
    let role = |more: Json| {
        let mut role = json!({"assume_role_policy": trust()});
        let more = more.as_object().cloned().unwrap_or_default();
        role.as_object_mut().expect("an object").extend(more);
        json!({"role": role})
    };
    let long = json!({"Statement": {"Effect": "Allow", "Action": "x".repeat(6200), "Resource": "x"}});
    for (values, expected) in [
        (json!({}), "/values: has to contain exactly one of"),
        (json!({"user": {}, "policy": {"document": document()}}), "/values: has to contain exactly one of"),
        (
            json!({"policy": {"document": trust()}}),
            "/values/policy/document/Statement/0/Principal: is not allowed",
        ),
        (json!({"policy": {"document": long}}), "AWS takes 6144"),
        (json!({"policy": {"document": document(), "path": "x"}}), "/values/policy/path"),
        (role(json!({"name": "x".repeat(65)})), "/values/role/name: is not a valid name: IAM allows 1 to 64"),
        (
            role(json!({"attached_policies": ["ReadOnlyAccess"]})),
            "/values/role/attached_policies/0: has to be the ARN",
        ),
        (
            role(json!({"tags": {"purlin:access-key": "x"}})),
            "/values/role/tags/purlin:access-key: is set by Purlin",
        ),
        (
            role(json!({"assume_role_policy": document()})),
            "/values/role/assume_role_policy/Statement/0/Resource: is not allowed",
        ),
        (
            json!({"attachment": {"policy_arn": "arn:aws:iam::aws:policy/x"}}),
            "/values/attachment: has to contain exactly one of",
        ),
        (
            json!({"attachment": {"role": "a", "user": "b", "policy_arn": "arn:aws:iam::aws:policy/x"}}),
            "/values/attachment: has to contain exactly one of",
        ),
    ] {
        let message =
            testing::check::<Driven>(given(&values), None).map(drop).expect_err("refused").to_string();
        assert!(message.contains(expected), "{values}: {message}");
    }
}

#[test]
fn ids_identify_the_kind_of_object() {
    let read = |id: &str| testing::find::<Driven>(given(&json!({"user": {}})), Some(id)).map(|_| ());
    let message = read("whatever").expect_err("no id").to_string();
    assert!(message.contains("is not an id of this driver"), "{message}");
    let message = read("arn:aws:s3:::bucket").expect_err("no id").to_string();
    assert!(message.contains("is not an id of this driver"), "{message}");
}

#[test]
fn a_change_of_an_immutable_input_replaces() {
    let state = purlin_sdk::State::new("x");
    let impact = |after: Json| {
        let (before, after) = (given(&checked(&json!({"user": {"name": "a"}}))), given(&checked(&after)));
        testing::update_impact::<Driven>(before, after, &state).expect("an impact")
    };
    let other = impact(json!({"policy": {"document": document()}}));
    assert_eq!(other.replaces, ["/values/policy", "/values/user"]);
    assert!(!impact(json!({"user": {"name": "b"}})).delete_before_replace);
    assert!(impact(json!({"user": {"name": "a"}})).delete_before_replace);
}

#[test]
fn names_and_the_arns_of_attachments_are_certain_before_anything_is_made() {
    let foreseen = |values: Json, unknown: &[&str]| {
        let given = testing::unknown(given(&values), unknown);
        json!(testing::preview::<Driven>(given).expect("a forecast").outputs)
    };
    for (kind, more) in [
        ("policy", json!({"document": null})),
        ("role", json!({"assume_role_policy": null})),
        ("user", json!({"access_key": true})),
    ] {
        let (mut thing, place) = (more, format!("/values/{kind}/name"));
        let unknown: Vec<String> = thing
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| format!("/values/{kind}/{name}"))
            .collect();
        let unknown: Vec<&str> =
            unknown.iter().map(String::as_str).chain(["/connection/access_key_id"]).collect();
        thing["name"] = json!("it");
        let values = json!({kind: thing});
        assert_eq!(foreseen(values.clone(), &unknown), json!({"name": "it"}), "{kind}");
        assert_eq!(foreseen(values, &[&place]), json!({}), "{kind}");
    }
    let part = json!({"role_policy": {"role": "r", "name": "p", "document": null}});
    let expected = json!({"role": "r", "name": "p"});
    assert_eq!(foreseen(part.clone(), &["/values/role_policy/document"]), expected);
    assert_eq!(foreseen(part, &["/values/role_policy/role"]), json!({}));
    let arn = "arn:aws:iam::aws:policy/a";
    for kind in ["role", "user"] {
        let values = json!({"attachment": {kind: "it", "policy_arn": arn}});
        assert_eq!(foreseen(values.clone(), &[]), json!({kind: "it", "policy_arn": arn}));
        assert_eq!(foreseen(values.clone(), &["/values/attachment/policy_arn"]), json!({}));
        assert_eq!(foreseen(values, &[&format!("/values/attachment/{kind}")]), json!({}));
    }
}

#[test]
fn the_readme_has_the_tables_of_the_schema() {
    testing::check_readme::<Driven>(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
        .expect("the README agrees");
}
