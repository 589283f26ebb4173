//! The resources that a run covers (`--target`, `--exclude`).

use std::collections::{BTreeMap, HashSet};

use purlin_graph::Graph;
use purlin_model::{Context, Key, Urn};
use serde::{Deserialize, Serialize};

use crate::names::{self, Misnamed, Role};
use crate::records::recorded::Recorded;

/// The resources that a run covers: all of them by default.
///
/// A name is a full key (`thing.default#shared.a`), a key without the class `default`, a pattern of
/// either with `*` for any text, or a short name that only one resource has (see
/// [`find_declared`](crate::find_declared)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Only these resources.
    pub targets: Vec<String>,
    /// All except these resources.
    pub exclude: Vec<String>,
    /// Also all direct and indirect dependents of the targets.
    pub dependents: bool,
}

impl Scope {
    /// Whether it excludes nothing.
    pub fn is_everything(&self) -> bool {
        self.targets.is_empty() && self.exclude.is_empty()
    }

    /// The URNs within the scope, from a graph and records; `None` for all.
    ///
    /// # Errors
    /// For each name that matches nothing, or matches several resources without being a pattern.
    /// `role` is the purpose of the targets.
    pub(crate) fn resolve(
        &self,
        context: &Context,
        graph: Option<&Graph>,
        recorded: &Recorded,
        role: Role,
    ) -> Result<Option<HashSet<Urn>>, Vec<(Role, Misnamed)>> {
        if self.is_everything() {
            return Ok(None);
        }
        let mut all: BTreeMap<Key, Urn> = BTreeMap::new();
        for node in graph.into_iter().flat_map(Graph::nodes) {
            all.insert(node.key.clone(), Urn::new(context, node.key));
        }
        for record in recorded.recorded_or_perhaps_made() {
            if let Some(key) = record.urn.key() {
                all.insert(key, record.urn.clone());
            }
        }
        let declared = graph.map(Graph::declared).unwrap_or_default();
        let mut errors = Vec::new();
        let mut pick = |names: &[String], role: Role| -> HashSet<Urn> {
            let mut picked = HashSet::new();
            for name in names {
                match with_aliases(name, graph, |key| vec![key], || select(name, all.keys(), &declared)) {
                    Ok(keys) => picked.extend(keys.into_iter().filter_map(|key| all.get(key).cloned())),
                    Err(error) => errors.push((role, error)),
                }
            }
            picked
        };
        let excluded = pick(&self.exclude, Role::Exclude);
        let mut chosen: HashSet<Urn> =
            if self.targets.is_empty() { all.values().cloned().collect() } else { pick(&self.targets, role) };
        if !errors.is_empty() {
            return Err(errors);
        }
        if self.dependents {
            with_dependents(&mut chosen, context, graph, recorded);
        }
        chosen.retain(|urn| !excluded.contains(urn));
        Ok(Some(chosen))
    }
}

fn with_dependents(chosen: &mut HashSet<Urn>, context: &Context, graph: Option<&Graph>, recorded: &Recorded) {
    let mut more = true;
    while more {
        let before = chosen.len();
        for record in recorded.recorded_or_perhaps_made() {
            if record.dependencies.iter().any(|urn| chosen.contains(urn)) {
                chosen.insert(record.urn.clone());
            }
        }
        if let Some(graph) = graph {
            let urn = |id| graph.key(id).map(|key| Urn::new(context, key));
            for id in graph.order() {
                let reads = graph.dependencies(id).iter().filter_map(|id| urn(*id));
                if reads.into_iter().any(|urn| chosen.contains(&urn)) {
                    chosen.extend(urn(id));
                }
            }
        }
        more = chosen.len() > before;
    }
}

/// Finds the resources that a name refers to: those that match a pattern, otherwise the one that
/// [`find_declared`](crate::find_declared) finds.
///
/// # Errors
/// [`Misnamed`] if it refers to none, with suggestions, or to several without being a pattern.
pub fn select<'k>(
    name: &str,
    keys: impl IntoIterator<Item = &'k Key>,
    declared: &[Key],
) -> Result<Vec<&'k Key>, Misnamed> {
    if !name.contains('*') {
        return names::find_declared(name, keys, declared).map(|key| vec![key]);
    }
    let keys: Vec<&Key> = keys.into_iter().collect();
    let fitting: Vec<&Key> = keys.iter().copied().filter(|key| fits(name, key.as_str())).collect();
    match fitting.is_empty() {
        true => {
            Err(Misnamed { name: name.to_owned(), fits: Vec::new(), near: names::near_pattern(name, keys) })
        }
        false => Ok(fitting),
    }
}

/// What `select` finds, and the installation of a requirement that shares it under another name: by
/// its key before others, because documents mean it so, and by its name after them. `only` turns
/// its key into a result of `select`.
///
/// # Errors
/// Those of `select`.
pub fn with_aliases<'k, T>(
    name: &str,
    graph: Option<&'k Graph>,
    only: impl Fn(&'k Key) -> T,
    select: impl FnOnce() -> Result<T, Misnamed>,
) -> Result<T, Misnamed> {
    let alias = || {
        let key = match name.split_once('#') {
            Some((kind, id)) if !kind.contains('.') => format!("{kind}.default#{id}"),
            Some(_) => name.to_owned(),
            None => format!("installation.default#{name}"),
        };
        graph.and_then(|graph| graph.key(graph.find_alias(&key)?)).map(&only)
    };
    let by_key = if name.contains('#') { alias() } else { None };
    match by_key {
        Some(found) => Ok(found),
        None => select().or_else(|wrong| match wrong.fits.is_empty() {
            true => alias().ok_or(wrong),
            false => Err(wrong),
        }),
    }
}

/// Whether a pattern matches a key, in full or without the class `default`.
pub fn fits(pattern: &str, key: &str) -> bool {
    like(pattern, key) || like(pattern, &Key::short_of(key))
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use purlin_model::Key;

    use super::{fits, select};

    #[test]
    fn a_pattern_without_a_match_suggests_similar_names() {
        let keys = ["dns#shared.db", "s3#shared.files"].map(|text| Key::parse(text).expect("a key"));
        for (pattern, near) in [
            ("dsn*", &["dns.default#shared.db"][..]),
            ("*#shared.flies", &["s3.default#shared.files"]),
            ("s3#shared.zzz*", &["s3.default#shared.files"]),
            ("nothing-like-it*", &[]),
        ] {
            let error = select(pattern, &keys, &[]).expect_err("no match");
            assert_eq!(error.near.iter().map(Key::as_str).collect::<Vec<_>>(), near, "{pattern}");
        }
        assert_eq!(select("d*", &keys, &[]).map(|keys| keys.len()), Ok(1));
    }

    #[test]
    fn patterns_fit_keys() {
        assert!(fits("thing.default#shared.a", "thing.default#shared.a"));
        assert!(fits("thing#shared.a", "thing.default#shared.a"));
        assert!(fits("thing*", "thing.large#shared.a"));
        assert!(fits("*#shared.*", "thing.default#shared.a"));
        assert!(fits("thing#*.a", "thing.default#shared.a"));
        assert!(!fits("thing#shared.a", "thing.large#shared.a"));
        assert!(!fits("thing*b", "thing.default#shared.a"));
        assert!(!fits("a*a", "a"));
    }
}
