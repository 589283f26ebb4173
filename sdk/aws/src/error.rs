//! AWS's error answers, and their failures.

use std::time::Duration;

use purlin_sdk::{Failure, Problem};
use purlin_sdk_http::{Error, Response};

use crate::xml::Element;

/// The time before the next attempt if AWS is busy and does not say how long.
const BUSY: Duration = Duration::from_secs(2);

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsError {
    /// The HTTP status.
    pub status: u16,
    /// The kind of error, such as `NoSuchBucket`.
    pub code: String,
    /// AWS's message.
    pub message: String,
    /// The request, such as `s3:PutBucketTagging`.
    pub action: String,
    /// AWS's own name of the request.
    pub request_id: Option<String>,
    retry_after: Option<Duration>,
    /// The bucket's region, if it is another one.
    region: Option<String>,
    /// The server's time.
    date: Option<String>,
}

/// Why there is no usable answer.
pub enum RequestError {
    /// AWS returned an error.
    Aws(Box<AwsError>),
    /// There is no answer, or it is unreadable.
    Failed(Failure),
}

impl AwsError {
    /// Reads an answer; one without a body is classified by its status.
    pub(crate) fn of(response: &Response, action: &str) -> Self {
        let body = Element::parse(&response.text()).unwrap_or_default();
        let places: [&[&str]; 2] = [&["Error"], &["Errors", "Error"]];
        let error = places.iter().find_map(|place| body.at(place)).unwrap_or(&body);
        let text = |name: &str| error.text_of(name).map(str::to_owned);
        let code = text("Code").filter(|code| !code.is_empty()).unwrap_or_else(|| {
            let code = match response.status {
                301 | 307 => "PermanentRedirect",
                403 => "AccessDenied",
                404 => "NotFound",
                429 => "TooManyRequests",
                503 => "ServiceUnavailable",
                status => return format!("status {status}"),
            };
            code.to_owned()
        });
        Self {
            status: response.status,
            code,
            message: text("Message").unwrap_or_default(),
            action: action.to_owned(),
            request_id: response.request_id().map(str::to_owned).or_else(|| {
                ["RequestId", "RequestID"].iter().find_map(|name| body.text_of(name)).map(str::to_owned)
            }),
            retry_after: response.retry_after(),
            region: response.header("x-amz-bucket-region").map(str::to_owned).or_else(|| text("Region")),
            date: response.header("date").map(str::to_owned),
        }
    }

    /// Whether this is one of these errors.
    pub fn is(&self, codes: &[&str]) -> bool {
        codes.contains(&self.code.as_str())
    }

    /// Whether the requested object does not exist.
    pub fn is_missing(&self) -> bool {
        self.code.starts_with("NoSuch") || self.code == "NotFound" || self.status == 404
    }

    /// Whether AWS did nothing and wants a later attempt.
    pub(crate) fn is_busy(&self) -> bool {
        self.is(&[
            "Throttling",
            "ThrottlingException",
            "ThrottledException",
            "RequestThrottled",
            "RequestLimitExceeded",
            "TooManyRequests",
            "SlowDown",
            "OperationAborted",
            "ConcurrentModification",
            "EntityTemporarilyUnmodifiable",
        ]) || self.status == 429
    }

    /// Whether AWS itself failed, and may have carried out the request.
    pub(crate) fn is_internal(&self) -> bool {
        if self.is_busy() || self.is_unknown() {
            return false;
        }
        self.status >= 500 || self.is(&["RequestTimeout", "InternalFailure", "ServiceUnavailable"])
    }

    /// Whether the server, which is then not AWS, does not support the request.
    fn is_unknown(&self) -> bool {
        self.status == 501 || self.is(&["NotImplemented", "MethodNotAllowed"])
    }

    /// How long AWS wants the client to wait, if it says so.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.retry_after
    }

    /// AWS's message for people, with the request and the kind of error.
    pub fn full_message(&self) -> String {
        let Self { action, code, message, .. } = self;
        if message.is_empty() { format!("{action}: {code}") } else { format!("{action}: {code}: {message}") }
    }

    /// A message with the details of this answer: its `status`, AWS's `code` and `request-id`, and the
    /// `operation`, such as `s3:PutBucketTagging`.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        let status = self.status.to_string();
        let known = [("status", status.as_str()), ("code", &self.code), ("operation", &self.action)];
        let id = self.request_id.as_deref().map(|id| ("request-id", id));
        let all = known.into_iter().chain(id);
        all.fold(Problem::new(message), |problem, (name, value)| problem.with_detail(name, value))
    }

    fn failure(&self) -> Failure {
        let message = self.full_message();
        let secret = |name: &str, advice: &str| {
            Failure::input(format!("/connection/{name}"), format!("{advice} ({message})"))
        };
        match self.code.as_str() {
            "InvalidAccessKeyId" | "InvalidClientTokenId" | "UnrecognizedClientException" => {
                secret("access_key_id", "is not known to AWS, or no longer active")
            }
            "SignatureDoesNotMatch" => secret("secret_access_key", "does not belong to `access_key_id`"),
            "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" => {
                secret("session_token", "has expired: get new temporary credentials")
            }
            "InvalidToken" => secret("session_token", "was not issued by AWS for this access key"),
            "RequestTimeTooSkewed" | "RequestExpired" => {
                let date = self.date.as_deref().unwrap_or("unknown");
                Failure::Failed(self.problem(format!(
                    "this machine's clock differs too much from AWS's, where it is {date}: correct it \
                     ({message})"
                )))
            }
            "AccessDenied" | "AccessDeniedException" | "UnauthorizedOperation" | "AllAccessDisabled" => {
                Failure::Failed(self.problem(format!(
                    "the credentials may not do `{}`: allow it in a policy of theirs ({message})",
                    self.action
                )))
            }
            "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException" => {
                let there = self.region.as_ref().map(|region| format!(", `{region}`")).unwrap_or_default();
                Failure::input(
                    "/connection/endpoint/region",
                    format!("is not the region of this resource{there} ({message})"),
                )
            }
            "EntityAlreadyExists"
            | "BucketAlreadyExists"
            | "BucketAlreadyOwnedByYou"
            | "DeleteConflict"
            | "BucketNotEmpty"
            | "LimitExceeded"
            | "TooManyBuckets" => Failure::Conflict(self.problem(message)),
            _ if self.is_unknown() => Failure::Failed(self.problem(format!(
                "this server does not support `{}`: remove the inputs that need it ({message})",
                self.action
            ))),
            _ if self.is_busy() || self.is_internal() => {
                Failure::retry_after(self.retry_after.unwrap_or(BUSY), message)
            }
            _ if self.is_missing() => Failure::NotFound(self.problem(message)),
            _ => Failure::Failed(self.problem(message)),
        }
    }
}

