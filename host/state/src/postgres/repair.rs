//! `purlin state repair` of a database: checks the entries and saves what can be saved.
//!
//! A repair removes unreadable entries from `entries`, keeps them in `stale`, and seals the tally
//! of the remaining ones.

use std::sync::Arc;

use tokio_postgres::types::Type;

use super::Inner;
use super::claim::PostgresClaim;
use super::connect::parameter;
use super::read::{Whole, is_documents, is_only_a_key};
use crate::check::{RepairReport, environment_of, inspect, left_out};
use crate::encode::{Write, Writes};
use crate::keyspace::{self, EntryKind};
use crate::table::Table;
use crate::{Claim as _, Environment, Error, Holder, Staleness, codec};

impl Inner {
    /// Checks whether everything can be read. Writes nothing.
    pub(super) async fn verify(&self) -> Result<RepairReport, Error> {
        let mut report = RepairReport::default();
        for environment in self.places().await? {
            let Some(whole) = self.whole(&environment).await? else { continue };
            report.findings.extend(self.of_head(&environment, &whole)?);
            inspect(&whole.table, Some(&self.keys), &mut report)?;
        }
        for place in self.nameless().await? {
            let table = self.entries_at(&place).await?;
            report.findings.push(match environment_of(&table) {
                Some(environment) => missing(&environment),
                None => "there are entries of an environment whose name is lost".into(),
            });
            inspect(&table, Some(&self.keys), &mut report)?;
        }
        Ok(report)
    }

    /// The same, and removes unreadable entries. If something was lost, the next run reads all
    /// resources before it plans.
    pub(super) async fn repair(self: Arc<Self>, holder: Holder) -> Result<RepairReport, Error> {
        let mut report = RepairReport::default();
        let mut all = self.places().await?;
        for place in self.nameless().await? {
            match environment_of(&self.entries_at(&place).await?) {
                Some(environment) => all.push(environment),
                None => report.lost.push("the name of an environment, whose entries stay as they are".into()),
            }
        }
        // All are checked before the first one is changed: if a newer version wrote anything, nothing is.
        let mut checked = Vec::with_capacity(all.len());
        for environment in all {
            let found = match self.whole(&environment).await? {
                Some(mut whole) => {
                    let mut found = RepairReport::default();
                    found.findings.extend(self.of_head(&environment, &whole)?);
                    left_out(&mut whole.table, Some(&self.keys), &mut found)?;
                    found.records = whole.table.range(&keyspace::all(EntryKind::Record)).count();
                    found
                }
                None => RepairReport { findings: vec![missing(&environment)], ..RepairReport::default() },
            };
            checked.push((environment, found));
        }
        for (environment, found) in checked {
            let found = match found.is_whole() {
                true => found,
                // The previous holder may have written since.
                false => Arc::clone(&self).repair_environment(&environment, &holder).await?,
            };
            report.findings.extend(found.findings);
            report.lost.extend(found.lost);
            report.records += found.records;
        }
        Ok(report)
    }

    async fn repair_environment(
        self: Arc<Self>,
        environment: &Environment,
        holder: &Holder,
    ) -> Result<RepairReport, Error> {
        let mut report = RepairReport::default();
        let key = keyspace::prefix(EntryKind::Staleness, &keyspace::place(environment));
        let stale = Write::Put { key, value: codec::encode_staleness(Staleness::Lost, &self.keys)? };
        let taken = self.acquire(environment, holder).await?;
        let work = async {
            let Some(whole) = self.whole(environment).await? else { return Ok(None) };
            report.findings.extend(self.of_head(environment, &whole)?);
            let Whole { mut table, reached, .. } = whole;
            let repaired = left_out(&mut table, Some(&self.keys), &mut report)?;
            if repaired.removed.is_empty() {
                report.lost.push(format!("entries of {environment}, which no key refers to"));
            }
            report.records = table.range(&keyspace::all(EntryKind::Record)).count();
            self.put_aside(environment, &repaired.removed).await?;
            let mut kept = Table::default();
            for (key, value) in table.iter().filter(|(key, _)| !is_documents(key)) {
                let value = if is_only_a_key(key) { Vec::new() } else { value.to_vec() };
                kept.apply(key.to_vec(), Some(value));
            }
            Ok(Some((kept, reached, repaired)))
        };
        let (table, reached, repaired) = match work.await {
            Ok(Some(found)) => found,
            Ok(None) => {
                self.give_up(environment, taken.fence).await;
                return Ok(report);
            }
            Err(error) => {
                self.give_up(environment, taken.fence).await;
                return Err(error);
            }
        };
        let server = self.server().await;
        let claim = PostgresClaim::start(&self, taken.into_leased(environment, table, reached, server));
        let gone = repaired.removed.into_iter().map(|key| Write::Remove { key });
        let new = repaired.added.into_iter().map(|(key, value)| Write::Put { key, value });
        let written = match claim.take(Writes(gone.chain(new).chain([stale]).collect())) {
            Ok(durable) => durable.await,
            Err(error) => Err(error),
        };
        written.and(claim.release().await)?;
        Ok(report)
    }

    /// The finding about the tally of entries, or about the head with the tally.
    fn of_head(&self, environment: &Environment, whole: &Whole) -> Result<Option<String>, Error> {
        match self.check(environment, whole.head.as_deref(), &whole.reached, whole.tally) {
            Ok(()) => Ok(None),
            Err(error @ Error::Newer { .. }) => Err(error),
            Err(error) => Ok(Some(error.to_string())),
        }
    }

    /// Copies entries to `stale`.
    async fn put_aside(&self, environment: &Environment, keys: &[Vec<u8>]) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let schema = self.database.schema();
        let sql = format!(
            "INSERT INTO {schema}.stale (place, key, value)
             SELECT place, key, value FROM {schema}.entries WHERE place = $1 AND key = ANY ($2)"
        );
        let parameters = vec![
            parameter(keyspace::place(environment).to_vec(), Type::BYTEA),
            parameter(keys.to_vec(), Type::BYTEA_ARRAY),
        ];
        self.database.query("keep damaged entries", &sql, parameters).await.map(drop)
    }

    /// The places of entries without an environment.
    async fn nameless(&self) -> Result<Vec<Vec<u8>>, Error> {
        let schema = self.database.schema();
        let sql = format!(
            "SELECT DISTINCT place FROM {schema}.entries AS e
             WHERE NOT EXISTS (SELECT FROM {schema}.environments AS v WHERE v.place = e.place)"
        );
        let rows = self.database.query("read the state", &sql, Vec::new()).await?;
        rows.iter().map(|row| row.try_get(0).map_err(|error| self.unreadable(&error))).collect()
    }

    async fn entries_at(&self, place: &[u8]) -> Result<Table, Error> {
        let sql = format!("SELECT key, value FROM {}.entries WHERE place = $1", self.database.schema());
        self.stored(&sql, vec![parameter(place.to_vec(), Type::BYTEA)]).await
    }
}

fn missing(environment: &Environment) -> String {
    format!("{environment} is missing from the table `environments`")
}
