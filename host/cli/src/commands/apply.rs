//! `purlin apply`

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use purlin_files::open_named;
use purlin_files::reason;
use purlin_host::{Job, begins_as_plan};
use purlin_model::Context;
use purlin_state as state;

use super::deploy::{self, Conduct, RunOutput};
use super::up;
use crate::app::App;
use crate::args::{ContextArgs, DocumentArgs, Format, FormatArg};
use crate::consent::{Consent, ConsentArgs};
use crate::failure::{Failure, Status};
use crate::hints::NEW_PLAN;
use crate::{input, text};

/// Apply a plan that `purlin plan --out` wrote.
///
/// Applies exactly the saved plan, with its documents and values. If the state has changed since the
/// plan was made, Purlin rejects the plan. A plan that failed or was interrupted is the exception: run
/// the command again, and it determines the outcome of the open calls and continues with the rest. If
/// documents are named as well, they must match the plan. Without a terminal, `--yes` is required.
///
/// With `--file` and without a plan, this is `purlin up`, which asks before it changes anything.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin plan --out change.plan && purlin apply --yes change.plan
  purlin apply change.plan -f platform    rejected if these documents differ from the plan

Events with `--format json` are the same as for `up`.")]
#[command(mut_args(described))]
pub(crate) struct Args {
    /// The plan to apply.
    #[arg(value_name = "PLAN", required_unless_present = "file")]
    plan: Option<PathBuf>,

    #[command(flatten)]
    consent: ConsentArgs,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

/// Describes the documents, which this command takes from the plan unless they are named.
fn described(argument: clap::Arg) -> clap::Arg {
    if argument.get_id().as_str() != "paths" {
        return argument;
    }
    argument.help(
        "Documents that must match the plan: files, folders (recursively), or `-` for standard input \
         [default: the plan's own documents]",
    )
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let Some(plan) = &args.plan else {
        // In a script, the name of the plan may be an empty variable.
        if args.consent.yes {
            return Err(Failure::input("`--yes` applies a plan, and none is named")
                .hint("`purlin up --yes` plans and applies documents in one step"));
        }
        return up::run(&up::Args::new(&args.documents, &args.consent, args.format), app).await;
    };
    let path = text::path(plan);
    if input::is_document(plan) {
        return Err(Failure::input(format!("`{path}` contains documents, not a plan"))
            .hint(format!("`purlin up {path}` plans and applies in one step"))
            .hint("`purlin plan --out FILE` writes a plan"));
    }
    let json = args.format.format == Format::Json;
    let consent = Consent::new(&args.consent, json, app)?;
    let bytes = read(plan).map_err(|error| {
        Failure::input(format!("cannot read the plan `{path}`: {}", reason(&error)))
            .hint("`purlin plan --out FILE` writes one; `purlin up` plans and applies in one step")
    })?;
    let named = !args.documents.named().is_empty();
    let mut given = if named { Some(input::given(&args.documents, app).await?) } else { None };
    let workspace = match &given {
        Some(given) => given.workspace.clone(),
        None => input::workspace(&input::load(&args.documents, app)?, app),
    };
    let purlin = input::orchestrator(&workspace, app)?;
    let sources = given.as_ref().map(|given| given.sources.clone()).unwrap_or_default();
    let fail = |error| Failure::host(error, &sources);
    let saved = purlin.open_plan(&bytes).await.map_err(|error| unopened(error, &path))?;
    let mut kept = match &given {
        Some(_) => None,
        None => Some(saved.documents().map_err(fail)?),
    };
    if let Some(kept) = &kept {
        agrees(&args.documents, &kept.context, &path)?;
    }
    let Some(documents) = given.as_mut().map(|given| &mut given.documents).or(kept.as_mut()) else {
        return Err(Failure::input("the plan has no documents"));
    };
    let shown = RunOutput::new(json, app);
    let job = Job::apply(&saved, documents);
    let conduct = Conduct { consent: Some(&consent), question: "Apply this plan?", retry_until: None };
    let ended = deploy::run(&purlin, &job, conduct, &shown, app).await.map_err(fail)?;
    deploy::close(purlin, app).await?;
    Ok(ended.status)
}

/// # Errors
/// If the command line names another context than the plan's, or what belongs to documents, although a
/// plan has its own.
fn agrees(args: &DocumentArgs, planned: &Context, path: &str) -> Result<(), Failure> {
    let ContextArgs { org, app, env, env_type, namespace } = &args.context;
    let named = [
        ("--org", org, &planned.org),
        ("--app", app, &planned.app),
        ("--env", env, &planned.env.id),
        ("--env-type", env_type, &planned.env.kind),
        ("--namespace", namespace, &planned.namespace),
    ];
    for (option, given, planned) in named {
        if let Some(given) = given.as_ref().filter(|given| given.as_str() != &**planned) {
            let message =
                format!("the plan `{path}` is for `{option} {planned}`, not for `{}`", text::line(given));
            return Err(Failure::input(message).hint(NEW_PLAN));
        }
    }
    match args.of_documents() {
        Some(option) => Err(Failure::input(format!(
            "the plan `{path}` has its own documents and values, so `{option}` would have no effect"
        ))
        .hint(format!("leave `{option}` out, or name the documents that must match the plan"))
        .hint(NEW_PLAN)),
        None => Ok(()),
    }
}

/// The largest plan that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// The bytes of a plan; of anything else, only its beginning, which shows that it is none.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    const BEGINNING: u64 = 64;
    let mut file = open_named(path)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(BEGINNING).read_to_end(&mut bytes)?;
    if begins_as_plan(&bytes) {
        file.take(LARGEST).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > LARGEST { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// The failure for a plan that cannot be opened.
fn unopened(error: purlin_host::Error, path: &str) -> Failure {
    match error {
        purlin_host::Error::State(state::Error::Damaged { .. }) => Failure::input(format!(
            "the seal of the plan `{path}` does not match: the plan was changed, or made with another state"
        ))
        .hint(NEW_PLAN),
        other => Failure::without_sources(other),
    }
}
