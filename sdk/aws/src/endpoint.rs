//! Where requests go and who signs them: what the inputs say, and what follows from it.

use purlin_sdk::{Failure, Faults, Raw};
use purlin_sdk_http::Parts;
use serde::Deserialize;

/// `connection.endpoint` of a driver for AWS.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The region, such as `eu-west-1`.
    pub region: Option<String>,
    /// Another server than AWS's own, such as `http://127.0.0.1:9000`.
    pub url: Option<String>,
    /// Whether a bucket's name stands in the path and not in the host. Servers other than AWS's
    /// own get it in the path unless told otherwise.
    pub path_style: Option<bool>,
}

/// `connection` of a driver for AWS.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Connection {
    /// Where requests go.
    pub endpoint: Endpoint,
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
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

/// A part of AWS with accounts, endpoints and ARNs of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// As it stands in ARNs.
    pub name: &'static str,
    /// What the names of its servers end with.
    pub domain: &'static str,
    /// Region that signs for IAM.
    pub iam_region: &'static str,
}

impl Partition {
    /// The partition of a region; the common one where the region is of none that is known.
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
    /// The region, AWS's first one where none is named.
    pub fn region(&self) -> &str {
        self.region.as_deref().unwrap_or("us-east-1")
    }

    /// The partition of the region.
    pub fn partition(&self) -> Partition {
        Partition::of(self.region())
    }

    /// Whether requests go to AWS itself.
    pub fn is_aws(&self) -> bool {
        self.url.is_none()
    }

    /// The server of S3 for a bucket, and what stands before a key in the path.
    pub fn s3(&self, bucket: &str) -> (String, String) {
        let base = match &self.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("https://s3.{}.{}", self.region(), self.partition().domain),
        };
        // A certificate for `*.s3…` says nothing about names with a dot.
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

    /// Refuses what is no region and no URL.
    pub fn validate(&self, faults: &mut Faults) {
        if let Some(region) = &self.region {
            let plain =
                region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
            if region.is_empty() || region.len() > 64 || !plain {
                faults.add("/connection/endpoint/region", "has to be a region such as `eu-west-1`");
            }
        }
        if let Some(url) = &self.url {
            match Parts::of(url) {
                Err(message) => faults.add("/connection/endpoint/url", message),
                Ok(_) if url.ends_with('/') => {
                    faults.add("/connection/endpoint/url", "names a server, so it has no `/` at its end");
                }
                Ok(_) if url.contains('?') => {
                    faults.add("/connection/endpoint/url", "names a server, so it has no query");
                }
                Ok(_) => {}
            }
        }
    }
}

impl Connection {
    /// Who signs requests.
    pub fn credentials(&self) -> Credentials {
        let Self { access_key_id, secret_access_key, session_token, .. } = self.clone();
        Credentials { access_key_id, secret_access_key, session_token }
    }

    /// Everything that is wrong with it.
    pub fn validate(&self, faults: &mut Faults) {
        self.endpoint.validate(faults);
        self.credentials().validate(faults);
    }

    /// The same from inputs of whichever version.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`] where it cannot be read.
    pub fn of<I>(inputs: &Raw<I>) -> Result<Self, Failure> {
        let connection =
            inputs.get("/connection").ok_or_else(|| Failure::input("/connection", "is missing"))?;
        Self::deserialize(connection).map_err(|error| Failure::input("/connection", error.to_string()))
    }
}

impl Credentials {
    /// Refuses credentials of which a part is missing.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`].
    pub fn validate(&self, faults: &mut Faults) {
        let parts = [("access_key_id", &self.access_key_id), ("secret_access_key", &self.secret_access_key)];
        for (name, text) in parts {
            let fault = if text.is_empty() {
                "is missing: requests to AWS are signed with it"
            } else if text.chars().any(|c| !c.is_ascii_graphic()) {
                "has a blank or another character that no key has"
            } else {
                continue;
            };
            faults.add(format!("/connection/{name}"), fault);
        }
        if self.session_token.as_ref().is_some_and(|token| token.chars().any(|c| !c.is_ascii_graphic())) {
            faults.add("/connection/session_token", "has a blank or another character that no token has");
        }
    }

