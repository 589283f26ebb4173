//! The inside of one `${…}`: its root, and what it reads. `dialect.rs` lists the roots of each kind
//! of document.

use std::sync::Arc;

use purlin_model::{Access, BundleField, ContextField, InstallationField, Path, Pipe, Reference};

use crate::descriptor::{Either, parse_either};
use crate::dialect::Dialect;
use crate::error::ExpressionError;
use crate::nearest::{did_you_mean, nearest};
use crate::path;

/// The help for a placeholder of a bundle that reads no output of a requirement.
pub const READ_ONE_OUTPUT: &str = "write `${bundle.dependencies.NAME.outputs.OUTPUT}`";

const ACCESSES: [&str; 4] = ["outputs", "guresid", "account", "values"];
const ACCESS_HELP: &str = "say what to read: `.outputs.NAME`, `.guresid`, `.account` or `.values.NAME`";

/// Reads `text[start..end]`, the inside of a placeholder without surrounding spaces.
pub(crate) fn parse(
    text: &str,
    start: usize,
    end: usize,
    dialect: Dialect,
) -> Result<Reference, ExpressionError> {
    let body = &text[start..end];
    let root_end = start + body.find(['.', '[']).unwrap_or(body.len());
    let root = &text[start..root_end];
    let roots = dialect.roots();
    if !roots.iter().any(|(known, _)| *known == root) {
        return Err(unknown_root(root, body, start..root_end, dialect));
    }
    let path = |from: usize| path::parse(text, from, end, dialect);
    match root {
        "context" => context(text, root_end, end, dialect),
        "values" => Ok(Reference::Value(exact(path(root_end)?))),
        "params" => Ok(Reference::Param(exact(path(root_end)?))),
        "manifest" => Ok(Reference::Manifest(exact(path(root_end)?))),
        "metadata" => Ok(Reference::Metadata(exact(path(root_end)?))),
        "bundle" => bundle(text, root_end, end, dialect),
        "installation" => installation(text, root_end, end, dialect),
        // The reader knows what is required here.
        "outputs" => Ok(Reference::Named(Arc::default(), exact(path(root_end)?))),
        "resources" if matches!(dialect, Dialect::Definition | Dialect::Humanitec | Dialect::Requiring) => {
            resource(text, root_end, end, dialect)
        }
        _ => {
            let mut segments = path(root_end)?.into_iter();
            let Some(name) = segments.next() else {
                let example =
                    roots.iter().find(|(known, _)| *known == root).map_or("", |(_, example)| example);
                return Err(ExpressionError::new(
                    "placeholder",
                    format!("`{root}` alone names no resource"),
                    start..end,
                    format!("name one, as in `{example}`"),
                ));
            };
            let rest = exact(segments.collect());
            Ok(if root == "shared" { Reference::Shared(name, rest) } else { Reference::Named(name, rest) })
        }
    }
}

fn unknown_root(root: &str, body: &str, range: std::ops::Range<usize>, dialect: Dialect) -> ExpressionError {
    let escape = format!("write `{}{body}}}` if the text itself is meant", dialect.escaped());
    if root.is_empty() {
        return ExpressionError::new("placeholder", "a placeholder begins with a root", range, escape);
    }
    if let Some((function, argument)) = call(body) {
        let message = format!("`{function}(…)` is a function, and placeholders have none");
        let is_pipe = Pipe::ALL.iter().any(|(known, _)| *known == function);
        let piped = format!("write `${{{argument} | {function}}}`");
        let help = format!(
            "read the value itself, `${{{argument}}}`, and transform it where it is used: the driver \
             `purlin/template` has functions such as `{{{{ … | {function} }}}}`"
        );
        let help = if is_pipe { piped } else { help };
        return ExpressionError::new("no-functions", message, range.start..range.start + body.len(), help);
    }
    let near = nearest(root, dialect.roots().iter().map(|(known, _)| *known));
    let help = match near {
        Some(near) => format!("did you mean `{near}`? {escape}"),
        None if root == "bundle" && matches!(dialect, Dialect::Definition | Dialect::Humanitec) => {
            format!("only a bundle, or a definition with `requires`, reads it; {escape}")
        }
        None => {
            let known = dialect.roots().iter().map(|(_, example)| format!("`{example}`"));
            format!("a placeholder is one of {}; {escape}", known.collect::<Vec<_>>().join(", "))
        }
    };
    ExpressionError::new("unknown-root", format!("unknown root `{root}`"), range, help)
}

