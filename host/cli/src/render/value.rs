//! Renders values and their changes on one line.

use purlin_model::Value;

use crate::failure::Failure;
use crate::text;

/// The text for a value that exists only after provisioning.
const UNKNOWN: &str = "(known after apply)";

/// A value as JSON, with secrets masked unless the user asked to see them.
pub(crate) fn json(value: &Value, show_secrets: bool) -> serde_json::Value {
    // Recorded values are never unknown. If one were, masking would show that.
    if show_secrets { value.reveal().unwrap_or_else(|_| value.redact()) } else { value.redact() }
}

/// JSON as YAML.
pub(crate) fn yaml(json: &serde_json::Value) -> Result<String, Failure> {
    serde_saphyr::to_string(json).map_err(|error| Failure::caused("cannot write YAML", &error))
}

/// A value as one line of JSON, with placeholders for secrets and unknown values.
pub(crate) fn one_line(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    text::line(&out).into_owned()
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Secret(_) => out.push_str("[secret]"),
        Value::Unknown(unknown) if unknown.secret => out.push_str("[secret] (known after apply)"),
        Value::Unknown(_) => out.push_str(UNKNOWN),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (index, (key, item)) in map.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                out.push_str(&serde_json::Value::from(&**key).to_string());
                out.push_str(": ");
                write(out, item);
            }
            out.push('}');
        }
        plain => out.push_str(&plain.redact().to_string()),
    }
}

/// Both sides of a change, truncated to a common width. If long values begin with the same text,
/// most of that is left out, so that the difference is visible.
pub(crate) fn pair(before: &str, after: &str, columns: usize) -> (String, String) {
    let arrow = 3;
    if text::width(before) + arrow + text::width(after) <= columns {
        return (before.to_owned(), after.to_owned());
    }
    let room = columns.saturating_sub(arrow).max(8);
    // The longer side gets the space that the shorter one does not need.
    let half = room / 2;
    let (left, right) = match (text::width(before), text::width(after)) {
        (short, _) if short <= half => (short, room - short),
        (_, short) if short <= half => (room - short, short),
        _ => (half, room - half),
    };
    let alike = before.chars().zip(after.chars()).take_while(|(a, b)| a == b).count();
    // Keep part of the common text for orientation.
    let skip = if alike > left.min(right).saturating_sub(8) { alike.saturating_sub(6) } else { 0 };
    (text::fit(&from(before, skip), left).into_owned(), text::fit(&from(after, skip), right).into_owned())
}

fn from(text: &str, skip: usize) -> String {
    if skip == 0 {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(skip)).collect()
}

/// A JSON Pointer as a path for people: `/values/a.b/0` becomes `values['a.b'].0`.
pub(crate) fn path(pointer: &str) -> String {
    let mut out = String::new();
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        if segment.is_empty() || segment.contains(|c: char| c.is_whitespace() || ".[]'\"".contains(c)) {
            out.push_str(&format!("['{segment}']"));
        } else {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&segment);
        }
    }
    text::line(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use purlin_model::Map;

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let text = prop_oneof![
            any::<String>(),
            "[ \\-:#&*!|>'\"%@`{}\\[\\],?~=<0-9a-zA-Z.\\n\\t]{0,12}",
            proptest::sample::select(vec![
                "yes",
                "No",
                "null",
                "~",
                "1e3",
                "0x1f",
                "012",
                "1_000",
                ".inf",
                "2026-01-01",
                "<<",
                "---",
                "...",
                "=",
                "true "
            ])
            .prop_map(str::to_owned),
        ];
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<u64>().prop_map(Into::into),
            text.clone().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 24, 5, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                proptest::collection::vec((text.clone(), inner), 0..5)
                    .prop_map(|entries| entries.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn yaml_says_what_json_says(json in any_json()) {
            let text = yaml(&json).expect("YAML");
            let back: serde_json::Value = serde_saphyr::from_str(&text).map_err(|e| TestCaseError::fail(format!("{e}: {text}")))?;
            prop_assert_eq!(back, json, "{}", text);
        }
    }

    #[test]
    fn text_stays_text_for_older_readers_of_yaml_too() {
        for word in [
            "yes",
            "No",
            "on",
            "off",
            "y",
            "N",
            "012",
            "0x1f",
            "0o17",
            "1_000",
            "1e3",
            "12:30:45",
            "2026-01-01",
            "~",
            ".5",
            "=",
            "<<",
        ] {
            let text = yaml(&serde_json::json!({"a": word})).expect("YAML");
            assert!(text.contains(['"', '\'']), "{text}");
        }
    }

    #[test]
    fn values_read_on_one_line() {
        let value = Value::Map(Map::from_iter([
            ("a".into(), Value::List(vec![Value::from("x\u{1b}[0m"), Value::unknown()])),
            ("b".into(), Value::from("hunter2").into_secret()),
        ]));
        assert_eq!(one_line(&value), r#"{"a": ["x\u001b[0m", (known after apply)], "b": [secret]}"#);
        assert_eq!(one_line(&Value::unknown().into_secret()), "[secret] (known after apply)");
    }

    #[test]
    fn the_difference_of_long_values_is_seen() {
        let before = format!("\"{}old\"", "x".repeat(100));
        let after = format!("\"{}new\"", "x".repeat(100));
        let (before, after) = pair(&before, &after, 40);
        assert_eq!((before.as_str(), after.as_str()), ("…xxxxxxold\"", "…xxxxxxnew\""));
        let (short, long) = pair("1", &"y".repeat(100), 40);
        assert_eq!(text::width(&short) + 3 + text::width(&long), 40);
    }

    #[test]
    fn pointers_become_paths() {
        assert_eq!(path("/values/a.b/0"), "values['a.b'].0");
        assert_eq!(path("/values/x~1y"), "values.x/y");
        assert_eq!(path("/account"), "account");
        assert_eq!(path(""), "");
    }
}
