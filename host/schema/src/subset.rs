//! Whether every value of one schema fits another one (SPEC §6, interface). Compares the keywords
//! that declarations of bundles may use; of a text, the keywords that describe its form must be the
//! same, since what they allow is not computed.

use serde_json::{Map, Value as Json};

use crate::compile::Schema;

/// The most deeply nested schemas that are compared.
const DEEPEST: usize = 32;

/// Keywords with several possible values, none of which includes another.
const SAME: [&str; 4] = ["pattern", "format", "contentEncoding", "contentMediaType"];

/// All types of JSON. An integer is a number, too.
const TYPES: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

type SchemaObject = Map<String, Json>;

/// Whether every value of the schema `narrow` is one of the schema `wide`. The other way round, a
/// parameter accepts what somebody may give if `narrow` describes that.
///
/// Never true in error for the keywords of JSON Schema that it knows; others in `wide` must be the
/// same in `narrow`. May be false in error if the schemas are equal only in effect.
pub fn is_subset(narrow: &SchemaObject, wide: &SchemaObject) -> bool {
    is_subset_at(narrow, wide, 0)
}

fn is_subset_at(narrow: &SchemaObject, wide: &SchemaObject, depth: usize) -> bool {
    if narrow == wide {
        return true;
    }
    if depth > DEEPEST {
        return false;
    }
    if let Some(values) = values(narrow) {
        return fit_all(&values, narrow, wide);
    }
    if wide.contains_key("enum") || wide.contains_key("const") {
        return false;
    }
    let types = types(narrow);
    let accepted = types_of(wide);
    let is_accepted = |kind: &&str| {
        accepted
            .as_ref()
            .is_none_or(|all| all.contains(kind) || (*kind == "integer" && all.contains(&"number")))
    };
    types.iter().all(is_accepted)
        && wide.iter().all(|(word, rule)| holds(word, rule, narrow, wide, &types, depth))
}

/// Whether a keyword of `wide` holds for all values of `narrow`.
fn holds(
    word: &str,
    rule: &Json,
    narrow: &SchemaObject,
    wide: &SchemaObject,
    types: &[&str],
    depth: usize,
) -> bool {
    let may_be = |kind: &str| types.contains(&kind);
    let is_number = may_be("number") || may_be("integer");
    match word {
        // Compared before, or about people.
        "type" | "enum" | "const" | "title" | "description" | "examples" | "default" => true,
        "minimum" | "exclusiveMinimum" => !is_number || least(narrow, 1.0) >= least(wide, 1.0),
        "maximum" | "exclusiveMaximum" => !is_number || least(narrow, -1.0) >= least(wide, -1.0),
        "multipleOf" => !is_number || is_multiple(narrow, rule),
        "minLength" => !may_be("string") || at_least(narrow, word, rule),
        "maxLength" => !may_be("string") || at_most(narrow, word, rule),
        "minItems" => !may_be("array") || at_least(narrow, word, rule),
        "maxItems" => !may_be("array") || at_most(narrow, word, rule),
        "uniqueItems" => !may_be("array") || *rule == false || narrow.get(word) == Some(rule),
        "items" => !may_be("array") || below(narrow.get(word), rule, depth),
        "properties" => !may_be("object") || properties(narrow, rule, depth),
        "additionalProperties" => !may_be("object") || additional(narrow, wide, rule, depth),
        _ if SAME.contains(&word) => !may_be("string") || narrow.get(word) == Some(rule),
        _ => narrow.get(word) == Some(rule),
    }
}

/// The only possible values, if the schema lists them.
fn values(rules: &SchemaObject) -> Option<Vec<&Json>> {
    match (rules.get("const"), rules.get("enum")) {
        (Some(one), _) => Some(vec![one]),
        (None, Some(Json::Array(all))) => Some(all.iter().collect()),
        _ => None,
    }
}

/// Whether each of the listed values fits. Those that `narrow` itself excludes do not occur.
fn fit_all(values: &[&Json], narrow: &SchemaObject, wide: &SchemaObject) -> bool {
    let forms = SAME.iter().filter(|word| **word != "pattern");
    let has_forms =
        forms.into_iter().any(|word| wide.get(*word).is_some_and(|rule| narrow.get(*word) != Some(rule)));
    let (Ok(own), Ok(other)) = (Schema::new(&narrow.clone().into()), Schema::new(&wide.clone().into()))
    else {
        return false;
    };
    values.iter().all(|value| {
        let value = purlin_model::Value::from((*value).clone());
        let fits = |schema: &Schema| schema.validate(&value).is_ok_and(|faults| faults.is_empty());
        !fits(&own) || (fits(&other) && !(has_forms && value.as_str().is_some()))
    })
}

