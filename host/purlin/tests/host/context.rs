//! The checks of the recorded context also apply to programs that embed Purlin.

use futures::StreamExt as _;
use purlin_documents::{Input, load};
use purlin_host::{ContextChanges, Documents, Error, Purlin};
use purlin_model::ContextDefaults;

const DOCUMENTS: &str = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: dns}
spec:
  type: dns
  driver: purlin/echo
  inputs: {values: {host: '${values.host}', kind: '${context.env.type}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  app: shop
  values: {host: www}
  shared: {www: {type: dns}}
";

fn documents(kind: &str, set: Option<&str>) -> Documents {
    let mut loaded = load(&[Input::Text { name: "shop.yaml".into(), text: DOCUMENTS.into() }]);
    if let Some(host) = set {
        loaded.set_text("host", host);
    }
    let context = ContextDefaults { env_type: Some(kind.into()), ..ContextDefaults::default() };
    Documents::new(loaded, &context, None, &format!("{kind}-{set:?}")).expect("documents")
}

async fn deploy(purlin: &Purlin, documents: &Documents) -> Result<(), Error> {
    let session = purlin.begin(&documents.environment()).await?;
    let plan = session.plan(documents, Default::default()).await?;
    let mut run = session.deploy(plan, Some(documents), Default::default()).await?;
    while run.next().await.is_some() {}
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_type_must_be_confirmed() {
    let folder = tempfile::tempdir().expect("a folder");
    let purlin = Purlin::builder().state_folder(folder.path().join("state")).build();
    let first = documents("production", Some("set"));
    deploy(&purlin, &first).await.expect("deployed");
    let last = purlin.last_deployed(&first.environment()).await.expect("read").expect("deployed");
    assert_eq!(&*last.context().expect("a context").env.kind, "production");
    assert_eq!(&*last.sources().expect("texts").first().expect("one").name, "shop.yaml");
    // The archived values come with the archived documents.
    let then = last.documents("again").expect("documents");
    assert_eq!(then.deployment().values.get("host"), first.deployment().values.get("host"));

    let forgotten = deploy(&purlin, &documents("production", None)).await.expect_err("refused");
    assert_eq!(forgotten.diagnostics().first().map(|fault| fault.code), Some("value-not-given"));
    let mut other = documents("development", Some("other"));
    let refused = deploy(&purlin, &other).await.expect_err("refused");
    assert!(refused.is_input());
    assert_eq!(refused.diagnostics().first().map(|fault| fault.code), Some("env-type-changed"));
    other.changes = ContextChanges { env_type: true, ..ContextChanges::default() };
    deploy(&purlin, &other).await.expect("deployed");
    let refused = deploy(&purlin, &first).await.expect_err("refused");
    assert_eq!(refused.diagnostics().first().map(|fault| fault.code), Some("env-type-changed"));
}
