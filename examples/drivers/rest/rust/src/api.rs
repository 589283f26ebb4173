//! A client of the API: its requests, and the meaning of the responses. Everything that is specific to
//! your API belongs here.

use std::time::Duration;

use purlin_sdk::{Call, Failure};
use purlin_sdk_http::{Client, Request, Response, segment};
use serde::Deserialize;
use serde_json::json;

use crate::schema::{Connection, Region, Values};

/// The maximum number of attempts of a repeatable request. Between attempts, the client waits as long as
/// the server says, or 200 ms, 400 ms and so on.
const ATTEMPTS: u32 = 4;
/// How long to wait before looking again at a project that is not ready, or not gone, if the API does not say.
const AGAIN: Duration = Duration::from_secs(1);
/// What `status` is while the API works on a project. Return a failure if it says that this went wrong.
const BUSY: [&str; 3] = ["creating", "updating", "deleting"];

/// A client for one call of the driver.
pub(crate) struct Api {
    client: Client,
    server: String,
    key: String,
}

/// A project as the API returns it.
#[derive(Deserialize)]
pub(crate) struct ExistingProject {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) region: Region,
    pub(crate) size: u32,
    /// The resource that it belongs to. Names are not unique.
    pub(crate) owner: Option<String>,
    /// Only in the response that creates the project.
    pub(crate) token: Option<String>,
    status: Option<String>,
    /// When it makes sense to look again, if the API is still working on it.
    #[serde(skip)]
    pub(crate) busy: Option<Duration>,
}

/// A page of a list, and the start of the next one.
#[derive(Deserialize)]
struct Page {
    /// A page without any may have null. A list that lacks the field is not one.
    #[serde(deserialize_with = "Option::deserialize")]
    items: Option<Vec<ExistingProject>>,
    after: Option<String>,
}

impl Api {
    pub(crate) fn new(connection: &Connection, call: &Call) -> Self {
        Self::with_client(Client::new(call), connection, call)
    }

    /// The same with another HTTP client, for tests.
    pub(crate) fn with_client(client: Client, connection: &Connection, call: &Call) -> Self {
        let client = client
            .reason("to manage projects")
            .patience(ATTEMPTS)
            .header("authorization", format!("Bearer {}", connection.token));
        let server = connection.server.trim_end_matches('/').to_owned();
        Self { client, server, key: call.idempotency_key.clone() }
    }

    /// Creates a project. The key makes it safe to send this twice.
    pub(crate) fn create(&self, wanted: &Values, owner: &str) -> Result<ExistingProject, Failure> {
        let body = json!({
            "name": wanted.name, "region": wanted.region, "size": wanted.size, "owner": owner,
        });
        let request = self.keyed(Request::post(self.url("/projects"))).json(&body)?;
        project(&self.client.send(request)?.success()?)
    }

    pub(crate) fn get(&self, id: &str) -> Result<Option<ExistingProject>, Failure> {
        let answer = self.client.send(Request::get(self.project(id)))?;
        if answer.status == 404 { Ok(None) } else { project(&answer.success()?).map(Some) }
    }

    /// Looks for a project of this resource by its name, in all pages of the list. Ids in `known`
    /// belong to others.
    pub(crate) fn find(
        &self,
        name: &str,
        owner: &str,
        known: &[String],
    ) -> Result<Option<ExistingProject>, Failure> {
        let mut after = None::<String>;
        loop {
            let mut request = Request::get(self.url("/projects")).query("name", name);
            if let Some(after) = &after {
                request = request.query("after", after);
            }
            let answer = self.client.send(request)?.success()?;
            let page: Page = answer.json()?;
            let own = |one: &ExistingProject| {
                one.name == name && one.owner.as_deref() == Some(owner) && !known.contains(&one.id)
            };
            if let Some(found) = page.items.into_iter().flatten().find(own) {
                return Ok(Some(found.answered_by(&answer)));
            }
            // APIs end a list without `after`, with null, with an empty text, or with the same `after` again.
            match page.after {
                Some(next) if !next.is_empty() && after.as_ref() != Some(&next) => after = Some(next),
                _ => return Ok(None),
            }
        }
    }

    /// Changes a project in place.
    pub(crate) fn update(&self, id: &str, wanted: &Values) -> Result<ExistingProject, Failure> {
        let body = json!({"size": wanted.size});
        let request = self.keyed(Request::patch(self.project(id))).json(&body)?;
        project(&self.client.send(request)?.success()?)
    }

    /// Deletes a project. A missing project is a success. APIs may answer before a project is gone, so
    /// until it cannot be read any more it is pending: Purlin calls again.
    pub(crate) fn delete(&self, id: &str) -> Result<(), Failure> {
        let answer = self.client.send(Request::delete(self.project(id)))?;
        if !answer.is_success() && answer.status != 404 {
            return Err(answer.failure());
        }
        if answer.status != 202 && self.get(id)?.is_none() {
            return Ok(());
        }
        Err(Failure::pending(answer.retry_after().unwrap_or(AGAIN), "it still exists"))
    }

    /// The request with the call's key, which makes it safe to send it twice.
    fn keyed(&self, request: Request) -> Request {
        request.header("idempotency-key", &self.key).repeatable()
    }

    fn project(&self, id: &str) -> String {
        self.url(&format!("/projects/{}", segment(id)))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }
}

/// The project in a response.
fn project(answer: &Response) -> Result<ExistingProject, Failure> {
    Ok(answer.json::<ExistingProject>()?.answered_by(answer))
}

impl ExistingProject {
    /// With the time after which to look again, if it is not ready.
    fn answered_by(mut self, answer: &Response) -> Self {
        let is_busy = self.status.as_deref().is_some_and(|status| BUSY.contains(&status));
        if answer.status == 202 || is_busy {
            self.busy = Some(answer.retry_after().unwrap_or(AGAIN));
        }
        self
    }
}
