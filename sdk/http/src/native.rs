//! Requests from unit tests to a server on loopback: plain HTTP/1.1 over `std::net`, with one
//! connection each. Drivers do not use it: in a sandbox there is `wasi:http`.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Instant;

use crate::{Error, Limits, Parts, Request, Response};

pub(crate) fn exchange(request: &Request, limits: &Limits) -> Result<Response, Error> {
    let parts = Parts::of(&request.url).map_err(|message| Error::unusable(request, message))?;
    if parts.secure {
        return Err(Error::unusable(request, "there is no TLS outside of the sandbox"));
    }
    let end = Instant::now() + limits.time;
    let mut stream = connect(request, &parts, limits)?;
    let lost = |error: std::io::Error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            Error::lost(request, format!("no answer within {:.1} s", limits.time.as_secs_f64()))
        }
        _ => Error::lost(request, format!("the connection ended before the answer: {error}")),
    };
    let mut head = format!("{} {} HTTP/1.1\r\nhost: {}\r\n", request.method, parts.path, parts.authority);
    head.push_str("connection: close\r\n");
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if request.needs_content_length() {
        head.push_str(&format!("content-length: {}\r\n", request.body.len()));
    }
    head.push_str("\r\n");
    // A server that does not accept the body may answer all the same.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&request.body));
    let mut answer = BufReader::new(Timed { stream, end });
    let (status, headers) = loop {
        let (status, headers) = read_head(&mut answer).map_err(lost)?;
        if status >= 200 {
            break (status, headers);
        }
    };
    let mut response = Response::new(status, headers, Vec::new());
    if request.method != "HEAD" && !matches!(status, 204 | 304) {
        match read_body(&mut answer, &response, limits.largest) {
            Ok(body) => response.body = body,
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                return Err(Error::too_large(request, limits.largest));
            }
            Err(error) => return Err(lost(error)),
        }
    }
    Ok(response)
}

fn connect(request: &Request, parts: &Parts<'_>, limits: &Limits) -> Result<TcpStream, Error> {
    let has_port = parts.authority.strip_prefix(parts.host()).is_some_and(|rest| rest.starts_with(':'))
        || parts.authority.contains("]:");
    let place = if has_port { parts.authority.to_owned() } else { format!("{}:80", parts.authority) };
    let found = place.to_socket_addrs().map_err(|error| Error::Untrusted {
        target: request.target(),
        message: format!("the host name cannot be resolved: {error}"),
    })?;
    let mut last = "the connection was refused".to_owned();
    for address in found {
        match TcpStream::connect_timeout(&address, limits.time) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error.to_string(),
        }
    }
    Err(Error::unreachable(request, last))
}

/// A stream with a deadline.
struct Timed {
    stream: TcpStream,
    end: Instant,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

fn line(answer: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    answer.take(64 << 10).read_line(&mut line)?;
    match line.strip_suffix("\n") {
        Some(line) => Ok(line.trim_end_matches('\r').to_owned()),
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}

fn read_head(answer: &mut impl BufRead) -> std::io::Result<(u16, Vec<(String, String)>)> {
    let first = line(answer)?;
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    let status = status.and_then(|status| status.parse().ok()).ok_or(ErrorKind::InvalidData)?;
    let mut headers = Vec::new();
    loop {
        let line = line(answer)?;
        if line.is_empty() {
            return Ok((status, headers));
        }
        let (name, value) = line.split_once(':').ok_or(ErrorKind::InvalidData)?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

fn read_body(answer: &mut impl BufRead, head: &Response, largest: usize) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if head.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        loop {
            let size = line(answer)?;
            let size = size.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| ErrorKind::InvalidData)?;
            if size == 0 {
                return Ok(body);
            }
            more(answer, &mut body, size, largest)?;
            line(answer)?;
        }
    }
    match head.header("content-length") {
        Some(length) => {
            let length = length.parse().map_err(|_| ErrorKind::InvalidData)?;
            more(answer, &mut body, length, largest)?;
        }
        None => {
            answer.take(largest as u64 + 1).read_to_end(&mut body)?;
            if body.len() > largest {
                return Err(ErrorKind::FileTooLarge.into());
            }
        }
    }
    Ok(body)
}

fn more(answer: &mut impl BufRead, body: &mut Vec<u8>, size: usize, largest: usize) -> std::io::Result<()> {
    if body.len().saturating_add(size) > largest {
        return Err(ErrorKind::FileTooLarge.into());
    }
    let before = body.len();
    answer.take(size as u64).read_to_end(body)?;
    if body.len() - before == size { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
}
