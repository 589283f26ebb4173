//! Limits the total size of the drivers' answers during one plan. Each answer has a limit of its
//! own, but a plan keeps thousands of them.

use std::sync::atomic::{AtomicU64, Ordering};

use purlin_model::Value;
use purlin_sandbox::CallError;

/// The allowance of a plan, in bytes.
const LEAST: u64 = 512 << 20;
/// The additional allowance for each resource, in bytes.
const EACH: u64 = 64 << 10;
/// The approximate size of a value without its text, in bytes.
const VALUE: u64 = 64;

/// Counts the bytes of answers.
#[derive(Debug)]
pub(crate) struct Total {
    taken: AtomicU64,
    most: u64,
}

impl Total {
    /// The limit for a plan with this number of resources.
    pub(crate) fn new(resources: usize) -> Self {
        Self { taken: AtomicU64::new(0), most: LEAST + EACH * resources as u64 }
    }

    /// Counts the values of one answer.
    ///
    /// # Errors
    /// [`CallError::PlanLimit`] if all answers together exceed the limit of the plan.
    pub(crate) fn take<'a>(
        &self,
        driver: &str,
        values: impl IntoIterator<Item = &'a Value>,
    ) -> Result<(), CallError> {
        let bytes = values.into_iter().map(size).sum();
        let before = self.taken.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) <= self.most {
            return Ok(());
        }
        Err(CallError::PlanLimit { driver: driver.to_owned(), limit: self.most })
    }
}

fn size(value: &Value) -> u64 {
    VALUE
        + match value {
            Value::String(text) => text.len() as u64,
            Value::List(items) => items.iter().map(size).sum(),
            Value::Map(map) => map.iter().map(|(name, item)| name.len() as u64 + size(item)).sum(),
            Value::Secret(inner) => size(inner.expose()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Unknown(_) => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_count_by_their_values() {
        let total = Total { taken: AtomicU64::new(0), most: 1_000 };
        let numbers = Value::from(json!([1, 2, 3]));
        assert_eq!(size(&numbers), 4 * VALUE);
        assert_eq!(size(&Value::from(json!({"name": "text"})).into_secret()), 3 * VALUE + 8);
        for _ in 0..3 {
            total.take("a/b", [&numbers]).expect("within");
        }
        let error = total.take("a/b", [&numbers]).expect_err("too much");
        assert!(matches!(error, CallError::PlanLimit { limit: 1_000, .. }), "{error}");
    }
}
