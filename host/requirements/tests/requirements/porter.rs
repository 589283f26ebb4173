//! Bundles of other projects, read from their folders beside this project.

use std::path::PathBuf;

use purlin_documents::Input;
use purlin_model::{Diagnostic, RequirementContext};
use purlin_requirements::{Catalog as _, Folders};

use crate::support::{errors, names, read, resolved};

fn corpus() -> Option<(Folders, PathBuf)> {
    let folder = purlin_corpus::find("porter")?;
    let (catalog, faults) = read(&[Input::Path(folder.clone())]);
    let faults: Vec<_> = faults.into_iter().filter(Diagnostic::is_error).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    Some((catalog, folder))
}

#[test]
fn every_bundle_is_read() {
    let Some((catalog, folder)) = corpus() else { return };
    let mut open = vec![folder];
    let mut written = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            written += usize::from(path.file_name().is_some_and(|name| name == "porter.yaml"));
            open.extend(path.is_dir().then_some(path));
        }
    }
    let read: usize = catalog
        .repositories()
        .iter()
        .map(|name| futures::executor::block_on(catalog.tags(name)).expect("answers").len())
        .sum();
    assert!(written > 5 && read > 5, "{read} of {written}");
}

#[test]
fn a_bundle_with_a_database_needs_one() {
    let Some((catalog, _)) = corpus() else { return };
    let resolution = resolved(&catalog, "localhost:5000/wordpress:v0.1.4", &RequirementContext::default());
    assert_eq!(errors(&resolution), [""; 0]);
    assert_eq!(names(&resolution), ["root/mysql", "root"]);
    let missing: Vec<&str> = resolution.unmapped.iter().map(|one| &*one.name).collect();
    assert_eq!(missing, ["wordpress-password"]);
    assert!(resolution.root().expect("resolved").bundle.has_steps);
}

#[test]
fn a_wire_between_two_requirements_orders_them() {
    let Some((catalog, _)) = corpus() else { return };
    let resolution = resolved(&catalog, "localhost:5000/wiring-top:v0.1.0", &RequirementContext::default());
    assert_eq!(errors(&resolution), [""; 0]);
    assert_eq!(names(&resolution), ["root/infra", "root/app", "root"]);
}
