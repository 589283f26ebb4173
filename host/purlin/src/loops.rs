//! Loops over environments (SPEC §6, identity): a use of an installation of another environment is
//! an edge like any other.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use purlin_graph::Graph;
use purlin_model::{Diagnostic, Location, Urn};
use purlin_state::Environment;

use crate::sharing::InstallationState;
use crate::{Error, Purlin};

/// What a resource depends on: in its environment, and an installation of another one.
#[derive(Clone, Debug, Default)]
struct Needs {
    own: Vec<Urn>,
    uses: Option<Urn>,
}

/// The resources of the environments that were read.
#[derive(Default)]
struct Read(HashMap<Environment, HashMap<Urn, Needs>>);

impl Read {
    /// What a recorded resource needs. Reads its environment when it is first needed.
    async fn needs(&mut self, purlin: &Purlin, urn: &Urn) -> Result<Needs, Error> {
        let Some(environment) = Environment::of_urn(urn) else { return Ok(Needs::default()) };
        if !self.0.contains_key(&environment) {
            let snapshot = purlin.snapshot(&environment).await?;
            let current = snapshot.records.iter().filter(|record| record.superseded.is_none());
            let one = |record: &purlin_state::Record| Needs {
                own: record.dependencies.to_vec(),
                uses: record
                    .share
                    .as_ref()
                    .and_then(|share| share.uses.as_ref())
                    .map(|uses| uses.installation.clone()),
            };
            let all = current.map(|record| (record.urn.clone(), one(record))).collect();
            self.0.insert(environment.clone(), all);
        }
        Ok(self.0.get(&environment).and_then(|all| all.get(urn)).cloned().unwrap_or_default())
    }
}

impl Purlin {
    /// Rejects a graph whose uses of other environments lead back to it.
    ///
    /// # Errors
    /// [`Error::Documents`] with the path of each loop.
    pub(crate) async fn check_loops(&self, graph: &Graph, environment: &Environment) -> Result<(), Error> {
        let begins = |node: &purlin_graph::Node<'_>| {
            let installation = node.installation?;
            let uses = installation.share.uses.as_ref()?;
            Some((graph.urn(node.id)?, uses.installation.clone(), installation.location.clone()))
        };
        let uses: Vec<(Urn, Urn, Location)> = graph.nodes().filter_map(|node| begins(&node)).collect();
        if uses.is_empty() {
            return Ok(());
        }
        // Without users elsewhere, nothing leads back.
        let all = self.installations().await?;
        if !all.iter().any(|one| one.environment == *environment && !one.users.is_empty()) {
            return Ok(());
        }
        let own: HashMap<Urn, Urn> =
            uses.iter().map(|(urn, target, _)| (urn.clone(), target.clone())).collect();
        let mut read = Read::default();
        let mut faults = Vec::new();
        for (urn, target, location) in &uses {
            let Some(path) = self.path_back(graph, environment, (&own, &mut read), (urn, target)).await?
            else {
                continue;
            };
            let message = format!("`{}` would use an installation that depends on it", key(urn));
            let fault = Diagnostic::error("environment-loop", message).at(location);
            let fault = path.iter().fold(fault, |fault, (from, to)| {
                fault.fact(format!("`{}` of {} uses `{}` of {}", key(from), place(from), key(to), place(to)))
            });
            faults.push(fault.help("let one of them use another installation: `--with REQUIREMENT=BUNDLE`"));
        }
        if faults.is_empty() { Ok(()) } else { Err(Error::Documents(faults)) }
    }

    /// The uses on the way from the target of a use back to it; none if nothing leads back.
    async fn path_back(
        &self,
        graph: &Graph,
        environment: &Environment,
        (own, read): (&HashMap<Urn, Urn>, &mut Read),
        (begin, target): (&Urn, &Urn),
    ) -> Result<Option<Vec<(Urn, Urn)>>, Error> {
        let mut from: HashMap<Urn, Urn> = [(target.clone(), begin.clone())].into();
        let mut open = vec![target.clone()];
        while let Some(urn) = open.pop() {
            if urn == *begin {
                let mut path = Vec::new();
                let mut at = urn;
                while let Some(before) = from.remove(&at) {
                    if Environment::of_urn(&before) != Environment::of_urn(&at) {
                        path.push((before.clone(), at));
                    }
                    at = before;
                }
                path.reverse();
                return Ok(Some(path));
            }
            let needs = match Environment::of_urn(&urn).as_ref() == Some(environment) {
                true => {
                    let node = urn.key().and_then(|key| graph.find(key.as_str()));
                    let dependencies = node.map(|node| graph.dependencies(node)).unwrap_or_default();
                    let urns = dependencies.iter().filter_map(|id| graph.urn(*id));
                    Needs { own: urns.collect(), uses: own.get(&urn).cloned() }
                }
                false => read.needs(self, &urn).await?,
            };
            for next in needs.own.into_iter().chain(needs.uses) {
                if !from.contains_key(&next) {
                    from.insert(next.clone(), urn.clone());
                    open.push(next);
                }
            }
        }
        Ok(None)
    }

    /// Forgets users that only keep each other: those of installations that were handed over, and
    /// that nothing needs that was not handed over itself. Otherwise a loop would stay for ever.
    pub(crate) async fn forget_dead_users(&self, all: &mut [InstallationState]) -> Result<(), Error> {
        let kept: Vec<&InstallationState> =
            all.iter().filter(|one| one.listed.abandoned && !one.users.is_empty()).collect();
        if kept.is_empty() {
            return Ok(());
        }
        let mut places: BTreeMap<String, Environment> = BTreeMap::new();
        let of_users =
            kept.iter().flat_map(|one| &one.users).filter_map(|user| Environment::of_urn(&user.urn));
        for place in kept.iter().map(|one| one.environment.clone()).chain(of_users) {
            places.insert(place.to_string(), place);
        }
        let mut read = Read::default();
        let mut open: Vec<Urn> = Vec::new();
        let mut known: BTreeSet<String> = BTreeSet::new();
        // A user is in an environment that uses something, which may itself be handed over.
        while let Some((name, place)) = places.pop_first() {
            if !known.insert(name) {
                continue;
            }
            let snapshot = self.snapshot(&place).await?;
            let roots =
                snapshot.records.iter().filter(|record| record.superseded.is_none() && !record.abandoned);
            open.extend(roots.map(|record| record.urn.clone()));
            // Open calls may have created users, which are not records yet.
            open.extend(snapshot.pending.iter().map(|intent| intent.id().urn));
            let used_by = all.iter().filter(|one| one.environment == place).flat_map(|one| &one.users);
            let more = used_by.filter_map(|user| Environment::of_urn(&user.urn));
            places.extend(more.map(|place| (place.to_string(), place)));
        }
        let mut live: HashSet<Urn> = HashSet::new();
        while let Some(urn) = open.pop() {
            if live.insert(urn.clone()) {
                let needs = read.needs(self, &urn).await?;
                open.extend(needs.own.into_iter().chain(needs.uses));
            }
        }
        for one in all.iter_mut().filter(|one| one.listed.abandoned) {
            one.users.retain(|user| live.contains(&user.urn));
        }
        Ok(())
    }
}

fn key(urn: &Urn) -> String {
    urn.key().map(|key| key.to_string()).unwrap_or_default()
}

fn place(urn: &Urn) -> String {
    Environment::of_urn(urn).map(|place| place.to_string()).unwrap_or_default()
}
