//! `purlin env show`

use purlin_host::Documents;
use purlin_state::Environment;

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::input::{self, Place};
use crate::naming;
use crate::render;
use crate::report::FORMAT;
use crate::report::environment::{Details, Entry, EnvironmentReport, types, values};

/// Show an environment: its context, its values and its record.
///
/// The values come from the last deployment, or from the documents if nothing is recorded. Placeholders
/// are shown as written. Values from the command line are shown only with `--show-secrets`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin env show
  purlin env show prod
  purlin env show prod --format json | jq .environment.values

With `--format json`, the fields of `purlin env list`, and more:
  {\"format\": 1, \"environment\": {…,
     \"values\": [{\"name\", \"value\", \"origin\": \"deployment|environment|file|option\", \"hidden\"}],
     \"types\": [{\"type\", \"resources\", \"statuses\": {\"ready\": 1}}]}}")]
pub(super) struct Args {
    /// The environment [default: the one set by documents, `--env` and purlin.yaml].
    #[arg(value_name = "ENV", conflicts_with = "env")]
    environment: Option<String>,

    /// Also show values from the command line.
    #[arg(long)]
    show_secrets: bool,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let mut documents = args.place.documents();
    // An environment on the command line may differ from the documents' own, since this command
    // only reads.
    if let Some(name) = &args.environment {
        documents.context.env = None;
        documents.context.env_type = None;
        documents.context.namespace = None;
        if name.is_empty() {
            return Err(Failure::input("the name of the environment is empty"));
        }
    }
    let place = input::place_as_written(&documents, app).await?;
    let here = place.environment();
    let environment = match &args.environment {
        Some(name) => Environment { env: name.as_str().into(), ..here.clone() },
        None => here.clone(),
    };
    let known = place.purlin.known_environments().await.map_err(Failure::without_sources)?;
    let recorded: Vec<Environment> = known.iter().map(|known| known.environment.clone()).collect();
    let known = known.iter().find(|known| known.environment == environment);
    let declared = place.workspace.environments.contains_key(&environment.env);
    if !declared && !recorded.contains(&environment) {
        return Err(unknown(&environment, &recorded, &place));
    }
    let entry = Entry::of(&environment, known, &place).await.map_err(Failure::without_sources)?;
    let snapshot = place.purlin.snapshot(&environment).await.map_err(Failure::without_sources)?;
    let last = place.purlin.last_deployed(&environment).await.map_err(Failure::without_sources)?;
    let given: Option<Documents> = match &last {
        // Documents that were valid then may be invalid now; in that case there is nothing to show.
        Some(last) => last.documents(&last.deployment.id).ok(),
        None => {
            documents.context.env = Some(environment.env.to_string());
            let loaded = input::load(&documents, app)?;
            input::in_context(loaded, &documents, &place.workspace).ok()
        }
    };
    let shown = EnvironmentReport {
        format: FORMAT,
        environment: Details {
            entry,
            values: given.map(|given| values(&given, args.show_secrets)).unwrap_or_default(),
            types: types(&snapshot),
        },
    };
    match args.format.format {
        Format::Json => app.ui.json(&shown),
        Format::Text => app.ui.data(&render::environment::details(&shown.environment, app.ui.columns())),
    }
    place.purlin.close().await.map_err(Failure::without_sources)?;
    Ok(Status::Done)
}

fn unknown(environment: &Environment, recorded: &[Environment], place: &Place) -> Failure {
    let failure = Failure::input(format!("{environment} is neither declared nor recorded"));
    let known = recorded.iter().map(|known| &*known.env);
    let known = known.chain(place.workspace.environments.keys().map(|name| &**name));
    if recorded.iter().any(|known| known.env == environment.env) {
        return failure
            .hint("`--app` and `--org` name that of another application; `purlin env list` shows all");
    }
    naming::suggest(failure, &environment.env, known, "`purlin env list` lists the environments")
}
