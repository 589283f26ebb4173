//! A person's choices, matched with the parameters of bundles (SPEC §6, steps 1 and unmapped
//! parameters).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purlin_model::{Answer, Choices, Declared, Diagnostic, RequirementChoice, RequirementContext, Setting};
use serde_json::Value;

use crate::resolution::Unmapped;

/// A person's choices, and which of them were used.
pub(crate) struct Answers<'a> {
    context: &'a RequirementContext,
    /// The only installation that a bare name can refer to.
    only: Option<Arc<str>>,
    used_with: BTreeSet<Arc<str>>,
    /// The indices of used answers.
    used: BTreeSet<usize>,
    /// All possible settings, by full name.
    known: BTreeMap<Setting, BTreeSet<String>>,
    /// The choices in effect.
    counting: Choices,
}

/// The bundle or the installation that a person named.
pub(crate) struct Named {
    pub(crate) choice: RequirementChoice,
    /// Whether it was named in an earlier run.
    pub(crate) is_before: bool,
}

impl<'a> Answers<'a> {
    pub(crate) fn new(context: &'a RequirementContext, only: Option<Arc<str>>) -> Self {
        Self {
            context,
            only,
            used_with: BTreeSet::new(),
            used: BTreeSet::new(),
            known: BTreeMap::new(),
            counting: Choices::default(),
        }
    }

    /// The bundle that a person named for a requirement whose installation has this name.
    pub(crate) fn with(&mut self, installation: &Arc<str>, requirement: &Arc<str>) -> Option<Named> {
        let now = [installation, requirement].into_iter().find_map(|name| {
            let named = self.context.now.with.get(name)?;
            self.used_with.insert(Arc::clone(name));
            Some((named, false))
        });
        let before = || self.context.before.with.get(installation).map(|named| (named, true));
        let (named, is_before) = now.or_else(before)?;
        let choice = named.clone()?;
        self.counting.with.insert(Arc::clone(installation), Some(choice.clone()));
        Some(Named { choice, is_before })
    }

    /// Whether a person now revokes the named bundle.
    pub(crate) fn takes_back(&self, installation: &str, requirement: &str) -> bool {
        [installation, requirement].into_iter().any(|name| self.context.now.with.get(name) == Some(&None))
    }

    /// Whether the deployment's own requirements are created, whatever exists.
    pub(crate) fn makes(&self) -> bool {
        self.context.now.makes
    }

    /// The bundle that was named for an installation need not be named again.
    pub(crate) fn need_not_remember(&mut self, installation: &Arc<str>) {
        self.counting.with.remove(installation);
    }

    /// A person's current value for something that documents set, too.
    pub(crate) fn first(
        &mut self,
        part: Setting,
        installation: &str,
        declared: &Declared,
        faults: &mut Vec<Diagnostic>,
    ) -> Option<Value> {
        let full = self.full(part, installation, declared);
        let answer = self.now(part, installation, declared, &full)?;
        let written = &answer.name;
        match typed(answer, declared) {
            Ok(value) => {
                self.count(part, full, value.clone());
                Some(value)
            }
            Err(wanted) => {
                // The value is not shown, because it may be a secret.
                let message = format!("the value of `--{} {written}` is not {wanted}", part.option());
                let help = format!("give {wanted}, or `--{} {written}:=VALUE` in YAML", part.option());
                faults.push(Diagnostic::error("answer-type", message).help(help));
                None
            }
        }
    }

    /// A person's value, current or from an earlier run, for something that documents do not set.
    pub(crate) fn later(
        &mut self,
        part: Setting,
        installation: &str,
        declared: &Declared,
        faults: &mut Vec<Diagnostic>,
    ) -> Option<Value> {
        if let Some(value) = self.first(part, installation, declared, faults) {
            return Some(value);
        }
        let full = self.full(part, installation, declared);
        let before = &self.context.before.answers;
        let value = before.iter().rfind(|one| one.part == part && one.name == full)?.value.clone();
        self.count(part, full, value.clone());
        Some(value)
    }

