//! Documents as a model that can be edited, and as the text for the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::generate::SLOTS;
use crate::rng::Rng;

/// The requested resources.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Documents {
    /// The number of their environment.
    pub(crate) place: u8,
    /// By slot. A slot identifies a resource regardless of its name.
    pub(crate) resources: BTreeMap<u8, Resource>,
    /// Edges between two slots, the lower one first. The direction follows from `order`, so there
    /// is never a loop, and a change of `order` reverses all edges.
    pub(crate) links: BTreeMap<(u8, u8), Link>,
    pub(crate) order: u64,
    /// Whether the resources are manifests that refer to each other by reference fields, so that
    /// targets may be missing.
    pub(crate) manifests: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Resource {
    /// How often it was renamed.
    pub(crate) name: u8,
    pub(crate) driver: u8,
    /// An input that changes in place.
    pub(crate) v: u8,
    /// An input whose change replaces.
    pub(crate) fixed: u8,
    pub(crate) protect: bool,
    pub(crate) retain: bool,
    pub(crate) delete_before_replace: Option<bool>,
    pub(crate) ignore_v: bool,
    pub(crate) replace_on_v: bool,
    /// A previous name, by number.
    pub(crate) alias: Option<u8>,
    /// An object that was created manually.
    pub(crate) by_hand: Option<ByHand>,
}

/// How to treat a manually created object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByHand {
    /// Purlin manages it from now on.
    Import,
    /// Purlin only reads it.
    Observe,
}

/// How a resource depends on another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// It reads an output that changes in place.
    Value,
    /// It reads the id.
    Id,
    /// It reads an output that changes in place, but its own input cannot change in place.
    FixedValue,
    /// The same with the id.
    FixedId,
    DependsOn,
    ReplaceWith,
    /// It is inside the other one, and is deleted with it.
    Within,
    /// The same, but it reads nothing of it: its host is determined when it is created.
    Inside,
}

/// A change of the documents. A change that no longer applies does nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Edit {
    Put(u8, Resource),
    Remove(u8),
    Link(u8, u8, Option<Link>),
    Order(u64),
    Rename { slot: u8, alias: bool },
    Forget(u8),
}

impl Link {
    /// The input that reads an output of the other resource, and that output.
    fn input(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::Value => ("v", "v"),
            Self::Id => ("id", "id"),
            Self::FixedValue => ("fixed_v", "v"),
            Self::FixedId => ("fixed_id", "id"),
            Self::Within => ("fixed_host_id", "id"),
            Self::DependsOn | Self::ReplaceWith | Self::Inside => return None,
        })
    }
}

/// The inputs of a manifest's definition: its own params.
fn params(linked: &[(u8, Link)]) -> String {
    let mut values = "v: '${params.v}', fixed: '${params.fixed}'".to_owned();
    for (slot, (name, _)) in linked.iter().filter_map(|(slot, link)| Some((slot, link.input()?))) {
        let _ = write!(values, ", {name}_{slot}: '${{params.{name}_{slot}}}'");
    }
    values
}

/// The type of all manifests, which describes the values of their reference fields.
fn resource_type(fields: &BTreeSet<(u8, &str, &str)>) -> String {
    let fields = fields.iter().map(|(slot, name, output)| {
        format!("{name}_{slot}: {{x-reference: {{type: thing, output: {output}}}}}")
    });
    format!(
        "apiVersion: purlin.dev/v1\nkind: ResourceType\nspec:\n  type: thing\n  manifest: {{group: sim.test, kind: Thing}}\n  params: {{type: object, properties: {{{}}}}}\n---\n",
        fields.collect::<Vec<_>>().join(", ")
    )
}

impl Resource {
    pub(crate) fn id(&self, slot: u8) -> String {
        name(slot, self.name)
    }
}

/// The name of a slot after this many renames.
pub(crate) fn name(slot: u8, number: u8) -> String {
    match number {
        0 => format!("r{slot}"),
        _ => format!("r{slot}n{number}"),
    }
}

/// The id of a manually created object for a slot of an environment.
pub(crate) fn made_by_hand(place: u8, slot: u8) -> String {
    format!("p{}", u32::from(place) * SLOTS + u32::from(slot))
}

