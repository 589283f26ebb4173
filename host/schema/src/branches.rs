//! Keywords with several schemas for the same value, and the fault to report if none fits.

use purlin_model::Value;
use serde_json::Value as Json;

use crate::fault::{Fault, Violation};
use crate::validate::{Run, TooComplex, Verdict};

/// The maximum number of forms in a message if none fits.
const MOST_FORMS: usize = 4;

impl<'s> Run<'s> {
    /// Checks a value against `allOf`, `anyOf`, `oneOf`, `not`, `if` or `dependentSchemas`.
    pub(crate) fn branches(
        &mut self,
        keyword: &str,
        rule: &'s Json,
        rules: &'s serde_json::Map<String, Json>,
        value: &Value,
    ) -> Result<Verdict, TooComplex> {
        let mut verdict = Verdict::default();
        match (keyword, rule) {
            ("allOf", Json::Array(schemas)) => {
                for (index, schema) in schemas.iter().enumerate() {
                    verdict.join(self.within(&[keyword, &index.to_string()], schema, value)?);
                }
            }
            ("anyOf" | "oneOf", Json::Array(schemas)) => {
                let mut held = Vec::with_capacity(schemas.len());
                for (index, schema) in schemas.iter().enumerate() {
                    held.push(self.within(&[keyword, &index.to_string()], schema, value)?);
                }
                let sure = held.iter().filter(|one| one.fits()).count();
                let possible = held.iter().filter(|one| one.faults.is_empty()).count();
                if possible == 0 && !held.is_empty() {
                    verdict.faults.extend(self.none_fits(keyword, held, value));
                } else if keyword == "oneOf" && sure > 1 {
                    let fitting = schemas.iter().zip(&held).filter(|(_, one)| one.fits());
                    let forms = fitting.map(|(schema, _)| required(schema)).collect();
                    verdict.faults.push(self.violation(keyword, value, Fault::SeveralForms(forms)));
                } else {
                    let decided = if keyword == "oneOf" { sure == 1 && possible == 1 } else { sure > 0 };
                    for one in held.into_iter().filter(|one| one.faults.is_empty()) {
                        verdict.join(one);
                    }
                    verdict.undecided = !decided;
                }
            }
            ("not", schema) => {
                let held = self.within(&[keyword], schema, value)?;
                if held.fits() {
                    verdict.faults.push(self.violation(keyword, value, Fault::Excluded));
                }
                verdict.undecided = held.undecided && held.faults.is_empty();
            }
            ("if", schema) => {
                let held = self.within(&[keyword], schema, value)?;
                if held.undecided && held.faults.is_empty() {
                    verdict.undecided = true;
                    return Ok(verdict);
                }
                let next = if held.fits() { "then" } else { "else" };
                if held.fits() {
                    verdict.join(held);
                }
                if let Some(schema) = rules.get(next) {
                    verdict.join(self.within(&[next], schema, value)?);
                }
            }
            ("dependentSchemas", Json::Object(schemas)) => {
                let Value::Map(map) = value.exposed() else { return Ok(verdict) };
                for (name, schema) in schemas.iter().filter(|(name, _)| map.contains_key(name.as_str())) {
                    verdict.join(self.within(&[keyword, name], schema, value)?);
                }
            }
            _ => {}
        }
        Ok(verdict)
    }

    /// The message if no form fits: the faults of the most likely form.
    fn none_fits(&self, keyword: &str, held: Vec<Verdict>, value: &Value) -> Vec<Violation> {
        let is_below = self.unnamed > 0;
        let here = |violation: &Violation| violation.at == self.at && violation.is_below == is_below;
        // All of them require another type, or another constant.
        let mut types = Vec::new();
        let mut constants = Vec::new();
        for one in &held {
            match one.faults.as_slice() {
                [only] if here(only) => match &only.fault {
                    Fault::Type { takes, .. } => types.extend(takes.iter().cloned()),
                    Fault::Enum(allowed) => constants.extend(allowed.iter().cloned()),
                    _ => {}
                },
                _ => {}
            }
        }
        let count = held.len();
        let is_only = |wanted: fn(&Fault) -> bool| {
            held.iter()
                .all(|one| matches!(one.faults.as_slice(), [only] if here(only) && wanted(&only.fault)))
        };
        if is_only(|fault| matches!(fault, Fault::Type { .. })) {
            types.dedup();
            let found = held.iter().flat_map(|one| &one.faults).find_map(|violation| match violation.fault {
                Fault::Type { found, .. } => Some(found),
                _ => None,
            });
            let fault = Fault::Type { takes: types, found: found.unwrap_or("a value") };
            return vec![self.violation(keyword, value, fault)];
        }
        if is_only(|fault| matches!(fault, Fault::Enum(_))) {
            return vec![self.violation(keyword, value, Fault::Enum(constants))];
        }
        // Forms of another type, or with another constant as a mark, were not intended.
        let other_type = |one: &Verdict| {
            one.faults
                .iter()
                .any(|violation| here(violation) && matches!(violation.fault, Fault::Type { .. }))
        };
        let other_constant = |one: &Verdict| {
            one.faults
                .iter()
                .any(|violation| matches!(&violation.fault, Fault::Enum(allowed) if allowed.len() == 1))
        };
        let mut likely: Vec<Verdict> = held;
        for unlikely in [&other_type as &dyn Fn(&Verdict) -> bool, &other_constant] {
            if likely.iter().any(|one| !unlikely(one)) {
                likely.retain(|one| !unlikely(one));
            }
        }
        if likely.len() == 1 && (count > 1 || !likely.is_empty()) {
            return likely.into_iter().flat_map(|one| one.faults).collect();
        }
        let mut missing = Vec::with_capacity(likely.len());
        for one in &likely {
            let names: Option<Vec<String>> = one
                .faults
                .iter()
                .map(|violation| match &violation.fault {
                    Fault::Missing { name, .. } if here(violation) => Some(name.clone()),
                    _ => None,
                })
                .collect();
            missing.push(names);
        }
        if let Some(sets) = missing.into_iter().collect::<Option<Vec<_>>>() {
            return vec![self.violation(keyword, value, Fault::NeedsOneOf(sets))];
        }
        // The one with the fewest faulty places is the most likely one.
        likely.sort_by_key(|one| one.faults.len());
        let firsts = likely.into_iter().take(MOST_FORMS).filter_map(|one| one.faults.into_iter().next());
        let firsts = firsts.collect();
        vec![self.violation(keyword, value, Fault::NoForm(firsts))]
    }
}

/// The entries that a form requires.
fn required(schema: &Json) -> Vec<String> {
    let names = schema.get("required").and_then(Json::as_array);
    names.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
}
