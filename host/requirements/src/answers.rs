//! A person's choices, matched with the parameters of bundles (SPEC §6, steps 1 and unmapped
//! parameters).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purlin_model::{
    Answer, Choices, Claim, Declared, Diagnostic, RequirementChoice, RequirementContext, Setting,
    SettingDigest,
};
use serde_json::Value;

use crate::existing::Given;
use crate::names::Relations;
use crate::resolution::Unmapped;

/// A person's choices, and which of them were used.
pub(crate) struct Answers<'a> {
    context: &'a RequirementContext,
    /// Which requirements are the same, and which names are not those of installations.
    relations: &'a Relations,
    /// The only installation that a bare name can refer to.
    only: Option<Arc<str>>,
    used_with: BTreeSet<Arc<str>>,
    /// The different requirements that a name without a parent may mean, each by its identity, with
    /// its full name.
    meant: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<str>>>,
    /// The indices of used answers.
    used: BTreeSet<usize>,
    /// All possible settings, by full name.
    known: BTreeMap<Setting, BTreeSet<String>>,
    /// The choices in effect.
    counting: Choices,
}

/// The names by which a person may refer to a requirement.
#[derive(Clone, Copy)]
pub(crate) struct Ids<'a> {
    /// The name of its installation.
    pub(crate) name: &'a Arc<str>,
    /// The name that its installation would have if it were the only requirement.
    pub(crate) own: &'a Arc<str>,
    /// The requirement; none for a root.
    pub(crate) claim: Option<&'a Claim>,
    /// Whether it is a requirement of the deployment itself.
    pub(crate) is_own: bool,
    /// Whether the name of the requirement alone may mean it.
    pub(crate) may_be_bare: bool,
}

impl<'a> Ids<'a> {
    /// Those of a root.
    pub(crate) fn of_root(name: &'a Arc<str>) -> Self {
        Self { name, own: name, claim: None, is_own: true, may_be_bare: true }
    }
}

/// The bundle or the installation that a person named.
pub(crate) struct Choice {
    pub(crate) choice: RequirementChoice,
    /// Whether it was named in an earlier run.
    pub(crate) is_before: bool,
}

impl<'a> Answers<'a> {
    pub(crate) fn new(
        context: &'a RequirementContext,
        only: Option<Arc<str>>,
        relations: &'a Relations,
    ) -> Self {
        Self {
            context,
            relations,
            only,
            used_with: BTreeSet::new(),
            meant: BTreeMap::new(),
            used: BTreeSet::new(),
            known: BTreeMap::new(),
            counting: Choices::default(),
        }
    }

