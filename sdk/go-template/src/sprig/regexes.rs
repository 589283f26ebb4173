//! Regular expressions. They run in linear time; a pattern is bounded by its own engine.

use gotmpl::Value;
use regex_lite::{Captures, NoExpand, Regex};

use super::{Answer, Call, Table};
use crate::value::{list, string};

pub(super) const TABLE: Table = &[
    ("regexMatch", is_match),
    ("mustRegexMatch", is_match),
    ("regexFind", find),
    ("mustRegexFind", find),
    ("regexFindAll", find_all),
    ("mustRegexFindAll", find_all),
    ("regexReplaceAll", replace),
    ("mustRegexReplaceAll", replace),
    ("regexReplaceAllLiteral", replace_literal),
    ("mustRegexReplaceAllLiteral", replace_literal),
    ("regexSplit", split),
    ("mustRegexSplit", split),
    ("regexQuoteMeta", |c| Ok(string(regex_lite::escape(&c.text(0)?)))),
];

fn pattern(call: &Call<'_>) -> Result<Regex, String> {
    Regex::new(&call.text(0)?).map_err(|error| error.to_string())
}

fn is_match(call: &Call<'_>) -> Answer {
    Ok(Value::Bool(pattern(call)?.is_match(&call.text(1)?)))
}

fn find(call: &Call<'_>) -> Answer {
    let text = call.text(1)?;
    Ok(string(pattern(call)?.find(&text).map_or("", |found| found.as_str())))
}

/// A count as a limit; a negative number means all.
fn limit(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn find_all(call: &Call<'_>) -> Answer {
    let text = call.text(1)?;
    let found = pattern(call)?;
    let found = found.find_iter(&text).take(limit(call.int(2)?));
    Ok(list(found.map(|found| string(found.as_str()))))
}

fn replace(call: &Call<'_>) -> Answer {
    let (text, with) = (call.text(1)?, call.text(2)?);
    let replaced = pattern(call)?.replace_all(&text, |captures: &Captures<'_>| {
        let mut out = String::new();
        captures.expand(&with, &mut out);
        out
    });
    Ok(string(&*replaced))
}

fn replace_literal(call: &Call<'_>) -> Answer {
    let (text, with) = (call.text(1)?, call.text(2)?);
    Ok(string(&*pattern(call)?.replace_all(&text, NoExpand(&with))))
}

fn split(call: &Call<'_>) -> Answer {
    let (text, count) = (call.text(1)?, limit(call.int(2)?));
    Ok(list(pattern(call)?.splitn(&text, count).map(string)))
}
