//! Lists all environments, from the summaries that holders leave, if these are current.

use tokio_postgres::types::Type;

use super::Inner;
use super::connect::parameter;
use super::lease;
use super::read::environment;
use crate::keyspace::{self, EntryKind};
use crate::{Environment, EnvironmentSummary, Error, Listing, codec, snapshot};

impl Inner {
    pub(super) async fn environments(
        &self,
        after: Option<String>,
        most: usize,
    ) -> Result<Vec<EnvironmentSummary>, Error> {
        let mut found = Vec::new();
        let mut after = after.unwrap_or_default();
        loop {
            let sql = format!(
                "SELECT prefix, org, app, env, CASE WHEN summary_seq = seq THEN summary END,
                     CASE WHEN lease_until > clock_timestamp() THEN holder END
                 FROM {}.environments WHERE prefix > $1 ORDER BY prefix LIMIT $2",
                self.database.schema()
            );
            let page = i64::try_from(most.saturating_sub(found.len()).max(1)).unwrap_or(i64::MAX);
            let parameters = vec![parameter(after.clone(), Type::TEXT), parameter(page, Type::INT8)];
            let rows = self.database.query("list the environments", &sql, parameters).await?;
            let is_last = i64::try_from(rows.len()).is_ok_and(|count| count < page);
            for row in rows {
                let read = || -> Result<_, tokio_postgres::Error> {
                    let (summary, holder) = (row.try_get::<_, Option<Vec<u8>>>(4)?, row.try_get(5)?);
                    Ok((row.try_get::<_, String>(0)?, environment(&row, 1)?, summary, holder))
                };
                let (prefix, environment, summary, holder) =
                    read().map_err(|error| self.unreadable(&error))?;
                after = prefix;
                let summary =
                    self.summary(summary, |summary| codec::decode_known(summary, &self.keys)).await?;
                let known = match summary {
                    Some(known) => known,
                    None => self.known(&environment).await?,
                };
                let holder: Option<String> = holder;
                let holder = holder.and_then(|text| lease::holder(&text)).map(|holder| *holder);
                let known = EnvironmentSummary { holder, ..known };
                found.extend(Some(known).filter(|known| known.records > 0 || known.last.is_some()));
            }
            if is_last || found.len() >= most {
                return Ok(found);
            }
        }
    }

    /// Decodes a summary. An unreadable one is ignored, since the entries contain the same data.
    async fn summary<T>(
        &self,
        summary: Option<Vec<u8>>,
        read: impl Fn(&[u8]) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let Some(summary) = summary else { return Ok(None) };
        match self.with_keys(|| async { read(&summary) }).await {
            Ok(summary) => Ok(Some(summary)),
            Err(Error::Damaged { .. } | Error::Newer { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The summary of an environment whose stored summary is outdated.
    async fn known(&self, environment: &Environment) -> Result<EnvironmentSummary, Error> {
        self.with_keys(|| async {
            let loaded = self.read(environment).await?.unwrap_or_default();
            let prefix = keyspace::prefix(EntryKind::Deployment, &keyspace::place(environment));
            let last = self.last_entry(environment, prefix).await?;
            snapshot::known_with(&loaded.table, environment, &self.keys, last)
        })
        .await
    }

    pub(super) async fn listings(&self) -> Result<Vec<Listing>, Error> {
        let sql = format!(
            "SELECT org, app, env, CASE WHEN summary_seq = seq THEN listing END
             FROM {}.environments WHERE listing IS NOT NULL OR summary_seq <> seq ORDER BY prefix",
            self.database.schema()
        );
        let mut all = Vec::new();
        for row in self.database.query("list the installations", &sql, Vec::new()).await? {
            let read = || -> Result<_, tokio_postgres::Error> {
                Ok((environment(&row, 0)?, row.try_get::<_, Option<Vec<u8>>>(3)?))
            };
            let (environment, listing) = read().map_err(|error| self.unreadable(&error))?;
            let listing = self.summary(listing, |listing| codec::decode_listing(listing, &self.keys)).await?;
            let listing = match listing {
                Some(listing) => listing,
                None => {
                    self.with_keys(|| async {
                        let loaded = self.read(&environment).await?.unwrap_or_default();
                        snapshot::listing(&loaded.table, &environment, &self.keys)
                    })
                    .await?
                }
            };
            all.extend(Some(listing).filter(|listing| !listing.is_empty()));
        }
        Ok(all)
    }
}
