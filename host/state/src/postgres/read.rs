//! Reads the entries of an environment from the database, and checks them against the tally that
//! the last writer sealed.

use bytes::Bytes;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Inner;
use super::connect::{Parameter, parameter};
use super::doubt::{CommitPosition, NOTED};
use crate::keyspace::{self, EntryKind};
use crate::table::{Table, Tally};
use crate::{DatabaseUser, Deployment, Environment, Error, codec, snapshot};

/// The first byte of the keys after those of documents, which are large and only read by their
/// digest.
const BEHIND_DOCUMENTS: u8 = EntryKind::Documents as u8 + 1;

/// An environment at one moment.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    /// Everything except documents; only the keys of deployments and cookies.
    pub(super) table: Table,
    pub(super) reached: CommitPosition,
}

/// All entries of an environment at one moment, unchecked.
#[derive(Debug, Default)]
pub(super) struct Whole {
    pub(super) table: Table,
    /// The head that the last writer sealed.
    pub(super) head: Option<Vec<u8>>,
    pub(super) reached: CommitPosition,
    /// The tally of the entries in the form of [`Loaded`].
    pub(super) tally: Tally,
}

/// The kinds of entries of which tables in memory contain only the key: they are read one by one.
const ONLY_KEYS: [EntryKind; 3] = [EntryKind::Deployment, EntryKind::Cookie, EntryKind::Audit];

/// Whether tables in memory contain only the key of an entry.
pub(super) fn is_only_a_key(key: &[u8]) -> bool {
    key.first().is_some_and(|first| ONLY_KEYS.iter().any(|kind| *kind as u8 == *first))
}

/// Whether tables in memory do not contain an entry at all.
pub(super) fn is_documents(key: &[u8]) -> bool {
    key.first() == Some(&(EntryKind::Documents as u8))
}

/// The environment in three columns of a row.
pub(super) fn environment(row: &Row, first: usize) -> Result<Environment, tokio_postgres::Error> {
    let text = |at: usize| row.try_get::<_, &str>(first + at);
    Ok(Environment { org: text(0)?.into(), app: text(1)?.into(), env: text(2)?.into() })
}

impl Inner {
    /// Reads an environment; `None` if it was never locked.
    pub(super) async fn read(&self, environment: &Environment) -> Result<Option<Loaded>, Error> {
        let place = keyspace::place(environment);
        let schema = self.database.schema();
        // A single statement reads a consistent state.
        let sql = format!(
            "SELECT ''::bytea, e.head, e.seq, e.fence, {NOTED}
             FROM {schema}.environments AS e LEFT JOIN {schema}.commits AS c USING (place) WHERE place = $1
             UNION ALL
             SELECT key, CASE WHEN get_byte(key, 0) IN ({only_keys}) THEN ''::bytea ELSE value END,
                 NULL, NULL, NULL, NULL, NULL, NULL
             FROM {schema}.entries WHERE place = $1 AND key >= $2",
            only_keys = ONLY_KEYS.map(|kind| (kind as u8).to_string()).join(", "),
        );
        let parameters =
            vec![parameter(place.to_vec(), Type::BYTEA), parameter(vec![BEHIND_DOCUMENTS], Type::BYTEA)];
        let rows = self.database.query("read the state", &sql, parameters).await?;
        let (mut loaded, mut head, mut found) = (Loaded::default(), None, false);
        for row in rows {
            let key: &[u8] = row.try_get(0).map_err(|error| self.unreadable(&error))?;
            let value: Option<&[u8]> = row.try_get(1).map_err(|error| self.unreadable(&error))?;
            if key.is_empty() {
                found = true;
                head = value.map(<[u8]>::to_vec);
                loaded.reached = CommitPosition::of(&row, 2).map_err(|error| self.unreadable(&error))?;
            } else {
                let value = Bytes::copy_from_slice(value.unwrap_or_default());
                loaded.table.apply_bytes(Bytes::copy_from_slice(key), Some(value));
            }
        }
        self.check(environment, head.as_deref(), &loaded.reached, loaded.table.tally())?;
        Ok(found.then_some(loaded))
    }

    /// Checks that the entries are those that the last writer left.
    pub(super) fn check(
        &self,
        environment: &Environment,
        head: Option<&[u8]>,
        reached: &CommitPosition,
        tally: Tally,
    ) -> Result<(), Error> {
        let expected = match head {
            Some(head) => codec::decode_head(head, environment, &self.keys)?,
            None => (0, Tally::default()),
        };
        if expected == (reached.seq, tally) {
            return Ok(());
        }
        Err(Error::Damaged {
            name: environment.to_string(),
            detail: "entries are missing, or something other than Purlin changed them; restore the database, or run \
                     `purlin state repair`"
                .into(),
        })
    }

