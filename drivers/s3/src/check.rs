//! Writes inputs in the only spelling that reality can be compared with, and rejects invalid ones.

use purlin_sdk::{CheckRequest, Checked, Failure, Faults, Json, Object as JsonObject, Raw, Subject};
use purlin_sdk_aws::inputs;
use purlin_sdk_aws::{policy as documents, tags};
use serde_json::json;

use crate::inputs::{Bucket, KINDS, Object, PublicAccessBlock, S3Inputs};

pub(crate) const ONE_OF: &str = "has to contain exactly one of `bucket`, `bucket_policy` and `object`";

/// The fault of an id that changed; the host replaces the resource instead.
pub(crate) const ONLY_REPLACED: &str = "cannot be changed, only replaced";

pub(crate) fn check(request: CheckRequest<S3Inputs>) -> Result<Checked, Failure> {
    inputs::check(request, &KINDS, &["/values/bucket"], ONE_OF, normalise, S3Inputs::validate, known_parts)
}

fn known_parts(inputs: &Raw<S3Inputs>, faults: &mut Faults) {
    for place in ["/values/bucket/name", "/values/bucket_policy/bucket", "/values/object/bucket"] {
        if let Some(text) = inputs.get_known(place).and_then(Json::as_str) {
            name(text, place, faults);
        }
    }
    let place = "/values/bucket_policy/policy";
    if let Some(document) = inputs.get_known(place) {
        policy(document, faults);
    }
}

/// Fills in the defaults that a schema cannot express, and removes members without effect.
fn normalise(inputs: &mut Raw<S3Inputs>, subject: &Subject, faults: &mut Faults) {
    let elsewhere = inputs.is_given("/connection/endpoint/url");
    let Some(values) = inputs.document_mut().get_mut("values").and_then(Json::as_object_mut) else { return };
    if let Some(bucket) = values.get_mut("bucket").and_then(Json::as_object_mut) {
        inputs::own(bucket, subject, "/values/bucket", faults);
        bucket_defaults(bucket, elsewhere);
    }
    if let Some(policy) = values.get_mut("bucket_policy").and_then(|it| it.get_mut("policy")) {
        *policy = documents::canonical(policy);
    }
}

fn bucket_defaults(bucket: &mut JsonObject, elsewhere: bool) {
    // Servers other than AWS's often lack this, so there it must be requested.
    if !elsewhere {
        bucket.entry("public_access_block").or_insert_with(|| json!(PublicAccessBlock::ALL));
    }
    if let Some(rules) = bucket.get_mut("lifecycle_rules").and_then(Json::as_array_mut) {
        for rule in rules.iter_mut().filter_map(Json::as_object_mut) {
            if rule.get("transitions").and_then(Json::as_array).is_some_and(Vec::is_empty) {
                rule.remove("transitions");
            }
        }
        let id = |rule: &Json| rule.get("id").and_then(Json::as_str).unwrap_or_default().to_owned();
        if rules.iter().all(|rule| rule.get("id").is_some_and(Json::is_string)) {
            rules.sort_by_key(id);
        }
    }
}

/// Rejects an invalid bucket name.
pub(crate) fn name(name: &str, place: &str, faults: &mut Faults) {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [name.bytes().next(), name.bytes().last()];
    let is_address = name.split('.').count() == 4 && name.split('.').all(|part| part.parse::<u8>().is_ok());
    let prefixes = ["xn--", "sthree-", "amzn-s3-demo-"];
    let suffixes = ["-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3"];
    let fault = if !(3..=63).contains(&name.len()) {
        "is not a valid bucket name: it needs 3 to 63 characters".to_owned()
    } else if !name.bytes().all(|byte| plain(byte) || byte == b'-' || byte == b'.') {
        "is not a valid bucket name: use only lower-case letters, digits, `-` and `.`".to_owned()
    } else if !ends.into_iter().flatten().all(plain) {
        "is not a valid bucket name: it has to begin and end with a letter or a digit".to_owned()
    } else if name.contains("..") {
        "is not a valid bucket name: it must not have two dots in a row".to_owned()
    } else if is_address {
        "is not a valid bucket name: it looks like an IP address".to_owned()
    } else if let Some(prefix) = prefixes.iter().find(|prefix| name.starts_with(**prefix)) {
        format!("is not a valid bucket name: AWS reserves `{prefix}…`")
    } else if let Some(suffix) = suffixes.iter().find(|suffix| name.ends_with(**suffix)) {
        format!("is not a valid bucket name: AWS reserves `…{suffix}`")
    } else {
        return;
    };
    faults.add(place, fault);
}

pub(crate) fn bucket(bucket: &Bucket, faults: &mut Faults) {
    name(bucket.name(), "/values/bucket/name", faults);
    tags::validate(&bucket.tags, "/values/bucket/tags", faults);
    if let Some(encryption) = &bucket.encryption {
        let place = "/values/bucket/encryption";
        let kms = encryption.algorithm.starts_with("aws:kms");
        if encryption.kms_key_id.is_some() && !kms {
            faults.add(format!("{place}/kms_key_id"), "is only for the algorithm `aws:kms`");
        }
    }
    for (index, rule) in bucket.lifecycle_rules.iter().flatten().enumerate() {
        let place = format!("/values/bucket/lifecycle_rules/{index}");
        let days = [rule.expire_after_days, rule.expire_noncurrent_after_days, rule.abort_uploads_after_days];
        if bucket.lifecycle_rules.iter().flatten().filter(|other| other.id == rule.id).count() > 1 {
            faults.add(format!("{place}/id"), "is also used by another rule");
        }
        if days == [None; 3] && rule.transitions.is_empty() {
            faults.add(&place, "has no effect: set when to expire objects, abort uploads or move objects");
        }
    }
}

pub(crate) fn policy(document: &Json, faults: &mut Faults) {
    documents::validate(document, documents::PolicyKind::Resource, "/values/bucket_policy/policy", faults);
}

/// Rejects invalid keys and keys that would lead elsewhere.
pub(crate) fn key(key: &str, faults: &mut Faults) {
    if key.is_empty() || key.len() > 1024 {
        faults.add("/values/object/key", "must have 1 to 1024 bytes");
    } else if key.chars().any(char::is_control) {
        faults.add("/values/object/key", "must not contain a control character");
    } else if key.split('/').any(|part| part == "." || part == "..") {
        faults.add(
            "/values/object/key",
            "must not contain `.` or `..` between slashes: it would refer to another object",
        );
    }
}

pub(crate) fn object(object: &Object, secret: bool, faults: &mut Faults) {
    name(&object.bucket, "/values/object/bucket", faults);
    key(&object.key, faults);
    if object.content_type.is_empty()
        || !object.content_type.bytes().all(|byte| (b' '..=b'~').contains(&byte))
    {
        faults.add("/values/object/content_type", "has to be a media type such as `text/plain`");
    }
    match (object.content.is_some(), secret) {
        (true, true) => {
            faults.add("/secrets/content", "is given together with `values.object.content`: give one of them")
        }
        (false, false) => faults.add("/values/object/content", "is missing, and so is `secrets.content`"),
        _ => {}
    }
}
