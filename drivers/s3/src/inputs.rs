//! The driver's inputs and outputs.

use std::collections::BTreeMap;

use purlin_sdk::{Failure, Faults, Input, Inputs, Json, Outputs};
use purlin_sdk_aws::Credentials;
use purlin_sdk_aws::tags::Tags;
use serde::Serialize;

use crate::check;

/// The things that the driver provisions; inputs name exactly one.
pub(crate) const KINDS: [&str; 3] = ["/values/bucket", "/values/bucket_policy", "/values/object"];

/// Where it is to be, what, and with whose rights.
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
    /// What is in an object, if that is a secret.
    content: Option<String>,
    /// Secrets to hand on as outputs of a bucket, such as keys that a workload may use: `aws_access_key_id` and
    /// `aws_secret_access_key` are what the type `s3` of others has. The keys of the connection never become
    /// outputs.
    outputs: Option<BTreeMap<String, String>>,
}

/// Where requests go, and who signs them.
#[derive(Input)]
pub(crate) struct Connection {
    /// Where requests go; AWS itself by default.
    endpoint: Option<Endpoint>,
    /// The access key that signs requests. It can be rotated at any time: Purlin uses the connection that the
    /// documents have now.
    #[input(secret)]
    access_key_id: String,
    /// Its secret.
    #[input(secret)]
    secret_access_key: String,
    /// With temporary credentials only.
    #[input(secret)]
    session_token: Option<String>,
}

#[derive(Input)]
struct Endpoint {
    /// The region.
    #[input(default = purlin_sdk_aws::Endpoint::REGION.to_owned(), replaces)]
    region: String,
    /// Another server than AWS's own, such as `http://127.0.0.1:9000`, without `/` at its end.
    #[input(replaces)]
    url: Option<String>,
    /// Whether the bucket's name is in the path and not in the host. It is by default with a `url`, and for names
    /// with a dot.
    path_style: Option<bool>,
}

