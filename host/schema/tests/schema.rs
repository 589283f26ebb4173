//! Validity compared with another implementation; unknown values; and hostile schemas.

#![allow(clippy::expect_used, reason = "a test")]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use purlin_model::{Map, Value};
use purlin_schema::{Schema, Subject, TooComplex, say};
use serde_json::{Value as Json, json};

fn schema(json: Json) -> Schema {
    Schema::new(&json).expect("a schema")
}

fn places(schema: &Schema, value: Value) -> Vec<(String, String)> {
    let violations = schema.validate(&value).expect("within bounds");
    violations.into_iter().map(|violation| (violation.at, violation.rule)).collect()
}

#[test]
fn a_fault_knows_the_place_of_the_value_and_of_the_rule() {
    let schema = schema(json!({
        "properties": {"a/b": {"$ref": "#/$defs/size"}, "c": {"items": {"$ref": "#small"}}},
        "$defs": {"size": {"minimum": 60}, "s": {"$anchor": "small", "maxLength": 1}},
    }));
    assert_eq!(
        places(&schema, json!({"a/b": 30, "c": ["x", "xyz"]}).into()),
        [
            ("/a~1b".to_owned(), "/$defs/size/minimum".to_owned()),
            ("/c/1".to_owned(), "/$defs/s/maxLength".to_owned())
        ]
    );
}

#[test]
fn unknown_values_are_neither_valid_nor_invalid() {
    let unknown = |name: &str| Value::Map(Map::from_iter([(name.into(), Value::unknown())]));
    for rule in [
        json!({"type": "integer"}),
        json!({"const": 1}),
        json!({"not": {"type": "string"}}),
        json!({"anyOf": [{"type": "string"}, {"minimum": 1}]}),
        json!({"oneOf": [{"type": "string"}, {"type": "string"}]}),
        json!({"if": {"const": 1}, "then": false, "else": false}),
        json!({"properties": {"x": {"type": "string"}}, "required": ["x"]}),
    ] {
        let schema = schema(json!({"properties": {"a": rule}}));
        assert_eq!(places(&schema, unknown("a")), [], "{rule}");
    }
    // Faults that do not depend on it are reported all the same.
    let closed = schema(json!({"properties": {"a": {}}, "required": ["b"], "additionalProperties": false}));
    assert_eq!(places(&closed, unknown("c")).len(), 2);
    let forms =
        schema(json!({"oneOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"a": {"const": 2}}}]}));
    assert_eq!(places(&forms, unknown("a")), []);
    let whole = schema(json!({"const": {"a": 1}}));
    assert_eq!(places(&whole, unknown("a")), []);
}

#[test]
fn values_marked_in_a_schema_become_secret() {
    let rules = schema(json!({
        "properties": {
            "password": {"writeOnly": true},
            "users": {"items": {"properties": {"token": {"x-secret": true}}}},
            "either": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"key": {"$ref": "#/$defs/key"}}}]},
        },
        "additionalProperties": {"$ref": "#/$defs/tree"},
        "$defs": {"key": {"writeOnly": true}, "tree": {"properties": {"leaf": {"writeOnly": true}, "below": {"$ref": "#/$defs/tree"}}}},
    }));
    let value = json!({
        "password": "p", "users": [{"token": "t", "name": "n"}], "either": {"key": "k", "name": "n"},
        "other": {"leaf": 1, "name": "n", "below": {"leaf": [2]}},
    });
    assert_eq!(
        rules.seal(value.into()).redact(),
        json!({
            "password": "[secret]", "users": [{"token": "[secret]", "name": "n"}],
            "either": {"key": "[secret]", "name": "n"},
            "other": {"leaf": "[secret]", "name": "n", "below": {"leaf": "[secret]"}},
        })
    );
    let at = |path: &[&str], value: Value| rules.seal_at(path.iter().copied(), value).redact();
    assert_eq!(at(&["password"], "p".into()), "[secret]");
    assert_eq!(at(&["users", "0", "token"], "t".into()), "[secret]");
    assert_eq!(at(&["users", "0"], json!({"token": "t", "name": "n"}).into())["token"], "[secret]");
    assert_eq!(at(&["users", "0", "name"], "n".into()), "n");
    assert_eq!(rules.seal_at(["password"], Value::unknown()), Value::unknown().into_secret());
    assert_eq!(rules.seal(Value::unknown()), Value::unknown().into_secret());
}

