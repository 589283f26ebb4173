//! Carries out an attack: twice at once, beside a good driver, while watching the resources of the
//! process.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use purlin_model::driver::{Checkpoint, Forecast, Inputs, ResourceState};
use purlin_model::{Limits, Value};
use purlin_sandbox::{
    CallContext, CallError, CancelToken, Change, CheckpointSink, Driver, DriverSetup, Effect, ReadRequest,
    Sandbox, Source,
};
use serde_json::json;
use tracing_subscriber::layer::SubscriberExt;

use crate::common::{self, DriverLog};

/// The secret that must not appear: all its encodings look different.
pub(crate) const SECRET: &str = "Hunter+2/and\"more~x";

/// Its encodings, as far as they can be recognised.
const ENCODINGS: [&str; 10] = [
    SECRET,
    "Hunter+2/and\\\"more~x",
    "SHVudGVyKzIvYW5kIm1vcmV+",
    "SHVudGVyKzIvYW5kIm1vcmV-",
    "IdW50ZXIrMi9hbmQibW9yZX54",
    "h1bnRlcisyL2FuZCJtb3Jlfn",
    "48756e7465722b322f616e64226d6f72657e78",
    "48756E7465722B322F616E64226D6F72657E78",
    "Hunter%2B2%2Fand%22more~x",
    "%48%75%6E%74%65%72",
];

/// The slowest call of the good driver, beside the time for which a busy machine does not let a
/// thread of this process run.
const SLOWEST: Duration = Duration::from_secs(2);
/// How far a call may exceed its time, likewise: the host's own work is within its time.
const LATE: Duration = Duration::from_secs(2);
/// The limit of the driver: however busy the machine is, its other calls are within it.
const LIMIT: Duration = Duration::from_secs(60);
/// The time of an attacked call if it need not come to an end.
const ENOUGH: Duration = Duration::from_secs(5);
/// The time of an attacked call that takes long by its nature.
const BRIEF: Duration = Duration::from_millis(400);
/// After how long a call is asked to end, if an operator does that.
const CANCELLED: Duration = Duration::from_millis(50);
/// After how long a call is cut off, if an operator does that.
const CUT: Duration = Duration::from_millis(200);
/// Bytes that the host keeps for one call beside its memory: its handles, its secrets, and its
/// answer during parsing.
const HOST: u64 = 160 << 20;
/// Bytes that the host takes while another process compiles for it, beside the component.
const COMPILING: u64 = 64 << 20;
/// Bytes of one text for an operator: a failure says up to three things, or has a message and details.
const LONGEST_TEXT: usize = 42 << 10;
/// As many at once as there are threads: so that none is left if each blocks one.
const COPIES: usize = 2;

/// The function to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Check,
    Name,
    Create,
    Read,
    Impact,
    Update,
    Delete,
    /// What its creation would make.
    Preview,
    /// What its deletion would delete.
    PreviewOfDelete,
}

/// What an operator does during a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    /// Asks it to end.
    Cancels,
    /// Cuts it off after that.
    Cuts,
}

/// The attacked call: the input, and everything else that differs between attacks.
#[derive(Clone, Debug, Default)]
struct Given {
    values: serde_json::Value,
    /// This many more secrets.
    secrets: usize,
    /// Its time, if it is less than the driver's limit.
    time: Option<Duration>,
    operator: Option<Operator>,
}

/// The expected result.
#[derive(Debug)]
pub(crate) enum Expect {
    /// It gives an answer that contains this.
    Answers(String),
    /// The operator reads this text.
    Fails(String),
    /// It never becomes a driver.
    Refused(String),
    /// Anything that harms nobody.
    Harmless,
}

/// One attack.
#[derive(Debug)]
pub(crate) struct Attack {
    name: String,
    component: String,
    /// The component itself, if it is not one of the built ones.
    bytes: Option<Vec<u8>>,
    given: Given,
    others: Option<serde_json::Value>,
    call: Call,
    setup: DriverSetup,
    expect: Expect,
    logged: Option<String>,
}

