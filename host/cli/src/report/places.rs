//! Where the inputs of a definition are written.

use purlin_host::Documents;
use purlin_host::model::Location;

/// Where an input is written, by a pointer into `{values, secrets, params}`; none where the
/// documents are not at hand, or do not say.
pub(crate) fn locate(
    _documents: Option<&Documents>,
    _definition: &Location,
    _pointer: &str,
) -> Option<Location> {
    None
}
