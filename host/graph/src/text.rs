//! Text that contains other text: `values`, `params` and `metadata` are templates themselves, so
//! values read through them must be followed.

use std::collections::HashSet;

use purlin_model::{
    Class, Descriptor, Key, ManifestPart, Part, Path, Placeholder, Reference, ResourceId, Selector, Template,
    Value,
};

use crate::docs::{Docs, NoKey, Nodes, Params, Scope};
use crate::node::NodeId;

/// The longest chain of templates that use one another. Real documents have two or three.
pub(crate) const MAX_DEPTH: usize = 64;

/// The value at a path of a template.
pub(crate) enum Below<'a> {
    /// This template, and the rest of the path inside its result.
    Template(&'a Template, Path),
    /// Nothing; with the existing names, and the wrong segment.
    Missing(Vec<&'a str>, usize),
}

/// Follows a path as far as the template's shape is known.
pub(crate) fn below<'a>(template: &'a Template, path: &Path) -> Below<'a> {
    let mut at = template;
    for (index, segment) in path.0.iter().enumerate() {
        let next = match at {
            Template::Map(entries) => match entries.get(&**segment) {
                Some(next) => next,
                None => return Below::Missing(entries.keys().map(|key| &**key).collect(), index),
            },
            Template::List(items) => match segment.parse::<usize>().ok().and_then(|index| items.get(index)) {
                Some(next) => next,
                None => return Below::Missing(Vec::new(), index),
            },
            Template::Constant(value) => return below_value(at, value, path, index),
            Template::Text(_) => {
                return Below::Template(at, Path(path.0.get(index..).unwrap_or(&[]).into()));
            }
        };
        at = next;
    }
    Below::Template(at, Path::default())
}

fn below_value<'a>(template: &'a Template, value: &'a Value, path: &Path, from: usize) -> Below<'a> {
    let mut at = value;
    for (index, segment) in path.0.iter().enumerate().skip(from) {
        let next = match at {
            Value::Map(map) => map.get(&**segment),
            Value::List(items) => segment.parse::<usize>().ok().and_then(|index| items.get(index)),
            // We do not look inside.
            Value::Secret(_) | Value::Unknown(_) => break,
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => {
                let names = match at {
                    Value::Map(map) => map.keys().map(|key| &**key).collect(),
                    _ => Vec::new(),
                };
                return Below::Missing(names, index);
            }
        }
    }
    Below::Template(template, Path(path.0.get(from..).unwrap_or(&[]).into()))
}

/// The entry of `values` at the beginning of a path. `None` for all values at once.
pub(crate) fn value<'a>(docs: Docs<'a>, path: &Path) -> Option<Below<'a>> {
    let values = &docs.deployment.values;
    let (first, rest) = path.0.split_first()?;
    Some(match values.get(&**first) {
        Some(template) => match below(template, &Path(rest.into())) {
            Below::Missing(names, index) => Below::Missing(names, index + 1),
            found => found,
        },
        None => Below::Missing(values.keys().map(|key| &**key).collect(), 0),
    })
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
    let class = |here: &str| Class::new(here).map_or(Part::Omitted, Part::Named);
    let id = |here: &str| ResourceId::new(here).map_or(Part::Omitted, Part::Named);
    if let Some((head, written)) = start.split_once('#') {
        full.start.class = class(head.split_once('.').map_or(Class::DEFAULT, |(_, class)| class));
        full.start.id = id(written);
    }
    for hop in &mut full.hops {
        let written = hop.target.clone();
        if hop.target.class == Part::Here {
            let named = written.class_in(here.map(Key::class));
            hop.target.class = class(named.ok_or_else(|| (NoKey::Class, written.clone()))?);
        }
        if hop.target.id == Part::Here {
            hop.target.id = id(here.ok_or((NoKey::Id, written))?.id());
        }
    }
    Ok(full)
}

/// The templates that params consist of at a path, each with its scope; empty if there is nothing
/// at the path.
pub(crate) fn params<'a>(
    docs: Docs<'a>,
    nodes: &Nodes,
    node: NodeId,
    path: &Path,
) -> Vec<(&'a Template, Scope)> {
    match docs.params(nodes, node) {
        Params::None => Vec::new(),
        Params::Given(template, scope) => match below(template, path) {
            Below::Template(template, _) => vec![(template, scope)],
            Below::Missing(..) => Vec::new(),
        },
        Params::Workload(index, workload) => {
            let scope = Scope::Workload(index);
            let Some((first, rest)) = path.0.split_first() else {
                return vec![(&workload.metadata, scope), (&workload.spec, scope)];
            };
            let part = match &**first {
                "metadata" => &workload.metadata,
                "spec" => &workload.spec,
                _ => return Vec::new(),
            };
            match below(part, &Path(rest.into())) {
                Below::Template(template, _) => vec![(template, scope)],
                Below::Missing(..) => Vec::new(),
            }
        }
    }
}