    /// Refuses credentials of which a part is missing.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`].
    pub fn whole(&self) -> Result<&Self, Failure> {
        let mut faults = Faults::default();
        self.validate(&mut faults);
        faults.into_result().map(|()| self)
    }
}

/// JSON Schema of the connection of a driver for AWS. `s3` is whether it is for S3, whose servers know the
/// region and may have the bucket's name in theirs.
pub fn connection_schema(s3: bool) -> purlin_sdk::Json {
    let mut endpoint = serde_json::json!({
        "region": {"type": "string", "default": "us-east-1", "description": "The region."},
        "url": {"type": ["string", "null"], "x-purlin-replaces": true, "description": "Another server than AWS's own, such as `http://127.0.0.1:9000`. A change replaces the resource."},
    });
    if s3 {
        endpoint["region"]["x-purlin-replaces"] = true.into();
        endpoint["path_style"] = serde_json::json!({"type": ["boolean", "null"], "description": "Whether the bucket's name is in the path; the default with a `url`."});
    } else {
        // Where the bucket's name is in the host, the URL does not say all of where requests go.
        endpoint["url"]["x-purlin-reaches"] = "http".into();
    }
    let secret = |description: &str| serde_json::json!({"type": "string", "writeOnly": true, "description": description});
    let mut session_token = secret("With temporary credentials only.");
    session_token["type"] = serde_json::json!(["string", "null"]);
    serde_json::json!({
        "type": "object",
        "required": ["access_key_id", "secret_access_key"],
        "additionalProperties": false,
        "description": "Where requests go, and who signs them.",
        "properties": {
            "endpoint": {
                "type": "object",
                "default": {},
                "additionalProperties": false,
                "description": "Where requests go; AWS itself by default.",
                "properties": endpoint,
            },
            "access_key_id": secret("The access key that signs requests."),
            "secret_access_key": secret("Its secret."),
            "session_token": session_token,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(region: Option<&str>, url: Option<&str>) -> Endpoint {
        Endpoint { region: region.map(str::to_owned), url: url.map(str::to_owned), path_style: None }
    }

    #[test]
    fn a_schema_says_what_another_server_is_and_what_is_secret() {
        for (s3, wanted) in [(true, &["region", "url"][..]), (false, &["url"])] {
            let schema = connection_schema(s3);
            let of = |place: &str, keyword: &str| {
                let all = schema.pointer(place).and_then(purlin_sdk::Json::as_object).expect("properties");
                all.iter()
                    .filter(|(_, of)| of[keyword] == true)
                    .map(|(name, _)| name.clone())
                    .collect::<Vec<_>>()
            };
            assert_eq!(of("/properties/endpoint/properties", "x-purlin-replaces"), wanted);
            assert_eq!(of("/properties", "x-purlin-replaces"), Vec::<String>::new());
            assert_eq!(
                of("/properties", "writeOnly"),
                ["access_key_id", "secret_access_key", "session_token"]
            );
        }
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
    fn a_bucket_stands_in_the_path_where_it_has_to() {
        let local = endpoint(None, Some("http://127.0.0.1:9000/"));
        assert_eq!(local.s3("pics"), ("http://127.0.0.1:9000".to_owned(), "/pics".to_owned()));
        assert_eq!(local.s3(""), ("http://127.0.0.1:9000".to_owned(), String::new()));
        let dotted = endpoint(None, None).s3("a.b");
        assert_eq!(dotted, ("https://s3.us-east-1.amazonaws.com".to_owned(), "/a.b".to_owned()));
        let hosted = Endpoint { path_style: Some(false), ..local };
        assert_eq!(hosted.s3("pics"), ("http://pics.127.0.0.1:9000".to_owned(), String::new()));
    }
}
