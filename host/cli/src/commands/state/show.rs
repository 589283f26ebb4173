//! `purlin state show`

use super::subject::{self, Subject};
use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::render;
use crate::report::FORMAT;
use crate::report::state::{Details, ResourceReport};
use crate::text;

/// Show the full record of a resource.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state show dns#shared.web
  purlin state show urn:purlin:dev/default::shop::shared::dns.default::shared.web --format json

Secrets are shown as `[secret]`.

With `--format json`, as in the text; `reason`, `message`, `pending` and `copies` only if they
exist:
  {\"format\": 1,
   \"resource\": {\"urn\", \"key\", \"status\", \"reason\", \"message\", \"conditions\": […],
              \"pending\": {…}, \"driver\", \"driver_digest\", \"definition\", \"name\", \"provider_id\",
              \"protect\", \"pinned\", \"retain\", \"external\", \"tainted\", \"deleted_with\",
              \"perhaps_deleted_with\": [urn], \"holds_data\", \"parts\": […],
              \"created\", \"updated\", \"deployment\",
              \"inputs\": {…}, \"outputs\": {…}, \"manifests\": […], \"dependencies\": [urn],
              \"dependents\": [urn], \"copies\": […]}}")]
pub(super) struct Args {
    /// The resource: a key (TYPE[.CLASS]#ID), or a URN of any environment.
    #[arg(value_name = "KEY|URN")]
    resource: String,

    #[command(flatten)]
    place: PlaceArgs,

    /// Show secrets in plain text.
    #[arg(long)]
    show_secrets: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let Subject { place, urn, snapshot, .. } = subject::find(&args.resource, &args.place, app).await?;
    let Some(resource) = Details::new(&urn, &snapshot, args.show_secrets) else {
        return Err(subject::unrecorded(urn.as_str()));
    };
    match args.format.format {
        Format::Json => app.ui.json(&ResourceReport { format: FORMAT, resource }),
        Format::Text => {
            let json = serde_json::to_value(&resource)
                .map_err(|error| Failure::caused("cannot describe the record", &error))?;
            app.ui.data(&text::block(&render::value::yaml(&json)?));
        }
    }
    place.purlin.close().await.map_err(Failure::without_sources)?;
    Ok(Status::Done)
}
