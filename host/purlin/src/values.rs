//! The values that `${values.K}` reads: those of Deployments, overridden by those of the
//! environment, of files, and of options (SPEC §9).

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use purlin_expression::{is_slip, nearest, or_near};
use purlin_graph::DefinitionIndex;
use purlin_model::{
    Deployment, Diagnostic, GivenValue, Location, Recipe, Reference, Requirement, Sharing, Template, Value,
    ValueOrigin,
};

/// Overrides the values of Deployments with the given ones, in their order.
pub(crate) fn override_values(
    deployment: &mut Deployment,
    given: &mut [GivenValue],
    faults: &mut Vec<Diagnostic>,
) {
    for value in given {
        if value.origin == ValueOrigin::Text {
            match like(deployment.values.get(&value.name), &value.written) {
                Ok(Some(typed)) => {
                    value.template = Template::Constant(Value::from(typed.clone()));
                    value.written = typed;
                }
                Ok(None) => {}
                // The text is not shown, since it may be a secret.
                Err(kind) => faults.push(
                    Diagnostic::error(
                        "value-type",
                        format!("`--set {}` gives text for a value that is {kind}", value.name),
                    )
                    .help(format!(
                        "write {kind}, or `--set {}:=VALUE` for a value of another type",
                        value.name
                    )),
                ),
            }
        }
        deployment.values.insert(value.name.clone(), value.template.clone());
    }
}

/// The text as a value of the same type as another one; `None` if that is neither a number nor a
/// boolean.
fn like(
    before: Option<&Template>,
    written: &serde_json::Value,
) -> Result<Option<serde_json::Value>, &'static str> {
    let (Some(Template::Constant(before)), Some(text)) = (before, written.as_str()) else { return Ok(None) };
    let typed: Option<serde_json::Value> = serde_json::from_str(text).ok();
    match before {
        Value::Bool(_) => typed.filter(serde_json::Value::is_boolean).map(Some).ok_or("a boolean"),
        Value::Number(_) => typed.filter(serde_json::Value::is_number).map(Some).ok_or("a number"),
        _ => Ok(None),
    }
}

/// Remarks about given values that no placeholder reads.
pub(crate) fn unread(
    deployment: &Deployment,
    definition_index: &DefinitionIndex,
    given: &[GivenValue],
    places: &IndexMap<Arc<str>, Location>,
) -> Vec<Diagnostic> {
    if given.is_empty() && places.is_empty() {
        return Vec::new();
    }
    let Some(read) = names(deployment, definition_index) else { return Vec::new() };
    let mut remarks = written(deployment, &read, places);
    let mut seen = BTreeSet::new();
    for value in given {
        if read.contains(&value.name) || !seen.insert(value.name.clone()) {
            continue;
        }
        let near = nearest(&value.name, read.iter().map(|name| &**name));
        match value.origin {
            ValueOrigin::Text | ValueOrigin::Typed => {
                let message = format!("no placeholder reads `values.{}`, which `--set` gives", value.name);
                let remark = match near {
                    Some(_) => Diagnostic::error("unread-value", message),
                    None => Diagnostic::warning("unread-value", message),
                };
                let otherwise = format!("leave out `--set {0}`, or read it as `${{values.{0}}}`", value.name);
                remarks.push(remark.help(or_near(near, &otherwise)));
            }
            // A file or an environment may serve several sets of documents.
            ValueOrigin::File | ValueOrigin::Environment => {
                if let Some(near) = near {
                    let message = format!("no placeholder reads `values.{}`", value.name);
                    // It is probably a misspelling of a value that is not given.
                    let slip = is_slip(&value.name, near) && !given.iter().any(|other| *other.name == *near);
                    let remark = match slip {
                        true => Diagnostic::error("unread-value", message),
                        false => Diagnostic::warning("unread-value", message),
                    };
                    remarks.push(
                        remark
                            .at(&value.location)
                            .spanning(value.name.chars().count())
                            .help(format!("did you mean `{near}`?")),
                    );
                }
            }
        }
    }
    remarks
}

