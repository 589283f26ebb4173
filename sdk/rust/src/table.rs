//! Inputs and outputs as tables in Markdown, from their schemas.

use serde_json::{Map, Value};

use crate::glue::raw::TypeSchema;

/// The maximum depth of listed inputs.
const DEEPEST: usize = 8;

/// A text with each table below its line, in place of the old one.
pub(crate) fn written(text: &str, types: &[TypeSchema]) -> Result<String, String> {
    let (mut written, mut found) = (String::new(), false);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        written.push_str(line);
        written.push('\n');
        let mark = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
        let Some(mark) = mark.filter(|mark| matches!(mark.split(' ').next(), Some("inputs" | "outputs")))
        else {
            continue;
        };
        let (what, of) = mark.split_once(" of ").unzip();
        let mut named = types.iter().filter(|schema| of.is_none_or(|of| schema.type_name == of));
        let (Some(schema), None) = (named.next(), named.next()) else {
            return Err(format!("`{line}` has to name one of the driver's types: `<!-- inputs of TYPE -->`"));
        };
        let parsed = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
        written.push_str(&match what.unwrap_or(mark) {
            "inputs" => inputs(&parsed(&schema.inputs)?),
            _ => outputs(&parsed(&schema.outputs)?),
        });
        found = true;
        while lines.next_if(|line| line.starts_with('|')).is_some() {}
    }
    if found { Ok(written) } else { Err("there is no line `<!-- inputs -->`".to_owned()) }
}

/// The table of inputs.
fn inputs(schema: &Value) -> String {
    let mut table = "| input | type | default | meaning |\n|---|---|---|---|\n".to_owned();
    for group in ["values", "secrets", "params", "connection"] {
        let Some(rules) = schema.pointer(&format!("/properties/{group}")) else { continue };
        each(rules, group, 0, &mut |name, rules, is_required| {
            let default = match rules.get("default") {
                Some(default) => code(default),
                None if is_required => "required".to_owned(),
                None => "–".to_owned(),
            };
            table.push_str(&row(&[&format!("`{name}`"), &kind(rules), &default, &meaning(rules)]));
        });
    }
    table
}

/// The table of outputs.
fn outputs(schema: &Value) -> String {
    let mut table = "| output | type | meaning |\n|---|---|---|\n".to_owned();
    for (name, rules) in properties(schema) {
        table.push_str(&row(&[&format!("`{name}`"), &kind(rules), &meaning(rules)]));
    }
    table
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn properties(rules: &Value) -> impl Iterator<Item = (&String, &Value)> {
    rules.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// Lists every property, with its path and whether it is required, and then its contents.
fn each(rules: &Value, path: &str, depth: usize, tell: &mut dyn FnMut(&str, &Value, bool)) {
    if depth > DEEPEST {
        return;
    }
    let required = rules.get("required").and_then(Value::as_array);
    for (name, below) in properties(rules) {
        let is_required = required.is_some_and(|names| names.iter().any(|one| one == name));
        let path = format!("{path}.{name}");
        tell(&path, below, is_required);
        each(below, &path, depth + 1, tell);
        if let Some(items) = below.get("items") {
            each(items, &format!("{path}[]"), depth + 1, tell);
        }
    }
}

/// The valid values, in a few words.
fn kind(rules: &Value) -> String {
    let forms = ["oneOf", "anyOf"].iter().filter_map(|keyword| rules.get(*keyword)?.as_array());
    let forms: Vec<&Value> =
        forms.flatten().filter(|form| form.get("type") != Some(&"null".into())).collect();
    let of_enum =
        rules.get("enum").and_then(Value::as_array).into_iter().flatten().filter(|one| !one.is_null());
    let constants: Vec<String> =
        forms.iter().filter_map(|form| form.get("const")).chain(of_enum).map(code).collect();
    if !constants.is_empty() {
        return constants.join(", ");
    }
    if let [first, rest @ ..] = forms.as_slice() {
        let more = rest.iter().map(|form| kind(form));
        return std::iter::once(kind(first)).chain(more).collect::<Vec<_>>().join(" or ");
    }
    let types = match rules.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(one)) => vec![one.as_str()],
        _ => Vec::new(),
    };
    let named = |one: &&str| match *one {
        "string" => "text".to_owned(),
        "integer" => format!("whole number{}", bounds(rules)),
        "number" => format!("number{}", bounds(rules)),
        "boolean" => "true or false".to_owned(),
        "array" => "list".to_owned(),
        _ => "map".to_owned(),
    };
    let named: Vec<String> = types.iter().filter(|one| **one != "null").map(named).collect();
    if named.is_empty() { "anything".to_owned() } else { named.join(" or ") }
}

fn bounds(rules: &Value) -> String {
    match (rules.get("minimum"), rules.get("maximum")) {
        (Some(low), Some(high)) => format!(", {low} to {high}"),
        // Rust's unsigned numbers imply it.
        (Some(low), None) if low == &Value::from(0) => String::new(),
        (Some(low), None) => format!(", at least {low}"),
        (None, Some(high)) => format!(", at most {high}"),
        (None, None) => String::new(),
    }
}

/// A value as written in a document.
pub(crate) fn code(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

fn meaning(rules: &Value) -> String {
    let mut text = rules.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (keyword, sentence) in [
        ("x-purlin-replaces", "A change replaces the resource."),
        ("x-purlin-immutable", "It cannot be changed."),
        ("x-purlin-write-once", "Only returned by `create`."),
        ("writeOnly", "It is secret."),
    ] {
        if rules.get(keyword) == Some(&Value::Bool(true)) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(sentence);
        }
    }
    text
}
