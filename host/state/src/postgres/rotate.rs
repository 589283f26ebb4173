//! Rotates the key of a whole database.
//!
//! The rows of `keys` say for which key the state is sealed, and change atomically. From then on
//! the new data key seals, since a process that takes an environment reads the keys afterwards.
//! Everything that the old key sealed is sealed again, one environment after the other, each under
//! its lease. Then the old data keys are removed, since no holder has held its environment since
//! before the change.

use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::SecretString;
use tokio_postgres::types::Type;

use super::connect::parameter;
use super::{Inner, keys};
use crate::codec;
use crate::encode::{Write, Writes};
use crate::keys::{Keyring, SealedKey};
use crate::keyspace;
use crate::probe::Probed;
use crate::{Claim as _, Environment, Error, Holder};

/// How long to wait for deployments that hold an environment.
const PATIENCE: Duration = Duration::from_mins(10);
/// The interval between attempts to take a held environment.
const PAUSE: Duration = Duration::from_millis(500);

impl Inner {
    pub(super) async fn rotate(
        self: Arc<Self>,
        new: Option<SecretString>,
        holder: Holder,
    ) -> Result<String, Error> {
        let probe = Probed::default();
        keys::refresh(&self.database, &self.keys).await?;
        self.keys.take_place(&probe)?;
        if self.keys.stored().len() > 1 {
            // An interrupted rotation is completed first. If the key is the same, nothing more is
            // needed.
            Arc::clone(&self).seal_again(&holder).await?;
            if new.as_ref().is_none_or(|new| self.keys.is_current(new)) {
                return self.keys.recipient().ok_or(Error::Closed);
            }
        }
        // Unreadable entries would be lost with the old key.
        let report = self.verify().await?;
        if let Some(finding) = report.findings.into_iter().next() {
            let name = self.database.place().to_owned();
            return Err(Error::Damaged {
                name,
                detail: format!("{finding}; run `purlin state repair` first"),
            });
        }
        let (old, rotation) = (self.keys.stored(), self.keys.begin_rotation(new.as_ref(), &probe)?);
        if let Err(error) = self.replace_keys(&old, &rotation.stored).await {
            if keys::read(&self.database).await.is_ok_and(|now| now != rotation.stored) {
                self.keys.withdraw_rotation();
            }
            return Err(error);
        }
        let name = self.keys.rotated(rotation, &probe)?;
        self.seal_again(&holder).await?;
        Ok(name)
    }

    /// Seals everything with the newest data key, and removes the others.
    async fn seal_again(self: Arc<Self>, holder: &Holder) -> Result<(), Error> {
        let stored = self.keys.stored();
        let newest: Vec<SealedKey> = stored.iter().take(1).cloned().collect();
        let only = self.keys.newest()?;
        for environment in self.places().await? {
            let begun = Instant::now();
            while let Err(error) = Arc::clone(&self).seal_environment(&environment, &only, holder).await {
                if !matches!(error, Error::Locked { .. }) || begun.elapsed() > PATIENCE {
                    return Err(error);
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        self.replace_keys(&stored, &newest).await?;
        self.keys.forget_old();
        Ok(())
    }

    /// Seals an environment again, unless the newest data key alone opens all of it.
    async fn seal_environment(
        self: Arc<Self>,
        environment: &Environment,
        only: &Keyring,
        holder: &Holder,
    ) -> Result<(), Error> {
        let claim = Arc::clone(&self).claim(environment, holder).await?;
        let sealed = async {
            let Some(whole) = self.whole(environment).await? else { return Ok(()) };
            let mut writes = Vec::new();
            for (key, value) in whole.table.iter() {
                let name = keyspace::describe(key, Some(environment));
                if codec::reseal(value, &name, only, only).is_err() {
                    let value = codec::reseal(value, &name, &self.keys, only)?;
                    writes.push(Write::Put { key: key.to_vec(), value });
                }
            }
            let is_head_old =
                whole.head.is_some_and(|head| codec::decode_head(&head, environment, only).is_err());
            match writes.is_empty() && !is_head_old {
                true => Ok(()),
                false => claim.take(Writes(writes))?.await,
            }
        };
        let sealed = sealed.await;
        sealed.and(claim.release().await)
    }

    /// Replaces the data keys, if the state has the `old` ones.
    async fn replace_keys(&self, old: &[SealedKey], new: &[SealedKey]) -> Result<(), Error> {
        let schema = self.database.schema();
        let sql = format!(
            "WITH old AS (
                 SELECT max(position) AS last FROM {schema}.keys
                 HAVING array_agg(sealed ORDER BY position) = $1
             ), gone AS (
                 DELETE FROM {schema}.keys USING old WHERE position <= old.last
             )
             INSERT INTO {schema}.keys (position, sealed)
             SELECT old.last + new.number, new.sealed
             FROM old, unnest($2) WITH ORDINALITY AS new (sealed, number)"
        );
        let bytes = |keys: &[SealedKey]| keys.iter().map(SealedKey::encode).collect::<Vec<_>>();
        let parameters =
            vec![parameter(bytes(old), Type::BYTEA_ARRAY), parameter(bytes(new), Type::BYTEA_ARRAY)];
        let written = self.database.query("replace the data keys", &sql, parameters).await;
        // A response may have been lost: the content of the database decides.
        match keys::read(&self.database).await? == new {
            true => Ok(()),
            false => Err(written.err().unwrap_or_else(|| Error::Database {
                place: self.database.place().to_owned(),
                action: "replace the data keys",
                detail: "another process replaced them at the same time".into(),
            })),
        }
    }
}
