//! Finds the definition for a resource in one context. The weights of the criteria are those of
//! [`Criterion::specificity`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use purlin_model::{Context, Criterion, Key, TypeName};

use super::{CriterionRow, DefinitionIndex, literal_length};

/// The definition for a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DefinitionMatch {
    /// No criterion matches.
    None,
    /// This one.
    One(CriterionRow),
    /// Several are equally specific.
    Tie(Vec<CriterionRow>),
}

/// Finds definitions in one context.
pub(crate) struct Matcher<'a> {
    definition_index: &'a DefinitionIndex,
    context: &'a Context,
    /// By `TYPE.CLASS`.
    cache: HashMap<Box<str>, Candidates<'a>>,
}

/// The criteria of one type and class that match the context.
struct Candidates<'a> {
    exact: Ranked<'a>,
    patterns: Ranked<'a>,
}

#[derive(Default)]
struct Ranked<'a> {
    /// The best of those for any id.
    any: Option<Best>,
    /// The best for an id. Each of them outranks all of the former, because `res_id` weighs more than
    /// all other fields together.
    by_id: HashMap<&'a str, Best>,
}

/// The rank of a candidate: its specificity, then (patterns only) how much of the type it names.
type Rank = (u8, usize);

struct Best {
    rank: Rank,
    row: CriterionRow,
    /// Others of the same rank, almost always none.
    tied: Vec<CriterionRow>,
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(definition_index: &'a DefinitionIndex, context: &'a Context) -> Self {
        Self { definition_index, context, cache: HashMap::new() }
    }

    /// The definition for a resource.
    pub(crate) fn find(&mut self, key: &Key) -> DefinitionMatch {
        let name_length = key.as_str().len() - key.id().len() - 1;
        let name = key.as_str().get(..name_length).unwrap_or_default();
        if !self.cache.contains_key(name) {
            let candidates = self.candidates(key.type_name(), key.class(), name);
            self.cache.insert(name.into(), candidates);
        }
        let Some(candidates) = self.cache.get(name) else { return DefinitionMatch::None };
        match candidates.exact.best(key.id()) {
            DefinitionMatch::None if !is_implicit(key) => candidates.patterns.best(key.id()),
            found => found,
        }
    }

    fn candidates(&self, type_name: &str, class: &str, name: &str) -> Candidates<'a> {
        let here = |row: &CriterionRow| {
            let (definition, criterion) = self.definition_index.row(*row)?;
            in_context(criterion, self.context).then_some((*row, definition, criterion))
        };
        let mut exact = Ranked::default();
        for (row, _, criterion) in self.definition_index.exact_rows(name).iter().filter_map(here) {
            exact.add(row, criterion, 0);
        }
        let mut patterns = Ranked::default();
        for (row, definition, criterion) in self.definition_index.pattern_rows(class).iter().filter_map(here)
        {
            if purlin_model::matches_pattern(&definition.type_pattern, type_name) {
                patterns.add(row, criterion, literal_length(&definition.type_pattern));
            }
        }
        Candidates { exact, patterns }
    }
}

/// Whether Purlin adds a resource by itself. Patterns do not apply to it: a user who provisions
/// everything with one driver wants no cluster and no agent, and no driver instead of the built-in
/// echo.
pub(crate) fn is_implicit(key: &Key) -> bool {
    match key.type_name() {
        TypeName::WORKLOAD => key.declared_workload().is_some(),
        "base-env" | "k8s-cluster" | "k8s-namespace" | "agent" => {
            key.class() == "default" && key.id() == key.type_name()
        }
        _ => false,
    }
}

/// Whether all fields but the resource's id equal the context.
pub(crate) fn in_context(criterion: &Criterion, context: &Context) -> bool {
    let fits = |field: &Option<std::sync::Arc<str>>, value: &str| field.as_deref().is_none_or(|f| f == value);
    fits(&criterion.env_type, &context.env.kind)
        && fits(&criterion.app_id, &context.app)
        && fits(&criterion.env_id, &context.env.id)
}

impl<'a> Ranked<'a> {
    fn add(&mut self, row: CriterionRow, criterion: &'a Criterion, literal: usize) {
        let rank = (criterion.specificity(), literal);
        let new = Best { rank, row, tied: Vec::new() };
        let best = match &criterion.res_id {
            None => self.any.get_or_insert(new),
            Some(id) => match self.by_id.entry(id) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(new),
            },
        };
        if rank > best.rank {
            *best = Best { rank, row, tied: Vec::new() };
        } else if rank == best.rank && row != best.row {
            best.tied.push(row);
        }
    }

    fn best(&self, id: &str) -> DefinitionMatch {
        // An empty map costs no hashing.
        let named = if self.by_id.is_empty() { None } else { self.by_id.get(id) };
        match named.or(self.any.as_ref()) {
            None => DefinitionMatch::None,
            Some(best) if best.tied.is_empty() => DefinitionMatch::One(best.row),
            Some(best) => DefinitionMatch::Tie([&[best.row], best.tied.as_slice()].concat()),
        }
    }
}
