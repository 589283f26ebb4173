//! Messages for a resource without a definition, or with too many.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use purlin_expression::{nearest, or_near};
use purlin_model::{Descriptor, DescriptorPart, Diagnostic, Key};

use super::{Builder, Spot};
use crate::definition_index::{CriterionRow, DefinitionMatch, Explanation, is_implicit};

/// How many candidates an error lists, and how many errors list theirs.
const SHOWN: usize = 10;
/// How many candidates are listed if one error is about several resources.
const FEW: usize = 3;
/// How many further places an error has.
const PLACES: usize = 100;

/// Resources without a definition, and the place of each declaration.
type UnmatchedResources<'a> = Vec<(Key, Option<Spot<'a>>)>;

impl<'a> Builder<'a> {
    /// Records a resource without a definition. They are reported together, because one missing
    /// definition usually affects many resources.
    pub(super) fn no_match(&mut self, key: &Key, spot: Option<Spot<'a>>) {
        self.unmatched.push((key.clone(), spot));
    }

    /// One fault for each type and class without a definition.
    pub(super) fn report_unmatched(&mut self) {
        let mut groups: IndexMap<(String, String), UnmatchedResources<'a>> = IndexMap::new();
        for (key, spot) in std::mem::take(&mut self.unmatched) {
            let group = (key.type_name().to_owned(), key.class().to_owned());
            groups.entry(group).or_default().push((key, spot));
        }
        for (index, ((type_name, class), mut found)) in groups.into_iter().enumerate() {
            found.sort_by(|(a, first), (b, second)| {
                let place = |spot: &Option<Spot<'a>>| spot.map(|spot| spot.location);
                (place(first), a).cmp(&(place(second), b))
            });
            let Some((key, spot)) = found.first().cloned() else { continue };
            let message = match (found.len(), class.as_str()) {
                (1, _) => format!("no definition matches `{key}`"),
                (count, "default") => {
                    format!("no definition matches {count} resources of type `{type_name}`")
                }
                (count, class) => {
                    format!("no definition matches {count} resources of type `{type_name}.{class}`")
                }
            };
            let mut fault = place(Diagnostic::error("no-match", message), spot);
            if index < SHOWN {
                fault = self.candidates(fault, &key, found.len());
            }
            for (key, spot) in found.iter().skip(1).take(PLACES) {
                if let Some(spot) = spot {
                    fault = fault.related(spot.location, format!("`{key}` needs it, too"));
                }
            }
            if found.len() > PLACES + 1 {
                fault = fault.fact(format!("and {} more resources", found.len() - PLACES - 1));
            }
            self.faults.push(fault);
        }
    }

    /// No definition matches an implicit resource that a definition created before.
    pub(super) fn recorded_no_match(&mut self, key: &Key) {
        let short = key.short();
        let fault =
            Diagnostic::error("no-match", format!("no definition matches `{short}`, which is recorded"));
        let mut fault = self.candidates(fault, key, 1).fact(
            "Purlin adds this resource automatically, so a missing definition does not mean that the resource should be deleted",
        );
        let help = fault.help.take().unwrap_or_default();
        self.faults.push(fault.help(format!("{help}; `--accept-missing '{short}'` accepts its deletion")));
    }

