//! Go templates with Sprig's functions, as drivers need them: a render is bounded, a fault says its
//! line, and a value that does not exist is a fault in the place of `<no value>`.
//!
//! It must not know what drivers do with the text, and draws no entropy and reads no clock of its
//! own: both come in through [`Host`], so that it builds for every WebAssembly target.

mod rewrite;
mod sprig;
mod stray;
mod value;
#[cfg(feature = "full")]
pub mod yaml;

use std::fmt::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gotmpl::parse::{DefineNode, ListNode, Parser};
use gotmpl::{TemplateError, Value, ValueFunc};
use serde_json::Value as Json;

pub use value::{from_json, to_json};

/// Most characters that a render, or one value on the way, may have.
pub const MAX_TEXT: usize = 1 << 20;
/// Most items that a list or a map on the way may have.
pub const MAX_ITEMS: usize = 100_000;
/// Most turns that the loops of one render may take together.
pub const MAX_TURNS: u64 = 1_000_000;

const MAIN: &str = " main";

/// What templates may ask of the world.
pub trait Host: Send + Sync {
    /// Fills a buffer with random bytes.
    ///
    /// # Errors
    /// Why there are none.
    fn fill(&self, buffer: &mut [u8]) -> Result<(), String>;
    /// Seconds since 1970.
    ///
    /// # Errors
    /// Why that is not known.
    fn now(&self) -> Result<i64, String>;
}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1; 0 where it is not known.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// The functions, made once and shared by the templates of a call.
pub struct Engine {
    functions: std::collections::BTreeMap<String, ValueFunc>,
    line: Arc<AtomicUsize>,
}

/// A template whose syntax is right and whose functions all exist.
pub struct Parsed {
    main: ListNode,
    defines: Vec<DefineNode>,
}

impl Engine {
    /// An engine on top of a host.
    pub fn new(host: Arc<dyn Host>) -> Self {
        let line = Arc::new(AtomicUsize::new(0));
        let mut functions = sprig::functions(&host);
        rewrite::add_functions(&mut functions, &line);
        Self { functions, line }
    }

    /// Reads a template.
    ///
    /// # Errors
    /// The first fault of the syntax, or every use of a function that does not exist.
    pub fn parse(&self, source: &str) -> Result<Parsed, Vec<Fault>> {
        if source.len() > MAX_TEXT {
            return Err(vec![too_long("the template")]);
        }
        let parsed = Parser::new(source, "{{", "}}").and_then(Parser::parse);
        let (mut main, mut defines) = parsed.map_err(|error| vec![self.fault(&error, 0)])?;
        let mut faults: Vec<Fault> = stray::find(source).into_iter().collect();
        for body in std::iter::once(&mut main).chain(defines.iter_mut().map(|define| &mut define.body)) {
            rewrite::rewrite(body, source, &self.functions, &mut faults);
        }
        if faults.is_empty() { Ok(Parsed { main, defines }) } else { Err(faults) }
    }

    /// Renders a template with data.
    ///
    /// # Errors
    /// The fault at which it stopped.
    pub fn render(&self, template: &Parsed, data: &Json) -> Result<String, Fault> {
        let mut made = gotmpl::Template::new("")
            .funcs(self.functions.clone())
            .max_range_iters(MAX_TURNS)
            .add_parse_tree(MAIN, template.main.clone());
        for define in &template.defines {
            made = made.add_parse_tree(&define.name, define.body.clone());
        }
        self.line.store(0, Ordering::Relaxed);
        let mut text = Bounded(String::new());
        match made.execute_template_fmt(&mut text, MAIN, &from_json(data)) {
            Ok(()) => Ok(text.0),
            Err(error) => Err(self.fault(&error, self.line.load(Ordering::Relaxed))),
        }
    }

    fn fault(&self, error: &TemplateError, line: usize) -> Fault {
        match error {
            TemplateError::Parse { line, message, .. } | TemplateError::Lex { line, message, .. } => {
                let hint =
                    if message.contains("comment") { "; a comment ends with `*/}}` or `*/ -}}`" } else { "" };
                Fault { line: *line, message: format!("{message}{hint}") }
            }
            TemplateError::Write => Fault { line, ..too_long("the text") },
            TemplateError::RangeIterLimit => {
                Fault { line, message: format!("the loops take more than {MAX_TURNS} turns together") }
            }
            TemplateError::Exec(message) => Fault { line, message: message.clone() },
            other => Fault { line, message: other.to_string() },
        }
    }
}

fn too_long(what: &str) -> Fault {
    Fault { line: 0, message: format!("{what} is longer than {MAX_TEXT} bytes") }
}

/// Text that refuses to grow without end.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_TEXT {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
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

#[cfg(test)]
mod tests;
