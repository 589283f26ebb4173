//! Text that contains other text: `values`, `params` and `metadata` are templates themselves, so
//! values read through them must be followed.

use std::collections::{HashMap, HashSet};

use purlin_model::{
    Class, Descriptor, DescriptorPart, Key, ManifestPart, Path, Placeholder, Reference, ResourceId, Selector,
    Template, Value,
};

use crate::docs::{Docs, NoKey, Nodes, Params, Scope};
use crate::node::NodeId;

/// The longest chain of templates that use one another. Real documents have two or three.
pub(crate) const MAX_DEPTH: usize = 64;

/// Text that placeholders read.
pub(crate) struct Text<'a> {
    pub(crate) template: &'a Template,
    pub(crate) scope: Scope,
    pub(crate) place: Place,
}

/// Where text is in the documents, which identifies it: whose it is, and the path there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place(Root, Path);

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Root {
    /// The `values` of the deployment.
    Values,
    /// The `metadata` of a workload.
    Metadata(u32),
    /// The params of a resource.
    Params(NodeId),
    /// The promoted outputs of an installation.
    Promoted(NodeId),
}

/// The text at a path.
pub(crate) struct Found<'a> {
    pub(crate) template: &'a Template,
    pub(crate) scope: Scope,
    /// How many segments of the path lead to it. The others are for its result.
    pub(crate) length: usize,
}

impl<'a> Found<'a> {
    /// The text, with its place.
    pub(crate) fn text(self, root: Root, path: &Path) -> Text<'a> {
        let place = Place(root, Path(path.0.iter().take(self.length).cloned().collect()));
        Text { template: self.template, scope: self.scope, place }
    }
}

/// Nothing is at a path: the existing names, and the number of the wrong segment.
pub(crate) type Missing<'a> = (Vec<&'a str>, usize);

/// Finds the text at a path; none if the path means several texts, or no text at all.
pub(crate) fn find<'a>(
    docs: Docs<'a>,
    nodes: &Nodes,
    root: Root,
    path: &Path,
) -> Result<Option<Found<'a>>, Missing<'a>> {
    let first = path.0.first().map(|name| &**name);
    let (template, scope, from) = match root {
        Root::Values => {
            let Some(name) = first else { return Ok(None) };
            let values = &docs.deployment.values;
            let names = || (values.keys().map(|key| &**key).collect(), 0);
            (values.get(name).ok_or_else(names)?, Scope::Values, 1)
        }
        Root::Metadata(index) => {
            let workload = docs.workload(index).ok_or_else(Missing::default)?;
            (&workload.metadata, Scope::Workload(index), 0)
        }
        Root::Params(node) => match (docs.params(nodes, node), first) {
            (Params::Given(template, scope), _) => (template, scope, 0),
            (Params::None | Params::Workload(..), None) => return Ok(None),
            (Params::None, Some(_)) => return Err(Missing::default()),
            (Params::Workload(index, workload), Some(name)) => {
                let part = match name {
                    "metadata" => &workload.metadata,
                    "spec" => &workload.spec,
                    _ => return Err((vec!["id", "metadata", "spec"], 0)),
                };
                (part, Scope::Workload(index), 1)
            }
        },
        Root::Promoted(node) => {
            let promoted = docs.installation_of(nodes, node).and_then(|one| one.recipe.promoted.as_ref());
            (promoted.ok_or_else(Missing::default)?, Scope::Recipe(node), 0)
        }
    };
    let (template, length) = below(template, path, from)?;
    Ok(Some(Found { template, scope, length }))
}

/// All texts at a path.
pub(crate) fn texts<'a>(docs: Docs<'a>, nodes: &Nodes, root: Root, path: &Path) -> Vec<Text<'a>> {
    let names = match (find(docs, nodes, root, path), root) {
        (Ok(Some(found)), _) => return vec![found.text(root, path)],
        (Err(_), _) => return Vec::new(),
        (Ok(None), Root::Values) => docs.deployment.values.keys().cloned().collect(),
        (Ok(None), _) => vec!["metadata".into(), "spec".into()],
    };
    names.into_iter().flat_map(|name| texts(docs, nodes, root, &Path([name].into()))).collect()
}

/// Follows a path, from its segment `from`, as far as the template's shape is known: the template
/// there, and how many segments lead to it.
pub(crate) fn below<'a>(
    template: &'a Template,
    path: &Path,
    from: usize,
) -> Result<(&'a Template, usize), Missing<'a>> {
    let mut at = template;
    for (index, segment) in path.0.iter().enumerate().skip(from) {
        at = match at {
            Template::Map(entries) => {
                entries.get(&**segment).ok_or_else(|| (entries.keys().map(|key| &**key).collect(), index))?
            }
            Template::List(items) => {
                let item = segment.parse::<usize>().ok().and_then(|index| items.get(index));
                item.ok_or((Vec::new(), index))?
            }
            Template::Constant(value) => {
                return below_value(value, path, index).map(|()| (at, index));
            }
            Template::Text(_) => return Ok((at, index)),
        };
    }
    Ok((at, path.0.len()))
}

/// Checks that a value has something at a path, from its segment `from`.
fn below_value<'a>(value: &'a Value, path: &Path, from: usize) -> Result<(), Missing<'a>> {
    let mut at = value;
    for (index, segment) in path.0.iter().enumerate().skip(from) {
        let next = match at {
            Value::Map(map) => map.get(&**segment),
            Value::List(items) => segment.parse::<usize>().ok().and_then(|index| items.get(index)),
            // We do not look inside.
            Value::Secret(_) | Value::Unknown(_) => break,
            _ => None,
        };
        at = next.ok_or_else(|| {
            let names = at.as_map().into_iter().flatten().map(|(key, _)| &**key);
            (names.collect(), index)
        })?;
    }
    Ok(())
}

