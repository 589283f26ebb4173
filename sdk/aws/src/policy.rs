//! Policy documents: read from text or JSON, checked, normalised, and compared by meaning. AWS
//! returns a document in a different form from the one that it received.

use purlin_sdk::{Faults, Json, Object};
use serde_json::json;

/// The kind of object that a document is attached to, which decides what its statements need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// An identity: statements name resources and no principal.
    Identity,
    /// A role that may be assumed: statements name principals and no resource.
    Trust,
    /// A resource: statements name both.
    Resource,
}

/// Keys of a statement whose values are lists without an order.
const LISTS: [&str; 4] = ["Action", "NotAction", "Resource", "NotResource"];

/// The document in canonical form: an object, statements in a list, lists sorted and without
/// duplicates, a list of one item as that item. An invalid document stays as it is, so that
/// [`validate`] reports it.
pub fn canonical(document: &Json) -> Json {
    let parsed = document.as_str().and_then(|text| serde_json::from_str::<Json>(text).ok());
    let mut document = parsed.unwrap_or_else(|| document.clone());
    let Some(fields) = document.as_object_mut() else { return document };
    if let Some(statements) = fields.get_mut("Statement") {
        if statements.is_object() {
            *statements = json!([statements.take()]);
        }
        for statement in statements.as_array_mut().into_iter().flatten() {
            let Some(statement) = statement.as_object_mut() else { continue };
            for (name, value) in statement.iter_mut() {
                match name.as_str() {
                    name if LISTS.contains(&name) => tidy(value),
                    "Principal" | "NotPrincipal" => each(value, tidy),
                    "Condition" => each(value, |keys| each(keys, tidy)),
                    _ => {}
                }
            }
        }
    }
    document
}

fn each(value: &mut Json, change: impl Fn(&mut Json)) {
    value.as_object_mut().into_iter().flatten().for_each(|(_, value)| change(value));
}

fn tidy(value: &mut Json) {
    let Some(list) = value.as_array_mut() else { return };
    if list.iter().all(Json::is_string) {
        list.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        list.dedup();
    }
    if let [Json::String(only)] = list.as_slice() {
        *value = Json::String(only.clone());
    }
}

/// Whether two documents allow and deny the same, as far as their text shows: the order, the form
/// of lists with one item, the case of actions, the names of statements, and whether an account is
/// named by its number or by its ARN do not matter.
pub fn same(a: &Json, b: &Json) -> bool {
    meaning(a) == meaning(b)
}

fn meaning(document: &Json) -> Json {
    let document = canonical(document);
    let version = document.get("Version").cloned().unwrap_or_else(|| json!("2008-10-17"));
    let mut statements: Vec<Json> = document
        .get("Statement")
        .and_then(Json::as_array)
        .map(|statements| statements.iter().map(statement_meaning).collect())
        .unwrap_or_default();
    statements.sort_by_key(Json::to_string);
    statements.dedup();
    json!([version, statements])
}

fn statement_meaning(statement: &Json) -> Json {
    let Some(statement) = statement.as_object() else { return statement.clone() };
    let mut fields: Vec<(String, Json)> = Vec::new();
    for (name, value) in statement {
        let value = match name.as_str() {
            "Sid" => continue,
            "Action" | "NotAction" => set(value, str::to_ascii_lowercase),
            "Principal" | "NotPrincipal" => principals(value),
            "Condition" => sorted(value, |keys| sorted(keys, |values| set(values, str::to_owned))),
            name if LISTS.contains(&name) => set(value, str::to_owned),
            _ => value.clone(),
        };
        fields.push((name.clone(), value));
    }
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    Json::Object(fields.into_iter().collect())
}

/// One value or several as a sorted list of texts.
fn set(value: &Json, spell: impl Fn(&str) -> String) -> Json {
    let all = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let mut texts: Vec<String> =
        all.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), &spell)).collect();
    texts.sort();
    texts.dedup();
    json!(texts)
}

fn sorted(value: &Json, change: impl Fn(&Json) -> Json) -> Json {
    let Some(object) = value.as_object() else { return value.clone() };
    let mut fields: Vec<(&String, &Json)> = object.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    Json::Object(fields.into_iter().map(|(name, value)| (name.clone(), change(value))).collect())
}

/// `*` means everyone however it is written; an account's number means the account.
fn principals(value: &Json) -> Json {
    let anybody = json!({"AWS": "*"});
    let value = if value.as_str() == Some("*") { &anybody } else { value };
    sorted(value, |names| {
        set(names, |name| match account_of(name) {
            Some(account) => account.to_owned(),
            None => name.to_owned(),
        })
    })
}