/// An attack of tests/hostile.
pub(crate) fn attack(name: &str) -> Attack {
    Attack::new(name, "hostile", json!({"attack": name}))
}

/// An attack on the reader and compiler of these bytes.
pub(crate) fn component(name: &str, bytes: Vec<u8>) -> Attack {
    Attack { bytes: Some(bytes), ..Attack::new(name, "", json!({})) }
}

/// An attack of tests/hostile/wat.
pub(crate) fn by_hand(name: &str) -> Attack {
    Attack::new(name, &format!("hostile/{name}"), json!({}))
}

impl Attack {
    fn new(name: &str, component: &str, values: serde_json::Value) -> Self {
        Self {
            name: name.into(),
            component: component.into(),
            bytes: None,
            given: Given { values, ..Given::default() },
            others: None,
            call: Call::Create,
            setup: common::setup(Limits { time: Some(LIMIT), ..Limits::default() }),
            expect: Expect::Harmless,
            logged: None,
        }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.given.values[name] = value.into();
        self
    }

    /// The other copy does something else.
    pub(crate) fn beside(mut self, values: serde_json::Value) -> Self {
        self.others = Some(values);
        self
    }

    pub(crate) fn called(mut self, call: Call) -> Self {
        self.call = call;
        self
    }

    /// For an attack that takes long by its nature.
    pub(crate) fn briefly(mut self) -> Self {
        self.given.time = Some(BRIEF);
        self
    }

    /// For one that takes long before there is a driver.
    pub(crate) fn with_a_brief_limit(self) -> Self {
        self.set(|setup| setup.limits.time = Some(BRIEF))
    }

    pub(crate) fn set(mut self, change: impl FnOnce(&mut DriverSetup)) -> Self {
        change(&mut self.setup);
        self
    }

    /// The call is asked to end.
    pub(crate) fn cancelled(mut self) -> Self {
        self.given.operator = Some(Operator::Cancels);
        self
    }

    /// The call is asked to end, and then cut off.
    pub(crate) fn cut_off(mut self) -> Self {
        self.given.operator = Some(Operator::Cuts);
        self
    }

    /// The call gets this many more secrets.
    pub(crate) fn secrets(mut self, count: usize) -> Self {
        self.given.secrets = count;
        self
    }

    /// The log contains this meanwhile.
    pub(crate) fn logs(mut self, text: &str) -> Self {
        self.logged = Some(text.into());
        self
    }

    pub(crate) fn answers(self, part: impl Into<String>) {
        Self { expect: Expect::Answers(part.into()), ..self }.run();
    }

    pub(crate) fn fails(self, part: impl Into<String>) {
        Self { expect: Expect::Fails(part.into()), ..self }.run();
    }

    pub(crate) fn refused(self, part: impl Into<String>) {
        Self { expect: Expect::Refused(part.into()), ..self }.run();
    }

    pub(crate) fn harmless(mut self) {
        // On a busy machine it may be ended, unless the end is what shows the harm.
        if self.logged.is_none() {
            self.given.time = self.given.time.or(Some(ENOUGH));
        }
        self.run();
    }

    fn run(self) {
        // One at a time: all attacks share the process's resources.
        let zoo = ZOO.lock().unwrap_or_else(PoisonError::into_inner);
        zoo.runtime.block_on(zoo.carry_out(&self));
    }
}

/// Does something while no attack runs, so that none is blamed for it.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let _zoo = ZOO.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}

struct Zoo {
    runtime: tokio::runtime::Runtime,
    sandbox: Sandbox,
    good: Driver,
    log: DriverLog,
}

