//! Functions that only move values: each part of the result is as secret as the part of the
//! arguments that it comes from. Secrets pass through them as tokens, which appear in the result
//! where the function put them.
//!
//! A function that is not listed here may read any of its arguments. If one holds a secret, its
//! whole result is secret.

use std::sync::Arc;

use gotmpl::{Value, ValueFunc};

use crate::MAX_ITEMS;
use crate::mask::{MaskedValue, SecretMask};

/// How a function uses an argument.
#[derive(Clone, Copy)]
enum Role {
    /// It reads entries of a list or map.
    Holder,
    /// It reads entries at any depth.
    Deep,
    /// It reads it.
    Seen,
    /// It moves it.
    Moved,
    /// It moves it, or something else if this is empty.
    Picked,
    /// It checks whether it is empty.
    Checked,
}

/// The role of an argument out of a number of them; none for a function that may read all of it.
fn role(function: &str, index: usize, count: usize) -> Option<Role> {
    use Role::{Checked, Deep, Holder, Moved, Picked, Seen};
    let roles: &[Role] = match function {
        "list" | "tuple" | "deepCopy" | "mustDeepCopy" => &[Moved],
        "dict" if index.is_multiple_of(2) => &[Seen],
        "dict" => return Some(Moved),
        "get" | "hasKey" | "unset" | "pick" | "omit" | "slice" | "mustSlice" => &[Holder, Seen],
        "set" => &[Holder, Seen, Moved],
        "index" => &[Deep, Seen],
        "pluck" => &[Seen, Holder],
        "dig" if index + 1 == count => &[Deep],
        "dig" if index + 2 == count => return Some(Moved),
        "dig" => return Some(Seen),
        "merge" | "mustMerge" | "mergeOverwrite" | "mustMergeOverwrite" => return Some(Deep),
        "first" | "mustFirst" | "last" | "mustLast" | "rest" | "mustRest" | "initial" | "mustInitial"
        | "reverse" | "mustReverse" | "values" | "keys" | "concat" | "len" => &[Holder],
        "append" | "push" | "mustAppend" | "prepend" | "mustPrepend" => &[Holder, Moved],
        "chunk" | "mustChunk" => &[Seen, Holder],
        "default" => &[Moved, Picked],
        "coalesce" => &[Picked],
        "required" => &[Seen, Picked],
        "ternary" => &[Moved, Moved, Checked],
        "not" | "empty" => &[Checked],
        _ => return None,
    };
    // The last role applies to all further arguments.
    roles.get(index).or(roles.last()).copied()
}

/// The secrets that entered a function as tokens.
pub(crate) struct Tokens {
    hidden: Vec<MaskedValue>,
    /// How many more parts are read: values share their parts, and may be far larger than they
    /// seem.
    left: usize,
}

impl Tokens {
    /// The arguments with tokens for secrets; none if the function would read a secret.
    pub(crate) fn hide(function: &str, args: &[MaskedValue]) -> Option<(Self, Vec<Value>)> {
        let mut tokens = Self { hidden: Vec::new(), left: MAX_ITEMS };
        let merges = function.contains("erge");
        let each = args.iter().enumerate().map(|(index, held)| {
            let MaskedValue { value, mask } = held;
            match role(function, index, args.len())? {
                Role::Seen => mask.is_open().then(|| value.clone()),
                Role::Moved => Some(tokens.token(value, mask)),
                Role::Checked => (!mask.decides(value)).then(|| value.clone()),
                Role::Picked if mask.decides(value) => None,
                Role::Picked if !value.is_truthy() => Some(value.clone()),
                Role::Picked => Some(tokens.token(value, mask)),
                Role::Holder if mask.is_whole() => None,
                Role::Holder => Some(tokens.token(value, mask)),
                Role::Deep => {
                    let looks = looks_at(value, mask, merges, &mut tokens.left);
                    (!looks).then(|| tokens.token(value, mask))
                }
            }
        });
        let hidden = each.collect::<Option<Vec<_>>>()?;
        Some((tokens, hidden))
    }