/// A selector that does not depend on its scope: the key of its start, then the hops, in which only
/// "any" is omitted.
pub(crate) fn full_selector(
    docs: Docs<'_>,
    nodes: &Nodes,
    selector: &Selector,
    scope: Scope,
) -> Result<Selector, (NoKey, Descriptor)> {
    let here = match scope {
        Scope::Recipe(node) => nodes.key(node),
        Scope::Workload(_) | Scope::Shared(_) | Scope::Values | Scope::Manifest(_) => None,
    };
    let mut start = String::new();
    docs.write_key(nodes, scope, &selector.start, &mut start)
        .map_err(|fault| (fault, selector.start.clone()))?;
    let mut full = selector.clone();
    let class = |here: &str| Class::new(here).map_or(DescriptorPart::Omitted, DescriptorPart::Named);
    let id = |here: &str| ResourceId::new(here).map_or(DescriptorPart::Omitted, DescriptorPart::Named);
    if let Some((head, written)) = start.split_once('#') {
        full.start.class = class(head.split_once('.').map_or(Class::DEFAULT, |(_, class)| class));
        full.start.id = id(written);
    }
    for hop in &mut full.hops {
        let written = hop.target.clone();
        if hop.target.class == DescriptorPart::Here {
            let named = written.class_in(here.map(Key::class));
            hop.target.class = class(named.ok_or_else(|| (NoKey::Class, written.clone()))?);
        }
        if hop.target.id == DescriptorPart::Here {
            hop.target.id = id(here.ok_or((NoKey::Id, written))?.id());
        }
    }
    Ok(full)
}

/// The texts behind a placeholder, if it refers to text of this deployment.
pub(crate) fn behind<'a>(
    docs: Docs<'a>,
    nodes: &Nodes,
    scope: Scope,
    reference: &Reference,
) -> Vec<Text<'a>> {
    match (reference, scope) {
        (Reference::Value(path), _) => texts(docs, nodes, Root::Values, path),
        (Reference::Param(path), Scope::Recipe(node)) => texts(docs, nodes, Root::Params(node), path),
        (Reference::Manifest(path), Scope::Recipe(node)) => {
            let path = match docs.manifest_of(nodes, node).map(|manifest| manifest.part(path)) {
                Some(ManifestPart::Params(path)) => path,
                Some(ManifestPart::Around(..)) => Path::default(),
                None | Some(ManifestPart::Head(_) | ManifestPart::Nothing(_)) => return Vec::new(),
            };
            texts(docs, nodes, Root::Params(node), &path)
        }
        (Reference::Metadata(path), Scope::Workload(index)) => {
            texts(docs, nodes, Root::Metadata(index), path)
        }
        _ => Vec::new(),
    }
}

/// Visits every placeholder of some templates and of all text that they use, each text once.
pub(crate) fn visit<'a>(
    docs: Docs<'a>,
    nodes: &Nodes,
    mut pending: Vec<(&'a Template, Scope)>,
    see: &mut dyn FnMut(&'a Placeholder, Scope),
) {
    let mut seen: HashSet<Place> = HashSet::new();
    while let Some((template, scope)) = pending.pop() {
        template.placeholders(&mut |placeholder| {
            see(placeholder, scope);
            for text in behind(docs, nodes, scope, &placeholder.reference) {
                if seen.insert(text.place) {
                    pending.push((text.template, text.scope));
                }
            }
        });
    }
}

/// Finds text that contains itself, or a chain of texts that is too long: the placeholders of the
/// chain, from the first to the one that closes it.
pub(crate) fn endless<'a>(
    docs: Docs<'a>,
    nodes: &Nodes,
    roots: impl Iterator<Item = Text<'a>>,
) -> Option<Vec<&'a Placeholder>> {
    let steps = |text: &Text<'a>| {
        let mut steps: Vec<(&'a Placeholder, Text<'a>)> = Vec::new();
        text.template.placeholders(&mut |placeholder| {
            let behind = behind(docs, nodes, text.scope, &placeholder.reference);
            steps.extend(behind.into_iter().map(|next| (placeholder, next)));
        });
        steps
    };
    // The number of steps below each text that is known to end.
    let mut depths: HashMap<Place, usize> = HashMap::new();
    for root in roots {
        if depths.contains_key(&root.place) {
            continue;
        }
        // The path down: what is left to visit, how it was entered, and its depth so far.
        let mut way = vec![(root.place.clone(), None, steps(&root), 0_usize)];
        let mut active = HashSet::from([root.place]);
        while let Some((.., left, _)) = way.last_mut() {
            let Some((placeholder, next)) = left.pop() else {
                let Some((here, .., depth)) = way.pop() else { break };
                active.remove(&here);
                depths.insert(here, depth);
                if let Some((_, _, _, above)) = way.last_mut() {
                    *above = (*above).max(depth + 1);
                }
                continue;
            };
            let known = depths.get(&next.place).copied();
            if active.contains(&next.place) || known.unwrap_or(0) + way.len() > MAX_DEPTH {
                let from = way.iter().position(|(step, ..)| *step == next.place).unwrap_or(0);
                let entered = way.iter().skip(from + 1).filter_map(|(_, placeholder, ..)| *placeholder);
                return Some(entered.chain([placeholder]).collect());
            }
            match known {
                Some(known) => {
                    if let Some((_, _, _, above)) = way.last_mut() {
                        *above = (*above).max(known + 1);
                    }
                }
                None => {
                    active.insert(next.place.clone());
                    let steps = steps(&next);
                    way.push((next.place, Some(placeholder), steps, 0));
                }
            }
        }
    }
    None
}
