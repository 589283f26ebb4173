//! Parses ranges and versions.

use std::ops::Range as Span;

use semver::{BuildMetadata, Prerelease, Version};

use crate::{Alternative, Comparison, Operator, Precision};

/// The reason why a range is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RangeError {
    /// The message, as a sentence without a full stop.
    pub message: String,
    /// The bytes of the text that the message concerns.
    pub at: Span<usize>,
    /// How to correct it.
    pub help: &'static str,
}

/// Examples of ranges, for error messages.
const EXAMPLES: &str = "a range looks like `1.2.x`, `^1.2`, `>=1.2 <2` or `1.0 - 1.5 || 2.x`";

/// Longer operators come first, since `>=` begins with `>`.
const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

/// Parses a version in the style of tags: a leading `v` and omitted parts are allowed (`v1.2` is
/// 1.2.0). `None` for everything else, such as `latest`.
pub fn lenient(text: &str) -> Option<Version> {
    let mut cursor = Cursor { text, at: 0 };
    let (version, given) = cursor.version().ok()?;
    (given > Precision::Nothing && !cursor.had_wildcard(0) && cursor.rest().is_empty()).then_some(version)
}

pub(crate) fn alternatives(text: &str) -> Result<Vec<Alternative>, RangeError> {
    let mut cursor = Cursor { text, at: 0 };
    let mut all = vec![cursor.alternative()?];
    while !cursor.rest().is_empty() {
        // Before the end of the text, only `||` ends an alternative.
        cursor.at += "||".len();
        all.push(cursor.alternative()?);
    }
    Ok(all)
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, text: &str) -> bool {
        let is_there = self.rest().starts_with(text);
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    /// Takes the following characters that satisfy the condition.
    fn take_while(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !is(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn space(&mut self) -> bool {
        !self.take_while(char::is_whitespace).is_empty()
    }

    /// A fault from a position to the end of the word there.
    fn fault(&self, from: usize, message: impl Into<String>, help: &'static str) -> RangeError {
        let text = self.text.get(from..).unwrap_or_default();
        let end = text.find(|c: char| c.is_whitespace() || c == ',' || c == '|').unwrap_or(text.len());
        let first = text.chars().next().map_or(0, char::len_utf8);
        RangeError { message: message.into(), at: from..from + end.max(first), help }
    }

    fn alternative(&mut self) -> Result<Alternative, RangeError> {
        let mut comparisons = Vec::new();
        self.space();
        if self.rest().is_empty() || self.rest().starts_with("||") {
            // An empty alternative matches all releases.
            let version = Version::new(0, 0, 0);
            comparisons.push(Comparison { operator: Operator::Equal, version, given: Precision::Nothing });
        }
        while !self.rest().is_empty() && !self.rest().starts_with("||") {
            self.comparison(&mut comparisons)?;
            let end = self.at;
            let mut is_apart = self.space();
            if self.take(",") {
                is_apart = true;
                self.space();
                if self.rest().is_empty() || self.rest().starts_with("||") {
                    return Err(self.fault(
                        end,
                        "nothing follows the comma",
                        "remove it, or add a comparison",
                    ));
                }
            }
            if !is_apart && !self.rest().is_empty() && !self.rest().starts_with("||") {
                let message = format!("`{}` does not belong to a version", self.next().unwrap_or(' '));
                return Err(self.fault(end, message, "separate comparisons by a space or a comma"));
            }
        }
        let prereleases = comparisons.iter().any(|comparison| !comparison.version.pre.is_empty());
        Ok(Alternative { comparisons, prereleases })
    }

    /// Parses one comparison, or the two of a range with a hyphen.
    fn comparison(&mut self, found: &mut Vec<Comparison>) -> Result<(), RangeError> {
        let begin = self.at;
        let operator = OPERATORS.iter().find(|(text, _)| self.take(text));
        self.space();
        let from = self.at;
        let (version, given) = self.version()?;
        let Some((text, operator)) = operator else {
            if let Some(last) = self.hyphen()? {
                found.push(Comparison { operator: Operator::GreaterOrEqual, version, given });
                found.push(last);
            } else {
                found.push(Comparison { operator: Operator::Equal, version, given });
            }
            return Ok(());
        };
        let needs_number = matches!(
            operator,
            Operator::NotEqual | Operator::Greater | Operator::Less | Operator::LessOrEqual
        );
        if given == Precision::Nothing && needs_number {
            let message = format!("`{text}` needs a version, and `*` is any");
            return Err(self.fault(begin.min(from), message, EXAMPLES));
        }
        found.push(Comparison { operator: *operator, version, given });
        Ok(())
    }

    /// Parses the upper end of a range with a hyphen, if there is one.
    fn hyphen(&mut self) -> Result<Option<Comparison>, RangeError> {
        let before = self.at;
        if self.space() && self.take("-") && self.space() {
            let (version, given) = self.version()?;
            return Ok(Some(Comparison { operator: Operator::LessOrEqual, version, given }));
        }
        self.at = before;
        Ok(None)
    }

    /// Parses a version whose parts may be omitted.
    fn version(&mut self) -> Result<(Version, Precision), RangeError> {
        let begin = self.at;
        self.take("v");
        let mut numbers = [0; 3];
        let mut given = Precision::Nothing;
        let mut had_wildcard = false;
        for (index, is) in [Precision::Major, Precision::Minor, Precision::Patch].into_iter().enumerate() {
            let before = self.at;
            if index > 0 && !self.take(".") {
                break;
            }
            match self.part(begin)? {
                Some(_) if had_wildcard => {
                    let message = "a number follows a wildcard";
                    return Err(self.fault(begin, message, "write a wildcard there, too, or nothing"));
                }
                Some(number) => {
                    given = is;
                    if let Some(slot) = numbers.get_mut(index) {
                        *slot = number;
                    }
                }
                None => had_wildcard = true,
            }
            debug_assert!(self.at > before, "a part has at least one character");
        }
        let [major, minor, patch] = numbers;
        let mut version = Version::new(major, minor, patch);
        if self.take("-") {
            let text = self.take_while(is_of_identifier);
            version.pre = Prerelease::new(text).map_err(|error| {
                self.fault(begin, format!("`{text}` is not a prerelease: {error}"), EXAMPLES)
            })?;
        }
        if self.take("+") {
            let text = self.take_while(is_of_identifier);
            version.build = BuildMetadata::new(text).map_err(|error| {
                self.fault(begin, format!("`{text}` is not build metadata: {error}"), EXAMPLES)
            })?;
        }
        Ok((version, given))
    }

    /// Parses a number; `None` for a wildcard.
    fn part(&mut self, begin: usize) -> Result<Option<u64>, RangeError> {
        let text = self.take_while(|c| c.is_ascii_digit() || matches!(c, 'x' | 'X' | '*'));
        match text {
            "x" | "X" | "*" => Ok(None),
            "" => {
                let word = self.rest().split(|c: char| c.is_whitespace() || c == ',').next();
                let message = match word.filter(|word| !word.is_empty()) {
                    Some(word) => format!("there should be a version, not `{word}`"),
                    None => "there should be a version".to_owned(),
                };
                Err(self.fault(self.at.min(self.text.len()), message, EXAMPLES))
            }
            _ if text.len() > 1 && text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit()) => {
                let message = format!("`{text}` begins with a zero");
                Err(self.fault(begin, message, "write the number without it"))
            }
            _ => text.parse().map(Some).map_err(|_| {
                let message = match text.bytes().all(|byte| byte.is_ascii_digit()) {
                    true => format!("`{text}` is too large"),
                    false => format!("`{text}` is neither a number nor a wildcard"),
                };
                self.fault(begin, message, EXAMPLES)
            }),
        }
    }

    /// Whether a wildcard was parsed after a position.
    fn had_wildcard(&self, from: usize) -> bool {
        let text = self.text.get(from..self.at).unwrap_or_default();
        let numbers = text.split(['-', '+']).next().unwrap_or_default();
        numbers.contains(['x', 'X', '*'])
    }
}

fn is_of_identifier(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.')
}
