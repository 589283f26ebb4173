//! `purlin reconcile`

mod changes;
pub(super) mod fleet;
mod messages;
mod request;

use std::time::Duration;

use purlin_documents::Loaded;
use purlin_engine::{CancelToken, Event, PlanOptions};
use purlin_host::{Keeper, Pass, Purlin};
use purlin_model::Diagnostic;

use self::changes::Changes;
use self::messages::Messages;
use super::deploy::{self, RunOutput};
use crate::app::App;
use crate::args::{AcceptArgs, DocumentArgs, Format, FormatArg};
use crate::consent::{Consent, ConsentArgs};
use crate::failure::{Failure, Status};
use crate::input::{self, ValidDocuments};
use crate::interrupts::{Interrupts, Presses};
use crate::style::{DIM, paint};
use crate::surroundings;

/// How long to wait after a pass that failed, for example because of a fault in the documents or
/// because another process uses the state, in milliseconds.
const RETRY_DELAY: u64 = 2_000;
/// The longest sleep. It is bounded, since the system clock may be set.
const LONGEST_SLEEP: Duration = Duration::from_secs(3_600);

/// Keep an environment, or all of them, in line with the documents.
///
/// Applies the documents, reads every resource, and repairs or reports drift, according to `reconcile`
/// in purlin.yaml. With `--watch` it continues: it reads each resource at its interval, retries failures
/// after 1 s, then 2 s, up to a minute, and applies changed documents at once. It deletes and replaces
/// nothing that purlin.yaml does not allow; it lists those resources, and `purlin up` asks about them.
///
/// With `--all`, it does so in every environment in the state, each from the documents of its last
/// deployment, and brings it what roll-outs are to bring (`purlin rollout`). On a database, any number of hosts
/// share the work, and one host at a time handles each environment.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin reconcile --yes
  purlin reconcile --yes --watch
  purlin reconcile --yes --watch --format json   one event per line on standard output
  purlin reconcile --yes --all                   every environment once
  purlin reconcile --yes --all --watch           as a service, on any number of hosts
  purlin reconcile --request --env staging       have the service check one environment now