/// The account, if a principal is a whole account.
fn account_of(principal: &str) -> Option<&str> {
    let account = match principal.split(':').collect::<Vec<_>>().as_slice() {
        ["arn", _, "iam", "", account, "root"] => *account,
        [account] => account,
        _ => return None,
    };
    (account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit())).then_some(account)
}

/// Rejects, with its place, everything that AWS would not accept. The document is canonical.
pub fn validate(document: &Json, kind: PolicyKind, pointer: &str, faults: &mut Faults) {
    let Some(fields) = document.as_object() else {
        let fault = match document.as_str() {
            Some(text) => match serde_json::from_str::<Json>(text) {
                Err(error) => format!("is not JSON: {error}"),
                Ok(_) => "has to be a JSON object".to_owned(),
            },
            None => "has to be a policy document: an object, or a text with one".to_owned(),
        };
        return faults.add(pointer, fault);
    };
    for name in fields.keys().filter(|name| !["Version", "Id", "Statement"].contains(&name.as_str())) {
        faults.add(
            format!("{pointer}/{name}"),
            "is not a field of a policy: the fields are `Version`, `Id` and `Statement`",
        );
    }
    if fields
        .get("Version")
        .is_some_and(|version| !matches!(version.as_str(), Some("2012-10-17" | "2008-10-17")))
    {
        faults.add(
            format!("{pointer}/Version"),
            "has to be \"2012-10-17\", in quotes (or the old \"2008-10-17\")",
        );
    }
    let Some(statements) = fields.get("Statement").and_then(Json::as_array).filter(|list| !list.is_empty())
    else {
        return faults.add(format!("{pointer}/Statement"), "has to hold at least one statement");
    };
    for (index, statement) in statements.iter().enumerate() {
        let place = format!("{pointer}/Statement/{index}");
        match statement.as_object() {
            Some(statement) => validate_statement(statement, kind, &place, faults),
            None => faults.add(place, "has to be an object with `Effect`, `Action` and so on"),
        }
    }
}