#[test]
fn defaults_are_filled_in_where_they_are_certain() {
    let rules = schema(json!({"properties": {"values": {
        "properties": {
            "kind": {"default": "a"},
            "below": {"properties": {"n": {"$ref": "#/$defs/n"}}},
            "absent": {"properties": {"n": {"default": 1}}},
            "list": {"items": {"properties": {"n": {"$ref": "#/$defs/n"}}}},
        },
        "allOf": [{"properties": {"all": {"default": true}}}],
        "anyOf": [{"properties": {"any": {"default": true}}}],
    }}, "$defs": {"n": {"default": 7}}}));
    let mut value = Value::from(json!({"below": {}}));
    rules.fill(&["values"], &mut value, &|pointer| pointer != "/all");
    assert_eq!(value.redact(), json!({"below": {"n": 7}, "kind": "a"}));
    let mut value = Value::from(json!({"kind": "b", "list": [{}, {"n": 1}, {}]}));
    rules.fill(&["values"], &mut value, &|pointer| pointer != "/list/2/n");
    assert_eq!(value.redact(), json!({"kind": "b", "all": true, "list": [{"n": 7}, {"n": 1}, {}]}));
}

/// What takes exponential time takes far longer than this, and nothing else does, however busy the
/// machine is.
const PATIENCE: Duration = Duration::from_secs(300);

fn refused(json: Json) -> String {
    let begun = Instant::now();
    let error = Schema::new(&json).expect_err("unusable");
    assert!(begun.elapsed() < PATIENCE, "{error}");
    error.to_string()
}

#[test]
fn hostile_schemas_are_rejected() {
    assert!(refused(json!({"$ref": "https://example.com/schema.json"})).contains("nothing else is fetched"));
    assert!(refused(json!({"$ref": "file:///etc/passwd"})).contains("nothing else is fetched"));
    assert!(refused(json!({"$ref": "#/nowhere"})).contains("nothing else is fetched"));
    assert!(refused(json!({"$ref": "#"})).contains("without end"));
    assert!(refused(json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}})).contains("without end"));
    assert!(refused(json!({"$dynamicRef": "#a"})).contains("not supported"));
    assert!(refused(json!({"pattern": "(((((a{100}){100}){100}){100}){100})"})).contains("too large"));
    assert!(refused(json!({"pattern": "(?=a)b"})).contains("look-around"));
    assert!(refused(json!({"pattern": "["})).contains("regular expression"));
    assert!(refused(json!({"description": "x".repeat(10 << 20)})).contains("2 MiB"));
    let many: Vec<Json> = vec![json!({}); 1_000_000];
    assert!(refused(json!({"allOf": many})).contains("100000"));
    let mut deep = json!({});
    for _ in 0..120 {
        deep = json!({"not": deep});
    }
    assert!(refused(deep).contains("levels deep"));
    assert!(!refused(json!({"type": "sting"})).is_empty());
}

