//! The data keys in the database, sealed for the state's key.

use tokio_postgres::types::Type;

use super::connect::{Database, parameter};
use crate::keys::{Keyring, SealedKey};
use crate::{Error, KeyProvider};

/// Opens the keys of a store. The first process that opens the store creates a data key.
pub(super) async fn open(database: &Database, provider: &KeyProvider) -> Result<Keyring, Error> {
    let stored = read(database).await?;
    if !stored.is_empty() {
        return Keyring::given(provider, stored);
    }
    let sql = format!("SELECT 1 FROM {}.environments WHERE head IS NOT NULL LIMIT 1", database.schema());
    if !database.query("read the data keys", &sql, Vec::new()).await?.is_empty() {
        // A new one would make all existing records unreadable forever.
        return Err(Error::Damaged {
            name: database.place().to_owned(),
            detail: "its data key is missing, and everything is encrypted with it; restore the table `keys` from a backup"
                .into(),
        });
    }
    let first = Keyring::given(provider, Vec::new())?.new_data_key()?;
    let sql = format!(
        "INSERT INTO {}.keys (position, sealed) SELECT 0, $1
         WHERE NOT EXISTS (SELECT FROM {}.keys) ON CONFLICT DO NOTHING",
        database.schema(),
        database.schema()
    );
    let parameters = vec![parameter(first.encode(), Type::BYTEA)];
    database.query("write the data key", &sql, parameters).await?;
    // Another process may have created one first.
    Keyring::given(provider, read(database).await?)
}

/// Checks whether another process changed the data keys. Returns whether it did.
pub(super) async fn refresh(database: &Database, keys: &Keyring) -> Result<bool, Error> {
    let stored = read(database).await?;
    keys.replace(stored)
}

/// The current data keys of the database.
pub(super) async fn read(database: &Database) -> Result<Vec<SealedKey>, Error> {
    let sql = format!("SELECT sealed FROM {}.keys ORDER BY position", database.schema());
    let mut stored = Vec::new();
    for row in database.query("read the data keys", &sql, Vec::new()).await? {
        let sealed: &[u8] = row
            .try_get(0)
            .map_err(|error| Error::Damaged { name: "the data key".into(), detail: error.to_string() })?;
        stored.push(SealedKey::decode(sealed)?);
    }
    Ok(stored)
}
