//! The one expression language: parse, what it depends on, evaluate (SPEC §4).
//!
//! Text becomes a [`purlin_model::Template`] once, in [`parse_text`]; whoever has a [`Scope`] can
//! then fill it in any number of times with [`evaluate`]. This crate knows no graph and no
//! document: what a placeholder reads is the scope's business.

mod descriptor;
mod dialect;
mod evaluate;
mod fault;
mod input_path;
mod modifiers;
mod nearest;
mod path;
mod pipe;
mod placeholder;
mod read;
mod text;
mod written;

pub use descriptor::{DescriptorError, parse_descriptor, parse_selector};
pub use dialect::Dialect;
pub use evaluate::{MAX_TEXT, Scope, Unread, evaluate};
pub use input_path::{InputPathError, parse_input_path};
pub use nearest::{did_you_mean, is_slip, nearest, one_edit};
pub use read::{PathError, read_path};
pub use text::parse_text;
pub use written::{read_template, write_template};
