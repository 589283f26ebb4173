//! Finds where the inputs of a definition are written.

use purlin_host::Documents;
use purlin_host::model::{Location, Spot, Within};

/// The place of an input, given by a pointer into `{values, secrets, params, connection}`; `None`
/// if the documents are not available, or do not contain it.
pub(crate) fn locate(documents: Option<&Documents>, definition: &Location, pointer: &str) -> Option<Spot> {
    let sources = &documents?.loaded.sources;
    // The definition contains every input except those from the developer's params.
    let is_own = !pointer.is_empty() && !pointer.starts_with("/params");
    is_own.then(|| sources.find(Within::Definition(definition), pointer, false))?
}
