//! Paths to inputs, with which documents refer to changes (SPEC §9, `ignore_changes` and
//! `replace_on_changes`). This module knows neither their syntax nor the inputs.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::Location;

/// The segment for any key and any element.
const ANY: &str = "*";

/// A path to inputs of a resource, below `values`, `secrets`, `params` or `account`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InputPath {
    /// As written: `values.tags['a.b']` or `/values/tags/a.b`.
    pub text: Arc<str>,
    /// The same as a JSON Pointer, in which a segment `*` matches any key and any element.
    pub pointer: Arc<str>,
    /// Where it was written.
    pub location: Location,
}

impl InputPath {
    /// The roots that a path may begin with.
    pub const ROOTS: [&'static str; 4] = ["values", "secrets", "params", "account"];

    /// Whether a change at a JSON Pointer into `{values, secrets, params, account}` concerns this
    /// path: the two are equal, or one of them is below the other. A change at `/values/a` concerns
    /// the path `/values/a/b`, because all of `a` may have been added or removed, and a change at
    /// `/values/a/b` concerns the path `/values/a`.
    pub fn matches(&self, pointer: &str) -> bool {
        fn segments(pointer: &str) -> impl Iterator<Item = &str> {
            pointer.split('/').skip(1)
        }
        segments(&self.pointer).zip(segments(pointer)).all(|(own, other)| own == ANY || own == other)
    }

    /// Whether a change at a JSON Pointer is at this path or below it, so that the path covers all
    /// of the change and not only a part.
    pub fn covers(&self, pointer: &str) -> bool {
        self.matches(pointer) && pointer.matches('/').count() >= self.pointer.matches('/').count()
    }

    /// The segments, the root first, with the pointer's escapes undone; `None` for a `*`.
    pub fn segments(&self) -> impl Iterator<Item = Option<Cow<'_, str>>> {
        self.pointer.split('/').skip(1).map(|segment| match segment {
            ANY => None,
            plain if !plain.contains('~') => Some(Cow::Borrowed(plain)),
            // In this order: `~01` is `~1`.
            escaped => Some(Cow::Owned(escaped.replace("~1", "/").replace("~0", "~"))),
        })
    }
}

impl fmt::Display for InputPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(pointer: &str) -> InputPath {
        InputPath { text: pointer.into(), pointer: pointer.into(), location: Location::default() }
    }

    #[test]
    fn a_change_affects_paths_above_and_below() {
        for (own, concerned, others) in [
            ("/values/a", vec!["/values/a", "/values/a/b", "/values", ""], vec!["/values/ab", "/secrets/a"]),
            ("/values/a/b", vec!["/values/a", "/values/a/b/0"], vec!["/values/a/c", "/values/b/a"]),
            ("/values/*/b", vec!["/values/x", "/values/0/b", "/values/y/b/c"], vec!["/values/x/c"]),
            ("/account", vec!["/account"], vec!["/accounts", "/values"]),
        ] {
            for pointer in concerned {
                assert!(path(own).matches(pointer), "{own} {pointer}");
            }
            for pointer in others {
                assert!(!path(own).matches(pointer), "{own} {pointer}");
            }
        }
    }

    #[test]
    fn a_change_of_more_is_not_covered() {
        assert!(path("/values/a/b").covers("/values/a/b") && path("/values/a").covers("/values/a/b/c"));
        assert!(!path("/values/a/b").covers("/values/a") && !path("/values/*").covers("/secrets/a"));
    }

    #[test]
    fn segments_come_without_escapes() {
        let path = path("/values/a~1b/~01/*");
        let segments: Vec<_> = path.segments().collect();
        let segments: Vec<_> = segments.iter().map(Option::as_deref).collect();
        assert_eq!(segments, [Some("values"), Some("a/b"), Some("~1"), None]);
    }
}
