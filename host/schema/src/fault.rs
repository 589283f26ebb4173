//! What is wrong with a value, as data.

use serde_json::{Number, Value as Json};

/// A value that does not fit a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Misfit {
    /// JSON Pointer to the value.
    pub at: String,
    /// JSON Pointer into the schema, to the keyword that the value breaks.
    pub rule: String,
    /// What stands there; none where it is secret, or not short.
    pub value: Option<Json>,
    /// What is wrong.
    pub fault: Fault,
}

/// How a value does not fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// It is of another type.
    Type {
        /// Names of JSON Schema's types.
        takes: Vec<String>,
        /// What it is, in a word for people.
        found: &'static str,
    },
    /// It is none of these.
    Enum(Vec<Json>),
    /// It is too small.
    Minimum(Number),
    /// It has to be greater than this.
    ExclusiveMinimum(Number),
    /// It is too large.
    Maximum(Number),
    /// It has to be less than this.
    ExclusiveMaximum(Number),
    /// It is no multiple of this.
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
        /// The entry that needs it, where only that does.
        because: Option<String>,
        /// The type that it has, where the schema says one.
        takes: Option<String>,
    },
    /// There is no such entry. [`Misfit::at`] is the entry.
    Unknown {
        /// Its name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The name of an entry does not fit. [`Misfit::at`] is the entry.
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
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
    /// Nothing may stand here.
    Forbidden,
    /// It is of a form that is excluded.
    Excluded,
    /// One of several sets of entries is needed.
    NeedsOneOf(Vec<Vec<String>>),
    /// It fits none of several forms; what is wrong with each.
    NoForm(Vec<Misfit>),
    /// It fits several forms of which only one is allowed; the entries that make them.
    SeveralForms(Vec<Vec<String>>),
}
