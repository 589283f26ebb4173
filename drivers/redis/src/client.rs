//! A small client: commands go out as arrays of strings, answers come in as RESP2.

use std::io::{self, Read, Write};
use std::time::Duration;

use purlin_sdk::Failure;
use purlin_sdk_net::{Deadline, Error as NetError, Stream, Tls};

use crate::inputs::Connection;

/// Bytes of the longest answer to read.
const LONGEST: usize = 16 << 20;
/// How deep an answer may be nested.
const DEEPEST: usize = 8;

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A word, or a text.
    Text(String),
    Number(i64),
    List(Vec<Reply>),
    /// An error, as a part of an answer.
    Refused(String),
    Nothing,
}

impl Reply {
    /// The text, if it is text.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The connection.
    Net(NetError),
    /// The server rejected it, in these words.
    Refused(String),
    /// The server did it, and could not save it.
    Unsaved(String),
    /// The server does not follow the protocol.
    Nonsense { server: String, message: String },
}

impl CommandError {
    /// Whether the outcome of the command is unknown.
    pub(crate) fn is_uncertain(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }

    /// The failure, if nothing was changed. `what` is the intended action.
    pub(crate) fn failure(&self, what: &str) -> Failure {
        let refused = match self {
            Self::Net(error) => return error.failure(what),
            Self::Nonsense { .. } | Self::Unsaved(_) => return Failure::failed(format!("{what}: {self}")),
            Self::Refused(words) => words,
        };
        let text = format!("{what}: {self}");
        let code = refused.split(' ').next().unwrap_or_default();
        let advice = match code {
            "WRONGPASS" => "; `connection.password` has to be the password of `connection.user`",
            "NOAUTH" => "; the server requires a password: set `connection.password`",
            "NOPERM" => "; the user `connection.user` needs the commands `+ping +acl +multi +exec`",
            "READONLY" => "; the server is a replica",
            "LOADING" | "BUSY" | "TRYAGAIN" | "MASTERDOWN" | "CLUSTERDOWN" => {
                return Failure::retry_after(Duration::from_secs(2), text);
            }
            _ if refused.contains("max number of clients") => {
                return Failure::retry_after(Duration::from_secs(5), text);
            }
            _ => "",
        };
        Failure::failed(format!("{text}{advice}")).with_detail("code", code)
    }
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Net(error) => error.fmt(f),
            Self::Refused(words) => f.write_str(words),
            Self::Unsaved(words) => write!(f, "it was done, but the server cannot save it: {words}"),
            Self::Nonsense { server, message } => write!(f, "cannot talk to {server}: {message}"),
        }
    }
}

/// A command as it is sent.
fn message(words: &[&str]) -> Vec<u8> {
    let mut message = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        message.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        message.extend_from_slice(word.as_bytes());
        message.extend_from_slice(b"\r\n");
    }
    message
}

/// A connection.
pub(crate) struct Client {
    stream: Stream,
    input: Vec<u8>,
    /// Bytes of `input` that are already read.
    read: usize,
    server: String,
}

impl Client {
    /// Connects, negotiates TLS, and authenticates.
    pub(crate) fn connect(connection: &Connection, until: Deadline) -> Result<Self, CommandError> {
        let place = connection.place();
        let mut stream = purlin_sdk_net::connect(&place, until).map_err(CommandError::Net)?;
        if place.tls != Tls::Disable {
            stream = stream.secure(&place).map_err(CommandError::Net)?;
        }
        let mut client = Self { stream, input: Vec::new(), read: 0, server: place.to_string() };
        match (&connection.password, connection.user.as_str()) {
            (Some(password), user) => client.run(&["AUTH", user, password])?,
            // There is nothing to authenticate with: the server answers whether it accepts that.
            (None, _) => client.run(&["PING"])?,
        };
        client.stream.wait_until(until);
        Ok(client)
    }

    /// Runs a command.
    pub(crate) fn run(&mut self, words: &[&str]) -> Result<Reply, CommandError> {
        self.send(&message(words))?;
        self.answer()
    }

