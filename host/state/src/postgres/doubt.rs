//! Whether the records of an environment may be older than the real state: how a restored database is
//! noticed.
//!
//! Each commit writes a row of the table `commits`: its number, the server that took it, and the id of its
//! own transaction. Whatever copies rows – `pg_restore`, a copy of a table – writes them in another
//! transaction. A server that took over, and a database that was created from another one, are another
//! server. A backup of the server's files that is started as it is shows nothing but a later start, which an
//! ordinary restart has as well; only a host that remembers a later commit can tell the two apart
//! (`memory.rs`).

use std::fmt;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Inner;
use super::connect::parameter;
use super::failure::QueryFailure;
use super::memory::Memory;
use crate::{Environment, Staleness};

/// The server that responds, in the form in which commits name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// Its system identifier, its timeline, and the id of the database. A promoted standby, another server,
    /// and a database that was created again have different ones.
    identity: String,
    /// When it was started, in microseconds since 1970.
    started: String,
}

impl Server {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (identity, started) = text.rsplit_once('@')?;
        Some(Self { identity: identity.to_owned(), started: started.to_owned() })
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.identity, self.started)
    }
}

/// What the last commit of an environment noted in the table `commits`.
#[derive(Clone, Debug)]
pub(super) struct Noted {
    pub(super) seq: i64,
    /// The server that took it, if it could be identified.
    pub(super) server: Option<String>,
    /// The number of the first commit that this server took without another one in between.
    pub(super) since: i64,
    /// Whether the transaction that the row names wrote it. Copies of the row are written by others.
    is_original: bool,
}

/// The columns of [`Noted`], read from `commits` as `c`.
pub(super) const NOTED: &str =
    "c.seq, c.server, c.since, c.xmin::text::bigint = c.transaction & 4294967295 AND c.xmin IS NOT NULL";

impl Noted {
    /// The columns of [`NOTED`] from `first` on; `None` if there is no such row.
    pub(super) fn of(row: &Row, first: usize) -> Result<Option<Self>, tokio_postgres::Error> {
        let Some(seq) = row.try_get(first)? else { return Ok(None) };
        let is_original = row.try_get::<_, Option<bool>>(first + 3)? == Some(true);
        Ok(Some(Self { seq, server: row.try_get(first + 1)?, since: row.try_get(first + 2)?, is_original }))
    }
}

/// The last commit of an environment.
#[derive(Clone, Debug, Default)]
pub(super) struct CommitPosition {
    /// The number of commits.
    pub(super) seq: i64,
    /// The number of its last lease.
    pub(super) fence: i64,
    /// The note about the last one.
    pub(super) noted: Option<Noted>,
}

impl CommitPosition {
    /// Why the records may be older than the real state, if anything suggests it.
    fn doubt(&self, now: Option<&Server>, remembered: Option<&Memory>) -> Option<Staleness> {
        let last = self.noted.as_ref().and_then(|noted| Server::parse(noted.server.as_deref()?));
        let is_whole = match &self.noted {
            Some(noted) => noted.is_original && noted.seq == self.seq,
            None => self.seq == 0,
        };
        let has_moved = matches!((&last, now), (Some(last), Some(now)) if last.identity != now.identity);
        if !is_whole || has_moved || remembered.is_some_and(|memory| self.lacks(memory)) {
            return Some(Staleness::Restored);
        }
        let was_started = matches!((&last, now), (Some(last), Some(now)) if last.started != now.started);
        was_started.then_some(Staleness::Restarted)
    }

    /// Whether a commit that this host remembers is missing.
    fn lacks(&self, memory: &Memory) -> bool {
        if self.fence < memory.fence {
            return true;
        }
        match &self.noted {
            None => true,
            Some(noted) if noted.server == memory.server => noted.seq < memory.seq,
            // Another server took all commits from `since` on, so the remembered one is before them.
            Some(noted) => noted.since <= memory.seq,
        }
    }
}

impl Inner {
    /// The server that responds now; `None` if it does not identify itself.
    pub(super) async fn server(&self) -> Option<Server> {
        let sql = "SELECT (SELECT system_identifier FROM pg_control_system())::text
            || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
            || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())::text
            || '@' || (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text";
        let rows = self.database.try_query(sql, Vec::new()).await.ok()?;
        Server::parse(rows.first()?.try_get(0).ok()?)
    }

