//! What the driver is given, once it is checked.

use std::collections::BTreeMap;

use purlin_sdk::{Failure, Faults, Json};
use purlin_sdk_aws::Connection;
use purlin_sdk_aws::tags::Tags;
use serde::{Deserialize, Serialize};

use crate::check;

/// The things that the driver provisions; inputs name exactly one.
pub(crate) const KINDS: [&str; 3] = ["/values/bucket", "/values/bucket_policy", "/values/object"];

/// Where it is to be, what, and with whose rights.
#[derive(Deserialize)]
pub struct S3Inputs {
    pub(crate) connection: Connection,
    values: Values,
    #[serde(default)]
    secrets: Secrets,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    bucket: Option<Bucket>,
    bucket_policy: Option<BucketPolicy>,
    object: Option<Object>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Secrets {
    content: Option<String>,
    outputs: Option<BTreeMap<String, String>>,
}

/// A bucket.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bucket {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) versioning: bool,
    #[serde(default)]
    pub(crate) tags: Tags,
    pub(crate) public_access_block: Option<PublicAccessBlock>,
    pub(crate) encryption: Option<Encryption>,
    pub(crate) lifecycle_rules: Option<Vec<Rule>>,
    /// Asked for when the bucket goes, of the inputs that are recorded.
    #[serde(default, rename = "force_destroy")]
    _force_destroy: bool,
}

/// Which doors to the public stay shut.
#[derive(Clone, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PublicAccessBlock {
    pub(crate) block_public_acls: bool,
    pub(crate) block_public_policy: bool,
    pub(crate) ignore_public_acls: bool,
    pub(crate) restrict_public_buckets: bool,
}

impl Default for PublicAccessBlock {
    fn default() -> Self {
        Self {
            block_public_acls: true,
            block_public_policy: true,
            ignore_public_acls: true,
            restrict_public_buckets: true,
        }
    }
}

/// How objects are encrypted that do not say it themselves.
#[derive(Clone, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Encryption {
    #[serde(default = "aes")]
    pub(crate) algorithm: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kms_key_id: Option<String>,
    #[serde(default)]
    pub(crate) bucket_key: bool,
}

/// What becomes of objects with time.
#[derive(Clone, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) id: String,
    #[serde(default = "yes")]
    pub(crate) enabled: bool,
    #[serde(default)]
    pub(crate) prefix: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expire_after_days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expire_noncurrent_after_days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) abort_uploads_after_days: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) transitions: Vec<Transition>,
    /// Something that this driver cannot say: only ever found, never given.
    #[serde(default, skip_deserializing, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) other: bool,
}

/// A move to a cheaper kind of storage.
#[derive(Clone, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Transition {
    pub(crate) after_days: u32,
    pub(crate) storage_class: String,
}

/// The policy of a bucket.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BucketPolicy {
    pub(crate) bucket: String,
    pub(crate) policy: Json,
}

/// An object.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Object {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) content: Option<String>,
    #[serde(default = "octets")]
    pub(crate) content_type: String,
}

/// Exactly one thing.
pub(crate) enum Thing {
    Bucket(Bucket),
    Policy(BucketPolicy),
    Object(Object),
}

impl S3Inputs {
    /// The one thing that the inputs name, after a look at whether it can be.
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

    /// Secrets that are handed on as they are.
    pub(crate) fn handed_on(&self) -> BTreeMap<String, String> {
        self.secrets.outputs.clone().unwrap_or_default()
    }

    /// All that can only be said once nothing is unknown.
    pub(crate) fn validate(&self, faults: &mut Faults) {
        self.connection.validate(faults);
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

fn aes() -> String {
    "AES256".to_owned()
}

fn octets() -> String {
    "application/octet-stream".to_owned()
}

fn yes() -> bool {
    true
}