    /// Reads all entries of an environment, including documents and deployments; `None` if it was
    /// never locked.
    pub(super) async fn whole(&self, environment: &Environment) -> Result<Option<Whole>, Error> {
        let place = keyspace::place(environment).to_vec();
        let schema = self.database.schema();
        let sql = format!(
            "SELECT ''::bytea, e.head, e.seq, e.fence, {NOTED}
             FROM {schema}.environments AS e LEFT JOIN {schema}.commits AS c USING (place) WHERE place = $1
             UNION ALL
             SELECT key, value, NULL, NULL, NULL, NULL, NULL, NULL FROM {schema}.entries WHERE place = $1"
        );
        let rows = self.database.query("read the state", &sql, vec![parameter(place, Type::BYTEA)]).await?;
        let (mut whole, mut found) = (Whole::default(), false);
        for row in rows {
            let read = || Ok((row.try_get::<_, Vec<u8>>(0)?, row.try_get::<_, Option<Vec<u8>>>(1)?));
            let (key, value) = read().map_err(|error: tokio_postgres::Error| self.unreadable(&error))?;
            if key.is_empty() {
                found = true;
                whole.head = value;
                whole.reached = CommitPosition::of(&row, 2).map_err(|error| self.unreadable(&error))?;
                continue;
            }
            let value = value.unwrap_or_default();
            if !is_documents(&key) {
                whole.tally.add(&key, if is_only_a_key(&key) { &[] } else { &value });
            }
            whole.table.apply(key, Some(value));
        }
        Ok(found.then_some(whole))
    }

    /// Every environment that was ever locked.
    pub(super) async fn places(&self) -> Result<Vec<Environment>, Error> {
        let sql =
            format!("SELECT org, app, env FROM {}.environments ORDER BY prefix", self.database.schema());
        let rows = self.database.query("list the environments", &sql, Vec::new()).await?;
        rows.iter().map(|row| environment(row, 0).map_err(|error| self.unreadable(&error))).collect()
    }

    /// The entries of a kind, in order.
    pub(super) async fn entries(&self, environment: &Environment, prefix: Vec<u8>) -> Result<Table, Error> {
        let sql = format!(
            "SELECT key, value FROM {}.entries WHERE place = $1 AND key >= $2 AND key < $3",
            self.database.schema()
        );
        let behind = keyspace::behind(&prefix);
        let parameters = vec![
            parameter(keyspace::place(environment).to_vec(), Type::BYTEA),
            parameter(prefix, Type::BYTEA),
            parameter(behind, Type::BYTEA),
        ];
        self.stored(&sql, parameters).await
    }

    /// The last entry with a prefix, which is the newest deployment.
    pub(super) async fn last_entry(
        &self,
        environment: &Environment,
        prefix: Vec<u8>,
    ) -> Result<Option<Deployment>, Error> {
        let sql = format!(
            "SELECT key, value FROM {}.entries WHERE place = $1 AND key >= $2 AND key < $3
             ORDER BY key DESC LIMIT 1",
            self.database.schema()
        );
        let mut behind = prefix.clone();
        behind.extend_from_slice(&[0xff; 9]);
        let parameters = vec![
            parameter(keyspace::place(environment).to_vec(), Type::BYTEA),
            parameter(prefix, Type::BYTEA),
            parameter(behind, Type::BYTEA),
        ];
        let table = self.stored(&sql, parameters).await?;
        Ok(snapshot::history(&table, environment, &self.keys)?.pop())
    }

    /// The keys and values that a statement selects.
    pub(super) async fn stored(&self, sql: &str, parameters: Vec<Parameter>) -> Result<Table, Error> {
        let mut table = Table::default();
        for row in self.database.query("read the state", sql, parameters).await? {
            let read = || Ok((row.try_get::<_, Vec<u8>>(0)?, row.try_get::<_, Vec<u8>>(1)?));
            let (key, value) = read().map_err(|error: tokio_postgres::Error| self.unreadable(&error))?;
            table.apply(key, Some(value));
        }
        Ok(table)
    }

    /// Learns what the database says of this process, for the audit. All of its connections log in alike.
    pub(super) async fn learn_user(&self) {
        let read = || async {
            let sql = "SELECT session_user::text, host(inet_client_addr())";
            let rows = self.database.try_query(sql, Vec::new()).await.map_err(drop)?;
            let row = rows.first().ok_or(())?;
            let role = row.try_get(0).map_err(drop)?;
            Ok::<_, ()>(DatabaseUser { role, address: row.try_get(1).ok().flatten() })
        };
        let _ = self.user.get_or_try_init(read).await;
    }

    pub(super) fn unreadable(&self, error: &tokio_postgres::Error) -> Error {
        self.database.unreadable(error)
    }
}
