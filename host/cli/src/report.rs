//! The results of commands as plain data. The same report becomes text, JSON or a picture. Plans,
//! events, failures and checks of drivers have no report here: the host writes their JSON. Small
//! reports are in the files of their commands.
//!
//! A type of the host that is published as it is serialises itself, and a report contains it; its
//! comment says that its form is published. A report has fields of its own only where it joins
//! several sources, masks secrets, or publishes another form than the one that is recorded.
//!
//! The JSON format of each report is stable (SPEC §11), with a version in `format`. Secrets are
//! removed from a report before it is serialised. Nothing here prints.

pub(crate) mod audit;
pub(crate) mod bundle;
pub(crate) mod code;
pub(crate) mod details;
pub(crate) mod diff;
pub(crate) mod environment;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod history;
pub(crate) mod impact;
pub(crate) mod inputs;
pub(crate) mod inspect;
pub(crate) mod installation;
pub(crate) mod missing_grants;
pub(crate) mod plan;
pub(crate) mod rollout;
pub(crate) mod state;
pub(crate) mod status;

pub(crate) use purlin_model::FORMAT;
