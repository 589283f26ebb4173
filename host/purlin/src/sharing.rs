//! Installations across environments (SPEC §6): the existing ones, their users, and their deletion.
//!
//! A use is a resource of the using environment. It represents the installation: its params name
//! the URN, and its outputs are those that are recorded for the installation. The users of an
//! installation are therefore found in the records of other environments. Two rules make this safe.
//! A run that begins to use an installation holds the lock of its environment from the moment at
//! which it reads the installation until the use is recorded. A run that deletes or replaces an
//! installation holds that lock too, and looks for uses once more before it begins. `vacancies`
//! ensures that of two runs that need the same installation only one creates it.
//!
//! An installation that its own documents no longer contain, and that others use, is handed over: its
//! record is marked (`Record::abandoned`). Each run ends by deleting marked installations without users, in
//! any environment.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use purlin_engine::{Action, Base, CancelToken, DestroyOptions, Event, Phase, Plan, Summary, Users, Warning};
use purlin_model::{
    BundleReference, Context, Deployment, Diagnostic, EnvironmentId, Existing, InstallationRequest,
    InstallationUse, Key, Recipe, Template, Urn, User, Value,
};
use purlin_state::{Environment, Listed, Listing, Lock, Operation, Record, Snapshot, Status};

use crate::pipeline::SilentFollower;
use crate::{Error, Job, Purlin, RunEnd, Session};

/// A recorded installation, with its users.
#[derive(Clone, Debug)]
pub struct InstallationState {
    /// Its environment.
    pub environment: Environment,
    /// Its record.
    pub listed: Listed,
    /// Its users in other environments.
    pub users: Vec<User>,
}

/// Resources whose last user is gone, and what became of them.
#[derive(Debug)]
pub struct Collected {
    /// The environment that they were left in.
    pub environment: Environment,
    /// The result.
    pub summary: Summary,
    /// The resources to delete.
    pub keys: Vec<Key>,
    /// Why they stay, if their deletion is rejected: they are protected.
    pub rejected: Vec<Diagnostic>,
}

/// How long to wait for the lock of an environment with a used installation. Two runs may wait for
/// each other, each holding the lock of its own environment.
const MOST_CLAIM: Duration = Duration::from_secs(10);

/// The locks of environments whose installations a run begins to use.
#[derive(Clone, Default)]
pub(crate) struct Claims(Arc<Mutex<Vec<Claimed>>>);

struct Claimed {
    lock: Lock,
    /// The uses of its installations that are not recorded yet.
    open: BTreeSet<Key>,
}