static ZOO: LazyLock<Mutex<Zoo>> = LazyLock::new(|| {
    let log = DriverLog::default();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(log.clone()))
        .expect("the first");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(COPIES)
        .enable_all()
        .build()
        .expect("a runtime");
    let (sandbox, good) = runtime.block_on(async {
        let sandbox = common::sandbox();
        let good = common::load(&sandbox, &common::setup(Limits::default())).await;
        (sandbox, good)
    });
    Mutex::new(Zoo { runtime, sandbox, good, log })
});

struct Ids(Arc<Mutex<Vec<String>>>);

#[async_trait::async_trait]
impl CheckpointSink for Ids {
    async fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), String> {
        self.0.lock().expect("ours").push(checkpoint.id.expose().to_owned());
        Ok(())
    }
}

impl Zoo {
    async fn carry_out(&self, attack: &Attack) {
        let name = &attack.name;
        self.log.0.lock().expect("ours").clear();
        let bytes = attack.bytes.clone().unwrap_or_else(|| common::component(&attack.component));
        let (watch, good) = (Watch::begin(), self.good_company());
        let read = self.sandbox.interfaces(bytes.clone().into()).await;
        if let Err(error) = read {
            self.decent(attack, &chain(&error));
        }
        let loaded = self.sandbox.load(Source::Bytes(bytes.clone().into()), &attack.setup).await;
        let slowest = good.end().await;
        let (delay, grown) = (watch.delay(), watch.end());
        // While others are compiled for the first time, the machine is busy.
        assert!(
            slowest < 2 * SLOWEST + delay,
            "{name}: the good driver waited {slowest:?} while it was loaded"
        );
        let driver = match loaded {
            Ok(driver) => driver,
            Err(error) => {
                let text = chain(&error);
                self.decent(attack, &text);
                let most = COMPILING + bytes.len() as u64 * 8;
                assert!(grown < most, "{name}: {} MiB more than before", grown >> 20);
                match &attack.expect {
                    Expect::Refused(expected) => assert!(text.contains(expected), "{name}: {text}"),
                    Expect::Harmless => {}
                    _ => panic!("{name}: {text}"),
                }
                return;
            }
        };
        assert!(!matches!(attack.expect, Expect::Refused(_)), "{name}: it was let in");
        self.decent(attack, &printed(&driver));
        let files = open_files().len();
        let watch = Watch::begin();
        let good = self.good_company();

        let words = Arc::new(Mutex::new(Vec::new()));
        let calls: Vec<_> = (0..COPIES)
            .map(|n| {
                let mut given = attack.given.clone();
                if let Some(others) = attack.others.as_ref().filter(|_| n > 0) {
                    given.values = others.clone();
                }
                let (driver, call) = (driver.clone(), attack.call);
                let words = Arc::clone(&words);
                tokio::spawn(async move {
                    let begun = Instant::now();
                    let outcome = one(&driver, call, given, &words).await;
                    (outcome, begun.elapsed())
                })
            })
            .collect();
        let limit = attack.setup.limits.time.unwrap_or(LIMIT);
        let time = match attack.given.operator {
            Some(_) => CUT,
            None => attack.given.time.unwrap_or(limit),
        };
        let mut outcomes = Vec::new();
        for call in calls {
            let outcome = tokio::time::timeout(limit + LIMIT, call).await;
            let outcome = outcome.unwrap_or_else(|_| panic!("{name}: never ends"));
            let (outcome, took) = outcome.expect("the host is well");
            let late = LATE + watch.delay();
            assert!(took < time + late, "{name}: it had {time:?} and took {took:?} instead of {late:?} more");
            outcomes.push(outcome);
        }

        // A sandbox that was attacked serves the attacker again afterwards.
        if attack.component == "hostile" {
            let given = Given { values: json!({"n": 1}), ..Given::default() };
            let after = one(&driver, Call::Create, given, &Arc::default()).await;
            assert_eq!(after, Ok(r#"id {"n":1}"#.into()), "{name}: afterwards");
        }
        let slowest = good.end().await;
        assert!(slowest < SLOWEST + watch.delay(), "{name}: the good driver waited {slowest:?}");
        let limits = &attack.setup.limits;
        let each = limits.memory.unwrap_or(64 << 20) + HOST;
        let allowed = COPIES as u64 * each + (64 << 20);
        let grown = watch.end();
        assert!(grown < allowed, "{name}: {} MiB more than before", grown >> 20);
        drop(driver);
        closed(name, files).await;

        for (n, outcome) in outcomes.iter().enumerate() {
            let text = match outcome {
                Ok(text) | Err(text) => text,
            };
            if outcome.is_err() {
                self.decent(attack, text);
            }
            without_secret(name, text);
            if n > 0 && attack.others.is_some() {
                continue;
            }
            match (&attack.expect, outcome) {
                (Expect::Harmless, _) => {}
                (Expect::Answers(expected), Ok(text)) | (Expect::Fails(expected), Err(text)) => {
                    assert!(text.contains(expected), "{name}: {}", head(text));
                }
                _ => panic!(
                    "{name}: {:?} and not {:?}",
                    outcome.as_ref().map_err(|e| head(e)).map(|o| head(o)),
                    attack.expect
                ),
            }
        }
        let lines = self.log.lines();
        for line in lines.iter().chain(words.lock().expect("ours").iter()) {
            self.decent(attack, line);
        }
        let logged: usize = lines.iter().map(String::len).sum();
        let most = COPIES as u64 * (8 * limits.log.unwrap_or(1 << 20) + (64 << 10));
        assert!((logged as u64) < most, "{name}: {logged} bytes of log");
        if let Some(expected) = &attack.logged {
            assert!(lines.iter().any(|line| line.contains(expected)), "{name}: {lines:#?}");
        }
    }

    /// The text has no effect on a terminal, reveals no secret and can be read to its end.
    fn decent(&self, attack: &Attack, text: &str) {
        let name = &attack.name;
        let bad = |c: char| {
            c.is_control() && c != '\n' && c != '\t'
                || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        };
        assert!(!text.contains(bad), "{name}: {:?}", head(text));
        assert!(text.len() <= LONGEST_TEXT, "{name}: {} bytes: {}", text.len(), head(text));
        without_secret(name, text);
    }

    fn good_company(&self) -> Company {
        let (stop, slowest) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (seen, worst, good) = (Arc::clone(&stop), Arc::clone(&slowest), self.good.clone());
        let task = tokio::spawn(async move {
            let mut n = 0u64;
            loop {
                let begun = Instant::now();
                let state = common::deed(&good, json!({"n": n})).await.expect("the good driver is well");
                assert_eq!(state.outputs.reveal().expect("known"), json!({"n": n}));
                let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
                worst.fetch_max(took, Ordering::SeqCst);
                if seen.load(Ordering::SeqCst) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
                n += 1;
            }
        });
        Company { stop, slowest, task }
    }
}

/// For how long each thread of this process has waited for a processor.
fn delays() -> HashMap<OsString, Duration> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let delay = |thread: std::fs::DirEntry| {
        // The fields are the time on a processor, the time of waiting for one, and the number of turns.
        let times = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let waited = times.split_whitespace().nth(1)?.parse().ok()?;
        Some((thread.file_name(), Duration::from_nanos(waited)))
    };
    threads.filter_map(delay).collect()
}

/// The longest time that one thread has waited for a processor since then. Not the sum of all threads, which would
/// excuse any delay as soon as enough of them wait.
fn longest_delay_since(before: &HashMap<OsString, Duration>) -> Duration {
    let since = |(thread, now): (OsString, Duration)| {
        now.saturating_sub(before.get(&thread).copied().unwrap_or_default())
    };
    delays().into_iter().map(since).max().unwrap_or_default()
}

/// The good driver, called again and again.
struct Company {
    stop: Arc<AtomicBool>,
    slowest: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Company {
    async fn end(self) -> Duration {
        self.stop.store(true, Ordering::SeqCst);
        self.task.await.expect("the good driver was unharmed");
        Duration::from_micros(self.slowest.load(Ordering::SeqCst))
    }
}

/// One call, and its result in one line.
async fn one(
    driver: &Driver,
    call: Call,
    given: Given,
    words: &Arc<Mutex<Vec<String>>>,
) -> Result<String, String> {
    let subject = common::subject();
    let cancel = CancelToken::default();
    if let Some(operator) = given.operator {
        let cancel = cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(CANCELLED).await;
            cancel.request();
            if operator == Operator::Cuts {
                tokio::time::sleep(CUT - CANCELLED).await;
                cancel.cut();
            }
        });
    }
    let messages = Arc::clone(words);
    let context = CallContext {
        time: given.time,
        cancel,
        checkpoint: Some(Arc::new(Ids(Arc::default()))),
        progress: Some(Arc::new(move |progress| messages.lock().expect("ours").push(progress.message))),
        ..CallContext::new(&subject, "key-1")
    };
    let more: Vec<String> = (0..given.secrets).map(|n| format!("the secret no. {n}")).collect();
    let secrets = Value::from(json!({"password": SECRET, "more": more}));
    let inputs = Inputs { secrets, ..common::inputs(given.values) };
    let state = ResourceState { id: "id".into(), outputs: Value::map(), ..ResourceState::default() };
    let change = Change { state: &state, before: &inputs, after: &inputs, name: "n" };
    let text_of = |state: &ResourceState| {
        let files = state.manifests.iter().map(|file| format!(" {} {}", file.name, file.data.redact()));
        let notes = state.notes.iter().map(|(name, note)| format!(" {name} {}", note.redact()));
        let more: String = files.chain(notes).collect();
        format!("{} {}{more}", state.id, state.outputs.redact())
    };
    let outcome = match call {
        Call::Check => driver.check(&context, &inputs, None).await.map(|checked| {
            words
                .lock()
                .expect("ours")
                .extend(checked.warnings.iter().flat_map(|w| [w.pointer.clone(), w.message.clone()]));
            format!("checked {}", checked.secrets.redact())
        }),
        Call::Name => driver.name_of(&context, &inputs).await.map(|name| name.to_string()),
        Call::Create => {
            driver.create(&context, &inputs, "n", None).await.as_ref().map(text_of).map_err(Clone::clone)
        }
        Call::Read => driver
            .read(
                &context,
                ReadRequest { id: Some("id"), name: "n", inputs: &inputs, state: Some(&state), known: &[] },
            )
            .await
            .map(|observed| {
                observed.map_or_else(
                    || "none".into(),
                    |o| format!("{} {:?}", text_of(&o.state), o.values.map(|values| values.redact())),
                )
            }),
        Call::Impact => driver.update_impact(&context, change).await.map(|impact| {
            words.lock().expect("ours").extend(impact.replaces.clone());
            format!("{} {:?}", impact.delete_before_replace, impact.replaces.len())
        }),
        Call::Update => driver.update(&context, change).await.as_ref().map(text_of).map_err(Clone::clone),
        Call::Preview => {
            let effect = Effect::Create { inputs: &inputs, name: "n", replaces: None };
            driver.preview(&context, effect).await.map(|forecast| foreseen(forecast, words))
        }
        Call::PreviewOfDelete => {
            let effect = Effect::Delete { state: &state, inputs: &inputs, data_loss_allowed: false };
            driver.preview(&context, effect).await.map(|forecast| foreseen(forecast, words))
        }
        Call::Delete => driver.delete(&context, (&state, false), &inputs).await.map(|()| "deleted".into()),
    };
    outcome.map_err(|error: CallError| chain(&error))
}

