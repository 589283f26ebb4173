//! Reconciles all environments of a state, on any number of hosts at once. Each environment has
//! turns, and the host that takes a turn makes one pass over it and schedules the next turn, later
//! after each failure. The documents are those of its last deployment, with what roll-outs want of them
//! (`rollouts.rs`). Between turns, a host draws the conclusions for the roll-outs themselves.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use purlin_engine::{CancelToken, Event};
use purlin_sandbox::clock;
use purlin_state::{Due, Environment, RolloutMark, Round};

use crate::rollouts::{RolloutPlan, Rollouts};
use crate::{Documents, Error, Keeper, Pass, Purlin};

/// How long a host has for a pass before others may take the turn. They also need its lease to have
/// expired.
const WITHIN: Duration = Duration::from_secs(120);
/// The delay before the next turn of an environment that is locked or closed.
const BUSY: Duration = Duration::from_secs(10);
/// The delay before the next turn of an environment without a deployment.
const EMPTY: Duration = Duration::from_mins(10);
/// The first delay after a failure of a whole environment, which doubles with each further one.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);
/// The longest delay after a failure.
const LONGEST_RETRY_DELAY: Duration = Duration::from_mins(5);
/// The shortest delay between passes.
const SHORTEST_DELAY: Duration = Duration::from_secs(1);
/// How long a list of environments is used if the store keeps no turns, in milliseconds.
const LIST_AGAIN: u64 = 10_000;
/// How long the roll-outs that were read are used. One that a turn needs to know is read at once.
const ROLLOUTS_AGAIN: Duration = Duration::from_millis(500);
/// The delay before what follows for roll-outs is looked at again, if no turn ended here.
const ADVANCE_AGAIN: Duration = Duration::from_secs(1);
/// The part of the time that a host may spend on that, as a divisor.
const ADVANCE_SHARE: u32 = 10;
/// The delay before a turn is requested again for a roll-out, if it led nowhere.
const REQUEST_AGAIN: Duration = Duration::from_secs(30);
/// The number of environments whose documents stay in memory.
const MOST_DOCUMENTS: usize = 1_000;

/// All environments of a state, as one host reconciles them.
pub struct Fleet {
    purlin: Arc<Purlin>,
    /// The environments that it is about, sorted, if not all.
    only: Option<Arc<[Environment]>>,
    rollouts: RolloutsNow,
    seed: u64,
    /// Whether each environment gets exactly one turn.
    is_round: bool,
    round: Option<Round>,
    kept: HashMap<Environment, Kept>,
    busy: HashSet<Environment>,
    own: OwnTurns,
}

/// The roll-outs as this host knows them.
#[derive(Default)]
struct RolloutsNow {
    all: Arc<Rollouts>,
    plans: HashMap<[u8; 32], Arc<RolloutPlan>>,
    read_at: Option<Instant>,
    /// When what follows for them may be looked at again.
    advance_at: Option<Instant>,
    /// When that may be earlier, because a turn ended here.
    advance_after_turn: Option<Instant>,
    has_turned: bool,
    /// When turns were requested for them.
    requested: HashMap<Environment, Instant>,
}

/// The turns of a store that only this process works on.
#[derive(Default)]
struct OwnTurns {
    listed: Vec<Environment>,
    listed_at: Option<u64>,
    /// The next turns, in milliseconds since 1970.
    next: HashMap<Environment, u64>,
}

/// The data that is kept between two passes over an environment.
struct Kept {
    keeper: Keeper,
    /// The documents of the last turn.
    documents: Option<KeptDocuments>,
    failures: u32,
}

struct KeptDocuments {
    /// The digest of the archive that they were made from.
    from: [u8; 32],
    /// The digest of their own archive.
    digest: [u8; 32],
    /// What the environment says of roll-outs with them.
    marks: Arc<[RolloutMark]>,
    documents: Arc<Documents>,
}

/// A completed turn.
pub struct Turn {
    /// The environment.
    pub environment: Environment,
    /// The result.
    pub end: TurnEnd,
    /// The events of its resources, without the summary.
    pub events: Vec<Event>,
    kept: Kept,
}

