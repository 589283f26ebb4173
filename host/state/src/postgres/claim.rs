//! An environment that this process holds by a lease. A task writes the submissions, renews the
//! lease, and stops for good once it is lost.
//!
//! A commit is one statement, which checks the fence and the number of the previous commit: if its answer
//! is lost, it can be sent again without being applied twice. It also notes how it was made, so that a restored
//! or promoted database is recognised (`doubt.rs`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use async_trait::async_trait;
use purlin_files::Moment;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_postgres::types::Type;

use super::Inner;
use super::connect::{Parameter, on, parameter};
use super::doubt::CommitPosition;
use super::failure::QueryFailure;
use super::lease::NOW;
use super::memory::Memory;
use super::read::{is_documents, is_only_a_key};
use super::releases::Leaving;
use crate::encode::Writes;
use crate::keyspace::{self, EntryKind};
use crate::table::{Entry, Table, Tally};
use crate::{Change, Claim, Durable, Environment, Error, Staleness, Writer, codec, snapshot, usable_lease};

/// The maximum total size of submissions that are written together, in bytes.
const BATCH: usize = 4 << 20;

/// How often to check whether the lease has expired. The timers of a machine stop while it is suspended.
const LOOK: Duration = Duration::from_millis(250);

/// Submitted changes.
struct Submission {
    entries: Vec<Entry>,
    /// The tally of the table after the changes.
    tally: Tally,
    done: oneshot::Sender<Result<(), Error>>,
}

enum Message {
    Submit(Submission),
    Release(Option<oneshot::Sender<Result<(), Error>>>, Option<Leaving>),
}

/// Why nothing more is written.
enum Ended {
    /// The lease was released.
    Released,
    /// Another process may have the lease.
    Lost,
    /// The database rejected a statement, or the login.
    Failed { action: &'static str, failure: QueryFailure },
}

/// The data that the holder and its task share.
struct Shared {
    environment: Environment,
    place: String,
    /// The entries, including submissions that are not durable yet.
    table: RwLock<Table>,
    ended: OnceLock<Ended>,
    /// The end of the lease by the clock of this machine, measured from before it was requested.
    until: Mutex<Moment>,
    /// When the clock of the database was last read, and its time.
    clock: Mutex<(Moment, u64)>,
    /// Whether a call was cut off.
    is_cut_off: AtomicBool,
    lost: Notify,
}

impl Shared {
    fn end(&self, why: Ended) {
        let _ = self.ended.set(why);
        self.lost.notify_waiters();
    }

