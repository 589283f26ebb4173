//! The digest by which Purlin recognises an unchanged resource (SPEC §9, Apply).

use purlin_model::driver::Inputs;

/// The digest of the resolved inputs and the driver. Equal digests mean that no call is needed,
/// unless the connection now leads to another system: the connection is not part of the digest.
///
/// The params are part of it only if the driver reads them ([`SchemaRules::reads_params`]): what flows from
/// them into the other inputs is part of those.
///
/// The digest is secret if the inputs contain secrets. The state treats it accordingly.
///
/// [`SchemaRules::reads_params`]: crate::values::rules::SchemaRules::reads_params
pub(crate) fn of(inputs: &Inputs, reads_params: bool, driver_name: &str, driver_digest: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("purlin 2026 resolved inputs of a resource v1");
    let mut feed = |bytes: &[u8]| {
        hasher.update(bytes);
    };
    for text in [driver_name, driver_digest, inputs.account.as_deref().unwrap_or("")] {
        feed(&(text.len() as u64).to_le_bytes());
        feed(text.as_bytes());
    }
    feed(&[u8::from(inputs.account.is_some())]);
    inputs.values.feed(&mut feed);
    inputs.secrets.feed(&mut feed);
    if reads_params {
        inputs.params.feed(&mut feed);
    }
    *hasher.finalize().as_bytes()
}