/// The result of a turn.
#[derive(Debug)]
pub enum TurnEnd {
    /// A pass was made.
    Passed(Box<Pass>),
    /// The environment has no deployment, or its documents are not recorded.
    Empty,
    /// Another deployment is running, or the environment is closed.
    Busy(Error),
    /// The pass failed, and will be repeated later.
    Failed(Error),
}

impl Fleet {
    /// The environments of a state. In a round, each gets one turn, on any host; otherwise they get
    /// turns as long as hosts take them. `seed` is the seed of the jitter.
    pub fn new(purlin: Arc<Purlin>, is_round: bool, seed: u64) -> Self {
        Self {
            purlin,
            only: None,
            rollouts: RolloutsNow::default(),
            seed,
            is_round,
            round: None,
            kept: HashMap::new(),
            busy: HashSet::new(),
            own: OwnTurns::default(),
        }
    }

    /// The same for these environments alone.
    #[must_use]
    pub fn only(self, mut environments: Vec<Environment>) -> Self {
        environments.sort();
        Self { only: Some(environments.into()), ..self }
    }

    /// Takes the turns of up to `most` environments; empty if none is due. Each must be passed to
    /// [`Self::begin`] and [`Self::end`].
    ///
    /// # Errors
    /// [`Error::State`] if the store cannot be read or written.
    pub async fn take(&mut self, most: usize) -> Result<Vec<Environment>, Error> {
        if self.purlin.is_untouched() {
            return Ok(Vec::new());
        }
        self.look_at_rollouts(false).await?;
        let store = self.purlin.store().await?;
        if self.is_round && self.round.is_none() {
            self.round = store.begin_round().await?;
        }
        let taken = match store.take_turns(self.round.as_ref(), self.only.as_deref(), most, WITHIN).await? {
            Some(taken) if taken.is_empty() => self.take_unknown(most).await?,
            Some(taken) => taken,
            None => self.take_own(most).await?,
        };
        let taken: Vec<Environment> = taken
            .into_iter()
            .map(|Due { environment, is_requested }| {
                if is_requested && let Some(kept) = self.kept.get_mut(&environment) {
                    kept.keeper.request_all();
                }
                environment
            })
            .collect();
        self.busy.extend(taken.iter().cloned());
        if self.is_round && self.busy.is_empty() {
            // The round is over: nobody may look for what follows from it for a long time.
            self.look_at_rollouts(true).await?;
        }
        Ok(taken)
    }

    /// The environments whose turns the store gave to this round in responses that were lost.
    async fn take_unknown(&self, most: usize) -> Result<Vec<Due>, Error> {
        let Some(round) = &self.round else { return Ok(Vec::new()) };
        let taken = self.purlin.store().await?.turns_of(round).await?.into_iter();
        let unknown = taken.filter(|one| !self.busy.contains(one) && !self.kept.contains_key(one));
        Ok(unknown.take(most).map(|environment| Due { environment, is_requested: false }).collect())
    }

    /// Reads the roll-outs, and draws the conclusions for them, if they are due or it `is_urgent`.
    async fn look_at_rollouts(&mut self, is_urgent: bool) -> Result<(), Error> {
        let now = Instant::now();
        let known = &mut self.rollouts;
        let advance_at = if known.has_turned { known.advance_after_turn } else { known.advance_at };
        let advances = is_urgent || advance_at.is_none_or(|at| now >= at);
        if advances || known.read_at.is_none_or(|at| now >= at + ROLLOUTS_AGAIN) {
            known.all = Arc::new(self.purlin.known_rollouts(&mut known.plans).await?);
            known.read_at = Some(now);
        }
        if !advances {
            return Ok(());
        }
        known.has_turned = false;
        let soon = match self.purlin.advance_rollouts(&known.all).await {
            Ok(soon) => soon,
            // Another host does it.
            Err(error) if is_busy(&error) => Vec::new(),
            Err(error) => return Err(error),
        };
        let took = now.elapsed();
        let again = Instant::now() + took * ADVANCE_SHARE;
        (known.advance_after_turn, known.advance_at) = (Some(again), Some(again.max(now + ADVANCE_AGAIN)));
        known.requested.retain(|_, at| now < *at + REQUEST_AGAIN);
        let soon: Vec<Environment> =
            soon.into_iter().filter(|one| !known.requested.contains_key(one)).collect();
        if !soon.is_empty() {
            // What the conclusions changed is read before the next turn.
            known.read_at = None;
            self.purlin.store().await?.request_turns(&soon, false).await?;
            let is_soon: HashSet<&Environment> = soon.iter().collect();
            self.own.next.retain(|one, _| !is_soon.contains(one));
            known.requested.extend(soon.into_iter().map(|one| (one, now)));
        }
        Ok(())
    }