    /// Why the records of an environment may be older than the real state.
    pub(super) fn doubt(
        &self,
        environment: &Environment,
        reached: &CommitPosition,
        now: Option<&Server>,
    ) -> Option<Staleness> {
        reached.doubt(now, self.memories.of(environment).as_ref())
    }

    /// The number and note of the last commit, if this process still has the lease.
    pub(super) async fn last_commit(
        &self,
        place: &[u8],
        fence: i64,
    ) -> Result<Option<CommitPosition>, QueryFailure> {
        let sql = format!(
            "SELECT e.seq, e.fence, {NOTED} FROM {schema}.environments AS e
             LEFT JOIN {schema}.commits AS c USING (place)
             WHERE e.place = $1 AND e.fence = $2 AND e.lease_until > clock_timestamp()",
            schema = self.database.schema()
        );
        let parameters = vec![parameter(place.to_vec(), Type::BYTEA), parameter(fence, Type::INT8)];
        let rows = self.database.try_query(&sql, parameters).await?;
        Ok(rows.first().and_then(|row| CommitPosition::of(row, 0).ok()))
    }
}

impl CommitPosition {
    /// The columns `seq` and `fence` from `first` on, and those of [`NOTED`].
    pub(super) fn of(row: &Row, first: usize) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            seq: row.try_get(first)?,
            fence: row.try_get(first + 1)?,
            noted: Noted::of(row, first + 2)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(seq: i64, server: &str, since: i64) -> CommitPosition {
        let noted = Noted { seq, server: Some(server.into()), since, is_original: true };
        CommitPosition { seq, fence: 5, noted: Some(noted) }
    }

    fn memory(seq: i64, fence: i64, server: &str) -> Memory {
        Memory { seq, fence, server: Some(server.into()) }
    }

    #[test]
    fn what_copies_rows_or_files_is_told_from_a_restart() {
        use Staleness::{Restarted, Restored};
        let now = Server::parse("7/1/16384@100").expect("a server");
        assert_eq!(now.to_string(), "7/1/16384@100");
        let usual = noted(9, "7/1/16384@100", 1);
        let copied = |change: &dyn Fn(&mut Noted)| {
            let mut position = usual.clone();
            position.noted.as_mut().into_iter().for_each(change);
            position
        };
        for (position, expected) in [
            (usual.clone(), None),
            (CommitPosition { fence: 1, ..CommitPosition::default() }, None),
            (CommitPosition { seq: 9, fence: 5, noted: None }, Some(Restored)),
            (copied(&|noted| noted.is_original = false), Some(Restored)),
            (copied(&|noted| noted.seq = 8), Some(Restored)),
            (copied(&|noted| noted.seq = 10), Some(Restored)),
            (copied(&|noted| noted.server = Some("7/2/16384@100".into())), Some(Restored)),
            (copied(&|noted| noted.server = Some("7/1/20000@100".into())), Some(Restored)),
            (copied(&|noted| noted.server = Some("7/1/16384@99".into())), Some(Restarted)),
            (copied(&|noted| noted.server = None), None),
        ] {
            assert_eq!(position.doubt(Some(&now), None), expected, "{position:?}");
        }
    }

    #[test]
    fn a_host_misses_only_commits_that_it_made() {
        let (old, new) = ("7/1/16384@50", "7/1/16384@100");
        for (position, memory, is_missed) in [
            // Others went on, on the same server or after a restart.
            (noted(9, old, 1), memory(9, 5, old), false),
            (noted(9, old, 1), memory(7, 4, old), false),
            (noted(9, new, 8), memory(7, 4, old), false),
            // The server is at an earlier commit.
            (noted(9, old, 1), memory(10, 5, old), true),
            (noted(9, old, 1), memory(9, 6, old), true),
            // Others went on after the restore, and are further than this host was.
            (noted(9, new, 7), memory(8, 4, old), true),
            (noted(9, new, 7), memory(7, 4, old), true),
            (CommitPosition { fence: 9, ..CommitPosition::default() }, memory(1, 1, old), true),
        ] {
            assert_eq!(position.lacks(&memory), is_missed, "{position:?} {memory:?}");
        }
    }
}
