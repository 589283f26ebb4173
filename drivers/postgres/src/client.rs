//! A small client: one connection, one statement at a time, answers as text. The words of the
//! protocol are `postgres-protocol`'s.

mod authentication;

use std::io::{self, Read, Write};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{DataRowBody, ErrorResponseBody, Header, Message};
use postgres_protocol::message::frontend;
use purlin_sdk_net::{Deadline, Error as NetError, Stream, Tls};
use serde::de::DeserializeOwned;

use crate::inputs::Connection;
use crate::statement_error::{SqlError, StatementError};

/// Bytes of the longest message to read. The answers to this driver are short.
const LONGEST: i32 = 8 << 20;

/// A connection to one database of a server.
pub(crate) struct Client {
    stream: Stream,
    input: BytesMut,
    server: String,
}

impl Client {
    /// Connects, negotiates TLS, and authenticates.
    pub(crate) fn connect(
        connection: &Connection,
        database: &str,
        until: Deadline,
    ) -> Result<Self, StatementError> {
        let place = connection.place();
        let mut stream = purlin_sdk_net::connect(&place, until)?;
        let name = place.to_string();
        if place.tls != Tls::Disable {
            stream = agree(stream, &place)?;
        }
        let mut client = Self { stream, input: BytesMut::new(), server: name };
        client.start(connection, database)?;
        client.stream.wait_until(until);
        Ok(client)
    }

    /// Runs statements, in one transaction unless they say otherwise, and returns the rows of the
    /// last one that has some.
    pub(crate) fn run(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, StatementError> {
        let mut message = BytesMut::new();
        frontend::query(sql, &mut message).map_err(|error| self.nonsense(error.to_string()))?;
        self.send(&message)?;
        let (mut rows, mut failed) = (Vec::new(), None);
        loop {
            match self.receive()? {
                Message::RowDescription(_) => rows.clear(),
                Message::DataRow(row) => rows.push(self.row(&row)?),
                Message::ErrorResponse(body) => failed = Some(sql_error(&body)),
                Message::ReadyForQuery(_) => break,
                Message::CommandComplete(_) | Message::EmptyQueryResponse => {}
                _ => return Err(self.nonsense("it sent an unexpected response")),
            }
        }
        match failed {
            Some(error) => Err(StatementError::Sql(Box::new(error))),
            None => Ok(rows),
        }
    }

    /// The rows of a query, each read by the names of its columns.
    pub(crate) fn select<T: DeserializeOwned>(&mut self, query: &str) -> Result<Vec<T>, StatementError> {
        let rows = self.run(&format!("SELECT coalesce(json_agg(t), '[]')::text FROM ({query}) t"))?;
        let json = rows.into_iter().flatten().flatten().next();
        let json = json.ok_or_else(|| self.nonsense("it returned no row for a query"))?;
        serde_json::from_str(&json)
            .map_err(|error| self.nonsense(format!("its catalogue has another shape: {error}")))
    }

    /// Runs statements in a transaction that is rolled back if one of them fails.
    pub(crate) fn transaction(&mut self, statements: &[String]) -> Result<(), StatementError> {
        if statements.is_empty() {
            return Ok(());
        }
        // One message: the server runs it completely or not at all, whichever side is killed
        // meanwhile.
        let sql = format!("BEGIN; {}; COMMIT", statements.join("; "));
        match self.run(&sql) {
            Ok(_) => Ok(()),
            Err(StatementError::Sql(error)) => {
                self.run("ROLLBACK")?;
                Err(StatementError::Sql(error))
            }
            Err(error) => Err(error),
        }
    }

    fn row(&self, row: &DataRowBody) -> Result<Vec<Option<String>>, StatementError> {
        let cells = row.ranges().map(|range| {
            Ok(range.map(|range| {
                String::from_utf8_lossy(row.buffer().get(range).unwrap_or_default()).into_owned()
            }))
        });
        cells.collect().map_err(|error: io::Error| self.nonsense(error.to_string()))
    }

    fn send(&mut self, message: &[u8]) -> Result<(), StatementError> {
        let sent = self.stream.write_all(message).and_then(|()| self.stream.flush());
        sent.map_err(|error| self.broken(error))
    }

    /// The next message that is not a notice.
    fn receive(&mut self) -> Result<Message, StatementError> {
        loop {
            let header = Header::parse(&self.input).map_err(|error| self.nonsense(error.to_string()))?;
            if header.is_some_and(|header| header.len() > LONGEST) {
                return Err(self
                    .nonsense("it announces a message of more than 8 MiB; this is not a PostgreSQL server"));
            }
            let parsed = Message::parse(&mut self.input);
            match parsed.map_err(|error| self.nonsense(error.to_string()))? {
                Some(
                    Message::NoticeResponse(_)
                    | Message::ParameterStatus(_)
                    | Message::NotificationResponse(_),
                ) => {}
                Some(message) => return Ok(message),
                None => {
                    let mut buffer = [0; 8 << 10];
                    match self.stream.read(&mut buffer) {
                        Ok(0) => return Err(self.broken(io::ErrorKind::UnexpectedEof.into())),
                        Ok(length) => self.input.extend_from_slice(buffer.get(..length).unwrap_or_default()),
                        Err(error) => return Err(self.broken(error)),
                    }
                }
            }
        }
    }

    fn broken(&self, error: io::Error) -> StatementError {
        StatementError::Net(NetError { server: self.server.clone(), trouble: error.into() })
    }

    fn nonsense(&self, message: impl Into<String>) -> StatementError {
        StatementError::Nonsense { server: self.server.clone(), message: message.into() }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let mut message = BytesMut::new();
        frontend::terminate(&mut message);
        // The connection ends either way.
        let _ = self.send(&message);
    }
}

/// Asks for TLS in PostgreSQL's way: one question, one letter.
fn agree(mut stream: Stream, place: &purlin_sdk_net::Server) -> Result<Stream, StatementError> {
    let broken =
        |error: io::Error| StatementError::Net(NetError { server: place.to_string(), trouble: error.into() });
    let mut message = BytesMut::new();
    frontend::ssl_request(&mut message);
    stream.write_all(&message).and_then(|()| stream.flush()).map_err(broken)?;
    let mut answer = [0];
    stream.read_exact(&mut answer).map_err(broken)?;
    match answer {
        [b'S'] => Ok(stream.secure(place)?),
        [b'N'] => Err(StatementError::Nonsense {
            server: place.to_string(),
            message: format!(
                "it has TLS turned off, but `connection.tls` is `{}`; `disable` connects without TLS",
                place.tls
            ),
        }),
        _ => Err(StatementError::Nonsense {
            server: place.to_string(),
            message: "it does not respond like a PostgreSQL server to a request for TLS".to_owned(),
        }),
    }
}

fn sql_error(body: &ErrorResponseBody) -> SqlError {
    let mut error = SqlError::default();
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        let text = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => error.code = text,
            b'M' => error.message = text,
            b'D' => error.detail = Some(text),
            b'H' => error.hint = Some(text),
            _ => {}
        }
    }
    error
}
