//! Reserved vacancies, held by leases like environments.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_postgres::types::Type;

use super::connect::parameter;
use super::releases::Leaving;
use super::{Inner, lease};
use crate::{Error, Holder, Reserved, Vacancy};

/// Ends the lease when it is dropped.
struct Filling {
    inner: Arc<Inner>,
    ended: Option<oneshot::Sender<Leaving>>,
}

impl Drop for Filling {
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take() {
            // If the task is gone, so is its runtime, and the lease expires.
            let _ = ended.send(Leaving::begin(&self.inner));
        }
    }
}

impl Inner {
    /// Takes the lease of a vacancy. As with environments (`lease.rs`), a late copy of the statement takes
    /// no lease that its holder has released since. So the row stays for a day, without a holder.
    pub(super) async fn reserve(
        self: Arc<Self>,
        vacancy: Vacancy,
        holder: Holder,
    ) -> Result<Reserved, Error> {
        let schema = self.database.schema().to_owned();
        let name = name(&vacancy);
        let token = lease::token()?;
        let sql = format!(
            "INSERT INTO {schema}.vacancies AS v (name, token, holder, lease_until)
             VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 second')
             ON CONFLICT (name) DO UPDATE
             SET token = excluded.token, holder = excluded.holder, lease_until = excluded.lease_until
             WHERE CASE WHEN v.token = $2 THEN v.holder IS NOT NULL
                 ELSE v.lease_until <= clock_timestamp() END
             RETURNING 1::bigint"
        );
        let parameters = vec![
            parameter(name.clone(), Type::TEXT),
            parameter(token.clone(), Type::BYTEA),
            parameter(lease::shown(&holder), Type::TEXT),
            parameter(self.lease.as_secs_f64(), Type::FLOAT8),
        ];
        self.left().await;
        if self.database.query("reserve an installation", &sql, parameters).await?.is_empty() {
            let sql = format!("SELECT holder FROM {schema}.vacancies WHERE name = $1");
            let rows = self
                .database
                .query("reserve an installation", &sql, vec![parameter(name, Type::TEXT)])
                .await?;
            let holder = rows.first().and_then(|row| lease::holder(row.try_get(0).ok()?));
            return Err(Error::Reserved { vacancy, holder });
        }
        let (guard, ended) = oneshot::channel();
        let inner = Arc::clone(&self);
        self.database.handle().spawn(async move { inner.keep(name, token, ended).await });
        Ok(Reserved::new(vacancy, Filling { inner: self, ended: Some(guard) }))
    }

    /// Renews the lease of a vacancy until the guard is dropped, and then releases it.
    async fn keep(&self, name: String, token: Vec<u8>, mut ended: oneshot::Receiver<Leaving>) {
        let schema = self.database.schema();
        let renew = format!(
            "UPDATE {schema}.vacancies SET lease_until = clock_timestamp() + $3 * interval '1 second'
             WHERE name = $1 AND token = $2 AND holder IS NOT NULL"
        );
        let _leaving = loop {
            if let Ok(leaving) = tokio::time::timeout(self.lease / 3, &mut ended).await {
                break leaving;
            }
            let parameters = vec![
                parameter(name.clone(), Type::TEXT),
                parameter(token.clone(), Type::BYTEA),
                parameter(self.lease.as_secs_f64(), Type::FLOAT8),
            ];
            if let Err(error) = self.database.query("renew a lease", &renew, parameters).await {
                tracing::warn!(%error, "others may install the same now");
            }
        };
        let give_up = format!(
            "WITH old AS (
                 DELETE FROM {schema}.vacancies
                 WHERE holder IS NULL AND lease_until < clock_timestamp() - interval '1 day' AND name <> $1
             )
             UPDATE {schema}.vacancies SET holder = NULL, lease_until = clock_timestamp()
             WHERE name = $1 AND token = $2"
        );
        let parameters = vec![parameter(name, Type::TEXT), parameter(token, Type::BYTEA)];
        if let Err(error) = self.database.query("give a lease up", &give_up, parameters).await {
            tracing::warn!(%error, "a reserved installation becomes free only when its lease ends");
        }
    }
}

/// A unique name of a vacancy.
fn name(vacancy: &Vacancy) -> String {
    let Vacancy { namespace, group, bundle } = vacancy;
    serde_json::json!([&**namespace, &**group, bundle.as_deref()]).to_string()
}