/// The key of a resource with this name.
pub(crate) fn key(id: &str) -> String {
    format!("thing.default#shared.{id}")
}

impl Documents {
    pub(crate) fn edit(&mut self, edit: &Edit) {
        match edit {
            Edit::Put(slot, resource) => {
                let known = self.resources.get(slot).map(|known| (known.name, known.alias));
                let mut resource = resource.clone();
                (resource.name, resource.alias) = known.unwrap_or((resource.name, None));
                self.resources.insert(*slot, resource);
            }
            Edit::Remove(slot) => {
                self.resources.remove(slot);
            }
            Edit::Link(a, b, link) => {
                let pair = (*a.min(b), *a.max(b));
                match link {
                    Some(link) if a != b => self.links.insert(pair, *link),
                    _ => self.links.remove(&pair),
                };
            }
            Edit::Order(order) => self.order = *order,
            Edit::Rename { slot, alias } => {
                if let Some(resource) = self.resources.get_mut(slot) {
                    resource.alias = alias.then_some(resource.name);
                    resource.name += 1;
                }
            }
            Edit::Forget(slot) => {
                if let Some(resource) = self.resources.get_mut(slot) {
                    resource.alias = None;
                }
            }
        }
    }

    /// The documents without settings that make the result depend on the history.
    pub(crate) fn settled(&self) -> Self {
        let mut settled = self.clone();
        for resource in settled.resources.values_mut() {
            resource.protect = false;
            resource.ignore_v = false;
            resource.by_hand = None;
        }
        settled.links.retain(|(a, b), _| self.resources.contains_key(a) && self.resources.contains_key(b));
        settled
    }

    /// Whether some resources refer to missing ones, and therefore wait.
    pub(crate) fn lack_targets(&self) -> bool {
        self.resources.keys().any(|slot| !self.missing(*slot).is_empty())
    }

    fn rank(&self, slot: u8) -> u64 {
        Rng::mixed(self.order, u64::from(slot)).next()
    }

    /// The dependencies of a resource, and their kinds.
    pub(crate) fn dependencies(&self, slot: u8) -> Vec<(u8, Link)> {
        let mut within = false;
        let mut found = Vec::new();
        for (other, link) in self.linked(slot) {
            if !self.resources.contains_key(&other) {
                continue;
            }
            // It can have only one host.
            let lives = matches!(link, Link::Within | Link::Inside);
            let again = lives && std::mem::replace(&mut within, true);
            let cannot = again || link == Link::Inside && self.manifests;
            found.push((other, if cannot { Link::DependsOn } else { link }));
        }
        found
    }

    /// The missing targets of a manifest's reference fields.
    fn missing(&self, slot: u8) -> Vec<(u8, Link)> {
        let by_field =
            |link: &Link| matches!(link, Link::Value | Link::Id | Link::FixedValue | Link::FixedId);
        let linked = self.linked(slot).filter(|_| self.manifests);
        linked.filter(|(other, link)| !self.resources.contains_key(other) && by_field(link)).collect()
    }

    /// The existing dependencies of a resource, and their kinds.
    fn linked(&self, slot: u8) -> impl Iterator<Item = (u8, Link)> {
        self.links.iter().filter_map(move |((a, b), link)| {
            let other = match (*a == slot, *b == slot) {
                (true, _) => *b,
                (_, true) => *a,
                _ => return None,
            };
            (self.rank(other) <= self.rank(slot)).then_some((other, *link))
        })
    }

