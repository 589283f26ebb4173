//! Lists.

use gotmpl::Value;

use super::types::same;
use super::{Answer, Call, Table};
use crate::MAX_ITEMS;
use crate::value::list;

pub(super) const TABLE: Table = &[
    ("list", |c| Ok(list(c.args.iter().cloned()))),
    ("first", first),
    ("mustFirst", first),
    ("last", last),
    ("mustLast", last),
    ("rest", rest),
    ("mustRest", rest),
    ("initial", initial),
    ("mustInitial", initial),
    ("append", append),
    ("push", append),
    ("mustAppend", append),
    ("prepend", prepend),
    ("mustPrepend", prepend),
    ("concat", |c| {
        let mut all = Vec::new();
        for index in 0..c.args.len() {
            all.extend(c.list(index)?.iter().cloned());
        }
        Ok(list(all))
    }),
    ("reverse", |c| Ok(list(c.list(0)?.iter().rev().cloned()))),
    ("mustReverse", |c| Ok(list(c.list(0)?.iter().rev().cloned()))),
    ("uniq", uniq),
    ("mustUniq", uniq),
    ("without", without),
    ("mustWithout", without),
    ("has", has),
    ("mustHas", has),
    ("compact", |c| Ok(list(c.list(0)?.iter().filter(|item| item.is_truthy()).cloned()))),
    ("mustCompact", |c| Ok(list(c.list(0)?.iter().filter(|item| item.is_truthy()).cloned()))),
    ("slice", slice),
    ("mustSlice", slice),
    ("chunk", chunk),
    ("mustChunk", chunk),
];

fn first(call: &Call<'_>) -> Answer {
    Ok(call.list(0)?.first().cloned().unwrap_or(Value::Nil))
}

fn last(call: &Call<'_>) -> Answer {
    Ok(call.list(0)?.last().cloned().unwrap_or(Value::Nil))
}

fn rest(call: &Call<'_>) -> Answer {
    Ok(list(call.list(0)?.iter().skip(1).cloned()))
}

fn initial(call: &Call<'_>) -> Answer {
    let items = call.list(0)?;
    Ok(list(items.iter().take(items.len().saturating_sub(1)).cloned()))
}

fn append(call: &Call<'_>) -> Answer {
    Ok(list(call.list(0)?.iter().chain([call.at(1)?]).cloned()))
}

fn prepend(call: &Call<'_>) -> Answer {
    Ok(list([call.at(1)?].into_iter().chain(call.list(0)?).cloned()))
}

/// The maximum number of compared pairs; with more, the list is too long.
const MAX_PAIRS: usize = 20_000_000;

fn uniq(call: &Call<'_>) -> Answer {
    let items = call.list(0)?;
    if items.len().saturating_mul(items.len()) > MAX_PAIRS {
        return Err("the list is too long".to_owned());
    }
    let mut kept: Vec<Value> = Vec::new();
    for item in items {
        if !kept.iter().any(|other| same(other, item)) {
            kept.push(item.clone());
        }
    }
    Ok(list(kept))
}

fn without(call: &Call<'_>) -> Answer {
    let unwanted = call.args.get(1..).unwrap_or_default();
    let wanted = |item: &&Value| !unwanted.iter().any(|other| same(item, other));
    Ok(list(call.list(0)?.iter().filter(wanted).cloned()))
}

fn has(call: &Call<'_>) -> Answer {
    let wanted = call.at(0)?;
    Ok(Value::Bool(call.list(1)?.iter().any(|item| same(item, wanted))))
}

/// Sprig's function for lists, and Go's own for text.
fn slice(call: &Call<'_>) -> Answer {
    let bound = |index: usize| call.args.get(index).map(super::types::to_int);
    let (start, end) = (bound(1), bound(2));
    match call.at(0)? {
        Value::Nil => Ok(list([])),
        other => other.slice(start, end).map_err(|error| error.to_string()),
    }
}

fn chunk(call: &Call<'_>) -> Answer {
    let size = call.count(0)?.clamp(1, MAX_ITEMS);
    Ok(list(call.list(1)?.chunks(size).map(|part| list(part.iter().cloned()))))
}
