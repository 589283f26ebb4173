//! Evaluation: a template and a scope give a value.

use purlin_model::{Absent, Diagnostic, Map, Modifiers, Piece, Placeholder, Template, Unknown, Value};

use crate::bounded::{Bounded, MAX_TEXT, TooLarge};
use crate::pipe::{self, PipeFault};

/// The values of placeholders.
pub trait Scope {
    /// The value of a placeholder, before its modifiers.
    ///
    /// # Errors
    /// If there is no value, at the placeholder's place.
    fn read(&self, placeholder: &Placeholder) -> Result<Value, Unread>;

    /// Called before a text of this many bytes is kept: a pipe made it, or a placeholder stands in
    /// it.
    ///
    /// # Errors
    /// If the texts together are too large, at the placeholder's place.
    fn keep(&self, _placeholder: &Placeholder, _bytes: usize) -> Result<(), Box<Diagnostic>> {
        Ok(())
    }
}

/// Why a placeholder has no value.
#[derive(Clone, Debug)]
pub enum Unread {
    /// Its path is absent: a fault if the placeholder neither is optional nor has a default.
    Absent(Box<Diagnostic>),
    /// A fault in any case.
    Fault(Box<Diagnostic>),
}

/// Fills in a template. A text that is exactly one placeholder takes the value's type. In a longer
/// text, strings are inserted verbatim and everything else as JSON (null as `null`); a text that an
/// unknown value touches is unknown, one that a secret touches is secret.
///
/// An optional placeholder without a value, or with null, omits the text that it is part of: the
/// entry of a map or list, or the whole template, which is then `None`.
///
/// # Errors
/// Every placeholder that could not be read.
pub fn evaluate(template: &Template, scope: &dyn Scope) -> Result<Option<Value>, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let value = fill(template, scope, &mut faults);
    if faults.is_empty() { Ok(value) } else { Err(faults) }
}

/// The value; meaningless if there are faults.
fn fill(template: &Template, scope: &dyn Scope, faults: &mut Vec<Diagnostic>) -> Option<Value> {
    Some(match template {
        Template::Constant(value) => value.clone(),
        Template::Text(text) => return fill_text(text, scope, faults),
        Template::List(items) => {
            Value::List(items.iter().filter_map(|item| fill(item, scope, faults)).collect())
        }
        Template::Map(entries) => {
            let mut map = Map::with_capacity(entries.len());
            for (key, entry) in &**entries {
                if let Some(value) = fill(entry, scope, faults) {
                    map.insert(key.clone(), value);
                }
            }
            Value::Map(map)
        }
    })
}

/// The value of a placeholder.
fn read(placeholder: &Placeholder, scope: &dyn Scope) -> Result<Option<Value>, Box<Diagnostic>> {
    let read = scope.read(placeholder);
    let Some(modifiers) = &placeholder.modifiers else {
        return match read {
            Ok(value) => Ok(Some(value)),
            Err(Unread::Absent(fault) | Unread::Fault(fault)) => Err(fault),
        };
    };
    let Modifiers { absent, pipes } = &**modifiers;
    let value = match (read, absent) {
        (Err(Unread::Fault(fault)), _) | (Err(Unread::Absent(fault)), Absent::Fault) => return Err(fault),
        (Err(Unread::Absent(_)) | Ok(Value::Null), Absent::LeftOut) => return Ok(None),
        (Err(Unread::Absent(_)) | Ok(Value::Null), Absent::Default(default)) => default.clone(),
        (Ok(value), _) => value,
    };
    let piped = pipes.iter().try_fold(value, |value, pipe| pipe::apply(*pipe, &value));
    let value = piped.map_err(|fault| match fault {
        PipeFault::Kind(message) => Box::new(at(placeholder, "wrong-pipe", message)),
        PipeFault::TooLarge => Box::new(too_large(placeholder)),
    })?;
    if let (Value::String(text), false) = (value.exposed(), pipes.is_empty()) {
        scope.keep(placeholder, text.len())?;
    }
    Ok(Some(value))
}

fn too_large(placeholder: &Placeholder) -> Diagnostic {
    at(placeholder, "too-large", format!("the text grows beyond {} MiB here", MAX_TEXT >> 20))
}

