//! Problems that the host itself observes while a driver works: an unreachable server, or a missing
//! grant. They are facts, whatever the driver's language and messages; they get their words when
//! they are shown.

/// A problem between a call and a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerProblem {
    /// `HOST:PORT`, or a host alone if only its name was looked up.
    pub server: String,
    /// The request, if there was one.
    pub request: Option<RequestLine>,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// A request, without its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLine {
    /// Such as `POST`.
    pub method: String,
    /// Scheme, host, port and path.
    pub url: String,
}

/// The possible problems between a call and a server.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum ProblemKind {
    /// The machine answers, and no server listens on the port.
    #[strum(serialize = "connection-refused")]
    Refused,
    /// No name server knows the name.
    UnknownHost,
    /// There is no route.
    Unreachable,
    /// No connection was made in time.
    ConnectTimeout,
    /// A connection was made, and no reply came in time.
    ReplyTimeout,
    /// TLS could not be negotiated, or the server did not prove its identity.
    Tls(String),
    /// The server ended the connection before it replied.
    #[strum(serialize = "connection-closed")]
    Closed,
    /// The reply is not HTTP.
    #[strum(serialize = "not-http")]
    Garbled,
    /// The server replied with a status of 400 or above.
    Status(u16),
    /// Anything else that the system reports.
    #[strum(serialize = "connection")]
    Other(String),
}

impl ProblemKind {
    /// A stable short name, for programs.
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// Whether there was no communication with the server at all, so that it must be the cause of
    /// the driver's error.
    pub fn is_connection(&self) -> bool {
        !matches!(self, Self::Status(_))
    }
}
