//! Empties a bucket: every version of every object, page by page.

use std::time::Duration;

use purlin_sdk::{Failure, operation};
use purlin_sdk_aws::xml::Element;

use crate::api::S3;

/// The requests that one call may send by the default of its limits, less some for the rest.
const PAGES: usize = 400;

/// Deletes everything in a bucket, or as much as the call has time for: then the deletion is pending, and the
/// next call continues from there.
pub(crate) fn empty(s3: &S3, bucket: &str) -> Result<(), Failure> {
    let mut deleted = 0;
    let mut before = Vec::new();
    for _ in 0..PAGES {
        if operation::cancelled() {
            let message = format!("cancelled after {deleted} objects of the bucket `{bucket}` were deleted");
            return Err(Failure::failed(message));
        }
        if s3.aws.remaining() < Duration::from_secs(3) {
            return Err(more(bucket, deleted));
        }
        let page = s3.versions(bucket)?;
        let kinds = ["Version", "DeleteMarker"];
        let all = page.children.iter().filter(|it| kinds.contains(&it.name.as_str()));
        // A server that does not know the parameter sends keys unencoded.
        let encoded = page.text_of("EncodingType") == Some("url");
        let objects: Vec<Element> = all.filter_map(|it| object(it, encoded)).collect();
        if objects.is_empty() {
            return Ok(());
        }
        if objects == before {
            let message =
                format!("the bucket `{bucket}` reported that its objects were deleted, but still has them");
            return Err(Failure::failed(message));
        }
        before.clone_from(&objects);
        let count = objects.len();
        let deletion = Element::new("Delete").with_text("Quiet", true);
        let answer = s3.remove_versions(bucket, &objects.into_iter().fold(deletion, Element::with))?;
        let refused: Vec<&Element> = answer.all("Error").collect();
        if let Some(first) = refused.first() {
            let text = |name| first.text_of(name).unwrap_or_default();
            return Err(Failure::conflict(format!(
                "{} objects of the bucket `{bucket}` cannot be deleted; the first is `{}`: {}: {}",
                refused.len(),
                text("Key"),
                text("Code"),
                text("Message"),
            )));
        }
        deleted += count;
        operation::progress(&format!("{deleted} objects deleted"), None);
    }
    Err(more(bucket, deleted))
}

fn more(bucket: &str, deleted: usize) -> Failure {
    let message = format!("{deleted} objects of the bucket `{bucket}` are deleted, and there are more");
    Failure::pending(Duration::from_millis(100), message)
}

fn object(version: &Element, encoded: bool) -> Option<Element> {
    let key = version.text_of("Key")?;
    let key = if encoded { decoded(key) } else { key.to_owned() };
    let id = version.text_of("VersionId").unwrap_or("null");
    Some(Element::new("Object").with_text("Key", key).with_text("VersionId", id))
}

/// Keys are percent-encoded, spaces as `+`, because XML cannot carry every character that they may
/// contain.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high << 4 | low);
                    rest = after;
                }
                _ => bytes.push(b'%'),
            },
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_decoded() {
        assert_eq!(decoded("a%2Bb+c%20d/%C3%BC%zz%"), "a+b c d/ü%zz%");
    }
}
