//! Connections to the database, and the classification of its errors.
//!
//! Nothing depends on a session: every statement is one transaction and is sent without a name, so
//! proxies may give each transaction another connection.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType, Timeouts,
};
use futures_core::future::BoxFuture;
use rustls::{ClientConfig, RootCertStore};
use secrecy::{ExposeSecret, SecretString};
use tokio::runtime::Handle;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::dial::{Dialer, LOGIN};
use super::greeting::Connector;
use crate::Error;

/// The maximum number of connections.
const CONNECTIONS: usize = 8;
/// The time limit of a connection to one address of a host.
const CONNECT: Duration = Duration::from_secs(5);
/// The timeout of a response, after which the connection counts as lost.
const ANSWER: Duration = Duration::from_secs(30);
/// The first pause before a statement is repeated. Each further one is twice as long, up to
/// [`PAUSES`].
const PAUSE: Duration = Duration::from_millis(50);
const PAUSES: Duration = Duration::from_secs(1);

/// The SQLSTATE class of rejected logins.
const INVALID_AUTHORIZATION: &str = "28";

/// A value for a placeholder in a statement, with its type, so that a proxy need not know prepared
/// statements.
pub(super) type Parameter = (Box<dyn ToSql + Sync + Send>, Type);

/// The address of a database, and how to connect to it.
#[derive(Clone, Debug)]
pub struct Address {
    /// `postgres://USER@HOST:PORT/DATABASE`, without a password.
    pub url: String,
    /// The schema of the tables.
    pub schema: String,
    /// The password, if the server requires one.
    pub password: Option<SecretString>,
    /// The certificates (PEM) of the trusted authorities; `None` trusts those of the system.
    pub ca: Option<Vec<u8>>,
}

/// Why a statement failed.
#[derive(Debug)]
pub(super) enum QueryFailure {
    /// The tables do not exist.
    Missing,
    /// There was no response, so it is unknown whether the statement was executed. Another attempt
    /// may succeed.
    Lost(String),
    /// The server rejected the user or the password.
    Login(String),
    /// The server rejected the statement.
    Refused(String),
}

/// A database.
pub(super) struct Database {
    pool: Pool,
    handle: Handle,
    /// The quoted name of the schema.
    schema: String,
    /// The name for messages.
    place: String,
    /// How long to repeat a statement that can be repeated.
    patience: Duration,
    /// The time limit of an attempt at all hosts.
    login: Duration,
}

impl Database {
    /// Prepares a connection pool, without connecting yet. Must be called within a tokio runtime.
    pub(super) fn new(address: &Address, patience: Duration) -> Result<Self, Error> {
        Self::within(address, patience, LOGIN)
    }

