//! `purlin explain-error`

use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::errors::{self, Entry};
use crate::failure::{Failure, Status};
use crate::naming;
use crate::report::code::Codes;
use crate::text;

/// Explain the code of an error, a reason or a finding.
///
/// Prints what the code means, an example, and what to do. The texts are those of the page "Errors and
/// reasons" in the book. Without a code, lists all codes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin explain-error no-match
  purlin explain-error")]
pub(crate) struct Args {
    /// The code, such as `no-match` in `error[no-match]`.
    #[arg(value_name = "CODE")]
    code: Option<String>,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let mut entries = errors::entries();
    if let Some(written) = &args.code {
        let code = code_in(written);
        let known: Vec<&str> = entries.iter().map(|entry| entry.code).collect();
        if !known.contains(&code) {
            let failure = Failure::input(format!("there is no error code `{}`", text::line(code)));
            return Err(naming::suggest(failure, code, known, "`purlin explain-error` lists all codes"));
        }
        entries.retain(|entry| entry.code == code);
    }
    let columns = app.ui.columns();
    match (args.format.format, &*entries) {
        (Format::Json, entries) => app.ui.json(&Codes::new(entries)),
        (Format::Text, [entry]) => {
            app.ui.data(&format!("{}: {}\n\n{}", entry.part, entry.code, entry.text(columns)));
        }
        (Format::Text, entries) => app.ui.data(&list(entries, columns)),
    }
    Ok(Status::Done)
}

/// The code in `error[CODE]`, `error[CODE]:` or `CODE`.
fn code_in(written: &str) -> &str {
    let inner = written.trim().trim_end_matches(':');
    let inner = inner.split_once('[').map_or(inner, |(_, inner)| inner);
    inner.trim_end_matches(']')
}

/// All codes with the first sentence of each.
fn list(entries: &[Entry<'_>], columns: Option<usize>) -> String {
    let widest = entries.iter().map(|entry| entry.code.len()).max().unwrap_or_default();
    let mut out = String::new();
    let mut part = "";
    for entry in entries {
        if part != entry.part {
            let gap = if part.is_empty() { "" } else { "\n" };
            out.push_str(&format!("{gap}{}\n", entry.part));
            part = entry.part;
        }
        let line = format!("  {:widest$}  {}", entry.code, entry.summary());
        out.push_str(&columns.map_or_else(|| line.clone().into(), |columns| text::fit(&line, columns)));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_may_be_copied_with_surrounding_characters() {
        for written in ["no-match", "error[no-match]", "error[no-match]:", "[no-match]"] {
            assert_eq!(code_in(written), "no-match");
        }
    }
}
