//! Semantic versions and the ranges that Sprig's library reads.

use std::cmp::Ordering;

use gotmpl::Value;

use super::{Answer, Call, Dict, Table};
use crate::value::{map, string};

pub(super) const TABLE: Table = &[("semver", parts), ("semverCompare", compare)];

/// A version; `given` is the number of parts that were neither omitted nor written `x`.
#[derive(Clone, Debug)]
struct Version {
    numbers: [u64; 3],
    given: usize,
    pre: String,
    build: String,
}

fn version(text: &str) -> Option<Version> {
    let text = text.trim().trim_start_matches(['v', 'V']);
    let (text, build) = text.split_once('+').unwrap_or((text, ""));
    let (core, pre) = text.split_once('-').unwrap_or((text, ""));
    let mut version = Version { numbers: [0; 3], given: 0, pre: pre.to_owned(), build: build.to_owned() };
    let mut open = false;
    for (index, part) in core.split('.').enumerate() {
        let number = version.numbers.get_mut(index)?;
        if matches!(part, "x" | "X" | "*") {
            open = true;
        } else if !open {
            *number = part.parse().ok()?;
            version.given = index + 1;
        }
    }
    Some(version)
}

impl Version {
    fn order(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => order_pre(&self.pre, &other.pre),
        })
    }

    /// The first version after all that share the first `count` parts.
    fn next(&self, count: usize) -> [u64; 3] {
        let mut numbers = [0; 3];
        for (index, number) in numbers.iter_mut().enumerate().take(count) {
            let given = self.numbers.get(index).copied().unwrap_or(0);
            *number = if index + 1 == count { given.saturating_add(1) } else { given };
        }
        numbers
    }
}

fn order_pre(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                _ => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn parts(call: &Call<'_>) -> Answer {
    let text = call.text(0)?;
    let found = version(&text).ok_or_else(|| format!("`{text}` is not a semantic version"))?;
    let mut entries = Dict::new();
    for (name, number) in ["Major", "Minor", "Patch"].into_iter().zip(found.numbers) {
        entries.insert(name.into(), Value::Int(i64::try_from(number).unwrap_or(i64::MAX)));
    }
    entries.insert("Prerelease".into(), string(found.pre));
    entries.insert("Metadata".into(), string(found.build));
    entries.insert("Original".into(), string(text));
    Ok(map(entries))
}

fn compare(call: &Call<'_>) -> Answer {
    let (range, text) = (call.text(0)?, call.text(1)?);
    let found = version(&text).ok_or_else(|| format!("`{text}` is not a semantic version"))?;
    fits(&range, &found).map(Value::Bool).ok_or_else(|| format!("`{range}` is not a version range"))
}

fn fits(range: &str, found: &Version) -> Option<bool> {
    let mut any = false;
    for group in range.split("||") {
        let group = without_hyphens(group);
        let constraints = constraints(&group)?;
        // A prerelease matches only if its group names one.
        let mut all = found.pre.is_empty() || constraints.iter().any(|(_, wanted)| !wanted.pre.is_empty());
        for (operator, wanted) in constraints {
            all &= fits_one(operator, &wanted, found)?;
        }
        any |= all;
    }
    Some(any)
}

/// `a - b` written as `>=a <=b`.
fn without_hyphens(group: &str) -> String {
    let mut words: Vec<String> =
        group.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    for index in 1..words.len().saturating_sub(1) {
        if words.get(index).is_some_and(|word| word == "-") {
            for (place, operator) in [(index - 1, ">="), (index + 1, "<=")] {
                if let Some(word) = words.get_mut(place) {
                    word.insert_str(0, operator);
                }
            }
            if let Some(word) = words.get_mut(index) {
                word.clear();
            }
        }
    }
    words.join(" ")
}

/// The constraints of a group, each an operator and a version; an empty group matches every
/// version.
fn constraints(group: &str) -> Option<Vec<(&str, Version)>> {
    let mut found = Vec::new();
    let mut rest = group.trim();
    if rest.is_empty() {
        rest = "*";
    }
    while !rest.is_empty() {
        let operators = rest.find(|letter| !"=<>!~^ ".contains(letter))?;
        let (operator, after) = rest.split_at_checked(operators)?;
        let end = after.find([' ', '<', '>', '=', '!', '~', '^']).unwrap_or(after.len());
        let (written, after) = after.split_at_checked(end)?;
        found.push((operator.trim(), version(written)?));
        rest = after.trim();
    }
    Some(found)
}

fn fits_one(operator: &str, wanted: &Version, found: &Version) -> Option<bool> {
    let order = found.order(wanted);
    let below = |limit: [u64; 3]| found.numbers < limit;
    let open = wanted.given < 3;
    let shares = found.numbers.iter().zip(&wanted.numbers).take(wanted.given).all(|(a, b)| a == b);
    Some(match operator {
        "" | "=" | "==" if open => shares,
        "" | "=" | "==" => order.is_eq(),
        "!=" if open && wanted.given == 2 && shares => found.pre != wanted.pre,
        "!=" if open => !shares,
        "!=" => order.is_ne(),
        ">" if open => wanted.given > 0 && !below(wanted.next(wanted.given)),
        ">" => order.is_gt(),
        ">=" | "=>" => order.is_ge(),
        "<" => order.is_lt(),
        "<=" | "=<" if open => wanted.given == 0 || below(wanted.next(wanted.given)),
        "<=" | "=<" => order.is_le(),
        "~" | "~>" => {
            // The original library accepts any version for `~0.0.0`.
            let zero = wanted.numbers == [0; 3] && wanted.pre.is_empty();
            zero || wanted.given == 0 || order.is_ge() && below(wanted.next(wanted.given.min(2)))
        }
        "^" => {
            let first = wanted.numbers.iter().position(|number| *number > 0).unwrap_or(2) + 1;
            let part = first.min(wanted.given);
            wanted.given == 0 || order.is_ge() && below(wanted.next(part))
        }
        _ => return None,
    })
}
