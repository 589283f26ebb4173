//! Takes, releases and shows the leases of environments. `claim.rs` renews them and writes under
//! them. Their default duration is [`purlin_model::StateDatabase::LEASE`].

use std::sync::Arc;
use std::time::Duration;

use purlin_files::Moment;
use tokio_postgres::types::Type;

use super::claim::{Leased, PostgresClaim};
use super::connect::parameter;
use super::doubt::{CommitPosition, Server};
use super::read::Loaded;
use super::{Inner, keys};
use crate::error::NO_RANDOM;
use crate::table::Table;
use crate::{Environment, Error, Holder, keyspace, usable_lease};

/// The clock of the database, in SQL: milliseconds since 1970.
pub(super) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// A new lease of an environment that was not read yet.
pub(super) struct Taken {
    pub(super) fence: i64,
    lapsed: Option<Duration>,
    until: Moment,
    clock: (Moment, u64),
}

impl Taken {
    pub(super) fn into_leased(
        self,
        environment: &Environment,
        table: Table,
        reached: CommitPosition,
        server: Option<Server>,
    ) -> Leased {
        let Self { fence, lapsed, until, clock } = self;
        let server = server.map(|server| server.to_string());
        Leased {
            environment: environment.clone(),
            fence,
            lapsed,
            table,
            seq: reached.seq,
            server,
            until,
            clock,
        }
    }
}

impl Inner {
    /// Takes the lease of an environment, and reads it.
    pub(super) async fn claim(
        self: Arc<Self>,
        environment: &Environment,
        holder: &Holder,
    ) -> Result<Arc<PostgresClaim>, Error> {
        let taken = self.acquire(environment, holder).await?;
        let read = async {
            // Only now, because a rotation of the key waits for holders that took the environment
            // before it.
            keys::refresh(&self.database, &self.keys).await?;
            self.read(environment).await
        };
        let Loaded { table, reached } = match read.await {
            Ok(loaded) => loaded.unwrap_or_default(),
            Err(error) => {
                // A holder that cannot read the environment must not block its repair.
                self.give_up(environment, taken.fence).await;
                return Err(error);
            }
        };
        let now = self.server().await;
        // Only this lease has been taken since the last commit.
        let before = CommitPosition { fence: reached.fence - 1, ..reached.clone() };
        let doubt = self.doubt(environment, &before, now.as_ref());
        self.learn_user().await;
        let claim = PostgresClaim::start(&self, taken.into_leased(environment, table, reached, now));
        if let Some(doubt) = doubt {
            // The next commit removes what shows it.
            claim.note_staleness(doubt).await?;
        }
        Ok(claim)
    }

