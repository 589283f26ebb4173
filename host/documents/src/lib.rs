//! Text to model: one file per format, with spans and diagnostics (SPEC §2, §3, §5, §8).
//!
//! [`load`] reads files, folders and texts, and returns the model's types with every placeholder
//! parsed, together with all faults at once and the texts to show them in. This crate knows nothing
//! of graphs, drivers or stores, and never prints.

mod attached;
mod bundle;
mod declare;
mod definition;
mod deployment;
mod deployment_set;
mod driver_cases;
mod form;
mod heads;
mod kinds;
mod lifecycle;
mod load;
mod locate;
mod lock;
mod manifest;
mod names;
mod near;
mod plain;
mod quantity;
mod reader;
mod recognise;
mod render;
mod request;
mod requirement;
mod resource_type;
mod schema;
mod score;
mod shape;
mod source;
mod steps;
mod template;
mod tree;
mod values;
mod walk;
mod workspace;
mod x_reference;
mod yaml;

pub use attached::{AttachedFile, FileContent};
pub use bundle::{ANOTHER_VERSION, Bundles, FORMS_OF_BUNDLES, bundles, bundles_in};
pub use definition::is_driver_name;
pub use driver_cases::{CASES_FILE, cases_in, load_cases};
pub use heads::{Content, DocumentHead, ReadFrom, Unread, content, declares_resources, heads};
pub use load::{Input, Loaded, SourceText, load, load_sources, load_within, no_workspace};
pub use lock::LOCK_FILE;
pub use plain::{plain_file, plain_value};
pub use quantity::duration;
pub use render::hidden::names_a_credential;
pub use requirement::NAMES_WITH_SLASHES;
pub use schema::{SchemaKind, schema};
pub use source::SourceMap;
pub use template::{WITHOUT_DOLLAR, meant_placeholder};
pub use walk::{WORKSPACE_FILE, is_document_name};
