//! Where the inputs of a definition are written.

use purlin_host::Documents;
use purlin_host::model::{Location, Spot, Within};

/// Where an input is written, by a pointer into `{values, secrets, params, connection}`; none where the
/// documents are not at hand, or do not say.
pub(crate) fn locate(documents: Option<&Documents>, definition: &Location, pointer: &str) -> Option<Spot> {
    let sources = &documents?.loaded.sources;
    // The definition contains every input except what a developer gave.
    let is_own = !pointer.is_empty() && !pointer.starts_with("/params");
    is_own.then(|| sources.find(Within::Definition(definition), pointer, false))?
}