impl RequestError {
    /// Whether AWS reported that the requested object does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Aws(error) if error.is_missing())
    }

    /// Whether the cause may be that something was created a moment ago, since AWS is eventually
    /// consistent. The error is permanent if that object does not exist at all.
    pub fn is_not_yet(&self) -> bool {
        match self {
            Self::Aws(error) if error.code.starts_with("MalformedPolicy") => {
                error.message.to_ascii_lowercase().contains("principal")
            }
            Self::Aws(error) => error.is(&["NoSuchBucket", "NoSuchEntity"]),
            Self::Failed(_) => false,
        }
    }

    /// Whether AWS answered with one of these errors.
    pub fn is(&self, codes: &[&str]) -> bool {
        matches!(self, Self::Aws(error) if error.is(codes))
    }
}

impl From<RequestError> for Failure {
    fn from(fault: RequestError) -> Self {
        match fault {
            RequestError::Aws(error) => error.failure(),
            RequestError::Failed(failure) => failure,
        }
    }
}

impl From<Failure> for RequestError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Error> for RequestError {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, body: &str) -> AwsError {
        AwsError::of(&Response::new(status, Vec::new(), body), "s3:Try")
    }

    #[test]
    fn both_dialects_are_read() {
        let s3 = error(404, "<Error><Code>NoSuchBucket</Code><Message>None &amp; gone</Message></Error>");
        assert_eq!(s3.full_message(), "s3:Try: NoSuchBucket: None & gone");
        let iam = error(
            409,
            "<ErrorResponse><Error><Type>Sender</Type><Code>DeleteConflict</Code><Message>x</Message></Error>\
             <RequestId>1</RequestId></ErrorResponse>",
        );
        assert!(iam.is(&["DeleteConflict"]) && !iam.is_missing());
        assert!(error(404, "").is_missing() && error(503, "<html>").is_internal());
    }

    #[test]
    fn a_failure_says_which_request_failed() {
        let body = "<ErrorResponse><Error><Code>DeleteConflict</Code></Error><RequestId>r-1</RequestId>\
                    </ErrorResponse>";
        let failure = Failure::from(RequestError::Aws(Box::new(error(409, body))));
        let details = failure.problem().expect("a problem").details.clone();
        let expected =
            [("status", "409"), ("code", "DeleteConflict"), ("operation", "s3:Try"), ("request-id", "r-1")];
        assert_eq!(details, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let headers = vec![("x-amz-request-id".to_owned(), "r-2".to_owned())];
        let missing = AwsError::of(&Response::new(404, headers, ""), "s3:HeadBucket");
        assert_eq!(missing.problem("gone").detail("request-id"), Some("r-2"));
    }

    #[test]
    fn each_error_is_the_failure_that_it_means() {
        let failure_of = |status, code: &str| {
            let body = format!("<Error><Code>{code}</Code><Message>m</Message></Error>");
            Failure::from(RequestError::Aws(Box::new(error(status, &body)))).to_string()
        };
        for (status, code, expected) in [
            (403, "SignatureDoesNotMatch", "invalid inputs: /connection/secret_access_key: does not belong"),
            (403, "InvalidClientTokenId", "invalid inputs: /connection/access_key_id: is not known"),
            (400, "ExpiredToken", "invalid inputs: /connection/session_token: has expired"),
            (403, "RequestTimeTooSkewed", "this machine's clock"),
            (403, "AccessDenied", "the credentials may not do `s3:Try`"),
            (409, "BucketAlreadyExists", "conflict: "),
            (409, "DeleteConflict", "conflict: "),
            (503, "SlowDown", "busy for 2000 ms"),
            (400, "Throttling", "busy for 2000 ms"),
            (500, "InternalError", "busy for 2000 ms"),
            (404, "NoSuchEntity", "not found: "),
            (501, "NotImplemented", "this server does not support `s3:Try`: remove the inputs"),
            (301, "PermanentRedirect", "invalid inputs: /connection/endpoint/region: is not the region"),
            (400, "MalformedPolicy", "s3:Try: MalformedPolicy: m"),
        ] {
            let text = failure_of(status, code);
            assert!(text.starts_with(expected), "{code}: {text}");
        }
    }
}
