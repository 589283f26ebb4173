//! All definitions, and the choice of one for a resource (SPEC §3 [D]).
//!
//! Criteria are indexed by type and class once; a [`Matcher`] narrows them to one context, so that
//! finding the definition of a resource takes two lookups however many definitions there are.

mod explain;
mod matcher;

use std::collections::HashMap;
use std::sync::Arc;

use purlin_model::{
    Context, Criterion, Definition, Diagnostic, DriverRequirement, Key, Lifecycle, Location, Recipe,
    Template, matches_pattern,
};

pub use explain::{Candidate, Explanation, Reason, UnusedDefinition};
pub(crate) use matcher::{DefinitionMatch, Matcher, is_implicit};

/// One criterion: number of its definition, and its number in there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CriterionRow {
    pub(crate) definition: u32,
    pub(crate) criterion: u32,
}

/// How many characters of a pattern are not `*`: of two patterns, the longer is more specific.
pub(crate) fn literal_length(pattern: &str) -> usize {
    pattern.bytes().filter(|b| *b != b'*').count()
}

/// Whether a definition matches a resource: another one may match better.
pub fn may_match(definition: &Definition, context: &Context, key: &Key) -> bool {
    let fits = |criterion: &Criterion| {
        matcher::in_context(criterion, context)
            && criterion.res_id.as_deref().is_none_or(|wanted| wanted == key.id())
    };
    matches_pattern(&definition.type_pattern, key.type_name()) && definition.criteria.iter().any(fits)
}

/// All definitions, indexed by the types and classes that they match.
#[derive(Debug)]
pub struct DefinitionIndex {
    definitions: Vec<Definition>,
    /// Criteria of exact types, by `TYPE.CLASS`.
    exact: HashMap<String, Vec<CriterionRow>>,
    /// Criteria of patterns, by class.
    patterns: HashMap<String, Vec<CriterionRow>>,
    /// The fallback of `workload` and `base-env`.
    echo: Arc<Recipe>,
}

impl DefinitionIndex {
    /// Indexes definitions.
    ///
    /// # Errors
    /// Two definitions with one id, or two of one type with an equal criterion; each names both
    /// places.
    pub fn new(definitions: Vec<Definition>) -> Result<Self, Vec<Diagnostic>> {
        let mut faults = Vec::new();
        let mut ids: HashMap<&str, &Definition> = HashMap::new();
        let mut seen: HashMap<(&str, [Option<&str>; 4], &str), CriterionRow> = HashMap::new();
        let mut exact: HashMap<String, Vec<CriterionRow>> = HashMap::new();
        let mut patterns: HashMap<String, Vec<CriterionRow>> = HashMap::new();
        let mut name = String::new();
        for (number, definition) in (0_u32..).zip(&definitions) {
            if let Some(first) = ids.insert(&definition.id, definition) {
                faults.push(
                    Diagnostic::error(
                        "duplicate-definition",
                        format!("there are two definitions with the id `{}`", definition.id),
                    )
                    .at(&definition.location)
                    .related(&first.location, "the first one is here")
                    .help("give one of them another id"),
                );
            }
            for (index, criterion) in (0_u32..).zip(&definition.criteria) {
                let row = CriterionRow { definition: number, criterion: index };
                let fields = [&criterion.env_type, &criterion.app_id, &criterion.env_id, &criterion.res_id];
                let fields = fields.map(|field| field.as_deref());
                match seen.insert((&definition.type_pattern, fields, &criterion.class), row) {
                    // A duplicate row in one definition changes nothing.
                    Some(first) if first.definition == number => continue,
                    Some(first) => {
                        faults.extend(equal_criteria(&definitions, first, definition, criterion));
                    }
                    None => {}
                }
                name.clear();
                let rows = if definition.is_pattern() {
                    &mut patterns
                } else {
                    name.push_str(&definition.type_pattern);
                    name.push('.');
                    &mut exact
                };
                name.push_str(&criterion.class);
                match rows.get_mut(&name) {
                    Some(rows) => rows.push(row),
                    None => {
                        rows.insert(name.clone(), vec![row]);
                    }
                }
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self { definitions, exact, patterns, echo: Arc::new(echo()) })
    }

    /// The definitions, in the given order.
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    pub(crate) fn definition(&self, number: u32) -> Option<&Definition> {
        self.definitions.get(number as usize)
    }

    pub(crate) fn row(&self, row: CriterionRow) -> Option<(&Definition, &Criterion)> {
        let definition = self.definition(row.definition)?;
        Some((definition, definition.criteria.get(row.criterion as usize)?))
    }

    pub(crate) fn exact_rows(&self, type_and_class: &str) -> &[CriterionRow] {
        self.exact.get(type_and_class).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn pattern_rows(&self, class: &str) -> &[CriterionRow] {
        self.patterns.get(class).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn echo(&self) -> &Arc<Recipe> {
        &self.echo
    }
}

fn equal_criteria(
    definitions: &[Definition],
    first: CriterionRow,
    definition: &Definition,
    criterion: &Criterion,
) -> Option<Diagnostic> {
    let other = definitions.get(first.definition as usize)?;
    let place = other.criteria.get(first.criterion as usize).map_or(&other.location, |c| &c.location);
    Some(
        Diagnostic::error(
            "equal-criteria",
            format!(
                "the definitions `{}` and `{}` of type `{}` have an equal criterion",
                other.id, definition.id, definition.type_pattern
            ),
        )
        .at(&criterion.location)
        .related(place, "the equal criterion is here")
        .help("make one of them more specific, or remove one"),
    )
}

fn echo() -> Recipe {
    Recipe {
        name: None,
        driver: DriverRequirement { name: "purlin/echo".into(), range: None, location: Location::default() },
        account: None,
        values: Template::default(),
        secrets: Template::default(),
        secret_refs: None,
        connection: None,
        promoted: None,
        provision: Vec::new(),
        requires: Vec::new(),
        lifecycle: Lifecycle::default(),
        location: Location::default(),
    }
}

#[cfg(test)]
mod tests;
