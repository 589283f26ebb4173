//! The life of a bucket. Its id is its name.

use purlin_sdk::{CreateRequest, Failure, Json, Observed, Raw, State, UpdateRequest, operation};
use purlin_sdk_aws::tags::{is_marked, not_another_s};
use purlin_sdk_aws::{Endpoint, RequestError};
use serde_json::json;

use crate::api::{self, S3};
use crate::check::ONLY_REPLACED;
use crate::empty;
use crate::inputs::{Bucket, S3Inputs, S3Outputs};
use crate::settings::{self, ExistingBucket, Wanted};

pub(crate) fn create(request: &CreateRequest<S3Inputs>, s3: &S3, bucket: &Bucket) -> Result<State, Failure> {
    let guresid = request.subject.guresid.as_str();
    let wanted = wanted(bucket);
    let found = settings::look(s3, bucket.name(), wanted)?;
    if let Some(found) = &found {
        ours(bucket.name(), found, guresid)?;
    }
    // There is none, or it is ours: from here on, a bucket with this name was created here.
    operation::checkpoint(bucket.name());
    let state = state(s3, bucket.name(), &request.inputs)?;
    let finish = || -> Result<(), Failure> {
        let found = match found {
            Some(found) => found,
            None => {
                make(s3, bucket.name())?;
                ExistingBucket {
                    tags: Default::default(),
                    versioning: false,
                    public_access_block: None,
                    encryption: None,
                    lifecycle_rules: None,
                }
            }
        };
        s3.aws.until_known(|| settings::apply(s3, bucket, &found, Wanted::default()))?;
        Ok(())
    };
    finish().map_err(|failure| s3.aws.settle_create(failure, Some(state.clone())))?;
    Ok(state)
}

/// Creates a bucket, and reports the cause if that is not possible.
fn make(s3: &S3, name: &str) -> Result<(), Failure> {
    match s3.make(name) {
        // No one had it when this call checked; the answer to an earlier attempt was lost.
        Err(fault) if fault.is(&["BucketAlreadyOwnedByYou"]) && s3.aws.was_lost() => Ok(()),
        Err(RequestError::Aws(error)) if error.is(&["BucketAlreadyOwnedByYou", "BucketAlreadyExists"]) => {
            s3.aws.decided();
            Err(Failure::Conflict(error.problem(format!(
                "the name `{name}` is taken: names of buckets are unique among all accounts. Choose another one, \
                 or leave `bucket.name` out ({})",
                error.full_message()
            ))))
        }
        result => Ok(result?),
    }
}

/// Rejects a bucket of another owner. Its mark identifies it; without one, it is ours only if its
/// name is unique to this resource.
fn ours(name: &str, found: &ExistingBucket, guresid: &str) -> Result<(), Failure> {
    not_another_s(&found.tags, &[guresid], &format!("the bucket `{name}`"))?;
    if is_marked(&found.tags, guresid) || name.contains(guresid) {
        return Ok(());
    }
    Err(Failure::conflict(format!(
        "the bucket `{name}` already exists, without a mark of this resource; \
         `purlin import` with the id `{name}` adopts it"
    )))
}

/// Reads a bucket. A recorded one needs no check; one that a person or an interrupted call names
/// may have no mark, but not another's; one that is searched for must have ours.
pub(crate) fn read(
    s3: &S3,
    name: &str,
    raw: &Raw<S3Inputs>,
    guresid: &str,
    known: Known,
) -> Result<Option<Observed>, Failure> {
    let given = raw.get("/values/bucket");
    let Some(found) = settings::look(s3, name, Wanted::of(given))? else { return Ok(None) };
    match known {
        Known::Recorded => {}
        Known::Named => not_another_s(&found.tags, &[guresid], &format!("the bucket `{name}`"))?,
        Known::Not => ours(name, &found, guresid)?,
    }
    let mut values = raw.get("/values").and_then(Json::as_object).cloned().unwrap_or_default();
    values.insert("bucket".to_owned(), settings::observed(given, name, &found)?);
    let state = state_of(s3, name, raw.get("/secrets/outputs"))?;
    Observed::new(state, values).map(Some)
}

/// How certain it is that the bucket with an id is the resource.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is recorded.
    Recorded,
    /// A person or a checkpoint named it.
    Named,
    /// It has the name that the resource would have.
    Not,
}

