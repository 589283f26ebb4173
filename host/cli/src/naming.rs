//! Errors about a name that matches no resource, or several.

use purlin_engine as engine;
use purlin_engine::{Misnamed, Role};
use purlin_graph::nearest;
use purlin_model::Key;

use crate::failure::Failure;
use crate::text;

/// The hint for the name of a resource that is not recorded.
const LIST_OF_RESOURCES: &str = "`purlin state list` lists the resources";

/// How many resources are listed.
const SHOWN: usize = 8;

/// How many spellings are suggested.
const SPELLED: usize = 4;

/// The failure for wrong names given to a run.
pub(crate) fn failure(names: &[(Role, Misnamed)]) -> Failure {
    let listing = "`purlin graph` shows the keys of the documents, `purlin state list` those of the state";
    failure_in(names, "the documents or the state", listing)
}

/// The failure for wrong names given to a command that reads no state.
pub(crate) fn failure_of_documents(names: &[(Role, Misnamed)]) -> Failure {
    failure_in(names, "the documents", "`purlin graph` shows the keys")
}

/// The failure for an error of a run that works on recorded resources only.
pub(crate) fn failure_of_records(error: purlin_host::Error) -> Failure {
    match error {
        purlin_host::Error::Engine(engine::Error::Names(names)) => {
            failure_in(&names, "the state", LIST_OF_RESOURCES)
        }
        error => Failure::without_sources(error),
    }
}

/// Adds a hint to the failure for an unknown name: the similar one of the `known` names, or else
/// `listing`.
pub(crate) fn suggest<'a>(
    failure: Failure,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    listing: &str,
) -> Failure {
    failure.hint(match nearest(name, known) {
        Some(near) => format!("did you mean `{}`?", text::line(near)),
        None => listing.to_owned(),
    })
}

fn failure_in(names: &[(Role, Misnamed)], place: &str, listing: &str) -> Failure {
    let mut messages = Vec::new();
    let mut hints = Vec::new();
    for (role, wrong) in names {
        let name = text::line(&wrong.name);
        let named = match role {
            Role::Target => format!("`--target {name}`"),
            Role::Exclude => format!("`--exclude {name}`"),
            Role::Replace => format!("`--replace {name}`"),
            Role::Import => format!("`{name}`"),
        };
        match (wrong.fits.is_empty(), role) {
            (true, Role::Import) => {
                messages.push(format!("no document asks for {named}"));
                hints.push(match near(&wrong.near) {
                    Some(near) => format!("did you mean {near}? Otherwise declare it in a Deployment first"),
                    None => {
                        "declare it in a Deployment first; `purlin graph` shows what the documents ask for"
                            .to_owned()
                    }
                });
            }
            (true, _) => {
                messages.push(format!("{named} names no resource of {place}"));
                hints.push(did_you_mean(wrong).unwrap_or_else(|| listing.to_owned()));
            }
            (false, _) => {
                messages.push(several(&named, wrong));
                hints.push(spelled(wrong));
            }
        }
    }
    hints.dedup();
    hints.into_iter().fold(Failure::input(messages.join("; ")), Failure::hint)
}

/// The failure for the name of a resource that the documents do not request.
pub(crate) fn unrequested(wrong: &Misnamed) -> Failure {
    let name = text::line(&wrong.name);
    match wrong.fits.is_empty() {
        true => Failure::input(format!("no document asks for `{name}`"))
            .hint(did_you_mean(wrong).unwrap_or_else(|| "`purlin graph` shows the keys".to_owned())),
        false => Failure::input(several(&format!("`{name}`"), wrong)).hint(spelled(wrong)),
    }
}

/// The failure for the name of a resource that is not recorded.
pub(crate) fn unrecorded(wrong: &Misnamed, environment: &str) -> Failure {
    let name = text::line(&wrong.name);
    match wrong.fits.is_empty() {
        true => Failure::input(format!("nothing is recorded as `{name}` in {environment}"))
            .hint(did_you_mean(wrong).unwrap_or_else(|| LIST_OF_RESOURCES.to_owned())),
        false => Failure::input(several(&format!("`{name}`"), wrong)).hint(spelled(wrong)),
    }
}

fn several(named: &str, wrong: &Misnamed) -> String {
    let count = wrong.fits.len();
    format!("{named} names {count} resources: {}", listed(&wrong.fits))
}

/// Names that stand for only one of the resources.
fn spelled(wrong: &Misnamed) -> String {
    let names = wrong.fits.iter().take(SPELLED).map(|key| wrong.spelling(key));
    match alternatives(names) {
        Some(names) if wrong.fits.len() <= SPELLED => format!("write {names}"),
        Some(names) => format!("write a longer name, such as {names}"),
        None => "write the key in full".to_owned(),
    }
}

fn did_you_mean(wrong: &Misnamed) -> Option<String> {
    Some(format!("did you mean {}?", near(&wrong.near)?))
}

fn near(keys: &[Key]) -> Option<String> {
    alternatives(keys.iter().map(ToString::to_string))
}

/// `a`, `b` or `c`; `None` if there are none.
pub(crate) fn alternatives(names: impl Iterator<Item = String>) -> Option<String> {
    let names: Vec<String> = names.map(|name| format!("`{}`", text::line(&name))).collect();
    let (last, others) = names.split_last()?;
    Some(if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) })
}

fn listed(keys: &[Key]) -> String {
    let names = keys.iter().take(SHOWN).map(|key| format!("`{}`", text::line(key.as_str())));
    let names = names.collect::<Vec<_>>().join(", ");
    match keys.len().saturating_sub(SHOWN) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}
