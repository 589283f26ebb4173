//! The words for each keyword.

#![allow(clippy::expect_used, reason = "a test")]

use purlin_model::Value;
use purlin_schema::{Schema, Subject, say};
use serde_json::{Value as Json, json};

fn messages_of(subject: Subject<'_>, schema: Json, value: Value) -> Vec<String> {
    let schema = Schema::new(&schema).expect("a schema");
    let faults = schema.validate(&value).expect("within bounds");
    let line = |violation| {
        let text = say(subject, violation);
        let notes: String = text.notes.iter().map(|note| format!(" ({note})")).collect();
        match text.help {
            Some(help) => format!("{}{notes} — {help}", text.message),
            None => format!("{}{notes}", text.message),
        }
    };
    faults.iter().map(line).collect()
}

fn messages(rule: Json, value: Json) -> Vec<String> {
    let schema = json!({"properties": {"a": rule}});
    messages_of(Subject::Params("dns"), schema, json!({"a": value}).into())
}

#[test]
fn each_keyword_has_words() {
    for (rule, value, words) in [
        (
            json!({"type": "integer"}),
            json!("60"),
            "`a` is `60`, a string; `dns` takes a whole number — write `60` without quotes",
        ),
        (
            json!({"type": "string"}),
            json!(5),
            "`a` is 5, a number; `dns` takes a string — write it in quotes: `\"5\"`",
        ),
        (
            json!({"type": "boolean"}),
            json!("yes"),
            "`a` is `yes`, a string; `dns` takes true or false — write `true` without quotes",
        ),
        (
            json!({"type": ["array", "null"]}),
            json!("x"),
            "`a` is `x`, a string; `dns` takes a list — write it as a list: `[…]`",
        ),
        (
            json!({"type": ["object", "array"]}),
            json!(null),
            "`a` is null; `dns` takes a map or a list — give it a value, or leave it out",
        ),
        (json!({"type": "string"}), json!({}), "`a` is a map; `dns` takes a string"),
        (
            json!({"enum": ["password", "id", "pet"]}),
            json!("pasword"),
            "`a` is `pasword`; `dns` takes `password`, `id` or `pet` — did you mean `password`?",
        ),
        (json!({"enum": [1, 2]}), json!(3), "`a` is 3; `dns` takes 1 or 2"),
        (json!({"const": "v1"}), json!("v2"), "`a` is `v2`; `dns` takes `v1` only"),
        (json!({"minimum": 60}), json!(30), "`a` is 30; `dns` allows 60 or more"),
        (json!({"maximum": 60}), json!(90), "`a` is 90; `dns` allows 60 or less"),
        (json!({"exclusiveMinimum": 0}), json!(0), "`a` is 0; `dns` allows more than 0"),
        (json!({"exclusiveMaximum": 1}), json!(1), "`a` is 1; `dns` allows less than 1"),
        (json!({"multipleOf": 5}), json!(7), "`a` is 7; `dns` allows multiples of 5"),
        (json!({"minLength": 2}), json!("x"), "`a` has 1 character; `dns` allows 2 or more"),
        (json!({"maxLength": 1}), json!("xyz"), "`a` has 3 characters; `dns` allows 1 at most"),
        (json!({"pattern": "^[a-z]+$"}), json!("A"), "`a` is `A`; `dns` takes text that matches `^[a-z]+$`"),
        (json!({"format": "ipv4"}), json!("x"), "`a` is `x`; `dns` takes an IPv4 address"),
        (json!({"minItems": 2}), json!([1]), "`a` has 1 item; `dns` allows 2 or more"),
        (json!({"maxItems": 1}), json!([1, 2]), "`a` has 2 items; `dns` allows 1 at most"),
        (
            json!({"uniqueItems": true}),
            json!([1, 2, 1]),
            "`a` has the same item at 0 and 2; `dns` takes each once",
        ),
        (
            json!({"contains": {"const": 1}}),
            json!([2]),
            "`a` has 0 items of the form that `dns` looks for; it allows 1 or more",
        ),
        (
            json!({"items": {"type": "string"}}),
            json!(["x", 1]),
            "`a[1]` is 1, a number; `dns` takes a string — write it in quotes: `\"1\"`",
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": false}),
            json!(["x", 1]),
            "`dns` takes no parameter `a[1]` here — remove it",
        ),
        (
            json!({"required": ["b"], "properties": {"b": {"type": "string"}}}),
            json!({}),
            "`dns` needs the parameter `a.b` — add `b: TEXT`",
        ),
        (json!({"minProperties": 1}), json!({}), "`a` has 0 entries; `dns` allows 1 or more"),
        (json!({"maxProperties": 1}), json!({"x": 1, "y": 2}), "`a` has 2 entries; `dns` allows 1 at most"),
        (
            json!({"properties": {"colour": {}}, "additionalProperties": false}),
            json!({"color": 1}),
            "`dns` has no parameter `a.color` — did you mean `colour`?",
        ),
        (
            json!({"unevaluatedProperties": false, "properties": {"colour": {}}}),
            json!({"color": 1}),
            "`dns` has no parameter `a.color` — did you mean `colour`?",
        ),
        (
            json!({"dependentRequired": {"x": ["y"]}}),
            json!({"x": 1}),
            "`x` needs the parameter `y` beside it — add `y: VALUE`",
        ),
        (
            json!({"dependentSchemas": {"x": {"required": ["y"]}}}),
            json!({"x": 1}),
            "`dns` needs the parameter `a.y` — add `y: VALUE`",
        ),
        (
            json!({"propertyNames": {"pattern": "^[a-z]+$"}}),
            json!({"X": 1}),
            "the name `a.X` is `X`; `dns` takes text that matches `^[a-z]+$`",
        ),
        (json!({"not": {"const": 1}}), json!(1), "`a` has a value that `dns` does not allow"),
        (json!(false), json!(1), "`dns` takes no parameter `a` here — remove it"),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!(5),
            "`a` is 5, a number; `dns` takes a string — write it in quotes: `\"5\"`",
        ),
        (
            json!({"oneOf": [{"const": "a"}, {"const": "b"}]}),
            json!("c"),
            "`a` is `c`; `dns` takes `a` or `b` — did you mean `a`?",
        ),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "object", "required": ["x"]}]}),
            json!({}),
            "`dns` needs the parameter `a.x` — add `x: VALUE`",
        ),
        (
            json!({"anyOf": [{"required": ["x"]}, {"required": ["y", "z"]}]}),
            json!({}),
            "`dns` needs `x` or `y` and `z` in `a`",
        ),
        (
            json!({"oneOf": [{"required": ["x"]}, {"required": ["y"]}]}),
            json!({"x": 1, "y": 1}),
            "`dns` takes either `x` or `y` in `a`, and not both — keep one of them",
        ),
        (
            json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}),
            json!(3),
            "`a` fits 2 forms of which `dns` takes only one",
        ),
        (
            json!({"anyOf": [{"minimum": 5}, {"multipleOf": 2}]}),
            json!(3),
            "`a` fits none of the forms that `dns` takes (`a` is 3; `dns` allows 5 or more) (`a` is 3; `dns` allows multiples of 2)",
        ),
        (
            json!({"if": {"const": 1}, "then": {"const": 2}, "else": {"minimum": 9}}),
            json!(3),
            "`a` is 3; `dns` allows 9 or more",
        ),
        (
            json!({"oneOf": [{"properties": {"kind": {"const": "x"}, "n": {"minimum": 3}}}, {"properties": {"kind": {"const": "y"}, "n": {"minimum": 9}}}]}),
            json!({"kind": "y", "n": 5}),
            "`a.n` is 5; `dns` allows 9 or more",
        ),
    ] {
        assert_eq!(messages(rule.clone(), value), [words], "{rule}");
    }
}

