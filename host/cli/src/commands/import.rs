//! `purlin import`

use purlin_engine::{PlanOptions, Scope};
use purlin_host::{Job, UpOptions};

use super::deploy::{self, Conduct, Ended, RunOutput};
use crate::app::App;
use crate::args::{AcceptArgs, DocumentArgs, Format, FormatArg};
use crate::consent::{Consent, ConsentArgs};
use crate::failure::{Failure, Status};
use crate::input;

/// Adopt an existing resource.
///
/// The documents must declare the resource. Its driver reads the object with this ID, and Purlin records
/// it. Nothing real is changed; `purlin plan` then shows how it differs from the documents. This also
/// ends a call that an interrupted run left undecided.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin import postgres#shared.db db-7f3a
  purlin import --yes 'dns#modules.web.externals.www' www.example.org -f platform -f app

To adopt it in the same run as everything else, write in a Deployment:
  lifecycle: {postgres#shared.db: {import: db-7f3a}}

Events with `--format json` are the same as for `up`.")]
pub(crate) struct Args {
    /// The resource, as named in the documents.
    #[arg(value_name = "KEY")]
    key: String,

    /// The provider id of the existing object.
    #[arg(value_name = "ID")]
    id: String,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    accept: AcceptArgs,

    #[command(flatten)]
    consent: ConsentArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    if args.key.contains('*') {
        return Err(Failure::input(format!("`{}` is a pattern; name one resource", args.key)));
    }
    let json = args.format.format == Format::Json;
    let consent = Consent::new(&args.consent, json, app)?;
    let mut given = input::given(&args.documents, app).await?;
    given.documents.accept_missing.clone_from(&args.accept.accept_missing);
    let purlin = input::orchestrator(&given.workspace, app)?;
    let fail = |error| given.failure(error);
    let shown = RunOutput::new(json, app);
    let options = PlanOptions {
        scope: Scope { targets: vec![args.key.clone()], ..Scope::default() },
        import: vec![(args.key.clone(), args.id.as_str().into())],
        import_only: true,
        ..PlanOptions::default()
    };
    let job = Job::up(&given.documents, UpOptions { plan: options, ..UpOptions::default() });
    let conduct = Conduct { consent: Some(&consent), question: "Adopt it?", retry_until: None };
    let Ended { status, differs, .. } =
        deploy::run(&purlin, &job, conduct, &shown, app).await.map_err(fail)?;
    if status == Status::Done && differs && args.format.format == Format::Text {
        app.ui
            .hint("the next `purlin up` changes it to match the documents; `purlin plan` shows the changes");
    }
    deploy::close(purlin, app).await?;
    Ok(status)
}
