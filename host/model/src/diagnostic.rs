//! What is wrong, where, and what would be right (SPEC §2).
//!
//! Every room that can find a fault in a document says it with this one type; only
//! `purlin-documents`, which holds the texts, turns it into something to look at.

use crate::Location;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing to worry about.
    Note,
    /// Probably not what was meant.
    Warning,
    /// It cannot go on like this.
    Error,
}

/// A fault or a remark about a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable short name of the kind of fault, such as `unknown-field`, for programs.
    pub code: &'static str,
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    /// Where; none for a fault of no one place.
    pub location: Option<Location>,
    /// How many characters from there on are meant, 0 where it is not known.
    pub length: u32,
    /// Other places that matter, each with what it has to do with it.
    pub related: Vec<(Location, String)>,
    /// Further facts, a line each.
    pub notes: Vec<String>,
    /// What would be right.
    pub help: Option<String>,
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
        }
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

    /// The same, about so many characters.
    #[must_use]
    pub fn spanning(mut self, characters: usize) -> Self {
        self.length = u32::try_from(characters).unwrap_or(0);
        self
    }

    /// The same, with what would be right.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
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

    /// Whether it stops the run.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