    fn now(
        &mut self,
        part: Setting,
        installation: &str,
        declared: &Declared,
        full: &Arc<str>,
    ) -> Option<&'a Answer> {
        let is_only = self.only.as_deref() == Some(installation);
        let all = self.context.now.answers.iter().enumerate();
        let is_it = |(_, one): &(usize, &Answer)| {
            one.part == part && (one.name == *full || (is_only && one.name == declared.name))
        };
        let mut last = None;
        for (at, answer) in all.filter(is_it) {
            self.used.insert(at);
            last = Some(answer);
        }
        last
    }

    fn full(&mut self, part: Setting, installation: &str, declared: &Declared) -> Arc<str> {
        let full = format!("{installation}.{}", declared.name);
        let name = Arc::from(&*full);
        self.known.entry(part).or_default().insert(full);
        name
    }

    fn count(&mut self, part: Setting, name: Arc<str>, value: Value) {
        self.counting.answers.push(Answer { part, name, value, is_text: false });
    }

    /// The choices in effect, and a fault for each choice that refers to nothing.
    pub(crate) fn finish<'n>(
        self,
        requirements: impl Iterator<Item = &'n str>,
    ) -> (Choices, Vec<Diagnostic>) {
        let Choices { with, answers, makes: _ } = &self.context.now;
        let requirements: BTreeSet<&str> = requirements.collect();
        let with = with.keys().filter(|name| !self.used_with.contains(*name)).map(|name| {
            let message = format!("`--with {name}=…` names no requirement");
            let known = requirements.iter().copied();
            let help = match purlin_expression::did_you_mean(name, "requirements", known) {
                help if help.is_empty() => format!("leave out `--with {name}=…`"),
                help => help,
            };
            Diagnostic::error("unknown-requirement", message).help(help)
        });
        let unused = answers.iter().enumerate().filter(|(at, _)| !self.used.contains(at));
        let answers = unused.map(|(_, Answer { part, name, .. })| {
            let message = format!("`--{} {name}=…` sets nothing", part.option());
            let known = self.known.get(part).into_iter().flatten().map(String::as_str);
            let help = match purlin_expression::did_you_mean(name, &format!("{part}s"), known) {
                help if help.is_empty() => format!("leave out `--{} {name}=…`", part.option()),
                help => help,
            };
            Diagnostic::error("unknown-answer", message).help(help)
        });
        let faults = with.chain(answers).collect();
        (self.counting, faults)
    }
}

impl Unmapped {
    /// Whether a text can be its value.
    ///
    /// # Errors
    /// Returns why not, for people. Secrets are not repeated.
    pub fn check(&self, text: &str) -> Result<(), String> {
        let value = typed_text(text, &self.schema).map_err(|wanted| format!("that is not {wanted}"))?;
        let name = &*self.name;
        let schema = serde_json::json!({"properties": {name: self.schema}});
        let Ok(schema) = purlin_schema::Schema::new(&schema) else { return Ok(()) };
        let value = purlin_model::Value::from(value);
        let value = if self.is_secret { value.into_secret() } else { value };
        let params = [(Arc::clone(&self.name), value)].into_iter().collect();
        match schema.validate(&purlin_model::Value::Map(params)).as_deref() {
            Ok([first, ..]) => {
                Err(purlin_schema::say(purlin_schema::Subject::Params(&self.installation), first).message)
            }
            _ => Ok(()),
        }
    }
}

/// An answer in the type that the bundle declares.
///
/// # Errors
/// Returns the expected type.
fn typed(answer: &Answer, declared: &Declared) -> Result<Value, &'static str> {
    match (answer.is_text, &answer.value) {
        (true, Value::String(text)) => typed_text(text, &declared.schema),
        _ => Ok(answer.value.clone()),
    }
}

fn typed_text(text: &str, schema: &serde_json::Map<String, Value>) -> Result<Value, &'static str> {
    let wanted: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if wanted.is_empty() || wanted.contains(&"string") {
        return Ok(text.into());
    }
    let value: Option<Value> = serde_json::from_str(text).ok();
    let is_wanted = |kind: &&str| match (*kind, &value) {
        ("integer", Some(Value::Number(number))) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        ("number", Some(Value::Number(_)))
        | ("boolean", Some(Value::Bool(_)))
        | ("null", Some(Value::Null))
        | ("array", Some(Value::Array(_)))
        | ("object", Some(Value::Object(_))) => true,
        _ => false,
    };
    match value.clone() {
        Some(value) if wanted.iter().any(is_wanted) => Ok(value),
        _ => Err(match wanted.first() {
            Some(&"integer") => "a whole number",
            Some(&"number") => "a number",
            Some(&"boolean") => "`true` or `false`",
            Some(&"array") => "a list",
            Some(&"object") => "a map",
            _ => "a value of the declared type",
        }),
    }
}
