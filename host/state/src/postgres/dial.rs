//! Logs in to the hosts of an address, one after the other, each within its share of the time.
//!
//! It knows no statements: it ends with a login, or with the failure that says most about the address.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use futures_core::future::BoxFuture;
use secrecy::ExposeSecret as _;
use tokio::task::JoinHandle;
use tokio_postgres::config::LoadBalanceHosts;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::credentials::{CredentialSource, Credentials};
use super::failure::QueryFailure;
use super::greeting::Connector;
use super::trust::Trust;
use crate::Error;
use crate::error::Outage;

/// The time limit of one attempt at all hosts, from the first one's address to a login.
pub(super) const LOGIN: Duration = Duration::from_secs(10);

/// Makes the connections of a pool.
pub(super) struct Dialer {
    /// A configuration for each host, without a password.
    pub(super) hosts: Vec<Config>,
    /// What certificates are trusted; `None` encrypts nothing.
    pub(super) trust: Option<Trust>,
    pub(super) credentials: Arc<dyn CredentialSource>,
    /// [`LOGIN`], except in tests.
    pub(super) limit: Duration,
    /// Whether a login succeeded.
    pub(super) has_succeeded: AtomicBool,
}

/// A connection. Its task ends with it.
pub(super) struct Session {
    pub(super) client: Client,
    task: JoinHandle<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Manager for Dialer {
    type Type = Session;
    type Error = QueryFailure;

    async fn create(&self) -> Result<Session, QueryFailure> {
        // In a box, so that the futures of statements stay small.
        let login: BoxFuture<'_, _> = Box::pin(self.log_in());
        match login.await {
            Ok(session) => {
                self.has_succeeded.store(true, Ordering::SeqCst);
                Ok(session)
            }
            Err(failure) if self.has_succeeded() && self.credentials.can_change() => {
                Err(failure.after_success())
            }
            Err(failure) => Err(failure),
        }
    }

    async fn recycle(&self, session: &mut Session, _: &Metrics) -> RecycleResult<QueryFailure> {
        match session.client.is_closed() {
            true => Err(RecycleError::message("the connection is closed")),
            false => Ok(()),
        }
    }
}

impl Dialer {
    /// Whether this process has logged in before.
    pub(super) fn has_succeeded(&self) -> bool {
        self.has_succeeded.load(Ordering::SeqCst)
    }

    /// Logs in with the current credentials: if they change while the server rejects them, with the new ones.
    async fn log_in(&self) -> Result<Session, QueryFailure> {
        let credentials = self.read().await?;
        let failure = match self.attempt(&credentials).await {
            Err(failure) if failure.is_about_credentials() && self.credentials.can_change() => failure,
            result => return result,
        };
        let current = self.read().await?;
        if current.are(&credentials) { Err(failure) } else { self.attempt(&current).await }
    }

    async fn read(&self) -> Result<Credentials, QueryFailure> {
        self.credentials.read().await.map_err(|error| match error {
            Error::Credentials { reason, help } => QueryFailure::Credentials { reason, help },
            other => QueryFailure::Credentials { reason: other.to_string(), help: None },
        })
    }

    /// Tries all hosts. If one of them may answer later, the failure is that of this host, so that it is
    /// tried again.
    async fn attempt(&self, credentials: &Credentials) -> Result<Session, QueryFailure> {
        let connector = match &self.trust {
            None => Connector::Plain,
            Some(trust) => match trust.config(credentials.client.as_ref()) {
                Ok(config) => Connector::Tls(MakeRustlsConnect::new(config)),
                Err(reason) => return Err(QueryFailure::Credentials { reason, help: None }),
            },
        };
        let begun = Instant::now();
        let mut waiting = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        let mut best: Option<(Hope, QueryFailure)> = None;
        for host in self.in_turn() {
            // What a host leaves of its share is for those after it.
            let share = self.limit.saturating_sub(begun.elapsed()) / waiting.max(1);
            waiting = waiting.saturating_sub(1);
            let mut host = host.clone();
            if let Some(password) = &credentials.password {
                host.password(password.expose_secret());
            }
            let (hope, failure) = match tokio::time::timeout(share, connect(&host, &connector)).await {
                Ok(Ok(session)) => return Ok(session),
                Ok(Err(error)) => {
                    let failure = QueryFailure::of_connection(&error);
                    (hope(&failure), failure)
                }
                Err(_) => (Hope::Silent, self.silence()),
            };
            // Of equal ones, the first.
            if best.as_ref().is_none_or(|(most, _)| hope > *most) {
                best = Some((hope, failure));
            }
        }
        Err(best.map_or_else(|| self.silence(), |(_, failure)| failure))
    }

    fn silence(&self) -> QueryFailure {
        let detail = format!("no server completed a login within {} s", self.limit.as_secs());
        QueryFailure::Lost(Outage::NoAnswer, detail)
    }

    /// The hosts in the order in which to try them.
    fn in_turn(&self) -> impl Iterator<Item = &Config> {
        let is_random =
            self.hosts.first().is_some_and(|host| host.get_load_balance_hosts() == LoadBalanceHosts::Random);
        let mut random = [0];
        let first = match is_random && getrandom::fill(&mut random).is_ok() {
            true => usize::from(random[0]) % self.hosts.len(),
            false => 0,
        };
        self.hosts.iter().cycle().skip(first).take(self.hosts.len())
    }
}

/// How much another attempt at a host may achieve.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hope {
    /// Nothing, until somebody changes something.
    Lasting,
    /// Perhaps nothing runs there.
    Away,
    /// It did not answer in time.
    Silent,
    /// It answered, or broke a connection.
    Passing,
}

fn hope(failure: &QueryFailure) -> Hope {
    match failure {
        QueryFailure::Lost(Outage::NoAnswer, _) => Hope::Passing,
        QueryFailure::Lost(..) => Hope::Away,
        _ => Hope::Lasting,
    }
}

/// Connects to one host.
async fn connect(host: &Config, connector: &Connector) -> Result<Session, tokio_postgres::Error> {
    let (client, connection) = host.connect(connector.clone()).await?;
    let task = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "the connection to the database ended");
        }
    });
    Ok(Session { client, task })
}
