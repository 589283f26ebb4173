//! The address of a database: its URL with the words of PostgreSQL's own clients, as the client that
//! Purlin uses takes it.

use std::path::Path;
use std::sync::Arc;

use purlin_model::StateDatabase;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, SslNegotiation};

use super::credentials::CredentialSource;
use crate::Error;

/// The address of a database, and how to connect to it.
#[derive(Clone, Debug)]
pub struct Address {
    /// `postgres://USER@HOST:PORT/DATABASE`, without a password.
    pub url: String,
    /// The schema of the tables.
    pub schema: String,
    /// Where the password and the client certificate come from.
    pub credentials: Arc<dyn CredentialSource>,
    /// The certificates (PEM) of the trusted authorities, or of the server itself; `None` trusts the
    /// authorities of the system.
    pub ca: Option<Vec<u8>>,
}

/// What has to be right about a connection before anything is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Nothing is encrypted.
    Nothing,
    /// The server's certificate is trusted, whatever its name.
    Chain,
    /// The server's certificate is trusted and has the name of the host.
    ChainAndName,
}

/// A URL as the client takes it.
#[derive(Debug)]
pub(super) struct Target {
    /// One configuration per host, in the order of the URL; none has a password.
    pub(super) hosts: Vec<Config>,
    pub(super) protection: Protection,
}

impl Address {
    /// The name of the database for messages.
    pub(super) fn place(&self) -> String {
        StateDatabase::place(&self.url, &self.schema)
    }

    /// Reads the URL.
    pub(super) fn target(&self) -> Result<Target, Error> {
        read(&self.url, self.ca.is_some()).map_err(|detail| Error::Address { detail })
    }
}

fn read(url: &str, names_ca: bool) -> Result<Target, String> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err("it is not of the form `postgres://USER@HOST:5432/DATABASE`".to_owned());
    }
    let (url, mode) = without_files(url)?;
    let mut config: Config = url.parse().map_err(|error| super::failure::cause(&error))?;
    if config.get_password().is_some() {
        return Err("the URL contains a password; give the password from a secret store".to_owned());
    }
    let protection = match mode.as_deref() {
        // Without encryption, others on the network could read and write. A local connection
        // does not leave the machine, and the certificate that a package created for a local
        // server is usually not trusted, unless `ca` names it.
        None | Some("prefer") if is_local(&config) && !names_ca => Protection::Nothing,
        Some("disable") => Protection::Nothing,
        None | Some("prefer" | "require" | "verify-full") => Protection::ChainAndName,
        Some("verify-ca") => Protection::Chain,
        Some("allow") => {
            return Err("`sslmode=allow` encrypts only if the server insists, so others could read \
                        and change the state; write `sslmode=verify-full`, or `sslmode=disable` on a \
                        network that you trust"
                .to_owned());
        }
        Some(other) => {
            return Err(format!(
                "`sslmode={}` does not exist; write `verify-full`, `verify-ca`, `require`, `prefer` or `disable`",
                other.escape_debug()
            ));
        }
    };
    config.ssl_mode(match protection {
        Protection::Nothing => SslMode::Disable,
        Protection::Chain | Protection::ChainAndName => SslMode::Require,
    });
    Ok(Target { hosts: hosts(&config)?, protection })
}

/// The URL without `sslmode`, of which the client knows only some words, and that word. The client does not
/// read files.
fn without_files(url: &str) -> Result<(String, Option<String>), String> {
    let Some((base, query)) = url.split_once('?') else { return Ok((url.to_owned(), None)) };
    let (mut rest, mut mode) = (Vec::new(), None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=').unwrap_or((pair, "")) {
            ("sslmode", value) => mode = Some(value.to_owned()),
            // Those of the system are trusted unless `ca` names others.
            ("sslrootcert", "system") => {
                mode.get_or_insert_with(|| "verify-full".to_owned());
            }
            ("sslrootcert", _) => return Err(elsewhere("sslrootcert", "ca: FILE")),
            (name @ ("sslcert" | "sslkey"), _) => {
                return Err(elsewhere(name, "client: {certificate: FILE, key: {store: STORE, ref: NAME}}"));
            }
            _ => rest.push(pair),
        }
    }
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    Ok((format!("{base}{query}"), mode))
}

fn elsewhere(name: &str, field: &str) -> String {
    format!("the URL names a file in `{name}`; write `{field}` next to `url` instead")
}

/// Whether the connection stays on this machine.
fn is_local(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name.trim_matches(['[', ']']).parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(path) => path != Path::new(""),
    };
    config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(|ip| ip.is_loopback())
}

/// A configuration for each host, in the order of the URL.
fn hosts(config: &Config) -> Result<Vec<Config>, String> {
    let (names, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let count = names.len().max(addresses.len());
    if count == 0 {
        return Err("it names no host".to_owned());
    }
    if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
        return Err(format!(
            "the numbers of its hosts ({}) and of their addresses ({}) differ",
            names.len(),
            addresses.len()
        ));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(format!("the numbers of its hosts ({count}) and ports ({}) differ", ports.len()));
    }
    Ok((0..count).map(|at| only(config, at)).collect())
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
    #[cfg(unix)]
    let is_socket = matches!(host, Some(Host::Unix(_)));
    #[cfg(not(unix))]
    let is_socket = false;
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
        // A socket does not leave the machine, and PostgreSQL encrypts nothing there.
        .ssl_mode(if is_socket { SslMode::Disable } else { config.get_ssl_mode() })
        .ssl_negotiation(config.get_ssl_negotiation());
    if config.get_ssl_mode() == SslMode::Disable && matches!(host, Some(Host::Tcp(_))) {
        // The client passes a connection through a connector only where it expects TLS. The connector
        // of an address without TLS encrypts nothing.
        one.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
    }
    one
}