    async fn take_own(&mut self, most: usize) -> Result<Vec<Due>, Error> {
        let now = (self.purlin.clock())();
        let is_known = |at: u64| self.is_round || now < at.saturating_add(LIST_AGAIN);
        if !self.own.listed_at.is_some_and(is_known) {
            self.own.listed = self.purlin.environments().await?;
            self.own.listed_at = Some(now);
        }
        let OwnTurns { listed, next, .. } = &mut self.own;
        let due = |one: &&Environment| {
            next.get(*one).is_none_or(|next| *next <= now)
                && self.only.as_ref().is_none_or(|only| only.binary_search(one).is_ok())
        };
        let mut due: Vec<Environment> =
            listed.iter().filter(|one| !self.busy.contains(*one)).filter(due).cloned().collect();
        due.sort_by_key(|one| next.get(one).copied().unwrap_or_default());
        due.truncate(most);
        for one in &due {
            // A round has no next turn.
            next.insert(one.clone(), if self.is_round { u64::MAX } else { now });
        }
        Ok(due.into_iter().map(|environment| Due { environment, is_requested: false }).collect())
    }

    /// Makes the next turn of every environment that this host reconciled due now, and makes that
    /// turn read every resource.
    ///
    /// # Errors
    /// [`Error::State`] if the store cannot be written.
    pub async fn request_all(&mut self) -> Result<(), Error> {
        self.own.next.clear();
        for (environment, kept) in &mut self.kept {
            kept.keeper.request_all();
            self.purlin.store().await?.next_turn(environment, Duration::ZERO).await?;
        }
        Ok(())
    }

    /// Makes a pass over an environment whose turn was taken.
    pub fn begin(
        &mut self,
        environment: Environment,
        cancel: CancelToken,
    ) -> impl Future<Output = Turn> + Send + 'static {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let seed = self.seed;
        let mut kept = self.kept.remove(&environment).unwrap_or_else(|| Kept {
            keeper: Keeper::watching(seed),
            documents: None,
            failures: 0,
        });
        let (purlin, rollouts) = (Arc::clone(&self.purlin), Arc::clone(&self.rollouts.all));
        async move {
            let mut events = Vec::new();
            let made = kept.pass(&purlin, &environment, rollouts, cancel, &mut events).await;
            let end = match made {
                Ok(Some(pass)) => TurnEnd::Passed(Box::new(pass)),
                Ok(None) => TurnEnd::Empty,
                Err(error) if is_busy(&error) => TurnEnd::Busy(error),
                Err(error) => TurnEnd::Failed(error),
            };
            Turn { environment, end, events, kept }
        }
    }

    /// Ends a turn, and schedules the next one.
    ///
    /// # Errors
    /// [`Error::State`] if the store cannot be written. The next turn then comes by itself.
    pub async fn end(&mut self, turn: Turn) -> Result<(Environment, TurnEnd, Vec<Event>), Error> {
        let Turn { environment, end, events, mut kept } = turn;
        let now = (self.purlin.clock())();
        let after = match &end {
            TurnEnd::Passed(pass) if pass.summary.cancelled => Duration::ZERO,
            TurnEnd::Passed(pass) => {
                kept.failures = 0;
                Duration::from_millis(pass.next.saturating_sub(now)).max(SHORTEST_DELAY)
            }
            TurnEnd::Empty => EMPTY,
            TurnEnd::Busy(_) => BUSY,
            TurnEnd::Failed(_) => {
                kept.failures = kept.failures.saturating_add(1);
                let doubled = FIRST_RETRY_DELAY.saturating_mul(1 << kept.failures.min(16).saturating_sub(1));
                doubled.min(LONGEST_RETRY_DELAY)
            }
        };
        if self.kept.len() >= MOST_DOCUMENTS {
            kept.documents = None;
        }
        self.kept.insert(environment.clone(), kept);
        self.busy.remove(&environment);
        self.rollouts.has_turned = true;
        // What could not be done is tried again after its delay, however much a roll-out waits for it.
        if matches!(&end, TurnEnd::Passed(pass) if pass.rejected.is_none()) {
            self.rollouts.requested.remove(&environment);
        }
        if !self.is_round {
            self.own.next.insert(environment.clone(), now.saturating_add(clock::millis(after)));
        }
        self.purlin.store().await?.next_turn(&environment, after).await?;
        Ok((environment, end, events))
    }
}