pub(crate) fn update(request: &UpdateRequest<S3Inputs>, s3: &S3, bucket: &Bucket) -> Result<State, Failure> {
    if bucket.name() != request.state.id {
        return Err(Failure::input("/values/bucket/name", ONLY_REPLACED));
    }
    let before = Wanted::of(request.before.get("/values/bucket"));
    let now = wanted(bucket);
    let given_up = Wanted {
        public_access_block: before.public_access_block && !now.public_access_block,
        encryption: before.encryption && !now.encryption,
        lifecycle_rules: before.lifecycle_rules && !now.lifecycle_rules,
    };
    let state = state(s3, bucket.name(), &request.after)?;
    let Some(found) = settings::look(s3, bucket.name(), now)? else {
        return Err(Failure::not_found(format!("the bucket `{}` is gone", bucket.name())));
    };
    let recorded = mark_of(&request.before).unwrap_or_default();
    let owners = [request.subject.guresid.as_str(), recorded];
    not_another_s(&found.tags, &owners, &format!("the bucket `{}`", bucket.name()))?;
    let applied = settings::apply(s3, bucket, &found, given_up);
    applied.map_err(|fault| s3.aws.settle_update(fault.into(), state.clone()))?;
    Ok(state)
}

/// Deletes a bucket, and its contents if that was requested.
pub(crate) fn delete(s3: &S3, name: &str, raw: &Raw<S3Inputs>, guresid: &str) -> Result<(), Failure> {
    let force = raw.get("/values/bucket/force_destroy").and_then(Json::as_bool).unwrap_or(false);
    let Some(tags) = settings::tags_of_bucket(s3, name)? else { return Ok(()) };
    let owners = [guresid, mark_of(raw).unwrap_or_default()];
    not_another_s(&tags, &owners, &format!("the bucket `{name}`"))?;
    match s3.remove(name) {
        Err(RequestError::Aws(error)) if error.is(&["BucketNotEmpty"]) && !force => {
            return Err(Failure::Conflict(error.problem(format!(
                "the bucket `{name}` is not empty: empty it, or set `bucket.force_destroy: true` and run `up`, \
                 so that all its objects, with all their versions, are deleted with it"
            ))));
        }
        Err(fault) if fault.is(&["BucketNotEmpty"]) => {}
        Err(fault) if fault.is_missing() => return Ok(()),
        result => return Ok(result?),
    }
    if !owners.iter().any(|owner| !owner.is_empty() && is_marked(&tags, owner)) {
        return Err(Failure::conflict(format!(
            "the bucket `{name}` has lost the tag of this resource, so its contents are not deleted: run `up`, \
             which sets the tag again, or empty it"
        )));
    }
    empty::empty(s3, name)?;
    match s3.remove(name) {
        Err(fault) if fault.is_missing() => Ok(()),
        result => Ok(result?),
    }
}

/// The recorded mark: after a rename, it differs from the one that the resource would have now.
fn mark_of(raw: &Raw<S3Inputs>) -> Option<&str> {
    raw.get("/values/bucket/tags/purlin:resource").and_then(Json::as_str)
}

fn wanted(bucket: &Bucket) -> Wanted {
    Wanted {
        public_access_block: bucket.public_access_block.is_some(),
        encryption: bucket.encryption.is_some(),
        lifecycle_rules: bucket.lifecycle_rules.is_some(),
    }
}

fn state(s3: &S3, name: &str, inputs: &S3Inputs) -> Result<State, Failure> {
    let handed_on = serde_json::to_value(inputs.handed_on())?;
    state_of(s3, name, Some(&handed_on))
}

fn state_of(s3: &S3, name: &str, handed_on: Option<&Json>) -> Result<State, Failure> {
    let secrets = handed_on.filter(|it| it.is_object()).cloned().unwrap_or_else(|| json!({}));
    State::new(name).described_outputs(&outputs(&s3.endpoint, name))?.secrets(secrets)
}

/// The outputs, all of which follow from the inputs.
pub(crate) fn outputs(endpoint: &Endpoint, name: &str) -> S3Outputs {
    let (region, partition) = (&endpoint.region, endpoint.partition());
    S3Outputs {
        bucket: name.to_owned(),
        region: Some(region.clone()),
        arn: format!("arn:{}:s3:::{name}", partition.name),
        domain: endpoint.is_aws().then(|| format!("{name}.s3.{region}.{}", partition.domain)),
        url: Some(api::url(endpoint, name, "").trim_end_matches('/').to_owned()),
        ..S3Outputs::default()
    }
}
