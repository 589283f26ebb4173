//! Real documents of others: each loads, or is rejected for a real fault.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use purlin_documents::{Input, Loaded, load};
use purlin_model::Reference;

fn corpus() -> Option<PathBuf> {
    purlin_corpus::find("")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

fn codes(loaded: &Loaded) -> Vec<&'static str> {
    loaded
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .map(|diagnostic| diagnostic.code)
        .collect()
}

#[test]
fn every_definition_and_score_file_loads_or_is_rejected_correctly() {
    let Some(corpus) = corpus() else { return };
    let mut found = Vec::new();
    files(&corpus.join("definitions"), &mut found);
    files(&corpus.join("score"), &mut found);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in found {
        let loaded = load(&[Input::Path(path.clone())]);
        let shown = loaded.sources.render(&loaded.diagnostics, false, 100);
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        // Score extension files are not Score files: they are rejected when named.
        if name.starts_with("humanitec.score") {
            assert_eq!(codes(&loaded), ["not-a-document"], "{shown}");
            *counts.entry("extensions").or_default() += 1;
            continue;
        }
        // This one names a file that was not published with it.
        let expected: &[&str] = if name == "score-full.yaml" { &["unreadable-file"] } else { &[] };
        assert_eq!(codes(&loaded), expected, "{}\n{shown}", path.display());
        *counts.entry("definitions").or_default() += loaded.definitions.len();
        *counts.entry("workloads").or_default() += loaded.deployment.workloads.len();
    }
    assert_eq!(counts, BTreeMap::from([("definitions", 74), ("workloads", 28), ("extensions", 16)]));
}

#[test]
fn criteria_that_are_a_map_are_one_criterion() {
    let Some(corpus) = corpus() else { return };
    let path = "definitions/example-library/resource-definitions/terraform-driver/custom-git-config/example-def.yaml";
    let loaded = load(&[Input::Path(corpus.join(path))]);
    assert_eq!(loaded.definitions[0].criteria.len(), 1);
    assert!(loaded.diagnostics.iter().any(|diagnostic| diagnostic.code == "criteria-map"));
}

#[test]
fn every_porter_bundle_is_read() {
    let Some(corpus) = corpus() else { return };
    let mut found = Vec::new();
    files(&corpus.join("porter"), &mut found);
    assert!(found.len() > 5);
    for file in found {
        let loaded = load(&[Input::Path(file.clone())]);
        let shown = loaded.sources.render(&loaded.diagnostics, false, 100);
        assert_eq!(codes(&loaded), [""; 0], "{shown}");
        assert_eq!(loaded.bundles.len(), 1, "{}", file.display());
    }
}

/// How many reference fields manifests have, counting each entry of a list.
fn references(loaded: &Loaded) -> usize {
    let mut count = 0;
    for manifest in &loaded.deployment.manifests {
        manifest.params.placeholders(&mut |placeholder| {
            assert!(matches!(placeholder.reference, Reference::Field(_)), "{placeholder:?}");
            count += 1;
            let place = &placeholder.location;
            let line = loaded.sources.line(&place.file, place.line).expect("a line");
            let rest: String = line.chars().skip(place.column as usize - 1).collect();
            let source = placeholder.source();
            let (_, name) = source.split_once(": ").expect("a name");
            let name = name.rsplit('/').next().unwrap_or(name);
            let rest = rest.trim_start_matches(['"', '\'']);
            assert!(rest.starts_with(name) || name.contains('='), "{place}: {name} in {line}");
        });
    }
    count
}

#[test]
fn every_manifest_loads_by_itself() {
    let Some(corpus) = corpus() else { return };
    let mut found = Vec::new();
    files(&corpus.join("manifests"), &mut found);
    let (mut manifests, mut fields, mut warnings) = (0, 0, BTreeMap::new());
    for path in &found {
        let loaded = load(&[Input::Path(path.clone())]);
        let shown = loaded.sources.render(&loaded.diagnostics, false, 100);
        assert_eq!(codes(&loaded), [""; 0], "{}\n{shown}", path.display());
        manifests += loaded.deployment.manifests.len();
        fields += references(&loaded);
        for diagnostic in &loaded.diagnostics {
            *warnings.entry(diagnostic.code).or_insert(0) += 1;
        }
    }
    assert_eq!((found.len(), manifests, fields), (135, 179, 153));
    assert_eq!(warnings, BTreeMap::from([("no-effect", 17)]));
}

#[test]
fn manifests_that_are_given_twice_are_named() {
    let Some(corpus) = corpus() else { return };
    let loaded = load(&[Input::Path(corpus.join("manifests"))]);
    let errors: Vec<_> = loaded.diagnostics.iter().filter(|fault| fault.is_error()).collect();
    let shown = loaded.sources.render(&loaded.diagnostics, false, 100);
    assert!(
        errors.iter().all(|fault| fault.code == "duplicate-document" && fault.related.len() == 1),
        "{shown}"
    );
    assert_eq!(errors.len(), 12, "{shown}");
    let named = |what: &str| errors.iter().filter(|fault| fault.message.contains(what)).count();
    assert_eq!(named("the ProviderConfig `example` is given twice"), 6);
    assert_eq!(named("the Secret `crossplane-system/my-docdb-creds` is given twice"), 1);
    assert_eq!(named("the BucketPolicy `bucketpolicy-public` is given twice"), 1);
    // Names end where they seem to: spaces after them are ignored.
    let loaded = load(&[Input::Path(corpus.join("manifests/provider-aws/ec2/securitygroup.yaml"))]);
    assert!(format!("{:?}", loaded.deployment.manifests[0].params).contains("\"vpcIdRef: sample-vpc\""));
}

#[test]
fn loaded_documents_have_places_and_placeholders() {
    let Some(corpus) = corpus() else { return };
    let loaded = load(&[Input::Path(corpus.join("definitions/example-library/resource-definitions"))]);
    let mut placeholders = 0;
    for definition in &loaded.definitions {
        let recipe = &definition.recipe;
        let trees = [
            Some(&recipe.values),
            Some(&recipe.secrets),
            recipe.secret_refs.as_ref(),
            recipe.account.as_ref(),
        ];
        for template in trees.into_iter().flatten() {
            template.placeholders(&mut |placeholder| {
                placeholders += 1;
                // The line in its location contains it, at the column in its location.
                let place = &placeholder.location;
                let line = loaded.sources.line(&place.file, place.line).expect("a line");
                let rest: String = line.chars().skip(place.column as usize - 1).collect();
                assert!(
                    rest.starts_with(&*placeholder.source()),
                    "{place}: {} in {line}",
                    placeholder.source()
                );
            });
        }
    }
    assert!(placeholders > 40, "{placeholders}");
}