/// A body in the form of a function call: its name, and the text in parentheses.
fn call(body: &str) -> Option<(&str, &str)> {
    let (function, rest) = body.split_once('(')?;
    let argument = rest.strip_suffix(')')?.trim();
    let is_name = !function.is_empty() && function.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((function, argument))
}

fn context(text: &str, start: usize, end: usize, dialect: Dialect) -> Result<Reference, ExpressionError> {
    let written = path::parse(text, start, end, dialect)?.join(".");
    match ContextField::ALL.iter().find(|(known, _)| *known == written) {
        Some((_, field)) => Ok(Reference::Context(*field)),
        None => {
            let known = ContextField::ALL.iter().map(|(path, _)| *path);
            let message = if written.is_empty() {
                "`context` alone names no field".to_owned()
            } else {
                format!("the context has no `{written}`")
            };
            let from = (start + 1).min(end);
            let help = did_you_mean(&written, "fields", known);
            Err(ExpressionError::new("unknown-context", message, from..end, help))
        }
    }
}

/// A path without spare memory: documents hold many.
fn exact(mut segments: Vec<Arc<str>>) -> Path {
    segments.shrink_to_fit();
    Path(segments.into())
}

/// The value that is read from a bundle, starting after the word `bundle`.
fn bundle(text: &str, start: usize, end: usize, dialect: Dialect) -> Result<Reference, ExpressionError> {
    const KNOWN: [&str; 7] =
        ["parameters", "credentials", "dependencies", "outputs", "name", "version", "description"];
    let mut segments = path::parse(text, start, end, dialect)?;
    let fault =
        |message: String, help: String| ExpressionError::new("placeholder", message, start..end, help);
    let part = segments.first().cloned().unwrap_or_default();
    let field = BundleField::ALL.iter().find(|(known, _)| *known == &*part).map(|(_, field)| *field);
    match &*part {
        "parameters" | "credentials" | "outputs" | "name" | "version" | "description" if dialect == Dialect::Requiring => Err(fault(
            format!("a definition is not a bundle, and has no `bundle.{part}`"),
            "read `${params.NAME}`, or an output of a requirement: `${bundle.dependencies.NAME.outputs.OUTPUT}`"
                .to_owned(),
        )),
        _ if let (Some(field), 1) = (field, segments.len()) => Ok(Reference::Bundle(field)),
        _ if field.is_some() => Err(fault(
            format!("`bundle.{part}` is a text and has no fields"),
            format!("write `${{bundle.{part}}}`"),
        )),
        "parameters" | "credentials" if segments.len() > 1 => Ok(Reference::Param(exact(segments))),
        "dependencies" => match segments.get(2).map(|word| &**word) {
            Some("outputs") if segments.len() > 3 => {
                let rest = segments.split_off(3);
                Ok(Reference::Named(segments.swap_remove(1), exact(rest)))
            }
            _ => Err(fault(
                "this reads no output of what is required".to_owned(),
                READ_ONE_OUTPUT.to_owned(),
            )),
        },
        "outputs" => Err(fault(
            "a bundle cannot read outputs of its own, which it does not have yet".to_owned(),
            "read an output of what it requires: `${bundle.dependencies.NAME.outputs.OUTPUT}`".to_owned(),
        )),
        "" => Err(fault(
            "`bundle` alone names nothing".to_owned(),
            "write `${bundle.parameters.NAME}`".to_owned(),
        )),
        _ if segments.len() == 1 && KNOWN.contains(&&*part) => Err(fault(
            format!("`bundle.{part}` alone names nothing"),
            format!("write `${{bundle.{part}.NAME}}`"),
        )),
        _ => Err(fault(format!("a bundle has no `{part}`"), did_you_mean(&part, "parts", KNOWN))),
    }
}

