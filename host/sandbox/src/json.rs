//! Parses JSON from drivers directly into values. Nothing here recurses deeper than the contract
//! allows, and no text becomes more values than allowed.

use std::cell::Cell;
use std::fmt;

use purlin_model::number::is_kept;
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

/// Parses a document. `serde_json` stops at a nesting of 128, and would round a number that has too
/// many digits.
pub(crate) fn parse(text: &str, values: &Values) -> Result<Value, serde_json::Error> {
    if let Some(number) = rounded(text) {
        let shown = number.get(..LONGEST_SHOWN).unwrap_or(number);
        return Err(Error::custom(format_args!(
            "the number {shown} has more digits than can be kept; return it as text"
        )));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Json(values).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Bytes of a number in a message.
const LONGEST_SHOWN: usize = 60;
/// Every shorter number is kept.
const SHORTEST_ROUNDED: usize = 18;

/// The first number in a JSON text that would be rounded.
fn rounded(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let start = at;
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                at += bytes.iter().skip(at).take_while(|byte| is_part(byte)).count();
                let may_be_tiny = || bytes.get(start..at).is_some_and(|number| number.contains(&b'-'));
                let number = text.get(start..at)?;
                let is_number = || number.parse::<f64>().is_ok();
                if (number.len() >= SHORTEST_ROUNDED || may_be_tiny()) && !is_kept(number) && is_number() {
                    return Some(number);
                }
            }
            _ => at += 1,
        }
    }
    None
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
    fn json_is_read_as_serde_json_reads_it() {
        let text = r#"{"a":[1,-2,3.5,true,null,"x\n"],"b":{"c":18446744073709551615},"b2":""}"#;
        let expected: serde_json::Value = serde_json::from_str(text).expect("valid");
        assert_eq!(parse(text).expect("valid"), Value::from(expected));
    }

    #[test]
    fn a_number_is_kept_or_refused() {
        for text in ["123456789.12345679", "18446744073709551615", "-9223372036854775808", "-0.0", "5e-324"] {
            assert_eq!(parse(text).expect(text).redact().to_string(), text);
        }
        assert!(parse(r#"["12345678901234567890123", "\"12345678901234567890123"]"#).is_ok());
        for text in ["12345678901234567890123", "0.1234567890123456789", "1e-400", r#"{"a\"": [1, 1e-999]}"#]
        {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains("more digits than can be kept"), "{error}");
        }
        assert!(parse("1e999").is_err() && parse("1-1").is_err() && parse("-").is_err());
    }

    #[test]
    fn nesting_ends_before_the_stack_does() {
        for open in ["[", "{\"a\":"] {
            assert!(parse(&open.repeat(1_000_000)).is_err());
        }
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(&deep(127)).is_ok());
        assert!(parse(&deep(128)).is_err());
    }
}
