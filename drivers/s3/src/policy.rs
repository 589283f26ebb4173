//! The life of a bucket's policy. A bucket has at most one, so its id is the bucket's name and
//! `?policy`, as S3 writes it.
//!
//! It has no place for a mark: one that equals the inputs is treated as left by an interrupted
//! call, any other as somebody else's.

use purlin_sdk::{CreateRequest, Failure, Json, Observed, Raw, State, UpdateRequest, operation};
use purlin_sdk_aws::{Endpoint, RequestError, policy as documents};
use serde_json::json;

use crate::api::S3;
use crate::check::ONLY_REPLACED;
use crate::inputs::{BucketPolicy, S3Inputs, S3Outputs};

/// The end of a policy's id.
pub(crate) const SUFFIX: &str = "?policy";

pub(crate) fn id(bucket: &str) -> String {
    format!("{bucket}{SUFFIX}")
}

pub(crate) fn create(_: &CreateRequest<S3Inputs>, s3: &S3, wanted: &BucketPolicy) -> Result<State, Failure> {
    let bucket = &wanted.bucket;
    let found = s3.aws.until_known(|| s3.policy(bucket));
    let found = found.map_err(|fault| gone(fault, bucket))?;
    let found = found.as_deref().map(parsed).transpose()?;
    if found.as_ref().is_some_and(|found| !documents::same(found, &wanted.policy)) {
        return Err(another_s(bucket));
    }
    operation::checkpoint(&id(bucket));
    if found.is_none() {
        set(s3, wanted).map_err(|failure| s3.aws.settle_create(failure, Some(State::new(id(bucket)))))?;
    }
    state(s3, bucket)
}

pub(crate) fn read(
    s3: &S3,
    bucket: &str,
    raw: &Raw<S3Inputs>,
    ask_whose: bool,
) -> Result<Option<Observed>, Failure> {
    let text = match s3.policy(bucket) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(None),
        Err(fault) if fault.is_missing() => return Ok(None),
        Err(fault) => return Err(fault.into()),
    };
    let found = parsed(&text)?;
    let given = raw.get("/values/bucket_policy/policy");
    let same = given.is_some_and(|given| documents::same(given, &found));
    if ask_whose && !same {
        return Err(another_s(bucket));
    }
    let policy = given.filter(|_| same).cloned().unwrap_or_else(|| documents::canonical(&found));
    let mut values = raw.get("/values").and_then(Json::as_object).cloned().unwrap_or_default();
    values.insert("bucket_policy".to_owned(), json!({"bucket": bucket, "policy": policy}));
    Observed::new(state(s3, bucket)?, values).map(Some)
}

pub(crate) fn update(
    request: &UpdateRequest<S3Inputs>,
    s3: &S3,
    wanted: &BucketPolicy,
) -> Result<State, Failure> {
    if id(&wanted.bucket) != request.state.id {
        return Err(Failure::input("/values/bucket_policy/bucket", ONLY_REPLACED));
    }
    let state = state(s3, &wanted.bucket)?;
    set(s3, wanted).map_err(|failure| s3.aws.settle_update(failure, state.clone()))?;
    Ok(state)
}

pub(crate) fn delete(s3: &S3, bucket: &str) -> Result<(), Failure> {
    match s3.remove_policy(bucket) {
        Err(fault) if fault.is_missing() => Ok(()),
        result => Ok(result?),
    }
}

fn set(s3: &S3, wanted: &BucketPolicy) -> Result<(), Failure> {
    let text = wanted.policy.to_string();
    let set = s3.aws.until_known(|| s3.set_policy(&wanted.bucket, &text));
    set.map_err(|fault| match fault {
        RequestError::Aws(error) if error.is(&["MalformedPolicy", "InvalidPolicyDocument"]) => Failure::input(
            "/values/bucket_policy/policy",
            format!("is rejected by AWS ({})", error.full_message()),
        ),
        RequestError::Aws(error) if error.message.contains("BlockPublicPolicy") => {
            Failure::Conflict(error.problem(format!(
                "the bucket `{}` blocks policies that allow public access: see its `public_access_block` ({})",
                wanted.bucket,
                error.full_message()
            )))
        }
        fault => gone(fault, &wanted.bucket),
    })
}

fn gone(fault: RequestError, bucket: &str) -> Failure {
    if fault.is(&["NoSuchBucket"]) {
        return Failure::not_found(format!("there is no bucket `{bucket}` for the policy"));
    }
    fault.into()
}

fn another_s(bucket: &str) -> Failure {
    Failure::conflict(format!(
        "the bucket `{bucket}` has another policy already; `purlin import` with the id `{}` adopts it",
        id(bucket)
    ))
}

fn parsed(text: &str) -> Result<Json, Failure> {
    Ok(serde_json::from_str(text)?)
}

fn state(s3: &S3, bucket: &str) -> Result<State, Failure> {
    State::new(id(bucket)).described_outputs(&outputs(&s3.endpoint, bucket))
}

/// The outputs, all of which follow from the inputs.
pub(crate) fn outputs(endpoint: &Endpoint, bucket: &str) -> S3Outputs {
    let arn = format!("arn:{}:s3:::{bucket}", endpoint.partition().name);
    S3Outputs { bucket: bucket.to_owned(), arn, ..S3Outputs::default() }
}
