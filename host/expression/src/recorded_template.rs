//! Turns templates into text again, for records: in the syntax of definitions.

use std::fmt::Write as _;
use std::sync::Arc;

use purlin_model::{
    Absent, Access, Entries, Location, Modifiers, Path, Pipe, Placeholder, Reference, Template, Value,
};
use serde_json::Value as Json;

use crate::{Dialect, parse_text};

/// A template as JSON, whose texts hold placeholders in the syntax of definitions. None if it reads
/// something other than outputs of a resource, its own params, or its context.
pub fn write_template(template: &Template) -> Option<Json> {
    Some(match template {
        Template::Constant(value) => escaped(value.reveal().ok()?),
        Template::Text(pieces) => {
            let mut text = String::new();
            for piece in pieces.iter() {
                match piece {
                    purlin_model::Piece::Literal(literal) => text.push_str(&escaped_text(literal)),
                    purlin_model::Piece::Placeholder(placeholder) => {
                        write_placeholder(&mut text, placeholder)?
                    }
                }
            }
            Json::String(text)
        }
        Template::List(items) => items.iter().map(write_template).collect::<Option<Vec<_>>>()?.into(),
        Template::Map(entries) => {
            let entries = entries.iter().map(|(name, item)| Some((name.to_string(), write_template(item)?)));
            Json::Object(entries.collect::<Option<_>>()?)
        }
    })
}

/// A template from such JSON. None if the JSON is invalid.
pub fn read_template(json: &Json) -> Option<Template> {
    Some(match json {
        Json::String(text) => parse_text(text, Dialect::Definition, &|_| Location::default()).ok()?,
        Json::Array(items) => Template::List(items.iter().map(read_template).collect::<Option<_>>()?),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(name, item)| Some((Arc::from(&**name), read_template(item)?)));
            Template::Map(Box::new(entries.collect::<Option<Entries<_>>>()?))
        }
        plain => Template::Constant(Value::from(plain.clone())),
    })
}

fn escaped(json: Json) -> Json {
    match json {
        Json::String(text) => Json::String(escaped_text(&text)),
        Json::Array(items) => items.into_iter().map(escaped).collect(),
        Json::Object(entries) => entries.into_iter().map(|(name, item)| (name, escaped(item))).collect(),
        plain => plain,
    }
}

fn escaped_text(text: &str) -> String {
    text.replace("${", "$\\{")
}

fn write_placeholder(text: &mut String, placeholder: &Placeholder) -> Option<()> {
    text.push_str("${");
    match &placeholder.reference {
        Reference::Resource(descriptor, Access::Outputs(path)) => {
            let _ = write!(text, "resources['{descriptor}'].outputs");
            write_path(text, path)?;
        }
        Reference::Param(path) => {
            text.push_str("params");
            write_path(text, path)?;
        }
        Reference::Context(field) => {
            let _ = write!(text, "context.{}", field.path());
        }
        _ => return None,
    }
    if let Some(modifiers) = &placeholder.modifiers {
        write_modifiers(text, modifiers)?;
    }
    text.push('}');
    Some(())
}

fn write_path(text: &mut String, path: &Path) -> Option<()> {
    for segment in &path.0 {
        let quote = quote(segment)?;
        let _ = write!(text, "[{quote}{segment}{quote}]");
    }
    Some(())
}

/// A quote for a text. There is none for a text that contains both.
fn quote(text: &str) -> Option<char> {
    ['\'', '"'].into_iter().find(|quote| !text.contains(*quote))
}

fn write_modifiers(text: &mut String, modifiers: &Modifiers) -> Option<()> {
    match &modifiers.absent {
        Absent::Fault => {}
        Absent::LeftOut => text.push('?'),
        Absent::Default(value) => {
            text.push_str(" ?? ");
            match value {
                Value::String(default) => {
                    let quote = quote(default)?;
                    let _ = write!(text, "{quote}{default}{quote}");
                }
                other => {
                    let _ = write!(text, "{}", other.reveal().ok()?);
                }
            }
        }
    }
    for pipe in &modifiers.pipes {
        let (name, _) = Pipe::ALL.iter().find(|(_, known)| known == pipe)?;
        let _ = write!(text, " | {name}");
    }
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]

    use super::*;

    fn parsed(text: &str) -> Template {
        parse_text(text, Dialect::Definition, &|_| Location::default()).expect(text)
    }

    /// The target does not depend on how it was written.
    fn meaning(template: &Template) -> String {
        let mut all = String::new();
        match template {
            Template::Text(pieces) => {
                for piece in pieces.iter() {
                    match piece {
                        purlin_model::Piece::Literal(text) => all.push_str(text),
                        purlin_model::Piece::Placeholder(one) => {
                            let _ = write!(all, "<{:?} {:?}>", one.reference, one.modifiers);
                        }
                    }
                }
            }
            other => {
                let _ = write!(all, "{other:?}");
            }
        }
        all
    }

    #[test]
    fn a_template_is_read_as_it_was_written() {
        for text in [
            "plain",
            "$",
            "$\\{not.a.placeholder}",
            "postgres://${resources['installation.default#db'].outputs.host}:${resources['installation.default#db'].outputs.ports[0]}/x",
            "$${resources['a'].outputs['it\"s']}",
            "${resources['a.b#c'].outputs}",
            "${params.parameters.name?}",
            "${params['a.b'] ?? \"it's\" | urlencode | upper}",
            "${params.a ?? 5}",
            "${params.a ?? []}",
            "${context.env.id}-${context.res.guresid}",
        ] {
            let template = parsed(text);
            let json = write_template(&template).expect(text);
            let again = read_template(&json).expect(text);
            assert_eq!(meaning(&again), meaning(&template), "{text} became {json}");
        }
    }

    #[test]
    fn lists_and_maps_keep_their_form() {
        let template = Template::Map(Box::new(
            [
                (Arc::from("one"), Template::List(vec![parsed("${params.a}"), parsed("b")])),
                (
                    Arc::from("two"),
                    Template::Constant(Value::from(serde_json::json!({"c": ["${", 1, null]}))),
                ),
            ]
            .into_iter()
            .collect(),
        ));
        let json = write_template(&template).expect("writes");
        assert_eq!(
            json,
            serde_json::json!({"one": ["${params['a']}", "b"], "two": {"c": ["$\\{", 1, null]}})
        );
        assert_eq!(write_template(&read_template(&json).expect("reads")), Some(json));
    }

    #[test]
    fn placeholders_that_only_a_graph_understands_are_not_written() {
        for text in ["${values.a}", "${resources['a<b'].outputs.c}", "${resources.a.guresid}"] {
            assert_eq!(write_template(&parsed(text)), None, "{text}");
        }
    }
}
