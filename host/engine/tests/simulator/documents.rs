//! Documents as a model that can be changed, and as the text that the engine gets.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::rng::Rng;

/// What the documents ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Documents {
    /// By slot. A slot is what a resource is, whatever its name.
    pub(crate) resources: BTreeMap<u8, Resource>,
    /// Between two slots, the lower first. Who depends on whom follows from `order`, so that there
    /// is never a loop, and a change of it turns everything round.
    pub(crate) links: BTreeMap<(u8, u8), Link>,
    pub(crate) order: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Resource {
    /// How often it was renamed.
    pub(crate) name: u8,
    pub(crate) driver: u8,
    /// Changed in place.
    pub(crate) v: u8,
    /// Changed by replacement.
    pub(crate) fixed: u8,
    pub(crate) protect: bool,
    pub(crate) retain: bool,
    pub(crate) delete_before_replace: Option<bool>,
    pub(crate) ignore_v: bool,
    pub(crate) replace_on_v: bool,
    /// A name before, by number.
    pub(crate) alias: Option<u8>,
    /// What somebody made by hand.
    pub(crate) by_hand: Option<ByHand>,
}

/// What becomes of something that somebody made by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByHand {
    /// It becomes ours.
    Import,
    /// It is only looked at.
    Observe,
}

/// How a resource depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// It reads an output that changes in place.
    Value,
    /// It reads the id.
    Id,
    /// It reads an output that changes in place, and cannot change in place itself.
    FixedValue,
    /// The same with the id.
    FixedId,
    DependsOn,
    ReplaceWith,
    /// It lives within the other one, and goes with it.
    Within,
}

/// A change of the documents. What does not fit any more does nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Edit {
    Put(u8, Resource),
    Remove(u8),
    Link(u8, u8, Option<Link>),
    Order(u64),
    Rename { slot: u8, alias: bool },
    Forget(u8),
}

impl Resource {
    pub(crate) fn id(&self, slot: u8) -> String {
        name(slot, self.name)
    }
}

/// The name of a slot that was renamed so often.
pub(crate) fn name(slot: u8, number: u8) -> String {
    match number {
        0 => format!("r{slot}"),
        _ => format!("r{slot}n{number}"),
    }
}

/// The id of what somebody made by hand for a slot.
pub(crate) fn made_by_hand(slot: u8) -> String {
    format!("p{slot}")
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

    /// Without what makes the end depend on the way there.
    pub(crate) fn settled(&self) -> Self {
        let mut settled = self.clone();
        for resource in settled.resources.values_mut() {
            resource.protect = false;
            resource.ignore_v = false;
            resource.by_hand = None;
        }
        settled
    }

    fn rank(&self, slot: u8) -> u64 {
        Rng::mixed(self.order, u64::from(slot)).next()
    }

    /// What a resource depends on, and how.
    pub(crate) fn dependencies(&self, slot: u8) -> Vec<(u8, Link)> {
        let mut within = false;
        let mut found = Vec::new();
        for ((a, b), link) in &self.links {
            let other = match (*a == slot, *b == slot) {
                (true, _) => *b,
                (_, true) => *a,
                _ => continue,
            };
            if !self.resources.contains_key(&other) || self.rank(other) > self.rank(slot) {
                continue;
            }
            // It can only live in one place.
            let again = *link == Link::Within && std::mem::replace(&mut within, true);
            found.push((other, if again { Link::DependsOn } else { *link }));
        }
        found
    }

    /// The text of all documents.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let (mut wishes, mut shared) = (String::new(), String::new());
        for (slot, resource) in &self.resources {
            let id = resource.id(*slot);
            let dependencies = self.dependencies(*slot);
            let values = self.values(resource, &dependencies);
            let _ = write!(
                text,
                "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: d-{id}}}\nspec:\n  type: thing\n  driver: sim/d{}\n  inputs: {{values: {{{values}}}}}\n  criteria: [{{res_id: shared.{id}}}]\n---\n",
                resource.driver
            );
            let _ = writeln!(shared, "    {id}: {{type: thing}}");
            let wish = self.wishes(*slot, resource, &dependencies);
            if !wish.is_empty() {
                let _ = writeln!(wishes, "    'thing#shared.{id}': {{{}}}", wish.join(", "));
            }
        }
        text.push_str("apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: simulated}\nspec:\n");
        if !wishes.is_empty() {
            let _ = write!(text, "  lifecycle:\n{wishes}");
        }
        let shared = if shared.is_empty() { " {}\n".to_owned() } else { format!("\n{shared}") };
        let _ = write!(text, "  shared:{shared}");
        text
    }

    fn other(&self, slot: u8) -> String {
        self.resources.get(&slot).map(|other| other.id(slot)).unwrap_or_default()
    }

    fn values(&self, resource: &Resource, dependencies: &[(u8, Link)]) -> String {
        let mut values = format!("v: 'v{}', fixed: 'f{}'", resource.v, resource.fixed);
        for (slot, link) in dependencies {
            let (name, output) = match link {
                Link::Value => ("v", "v"),
                Link::Id => ("id", "id"),
                Link::FixedValue => ("fixed_v", "v"),
                Link::FixedId => ("fixed_id", "id"),
                Link::Within => ("fixed_host_id", "id"),
                Link::DependsOn | Link::ReplaceWith => continue,
            };
            let other = key(&self.other(*slot));
            let _ = write!(values, ", {name}_{slot}: \"${{resources['{other}'].outputs.{output}}}\"");
        }
        values
    }

    fn wishes(&self, own: u8, resource: &Resource, dependencies: &[(u8, Link)]) -> Vec<String> {
        let mut wishes = Vec::new();
        let mut flag = |on: bool, text: &str| {
            if on {
                wishes.push(text.to_owned());
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
                wishes.push(format!("{name}: [{}]", them.join(", ")));
            }
        }
        if let Some(host) = linked(Link::Within).first() {
            wishes.push(format!("deleted_with: {host}"));
        }
        match resource.by_hand {
            Some(ByHand::Import) => wishes.push(format!("import: {}", made_by_hand(own))),
            Some(ByHand::Observe) => wishes.push(format!("observe: {}", made_by_hand(own))),
            None => {}
        }
        if let Some(number) = resource.alias {
            wishes.push(format!("aliases: ['thing#shared.{}']", name(own, number)));
        }
        wishes
    }
}