/// The params that a path into the manifest of a resource reads: those at the returned path.
pub(crate) fn manifest_params(docs: Docs<'_>, nodes: &Nodes, node: NodeId, path: &Path) -> Option<Path> {
    match docs.manifest_of(nodes, node)?.part(path) {
        ManifestPart::Params(path) => Some(path),
        ManifestPart::Around(..) => Some(Path::default()),
        ManifestPart::Head(_) | ManifestPart::Nothing(_) => None,
    }
}

/// The templates behind a placeholder, if it refers to text of this deployment.
pub(crate) fn behind<'a>(
    docs: Docs<'a>,
    nodes: &Nodes,
    scope: Scope,
    reference: &Reference,
) -> Vec<(&'a Template, Scope)> {
    let one = |found: Below<'a>, scope| match found {
        Below::Template(template, _) => vec![(template, scope)],
        Below::Missing(..) => Vec::new(),
    };
    match (reference, scope) {
        (Reference::Value(path), _) => match value(docs, path) {
            Some(found) => one(found, Scope::Values),
            None => docs.deployment.values.values().map(|template| (template, Scope::Values)).collect(),
        },
        (Reference::Param(path), Scope::Recipe(node)) => params(docs, nodes, node, path),
        (Reference::Manifest(path), Scope::Recipe(node)) => match manifest_params(docs, nodes, node, path) {
            Some(path) => params(docs, nodes, node, &path),
            None => Vec::new(),
        },
        (Reference::Metadata(path), Scope::Workload(index)) => {
            docs.workload(index).map_or_else(Vec::new, |workload| one(below(&workload.metadata, path), scope))
        }
        _ => Vec::new(),
    }
}

/// Visits every placeholder of some templates and of all text that they use, each template once per
/// scope.
pub(crate) fn visit<'a>(
    docs: Docs<'a>,
    nodes: &Nodes,
    mut pending: Vec<(&'a Template, Scope)>,
    see: &mut dyn FnMut(&'a Placeholder, Scope),
) {
    let mut seen: HashSet<(*const Template, Scope)> = HashSet::new();
    while let Some((template, scope)) = pending.pop() {
        template.placeholders(&mut |placeholder| {
            see(placeholder, scope);
            for (template, scope) in behind(docs, nodes, scope, &placeholder.reference) {
                if seen.insert((std::ptr::from_ref(template), scope)) {
                    pending.push((template, scope));
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
    roots: impl Iterator<Item = (&'a Template, Scope)>,
) -> Option<Vec<&'a Placeholder>> {
    type Step<'a> = (&'a Placeholder, &'a Template, Scope);
    let steps = |template: &'a Template, scope: Scope| {
        let mut steps: Vec<Step<'a>> = Vec::new();
        template.placeholders(&mut |placeholder| {
            for (next, scope) in behind(docs, nodes, scope, &placeholder.reference) {
                steps.push((placeholder, next, scope));
            }
        });
        steps
    };
    let id = |template: &'a Template, scope: Scope| (std::ptr::from_ref(template), scope);
    // The number of steps below each text that is known to end.
    let mut depths = std::collections::HashMap::new();
    for (root, scope) in roots {
        // The path down: what is left to visit, how it was entered, and its depth so far.
        let mut way = vec![(id(root, scope), None, steps(root, scope), 0_usize)];
        let mut active = HashSet::from([id(root, scope)]);
        if depths.contains_key(&id(root, scope)) {
            continue;
        }
        while let Some((here, _, left, depth)) = way.last_mut() {
            let Some((placeholder, next, scope)) = left.pop() else {
                let (here, depth) = (*here, *depth);
                way.pop();
                active.remove(&here);
                depths.insert(here, depth);
                if let Some((_, _, _, above)) = way.last_mut() {
                    *above = (*above).max(depth + 1);
                }
                continue;
            };
            let next_id = id(next, scope);
            let known = depths.get(&next_id).copied();
            if active.contains(&next_id) || known.unwrap_or(0) + way.len() > MAX_DEPTH {
                let from = way.iter().position(|(step, ..)| *step == next_id).unwrap_or(0);
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
                    active.insert(next_id);
                    way.push((next_id, Some(placeholder), steps(next, scope), 0));
                }
            }
        }
    }
    None
}
