//! What is to be drawn.

use purlin_sdk::{Failure, Faults, Json, Object};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The signs of a password. They mean nothing in a URL, so that a password can stand in one as it is.
pub(crate) const SPECIAL: &str = "-_.~";

/// The signs of passwords that version 0.1.0 drew.
pub(crate) const FORMER_SPECIAL: &str = "!#$%&*()-_=+[]{}<>:?";

/// What the driver is given.
#[derive(Deserialize)]
pub struct Inputs {
    #[serde(default)]
    pub(crate) values: Values,
}

/// What kind of thing is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Letters, digits and signs; secret.
    #[default]
    Password,
    /// Small letters and digits, beginning with a letter.
    Id,
    /// Words, to be read by people.
    Pet,
    /// A whole number.
    Integer,
    /// A UUID of version 4.
    Uuid,
    /// Bytes in Base64; secret.
    Bytes,
}

/// The shape of it, and what it is kept for.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Values {
    pub(crate) kind: Kind,
    /// Characters of a password or an id, bytes of bytes, words of a pet.
    pub(crate) length: Option<usize>,
    pub(crate) lower: bool,
    pub(crate) upper: bool,
    pub(crate) digits: bool,
    pub(crate) special: bool,
    /// The signs to choose from.
    pub(crate) special_characters: String,
    pub(crate) min_lower: usize,
    pub(crate) min_upper: usize,
    pub(crate) min_digits: usize,
    pub(crate) min_special: usize,
    /// Lowest and highest integer.
    pub(crate) min: i64,
    pub(crate) max: i64,
    /// Between the words of a pet.
    pub(crate) separator: String,
    /// Before the words of a pet, or an id.
    pub(crate) prefix: String,
    /// Whether it is a secret output; passwords and bytes are by default.
    pub(crate) secret: Option<bool>,
    /// Any values: when one changes, a new value is drawn.
    pub(crate) keepers: Object,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            kind: Kind::default(),
            length: None,
            lower: true,
            upper: true,
            digits: true,
            special: true,
            special_characters: SPECIAL.to_owned(),
            min_lower: 0,
            min_upper: 0,
            min_digits: 0,
            min_special: 0,
            min: 0,
            max: 2_147_483_647,
            separator: "-".to_owned(),
            prefix: String::new(),
            secret: None,
            keepers: Object::new(),
        }
    }
}

/// A set of characters of which a password has some, and how many at least.
pub(crate) struct Class {
    pub(crate) name: &'static str,
    pub(crate) letters: Vec<char>,
    pub(crate) at_least: usize,
}

impl Values {
    pub(crate) fn is_secret(&self) -> bool {
        self.secret.unwrap_or(matches!(self.kind, Kind::Password | Kind::Bytes))
    }

    pub(crate) fn length(&self) -> usize {
        self.length.unwrap_or(match self.kind {
            Kind::Password => 24,
            Kind::Id => 8,
            Kind::Pet => 2,
            Kind::Bytes => 32,
            Kind::Integer | Kind::Uuid => 0,
        })
    }

    /// The classes that a password is made of.
    pub(crate) fn classes(&self) -> Vec<Class> {
        let mut special: Vec<char> = self.special_characters.chars().collect();
        special.sort_unstable();
        special.dedup();
        let all = [
            ("lower", self.lower, ('a'..='z').collect(), self.min_lower),
            ("upper", self.upper, ('A'..='Z').collect(), self.min_upper),
            ("digits", self.digits, ('0'..='9').collect(), self.min_digits),
            ("special", self.special, special, self.min_special),
        ];
        let wanted = all.into_iter().filter(|(_, wanted, ..)| *wanted);
        wanted.map(|(name, _, letters, at_least)| Class { name, letters, at_least }).collect()
    }

    /// Refuses shapes that nothing has.
    pub(crate) fn validate(&self) -> Result<(), Failure> {
        let mut faults = Faults::default();
        let most = match self.kind {
            Kind::Pet => 10,
            _ => 1024,
        };
        if self.length == Some(0) || self.length() > most {
            faults.add("/values/length", format!("has to be from 1 to {most}"));
        }
        if self.kind == Kind::Password {
            let classes = self.classes();
            if classes.is_empty() {
                faults.add("/values", "one of `lower`, `upper`, `digits` and `special` has to be true");
            }
            for class in classes.iter().filter(|class| class.letters.is_empty()) {
                faults.add("/values/special_characters", format!("`{}` needs some", class.name));
            }
            let least = [self.min_lower, self.min_upper, self.min_digits, self.min_special];
            if least.iter().fold(0usize, |sum, least| sum.saturating_add(*least)) > self.length() {
                faults.add(
                    "/values/length",
                    "is less than `min_lower`, `min_upper`, `min_digits` and `min_special` ask for",
                );
            }
            let unwanted = [
                ("lower", self.lower, self.min_lower),
                ("upper", self.upper, self.min_upper),
                ("digits", self.digits, self.min_digits),
                ("special", self.special, self.min_special),
            ];
            for (name, _, _) in unwanted.into_iter().filter(|(_, wanted, least)| !wanted && *least > 0) {
                faults
                    .add(format!("/values/min_{name}"), format!("asks for what `{name}: false` leaves out"));
            }
        }
        if self.kind == Kind::Integer && self.min > self.max {
            faults.add("/values/min", "is higher than `max`");
        }
        faults.into_result()
    }
}

pub(crate) fn input_schema() -> Json {
    let (truth, count) = (json!({"type": "boolean"}), json!({"type": "integer", "minimum": 0}));
    let (text, whole) = (json!({"type": "string"}), json!({"type": "integer"}));
    let values = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "kind": {"enum": ["password", "id", "pet", "integer", "uuid", "bytes"]},
            "length": {"type": ["integer", "null"], "minimum": 1, "maximum": 1024},
            "lower": truth, "upper": truth, "digits": truth, "special": truth, "special_characters": text,
            "min_lower": count, "min_upper": count, "min_digits": count, "min_special": count,
            "min": whole, "max": whole, "separator": text, "prefix": text,
            "secret": {"type": ["boolean", "null"]},
            "keepers": {"type": "object"},
        },
    });
    json!({"type": "object", "properties": {"values": values}})
}

pub(crate) fn output_schema() -> Json {
    json!({
        "type": "object",
        "required": ["value"],
        "properties": {
            "value": {"type": ["string", "integer"], "description": "What was drawn; secret for passwords and bytes."},
            "password": {"type": "string", "writeOnly": true, "description": "The same, for passwords."},
        },
    })
}