    fn until(&self) -> Moment {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn extend(&self, until: Moment) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn now(&self) -> u64 {
        let (read_at, time) = *self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        time.saturating_add(u64::try_from(read_at.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// The reason why nothing more is written, as an error.
    fn error(&self) -> Error {
        match self.ended.get() {
            Some(Ended::Failed { action, failure }) => failure.clone().into_error(&self.place, action),
            _ => Error::Lost { environment: self.environment.clone() },
        }
    }
}

/// The environment, and the task that writes to it.
pub(super) struct PostgresClaim {
    inner: Arc<Inner>,
    fence: i64,
    lapsed: Option<Duration>,
    shared: Arc<Shared>,
    /// Locked while a submission is being ordered.
    messages: Mutex<mpsc::UnboundedSender<Message>>,
}

/// The initial data of a lease.
pub(super) struct Leased {
    pub(super) environment: Environment,
    pub(super) fence: i64,
    /// The time since a holder left calls that may still be under way.
    pub(super) lapsed: Option<Duration>,
    pub(super) table: Table,
    /// The number of the last commit.
    pub(super) seq: i64,
    /// The server that responds, if it identifies itself.
    pub(super) server: Option<String>,
    pub(super) until: Moment,
    /// When the clock of the database was read, and its time.
    pub(super) clock: (Moment, u64),
}

impl PostgresClaim {
    /// Starts the task, and registers the holder in the store.
    pub(super) fn start(inner: &Arc<Inner>, leased: Leased) -> Arc<Self> {
        let Leased { environment, fence, lapsed, table, seq, server, until, clock } = leased;
        let shared = Arc::new(Shared {
            place: inner.database.place().to_owned(),
            environment,
            table: RwLock::new(table),
            ended: OnceLock::new(),
            until: Mutex::new(until),
            clock: Mutex::new(clock),
            is_cut_off: AtomicBool::new(false),
            lost: Notify::new(),
        });
        let (messages, received) = mpsc::unbounded_channel();
        let task = Task {
            place: keyspace::place(&shared.environment).to_vec(),
            inner: Arc::clone(inner),
            shared: Arc::clone(&shared),
            fence,
            seq,
            server,
        };
        inner.database.handle().spawn(task.run(received));
        let environment = shared.environment.clone();
        let claim = Arc::new(Self {
            inner: Arc::clone(inner),
            fence,
            lapsed,
            shared,
            messages: Mutex::new(messages),
        });
        let mut all = inner.claims();
        all.retain(|_, claim| claim.strong_count() > 0);
        all.insert(environment, Arc::downgrade(&claim));
        claim
    }

    /// Records why the records may be older than the real state, unless there is a stronger reason.
    pub(super) async fn note_staleness(&self, staleness: Staleness) -> Result<(), Error> {
        let (environment, keys) = (&self.shared.environment, &self.inner.keys);
        let recorded = snapshot::staleness(&self.table(), environment, keys)?;
        let change = Change::SetStaleness(Staleness::stronger(recorded, Some(staleness)));
        self.take(Writes::of(&[change], environment, keys)?)?.await
    }

    /// The current entries.
    pub(super) fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.shared.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn messages(&self) -> MutexGuard<'_, mpsc::UnboundedSender<Message>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Writer for PostgresClaim {
    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error> {
        if self.is_lost() {
            return Err(self.shared.error());
        }
        self.take(self.encode(changes)?)
    }

    async fn lost(&self) -> Error {
        loop {
            let lost = self.shared.lost.notified();
            if self.is_lost() {
                return self.shared.error();
            }
            let _ = tokio::time::timeout(self.shared.until().left().min(LOOK), lost).await;
        }
    }

    fn is_lost(&self) -> bool {
        self.shared.ended.get().is_some() || Moment::now() >= self.shared.until()
    }

    fn now(&self) -> Option<u64> {
        Some(self.shared.now())
    }

    fn cut_off(&self) {
        self.shared.is_cut_off.store(true, Ordering::SeqCst);
    }
}

impl PostgresClaim {
    /// Encodes changes. The database says who makes them, and when.
    pub(super) fn encode(&self, mut changes: Vec<Change>) -> Result<Writes, Error> {
        for change in &mut changes {
            if let Change::Audited { entry, .. } = change {
                entry.database_user = self.inner.user.get().cloned();
                entry.by.since = self.shared.now();
            }
        }
        Writes::of(&changes, &self.shared.environment, &self.inner.keys)
    }

    /// Submits encoded changes.
    pub(super) fn take(&self, writes: Writes) -> Result<Durable, Error> {
        let (done, answer) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        {
            // Submissions reach the task in the same order in which they change the table.
            let messages = self.messages();
            let mut table = shared.table.write().unwrap_or_else(PoisonError::into_inner);
            let mut entries = Vec::with_capacity(writes.0.len());
            table.resolve(writes.0, &mut entries);
            for (key, value) in &entries {
                if !is_documents(key) {
                    let value = value.as_ref().map(|value| match is_only_a_key(key) {
                        true => Vec::new(),
                        false => value.clone(),
                    });
                    table.apply(key.clone(), value);
                }
            }
            let submission = Submission { entries, tally: table.tally(), done };
            if messages.send(Message::Submit(submission)).is_err() {
                return Err(shared.error());
            }
        }
        Ok(Box::pin(async move { answer.await.unwrap_or_else(|_| Err(shared.error())) }))
    }
}

#[async_trait]
impl Claim for PostgresClaim {
    fn fence(&self) -> u64 {
        u64::try_from(self.fence).unwrap_or_default()
    }

    fn lapsed(&self) -> Option<Duration> {
        self.lapsed
    }

    async fn release(&self) -> Result<(), Error> {
        let (done, answer) = oneshot::channel();
        // If the task has ended, the message is dropped, together with the sender of the answer.
        drop(self.messages().send(Message::Release(Some(done), None)));
        match answer.await {
            Ok(released) => released,
            // The lease was released before, or is lost.
            Err(_) => match self.shared.ended.get() {
                Some(Ended::Failed { .. }) => Err(self.shared.error()),
                _ => Ok(()),
            },
        }
    }

    fn abandon(&self) {
        let leaving = Leaving::begin(&self.inner);
        let _ = self.messages().send(Message::Release(None, Some(leaving)));
    }
}

/// The task that writes.
struct Task {
    inner: Arc<Inner>,
    shared: Arc<Shared>,
    place: Vec<u8>,
    fence: i64,
    /// The number of the last commit.
    seq: i64,
    /// The server that responds, if it identifies itself.
    server: Option<String>,
}

/// The result of a statement that only the holder may execute.
enum Kept {
    Done,
    Gone,
}

impl Task {
    async fn run(mut self, mut messages: mpsc::UnboundedReceiver<Message>) {
        let mut waiting: Vec<Message> = Vec::new();
        loop {
            if waiting.is_empty() {
                let renewal = tokio::time::sleep(self.inner.lease / 3);
                tokio::select! {
                    received = messages.recv_many(&mut waiting, 1024) => {
                        if received == 0 {
                            // The holder was leaked and cannot be released any more, so the lease
                            // expires.
                            return self.shared.end(Ended::Released);
                        }
                    }
                    () = renewal => {
                        if self.renew().await.is_err() {
                            break;
                        }
                        continue;
                    }
                }
            }
            let mut batch = Vec::new();
            let (mut size, mut release) = (0, None);
            let mut rest = std::mem::take(&mut waiting).into_iter();
            for message in rest.by_ref() {
                match message {
                    Message::Submit(submission) => {
                        let bytes = |(key, value): &Entry| key.len() + value.as_ref().map_or(0, Vec::len);
                        size += submission.entries.iter().map(bytes).sum::<usize>();
                        batch.push(submission);
                    }
                    Message::Release(done, leaving) => {
                        release = Some((done, leaving));
                        break;
                    }
                }
                if size >= BATCH {
                    break;
                }
            }
            waiting = rest.collect();
            if !batch.is_empty() && !self.write(batch).await {
                if let Some((Some(done), _)) = release {
                    let _ = done.send(Err(self.shared.error()));
                }
                break;
            }
            if let Some((done, _leaving)) = release {
                let released = self.release().await;
                self.shared.end(Ended::Released);
                if let Some(done) = done {
                    let _ = done.send(released);
                } else if let Err(error) = released {
                    tracing::warn!(%error, "the state is safe, but the lease ends by itself only");
                }
                break;
            }
        }
        // Submissions that still wait fail with `Shared::error`, since their senders are dropped.
    }

    /// Writes submissions together. Returns whether the task can continue.
    async fn write(&mut self, batch: Vec<Submission>) -> bool {
        let Some(tally) = batch.last().map(|last| last.tally) else { return true };
        let mut entries: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
        let mut waiting = Vec::with_capacity(batch.len());
        for submission in batch {
            entries.extend(submission.entries);
            waiting.push(submission.done);
        }
        match self.commit(entries, tally).await {
            Ok(()) => {
                for done in waiting {
                    let _ = done.send(Ok(()));
                }
                true
            }
            Err(why) => {
                self.shared.end(why);
                for done in waiting {
                    let _ = done.send(Err(self.shared.error()));
                }
                false
            }
        }
    }

    async fn commit(
        &mut self,
        entries: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
        tally: Tally,
    ) -> Result<(), Ended> {
        let action = "write the state";
        let failed = |error: Error| Ended::Failed {
            action,
            failure: QueryFailure::Refused(purlin_files::with_causes(&error)),
        };
        let next = self.seq + 1;
        let head =
            codec::encode_head(next, tally, &self.shared.environment, &self.inner.keys).map_err(failed)?;
        let (mut keys, mut values, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for (key, value) in entries {
            match value {
                Some(value) => {
                    keys.push(key);
                    values.push(value);
                }
                None => gone.push(key),
            }
        }
        let sql = format!(
            "WITH held AS (
                 UPDATE {schema}.environments
                 SET seq = $4, head = $5, lease_until = clock_timestamp() + $7 * interval '1 second'
                 WHERE place = $1 AND fence = $2 AND seq = $3 AND lease_until > clock_timestamp()
                 RETURNING place
             ), noted AS (
                 INSERT INTO {schema}.commits AS c (place, seq, server, since, transaction)
                 SELECT held.place, $4, $6, $4, txid_current() FROM held
                 ON CONFLICT (place) DO UPDATE
                 SET seq = excluded.seq, server = excluded.server, transaction = excluded.transaction,
                     since = CASE WHEN c.server IS DISTINCT FROM excluded.server THEN excluded.seq ELSE c.since END
             ), gone AS (
                 DELETE FROM {schema}.entries USING held
                 WHERE entries.place = held.place AND entries.key = ANY ($8)
             ), put AS (
                 INSERT INTO {schema}.entries (place, key, value)
                 SELECT held.place, new.key, new.value FROM held, unnest($9, $10) AS new (key, value)
                 ON CONFLICT (place, key) DO UPDATE SET value = excluded.value
             )
             SELECT count(*), CASE current_setting('synchronous_commit')
                 WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END FROM held",
            schema = self.inner.database.schema()
        );
        let parameters = vec![
            parameter(self.place.clone(), Type::BYTEA),
            parameter(self.fence, Type::INT8),
            parameter(self.seq, Type::INT8),
            parameter(next, Type::INT8),
            parameter(head, Type::BYTEA),
            parameter(self.server.clone(), Type::TEXT),
            parameter(self.inner.lease.as_secs_f64(), Type::FLOAT8),
            parameter(gone, Type::BYTEA_ARRAY),
            parameter(keys, Type::BYTEA_ARRAY),
            parameter(values, Type::BYTEA_ARRAY),
        ];
        let sent = self.server.clone();
        let server = match self.insist(action, &sql, &parameters).await? {
            Kept::Done => sent,
            // An earlier attempt may have succeeded although its response was lost.
            Kept::Gone => match self.last_commit().await? {
                Some(CommitPosition { seq, noted, .. }) if seq == next => {
                    noted.and_then(|noted| noted.server)
                }
                Some(CommitPosition { seq, .. }) if seq < self.seq => {
                    let detail = format!(
                        "the database lost commits that it had confirmed: it is at {seq}, and was at {}",
                        self.seq
                    );
                    return Err(Ended::Failed { action, failure: QueryFailure::Refused(detail) });
                }
                _ => return Err(Ended::Lost),
            },
        };
        self.seq = next;
        self.inner.memories.keep(&self.shared.environment, &Memory { seq: next, fence: self.fence, server });
        Ok(())
    }

    async fn renew(&mut self) -> Result<(), ()> {
        let sql = format!(
            "UPDATE {}.environments SET lease_until = clock_timestamp() + $3 * interval '1 second'
             WHERE place = $1 AND fence = $2 AND lease_until > clock_timestamp() RETURNING 1::bigint, {NOW}",
            self.inner.database.schema()
        );
        let parameters = [
            parameter(self.place.clone(), Type::BYTEA),
            parameter(self.fence, Type::INT8),
            parameter(self.inner.lease.as_secs_f64(), Type::FLOAT8),
        ];
        let why = match self.insist("renew the lease", &sql, &parameters).await {
            Ok(Kept::Done) => return Ok(()),
            Ok(Kept::Gone) => Ended::Lost,
            Err(why) => why,
        };
        self.shared.end(why);
        Err(())
    }

    /// Repeats a statement of the holder until the database responds or the lease ends.
    async fn insist(
        &mut self,
        action: &'static str,
        sql: &str,
        parameters: &[Parameter],
    ) -> Result<Kept, Ended> {
        let mut pause = Duration::from_millis(20);
        loop {
            let (begun, left) = (Moment::now(), self.shared.until().left());
            let answer = tokio::time::timeout(left, self.inner.database.once(sql, parameters)).await;
            match answer {
                Ok(Ok(rows)) => {
                    let done = rows.first().and_then(|row| row.try_get::<_, i64>(0).ok());
                    if done != Some(1) {
                        return Ok(Kept::Gone);
                    }
                    let clock = rows.first().and_then(|row| row.try_get::<_, i64>(1).ok());
                    if let Some(clock) = clock.and_then(|clock| u64::try_from(clock).ok()) {
                        *self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner) =
                            (Moment::now(), clock);
                    }
                    self.shared.extend(begun + usable_lease(self.inner.lease));
                    return Ok(Kept::Done);
                }
                Ok(Err(QueryFailure::Lost(_, detail))) => {
                    tracing::debug!(%detail, "the database did not answer");
                    let left = self.shared.until().left();
                    if left.is_zero() {
                        return Err(Ended::Lost);
                    }
                    tokio::time::sleep(pause.min(left)).await;
                    pause = (pause * 2).min(Duration::from_secs(1));
                    // Another server may respond now.
                    if let Some(server) = self.inner.server().await {
                        self.server = Some(server.to_string());
                    }
                }
                Ok(Err(QueryFailure::Missing)) => {
                    let failure = QueryFailure::Refused("its tables are gone".into());
                    return Err(Ended::Failed { action, failure });
                }
                Ok(Err(failure)) => return Err(Ended::Failed { action, failure }),
                Err(_) => return Err(Ended::Lost),
            }
        }
    }

    /// The last commit, if this process still has the lease.
    async fn last_commit(&self) -> Result<Option<CommitPosition>, Ended> {
        match self.inner.last_commit(&self.place, self.fence).await {
            Ok(last) => Ok(last),
            Err(QueryFailure::Lost(..) | QueryFailure::Missing) => Err(Ended::Lost),
            Err(failure) => Err(Ended::Failed { action: "read the state", failure }),
        }
    }

    /// Releases the lease, and leaves a summary for lists of environments.
    async fn release(&mut self) -> Result<(), Error> {
        let (known, listing) = match self.summary().await {
            Ok(summary) => summary,
            Err(error) => {
                // Others need the environment to repair it.
                self.inner.give_up(&self.shared.environment, self.fence).await;
                return Err(error);
            }
        };
        let sql = format!(
            "UPDATE {}.environments SET lease_until = NULL, holder = NULL,
                 lapsed_at = CASE WHEN $6 THEN clock_timestamp() ELSE lapsed_at END,
                 summary = $3, listing = $4, summary_seq = seq
             WHERE place = $1 AND fence = $2 AND seq = $5",
            self.inner.database.schema()
        );
        let parameters = vec![
            parameter(self.place.clone(), Type::BYTEA),
            parameter(self.fence, Type::INT8),
            parameter(known, Type::BYTEA),
            parameter(listing, Type::BYTEA),
            parameter(self.seq, Type::INT8),
            parameter(self.shared.is_cut_off.load(Ordering::SeqCst), Type::BOOL),
        ];
        self.inner.database.query("give the lease up", &sql, parameters).await.map(drop)
    }

    /// The encoded summary and listing for lists of environments and installations.
    async fn summary(&self) -> Result<(Vec<u8>, Option<Vec<u8>>), Error> {
        let environment = &self.shared.environment;
        let prefix = keyspace::prefix(EntryKind::Deployment, &keyspace::place(environment));
        let last = self.inner.last_entry(environment, prefix).await?;
        let (known, listing) = {
            let table = self.shared.table.read().unwrap_or_else(PoisonError::into_inner);
            let known = snapshot::known_with(&table, environment, &self.inner.keys, last)?;
            let listing = snapshot::listing(&table, environment, &self.inner.keys)?;
            (known, listing)
        };
        let listing = match listing.is_empty() {
            true => None,
            false => Some(codec::encode_listing(&listing, &self.inner.keys)?),
        };
        Ok((codec::encode_known(&known, &self.inner.keys)?, listing))
    }
}

/// Runs a future of a holder on the runtime of the store.
pub(super) fn spawn<T: Send + 'static>(
    inner: &Arc<Inner>,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> futures_core::future::BoxFuture<'static, Result<T, Error>> {
    on(inner.database.handle(), work)
}
