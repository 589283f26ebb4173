//! The life of an object. Its id is `BUCKET/KEY`; its metadata names its owner, and is written
//! together with it.

use data_encoding::HEXLOWER;
use purlin_sdk::{CreateRequest, Failure, Json, Observed, Raw, State, UpdateRequest, operation};
use purlin_sdk_aws::Endpoint;
use purlin_sdk_http::{Request, Response};
use sha2::{Digest, Sha256};

use crate::api::{self, S3};
use crate::check::ONLY_REPLACED;
use crate::inputs::{Object, S3Inputs, S3Outputs};

/// The header that holds the mark.
const MARK: &str = "x-amz-meta-purlin-resource";
/// The header with the digest of the written content, so that a change shows without a download.
const DIGEST: &str = "x-amz-meta-purlin-sha256";
/// Bytes of the largest content that is shown when somebody changed it.
const LARGEST_SHOWN: u64 = 512 << 10;

pub(crate) fn id(bucket: &str, key: &str) -> String {
    format!("{bucket}/{key}")
}

pub(crate) fn create(request: &CreateRequest<S3Inputs>, s3: &S3, object: &Object) -> Result<State, Failure> {
    let guresid = request.subject.guresid.as_str();
    let id = id(&object.bucket, &object.key);
    let found = s3.object(&object.bucket, &object.key, false)?;
    if found.as_ref().is_some_and(|found| found.header(MARK) != Some(guresid)) {
        return Err(another_s(&id));
    }
    operation::checkpoint(&id);
    // Of two concurrent writers, one gets an error.
    let mut upload = upload(s3, object, guresid);
    if found.is_none() {
        upload = upload.header("if-none-match", "*");
    }
    let answer = s3.put_object(upload);
    let lost = s3.aws.was_lost();
    match answer {
        Ok(_) => {}
        Err(fault) if fault.is(&["PreconditionFailed"]) => {
            let found = s3.object(&object.bucket, &object.key, false)?;
            if !lost || found.is_none_or(|found| found.header(MARK) != Some(guresid)) {
                s3.aws.decided();
                return Err(another_s(&id));
            }
        }
        Err(fault) if fault.is(&["NoSuchBucket"]) => return Err(no_bucket(&object.bucket)),
        Err(fault) => return Err(s3.aws.settle_create(fault.into(), None)),
    }
    state(s3, &object.bucket, &object.key, content(object).len(), &digest(content(object)))
}

pub(crate) fn update(request: &UpdateRequest<S3Inputs>, s3: &S3, object: &Object) -> Result<State, Failure> {
    if id(&object.bucket, &object.key) != request.state.id {
        return Err(Failure::input("/values/object/key", ONLY_REPLACED));
    }
    let state = state(s3, &object.bucket, &object.key, content(object).len(), &digest(content(object)))?;
    let upload = upload(s3, object, &request.subject.guresid);
    match s3.put_object(upload) {
        Ok(_) => Ok(state),
        Err(fault) if fault.is(&["NoSuchBucket"]) => Err(no_bucket(&object.bucket)),
        Err(fault) => Err(s3.aws.settle_update(fault.into(), state)),
    }
}

