//! The faults of a value, as data.

use serde_json::{Number, Value as Json};

/// A value that does not fit a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// JSON Pointer to the value. Of a value in a secret, it has only the names that the schema has, too.
    pub at: String,
    /// Whether the value is further below, in a secret: the names of its entries may be secret.
    pub is_below: bool,
    /// JSON Pointer into the schema, to the keyword that the value breaks.
    pub rule: String,
    /// The value there; none if it is secret, or too long.
    pub value: Option<Json>,
    /// The fault.
    pub fault: Fault,
}

/// How a value does not fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// It is of another type.
    Type {
        /// Names of JSON Schema's types.
        takes: Vec<String>,
        /// Its actual type, in a word for people.
        found: &'static str,
    },
    /// It is none of these.
    Enum(Vec<Json>),
    /// It is too small.
    Minimum(Number),
    /// It must be greater than this.
    ExclusiveMinimum(Number),
    /// It is too large.
    Maximum(Number),
    /// It must be less than this.
    ExclusiveMaximum(Number),
    /// It is not a multiple of this.
    MultipleOf(Number),
    /// It has fewer characters, items or entries.
    Fewer {
        /// How many it needs.
        least: u64,
        /// How many it has.
        has: u64,
        /// `character`, `item` or `entry`.
        of: &'static str,
    },
    /// It has more characters, items or entries.
    More {
        /// How many it may have.
        most: u64,
        /// How many it has.
        has: u64,
        /// `character`, `item` or `entry`.
        of: &'static str,
    },
    /// It does not match a regular expression.
    Pattern(String),
    /// It is not of a format, such as `an IPv4 address`.
    Format(&'static str),
    /// An entry is missing.
    Missing {
        /// Its name.
        name: String,
        /// The entry that needs it, if only one entry does.
        because: Option<String>,
        /// Its type, if the schema declares one.
        takes: Option<String>,
    },
    /// There is no such entry. [`Violation::at`] is the entry.
    Unknown {
        /// Its name.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
    /// There is no such entry, and its name may be secret. [`Violation::at`] is the map around it.
    UnknownSecret {
        /// The known names.
        known: Vec<String>,
    },
    /// The name of an entry does not fit. [`Violation::at`] is the entry.
    Name {
        /// The name.
        name: String,
        /// The fault in it.
        fault: Box<Fault>,
    },
    /// Two items are equal.
    Twice {
        /// Index of the first.
        first: usize,
        /// Index of the second.
        second: usize,
    },
    /// Fewer items than needed are of a certain form, or more than allowed.
    Contains {
        /// How many have to be.
        least: u64,
        /// How many may be.
        most: Option<u64>,
        /// How many are.
        has: u64,
    },
    /// No value is allowed here.
    Forbidden,
    /// It has an excluded form.
    Excluded,
    /// One of several sets of entries is needed.
    NeedsOneOf(Vec<Vec<String>>),
    /// It fits none of several forms; the faults for each.
    NoForm(Vec<Violation>),
    /// It fits several forms of which only one is allowed; the entries that make them.
    SeveralForms(Vec<Vec<String>>),
}
