//! The requests to S3. This module knows their spelling, and nothing about their purpose.

use data_encoding::BASE64;
use md5::{Digest, Md5};
use purlin_sdk::{Call, Failure};
use purlin_sdk_aws::tags::Tags;
use purlin_sdk_aws::xml::Element;
use purlin_sdk_aws::{Aws, Connection, Effect, Endpoint, RequestError, encode};
use purlin_sdk_http::{Request, Response};

const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

/// S3, for one call of the driver.
pub(crate) struct S3 {
    pub(crate) aws: Aws,
    pub(crate) endpoint: Endpoint,
}

/// The URL of a bucket, or of a key in it.
pub(crate) fn url(endpoint: &Endpoint, bucket: &str, key: &str) -> String {
    let (server, prefix) = endpoint.s3(bucket);
    let slash = if prefix.is_empty() || !key.is_empty() { "/" } else { "" };
    format!("{server}{prefix}{slash}{}", encode::path(key))
}

impl S3 {
    pub(crate) fn new(call: &Call, connection: Connection) -> Result<Self, Failure> {
        let Connection { endpoint, credentials } = connection;
        let aws = Aws::new(call, "s3", &endpoint.region, &credentials)?;
        Ok(Self { aws, endpoint })
    }

    /// The URL of a bucket, or of a key in it.
    pub(crate) fn url(&self, bucket: &str, key: &str, query: &[(&str, &str)]) -> String {
        let query = encode::pairs(query.iter().copied());
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{query}", url(&self.endpoint, bucket, key))
    }

    fn look(&self, action: &str, bucket: &str, query: &[(&str, &str)]) -> Result<Element, RequestError> {
        let request = Request::get(self.url(bucket, "", query));
        let answer = self.aws.send(action, Effect::None, request)?;
        Ok(Element::parse(&answer.text())?)
    }

