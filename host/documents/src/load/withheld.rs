//! Faults of a file that is not a document, whoever named it, and of a file of values. It may hold anything,
//! such as the passwords of a secret store, so its faults say where they are and of which kind, and quote
//! nothing.

use purlin_model::{Diagnostic, Severity};

/// Removes everything from a fault that may be text of the file; `help` says how to correct it.
pub(crate) fn fault(fault: &mut Diagnostic, help: &str) {
    if fault.severity != Severity::Error {
        // The head of a document that is skipped; nothing else of it was read.
        return;
    }
    fault.notes.clear();
    fault.related.iter_mut().for_each(|(_, what)| "see here".clone_into(what));
    // These quote nothing but an `apiVersion`, and their help is the same for every text.
    if ["control-character", "merge-conflict", "not-a-document", "too-deep", "yaml-tab"].contains(&fault.code)
    {
        return;
    }
    fault.message = match fault.code {
        "yaml-syntax" => "not valid YAML".to_owned(),
        "duplicate-key" => "a key is given twice".to_owned(),
        _ => "this file cannot be read".to_owned(),
    };
    fault.help = Some(help.to_owned());
}
