//! Faults in documents, as plain data.

use purlin_host::model::{Diagnostic, Location, Severity};
use serde::Serialize;

/// A fault, warning or note about a document.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Fault {
    pub(crate) severity: &'static str,
    /// A stable short name of the kind of fault.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    #[serde(flatten)]
    pub(crate) place: Option<Place>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) related: Vec<Related>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
}

/// A place in a document. Line and column count from 1, and are left out if unknown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Place {
    pub(crate) file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<u32>,
}

/// Another place that is relevant.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Related {
    #[serde(flatten)]
    pub(crate) place: Place,
    pub(crate) message: String,
}

/// Converts a place.
pub(crate) fn place(location: &Location) -> Place {
    let known = location.line > 0;
    Place {
        file: location.file.to_string(),
        line: known.then_some(location.line),
        column: known.then_some(location.column),
    }
}

/// Converts faults, in the given order.
pub(crate) fn faults(diagnostics: &[Diagnostic]) -> Vec<Fault> {
    let fault = |diagnostic: &Diagnostic| Fault {
        severity: match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        },
        code: diagnostic.code,
        message: diagnostic.message.clone(),
        place: diagnostic.location.as_ref().map(place),
        related: diagnostic
            .related
            .iter()
            .map(|(location, message)| Related { place: place(location), message: message.clone() })
            .collect(),
        notes: diagnostic.notes.clone(),
        help: diagnostic.help.clone(),
    };
    diagnostics.iter().map(fault).collect()
}