impl Claims {
    fn with<T>(&self, call: impl FnOnce(&mut Vec<Claimed>) -> T) -> T {
        call(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Releases a lock once all uses that need it are recorded.
    pub(crate) fn note(&self, event: &Event) {
        // A replacement does not count: its lock is kept until the end of the run.
        let Event::Resource { key, action: Action::Create | Action::Update, phase: Phase::Succeeded { .. } } =
            event
        else {
            return;
        };
        let done: Vec<Claimed> = self.with(|claims| {
            let is_over = |claimed: &mut Claimed| claimed.open.remove(key) && claimed.open.is_empty();
            claims.extract_if(.., is_over).collect()
        });
        drop(done);
    }
}

impl Purlin {
    /// Every installation of every environment, sorted by URN, with its users.
    ///
    /// # Errors
    /// [`Error::State`] if something cannot be read.
    pub async fn installations(&self) -> Result<Vec<InstallationState>, Error> {
        let mut installations: Vec<InstallationState> = Vec::new();
        let mut users: HashMap<Urn, Vec<User>> = HashMap::new();
        if self.is_untouched() {
            return Ok(installations);
        }
        for Listing { environment, installations: listed, uses } in self.store().await?.listings().await? {
            for (urn, needs) in uses {
                users.entry(needs.installation.clone()).or_default().push(User { urn, needs });
            }
            installations.extend(listed.into_iter().map(|listed| InstallationState {
                environment: environment.clone(),
                listed,
                users: Vec::new(),
            }));
        }
        for one in &mut installations {
            one.users = users.remove(&one.listed.urn).unwrap_or_default();
        }
        installations.sort_by(|a, b| a.listed.urn.cmp(&b.listed.urn));
        Ok(installations)
    }

    /// The installations of other environments that requirements of this one can use, and the users
    /// of the installations here.
    pub(crate) async fn seen_from(
        &self,
        environment: &Environment,
    ) -> Result<(Vec<Existing>, BTreeMap<Arc<str>, Vec<User>>), Error> {
        let (mut existing, mut users) = (Vec::new(), BTreeMap::new());
        // Many are of the same bundle, and many in the same environment.
        let mut references: HashMap<Arc<str>, Option<BundleReference>> = HashMap::new();
        let mut place: (Option<Environment>, Arc<str>) = (None, Arc::default());
        for InstallationState { environment: of, listed, users: used } in self.installations().await? {
            let Some(key) = listed.urn.key() else { continue };
            if of == *environment {
                if !used.is_empty() {
                    users.insert(Arc::from(key.id()), used);
                }
                continue;
            }
            let Some(definition) = listed.definition else { continue };
            let parsed =
                references.entry(definition).or_insert_with_key(|definition| definition.parse().ok());
            let Some(reference) = parsed.clone() else { continue };
            if place.0.as_ref() != Some(&of) {
                place = (Some(of.clone()), of.to_string().into());
            }
            existing.push(Existing {
                name: key.id().into(),
                urn: listed.urn,
                place: Arc::clone(&place.1),
                reference,
                share: listed.share,
                outputs: listed.outputs,
                settings: listed.settings,
                created: listed.created,
                is_ready: listed.is_ready,
            });
        }
        Ok((existing, users))
    }

    /// The record of an installation, if it exists.
    async fn find(&self, urn: &Urn) -> Result<Option<Arc<Record>>, Error> {
        if self.is_untouched() {
            return Ok(None);
        }
        let found = self.store().await?.find(urn).await?;
        Ok(found.filter(|record| record.status != Status::Absent))
    }

    /// Adds the users in other environments to the starting point of plans.
    pub(crate) async fn with_users(&self, base: Base, environment: &Environment) -> Result<Base, Error> {
        if !base.all_current().any(is_installation) {
            return Ok(base);
        }
        Ok(base.used_by(Arc::new(self.users_of(environment).await?)))
    }

    /// Warns about installations whose last use this plan removes.
    pub(crate) async fn warn_of_last_uses(&self, plan: &mut Plan) -> Result<(), Error> {
        let goes = |action| matches!(action, Action::Delete | Action::Replace | Action::Update);
        let before = |urn: &Urn| {
            plan.recorded(urn)?.share.as_ref()?.uses.as_ref().map(|uses| uses.installation.clone())
        };
        let now = |key: &Key| {
            let node = plan.graph()?.node(plan.graph()?.find(key.as_str())?)?;
            node.installation?.share.uses.as_ref().map(|uses| uses.installation.clone())
        };
        let steps = plan.steps.iter().filter(|step| goes(step.action));
        let ends = steps.filter_map(|step| {
            let used = before(&step.urn)?;
            (now(&step.key).as_ref() != Some(&used)).then(|| (step.key.clone(), step.urn.clone(), used))
        });
        let ends: Vec<(Key, Urn, Urn)> = ends.collect();
        if ends.is_empty() {
            return Ok(());
        }
        let all = self.installations().await?;
        for (key, urn, used) in ends.clone() {
            let is_ended = |user: &User| ends.iter().any(|(_, other, of)| *other == user.urn && *of == used);
            let left = all.iter().find(|one| one.listed.urn == used && one.listed.abandoned);
            let Some(left) = left.filter(|left| left.users.iter().all(is_ended)) else { continue };
            if ends.iter().any(|(_, other, of)| *of == used && *other < urn) {
                continue;
            }
            let message = format!(
                "it is the last user of `{}` of {}, which was handed over and is deleted then",
                used.key().map(|key| key.to_string()).unwrap_or_default(),
                left.environment
            );
            plan.warnings.push(Warning { key, message });
        }
        Ok(())
    }

    async fn users_of(&self, environment: &Environment) -> Result<Users, Error> {
        let all = self.installations().await?.into_iter();
        let used = all.filter(|one| one.environment == *environment && !one.users.is_empty());
        Ok(used.map(|one| (one.listed.urn.clone(), one.users.iter().map(described).collect())).collect())
    }

    /// The deployment with the outputs of the installations of other environments that it uses.
    ///
    /// # Errors
    /// [`Error::Documents`] with the installations that are gone.
    pub(crate) async fn with_outputs(&self, deployment: &Arc<Deployment>) -> Result<Arc<Deployment>, Error> {
        let uses = |one: &InstallationRequest| one.share.uses.as_ref().map(|uses| uses.installation.clone());
        if deployment.installations.iter().all(|one| uses(one).is_none()) {
            return Ok(Arc::clone(deployment));
        }
        let mut gone = Vec::new();
        let mut filled = Deployment::clone(deployment);
        for one in &mut filled.installations {
            let Some(urn) = uses(one) else { continue };
            let Some(environment) = Environment::of_urn(&urn) else { continue };
            match self.find(&urn).await? {
                Some(record) => {
                    let values = Template::Constant(self.outputs_of(&record).await?);
                    one.recipe = Arc::new(Recipe { values, ..Recipe::clone(&one.recipe) });
                }
                None => gone.push(is_gone(&urn, &environment).at(&one.location)),
            }
        }
        if gone.is_empty() { Ok(Arc::new(filled)) } else { Err(Error::Documents(gone)) }
    }

    /// Deletes resources that were handed over and no longer have users, in any environment, and
    /// the resources that only these used. An environment that another process has locked is left
    /// to the next run. `deployment_id` returns ids as for
    /// [`Documents::new`](crate::Documents::new).
    ///
    /// # Errors
    /// If the state cannot be read, or a driver is missing.
    pub async fn collect(
        &self,
        deployment_id: &(dyn Fn() -> String + Sync),
        cancel: &CancelToken,
    ) -> Result<Vec<Collected>, Error> {
        self.collect_beside(None, deployment_id, cancel).await
    }

    /// The same, while a session holds one of the environments already.
    async fn collect_beside(
        &self,
        own: Option<&Session<'_>>,
        deployment_id: &(dyn Fn() -> String + Sync),
        cancel: &CancelToken,
    ) -> Result<Vec<Collected>, Error> {
        let mut collected: Vec<Collected> = Vec::new();
        let mut done_with: Vec<Environment> = Vec::new();
        // A deleted resource may have been the last user of another one.
        loop {
            let is_left = |one: &InstallationState| one.listed.abandoned && one.users.is_empty();
            let mut left = self.installations().await?.into_iter().filter(is_left).map(|one| one.environment);
            let Some(environment) = left.find(|environment| !done_with.contains(environment)) else {
                return Ok(collected);
            };
            let id = deployment_id();
            let one = match own.filter(|own| *own.environment() == environment) {
                Some(own) => own.delete_left(&id, cancel).await,
                // A deployment that is running there deletes it at its end.
                None => match self.begin_within(&environment, Duration::ZERO, cancel).await {
                    Ok(session) => {
                        let one = session.delete_left(&id, cancel).await;
                        session.release().await?;
                        one
                    }
                    Err(Error::State(purlin_state::Error::Locked { .. })) => Ok(None),
                    Err(closed @ (Error::Closed { .. } | Error::Moving { .. })) => {
                        let why = Diagnostic::warning("closed", closed.to_string());
                        Err(Error::Documents(vec![why.help("the next `purlin up` afterwards deletes it")]))
                    }
                    Err(error) => return Err(error),
                },
            };
            let one = match one {
                // The run itself succeeded.
                Err(Error::Documents(rejected)) => Some(Collected {
                    environment: environment.clone(),
                    summary: Summary::default(),
                    keys: Vec::new(),
                    rejected,
                }),
                one => one?,
            };
            match one {
                Some(one) if one.summary.is_success() && one.rejected.is_empty() => collected.push(one),
                other => {
                    collected.extend(other);
                    done_with.push(environment);
                }
            }
        }
    }

    /// The context of the last deployment in an environment, or as much of it as is known if it is
    /// not kept.
    pub(crate) async fn context_of(
        &self,
        environment: &Environment,
        deployment_id: &str,
    ) -> Result<Context, Error> {
        let recorded = self.recorded_context(environment).await?;
        let Environment { org, app, env } = environment;
        let deployment = deployment_id.into();
        Ok(match recorded {
            Some(context) => Context { deployment, ..context },
            None => Context {
                org: Arc::clone(org),
                app: Arc::clone(app),
                env: EnvironmentId { id: Arc::clone(env), kind: Arc::default() },
                namespace: Arc::clone(env),
                deployment,
            },
        })
    }
}

impl Session<'_> {
    /// Checks that a plan removes nothing that others use, and that the installations it begins to
    /// use exist and stay.
    ///
    /// # Errors
    /// [`Error::Documents`] if it does; [`Error::State`] if another process has locked the
    /// environment of an installation that it begins to use.
    pub(crate) async fn claim(&self, plan: &Plan, cancel: &CancelToken) -> Result<(), Error> {
        self.spare(plan).await?;
        let Some(graph) = plan.graph() else { return Ok(()) };
        let environment = self.environment();
        let mut begun: Vec<(Urn, &Key, &InstallationRequest)> = Vec::new();
        for step in &plan.steps {
            if !matches!(step.action, Action::Create | Action::Update | Action::Replace | Action::Adopt) {
                continue;
            }
            let node = graph.find(step.key.as_str()).and_then(|id| graph.node(id));
            let Some(request) = node.and_then(|node| node.installation) else { continue };
            let Some(uses) = &request.share.uses else { continue };
            let before = plan.recorded(&step.urn).and_then(|record| record.share.as_deref());
            let used_before = before.and_then(|share| share.uses.as_ref());
            if used_before.is_none_or(|before| before.installation != uses.installation) {
                begun.push((uses.installation.clone(), &step.key, request));
            }
        }
        // Always in the same order, so that of two runs that want the same ones, one gets them all.
        begun.sort_by(|a, b| a.0.cmp(&b.0));
        let store = self.purlin.store().await?;
        for (urn, key, request) in begun {
            let Some(environment) = Environment::of_urn(&urn) else { continue };
            let is_claimed = self.claims.with(|claims| {
                let mut of_it =
                    claims.iter_mut().filter(|claimed| *claimed.lock.environment() == environment);
                of_it.next().map(|claimed| claimed.open.insert(key.clone())).is_some()
            });
            if !is_claimed {
                let most = self.purlin.patience.min(MOST_CLAIM);
                let waiting = format!("who deploys {environment}");
                let try_it = || store.lock(&environment, self.purlin.holder());
                let lock = self.purlin.patiently(most, &waiting, cancel, try_it).await?;
                self.claims.with(|claims| claims.push(Claimed { lock, open: [key.clone()].into() }));
            }
            let Some(record) = self.purlin.find(&urn).await? else {
                return Err(Error::Documents(vec![is_gone(&urn, &environment).at(&request.location)]));
            };
            let planned = match &request.recipe.values {
                Template::Constant(values) => values,
                _ => &Value::Null,
            };
            if *planned != self.purlin.outputs_of(&record).await? {
                let message = format!("`{urn}` has changed since the plan was made");
                let fault = Diagnostic::error("deployed-meanwhile", message).at(&request.location);
                return Err(Error::Documents(vec![fault.help("run the same command again")]));
            }
        }
        // Another run may have closed a loop meanwhile. Now it cannot.
        self.purlin.check_loops(graph, environment).await
    }

    /// Like [`Purlin::collect`], at the end of a run, including the environment of this session.
    ///
    /// # Errors
    /// As for [`Purlin::collect`].
    pub async fn collect(
        &self,
        deployment_id: &(dyn Fn() -> String + Sync),
        cancel: &CancelToken,
    ) -> Result<Vec<Collected>, Error> {
        for Claimed { lock, .. } in self.claims.with(std::mem::take) {
            lock.release().await?;
        }
        self.purlin.collect_beside(Some(self), deployment_id, cancel).await
    }

    /// Deletes resources that were handed over here and no longer have users. `None` if there are
    /// none.
    async fn delete_left(
        &self,
        deployment_id: &str,
        cancel: &CancelToken,
    ) -> Result<Option<Collected>, Error> {
        let environment = self.environment().clone();
        let context = self.purlin.context_of(&environment, deployment_id).await?;
        let options = DestroyOptions { only_left: true, ..DestroyOptions::default() };
        let job = Job::destroy(&context, None, options).until(cancel.clone());
        // The user consented to this when handing it over.
        let mut silent = SilentFollower::default();
        Ok(match self.attempt(&job, None, &mut silent).await? {
            RunEnd::Applied { summary, .. } if !silent.steps.is_empty() => {
                Some(Collected { environment, summary, keys: silent.steps, rejected: Vec::new() })
            }
            _ => None,
        })
    }

    /// Rejects a change to a resource that other environments use.
    pub(crate) async fn spare_one(&self, urn: &Urn, what: &str) -> Result<(), Error> {
        if urn.key().is_none_or(|key| key.type_name() != "installation") {
            return Ok(());
        }
        let users = self.purlin.users_of(self.environment()).await?;
        let Some(users) = users.get(urn) else { return Ok(()) };
        let fault = purlin_engine::in_use(urn, what);
        let fault = users.iter().fold(fault, |fault, user| fault.fact(format!("{user} uses it")));
        Err(Error::Documents(vec![fault.help("have these use another one first, with `--with`")]))
    }

    /// Rejects a plan that deletes or replaces resources that other environments use by now.
    async fn spare(&self, plan: &Plan) -> Result<(), Error> {
        let going: Vec<_> = plan.steps.iter().filter(|step| plan.ends_installation(step)).collect();
        if going.is_empty() {
            return Ok(());
        }
        let users = self.purlin.users_of(self.environment()).await?;
        let faults = going.iter().filter_map(|step| {
            let user = users.get(&step.urn)?.first()?;
            let message = format!("`{}` is used elsewhere since the plan was made", step.key);
            let fault = Diagnostic::error("in-use", message).fact(format!("{user} uses it"));
            Some(fault.help("plan again"))
        });
        let faults: Vec<Diagnostic> = faults.collect();
        if faults.is_empty() { Ok(()) } else { Err(Error::Documents(faults)) }
    }
}

/// Whether a record belongs to an installation, and not to a use of one in another environment.
pub(crate) fn is_installation(record: &Record) -> bool {
    record.superseded.is_none() && record.share.as_ref().is_some_and(|share| share.uses.is_none())
}

/// The installations of an environment that are recorded or pending, by name, each with its use of
/// the installation that it represents.
pub(crate) fn recorded(snapshot: &Snapshot) -> BTreeMap<Arc<str>, Option<InstallationUse>> {
    let current = snapshot.records.iter().filter(|record| record.superseded.is_none());
    let open = snapshot.pending.iter().filter_map(|intent| match &intent.operation {
        Operation::Create(record) => Some(&**record),
        Operation::Update(_) | Operation::Delete(_) => None,
    });
    let one = |record: &Record| {
        let share = record.share.as_ref()?;
        Some((Arc::from(record.urn.key()?.id()), share.uses.clone()))
    };
    // Existing ones override pending ones.
    open.filter_map(one).chain(current.filter_map(|record| one(record))).collect()
}

/// The installations of an environment that were handed over to their users, by name.
pub(crate) fn handed_over(snapshot: &Snapshot) -> BTreeSet<Arc<str>> {
    let records = snapshot.records.iter().filter(|record| record.abandoned && is_installation(record));
    records.filter_map(|record| Some(Arc::from(record.urn.key()?.id()))).collect()
}

fn is_gone(urn: &Urn, environment: &Environment) -> Diagnostic {
    let key = urn.key().map(|key| key.to_string()).unwrap_or_default();
    let message = format!("`{key}` of {environment}, which is used here, is gone");
    Diagnostic::error("gone", message).help("run the same command again to find or create another one")
}

/// The description of a user for messages.
fn described(user: &User) -> Arc<str> {
    let place = Environment::of_urn(&user.urn).map(|place| place.to_string()).unwrap_or_default();
    let key = user.urn.key().map(|key| key.to_string()).unwrap_or_default();
    format!("`{key}` of {place}").into()
}
