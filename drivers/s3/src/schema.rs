//! The JSON Schemas of inputs and outputs.

use purlin_sdk_aws::connection_schema;
use serde_json::json;

use purlin_sdk::Json as Schema;

fn text(description: &str) -> Schema {
    json!({"type": ["string", "null"], "description": description})
}

/// The same, a change of which replaces the resource.
fn fixed(mut schema: Schema) -> Schema {
    schema["x-purlin-replaces"] = true.into();
    schema
}

fn flag(description: &str) -> Schema {
    json!({"type": ["boolean", "null"], "description": description})
}

fn days(description: &str) -> Schema {
    json!({"type": ["integer", "null"], "minimum": 1, "description": description})
}

/// An object with these properties and no others, or nothing.
fn object(description: &str, required: &[&str], properties: Schema) -> Schema {
    json!({
        "type": ["object", "null"],
        "description": description,
        "required": required,
        "additionalProperties": false,
        "properties": properties,
    })
}

pub(crate) fn inputs() -> Schema {
    let secrets = json!({
        "content": text("Content of an object that is secret."),
        "outputs": {
            "type": ["object", "null"],
            "description": "Secrets to hand on as outputs, such as keys that a workload may use.",
            "additionalProperties": {"type": "string"},
        },
    });
    json!({
        "type": "object",
        "required": ["values", "connection"],
        "properties": {
            "connection": connection_schema(true),
            "values": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "bucket": holding("the bucket, and with `force_destroy` every object in it", bucket()),
                    "bucket_policy": object("The policy of a bucket.", &["bucket", "policy"], json!({
                        "bucket": fixed(text("The bucket's name. A change replaces the resource.")),
                        "policy": {"description": "The policy document, as JSON or as a text with JSON."},
                    })),
                    "object": holding("the object's content", object("An object.", &["bucket", "key"], json!({
                        "bucket": fixed(text("The bucket's name. A change replaces the resource.")),
                        "key": fixed(text("Its key. A change replaces the object.")),
                        "content": text("What is in it, unless `secrets.content` says that."),
                        "content_type": text("Media type, `application/octet-stream` when left out."),
                    }))),
                },
            },
            "secrets": {"type": "object", "additionalProperties": false, "properties": secrets},
        },
    })
}

/// The same, of which something is lost when it is deleted.
fn holding(what: &str, mut schema: Schema) -> Schema {
    schema["x-purlin-holds-data"] = what.into();
    schema
}

fn bucket() -> Schema {
    let transition = json!({
        "type": "object",
        "required": ["after_days", "storage_class"],
        "additionalProperties": false,
        "properties": {"after_days": {"type": "integer", "minimum": 0}, "storage_class": {"type": "string"}},
    });
    let rule = json!({
        "type": "object",
        "required": ["id"],
        "additionalProperties": false,
        "properties": {
            "id": {"type": "string", "description": "Name of the rule, unique in the bucket."},
            "enabled": flag("Whether it is in force; it is unless this says no."),
            "prefix": text("What keys of the objects begin with that it is about; all when left out."),
            "expire_after_days": days("Objects are deleted this many days after they were made."),
            "expire_noncurrent_after_days": days("Old versions are deleted this many days after they became old."),
            "abort_uploads_after_days": days("Uploads that nobody finished are given up after so many days."),
            "transitions": {"type": ["array", "null"], "items": transition},
        },
    });
    object(
        "A bucket.",
        &[],
        json!({
            "name": fixed(text("Its name, unique among all buckets of AWS. `purlin-` and the resource's `guresid` when left out. A change replaces the bucket.")),
            "versioning": flag("Whether old versions of objects are kept."),
            "tags": {"type": ["object", "null"], "description": "Tags. Others than these are taken away.", "additionalProperties": {"type": ["string", "null"]}},
            "public_access_block": object("Which doors to the public stay shut. All of them in AWS itself when left out; left alone in another server.", &[], json!({
                "block_public_acls": flag("Refuse ACLs that let the public in."),
                "ignore_public_acls": flag("Ignore those that are there."),
                "block_public_policy": flag("Refuse policies that let the public in."),
                "restrict_public_buckets": flag("Let nobody but the account use such a policy."),
            })),
            "encryption": object("How objects are encrypted that do not say it themselves; left alone when left out.", &[], json!({
                "algorithm": text("`AES256` (when left out), `aws:kms` or `aws:kms:dsse`."),
                "kms_key_id": text("Id or ARN of the key in KMS."),
                "bucket_key": flag("Whether to ask KMS once for many objects."),
            })),
            "lifecycle_rules": {"type": ["array", "null"], "description": "What becomes of objects with time; left alone when left out.", "items": rule},
            "force_destroy": flag("Whether a bucket that is not empty is deleted with all that is in it."),
        }),
    )
}

pub(crate) fn outputs() -> Schema {
    json!({
        "type": "object",
        "required": ["bucket", "arn"],
        "properties": {
            "bucket": {"type": "string", "description": "The bucket's name."},
            "region": {"type": "string", "description": "Where it is. Of a bucket."},
            "arn": {"type": "string", "description": "ARN of the bucket or the object."},
            "domain": {"type": "string", "description": "Host name of a bucket in AWS itself."},
            "url": {"type": "string", "description": "URL of the bucket or the object."},
            "key": {"type": "string", "description": "Key of an object."},
            "size": {"type": "integer", "description": "Bytes of an object."},
            "sha256": {"type": "string", "description": "Hexadecimal digest of an object's content."},
        },
    })
}
