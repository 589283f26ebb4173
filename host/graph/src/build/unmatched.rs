//! Words for a resource without a definition, or with too many.

use std::collections::BTreeSet;

use purlin_expression::nearest;
use purlin_model::{Diagnostic, Key};

use super::{Builder, Spot};
use crate::catalogue::{Explanation, Row};

/// How many candidates an error lists, and how many errors list theirs.
const SHOWN: usize = 10;

impl<'a> Builder<'a> {
    pub(super) fn no_match(&mut self, key: &Key, spot: Option<Spot<'a>>) {
        let message = format!("no definition matches `{key}`");
        let mut fault = place(Diagnostic::error("no-match", message), spot);
        self.unmatched += 1;
        if self.unmatched <= SHOWN {
            fault = self.candidates(fault, key);
        }
        self.faults.push(fault);
    }

    fn candidates(&self, mut fault: Diagnostic, key: &Key) -> Diagnostic {
        let Explanation { mut losers, .. } = self.docs.catalogue.explain(self.docs.context, key);
        if losers.is_empty() {
            let types: BTreeSet<&str> =
                self.docs.catalogue.definitions().iter().map(|found| &*found.type_pattern).collect();
            let help = format!("add a definition of type `{}` with `criteria: [{{}}]`", key.type_name());
            return match nearest(key.type_name(), types) {
                Some(near) => fault
                    .fact("there is no definition of its type")
                    .help(format!("did you mean `{near}`? Else {help}")),
                None => fault.fact("there is no definition of its type").help(help),
            };
        }
        // Those that lack least come first.
        losers.sort_by_key(|loser| loser.reasons.len());
        for loser in losers.iter().take(SHOWN) {
            let reasons: Vec<String> = loser.reasons.iter().map(ToString::to_string).collect();
            let text = format!("`{}` does not match: {}", loser.definition, reasons.join("; "));
            fault = fault.related(loser.criterion.as_ref().map_or(&loser.location, |c| &c.location), text);
        }
        if losers.len() > SHOWN {
            fault = fault.fact(format!("and {} more candidates", losers.len() - SHOWN));
        }
        let mut fields = vec![format!("res_id: {}", key.id())];
        if key.class() != "default" {
            fields.push(format!("class: {}", key.class()));
        }
        let near = losers.first().map_or("", |loser| &loser.definition);
        fault.help(format!(
            "add the criterion `{{{}}}` to `{near}`, or correct the resource",
            fields.join(", ")
        ))
    }

    pub(super) fn tie(&mut self, key: &Key, rows: &[Row], spot: Option<Spot<'a>>) {
        let candidates: Vec<_> = rows.iter().filter_map(|row| self.docs.catalogue.row(*row)).collect();
        let names: Vec<String> = candidates.iter().map(|(found, _)| format!("`{}`", found.id)).collect();
        let message = format!("{} match `{key}` equally well", names.join(" and "));
        let mut fault = place(Diagnostic::error("tie", message), spot);
        for (definition, criterion) in candidates {
            fault = fault.related(
                &criterion.location,
                format!("`{}` of type `{}` matches here", definition.id, definition.type_pattern),
            );
        }
        self.faults.push(fault.help("make one of them more specific, or name the type in full"));
    }
}

fn place(fault: Diagnostic, spot: Option<Spot<'_>>) -> Diagnostic {
    match spot {
        Some(spot) => fault.at(spot.location).spanning(spot.length),
        None => fault,
    }
}
