//! The settings of a bucket: the current ones, the wanted ones, and the way from one to the other.

use purlin_sdk::{Failure, Json, Object};
use purlin_sdk_aws::RequestError;
use purlin_sdk_aws::tags::{self, Tags};
use purlin_sdk_aws::xml::Element;
use serde_json::json;

use crate::api::{ENCRYPTION, LIFECYCLE, PUBLIC_ACCESS, S3, Setting, TAGGING, VERSIONING, tag_set, tags_of};
use crate::inputs::{Bucket, Encryption, PublicAccessBlock, Rule, Transition};

/// Which optional settings of a bucket to read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wanted {
    pub(crate) public_access_block: bool,
    pub(crate) encryption: bool,
    pub(crate) lifecycle_rules: bool,
}

impl Wanted {
    /// Those that the inputs mention.
    pub(crate) fn of(bucket: Option<&Json>) -> Self {
        let is_given = |name: &str| bucket.and_then(|it| it.get(name)).is_some_and(|it| !it.is_null());
        Self {
            public_access_block: is_given("public_access_block"),
            encryption: is_given("encryption"),
            lifecycle_rules: is_given("lifecycle_rules"),
        }
    }
}

/// A bucket as it is. A setting that was not read is `None`.
pub(crate) struct ExistingBucket {
    /// With AWS's own tags.
    pub(crate) tags: Tags,
    pub(crate) versioning: bool,
    pub(crate) public_access_block: Option<PublicAccessBlock>,
    /// A bucket without its own encryption has `Some(None)`.
    pub(crate) encryption: Option<Option<Encryption>>,
    pub(crate) lifecycle_rules: Option<Vec<Rule>>,
}

/// The tags of a bucket; `None` if there is no bucket. This is the only request whose answer is
/// always conclusive.
pub(crate) fn tags_of_bucket(s3: &S3, bucket: &str) -> Result<Option<Tags>, Failure> {
    match s3.setting(bucket, &TAGGING) {
        Ok(found) => Ok(Some(found.as_ref().map(tags_of).unwrap_or_default())),
        Err(fault) if fault.is(&["NoSuchBucket"]) || fault.is_missing() => Ok(None),
        // Another's bucket and a missing permission look alike.
        Err(fault) if fault.is(&["AccessDenied", "PermanentRedirect"]) => match s3.owns(bucket) {
            Ok(false) => Ok(None),
            _ => Err(fault.into()),
        },
        Err(fault) => Err(fault.into()),
    }
}

