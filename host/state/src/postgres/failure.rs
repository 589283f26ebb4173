//! Why a statement failed, or the login before it: what may pass by itself, and what somebody has to change
//! first.

use std::io;

use tokio_postgres::error::{DbError, SqlState};

use crate::Error;
use crate::error::{LoginFault, Outage};

/// The SQLSTATE class of rejected logins.
const INVALID_AUTHORIZATION: &str = "28";

/// Why a statement failed.
#[derive(Clone, Debug)]
pub(super) enum QueryFailure {
    /// The tables do not exist.
    Missing,
    /// There was no response, so it is unknown whether the statement was executed. Another attempt
    /// may succeed.
    Lost(Outage, String),
    /// No login succeeds until somebody changes something.
    Login(LoginFault, String),
    /// The credentials cannot be had.
    Credentials { reason: String, help: Option<String> },
    /// The user lacks a right.
    Denied(String),
    /// The server rejected the statement.
    Refused(String),
}

impl QueryFailure {
    /// The failure as an error for users.
    pub(super) fn into_error(self, place: &str, action: &'static str) -> Error {
        let place = place.to_owned();
        match self {
            Self::Missing => Error::Unprepared { place },
            Self::Lost(outage, detail) => Error::Unreachable { place, outage, detail },
            Self::Login(fault, detail) => Error::Login { place, fault, detail },
            Self::Credentials { reason, help } => Error::Credentials { reason, help },
            Self::Denied(detail) => Error::Denied { place, action, detail },
            Self::Refused(detail) => Error::Database { place, action, detail },
        }
    }

    /// The same failure of a login after an earlier one succeeded, with credentials that can change: the
    /// server and their source may have changed at different times.
    pub(super) fn after_success(self) -> Self {
        match self {
            Self::Login(LoginFault::Rejected | LoginFault::NeedsCertificate, detail) => {
                Self::Lost(Outage::Credentials, detail)
            }
            Self::Credentials { reason, .. } => Self::Lost(Outage::Credentials, reason),
            other => other,
        }
    }

    /// Whether other credentials may help.
    pub(super) fn is_about_credentials(&self) -> bool {
        matches!(self, Self::Login(LoginFault::Rejected | LoginFault::NeedsCertificate, _))
    }

    /// The failure of a connection: what speaks another protocol, or no TLS, will not do so at another
    /// attempt. While a statement is under way, the same error leaves open whether it was executed.
    pub(super) fn of_connection(error: &tokio_postgres::Error) -> Self {
        match Self::of_statement(error) {
            Self::Lost(outage, detail) if error.as_db_error().is_none() => match fault(error) {
                Some(fault) => Self::Login(fault, detail),
                None => Self::Lost(outage, detail),
            },
            failure => failure,
        }
    }

    /// The failure of a statement.
    pub(super) fn of_statement(error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(answer) => Self::of_answer(answer),
            None => Self::Lost(outage(error), cause(error)),
        }
    }

    /// The failure that the server reports.
    fn of_answer(answer: &DbError) -> Self {
        let code = answer.code();
        if [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME].contains(code) {
            return Self::Missing;
        }
        let detail = format!("{} (SQLSTATE {})", answer.message(), code.code());
        if let Some(fault) = rejection_of_pooler(answer) {
            return Self::Login(fault, detail);
        }
        if code.code().starts_with(INVALID_AUTHORIZATION) {
            return Self::Login(rejection(answer), detail);
        }
        if *code == SqlState::INVALID_CATALOG_NAME {
            return Self::Login(LoginFault::NoDatabase, detail);
        }
        if *code == SqlState::INSUFFICIENT_PRIVILEGE {
            return Self::Denied(detail);
        }
        if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
            // A standby accepts no writes until it is promoted, which can happen at any moment.
            return Self::Lost(
                Outage::ReadOnly,
                format!("the server accepts no changes, as a standby does: {detail}"),
            );
        }
        // The classes of connections, of exhausted resources and of operator intervention.
        let passes = ["08", "53", "57"].iter().any(|class| code.code().starts_with(class))
            || [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code);
        if passes { Self::Lost(Outage::NoAnswer, detail) } else { Self::Refused(detail) }
    }
}

