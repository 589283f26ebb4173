use purlin_model::Value;
use serde_json::json;

use super::*;

fn lost(schema: Json, values: Json) -> Option<LostData> {
    let schema = TypeSchema {
        type_name: "*".into(),
        implements: purlin_model::driver::Implements::default(),
        inputs: schema,
        outputs: json!({}),
    };
    let inputs = Inputs { values: values.into(), ..Inputs::default() };
    DataLossReader::default().of(&schema, &inputs)
}

fn named(what: &str) -> Option<LostData> {
    Some(LostData::Named(what.into()))
}

#[test]
fn at_the_root_it_applies_to_every_resource() {
    assert_eq!(lost(json!({HOLDS_DATA: true}), json!({})), Some(LostData::Data));
    assert_eq!(lost(json!({HOLDS_DATA: "its rows"}), json!({})), named("its rows"));
    assert_eq!(lost(json!({HOLDS_DATA: false}), json!({})), None);
    assert_eq!(lost(json!({"type": "object"}), json!({"a": 1})), None);
    assert_eq!(lost(json!(true), json!({"a": 1})), None);
}

#[test]
fn at_a_property_it_applies_to_resources_with_the_property() {
    let schema = || {
        json!({"properties": {"values": {"properties": {
            "database": {"type": "object", HOLDS_DATA: "all tables"},
            "role": {"type": "object"},
        }}}})
    };
    assert_eq!(lost(schema(), json!({"database": {}})), named("all tables"));
    assert_eq!(lost(schema(), json!({"role": {}})), None);
    assert_eq!(lost(schema(), json!({"database": null, "role": {}})), None);
}

/// A keyword of a later contract may say that there is data.
#[test]
fn an_unknown_keyword_counts_as_data() {
    for keyword in ["x-purlin-holds-dato", "x-purlin-keeps"] {
        assert_eq!(lost(json!({keyword: "rows"}), json!({})), Some(LostData::Data), "{keyword}");
        let of_name = json!({"properties": {"values": {"properties": {"name": {keyword: false}}}}});
        assert_eq!(lost(of_name.clone(), json!({"name": "a"})), Some(LostData::Data), "{keyword}");
        assert_eq!(lost(of_name, json!({"other": "a"})), None, "{keyword}");
    }
    assert_eq!(lost(json!({"x-purlin-hint-keeps": true, "x-other": 1}), json!({})), None);
}

#[test]
fn conditions_lists_and_references_are_followed() {
    let schema = || {
        json!({
            "properties": {"values": {"properties": {
                "manifests": {"items": {"$ref": "#/$defs/manifest"}},
                "holds_data": {"if": {"const": true}, "then": {HOLDS_DATA: true}},
            }}},
            "$defs": {"manifest": {
                "if": {"properties": {"kind": {"enum": ["Volume"]}}, "required": ["kind"]},
                "then": {HOLDS_DATA: "what the volume holds"},
            }},
        })
    };
    let kinds = |kinds: &[&str]| json!({"manifests": kinds.iter().map(|kind| json!({"kind": kind})).collect::<Vec<_>>()});
    assert_eq!(lost(schema(), kinds(&["Pod", "Volume"])), named("what the volume holds"));
    assert_eq!(lost(schema(), kinds(&["Pod"])), None);
    assert_eq!(lost(schema(), json!({"holds_data": true})), Some(LostData::Data));
    assert_eq!(lost(schema(), json!({"holds_data": false})), None);
}

#[test]
fn a_secret_input_counts_like_any_other() {
    let schema = json!({"properties": {"secrets": {"additionalProperties": {HOLDS_DATA: true}}}});
    let schema = TypeSchema {
        type_name: "*".into(),
        implements: purlin_model::driver::Implements::default(),
        inputs: schema,
        outputs: json!({}),
    };
    let secrets: Value = json!({"key": "k"}).into();
    let inputs = Inputs { secrets: secrets.into_secret(), ..Inputs::default() };
    assert_eq!(DataLossReader::default().of(&schema, &inputs), Some(LostData::Data), "secret as a whole");
    let secrets = Value::Map([("key".into(), Value::from("k").into_secret())].into_iter().collect());
    let inputs = Inputs { secrets, ..Inputs::default() };
    assert_eq!(DataLossReader::default().of(&schema, &inputs), Some(LostData::Data));
}

#[test]
fn recursive_schemas_end_and_invalid_ones_count() {
    let endless = json!({"$ref": "#", "properties": {"values": {HOLDS_DATA: 7}}});
    assert_eq!(lost(endless, json!({})), Some(LostData::Data), "not true, not text, and not false");
    let wrong = json!({"if": {"type": 5}, "then": {HOLDS_DATA: true}});
    assert_eq!(lost(wrong, json!({})), Some(LostData::Data));
}
