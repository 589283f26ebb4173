//! Turns reports into text and pictures. A renderer gets plain data and returns text. It does not
//! print, and does not know where the data came from.

pub(crate) mod audit;
pub(crate) mod bundle;
pub(crate) mod check;
pub(crate) mod clusters;
pub(crate) mod comment;
pub(crate) mod diagnostics;
pub(crate) mod diff;
pub(crate) mod dot;
pub(crate) mod environment;
pub(crate) mod explain;
pub(crate) mod history;
pub(crate) mod html;
pub(crate) mod impact;
pub(crate) mod inspect;
pub(crate) mod installation;
pub(crate) mod mermaid;
pub(crate) mod plan;
pub(crate) mod rollout;
pub(crate) mod state;
pub(crate) mod status;
pub(crate) mod svg;
pub(crate) mod table;
pub(crate) mod tree;
pub(crate) mod value;
