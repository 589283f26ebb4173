//! Names of installations. An installation keeps its name as long as something requires the same:
//! under another name it would be deleted, and a new one created in its place (SPEC §6, sharing).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use purlin_model::Installed;

/// The names of one resolution.
pub(crate) struct Names<'a> {
    by_name: HashMap<&'a str, &'a Installed>,
    by_identity: HashMap<&'a str, Vec<&'a Installed>>,
    by_requirement: HashMap<&'a str, &'a Installed>,
    /// The names of a deployment's own requirements.
    roots: HashSet<Arc<str>>,
    /// Names that only the same requirement gets.
    reserved: &'a BTreeSet<Arc<str>>,
    taken: HashSet<Arc<str>>,
    /// Names of the installations so far.
    used: HashSet<Arc<str>>,
    /// The names that this resolution has given to shared installations.
    given: HashMap<Arc<str>, Arc<str>>,
    /// Names that were already taken when their owners needed them.
    pub(crate) wanted: BTreeSet<Arc<str>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(
        installed: &'a [Installed],
        reserved: &'a BTreeSet<Arc<str>>,
        roots: HashSet<Arc<str>>,
    ) -> Self {
        let mut by_identity: HashMap<&str, Vec<&Installed>> = HashMap::new();
        for one in installed {
            if let Some(identity) = &one.identity {
                by_identity.entry(identity).or_default().push(one);
            }
        }
        Self {
            by_name: installed.iter().map(|one| (&*one.name, one)).collect(),
            by_identity,
            by_requirement: installed.iter().map(|one| (&*one.made_for, one)).collect(),
            roots,
            reserved,
            taken: HashSet::new(),
            used: HashSet::new(),
            given: HashMap::new(),
            wanted: BTreeSet::new(),
        }
    }

    /// The installation with a name.
    pub(crate) fn installed(&self, name: &str) -> Option<&'a Installed> {
        self.by_name.get(name).copied()
    }

    /// Takes a unique name.
    pub(crate) fn take(&mut self, name: &Arc<str>, identity: Option<&Arc<str>>) -> Arc<str> {
        self.taken.insert(Arc::clone(name));
        if let Some(identity) = identity {
            self.given.entry(Arc::clone(identity)).or_insert_with(|| Arc::clone(name));
        }
        Arc::clone(name)
    }

    /// The name for a requirement: that of the same requirement, else that of the one created for
    /// it, else `own`.
    pub(crate) fn of(
        &mut self,
        made_for: &Arc<str>,
        own: &Arc<str>,
        identity: Option<&Arc<str>>,
    ) -> Arc<str> {
        if let Some(given) = identity.and_then(|identity| self.given.get(identity)) {
            return Arc::clone(given);
        }
        let same = identity.and_then(|identity| self.by_identity.get(&**identity)).map(Vec::as_slice);
        let same: Vec<&Installed> =
            same.unwrap_or_default().iter().copied().filter(|one| !self.roots.contains(&*one.name)).collect();
        let kept = same.iter().find(|one| one.made_for == *made_for);
        let free = || same.iter().find(|one| !self.taken.contains(&one.name));
        if let Some(one) = kept.or_else(free).or(same.first()) {
            if !self.taken.contains(&one.name) {
                return self.take(&one.name, identity);
            }
            self.wanted.insert(Arc::clone(&one.name));
        }
        let was = self.by_requirement.get(&**made_for).map(|one| &one.name);
        match was.filter(|name| self.is_free(name)).cloned() {
            Some(name) => self.take(&name, identity),
            None => {
                let name = self.free(own);
                self.take(&name, identity)
            }
        }
    }

    /// The same name, or another one if it is taken after all.
    pub(crate) fn only(&mut self, name: Arc<str>, own: &Arc<str>) -> Arc<str> {
        if !self.roots.contains(&name) && self.used.insert(Arc::clone(&name)) {
            return name;
        }
        let free = self.free(own);
        self.used.insert(Arc::clone(&free));
        self.take(&free, None)
    }

    fn free(&self, own: &Arc<str>) -> Arc<str> {
        if self.is_free(own) {
            return Arc::clone(own);
        }
        let mut numbered = (2_u32..).map(|number| format!("{own}~{number}"));
        numbered.find(|name| self.is_free(name)).unwrap_or_default().into()
    }

    fn is_free(&self, name: &str) -> bool {
        !self.taken.contains(name) && !self.reserved.contains(name) && !self.roots.contains(name)
    }
}
