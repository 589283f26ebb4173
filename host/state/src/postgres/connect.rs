//! Connections to the database, and the classification of its errors.
//!
//! Nothing depends on a session: every statement is one transaction and is sent without a name, so
//! proxies may give each transaction another connection.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use deadpool::Runtime;
use deadpool::managed::{Object, Pool, PoolError, TimeoutType, Timeouts};
use futures_core::future::BoxFuture;
use tokio::runtime::Handle;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::address::{Address, Protection, Target};
use super::dial::{Dialer, LOGIN};
use super::failure::{QueryFailure, cause};
use super::trust::Trust;
use crate::Error;
use crate::error::Outage;

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

/// How long to repeat the first login of a process, and its first change, if an address is probably wrong:
/// nothing listens there, its host has no address, or its server accepts no changes. Long enough for a
/// database that is started together with its clients.
const FIRST: Duration = Duration::from_secs(3);

/// A value for a placeholder in a statement, with its type, so that a proxy need not know prepared
/// statements.
pub(super) type Parameter = (Box<dyn ToSql + Sync + Send>, Type);

/// A database.
pub(super) struct Database {
    pool: Pool<Dialer>,
    handle: Handle,
    /// The quoted name of the schema.
    schema: String,
    /// The name for messages.
    place: String,
    /// How long to repeat a statement that can be repeated.
    patience: Duration,
    /// Whether the server accepted a change.
    has_changed: AtomicBool,
}

impl Database {
    /// Prepares a connection pool, without connecting yet. Must be called within a tokio runtime.
    pub(super) fn new(address: &Address, patience: Duration) -> Result<Self, Error> {
        Self::within(address, patience, LOGIN)
    }

