//! The faults of a value, in plain English.

use std::fmt::Write as _;

use purlin_expression::did_you_mean;
use serde_json::Value as Json;

use crate::fault::{Fault, Violation};

/// The maximum number of allowed values in a message.
const MOST_LISTED: usize = 8;

/// The owner and the subject of a schema.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// Of the params of a resource type.
    Params(&'a str),
    /// Of `{values, secrets, params}` of a driver.
    Inputs(&'a str),
    /// Of the outputs of a resource type.
    Outputs(&'a str),
}

/// A fault in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultText {
    /// The fault, as a lower-case fragment.
    pub message: String,
    /// How to correct it, if known.
    pub help: Option<String>,
    /// Further facts.
    pub notes: Vec<String>,
}

/// The message for a fault.
pub fn say(subject: Subject<'_>, violation: &Violation) -> FaultText {
    let words = Words { subject, violation };
    let (message, help) = words.message();
    let notes = match &violation.fault {
        Fault::NoForm(forms) => {
            let mut notes: Vec<String> = forms.iter().map(|form| say(subject, form).message).collect();
            notes.dedup();
            notes
        }
        _ => Vec::new(),
    };
    FaultText { message, help, notes }
}

struct Words<'a> {
    subject: Subject<'a>,
    violation: &'a Violation,
}

