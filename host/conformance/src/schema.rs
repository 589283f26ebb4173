//! The schemas of a driver: their validity, fitting inputs, generated inputs, and inputs that they
//! reject.

use std::cell::Cell;

use purlin_model::driver::Inputs;
use purlin_model::{CaseInputs, Value};
use purlin_schema::{Describes, Schema, Subject, say};
use serde_json::{Map, Value as Json, json};

use crate::merge;

/// The maximum depth of generated instances.
const DEEPEST: usize = 16;
/// Approximate bytes of an instance. A schema of a few lines can require endless lists of lists.
const LARGEST: usize = 1 << 20;
/// The cost of a value beside its text.
const VALUE: usize = 16;
/// The maximum number of places at which wrong types are tried.
const MOST_PLACES: usize = 12;

/// Reads a schema as the host does.
pub(crate) fn compile(describes: Describes, schema: &Json) -> Result<Schema, String> {
    Schema::of_driver(schema, describes).map_err(|error| error.placed())
}

/// Whether a document fits; otherwise the place and the reason. A secret value is not repeated.
pub(crate) fn violation(schema: &Schema, document: &Value) -> Option<String> {
    let violations = match schema.validate(document) {
        Ok(violations) => violations,
        Err(error) => return Some(error.to_string()),
    };
    let violation = violations.first()?;
    let message = say(Subject::Inputs("the schema"), violation).message;
    Some(if violation.at.is_empty() { message } else { format!("`{}`: {message}", violation.at) })
}

/// The faulty places of a document, as pointers.
pub(crate) fn violations(schema: &Schema, document: &Value) -> Vec<String> {
    schema.validate(document).into_iter().flatten().map(|violation| violation.at).collect()
}

/// `examples` and `default`s that do not fit their place, as place and reason.
pub(crate) fn bad_examples(schema: &Json) -> Vec<String> {
    let mut faults = Vec::new();
    walk(schema, schema, "", 0, &mut faults);
    faults
}

fn walk(root: &Json, schema: &Json, place: &str, depth: usize, faults: &mut Vec<String>) {
    let Some(object) = schema.as_object() else { return };
    if depth > DEEPEST {
        return;
    }
    let examples = object.get("examples").and_then(Json::as_array).into_iter().flatten();
    let given: Vec<(&str, &Json)> = examples
        .map(|one| ("examples", one))
        .chain(object.get("default").map(|one| ("default", one)))
        .collect();
    if !given.is_empty() {
        let mut alone = object.clone();
        for shared in ["$defs", "definitions"] {
            if let Some(definitions) = root.get(shared) {
                alone.insert(shared.to_owned(), definitions.clone());
            }
        }
        if let Ok(alone) = Schema::new(&Json::Object(alone)) {
            for (keyword, value) in given {
                if let Some(fault) = violation(&alone, &value.clone().into()) {
                    faults.push(format!("`{keyword}` at `{place}`: {fault}"));
                }
            }
        }
    }
    for keyword in ["properties", "$defs", "patternProperties"] {
        for (name, below) in object.get(keyword).and_then(Json::as_object).into_iter().flatten() {
            walk(root, below, &format!("{place}/{keyword}/{}", merge::escaped(name)), depth + 1, faults);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(below) = object.get(keyword) {
            walk(root, below, &format!("{place}/{keyword}"), depth + 1, faults);
        }
    }
}

/// The smallest inputs that fit a schema.
pub(crate) fn inputs(schema: &Json) -> Result<CaseInputs, String> {
    let maker = Maker { root: schema, left: Cell::new(LARGEST) };
    let made = maker.instance(schema, 0).ok_or("the request is larger than 1 MiB")?;
    let compiled = compile(Describes::Inputs, schema)?;
    let part = |name: &str| made.get(name).cloned().unwrap_or_else(|| json!({}));
    let mut whole = json!({"values": part("values"), "secrets": part("secrets"), "params": part("params")});
    for name in ["connection", "account"] {
        if let Some(part) = made.get(name) {
            whole[name] = part.clone();
        }
    }
    if let Some(fault) = violation(&compiled, &whole.into()) {
        return Err(fault);
    }
    let secret = |value: Json| match Value::from(value) {
        Value::Map(map) => Value::Map(map.into_iter().map(|(key, item)| (key, item.into_secret())).collect()),
        other => other,
    };
    Ok(CaseInputs {
        values: part("values").into(),
        secrets: secret(part("secrets")),
        params: part("params").into(),
        connection: part("connection").into(),
        account: part("account").into(),
    })
}

/// Generates an instance, within bounds.
struct Maker<'a> {
    root: &'a Json,
    /// Bytes that may still be generated.
    left: Cell<usize>,
}

