//! `purlin validate`

use std::collections::HashSet;

use purlin_model::{Diagnostic, Severity};
use serde::Serialize;

use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report::FORMAT;
use crate::style::{GOOD, paint};
use crate::text;

/// Check documents and their graph, without provisioning.
///
/// Reads every document, matches definitions, builds the graph, validates params and inputs against the
/// schemas of resource types and drivers, and calls the drivers to check the rest. Shows all errors,
/// warnings and notes at once. Needs no state.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin validate                  the workspace's folder
  purlin validate platform/ app/   two folders as one deployment
  purlin validate --offline        without calling drivers
  cat all.yaml | purlin validate - --format json

With `--format json`:
  {\"format\": 1, \"valid\": false,
   \"diagnostics\": [{\"severity\", \"code\", \"message\", \"file\", \"line\", \"column\", \"related\",
                    \"notes\", \"help\"}]}")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// Validate without calling drivers; inputs are not checked, and drivers may be missing.
    #[arg(long)]
    offline: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct ValidationReport<'a> {
    format: u8,
    valid: bool,
    diagnostics: &'a [Diagnostic],
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let mut loaded = input::load(&args.documents, app)?;
    let sources = loaded.sources.clone();
    let mut all = loaded.diagnostics.clone();
    let mut found = None;
    let faulty = loaded.has_errors();
    let is_nothing = loaded.sources().is_empty();
    let workspace = input::workspace(&loaded, app);
    input::recall(&mut loaded, &args.documents, &workspace, app).await?;
    let made = input::in_context(loaded, &args.documents, &workspace);
    match made {
        Ok(documents) => {
            all.extend(documents.remarks.iter().cloned());
            if is_nothing && let Some(fault) = documents.nothing_declared() {
                let message = "no document was found".to_owned();
                all.push(Diagnostic { severity: Severity::Warning, message, ..fault });
            }
            let purlin = input::orchestrator(&workspace, app)?;
            match app.timings.wait("build graph", purlin.graph(&documents)).await {
                Ok(graph) => {
                    found = Some((documents.definition_index().definitions().len(), graph.len()));
                    let fail = |error| Failure::host(error, &sources);
                    all.extend(purlin.check_secrets(&documents, &graph).map_err(fail)?);
                    let checked = purlin.validate(&documents, graph, args.offline);
                    all.extend(app.timings.wait("ask drivers", checked).await.map_err(fail)?);
                }
                Err(purlin_host::Error::Documents(mut faults)) => {
                    let only_read = input::only_read(&args.documents, app);
                    input::add_only_read(&mut faults, only_read.as_deref());
                    all.extend(faults);
                }
                Err(other) => return Err(Failure::host(other, &sources)),
            }
        }
        // The result repeats the faults found while reading, and adds those of the documents
        // together.
        Err(purlin_host::Error::Documents(faults)) => {
            let what = |fault: &Diagnostic| (fault.location.clone(), fault.code, fault.message.clone());
            let known: HashSet<_> = all.iter().filter(|_| faulty).map(what).collect();
            all.extend(faults.into_iter().filter(|fault| !known.contains(&what(fault))));
        }
        Err(other) => return Err(Failure::host(other, &sources)),
    }
    let errors = all.iter().filter(|fault| fault.is_error()).count();
    match args.format.format {
        Format::Json => {
            app.ui.json(&ValidationReport { format: FORMAT, valid: errors == 0, diagnostics: &all });
        }
        Format::Text => {
            if !all.is_empty() {
                app.ui.raw(&render::diagnostics::render(&all, &sources, app.ui.error_columns()));
            }
            match found.filter(|_| errors == 0) {
                Some((definitions, resources)) => app.ui.data(&format!(
                    "{}: {}, {} in the graph.\n",
                    paint(GOOD, "Valid"),
                    text::count(definitions, "definition"),
                    text::count(resources, "resource")
                )),
                None => app.ui.error(&text::count(errors, "error")),
            }
        }
    }
    Ok(if errors == 0 { Status::Done } else { Status::Input })
}
