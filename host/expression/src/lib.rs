//! The single expression language: parses and evaluates placeholders (SPEC §4).
//!
//! [`parse_text`] turns text into a [`purlin_model::Template`] once; with a [`Scope`], [`evaluate`]
//! can then fill it in any number of times. This crate knows no graph and no document: the scope
//! decides what a placeholder reads.

mod bounded;
mod descriptor;
mod dialect;
mod error;
mod evaluate;
mod input_path;
mod lost;
mod modifiers;
mod nearest;
mod path;
mod pipe;
mod placeholder;
mod read;
mod recorded_template;
mod text;

pub use bounded::MAX_TEXT;
pub use descriptor::{DescriptorError, parse_descriptor, parse_selector};
pub use dialect::Dialect;
pub use evaluate::{Scope, Unread, evaluate};
pub use input_path::{InputPathError, parse_input_path};
pub use lost::lost_placeholders;
pub use nearest::{did_you_mean, is_slip, nearest, one_edit, or_near};
pub use placeholder::READ_ONE_OUTPUT;
pub use read::{PathError, read_path};
pub use recorded_template::{read_template, write_template};
pub use text::parse_text;