impl Maker<'_> {
    /// Takes bytes from the budget; none if there are no more.
    fn take(&self, bytes: usize) -> Option<()> {
        self.left.set(self.left.get().checked_sub(bytes)?);
        Some(())
    }

    fn instance(&self, schema: &Json, depth: usize) -> Option<Json> {
        self.take(VALUE)?;
        if depth > DEEPEST {
            return Some(Json::Null);
        }
        if let Some(target) = schema.get("$ref").and_then(Json::as_str) {
            let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return found.map_or(Some(Json::Null), |found| self.instance(found, depth + 1));
        }
        let first = |keyword: &str| schema.get(keyword).and_then(Json::as_array).and_then(|all| all.first());
        if let Some(value) = schema
            .get("const")
            .or_else(|| first("examples"))
            .or_else(|| schema.get("default"))
            .or_else(|| first("enum"))
        {
            self.take(value.to_string().len().saturating_mul(4))?;
            return Some(value.clone());
        }
        if let Some(one) = first("oneOf").or_else(|| first("anyOf")) {
            return self.instance(one, depth + 1);
        }
        let kind = match schema.get("type") {
            Some(Json::String(kind)) => kind.as_str(),
            Some(Json::Array(kinds)) => {
                kinds.iter().find_map(|kind| kind.as_str().filter(|kind| *kind != "null")).unwrap_or("null")
            }
            _ if schema.get("properties").is_some() => "object",
            _ => "",
        };
        let number = |keyword: &str| schema.get(keyword).and_then(Json::as_i64);
        Some(match kind {
            "object" => {
                let required = schema.get("required").and_then(Json::as_array).into_iter().flatten();
                let properties = schema.get("properties");
                let mut map = Map::new();
                for name in required.filter_map(Json::as_str) {
                    let below = properties.and_then(|all| all.get(name)).unwrap_or(&Json::Bool(true));
                    self.take(name.len())?;
                    map.insert(name.to_owned(), self.instance(below, depth + 1)?);
                }
                Json::Object(map)
            }
            "array" => {
                let count = usize::try_from(number("minItems").unwrap_or(0)).unwrap_or(0).min(8);
                let below = schema.get("items").unwrap_or(&Json::Bool(true));
                Json::Array((0..count).map(|_| self.instance(below, depth + 1)).collect::<Option<_>>()?)
            }
            "integer" | "number" => number("minimum")
                .or_else(|| number("exclusiveMinimum").and_then(|low| low.checked_add(1)))
                .unwrap_or(1)
                .into(),
            "boolean" => false.into(),
            "null" => Json::Null,
            _ => {
                // A width of `format!` has 16 bits only.
                let least = usize::try_from(number("minLength").unwrap_or(0)).unwrap_or(0);
                self.take(least)?;
                format!("check{}", "a".repeat(least.saturating_sub("check".len()))).into()
            }
        })
    }
}

/// Inputs with one faulty place.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    pub(crate) inputs: Inputs,
    /// `values` or `secrets`.
    pub(crate) part: &'static str,
    pub(crate) key: String,
    /// The value there; none if it was removed.
    pub(crate) value: Option<Json>,
}

impl Wrong {
    pub(crate) fn pointer(&self) -> String {
        format!("/{}/{}", self.part, merge::escaped(&self.key))
    }

    /// Other inputs with the same fault.
    pub(crate) fn also(&self, inputs: &Inputs) -> Inputs {
        let value = self.value.clone().map(|value| match self.part {
            "secrets" => Value::from(value).into_secret(),
            _ => value.into(),
        });
        merge::at(inputs, self.part, &self.key, value)
    }
}