fn types_of(rules: &SchemaObject) -> Option<Vec<&str>> {
    match rules.get("type")? {
        Json::String(one) => Some(vec![one]),
        Json::Array(all) => Some(all.iter().filter_map(Json::as_str).collect()),
        _ => None,
    }
}

fn types(rules: &SchemaObject) -> Vec<&str> {
    types_of(rules).unwrap_or_else(|| TYPES.to_vec())
}

/// The lowest number, and whether it is excluded; with `sign` -1 the highest one, negated.
fn least(rules: &SchemaObject, sign: f64) -> (f64, bool) {
    let (bound, open) =
        if sign > 0.0 { ("minimum", "exclusiveMinimum") } else { ("maximum", "exclusiveMaximum") };
    let number = |word: &str| rules.get(word).and_then(Json::as_f64).map(|number| number * sign);
    let closed = number(bound).map(|number| (number, false));
    let open = number(open).map(|number| (number, true));
    let all = closed.into_iter().chain(open);
    all.fold((f64::NEG_INFINITY, false), |a, b| if b > a { b } else { a })
}

fn is_multiple(narrow: &SchemaObject, rule: &Json) -> bool {
    let step = narrow.get("multipleOf");
    let is_whole = types(narrow).iter().all(|kind| *kind != "number");
    if step == Some(rule) || (is_whole && rule.as_f64() == Some(1.0)) {
        return true;
    }
    match (step.and_then(Json::as_u64), rule.as_u64()) {
        (Some(step), Some(rule)) if rule > 0 => step % rule == 0,
        _ => false,
    }
}

fn at_least(narrow: &SchemaObject, word: &str, rule: &Json) -> bool {
    let own = narrow.get(word).and_then(Json::as_u64).unwrap_or_default();
    rule.as_u64().is_some_and(|rule| own >= rule)
}

fn at_most(narrow: &SchemaObject, word: &str, rule: &Json) -> bool {
    let own = narrow.get(word).and_then(Json::as_u64);
    own.zip(rule.as_u64()).is_some_and(|(own, rule)| own <= rule)
}

/// The same for the schemas of a part of the value. No schema allows everything.
fn below(narrow: Option<&Json>, wide: &Json, depth: usize) -> bool {
    let everything = SchemaObject::new();
    match (narrow, wide) {
        (_, Json::Bool(true)) | (Some(Json::Bool(false)), _) => true,
        (None | Some(Json::Bool(true)), Json::Object(wide)) => is_subset_at(&everything, wide, depth + 1),
        (Some(Json::Object(narrow)), Json::Object(wide)) => is_subset_at(narrow, wide, depth + 1),
        _ => false,
    }
}

/// The schema of a property that the schema may not name.
fn property<'r>(rules: &'r SchemaObject, name: &str) -> Option<&'r Json> {
    let named = rules.get("properties").and_then(|all| all.get(name));
    named.or_else(|| rules.get("additionalProperties"))
}

fn properties(narrow: &SchemaObject, wide: &Json, depth: usize) -> bool {
    let all = wide.as_object();
    all.is_some_and(|all| all.iter().all(|(name, rule)| below(property(narrow, name), rule, depth)))
}

