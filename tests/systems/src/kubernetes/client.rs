//! Manual requests, through `kubectl proxy`.

use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A way to the API server over plain HTTP, with a token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Door {
    pub(super) port: u16,
    pub(super) token: &'static str,
}

impl Door {
    /// Sends a request, and returns status and JSON; status 0 without an answer.
    pub(super) fn ask(self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.send(method, path, "application/json", body).unwrap_or_default()
    }

    /// Merges into the existing object.
    pub(super) fn merge(self, path: &str, patch: &Value) -> (u16, Value) {
        self.send("PATCH", path, "application/merge-patch+json", patch).unwrap_or_default()
    }

    /// Sends a request whose answer is a line for each event, after the lines of its head. A read without a
    /// line fails after `patience`.
    pub(super) fn watch(self, path: &str, patience: Duration) -> io::Result<BufReader<TcpStream>> {
        let stream = self.request("GET", path, "application/json", "")?;
        stream.set_read_timeout(Some(patience))?;
        Ok(BufReader::new(stream))
    }

    fn send(self, method: &str, path: &str, kind: &str, body: &Value) -> io::Result<(u16, Value)> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        answer(self.request(method, path, kind, &body)?)
    }

    fn request(self, method: &str, path: &str, kind: &str, body: &str) -> io::Result<TcpStream> {
        let headers = format!("authorization: Bearer {}\r\ncontent-type: {kind}\r\n", self.token);
        request(self.port, method, path, &headers, body)
    }
}

/// Sends a request to a server on loopback.
pub(super) fn request(
    port: u16,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    // HTTP/1.0 has no chunks: the answer ends with the connection.
    let request = format!(
        "{method} {path} HTTP/1.0\r\nhost: localhost\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    Ok(stream)
}

/// The status and the JSON of an answer.
pub(super) fn answer(mut stream: TcpStream) -> io::Result<(u16, Value)> {
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    Ok((status, serde_json::from_str(body).unwrap_or_default()))
}
