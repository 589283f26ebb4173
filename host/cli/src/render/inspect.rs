//! Renders the inspection of a driver for people. Facts from the component's bytes come first. The
//! driver's own statements follow under a separate heading, and cannot control the terminal.

use std::fmt::Write as _;

use purlin_host::Granted;
use purlin_model::driver::RequestedCapability;
use purlin_sandbox::Import;

use crate::report::inspect::{Component, DriverInfo, Field, Type};
use crate::style::{DELETE, DIM, GOOD, STRONG, UPDATE, paint};
use crate::text;

/// The minimum width for the text next to a name, even on a narrow terminal.
const NARROWEST: usize = 24;

/// The complete result, no wider than the terminal if there is one.
pub(crate) fn render(component: &Component, columns: Option<usize>) -> String {
    let mut out = String::new();
    let title = component.name.as_deref().or(component.file.as_deref()).unwrap_or("a component");
    let _ = writeln!(out, "{}", paint(STRONG, text::line(title)));
    let file = component.file.as_deref().map_or("came with purlin".into(), text::line);
    let _ = writeln!(out, "  from      {file}, {}", text::size(component.interfaces.size));
    let _ = writeln!(out, "  digest    sha256:{}", component.interfaces.digest);
    let contract = match &component.interfaces.contract {
        Some(version) => format!("purlin:driver@{}", text::line(version)),
        None => "none: it is not a driver".to_owned(),
    };
    let _ = writeln!(out, "  contract  {contract}");
    if let Some(version) = &component.interfaces.preview {
        let _ = writeln!(out, "  previews  its effects: purlin:preview@{}", text::line(version));
    }
    imports(&mut out, &component.interfaces.imports, columns);
    if let Some(info) = &component.info {
        describe(&mut out, info);
    }
    if let Some(block) = &component.grants {
        let _ = writeln!(
            out,
            "\n{}\n\n{}",
            paint(STRONG, "Grants for it, in purlin.yaml"),
            text::block(block).trim_end()
        );
    }
    out
}

fn imports(out: &mut String, imports: &[Import], columns: Option<usize>) {
    let _ = writeln!(out, "\n{}", paint(STRONG, "Imports of the component"));
    if imports.is_empty() {
        let _ = writeln!(out, "  nothing");
    }
    let width =
        imports.iter().map(|import| text::width(&text::line(&import.name))).max().unwrap_or(0).min(44);
    // Unknown imports first, then those that access something outside.
    let mut sorted: Vec<&Import> = imports.iter().collect();
    sorted.sort_by_key(|import| (import.offered, import.capability.is_none()));
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(width + 4).max(NARROWEST));
    for import in sorted {
        let name = text::line(&import.name);
        let blanks = " ".repeat(width.saturating_sub(text::width(&name)));
        let purpose = match (import.offered, import.purpose) {
            (true, Some(purpose)) => text::wrap(purpose, room).join(&format!("\n{}", " ".repeat(width + 4))),
            (true, None) => paint(UPDATE, "unknown, and linked"),
            (false, _) => paint(DELETE, "unknown: not available to drivers"),
        };
        let _ = writeln!(out, "  {name}{blanks}  {purpose}");
    }
}

fn describe(out: &mut String, info: &DriverInfo) {
    let _ = writeln!(out, "\n{}", paint(STRONG, "Description, as the driver reports it"));
    let _ = writeln!(out, "  {} {}: {}", text::line(&info.name), info.version, text::line(&info.description));
    for (name, note) in &info.notes {
        let note = note.as_str().map_or_else(|| note.to_string(), str::to_owned);
        let _ = writeln!(out, "  {}: {}", text::line(name), text::line(&note));
    }
    info.types.iter().for_each(|one| describe_type(out, one));
    if info.requested_capabilities.is_empty() {
        let _ = writeln!(out, "\n  It requests no capabilities.");
        return;
    }
    let _ = writeln!(out, "\n  It requests");
    for requested in &info.requested_capabilities {
        let granted = match requested.granted {
            Granted::Yes => paint(GOOD, "granted"),
            Granted::InPart => paint(UPDATE, "granted in part: what it needs depends on its inputs"),
            Granted::No => paint(DELETE, "not granted"),
        };
        let RequestedCapability { capability, pattern, reason } = &requested.request;
        let what = format!("{capability} {pattern}");
        let _ = writeln!(out, "    {}  {}", text::line(what.trim_end()), granted);
        if !reason.is_empty() {
            let _ = writeln!(out, "      {}", text::line(reason));
        }
    }
}

fn describe_type(out: &mut String, one: &Type) {
    let name = if one.name == "*" { "any type".into() } else { format!("type {}", text::line(&one.name)) };
    let _ = writeln!(out, "\n  {name}");
    if !one.implements.is_empty() {
        let _ = writeln!(out, "    implements {}", one.implements.join(", "));
    }
    for (title, fields) in [("input", &one.inputs), ("output", &one.outputs)] {
        for field in fields {
            let _ = writeln!(out, "    {title:<6}  {}{}", text::line(&field.path), paint(DIM, marks(field)));
        }
    }
}

fn marks(field: &Field) -> String {
    let marks: Vec<&str> = [(field.required, "required"), (field.secret, "secret")]
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, mark)| *mark)
        .collect();
    if marks.is_empty() { String::new() } else { format!("  ({})", marks.join(", ")) }
}
