//! The tables, and their creation. Needs no superuser.
//!
//! ```text
//! meta          one row: the version of these tables, and the id of the state
//! keys          the data keys, sealed for the state's key; the first one seals
//! environments  one row each: the last commit, the holder and the end of its lease, the last and the next
//!               turn, and whether a turn was requested
//! commits       one row for each environment: how its last commit was made, to notice restored rows
//! entries       everything that is recorded, sealed, under the keys of `keyspace`
//! vacancies     installations that one deployment creates while others wait
//! stale         unreadable entries that a repair removed
//! ```

use tokio_postgres::types::Type;

use super::connect::{Database, parameter};
use super::failure::QueryFailure;
use super::lease::token;
use crate::Error;

/// The tables.
pub(super) const TABLES: [&str; 7] =
    ["meta", "keys", "environments", "commits", "entries", "vacancies", "stale"];

/// The version of the tables. A newer one is rejected.
const VERSION: i32 = 1;

/// The statements that create the tables. `{schema}` is the quoted name of the schema.
const CREATE: &str = "
    CREATE TABLE {schema}.meta (
        single boolean PRIMARY KEY DEFAULT true CHECK (single),
        version integer NOT NULL,
        id text NOT NULL
    );
    CREATE TABLE {schema}.keys (
        position integer PRIMARY KEY,
        sealed bytea NOT NULL
    );
    CREATE TABLE {schema}.environments (
        place bytea PRIMARY KEY,
        prefix text COLLATE \"C\" NOT NULL,
        org text NOT NULL,
        app text NOT NULL,
        env text NOT NULL,
        seq bigint NOT NULL DEFAULT 0,
        head bytea,
        fence bigint NOT NULL DEFAULT 0,
        holder text,
        token bytea,
        lease_until timestamptz,
        lapsed_at timestamptz,
        summary bytea,
        listing bytea,
        summary_seq bigint NOT NULL DEFAULT -1,
        turn_at timestamptz,
        turn_of bytea,
        next_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        asked_at timestamptz
    );
    CREATE INDEX environments_by_prefix ON {schema}.environments (prefix);
    CREATE INDEX environments_by_turn ON {schema}.environments (next_at);
    CREATE TABLE {schema}.commits (
        place bytea PRIMARY KEY,
        seq bigint NOT NULL,
        server text,
        since bigint NOT NULL,
        transaction bigint NOT NULL
    );
    CREATE TABLE {schema}.entries (
        place bytea NOT NULL,
        key bytea NOT NULL,
        value bytea NOT NULL,
        PRIMARY KEY (place, key)
    );
    CREATE TABLE {schema}.vacancies (
        name text PRIMARY KEY,
        token bytea NOT NULL,
        holder text,
        lease_until timestamptz NOT NULL
    );
    CREATE TABLE {schema}.stale (
        place bytea NOT NULL,
        key bytea NOT NULL,
        value bytea NOT NULL,
        moved_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    INSERT INTO {schema}.meta (version, id) VALUES ({version}, '{id}');
";

/// The lock for the creation, so that two programs do not create the tables at the same time. Any
/// number works that other programs do not use.
const CREATING: i64 = 0x7075_726c_696e;

/// Creates the schema and its tables. Returns whether there was anything to do.
pub(super) async fn create(database: &Database) -> Result<bool, Error> {
    if has_tables(database).await? {
        return Ok(false);
    }
    let schema = database.schema();
    // One text and one transaction, so that it works through proxies that share sessions.
    let mut text = format!("BEGIN; SELECT pg_advisory_xact_lock({CREATING});");
    // A user without the right to create schemas needs an existing one.
    if !has_schema(database).await? {
        text.push_str(&format!("CREATE SCHEMA IF NOT EXISTS {schema};"));
    }
    // If another program was faster, this fails as a whole, and the version is read again.
    let id: String = token()?.iter().map(|byte| format!("{byte:02x}")).collect();
    let tables = CREATE.replace("{version}", &VERSION.to_string()).replace("{id}", &id);
    text.push_str(&tables.replace("{schema}", schema));
    text.push_str("COMMIT;");
    match database.batch("create the tables", &text).await {
        Ok(()) => Ok(true),
        Err(error) => match version(database).await {
            Ok(Some(VERSION)) => Ok(false),
            _ => Err(error),
        },
    }
}

/// Checks that the tables are those of this version. Returns the id of the state, which copies of the
/// tables share.
pub(super) async fn check(database: &Database) -> Result<String, Error> {
    let unprepared = || Error::Unprepared { place: database.place().to_owned() };
    if !has_tables(database).await? {
        return Err(unprepared());
    }
    let sql = format!("SELECT id FROM {}.meta", database.schema());
    let rows = database.query("read the id of the state", &sql, Vec::new()).await?;
    let row = rows.first().ok_or_else(unprepared)?;
    row.try_get(0).map_err(|error| database.unreadable(&error))
}

/// Whether there are tables. Fails if they are not those of this version.
async fn has_tables(database: &Database) -> Result<bool, Error> {
    match version(database).await? {
        None => Ok(false),
        Some(VERSION) => check_tables(database).await.map(|()| true),
        Some(version) if version > VERSION => Err(newer(database, version)),
        Some(version) => Err(Error::Damaged {
            name: database.place().to_owned(),
            detail: format!("its tables have the version {version}, which does not exist"),
        }),
    }
}

/// Checks that no table was dropped.
async fn check_tables(database: &Database) -> Result<(), Error> {
    let sql = "SELECT t.name FROM unnest($2) AS t (name)
               WHERE to_regclass(format('%s.%I', $1, t.name)) IS NULL ORDER BY 1";
    let tables: Vec<String> = TABLES.iter().map(|&table| table.to_owned()).collect();
    let parameters =
        vec![parameter(database.schema().to_owned(), Type::TEXT), parameter(tables, Type::TEXT_ARRAY)];
    let rows = database.query("look for the tables", sql, parameters).await?;
    let missing = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>();
    let missing = missing.map_err(|error| database.unreadable(&error))?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::Damaged {
        name: database.place().to_owned(),
        detail: match missing.as_slice() {
            [one] => format!("the table `{one}` is missing; restore it from a backup"),
            several => {
                format!("the tables `{}` are missing; restore them from a backup", several.join("`, `"))
            }
        },
    })
}

