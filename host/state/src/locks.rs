//! The locks of environments within one process.
//!
//! Across processes the store itself is the lock: only one has it open, and the system frees it
//! when that process is gone. So these need no file, and none can be left behind.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Environment, Error, Holder, Lock};

/// Who holds which environment.
#[derive(Clone, Default)]
pub(crate) struct Locks(Arc<Mutex<HashMap<Environment, Holder>>>);

impl Locks {
    pub(crate) fn take(&self, environment: &Environment, holder: Holder) -> Result<Lock, Error> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(holder) = held.get(environment) {
            return Err(Error::Locked { environment: environment.clone(), holder: Box::new(holder.clone()) });
        }
        held.insert(environment.clone(), holder);
        let (locks, key) = (self.clone(), environment.clone());
        Ok(Lock::new(environment.clone(), move || {
            locks.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        }))
    }
}