fn validate_statement(statement: &Object, kind: PolicyKind, place: &str, faults: &mut Faults) {
    const FIELDS: [&str; 9] = [
        "Sid",
        "Effect",
        "Principal",
        "NotPrincipal",
        "Action",
        "NotAction",
        "Resource",
        "NotResource",
        "Condition",
    ];
    for name in statement.keys().filter(|name| !FIELDS.contains(&name.as_str())) {
        faults.add(
            format!("{place}/{name}"),
            format!("is not a field of a statement: the fields are {}", FIELDS.join(", ")),
        );
    }
    if !matches!(statement.get("Effect").and_then(Json::as_str), Some("Allow" | "Deny")) {
        faults.add(format!("{place}/Effect"), "has to be `Allow` or `Deny`");
    }
    let mut one_of = |name: &str, wanted: bool| {
        let not = format!("Not{name}");
        match (statement.contains_key(name), statement.contains_key(&not), wanted) {
            (true, true, true) => faults
                .add(format!("{place}/{not}"), format!("is given together with `{name}`: give one of them")),
            (false, false, true) => faults.add(format!("{place}/{name}"), "is missing"),
            (true, _, false) => {
                faults.add(format!("{place}/{name}"), "is not allowed in this kind of policy")
            }
            (_, true, false) => faults.add(format!("{place}/{not}"), "is not allowed in this kind of policy"),
            _ => {}
        }
    };
    one_of("Action", true);
    one_of("Resource", kind != PolicyKind::Trust);
    one_of("Principal", kind != PolicyKind::Identity);
    for name in LISTS {
        if let Some(value) = statement.get(name) {
            let all = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            if all.is_empty() || !all.iter().all(Json::is_string) {
                faults.add(format!("{place}/{name}"), "has to be a text or a list of at least one");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(statement: Json) -> Json {
        json!({"Version": "2012-10-17", "Statement": [statement]})
    }

    #[test]
    fn dress_is_not_meaning() {
        let given = statement(json!({
            "Sid": "a", "Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": ["arn:b", "arn:a"],
            "Principal": {"AWS": ["arn:aws:iam::123456789012:root"]},
            "Condition": {"Bool": {"aws:SecureTransport": true}, "StringLike": {"x": ["b", "a"]}},
        }));
        let found = json!({"Statement": {
            "Resource": ["arn:a", "arn:b", "arn:a"], "Action": ["s3:listbucket", "S3:getObject"], "Effect": "Allow",
            "Principal": {"AWS": "123456789012"},
            "Condition": {"StringLike": {"x": ["a", "b"]}, "Bool": {"aws:SecureTransport": "true"}},
        }, "Version": "2012-10-17"});
        assert!(same(&given, &found));
        assert!(same(&given, &json!(found.to_string())), "as text");
        let public =
            |principal: Json| statement(json!({"Effect": "Allow", "Action": "x", "Principal": principal}));
        assert!(same(&public(json!("*")), &public(json!({"AWS": ["*"]}))));
        let two = |a: Json, b: Json| json!({"Statement": [a, b]});
        let (a, b) = (json!({"Effect": "Deny", "Action": "a"}), json!({"Effect": "Allow", "Action": "b"}));
        assert!(same(&two(a.clone(), b.clone()), &two(b, a)));
    }

    #[test]
    fn different_meanings_are_distinguished() {
        let of = |action: &str, resource: &str, effect: &str| {
            statement(json!({"Effect": effect, "Action": action, "Resource": resource}))
        };
        let base = of("s3:Get", "arn:a", "Allow");
        for other in
            [of("s3:Put", "arn:a", "Allow"), of("s3:Get", "arn:A", "Allow"), of("s3:Get", "arn:a", "Deny")]
        {
            assert!(!same(&base, &other), "{other}");
        }
        let mut old = base.clone();
        old["Version"] = json!("2008-10-17");
        assert!(!same(&base, &old), "variables mean something in the new one only");
        let trusts = |who: &str| {
            statement(json!({"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": who}}))
        };
        assert!(!same(&trusts("123456789012"), &trusts("123456789013")));
        assert!(!same(&trusts("123456789012"), &trusts("arn:aws:iam::123456789012:user/x")));
    }

    #[test]
    fn one_way_to_write_it_and_again_the_same() {
        let given = json!({"Version": "2012-10-17", "Statement": {
            "Effect": "Allow", "Action": ["b", "a", "b"], "Resource": ["x"], "Condition": {"B": {"k": ["v"]}},
        }});
        let once = canonical(&given);
        assert_eq!(once["Statement"][0]["Action"], json!(["a", "b"]));
        assert_eq!(once["Statement"][0]["Resource"], json!("x"));
        assert_eq!(canonical(&once), once);
        assert_eq!(canonical(&json!(given.to_string())), once);
        for junk in
            [json!(null), json!(1), json!("{"), json!([]), json!({"Statement": [1, {"Action": [null, "a"]}]})]
        {
            assert_eq!(canonical(&canonical(&junk)), canonical(&junk));
        }
    }

    #[test]
    fn faults_are_reported_with_pointers() {
        let faults = |document: Json, kind| {
            let mut faults = Faults::default();
            validate(&canonical(&document), kind, "/values/policy", &mut faults);
            faults.into_result().map_or_else(|failure| failure.to_string(), |()| String::new())
        };
        let good = json!({"Effect": "Allow", "Action": "a", "Resource": "b"});
        assert_eq!(faults(statement(good.clone()), PolicyKind::Identity), "");
        for (document, kind, expected) in [
            (json!("{"), PolicyKind::Identity, "/values/policy: is not JSON"),
            (json!({"Version": "2012-10-17"}), PolicyKind::Identity, "/values/policy/Statement: has to hold"),
            (json!({"Version": "2012", "Statement": good}), PolicyKind::Identity, "/values/policy/Version: "),
            (
                statement(good.clone()),
                PolicyKind::Resource,
                "/values/policy/Statement/0/Principal: is missing",
            ),
            (
                statement(good.clone()),
                PolicyKind::Trust,
                "/values/policy/Statement/0/Resource: is not allowed",
            ),
            (
                statement(json!({"Effect": "allow", "Action": "a", "Resource": "b"})),
                PolicyKind::Identity,
                "/Effect: ",
            ),
            (
                statement(json!({"Effect": "Deny", "Action": [], "Resource": "b"})),
                PolicyKind::Identity,
                "/Action: has to be a text",
            ),
            (
                statement(json!({"Effect": "Deny", "Actions": "a", "Resource": "b"})),
                PolicyKind::Identity,
                "/Actions: is not a field",
            ),
        ] {
            let message = faults(document.clone(), kind);
            assert!(message.contains(expected), "{document}: {message}");
        }
    }
}
