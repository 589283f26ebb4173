//! Paths with placeholders: `/zones/{id}`. Values are encoded, so that each stays one segment.

use purlin_sdk::{Json, Object};
use purlin_sdk_http::segment;

/// The values for placeholders.
#[derive(Clone, Default)]
pub(crate) struct Scope {
    /// The API's id, if known.
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) guresid: String,
    pub(crate) outputs: Object,
    pub(crate) params: Object,
    pub(crate) vars: Object,
}

impl Scope {
    pub(crate) fn with_id(&self, id: &str) -> Self {
        Self { id: Some(id.to_owned()), ..self.clone() }
    }

    fn get(&self, place: &str) -> Result<String, String> {
        let text = |value: Option<&Json>| match value {
            Some(Json::String(text)) => Ok(text.clone()),
            Some(value @ (Json::Number(_) | Json::Bool(_))) => Ok(value.to_string()),
            Some(_) => Err(format!("`{{{place}}}` is neither a text nor a number")),
            None => Err(format!("there is no `{{{place}}}`")),
        };
        let text = match place.split_once('.') {
            None if place == "name" => self.name.clone(),
            None if place == "guresid" => self.guresid.clone(),
            None if place == "id" => self.id.clone().ok_or("there is no `{id}` yet")?,
            Some(("outputs", name)) => text(self.outputs.get(name))?,
            Some(("params", name)) => text(self.params.get(name))?,
            Some(("vars", name)) => text(self.vars.get(name))?,
            _ => return Err(format!("`{{{place}}}` is not a placeholder: {PLACES}")),
        };
        // An empty segment would change the path: to that of the collection, for example.
        if text.is_empty() { Err(format!("`{{{place}}}` is empty")) } else { Ok(text) }
    }
}

const PLACES: &str =
    "the placeholders are `{id}`, `{name}`, `{guresid}`, `{outputs.X}`, `{params.X}` and `{vars.X}`";

/// Fills a template.
///
/// # Errors
/// The placeholder that has no value, for people.
pub(crate) fn expand(template: &str, scope: &Scope) -> Result<String, String> {
    let mut path = String::with_capacity(template.len());
    for part in parts(template)? {
        match part {
            Part::Text(text) => path.push_str(text),
            Part::Place(place) => path.push_str(&segment(&scope.get(place)?)),
        }
    }
    Ok(path)
}

/// The placeholders of a template; none of a faulty one.
pub(crate) fn places(template: &str) -> Vec<&str> {
    let place = |part| match part {
        Part::Place(place) => Some(place),
        Part::Text(_) => None,
    };
    parts(template).unwrap_or_default().into_iter().filter_map(place).collect()
}

/// The value of `{id}`, read back from an expanded template.
pub(crate) fn id_in(path: &str, template: &str, scope: &Scope) -> Option<String> {
    let (before, after) = template.split_once("{id}")?;
    let (before, after) = (expand(before, scope).ok()?, expand(after, scope).ok()?);
    let id = path.strip_prefix(&before)?.strip_suffix(&after)?;
    if id.is_empty() || id.contains(['/', '?']) {
        return None;
    }
    percent_encoding::percent_decode_str(id).decode_utf8().ok().map(Into::into)
}

/// Reports faults in a template that do not depend on the values.
pub(crate) fn validate(template: &str) -> Result<(), String> {
    if !template.starts_with('/') {
        return Err("has to begin with `/`; it is appended to `base_url`".to_owned());
    }
    let mut texts = String::new();
    for part in parts(template)? {
        match part {
            Part::Text(text) => texts.push_str(text),
            Part::Place(place) => {
                let known = matches!(place, "id" | "name" | "guresid")
                    || ["outputs.", "params.", "vars."]
                        .iter()
                        .any(|root| place.strip_prefix(root).is_some_and(|name| !name.is_empty()));
                if !known {
                    return Err(format!("contains `{{{place}}}`; {PLACES}"));
                }
                texts.push('x');
            }
        }
    }
    let path = texts.split('?').next().unwrap_or_default();
    if path.split('/').any(|part| matches!(part, "." | "..")) {
        return Err("must not contain `.` or `..` between slashes".to_owned());
    }
    if let Some(wrong) = texts.chars().find(|c| !c.is_ascii_graphic() || "#\\\"<>^`|".contains(*c)) {
        return Err(format!("contains {wrong:?}; percent-encode it"));
    }
    Ok(())
}

enum Part<'a> {
    Text(&'a str),
    Place(&'a str),
}

fn parts(template: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((text, behind)) = rest.split_once('{') {
        let (place, behind) =
            behind.split_once('}').ok_or("has a `{` without a `}`; write %7B for the character")?;
        parts.push(Part::Text(text));
        parts.push(Part::Place(place));
        rest = behind;
    }
    parts.push(Part::Text(rest));
    if parts.iter().any(|part| matches!(part, Part::Text(text) if text.contains('}'))) {
        return Err("has a `}` without a `{`; write %7D for the character".to_owned());
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scope() -> Scope {
        let object = |value: Json| value.as_object().cloned().unwrap_or_default();
        Scope {
            name: "n".to_owned(),
            params: object(json!({"zone": "../x y?", "number": 7, "none": "", "list": []})),
            ..Scope::default()
        }
    }

    #[test]
    fn a_filled_in_value_stays_one_segment() {
        let expand = |template: &str| expand(template, &scope());
        assert_eq!(expand("/a/{params.zone}/{params.number}"), Ok("/a/..%2Fx%20y%3F/7".to_owned()));
        assert!(expand("/a/{id}").is_err() && expand("/a/{params.none}").is_err());
        assert!(expand("/a/{params.list}").is_err() && expand("/a/{params.absent}").is_err());
        let with_id = scope().with_id("a/b ..");
        let path = super::expand("/z/{id}/end", &with_id).expect("filled");
        assert_eq!(id_in(&path, "/z/{id}/end", &scope()).as_deref(), Some("a/b .."));
        for other in ["/z//end", "/z/a/b/end", "/y/a/end", "/z/a"] {
            assert_eq!(id_in(other, "/z/{id}/end", &scope()), None, "{other}");
        }
    }

    #[test]
    fn a_template_is_judged_before_it_is_filled() {
        for right in ["/", "/a?b={name}", "/{params.x}/{vars.y}/%7B", "/a/{outputs.o}.json"] {
            assert_eq!(validate(right), Ok(()), "{right}");
        }
        for wrong in
            ["a", "/a/{x}", "/{params.}", "/{id", "/id}", "/a/../b", "/a b", "/a#b", "/ä", "/{params}"]
        {
            assert!(validate(wrong).is_err(), "{wrong}");
        }
    }
}
