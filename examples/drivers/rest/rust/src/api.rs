//! A client of the API: its requests, and the meaning of the responses. Everything that is specific to
//! your API belongs here.

use std::time::Duration;

use purlin_sdk::{Call, Failure};
use purlin_sdk_http::{Client, Request, segment};
use serde::Deserialize;
use serde_json::json;

use crate::schema::{Connection, Region, Values};

/// The maximum number of attempts of a repeatable request. Between attempts, the client waits as long as
/// the server says, or 200 ms, 400 ms and so on.
const ATTEMPTS: u32 = 4;
/// How long to wait before looking again for a deleted project.
const AGAIN: Duration = Duration::from_secs(1);

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
    #[serde(default)]
    pub(crate) owner: String,
}

/// A project that was just created. Its token is shown only now.
#[derive(Deserialize)]
pub(crate) struct Created {
    #[serde(flatten)]
    pub(crate) project: ExistingProject,
    pub(crate) token: Option<String>,
}

/// A page of a list, and the start of the next one.
#[derive(Deserialize)]
struct Page {
    items: Vec<ExistingProject>,
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
    pub(crate) fn create(&self, wanted: &Values, owner: &str) -> Result<Created, Failure> {
        let body = json!({
            "name": wanted.name, "region": wanted.region, "size": wanted.size, "owner": owner,
        });
        let request = self.keyed(Request::post(self.url("/projects"))).json(&body)?;
        self.client.send(request)?.success()?.json()
    }

    pub(crate) fn get(&self, id: &str) -> Result<Option<ExistingProject>, Failure> {
        let answer = self.client.send(Request::get(self.project(id)))?;
        if answer.status == 404 { Ok(None) } else { answer.success()?.json().map(Some) }
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
            let page: Page = self.client.send(request)?.success()?.json()?;
            let own =
                |one: &ExistingProject| one.name == name && one.owner == owner && !known.contains(&one.id);
            if let Some(found) = page.items.into_iter().find(own) {
                return Ok(Some(found));
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
        self.client.send(request)?.success()?.json()
    }

    /// Deletes a project. A missing project is a success. APIs may answer before a project is gone, so
    /// the answer counts only once the project cannot be read any more. Purlin calls again until then.
    pub(crate) fn delete(&self, id: &str) -> Result<(), Failure> {
        let answer = self.client.send(Request::delete(self.project(id)))?;
        if answer.status != 404 {
            answer.success()?;
        }
        match self.get(id)? {
            None => Ok(()),
            Some(_) => Err(Failure::RetryAfter { after: AGAIN, message: "it still exists".to_owned() }),
        }
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