/// Inputs that a schema rejects, made from some that it accepts: with a value of another type, or
/// without a required one.
pub(crate) fn refused(schema: &Json, compiled: &Schema, good: &Inputs) -> Vec<Wrong> {
    let mut all = Vec::new();
    let is_valid = |inputs: &Inputs| compiled.fits(&merge::document(inputs).into()) == Ok(Some(true));
    if !is_valid(good) {
        return all;
    }
    for part in ["values", "secrets"] {
        let below = schema.pointer(&format!("/properties/{part}"));
        let properties = below.and_then(|below| below.get("properties")).and_then(Json::as_object);
        for key in properties.into_iter().flat_map(Map::keys) {
            let mut values: Vec<Option<Json>> =
                [json!(["wrong"]), json!({"wrong": true}), json!("wrong"), json!(17.5), json!(true)]
                    .map(Some)
                    .into();
            values.insert(0, None);
            // Missing comes before a wrong type: a missing required value is the more common fault.
            let fits = |value: &Option<Json>| {
                let wrong = Wrong { inputs: good.clone(), part, key: key.clone(), value: value.clone() };
                is_valid(&wrong.also(good))
            };
            let missing = values.iter().take(1).find(|value| !fits(value)).cloned();
            let typed = values.iter().skip(1).find(|value| !fits(value)).cloned();
            for value in [missing, typed].into_iter().flatten() {
                if all.len() < MOST_PLACES {
                    let mut wrong = Wrong { inputs: good.clone(), part, key: key.clone(), value };
                    wrong.inputs = wrong.also(good);
                    all.push(wrong);
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_with_huge_requirements_gets_no_inputs() {
        let mut lists = json!({"type": "string", "minLength": 10});
        for _ in 0..12 {
            lists = json!({"type": "array", "minItems": 8, "items": lists});
        }
        let example = json!({"type": "array", "minItems": 8, "items": {"const": "x".repeat(200_000)}});
        for below in [lists, example] {
            let schema = json!({"type": "object", "required": ["values"], "properties": {"values": {
                "type": "object", "required": ["all"], "properties": {"all": below},
            }}});
            let error = inputs(&schema).expect_err("too much");
            assert!(error.contains("larger than 1 MiB"), "{error}");
        }
    }

    #[test]
    fn a_long_text_can_be_required() {
        for least in [65_535, 65_536, 200_000] {
            let schema = json!({"required": ["values"], "properties": {"values": {
                "type": "object", "required": ["op"], "properties": {"op": {"type": "string", "minLength": least}},
            }}});
            let made = inputs(&schema).expect("made").values.redact();
            assert_eq!(made["op"].as_str().map(str::len), Some(least));
        }
    }

    fn schema() -> Json {
        json!({
            "type": "object", "required": ["values"],
            "properties": {
                "values": {
                    "type": "object", "required": ["size", "name"], "additionalProperties": false,
                    "properties": {
                        "size": {"type": "integer", "minimum": 3},
                        "name": {"type": "string", "minLength": 8, "examples": ["a name that is long"]},
                        "free": {},
                    },
                },
                "secrets": {"type": "object"},
            },
        })
    }

    #[test]
    fn inputs_contain_the_required_values() {
        let made = inputs(&schema()).expect("made");
        assert_eq!(made.values.redact(), json!({"size": 3, "name": "a name that is long"}));
        let hard = json!({"required": ["values"], "properties": {"values": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "pattern": "^x{3}$"}}}}});
        assert!(inputs(&hard).is_err_and(|fault| fault.contains("/values/a")));
    }

    #[test]
    fn rejected_inputs_are_rejected_by_the_schema() {
        let compiled = compile(Describes::Inputs, &schema()).expect("a schema");
        let good = merge::inputs(&inputs(&schema()).expect("made"));
        let wrong = refused(&schema(), &compiled, &good);
        let places: Vec<(String, bool)> =
            wrong.iter().map(|one| (one.pointer(), one.value.is_none())).collect();
        assert_eq!(
            places,
            [
                ("/values/size", true),
                ("/values/size", false),
                ("/values/name", true),
                ("/values/name", false)
            ]
            .map(|(place, missing)| (place.to_owned(), missing))
        );
        assert!(
            wrong.iter().all(|one| compiled.fits(&merge::document(&one.inputs).into()) == Ok(Some(false)))
        );
    }

    #[test]
    fn examples_have_to_fit() {
        assert!(bad_examples(&schema()).is_empty());
        let mut bad = schema();
        bad["properties"]["values"]["properties"]["size"]["default"] = "big".into();
        assert_eq!(bad_examples(&bad).len(), 1);
        assert!(compile(Describes::Inputs, &json!({"type": "sting"})).is_err());
    }
}
