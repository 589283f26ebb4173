//! Everything together: inputs to one deployment, its definitions, and all faults at once.

use std::path::PathBuf;
use std::sync::Arc;

use purlin_model::{ContextDefaults, Definition, Deployment, Diagnostic, ResourceType, Workspace};

use crate::SourceMap;
use crate::walk::Collector;

/// Where documents come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file, or a folder that is walked recursively in lexical order.
    Path(PathBuf),
    /// A text that the caller has read already, such as standard input, named `-`.
    Text {
        /// What faults call it.
        name: String,
        /// What it says.
        text: String,
    },
}

/// What documents say.
///
/// Usable only when nothing in `diagnostics` is an error: what has a fault is left out of the
/// other fields.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// What the Deployments say about the context.
    pub context: ContextDefaults,
    /// Workloads, shared resources and values of all documents.
    pub deployment: Deployment,
    /// Definitions, in the order they were read.
    pub definitions: Vec<Definition>,
    /// Resource types, in the order they were read.
    pub resource_types: Vec<ResourceType>,
    /// The operator's configuration.
    pub workspace: Option<Workspace>,
    /// Faults, warnings and notes, by file and line.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts, to show faults in.
    pub sources: SourceMap,
}

impl Loaded {
    /// Whether something is wrong, so that nothing may be done with the rest.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads documents (SPEC §2). Never fails and never stops at the first fault: all of them are in
/// [`Loaded::diagnostics`].
pub fn load(inputs: &[Input]) -> Loaded {
    let mut collector = Collector::default();
    for input in inputs {
        match input {
            Input::Path(path) => collector.path(path),
            Input::Text { name, text } => collector.text(name, text),
        }
    }
    let mut loaded = Loaded { diagnostics: collector.faults, ..Loaded::default() };
    for source in &collector.sources {
        loaded.sources.insert(source.name.clone(), source.text.clone());
        let parsed = crate::yaml::parse(&source.name, &source.text);
        loaded.diagnostics.extend(parsed.faults);
        for document in parsed.documents {
            loaded.diagnostics.extend(document.faults);
        }
    }
    loaded
}
