//! A case that is ready to be tried: its resource, and inputs.

use std::sync::Arc;

use purlin_model::driver::{DriverInfo, Inputs, Subject, TypeSchema};
use purlin_model::{
    Class, Context, DriverCase, DriverCases, EnvironmentId, InvalidCase, Key, ResourceId, SkippedRule,
    TypeName, Urn, Value,
};
use purlin_schema::Describes;

use crate::report::CasesFrom;
use crate::{Error, LIST_OF_RULES, NoCases, host_schemas, merge, rule, schema};

/// Shorter secrets are in many texts by chance.
const SHORTEST_CANARY: usize = 6;

/// A case.
pub(crate) struct TestCase {
    pub(crate) name: String,
    pub(crate) subject: Subject,
    pub(crate) schema: TypeSchema,
    pub(crate) inputs: Inputs,
    pub(crate) update: Option<Inputs>,
    pub(crate) replace: Option<Inputs>,
    /// With another connection to the same system.
    pub(crate) rotate: Option<Inputs>,
    /// Inputs to be rejected, and the places to be named.
    pub(crate) invalid: Vec<(Inputs, Vec<String>)>,
    pub(crate) skip: Vec<SkippedRule>,
    /// Texts that must not appear in plain text.
    pub(crate) canaries: Vec<String>,
}

/// The cases of a file, or one generated from the schema.
pub(crate) fn test_cases(
    info: &DriverInfo,
    cases: Option<&DriverCases>,
) -> Result<(Vec<TestCase>, CasesFrom), Error> {
    let Some(cases) = cases else {
        // The rule about schemas says what is wrong with one that cannot be used.
        let first = info.types.first();
        let is_unusable = |one: &TypeSchema| schema::compile(Describes::Inputs, &one.inputs).is_err();
        return match first.is_some_and(is_unusable) {
            true => Ok((Vec::new(), CasesFrom::Schema)),
            false => made(info).map(|test_case| (vec![test_case], CasesFrom::Schema)),
        };
    };
    let mut test_cases = Vec::with_capacity(cases.cases.len());
    for case in &cases.cases {
        let mut test_case = test_case(info, case)?;
        test_case.skip = case.skip.iter().chain(&cases.skip).cloned().collect();
        test_cases.push(test_case);
    }
    let skipped = cases.cases.iter().flat_map(|case| &case.skip).chain(&cases.skip);
    for skipped in skipped {
        if rule(&skipped.rule).is_none() {
            return Err(Error::Case {
                message: format!("there is no rule `{}`", skipped.rule),
                help: LIST_OF_RULES.to_owned(),
                location: skipped.location.clone(),
            });
        }
    }
    Ok((test_cases, CasesFrom::File))
}

fn made(info: &DriverInfo) -> Result<TestCase, Error> {
    let no = |message: String| Error::NoCases(NoCases { message, example: example(info) });
    let Some(schema) = info.types.first() else { return Err(no("it provisions no type".to_owned())) };
    let inputs = schema::inputs(&schema.inputs).map_err(no)?;
    test_case(info, &DriverCase { name: "from-schema".into(), inputs, ..DriverCase::default() })
}

/// The beginning of a file of cases.
pub(crate) fn example(info: &DriverInfo) -> String {
    let properties =
        info.types.first().and_then(|schema| schema.inputs.pointer("/properties/values/properties"));
    let names = properties.and_then(|all| all.as_object()).into_iter().flat_map(|all| all.keys());
    let values: Vec<String> = names.take(6).map(|name| format!("        {name}: …\n")).collect();
    let values = if values.is_empty() { "        {}\n".to_owned() } else { values.concat() };
    format!("cases:\n  - name: small\n    inputs:\n      values:\n{values}")
}

