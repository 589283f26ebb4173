//! Random values, to prove that none changes on its way: numbers of 17 digits, texts of every plane,
//! nested maps and lists.

use serde_json::{Value, json};

/// A generator of values.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The same values for the same seed, which is not zero.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number as a document writes it, and its value.
    fn number(&mut self) -> (String, Value) {
        let float = |text: String| {
            let value = text.parse::<f64>().expect("a number");
            (text, json!(value))
        };
        match self.below(7) {
            0 => {
                let number = self.next();
                (number.to_string(), json!(number))
            }
            1 => {
                let number = self.next() as i64;
                (number.to_string(), json!(number))
            }
            2 => {
                let number = (1u64 << 53) + self.below(1000);
                (number.to_string(), json!(number))
            }
            // Seventeen digits.
            3 => float(format!("{}.{:08}", 100_000_000 + self.below(900_000_000), self.below(100_000_000))),
            4 => float(format!("{:.16e}", (self.next() as f64) / 3.0)),
            5 => float(format!("0.{}", 10_000_000_000_000_000 + self.below(89_999_999_999_999_999))),
            _ => loop {
                let number = f64::from_bits(self.next());
                if number.is_finite() && number.is_normal() {
                    return float(format!("{number:e}"));
                }
            },
        }
    }

    /// Characters of every plane, and those that formats treat specially.
    fn text(&mut self) -> String {
        let length = self.below(12);
        let special =
            ['"', '\\', '\'', '\n', '\r', '\t', '\u{85}', '\u{2028}', '\u{feff}', '#', ':', '-', ' ', '~'];
        let character = |random: &mut Self| loop {
            let plane = random.below(18) as u32;
            let picked = match plane {
                17 => special.get(random.below(special.len() as u64) as usize).copied(),
                plane => char::from_u32(plane << 16 | random.below(1 << 16) as u32),
            };
            // A placeholder has another meaning.
            if let Some(picked) = picked.filter(|picked| *picked != '$') {
                return picked;
            }
        };
        (0..length).map(|_| character(self)).collect()
    }

    /// A value as JSON text in a document, and the value itself.
    pub fn value(&mut self, depth: u64) -> (String, Value) {
        match self.below(if depth < 3 { 9 } else { 7 }) {
            0..4 => self.number(),
            4 | 5 => {
                let text = self.text();
                (quoted(&text), json!(text))
            }
            6 => match self.below(3) {
                0 => ("true".into(), json!(true)),
                1 => ("false".into(), json!(false)),
                _ => ("null".into(), Value::Null),
            },
            7 => {
                let items: Vec<_> = (0..self.below(4)).map(|_| self.value(depth + 1)).collect();
                let texts: Vec<_> = items.iter().map(|(text, _)| text.clone()).collect();
                (format!("[{}]", texts.join(",")), items.into_iter().map(|(_, value)| value).collect())
            }
            _ => {
                let (mut texts, mut map) = (Vec::new(), serde_json::Map::new());
                for index in 0..self.below(4) {
                    let key = format!("{index}{}", self.text());
                    let (text, value) = self.value(depth + 1);
                    texts.push(format!("{}:{text}", quoted(&key)));
                    map.insert(key, value);
                }
                (format!("{{{}}}", texts.join(",")), Value::Object(map))
            }
        }
    }
}

/// A text in JSON, with escapes for the characters that YAML does not allow in a file.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for character in json!(text).to_string().chars() {
        match character {
            '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                quoted.push_str(&format!("\\u{:04x}", character as u32));
            }
            other => quoted.push(other),
        }
    }
    quoted
}

/// Whether two values are equal. Go's templates and JavaScript write `5.0` as `5`.
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.is_f64() != other.is_f64() && one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| same(one, other)))
        }
        (one, other) => one == other,
    }
}
