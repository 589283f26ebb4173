//! Go templates with Sprig's functions, as drivers need them: a render is bounded, a fault has its
//! line, and a missing value is a fault instead of `<no value>`.
//!
//! This crate does not know what drivers do with the text, and uses no entropy and no clock of its
//! own: both come from [`Host`], so that it builds for every WebAssembly target.

mod builtins;
mod mask;
mod passthrough;
mod reads;
mod rendered;
mod rewrite;
mod run;
mod sprig;
mod stray;
mod value;
#[cfg(feature = "full")]
pub mod yaml;

use std::fmt;
use std::sync::Arc;

use gotmpl::parse::{DefineNode, ListNode, Parser};
use gotmpl::{TemplateError, Value, ValueFunc};
use serde_json::Value as Json;

use mask::MaskedValue;
use run::Run;

pub use mask::SecretMask;
pub use rendered::Rendered;
pub use value::{from_json, to_json};

/// The maximum number of characters of a render, or of one intermediate value.
pub const MAX_TEXT: usize = 1 << 20;
/// The maximum number of items of an intermediate list or map.
pub const MAX_ITEMS: usize = 100_000;
/// The maximum number of iterations that all loops of one render may take together.
pub const MAX_TURNS: u64 = 1_000_000;

/// The services that templates need from outside.
pub trait Host: Send + Sync {
    /// Fills a buffer with random bytes.
    ///
    /// # Errors
    /// Why there are none.
    fn fill(&self, buffer: &mut [u8]) -> Result<(), String>;
    /// Seconds since 1970.
    ///
    /// # Errors
    /// Why the time is unknown.
    fn now(&self) -> Result<i64, String>;
}

/// A fault in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFault {
    /// The line, from 1; 0 if unknown.
    pub line: usize,
    /// The fault.
    pub message: String,
}

impl fmt::Display for TemplateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for TemplateFault {}

/// The functions, created once and shared by the templates of a call.
pub struct Engine {
    functions: std::collections::BTreeMap<String, ValueFunc>,
}

/// A template with valid syntax, whose functions all exist.
pub struct Parsed {
    main: ListNode,
    defines: Vec<DefineNode>,
}

impl Parsed {
    /// The line of the first place where the template reads this entry of its data, outside of the
    /// templates that it defines.
    pub fn reads(&self, name: &str) -> Option<usize> {
        reads::find(&self.main, name)
    }
}

impl Engine {
    /// An engine on top of a host.
    pub fn new(host: Arc<dyn Host>) -> Self {
        Self { functions: sprig::functions(&host) }
    }

    /// Reads a template.
    ///
    /// # Errors
    /// The first syntax error, or every use of a function that does not exist.
    pub fn parse(&self, source: &str) -> Result<Parsed, Vec<TemplateFault>> {
        if source.len() > MAX_TEXT {
            return Err(vec![too_long("the template")]);
        }
        let parsed = Parser::new(source, "{{", "}}").and_then(Parser::parse);
        let (mut main, mut defines) = parsed.map_err(|error| vec![fault(&error, 0)])?;
        let mut faults: Vec<TemplateFault> = stray::find(source).into_iter().collect();
        for body in std::iter::once(&mut main).chain(defines.iter_mut().map(|define| &mut define.body)) {
            rewrite::rewrite(body, source, &self.functions, &mut faults);
        }
        if faults.is_empty() { Ok(Parsed { main, defines }) } else { Err(faults) }
    }

    /// Renders a template with data that contains no secrets.
    ///
    /// # Errors
    /// The fault that stopped it.
    pub fn render(&self, template: &Parsed, data: &Json) -> Result<String, TemplateFault> {
        Ok(self.render_masked(template, data, &SecretMask::Open)?.text)
    }

    /// Renders a template with data whose secret parts the mask marks. The text records which of
    /// its parts a secret touched.
    ///
    /// # Errors
    /// The fault that stopped it, without secrets.
    pub fn render_masked(
        &self,
        template: &Parsed,
        data: &Json,
        mask: &SecretMask,
    ) -> Result<Rendered, TemplateFault> {
        let defines = template.defines.iter().map(|define| (define.name.as_str(), &define.body));
        let mut run = Run::new(&self.functions, defines.collect());
        let data = MaskedValue { value: from_json(data), mask: mask.clone() };
        run.run(&template.main, data).map_err(|error| fault(&error, run.line))
    }
}

fn fault(error: &TemplateError, line: usize) -> TemplateFault {
    match error {
        TemplateError::Parse { line, message, .. } | TemplateError::Lex { line, message, .. } => {
            let hint =
                if message.contains("comment") { "; a comment ends with `*/}}` or `*/ -}}`" } else { "" };
            TemplateFault { line: *line, message: format!("{message}{hint}") }
        }
        TemplateError::Write => TemplateFault { line, ..too_long("the text") },
        TemplateError::RangeIterLimit => {
            TemplateFault { line, message: format!("the loops take more than {MAX_TURNS} turns together") }
        }
        TemplateError::Exec(message) => TemplateFault { line, message: message.clone() },
        other => TemplateFault { line, message: other.to_string() },
    }
}

fn too_long(what: &str) -> TemplateFault {
    TemplateFault { line: 0, message: format!("{what} is longer than {MAX_TEXT} bytes") }
}

/// Whether a value is small enough to be kept.
fn bounded(value: &Value) -> Result<(), String> {
    let fits = match value {
        Value::String(text) => text.len() <= MAX_TEXT,
        Value::List(items) => items.len() <= MAX_ITEMS,
        Value::Map(entries) => entries.len() <= MAX_ITEMS,
        _ => true,
    };
    if fits { Ok(()) } else { Err(format!("a value is larger than {MAX_TEXT} bytes or {MAX_ITEMS} items")) }
}

#[cfg(all(test, feature = "full"))]
mod masked_tests;
#[cfg(test)]
mod tests;
