//! Reads what the driver that counts its effects created in a project's folder.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// The real objects by the name of the shared resource: the value, and the fixed value.
pub(crate) type Real = BTreeMap<String, (String, String)>;

/// Adds missing params to every thing in documents, so that placeholders find all of them.
pub(crate) fn complete(documents: &str) -> String {
    documents
        .lines()
        .map(|line| {
            let mut line = line.to_owned();
            if line.contains("{type: thing, params: {") {
                for (name, default) in [("fixed", "\"\""), ("first", "false"), ("quiet", "false")] {
                    if !line.contains(&format!("{name}:")) {
                        line = line.replacen("params: {", &format!("params: {{{name}: {default}, "), 1);
                    }
                }
            }
            line + "\n"
        })
        .collect()
}

/// The real objects in a project. Fails if two have the same name.
#[track_caller]
pub(crate) fn real(project: &Path) -> Real {
    let mut real = Real::new();
    for (name, value, fixed) in things(project) {
        let twice = real.insert(name.clone(), (value, fixed));
        assert_eq!(twice, None, "`{name}` is there twice");
    }
    real
}

/// The real objects in a project: the name, value and fixed value of each, sorted.
pub(crate) fn things(project: &Path) -> Vec<(String, String, String)> {
    let mut things = Vec::new();
    let Ok(files) = std::fs::read_dir(project.join("data/things")) else { return things };
    for file in files {
        let text = std::fs::read(file.expect("a file").path()).expect("read");
        let thing: Value = serde_json::from_slice(&text).expect("JSON");
        let urn = thing["urn"].as_str().expect("a URN");
        let name = urn.rsplit("shared.").next().unwrap_or(urn).to_owned();
        let text = |field: &str| thing["values"][field].as_str().unwrap_or_default().to_owned();
        things.push((name, text("value"), text("fixed")));
    }
    things.sort();
    things
}

/// The ids of the real objects, sorted.
pub(crate) fn ids(project: &Path) -> Vec<String> {
    names(&project.join("data/things"))
}

/// The ids of the real objects with a name, sorted.
#[allow(dead_code, reason = "not every test that includes this file uses it")]
pub(crate) fn ids_of(project: &Path, name: &str) -> Vec<String> {
    let things = project.join("data/things");
    let mut ids = names(&things);
    ids.retain(|id| {
        let text = std::fs::read_to_string(things.join(id)).expect("read");
        let thing: Value = serde_json::from_str(&text).expect("JSON");
        thing["urn"].as_str().is_some_and(|urn| urn.ends_with(&format!("shared.{name}")))
    });
    ids
}

/// The number of effects of a kind.
pub(crate) fn effects(project: &Path, what: &str) -> usize {
    names(&project.join("data/effects")).iter().filter(|name| name.starts_with(what)).count()
}

fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> =
        files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
