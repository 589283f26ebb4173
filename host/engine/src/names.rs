//! Resolves a resource name on the command line: a key, or a unique short name.
//!
//! Short names of `postgres.default#modules.web.externals.db` are
//! `postgres#modules.web.externals.db`, `modules.web.externals.db`, `web.db`, `db`, `postgres#db`
//! and `postgres`, as long as no other resource has the same short name. A full key always stands
//! for itself.

use std::collections::HashSet;

use purlin_graph::nearest;
use purlin_model::Key;

/// The purpose of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A resource to which the run is limited.
    Target,
    /// A resource that the run excludes.
    Exclude,
    /// A resource to replace.
    Replace,
    /// A resource to adopt.
    Import,
}

/// A name that matches no resource, or more than one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` names {}", if .fits.is_empty() { "no resource" } else { "several resources" })]
pub struct Misnamed {
    /// The name as given.
    pub name: String,
    /// The matching resources, sorted; none or several.
    pub fits: Vec<Key>,
    /// If nothing matches, the resources that may have been meant, the closest first.
    pub near: Vec<Key>,
}

impl Misnamed {
    /// A short name that stands for only this one of [`Self::fits`].
    pub fn spelling(&self, key: &Key) -> String {
        let kinds = [key.type_name().to_owned(), format!("{}.{}", key.type_name(), key.class())];
        let mut ids: Vec<String> = ids(key).collect();
        // The shortest one first.
        ids.reverse();
        let mut names = ids.iter().flat_map(|id| kinds.iter().map(move |kind| format!("{kind}#{id}")));
        let is_unique = |name: &String| {
            let mut named = self.fits.iter().filter(|other| is_key(name, other) || is_short(name, other));
            named.next().is_some() && named.next().is_none()
        };
        names.find(is_unique).unwrap_or_else(|| key.to_string())
    }
}

/// The maximum number of suggested resources.
const NEAR: usize = 5;

/// Finds the resource that a name stands for.
///
/// # Errors
/// [`Misnamed`] if the name matches no resource, with suggestions, or several resources.
pub fn find<'k>(name: &str, keys: impl IntoIterator<Item = &'k Key>) -> Result<&'k Key, Misnamed> {
    let mut fitting: Vec<&Key> = Vec::new();
    let mut others: Vec<&Key> = Vec::new();
    for key in keys {
        if is_key(name, key) {
            return Ok(key);
        }
        if is_short(name, key) { fitting.push(key) } else { others.push(key) }
    }
    fitting.sort_unstable();
    fitting.dedup();
    match fitting.as_slice() {
        [only] => Ok(*only),
        [] => Err(Misnamed { name: name.to_owned(), fits: Vec::new(), near: near(name, others) }),
        several => Err(Misnamed {
            name: name.to_owned(),
            fits: several.iter().map(|key| (*key).clone()).collect(),
            near: Vec::new(),
        }),
    }
}

/// Like [`find`], but of several resources with this short name it finds the one that is declared,
/// if the others only follow from it, such as co-provisioned ones.
///
/// # Errors
/// [`Misnamed`] if the name matches no resource, with suggestions, or several resources.
pub fn find_declared<'k>(
    name: &str,
    keys: impl IntoIterator<Item = &'k Key>,
    declared: &[Key],
) -> Result<&'k Key, Misnamed> {
    let keys: Vec<&Key> = keys.into_iter().collect();
    let wrong = match find(name, keys.iter().copied()) {
        Ok(key) => return Ok(key),
        Err(wrong) => wrong,
    };
    let declared: HashSet<&Key> = declared.iter().collect();
    let mut own = wrong.fits.iter().filter(|key| declared.contains(key));
    let only = match (own.next(), own.next()) {
        (Some(only), None) => keys.into_iter().find(|key| *key == only),
        _ => None,
    };
    only.ok_or(wrong)
}

/// Whether the name is the key itself, possibly without the class `default`.
fn is_key(name: &str, key: &Key) -> bool {
    name == key.as_str() || name == key.short()
}