fn installation(
    text: &str,
    start: usize,
    end: usize,
    dialect: Dialect,
) -> Result<Reference, ExpressionError> {
    let written = path::parse(text, start, end, dialect)?.join(".");
    // In places, the design writes `ID` and `Namespace`.
    let found = InstallationField::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(&written));
    found.map(|(_, field)| Reference::Installation(*field)).ok_or_else(|| {
        let known = InstallationField::ALL.iter().map(|(path, _)| *path);
        let message = match &*written {
            "" => "`installation` alone names no field".to_owned(),
            _ => format!("an installation has no `{written}`"),
        };
        let help = did_you_mean(&written, "fields", known);
        ExpressionError::new("placeholder", message, (start + 1).min(end)..end, help)
    })
}

fn resource(text: &str, start: usize, end: usize, dialect: Dialect) -> Result<Reference, ExpressionError> {
    let rest = &text[start..end];
    // The position of the descriptor, and of the access after it.
    let (from, to, access) = if let Some(bracket) = rest.strip_prefix('[') {
        let (inner, length) = path::bracketed(bracket, text, start, end)?;
        if inner.len() + 1 == length {
            return Err(ExpressionError::new(
                "quoting",
                "a descriptor in brackets is quoted",
                start..end,
                "write `resources['TYPE.CLASS#ID']`",
            ));
        }
        (start + 2, start + 2 + inner.len(), start + 1 + length)
    } else if !rest.is_empty() {
        // The first word that names an access ends the descriptor; ids with such a word in them
        // need brackets.
        let found = (start + 1..end).find(|&at| {
            text.get(at..end).and_then(|tail| tail.strip_prefix('.')).is_some_and(|tail| {
                ACCESSES.iter().any(|word| {
                    tail.strip_prefix(word)
                        .is_some_and(|behind| behind.is_empty() || behind.starts_with(['.', '[']))
                })
            })
        });
        let to = found.unwrap_or(end);
        (start + 1, to, to)
    } else {
        return Err(ExpressionError::new(
            "placeholder",
            "`resources` alone names no resource",
            start.saturating_sub("resources".len())..end,
            "name one, as in `${resources['dns'].outputs.host}`",
        ));
    };
    let named = parse_either(&text[from..to]).map_err(|error| {
        ExpressionError::new("descriptor", error.message, from + error.start..from + error.end, error.help)
    });
    if access == end {
        named?;
        return Err(ExpressionError::new(
            "placeholder",
            "nothing is read from the resource",
            from..to,
            ACCESS_HELP,
        ));
    }
    let access = parse_access(text, access, end, dialect)?;
    Ok(match named? {
        Either::Descriptor(descriptor) => Reference::Resource(descriptor, access),
        Either::Selector(selector) => Reference::Selected(Arc::new(selector), access),
    })
}

fn parse_access(text: &str, start: usize, end: usize, dialect: Dialect) -> Result<Access, ExpressionError> {
    let mut segments = path::parse(text, start, end, dialect)?.into_iter();
    let word: Arc<str> = segments.next().unwrap_or_default();
    let rest = exact(segments.collect());
    let known = match &*word {
        "outputs" => return Ok(Access::Outputs(rest)),
        "values" if dialect == Dialect::Humanitec => return Ok(Access::Outputs(rest)),
        "values" => return Ok(Access::Values(rest)),
        "guresid" => Access::Guresid,
        "account" => Access::Account,
        _ => {
            let help = match nearest(&word, ACCESSES) {
                Some(near) => format!("did you mean `{near}`? {ACCESS_HELP}"),
                None => ACCESS_HELP.to_owned(),
            };
            return Err(ExpressionError::new(
                "placeholder",
                format!("a resource has no `{word}` to read"),
                start + 1..end,
                help,
            ));
        }
    };
    if rest.0.is_empty() {
        return Ok(known);
    }
    Err(ExpressionError::new(
        "placeholder",
        format!("`{word}` is a string and has no fields"),
        start..end,
        format!("end the placeholder after `.{word}`"),
    ))
}
