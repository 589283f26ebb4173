//! Deploys the documents in the folder `platform`.

use std::sync::Arc;

use futures::StreamExt as _;
use purlin_host::{Input, Purlin, UpOptions, load};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let purlin = Arc::new(Purlin::builder().build());
    let documents = purlin.documents(load(&[Input::Path("platform".into())]), &Default::default())?;
    let mut run = purlin.up(documents, UpOptions::default());
    while let Some(event) = run.next().await {
        println!("{:?}", event?);
    }
    Ok(())
}
