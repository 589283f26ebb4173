//! Requests and answers over HTTP/1.1, as much as clients of an API server need.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// A request.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// Such as `PATCH`.
    pub(super) method: String,
    /// Segments, decoded.
    pub(super) path: Vec<String>,
    /// Decoded.
    pub(super) query: BTreeMap<String, String>,
    /// Names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    /// Whole.
    pub(super) body: Vec<u8>,
}

impl Request {
    /// A header, or nothing.
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(String::as_str).unwrap_or_default()
    }

    /// A parameter of the query, or nothing.
    pub(super) fn parameter(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }
}

/// Reads the next request; none at the end.
pub(super) fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let line = line(stream)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method,
        path: path.split('/').filter(|segment| !segment.is_empty()).map(decoded).collect(),
        query: query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (decoded(name), decoded(value)))
            .collect(),
        ..Request::default()
    };
    loop {
        let line = self::line(stream)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        request.headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    if request.header("transfer-encoding") == "chunked" {
        loop {
            let length = usize::from_str_radix(self::line(stream)?.trim(), 16).ok()?;
            let mut chunk = vec![0; length];
            stream.read_exact(&mut chunk).ok()?;
            request.body.extend(chunk);
            self::line(stream)?;
            if length == 0 {
                break;
            }
        }
    } else {
        request.body = vec![0; request.header("content-length").parse().unwrap_or(0)];
        stream.read_exact(&mut request.body).ok()?;
    }
    Some(request)
}

/// Whether whoever asked has gone.
pub(super) fn is_closed(stream: &TcpStream) -> bool {
    let looked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    let closed = matches!(looked, Ok(0));
    closed || stream.set_nonblocking(false).is_err()
}

fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    match stream.read_line(&mut line) {
        Ok(1..) => Some(line.trim_end().to_owned()),
        _ => None,
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let hex: Vec<u8> = rest.by_ref().take(2).collect();
                let hex = String::from_utf8(hex).unwrap_or_default();
                bytes.push(u8::from_str_radix(&hex, 16).unwrap_or(b'?'));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes an answer.
pub(super) fn answer(
    stream: &TcpStream,
    status: u16,
    headers: &[(&str, &str)],
    body: &Value,
) -> std::io::Result<()> {
    let (kind, body) = match body {
        Value::String(text) => ("text/plain", text.clone()),
        body => ("application/json", body.to_string()),
    };
    let mut text =
        format!("HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(&body);
    let mut stream = stream;
    stream.write_all(text.as_bytes())
}
