//! The JSON of plans and events (SPEC §11): the published format, which every program writes.
//!
//! Values are only written masked: secrets read `[secret]`, as in everything that people see.

mod cause;
mod event;
mod plan;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !*value
}