/// Reads a bucket; `None` if there is none.
pub(crate) fn look(s3: &S3, bucket: &str, wanted: Wanted) -> Result<Option<ExistingBucket>, Failure> {
    let Some(tags) = tags_of_bucket(s3, bucket)? else { return Ok(None) };
    match rest(s3, bucket, wanted, tags) {
        Ok(found) => Ok(Some(found)),
        // It was deleted while being read.
        Err(fault) if fault.is(&["NoSuchBucket"]) => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}

fn rest(s3: &S3, bucket: &str, wanted: Wanted, tags: Tags) -> Result<ExistingBucket, RequestError> {
    let read_if = |is_wanted: bool, setting: &Setting| {
        if is_wanted { s3.setting(bucket, setting).map(Some) } else { Ok(None) }
    };
    let versioning = s3.setting(bucket, &VERSIONING)?;
    let block = read_if(wanted.public_access_block, &PUBLIC_ACCESS)?;
    let encryption = read_if(wanted.encryption, &ENCRYPTION)?;
    let lifecycle = read_if(wanted.lifecycle_rules, &LIFECYCLE)?;
    Ok(ExistingBucket {
        tags,
        versioning: versioning.is_some_and(|it| it.text_of("Status") == Some("Enabled")),
        public_access_block: block.map(|it| public_access_of(it.as_ref())),
        encryption: encryption.map(|it| it.as_ref().and_then(encryption_of)),
        lifecycle_rules: lifecycle.map(|it| it.as_ref().map(rules_of).unwrap_or_default()),
    })
}

/// Sets the settings that differ. `given_up` are settings that were wanted before and no longer
/// are.
pub(crate) fn apply(
    s3: &S3,
    bucket: &Bucket,
    found: &ExistingBucket,
    given_up: Wanted,
) -> Result<(), RequestError> {
    let name = bucket.name();
    if tags::of_users(&found.tags) != bucket.tags {
        // AWS's own tags must be sent back with the others.
        let mut all = found.tags.clone();
        all.retain(|key, _| key.starts_with("aws:"));
        all.extend(bucket.tags.clone());
        s3.set(name, &TAGGING, &Element::new("Tagging").with(tag_set(&all)))?;
    }
    match &bucket.public_access_block {
        Some(wanted) if found.public_access_block.as_ref() != Some(wanted) => {
            s3.set(name, &PUBLIC_ACCESS, &public_access(wanted))?;
        }
        None if given_up.public_access_block => s3.unset(name, &PUBLIC_ACCESS)?,
        _ => {}
    }
    if found.versioning != bucket.versioning {
        let status = if bucket.versioning { "Enabled" } else { "Suspended" };
        s3.set(name, &VERSIONING, &Element::new("VersioningConfiguration").with_text("Status", status))?;
    }
    match &bucket.encryption {
        Some(wanted) if found.encryption.as_ref().and_then(Option::as_ref) != Some(wanted) => {
            s3.set(name, &ENCRYPTION, &encryption(wanted))?;
        }
        None if given_up.encryption => s3.unset(name, &ENCRYPTION)?,
        _ => {}
    }
    match &bucket.lifecycle_rules {
        Some(wanted) if found.lifecycle_rules.as_ref() != Some(wanted) => {
            if wanted.is_empty() {
                s3.unset(name, &LIFECYCLE)?;
            } else {
                let rules = wanted.iter().map(rule);
                s3.set(name, &LIFECYCLE, &rules.fold(Element::new("LifecycleConfiguration"), Element::with))?;
            }
        }
        None if given_up.lifecycle_rules => s3.unset(name, &LIFECYCLE)?,
        _ => {}
    }
    Ok(())
}

/// The inputs as reality has them: each given value is replaced by the one that was found.
pub(crate) fn observed(given: Option<&Json>, name: &str, found: &ExistingBucket) -> Result<Json, Failure> {
    let mut bucket = given.and_then(Json::as_object).cloned().unwrap_or_else(Object::new);
    let mut set = |name: &str, value: Json| bucket.insert(name.to_owned(), value);
    set("name", name.into());
    set("versioning", found.versioning.into());
    set("tags", json!(tags::of_users(&found.tags)));
    if let Some(block) = &found.public_access_block {
        set("public_access_block", serde_json::to_value(block)?);
    }
    if let Some(encryption) = &found.encryption {
        set("encryption", serde_json::to_value(encryption)?);
    }
    if let Some(rules) = &found.lifecycle_rules {
        set("lifecycle_rules", serde_json::to_value(rules)?);
    }
    Ok(Json::Object(bucket))
}

const BLOCKS: [&str; 4] =
    ["BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"];

fn public_access(block: &PublicAccessBlock) -> Element {
    let PublicAccessBlock {
        block_public_acls,
        ignore_public_acls,
        block_public_policy,
        restrict_public_buckets,
    } = block;
    let values = [block_public_acls, ignore_public_acls, block_public_policy, restrict_public_buckets];
    let all = BLOCKS.iter().zip(values);
    all.fold(Element::new("PublicAccessBlockConfiguration"), |element, (name, value)| {
        element.with_text(name, value)
    })
}

fn public_access_of(element: Option<&Element>) -> PublicAccessBlock {
    let is = |name| element.and_then(|it| it.text_of(name)).is_some_and(|it| it.eq_ignore_ascii_case("true"));
    let [block_public_acls, ignore_public_acls, block_public_policy, restrict_public_buckets] =
        BLOCKS.map(is);
    PublicAccessBlock { block_public_acls, ignore_public_acls, block_public_policy, restrict_public_buckets }
}

fn encryption(encryption: &Encryption) -> Element {
    let mut how =
        Element::new("ApplyServerSideEncryptionByDefault").with_text("SSEAlgorithm", &encryption.algorithm);
    if let Some(key) = &encryption.kms_key_id {
        how = how.with_text("KMSMasterKeyID", key);
    }
    let rule = Element::new("Rule").with(how).with_text("BucketKeyEnabled", encryption.bucket_key);
    Element::new("ServerSideEncryptionConfiguration").with(rule)
}

fn encryption_of(element: &Element) -> Option<Encryption> {
    let rule = element.child("Rule")?;
    let how = rule.child("ApplyServerSideEncryptionByDefault")?;
    Some(Encryption {
        algorithm: how.text_of("SSEAlgorithm")?.to_owned(),
        kms_key_id: how.text_of("KMSMasterKeyID").filter(|it| !it.is_empty()).map(str::to_owned),
        bucket_key: rule.text_of("BucketKeyEnabled").is_some_and(|it| it.eq_ignore_ascii_case("true")),
    })
}

fn rule(rule: &Rule) -> Element {
    let status = if rule.enabled { "Enabled" } else { "Disabled" };
    let mut element = Element::new("Rule")
        .with_text("ID", &rule.id)
        .with(Element::new("Filter").with_text("Prefix", &rule.prefix))
        .with_text("Status", status);
    for Transition { after_days, storage_class } in &rule.transitions {
        let to =
            Element::new("Transition").with_text("Days", after_days).with_text("StorageClass", storage_class);
        element = element.with(to);
    }
    let days = [
        (rule.expire_after_days, "Expiration", "Days"),
        (rule.expire_noncurrent_after_days, "NoncurrentVersionExpiration", "NoncurrentDays"),
        (rule.abort_uploads_after_days, "AbortIncompleteMultipartUpload", "DaysAfterInitiation"),
    ];
    for (days, name, inner) in days {
        if let Some(days) = days {
            element = element.with(Element::new(name).with_text(inner, days));
        }
    }
    element
}

fn rules_of(element: &Element) -> Vec<Rule> {
    let mut rules: Vec<Rule> = element.all("Rule").map(rule_of).collect();
    rules.sort_by(|a, b| a.id.cmp(&b.id));
    rules
}

/// A rule as far as this driver can express it; the rest is marked as other.
fn rule_of(element: &Element) -> Rule {
    let days = |path: &[&str]| element.text_at(path).and_then(|days| days.parse().ok());
    let transition = |it: &Element| {
        let after_days = it.text_of("Days")?.parse().ok()?;
        Some(Transition { after_days, storage_class: it.text_of("StorageClass")?.to_owned() })
    };
    let known = |name: &str| {
        let names = [
            "ID",
            "Filter",
            "Prefix",
            "Status",
            "Transition",
            "Expiration",
            "NoncurrentVersionExpiration",
            "AbortIncompleteMultipartUpload",
        ];
        names.contains(&name)
    };
    // Below these there may be more than this driver knows.
    let plain = |place: &str, names: &[&str]| {
        let inner = element.all(place).flat_map(|it| it.children.iter());
        inner.into_iter().all(|it| names.contains(&it.name.as_str()))
    };
    let other = !element.children.iter().all(|it| known(&it.name))
        || !plain("Filter", &["Prefix"])
        || !plain("Transition", &["Days", "StorageClass"])
        || !plain("Expiration", &["Days"])
        || !plain("NoncurrentVersionExpiration", &["NoncurrentDays"]);
    let prefix = element.text_at(&["Filter", "Prefix"]).or_else(|| element.text_of("Prefix"));
    Rule {
        id: element.text_of("ID").unwrap_or_default().to_owned(),
        enabled: element.text_of("Status") == Some("Enabled"),
        prefix: prefix.unwrap_or_default().to_owned(),
        expire_after_days: days(&["Expiration", "Days"]),
        expire_noncurrent_after_days: days(&["NoncurrentVersionExpiration", "NoncurrentDays"]),
        abort_uploads_after_days: days(&["AbortIncompleteMultipartUpload", "DaysAfterInitiation"]),
        transitions: element.all("Transition").filter_map(transition).collect(),
        other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_were_written() {
        let rules: Vec<Rule> = serde_json::from_value(json!([
            {"id": "a", "prefix": "logs/ü & <x>", "expire_after_days": 30, "transitions": [
                {"after_days": 7, "storage_class": "GLACIER"}, {"after_days": 20, "storage_class": "DEEP_ARCHIVE"}]},
            {"id": "b", "enabled": false, "expire_noncurrent_after_days": 1, "abort_uploads_after_days": 2},
        ]))
        .expect("rules");
        let element = rules.iter().map(rule).fold(Element::new("LifecycleConfiguration"), Element::with);
        let read = Element::parse(&element.document(None)).expect("reads");
        assert!(rules_of(&read) == rules);
        let block = PublicAccessBlock { block_public_policy: false, ..PublicAccessBlock::ALL };
        assert!(public_access_of(Some(&public_access(&block))) == block);
        let given =
            Encryption { algorithm: "aws:kms".into(), kms_key_id: Some("k".into()), bucket_key: true };
        assert!(encryption_of(&encryption(&given)).is_some_and(|found| found == given));
    }

    #[test]
    fn rules_with_unsupported_parts_are_recognised() {
        let more = "<Rule><ID>a</ID><Filter><And><Prefix>x</Prefix><Tag/></And></Filter><Status>Enabled</Status>\
                    <Expiration><Days>1</Days></Expiration></Rule>";
        assert!(rule_of(&Element::parse(more).expect("reads")).other);
    }
}
