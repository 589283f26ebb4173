//! A folder with documents and real objects, and a program that embeds Purlin in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt as _;
use purlin_host::{
    ContextDefaults, Documents, Error, Event, InProcess, Input, Loaded, Phase, Purlin, Summary, UpOptions,
    load,
};

/// A secret input of every `odd` resource.
pub(crate) const SECRET: &str = "correct-horse";

/// `thing` has an object whose effects are counted, and holds data if `data` is true; `odd` does
/// what its params say, good or bad; `note` is a file.
const PLATFORM: &str = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: thing}
spec:
  type: thing
  driver: acme/ledger
  inputs: {values: {value: '${params.value}', fixed: '${params.fixed}', data: '${params.data}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: odd}
spec:
  type: odd
  driver: acme/guests
  inputs: {values: {do: '${params.do}'}, secrets: {password: '${params.password}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: ResourceType
spec:
  type: odd
  params: {type: object, properties: {password: {type: string, x-secret: true}}}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: note}
spec:
  type: note
  driver: purlin/file
  inputs: {values: {path: '/data/${context.res.id}.txt', content: '${params.text}'}}
  criteria: [{}]
";

pub(crate) struct ProjectFolder {
    folder: tempfile::TempDir,
}

impl ProjectFolder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("data")).expect("a folder");
        let mut workspace = String::from(
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {app: shop, env: dev}\n  drivers:\n",
        );
        let components = PathBuf::from(std::env::var_os("PURLIN_DRIVERS_DIR").expect("built drivers"));
        for (driver, component) in [("acme/ledger", "ledger"), ("acme/guests", "guests"), ("purlin/file", "")]
        {
            workspace.push_str(&format!("    {driver}:\n"));
            if !component.is_empty() {
                let component = components.join(format!("{component}.wasm"));
                workspace.push_str(&format!("      source: {}\n", component.display()));
            }
            workspace.push_str("      grants: {dirs: [{host: ./data, guest: /data, mode: rw}]}\n");
        }
        std::fs::write(folder.path().join("purlin.yaml"), workspace).expect("written");
        std::fs::write(folder.path().join("platform.yaml"), PLATFORM).expect("written");
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Reads the documents, with these shared resources: lines `name: {type, params}`.
    pub(crate) fn load(&self, shared: &str) -> Loaded {
        let mut text = String::from("apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared:\n");
        shared.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
        std::fs::write(self.path().join("app.yaml"), text).expect("written");
        load(&[Input::Path(self.path().into())])
    }

    /// The embedded orchestrator.
    pub(crate) fn purlin(&self) -> Arc<Purlin> {
        let workspace = self.load("").workspace.expect("a workspace");
        let purlin = Purlin::builder()
            .workspace(workspace)
            .cache_folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .compiler(Arc::new(InProcess))
            .parallelism(1)
            .build();
        Arc::new(purlin)
    }

    pub(crate) fn documents(&self, purlin: &Purlin, shared: &str) -> Documents {
        purlin.documents(self.load(shared), &ContextDefaults::default()).expect("documents")
    }

    /// The number of objects that exist for `thing`.
    pub(crate) fn things(&self) -> usize {
        std::fs::read_dir(self.path().join("data/things")).map_or(0, Iterator::count)
    }
}

/// All events of a run, and how it ended.
pub(crate) async fn up(
    purlin: &Arc<Purlin>,
    documents: Documents,
    options: UpOptions,
) -> Result<(Vec<Event>, Summary), Error> {
    let (mut events, mut run) = (Vec::new(), purlin.up(documents, options));
    while let Some(event) = run.next().await {
        match event? {
            Event::Summary(summary) => {
                assert!(run.next().await.is_none(), "the summary is the last event");
                return Ok((events, summary));
            }
            event => events.push(event),
        }
    }
    panic!("a run without an end")
}

/// What happened to shared resources, as `ACTION NAME`, in order.
pub(crate) fn done(events: &[Event]) -> Vec<String> {
    let done = |event: &Event| match event {
        Event::Resource { key, phase: Phase::Succeeded { done, .. }, .. } => {
            Some(format!("{} {}", done.as_str(), key.id().strip_prefix("shared.")?))
        }
        _ => None,
    };
    events.iter().filter_map(done).collect()
}
