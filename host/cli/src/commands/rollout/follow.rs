//! Takes the turns of a roll-out, like any host, until what is left needs somebody.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use purlin_host::{Error, Fleet, Purlin, RolloutReport, RolloutState};
use purlin_state::Environment;

use super::status;
use crate::app::App;
use crate::commands::reconcile::fleet::{AsyncSettled, Host, TakenTurns, Until};
use crate::failure::{Failure, Status};
use crate::render;
use crate::report::rollout::Progress;
use crate::surroundings;
use crate::ui::Level;

/// The part of the time that a command may spend on looks at the whole roll-out, as a divisor.
const SHARE: u32 = 10;
/// The time between two messages about it.
const SAY: Duration = Duration::from_secs(1);

/// How long a turn that was requested may take to come, if another host takes it.
const REQUESTED: Duration = Duration::from_secs(30);

/// How a command takes turns.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct FollowArgs {
    /// Only record it, and return at once: `purlin reconcile --all` takes the turns.
    #[arg(long)]
    detach: bool,

    /// Take up to N turns at once, each in an environment of its own [default: 4 per processor].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    turns: Option<NonZeroUsize>,
}

/// Takes turns, and shows how the roll-out ended.
pub(super) async fn run(
    purlin: Arc<Purlin>,
    number: u64,
    args: &FollowArgs,
    json: bool,
    app: &App,
) -> Result<Status, Failure> {
    let report = status::read(&purlin, number).await?;
    let mut interrupted = false;
    if !args.detach {
        let covered = report.environments.iter().map(|one| one.environment.clone()).collect();
        let fleet = Fleet::new(Arc::clone(&purlin), false, surroundings::now()).only(covered);
        let mut host = Host::new(fleet, args.turns, json, false);
        let left = report.environments.iter().filter(|one| !one.state.is_settled());
        let mut settling = Settling {
            purlin: Arc::clone(&purlin),
            number,
            json,
            app,
            left: left.map(|one| one.environment.clone()).collect(),
            begun: Instant::now(),
            seen: None,
            said_at: None,
            look_at: None,
        };
        interrupted = host.work(Until::Settled(&mut settling), app).await?;
    }
    let report = status::read(&purlin, number).await?;
    if json {
        app.ui.json_line(&Progress::new(&report));
    } else if app.ui.level >= Level::Normal {
        status::show(&report, app);
        if args.detach || interrupted {
            app.ui.hint(&format!(
                "each turn of `purlin reconcile --all` applies it from now on; `purlin rollout resume {number}` takes them here"
            ));
        }
    }
    if let Ok(purlin) = Arc::try_unwrap(purlin).map_err(drop) {
        purlin.close().await.map_err(Failure::without_sources)?;
    }
    let is_begun = args.detach && !interrupted;
    Ok(if is_begun || report.is_complete() { Status::Done } else { Status::Failed })
}

/// Looks at a roll-out while its turns are taken, and says how far it is.
struct Settling<'a> {
    purlin: Arc<Purlin>,
    number: u64,
    json: bool,
    app: &'a App,
    /// The environments that were not settled at the beginning: each gets one turn at least.
    left: HashSet<Environment>,
    begun: Instant,
    /// What was said last.
    seen: Option<Progress>,
    said_at: Option<Instant>,
    /// When the whole roll-out may be looked at again.
    look_at: Option<Instant>,
}

impl AsyncSettled for Settling<'_> {
    fn is_settled<'a>(&'a mut self, taken: &'a TakenTurns) -> LocalBoxFuture<'a, Result<bool, Error>> {
        async move {
            let now = Instant::now();
            if self.look_at.is_some_and(|at| now < at) {
                return Ok(false);
            }
            let Some(report) = self.purlin.rollout(self.number).await? else { return Ok(true) };
            self.look_at = Some(Instant::now() + now.elapsed() * SHARE);
            let progress = Progress::new(&report);
            if self.seen.as_ref() != Some(&progress) && self.said_at.is_none_or(|at| now >= at + SAY) {
                match self.json {
                    true => self.app.ui.json_line(&progress),
                    false => self.app.ui.say(&render::rollout::progress(&report)),
                }
                (self.seen, self.said_at) = (Some(progress), Some(now));
            }
            let open = report.opened();
            let was_tried = |one: &Environment| taken.ended.contains(one) || !open.contains(one);
            let all_tried = self.left.iter().all(was_tried) || self.begun.elapsed() > REQUESTED;
            Ok(all_tried && is_settled(report, &taken.failed))
        }
        .boxed_local()
    }
}

/// Whether turns can do no more: those that failed here for reasons of this machine are others' to take.
fn is_settled(mut report: RolloutReport, failed: &HashSet<Environment>) -> bool {
    let waits = report.next_is_due();
    report
        .environments
        .retain(|one| one.state != RolloutState::Pending || !failed.contains(&one.environment));
    !waits && report.is_settled()
}
