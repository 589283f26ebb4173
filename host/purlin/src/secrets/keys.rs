//! Secrets in a YAML or JSON file: a name is a path of keys, separated by `/`.
//!
//! The message of a parser may quote the text, so only the position of a fault is shown.

use std::path::Path;
use std::sync::Arc;

use purlin_documents::plain_value;
use purlin_engine::SecretFault;
use purlin_expression::did_you_mean;
use purlin_model::Value;
use secrecy::SecretString;

/// The secret with this name in the text of a file.
pub(super) fn read(text: &[u8], path: &Path, name: &str) -> Result<SecretString, SecretFault> {
    let whole = parse(text, path)?;
    let mut tree = whole.exposed();
    let mut passed = String::new();
    for key in name.split('/') {
        let missing = |help: Option<String>| {
            let place = if passed.is_empty() { String::new() } else { format!(" below `{passed}`") };
            let fault = SecretFault::new(format!("`{}` has no `{key}`{place}", path.display()));
            match help {
                Some(help) => fault.help(help),
                None => fault,
            }
        };
        tree = match tree {
            Value::Map(entries) => {
                let names = || entries.keys().map(|name| &**name);
                entries.get(key).ok_or_else(|| missing(Some(did_you_mean(key, "keys there", names()))))?
            }
            Value::List(items) => {
                let item = key.parse().ok().and_then(|index: usize| items.get(index));
                item.ok_or_else(|| missing(Some("the items of a list are numbered from `0`".to_owned())))?
            }
            Value::Null => return Err(missing(Some("there are no keys there".to_owned()))),
            Value::String(_) if !passed.is_empty() => {
                return Err(missing(Some(format!("did you mean `{passed}`?"))));
            }
            _ => return Err(missing(None)),
        };
        if !passed.is_empty() {
            passed.push('/');
        }
        passed.push_str(key);
    }
    let what = match tree {
        Value::String(text) => return Ok(SecretString::from(&**text)),
        Value::Map(_) => "a map",
        Value::List(_) => "a list",
        Value::Null => "nothing",
        other => other.kind(),
    };
    let fault = SecretFault::new(format!("in `{}` it is {what}, not text", path.display()));
    Err(match tree {
        Value::Map(_) | Value::List(_) => fault.help("name a key below it, with `/` between"),
        _ => fault.help("put it in quotes"),
    })
}

/// The content of the file, secret as a whole, so that it is overwritten in memory like other
/// secrets.
fn parse(text: &[u8], path: &Path) -> Result<Value, SecretFault> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Err(SecretFault::new(format!("`{}` is not UTF-8 text", path.display())));
    };
    let name: Arc<str> = path.to_string_lossy().into();
    match plain_value(&name, text) {
        Ok(value) => Ok(value.into_secret()),
        Err(place) => Err(SecretFault::new(format!(
            "`{}` does not read as YAML or JSON, at {}:{}",
            path.display(),
            place.line,
            place.column
        ))),
    }
}