/// Reads an object. `recorded` is whether its id is recorded; if not, another's mark is a conflict,
/// and an object that is searched for must have ours.
pub(crate) fn read(
    s3: &S3,
    (bucket, key): (&str, &str),
    raw: &Raw<S3Inputs>,
    guresid: &str,
    known: crate::bucket::Known,
) -> Result<Option<Observed>, Failure> {
    use crate::bucket::Known;
    let Some(head) = s3.object(bucket, key, false)? else { return Ok(None) };
    let mark = head.header(MARK);
    let foreign = match known {
        Known::Recorded => false,
        Known::Named => mark.is_some_and(|mark| mark != guresid),
        Known::Not => mark != Some(guresid),
    };
    if foreign {
        return Err(another_s(&id(bucket, key)));
    }
    let size = head.header("content-length").and_then(|it| it.parse::<u64>().ok());
    let whole = match size {
        Some(size) if size > LARGEST_SHOWN => None,
        _ => s3.object(bucket, key, true)?,
    };
    let given = raw.get("/values/object");
    let mut object = given.and_then(Json::as_object).cloned().unwrap_or_default();
    object.insert("bucket".to_owned(), bucket.into());
    object.insert("key".to_owned(), key.into());
    if let Some(kind) = head.header("content-type") {
        object.insert("content_type".to_owned(), kind.into());
    }
    let secret = raw.get("/secrets/content").is_some_and(|it| !it.is_null());
    let (size, sha256) = seen(&head, whole.as_ref());
    if !secret {
        let text = whole.as_ref().map(Response::text);
        match text {
            Some(text) => object.insert("content".to_owned(), text.into()),
            // It is too large to be shown; the outputs show a change.
            None => None,
        };
    }
    let mut values = raw.get("/values").and_then(Json::as_object).cloned().unwrap_or_default();
    values.insert("object".to_owned(), Json::Object(object));
    let state = state(s3, bucket, key, usize::try_from(size).unwrap_or(usize::MAX), &sha256)?;
    Observed::new(state, values).map(Some)
}

/// Size and digest of the existing content. Without a download, it is the digest that was written
/// with the content, which disappears when somebody else writes.
fn seen(head: &Response, whole: Option<&Response>) -> (u64, String) {
    match whole {
        Some(whole) => (whole.body.len() as u64, digest(&whole.body)),
        None => {
            let size = head.header("content-length").and_then(|it| it.parse().ok()).unwrap_or_default();
            (size, head.header(DIGEST).unwrap_or("unknown").to_owned())
        }
    }
}

pub(crate) fn delete(s3: &S3, bucket: &str, key: &str, guresid: &str) -> Result<(), Failure> {
    match s3.object(bucket, key, false)? {
        None => return Ok(()),
        Some(found) if found.header(MARK).is_some_and(|mark| mark != guresid) => {
            return Err(another_s(&id(bucket, key)));
        }
        Some(_) => {}
    }
    match s3.remove_object(bucket, key) {
        Err(fault) if fault.is_missing() => Ok(()),
        result => Ok(result?),
    }
}

fn upload(s3: &S3, object: &Object, guresid: &str) -> Request {
    Request::put(s3.url(&object.bucket, &object.key, &[]))
        .body(&object.content_type, content(object))
        .header(MARK, guresid)
        .header(DIGEST, digest(content(object)))
}

fn content(object: &Object) -> &[u8] {
    object.content.as_deref().unwrap_or_default().as_bytes()
}

fn digest(content: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(content))
}

fn no_bucket(bucket: &str) -> Failure {
    Failure::not_found(format!("there is no bucket `{bucket}` for the object"))
}

fn another_s(id: &str) -> Failure {
    Failure::conflict(format!(
        "the object `{id}` already exists, without a mark of this resource; \
         `purlin import` with the id `{id}` adopts it"
    ))
}

fn state(s3: &S3, bucket: &str, key: &str, size: usize, sha256: &str) -> Result<State, Failure> {
    State::new(id(bucket, key)).described_outputs(&S3Outputs {
        size: u64::try_from(size).ok(),
        sha256: Some(sha256.to_owned()),
        ..outputs(&s3.endpoint, bucket, key)
    })
}

/// The outputs that do not depend on the content.
pub(crate) fn outputs(endpoint: &Endpoint, bucket: &str, key: &str) -> S3Outputs {
    S3Outputs {
        bucket: bucket.to_owned(),
        key: Some(key.to_owned()),
        arn: format!("arn:{}:s3:::{bucket}/{key}", endpoint.partition().name),
        url: Some(api::url(endpoint, bucket, key)),
        ..S3Outputs::default()
    }
}