fn newer(database: &Database, version: i32) -> Error {
    Error::Newer {
        what: database.place().to_owned(),
        found: u32::try_from(version).unwrap_or_default(),
        supported: VERSION as u32,
    }
}

async fn has_schema(database: &Database) -> Result<bool, Error> {
    let sql = "SELECT to_regnamespace($1) IS NOT NULL";
    let rows = database
        .query("look for the schema", sql, vec![parameter(database.schema().to_owned(), Type::TEXT)])
        .await?;
    let found = rows.first().map(|row| row.try_get(0)).transpose();
    Ok(found.map_err(|error| database.unreadable(&error))? == Some(true))
}

/// The version of the tables; `None` if there are no tables.
pub(super) async fn version(database: &Database) -> Result<Option<i32>, Error> {
    let sql = format!("SELECT version FROM {}.meta", database.schema());
    match database.try_query(&sql, Vec::new()).await {
        Ok(rows) => {
            let found = rows.first().map(|row| row.try_get(0)).transpose();
            found.map_err(|error| database.unreadable(&error))
        }
        Err(QueryFailure::Missing) => Ok(None),
        Err(failure) => Err(database.failed("read the version of the tables", failure)),
    }
}

#[cfg(test)]
mod tests {
    use super::VERSION;

    #[test]
    fn the_book_names_the_version_of_the_tables() {
        let page = include_str!("../../../../docs/src/reference/versions.md");
        assert!(page.contains(&format!("| state in PostgreSQL | {VERSION} |")));
    }
}