    /// One of a bucket's settings; `None` if it has none of that kind. A missing bucket is a fault.
    pub(crate) fn setting(&self, bucket: &str, setting: &Setting) -> Result<Option<Element>, RequestError> {
        let action = format!("s3:Get{}", setting.permission);
        match self.look(&action, bucket, &[(setting.query, "")]) {
            Ok(element) => Ok(Some(element)),
            Err(fault) if fault.is(&[setting.none]) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Sets one of a bucket's settings.
    pub(crate) fn set(&self, bucket: &str, setting: &Setting, value: &Element) -> Result<(), RequestError> {
        let request = Request::put(self.url(bucket, "", &[(setting.query, "")]));
        let body = value.document(Some(NAMESPACE));
        self.aws.send(&format!("s3:Put{}", setting.permission), Effect::Same, with_digest(request, body))?;
        Ok(())
    }

    /// Resets one of a bucket's settings to AWS's default.
    pub(crate) fn unset(&self, bucket: &str, setting: &Setting) -> Result<(), RequestError> {
        let request = Request::delete(self.url(bucket, "", &[(setting.query, "")]));
        match self.aws.send(&format!("s3:Put{}", setting.permission), Effect::Same, request) {
            Err(fault) if fault.is(&[setting.none]) => Ok(()),
            result => result.map(drop),
        }
    }

    /// Makes a bucket.
    pub(crate) fn make(&self, bucket: &str) -> Result<(), RequestError> {
        let mut request = Request::put(self.url(bucket, "", &[]));
        let region = &self.endpoint.region;
        // AWS's first region cannot be requested.
        if region != "us-east-1" {
            let configuration =
                Element::new("CreateBucketConfiguration").with_text("LocationConstraint", region);
            request = request.body("application/xml", configuration.document(Some(NAMESPACE)));
        }
        self.aws.send("s3:CreateBucket", Effect::Same, request).map(drop)
    }

    /// Deletes an empty bucket.
    pub(crate) fn remove(&self, bucket: &str) -> Result<(), RequestError> {
        let request = Request::delete(self.url(bucket, "", &[]));
        self.aws.send("s3:DeleteBucket", Effect::Same, request).map(drop)
    }

    /// Whether a bucket belongs to this account.
    pub(crate) fn owns(&self, bucket: &str) -> Result<bool, RequestError> {
        let mut token = String::new();
        loop {
            let mut query = vec![("prefix", bucket), ("max-buckets", "1000")];
            if !token.is_empty() {
                query.push(("continuation-token", &token));
            }
            let page = self.look("s3:ListAllMyBuckets", "", &query)?;
            let buckets = page.child("Buckets");
            let mut names =
                buckets.into_iter().flat_map(|it| it.all("Bucket")).filter_map(|it| it.text_of("Name"));
            if names.any(|name| name == bucket) {
                return Ok(true);
            }
            match page.text_of("ContinuationToken").filter(|next| !next.is_empty() && *next != token) {
                Some(next) => token = next.to_owned(),
                None => return Ok(false),
            }
        }
    }

    /// A page of at most 1,000 versions and delete markers.
    pub(crate) fn versions(&self, bucket: &str) -> Result<Element, RequestError> {
        let query = [("versions", ""), ("encoding-type", "url"), ("max-keys", "1000")];
        self.look("s3:ListBucketVersions", bucket, &query)
    }

    /// Deletes up to 1,000 versions of objects.
    pub(crate) fn remove_versions(&self, bucket: &str, versions: &Element) -> Result<Element, RequestError> {
        let request = Request::post(self.url(bucket, "", &[("delete", "")]));
        let body = versions.document(Some(NAMESPACE));
        let answer = self.aws.send("s3:DeleteObjectVersion", Effect::Same, with_digest(request, body))?;
        Ok(Element::parse(&answer.text())?)
    }

    /// The policy of a bucket, as text.
    pub(crate) fn policy(&self, bucket: &str) -> Result<Option<String>, RequestError> {
        let request = Request::get(self.url(bucket, "", &[("policy", "")]));
        match self.aws.send("s3:GetBucketPolicy", Effect::None, request) {
            Ok(answer) => Ok(Some(answer.text())),
            Err(fault) if fault.is(&["NoSuchBucketPolicy"]) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    pub(crate) fn set_policy(&self, bucket: &str, policy: &str) -> Result<(), RequestError> {
        let request = Request::put(self.url(bucket, "", &[("policy", "")]));
        let request = digested(request.body("application/json", policy));
        self.aws.send("s3:PutBucketPolicy", Effect::Same, request).map(drop)
    }

    pub(crate) fn remove_policy(&self, bucket: &str) -> Result<(), RequestError> {
        let request = Request::delete(self.url(bucket, "", &[("policy", "")]));
        self.aws.send("s3:DeleteBucketPolicy", Effect::Same, request).map(drop)
    }

    /// An object's headers, or the whole object. `None` if there is no such object; the headers
    /// alone do not distinguish that from a missing bucket.
    pub(crate) fn object(
        &self,
        bucket: &str,
        key: &str,
        whole: bool,
    ) -> Result<Option<Response>, RequestError> {
        let method = if whole { "GET" } else { "HEAD" };
        let request = Request::new(method, self.url(bucket, key, &[]));
        match self.aws.send("s3:GetObject", Effect::None, request) {
            Ok(answer) => Ok(Some(answer)),
            Err(fault) if fault.is(&["NoSuchKey", "NotFound", "NoSuchBucket"]) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Sends a request of a caller.
    pub(crate) fn put_object(&self, request: Request) -> Result<Response, RequestError> {
        self.aws.send("s3:PutObject", Effect::Same, request)
    }

    pub(crate) fn remove_object(&self, bucket: &str, key: &str) -> Result<(), RequestError> {
        let request = Request::delete(self.url(bucket, key, &[]));
        self.aws.send("s3:DeleteObject", Effect::Same, request).map(drop)
    }
}

/// One of a bucket's settings, with S3's names for it.
pub(crate) struct Setting {
    /// In a query.
    pub(crate) query: &'static str,
    /// In the name of a permission, after `Get` or `Put`.
    pub(crate) permission: &'static str,
    /// The error for a setting that is not there.
    pub(crate) none: &'static str,
}

pub(crate) const TAGGING: Setting =
    Setting { query: "tagging", permission: "BucketTagging", none: "NoSuchTagSet" };
pub(crate) const VERSIONING: Setting =
    Setting { query: "versioning", permission: "BucketVersioning", none: "NoSuchVersioning" };
pub(crate) const PUBLIC_ACCESS: Setting = Setting {
    query: "publicAccessBlock",
    permission: "BucketPublicAccessBlock",
    none: "NoSuchPublicAccessBlockConfiguration",
};
pub(crate) const ENCRYPTION: Setting = Setting {
    query: "encryption",
    permission: "EncryptionConfiguration",
    none: "ServerSideEncryptionConfigurationNotFoundError",
};
pub(crate) const LIFECYCLE: Setting = Setting {
    query: "lifecycle",
    permission: "LifecycleConfiguration",
    none: "NoSuchLifecycleConfiguration",
};

fn with_digest(request: Request, body: String) -> Request {
    digested(request.body("application/xml", body))
}

/// S3 requires a digest of some bodies, and every compatible server knows this one.
fn digested(request: Request) -> Request {
    let digest = BASE64.encode(&Md5::digest(&request.body));
    request.header("content-md5", digest)
}

/// Tags as XML, part of some settings.
pub(crate) fn tag_set(tags: &Tags) -> Element {
    let one = |(key, value): (&String, &String)| {
        Element::new("Tag").with_text("Key", key).with_text("Value", value)
    };
    tags.iter().map(one).fold(Element::new("TagSet"), Element::with)
}

/// Tags from XML.
pub(crate) fn tags_of(element: &Element) -> Tags {
    let text = |tag: &Element, name: &str| tag.text_of(name).unwrap_or_default().to_owned();
    let set = element.child("TagSet");
    set.into_iter().flat_map(|set| set.all("Tag")).map(|tag| (text(tag, "Key"), text(tag, "Value"))).collect()
}
