//! Where requests go and who signs them: the inputs and everything derived from them.

use purlin_sdk::{Failure, Faults};
use purlin_sdk_http::Parts;

/// `connection.endpoint` of a driver for AWS.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The region, such as `eu-west-1`.
    pub region: String,
    /// A server other than AWS's own, such as `http://127.0.0.1:9000`.
    pub url: Option<String>,
    /// Whether a bucket's name is in the path and not in the host. For servers other than AWS's
    /// own, it is in the path by default.
    pub path_style: Option<bool>,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self { region: Self::REGION.to_owned(), url: None, path_style: None }
    }
}

/// `connection` of a driver for AWS, which describes its inputs itself.
pub struct Connection {
    /// Where requests go.
    pub endpoint: Endpoint,
    /// Who signs them.
    pub credentials: Credentials,
}

/// Who signs requests.
#[derive(Clone, Default)]
pub struct Credentials {
    /// The access key's id.
    pub access_key_id: String,
    /// The access key.
    pub secret_access_key: String,
    /// With temporary credentials only.
    pub session_token: Option<String>,
}

/// A part of AWS with its own accounts, endpoints and ARNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// As in ARNs.
    pub name: &'static str,
    /// The end of its servers' names.
    pub domain: &'static str,
    /// The region that signs for IAM.
    pub iam_region: &'static str,
}

impl Partition {
    /// The partition of a region; the common one if the region belongs to no known partition.
    pub fn of(region: &str) -> Self {
        let (name, domain, iam_region) = match region {
            _ if region.starts_with("cn-") => ("aws-cn", "amazonaws.com.cn", "cn-north-1"),
            _ if region.starts_with("us-gov-") => ("aws-us-gov", "amazonaws.com", "us-gov-west-1"),
            _ if region.starts_with("eusc-") => ("aws-eusc", "amazonaws.eu", "eusc-de-east-1"),
            _ => ("aws", "amazonaws.com", "us-east-1"),
        };
        Self { name, domain, iam_region }
    }
}

impl Endpoint {
    /// The default region, AWS's first one.
    pub const REGION: &str = "us-east-1";

    /// The partition of the region.
    pub fn partition(&self) -> Partition {
        Partition::of(&self.region)
    }

    /// Whether requests go to AWS itself.
    pub fn is_aws(&self) -> bool {
        self.url.is_none()
    }

    /// The server of S3 for a bucket, and the part of the path before a key.
    pub fn s3(&self, bucket: &str) -> (String, String) {
        let base = match &self.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("https://s3.{}.{}", self.region, self.partition().domain),
        };
        // A certificate for `*.s3…` does not cover names with a dot.
        let in_path = self.path_style.unwrap_or(self.url.is_some()) || bucket.contains('.');
        match base.split_once("://") {
            _ if bucket.is_empty() => (base, String::new()),
            Some((scheme, host)) if !in_path => (format!("{scheme}://{bucket}.{host}"), String::new()),
            _ => (base, format!("/{bucket}")),
        }
    }

    /// The server of IAM.
    pub fn iam(&self) -> String {
        let partition = self.partition();
        match (&self.url, partition.name) {
            (Some(url), _) => url.trim_end_matches('/').to_owned(),
            (None, "aws-us-gov") => "https://iam.us-gov.amazonaws.com".to_owned(),
            (None, "aws-cn") => "https://iam.cn-north-1.amazonaws.com.cn".to_owned(),
            (None, "aws-eusc") => "https://iam.eusc-de-east-1.amazonaws.eu".to_owned(),
            (None, _) => "https://iam.amazonaws.com".to_owned(),
        }
    }

    /// Rejects an invalid region or URL.
    pub fn validate(&self, faults: &mut Faults) {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if self.region.is_empty() || self.region.len() > 64 || !self.region.bytes().all(plain) {
            faults.add("/connection/endpoint/region", "has to be a region such as `eu-west-1`");
        }
        if let Some(url) = &self.url {
            match Parts::of(url) {
                Err(message) => faults.add("/connection/endpoint/url", message),
                Ok(_) if url.ends_with('/') => {
                    faults.add("/connection/endpoint/url", "names a server, so it must not end with `/`");
                }
                Ok(_) if url.contains('?') => {
                    faults.add("/connection/endpoint/url", "names a server, so it takes no query");
                }
                Ok(_) => {}
            }
        }
    }
}

impl Connection {
    /// All faults in it.
    pub fn validate(&self, faults: &mut Faults) {
        self.endpoint.validate(faults);
        self.credentials.validate(faults);
    }
}

impl Credentials {
    /// Rejects incomplete credentials.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`].
    pub fn validate(&self, faults: &mut Faults) {
        let parts = [("access_key_id", &self.access_key_id), ("secret_access_key", &self.secret_access_key)];
        for (name, text) in parts {
            let fault = if text.is_empty() {
                "is missing: it signs requests to AWS"
            } else if text.chars().any(|c| !c.is_ascii_graphic()) {
                "has a space or another character that keys do not have"
            } else {
                continue;
            };
            faults.add(format!("/connection/{name}"), fault);
        }
        if self.session_token.as_ref().is_some_and(|token| token.chars().any(|c| !c.is_ascii_graphic())) {
            faults
                .add("/connection/session_token", "has a space or another character that tokens do not have");
        }
    }

    /// Rejects incomplete credentials.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`].
    pub fn whole(&self) -> Result<&Self, Failure> {
        let mut faults = Faults::default();
        self.validate(&mut faults);
        faults.into_result().map(|()| self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(region: Option<&str>, url: Option<&str>) -> Endpoint {
        let region = region.unwrap_or(Endpoint::REGION).to_owned();
        Endpoint { region, url: url.map(str::to_owned), path_style: None }
    }

    #[test]
    fn each_partition_has_its_servers() {
        let hosts = |region| {
            let endpoint = endpoint(region, None);
            (endpoint.s3("pics").0, endpoint.iam())
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(hosts(None), pair("https://pics.s3.us-east-1.amazonaws.com", "https://iam.amazonaws.com"));
        assert_eq!(
            hosts(Some("cn-north-1")),
            pair("https://pics.s3.cn-north-1.amazonaws.com.cn", "https://iam.cn-north-1.amazonaws.com.cn")
        );
        assert_eq!(
            hosts(Some("us-gov-east-1")),
            pair("https://pics.s3.us-gov-east-1.amazonaws.com", "https://iam.us-gov.amazonaws.com")
        );
    }

    #[test]
    fn a_bucket_is_in_the_path_if_required() {
        let local = endpoint(None, Some("http://127.0.0.1:9000/"));
        assert_eq!(local.s3("pics"), ("http://127.0.0.1:9000".to_owned(), "/pics".to_owned()));
        assert_eq!(local.s3(""), ("http://127.0.0.1:9000".to_owned(), String::new()));
        let dotted = endpoint(None, None).s3("a.b");
        assert_eq!(dotted, ("https://s3.us-east-1.amazonaws.com".to_owned(), "/a.b".to_owned()));
        let hosted = Endpoint { path_style: Some(false), ..local };
        assert_eq!(hosted.s3("pics"), ("http://pics.127.0.0.1:9000".to_owned(), String::new()));
    }
}
