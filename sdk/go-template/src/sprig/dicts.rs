//! Maps. The functions return a changed copy; changing the variable too is done elsewhere.

use std::sync::Arc;

use gotmpl::Value;

use super::types::kind;
use super::{Answer, Call, Dict, Table};
use crate::value::{list, map, string, text};

pub(super) const TABLE: Table = &[
    ("dict", dict),
    ("get", |c| Ok(c.dict(0)?.get(&*c.text(1)?).cloned().unwrap_or_else(|| string("")))),
    ("set", |c| {
        if matches!(c.at(0)?, Value::Nil) {
            return Err(
                "there is no map to change; if it may be missing, create one with `default dict`".to_owned()
            );
        }
        let mut entries = Dict::clone(&*c.dict(0)?);
        entries.insert(c.text(1)?.into(), c.at(2)?.clone());
        Ok(map(entries))
    }),
    ("unset", |c| {
        let mut entries = Dict::clone(&*c.dict(0)?);
        entries.remove(&*c.text(1)?);
        Ok(map(entries))
    }),
    ("hasKey", |c| Ok(Value::Bool(c.dict(0)?.contains_key(&*c.text(1)?)))),
    ("pluck", |c| {
        let name = c.text(0)?;
        let mut found = Vec::new();
        for index in 1..c.args.len() {
            found.extend(c.dict(index)?.get(&*name).cloned());
        }
        Ok(list(found))
    }),
    ("dig", dig),
    ("merge", |c| merge(c, false)),
    ("mustMerge", |c| merge(c, false)),
    ("mergeOverwrite", |c| merge(c, true)),
    ("mustMergeOverwrite", |c| merge(c, true)),
    ("keys", |c| {
        let mut names = Vec::new();
        for index in 0..c.args.len() {
            names.extend(c.dict(index)?.keys().map(|name| Value::String(Arc::clone(name))));
        }
        Ok(list(names))
    }),
    ("values", |c| Ok(list(c.dict(0)?.values().cloned()))),
    ("pick", |c| choose(c, true)),
    ("omit", |c| choose(c, false)),
    ("deepCopy", |c| Ok(c.at(0)?.clone())),
    ("mustDeepCopy", |c| Ok(c.at(0)?.clone())),
];

fn dict(call: &Call<'_>) -> Answer {
    let mut entries = Dict::new();
    for pair in call.args.chunks(2) {
        if let Some(name) = pair.first() {
            entries.insert(text(name).into(), pair.get(1).cloned().unwrap_or_else(|| string("")));
        }
    }
    Ok(map(entries))
}

/// `dig "a" "b" DEFAULT DICT`: the default if an entry is missing. An existing value that is not a
/// map is a fault, as in Sprig.
fn dig(call: &Call<'_>) -> Answer {
    let [names @ .., fallback, start] = call.args else {
        return Err("needs keys, a default and a map".to_owned());
    };
    let (mut here, mut what) = (start, "the last argument".to_owned());
    for name in names {
        let Value::Map(entries) = here else {
            return Err(format!("{what} is {}, not a map", kind(here)));
        };
        match entries.get(&*text(name)) {
            Some(next) => here = next,
            None => return Ok(fallback.clone()),
        }
        what = format!("`{}`", text(name));
    }
    Ok(here.clone())
}

fn merge(call: &Call<'_>, overwrite: bool) -> Answer {
    let mut all = Dict::clone(&*call.dict(0)?);
    for index in 1..call.args.len() {
        merge_into(&mut all, &*call.dict(index)?, overwrite);
    }
    Ok(map(all))
}

fn merge_into(all: &mut Dict, more: &Dict, overwrite: bool) {
    for (name, value) in more {
        match (all.get_mut(name), value) {
            (Some(Value::Map(here)), Value::Map(there)) => merge_into(Arc::make_mut(here), there, overwrite),
            (Some(here), _) if overwrite || !here.is_truthy() => *here = value.clone(),
            (Some(_), _) => {}
            // As in Sprig, nil is merged only if it overwrites.
            (None, Value::Nil) if !overwrite => {}
            (None, _) => drop(all.insert(Arc::clone(name), value.clone())),
        }
    }
}

fn choose(call: &Call<'_>, named: bool) -> Answer {
    let names: Vec<String> = call.args.iter().skip(1).flat_map(name_or_names).collect();
    let entries = call.dict(0)?;
    let kept = entries.iter().filter(|(name, _)| names.iter().any(|other| **other == ***name) == named);
    Ok(map(kept.map(|(name, value)| (Arc::clone(name), value.clone())).collect()))
}

fn name_or_names(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(text).collect(),
        other => vec![text(other)],
    }
}
