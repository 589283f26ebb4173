//! Filling in: a template and a scope make a value.

use purlin_model::{Diagnostic, Map, Piece, Placeholder, Template, Text, Unknown, Value};

/// The most bytes that a text with placeholders may become, 16 MiB. Texts made of texts grow
/// exponentially; no real one comes near.
pub const MAX_TEXT: usize = 16 << 20;

/// What placeholders read.
pub trait Scope {
    /// The value of a placeholder.
    ///
    /// # Errors
    /// When there is nothing to read, at the placeholder's place.
    fn read(&self, placeholder: &Placeholder) -> Result<Value, Box<Diagnostic>>;
}

/// Fills in a template. A text that is exactly one placeholder takes the value's type. In a
/// longer text strings go in raw and all else as JSON (null as `null`); one that an unknown
/// value touches is unknown, one that a secret touches is secret.
///
/// # Errors
/// Every placeholder that could not be read.
pub fn evaluate(template: &Template, scope: &dyn Scope) -> Result<Value, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let value = fill(template, scope, &mut faults);
    if faults.is_empty() { Ok(value) } else { Err(faults) }
}

/// The value; meaningless once there are faults.
fn fill(template: &Template, scope: &dyn Scope, faults: &mut Vec<Diagnostic>) -> Value {
    match template {
        Template::Constant(value) => value.clone(),
        Template::Text(text) => fill_text(text, scope, faults),
        Template::List(items) => Value::List(items.iter().map(|item| fill(item, scope, faults)).collect()),
        Template::Map(entries) => {
            let mut map = Map::with_capacity(entries.len());
            for (key, entry) in entries {
                map.insert(key.clone(), fill(entry, scope, faults));
            }
            Value::Map(map)
        }
    }
}

fn fill_text(text: &Text, scope: &dyn Scope, faults: &mut Vec<Diagnostic>) -> Value {
    let mut read = |placeholder: &Placeholder| match scope.read(placeholder) {
        Ok(value) => value,
        Err(fault) => {
            faults.push(*fault);
            Value::Null
        }
    };
    if let [Piece::Placeholder(placeholder)] = &*text.pieces {
        return read(placeholder);
    }
    let mut out = String::new();
    let (mut secret, mut unknown, mut too_long) = (false, false, None);
    for piece in &text.pieces {
        match piece {
            Piece::Literal(literal) => out.push_str(literal),
            Piece::Placeholder(placeholder) => {
                let value = read(placeholder);
                secret |= value.has_secret();
                match value.exposed() {
                    Value::String(text) => out.push_str(text),
                    other => match other.reveal() {
                        Ok(json) => out.push_str(&json.to_string()),
                        Err(_) => unknown = true,
                    },
                }
                if out.len() > MAX_TEXT {
                    too_long = Some(placeholder);
                    break;
                }
            }
        }
    }
    if let Some(placeholder) = too_long {
        let message = format!("the text grows beyond {} MiB here", MAX_TEXT >> 20);
        faults.push(
            Diagnostic::error("too-large", message)
                .at(&placeholder.location)
                .spanning(placeholder.source.chars().count()),
        );
        return Value::Null;
    }
    match (unknown, secret) {
        (true, secret) => Value::Unknown(Unknown { secret }),
        (false, true) => Value::string(out).into_secret(),
        (false, false) => Value::string(out),
    }
}

#[cfg(test)]
mod tests {
    use purlin_model::{Location, Reference};
    use serde_json::json;

    use super::*;
    use crate::{Dialect, parse_text, read_path};

    struct Params(Value);

    impl Scope for Params {
        fn read(&self, placeholder: &Placeholder) -> Result<Value, Box<Diagnostic>> {
            let Reference::Param(path) = &placeholder.reference else { panic!("only params here") };
            read_path(&self.0, path).map_err(|error| {
                Box::new(Diagnostic::error("unknown", error.message).at(&placeholder.location))
            })
        }
    }

    fn template(text: &str) -> Template {
        parse_text(text, Dialect::Definition, &|at| Location::new("t", 1, at as u32 + 1)).expect("parses")
    }

    fn scope() -> Params {
        let mut map = Map::new();
        for (key, value) in
            [("n", json!(5432)), ("l", json!(["a", 1])), ("s", json!("x")), ("z", json!(null))]
        {
            map.insert(key.into(), value.into());
        }
        map.insert("p".into(), Value::from("hidden").into_secret());
        map.insert("u".into(), Value::unknown());
        map.insert("lp".into(), Value::List(vec![Value::from("hidden").into_secret()]));
        map.insert("lu".into(), Value::List(vec![Value::unknown()]));
        Params(Value::Map(map))
    }

    fn eval(text: &str) -> Value {
        evaluate(&template(text), &scope()).expect("evaluates")
    }

    #[test]
    fn one_placeholder_alone_keeps_its_type() {
        assert_eq!(eval("${params.n}"), json!(5432).into());
        assert_eq!(eval("${params.l}"), json!(["a", 1]).into());
        assert_eq!(eval("${params.p}"), Value::from("hidden").into_secret());
        assert_eq!(eval("${params.u}"), Value::unknown());
        assert_eq!(eval("plain"), "plain".into());
    }

    #[test]
    fn in_text_strings_are_raw_and_the_rest_is_json() {
        assert_eq!(
            eval("a ${params.s}:${params.n} ${params.l} ${params.z}"),
            r#"a x:5432 ["a",1] null"#.into()
        );
        assert_eq!(eval("$\\{params.s}=${params.s}"), "${params.s}=x".into());
    }

    #[test]
    fn secrets_and_unknowns_colour_the_whole_text() {
        assert_eq!(eval("user:${params.p}"), Value::from("user:hidden").into_secret());
        assert_eq!(eval("${params.lp} "), Value::from("[\"hidden\"] ").into_secret());
        assert_eq!(eval("a${params.u}"), Value::unknown());
        assert_eq!(eval("a${params.lu}"), Value::unknown());
        assert_eq!(eval("${params.p}${params.u}"), Value::Unknown(Unknown { secret: true }));
    }

    #[test]
    fn every_fault_is_told() {
        let list = Template::List(vec![template("${params.no}"), template("x${params.nope}")]);
        let faults = evaluate(&list, &scope()).expect_err("two are missing");
        assert_eq!(faults.len(), 2);
        assert_eq!(faults[1].location.as_ref().map(|place| place.column), Some(2));
    }

    #[test]
    fn no_text_grows_without_end() {
        let long = Params(Value::Map(Map::from_iter([("s".into(), Value::string("x".repeat(1 << 20)))])));
        let faults = evaluate(&template(&"${params.s}".repeat(40)), &long).expect_err("too long");
        assert_eq!(faults[0].code, "too-large");
    }
}
