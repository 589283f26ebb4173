//! Connects to the hosts of an address, one after the other, each within its share of the time.
//!
//! It knows no statements: it ends with a login, or with the error that says most about the address.

use std::time::{Duration, Instant};

use deadpool_postgres::Connect;
use futures_core::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode, SslNegotiation};
use tokio_postgres::{Client, Config, Error};

use super::connect::may_pass;
use super::greeting::Connector;

/// The time limit of one attempt at all hosts, from the first one's address to a login.
pub(super) const LOGIN: Duration = Duration::from_secs(10);

/// Makes the connections of a pool. If one host may answer later, the error is that of this host, so that
/// it is tried again.
pub(super) struct Dialer {
    pub(super) connector: Connector,
    /// [`LOGIN`], except in tests.
    pub(super) limit: Duration,
}

impl Connect for Dialer {
    fn connect(&self, config: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        let config = config.clone();
        Box::pin(async move {
            let begun = Instant::now();
            let mut hosts = hosts(&config);
            let (mut passing, mut lasting, mut is_silent) = (None, None, false);
            while let Some(host) = hosts.pop() {
                // What a host leaves of its share is for those after it.
                let waiting = u32::try_from(hosts.len()).unwrap_or(u32::MAX).saturating_add(1);
                let share = self.limit.saturating_sub(begun.elapsed()) / waiting;
                match tokio::time::timeout(share, self.one(&host)).await {
                    Ok(Ok(connected)) => return Ok(connected),
                    Ok(Err(error)) if may_pass(&error) => {
                        passing.get_or_insert(error);
                    }
                    Ok(Err(error)) => {
                        lasting.get_or_insert(error);
                    }
                    Err(_) => is_silent = true,
                }
            }
            match (passing, lasting) {
                (Some(error), _) => Err(error),
                // The pool limits the attempt, and reports that nobody answered in time.
                _ if is_silent => std::future::pending().await,
                (None, Some(error)) => Err(error),
                // The client says what is wrong with the hosts.
                (None, None) => self.one(&config).await,
            }
        })
    }
}

impl Dialer {
    /// Connects to the host of a configuration.
    async fn one(&self, config: &Config) -> Result<(Client, JoinHandle<()>), Error> {
        let (client, connection) = config.connect(self.connector.clone()).await?;
        let task = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the connection to the database ended");
            }
        });
        Ok((client, task))
    }
}

/// A configuration for each host, the first one last. None if the address is not valid.
fn hosts(config: &Config) -> Vec<Config> {
    let (names, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let count = names.len().max(addresses.len());
    let fits = |length: usize| length <= 1 || length == count;
    if !fits(ports.len()) || (!names.is_empty() && !addresses.is_empty() && names.len() != addresses.len()) {
        return Vec::new();
    }
    let mut all: Vec<Config> = (0..count).rev().map(|at| only(config, at)).collect();
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random && count > 0 {
        let mut random = [0];
        if getrandom::fill(&mut random).is_ok() {
            all.rotate_left(usize::from(random[0]) % count);
        }
    }
    all
}

/// The configuration of one host of several.
fn only(config: &Config, at: usize) -> Config {
    let mut one = Config::new();
    let host = config.get_hosts().get(at);
    match host {
        Some(Host::Tcp(name)) => {
            one.host(name);
        }
        #[cfg(unix)]
        Some(Host::Unix(path)) => {
            one.host_path(path);
        }
        None => {}
    }
    if let Some(address) = config.get_hostaddrs().get(at) {
        one.hostaddr(*address);
    }
    let ports = config.get_ports();
    if let Some(port) = ports.get(at).or(ports.first()) {
        one.port(*port);
    }
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(name) = config.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    if let Some(time) = config.get_connect_timeout() {
        one.connect_timeout(*time);
    }
    if let Some(time) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*time);
    }
    one.keepalives(config.get_keepalives()).keepalives_idle(config.get_keepalives_idle());
    if let Some(time) = config.get_keepalives_interval() {
        one.keepalives_interval(time);
    }
    if let Some(count) = config.get_keepalives_retries() {
        one.keepalives_retries(count);
    }
    one.target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts())
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation());
    if config.get_ssl_mode() == SslMode::Disable && matches!(host, Some(Host::Tcp(_))) {
        // The client passes a connection through a connector only where it expects TLS. The connector
        // of an address without TLS encrypts nothing.
        one.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
    }
    one
}