impl Connection {
    /// The same for requests.
    pub(crate) fn aws(&self) -> purlin_sdk_aws::Connection {
        purlin_sdk_aws::Connection {
            endpoint: self.endpoint.as_ref().map_or_else(Default::default, |endpoint| {
                purlin_sdk_aws::Endpoint {
                    region: endpoint.region.clone(),
                    url: endpoint.url.clone(),
                    path_style: endpoint.path_style,
                }
            }),
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
    /// Its name, unique among all buckets of AWS. By default `purlin-` and the resource's `guresid`.
    #[input(replaces)]
    name: Option<String>,
    /// Whether old versions of objects are kept.
    #[input(default)]
    pub(crate) versioning: bool,
    /// Tags. Others than these are taken away.
    #[input(default)]
    pub(crate) tags: Tags,
    /// The public access block. By default it blocks everything in AWS itself, and is left alone in another server.
    pub(crate) public_access_block: Option<PublicAccessBlock>,
    /// How objects are encrypted that do not say it themselves; left alone when left out.
    pub(crate) encryption: Option<Encryption>,
    /// What becomes of objects with time; left alone when left out.
    pub(crate) lifecycle_rules: Option<Vec<Rule>>,
    /// Whether a bucket that is not empty is deleted with all objects and versions in it. Without it that is a
    /// conflict.
    // Asked for when the bucket goes, of the inputs that are recorded.
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

/// The public access block: which kinds of public access are refused.
#[derive(Clone, Input, Serialize, PartialEq, Eq)]
pub(crate) struct PublicAccessBlock {
    /// Refuse ACLs that let the public in.
    #[input(default = true)]
    pub(crate) block_public_acls: bool,
    /// Refuse policies that let the public in.
    #[input(default = true)]
    pub(crate) block_public_policy: bool,
    /// Ignore ACLs that are there and let the public in.
    #[input(default = true)]
    pub(crate) ignore_public_acls: bool,
    /// Let nobody but the account use a policy that lets the public in.
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

/// How objects are encrypted that do not say it themselves.
#[derive(Clone, Input, Serialize, PartialEq, Eq)]
pub(crate) struct Encryption {
    /// With what.
    #[input(default = "AES256", one_of = ["AES256", "aws:kms", "aws:kms:dsse"])]
    pub(crate) algorithm: String,
    /// Id or ARN of the key in KMS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kms_key_id: Option<String>,
    /// Whether to ask KMS once for many objects.
    #[input(default)]
    pub(crate) bucket_key: bool,
}

/// What becomes of objects with time.
#[derive(Clone, Input, Serialize, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Name of the rule, unique in the bucket.
    #[input(min_length = 1, max_length = 255)]
    pub(crate) id: String,
    /// Whether it is in force.
    #[input(default = true)]
    pub(crate) enabled: bool,
    /// What keys of the objects begin with that it is about.
    #[input(default)]
    pub(crate) prefix: String,
    /// Objects are deleted this many days after they were made.
    #[input(min = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expire_after_days: Option<u32>,
    /// Old versions are deleted this many days after they became old.
    #[input(min = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expire_noncurrent_after_days: Option<u32>,
    /// Uploads that nobody finished are given up after so many days.
    #[input(min = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) abort_uploads_after_days: Option<u32>,
    /// Moves to cheaper kinds of storage.
    #[input(assumed)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) transitions: Vec<Transition>,
    /// Something that this driver cannot say: only ever found, never given.
    #[serde(skip_deserializing, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) other: bool,
}

/// A move to a cheaper kind of storage.
#[derive(Clone, Input, Serialize, PartialEq, Eq)]
pub(crate) struct Transition {
    /// Days after the object was made.
    pub(crate) after_days: u32,
    /// The kind of storage.
    #[input(one_of = CLASSES)]
    pub(crate) storage_class: String,
}

/// The storage classes to which objects can move.
const CLASSES: [&str; 6] =
    ["STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE"];

/// The policy of a bucket.
#[derive(Clone, Input)]
pub(crate) struct BucketPolicy {
    /// The bucket's name.
    #[input(replaces)]
    pub(crate) bucket: String,
    /// The policy document, as JSON or as a text with JSON.
    #[schemars(extend("type" = ["object", "string"]))]
    pub(crate) policy: Json,
}

/// An object.
#[derive(Clone, Input)]
#[input(holds_data = "the object's content")]
pub(crate) struct Object {
    /// The bucket's name.
    #[input(replaces)]
    pub(crate) bucket: String,
    /// Its key.
    #[input(replaces)]
    pub(crate) key: String,
    /// What is in it. Either this or `secrets.content` is required.
    pub(crate) content: Option<String>,
    /// Its media type.
    #[input(default = "application/octet-stream")]
    pub(crate) content_type: String,
}

/// What others may read.
#[derive(Default, Outputs)]
pub(crate) struct S3Outputs {
    /// The bucket's name.
    pub(crate) bucket: String,
    /// Of a bucket: where it is.
    pub(crate) region: Option<String>,
    /// ARN of the bucket or the object.
    pub(crate) arn: String,
    /// Of a bucket: its host name in AWS itself.
    pub(crate) domain: Option<String>,
    /// Of a bucket or an object: where to find it.
    pub(crate) url: Option<String>,
    /// Of an object: its key.
    pub(crate) key: Option<String>,
    /// Of an object: its bytes.
    pub(crate) size: Option<u64>,
    /// Of an object: the hexadecimal digest of its content.
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
        match (bucket, bucket_policy, object) {
            (Some(bucket), None, None) => Ok(Thing::Bucket(bucket.clone())),
            (None, Some(policy), None) => Ok(Thing::Policy(policy.clone())),
            (None, None, Some(object)) => {
                let content = self.secrets.content.clone().or_else(|| object.content.clone());
                Ok(Thing::Object(Object { content, ..object.clone() }))
            }
            _ => Err(Failure::input("/values", check::ONE_OF)),
        }
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
            faults.add("/secrets/content", "is the content of an object, and `values.object` is not given");
        }
    }
}
