//! Why a resource gets its definition (SPEC §3).

use std::sync::Arc;

use purlin_model::{Context, Criterion, Definition, Key, Location};
use serde::{Serialize, Serializer};

use super::matcher::is_implicit;
use super::{CriterionRow, DefinitionIndex, DefinitionMatch, Matcher};
use crate::json::{as_text, as_text_or_null};

/// The answer to "why this definition?".
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The resource.
    pub key: Key,
    /// The definition that is used; none if nothing matches, and in a tie.
    pub winner: Option<Candidate>,
    /// The definition that would be used without the winner.
    pub runner_up: Option<Candidate>,
    /// Candidates that are equally specific, if there is no winner for that reason.
    pub tied: Vec<Candidate>,
    /// All others of the type, including the runner-up, each with why it was not used. In the order
    /// of the definitions.
    pub losers: Vec<UnusedDefinition>,
}

/// A definition that matches, with the criterion by which it does.
///
/// It serialises in the published, versioned form: `winner` of `explain` in
/// `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Its id.
    pub definition: Arc<str>,
    /// Its type, or pattern.
    #[serde(rename = "type")]
    pub type_pattern: Arc<str>,
    /// The criterion.
    #[serde(serialize_with = "as_text")]
    pub criterion: Criterion,
    /// The criterion's weight, 0 to 15.
    pub specificity: u8,
    /// Where the definition was written.
    #[serde(rename = "at", serialize_with = "as_text")]
    pub location: Location,
}

/// A definition, or one of its criteria, that was not used.
///
/// It serialises in the published, versioned form: one of the `losers` of `explain` in
/// `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnusedDefinition {
    /// The definition's id.
    pub definition: Arc<str>,
    /// Its type, or pattern.
    #[serde(rename = "type")]
    pub type_pattern: Arc<str>,
    /// The criterion; none for a definition without any.
    #[serde(serialize_with = "as_text_or_null")]
    pub criterion: Option<Criterion>,
    /// Why; at least one reason.
    pub reasons: Vec<Reason>,
    /// Where the definition was written.
    #[serde(rename = "at", serialize_with = "as_text")]
    pub location: Location,
}

/// Why a criterion was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A field differs from the context.
    Differs {
        /// `env_type`, `app_id`, `env_id`, `res_id` or `class`.
        field: &'static str,
        /// The value in the criterion.
        wanted: Arc<str>,
        /// The value in the context.
        actual: Arc<str>,
    },
    /// The definition has no criteria and so never matches.
    NoCriteria,
    /// It matches, but the winner is more specific.
    LessSpecific {
        /// Its weight.
        specificity: u8,
        /// The winner's weight.
        winner: u8,
    },
    /// It matches by a pattern, and a definition of the exact type matches too.
    PatternOnly,
    /// It matches by a pattern, and the resource is implicit.
    Implicit,
    /// It matches by a pattern, and the winner's pattern names more of the type.
    ShorterPattern,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Differs { field, wanted, actual } => {
                write!(f, "{field} is `{actual}`, not `{wanted}`")
            }
            Self::NoCriteria => f.write_str("it has no criteria, so it never matches"),
            Self::LessSpecific { specificity, winner } => {
                write!(f, "it is less specific ({specificity} against {winner})")
            }
            Self::PatternOnly => f.write_str("its type is a pattern, and one of the exact type matches"),
            Self::Implicit => f.write_str(
                "its type is a pattern, which matches no resource that Purlin adds: write its exact type",
            ),
            Self::ShorterPattern => f.write_str("its pattern names less of the type"),
        }
    }
}

