//! Lifecycle settings of resources (SPEC §9): their resources, their targets, and former names.

use std::collections::HashMap;

use purlin_expression::did_you_mean;
use purlin_model::{Alias, AliasName, Diagnostic, Key, Lifecycle, Location, Urn};

use super::Builder;
use crate::lifecycle::{self, Field};
use crate::node::{EdgeKind, NodeId};

/// How many faults of a kind search the whole graph for a similar name or a place.
const NEAR: usize = 10;

impl Builder<'_> {
    /// Adds the settings of the deployment and the targets of all settings.
    pub(super) fn lifecycle_settings(&mut self) {
        self.record_settings();
        self.named();
        self.aliases();
    }

    /// Merges the settings of the deployment over those of the recipes.
    fn record_settings(&mut self) {
        let mut first: HashMap<NodeId, &Location> = HashMap::new();
        for (index, setting) in self.docs.deployment.lifecycle.iter().enumerate() {
            let Some(node) = self.nodes.meant(setting.key.as_str()) else {
                let fault = Diagnostic::error(
                    "unknown-resource",
                    format!("`lifecycle` names `{}`, which is not in the graph", setting.key),
                )
                .at(&setting.location);
                let fault = match index < NEAR {
                    true => fault.help(self.near(&setting.key)),
                    false => fault,
                };
                self.faults.push(fault);
                continue;
            };
            if let Some(other) = first.insert(node, &setting.location) {
                self.faults.push(setting.twice(other));
                continue;
            }
            let none = Lifecycle::default();
            let base = self.docs.recipe(&self.nodes, node).map_or(&none, |recipe| &recipe.lifecycle);
            self.lifecycles.insert(node, setting.options.over(base));
        }
    }

    /// The resources with a similar name, or of the same type.
    fn near(&self, key: &Key) -> String {
        let of_type = |known: &&Key| known.type_name() == key.type_name();
        let mut known: Vec<&str> = self.nodes.map.keys().filter(of_type).map(Key::as_str).collect();
        let what = if known.is_empty() { "resources" } else { "resources of its type" };
        if known.is_empty() {
            known.extend(self.nodes.map.keys().map(Key::as_str));
        }
        did_you_mean(key.as_str(), what, known)
    }

    /// Adds the edges to the targets of settings.
    fn named(&mut self) {
        let mut unknown = 0;
        for node in self.nodes.ids() {
            let Some(settings) = lifecycle::of(self.docs, &self.nodes, &self.lifecycles, node) else {
                continue;
            };
            let mut targets = Vec::new();
            for (field, (descriptor, location)) in lifecycle::named(settings) {
                let Some(here) = self.nodes.key(node) else { continue };
                let key = Key::relative(descriptor, here);
                if let Some(target) = self.nodes.meant(key.as_str()) {
                    targets.push(target);
                    continue;
                }
                let how = match field {
                    Field::DependsOn => "depends on",
                    Field::ReplaceWith => "is replaced together with",
                    Field::DeletedWith => "is deleted together with",
                };
                let message = format!("`{here}` {how} `{key}`, which is not in the graph");
                let mut fault = Diagnostic::error("unknown-resource", message).at(location);
                if unknown < NEAR {
                    fault = fault.fact(self.near(&key));
                }
                unknown += 1;
                let help = format!("`{}` does not add resources: declare it, or refer to it", field.name());
                self.faults.push(fault.help(help));
            }
            for target in targets {
                self.edge(node, target, EdgeKind::DependsOn);
            }
        }
    }

    /// Checks that each former name belongs to one resource only, and to no existing one.
    fn aliases(&mut self) {
        let mut claimed: HashMap<Urn, (NodeId, &Location)> = HashMap::new();
        let mut faults = Vec::new();
        let mut lifecycles: Vec<(&NodeId, &Lifecycle)> = self.lifecycles.iter().collect();
        lifecycles.sort_unstable_by(|(a, _), (b, _)| self.nodes.key(**a).cmp(&self.nodes.key(**b)));
        for (node, settings) in lifecycles {
            let Some(own) = self.nodes.key(*node) else { continue };
            for alias in &settings.aliases {
                let (urn, key) = self.former(alias);
                let with_source = faults.len() < NEAR;
                if let Some(fault) = self.taken(alias, key.as_ref(), (*node, own), with_source) {
                    faults.push(fault);
                    continue;
                }
                match claimed.get(&urn) {
                    Some((other, _)) if other == node => {}
                    Some((other, place)) => {
                        let other = self.nodes.key(*other).map_or("", Key::as_str);
                        faults.push(
                            Diagnostic::error(
                                "alias-twice",
                                format!("`{other}` and `{own}` both have the alias `{}`", alias.name),
                            )
                            .at(&alias.location)
                            .related(place, format!("`{other}` has it here"))
                            .help("keep only the alias of the renamed resource"),
                        );
                    }
                    None => {
                        claimed.insert(urn, (*node, &alias.location));
                    }
                }
            }
        }
        self.faults.append(&mut faults);
    }

    /// The URN of an alias, and the key if it is in this context.
    fn former(&self, alias: &Alias) -> (Urn, Option<Key>) {
        match &alias.name {
            AliasName::Key(key) => (Urn::new(self.docs.context, key), Some(key.clone())),
            AliasName::Urn(urn) => {
                let here = urn.key().filter(|key| Urn::new(self.docs.context, key) == *urn);
                (urn.clone(), here)
            }
        }
    }

    /// A fault if the name belongs to a resource of the graph. The source of that resource is found
    /// on demand, because that searches all declarations.
    fn taken(
        &self,
        alias: &Alias,
        key: Option<&Key>,
        (node, own): (NodeId, &Key),
        with_source: bool,
    ) -> Option<Diagnostic> {
        let holder = self.nodes.id(key?.as_str())?;
        if holder == node {
            let fault = Diagnostic::error("alias-of-itself", format!("`{own}` has this name now"));
            let help = "write its previous name, or remove the alias";
            return Some(fault.at(&alias.location).help(help));
        }
        let name = self.nodes.key(holder)?;
        let mut fault = Diagnostic::error(
            "alias-in-use",
            format!("`{own}` has the alias `{}`, but `{name}` is still in the graph", alias.name),
        )
        .at(&alias.location);
        if !with_source {
            return Some(fault);
        }
        let source = self.sources.iter().find(|(requested, _)| *requested == holder);
        fault = match source.and_then(|(_, source)| self.docs.location(&self.nodes, *source)) {
            Some(location) => fault.related(location, format!("`{name}` is used here")),
            None => fault.fact(format!("`{name}` is in the graph, although no document names it")),
        };
        Some(fault.help("remove the alias, or remove the other resource"))
    }
}
