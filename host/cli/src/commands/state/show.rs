//! `purlin state show`

use purlin_host::model::{Key, Urn};
use purlin_host::state::{Record, Status as RecordStatus};
use serde::Serialize;
use serde_json::Value as Json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::app::App;
use crate::args::{ContextArgs, DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input::{self, Place};
use crate::render;
use crate::report::FORMAT;
use crate::text;

/// Show everything that is recorded about a resource.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state show dns#shared.web
  purlin state show urn:purlin:dev/default::shop::shared::dns.default::shared.web --format json

Secrets are shown as `[secret]`.")]
pub(super) struct Args {
    /// The resource: a key (TYPE[.CLASS]#ID), or a URN of any environment.
    #[arg(value_name = "KEY|URN")]
    resource: String,

    /// Documents that say which environment it is [default: the folder of the nearest purlin.yaml,
    /// else the current folder].
    #[arg(short, long, value_name = "FILE|DIR")]
    file: Vec<std::path::PathBuf>,

    #[command(flatten)]
    context: ContextArgs,

    /// Show secrets in clear.
    #[arg(long)]
    show_secrets: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct Report {
    format: u8,
    resource: Resource,
}

#[derive(Serialize)]
struct Resource {
    urn: String,
    key: String,
    status: &'static str,
    /// What failed, of a resource that is not whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    driver: String,
    driver_digest: String,
    definition: Option<String>,
    name: String,
    provider_id: String,
    protect: bool,
    retain: bool,
    created: String,
    updated: String,
    deployment: String,
    inputs: Inputs,
    outputs: Json,
    manifests: Vec<Manifest>,
    dependencies: Vec<String>,
    dependents: Vec<String>,
}

#[derive(Serialize)]
struct Inputs {
    values: Json,
    secrets: Json,
    params: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
}

#[derive(Serialize)]
struct Manifest {
    location: String,
    name: String,
}

fn time(millis: u64) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000)
        .ok()
        .and_then(|time| time.replace_nanosecond(0).ok()?.format(&Rfc3339).ok())
        .unwrap_or_else(|| format!("{millis} ms after 1970"))
}

fn report(record: &Record, all: &[Record], show: bool) -> Resource {
    let json = |value| render::value::json(value, show);
    let dependents = all.iter().filter(|other| other.dependencies.contains(&record.urn));
    Resource {
        urn: record.urn.to_string(),
        key: record.urn.key().map(|key| key.to_string()).unwrap_or_default(),
        status: super::list::status(record),
        message: match &record.status {
            RecordStatus::Ready => None,
            RecordStatus::Partial { message } => Some(message.clone()),
        },
        driver: format!("{}@{}", record.driver.name, record.driver.version),
        driver_digest: record.driver.digest.to_string(),
        definition: record.definition.as_ref().map(ToString::to_string),
        name: record.name.clone(),
        provider_id: record.state.id.clone(),
        protect: record.protect,
        retain: record.retain,
        created: time(record.created),
        updated: time(record.updated),
        deployment: record.deployment.to_string(),
        inputs: Inputs {
            values: json(&record.inputs.values),
            secrets: json(&record.inputs.secrets),
            params: json(&record.inputs.params),
            account: record.inputs.account.clone(),
        },
        outputs: json(&record.state.outputs),
        manifests: record
            .state
            .manifests
            .iter()
            .map(|manifest| Manifest { location: manifest.location.clone(), name: manifest.name.clone() })
            .collect(),
        dependencies: record.dependencies.iter().map(ToString::to_string).collect(),
        dependents: dependents.map(|other| other.urn.to_string()).collect(),
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let documents =
        DocumentArgs { paths: Vec::new(), file: args.file.clone(), context: args.context.clone() };
    let place = input::place(&documents, app).await?;
    let urn = urn(&args.resource, &place)?;
    let environment = purlin_host::state::Environment::of_urn(&urn).unwrap_or_else(|| place.environment());
    let fail = |error| Failure::host(error, &purlin_host::documents::SourceMap::default());
    let records = place.purlin.records(&environment).await.map_err(fail)?;
    let Some(record) = records.iter().find(|record| record.urn == urn) else {
        return Err(missing(&urn, &records, &environment.to_string()));
    };
    let resource = report(record, &records, args.show_secrets);
    match args.format.format {
        Format::Json => app.ui.json(&Report { format: FORMAT, resource }),
        Format::Text => {
            let json = serde_json::to_value(&resource)
                .map_err(|error| Failure::caused("cannot describe the record", &error))?;
            app.ui.data(&text::block(&render::value::yaml(&json)?));
        }
    }
    place.purlin.close().await.map_err(fail)?;
    Ok(Status::Done)
}

fn urn(text: &str, place: &Place) -> Result<Urn, Failure> {
    if text.starts_with("urn:") {
        return Urn::parse(text).map_err(|_| {
            Failure::input(format!("`{text}` is not a URN of Purlin"))
                .hint("`purlin state list --all --format json` shows them")
        });
    }
    let key = Key::parse(text).map_err(|error| {
        Failure::input(error.to_string())
            .hint("a key is TYPE[.CLASS]#ID; `purlin state list` shows those there are")
    })?;
    Ok(Urn::new(&place.context, &key))
}

fn missing(urn: &Urn, records: &[Record], environment: &str) -> Failure {
    let failure = Failure::input(format!("nothing is recorded as `{urn}` in {environment}"));
    let Some(key) = urn.key() else { return failure };
    let near: Vec<String> = records
        .iter()
        .filter_map(|record| record.urn.key())
        .filter(|other| other.type_name() == key.type_name() || other.id() == key.id())
        .take(5)
        .map(|key| format!("`{key}`"))
        .collect();
    if near.is_empty() {
        failure.hint("`purlin state list` shows what there is")
    } else {
        failure.hint(format!("there is {}", near.join(", ")))
    }
}
