//! The three parts of a descriptor, each a type that cannot be malformed (SPEC §2, Names).

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::short_text;

/// A name that breaks the rules of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A resource type.
    #[error(
        "`{0}` is not a resource type: a type begins with a letter or digit, then letters, digits, `_`, `/` and `-`"
    )]
    Type(String),
    /// A resource class.
    #[error(
        "`{0}` is not a resource class: a class begins with a lower-case letter or digit, then lower-case letters, digits and `-`"
    )]
    Class(String),
    /// A resource id.
    #[error(
        "`{0}` is not a resource id: an id is printable, without spaces, `#`, `<`, `>`, quotes or brackets"
    )]
    Id(String),
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $error:ident, $valid:path, $kept:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks a name.
            ///
            /// # Errors
            /// If the text breaks the rule of SPEC §2.
            pub fn new(text: impl AsRef<str>) -> Result<Self, NameError> {
                let text = text.as_ref();
                Self::check(text).map(|()| Self($kept(text)))
            }

            /// Checks a text that is not stored as a separate name.
            ///
            /// # Errors
            /// As for [`Self::new`].
            pub(crate) fn check(text: &str) -> Result<(), NameError> {
                if $valid(text) { Ok(()) } else { Err(NameError::$error(text.into())) }
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }
    };
}

name!(
    /// A resource type, such as `postgres` or `acme/queue`.
    TypeName,
    Type,
    valid_type,
    short_text
);
name!(
    /// A resource class, such as `default`.
    Class,
    Class,
    valid_class,
    short_text
);
name!(
    /// A resource id within an environment, such as `modules.web.externals.db`.
    ResourceId,
    Id,
    valid_id,
    Arc::from
);

impl TypeName {
    /// The type of the resources that workloads are.
    pub const WORKLOAD: &str = "workload";

    /// The type of all installations (SPEC §6).
    pub fn installation() -> Self {
        Self("installation".into())
    }
}

impl Class {
    /// The name of the default class.
    pub const DEFAULT: &str = "default";

    /// The default class of a resource.
    pub fn default_class() -> Self {
        static DEFAULT: LazyLock<Arc<str>> = LazyLock::new(|| Class::DEFAULT.into());
        Self(Arc::clone(&DEFAULT))
    }
}

fn valid_type(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'/' | b'-'))
}

fn valid_class(text: &str) -> bool {
    let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let mut bytes = text.bytes();
    bytes.next().is_some_and(lower) && bytes.all(|b| lower(b) || b == b'-')
}

fn valid_id(text: &str) -> bool {
    const FORBIDDEN: &[char] = &['#', '<', '>', '\'', '"', '`', '(', ')', '[', ']', '{', '}'];
    !text.is_empty()
        && text != "@"
        && text.chars().all(|c| !c.is_control() && !c.is_whitespace() && !FORBIDDEN.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_their_rules() {
        for good in ["postgres", "acme/queue", "k8s-cluster", "A_b"] {
            assert!(TypeName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a.b", "a#b", "a b", "é"] {
            assert!(TypeName::new(bad).is_err(), "{bad}");
        }
        assert!(Class::new("s3-read-only").is_ok());
        assert!(Class::new("Default").is_err());
        assert!(Class::new("@").is_err());
        for good in ["modules.web.externals.db", "a@b", "über", "prod/db"] {
            assert!(ResourceId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "@", "a b", "a#b", "a<b", "a'b", "a[0]", "a\u{7}"] {
            assert!(ResourceId::new(bad).is_err(), "{bad}");
        }
    }
}