#[test]
fn inputs_of_drivers_are_named_by_where_they_stand() {
    let schema = json!({"properties": {
        "values": {"type": "object", "required": ["path"], "properties": {"path": {}, "content": {}}, "additionalProperties": false},
        "secrets": {"type": "object", "properties": {"password": {"minLength": 8}}, "additionalProperties": false},
    }});
    let mut value = Value::from(json!({"values": {"contents": "x"}, "secrets": {}}));
    if let Value::Map(map) = &mut value {
        let secrets = Value::from(json!({"password": "short", "passwort": "x"}));
        let Value::Map(secrets) = secrets else { unreachable!() };
        let sealed = secrets.into_iter().map(|(name, value)| (name, value.into_secret())).collect();
        map.insert("secrets".into(), Value::Map(sealed));
    }
    let mut words = messages_of(Subject::Inputs("purlin/file"), schema, value);
    words.sort();
    assert_eq!(
        words,
        [
            "`purlin/file` has no input `contents` — did you mean `content`?",
            "`purlin/file` has no secret `passwort` — did you mean `password`?",
            "`purlin/file` needs the input `path` — add `path: VALUE`",
            "the secret `password` has 5 characters; `purlin/file` allows 8 or more",
        ]
    );
}

#[test]
fn faults_of_outputs_speak_of_promises() {
    let schema = json!({"type": "object", "required": ["host"], "properties": {"port": {"type": "integer"}}});
    let mut words = messages_of(Subject::Outputs("dns"), schema.clone(), json!({"port": "80"}).into());
    words.sort();
    assert_eq!(
        words,
        [
            "`dns` promises the output `host`, which is missing",
            "the output `port` is `80`, a string; `dns` promises a whole number",
        ]
    );
    assert_eq!(
        messages_of(Subject::Outputs("dns"), schema, json!([]).into()),
        ["the outputs are a list; `dns` promises a map"]
    );
}

