//! Text.

use gotmpl::Value;

use super::{Answer, Call, Dict, Table};
use crate::MAX_TEXT;
use crate::value::{list, map, string, text};

pub(super) const TABLE: Table = &[
    ("trim", |c| Ok(string(c.text(0)?.trim()))),
    ("trimAll", |c| cut(c, |text, is| text.trim_matches(is))),
    ("trimall", |c| cut(c, |text, is| text.trim_matches(is))),
    ("trimPrefix", |c| {
        let text = c.text(1)?;
        Ok(string(text.strip_prefix(&c.text(0)?).unwrap_or(&text)))
    }),
    ("trimSuffix", |c| {
        let text = c.text(1)?;
        Ok(string(text.strip_suffix(&c.text(0)?).unwrap_or(&text)))
    }),
    ("upper", |c| Ok(string(c.text(0)?.to_uppercase()))),
    ("lower", |c| Ok(string(c.text(0)?.to_lowercase()))),
    ("title", |c| Ok(string(each_word(&c.text(0)?, |first| first.to_uppercase().collect())))),
    ("untitle", |c| Ok(string(each_word(&c.text(0)?, |first| first.to_lowercase().collect())))),
    ("repeat", |c| {
        let (count, text) = (c.count(0)?, c.text(1)?);
        within(count.saturating_mul(text.len()))?;
        Ok(string(text.repeat(count)))
    }),
    ("substr", |c| Ok(string(part(&c.text(2)?, c.int(0)?, c.int(1)?)))),
    ("nospace", |c| Ok(string(c.text(0)?.split_whitespace().collect::<String>()))),
    ("trunc", trunc),
    ("abbrev", |c| abbreviate(&c.text(1)?, 0, c.int(0)?)),
    ("abbrevboth", |c| abbreviate(&c.text(2)?, c.int(0)?, c.int(1)?)),
    ("initials", |c| {
        Ok(string(c.text(0)?.split_whitespace().filter_map(|word| word.chars().next()).collect::<String>()))
    }),
    ("wrap", |c| wrap(&c.text(1)?, c.count(0)?, "\n")),
    ("wrapWith", |c| wrap(&c.text(2)?, c.count(0)?, &c.text(1)?)),
    ("contains", |c| Ok(Value::Bool(c.text(1)?.contains(&c.text(0)?)))),
    ("hasPrefix", |c| Ok(Value::Bool(c.text(1)?.starts_with(&c.text(0)?)))),
    ("hasSuffix", |c| Ok(Value::Bool(c.text(1)?.ends_with(&c.text(0)?)))),
    ("quote", |c| Ok(joined(c, |text| format!("{text:?}").replace("\\'", "'")))),
    ("squote", |c| Ok(joined(c, |text| format!("'{text}'")))),
    ("cat", |c| Ok(joined(c, str::to_owned))),
    ("indent", |c| Ok(string(indent(c)?))),
    ("nindent", |c| Ok(string(format!("\n{}", indent(c)?)))),
    ("replace", |c| {
        let (from, to, text) = (c.text(0)?, c.text(1)?, c.text(2)?);
        within(text.len().saturating_add(text.matches(&from).count().saturating_mul(to.len())))?;
        Ok(string(text.replace(&from, &to)))
    }),
    ("plural", |c| Ok(string(if c.int(2)? == 1 { c.text(0)? } else { c.text(1)? }))),
    ("snakecase", |c| Ok(string(words(&c.text(0)?).join("_")))),
    ("kebabcase", |c| Ok(string(words(&c.text(0)?).join("-")))),
    ("camelcase", |c| {
        let words = words(&c.text(0)?);
        let upper = words.iter().map(|word| each_word(word, |first| first.to_uppercase().collect()));
        Ok(string(upper.collect::<String>()))
    }),
    ("swapcase", |c| {
        let swap = |letter: char| -> String {
            if letter.is_uppercase() {
                letter.to_lowercase().collect()
            } else {
                letter.to_uppercase().collect()
            }
        };
        Ok(string(c.text(0)?.chars().map(swap).collect::<String>()))
    }),
    ("splitList", |c| Ok(list(split(&c.text(1)?, &c.text(0)?).map(string)))),
    ("split", |c| Ok(numbered(split(&c.text(1)?, &c.text(0)?)))),
    ("splitn", |c| {
        let (mark, count, text) = (c.text(0)?, c.count(1)?, c.text(2)?);
        Ok(numbered(text.splitn(count, &*mark).map(str::to_owned).collect::<Vec<_>>().into_iter()))
    }),
    ("join", |c| {
        let mark = c.text(0)?;
        let parts: Vec<String> = match c.at(1)? {
            Value::List(items) => items.iter().filter(|item| !matches!(item, Value::Nil)).map(text).collect(),
            other => vec![text(other)],
        };
        Ok(string(parts.join(&mark)))
    }),
    ("sortAlpha", |c| {
        let mut all: Vec<String> = match c.at(0)? {
            Value::List(items) => items.iter().map(text).collect(),
            other => vec![text(other)],
        };
        all.sort();
        Ok(list(all.into_iter().map(string)))
    }),
    ("base", |c| {
        let text = c.text(0)?;
        Ok(string(match text.trim_end_matches('/').rsplit('/').next() {
            Some("") if text.starts_with('/') => "/",
            Some("") | None => ".",
            Some(last) => last,
        }))
    }),
    ("dir", |c| {
        let text = c.text(0)?;
        Ok(string(match text.rsplit_once('/') {
            Some(("", _)) => "/",
            Some((folder, _)) => folder.trim_end_matches('/'),
            None => ".",
        }))
    }),
    ("ext", |c| {
        let text = c.text(0)?;
        let name = text.rsplit('/').next().unwrap_or_default();
        Ok(string(name.rfind('.').and_then(|dot| name.get(dot..)).unwrap_or_default()))
    }),
    ("isAbs", |c| Ok(Value::Bool(c.text(0)?.starts_with('/')))),
];

