//! How values pass between a bundle and its requirements, and whether they can.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use purlin_expression::{READ_ONE_OUTPUT, did_you_mean};
use purlin_model::{Bundle, Diagnostic, Placeholder, Reference, Requirement, Table, Template, ValueKind};

use crate::interface::placeholders;
use crate::known;

/// For how many mistyped names the similar ones are looked for: each search reads all names.
pub(crate) const MOST_HELPED: usize = 100;

/// The requirements whose outputs a template reads.
fn reads(template: &Template) -> Vec<Arc<str>> {
    let named = placeholders(template).into_iter().filter_map(|placeholder| match &placeholder.reference {
        Reference::Named(name, _) => Some(Arc::clone(name)),
        _ => None,
    });
    named.collect()
}

/// The requirements of a bundle, each after those that it takes values from, otherwise by name: the
/// written order means nothing.
///
/// # Errors
/// If some of them take values from each other in a loop.
pub(crate) fn order(requirements: &[Requirement]) -> Result<Vec<usize>, Box<Diagnostic>> {
    let places: HashMap<&str, usize> = (0..).zip(requirements).map(|(at, one)| (&*one.name, at)).collect();
    let needs = |one: &Requirement| -> Vec<usize> {
        let bindings = one.parameters.iter().chain(&one.credentials);
        let names: BTreeSet<Arc<str>> = bindings.flat_map(|binding| reads(&binding.value)).collect();
        // `check` reports a requirement that reads itself.
        let others = names.iter().filter(|name| **name != one.name);
        others.filter_map(|name| places.get(&**name).copied()).collect()
    };
    let needs: Vec<Vec<usize>> = requirements.iter().map(needs).collect();
    let mut waits: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); requirements.len()];
    for (at, needs) in needs.iter().enumerate() {
        for need in needs {
            if let Some(all) = needed_by.get_mut(*need) {
                all.push(at);
            }
        }
    }
    let named = |at: usize| Some((&*requirements.get(at)?.name, at));
    let mut free: BTreeSet<(&str, usize)> =
        waits.iter().enumerate().filter(|(_, left)| **left == 0).filter_map(|(at, _)| named(at)).collect();
    let mut order: Vec<usize> = Vec::with_capacity(requirements.len());
    while let Some((_, next)) = free.pop_first() {
        order.push(next);
        for at in needed_by.get(next).into_iter().flatten() {
            if let Some(left) = waits.get_mut(*at) {
                *left -= 1;
                if *left == 0 {
                    free.extend(named(*at));
                }
            }
        }
    }
    if order.len() < requirements.len() {
        return Err(Box::new(looped(requirements, &needs, &order)));
    }
    Ok(order)
}

fn looped(requirements: &[Requirement], needs: &[Vec<usize>], done: &[usize]) -> Diagnostic {
    let mut way: Vec<usize> = (0..requirements.len()).find(|at| !done.contains(at)).into_iter().collect();
    // Each of the remaining ones needs another one of them, so this leads back to the start.
    let closed = loop {
        let last = way.last().copied().unwrap_or_default();
        let Some(next) = needs.get(last).and_then(|needs| needs.iter().find(|need| !done.contains(need)))
        else {
            break 0;
        };
        if let Some(at) = way.iter().position(|one| one == next) {
            break at;
        }
        way.push(*next);
    };
    let members = &way[closed.min(way.len())..];
    let names = members.iter().chain(members.first()).filter_map(|at| requirements.get(*at));
    let names: Vec<String> = names.map(|one| format!("`{}`", one.name)).collect();
    let message = format!("requirements take values from each other in a loop: {}", names.join(" ← "));
    let fault = Diagnostic::error("requirement-loop", message)
        .help("one of them has to go without the other's output");
    match members.first().and_then(|at| requirements.get(*at)) {
        Some(first) => fault.at(&first.location),
        None => fault,
    }
}

/// Whether everything that a bundle reads exists. The choice of a bundle checks outputs. The graph
/// checks everything else that a definition or a deployment reads.
pub(crate) fn check(bundle: &Bundle, table: &Table, faults: &mut Vec<Diagnostic>) -> bool {
    let before = faults.len();
    let names: HashSet<&str> = bundle.requires.iter().map(|one| &*one.name).collect();
    let bindings = bundle.requires.iter().flat_map(|one| {
        let inner = one.parameters.iter().chain(&one.credentials).map(|binding| &binding.value);
        inner.chain(one.outputs.iter().map(|binding| &binding.value))
    });
    let sources = bundle.parameters.iter().filter_map(|one| one.source.as_ref());
    for placeholder in bindings
        .chain(sources)
        .chain([&bundle.values, &bundle.secrets])
        .chain(&bundle.connection)
        .flat_map(placeholders)
    {
        let is_helped = faults.len() - before < MOST_HELPED;
        faults.extend(fault((bundle, table), &names, placeholder, is_helped));
    }
    for one in &bundle.requires {
        for placeholder in
            one.parameters.iter().chain(&one.credentials).flat_map(|binding| placeholders(&binding.value))
        {
            let is_own = matches!(&placeholder.reference, Reference::Named(name, _) if *name == one.name);
            if is_own {
                let message = format!("`{}` takes a value from itself", one.name);
                let fault = Diagnostic::error("own-output", message).at(&placeholder.location);
                faults.push(fault.help("read an output of another requirement"));
            }
        }
    }
    faults.len() == before
}

fn fault(
    (bundle, table): (&Bundle, &Table),
    names: &HashSet<&str>,
    placeholder: &Placeholder,
    is_helped: bool,
) -> Option<Diagnostic> {
    let unknown = |code, message: String, name: &str, what: &str, known: &mut dyn Iterator<Item = &str>| {
        let fault = Diagnostic::error(code, message).at(&placeholder.location);
        let fault = fault.spanning(placeholder.source().chars().count());
        Some(fault.help(did_you_mean(name, what, known.filter(|_| is_helped))))
    };
    match &placeholder.reference {
        Reference::Param(path) if !bundle.repository.is_empty() => {
            let (part, name) = (path.0.first()?, path.0.get(1)?);
            let setting = known::setting(part);
            if table.declared(bundle, setting, name).is_some() {
                return None;
            }
            let mut known = table.of_kind(ValueKind::Setting(setting)).map(|row| &*row.offered.name);
            let message = format!("`{}` has no {setting} `{name}`", bundle.repository);
            unknown("unknown-parameter", message, name, part, &mut known)
        }
        Reference::Named(name, _) if name.is_empty() => {
            let message = "there are no `outputs` here".to_owned();
            let fault = Diagnostic::error("own-output", message).at(&placeholder.location);
            Some(fault.help(READ_ONE_OUTPUT))
        }
        Reference::Named(name, path) => {
            if names.contains(&**name) {
                if !path.0.is_empty() {
                    return None;
                }
                let fault = Diagnostic::error("own-output", "this reads no output").at(&placeholder.location);
                return Some(fault.help("write `${outputs.NAME}`"));
            }
            let mut known = bundle.requires.iter().map(|one| &*one.name);
            let message = match &*bundle.repository {
                "" => format!("no requirement here is called `{name}`"),
                repository => format!("`{repository}` requires no `{name}`"),
            };
            unknown("unknown-requirement", message, name, "requirements", &mut known)
        }
        _ => None,
    }
}
