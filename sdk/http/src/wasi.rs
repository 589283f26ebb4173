//! Requests over `wasi:http`. Nothing here waits longer than the exchange may take: each wait ends
//! with its event or with the time.

use std::time::Duration;

use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method, OutgoingBody,
    OutgoingRequest, RequestOptions, Scheme, http_error_code,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::{OutputStream, StreamError};

use crate::{Error, Limits, Parts, Request, Response};

/// The longest time to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// Bytes read at once.
const CHUNK: u64 = 64 << 10;

pub(crate) fn exchange(request: &Request, limits: &Limits) -> Result<Response, Error> {
    let end = subscribe_duration(nanoseconds(limits.time));
    let outgoing = outgoing(request)?;
    let body = if request.body.is_empty() { None } else { outgoing.body().ok() };
    let options = RequestOptions::new();
    // This distinguishes a slow connection from a slow answer.
    let _ = options.set_connect_timeout(Some(nanoseconds(limits.time.min(CONNECT))));
    let answer = handle(outgoing, Some(options)).map_err(|code| meaning(request, limits, code))?;
    let answered = answer.subscribe();
    if let Some(body) = body {
        if let Ok(stream) = body.write() {
            write(&stream, &request.body, &answered, &end);
        }
        // After a body that could not be sent completely, there is an answer all the same, or an
        // error there.
        let _ = OutgoingBody::finish(body, None);
    }
    wait(&answered, &end).map_err(|()| Error::lost(request, too_slow(limits)))?;
    read(request, limits, &incoming(request, limits, &answer)?, &end)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn too_slow(limits: &Limits) -> String {
    format!("no answer within {:.1} s", limits.time.as_secs_f64())
}

fn outgoing(request: &Request) -> Result<OutgoingRequest, Error> {
    let parts = Parts::of(&request.url).map_err(|message| Error::unusable(request, message))?;
    let fields = Fields::new();
    let append = |name: &str, value: &str| {
        let wrong = |error| Error::unusable(request, format!("the header `{name}` cannot be sent: {error}"));
        fields.append(name, value.as_bytes()).map_err(wrong)
    };
    for (name, value) in &request.headers {
        append(name, value)?;
    }
    if request.needs_content_length() {
        append("content-length", &request.body.len().to_string())?;
    }
    let outgoing = OutgoingRequest::new(fields);
    let scheme = if parts.secure { Scheme::Https } else { Scheme::Http };
    let set = outgoing
        .set_method(&method(&request.method))
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(parts.authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&parts.path)));
    match set {
        Ok(()) => Ok(outgoing),
        Err(()) => Err(Error::unusable(request, "the method or the URL cannot be sent")),
    }
}

