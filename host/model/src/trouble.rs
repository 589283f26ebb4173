//! What the host itself sees go wrong while a driver works: a server that cannot be reached, an
//! access that no grant covers. Facts, whatever language the driver is written in and whatever it
//! says itself; they get their words where people read them.

/// What happened between a call and a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// `HOST:PORT`, or a host alone where only its name was looked up.
    pub server: String,
    /// The request, where it was one.
    pub request: Option<Request>,
    /// What went wrong.
    pub problem: Problem,
}

/// A request, without its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Such as `POST`.
    pub method: String,
    /// Scheme, host, port and path.
    pub url: String,
}

/// What can go wrong between a call and a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The machine answers, and no server listens on the port.
    Refused,
    /// No name server knows the name.
    UnknownHost,
    /// There is no way there.
    Unreachable,
    /// No connection was made in time.
    ConnectTimeout,
    /// A connection was made, and no reply came in time.
    ReplyTimeout,
    /// TLS could not be agreed on, or the server did not prove who it is.
    Tls(String),
    /// The server ended the connection before it replied.
    Closed,
    /// The reply is not HTTP.
    Garbled,
    /// The server replied with a status of 400 or above.
    Status(u16),
    /// Anything else that the system reports.
    Other(String),
}

impl Problem {
    /// A stable short name, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused => "connection-refused",
            Self::UnknownHost => "unknown-host",
            Self::Unreachable => "unreachable",
            Self::ConnectTimeout => "connect-timeout",
            Self::ReplyTimeout => "reply-timeout",
            Self::Tls(_) => "tls",
            Self::Closed => "connection-closed",
            Self::Garbled => "not-http",
            Self::Status(_) => "status",
            Self::Other(_) => "connection",
        }
    }

    /// Whether the server was not talked to at all, so that what the driver reports can only be this.
    pub fn is_connection(&self) -> bool {
        !matches!(self, Self::Status(_))
    }
}
