//! `purlin installations list`

use purlin_host::InstallationState;

use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report::FORMAT;
use crate::report::installation::{List, Listed};
use crate::ui::Level;

/// List the installations of all environments, with the number of their users.
///
/// An installation is identified by its namespace and name, such as `dev/db`, or `/db` in the global
/// namespace. Requirements of the same namespace and group find it; those of other namespaces find it
/// only if it is in the global namespace.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin installations list
  purlin installations list --group app-db
  purlin installations list --bundle getporter/mysql --namespace dev
  purlin installations list --format json | jq -r '.installations[] | select(.users == []) | .id'

Marks: not ready (its last deployment did not finish it), handed over (its documents are gone, and
it is deleted when its last user is gone).

With `--format json`:
  {\"format\": 1, \"installations\": [
    {\"id\", \"urn\", \"key\", \"namespace\", \"name\", \"bundle\", \"group\", \"set_manually\", \"interface\",
     \"outputs\": [name], \"ready\", \"handed_over\", \"org\", \"app\", \"env\",
     \"users\": [{\"urn\", \"version\", \"outputs\": [name]}]}]}")]
pub(super) struct Args {
    /// List only installations in this sharing group.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,

    /// List only installations of this bundle, given by its repository.
    #[arg(long, value_name = "REPOSITORY")]
    bundle: Option<String>,

    /// List only installations that declare this interface.
    #[arg(long, value_name = "ID")]
    interface: Option<String>,

    /// List only installations in this namespace; the empty one is the global one.
    #[arg(long, short_alias = 'n', value_name = "NAMESPACE")]
    namespace: Option<String>,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

impl Args {
    fn admits(&self, one: &InstallationState) -> bool {
        let share = &one.listed.share;
        let repository = one.listed.definition.as_deref().and_then(|bundle| bundle.rsplit_once(':'));
        self.group.as_deref().is_none_or(|group| share.group.as_deref() == Some(group))
            && self.bundle.as_deref().is_none_or(|name| repository.is_some_and(|(known, _)| known == name))
            && self.interface.as_deref().is_none_or(|id| share.provides.as_deref() == Some(id))
            && self.namespace.as_deref().is_none_or(|namespace| *share.namespace == *namespace)
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let purlin = input::state_of_all(app)?;
    let mut all = purlin.installations().await.map_err(Failure::without_sources)?;
    let is_filtered = !all.is_empty();
    all.retain(|one| args.admits(one));
    let listed: Vec<Listed> = all.iter().map(Listed::new).collect();
    match args.format.format {
        Format::Json => app.ui.json(&List { format: FORMAT, installations: listed }),
        Format::Text if listed.is_empty() && is_filtered => app.ui.say("No installation matches."),
        Format::Text if listed.is_empty() => {
            app.ui.say("No installation is recorded.");
            app.ui.hint("`purlin up --bundle REPOSITORY:TAG` creates one");
        }
        Format::Text => {
            let columns = app.ui.columns().filter(|_| app.ui.level < Level::Verbose);
            app.ui.data(&render::installation::table(&listed, columns));
        }
    }
    purlin.close().await.map_err(Failure::without_sources)?;
    Ok(Status::Done)
}
