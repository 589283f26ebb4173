//! What nobody has installed yet, so that one process alone fills it (SPEC §6).
//!
//! Deployments that look for an installation of others, find none and make one of their own must do so one after the
//! other: then the second one finds what the first one made. This module must not know what an installation is made
//! from, or who fits whom.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// What is lacking in a sharing group of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vacancy {
    /// The namespace, empty for the global one.
    pub namespace: Arc<str>,
    /// The sharing group; the empty one is that of everybody.
    pub group: Arc<str>,
    /// The repository of the bundle that is looked for; none where whatever has an interface would do.
    pub bundle: Option<Arc<str>>,
}

impl fmt::Display for Vacancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bundle {
            Some(bundle) => write!(f, "`{bundle}`")?,
            None => f.write_str("what is asked for by its interface")?,
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

/// A vacancy that nobody else fills until this is dropped or the process is gone.
#[must_use = "others may fill it when this is dropped"]
pub struct Reserved {
    vacancy: Vacancy,
    _until_dropped: Box<dyn Any + Send + Sync>,
}

impl Reserved {
    /// What a store gives: the vacancy is reserved until `guard` is dropped. For those who write a store.
    pub fn new(vacancy: Vacancy, guard: impl Any + Send + Sync) -> Self {
        Self { vacancy, _until_dropped: Box::new(guard) }
    }

    /// What is reserved.
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
            "what is asked for by its interface in the global namespace for the group `team`"
        );
    }
}