    /// Takes the lease of an environment.
    ///
    /// A statement can reach the database twice, and long after it was sent: a connection was lost, and the
    /// statement repeated. The token identifies the holder, so that a copy takes nothing from its own
    /// holder, and takes no lease that the holder has released since.
    pub(super) async fn acquire(&self, environment: &Environment, holder: &Holder) -> Result<Taken, Error> {
        self.left().await;
        let place = keyspace::place(environment).to_vec();
        let token = token()?;
        let sql = format!(
            "INSERT INTO {schema}.environments AS e
                 (place, prefix, org, app, env, fence, holder, token, lease_until)
             VALUES ($1, $2, $3, $4, $5, 1, $6, $7, clock_timestamp() + $8 * interval '1 second')
             ON CONFLICT (place) DO UPDATE
             SET fence = CASE WHEN e.token = $7 THEN e.fence ELSE e.fence + 1 END,
                 holder = $6, token = $7, lease_until = excluded.lease_until,
                 lapsed_at = CASE WHEN e.token = $7 OR e.lease_until IS NULL THEN e.lapsed_at ELSE e.lease_until END
             WHERE CASE WHEN e.token = $7 THEN e.lease_until IS NOT NULL
                 ELSE coalesce(e.lease_until <= clock_timestamp(), true) END
             RETURNING fence, (extract(epoch FROM clock_timestamp() - lapsed_at) * 1000)::bigint, {NOW}",
            schema = self.database.schema()
        );
        let text = |text: &str| parameter(text.to_owned(), Type::TEXT);
        let parameters = vec![
            parameter(place.clone(), Type::BYTEA),
            text(&environment.urn_prefix()),
            text(&environment.org),
            text(&environment.app),
            text(&environment.env),
            text(&shown(holder)),
            parameter(token, Type::BYTEA),
            parameter(self.lease.as_secs_f64(), Type::FLOAT8),
        ];
        let begun = Moment::now();
        let rows = self.database.query("lock the environment", &sql, parameters).await?;
        let Some(row) = rows.first() else {
            let sql = format!("SELECT holder FROM {}.environments WHERE place = $1", self.database.schema());
            let parameters = vec![parameter(place, Type::BYTEA)];
            let rows = self.database.query("lock the environment", &sql, parameters).await?;
            let holder = rows.first().and_then(|row| self::holder(row.try_get(0).ok()?));
            return Err(Error::Locked { environment: environment.clone(), holder });
        };
        let read = || Ok((row.try_get(0)?, row.try_get::<_, Option<i64>>(1)?, row.try_get::<_, i64>(2)?));
        let (fence, lapsed, clock) =
            read().map_err(|error: tokio_postgres::Error| self.unreadable(&error))?;
        let lapsed = lapsed.map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or_default()));
        let clock = (Moment::now(), u64::try_from(clock).unwrap_or_default());
        Ok(Taken { fence, lapsed, until: begun + usable_lease(self.lease), clock })
    }

    /// The holder of an environment's lease, and the remaining time.
    pub(super) async fn holder(&self, environment: &Environment) -> Result<Option<crate::HeldLock>, Error> {
        let sql = format!(
            "SELECT holder, extract(epoch FROM lease_until - clock_timestamp())::float8
             FROM {}.environments WHERE place = $1 AND lease_until > clock_timestamp()",
            self.database.schema()
        );
        let parameters = vec![parameter(keyspace::place(environment).to_vec(), Type::BYTEA)];
        let rows = self.database.query("read the lease", &sql, parameters).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let read = || Ok((row.try_get::<_, Option<String>>(0)?, row.try_get::<_, f64>(1)?));
        let (shown, left) = read().map_err(|error: tokio_postgres::Error| self.unreadable(&error))?;
        let lease = Duration::try_from_secs_f64(left).ok();
        Ok(shown.and_then(|text| holder(&text)).map(|holder| crate::HeldLock { holder: *holder, lease }))
    }

    /// Releases a lease that was not used.
    pub(super) async fn give_up(&self, environment: &Environment, fence: i64) {
        let sql = format!(
            "UPDATE {}.environments SET lease_until = NULL, holder = NULL WHERE place = $1 AND fence = $2",
            self.database.schema()
        );
        let place = keyspace::place(environment).to_vec();
        let parameters = vec![parameter(place, Type::BYTEA), parameter(fence, Type::INT8)];
        if let Err(error) = self.database.query("give the lease up", &sql, parameters).await {
            tracing::warn!(%error, "the environment is free only when the lease ends");
        }
    }
}

/// A random token that distinguishes this holder from every other one.
pub(super) fn token() -> Result<Vec<u8>, Error> {
    let mut token = vec![0; 16];
    getrandom::fill(&mut token)
        .map_err(|_| Error::Unwritable { name: "the lease".into(), detail: NO_RANDOM })?;
    Ok(token)
}

/// A holder in the form in which the database shows it.
pub(super) fn shown(holder: &Holder) -> String {
    serde_json::to_string(holder).unwrap_or_default()
}

pub(super) fn holder(text: &str) -> Option<Box<Holder>> {
    serde_json::from_str(text).ok()
}
