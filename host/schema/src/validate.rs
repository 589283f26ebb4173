//! Checks a value against a schema.

use std::collections::{BTreeSet, HashMap};

use purlin_model::{Map, Value};
use serde_json::{Number, Value as Json};

use crate::compile::{Schema, escaped};
use crate::fault::{Fault, Violation};
use crate::format;
use crate::seal::is_secret;

/// The maximum number of steps of one check.
const MOST_STEPS: usize = 1_000_000;
/// The maximum nesting of a check.
const DEEPEST: usize = 300;
/// The maximum number of faults reported for one value.
const MOST_FAULTS: usize = 100;
/// Longer text is not repeated in a message.
const LONGEST_SHOWN: usize = 60;

/// A check that takes too many steps, or nests too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schema is too complex to check this value against it")]
pub struct TooComplex;

impl Schema {
    /// Every fault of a value. Unknown values fit, and so does everything that depends on them.
    ///
    /// # Errors
    /// [`TooComplex`] if that would take too long.
    pub fn validate(&self, value: &Value) -> Result<Vec<Violation>, TooComplex> {
        // A value is secret if any rule says so, whichever rule it breaks.
        let sealed = self.has_secrets().then(|| self.seal(value.clone()));
        let mut verdict = self.run(sealed.as_ref().unwrap_or(value))?;
        verdict.faults.truncate(MOST_FAULTS);
        Ok(verdict.faults)
    }

    /// Whether a value fits; `None` if that depends on what is unknown.
    ///
    /// # Errors
    /// [`TooComplex`] if that would take too long.
    pub fn fits(&self, value: &Value) -> Result<Option<bool>, TooComplex> {
        let verdict = self.run(value)?;
        Ok(if verdict.faults.is_empty() { (!verdict.undecided).then_some(true) } else { Some(false) })
    }

    fn run(&self, value: &Value) -> Checked {
        let mut run = Run {
            schema: self,
            steps: 0,
            depth: 0,
            rule: String::new(),
            at: String::new(),
            hidden: 0,
            unnamed: 0,
        };
        run.validate(&self.root, value)
    }
}

/// A check in progress.
pub(crate) struct Run<'s> {
    pub(crate) schema: &'s Schema,
    steps: usize,
    depth: usize,
    /// JSON Pointer to the current schema.
    pub(crate) rule: String,
    /// JSON Pointer to the current value, or to the last one above it whose name may be shown.
    pub(crate) at: String,
    /// How many secrets contain the value.
    hidden: usize,
    /// How many names lead from there to the value.
    pub(crate) unnamed: usize,
}

/// The result of a check.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) faults: Vec<Violation>,
    /// Whether an unknown value might be wrong.
    pub(crate) undecided: bool,
    /// Entries that some keyword applied to; only for `unevaluated…`.
    names: BTreeSet<String>,
    /// Items that some keyword applied to, likewise.
    items: BTreeSet<usize>,
}

impl Verdict {
    /// Whether the value certainly fits.
    pub(crate) fn fits(&self) -> bool {
        self.faults.is_empty() && !self.undecided
    }

    /// Adds the result for the same value.
    pub(crate) fn join(&mut self, other: Self) {
        self.faults.extend(other.faults);
        self.undecided |= other.undecided;
        self.names.extend(other.names);
        self.items.extend(other.items);
    }

    /// Adds the result for a child value.
    fn below(&mut self, other: Self) {
        self.faults.extend(other.faults);
        self.undecided |= other.undecided;
    }
}

type Checked = Result<Verdict, TooComplex>;