fn additional(narrow: &SchemaObject, wide: &SchemaObject, rule: &Json, depth: usize) -> bool {
    let known = |name: &str| wide.get("properties").is_some_and(|all| all.get(name).is_some());
    let named = narrow.get("properties").and_then(Json::as_object).into_iter().flatten();
    named.filter(|(name, _)| !known(name)).all(|(_, own)| below(Some(own), rule, depth))
        && below(narrow.get("additionalProperties"), rule, depth)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn subset(narrow: &Json, wide: &Json) -> bool {
        is_subset(narrow.as_object().expect("a map"), wide.as_object().expect("a map"))
    }

    #[test]
    fn a_schema_is_compared_keyword_by_keyword() {
        let string = json!({"type": "string"});
        for (narrow, wide, expected) in [
            (json!({}), json!({}), true),
            (json!({"type": "string"}), json!({}), true),
            (json!({}), string.clone(), false),
            (json!({"type": "string"}), json!({"type": ["string", "null"]}), true),
            (json!({"type": ["string", "null"]}), string.clone(), false),
            (json!({"type": "integer"}), json!({"type": "number"}), true),
            (json!({"type": "number"}), json!({"type": "integer"}), false),
            (json!({"enum": ["a"]}), json!({"enum": ["a", "b"]}), true),
            (json!({"enum": ["a", "b"]}), json!({"enum": ["a"]}), false),
            (json!({"const": "a"}), json!({"type": "string", "pattern": "^a"}), true),
            (json!({"const": "b"}), json!({"pattern": "^a"}), false),
            (string.clone(), json!({"type": "string", "enum": ["a"]}), false),
            (string.clone(), json!({"type": "string", "pattern": "^a"}), false),
            (json!({"type": "integer"}), json!({"type": "number", "pattern": "^a"}), true),
            (json!({"type": "string", "pattern": "^a"}), json!({"pattern": "^a"}), true),
            (string.clone(), json!({"type": "string", "contentEncoding": "base64"}), false),
            (json!({"const": "x"}), json!({"contentEncoding": "base64"}), false),
            (json!({"type": "integer", "minimum": 5}), json!({"minimum": 1}), true),
            (json!({"type": "integer", "exclusiveMinimum": 1}), json!({"minimum": 1}), true),
            (json!({"type": "integer", "minimum": 1}), json!({"exclusiveMinimum": 1}), false),
            (json!({"type": "integer", "maximum": 5}), json!({"exclusiveMaximum": 6}), true),
            (json!({"type": "integer", "multipleOf": 6}), json!({"multipleOf": 3}), true),
            (json!({"type": "integer", "multipleOf": 4}), json!({"multipleOf": 3}), false),
            (json!({"type": "string", "maxLength": 3}), json!({"maxLength": 4}), true),
            (json!({"type": "string"}), json!({"maxLength": 4}), false),
            (
                json!({"type": "array", "items": {"type": "integer"}, "minItems": 1}),
                json!({"type": "array", "items": {"type": "number"}}),
                true,
            ),
            (json!({"type": "array"}), json!({"type": "array", "items": {"type": "number"}}), false),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}}),
                json!({"type": "object", "properties": {"a": {}}}),
                true,
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}}),
                json!({"type": "object", "additionalProperties": false, "properties": {"a": {}}}),
                false,
            ),
            (json!({"type": "string"}), json!({"type": "string", "title": "x"}), true),
        ] {
            assert_eq!(subset(&narrow, &wide), expected, "{narrow} in {wide}");
        }
    }

    fn value() -> impl Strategy<Value = Json> {
        prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            (-9i64..9).prop_map(Json::from),
            (-9i64..9).prop_map(|n| json!(n as f64 / 2.0)),
            "[ab]{0,4}".prop_map(Json::from),
            proptest::collection::vec((-3i64..3).prop_map(Json::from), 0..4).prop_map(Json::from),
            (-3i64..3).prop_map(|n| json!({"a": n})),
            "[ab]".prop_map(|text| json!({"a": text, "b": 1})),
        ]
    }

    fn schema() -> impl Strategy<Value = SchemaObject> {
        let kind = || {
            proptest::sample::select(&["null", "boolean", "integer", "number", "string", "array", "object"])
        };
        let types = proptest::collection::btree_set(kind(), 1..4).prop_map(|all| json!(all));
        let words = prop_oneof![
            types.prop_map(|types| ("type", types)),
            (-9i64..9).prop_map(|n| ("minimum", json!(n))),
            (-9i64..9).prop_map(|n| ("exclusiveMaximum", json!(n))),
            (1u64..4).prop_map(|n| ("multipleOf", json!(n))),
            (0u64..4).prop_map(|n| ("maxLength", json!(n))),
            (0u64..4).prop_map(|n| ("minItems", json!(n))),
            any::<bool>().prop_map(|unique| ("uniqueItems", json!(unique))),
            "\\^[ab]".prop_map(|text| ("pattern", json!(text))),
            proptest::collection::vec(value(), 1..4).prop_map(|all| ("enum", Json::from(all))),
            kind().prop_map(|kind| ("items", json!({"type": kind}))),
            kind().prop_map(|kind| ("properties", json!({"a": {"type": kind}}))),
            any::<bool>().prop_map(|open| ("additionalProperties", json!(open))),
        ];
        proptest::collection::vec(words, 0..4)
            .prop_map(|all| all.into_iter().map(|(word, rule)| (word.to_owned(), rule)).collect())
    }

    proptest! {
        /// A value of a subset is a value of the other schema, and every schema includes itself.
        #[test]
        fn a_subset_has_no_value_of_its_own(narrow in schema(), wide in schema(), value in value()) {
            prop_assert!(is_subset(&narrow, &narrow));
            let fits = |rules: &SchemaObject| {
                let schema = Schema::new(&rules.clone().into()).expect("a schema");
                schema.validate(&purlin_model::Value::from(value.clone())).expect("simple").is_empty()
            };
            if is_subset(&narrow, &wide) && fits(&narrow) {
                prop_assert!(fits(&wide), "{value} fits {narrow:?} and not {wide:?}");
            }
        }
    }
}
