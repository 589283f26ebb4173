//! The turns of environments that several hosts reconcile. A host takes the turn of an environment;
//! no other host gets it until the first one schedules the next turn, or has failed to do so for a
//! long time.

use std::time::Duration;

use tokio_postgres::types::Type;

use super::Inner;
use super::connect::parameter;
use super::read::environment;
use crate::{Due, Environment, Error, Round, keyspace};

/// When the turn of a requested environment is due: before every other one.
const REQUESTED: &str = "to_timestamp(0)";

/// Environments as the table names them.
pub(super) fn places(environments: &[Environment]) -> Vec<Vec<u8>> {
    environments.iter().map(|environment| keyspace::place(environment).to_vec()).collect()
}

impl Inner {
    pub(super) async fn begin_round(&self) -> Result<Round, Error> {
        let rows = self.database.query("begin a round", "SELECT clock_timestamp()::text", Vec::new()).await?;
        let began = rows.first().map(|row| row.try_get::<_, String>(0)).transpose();
        let began = began.map_err(|error| self.unreadable(&error))?.unwrap_or_default();
        Ok(Round { began, token: super::lease::token()? })
    }

    pub(super) async fn turns_of(&self, round: Round) -> Result<Vec<Environment>, Error> {
        let sql = format!(
            "SELECT org, app, env FROM {}.environments WHERE turn_of = $1 ORDER BY prefix",
            self.database.schema()
        );
        let rows = self.database.query("list turns", &sql, vec![parameter(round.token, Type::BYTEA)]).await?;
        let environments = rows.iter().map(|row| environment(row, 0));
        environments.collect::<Result<_, _>>().map_err(|error| self.unreadable(&error))
    }

    pub(super) async fn take_turns(
        &self,
        round: Option<Round>,
        only: Option<Vec<Vec<u8>>>,
        most: usize,
        within: Duration,
    ) -> Result<Vec<Due>, Error> {
        let is_theirs = match round {
            // The environments whose turn no host took since the round began.
            Some(_) => "(turn_at IS NULL OR turn_at < $3::text::timestamptz)",
            None => "next_at <= clock_timestamp() AND $3::text IS NULL",
        };
        let schema = self.database.schema();
        // In the order of the index, so that a host that takes one of many thousand turns reads only a few.
        let sql = format!(
            "WITH due AS (
                SELECT place, asked_at IS NOT NULL AS requested FROM {schema}.environments
                WHERE {is_theirs} AND env <> '' AND ($5::bytea[] IS NULL OR place = ANY($5))
                ORDER BY next_at LIMIT $1 FOR UPDATE SKIP LOCKED
            )
            UPDATE {schema}.environments AS e
            SET turn_at = clock_timestamp(), turn_of = $4, asked_at = NULL,
                next_at = clock_timestamp() + make_interval(secs => $2)
            FROM due WHERE e.place = due.place RETURNING e.org, e.app, e.env, due.requested"
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let (began, token) = round.map(|Round { began, token }| (began, token)).unzip();
        let parameters = vec![
            parameter(most, Type::INT8),
            parameter(within.as_secs_f64(), Type::FLOAT8),
            parameter(began, Type::TEXT),
            parameter(token, Type::BYTEA),
            parameter(only, Type::BYTEA_ARRAY),
        ];
        let rows = self.database.query("take turns", &sql, parameters).await?;
        let read = |row: &tokio_postgres::Row| -> Result<Due, tokio_postgres::Error> {
            Ok(Due { environment: environment(row, 0)?, is_requested: row.try_get(3)? })
        };
        rows.iter().map(|row| read(row).map_err(|error| self.unreadable(&error))).collect()
    }

    /// Makes environments due before all that were not requested.
    pub(super) async fn request_turns(&self, places: Vec<Vec<u8>>, reads: bool) -> Result<(), Error> {
        let sql = format!(
            "UPDATE {}.environments
             SET asked_at = CASE WHEN $2 THEN coalesce(asked_at, clock_timestamp()) ELSE asked_at END, next_at = {REQUESTED}
             WHERE place = ANY($1)",
            self.database.schema()
        );
        let parameters = vec![parameter(places, Type::BYTEA_ARRAY), parameter(reads, Type::BOOL)];
        self.database.query("request turns", &sql, parameters).await.map(drop)
    }

    pub(super) async fn next_turn(&self, environment: &Environment, after: Duration) -> Result<(), Error> {
        // A request that came meanwhile stays.
        let sql = format!(
            "UPDATE {}.environments
             SET next_at = CASE WHEN asked_at IS NULL THEN clock_timestamp() + make_interval(secs => $2)
                 ELSE {REQUESTED} END
             WHERE place = $1",
            self.database.schema()
        );
        let parameters = vec![
            parameter(keyspace::place(environment).to_vec(), Type::BYTEA),
            parameter(after.as_secs_f64(), Type::FLOAT8),
        ];
        self.database.query("set the next turn", &sql, parameters).await.map(drop)
    }
}