/// Why the server rejects a login. The server has one code for most reasons, so its words decide; of a
/// server that speaks another language, the place in its code tells at least its rules of admission from
/// wrong credentials.
fn rejection(answer: &DbError) -> LoginFault {
    let message = answer.message();
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    if says(&["valid client certificate"]) {
        LoginFault::NeedsCertificate
    } else if says(&["no encryption", "SSL off", "SSL required"]) {
        LoginFault::NeedsTls
    } else if *answer.code() == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        && (says(&["pg_hba.conf"]) || answer.routine() == Some("ClientAuthentication"))
    {
        LoginFault::NotAdmitted
    } else {
        LoginFault::Rejected
    }
}

/// Why PgBouncer rejects a login. Most of its versions have one code for that and for what passes, such as a
/// server behind it that is away or that it cannot log in to.
fn rejection_of_pooler(answer: &DbError) -> Option<LoginFault> {
    let message = answer.message();
    if *answer.code() != SqlState::PROTOCOL_VIOLATION {
        return None;
    }
    let has = |words: &[&str]| words.iter().any(|words| message.contains(words));
    if has(&["no such database"]) || (has(&["database \""]) && has(&["\" does not exist"])) {
        Some(LoginFault::NoDatabase)
    } else if has(&["server login", "try again later"]) {
        None
    } else if has(&["SSL required", "TLS required"]) {
        Some(LoginFault::NeedsTls)
    } else if has(&["authentication failed", "auth failed", "no such user", "login rejected"]) {
        Some(LoginFault::Rejected)
    } else {
        None
    }
}

/// Why a connection can never succeed; `None` if another attempt may.
fn fault(error: &tokio_postgres::Error) -> Option<LoginFault> {
    use io::ErrorKind::{InvalidData, InvalidInput};
    if let Some(tls) = tls_error(error) {
        return of_tls(tls);
    }
    let text = error.to_string();
    if text.starts_with("invalid configuration") {
        return Some(LoginFault::NoPassword);
    }
    if let Some(error) = io_error(error) {
        let is_lasting = matches!(error.kind(), InvalidData | InvalidInput) && !is_unresolved(error);
        return is_lasting.then_some(LoginFault::OtherProtocol);
    }
    if text.starts_with("error performing TLS handshake") {
        return Some(LoginFault::NoTls);
    }
    let is_other = ["unexpected message", "error parsing", "authentication error"]
        .iter()
        .any(|lasting| text.starts_with(lasting));
    is_other.then_some(LoginFault::OtherProtocol)
}

/// Why TLS can never succeed.
fn of_tls(error: &rustls::Error) -> Option<LoginFault> {
    use rustls::{AlertDescription as Alert, CertificateError as Of, Error as Tls};
    Some(match error {
        Tls::InvalidCertificate(Of::NotValidForName | Of::NotValidForNameContext { .. }) => {
            LoginFault::OtherName
        }
        Tls::InvalidCertificate(
            Of::Expired | Of::ExpiredContext { .. } | Of::NotValidYet | Of::NotValidYetContext { .. },
        ) => LoginFault::Expired,
        Tls::InvalidCertificate(_) => LoginFault::Untrusted,
        Tls::AlertReceived(
            Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
            | Alert::DecryptError,
        ) => LoginFault::NeedsCertificate,
        _ => LoginFault::OtherProtocol,
    })
}

/// What kind of failure may pass.
fn outage(error: &tokio_postgres::Error) -> Outage {
    use io::ErrorKind::{ConnectionRefused, NotFound, PermissionDenied};
    match io_error(error) {
        Some(error) if is_unresolved(error) => Outage::NoAddress,
        // A socket that is not there counts as well.
        Some(error) if matches!(error.kind(), ConnectionRefused | NotFound) => Outage::Refused,
        // Of a server that is asked whether it accepts changes.
        Some(error) if error.kind() == PermissionDenied && error.raw_os_error().is_none() => Outage::ReadOnly,
        _ => Outage::NoAnswer,
    }
}

/// Whether a name has no address. The system's error has no kind of its own.
fn is_unresolved(error: &io::Error) -> bool {
    let text = error.to_string();
    text.starts_with("failed to lookup address") || text.starts_with("could not resolve")
}

fn io_error(error: &tokio_postgres::Error) -> Option<&io::Error> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn tls_error(error: &tokio_postgres::Error) -> Option<&rustls::Error> {
    io_error(error)?.get_ref()?.downcast_ref()
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |cause| cause.source())
}

/// An error with its causes, in one line.
pub(super) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    for more in causes(error).map(ToString::to_string).filter(|more| !more.is_empty()) {
        if text.is_empty() {
            text = more;
        } else if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
    }
    text
}