fn within(length: usize) -> Result<(), String> {
    if length > MAX_TEXT { Err(format!("the text is longer than {MAX_TEXT} bytes")) } else { Ok(()) }
}

fn cut(call: &Call<'_>, how: for<'t> fn(&'t str, &dyn Fn(char) -> bool) -> &'t str) -> Answer {
    let (letters, text) = (call.text(0)?, call.text(1)?);
    Ok(string(how(&text, &|letter| letters.contains(letter))))
}

/// Changes the first letter of each word.
fn each_word(text: &str, change: fn(char) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for letter in text.chars() {
        if letter.is_whitespace() || inside {
            out.push(letter);
        } else {
            out.push_str(&change(letter));
        }
        inside = !letter.is_whitespace();
    }
    out
}

/// Letters from `start` to `end`; a negative start means the beginning, a negative end the end.
fn part(text: &str, start: i64, end: i64) -> String {
    let start = usize::try_from(start).unwrap_or(0);
    let length = usize::try_from(end).map_or(usize::MAX, |end| end.saturating_sub(start));
    text.chars().skip(start).take(length).collect()
}

fn trunc(call: &Call<'_>) -> Answer {
    let (length, text) = (call.int(0)?, call.text(1)?);
    let size = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
    if length >= 0 {
        return Ok(string(text.chars().take(size).collect::<String>()));
    }
    let skip = text.chars().count().saturating_sub(size);
    Ok(string(text.chars().skip(skip).collect::<String>()))
}

fn abbreviate(text: &str, left: i64, width: i64) -> Answer {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if width < 4 || left > 0 && width < 7 || length <= width {
        return Ok(string(text));
    }
    let short = if left <= 4 {
        format!("{}...", part(text, 0, width - 3))
    } else if left + width - 3 < length {
        format!("...{}...", part(text, left, left + width - 6))
    } else {
        format!("...{}", part(text, length - (width - 3), length))
    };
    Ok(string(short))
}

fn wrap(text: &str, width: usize, mark: &str) -> Answer {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push_str(mark);
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        within(out.len())?;
    }
    Ok(string(out))
}

/// Every argument that is not empty, changed, and separated by a space.
fn joined(call: &Call<'_>, change: fn(&str) -> String) -> Value {
    let there = call.args.iter().filter(|value| !matches!(value, Value::Nil));
    string(there.map(|value| change(&text(value))).collect::<Vec<_>>().join(" "))
}

fn indent(call: &Call<'_>) -> Result<String, String> {
    let (count, text) = (call.count(0)?, call.text(1)?);
    let lines = text.matches('\n').count() + 1;
    within(lines.saturating_mul(count).saturating_add(text.len()))?;
    let pad = " ".repeat(count);
    Ok(format!("{pad}{}", text.replace('\n', &format!("\n{pad}"))))
}

/// The words of a name in any style, in lower case.
fn words(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| letters.get(before));
        let after = letters.get(index + 1);
        let begins = letter.is_uppercase()
            && (before.is_some_and(|before| !before.is_uppercase())
                || after.is_some_and(|after| after.is_lowercase()));
        if (!letter.is_alphanumeric() || begins) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// Parts between marks; with an empty mark, the letters.
fn split(text: &str, mark: &str) -> std::vec::IntoIter<String> {
    let parts: Vec<String> = if mark.is_empty() {
        text.chars().map(String::from).collect()
    } else {
        text.split(mark).map(str::to_owned).collect()
    };
    parts.into_iter()
}

/// Parts as a map with the keys `_0`, `_1` and so on.
fn numbered(parts: impl Iterator<Item = String>) -> Value {
    let entries = parts.enumerate().map(|(index, part)| (format!("_{index}").into(), string(part)));
    map(entries.collect::<Dict>())
}