/// Whether the name is a short name of the resource.
fn is_short(name: &str, key: &Key) -> bool {
    let is_kind = |kind: &str| {
        kind == key.type_name()
            || kind
                .strip_prefix(key.type_name())
                .and_then(|rest| rest.strip_prefix('.'))
                .is_some_and(|class| class == key.class())
    };
    match name.split_once('#') {
        Some((kind, id)) => is_kind(kind) && ids(key).any(|own| own == id),
        None => is_kind(name) || ids(key).any(|id| id == name),
    }
}

/// Everything that [`find`] accepts as a name of this resource, if no other resource has it too.
fn spellings(key: &Key) -> Vec<String> {
    let ids: Vec<String> = ids(key).collect();
    let kinds = [key.type_name().to_owned(), format!("{}.{}", key.type_name(), key.class())];
    let mut spellings: Vec<String> = Vec::new();
    for kind in kinds {
        spellings.extend(ids.iter().map(|id| format!("{kind}#{id}")));
        spellings.push(kind);
    }
    spellings.extend(ids);
    spellings
}

/// The id and its short forms: `W.R` and `R` for a resource that a workload declares, `W` for the
/// workload, `R` for a shared resource.
fn ids(key: &Key) -> impl Iterator<Item = String> {
    let id = key.id();
    let (long, short) = match (id.strip_prefix("modules."), id.strip_prefix("shared.")) {
        (Some(rest), _) => match rest.split_once(".externals.") {
            Some((workload, resource)) => (Some(format!("{workload}.{resource}")), Some(resource.to_owned())),
            None => (None, Some(rest.to_owned())),
        },
        (None, Some(rest)) => (None, Some(rest.to_owned())),
        (None, None) => (None, None),
    };
    [Some(id.to_owned()), long, short].into_iter().flatten()
}

/// The resources that may have been meant: those with a similar name, if possible among the ones
/// with the same type or id; otherwise all with the same type or id.
fn near(name: &str, keys: Vec<&Key>) -> Vec<Key> {
    let (kind, id) = name.split_once('#').map_or((name, None), |(kind, id)| (kind, Some(id)));
    let type_name = kind.split_once('.').map_or(kind, |(type_name, _)| type_name);
    let is_alike =
        |key: &&Key| key.type_name() == type_name || id.is_some_and(|id| ids(key).any(|own| own == id));
    let alike: Vec<&Key> = keys.iter().copied().filter(is_alike).collect();
    let slips = slips(name, if alike.is_empty() { &keys } else { &alike });
    let mut near: Vec<Key> = if slips.is_empty() { alike.into_iter().cloned().collect() } else { slips };
    near.sort_unstable();
    near.dedup();
    near.truncate(NEAR);
    near
}

/// Like [`near`], for a pattern that matches nothing: compares the text without its `*`.
pub(super) fn near_pattern(pattern: &str, keys: Vec<&Key>) -> Vec<Key> {
    near(pattern.replace('*', "").trim_matches(['#', '.']), keys)
}

