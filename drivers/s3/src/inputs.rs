//! The driver's inputs and outputs.

use std::collections::BTreeMap;

use purlin_sdk::{Failure, Faults, Input, Inputs, Json, Outputs, only_one};
use purlin_sdk_aws::Credentials;
use purlin_sdk_aws::tags::Tags;
use serde::Serialize;

use crate::check;

/// The things that the driver provisions; inputs name exactly one.
pub(crate) const KINDS: [&str; 3] = ["/values/bucket", "/values/bucket_policy", "/values/object"];

/// The place, the object, and the credentials.
#[derive(Inputs)]
pub struct S3Inputs {
    pub(crate) connection: Connection,
    values: Values,
    secrets: Secrets,
}

/// Exactly one of `bucket`, `bucket_policy` and `object`.
#[derive(Input)]
struct Values {
    /// A bucket.
    bucket: Option<Bucket>,
    /// The policy of a bucket.
    bucket_policy: Option<BucketPolicy>,
    /// An object.
    object: Option<Object>,
}

#[derive(Input)]
struct Secrets {
    /// The content of an object, if it is secret.
    content: Option<String>,
    /// Secrets to pass on as outputs of a bucket, such as keys for a workload. In other tools, the type
    /// `s3` has the outputs `aws_access_key_id` and `aws_secret_access_key`. The keys of the
    /// connection never become outputs.
    outputs: Option<BTreeMap<String, String>>,
}

/// The endpoint, and the keys that sign requests.
#[derive(Input)]
pub(crate) struct Connection {
    /// The endpoint of requests; AWS by default.
    endpoint: Option<Endpoint>,
    /// The access key that signs requests. It can be rotated at any time, since Purlin always uses
    /// the current connection.
    #[input(secret)]
    access_key_id: String,
    /// The secret of the access key.
    #[input(secret)]
    secret_access_key: String,
    /// The session token, for temporary credentials.
    #[input(secret)]
    session_token: Option<String>,
}

#[derive(Input)]
pub(crate) struct Endpoint {
    /// The region.
    #[input(default = purlin_sdk_aws::Endpoint::REGION.to_owned(), replaces)]
    region: String,
    /// A server other than AWS, such as `http://127.0.0.1:9000`, without a trailing `/`.
    #[input(replaces)]
    url: Option<String>,
    /// Whether the bucket's name is in the path instead of the host. This is the default with a
    /// `url`, and for names with a dot.
    path_style: Option<bool>,
}

impl Endpoint {
    /// The endpoint in the form that the AWS client takes.
    pub(crate) fn aws(&self) -> purlin_sdk_aws::Endpoint {
        let Self { region, url, path_style } = self;
        purlin_sdk_aws::Endpoint { region: region.clone(), url: url.clone(), path_style: *path_style }
    }
}

impl Connection {
    /// The connection in the form that the AWS client takes.
    pub(crate) fn aws(&self) -> purlin_sdk_aws::Connection {
        purlin_sdk_aws::Connection {
            endpoint: self.endpoint.as_ref().map_or_else(Default::default, Endpoint::aws),
            credentials: Credentials {
                access_key_id: self.access_key_id.clone(),
                secret_access_key: self.secret_access_key.clone(),
                session_token: self.session_token.clone(),
            },
        }
    }
}

/// A bucket.
#[derive(Clone, Input)]
#[input(holds_data = "the bucket, and with `force_destroy` every object in it")]
pub(crate) struct Bucket {
    /// The name, unique among all buckets of AWS. By default `purlin-` and the resource's
    /// `guresid`.
    #[input(replaces)]
    name: Option<String>,
    /// Whether to keep old versions of objects.
    #[input(default)]
    pub(crate) versioning: bool,
    /// Tags. All other tags are removed.
    #[input(default)]
    pub(crate) tags: Tags,
    /// The public access block. By default it blocks everything in AWS, and is not changed on
    /// another server.
    pub(crate) public_access_block: Option<PublicAccessBlock>,
    /// The default encryption of objects; not changed if omitted.
    pub(crate) encryption: Option<Encryption>,
    /// Rules for expiring and moving objects; not changed if omitted.
    pub(crate) lifecycle_rules: Option<Vec<Rule>>,
    /// Whether a bucket that is not empty is deleted with all its objects and versions. Otherwise,
    /// deleting such a bucket is a conflict.
    // The driver reads this from the recorded inputs when it deletes the bucket.
    #[serde(rename = "force_destroy")]
    #[input(default)]
    _force_destroy: bool,
}

