//! Requests.

use data_encoding::BASE64;
use purlin_sdk::Failure;
use serde::Serialize;

use crate::{Error, Parts};

/// A request. Build it with [`Request::new`] or one of the methods named after a method.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The whole URL, with a query if there is one and without a fragment.
    pub url: String,
    /// Names in any case. The client sets `Host` and `Content-Length`.
    pub headers: Vec<(String, String)>,
    /// The body, often empty.
    pub body: Vec<u8>,
    repeatable: bool,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        let (method, url) = (method.into(), url.into());
        // RFC 9110, section 9.2.2.
        let repeatable = matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE");
        Self { method, url, headers: Vec::new(), body: Vec::new(), repeatable }
    }

    /// A `GET`.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// A `HEAD`.
    pub fn head(url: impl Into<String>) -> Self {
        Self::new("HEAD", url)
    }

    /// A `POST`.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// A `PUT`.
    pub fn put(url: impl Into<String>) -> Self {
        Self::new("PUT", url)
    }

    /// A `PATCH`.
    pub fn patch(url: impl Into<String>) -> Self {
        Self::new("PATCH", url)
    }

    /// A `DELETE`.
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new("DELETE", url)
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same with a bearer token.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    /// The same with a user's name and password.
    #[must_use]
    pub fn basic(self, user: &str, password: &str) -> Self {
        let pair = BASE64.encode(format!("{user}:{password}").as_bytes());
        self.header("authorization", format!("Basic {pair}"))
    }

    /// The same with one more parameter in the query, which this method encodes.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Self {
        let mark = if self.url.contains('?') { '&' } else { '?' };
        self.url = format!("{}{mark}{}={}", self.url, crate::query(name), crate::query(value));
        self
    }

    /// The same with a body of this type.
    #[must_use]
    pub fn body(mut self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    /// The same with a JSON body. Keeps a content type that was set before.
    ///
    /// # Errors
    /// If it does not serialise.
    pub fn json(mut self, body: &impl Serialize) -> Result<Self, Failure> {
        self.body = serde_json::to_vec(body)?;
        let typed = self.get_header("content-type").is_some();
        Ok(if typed { self } else { self.header("content-type", "application/json") })
    }

    /// The same, with the promise that it is harmless when it arrives twice.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Whether it is harmless when it arrives twice: by its method, or by [`Request::repeatable`].
    pub fn is_repeatable(&self) -> bool {
        self.repeatable
    }

    /// Whether it may change something, which `GET`, `HEAD`, `OPTIONS` and `TRACE` do not (RFC 9110,
    /// section 9.2.1).
    pub fn has_effects(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE")
    }

    /// The first header of a name, in any case.
    pub fn get_header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// Method and URL as people may see them: without the query, which may contain secrets.
    pub fn target(&self) -> String {
        let place = self.url.split(['?', '#']).next().unwrap_or_default();
        format!("{} {place}", self.method)
    }

    /// Whether a length must be sent although there is no body.
    pub(crate) fn needs_content_length(&self) -> bool {
        (!self.body.is_empty() || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH"))
            && self.get_header("content-length").is_none()
    }

    /// Rejects anything that could turn into another request on its way.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        if self.method.is_empty()
            || !self.method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
        {
            return Err(Error::unusable(self, "a method has capital letters only"));
        }
        if let Err(message) = Parts::of(&self.url) {
            return Err(Error::unusable(self, message));
        }
        for (name, value) in &self.headers {
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err(Error::unusable(self, format!("`{}` is not a header name", name.escape_debug())));
            }
            if value.bytes().any(|byte| byte != b'\t' && byte.is_ascii_control()) {
                let message = format!("the header `{name}` has a line break or another control character");
                return Err(Error::unusable(self, message));
            }
        }
        Ok(())
    }
}

pub(crate) fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}
