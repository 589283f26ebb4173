//! A small service that embeds Purlin to plan and apply.
//!
//! ```text
//! cargo run -p purlin-host --example embed -- 127.0.0.1:8080 ./state
//! curl --data-binary @platform.yaml 'http://127.0.0.1:8080/plan?app=shop&env=dev'
//! curl --data-binary @platform.yaml 'http://127.0.0.1:8080/apply?app=shop&env=dev'
//! ```

mod service;

use std::net::SocketAddr;

use purlin_host::{Worker, serve_worker};

/// The argument with which the service starts itself as a worker that reads and compiles untrusted
/// components, in a process that cannot harm this one.
const WORKER: &str = "compile-component";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some(WORKER) {
        return Ok(serve_worker(std::io::stdin().lock(), std::io::stdout().lock())?);
    }
    serve()
}

#[tokio::main]
async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address: SocketAddr = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".into()).parse()?;
    let state = arguments.next().unwrap_or_else(|| ".purlin".into());
    let compiler = Worker::new(std::env::current_exe()?, [WORKER.into()]);
    let listener = tokio::net::TcpListener::bind(address).await?;
    #[allow(clippy::print_stderr)]
    {
        eprintln!("listening on http://{}", listener.local_addr()?);
    }
    axum::serve(listener, service::router(state.into(), compiler)).await?;
    Ok(())
}
