//! JSON from drivers, straight into values. Nothing here recurses deeper than the contract allows.

use std::fmt;

use purlin_model::{Map, Value};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// Parses a document. `serde_json` stops at a nesting of 128.
pub(crate) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Json>(text).map(|json| json.0)
}

struct Json(Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor).map(Self)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Json(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::default();
        while let Some((key, Json(value))) = entries.next_entry::<String, Json>()? {
            map.insert(key.into(), value);
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_serde_json_reads() {
        let text = r#"{"a":[1,-2,3.5,true,null,"x\n"],"b":{"c":18446744073709551615},"b2":""}"#;
        let expected: serde_json::Value = serde_json::from_str(text).expect("valid");
        assert_eq!(parse(text).expect("valid"), Value::from(expected));
    }

    #[test]
    fn stops_before_the_stack_does() {
        for open in ["[", "{\"a\":"] {
            assert!(parse(&open.repeat(1_000_000)).is_err());
        }
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(&deep(127)).is_ok());
        assert!(parse(&deep(128)).is_err());
    }
}