    fn candidates(&self, mut fault: Diagnostic, key: &Key, resources: usize) -> Diagnostic {
        let Explanation { mut losers, .. } = self.docs.definition_index.explain(self.docs.context, key);
        if losers.is_empty() {
            fault = fault.fact("there is no definition of this type");
            return fault.help(self.without_candidates(key));
        }
        // The nearest candidates come first.
        losers.sort_by_key(|loser| loser.reasons.len());
        let shown = if resources > 1 { FEW } else { SHOWN };
        for loser in losers.iter().take(shown) {
            let reasons: Vec<String> = loser.reasons.iter().map(ToString::to_string).collect();
            let text = format!("`{}` does not match: {}", loser.definition, reasons.join("; "));
            fault = fault.related(loser.criterion.as_ref().map_or(&loser.location, |c| &c.location), text);
        }
        if losers.len() > shown {
            fault = fault.fact(format!("and {} more candidates", losers.len() - shown));
        }
        let Some(near) = losers.first() else { return fault };
        if near.criterion.is_none() {
            return fault.help(format!(
                "add `criteria: [{{}}]` to `{}`: it then matches everywhere",
                near.definition
            ));
        }
        let class = (key.class() != "default").then(|| format!("class: {}", key.class()));
        let id = (resources == 1).then(|| format!("res_id: {}", key.id()));
        let fields: Vec<String> = id.into_iter().chain(class).collect();
        let what = if resources == 1 { "resource" } else { "resources" };
        fault.help(format!(
            "add the criterion `{{{}}}` to `{}`, or correct the {what}",
            fields.join(", "),
            near.definition
        ))
    }

    /// The help for a resource whose type has no definition.
    fn without_candidates(&self, key: &Key) -> String {
        let criterion = match key.class() {
            "default" => String::new(),
            class => format!("class: {class}"),
        };
        let add =
            format!("add a definition of type `{}` with `criteria: [{{{criterion}}}]`", key.type_name());
        if let Some(own) = implicit_of(key) {
            // Whoever leaves the id out gets one for each resource that refers to it.
            let short = own.short();
            return match self.nodes.id(own.as_str()) {
                Some(_) => format!("did you mean `{short}`?"),
                None => format!("write `{short}`, and {add}"),
            };
        }
        let exact = self.docs.definition_index.definitions().iter().filter(|found| !found.is_pattern());
        let types: BTreeSet<&str> = exact.map(|found| &*found.type_pattern).collect();
        or_near(nearest(key.type_name(), types), &add)
    }

    /// Why a resource without a definition, provisioned by the built-in echo, has no outputs.
    pub(super) fn echo_has_none(&self, key: &Key, fault: Diagnostic) -> Diagnostic {
        let short = key.short();
        self.candidates(fault.fact(format!("no definition matches `{short}`, so it has no outputs")), key, 1)
    }

    /// Warns of an implicit resource that a descriptor without an id adds once more for the
    /// resource that refers to it: Purlin adds one for all.
    pub(super) fn second_implicit(&mut self, descriptor: &Descriptor, key: &Key, spot: Spot<'a>) {
        if descriptor.id != DescriptorPart::Omitted {
            return;
        }
        let Some(own) = implicit_of(key) else { return };
        if !matches!(self.matcher.find(&own), DefinitionMatch::One(_)) {
            return;
        }
        let message = format!("this adds `{}`, besides `{}`", key.short(), own.short());
        let fault = Diagnostic::warning("second-implicit", message)
            .at(spot.location)
            .spanning(spot.length)
            .fact("a descriptor without an id has the id of the resource that refers to it")
            .help(format!("did you mean `{0}`? Otherwise write `{1}#@`", own.short(), key.type_name()));
        self.warnings.push((key.clone(), fault));
    }

    pub(super) fn tie(&mut self, key: &Key, rows: &[CriterionRow], spot: Option<Spot<'a>>) {
        let candidates: Vec<_> = rows.iter().filter_map(|row| self.docs.definition_index.row(*row)).collect();
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

/// The resource that Purlin adds by itself, for another one of its type.
fn implicit_of(key: &Key) -> Option<Key> {
    let own = Key::parse(&format!("{0}.default#{0}", key.type_name())).ok()?;
    (is_implicit(&own) && key.class() == "default" && own != *key).then_some(own)
}

fn place(fault: Diagnostic, spot: Option<Spot<'_>>) -> Diagnostic {
    match spot {
        Some(spot) => fault.at(spot.location).spanning(spot.length),
        None => fault,
    }
}
