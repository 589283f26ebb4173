//! Parses JSON from drivers directly into values. Nothing here recurses deeper than the contract
//! allows, and no text becomes more values than allowed.

use std::cell::Cell;
use std::fmt;

use purlin_model::{Entries, Value};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// How many more values may be created. A value takes many times the memory of the two bytes that
/// can encode it, so that a limit for bytes bounds nothing.
#[derive(Debug)]
pub(crate) struct Values {
    left: Cell<u64>,
    most: u64,
}

impl Values {
    pub(crate) fn new(most: u64) -> Self {
        Self { left: Cell::new(most), most }
    }

    /// Counts one.
    fn take(&self) -> bool {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.unwrap_or_default());
        left.is_some()
    }
}

/// Parses a document. `serde_json` stops at a nesting of 128.
pub(crate) fn parse(text: &str, values: &Values) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Json(values).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// One value, and those within it.
#[derive(Clone, Copy)]
struct Json<'a>(&'a Values);

impl<'de> DeserializeSeed<'de> for Json<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if !self.0.take() {
            return Err(D::Error::custom(format_args!("it contains more than {} values", self.0.most)));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Json<'_> {
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
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Entries::default();
        while let Some(key) = entries.next_key::<String>()? {
            map.insert(key.into(), entries.next_value_seed(self)?);
        }
        map.shrink_to_fit();
        Ok(Value::Map(map.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Value, serde_json::Error> {
        super::parse(text, &Values::new(1_000))
    }

    #[test]
    fn values_are_counted_over_all_texts() {
        let values = Values::new(5);
        assert!(super::parse(r#"{"a":[1,2]}"#, &values).is_ok());
        assert!(super::parse("null", &values).is_ok());
        let error = super::parse("null", &values).expect_err("the sixth");
        assert!(error.to_string().starts_with("it contains more than 5 values"), "{error}");
        assert!(super::parse(&format!("[{}0]", "0,".repeat(2_000_000)), &Values::new(100_000)).is_err());
        assert!(super::parse("{} {}", &Values::new(100)).is_err());
    }

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
