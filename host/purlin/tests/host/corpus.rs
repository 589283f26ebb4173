//! The documented graph patterns of third-party definitions result in the graphs that their
//! documentation describes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use purlin_documents::{Input, load};
use purlin_host::{Documents, Purlin};
use purlin_model::ContextDefaults;

fn pattern(name: &str) -> Option<PathBuf> {
    purlin_corpus::find(&format!("definitions/example-library/resource-graph-patterns/{name}"))
}

/// The edges of the graph, each as `from -> to`, without the class `default`.
async fn edges(documents: &Documents) -> BTreeSet<String> {
    let state = tempfile::tempdir().expect("a folder");
    let purlin = Purlin::builder().state_folder(state.path().join("state")).build();
    let graph = purlin.graph(documents).await.unwrap_or_else(|error| panic!("{error:?}"));
    let name = |id| graph.key(id).map_or_else(String::new, |key| key.to_string().replace(".default#", "#"));
    graph.edges().map(|edge| format!("{} -> {}", name(edge.from), name(edge.to))).collect()
}

fn documents(folder: &Path, app: &str, change: impl Fn(String) -> String) -> Documents {
    let mut inputs = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("a folder").filter_map(Result::ok).collect();
    files.sort_by_key(std::fs::DirEntry::path);
    for file in files {
        let text = std::fs::read_to_string(file.path()).expect("text");
        inputs
            .push(Input::Text { name: file.file_name().to_string_lossy().into_owned(), text: change(text) });
    }
    let context = ContextDefaults { app: Some(app.into()), ..ContextDefaults::default() };
    Documents::new(load(&inputs), &context, None, "1").unwrap_or_else(|error| panic!("{error:?}"))
}

fn set(edges: &[&str]) -> BTreeSet<String> {
    edges.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_class_is_propagated() {
    let Some(folder) = pattern("propagate-class") else { return };
    for class in ["one", "two"] {
        let change = |text: String| text.replace("    class: one", &format!("    class: {class}"));
        // Only the Score file has a class at that indentation; in definitions it begins with a
        // dash.
        let documents = documents(&folder, "example-propagate-class", change);
        assert_eq!(
            edges(&documents).await,
            set(&[
                &format!(
                    "workload#modules.example-workload -> s3.{class}#modules.example-workload.externals.my-s3"
                ),
                &format!("s3.{class}#modules.example-workload.externals.my-s3 -> config.{class}#example"),
            ])
        );
    }
}

#[tokio::test]
async fn an_id_is_propagated() {
    let Some(folder) = pattern("propagate-id") else { return };
    let documents = documents(&folder, "example-propagate-id", |text| text);
    assert_eq!(
        edges(&documents).await,
        set(&["workload#modules.example-workload -> k8s-service-account#modules.example-workload"])
    );
}

#[tokio::test]
async fn a_cycle_is_broken_by_an_additional_resource() {
    let Some(folder) = pattern("break-a-loop-additional-resource") else { return };
    let documents = documents(&folder, "example-break-a-loop-additional-resource", |text| text);
    let id = "#modules.example-workload";
    assert_eq!(
        edges(&documents).await,
        set(&[
            &format!("workload{id} -> k8s-service-account{id}"),
            &format!("k8s-service-account{id} -> aws-role{id}"),
            &format!("k8s-service-account{id} -> config.sa-name-role-id{id}"),
            &format!("aws-role{id} -> config.sa-name-role-id{id}"),
        ])
    );
}