    /// The same, with another time limit for an attempt at all hosts.
    fn within(address: &Address, patience: Duration, login: Duration) -> Result<Self, Error> {
        let mut config: Config = address.url.parse().map_err(|error| invalid(&cause(&error)))?;
        let handle = Handle::try_current().map_err(|_| invalid("PostgreSQL needs a tokio runtime"))?;
        if config.get_password().is_some() {
            return Err(invalid("the URL contains a password; give the password from a secret store"));
        }
        let place = place(&config, &address.schema);
        if let Some(password) = &address.password {
            config.password(password.expose_secret());
        }
        if config.get_ssl_mode() == SslMode::Prefer {
            // Without encryption, others on the network could read and write. A local connection
            // does not leave the machine, and the certificate that a package created for a local
            // server is usually not trusted.
            config.ssl_mode(if is_local(&config) { SslMode::Disable } else { SslMode::Require });
        }
        config.connect_timeout(CONNECT).keepalives_idle(CONNECT).application_name("purlin");
        let connector = match config.get_ssl_mode() {
            SslMode::Disable => Connector::Plain,
            _ => Connector::Tls(MakeRustlsConnect::new(trust(address.ca.as_deref())?)),
        };
        let recycling_method = RecyclingMethod::Fast;
        let dialer = Dialer { connector, limit: login };
        let manager = Manager::from_connect(config, dialer, ManagerConfig { recycling_method });
        // A host may use the last of its share.
        let timeouts = Timeouts { wait: Some(ANSWER), create: Some(login + PAUSE), recycle: None };
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .timeouts(timeouts)
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| invalid(&error.to_string()))?;
        let schema = format!("\"{}\"", address.schema.replace('"', "\"\""));
        Ok(Self { pool, handle, schema, place, patience, login })
    }

    /// The quoted name of the schema.
    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// The name of the database for messages.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// The runtime of the connections.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Sends a statement that can be repeated, until the database responds or the patience ends.
    pub(super) async fn query(
        &self,
        action: &'static str,
        sql: &str,
        parameters: Vec<Parameter>,
    ) -> Result<Vec<Row>, Error> {
        self.try_query(sql, parameters).await.map_err(|failure| self.failed(action, failure))
    }

    /// The same, for callers that handle failures.
    pub(super) async fn try_query(
        &self,
        sql: &str,
        parameters: Vec<Parameter>,
    ) -> Result<Vec<Row>, QueryFailure> {
        let begun = Instant::now();
        let mut pause = PAUSE;
        loop {
            match self.once(sql, &parameters).await {
                Err(QueryFailure::Lost(_)) if begun.elapsed() + pause < self.patience => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSES);
                }
                result => return result,
            }
        }
    }

    /// Sends a statement once.
    pub(super) async fn once(&self, sql: &str, parameters: &[Parameter]) -> Result<Vec<Row>, QueryFailure> {
        let client = self.client().await?;
        let parameters: Vec<(&(dyn ToSql + Sync), Type)> =
            parameters.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect();
        match tokio::time::timeout(ANSWER, client.query_typed(sql, &parameters)).await {
            Ok(result) => result.map_err(|error| of_statement(&error)),
            Err(_) => {
                // A late response must not be mistaken for that of the next statement.
                drop(Object::take(client));
                Err(QueryFailure::Lost(format!("the server did not answer within {} s", ANSWER.as_secs())))
            }
        }
    }

    /// A connection that no other statement uses.
    async fn client(&self) -> Result<Object, QueryFailure> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => of_connection(&error),
            PoolError::Closed => QueryFailure::Refused("the state is closed".into()),
            PoolError::Timeout(TimeoutType::Wait) => QueryFailure::Lost(format!(
                "all {CONNECTIONS} connections were in use for {} s",
                ANSWER.as_secs()
            )),
            PoolError::Timeout(_) => {
                QueryFailure::Lost(format!("no server completed a login within {} s", self.login.as_secs()))
            }
            other => QueryFailure::Refused(cause(&other)),
        })
    }

    /// Sends several statements as one text.
    pub(super) async fn batch(&self, action: &'static str, text: &str) -> Result<(), Error> {
        let result = async {
            let client = self.client().await?;
            let result = client.batch_execute(text).await.map_err(|error| of_statement(&error));
            if result.is_err() {
                // The connection may be in the middle of a transaction.
                drop(Object::take(client));
            }
            result
        };
        result.await.map_err(|failure| self.failed(action, failure))
    }

    /// A value of another type than the tables have, as an error for users.
    pub(super) fn unreadable(&self, error: &tokio_postgres::Error) -> Error {
        Error::Database { place: self.place.clone(), action: "read the state", detail: cause(error) }
    }

    /// A failure as an error for users.
    pub(super) fn failed(&self, action: &'static str, failure: QueryFailure) -> Error {
        let place = self.place.clone();
        match failure {
            QueryFailure::Missing => Error::Unprepared { place },
            QueryFailure::Lost(detail) => Error::Unreachable { place, detail },
            QueryFailure::Login(detail) => Error::Login { place, detail },
            QueryFailure::Refused(detail) => Error::Database { place, action, detail },
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("place", &self.place).finish_non_exhaustive()
    }
}

/// A value of a PostgreSQL type.
pub(super) fn parameter(value: impl ToSql + Sync + Send + 'static, kind: Type) -> Parameter {
    (Box::new(value), kind)
}

/// Runs a future on the runtime of a database, whichever runtime awaits it.
pub(super) fn on<T: Send + 'static>(
    handle: &Handle,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> BoxFuture<'static, Result<T, Error>> {
    let task = handle.spawn(work);
    Box::pin(async move { task.await.unwrap_or(Err(Error::Closed)) })
}

fn invalid(detail: &str) -> Error {
    Error::Address { detail: detail.to_owned() }
}

/// The name of a database for messages: without user and password.
fn place(config: &Config, schema: &str) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        _ => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let database = config.get_dbname().or(config.get_user()).unwrap_or("postgres");
    format!("postgres://{host}:{port}/{database}?schema={schema}")
}