    /// The same, with another time limit for an attempt at all hosts.
    fn within(address: &Address, patience: Duration, limit: Duration) -> Result<Self, Error> {
        let Target { mut hosts, protection } = address.target()?;
        let handle = Handle::try_current().map_err(|_| invalid("PostgreSQL needs a tokio runtime"))?;
        for host in &mut hosts {
            host.connect_timeout(CONNECT).keepalives_idle(CONNECT).application_name("purlin");
        }
        let trust = match protection {
            Protection::Nothing => None,
            Protection::Chain | Protection::ChainAndName => {
                let has_name = protection == Protection::ChainAndName;
                Some(Trust::new(address.ca.as_deref(), has_name).map_err(|detail| invalid(&detail))?)
            }
        };
        let credentials = std::sync::Arc::clone(&address.credentials);
        let dialer = Dialer { hosts, trust, credentials, limit, has_succeeded: AtomicBool::new(false) };
        // The dialer limits the time of a login, and a source of credentials its own.
        let timeouts = Timeouts { wait: Some(ANSWER), create: None, recycle: None };
        let pool = Pool::builder(dialer)
            .max_size(CONNECTIONS)
            .timeouts(timeouts)
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| invalid(&error.to_string()))?;
        let schema = format!("\"{}\"", address.schema.replace('"', "\"\""));
        let has_changed = AtomicBool::new(false);
        Ok(Self { pool, handle, schema, place: address.place(), patience, has_changed })
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
                Err(QueryFailure::Lost(outage, _)) if begun.elapsed() + pause < self.patience_in(outage) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSES);
                }
                result => return result,
            }
        }
    }

    /// How long to repeat a statement in an outage.
    fn patience_in(&self, outage: Outage) -> Duration {
        let is_known = match outage {
            Outage::Refused | Outage::NoAddress => self.pool.manager().has_succeeded(),
            Outage::ReadOnly => self.has_changed.load(Ordering::SeqCst),
            Outage::NoAnswer | Outage::Credentials => true,
        };
        if is_known { self.patience } else { self.patience.min(FIRST) }
    }

    /// Sends a statement once.
    pub(super) async fn once(&self, sql: &str, parameters: &[Parameter]) -> Result<Vec<Row>, QueryFailure> {
        let session = self.session().await?;
        let parameters: Vec<(&(dyn ToSql + Sync), Type)> =
            parameters.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect();
        match tokio::time::timeout(ANSWER, session.client.query_typed(sql, &parameters)).await {
            Ok(result) => {
                let rows = result.map_err(|error| QueryFailure::of_statement(&error))?;
                if !sql.trim_start().starts_with("SELECT") {
                    self.has_changed.store(true, Ordering::SeqCst);
                }
                Ok(rows)
            }
            Err(_) => {
                // A late response must not be mistaken for that of the next statement.
                drop(Object::take(session));
                let detail = format!("the server did not answer within {} s", ANSWER.as_secs());
                Err(QueryFailure::Lost(Outage::NoAnswer, detail))
            }
        }
    }

    /// A connection that no other statement uses.
    async fn session(&self) -> Result<Object<Dialer>, QueryFailure> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(failure) => failure,
            PoolError::Closed => QueryFailure::Refused("the state is closed".into()),
            PoolError::Timeout(TimeoutType::Wait) => {
                let detail = format!("all {CONNECTIONS} connections were in use for {} s", ANSWER.as_secs());
                QueryFailure::Lost(Outage::NoAnswer, detail)
            }
            PoolError::Timeout(_) | PoolError::PostCreateHook(_) | PoolError::NoRuntimeSpecified => {
                QueryFailure::Refused("there is no connection".into())
            }
        })
    }

    /// Sends several statements as one text.
    pub(super) async fn batch(&self, action: &'static str, text: &str) -> Result<(), Error> {
        let result = async {
            let session = self.session().await?;
            let result = session.client.batch_execute(text).await;
            let result = result.map_err(|error| QueryFailure::of_statement(&error));
            if result.is_err() {
                // The connection may be in the middle of a transaction.
                drop(Object::take(session));
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
        failure.into_error(&self.place, action)
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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::Credentials;
    use crate::error::LoginFault;

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
        Address { url, schema: "purlin".to_owned(), credentials: Arc::new(Credentials::default()), ca: None }
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
        use LoginFault::{NoDatabase, NoTls, OtherProtocol, Rejected};
        for (sslmode, answer, lasting) in [
            ("require", b"N".to_vec(), Some(NoTls)),
            ("require", http.to_vec(), Some(NoTls)),
            ("require", b"S, but no TLS\r\n".to_vec(), Some(OtherProtocol)),
            ("require", Vec::new(), None),
            ("disable", http.to_vec(), Some(OtherProtocol)),
            ("disable", b"\n".to_vec(), Some(OtherProtocol)),
            ("disable", b"R\x7f\xff\xff\xff, and more".to_vec(), Some(OtherProtocol)),
            ("disable", b"R\0\0\0\x08\0\0\0\x63".to_vec(), Some(OtherProtocol)),
            ("disable", error("28P01"), Some(Rejected)),
            ("disable", error("3D000"), Some(NoDatabase)),
            ("disable", error("57P03"), None),
            ("disable", Vec::new(), None),
        ] {
            let (port, asked) = server(Some(answer.clone()));
            let database = Database::new(&address(&[port], sslmode), PATIENCE).expect("a database");
            let failure = ask(&database).await;
            let case = format!("{sslmode} {}: {failure:?}", answer.escape_ascii());
            let fault = match failure {
                QueryFailure::Login(fault, _) => Some(fault),
                QueryFailure::Lost(Outage::NoAnswer, _) => None,
                other => panic!("{other:?}"),
            };
            assert_eq!(fault, lasting, "{case}");
            assert_eq!(asked.load(Ordering::SeqCst) == 1, lasting.is_some(), "{case}");
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
            let (QueryFailure::Lost(_, detail) | QueryFailure::Login(_, detail)) = &failure else {
                panic!("{failure:?}")
            };
            assert!(detail.contains(expected), "{answers:?}: {detail}");
            assert_eq!(
                matches!(failure, QueryFailure::Login(..)),
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
        let error = Database::new(&address, Duration::from_secs(2)).expect_err("3 ports");
        assert_eq!(
            error.to_string(),
            "the address of the state is wrong: the numbers of its hosts (1) and ports (3) differ"
        );
    }
}
