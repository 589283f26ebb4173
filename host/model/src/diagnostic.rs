//! A fault, its place, and how to correct it (SPEC §2).
//!
//! Every crate that finds a fault in a document reports it with this type; only `purlin-documents`,
//! which holds the texts, renders it.

use std::ops::Range;
use std::sync::Arc;

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use crate::{Key, Location};

/// The severity of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information.
    Note,
    /// Probably not intended.
    Warning,
    /// The run cannot continue.
    Error,
}

/// A fault or a remark about a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// A stable short name of the kind of fault, such as `unknown-field`, for programs.
    pub code: &'static str,
    /// The fault, as a lower-case fragment.
    pub message: String,
    /// Where; none for a fault without a place.
    #[serde(flatten)]
    pub location: Option<Location>,
    /// The number of characters it covers from there, 0 if unknown.
    #[serde(skip)]
    pub length: u32,
    /// Other relevant places, each with its relation to the fault.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "related")]
    pub related: Vec<(Location, String)>,
    /// Further facts, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How to correct it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// What schemas declare secret around its place: an excerpt must not show it.
    #[serde(skip)]
    pub secrets: Arc<[SecretText]>,
}

/// A part of a document that is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretText {
    /// The file.
    pub file: Arc<str>,
    /// The bytes in its text, without a byte-order mark. They may end after it.
    pub bytes: Range<usize>,
}

/// Writes other places, each with its message.
fn related<S: Serializer>(related: &[(Location, String)], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Related<'a> {
        #[serde(flatten)]
        location: &'a Location,
        message: &'a str,
    }
    let mut all = to.serialize_seq(Some(related.len()))?;
    for (location, message) in related {
        all.serialize_element(&Related { location, message })?;
    }
    all.end()
}

impl Diagnostic {
    /// An error without a place yet.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            location: None,
            length: 0,
            related: Vec::new(),
            notes: Vec::new(),
            help: None,
            secrets: Arc::default(),
        }
    }

    /// Adds the resources that it concerns; of many, only the first ones.
    #[must_use]
    pub fn concerning(mut self, keys: &[&Key]) -> Self {
        const LISTED: usize = 5;
        let mut named: Vec<String> = keys.iter().take(LISTED).map(|key| format!("`{key}`")).collect();
        if keys.len() > LISTED {
            named.push(format!("{} more", keys.len() - LISTED));
        }
        self.notes.insert(0, format!("for {}", named.join(", ")));
        self
    }

    /// A warning without a place yet.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// A note without a place yet.
    pub fn note(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Note, ..Self::error(code, message) }
    }

    /// The same, at a place.
    #[must_use]
    pub fn at(mut self, location: &Location) -> Self {
        self.location = Some(location.clone());
        self
    }

    /// The same, with this many characters.
    #[must_use]
    pub fn spanning(mut self, characters: usize) -> Self {
        self.length = u32::try_from(characters).unwrap_or(0);
        self
    }

    /// The same, with help to correct it. An empty text is no help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        let help: String = help.into();
        self.help = (!help.is_empty()).then_some(help);
        self
    }

    /// The same, with one more fact.
    #[must_use]
    pub fn fact(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same, with another place.
    #[must_use]
    pub fn related(mut self, location: &Location, message: impl Into<String>) -> Self {
        self.related.push((location.clone(), message.into()));
        self
    }

    /// The message of the first error: where a single line has to stand for all faults.
    pub fn first_error(faults: &[Self]) -> Option<&str> {
        faults.iter().find(|fault| fault.is_error()).map(|fault| fault.message.as_str())
    }

    /// Whether it stops the run.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
