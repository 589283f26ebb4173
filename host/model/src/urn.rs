//! The stable logical name of a resource (SPEC §1, URN).

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::{Context, Key};

/// First 40 hex digits of the SHA-256 of a URN: permanent and unique [G].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guresid(Arc<str>);

impl Guresid {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Guresid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `urn:purlin:<env>/<org>::<app>::<module>::<type>.<class>::<id>`; `<module>` is the workload
/// for ids `modules.<workload>…`, else `shared`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Urn(Arc<str>);

/// A text that is not a URN of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a URN of Purlin")]
pub struct NotAUrn(pub String);

impl Urn {
    /// The URN of a resource in a context. Context parts may not contain `::`; the documents crate
    /// guarantees that.
    pub fn new(context: &Context, key: &Key) -> Self {
        Self::of(context.env.id.as_ref(), context.org.as_ref(), context.app.as_ref(), key)
    }

    /// The URN of a resource in an environment, from the ids of the environment, the organisation and
    /// the application.
    pub fn of(env: &str, org: &str, app: &str, key: &Key) -> Self {
        let module = key.workload().unwrap_or("shared");
        Self(
            format!(
                "urn:purlin:{env}/{org}::{app}::{module}::{}.{}::{}",
                key.type_name(),
                key.class(),
                key.id()
            )
            .into(),
        )
    }

    /// Reads a URN.
    ///
    /// # Errors
    /// If the text is not a URN of ours.
    pub fn parse(text: &str) -> Result<Self, NotAUrn> {
        if is_one(text) { Ok(Self(text.into())) } else { Err(NotAUrn(text.into())) }
    }

    /// The key within the environment.
    pub fn key(&self) -> Option<Key> {
        let (type_name, class, id) = parts(&self.0)?;
        Key::of_parts(type_name, class, id).ok()
    }

    /// The URN of another resource of the same environment.
    #[must_use]
    pub fn beside(&self, key: &Key) -> Option<Self> {
        let (env, org, app) = self.place()?;
        Some(Self::of(env, org, app, key))
    }

    /// Its key for people, or the whole URN if it is not that of a resource.
    pub fn shown(&self) -> String {
        self.key().map_or_else(|| self.to_string(), |key| key.to_string())
    }

    /// Its environment: the environment's id, the organisation and the application.
    pub fn place(&self) -> Option<(&str, &str, &str)> {
        let mut parts = self.0.strip_prefix("urn:purlin:")?.splitn(3, "::");
        let (env, org) = parts.next()?.split_once('/')?;
        let app = parts.next()?;
        parts.next().map(|_| (env, org, app))
    }

    /// Whether it is the URN of a resource, so that it has a key.
    pub fn has_key(&self) -> bool {
        is_one(&self.0)
    }

    /// The URN as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The short permanent id made from it.
    pub fn guresid(&self) -> Guresid {
        use fmt::Write as _;
        let digest = Sha256::digest(self.0.as_bytes());
        let mut text = String::with_capacity(40);
        for byte in &digest[..20] {
            let _ = write!(text, "{byte:02x}");
        }
        Guresid(text.into())
    }
}

fn is_one(text: &str) -> bool {
    parts(text).is_some_and(|(type_name, class, id)| Key::check(type_name, class, id).is_ok())
}

/// Type, class and id of a text in the form of a URN.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let rest = text.strip_prefix("urn:purlin:")?;
    let mut parts = rest.splitn(5, "::");
    let (place, _app, _module) = (parts.next()?, parts.next()?, parts.next()?);
    let (head, id) = (parts.next()?, parts.next()?);
    place.split_once('/')?;
    let (type_name, class) = head.split_once('.').unwrap_or((head, "default"));
    Some((type_name, class, id))
}

impl fmt::Display for Urn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
impl fmt::Debug for Urn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}
impl std::borrow::Borrow<str> for Urn {
    fn borrow(&self) -> &str {
        &self.0
    }
}
impl serde::Serialize for Urn {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
impl<'de> serde::Deserialize<'de> for Urn {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EnvironmentId;

    #[test]
    fn a_urn_names_its_place_and_key() {
        let context = Context {
            org: "acme".into(),
            app: "shop".into(),
            env: EnvironmentId { id: "dev".into(), kind: "development".into() },
            namespace: "dev".into(),
            deployment: "1".into(),
        };
        let key = Key::parse("postgres#modules.web.externals.db").expect("a key");
        let urn = Urn::new(&context, &key);
        assert_eq!(
            urn.as_str(),
            "urn:purlin:dev/acme::shop::web::postgres.default::modules.web.externals.db"
        );
        assert_eq!(urn.key(), Some(key));
        assert_eq!(urn.place(), Some(("dev", "acme", "shop")));
        assert_eq!(Urn::parse(urn.as_str()), Ok(urn.clone()));
        assert_eq!(urn.guresid().as_str().len(), 40);
        assert!(Urn::parse("urn:purlin:dev").is_err());
    }
}
