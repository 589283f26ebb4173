//! `wasi:http`: requests within the grants.
//!
//! Redirects are not followed: a driver that follows one makes another request, which is checked
//! like the first. The bytes on the wire are built here, from the values that were checked.

mod body;
mod bounds;
mod connect;
mod tls;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, Uri};
use purlin_model::grants::Scheme;
use purlin_model::server_problem::{self, ProblemKind};
use wasmtime::component::Linker;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use super::Guest;
use super::reach::{Reach, Refusal, Target};
use crate::deadline::Deadline;
use crate::limits::HANDLE_BYTES;
use crate::observer::HostRequest;
pub(super) use tls::Trust;

/// Bytes of a body that are read from the guest at once; a few pieces wait for the network.
const CHUNK: usize = 16 << 10;
/// The time limit for a connection if the guest sets none; the call's own limit applies anyway.
const CONNECT: Duration = Duration::from_secs(30);

pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    bounds::link(linker)
}

/// The requests of one call.
pub(super) struct Http {
    context: WasiHttpCtx,
    hooks: Hooks,
}

struct Hooks {
    reach: Reach,
    trust: Arc<Trust>,
    deadline: Deadline,
}

impl Http {
    pub(super) fn new(reach: Reach, trust: &Arc<Trust>, deadline: Deadline) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(HANDLE_BYTES);
        Self { context, hooks: Hooks { reach, trust: Arc::clone(trust), deadline } }
    }
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.log.requests(HostRequest::Other);
        let reach = self.reach();
        let Self { http, granted, table, deadline, .. } = self;
        let Http { context, hooks } = http.get_or_insert_with(|| Http::new(reach, &granted.trust, *deadline));
        WasiHttpCtxView { ctx: context, hooks, table }
    }
}

/// The result of a request: the answer, and the task that drives its connection.
type Answer = (Response<WasiBody>, Going);
type Going = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Hooks {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<Answer, Error>> + Send> {
        let (reach, trust, deadline) = (self.reach.clone(), Arc::clone(&self.trust), self.deadline);
        // The request is sent by a task of its own, and its body by another one.
        Box::new(async move {
            let answer = send(reach, trust, request, options.unwrap_or_default());
            let (response, going) =
                deadline.limit(answer).await.unwrap_or(Err(Error::ConnectionTerminated))?;
            let going = Box::into_pin(going);
            let going =
                async move { deadline.limit(going).await.unwrap_or(Err(Error::ConnectionTerminated)) };
            Ok((response, Box::new(going) as Going))
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK
    }

    fn p2_error_from_hyper(&mut self, error: &hyper::Error) -> ErrorCode {
        if error.is_timeout() { ErrorCode::HttpResponseTimeout } else { ErrorCode::HttpProtocolError }
    }

    fn p2_error_from_connect(&mut self, error: &std::io::Error) -> ErrorCode {
        match error.kind() {
            std::io::ErrorKind::ConnectionRefused => ErrorCode::ConnectionRefused,
            _ => ErrorCode::DestinationUnavailable,
        }
    }

    fn p2_error_from_tls(&mut self, error: &std::io::Error) -> ErrorCode {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::InvalidCertificate(_)) => ErrorCode::TlsCertificateError,
            _ => ErrorCode::TlsProtocolError,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Denied => Self::HttpRequestDenied,
            Refusal::Prohibited => Self::DestinationIpProhibited,
            Refusal::Exhausted => Self::ConnectionLimitReached,
            Refusal::NotFound => Self::DnsError { rcode: Some("no such name".into()), info_code: None },
        }
    }
}

async fn send(
    reach: Reach,
    trust: Arc<Trust>,
    request: Request<WasiBody>,
    options: RequestOptions,
) -> Result<Answer, Error> {
    let (scheme, host, port) = place(request.uri())?;
    let (scheme, host) = (scheme, host.to_owned());
    let server = format!("{host}:{port}");
    let made = server_problem::RequestLine {
        method: request.method().to_string(),
        url: match port == scheme.port() {
            true => format!("{scheme}://{host}{}", request.uri().path()),
            false => format!("{scheme}://{host}:{port}{}", request.uri().path()),
        },
    };
    let notes = reach.clone();
    let mut answer = exchange(reach, trust, request, options, (scheme, host, port)).await;
    if answer.is_ok() && notes.loses_answer() {
        answer = Err(Error::ConnectionTerminated);
    }
    match &answer {
        Ok((response, _)) => notes.notes(&server, Some(made), status(response.status())),
        Err(error) => {
            if let Some(problem) = problem(error) {
                notes.notes(&server, Some(made), Some(problem));
            }
        }
    }
    answer
}

fn status(status: http::StatusCode) -> Option<ProblemKind> {
    (status.is_client_error() || status.is_server_error()).then(|| ProblemKind::Status(status.as_u16()))
}