/// Whether the connection stays on this machine.
fn is_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name.trim_matches(['[', ']']).parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(path) => path != Path::new(""),
    })
}

/// The TLS configuration with the trusted authorities.
fn trust(ca: Option<&[u8]>) -> Result<ClientConfig, Error> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    let mut roots = RootCertStore::empty();
    match ca {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(|error| invalid(&format!("`ca`: {error}")))?;
                roots.add(certificate).map_err(|error| invalid(&format!("`ca`: {error}")))?;
            }
            if roots.is_empty() {
                return Err(invalid("`ca` contains no PEM certificate (`-----BEGIN CERTIFICATE-----`)"));
            }
        }
        None => {
            let (_, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(&error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Why there is no connection. What speaks another protocol, or no TLS, will not do so at another attempt.
/// While a statement is under way, the same error leaves open whether it was executed.
fn of_connection(error: &tokio_postgres::Error) -> QueryFailure {
    match of_statement(error) {
        QueryFailure::Lost(detail) if error.as_db_error().is_none() && is_lasting(error) => {
            QueryFailure::Refused(detail)
        }
        failure => failure,
    }
}

/// Whether a connection that failed with this error may succeed at another attempt.
pub(super) fn may_pass(error: &tokio_postgres::Error) -> bool {
    matches!(of_connection(error), QueryFailure::Lost(_))
}

/// Whether the server answered, and with something that PostgreSQL does not answer.
fn is_lasting(error: &tokio_postgres::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput};
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    match causes.into_iter().find_map(|cause| cause.downcast_ref::<std::io::Error>()) {
        Some(error) => matches!(error.kind(), InvalidData | InvalidInput),
        None => {
            let text = error.to_string();
            ["error performing TLS handshake", "unexpected message", "error parsing", "authentication error"]
                .iter()
                .any(|lasting| text.starts_with(lasting))
        }
    }
}

fn of_statement(error: &tokio_postgres::Error) -> QueryFailure {
    let Some(answer) = error.as_db_error() else {
        let detail = cause(error);
        // A certificate that is not trusted stays untrusted.
        return match detail.contains("invalid peer certificate") || error.to_string().contains("config") {
            true => QueryFailure::Refused(detail),
            false => QueryFailure::Lost(detail),
        };
    };
    let code = answer.code();
    if [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME].contains(code) {
        return QueryFailure::Missing;
    }
    let detail = format!("{} (SQLSTATE {})", answer.message(), code.code());
    if code.code().starts_with(INVALID_AUTHORIZATION) {
        return QueryFailure::Login(detail);
    }
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        // A standby accepts no writes until it is promoted, which can happen at any moment.
        return QueryFailure::Lost(format!("the server accepts no changes, as a standby does: {detail}"));
    }
    // The classes of connections, of exhausted resources and of operator intervention.
    let passes = ["08", "53", "57"].iter().any(|class| code.code().starts_with(class))
        || [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code);
    if passes { QueryFailure::Lost(detail) } else { QueryFailure::Refused(detail) }
}

/// An error with its causes, in one line.
fn cause(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A server that answers each connection with these bytes: nothing, and then waits, if there are none.
    /// Returns its port, and how many connections there were.
    fn server(answer: Option<Vec<u8>>) -> (u16, Arc<AtomicUsize>) {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = server.local_addr().expect("an address").port();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for client in server.incoming() {
                let mut client = client.expect("a client");
                counted.fetch_add(1, Ordering::SeqCst);
                let answer = answer.clone();
                std::thread::spawn(move || {
                    let _ = client.read(&mut [0; 256]);
                    let is_end = answer.as_ref().is_some_and(Vec::is_empty);
                    let _ = client.write_all(&answer.unwrap_or_default());
                    if !is_end {
                        // The client ends the connection.
                        let _ = client.read_to_end(&mut Vec::new());
                    }
                });
            }
        });
        (port, asked)
    }

    /// PostgreSQL's message of an error.
    fn error(code: &str) -> Vec<u8> {
        let fields = format!("SFATAL\0VFATAL\0C{code}\0Mno\0\0");
        let length = u32::try_from(fields.len() + 4).expect("short");
        [b"E", &length.to_be_bytes()[..], fields.as_bytes()].concat()
    }

    /// The state at these ports of this machine.
    fn address(ports: &[u16], sslmode: &str) -> Address {
        let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let url = format!("postgres://ada@{}/state?sslmode={sslmode}", hosts.join(","));
        Address { url, schema: "purlin".to_owned(), password: None, ca: None }
    }

    async fn ask(database: &Database) -> QueryFailure {
        database.try_query("SELECT 1", Vec::new()).await.expect_err("no database")
    }

    /// What speaks another protocol or no TLS, and what rejects a login, will do so at another attempt. A
    /// server that is away or starts is asked again.
    #[tokio::test(flavor = "multi_thread")]
    async fn servers_that_can_never_be_right_are_asked_once() {
        const PATIENCE: Duration = Duration::from_secs(2);
        let http = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        for (sslmode, answer, is_lasting) in [
            ("require", b"N".to_vec(), true),
            ("require", http.to_vec(), true),
            ("require", b"S, but no TLS\r\n".to_vec(), true),
            ("require", Vec::new(), false),
            ("disable", http.to_vec(), true),
            ("disable", b"\n".to_vec(), true),
            ("disable", b"R\x7f\xff\xff\xff, and more".to_vec(), true),
            ("disable", b"R\0\0\0\x08\0\0\0\x63".to_vec(), true),
            ("disable", error("28P01"), true),
            ("disable", error("3D000"), true),
            ("disable", error("57P03"), false),
            ("disable", Vec::new(), false),
        ] {
            let (port, asked) = server(Some(answer.clone()));
            let database = Database::new(&address(&[port], sslmode), PATIENCE).expect("a database");
            let failure = ask(&database).await;
            let case = format!("{sslmode} {}: {failure:?}", answer.escape_ascii());
            assert_eq!(!matches!(failure, QueryFailure::Lost(_)), is_lasting, "{case}");
            assert_eq!(asked.load(Ordering::SeqCst) == 1, is_lasting, "{case}");
        }
    }

    /// The hosts of an address share the time of an attempt, so that a silent one does not hide the next one.
    /// While one of them may answer later, they are asked again.
    #[tokio::test(flavor = "multi_thread")]
    async fn each_host_of_an_address_is_asked_within_one_limit() {
        const LIMIT: Duration = Duration::from_secs(2);
        let (wrong, starting) = (|| Some(error("28P01")), || Some(error("57P03")));
        for (answers, expected) in [
            (vec![None], "no server completed a login within 2 s"),
            (vec![None, None], "no server completed a login within 2 s"),
            (vec![None, wrong()], "no server completed a login within 2 s"),
            (vec![None, starting()], "57P03"),
            (vec![starting(), wrong()], "57P03"),
            (vec![wrong(), starting()], "57P03"),
            (vec![wrong(), wrong()], "28P01"),
        ] {
            let servers: Vec<_> = answers.iter().cloned().map(server).collect();
            let ports: Vec<u16> = servers.iter().map(|(port, _)| *port).collect();
            // One attempt.
            let database = Database::within(&address(&ports, "disable"), Duration::ZERO, LIMIT);
            let failure = ask(&database.expect("a database")).await;
            let asked: Vec<usize> = servers.iter().map(|(_, asked)| asked.load(Ordering::SeqCst)).collect();
            assert_eq!(asked, vec![1; asked.len()], "{answers:?}: {failure:?}");
            let (QueryFailure::Lost(detail) | QueryFailure::Login(detail)) = &failure else {
                panic!("{failure:?}")
            };
            assert!(detail.contains(expected), "{answers:?}: {detail}");
            assert_eq!(
                matches!(failure, QueryFailure::Login(_)),
                expected == "28P01",
                "{answers:?}: {detail}"
            );
        }
    }

    /// Hosts that do not fit their ports are an error of the address, as with a single host.
    #[tokio::test(flavor = "multi_thread")]
    async fn hosts_that_do_not_fit_are_an_error_of_the_address() {
        let address = Address {
            url: "postgres:///state?user=ada&host=a,b&port=1,2,3&sslmode=disable".to_owned(),
            ..address(&[], "disable")
        };
        let failure = ask(&Database::new(&address, Duration::from_secs(2)).expect("a database")).await;
        assert!(matches!(&failure, QueryFailure::Refused(detail) if detail.contains("ports")), "{failure:?}");
    }
}