With `--request` and `--format json`:
  {\"format\": 1, \"environment\": {\"org\", \"app\", \"env\"}, \"requested\": true}

With `--watch`, SIGUSR1 reads everything at once; Ctrl-C finishes the calls in flight and exits.

Events with `--format json` are as for `up`; each pass in which something happened ends
with a summary.
Without `--watch`, the exit status is 0 if every resource matches the documents.

With `--all` and `--format json`, a line for each turn that changed something or did not succeed,
and without `--watch` a summary at the end:
  {\"format\": 1, \"event\": \"environment\", \"org\", \"app\", \"env\", \"outcome\": \"in-sync\" |
   \"out-of-sync\" | \"empty\" | \"busy\" | \"failed\",
   \"done\": {\"create\", \"update\", \"replace\", \"delete\"},
   \"failed\": [{\"key\", \"message\"}], \"needs_consent\": [{\"key\", \"action\"}], \"drifted\", \"error\"}
  {\"format\": 1, \"event\": \"summary\", \"environments\", \"in_sync\", \"out_of_sync\", \"empty\",
   \"busy\", \"failed\"}")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// Continue until Ctrl-C.
    #[arg(short, long)]
    watch: bool,

    /// Reconcile every environment in the state.
    #[arg(long)]
    all: bool,

    /// Request a pass over the environment from the hosts that run `--all --watch`, and return at once.
    /// It takes priority over all others and reads every resource. Requires a state in a database.
    #[arg(long, conflicts_with_all = ["watch", "all"])]
    request: bool,

    /// Take up to N turns at once, each in an environment of its own, with `--all` [default: 4 per processor].
    #[arg(long, value_name = "N", requires = "all", allow_negative_numbers = true)]
    turns: Option<std::num::NonZeroUsize>,

    #[command(flatten)]
    accept: AcceptArgs,

    /// Start without asking for confirmation. Required without a terminal.
    #[arg(short, long, aliases = crate::args::YES)]
    yes: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    if args.request {
        return request::run(args, app).await;
    }
    let json = args.format.format == Format::Json;
    let consent = Consent::new(&ConsentArgs { yes: args.yes, allow_data_loss: false }, json, app)?;
    if args.watch && args.documents.named().iter().any(|path| path.as_os_str() == "-") {
        let message = "a watch rereads its documents, and standard input can be read only once";
        return Err(Failure::input(message).hint("name a file or a folder instead of `-`"));
    }
    if args.all {
        return fleet::run(args, &consent, app).await;
    }
    let loaded = input::load(&args.documents, app)?;
    let texts = texts(&loaded);
    let mut given = input::given_from(loaded, &args.documents, app).await?;
    given.documents.accept_missing.clone_from(&args.accept.accept_missing);
    if consent.needs_confirmation() && !agreed(&given, &consent, app).await? {
        return Ok(Status::Failed);
    }
    let mut watch = Watch {
        args,
        app,
        keeper: if args.watch {
            Keeper::watching(surroundings::now())
        } else {
            Keeper::new(surroundings::now())
        },
        interrupts: Interrupts::new(),
        interrupted: false,
        has_passed: false,
        messages: Messages::new(json, args.watch),
    };
    if args.watch { watch.go_on(given, texts).await } else { watch.once(&given).await }
}

/// Shows the changes to be made now, and asks for consent.
async fn agreed(given: &ValidDocuments, consent: &Consent, app: &App) -> Result<bool, Failure> {
    let purlin = input::orchestrator(&given.workspace, app)?;
    let keep_removed = !given.workspace.reconcile.delete;
    let options = PlanOptions { keep_removed, ..PlanOptions::default() };
    let plan = purlin.plan(&given.documents, options).await.map_err(|error| given.failure(error))?;
    RunOutput::new(false, app).plan(&plan, true);
    drop(plan);
    purlin.close().await.map_err(|error| given.failure(error))?;
    Ok(consent.agrees("Apply these changes, and repair drift?", app))
}

/// The texts of the documents. Comparing them detects changes.
fn texts(loaded: &Loaded) -> Vec<(String, String)> {
    loaded.sources().iter().map(|source| (source.name.to_string(), source.text.to_string())).collect()
}

struct Watch<'a> {
    args: &'a Args,
    app: &'a App,
    keeper: Keeper,
    interrupts: Interrupts,
    /// Whether the user asked to stop during a pass. The pass may have ended by then.
    interrupted: bool,
    /// Whether a pass succeeded.
    has_passed: bool,
    messages: Messages,
}

/// A completed pass.
struct Passed {
    pass: Pass,
    purlin: Purlin,
    interrupted: bool,
}

/// A pass that failed.
struct FailedPass {
    failure: Failure,
    /// Whether a later attempt may succeed.
    may_pass: bool,
    /// Whether others have deployed since the documents were read, so that nothing was applied.
    is_outdated: bool,
}

