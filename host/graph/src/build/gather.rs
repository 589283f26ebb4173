//! The beginning of a graph: workloads, their resources and those of the deployment, and the
//! implicit resources (SPEC §2 [G]).

use std::collections::{HashMap, HashSet};

use purlin_model::{Class, Diagnostic, Key, Location, NameError, RequiredBy, TypeName};

use super::{Builder, Spot};
use crate::definition_index::DefinitionMatch;
use crate::docs::{Match, Source};
use crate::node::{EdgeKind, NodeId};

/// Resources that are provisioned before everything else, if a definition matches.
pub(crate) const FOUNDATION: [&str; 3] =
    ["k8s-cluster.default#k8s-cluster", "k8s-namespace.default#k8s-namespace", "agent.default#agent"];

const BASE_ENV: &str = "base-env.default#base-env";

impl Builder<'_> {
    pub(super) fn gather(&mut self) {
        // First of all, because any resource of the type `workload` has to be one of them.
        self.gather_workloads();
        self.gather_shared();
        self.gather_requests();
        self.gather_manifests();
        self.gather_installations();
        if let Ok(key) = Key::parse(BASE_ENV) {
            self.implicit(key, true);
        }
        for name in FOUNDATION {
            if let Ok(key) = Key::parse(name) {
                self.implicit(key, false);
            }
        }
    }

    /// Adds an implicit resource. If no definition matches, it falls back to the built-in echo or
    /// is omitted, unless a definition created it before, because its deletion was not requested.
    fn implicit(&mut self, key: Key, fall_back: bool) {
        let node = match self.matcher.find(&key) {
            DefinitionMatch::None if (self.recorded)(&key) => {
                self.recorded_no_match(&key);
                return;
            }
            DefinitionMatch::None if fall_back => self.insert(key, Match::Echo),
            DefinitionMatch::None => return,
            _ => self.node(key, None),
        };
        if let Some(data) = self.nodes.get_mut(node) {
            data.implicit = true;
        }
        self.ask(node, Source::Implicit);
    }

    fn gather_shared(&mut self) {
        let shared = &self.docs.deployment.shared;
        self.nodes.map.reserve(shared.len());
        for (index, request) in (0_u32..).zip(shared) {
            match request.shared_key() {
                Ok(key) => {
                    let node = self.node(key, Some(Spot { location: &request.location, length: 0 }));
                    self.ask(node, Source::Shared(index));
                }
                Err(error) => self.bad_name(&error, &request.location),
            }
        }
    }

    fn gather_workloads(&mut self) {
        let mut first: HashMap<&str, &Location> = HashMap::new();
        for (number, workload) in (0_u32..).zip(&self.docs.deployment.workloads) {
            if let Some(other) = first.insert(&workload.name, &workload.location) {
                self.faults.push(
                    Diagnostic::error(
                        "duplicate-workload",
                        format!("there are two workloads `{}`", workload.name),
                    )
                    .at(&workload.location)
                    .related(other, "the first one is here")
                    .help("rename one of them"),
                );
            }
            let key = match Key::of_workload(&workload.name) {
                Ok(key) => key,
                Err(error) => {
                    self.bad_name(&error, &workload.location);
                    continue;
                }
            };
            let own = match self.nodes.id(key.as_str()) {
                Some(node) => node,
                None => match self.matcher.find(&key) {
                    DefinitionMatch::None if (self.recorded)(&key) => {
                        self.recorded_no_match(&key);
                        self.insert(key, Match::Missing)
                    }
                    DefinitionMatch::None => self.insert(key, Match::Echo),
                    _ => self.matched(key, Some(Spot { location: &workload.location, length: 0 })),
                },
            };
            if let Some(data) = self.nodes.get_mut(own) {
                data.implicit = true;
            }
            // Workloads are numbered, so one without a node leaves an unused gap.
            self.nodes.workloads.resize_with(number as usize, || (own, HashMap::new()));
            self.nodes.workloads.push((own, HashMap::with_capacity(workload.resources.len())));
            self.ask(own, Source::Workload(number));
        }
    }

    /// The resources that the workloads declare.
    fn gather_requests(&mut self) {
        for (number, workload) in (0_u32..).zip(&self.docs.deployment.workloads) {
            let Some(own) = Key::of_workload(&workload.name).ok().and_then(|key| self.nodes.id(key.as_str()))
            else {
                continue;
            };
            for (index, request) in (0_u32..).zip(&workload.resources) {
                let key = match request.key_in(&workload.name) {
                    Ok(key) => key,
                    Err(error) => {
                        self.bad_name(&error, &request.location);
                        continue;
                    }
                };
                let spot = Some(Spot { location: &request.location, length: 0 });
                let node = if key.type_name() == TypeName::WORKLOAD && self.nodes.id(key.as_str()).is_none() {
                    self.undeclared_workload(&key, spot, Some(&workload.name));
                    self.insert(key, Match::Missing)
                } else {
                    self.node(key, spot)
                };
                self.edge(own, node, EdgeKind::Dependency);
                self.ask(node, Source::Request { workload: number, index });
                let names = self.nodes.workloads.get_mut(number as usize).map(|(_, names)| names);
                let other = names.and_then(|names| names.insert(request.name.clone(), node));
                if other.is_some_and(|other| other != node) {
                    self.faults.push(
                        Diagnostic::error(
                            "duplicate-resource",
                            format!("workload `{}` has two resources `{}`", workload.name, request.name),
                        )
                        .at(&request.location)
                        .help("rename one of them"),
                    );
                }
            }
        }
    }

    fn gather_manifests(&mut self) {
        for (index, manifest) in (0_u32..).zip(&self.docs.deployment.manifests) {
            let node = self.node(manifest.key(), Some(Spot { location: &manifest.location, length: 0 }));
            self.nodes.manifests.push(node);
            self.ask(node, Source::Manifest(index));
        }
    }

    /// Installations have the recipe of their bundle.
    fn gather_installations(&mut self) {
        let installations = &self.docs.deployment.installations;
        let mut taken: HashSet<NodeId> = HashSet::new();
        for (index, one) in (0_u32..).zip(installations) {
            let key = one.key();
            let node = match self.nodes.id(key.as_str()) {
                Some(node) => {
                    let message = format!("`{key}` is both a requirement and another resource");
                    let fault = Diagnostic::error("asked-twice", message).at(&one.location);
                    self.faults
                        .push(fault.help("give the requirement another name, or remove the other resource"));
                    taken.insert(node);
                    node
                }
                None => self.insert(key, Match::Bundle(index)),
            };
            self.nodes.installations.push(node);
        }
        for (index, one) in (0_usize..).zip(installations) {
            let Some(node) = self.nodes.installations.get(index).copied() else { continue };
            let key = |id| Key::new(&TypeName::installation(), &Class::default_class(), id);
            self.nodes.aliases.extend(one.aliases.iter().map(|id| (key(id), node)));
        }
        for (index, one) in (0_u32..).zip(installations) {
            let Some(node) = self.nodes.installations.get(index as usize).copied() else { continue };
            for (by, _) in &one.required_by {
                // A resource with requirements is known to exist before any document here declares
                // it.
                if let RequiredBy::Resource(key) = by {
                    self.node(key.clone(), None);
                }
                if let Some(parent) = self.nodes.requiring(by) {
                    self.edge(parent, node, EdgeKind::Requires);
                }
            }
            if !taken.contains(&node) {
                self.ask(node, Source::Installation(index));
            }
        }
    }

    fn bad_name(&mut self, error: &NameError, location: &Location) {
        self.faults.push(
            Diagnostic::error("name", error.to_string())
                .at(location)
                .help("the name becomes part of the resource's id: choose one that is valid there"),
        );
    }
}