    /// The name of the requirement, and that of its installation, unless another requirement is
    /// called so that has another installation.
    fn names<'i>(&self, ids: &Ids<'i>) -> impl Iterator<Item = &'i Arc<str>> + use<'i> {
        let is_its = ids.name != ids.own && !self.relations.elsewhere.contains(ids.name);
        [Some(ids.own), is_its.then_some(ids.name)].into_iter().flatten()
    }

    /// The names of the requirements that are the same as this one, except its own.
    fn others(&self, ids: &Ids<'_>) -> impl Iterator<Item = &'a Arc<str>> + use<'a> {
        let names = ids.claim.and_then(|claim| self.relations.alike.get(&claim.made_for));
        let (own, name) = (Arc::clone(ids.own), Arc::clone(ids.name));
        let names = names.into_iter().flat_map(|names| names.iter());
        names.filter(move |other| **other != own && **other != name)
    }

    /// The choice of a person for a requirement: by the name that its installation has or would have
    /// alone, else by that of one that is the same, else by that of the requirement.
    pub(crate) fn with(&mut self, ids: &Ids<'_>, requirement: &Arc<str>) -> Option<Choice> {
        let context = self.context;
        let of = |name: &Arc<str>| context.now.with.get_key_value(name);
        let full = self
            .names(ids)
            .find_map(of)
            .or_else(|| agreed_by(self.others(ids).filter_map(of), |one, other| one.1 == other.1));
        let bare = || context.now.with.get_key_value(requirement).filter(|_| ids.may_be_bare);
        let now = match full {
            Some(found) => Some(found),
            None => bare().inspect(|(name, _)| {
                let same = Arc::clone(
                    ids.claim.map_or(ids.own, |claim| claim.identity.as_ref().unwrap_or(&claim.made_for)),
                );
                let meant = self.meant.entry(Arc::clone(name)).or_default();
                meant.entry(same).or_insert_with(|| Arc::clone(ids.own));
            }),
        };
        let now = now.map(|(name, choice)| {
            self.used_with.insert(Arc::clone(name));
            (choice, false)
        });
        let before = || {
            let choice = self.names(ids).find_map(|name| context.before.with.get(name))?;
            Some((choice, true))
        };
        let (choice, is_before) = now.or_else(before)?;
        let choice = choice.clone()?;
        self.counting.with.insert(Arc::clone(ids.own), Some(choice.clone()));
        Some(Choice { choice, is_before })
    }

    /// Whether a person now revokes the choice for a requirement.
    pub(crate) fn takes_back(&self, ids: &Ids<'_>, requirement: &str) -> bool {
        let bare = ids.may_be_bare.then_some(requirement);
        let others = self.others(ids).map(|name| &**name);
        let names = self.names(ids).map(|name| &**name).chain(others).chain(bare);
        names.into_iter().any(|name| self.context.now.with.get(name) == Some(&None))
    }

    /// Whether the deployment's own requirements are created, whatever exists.
    pub(crate) fn makes(&self) -> bool {
        self.context.now.makes
    }

    /// The bundle that was named for a requirement need not be named again.
    pub(crate) fn need_not_remember(&mut self, requirement: &Arc<str>) {
        self.counting.with.remove(requirement);
    }

    /// A person's current value for something that documents set, too.
    pub(crate) fn first(
        &mut self,
        part: Setting,
        ids: &Ids<'_>,
        declared: &Declared,
        faults: &mut Vec<Diagnostic>,
    ) -> Option<Value> {
        let full = self.full(part, ids.own, declared);
        let answer = self.now(part, ids, declared)?;
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
        ids: &Ids<'_>,
        declared: &Declared,
        faults: &mut Vec<Diagnostic>,
    ) -> Option<Value> {
        if let Some(found) = self.first(part, ids, declared, faults) {
            return Some(found);
        }
        let full = self.full(part, ids.own, declared);
        let value = self.among(&self.context.before.answers, (part, &declared.name), ids)?.1.value.clone();
        self.count(part, full, value.clone());
        Some(value)
    }

    /// Adds a person's values for a requirement to those that it gives, for a comparison with an
    /// existing installation.
    pub(crate) fn given(&self, ids: &Ids<'_>, given: &mut Given) {
        for (_, setting, answer) in self.for_requirement(ids) {
            let text = answer.value.as_str().filter(|_| answer.is_text);
            // The type of a text is not known before a bundle is.
            let typed = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
            let values = [Some(answer.value.clone()), typed].into_iter().flatten();
            let digests = values.filter_map(|value| SettingDigest::of(&value.into()));
            given.digests.insert((answer.part, setting.into()), digests.collect());
        }
    }

    /// Takes note that the values for a requirement were compared, as far as the installation has
    /// settings for them.
    pub(crate) fn count_given(&mut self, ids: &Ids<'_>, has: impl Fn(Setting, &str) -> bool) {
        let counting: Vec<_> = self
            .for_requirement(ids)
            .into_iter()
            .filter(|(_, setting, answer)| has(answer.part, setting))
            .map(|(at, setting, answer)| (at, format!("{}.{setting}", ids.own), answer.clone()))
            .collect();
        for (at, name, answer) in counting {
            self.used.extend(at);
            self.counting.answers.push(Answer { name: name.into(), ..answer });
        }
    }

    /// The values for a requirement, each with the name of its setting and the index of a current one.
    fn for_requirement(&self, ids: &Ids<'_>) -> Vec<(Option<usize>, &'a str, &'a Answer)> {
        let names: Vec<String> =
            self.names(ids).chain(self.others(ids)).map(|name| format!("{name}.")).collect();
        let (now, before) = (&self.context.now.answers, &self.context.before.answers);
        let setting = |one: &'a Answer| {
            let name = names.iter().find_map(|name| one.name.strip_prefix(name.as_str()))?;
            Some((one.part, name))
        };
        let settings: BTreeSet<(Setting, &'a str)> = now.iter().chain(before).filter_map(setting).collect();
        let value = |setting: (Setting, &'a str)| {
            let now = self.among(now, setting, ids).map(|(at, one)| (Some(at), one));
            let (at, one) = now.or_else(|| Some((None, self.among(before, setting, ids)?.1)))?;
            Some((at, setting.1, one))
        };
        settings.into_iter().filter_map(value).collect()
    }

    /// A person's current answer.
    fn now(&mut self, part: Setting, ids: &Ids<'_>, declared: &Declared) -> Option<&'a Answer> {
        let answers = &self.context.now.answers;
        let full = [ids.own, ids.name].map(|name| self.full(part, name, declared));
        let found = self.among(answers, (part, &declared.name), ids);
        // An answer that a later one overrides was for something, too.
        let is_its = |one: &Answer| one.part == part && full.contains(&one.name);
        let its = answers.iter().enumerate().filter(|(_, one)| is_its(one)).map(|(at, _)| at);
        self.used.extend(its.chain(found.map(|(at, _)| at)));
        found.map(|(_, answer)| answer)
    }

    /// The last answer for a setting of a requirement, else the last one for its installation, else
    /// that for those that are the same, if these agree.
    fn among(
        &self,
        answers: &'a [Answer],
        (part, setting): (Setting, &str),
        ids: &Ids<'_>,
    ) -> Option<(usize, &'a Answer)> {
        let is_only = self.only.as_deref() == Some(&**ids.own);
        let of = |name: &Arc<str>| {
            let full = format!("{name}.{setting}");
            let may_be_bare = is_only && name == ids.own;
            let is_it = |one: &Answer| *one.name == *full || (may_be_bare && *one.name == *setting);
            answers.iter().enumerate().rfind(|(_, one)| one.part == part && is_it(one))
        };
        let others = || agreed_by(self.others(ids).filter_map(of), |one, other| one.1.value == other.1.value);
        self.names(ids).find_map(of).or_else(others)
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
        let several = self.meant.iter().filter(|(_, meant)| meant.len() > 1).map(|(name, meant)| {
            let message = format!("`--with {name}=…` names {} different requirements", meant.len());
            let fault = Diagnostic::error("ambiguous-requirement", message);
            let fault = meant.values().take(5).fold(fault, |fault, full| fault.fact(format!("`{full}`")));
            let first = meant.values().next().map_or("", |full| full);
            fault.help(format!("write the full name: `--with {first}=…`"))
        });
        let faults = with.chain(answers).chain(several).collect();
        (self.counting, faults)
    }
}

/// The first of several that are all equal.
fn agreed_by<T>(mut all: impl Iterator<Item = T>, is_equal: impl Fn(&T, &T) -> bool) -> Option<T> {
    let first = all.next()?;
    all.all(|other| is_equal(&first, &other)).then_some(first)
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