impl Watch<'_> {
    async fn once(&mut self, given: &ValidDocuments) -> Result<Status, Failure> {
        let status = self.report_one(given).await;
        if status.is_err() {
            self.messages.causes(self.app);
        }
        status
    }

    /// Makes one pass, and reports it.
    async fn report_one(&mut self, given: &ValidDocuments) -> Result<Status, Failure> {
        let Passed { pass, purlin, .. } = self.pass(given).await.map_err(|failed| failed.failure)?;
        let shown = RunOutput::new(self.messages.json, self.app);
        let collected =
            deploy::collect(&purlin, &shown, self.app).await.map_err(|error| given.failure(error))?;
        deploy::close(purlin, self.app).await?;
        self.messages.pass(&pass, false, self.app);
        if !pass.summary.is_success() {
            deploy::end(&pass.summary, Some(&given.documents), &shown, self.app);
        }
        Ok(if pass.is_in_sync() { collected } else { Status::Failed })
    }

    async fn go_on(
        &mut self,
        mut given: ValidDocuments,
        mut texts: Vec<(String, String)>,
    ) -> Result<Status, Failure> {
        let (mut changes, why) = Changes::of(input::places(&self.args.documents, self.app));
        if let Some(why) = why {
            let message =
                format!("the folders cannot be watched ({why}); they are read every few seconds instead");
            self.app.ui.warning(&message);
        }
        let mut requests = Requests::new();
        loop {
            // A pass must not undo changes of newer documents, or of a deployment of those.
            if changes.are_waiting() {
                changes.next().await;
                self.read_again(&mut given, &mut texts, false).await;
            }
            let next = match self.pass(&given).await {
                Ok(Passed { mut pass, purlin, interrupted }) => {
                    let rejected = pass.rejected.take().map(|error| given.failure(error));
                    match &rejected {
                        Some(failure) => self.messages.failure(failure, true, self.app),
                        None => self.messages.end_failure(),
                    }
                    self.messages.pass(&pass, rejected.is_some(), self.app);
                    // Resources that it used before may no longer have any user.
                    let done = &pass.summary.done;
                    if done.delete + done.replace + done.update > 0 {
                        let shown = RunOutput::new(self.messages.json, self.app);
                        deploy::collect(&purlin, &shown, self.app)
                            .await
                            .map_err(|error| given.failure(error))?;
                    }
                    deploy::close(purlin, self.app).await?;
                    if interrupted {
                        return Ok(Status::Done);
                    }
                    if let Some(failure) = &rejected {
                        self.recall_again(failure, &mut given, &texts).await;
                    }
                    pass.next
                }
                Err(FailedPass { is_outdated: true, .. }) if self.interrupted => return Ok(Status::Done),
                Err(FailedPass { is_outdated: true, .. }) => {
                    if self.read_again(&mut given, &mut texts, true).await {
                        continue;
                    }
                    surroundings::now() + RETRY_DELAY
                }
                Err(FailedPass { failure, may_pass: true, .. }) if !self.interrupted => {
                    self.messages.failure(&failure, false, self.app);
                    self.recall_again(&failure, &mut given, &texts).await;
                    surroundings::now() + RETRY_DELAY
                }
                Err(FailedPass { failure, .. }) => return Err(failure),
            };
            loop {
                let wait = Duration::from_millis(next.saturating_sub(surroundings::now()));
                tokio::select! {
                    () = tokio::time::sleep(wait.min(LONGEST_SLEEP)) => break,
                    () = self.interrupts.next() => return Ok(Status::Done),
                    () = requests.next() => {
                        self.read_again(&mut given, &mut texts, false).await;
                        self.keeper.request_all();
                        break;
                    }
                    () = changes.next() => {
                        if self.read_again(&mut given, &mut texts, false).await {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Reads the documents again. Returns whether they changed and are valid; invalid documents do
    /// not replace the current ones. If others have deployed since (`is_outdated`), valid ones do so
    /// even without a change: their next entry in the history comes after that deployment.
    async fn read_again(
        &mut self,
        given: &mut ValidDocuments,
        texts: &mut Vec<(String, String)>,
        is_outdated: bool,
    ) -> bool {
        let loaded = match input::load(&self.args.documents, self.app) {
            Ok(loaded) => loaded,
            Err(failure) => {
                self.reject(&failure);
                return false;
            }
        };
        let now = self::texts(&loaded);
        let are_same = now == *texts;
        if are_same && !is_outdated {
            return false;
        }
        *texts = now;
        match input::given_from(loaded, &self.args.documents, self.app).await {
            Ok(mut changed) => {
                changed.documents.accept_missing.clone_from(&self.args.accept.accept_missing);
                *given = changed;
                self.keeper.documents_changed();
                self.messages.forget_failure();
                if !are_same {
                    self.messages.line(&paint(DIM, "the documents changed"), self.app);
                }
                true
            }
            Err(failure) => {
                self.reject(&failure);
                false
            }
        }
    }

    /// The documents cannot be read: the ones before stay in force.
    fn reject(&mut self, failure: &Failure) {
        self.messages.failure(failure, true, self.app);
        match failure {
            Failure::Documents { faults, .. } | Failure::Unplanned { faults, .. } => {
                self.keeper.documents_rejected(faults);
            }
            Failure::Plain { message, .. } => {
                let fault = Diagnostic::error("unreadable-file", message.clone());
                self.keeper.documents_rejected(&[fault]);
            }
        }
    }

    /// If installations of other environments changed after the documents were read, resolves the
    /// requirements again.
    async fn recall_again(&self, failure: &Failure, given: &mut ValidDocuments, texts: &[(String, String)]) {
        const ABOUT_OTHERS: [&str; 2] = ["gone", "deployed-meanwhile"];
        let Failure::Documents { faults, .. } = failure else { return };
        if !faults.iter().any(|fault| ABOUT_OTHERS.contains(&fault.code)) {
            return;
        }
        let Ok(loaded) = input::load(&self.args.documents, self.app) else { return };
        if self::texts(&loaded) != *texts {
            return;
        }
        if let Ok(mut again) = input::given_from(loaded, &self.args.documents, self.app).await {
            again.documents.accept_missing.clone_from(&self.args.accept.accept_missing);
            *given = again;
        }
    }

    /// Makes one pass. The state is open only during a pass, so that other processes can work
    /// between two passes.
    async fn pass(&mut self, given: &ValidDocuments) -> Result<Passed, FailedPass> {
        let failed = |failure| FailedPass { failure, may_pass: false, is_outdated: false };
        let purlin = input::orchestrator(&given.workspace, self.app).map_err(failed)?;
        let cancel = CancelToken::default();
        let (messages, app) = (&mut self.messages, self.app);
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut send = move |event: &Event| {
            let _ = sender.send(event.clone());
        };
        let result = {
            let pass = self.keeper.pass(&purlin, &given.documents, cancel.clone(), &mut send);
            tokio::pin!(pass);
            let mut presses = Presses::new(&cancel);
            loop {
                tokio::select! {
                    biased;
                    Some(event) = receiver.recv() => messages.event(&event, app),
                    () = self.interrupts.next() => {
                        self.interrupted = true;
                        presses.press();
                    }
                    result = &mut pass => break result,
                }
            }
        };
        drop(send);
        while let Ok(event) = receiver.try_recv() {
            messages.event(&event, app);
        }
        match result {
            Ok(pass) => {
                self.has_passed = true;
                Ok(Passed { pass, purlin, interrupted: self.interrupted })
            }
            Err(error) => {
                let may_pass = passes(&error) || (self.has_passed && is_rotation(&error));
                let is_outdated = matches!(error, purlin_host::Error::DeployedMeanwhile { .. });
                let failure = given.failure(error);
                // Report the error of the pass. It matters more than one that occurs when the state
                // is closed.
                let _ = purlin.close().await;
                Err(FailedPass { failure, may_pass, is_outdated })
            }
        }
    }
}

/// Whether a watch continues after an error: users correct documents, and other processes release
/// the state. An unreadable or unwritable state ends the watch.
fn passes(error: &purlin_host::Error) -> bool {
    use purlin_state::Error;
    match error {
        purlin_host::Error::State(error) => {
            matches!(
                error,
                Error::Busy { .. }
                    | Error::Locked { .. }
                    | Error::Reserved { .. }
                    | Error::Unreachable { .. }
            )
        }
        purlin_host::Error::StateGone { .. } => false,
        _ => true,
    }
}

/// Whether a login that succeeded before may succeed again once its secret is the current one: the database
/// and the secret store may change at different times.
fn is_rotation(error: &purlin_host::Error) -> bool {
    use purlin_state::{Error, LoginFault};
    let purlin_host::Error::State(error) = error else { return false };
    match error {
        Error::Credentials { .. } => true,
        Error::Login { fault, .. } => matches!(fault, LoginFault::Rejected | LoginFault::NeedsCertificate),
        _ => false,
    }
}

/// Requests of other programs to read every resource: SIGUSR1.
struct Requests {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Requests {
    #[cfg(unix)]
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self { signal: signal(SignalKind::user_defined1()).ok() }
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        let came = match &mut self.signal {
            Some(signal) => signal.recv().await.is_some(),
            None => false,
        };
        if !came {
            std::future::pending::<()>().await;
        }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Self {}
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}
