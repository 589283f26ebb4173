//! The data about a database for `purlin doctor`.

use tokio_postgres::types::Type;

use super::connect::{Database, parameter};
use super::lease::NOW;
use super::{Inner, schema};
use crate::Error;

const RIGHTS: [&str; 4] = ["SELECT", "INSERT", "UPDATE", "DELETE"];

/// A database, as `purlin doctor` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatabaseReport {
    /// The name for messages.
    pub place: String,
    /// The version of the server, such as `15.7`.
    pub server: String,
    /// The version of the tables.
    pub tables: u32,
    /// The rights that the user lacks, such as `UPDATE on entries`.
    pub missing_rights: Vec<String>,
    /// Server settings that can lose confirmed commits, such as `fsync = off`.
    pub unsafe_settings: Vec<String>,
    /// Whether the server reports its identity. Otherwise, a restored backup is not noticed.
    pub is_identified: bool,
    /// Whether the server is a standby, which accepts no writes.
    pub is_standby: bool,
}

impl Inner {
    pub(super) async fn inspect(&self) -> Result<DatabaseReport, Error> {
        let database = &self.database;
        let sql = "SELECT current_setting('server_version'), current_setting('fsync'),
                       current_setting('full_page_writes'), pg_is_in_recovery()";
        let rows = database.query("read the settings", sql, Vec::new()).await?;
        let row = rows.first().ok_or(Error::Closed)?;
        let read = || Ok((row.try_get::<_, String>(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?));
        let (server, fsync, pages, is_standby): (_, String, String, bool) =
            read().map_err(|error: tokio_postgres::Error| self.unreadable(&error))?;
        let unsafe_settings = [("fsync", fsync), ("full_page_writes", pages)]
            .into_iter()
            .filter(|(_, value)| value == "off")
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        Ok(DatabaseReport {
            place: database.place().to_owned(),
            // Debian appends more text after the number.
            server: server.split(' ').next().unwrap_or_default().to_owned(),
            tables: schema::version(database)
                .await?
                .and_then(|number| u32::try_from(number).ok())
                .unwrap_or(0),
            missing_rights: missing_rights(database).await?,
            unsafe_settings,
            is_identified: self.server().await.is_some(),
            is_standby,
        })
    }

    /// The clock of the database, in milliseconds since 1970.
    pub(super) async fn clock(&self) -> Result<u64, Error> {
        let sql = format!("SELECT {NOW}");
        let rows = self.database.query("read the clock", &sql, Vec::new()).await?;
        let time: i64 =
            rows.first().ok_or(Error::Closed)?.try_get(0).map_err(|error| self.unreadable(&error))?;
        Ok(u64::try_from(time).unwrap_or_default())
    }
}

async fn missing_rights(database: &Database) -> Result<Vec<String>, Error> {
    let sql = "SELECT t.name, r.name FROM unnest($2) AS t (name), unnest($3) AS r (name)
               WHERE NOT has_table_privilege(format('%s.%I', $1, t.name), r.name) ORDER BY 1, 2";
    let texts =
        |all: &[&str]| parameter(all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>(), Type::TEXT_ARRAY);
    let parameters =
        vec![parameter(database.schema().to_owned(), Type::TEXT), texts(&schema::TABLES), texts(&RIGHTS)];
    let rows = database.query("read the rights", sql, parameters).await?;
    let read = |row: &tokio_postgres::Row| -> Result<String, tokio_postgres::Error> {
        Ok(format!("{} on {}", row.try_get::<_, &str>(1)?, row.try_get::<_, &str>(0)?))
    };
    let unreadable = |error: tokio_postgres::Error| Error::Database {
        place: database.place().to_owned(),
        action: "read the rights",
        detail: error.to_string(),
    };
    rows.iter().map(|row| read(row).map_err(unreadable)).collect()
}
