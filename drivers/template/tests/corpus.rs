//! Every definition of the corpus that uses the driver renders, with sample values for those of the
//! graph, except definitions with their own fault.

use std::fs;
use std::path::{Path, PathBuf};

use purlin_driver_template::Template;
use purlin_sdk::{Failure, testing};
use serde_json::{Value as Json, json};

/// Definitions with their own fault, and the error about it.
const FAULTY: [(&str, &str); 3] = [
    ("break-a-loop-additional-resource/def-workload.yaml", "comment not terminated"),
    ("propagate-id/def-workload.yaml", "comment not terminated"),
    ("break-a-loop-additional-resource/def-aws-role.yaml", "`.drivers.role_arn` has no value"),
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

/// The sample value of a placeholder.
fn stand_in(placeholder: &str) -> &str {
    match placeholder {
        "context.res.id" => "modules.web.externals.thing",
        "context.env.id" => "development",
        "context.app.id" => "shop",
        _ => "stand-in",
    }
}

fn filled(value: &mut Json) {
    match value {
        Json::String(text) => {
            while let Some(start) = text.find("${") {
                let end = text[start..].find('}').map_or(text.len(), |end| start + end + 1);
                let with = stand_in(text[start + 2..end].trim_end_matches('}')).to_owned();
                text.replace_range(start..end, &with);
            }
        }
        Json::Array(items) => items.iter_mut().for_each(filled),
        Json::Object(entries) => entries.values_mut().for_each(filled),
        _ => {}
    }
}

#[test]
fn every_definition_of_the_corpus_renders() {
    let Some(folder) = purlin_corpus::find("definitions") else { return };
    let mut all = Vec::new();
    files(&folder, &mut all);
    let spec = json!({
        "containers": {"main": {"image": "x"}},
        "deployment": {"annotations": {"a": "1"}}, "pod": {"annotations": {"b": "2"}},
        "service": {"ports": {"www": {"port": 80}}, "annotations": {"c": "3"}},
    });
    let (mut rendered, mut faulty) = (0, 0);
    for path in all {
        let text = fs::read_to_string(&path).expect("readable");
        for document in serde_saphyr::from_multiple::<Json>(&text).unwrap_or_default() {
            let body = document.get("entity").or_else(|| document.get("object")).unwrap_or(&document);
            if body["driver_type"] != "humanitec/template" {
                continue;
            }
            let mut inputs = body["driver_inputs"].clone();
            filled(&mut inputs);
            for params in [
                json!({"id": "web", "spec": spec}),
                json!({"id": "web", "spec": {"containers": {"main": {}}}}),
            ] {
                inputs["params"] = params;
                let given = testing::inputs(&inputs);
                let checked = testing::check::<Template>(given.clone(), None).map(drop);
                let made = checked.and_then(|()| testing::create::<Template>(given));
                let known = FAULTY.iter().find(|(name, _)| path.ends_with(name));
                match (made, known) {
                    (Ok(state), None) => {
                        rendered += 1;
                        let empty = state.outputs.is_empty() && state.manifests.is_empty();
                        let only_for_services = path.ends_with("servicemonitor-workload-def.yaml");
                        assert!(!empty || only_for_services, "{} makes nothing", path.display());
                    }
                    (Err(Failure::InvalidInputs(faults)), Some((_, wanted))) => {
                        faulty += 1;
                        assert!(
                            faults[0].message.contains(wanted),
                            "{}: {}",
                            path.display(),
                            faults[0].message
                        );
                    }
                    (Err(failure), None) => panic!("{}: {failure}", path.display()),
                    (result, Some(_)) => {
                        panic!("{}: {:?}", path.display(), result.map(|state| state.outputs))
                    }
                }
            }
        }
    }
    assert_eq!(faulty, 2 * FAULTY.len());
    assert!(rendered >= 50, "only {rendered} rendered");
}
