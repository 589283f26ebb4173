//! Loops over environments (SPEC §6, identity): a use of an installation of another environment is
//! an edge like any other.

use std::collections::HashMap;
use std::hash::RandomState;

use petgraph::algo::has_path_connecting;
use petgraph::graphmap::DiGraphMap;
use purlin_graph::Graph;
use purlin_model::{Diagnostic, Location, Urn};
use purlin_state::{Environment, Operation, Record};

use crate::{Error, Purlin};

/// The resources of the environments that were read, each with the resources of its environment and
/// the installations of others that it depends on. What an open call may have created counts.
#[derive(Default)]
struct DependencyIndex(HashMap<Environment, HashMap<Urn, Vec<Urn>>>);

impl DependencyIndex {
    async fn of(&mut self, purlin: &Purlin, urn: &Urn) -> Result<Vec<Urn>, Error> {
        let Some(environment) = Environment::of_urn(urn) else { return Ok(Vec::new()) };
        if !self.0.contains_key(&environment) {
            let snapshot = purlin.snapshot(&environment).await?;
            let made = snapshot.pending.iter().filter_map(|intent| match &intent.operation {
                Operation::Create(record) | Operation::Update(record) => Some(&**record),
                Operation::Delete(_) => None,
            });
            let mut all: HashMap<Urn, Vec<Urn>> = HashMap::new();
            let records = snapshot.records.iter().map(|record| &**record).chain(made);
            for record in records.filter(|record| record.superseded.is_none()) {
                all.entry(record.urn.clone()).or_default().extend(needs(record));
            }
            self.0.insert(environment.clone(), all);
        }
        Ok(self.0.get(&environment).and_then(|all| all.get(urn)).cloned().unwrap_or_default())
    }
}

fn needs(record: &Record) -> impl Iterator<Item = Urn> {
    let uses = record.share.iter().filter_map(|share| share.uses.as_ref());
    let uses = uses.map(|uses| &uses.installation);
    record.dependencies.iter().chain(uses).cloned()
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
        // Records are read only where environments use each other.
        let all = self.installations().await?;
        let between = all.iter().flat_map(|one| {
            let users = one.users.iter().filter_map(|user| Environment::of_urn(&user.urn));
            users.map(|user| (user, &one.environment))
        });
        let between: Vec<(Environment, &Environment)> = between.collect();
        let known: DiGraphMap<&Environment, (), RandomState> =
            between.iter().map(|(user, used)| (user, *used, ())).collect();
        let leads_back = |target: &Urn| {
            let target = Environment::of_urn(target);
            target.is_some_and(|target| has_path_connecting(&known, &target, environment, None))
        };
        let own: HashMap<Urn, Urn> =
            uses.iter().map(|(urn, target, _)| (urn.clone(), target.clone())).collect();
        let mut read = DependencyIndex::default();
        let mut faults = Vec::new();
        for (urn, target, location) in uses.iter().filter(|(_, target, _)| leads_back(target)) {
            let Some(path) = self.path_back(graph, environment, (&own, &mut read), (urn, target)).await?
            else {
                continue;
            };
            let message = format!("`{}` would use an installation that depends on it", key(urn));
            let fault = Diagnostic::error("environment-loop", message).at(location);
            let fault = path.iter().fold(fault, |fault, (from, to)| {
                fault.fact(format!("`{}` of {} uses `{}` of {}", key(from), place(from), key(to), place(to)))
            });
            let name = urn.key().map(|key| key.id().to_owned()).unwrap_or_default();
            faults.push(fault.help(format!(
                "let it use a bundle that does not lead back, or another installation: `--with {name}=BUNDLE`"
            )));
        }
        if faults.is_empty() { Ok(()) } else { Err(Error::Documents(faults)) }
    }

    /// The uses on the way from the target of a use back to it; none if nothing leads back.
    async fn path_back(
        &self,
        graph: &Graph,
        environment: &Environment,
        (own, read): (&HashMap<Urn, Urn>, &mut DependencyIndex),
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
            // Here, the documents decide, not the record: they may end a use that closes a loop.
            let next: Vec<Urn> = match Environment::of_urn(&urn).as_ref() == Some(environment) {
                true => {
                    let node = urn.key().and_then(|key| graph.find(key.as_str()));
                    let dependencies = node.map(|node| graph.dependencies(node)).unwrap_or_default();
                    let urns = dependencies.iter().filter_map(|id| graph.urn(*id));
                    urns.chain(own.get(&urn).cloned()).collect()
                }
                false => read.of(self, &urn).await?,
            };
            for next in next {
                if !from.contains_key(&next) {
                    from.insert(next.clone(), urn.clone());
                    open.push(next);
                }
            }
        }
        Ok(None)
    }
}

fn key(urn: &Urn) -> String {
    urn.key().map(|key| key.to_string()).unwrap_or_default()
}

fn place(urn: &Urn) -> String {
    Environment::of_urn(urn).map(|place| place.to_string()).unwrap_or_default()
}