impl Kept {
    async fn pass(
        &mut self,
        purlin: &Purlin,
        environment: &Environment,
        mut rollouts: Arc<Rollouts>,
        cancel: CancelToken,
        events: &mut Vec<Event>,
    ) -> Result<Option<Pass>, Error> {
        let mut on_event = |event: &Event| events.push(event.clone());
        loop {
            let documents = self.wanted_documents(purlin, environment, &mut rollouts).await?;
            let Some(documents) = documents else { return Ok(None) };
            match self.keeper.pass(purlin, &documents, cancel.clone(), &mut on_event).await {
                // From now on, the environment is kept as this deployment left it.
                Err(Error::DeployedMeanwhile { .. }) => {}
                passed => return passed.map(Some),
            }
        }
    }

    /// The documents of the last deployment, with what roll-outs want of them; `None` if there is nothing to
    /// keep.
    async fn wanted_documents(
        &mut self,
        purlin: &Purlin,
        environment: &Environment,
        rollouts: &mut Arc<Rollouts>,
    ) -> Result<Option<Arc<Documents>>, Error> {
        let last = purlin.last_deployed(environment).await?;
        let Some((last, from)) = last.and_then(|last| {
            let digest = last.deployment.documents?;
            Some((last, digest))
        }) else {
            return match purlin.snapshot(environment).await?.records.is_empty() {
                true => Ok(None),
                false => Err(Error::Archive(
                    "the documents of its last deployment are not recorded; `purlin up` records them".into(),
                )),
            };
        };
        let before = Arc::clone(&last.deployment.rollouts);
        if rollouts.are_older_than(&before) {
            *rollouts = Arc::new(purlin.known_rollouts(&mut HashMap::new()).await?);
        }
        let desired = rollouts.desired(environment, &before);
        let is_known = |kept: &&KeptDocuments| {
            // What a turn put into the documents is recorded with them.
            (kept.from == from || kept.digest == from) && kept.marks == desired.marks
        };
        let documents = match self.documents.as_ref().filter(is_known) {
            Some(kept) => Arc::clone(&kept.documents),
            None => {
                let mut archive = last.archive()?;
                desired.revise(&mut archive);
                let documents = Documents::of_archive(archive, &purlin.deployment_id()?)?;
                let accept_missing = desired.accept_missing.clone();
                let documents = Arc::new(Documents { accept_missing, ..documents });
                self.keeper.documents_changed();
                self.documents = Some(KeptDocuments {
                    from,
                    digest: documents.archive_digest(),
                    marks: Arc::clone(&desired.marks),
                    documents: Arc::clone(&documents),
                });
                documents
            }
        };
        self.keeper.wants(desired, before);
        self.keeper.read_after(&last.deployment);
        Ok(Some(documents))
    }
}

/// Whether an environment is temporarily in use.
fn is_busy(error: &Error) -> bool {
    use purlin_state::Error as State;
    matches!(
        error,
        Error::Closed { .. }
            | Error::Moving { .. }
            | Error::Unfinished { .. }
            | Error::State(State::Locked { .. } | State::Busy { .. } | State::Reserved { .. })
    )
}
