//! Tags, and the tag that names the owner of an object.

use std::collections::BTreeMap;

use purlin_sdk::{Failure, Faults, Object};

/// The tag that names the owning resource, by its `guresid`.
pub const MARK: &str = "purlin:resource";

/// Tags by their keys.
pub type Tags = BTreeMap<String, String>;

/// Rejects tags that AWS does not accept, and keys that users may not set, apart from the mark. `pointer`
/// is their place.
pub fn validate(tags: &Tags, pointer: &str, faults: &mut Faults) {
    let plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || " +-=._:/@".contains(c));
    let given = tags.iter().filter(|(key, _)| *key != MARK);
    for (key, value) in given.clone() {
        let place = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
        let fault = if key.is_empty() || key.chars().count() > 128 {
            "a tag's key has 1 to 128 characters"
        } else if value.chars().count() > 256 {
            "a tag's value has at most 256 characters"
        } else if key.to_ascii_lowercase().starts_with("aws:") {
            "keys that begin with `aws:` are reserved by AWS"
        } else if !plain(key) || !plain(value) {
            "a tag can contain only letters, digits, spaces and `+-=._:/@`"
        } else {
            continue;
        };
        faults.add(place, fault);
    }
    if given.count() > 49 {
        faults.add(pointer, "are more than 49; AWS allows 50, and Purlin needs one");
    }
}

/// Adds the mark of a resource to its tags, as `check` returns them. Rejects a user's value in its
/// place.
pub fn mark(tags: &mut Object, guresid: &str, pointer: &str, faults: &mut Faults) {
    match tags.get(MARK) {
        Some(given) if given.as_str() != Some(guresid) => {
            faults.add(format!("{pointer}/{MARK}"), "is set by Purlin, to recognise its own resources");
        }
        _ => {
            tags.insert(MARK.to_owned(), guresid.into());
        }
    }
}

/// Rejects an object that is marked as another resource's. An object without a mark has no owner.
///
/// # Errors
/// [`Failure::Conflict`].
pub fn not_another_s(tags: &Tags, owners: &[&str], what: &str) -> Result<(), Failure> {
    match tags.get(MARK) {
        Some(owner) if !owners.contains(&owner.as_str()) => Err(Failure::conflict(format!(
            "{what} belongs to another resource: its tag `{MARK}` is `{owner}`"
        ))),
        _ => Ok(()),
    }
}

/// Whether an object has the mark of a resource.
pub fn is_marked(tags: &Tags, guresid: &str) -> bool {
    tags.get(MARK).is_some_and(|owner| owner == guresid)
}

/// Tags without those that AWS sets itself.
pub fn of_users(tags: &Tags) -> Tags {
    let own = |key: &str| !key.starts_with("aws:");
    tags.iter().filter(|(key, _)| own(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_mark_is_purlin_s_and_checking_twice_changes_nothing() {
        let mut faults = Faults::default();
        let mut tags = Object::new();
        tags.insert("team".to_owned(), json!("a"));
        mark(&mut tags, "0123", "/values/bucket/tags", &mut faults);
        let once = tags.clone();
        mark(&mut tags, "0123", "/values/bucket/tags", &mut faults);
        assert!(faults.is_empty() && tags == once && tags[MARK] == "0123");
        mark(&mut tags, "4567", "/values/bucket/tags", &mut faults);
        assert!(!faults.is_empty(), "nobody can claim another's");
    }

    #[test]
    fn tags_that_aws_rejects_are_rejected_before() {
        let mut faults = Faults::default();
        let long = "x".repeat(129);
        let tags = [("aws:x", "1"), ("", "1"), (long.as_str(), "1"), ("a{b}", "1"), ("grün", "ja, +-=._:/@")];
        let tags = tags.map(|(key, value)| (key.to_owned(), value.replace(", ", " "))).into_iter().collect();
        validate(&tags, "/values/tags", &mut faults);
        let message = faults.into_result().expect_err("faults").to_string();
        assert_eq!(message.matches("/values/tags").count(), 4, "{message}");
    }
}
