//! Embeds Purlin: whole deployments, their options, and the JSON of plans and events.
#![allow(clippy::expect_used, clippy::panic)]

mod json;
mod options;
mod place;