fn at(placeholder: &Placeholder, code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, message).at(&placeholder.location).spanning(placeholder.source().chars().count())
}

fn fill_text(pieces: &[Piece], scope: &dyn Scope, faults: &mut Vec<Diagnostic>) -> Option<Value> {
    let mut read = |placeholder: &Placeholder| match read(placeholder, scope) {
        Ok(value) => value,
        Err(fault) => {
            faults.push(*fault);
            Some(Value::Null)
        }
    };
    if let [Piece::Placeholder(placeholder)] = pieces {
        return read(placeholder);
    }
    let mut out = Bounded::default();
    let (mut secret, mut unknown, mut left_out) = (false, false, false);
    // Where the text grows; a text without any placeholder is a constant.
    let mut last = pieces.iter().find_map(|piece| match piece {
        Piece::Placeholder(placeholder) => Some(placeholder),
        Piece::Literal(_) => None,
    });
    for piece in pieces {
        let pushed = match piece {
            Piece::Literal(literal) => out.push(literal),
            Piece::Placeholder(placeholder) => {
                last = Some(placeholder);
                let Some(value) = read(placeholder) else {
                    left_out = true;
                    continue;
                };
                secret |= value.has_secret();
                match value.exposed() {
                    Value::String(text) => out.push(text),
                    other => match other.reveal() {
                        Ok(json) => out.push_json(&json),
                        Err(_) => {
                            unknown = true;
                            Ok(())
                        }
                    },
                }
            }
        };
        if let Err(TooLarge) = pushed {
            faults.extend(last.map(too_large));
            return None;
        }
    }
    if left_out {
        return None;
    }
    let out = out.into_string();
    if let Some(Err(fault)) = last.map(|placeholder| scope.keep(placeholder, out.len())) {
        faults.push(*fault);
        return None;
    }
    Some(match (unknown, secret) {
        (true, secret) => Value::Unknown(Unknown { secret }),
        (false, true) => Value::string(out).into_secret(),
        (false, false) => Value::string(out),
    })
}

#[cfg(test)]
mod tests {
    use purlin_model::{Location, Reference};
    use serde_json::json;

    use super::*;
    use crate::{Dialect, parse_text, read_path};

    struct Params(Value);

