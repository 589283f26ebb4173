//! Secrets in a YAML or JSON file: a name is a path of keys, with `/` between.
//!
//! What a parser says of a text may quote it, so that only the place of a fault is told.

use std::fmt;
use std::path::Path;

use purlin_engine::SecretFault;
use purlin_expression::did_you_mean;
use secrecy::SecretString;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use zeroize::Zeroizing;

/// What the file says, overwritten in memory when it is dropped.
enum Tree {
    Text(Zeroizing<String>),
    Map(Vec<(String, Tree)>),
    List(Vec<Tree>),
    /// What is no text, in a word.
    Other(&'static str),
}

/// The secret with that name in the text of a file.
pub(super) fn read(text: &[u8], path: &Path, name: &str) -> Result<SecretString, SecretFault> {
    let mut tree = &parse(text, path)?;
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
            Tree::Map(entries) => {
                entries.iter().find(|(name, _)| name == key).map(|(_, tree)| tree).ok_or_else(|| {
                    missing(Some(did_you_mean(
                        key,
                        "keys there",
                        entries.iter().map(|(name, _)| name.as_str()),
                    )))
                })?
            }
            Tree::List(items) => {
                let item = key.parse().ok().and_then(|index: usize| items.get(index));
                item.ok_or_else(|| missing(None))?
            }
            _ => return Err(missing(None)),
        };
        if !passed.is_empty() {
            passed.push('/');
        }
        passed.push_str(key);
    }
    let what = match tree {
        Tree::Text(text) => return Ok(SecretString::from(text.as_str())),
        Tree::Map(_) => "a map",
        Tree::List(_) => "a list",
        Tree::Other(what) => what,
    };
    let fault = SecretFault::new(format!("in `{}` it is {what}, not text", path.display()));
    Err(match tree {
        Tree::Map(_) | Tree::List(_) => fault.help("name a key below it, with `/` between"),
        _ => fault.help("put it in quotes"),
    })
}

fn parse(text: &[u8], path: &Path) -> Result<Tree, SecretFault> {
    let wrong = |kind: &str, place: Option<(u64, u64)>| {
        let place = place.map_or(String::new(), |(line, column)| format!(", at {line}:{column}"));
        SecretFault::new(format!("`{}` is no {kind}{place}", path.display()))
    };
    if path.extension().is_some_and(|ending| ending == "json") {
        return serde_json::from_slice(text)
            .map_err(|error| wrong("JSON", Some((error.line() as u64, error.column() as u64))));
    }
    let text = std::str::from_utf8(text).map_err(|_| wrong("text in UTF-8", None))?;
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| wrong("YAML", error.location().map(|place| (place.line(), place.column()))))
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyTree)
    }
}

struct AnyTree;

impl<'de> Visitor<'de> for AnyTree {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a list or a map")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(Zeroizing::new(text.to_owned())))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Tree, E> {
        Ok(Tree::Text(Zeroizing::new(text)))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Other("true or false"))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Other("a number"))
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<Tree, E> {
        Ok(Tree::Other("a number"))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Other("a number"))
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<Tree, E> {
        Ok(Tree::Other("a number"))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Other("a number"))
    }

    fn visit_unit<E: Error>(self) -> Result<Tree, E> {
        Ok(Tree::Other("nothing"))
    }

    fn visit_none<E: Error>(self) -> Result<Tree, E> {
        Ok(Tree::Other("nothing"))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_bytes<E: Error>(self, _: &[u8]) -> Result<Tree, E> {
        Ok(Tree::Other("binary"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map: Vec<(String, Tree)> = Vec::new();
        while let Some((key, value)) = entries.next_entry::<String, Tree>()? {
            // JSON allows a key twice; which one would be meant is nobody's to guess.
            if map.iter().any(|(known, _)| *known == key) {
                return Err(A::Error::custom("a key twice"));
            }
            map.push((key, value));
        }
        Ok(Tree::Map(map))
    }
}
