//! `purlin outputs`

use purlin_engine as engine;
use purlin_engine::Misnamed;
use purlin_model::{Key, Value};
use serde_json::Value as Json;

use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::naming;
use crate::render;
use crate::text;

/// Show the results of a deployment: the workloads' documents and the outputs of every resource.
///
/// Reads only the record; the documents only identify the environment.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin outputs
  purlin outputs --raw web.db.host           one value, unquoted
  purlin outputs --format json | jq '.resources[\"dns.default#shared.web\"].host'

With `--format json`, and in YAML without it; secrets appear as \"[secret]\":
  {\"format\": 1, \"workloads\": {NAME: {\"metadata\", \"spec\"}}, \"resources\": {KEY: {…}}}")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// Print only this output of a resource, without quotes: the key or short name of the resource, and
    /// the name of the output.
    #[arg(long, value_name = "KEY.OUTPUT", conflicts_with_all = ["format", "json"])]
    raw: Option<String>,

    /// Show secrets in plain text.
    #[arg(long)]
    show_secrets: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let place = input::place(&args.documents, app).await?;
    let fail = Failure::without_sources;
    let records = place.purlin.records(&place.environment()).await.map_err(fail)?;
    if records.is_empty() {
        app.ui.note(&format!("nothing is recorded in {}", place.environment()));
        input::hint_at_others(&place, app).await?;
    }
    let outputs = purlin_host::outputs(&records);
    if let Some(name) = &args.raw {
        let value = single(name, &outputs, &place.environment().to_string())?;
        let text = match render::value::json(value, args.show_secrets) {
            _ if matches!(value, Value::Secret(_)) && !args.show_secrets => {
                return Err(Failure::input(format!("`{}` is a secret", text::line(name)))
                    .hint("`--show-secrets` prints it"));
            }
            Json::String(text) => text,
            other => other.to_string(),
        };
        // Output for another program must stay unchanged.
        let on_terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
        let shown = if on_terminal { text::block(&text).into_owned() } else { text };
        app.ui.data(&format!("{shown}\n"));
        place.purlin.close().await.map_err(fail)?;
        return Ok(Status::Done);
    }
    let report = outputs.report(|value| render::value::json(value, args.show_secrets));
    let wrong = !report.errors.is_empty();
    match args.format.format {
        Format::Json => app.ui.json(&report),
        Format::Text => {
            report.errors.iter().for_each(|error| app.ui.error(error));
            let document = serde_json::json!({"workloads": report.workloads, "resources": report.resources});
            app.ui.data(&text::block(&render::value::yaml(&document)?));
        }
    }
    place.purlin.close().await.map_err(fail)?;
    Ok(if wrong { Status::Failed } else { Status::Done })
}

/// The output with a name such as `web.db.host`. The longest prefix that names a resource selects
/// the resource, and the rest is the path to the value.
fn single<'a>(
    name: &str,
    outputs: &'a purlin_host::Outputs,
    environment: &str,
) -> Result<&'a Value, Failure> {
    let mut wrong: Option<(Misnamed, &str)> = None;
    for (at, _) in name.match_indices('.').collect::<Vec<_>>().into_iter().rev() {
        let (resource, path) = (&name[..at], &name[at + 1..]);
        match engine::find(resource, outputs.resources.keys()) {
            Ok(key) => {
                let Some(all) = outputs.resources.get(key) else { continue };
                let found = within(all, path);
                if found.is_err() && wrong.as_ref().is_some_and(|(wrong, _)| !wrong.fits.is_empty()) {
                    // The longer name is that of several resources.
                    break;
                }
                return found.map_err(|part| {
                    let failure = Failure::input(format!("`{key}` has no output `{}`", text::line(path)));
                    let known: Vec<&str> = match all {
                        Value::Map(map) => map.iter().map(|(name, _)| &**name).collect(),
                        _ => Vec::new(),
                    };
                    let listing = match known.is_empty() {
                        true => "it has no outputs".to_owned(),
                        false => format!("it has {}", known.join(", ")),
                    };
                    naming::suggest(failure, &part, known, &listing)
                });
            }
            // Keep the first error, which concerns the longest name.
            Err(error) => {
                wrong.get_or_insert((error, path));
            }
        }
    }
    Err(match wrong {
        Some((wrong, path)) => {
            let has = |key: &&Key| outputs.resources.get(*key).is_some_and(|all| within(all, path).is_ok());
            let fits = wrong.fits.iter().filter(has).map(|key| format!("{key}.{path}"));
            let failure = naming::unrecorded(&wrong, environment);
            match naming::alternatives(fits) {
                Some(fits) => failure.hint(format!("did you mean {fits}?")),
                None if wrong.fits.is_empty() => failure,
                None => failure.hint(format!("none of them has an output `{}`", text::line(path))),
            }
        }
        None => Failure::input(format!("`{}` names no output", text::line(name)))
            .hint("write the resource and the output: `web.db.host`, `dns#shared.web.host`"),
    })
}

/// The value at a path; the name that does not exist as the error.
fn within<'a>(value: &'a Value, path: &str) -> Result<&'a Value, String> {
    path.split('.').try_fold(value, field)
}

/// The element of a value with this name; the name itself as the error if there is none.
fn field<'a>(value: &'a Value, name: &str) -> Result<&'a Value, String> {
    let found = match value {
        Value::Map(map) => map.get(name),
        Value::List(items) => name.parse::<usize>().ok().and_then(|at| items.get(at)),
        _ => None,
    };
    found.ok_or_else(|| name.to_owned())
}