/// All that people can see of a forecast. They read the texts of its parts.
fn foreseen(forecast: Option<Forecast>, words: &Mutex<Vec<String>>) -> String {
    let Forecast { outputs, parts, token, notes } = forecast.expect("it has a preview");
    let token = token.map_or(0, |token| token.as_bytes().len());
    let mut words = words.lock().expect("ours");
    for part in &parts {
        words.extend([part.address.clone(), part.type_name.clone()]);
        words.extend([&part.moved_from, &part.holds_data].into_iter().flatten().cloned());
        words.extend(part.notes.keys().map(|name| name.to_string()));
        words.extend(part.replaces.iter().take(100).cloned());
    }
    let notes = Value::Map(notes).redact();
    let shown = serde_json::to_string(&parts).expect("JSON");
    format!("{} {notes} {} parts {token} bytes {shown} {parts:?}", outputs.redact(), parts.len())
}

/// The visible form of a driver's description of itself.
fn printed(driver: &Driver) -> String {
    let info = driver.info();
    let requested =
        info.requested_capabilities.iter().map(|w| format!("{} {} {}", w.capability, w.pattern, w.reason));
    let types = info.types.iter().map(|t| t.type_name.clone());
    let notes = info.notes.iter().map(|(name, note)| format!("{name} {note}"));
    [info.name.clone(), info.description.clone()]
        .into_iter()
        .chain(types)
        .chain(requested)
        .chain(notes)
        .collect::<Vec<_>>()
        .join("|")
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(600)).unwrap_or_default()
}