/// Remarks about values of the Deployments that no placeholder reads. A map in the form of a
/// resource is an error: it would not be one here.
fn written(
    deployment: &Deployment,
    read: &BTreeSet<Arc<str>>,
    places: &IndexMap<Arc<str>, Location>,
) -> Vec<Diagnostic> {
    let unread = places.iter().filter(|(name, _)| !read.contains(*name));
    let remark = |(name, place): (&Arc<str>, &Location)| {
        let remark = match deployment.values.get(name).is_some_and(is_request) {
            true => {
                let message = format!("`{name}` is inside `values`, where it has no effect");
                let help =
                    format!("a resource belongs in `shared`; a value is read with `${{values.{name}}}`");
                Diagnostic::error("misplaced-field", message).help(help)
            }
            false => {
                let near = nearest(name, read.iter().map(|name| &**name));
                let message = format!("no placeholder reads `values.{name}`");
                let otherwise = format!("remove it, or read it as `${{values.{name}}}`");
                Diagnostic::warning("unread-value", message).help(or_near(near, &otherwise))
            }
        };
        remark.at(place).spanning(name.chars().count())
    };
    unread.map(remark).collect()
}

/// Whether a value has the form of a resource: a map with a `type`, and nothing that a resource does
/// not have.
fn is_request(value: &Template) -> bool {
    const KNOWN: [&str; 5] = ["type", "class", "id", "params", "metadata"];
    let keys: Vec<&str> = match value {
        Template::Map(entries) => entries.keys().map(|key| &**key).collect(),
        Template::Constant(Value::Map(entries)) => entries.keys().map(|key| &**key).collect(),
        _ => return false,
    };
    keys.contains(&"type") && keys.iter().all(|key| KNOWN.contains(key))
}

/// The names of the values that placeholders read; `None` if a placeholder reads all of them.
pub(crate) fn names(
    deployment: &Deployment,
    definition_index: &DefinitionIndex,
) -> Option<BTreeSet<Arc<str>>> {
    let mut read = BTreeSet::new();
    let mut all = false;
    let mut look = |template: &Template| {
        template.placeholders(&mut |placeholder| {
            if let Reference::Value(path) = &placeholder.reference {
                match path.0.first() {
                    Some(name) => {
                        read.insert(name.clone());
                    }
                    None => all = true,
                }
            }
        });
    };
    for definition in definition_index.definitions() {
        recipe(&definition.recipe, &mut look);
    }
    deployment.values.values().for_each(&mut look);
    for workload in &deployment.workloads {
        look(&workload.metadata);
        look(&workload.spec);
        workload.resources.iter().filter_map(|request| request.params.as_deref()).for_each(&mut look);
    }
    deployment.shared.iter().filter_map(|request| request.params.as_deref()).for_each(&mut look);
    deployment.requires.iter().for_each(|one| requirement(one, &mut look));
    (!all).then_some(read)
}

fn requirement(requirement: &Requirement, look: &mut dyn FnMut(&Template)) {
    let bindings = requirement.parameters.iter().chain(&requirement.credentials);
    bindings.for_each(|binding| look(&binding.value));
    if let Sharing::Group(group) = &requirement.sharing {
        look(group);
    }
}

fn recipe(recipe: &Recipe, look: &mut dyn FnMut(&Template)) {
    recipe.templates().for_each(&mut *look);
    recipe.requires.iter().for_each(|one| requirement(one, look));
    recipe.provision.iter().filter_map(|provision| provision.params.as_deref()).for_each(look);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_takes_the_type_of_the_value_it_replaces() {
        let number = Template::Constant(Value::from(json!(2)));
        let truth = Template::Constant(Value::from(json!(false)));
        let text = Template::Constant(Value::from(json!("1")));
        assert_eq!(like(Some(&number), &json!("3")), Ok(Some(json!(3))));
        assert_eq!(like(Some(&number), &json!("three")), Err("a number"));
        assert_eq!(like(Some(&truth), &json!("true")), Ok(Some(json!(true))));
        assert_eq!(like(Some(&truth), &json!("1")), Err("a boolean"));
        // A version or a commit hash is not a number, even if it looks like one.
        assert_eq!(like(Some(&text), &json!("1.10")), Ok(None));
        assert_eq!(like(None, &json!("0123456")), Ok(None));
    }
}
