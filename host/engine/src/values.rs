//! The values of a resource: its inputs, from the graph, the records and the secret stores; its
//! outputs, as far as they are certain; and the rules that both must follow. Plans and runs use the
//! same ones; this must not know either.

pub(crate) mod accounts;
pub(crate) mod awaited;
pub(crate) mod compare;
pub(crate) mod current;
pub(crate) mod evaluate;
pub(crate) mod outputs;
pub(crate) mod predict;
pub(crate) mod rules;
pub(crate) mod secrets;
pub(crate) mod supplied;
pub(crate) mod workload;