/// Below a secret, only names of the schema are shown: other keys may be secret, too.
#[test]
fn keys_below_a_secret_are_never_repeated() {
    let key = "hidden-text";
    for rule in [
        json!({"additionalProperties": false}),
        json!({"additionalProperties": {"type": "integer"}}),
        json!({"additionalProperties": {"properties": {"b": {"minLength": 9}}, "required": ["c"]}}),
        json!({"additionalProperties": {"additionalProperties": false}}),
        json!({"additionalProperties": {"dependentRequired": {"b": ["c"]}}}),
        json!({"additionalProperties": {"anyOf": [{"required": ["c"]}, {"required": ["d"]}]}}),
        json!({"additionalProperties": {"oneOf": [{"required": ["b"]}, {"required": ["b"], "minProperties": 1}]}}),
        json!({"patternProperties": {"^hidden": {"type": "integer"}}}),
        json!({"patternProperties": {"^hidden": false}}),
        json!({"unevaluatedProperties": false}),
        json!({"unevaluatedProperties": {"type": "integer"}}),
        json!({"propertyNames": {"maxLength": 1}}),
        json!({"additionalProperties": {"propertyNames": {"maxLength": 0}}}),
    ] {
        let mut secret = rule.clone();
        secret["writeOnly"] = true.into();
        for schema in [
            json!({"properties": {"a": secret}}),
            // Another rule than the broken one may declare it.
            json!({"properties": {"a": rule}, "allOf": [{"properties": {"a": {"writeOnly": true}}}]}),
        ] {
            let schema = Schema::new(&schema).expect("a schema");
            let value = json!({"a": {key: {"b": key}}});
            let violations = schema.validate(&value.into()).expect("within bounds");
            assert!(!violations.is_empty(), "{rule}");
            for violation in &violations {
                let text = format!("{:?} {violation:?}", say(Subject::Inputs("d"), violation));
                assert!(!text.contains(key) && text.contains('a'), "{text}");
            }
        }
    }
    for (rule, value, words) in [
        (
            json!({"additionalProperties": {"type": "integer"}}),
            json!({"k": "x"}),
            "an entry of `a` is a string; `dns` takes a whole number",
        ),
        (
            json!({"additionalProperties": {"required": ["b"]}}),
            json!({"k": {}}),
            "`dns` needs `b` in an entry of `a` — add `b: VALUE`",
        ),
        (json!({"patternProperties": {"k": false}}), json!({"k": 1}), "`dns` does not allow an entry of `a`"),
        (
            json!({"additionalProperties": {"anyOf": [{"required": ["b"]}, {"required": ["c"]}]}}),
            json!({"k": {}}),
            "`dns` needs `b` or `c` in an entry of `a`",
        ),
        (
            json!({"properties": {"pin": {"minLength": 8}}, "additionalProperties": false}),
            json!({"pin": "short"}),
            "`a.pin` has 5 characters; `dns` allows 8 or more",
        ),
    ] {
        let mut secret = rule.clone();
        secret["writeOnly"] = true.into();
        assert_eq!(messages(secret, value), [words], "{rule}");
    }
}

#[test]
fn a_secret_is_never_repeated() {
    for rule in [
        json!({"enum": ["a", "b"]}),
        json!({"const": "a"}),
        json!({"pattern": "^a$"}),
        json!({"format": "ipv4"}),
        json!({"type": "integer"}),
        json!({"not": {"type": "string"}}),
        json!({"anyOf": [{"const": "x"}, {"minLength": 99}]}),
        json!({"propertyNames": {"maxLength": 1}}),
    ] {
        let schema = Schema::new(&rule).expect("a schema");
        let violations = schema.validate(&Value::from("hidden-text").into_secret()).expect("within bounds");
        for violation in &violations {
            let text = format!("{:?} {violation:?}", say(Subject::Inputs("d"), violation));
            assert!(!text.contains("hidden-text"), "{text}");
        }
    }
}
