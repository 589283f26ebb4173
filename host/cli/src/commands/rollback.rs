//! `purlin rollback`

use purlin_host::documents::SourceMap;
use purlin_host::state::{Deployment, Environment, Outcome};

use super::deploy::{self, Shown};
use super::history::find;
use crate::app::App;
use crate::args::{ChangeArgs, Format, FormatArg, PlaceArgs, PlanArgs};
use crate::consent::{Consent, ConsentArgs};
use crate::failure::{Failure, Status};
use crate::{input, surroundings, text};

/// Deploy the documents of an earlier deployment again.
///
/// The documents are those of then, and so is their context; the drivers, their grants and the
/// state's key are those of now. Beyond that it is `up`: the plan is shown, asked about and carried
/// out, and the history gets a new entry. Files stay as they are: the next `up` deploys what they
/// say.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin rollback                to the last success before the latest deployment
  purlin rollback 12             to the documents of the 12th deployment
  purlin diff 12                 what that would take back

Events with `--format json` are those of `up`.")]
pub(crate) struct Args {
    /// The deployment whose documents to take: its number or its id [default: the last that
    /// succeeded before the latest, with other documents than that].
    #[arg(value_name = "DEPLOYMENT")]
    deployment: Option<String>,

    #[command(flatten)]
    plan: PlanArgs,

    #[command(flatten)]
    consent: ConsentArgs,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    changes: ChangeArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let json = args.format.format == Format::Json;
    let consent = Consent::new(&args.consent, json, app)?;
    let shown = Shown::new(json, app);
    let place = input::place_to_delete(&args.place.documents(), app).await?;
    let environment = place.environment();
    let fail = |error| Failure::host(error, &SourceMap::default());
    let history = place.purlin.history(&environment).await.map_err(fail)?;
    let deployment = match &args.deployment {
        Some(name) => find(name, &history, &environment.to_string())?,
        None => last_good(&history, &environment)?,
    };
    let documents = place.purlin.documents_of(&environment, deployment, &surroundings::deployment_id()).await;
    let mut documents = documents.map_err(fail)?;
    documents.changes = args.changes.changes();
    if args.format.format == Format::Text {
        app.ui.note(&format!(
            "deploying the documents of deployment {} ({}, {}) again, with the drivers of now",
            deployment.number,
            text::line(&deployment.holder.user),
            text::moment(deployment.holder.since)
        ));
    }
    let fail = |error| Failure::host(error, &documents.loaded.sources);
    let (options, refresh) = (args.plan.options(), args.plan.refresh);
    let status =
        deploy::up(&place.purlin, &documents, options, refresh, (&shown, &consent), app, &fail).await?;
    deploy::close(place.purlin, app).await?;
    if status == Status::Done && args.format.format == Format::Text {
        app.ui.hint("files stay as they are: the next `purlin up` deploys what they say");
    }
    Ok(status)
}

/// The last deployment that succeeded before the latest, with other documents than that: to go
/// back to the same ones would be to go nowhere.
fn last_good<'a>(history: &'a [Deployment], environment: &Environment) -> Result<&'a Deployment, Failure> {
    let Some((latest, before)) = history.split_last() else {
        return Err(Failure::input(format!("nothing was deployed in {environment}"))
            .hint("`purlin up` deploys what the documents say"));
    };
    before
        .iter()
        .rfind(|deployment| {
            deployment.outcome == Outcome::Succeeded
                && deployment.documents.is_some()
                && deployment.documents != latest.documents
        })
        .ok_or_else(|| {
            Failure::input(format!(
                "there is nothing to go back to: no deployment with other documents succeeded before number {}",
                latest.number
            ))
            .hint("`purlin history` shows what there was; `purlin rollback NUMBER` names one")
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use purlin_host::state::Holder;

    fn history(entries: &[(Outcome, Option<u8>)]) -> Vec<Deployment> {
        let entry = |(number, (outcome, documents)): (usize, &(Outcome, Option<u8>))| Deployment {
            id: number.to_string().into(),
            number: number as u64 + 1,
            holder: Holder { user: "a".into(), host: "b".into(), pid: 1, command: "c".into(), since: 0 },
            ended: Some(1),
            outcome: *outcome,
            steps: vec![],
            documents: documents.map(|byte| [byte; 32]),
        };
        entries.iter().enumerate().map(entry).collect()
    }

    #[test]
    fn the_last_good_one_is_another_one_that_succeeded() {
        use Outcome::{Failed, Succeeded, Unfinished};
        let environment = Environment { org: "o".into(), app: "a".into(), env: "e".into() };
        let number = |entries: &[(Outcome, Option<u8>)]| {
            last_good(&history(entries), &environment).ok().map(|deployment| deployment.number)
        };
        assert_eq!(number(&[]), None);
        assert_eq!(number(&[(Succeeded, Some(1))]), None);
        assert_eq!(number(&[(Succeeded, Some(1)), (Failed, Some(2))]), Some(1));
        assert_eq!(number(&[(Succeeded, Some(1)), (Failed, Some(3)), (Unfinished, Some(2))]), Some(1));
        // The same documents again are no way back.
        assert_eq!(number(&[(Succeeded, Some(1)), (Succeeded, Some(2)), (Failed, Some(2))]), Some(1));
        // After everything was destroyed, what there was before that.
        assert_eq!(number(&[(Succeeded, Some(1)), (Succeeded, Some(2)), (Succeeded, None)]), Some(2));
    }
}