#[test]
fn hostile_schemas_do_not_hang() {
    // Each level refers to the next one twice.
    let mut definitions = serde_json::Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        definitions.insert(format!("l{level}"), json!({"allOf": [next.clone(), next]}));
    }
    definitions.insert("l60".to_owned(), json!({"type": "string"}));
    let laughs = schema(json!({"$ref": "#/$defs/l0", "$defs": definitions}));
    let begun = Instant::now();
    assert_eq!(laughs.validate(&"x".into()), Err(TooComplex));
    // The same, one level of the value at a time.
    let twice = schema(json!({"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}));
    let mut value = Value::from("x");
    for _ in 0..60 {
        value = Value::List(vec![value]);
    }
    assert_eq!(twice.validate(&value), Err(TooComplex));
    // Backtracking would take forever.
    let slow = schema(json!({"pattern": "^(a+)+$"}));
    assert_eq!(
        slow.validate(&format!("{}b", "a".repeat(100_000)).as_str().into()).expect("bounded").len(),
        1
    );
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-3i64..6).prop_map(Json::from),
        "[ab]{0,3}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            prop::collection::btree_map("[abc]", inner, 0..3)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

fn rule() -> impl Strategy<Value = Json> {
    let kind =
        prop::sample::select(vec!["null", "boolean", "integer", "number", "string", "array", "object"]);
    let small = 0u64..3;
    let leaf = prop_oneof![
        any::<bool>().prop_map(Json::from),
        kind.prop_map(|kind| json!({"type": kind})),
        value().prop_map(|value| json!({"const": value})),
        prop::collection::vec(value(), 1..3).prop_map(|values| json!({"enum": values})),
        (-3i64..6).prop_map(|limit| json!({"minimum": limit, "exclusiveMaximum": limit + 3})),
        (1i64..4).prop_map(|of| json!({"multipleOf": of})),
        (small.clone(), "[ab^$.]{0,3}")
            .prop_map(|(least, pattern)| json!({"minLength": least, "pattern": pattern})),
        small.clone().prop_map(|most| json!({"maxItems": most, "maxProperties": most, "maxLength": most})),
        Just(json!({"uniqueItems": true})),
        Just(json!({"$ref": "#/$defs/d"})),
        prop::collection::vec("[abc]", 0..3).prop_map(|mut names| {
            names.sort();
            names.dedup();
            json!({"required": names})
        }),
    ];
    leaf.prop_recursive(4, 24, 3, move |inner| {
        let list = prop::collection::vec(inner.clone(), 1..3);
        let map = prop::collection::btree_map("[abc]", inner.clone(), 0..3)
            .prop_map(|map| Json::Object(map.into_iter().collect()));
        prop_oneof![
            list.clone().prop_map(|all| json!({"allOf": all})),
            list.clone().prop_map(|all| json!({"anyOf": all})),
            list.clone().prop_map(|all| json!({"oneOf": all})),
            inner.clone().prop_map(|one| json!({"not": one})),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            (map.clone(), inner.clone()).prop_map(|(map, rest)| json!({"properties": map, "additionalProperties": rest})),
            (map.clone(), inner.clone())
                .prop_map(|(map, rest)| json!({"patternProperties": map, "additionalProperties": rest})),
            (map.clone(), inner.clone(), inner.clone())
                .prop_map(|(map, one, rest)| json!({"allOf": [{"properties": map}], "anyOf": [one], "unevaluatedProperties": rest})),
            map.clone().prop_map(|map| json!({"dependentSchemas": map})),
            inner.clone().prop_map(|one| json!({"propertyNames": one})),
            (list, inner.clone()).prop_map(|(list, rest)| json!({"prefixItems": list, "items": rest})),
            (inner.clone(), 0u64..3, 0u64..3)
                .prop_map(|(one, least, most)| json!({"contains": one, "minContains": least, "maxContains": most})),
        ]
    })
}

/// The keywords of JSON Schema 2020-12.
#[rustfmt::skip]
const KEYWORDS: [&str; 60] = [
    "$id", "$schema", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "$comment", "$defs",
    "prefixItems", "items", "contains", "additionalProperties", "properties", "patternProperties",
    "dependentSchemas", "propertyNames", "if", "then", "else", "allOf", "anyOf", "oneOf", "not",
    "unevaluatedItems", "unevaluatedProperties", "type", "const", "enum", "multipleOf", "maximum",
    "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems",
    "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties", "required",
    "dependentRequired", "title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples",
    "format", "contentEncoding", "contentMediaType", "contentSchema", "definitions", "dependencies",
    "$recursiveRef",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn values_are_valid_exactly_if_another_validator_accepts_them(rule in rule(), definition in value(), value in value()) {
        let whole = json!({"properties": {"v": rule}, "$defs": {"d": {"const": definition}}});
        let document = json!({"v": value});
        let ours = Schema::new(&whole).expect("a schema");
        let theirs = jsonschema::draft202012::new(&whole).expect("a schema");
        let violations = ours.validate(&document.clone().into()).expect("within bounds");
        prop_assert_eq!(violations.is_empty(), theirs.is_valid(&document), "{:?}", violations);
        for violation in &violations {
            prop_assert!(whole.pointer(&violation.rule).is_some(), "{:?}", violation);
            prop_assert!(document.pointer(&violation.at).is_some(), "{:?}", violation);
            prop_assert!(!say(Subject::Params("t"), violation).message.is_empty());
        }
    }

    /// Some are rejected besides because of what they refer to, or as patterns.
    #[test]
    fn keywords_are_valid_exactly_if_the_published_meta_schema_accepts_them(
        keyword in prop::sample::select(KEYWORDS.as_slice()),
        value in prop_oneof![value(), rule(), Just(json!([])), Just(json!(["string", "null"])), Just(json!("object"))],
    ) {
        let whole = json!({"$defs": {"d": true}, "properties": {"v": {keyword: value}}});
        let theirs = jsonschema::draft202012::meta::is_valid(&whole);
        let ours = Schema::new(&whole);
        prop_assert!(theirs || ours.is_err(), "{whole}");
        let may_differ = ["$ref", "$dynamicRef", "$recursiveRef", "$id", "pattern", "patternProperties"].contains(&keyword);
        prop_assert!(ours.is_ok() || !theirs || may_differ, "{whole}: {ours:?}");
    }

    #[test]
    fn values_that_turn_out_valid_were_not_rejected_before(rule in rule(), value in value(), part in value()) {
        let whole = json!({"properties": {"v": rule}, "$defs": {"d": {"const": 1}}});
        let schema = Schema::new(&whole).expect("a schema");
        // `p` is part of the value, at first unknown.
        let with = |part: Value| {
            let mut inner = match Value::from(value.clone()) {
                Value::Map(map) => map,
                other => Map::from_iter([("a".into(), other)]),
            };
            inner.insert("b".into(), part);
            Value::Map(Map::from_iter([("v".into(), Value::Map(inner))]))
        };
        if schema.validate(&with(part.into())).expect("within bounds").is_empty() {
            prop_assert_eq!(schema.validate(&with(Value::unknown())).expect("within bounds"), []);
        }
    }

    #[test]
    fn nothing_panics(rule in value(), document in value()) {
        if let Ok(schema) = Schema::new(&rule) {
            for violation in schema.validate(&document.clone().into()).into_iter().flatten() {
                say(Subject::Inputs("d"), &violation);
            }
            let _ = schema.seal(document.clone().into());
            schema.fill(&["values"], &mut document.into(), &|_| true);
        }
    }
}
