//! Vacancies: missing installations, each of which only one process may fill at a time (SPEC §6).
//!
//! Deployments that look for an installation of others, find none and create their own must do so
//! one after the other, so that the second one finds the installation of the first. This module
//! must not know how installations are made or which requirements they satisfy.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A missing installation in a sharing group of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vacancy {
    /// The namespace; empty for the global one.
    pub namespace: Arc<str>,
    /// The sharing group; the empty one is open to all.
    pub group: Arc<str>,
    /// The repository of the required bundle; `None` if any bundle with a certain interface would
    /// do.
    pub bundle: Option<Arc<str>>,
}

impl fmt::Display for Vacancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bundle {
            Some(bundle) => write!(f, "`{bundle}`")?,
            None => f.write_str("an installation that is requested by its interface")?,
        }
        match &*self.namespace {
            "" => f.write_str(" in the global namespace")?,
            namespace => write!(f, " in the namespace `{namespace}`")?,
        }
        match &*self.group {
            "" => Ok(()),
            group => write!(f, " for the group `{group}`"),
        }
    }
}

/// A vacancy that no other process fills until this is dropped or the process ends.
#[must_use = "others may fill it when this is dropped"]
pub struct Reserved {
    vacancy: Vacancy,
    _until_dropped: Box<dyn Any + Send + Sync>,
}

impl Reserved {
    /// Creates a reservation that lasts until `guard` is dropped. For implementations of stores.
    pub fn new(vacancy: Vacancy, guard: impl Any + Send + Sync) -> Self {
        Self { vacancy, _until_dropped: Box::new(guard) }
    }

    /// The reserved vacancy.
    pub fn vacancy(&self) -> &Vacancy {
        &self.vacancy
    }
}

impl fmt::Debug for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserved").field("vacancy", &self.vacancy).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vacancy_reads_like_a_part_of_a_sentence() {
        let of = |namespace: &str, group: &str, bundle: Option<&str>| {
            let bundle = bundle.map(Arc::from);
            Vacancy { namespace: namespace.into(), group: group.into(), bundle }.to_string()
        };
        assert_eq!(of("dev", "", Some("acme/db")), "`acme/db` in the namespace `dev`");
        assert_eq!(
            of("", "team", None),
            "an installation that is requested by its interface in the global namespace for the group `team`"
        );
    }
}