/// The resources that have a name similar to this one.
fn slips(name: &str, keys: &[&Key]) -> Vec<Key> {
    let mut called: Vec<(String, &Key)> = Vec::new();
    for key in keys {
        called.extend(spellings(key).into_iter().map(|spelling| (spelling, *key)));
    }
    let Some(near) = nearest(name, called.iter().map(|(name, _)| name.as_str())) else { return Vec::new() };
    called.iter().filter(|(name, _)| name == near).map(|(_, key)| (*key).clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Vec<Key> {
        [
            "workload#modules.web",
            "postgres#modules.web.externals.db",
            "postgres.large#modules.api.externals.store",
            "dns#shared.db",
            "s3#shared.files",
            "base-env#base-env",
        ]
        .map(|text| Key::parse(text).expect("a key"))
        .to_vec()
    }

    #[track_caller]
    fn found(name: &str) -> String {
        find(name, &keys()).map(ToString::to_string).unwrap_or_else(|error| format!("{error:?}"))
    }

    #[test]
    fn a_unique_short_name_is_resolved() {
        for (name, key) in [
            ("web", "workload.default#modules.web"),
            ("modules.web", "workload.default#modules.web"),
            ("web.db", "postgres.default#modules.web.externals.db"),
            ("postgres#db", "postgres.default#modules.web.externals.db"),
            ("store", "postgres.large#modules.api.externals.store"),
            ("postgres.large", "postgres.large#modules.api.externals.store"),
            ("postgres.large#store", "postgres.large#modules.api.externals.store"),
            ("shared.db", "dns.default#shared.db"),
            ("dns", "dns.default#shared.db"),
            ("s3#shared.files", "s3.default#shared.files"),
            ("base-env", "base-env.default#base-env"),
        ] {
            assert_eq!(found(name), key, "{name}");
        }
    }

    #[test]
    fn an_ambiguous_name_is_an_error() {
        let error = find("db", &keys()).expect_err("two are called so");
        let fits: Vec<&str> = error.fits.iter().map(Key::as_str).collect();
        assert_eq!(fits, ["dns.default#shared.db", "postgres.default#modules.web.externals.db"]);
        assert_eq!(find("postgres", &keys()).expect_err("two are of this type").fits.len(), 2);
    }

    #[test]
    fn a_declared_resource_is_preferred() {
        let keys = ["password#modules.web.externals.db", "postgres#modules.web.externals.db", "s3#shared.db"]
            .map(|text| Key::parse(text).expect("a key"));
        let [password, postgres, s3] = &keys;
        let found = |name: &str, declared: &[&Key]| {
            let declared: Vec<Key> = declared.iter().map(|key| (*key).clone()).collect();
            find_declared(name, &keys, &declared).cloned().map_err(|wrong| wrong.fits.len())
        };
        assert_eq!(found("db", &[postgres]), Ok(postgres.clone()));
        assert_eq!(found("db", &[postgres, s3]), Err(3));
        assert_eq!(found("db", &[]), Err(3));
        assert_eq!(found("password", &[postgres]), Ok(password.clone()));
        assert_eq!(found("nothing", &[postgres]), Err(0));
    }

    #[test]
    fn a_spelling_stands_for_one_resource() {
        for (name, spellings) in
            [("db", ["dns#db", "postgres#db"]), ("postgres", ["postgres#db", "postgres#store"])]
        {
            let wrong = find(name, &keys()).expect_err("two are called so");
            let spelled: Vec<String> = wrong.fits.iter().map(|key| wrong.spelling(key)).collect();
            assert_eq!(spelled, spellings, "{name}");
            for (spelling, key) in spelled.iter().zip(&wrong.fits) {
                assert_eq!(found(spelling), key.as_str());
            }
        }
        let keys = ["a#modules.x.externals.b", "a#modules.y.externals.b", "a.c#modules.y.externals.b"]
            .map(|text| Key::parse(text).expect("a key"));
        let wrong = find("a#b", &keys).expect_err("three are called so");
        let spelled: Vec<String> = wrong.fits.iter().map(|key| wrong.spelling(key)).collect();
        assert_eq!(spelled, ["a.c#b", "a#x.b", "a.default#y.b"]);
    }

    #[test]
    fn a_key_overrides_short_names() {
        let keys = ["dns#dns", "dns#shared.dns", "a#dns"].map(|text| Key::parse(text).expect("a key"));
        assert_eq!(find("dns#dns", &keys).map(Key::as_str), Ok("dns.default#dns"));
    }

    #[test]
    fn similar_names_are_suggested() {
        for (name, near) in [
            ("dsn#shared.db", &["dns.default#shared.db"][..]),
            ("flies", &["s3.default#shared.files"]),
            ("dsn", &["dns.default#shared.db"]),
            ("s3#flies", &["s3.default#shared.files"]),
            ("postgres.lagre", &["postgres.large#modules.api.externals.store"]),
            ("postgres#web.dbb", &["postgres.default#modules.web.externals.db"]),
            (
                "postgres#shared.zzz",
                &["postgres.default#modules.web.externals.db", "postgres.large#modules.api.externals.store"],
            ),
            ("nothing-like-it", &[]),
        ] {
            let error = find(name, &keys()).expect_err("not there");
            assert_eq!(error.near.iter().map(Key::as_str).collect::<Vec<_>>(), near, "{name}");
        }
    }

    #[test]
    fn every_spelling_stands_for_its_resource() {
        let keys = keys();
        for key in &keys {
            for spelling in spellings(key) {
                let found = find(&spelling, &keys);
                let fits = match &found {
                    Ok(only) => *only == key,
                    Err(wrong) => wrong.fits.contains(key),
                };
                assert!(fits, "{spelling}: {found:?}");
            }
        }
    }
}