impl<'s> Run<'s> {
    /// Counts a step.
    pub(crate) fn step(&mut self, steps: usize) -> Result<(), TooComplex> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MOST_STEPS { Err(TooComplex) } else { Ok(()) }
    }

    /// Checks the current value against a keyword's schema, below the current schema.
    pub(crate) fn within(&mut self, segments: &[&str], schema: &'s Json, value: &Value) -> Checked {
        let length = self.rule.len();
        for segment in segments {
            self.rule.push('/');
            self.rule.push_str(&escaped(segment));
        }
        let held = self.validate(schema, value);
        self.rule.truncate(length);
        held
    }

    /// Checks a child of the current value.
    fn entry(&mut self, name: &str, segments: &[&str], schema: &'s Json, value: &Value) -> Checked {
        let length = self.at.len();
        // In a secret, only names of the schema and numbers of items may be shown.
        let is_public = match segments.first() {
            Some(
                &("additionalProperties" | "patternProperties" | "propertyNames" | "unevaluatedProperties"),
            ) => self.hidden == 0,
            _ => self.unnamed == 0,
        };
        if is_public {
            self.at.push('/');
            self.at.push_str(&escaped(name));
        }
        self.unnamed += usize::from(!is_public);
        let held = self.within(segments, schema, value);
        self.unnamed -= usize::from(!is_public);
        self.at.truncate(length);
        held
    }

    pub(crate) fn violation(&self, keyword: &str, value: &Value, fault: Fault) -> Violation {
        Violation {
            at: self.at.clone(),
            is_below: self.unnamed > 0,
            rule: if keyword.is_empty() { self.rule.clone() } else { format!("{}/{keyword}", self.rule) },
            value: if self.hidden > 0 { None } else { shown(value) },
            fault,
        }
    }

    /// Checks a value against a schema.
    pub(crate) fn validate(&mut self, schema: &'s Json, value: &Value) -> Checked {
        self.step(1)?;
        let rules = match schema {
            Json::Bool(false) => {
                let fault = self.violation("", value, Fault::Forbidden);
                return Ok(Verdict { faults: vec![fault], ..Verdict::default() });
            }
            Json::Object(rules) => rules,
            _ => return Ok(Verdict::default()),
        };
        if matches!(value.exposed(), Value::Unknown(_)) {
            return Ok(Verdict { undecided: !rules.is_empty(), ..Verdict::default() });
        }
        if self.depth == DEEPEST {
            return Err(TooComplex);
        }
        self.depth += 1;
        let secret = matches!(value, Value::Secret(_)) || is_secret(schema);
        self.hidden += usize::from(secret);
        let held = self.rules(rules, value);
        self.hidden -= usize::from(secret);
        self.depth -= 1;
        held
    }

    fn rules(&mut self, rules: &'s serde_json::Map<String, Json>, value: &Value) -> Checked {
        let mut verdict = Verdict::default();
        let plain = value.exposed();
        // A value of another type violates other keywords too, which adds no information.
        if let Some(takes) = rules.get("type")
            && let Some(fault) = wrong_type(takes, plain)
        {
            verdict.faults.push(self.violation("type", value, fault));
            return Ok(verdict);
        }
        for (keyword, rule) in rules {
            self.step(1)?;
            match keyword.as_str() {
                "$ref" => {
                    let Some((pointer, target)) = rule.as_str().and_then(|target| self.schema.follow(target))
                    else {
                        continue;
                    };
                    let own = std::mem::replace(&mut self.rule, pointer);
                    let held = self.validate(target, value);
                    self.rule = own;
                    verdict.join(held?);
                }
                "enum" => {
                    let allowed = rule.as_array().map(Vec::as_slice).unwrap_or_default();
                    self.one_of(keyword, allowed, value, &mut verdict)?;
                }
                "const" => self.one_of(keyword, std::slice::from_ref(rule), value, &mut verdict)?,
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "dependentSchemas" => {
                    let found = self.branches(keyword, rule, rules, value)?;
                    verdict.join(found);
                }
                _ => match plain {
                    Value::Number(number) => self.number(keyword, rule, number, value, &mut verdict),
                    Value::String(text) => self.text(keyword, rule, text, value, &mut verdict)?,
                    Value::List(items) => self.list(keyword, rule, rules, items, value, &mut verdict)?,
                    Value::Map(map) => self.map(keyword, rule, rules, map, value, &mut verdict)?,
                    _ => {}
                },
            }
        }
        if self.schema.unevaluated {
            self.unevaluated(rules, plain, value, &mut verdict)?;
        }
        Ok(verdict)
    }

    fn one_of(
        &mut self,
        keyword: &str,
        allowed: &[Json],
        value: &Value,
        verdict: &mut Verdict,
    ) -> Result<(), TooComplex> {
        self.step(allowed.len())?;
        if value.has_unknown() {
            verdict.undecided = true;
        } else if !allowed.iter().any(|one| equal(value, one)) {
            verdict.faults.push(self.violation(keyword, value, Fault::Enum(allowed.to_vec())));
        }
        Ok(())
    }

    fn number(&self, keyword: &str, rule: &Json, number: &Number, value: &Value, verdict: &mut Verdict) {
        let Json::Number(limit) = rule else { return };
        let order = compare(number, limit);
        let fault = match keyword {
            "minimum" if order.is_lt() => Fault::Minimum(limit.clone()),
            "exclusiveMinimum" if order.is_le() => Fault::ExclusiveMinimum(limit.clone()),
            "maximum" if order.is_gt() => Fault::Maximum(limit.clone()),
            "exclusiveMaximum" if order.is_ge() => Fault::ExclusiveMaximum(limit.clone()),
            "multipleOf" if !is_multiple(number, limit) => Fault::MultipleOf(limit.clone()),
            _ => return,
        };
        verdict.faults.push(self.violation(keyword, value, fault));
    }

    fn text(
        &mut self,
        keyword: &str,
        rule: &Json,
        text: &str,
        value: &Value,
        verdict: &mut Verdict,
    ) -> Result<(), TooComplex> {
        let fault = match (keyword, rule) {
            ("minLength" | "maxLength", rule) => {
                self.step(text.len() / 64)?;
                limits(keyword, rule, text.chars().count(), "character")
            }
            ("pattern", Json::String(pattern)) => {
                self.step(text.len() / 16)?;
                let regex = self.schema.patterns.get(pattern);
                regex.is_some_and(|regex| !regex.is_match(text)).then(|| Fault::Pattern(pattern.clone()))
            }
            ("format", Json::String(name)) => {
                self.step(text.len() / 64)?;
                format::broken(name, text).map(Fault::Format)
            }
            _ => None,
        };
        verdict.faults.extend(fault.map(|fault| self.violation(keyword, value, fault)));
        Ok(())
    }

    fn list(
        &mut self,
        keyword: &str,
        rule: &'s Json,
        rules: &'s serde_json::Map<String, Json>,
        items: &[Value],
        value: &Value,
        verdict: &mut Verdict,
    ) -> Result<(), TooComplex> {
        match keyword {
            "minItems" | "maxItems" => {
                let fault = limits(keyword, rule, items.len(), "item");
                verdict.faults.extend(fault.map(|fault| self.violation(keyword, value, fault)));
            }
            "prefixItems" => {
                let schemas = rule.as_array().map(Vec::as_slice).unwrap_or_default();
                for (index, (schema, item)) in schemas.iter().zip(items).enumerate() {
                    let name = index.to_string();
                    verdict.below(self.entry(&name, &[keyword, &name], schema, item)?);
                    verdict.items.insert(index);
                }
            }
            "items" => {
                let before = rules.get("prefixItems").and_then(Json::as_array).map_or(0, Vec::len);
                for (index, item) in items.iter().enumerate().skip(before) {
                    verdict.below(self.entry(&index.to_string(), &[keyword], rule, item)?);
                    if self.schema.unevaluated {
                        verdict.items.insert(index);
                    }
                }
            }
            "contains" => self.contains(rule, rules, items, value, verdict)?,
            "uniqueItems" if *rule == Json::Bool(true) => {
                let mut seen: HashMap<Vec<u8>, usize> = HashMap::new();
                for (index, item) in items.iter().enumerate() {
                    if item.has_unknown() {
                        verdict.undecided = true;
                        continue;
                    }
                    let mut bytes = Vec::new();
                    plain(item).feed(&mut |part| bytes.extend_from_slice(part));
                    self.step(1 + bytes.len() / 16)?;
                    if let Some(first) = seen.insert(bytes, index) {
                        let fault = Fault::Twice { first, second: index };
                        verdict.faults.push(self.violation(keyword, value, fault));
                        break;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn contains(
        &mut self,
        rule: &'s Json,
        rules: &'s serde_json::Map<String, Json>,
        items: &[Value],
        value: &Value,
        verdict: &mut Verdict,
    ) -> Result<(), TooComplex> {
        let (mut sure, mut possible) = (0, 0);
        for (index, item) in items.iter().enumerate() {
            let held = self.entry(&index.to_string(), &["contains"], rule, item)?;
            sure += u64::from(held.fits());
            possible += u64::from(held.faults.is_empty());
            if held.faults.is_empty() {
                verdict.items.insert(index);
            }
        }
        let least = rules.get("minContains").and_then(Json::as_u64).unwrap_or(1);
        let most = rules.get("maxContains").and_then(Json::as_u64);
        if possible < least || most.is_some_and(|most| sure > most) {
            let fault = Fault::Contains { least, most, has: if possible < least { possible } else { sure } };
            verdict.faults.push(self.violation("contains", value, fault));
        } else if sure < least || most.is_some_and(|most| possible > most) {
            verdict.undecided = true;
        }
        Ok(())
    }

    fn map(
        &mut self,
        keyword: &str,
        rule: &'s Json,
        rules: &'s serde_json::Map<String, Json>,
        map: &Map,
        value: &Value,
        verdict: &mut Verdict,
    ) -> Result<(), TooComplex> {
        match (keyword, rule) {
            ("minProperties" | "maxProperties", rule) => {
                let fault = limits(keyword, rule, map.len(), "entry");
                verdict.faults.extend(fault.map(|fault| self.violation(keyword, value, fault)));
            }
            ("required", Json::Array(names)) => {
                for name in names.iter().filter_map(Json::as_str).filter(|name| !map.contains_key(*name)) {
                    let fault = missing(rules, name, None);
                    verdict.faults.push(self.violation(keyword, value, fault));
                }
            }
            ("dependentRequired", Json::Object(needs)) => {
                for (because, names) in needs.iter().filter(|(because, _)| map.contains_key(because.as_str()))
                {
                    let names = names.as_array().into_iter().flatten().filter_map(Json::as_str);
                    for name in names.filter(|name| !map.contains_key(*name)) {
                        let fault = missing(rules, name, Some(because));
                        let place = format!("{keyword}/{}", escaped(because));
                        verdict.faults.push(self.violation(&place, value, fault));
                    }
                }
            }
            ("properties", Json::Object(schemas)) => {
                for (name, schema) in schemas {
                    let Some(item) = map.get(name.as_str()) else { continue };
                    verdict.below(self.entry(name, &[keyword, name], schema, item)?);
                    if self.schema.unevaluated {
                        verdict.names.insert(name.clone());
                    }
                }
            }
            ("patternProperties", Json::Object(schemas)) => {
                for (pattern, schema) in schemas {
                    let Some(regex) = self.schema.patterns.get(pattern) else { continue };
                    for (name, item) in map {
                        self.step(1 + name.len() / 16)?;
                        if regex.is_match(name) {
                            verdict.below(self.entry(name, &[keyword, pattern], schema, item)?);
                            verdict.names.insert(name.to_string());
                        }
                    }
                }
            }
            ("additionalProperties", schema) => {
                self.additional_properties(keyword, schema, rules, map, verdict)?;
            }
            ("propertyNames", schema) => self.property_names(keyword, schema, map, value, verdict)?,
            _ => {}
        }
        Ok(())
    }

    fn additional_properties(
        &mut self,
        keyword: &str,
        schema: &'s Json,
        rules: &'s serde_json::Map<String, Json>,
        map: &Map,
        verdict: &mut Verdict,
    ) -> Result<(), TooComplex> {
        for (name, item) in map {
            self.step(1)?;
            if self.is_named(rules, name) {
                continue;
            }
            if *schema == Json::Bool(false) {
                verdict.faults.push(self.unknown(keyword, rules, name, item));
            } else {
                verdict.below(self.entry(name, &[keyword], schema, item)?);
            }
            if self.schema.unevaluated {
                verdict.names.insert(name.to_string());
            }
        }
        Ok(())
    }

    fn property_names(
        &mut self,
        keyword: &str,
        schema: &'s Json,
        map: &Map,
        value: &Value,
        verdict: &mut Verdict,
    ) -> Result<(), TooComplex> {
        for name in map.keys() {
            let held = self.entry(name, &[keyword], schema, &Value::String(name.clone()))?;
            let wrong = held.faults.into_iter().next();
            if wrong.is_some() && self.hidden > 0 {
                let fault = Fault::UnknownSecret { known: Vec::new() };
                verdict.faults.push(self.violation(keyword, value, fault));
                continue;
            }
            verdict.faults.extend(wrong.map(|violation| Violation {
                fault: Fault::Name { name: name.to_string(), fault: Box::new(violation.fault) },
                value: None,
                ..violation
            }));
        }
        Ok(())
    }

    fn is_named(&self, rules: &serde_json::Map<String, Json>, name: &str) -> bool {
        let maps = |keyword| rules.get(keyword).and_then(Json::as_object);
        maps("properties").is_some_and(|all| all.contains_key(name))
            || maps("patternProperties").is_some_and(|all| {
                all.keys()
                    .filter_map(|pattern| self.schema.patterns.get(pattern))
                    .any(|regex| regex.is_match(name))
            })
    }

    fn unknown(
        &self,
        keyword: &str,
        rules: &serde_json::Map<String, Json>,
        name: &str,
        item: &Value,
    ) -> Violation {
        let known = rules.get("properties").and_then(Json::as_object);
        let known = known.map(|all| all.keys().cloned().collect()).unwrap_or_default();
        if self.hidden > 0 {
            return self.violation(keyword, item, Fault::UnknownSecret { known });
        }
        let fault = Fault::Unknown { name: name.to_owned(), known };
        let violation = self.violation(keyword, item, fault);
        Violation { at: format!("{}/{}", self.at, escaped(name)), ..violation }
    }

    fn unevaluated(
        &mut self,
        rules: &'s serde_json::Map<String, Json>,
        plain: &Value,
        value: &Value,
        verdict: &mut Verdict,
    ) -> Result<(), TooComplex> {
        // The evaluations of a branch with unknown values are unknown too.
        if value.has_unknown() && verdict.undecided {
            return Ok(());
        }
        match (plain, rules.get("unevaluatedProperties"), rules.get("unevaluatedItems")) {
            (Value::Map(map), Some(schema), _) => {
                for (name, item) in map {
                    if verdict.names.contains(&**name) {
                        continue;
                    }
                    if *schema == Json::Bool(false) {
                        verdict.faults.push(self.unknown("unevaluatedProperties", rules, name, item));
                    } else {
                        verdict.below(self.entry(name, &["unevaluatedProperties"], schema, item)?);
                    }
                    verdict.names.insert(name.to_string());
                }
            }
            (Value::List(items), _, Some(schema)) => {
                for (index, item) in items.iter().enumerate() {
                    if !verdict.items.contains(&index) {
                        verdict.below(self.entry(&index.to_string(), &["unevaluatedItems"], schema, item)?);
                        verdict.items.insert(index);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// A value in the form for a message.
fn shown(value: &Value) -> Option<Json> {
    match value {
        Value::String(text) if text.chars().count() <= LONGEST_SHOWN => Some(Json::from(&**text)),
        Value::Bool(_) | Value::Number(_) | Value::Null => Some(value.redact()),
        _ => None,
    }
}

/// The same without marks of secrecy.
pub(crate) fn plain(value: &Value) -> Value {
    match value.exposed() {
        Value::List(items) => Value::List(items.iter().map(plain).collect()),
        Value::Map(map) => Value::Map(map.iter().map(|(name, item)| (name.clone(), plain(item))).collect()),
        other => other.clone(),
    }
}

fn missing(rules: &serde_json::Map<String, Json>, name: &str, because: Option<&String>) -> Fault {
    let takes = rules.get("properties").and_then(|all| all.get(name)).and_then(|schema| schema.get("type"));
    let takes = takes.and_then(|takes| match takes {
        Json::Array(all) => all.first().and_then(Json::as_str),
        one => one.as_str(),
    });
    Fault::Missing { name: name.to_owned(), because: because.cloned(), takes: takes.map(str::to_owned) }
}

fn limits(keyword: &str, rule: &Json, has: usize, of: &'static str) -> Option<Fault> {
    let limit = rule.as_f64().filter(|limit| *limit >= 0.0)? as u64;
    let has = has as u64;
    if keyword.starts_with("min") {
        (has < limit).then_some(Fault::Fewer { least: limit, has, of })
    } else {
        (has > limit).then_some(Fault::More { most: limit, has, of })
    }
}

fn wrong_type(takes: &Json, value: &Value) -> Option<Fault> {
    let takes: Vec<&str> = match takes {
        Json::String(one) => vec![one],
        Json::Array(several) => several.iter().filter_map(Json::as_str).collect(),
        _ => return None,
    };
    let is = |name: &str| match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "number" || name == "integer" && is_whole(number),
        Value::String(_) => name == "string",
        Value::List(_) => name == "array",
        Value::Map(_) => name == "object",
        Value::Secret(_) | Value::Unknown(_) => true,
    };
    let fits = takes.iter().any(|name| is(name));
    (!fits).then(|| Fault::Type {
        takes: takes.into_iter().map(str::to_owned).collect(),
        found: match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::List(_) => "a list",
            _ => "a map",
        },
    })
}

fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn compare(a: &Number, b: &Number) -> std::cmp::Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let float = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
            float(a).partial_cmp(&float(b)).unwrap_or(std::cmp::Ordering::Equal)
        }
    }
}

fn is_multiple(number: &Number, of: &Number) -> bool {
    match (whole(number), whole(of)) {
        (_, Some(0)) => true,
        (Some(number), Some(of)) => number % of == 0,
        _ => match (number.as_f64(), of.as_f64()) {
            (Some(number), Some(of)) if of != 0.0 => {
                let times = number / of;
                !times.is_finite() || (times - times.round()).abs() < 1e-9 * times.abs().max(1.0)
            }
            _ => true,
        },
    }
}

/// Whether a value equals a JSON value of a schema.
fn equal(value: &Value, json: &Json) -> bool {
    match (value.exposed(), json) {
        (Value::Null, Json::Null) => true,
        (Value::Bool(a), Json::Bool(b)) => a == b,
        (Value::Number(a), Json::Number(b)) => compare(a, b).is_eq(),
        (Value::String(a), Json::String(b)) => **a == **b,
        (Value::List(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Map(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(&**name).is_some_and(|b| equal(a, b)))
        }
        _ => false,
    }
}