/// The part of an error that concerns the call and the server; none if the host denied the request.
fn problem(error: &Error) -> Option<ProblemKind> {
    use std::io::ErrorKind;
    Some(match error {
        Error::Connect(error) => match error.kind() {
            ErrorKind::ConnectionRefused => ProblemKind::Refused,
            ErrorKind::TimedOut => ProblemKind::ConnectTimeout,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => ProblemKind::Unreachable,
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => ProblemKind::Closed,
            _ => ProblemKind::Other(error.to_string()),
        },
        Error::Tls(error) => match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => ProblemKind::Closed,
            _ => ProblemKind::Tls(error.to_string()),
        },
        Error::DnsError { .. } | Error::DnsTimeout => ProblemKind::UnknownHost,
        Error::DestinationNotFound | Error::DestinationUnavailable => ProblemKind::Unreachable,
        Error::ConnectionTimeout => ProblemKind::ConnectTimeout,
        Error::HttpResponseTimeout | Error::ConnectionReadTimeout => ProblemKind::ReplyTimeout,
        Error::Hyper(error) if error.is_timeout() => ProblemKind::ReplyTimeout,
        Error::Hyper(error) if error.is_parse() => ProblemKind::Garbled,
        Error::Hyper(_) | Error::HttpResponseIncomplete | Error::ConnectionTerminated => ProblemKind::Closed,
        _ => return None,
    })
}

async fn exchange(
    reach: Reach,
    trust: Arc<Trust>,
    request: Request<WasiBody>,
    options: RequestOptions,
    (scheme, host, port): (Scheme, String, u16),
) -> Result<Answer, Error> {
    // Some servers ignore the case.
    if request.method().as_str().eq_ignore_ascii_case(Method::CONNECT.as_str()) {
        return Err(Error::HttpRequestMethodInvalid);
    }
    // Guests that send more requests at once wait for their turn.
    let turn = reach.turn().await.ok_or(Error::ConnectionLimitReached)?;
    let method = request.method().clone();
    let target = Target { method: method.as_str(), scheme, host: &host, port, path: request.uri().path() };
    let addresses = reach.dial(target).await?;
    let connecting = async {
        let stream = connect::dial(&addresses).await?;
        match scheme {
            Scheme::Http => Ok::<_, Error>(connect::Stream::Plain(stream)),
            Scheme::Https => Ok(connect::Stream::Tls(Box::new(trust.secure(&host, stream).await?))),
        }
    };
    let limit = options.connect_timeout.unwrap_or(CONNECT);
    let stream = tokio::time::timeout(limit, connecting).await.map_err(|_| Error::ConnectionTimeout)??;
    let (response, connection) = connect::exchange(stream, origin_form(request)?, options).await?;
    let response = response.map(|incoming| body::counted(incoming, reach, options.between_bytes_timeout));
    let going = async move {
        let _turn = turn;
        connection.await.map_err(Error::from)
    };
    Ok((response, Box::new(going)))
}

/// The destination of a request: only the authority gives it, and contains nothing else.
fn place(uri: &Uri) -> Result<(Scheme, &str, u16), Error> {
    let scheme = match uri.scheme_str() {
        Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        _ => return Err(Error::HttpRequestUriInvalid),
    };
    let authority = uri.authority().ok_or(Error::HttpRequestUriInvalid)?;
    let (host, text) = (authority.host(), authority.as_str());
    let port = match text.strip_prefix(host) {
        Some("") => scheme.port(),
        Some(rest) => match rest.strip_prefix(':').filter(|port| port.bytes().all(|b| b.is_ascii_digit())) {
            // Digits only: a sign before them has more than one interpretation.
            Some(port) => match port.parse::<u16>() {
                Ok(port) if port > 0 => port,
                _ => return Err(Error::HttpRequestUriInvalid),
            },
            None => return Err(Error::HttpRequestUriInvalid),
        },
        // There is a user name or password before the host.
        None => return Err(Error::HttpRequestUriInvalid),
    };
    if host.is_empty() || !uri.path().starts_with('/') {
        return Err(Error::HttpRequestUriInvalid);
    }
    Ok((scheme, host, port))
}

/// The request as it is sent: with path and query only, so that no server treats it as a request to
/// another one.
fn origin_form(request: Request<WasiBody>) -> Result<Request<WasiBody>, Error> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let path = if path.starts_with('?') { format!("/{path}") } else { path.to_owned() };
    parts.uri = Uri::builder().path_and_query(path).build().map_err(|_| Error::HttpRequestUriInvalid)?;
    Ok(Request::from_parts(parts, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_authority_determines_the_target() {
        let place = |text: &str| {
            let uri: Uri = text.parse().expect("a URI");
            place(&uri).map(|(scheme, host, port)| format!("{scheme} {host} {port}")).ok()
        };
        assert_eq!(place("https://a.b/x").as_deref(), Some("https a.b 443"));
        assert_eq!(place("http://a.b:8080").as_deref(), Some("http a.b 8080"));
        assert_eq!(place("http://[::1]:81/").as_deref(), Some("http [::1] 81"));
        for wrong in [
            "http://u@a.b/",
            "http://u:p@a.b/",
            "http://a.b:0/",
            "ftp://a.b/",
            "/x",
            "http://a.b:99999/",
            "http://a.b:+80/",
            "http://a.b:/",
        ] {
            assert_eq!(wrong.parse::<Uri>().ok().and_then(|_| place(wrong)), None, "{wrong}");
        }
    }
}