fn without_secret(name: &str, text: &str) {
    for encoding in ENCODINGS {
        let at = text.find(encoding);
        assert_eq!(at, None, "{name}: the secret came out: {}", head(&text[at.unwrap_or(0)..]));
    }
}

/// The open files of this process, except those that wasmtime keeps for the next call; none if the
/// system does not report them.
fn open_files() -> Vec<String> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let texts = links.map(|link| link.to_string_lossy().into_owned());
    texts.filter(|link| !["memfd:wasm", "/pagemap", "/fd"].iter().any(|known| link.contains(known))).collect()
}

async fn closed(name: &str, before: usize) {
    // Connections are closed by tasks that end a moment later, and look-ups when the system gives up.
    for _ in 0..2_000 {
        if open_files().len() <= before {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{name}: {before} files were open before, and now {:#?}", open_files());
}

/// Watches the memory of the process, and how long the machine keeps it waiting.
struct Watch {
    stop: Arc<AtomicBool>,
    turns: Arc<Mutex<Turns>>,
    delays: HashMap<OsString, Duration>,
    thread: std::thread::JoinHandle<u64>,
}

/// The turns of the watching thread, which waits for nothing else.
struct Turns {
    last: Instant,
    longest_pause: Duration,
}

impl Watch {
    fn begin() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let turns = Arc::new(Mutex::new(Turns { last: Instant::now(), longest_pause: Duration::ZERO }));
        let (seen, ours) = (Arc::clone(&stop), Arc::clone(&turns));
        let (before, delays) = (resident(), delays());
        let thread = std::thread::spawn(move || {
            let mut most = 0;
            while !seen.load(Ordering::SeqCst) {
                most = most.max(resident().saturating_sub(before));
                {
                    let (now, mut turns) = (Instant::now(), ours.lock().expect("ours"));
                    turns.longest_pause = turns.longest_pause.max(now.duration_since(turns.last));
                    turns.last = now;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            most
        });
        Self { stop, turns, delays, thread }
    }

    /// How long the machine may have delayed any work so far: it lets a thread wait for a
    /// processor, or stops all of them.
    fn delay(&self) -> Duration {
        let pause = {
            let turns = self.turns.lock().expect("ours");
            turns.longest_pause.max(turns.last.elapsed())
        };
        longest_delay_since(&self.delays) + pause
    }

    fn end(self) -> u64 {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().expect("ours")
    }
}

/// Bytes of memory that this process uses; none if the system does not report it.
fn resident() -> u64 {
    let statm = std::fs::read_to_string(Path::new("/proc/self/statm")).unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    pages * 4096
}