    /// Runs commands directly one after the other, with no command of other clients between them,
    /// even if this process dies before the answers arrive. They go out as one message.
    pub(crate) fn together(&mut self, commands: &[&[&str]]) -> Result<Vec<Reply>, CommandError> {
        let mut all = message(&["MULTI"]);
        for words in commands {
            all.extend_from_slice(&message(words));
        }
        all.extend_from_slice(&message(&["EXEC"]));
        self.send(&all)?;
        let mut refused = None;
        // Each one is acknowledged; the last answer covers all of them.
        for _ in 0..=commands.len() {
            match self.answer() {
                Err(CommandError::Refused(words)) => {
                    refused.get_or_insert(words);
                }
                answer => drop(answer?),
            }
        }
        match (self.answer(), refused) {
            (Ok(Reply::List(replies)), None) if replies.len() == commands.len() => Ok(replies),
            // If the server rejects a command when it is queued, it runs none of them.
            (Err(CommandError::Refused(_)), Some(words)) => Err(CommandError::Refused(words)),
            (Err(fault), _) => Err(fault),
            _ => Err(self.nonsense("it sent an unexpected response to a transaction")),
        }
    }

    fn send(&mut self, message: &[u8]) -> Result<(), CommandError> {
        self.input.drain(..self.read);
        self.read = 0;
        let sent = self.stream.write_all(message).and_then(|()| self.stream.flush());
        sent.map_err(|error| self.broken(error))
    }

    fn answer(&mut self) -> Result<Reply, CommandError> {
        match self.reply(0)? {
            Reply::Refused(words) => Err(CommandError::Refused(words)),
            reply => Ok(reply),
        }
    }

    fn reply(&mut self, depth: usize) -> Result<Reply, CommandError> {
        let line = self.line()?;
        let (kind, rest) = match line.split_at_checked(1) {
            Some(parts) => parts,
            None => return Err(self.nonsense("an answer is an empty line")),
        };
        let number = |client: &Self| rest.parse::<i64>().map_err(|_| client.nonsense("a number is missing"));
        match kind {
            "+" => Ok(Reply::Text(rest.to_owned())),
            "-" => Ok(Reply::Refused(rest.to_owned())),
            ":" => number(self).map(Reply::Number),
            "$" | "*" => {
                let length = number(self)?;
                if length < 0 {
                    return Ok(Reply::Nothing);
                }
                let length =
                    usize::try_from(length).ok().filter(|length| *length <= LONGEST && depth <= DEEPEST);
                let Some(length) = length else {
                    return Err(self.nonsense("a response is too long or too deep"));
                };
                if kind == "$" { self.text(length).map(Reply::Text) } else { self.list(length, depth) }
            }
            _ => Err(self.nonsense("it does not answer like a Redis server")),
        }
    }

    fn list(&mut self, length: usize, depth: usize) -> Result<Reply, CommandError> {
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(self.reply(depth + 1)?);
        }
        Ok(Reply::List(items))
    }

    fn line(&mut self) -> Result<String, CommandError> {
        loop {
            let unread = self.input.get(self.read..).unwrap_or_default();
            if let Some(length) = unread.windows(2).position(|end| end == b"\r\n") {
                let line = String::from_utf8_lossy(unread.get(..length).unwrap_or_default()).into_owned();
                self.read += length + 2;
                return Ok(line);
            }
            if unread.len() > 64 << 10 {
                return Err(self.nonsense("it does not answer like a Redis server"));
            }
            self.more()?;
        }
    }

    fn text(&mut self, length: usize) -> Result<String, CommandError> {
        loop {
            let unread = self.input.get(self.read..).unwrap_or_default();
            if let Some(text) = unread.get(..length + 2) {
                let text = String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned();
                self.read += length + 2;
                return Ok(text);
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> Result<(), CommandError> {
        if self.input.len() > LONGEST {
            return Err(self.nonsense("a response is too long"));
        }
        let mut buffer = [0; 8 << 10];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(self.broken(io::ErrorKind::UnexpectedEof.into())),
            Ok(length) => {
                self.input.extend_from_slice(buffer.get(..length).unwrap_or_default());
                Ok(())
            }
            Err(error) => Err(self.broken(error)),
        }
    }

    fn broken(&self, error: io::Error) -> CommandError {
        CommandError::Net(NetError { server: self.server.clone(), trouble: error.into() })
    }

    fn nonsense(&self, message: impl Into<String>) -> CommandError {
        CommandError::Nonsense { server: self.server.clone(), message: message.into() }
    }
}
