//! Embeds Purlin: whole deployments, their options, and the JSON of plans and events.

mod json;
mod options;
mod project_folder;
mod whole_life;
