//! Sprig's functions: names, order of arguments and results are those of its documentation.
//! Arguments of another type are converted if Go would reject them.

mod dates;
mod dicts;
#[cfg(feature = "full")]
mod digests;
mod encoding;
mod flow;
mod lists;
mod math;
mod random;
#[cfg(feature = "full")]
mod regexes;
mod semver;
mod strings;
mod types;
mod urls;

use std::collections::BTreeMap;
use std::sync::Arc;

use gotmpl::{TemplateError, Value, ValueFunc};

use crate::{Host, bounded, value};

type Answer = Result<Value, String>;
type Function = fn(&Call<'_>) -> Answer;
type Table = &'static [(&'static str, Function)];
type Dict = BTreeMap<Arc<str>, Value>;

/// The arguments of a call, the piped one last, and its environment.
struct Call<'a> {
    args: &'a [Value],
    host: &'a dyn Host,
}

impl<'a> Call<'a> {
    fn at(&self, index: usize) -> Result<&'a Value, String> {
        self.args
            .get(index)
            .ok_or_else(|| format!("needs at least {} arguments, not {}", index + 1, self.args.len()))
    }

    fn text(&self, index: usize) -> Result<String, String> {
        Ok(value::text(self.at(index)?))
    }

    fn int(&self, index: usize) -> Result<i64, String> {
        Ok(types::to_int(self.at(index)?))
    }

    /// A count that is not negative.
    fn count(&self, index: usize) -> Result<usize, String> {
        Ok(usize::try_from(self.int(index)?).unwrap_or(0))
    }

    fn float(&self, index: usize) -> Result<f64, String> {
        Ok(types::to_float(self.at(index)?))
    }

    fn list(&self, index: usize) -> Result<&'a [Value], String> {
        match self.at(index)? {
            Value::List(items) => Ok(items),
            Value::Nil => Ok(&[]),
            other => Err(format!("needs a list, not {}", types::kind(other))),
        }
    }

    fn dict(&self, index: usize) -> Result<Arc<Dict>, String> {
        match self.at(index)? {
            Value::Map(entries) => Ok(Arc::clone(entries)),
            Value::Nil => Ok(Arc::default()),
            other => Err(format!("needs a map, not {}", types::kind(other))),
        }
    }
}

pub(crate) fn functions(host: &Arc<dyn Host>) -> BTreeMap<String, ValueFunc> {
    let tables: &[Table] = &[
        dates::TABLE,
        dicts::TABLE,
        #[cfg(feature = "full")]
        digests::TABLE,
        encoding::TABLE,
        flow::TABLE,
        lists::TABLE,
        math::TABLE,
        random::TABLE,
        #[cfg(feature = "full")]
        regexes::TABLE,
        semver::TABLE,
        strings::TABLE,
        types::TABLE,
        urls::TABLE,
    ];
    let mut functions = BTreeMap::new();
    for (name, function) in tables.iter().copied().flatten() {
        let (name, function, host) = (*name, *function, Arc::clone(host));
        let made: ValueFunc = Arc::new(move |args| {
            let answer = function(&Call { args, host: &*host });
            let answer = answer.and_then(|value| bounded(&value).map(|()| value));
            // The message of `fail` is reported verbatim.
            let name = if name == "fail" { String::new() } else { format!("`{name}`: ") };
            answer.map_err(|message| TemplateError::Exec(format!("{name}{message}")))
        });
        functions.insert(name.to_owned(), made);
    }
    functions
}
