//! The service: takes documents in the body of a request, and responds with a plan or a stream of
//! events.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::post;
use futures::StreamExt as _;
use purlin_host::{
    Compiler, ContextDefaults, Documents, Error, Input, Plan, PlanOptions, Purlin, SourceMap, StateError,
    UpOptions, load,
};
use serde_json::json;

struct Service {
    purlin: Arc<Purlin>,
}

/// The routes of the service. The state is in the folder `state`; `compiler` reads and compiles
/// components.
pub(crate) fn router(state: PathBuf, compiler: impl Compiler + 'static) -> Router {
    let purlin = Purlin::builder().state_folder(state).compiler(Arc::new(compiler)).build();
    let service = Service { purlin: Arc::new(purlin) };
    Router::new().route("/plan", post(plan)).route("/apply", post(apply)).with_state(Arc::new(service))
}

#[derive(serde::Deserialize)]
struct EnvironmentQuery {
    app: Option<String>,
    env: Option<String>,
}

/// The error response: 422 with every fault in the documents, 409 during another deployment, and
/// 500 otherwise.
struct Refusal(Error, SourceMap);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match &self.0 {
            Error::State(StateError::Locked { .. } | StateError::Reserved { .. }) => StatusCode::CONFLICT,
            // The service chose the state, not the sender of the request.
            Error::State(_) => StatusCode::INTERNAL_SERVER_ERROR,
            error if error.is_input() => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let text = self.1.render(self.0.diagnostics(), false, 100);
        let body = json!({"error": self.0, "text": text});
        (status, Json(body)).into_response()
    }
}

impl Service {
    #[allow(clippy::result_large_err, reason = "a refusal holds all faults, and is made once a request")]
    fn documents(&self, query: EnvironmentQuery, body: &Bytes) -> Result<Documents, Refusal> {
        let text = String::from_utf8_lossy(body).into_owned();
        let loaded = load(&[Input::Text { name: "request".into(), text }]);
        let sources = loaded.sources.clone();
        let context = ContextDefaults {
            app: query.app.map(Into::into),
            env: query.env.map(Into::into),
            ..ContextDefaults::default()
        };
        self.purlin.documents(loaded, &context).map_err(|error| Refusal(error, sources))
    }
}

async fn plan(
    State(service): State<Arc<Service>>,
    Query(query): Query<EnvironmentQuery>,
    body: Bytes,
) -> Result<Json<Plan>, Refusal> {
    let documents = service.documents(query, &body)?;
    let plan = service.purlin.plan(&documents, PlanOptions::default()).await;
    Ok(Json(plan.map_err(|error| Refusal(error, documents.sources().clone()))?))
}

/// Streams one event per line, in the JSON of `purlin up --format json`. A caller that disconnects does not
/// stop a running deployment.
async fn apply(
    State(service): State<Arc<Service>>,
    Query(query): Query<EnvironmentQuery>,
    body: Bytes,
) -> Result<Response, Refusal> {
    let documents = service.documents(query, &body)?;
    let sources = documents.sources().clone();
    let mut run = service.purlin.up(documents, UpOptions::default());
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<String>();
    let (begun, refused) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let mut begun = Some(begun);
        while let Some(event) = run.next().await {
            // The status of the response is known with the first event.
            match (event, begun.take()) {
                (Err(error), Some(begun)) => {
                    let _ = begun.send(Some(Refusal(error, sources.clone())));
                }
                (event, first) => {
                    if let Some(begun) = first {
                        let _ = begun.send(None);
                    }
                    let line = match event {
                        Ok(event) => serde_json::to_string(&event),
                        Err(error) => serde_json::to_string(&json!({"error": error})),
                    };
                    let Ok(line) = line else { continue };
                    let _ = sender.send(line + "\n");
                }
            }
        }
    });
    match refused.await {
        Ok(None) => {}
        Ok(Some(refusal)) => return Err(refusal),
        Err(_) => return Ok(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
    }
    let lines = futures::stream::unfold(receiver, |mut receiver| async {
        let line = receiver.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(line), receiver))
    });
    Ok(Body::from_stream(lines).into_response())
}
