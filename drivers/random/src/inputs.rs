//! The shape of the value to draw.

use purlin_sdk::{Failure, Faults, Input, Inputs, Json, Object, Outputs};
use serde::Serialize;

/// The special characters of a password. They have no meaning in a URL, so that a password can be
/// used in one unchanged.
pub(crate) const SPECIAL: &str = "-_.~";

/// The special characters that version 0.1.0 used.
pub(crate) const FORMER_SPECIAL: &str = "!#$%&*()-_=+[]{}<>:?";

/// The inputs.
#[derive(Inputs)]
pub struct RandomInputs {
    pub(crate) values: Values,
}

/// The kind of random value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Input, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ValueKind {
    /// Letters, digits and special characters; secret.
    #[default]
    Password,
    /// Lower-case letters and digits, beginning with a letter.
    Id,
    /// Readable words.
    Pet,
    /// An integer.
    Integer,
    /// A UUID of version 4.
    Uuid,
    /// Base64-encoded bytes; secret.
    Bytes,
}

/// The format of the value, and its keepers. Most inputs matter for one kind only, so their defaults
/// are `assumed`: a plan for a password need not show the separator of a pet.
#[derive(Clone, Debug, Input, Serialize)]
pub(crate) struct Values {
    /// The kind of value.
    #[input(default)]
    pub(crate) kind: ValueKind,
    /// The length: characters of a password or an id, bytes, or words of a pet, at most 10. By
    /// default 24, 8, 32 and 2.
    #[input(min = 1, max = LONGEST)]
    pub(crate) length: Option<usize>,
    /// Whether a password contains lower-case letters.
    #[input(assumed = true)]
    pub(crate) lower: bool,
    /// Whether a password contains upper-case letters.
    #[input(assumed = true)]
    pub(crate) upper: bool,
    /// Whether a password contains digits.
    #[input(assumed = true)]
    pub(crate) digits: bool,
    /// Whether a password contains special characters.
    #[input(assumed = true)]
    pub(crate) special: bool,
    /// The special characters. The default ones need no encoding in a URL.
    #[input(assumed = SPECIAL.to_owned())]
    pub(crate) special_characters: String,
    /// The minimum number of lower-case letters in a password.
    #[input(assumed = 0)]
    pub(crate) min_lower: usize,
    /// The minimum number of upper-case letters in a password.
    #[input(assumed = 0)]
    pub(crate) min_upper: usize,
    /// The minimum number of digits in a password.
    #[input(assumed = 0)]
    pub(crate) min_digits: usize,
    /// The minimum number of special characters in a password.
    #[input(assumed = 0)]
    pub(crate) min_special: usize,
    /// The minimum of an integer.
    #[input(assumed = 0)]
    pub(crate) min: i64,
    /// The maximum of an integer.
    #[input(assumed = 2_147_483_647)]
    pub(crate) max: i64,
    /// The separator between the words of a pet.
    #[input(assumed = "-")]
    pub(crate) separator: String,
    /// The prefix of a pet or an id.
    #[input(assumed)]
    pub(crate) prefix: String,
    /// Whether `value` is a secret output. By default it is for the kinds `password` and `bytes`.
    pub(crate) secret: Option<bool>,
    /// Any values. If one of them changes, a new value is generated.
    #[input(assumed)]
    pub(crate) keepers: Object,
}

/// The longest value, in characters or bytes.
const LONGEST: usize = 1024;

/// Words of the longest pet.
const MOST_WORDS: usize = 10;

/// The outputs.
#[derive(Outputs)]
pub(crate) struct RandomOutputs {
    /// The generated value. It is secret for passwords and bytes, or according to the input
    /// `secret`.
    #[schemars(extend("type" = ["string", "integer"]))]
    pub(crate) value: Json,
    /// The value again, for a password.
    #[output(secret)]
    #[schemars(extend("type" = "string"))]
    pub(crate) password: Option<Json>,
}

/// A set of characters that a password includes, and the minimum of them.
pub(crate) struct Class {
    pub(crate) name: &'static str,
    pub(crate) letters: Vec<char>,
    pub(crate) at_least: usize,
}

impl Values {
    pub(crate) fn is_secret(&self) -> bool {
        self.secret.unwrap_or(matches!(self.kind, ValueKind::Password | ValueKind::Bytes))
    }

    pub(crate) fn length(&self) -> usize {
        self.length.unwrap_or(match self.kind {
            ValueKind::Password => 24,
            ValueKind::Id => 8,
            ValueKind::Pet => 2,
            ValueKind::Bytes => 32,
            ValueKind::Integer | ValueKind::Uuid => 0,
        })
    }

    /// The character classes of the password.
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

    /// Rejects impossible shapes.
    pub(crate) fn validate(&self) -> Result<(), Failure> {
        let mut faults = Faults::default();
        if self.kind == ValueKind::Pet && self.length() > MOST_WORDS {
            faults.add("/values/length", format!("has to be at most {MOST_WORDS} for the kind `pet`"));
        }
        if self.kind == ValueKind::Password {
            let classes = self.classes();
            if classes.is_empty() {
                faults.add("/values", "one of `lower`, `upper`, `digits` and `special` has to be true");
            }
            for class in classes.iter().filter(|class| class.letters.is_empty()) {
                faults.add("/values/special_characters", format!("`{}` needs at least one", class.name));
            }
            let least = [self.min_lower, self.min_upper, self.min_digits, self.min_special];
            if least.iter().fold(0usize, |sum, least| sum.saturating_add(*least)) > self.length() {
                faults.add(
                    "/values/length",
                    "is less than the sum of `min_lower`, `min_upper`, `min_digits` and `min_special`",
                );
            }
            let unwanted = [
                ("lower", self.lower, self.min_lower),
                ("upper", self.upper, self.min_upper),
                ("digits", self.digits, self.min_digits),
                ("special", self.special, self.min_special),
            ];
            for (name, _, _) in unwanted.into_iter().filter(|(_, wanted, least)| !wanted && *least > 0) {
                faults.add(format!("/values/min_{name}"), format!("contradicts `{name}: false`"));
            }
        }
        if self.kind == ValueKind::Integer && self.min > self.max {
            faults.add("/values/min", "is higher than `max`");
        }
        faults.into_result()
    }
}