    fn token(&mut self, value: &Value, mask: &SecretMask) -> Value {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(0);
        match (value, mask) {
            (Value::Nil, _) | (_, SecretMask::Open) => value.clone(),
            _ if left.is_none() => self.hide_whole(value, &SecretMask::Made),
            (Value::List(items), SecretMask::List(_)) => {
                let items = items.iter().enumerate();
                Value::List(items.map(|(index, item)| self.token(item, &mask.item(index))).collect())
            }
            (Value::Map(entries), SecretMask::Map(_)) => {
                let entries = entries.iter();
                let hidden =
                    entries.map(|(name, entry)| (Arc::clone(name), self.token(entry, &mask.field(name))));
                Value::Map(Arc::new(hidden.collect()))
            }
            _ => self.hide_whole(value, mask),
        }
    }

    fn hide_whole(&mut self, value: &Value, mask: &SecretMask) -> Value {
        let index = i64::try_from(self.hidden.len()).unwrap_or(i64::MAX);
        self.hidden.push(MaskedValue { value: value.clone(), mask: mask.clone() });
        let token: ValueFunc = Arc::new(move |_| Ok(Value::Int(index)));
        Value::Function(token)
    }

    /// The result, with secrets in place of tokens.
    pub(crate) fn restore(&self, value: &Value) -> MaskedValue {
        match value {
            Value::Function(token) => match token(&[]) {
                Ok(Value::Int(index)) => {
                    let index = usize::try_from(index).ok();
                    index.and_then(|index| self.hidden.get(index)).cloned().unwrap_or_default()
                }
                _ => MaskedValue::default(),
            },
            Value::List(items) => {
                let (values, masks): (Vec<_>, Vec<_>) = items.iter().map(|item| self.parts(item)).unzip();
                let mask = if all_open(&masks) { SecretMask::Open } else { SecretMask::List(masks.into()) };
                MaskedValue { value: Value::List(values.into()), mask }
            }
            Value::Map(entries) => {
                let mut masks = std::collections::BTreeMap::new();
                let values = entries.iter().map(|(name, entry)| {
                    let (value, mask) = self.parts(entry);
                    masks.insert(Arc::clone(name), mask);
                    (Arc::clone(name), value)
                });
                let value = Value::Map(Arc::new(values.collect()));
                let mask = if all_open(masks.values()) {
                    SecretMask::Open
                } else {
                    SecretMask::Map(Arc::new(masks))
                };
                MaskedValue { value, mask }
            }
            plain => MaskedValue::open(plain.clone()),
        }
    }

    fn parts(&self, value: &Value) -> (Value, SecretMask) {
        let MaskedValue { value, mask } = self.restore(value);
        (value, mask)
    }
}

fn all_open<'a>(masks: impl IntoIterator<Item = &'a SecretMask>) -> bool {
    masks.into_iter().all(|mask| matches!(mask, SecretMask::Open))
}

/// Whether a function that reads lists and maps at any depth would read a secret: a list or map
/// that is secret as a whole or, if it checks for emptiness, a value that reveals a secret by being
/// empty or not.
fn looks_at(value: &Value, mask: &SecretMask, checks_emptiness: bool, left: &mut usize) -> bool {
    let Some(now) = left.checked_sub(1) else { return true };
    *left = now;
    match (value, mask) {
        (_, SecretMask::Open) | (Value::Nil, _) => false,
        (Value::List(items), SecretMask::List(_)) => items
            .iter()
            .enumerate()
            .any(|(index, item)| looks_at(item, &mask.item(index), checks_emptiness, left)),
        (Value::Map(entries), SecretMask::Map(_)) => {
            entries.iter().any(|(name, entry)| looks_at(entry, &mask.field(name), checks_emptiness, left))
        }
        (Value::List(_) | Value::Map(_), _) => true,
        _ => checks_emptiness && (mask.decides(value) || !value.is_truthy()),
    }
}