fn method(method: &str) -> Method {
    match method {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "OPTIONS" => Method::Options,
        "TRACE" => Method::Trace,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

/// Waits for something, or the end of the time.
fn wait(something: &Pollable, end: &Pollable) -> Result<(), ()> {
    if !something.ready() {
        poll(&[something, end]);
    }
    if something.ready() { Ok(()) } else { Err(()) }
}

/// Writes a body until all of it is sent, or the server accepts no more.
fn write(stream: &OutputStream, mut bytes: &[u8], answered: &Pollable, end: &Pollable) {
    let ready = stream.subscribe();
    let mut flushed = false;
    loop {
        let Ok(room) = stream.check_write() else { return };
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        if room > 0 {
            let (now, later) = bytes.split_at(room);
            if stream.write(now).is_err() {
                return;
            }
            bytes = later;
        } else if bytes.is_empty() && flushed {
            return;
        } else if bytes.is_empty() {
            if stream.flush().is_err() {
                return;
            }
            flushed = true;
        } else {
            poll(&[&ready, answered, end]);
            if !ready.ready() {
                return;
            }
        }
    }
}

fn incoming(
    request: &Request,
    limits: &Limits,
    answer: &FutureIncomingResponse,
) -> Result<IncomingResponse, Error> {
    match answer.get() {
        Some(Ok(Ok(incoming))) => Ok(incoming),
        Some(Ok(Err(code))) => Err(meaning(request, limits, code)),
        Some(Err(())) | None => Err(Error::lost(request, "the answer cannot be received")),
    }
}

fn read(
    request: &Request,
    limits: &Limits,
    incoming: &IncomingResponse,
    end: &Pollable,
) -> Result<Response, Error> {
    let headers = incoming.headers().entries().into_iter();
    let headers = headers.map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned())).collect();
    let gone = |()| Error::lost(request, "the answer cannot be read");
    let body = incoming.consume().map_err(gone)?;
    let mut all = Vec::new();
    {
        let stream = body.stream().map_err(gone)?;
        let ready = stream.subscribe();
        loop {
            match stream.read(CHUNK) {
                Ok(more) if more.is_empty() => {
                    wait(&ready, end).map_err(|()| {
                        let seconds = limits.time.as_secs_f64();
                        Error::lost(request, format!("the answer did not end within {seconds:.1} s"))
                    })?;
                }
                Ok(more) if all.len() + more.len() > limits.largest => {
                    return Err(Error::too_large(request, limits.largest));
                }
                Ok(more) => all.extend_from_slice(&more),
                Err(StreamError::Closed) => break,
                Err(StreamError::LastOperationFailed(error)) => {
                    return Err(match http_error_code(&error) {
                        Some(code @ ErrorCode::HttpResponseBodySize(_)) => meaning(request, limits, code),
                        Some(code) => Error::lost(request, format!("the answer broke off: {code:?}")),
                        None => Error::lost(request, "the answer broke off"),
                    });
                }
            }
        }
    }
    drop(IncomingBody::finish(body));
    Ok(Response::new(incoming.status(), headers, all))
}

/// The meaning of the host's error.
fn meaning(request: &Request, limits: &Limits, code: ErrorCode) -> Error {
    let target = request.target();
    match code {
        ErrorCode::HttpRequestDenied => Error::Denied { target, message: String::new() },
        ErrorCode::DestinationIpProhibited => Error::Denied {
            target,
            message: "the name leads to an address that is not public, and has to be granted too".to_owned(),
        },
        ErrorCode::DnsError(_) => {
            Error::Untrusted { target, message: "the host name cannot be resolved".to_owned() }
        }
        ErrorCode::TlsCertificateError => Error::Untrusted {
            target,
            message: "the server's certificate is not trusted; grant `ca` where its authority is your own"
                .to_owned(),
        },
        ErrorCode::TlsProtocolError | ErrorCode::TlsAlertReceived(_) => {
            Error::Untrusted { target, message: "the TLS handshake failed".to_owned() }
        }
        ErrorCode::ConnectionRefused => Error::unreachable(request, "the connection was refused"),
        ErrorCode::ConnectionTimeout => Error::unreachable(request, "the connection timed out"),
        ErrorCode::DnsTimeout
        | ErrorCode::DestinationNotFound
        | ErrorCode::DestinationUnavailable
        | ErrorCode::DestinationIpUnroutable => Error::unreachable(request, "the server cannot be reached"),
        ErrorCode::ConnectionLimitReached => {
            Error::unusable(request, "this call has made as many requests as `limits.requests` allows")
        }
        ErrorCode::HttpRequestUriInvalid
        | ErrorCode::HttpRequestMethodInvalid
        | ErrorCode::HttpRequestUriTooLong
        | ErrorCode::HttpRequestHeaderSectionSize(_)
        | ErrorCode::HttpRequestHeaderSize(_) => Error::unusable(request, format!("{code:?}")),
        ErrorCode::HttpResponseBodySize(_) => Error::too_large(request, limits.largest),
        ErrorCode::HttpResponseTimeout | ErrorCode::ConnectionReadTimeout => {
            Error::lost(request, too_slow(limits))
        }
        ErrorCode::ConnectionTerminated
        | ErrorCode::HttpResponseIncomplete
        | ErrorCode::HttpProtocolError => Error::lost(request, "the connection ended before the answer"),
        other => Error::lost(request, format!("{other:?}")),
    }
}