fn test_case(info: &DriverInfo, case: &DriverCase) -> Result<TestCase, Error> {
    let wrong =
        |message: String, help: String| Error::Case { message, help, location: case.location.clone() };
    let first = info.types.first().map_or("", |schema| schema.type_name.as_str());
    let first = if first == "*" { "check" } else { first };
    let type_name = match &case.type_name {
        Some(name) => name.clone(),
        None => {
            TypeName::new(first).map_err(|error| wrong(error.to_string(), "write a `type`".to_owned()))?
        }
    };
    let Some(schema) = info.schema(&type_name) else {
        let known: Vec<&str> = info.types.iter().map(|schema| schema.type_name.as_str()).collect();
        return Err(wrong(
            format!("the case `{}` is of type `{type_name}`, which the driver does not provision", case.name),
            format!("it provisions: {}", known.join(", ")),
        ));
    };
    let no_name =
        |error: purlin_model::NameError| wrong(error.to_string(), "write another `name`".to_owned());
    let class = match &case.class {
        Some(class) => class.clone(),
        None => Class::new("default").map_err(no_name)?,
    };
    let id = ResourceId::new(format!("shared.{}", case.name)).map_err(no_name)?;
    let key = Key::new(&type_name, &class, &id);
    let context = Context {
        org: "default".into(),
        app: "driver-check".into(),
        env: EnvironmentId { id: "check".into(), kind: "development".into() },
        namespace: "check".into(),
        deployment: "driver-check-1".into(),
    };
    let filled = |mut inputs: Inputs| {
        host_schemas::fill(schema, &mut inputs);
        inputs
    };
    let inputs = filled(merge::inputs(&case.inputs));
    let change = |change: &_| filled(merge::changed(&inputs, change));
    let refused = |one: &InvalidCase| {
        let base = one.inputs.as_ref().map_or_else(|| inputs.clone(), merge::inputs);
        (merge::changed(&base, &one.change), one.at.clone())
    };
    let mut test_case = TestCase {
        name: case.name.to_string(),
        subject: Subject { urn: Urn::new(&context, &key), key, context },
        schema: schema.clone(),
        update: case.update.as_ref().map(change),
        replace: case.replace.as_ref().map(change),
        rotate: case.rotate.as_ref().map(change),
        invalid: case.invalid.iter().map(refused).collect(),
        skip: Vec::new(),
        canaries: Vec::new(),
        inputs: inputs.clone(),
    };
    let all = [
        Some(&test_case.inputs),
        test_case.update.as_ref(),
        test_case.replace.as_ref(),
        test_case.rotate.as_ref(),
    ];
    let mut canaries = Vec::new();
    for inputs in all.into_iter().flatten() {
        leaves(&inputs.secrets, &mut canaries);
        secrets(&inputs.connection, &mut canaries);
    }
    let open: Vec<String> = all
        .into_iter()
        .flatten()
        .map(|inputs| format!("{}{}", inputs.values.redact(), inputs.params.redact()))
        .collect();
    // A text that is visible anyway proves nothing.
    canaries
        .retain(|secret| secret.len() >= SHORTEST_CANARY && !open.iter().any(|open| open.contains(secret)));
    canaries.sort_unstable();
    canaries.dedup();
    test_case.canaries = canaries;
    Ok(test_case)
}

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value.exposed() {
        Value::String(text) => found.push(text.to_string()),
        Value::List(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Map(map) => map.values().for_each(|item| leaves(item, found)),
        _ => {}
    }
}

/// The texts in the secret parts of a value.
fn secrets(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Secret(_) => leaves(value, found),
        Value::List(items) => items.iter().for_each(|item| secrets(item, found)),
        Value::Map(map) => map.values().for_each(|item| secrets(item, found)),
        _ => {}
    }
}

impl TestCase {
    /// Why a rule is not tested with it.
    pub(crate) fn excuse(&self, rule: &str) -> Option<&str> {
        self.skip.iter().find(|skipped| &*skipped.rule == rule).map(|skipped| &*skipped.why)
    }

    /// The same resource with this text as the deployment id.
    pub(crate) fn stranger(&self, text: &str) -> Subject {
        let mut context: Context = self.subject.context.clone();
        context.deployment = Arc::from(text);
        Subject { context, ..self.subject.clone() }
    }

    /// The keys of a part of the inputs.
    pub(crate) fn keys(value: &Value) -> Vec<String> {
        value.as_map().map(|map| map.keys()).into_iter().flatten().map(ToString::to_string).collect()
    }
}