impl Bucket {
    /// Its name, which `check` fills in.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

/// The public access block: the kinds of public access that are rejected.
#[derive(Clone, Input, Serialize, PartialEq, Eq)]
pub(crate) struct PublicAccessBlock {
    /// Reject ACLs that allow public access.
    #[input(default = true)]
    pub(crate) block_public_acls: bool,
    /// Reject policies that allow public access.
    #[input(default = true)]
    pub(crate) block_public_policy: bool,
    /// Ignore existing ACLs that allow public access.
    #[input(default = true)]
    pub(crate) ignore_public_acls: bool,
    /// Restrict a policy that allows public access to the account itself.
    #[input(default = true)]
    pub(crate) restrict_public_buckets: bool,
}

impl PublicAccessBlock {
    /// All of them.
    pub(crate) const ALL: Self = Self {
        block_public_acls: true,
        block_public_policy: true,
        ignore_public_acls: true,
        restrict_public_buckets: true,
    };
}

/// The default encryption of objects.
#[derive(Clone, Input, Serialize, PartialEq, Eq)]
pub(crate) struct Encryption {
    /// The algorithm.
    #[input(default = "AES256", one_of = ["AES256", "aws:kms", "aws:kms:dsse"])]
    pub(crate) algorithm: String,
    /// The id or ARN of the key in KMS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kms_key_id: Option<String>,
    /// Whether to ask KMS once for many objects.
    #[input(default)]
    pub(crate) bucket_key: bool,
}

/// A rule for expiring and moving objects.
#[derive(Clone, Input, Serialize, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The name of the rule, unique in the bucket.
    #[input(min_length = 1, max_length = 255)]
    pub(crate) id: String,
    /// Whether the rule is enabled.
    #[input(default = true)]
    pub(crate) enabled: bool,
    /// The prefix of the keys of the objects.
    #[input(default)]
    pub(crate) prefix: String,
    /// Objects are deleted this many days after they were created.
    #[input(min = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expire_after_days: Option<u32>,
    /// Old versions are deleted this many days after they were superseded.
    #[input(min = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expire_noncurrent_after_days: Option<u32>,
    /// Incomplete uploads are aborted after this many days.
    #[input(min = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) abort_uploads_after_days: Option<u32>,
    /// Transitions to cheaper storage classes.
    #[input(assumed)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) transitions: Vec<Transition>,
    /// A rule that this driver does not support. It is only found, never set.
    #[serde(skip_deserializing, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) other: bool,
}

/// A transition to a cheaper storage class.
#[derive(Clone, Input, Serialize, PartialEq, Eq)]
pub(crate) struct Transition {
    /// The number of days after the creation of the object.
    pub(crate) after_days: u32,
    /// The storage class.
    #[input(one_of = CLASSES)]
    pub(crate) storage_class: String,
}

/// The storage classes to which objects can move.
const CLASSES: [&str; 6] =
    ["STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE"];

/// The policy of a bucket.
#[derive(Clone, Input)]
pub(crate) struct BucketPolicy {
    /// The name of the bucket.
    #[input(replaces)]
    pub(crate) bucket: String,
    /// The policy document, as JSON or as a text that contains JSON.
    #[schemars(extend("type" = ["object", "string"]))]
    pub(crate) policy: Json,
}

/// An object.
#[derive(Clone, Input)]
#[input(holds_data = "the object's content")]
pub(crate) struct Object {
    /// The name of the bucket.
    #[input(replaces)]
    pub(crate) bucket: String,
    /// The key of the object.
    #[input(replaces)]
    pub(crate) key: String,
    /// The content. Either this or `secrets.content` is required.
    pub(crate) content: Option<String>,
    /// The media type.
    #[input(default = "application/octet-stream")]
    pub(crate) content_type: String,
}

/// The outputs, in addition to those in `secrets.outputs`.
#[derive(Default, Outputs)]
#[output(open)]
pub(crate) struct S3Outputs {
    /// The name of the bucket.
    pub(crate) bucket: String,
    /// For a bucket: its region.
    pub(crate) region: Option<String>,
    /// The ARN of the bucket or the object.
    pub(crate) arn: String,
    /// For a bucket: its host name in AWS.
    pub(crate) domain: Option<String>,
    /// For a bucket or an object: its URL.
    pub(crate) url: Option<String>,
    /// For an object: its key.
    pub(crate) key: Option<String>,
    /// For an object: its size in bytes.
    pub(crate) size: Option<u64>,
    /// For an object: the SHA-256 digest of its content, in hexadecimal.
    pub(crate) sha256: Option<String>,
}

/// Exactly one thing.
pub(crate) enum Thing {
    Bucket(Bucket),
    Policy(BucketPolicy),
    Object(Object),
}

impl S3Inputs {
    /// The one thing that the inputs name, after a check.
    pub(crate) fn thing(&self) -> Result<Thing, Failure> {
        let mut faults = Faults::default();
        self.validate(&mut faults);
        faults.into_result()?;
        let Values { bucket, bucket_policy, object } = &self.values;
        let object = object.as_ref().map(|object| {
            let content = self.secrets.content.clone().or_else(|| object.content.clone());
            Thing::Object(Object { content, ..object.clone() })
        });
        let kinds = [bucket.clone().map(Thing::Bucket), bucket_policy.clone().map(Thing::Policy), object];
        only_one(kinds, check::ONE_OF)
    }

    /// Secrets that are passed on unchanged.
    pub(crate) fn handed_on(&self) -> BTreeMap<String, String> {
        self.secrets.outputs.clone().unwrap_or_default()
    }

    /// Checks that need every value to be known.
    pub(crate) fn validate(&self, faults: &mut Faults) {
        self.connection.aws().validate(faults);
        if let Some(bucket) = &self.values.bucket {
            check::bucket(bucket, faults);
        }
        if let Some(policy) = &self.values.bucket_policy {
            check::name(&policy.bucket, "/values/bucket_policy/bucket", faults);
            check::policy(&policy.policy, faults);
        }
        if let Some(object) = &self.values.object {
            check::object(object, self.secrets.content.is_some(), faults);
        } else if self.secrets.content.is_some() {
            faults.add("/secrets/content", "is the content of an object, but `values.object` is missing");
        }
    }
}