impl Words<'_> {
    fn who(&self) -> &str {
        match self.subject {
            Subject::Params(who) | Subject::Inputs(who) | Subject::Outputs(who) => who,
        }
    }

    /// The verb for the values that the schema accepts.
    fn takes(&self) -> &'static str {
        if matches!(self.subject, Subject::Outputs(_)) { "promises" } else { "takes" }
    }

    fn allows(&self) -> &'static str {
        if matches!(self.subject, Subject::Outputs(_)) { "promises" } else { "allows" }
    }

    /// The kind of the value, and its path.
    fn place(&self) -> (&'static str, String) {
        let segments: Vec<String> = self
            .violation
            .at
            .split('/')
            .skip(1)
            .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
            .collect();
        let (noun, below) = match (self.subject, segments.split_first()) {
            (Subject::Params(_), _) => ("parameter", &segments[..]),
            (Subject::Outputs(_), _) => ("output", &segments[..]),
            (Subject::Inputs(_), Some((part, rest))) if part == "secrets" => ("secret", rest),
            (Subject::Inputs(_), Some((part, rest))) if part == "params" => ("parameter", rest),
            (Subject::Inputs(_), Some((part, rest))) if part == "values" => ("input", rest),
            (Subject::Inputs(_), _) => ("input", &segments[..]),
        };
        let mut path = String::new();
        for segment in below {
            let index = !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit());
            let _ = match (index, path.is_empty()) {
                (true, false) => write!(path, "[{segment}]"),
                (_, true) => write!(path, "{segment}"),
                (false, false) => write!(path, ".{segment}"),
            };
        }
        (noun, path)
    }

    /// The value as the subject of a sentence.
    fn it(&self) -> String {
        let (noun, path) = self.place();
        let it = self.shown_place(noun, &path);
        if self.violation.is_below { format!("an entry of {it}") } else { it }
    }

    fn shown_place(&self, noun: &str, path: &str) -> String {
        match (noun, path.is_empty()) {
            (_, true) => format!("the {noun}s"),
            ("secret" | "output", false) => format!("the {noun} `{path}`"),
            (_, false) => format!("`{path}`"),
        }
    }

    /// The value's description, if it can be shown.
    fn is(&self, otherwise: &str) -> String {
        let it = self.it();
        let are = if self.is_plural() { "are" } else { "is" };
        match &self.violation.value {
            Some(value) => format!("{it} {are} {}", shown(value)),
            None => format!("{it} {are} {otherwise}"),
        }
    }

    fn message(&self) -> (String, Option<String>) {
        let (who, takes, allows, it) = (self.who(), self.takes(), self.allows(), self.it());
        let (noun, path) = self.place();
        match &self.violation.fault {
            Fault::Type { takes: types, found } => {
                let listed =
                    or(types.iter().filter(|one| *one != "null" || types.len() == 1).map(|one| kind(one)));
                (format!("{} {found}; `{who}` {takes} {listed}", self.be()), self.as_type(types))
            }
            Fault::Enum(allowed) => {
                let listed = allowed.iter().take(MOST_LISTED).map(shown).collect::<Vec<_>>();
                let more = allowed.len().saturating_sub(MOST_LISTED);
                let listed = match (more, allowed.len()) {
                    (0, 1) => format!("{} only", listed.concat()),
                    (0, _) => or(listed.into_iter()),
                    (more, _) => format!("{} or {more} others", listed.join(", ")),
                };
                let near = match (&self.violation.value, allowed.len()) {
                    (Some(Json::String(text)), 2..) => {
                        let names = allowed.iter().filter_map(Json::as_str);
                        purlin_expression::nearest(text, names).map(|near| format!("did you mean `{near}`?"))
                    }
                    _ => None,
                };
                (format!("{}; `{who}` {takes} {listed}", self.is("something else")), near)
            }
            Fault::Minimum(limit) => {
                (format!("{}; `{who}` {allows} {limit} or more", self.is("too small")), None)
            }
            Fault::ExclusiveMinimum(limit) => {
                (format!("{}; `{who}` {allows} more than {limit}", self.is("too small")), None)
            }
            Fault::Maximum(limit) => {
                (format!("{}; `{who}` {allows} {limit} or less", self.is("too large")), None)
            }
            Fault::ExclusiveMaximum(limit) => {
                (format!("{}; `{who}` {allows} less than {limit}", self.is("too large")), None)
            }
            Fault::MultipleOf(limit) => {
                (format!("{}; `{who}` {allows} multiples of {limit}", self.is("not a multiple")), None)
            }
            Fault::Fewer { least, has, of } => {
                (format!("{it} {} {}; `{who}` {allows} {least} or more", self.have(), count(*has, of)), None)
            }
            Fault::More { most, has, of } => {
                (format!("{it} {} {}; `{who}` {allows} {most} at most", self.have(), count(*has, of)), None)
            }
            Fault::Pattern(pattern) => {
                let fault =
                    format!("{}; `{who}` {takes} text that matches `{pattern}`", self.is("of another form"));
                (fault, None)
            }
            Fault::Format(words) => {
                (format!("{}; `{who}` {takes} {words}", self.is("of another form")), None)
            }
            Fault::Missing { name, because, takes } => {
                let full = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let needs = match (self.subject, because) {
                    (Subject::Outputs(_), _) => {
                        format!("`{who}` promises the output `{full}`, which is missing")
                    }
                    (_, Some(because)) => format!("`{because}` needs the {noun} `{name}` beside it"),
                    (_, None) if self.violation.is_below => format!("`{who}` needs `{name}` in {it}"),
                    (_, None) => format!("`{who}` needs the {noun} `{full}`"),
                };
                let form = takes.as_deref().map_or("VALUE", |takes| match takes {
                    "string" => "TEXT",
                    "integer" | "number" => "NUMBER",
                    "boolean" => "true",
                    "array" => "[…]",
                    "object" => "{…}",
                    _ => "VALUE",
                });
                let help =
                    (!matches!(self.subject, Subject::Outputs(_))).then(|| format!("add `{name}: {form}`"));
                (needs, help)
            }
            Fault::Unknown { name, known } => {
                let help = did_you_mean(name, &format!("{noun}s"), known.iter().map(String::as_str));
                (format!("`{who}` has no {noun} `{path}`"), Some(help).filter(|help| !help.is_empty()))
            }
            Fault::UnknownSecret { known } => {
                let help = did_you_mean("", &format!("{noun}s"), known.iter().map(String::as_str));
                (
                    format!("{it} has an entry that `{who}` does not allow"),
                    Some(help).filter(|help| !help.is_empty()),
                )
            }
            Fault::Name { name, fault } => {
                let inner = Violation {
                    at: self.violation.at.clone(),
                    is_below: self.violation.is_below,
                    rule: String::new(),
                    value: Some(Json::from(name.as_str())),
                    fault: (**fault).clone(),
                };
                let (message, help) = Words { subject: self.subject, violation: &inner }.message();
                (format!("the name {}", message.trim_start_matches("the ")), help)
            }
            Fault::Twice { first, second } => {
                let fault =
                    format!("{it} has the same item at {first} and {second}; `{who}` {takes} each once");
                (fault, None)
            }
            Fault::Contains { least, most, has } => {
                let wanted = match most {
                    Some(most) if has > most => format!("{most} at most"),
                    _ => format!("{least} or more"),
                };
                let fault = format!(
                    "{it} {} {} of the form that `{who}` looks for; it {allows} {wanted}",
                    self.have(),
                    count(*has, "item")
                );
                (fault, None)
            }
            Fault::Forbidden if self.violation.is_below => (format!("`{who}` does not allow {it}"), None),
            Fault::Forbidden => {
                (format!("`{who}` takes no {noun} `{path}` here"), Some("remove it".to_owned()))
            }
            Fault::Excluded => (format!("{it} {} a value that `{who}` does not allow", self.have()), None),
            Fault::NeedsOneOf(sets) => {
                let sets = sets.iter().map(|set| and(set.iter().map(|name| format!("`{name}`"))));
                let place = self.in_place();
                (format!("`{who}` needs {}{place}", or(sets)), None)
            }
            Fault::NoForm(_) => (format!("{it} {} none of the forms that `{who}` {takes}", self.fit()), None),
            Fault::SeveralForms(forms) => {
                let named: Vec<&Vec<String>> = forms.iter().filter(|names| !names.is_empty()).collect();
                if named.len() == forms.len() {
                    let listed = or(named.iter().map(|set| and(set.iter().map(|name| format!("`{name}`")))));
                    let place = self.in_place();
                    (
                        format!("`{who}` {takes} either {listed}{place}, and not both"),
                        Some("keep one of them".into()),
                    )
                } else {
                    (
                        format!(
                            "{it} {} {} forms of which `{who}` {takes} only one",
                            self.fit(),
                            forms.len()
                        ),
                        None,
                    )
                }
            }
        }
    }

    fn is_plural(&self) -> bool {
        self.place().1.is_empty() && !self.violation.is_below
    }

    /// Where a map is that lacks something, with a space before it.
    fn in_place(&self) -> String {
        let (_, path) = self.place();
        match (self.violation.is_below, path.is_empty()) {
            (true, _) => format!(" in {}", self.it()),
            (false, true) => String::new(),
            (false, false) => format!(" in `{path}`"),
        }
    }

    fn be(&self) -> String {
        let (it, value) = (self.it(), &self.violation.value);
        let be = if self.is_plural() { "are" } else { "is" };
        match (value, &self.violation.fault) {
            // Text that looks like another type is worth showing.
            (Some(Json::String(text)), Fault::Type { found: "a string", .. }) => {
                return format!("{it} {be} `{text}`,");
            }
            (Some(Json::Number(number)), Fault::Type { found: "a number", .. }) => {
                return format!("{it} {be} {number},");
            }
            _ => {}
        }
        format!("{it} {be}")
    }

    fn have(&self) -> &'static str {
        if self.is_plural() { "have" } else { "has" }
    }

    fn fit(&self) -> &'static str {
        if self.is_plural() { "fit" } else { "fits" }
    }

    fn as_type(&self, types: &[String]) -> Option<String> {
        let takes = |name: &str| types.iter().any(|one| one == name);
        if matches!(self.subject, Subject::Outputs(_)) {
            return None;
        }
        Some(match self.violation.value.as_ref()? {
            Json::String(text) if takes("integer") && text.parse::<i64>().is_ok() => {
                format!("write `{text}` without quotes")
            }
            Json::String(text) if takes("number") && text.parse::<f64>().is_ok() => {
                format!("write `{text}` without quotes")
            }
            Json::String(text) if takes("boolean") => match text.to_lowercase().as_str() {
                "true" | "yes" | "on" => "write `true` without quotes".to_owned(),
                "false" | "no" | "off" => "write `false` without quotes".to_owned(),
                _ => return None,
            },
            value @ (Json::Number(_) | Json::Bool(_)) if takes("string") => {
                format!("write it in quotes: `\"{value}\"`")
            }
            value if takes("array") && !value.is_null() => "write it as a list: `[…]`".to_owned(),
            Json::Null => "give it a value, or leave it out".to_owned(),
            _ => return None,
        })
    }
}

fn kind(name: &str) -> String {
    match name {
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a string",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a map",
        other => other,
    }
    .to_owned()
}

fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => format!("`{text}`"),
        Json::Array(_) | Json::Object(_) => format!("`{value}`"),
        other => other.to_string(),
    }
}

fn count(count: u64, of: &str) -> String {
    match (count, of) {
        (1, _) => format!("1 {of}"),
        (_, "entry") => format!("{count} entries"),
        _ => format!("{count} {of}s"),
    }
}

fn or(items: impl Iterator<Item = String>) -> String {
    joined(items, "or")
}

fn and(items: impl Iterator<Item = String>) -> String {
    joined(items, "and")
}

fn joined(items: impl Iterator<Item = String>, word: &str) -> String {
    let mut all: Vec<String> = Vec::new();
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    match all.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, before)) => format!("{} {word} {last}", before.join(", ")),
    }
}