    /// The text of all documents.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let (mut settings, mut shared, mut manifests) = (String::new(), String::new(), String::new());
        let mut fields = BTreeSet::new();
        for (slot, resource) in &self.resources {
            let id = resource.id(*slot);
            let dependencies = self.dependencies(*slot);
            let values = match self.manifests {
                true => {
                    let linked = [&*dependencies, &self.missing(*slot)].concat();
                    manifests.push_str(&self.manifest(resource, &id, &linked));
                    fields.extend(linked.iter().filter_map(|(slot, link)| {
                        let (name, output) = link.input()?;
                        Some((*slot, name, output))
                    }));
                    params(&linked)
                }
                false => self.values(resource, &dependencies),
            };
            let _ = write!(
                text,
                "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: d-{id}}}\nspec:\n  type: thing\n  driver: sim/d{}\n  inputs: {{values: {{{values}}}}}\n  criteria: [{{res_id: shared.{id}}}]\n---\n",
                resource.driver
            );
            if !self.manifests {
                let _ = writeln!(shared, "    {id}: {{type: thing}}");
            }
            let setting = self.settings(*slot, resource, &dependencies);
            if !setting.is_empty() {
                let _ = writeln!(settings, "    'thing#shared.{id}': {{{}}}", setting.join(", "));
            }
        }
        if self.manifests {
            text.push_str(&resource_type(&fields));
        }
        text.push_str("apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: simulated}\nspec:\n");
        if !settings.is_empty() {
            let _ = write!(text, "  lifecycle:\n{settings}");
        }
        let shared = if shared.is_empty() { " {}\n".to_owned() } else { format!("\n{shared}") };
        let _ = write!(text, "  shared:{shared}{manifests}");
        text
    }

    fn other(&self, slot: u8) -> String {
        self.resources.get(&slot).map_or_else(|| name(slot, 0), |other| other.id(slot))
    }

    /// The manifest of a resource, with a reference field for each value that it reads.
    fn manifest(&self, resource: &Resource, id: &str, linked: &[(u8, Link)]) -> String {
        let mut spec = format!("v: 'v{}', fixed: 'f{}'", resource.v, resource.fixed);
        for (slot, (name, _)) in linked.iter().filter_map(|(slot, link)| Some((slot, link.input()?))) {
            let _ = write!(spec, ", {name}_{slot}Ref: {{name: shared.{}}}", self.other(*slot));
        }
        format!(
            "---\napiVersion: sim.test/v1\nkind: Thing\nmetadata: {{name: shared.{id}}}\nspec: {{forProvider: {{{spec}}}}}\n"
        )
    }

    fn values(&self, resource: &Resource, dependencies: &[(u8, Link)]) -> String {
        let mut values = format!("v: 'v{}', fixed: 'f{}'", resource.v, resource.fixed);
        for (slot, link) in dependencies {
            if *link == Link::Inside {
                let _ = write!(values, ", inside: {}", self.other(*slot));
            }
            let Some((name, output)) = link.input() else { continue };
            let other = key(&self.other(*slot));
            let _ = write!(values, ", {name}_{slot}: \"${{resources['{other}'].outputs.{output}}}\"");
        }
        values
    }

    fn settings(&self, own: u8, resource: &Resource, dependencies: &[(u8, Link)]) -> Vec<String> {
        let mut settings = Vec::new();
        let mut flag = |on: bool, text: &str| {
            if on {
                settings.push(text.to_owned());
            }
        };
        flag(resource.protect, "protect: true");
        flag(resource.retain, "retain: true");
        flag(resource.delete_before_replace == Some(true), "delete_before_replace: true");
        flag(resource.delete_before_replace == Some(false), "delete_before_replace: false");
        flag(resource.ignore_v, "ignore_changes: [values.v]");
        flag(resource.replace_on_v, "replace_on_changes: [values.v]");
        let linked = |wanted: Link| -> Vec<String> {
            let them = dependencies.iter().filter(|(_, link)| *link == wanted);
            them.map(|(slot, _)| format!("'thing#shared.{}'", self.other(*slot))).collect()
        };
        for (name, link) in [("depends_on", Link::DependsOn), ("replace_with", Link::ReplaceWith)] {
            let them = linked(link);
            if !them.is_empty() {
                settings.push(format!("{name}: [{}]", them.join(", ")));
            }
        }
        if let Some(host) = linked(Link::Within).first().or(linked(Link::Inside).first()) {
            settings.push(format!("deleted_with: {host}"));
        }
        match resource.by_hand {
            Some(ByHand::Import) => settings.push(format!("import: {}", made_by_hand(self.place, own))),
            Some(ByHand::Observe) => settings.push(format!("observe: {}", made_by_hand(self.place, own))),
            None => {}
        }
        if let Some(number) = resource.alias {
            settings.push(format!("aliases: ['thing#shared.{}']", name(own, number)));
        }
        settings
    }
}