    impl Scope for Params {
        fn read(&self, placeholder: &Placeholder) -> Result<Value, Unread> {
            let Reference::Param(path) = &placeholder.reference else { panic!("only params here") };
            read_path(&self.0, path).map_err(|error| {
                let fault = Diagnostic::error("unknown", error.message).at(&placeholder.location);
                Unread::Absent(Box::new(fault))
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
        evaluate(&template(text), &scope()).expect("evaluates").expect("is there")
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
    fn secrets_and_unknowns_affect_the_entire_text() {
        assert_eq!(eval("user:${params.p}"), Value::from("user:hidden").into_secret());
        assert_eq!(eval("${params.lp} "), Value::from("[\"hidden\"] ").into_secret());
        assert_eq!(eval("a${params.u}"), Value::unknown());
        assert_eq!(eval("a${params.lu}"), Value::unknown());
        assert_eq!(eval("${params.p}${params.u}"), Value::Unknown(Unknown { secret: true }));
    }

    #[test]
    fn absent_values_are_left_out_or_have_a_default() {
        let left_out = |text| evaluate(&template(text), &scope()).expect("evaluates");
        for text in ["${params.no?}", "${params.z?}", "a ${params.s} ${params.no?}", "${params.no? | upper}"]
        {
            assert_eq!(left_out(text), None, "{text}");
        }
        let list = Template::List(vec![template("${params.no?}"), template("${params.s?}")]);
        assert_eq!(evaluate(&list, &scope()), Ok(Some(json!(["x"]).into())));
        let map = [("a", "${params.no?}"), ("b", "${params.n?}")];
        let map = Template::Map(Box::new(
            map.into_iter().map(|(key, text)| (key.into(), template(text))).collect(),
        ));
        assert_eq!(evaluate(&map, &scope()), Ok(Some(json!({"b": 5432}).into())));

        assert_eq!(eval("${params.n ?? 7}"), json!(5432).into());
        for (text, value) in [
            ("${params.no ?? 7}", json!(7)),
            ("${params.no ?? -1.5}", json!(-1.5)),
            ("${params.no ?? true}", json!(true)),
            ("${params.no ?? null}", json!(null)),
            ("${params.no ?? []}", json!([])),
            ("${params.no ?? {}}", json!({})),
            ("${params.no??{} | json}!", json!("{}!")),
            ("${params.no ?? {}} ${params.s}}", json!("{} x}")),
            ("${params.z ?? 'a | b } c'}", json!("a | b } c")),
            ("${params.no??\"it's\" | upper}!", json!("IT'S!")),
        ] {
            assert_eq!(eval(text), value.into(), "{text}");
        }
        assert_eq!(eval("${params.u?}"), Value::unknown());
        assert_eq!(eval("${params.p ?? 'x'}"), Value::from("hidden").into_secret());
    }

    #[test]
    fn pipes_are_applied_in_their_order() {
        for (text, value) in [
            ("${params.s | upper}", json!("X")),
            ("${params.s|upper|lower}", json!("x")),
            ("${params.n | base64}", json!("NTQzMg==")),
            ("${params.l | json}", json!(r#"["a",1]"#)),
            ("${params.l | json | urlencode}", json!("%5B%22a%22%2C1%5D")),
            ("${params.no ?? 'ä/b-c_~.' | urlencode}", json!("%C3%A4%2Fb-c_~.")),
            ("${params.s | json}", json!("\"x\"")),
            ("${params.no ?? '' | base64}", json!("")),
        ] {
            assert_eq!(eval(text), value.into(), "{text}");
        }
        assert_eq!(eval("${params.p | upper}"), Value::from("HIDDEN").into_secret());
        assert_eq!(eval("${params.lp | json}"), Value::from("[\"hidden\"]").into_secret());
        assert_eq!(eval("${params.u | json}"), Value::unknown());
        let faults = evaluate(&template("${params.l | upper}"), &scope()).expect_err("a list");
        assert_eq!(faults[0].message, "`upper` takes text, and this is a list");
    }

    #[test]
    fn every_fault_is_reported() {
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

    #[test]
    fn no_pipe_grows_a_text_without_end() {
        // Every `json` doubles the backslashes of the one before.
        let text = format!("${{params.s{}}}", " | json".repeat(5_000));
        let faults = evaluate(&template(&text), &scope()).expect_err("too long");
        assert_eq!((faults[0].code, faults.len()), ("too-large", 1));
        assert_eq!(faults[0].location.as_ref().map(|place| place.column), Some(1));
        // Each pipe has the limit, whatever comes after it.
        let long = Params(Value::Map(Map::from_iter([
            ("s".into(), Value::string("é".repeat(3 << 20))),
            ("l".into(), Value::List(vec![Value::string("x".repeat(12 << 20)); 2])),
        ])));
        for text in [
            "${params.s | urlencode | lower}",
            "${params.s | base64 | base64 | base64 | base64}",
            "${params.l | json}",
            "x${params.l}",
        ] {
            let faults = evaluate(&template(text), &long).expect_err("too long");
            assert_eq!(faults[0].code, "too-large", "{text}");
        }
    }

    #[test]
    fn a_text_field_is_text_whatever_it_reads() {
        let text =
            |text: &str| evaluate(&template(text).as_text(), &scope()).expect("evaluates").expect("is there");
        assert_eq!(text("${params.n}"), "5432".into());
        assert_eq!(text("${params.l}"), r#"["a",1]"#.into());
        assert_eq!(text("${params.s}"), "x".into());
        assert_eq!(text("${params.z}"), "null".into());
        assert_eq!(text("plain"), "plain".into());
        assert_eq!(text("${params.p}"), Value::from("hidden").into_secret());
        assert_eq!(text("${params.lp}"), Value::from("[\"hidden\"]").into_secret());
        assert_eq!(text("${params.lu}"), Value::unknown());
        assert_eq!(evaluate(&template("${params.no?}").as_text(), &scope()), Ok(None));
    }
}
