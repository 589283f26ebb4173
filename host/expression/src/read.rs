//! Reads the values below a value.

use purlin_model::{Path, Unknown, Value};

use crate::nearest::did_you_mean;

/// A path that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PathError {
    /// The fault, as a lower-case fragment.
    pub message: String,
    /// The index of the faulty segment.
    pub segment: usize,
    /// How to correct it. Names inside a secret are not revealed.
    pub help: Option<String>,
}

/// The value at a path: entries of maps, items of lists by decimal index. Values below a secret are
/// secret, values below an unknown value are unknown.
///
/// # Errors
/// If there is nothing at the path.
pub fn read_path(value: &Value, path: &Path) -> Result<Value, PathError> {
    let mut secret = false;
    let mut at = value;
    for (index, segment) in path.0.iter().enumerate() {
        if let Value::Secret(inner) = at {
            secret = true;
            at = inner.expose();
        }
        let below = match at {
            Value::Unknown(unknown) => {
                return Ok(Value::Unknown(Unknown { secret: secret || unknown.secret }));
            }
            Value::Map(map) => map.get(&**segment),
            Value::List(items) => segment.parse::<usize>().ok().and_then(|index| items.get(index)),
            _ => None,
        };
        at = match below {
            Some(below) => below,
            None => return Err(missing(at, path, index, secret)),
        };
    }
    let value = at.clone();
    Ok(if secret { value.into_secret() } else { value })
}

fn missing(at: &Value, path: &Path, index: usize, secret: bool) -> PathError {
    let segment = path.0.get(index).map_or("", |segment| segment);
    let whole = Path(path.0.iter().take(index).cloned().collect());
    let place = if index == 0 { String::new() } else { format!(" in `{whole}`") };
    let (message, help) = match at {
        Value::Map(map) => {
            let help = did_you_mean(segment, "names", map.keys().map(|key| &**key));
            (format!("there is no `{segment}`{place}"), Some(help).filter(|help| !help.is_empty()))
        }
        Value::List(items) => {
            let help = match items.len() {
                0 => "the list is empty".to_owned(),
                length => format!("the list has the items 0 to {}", length - 1),
            };
            (format!("there is no item `{segment}`{place}"), Some(help))
        }
        other => (format!("there is no `{segment}`{place}, which is {}", other.kind()), None),
    };
    PathError { message, segment: index, help: if secret { None } else { help } }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(text: &str) -> Path {
        Path(text.split('.').map(Into::into).collect())
    }

    #[test]
    fn secrets_and_unknowns_carry_on() {
        let value: Value = json!({"a": {"b": ["x", "y"]}}).into();
        assert_eq!(read_path(&value, &Path::default()), Ok(value.clone()));
        assert_eq!(read_path(&value, &path("a.b.1")), Ok(Value::from("y")));
        let secret = value.into_secret();
        assert_eq!(read_path(&secret, &path("a.b.1")), Ok(Value::from("y").into_secret()));
        assert_eq!(read_path(&Value::unknown(), &path("a.b")), Ok(Value::unknown()));
        let hidden = Value::Unknown(Unknown { secret: true });
        assert_eq!(read_path(&hidden, &path("a")), Ok(hidden.clone()));
    }

    #[test]
    fn missing_values_are_named_without_secrets() {
        let value: Value = json!({"a": {"host": 1}, "l": []}).into();
        let error = read_path(&value, &path("a.hots")).expect_err("missing");
        assert_eq!((error.message.as_str(), error.segment), ("there is no `hots` in `a`", 1));
        assert_eq!(error.help.as_deref(), Some("did you mean `host`?"));
        assert_eq!(
            read_path(&value, &path("a.host.x")).expect_err("a number").message,
            "there is no `x` in `a.host`, which is a number"
        );
        assert_eq!(
            read_path(&value, &path("l.0")).expect_err("empty").help.as_deref(),
            Some("the list is empty")
        );
        assert_eq!(read_path(&value.into_secret(), &path("a.hots")).expect_err("missing").help, None);
    }
}