/// As its text.
impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl DefinitionIndex {
    /// The definition that a resource gets in a context, and why no other.
    pub fn explain(&self, context: &Context, key: &Key) -> Explanation {
        let found = Matcher::new(self, context).find(key);
        let (winner, tied) = match &found {
            DefinitionMatch::None => (None, Vec::new()),
            DefinitionMatch::One(row) => (Some(*row), Vec::new()),
            DefinitionMatch::Tie(rows) => (None, rows.clone()),
        };
        let best = winner.or(tied.first().copied()).and_then(|row| self.row(row));
        let mut losers = Vec::new();
        // The matching losers with their rank: exact types first, then specificity, then how much
        // of the type a pattern names.
        let mut second: Option<((bool, u8, usize), CriterionRow)> = None;
        for (number, definition) in (0_u32..).zip(self.definitions()) {
            let exact = *definition.type_pattern == *key.type_name();
            let pattern = definition.is_pattern()
                && purlin_model::matches_pattern(&definition.type_pattern, key.type_name());
            if !exact && !pattern {
                continue;
            }
            if definition.criteria.is_empty() {
                losers.push(loser(definition, None, vec![Reason::NoCriteria]));
            }
            for (index, criterion) in (0_u32..).zip(&definition.criteria) {
                let row = CriterionRow { definition: number, criterion: index };
                if winner == Some(row) || tied.contains(&row) {
                    continue;
                }
                let mut reasons = differences(criterion, context, key);
                if reasons.is_empty() {
                    let rank =
                        (exact, criterion.specificity(), super::literal_length(&definition.type_pattern));
                    let own = winner.is_some_and(|winner| winner.definition == number);
                    let may_win = exact || !is_implicit(key);
                    if may_win && !own && second.is_none_or(|(best, _)| rank > best) {
                        second = Some((rank, row));
                    }
                    reasons.push(match definition.is_pattern() && is_implicit(key) {
                        true => Reason::Implicit,
                        false => lost(definition, criterion, best),
                    });
                }
                losers.push(loser(definition, Some(criterion), reasons));
            }
        }
        let candidate = |row: CriterionRow| {
            let (definition, criterion) = self.row(row)?;
            Some(Candidate {
                definition: definition.id.clone(),
                type_pattern: definition.type_pattern.clone(),
                criterion: criterion.clone(),
                specificity: criterion.specificity(),
                location: definition.location.clone(),
            })
        };
        Explanation {
            key: key.clone(),
            winner: winner.and_then(candidate),
            runner_up: second.and_then(|(_, row)| candidate(row)),
            tied: tied.into_iter().filter_map(candidate).collect(),
            losers,
        }
    }
}

fn loser(definition: &Definition, criterion: Option<&Criterion>, reasons: Vec<Reason>) -> UnusedDefinition {
    UnusedDefinition {
        definition: definition.id.clone(),
        type_pattern: definition.type_pattern.clone(),
        criterion: criterion.cloned(),
        reasons,
        location: definition.location.clone(),
    }
}

/// Why a matching criterion was not used.
fn lost(definition: &Definition, criterion: &Criterion, best: Option<(&Definition, &Criterion)>) -> Reason {
    match best {
        Some((winner, _)) if definition.is_pattern() && !winner.is_pattern() => Reason::PatternOnly,
        Some((_, winner)) if winner.specificity() > criterion.specificity() => {
            Reason::LessSpecific { specificity: criterion.specificity(), winner: winner.specificity() }
        }
        _ => Reason::ShorterPattern,
    }
}

/// Every field of a criterion that differs from the context.
fn differences(criterion: &Criterion, context: &Context, key: &Key) -> Vec<Reason> {
    let fields = [
        ("env_type", &criterion.env_type, &*context.env.kind),
        ("app_id", &criterion.app_id, &*context.app),
        ("env_id", &criterion.env_id, &*context.env.id),
        ("res_id", &criterion.res_id, key.id()),
    ];
    let mut reasons: Vec<Reason> = fields
        .into_iter()
        .filter_map(|(field, wanted, actual)| {
            let wanted = wanted.as_ref().filter(|wanted| ***wanted != *actual)?;
            Some(Reason::Differs { field, wanted: wanted.clone(), actual: actual.into() })
        })
        .collect();
    if *criterion.class != *key.class() {
        reasons.push(Reason::Differs {
            field: "class",
            wanted: criterion.class.as_str().into(),
            actual: key.class().into(),
        });
    }
    reasons
}
