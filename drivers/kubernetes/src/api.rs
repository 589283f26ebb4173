//! Talks to an API server: requests within the call, and the meaning of its answers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use purlin_sdk::{Call, Failure, Json};
use purlin_sdk_http::{Client, Request, Response};

use crate::discovery::ResourceKinds;
use crate::inputs::KubernetesInputs;

/// Attempts at a request that may be repeated; all requests of this driver may.
const ATTEMPTS: u32 = 4;
/// Bytes of the largest answer. etcd stores no object of more than 1.5 MiB.
const LARGEST: usize = 8 << 20;

/// An API server, within one call.
pub(crate) struct Api {
    pub(crate) client: Client,
    server: String,
    manager: String,
    /// The kinds of API versions that this call has read; none for one that the server lacks.
    pub(crate) known: RefCell<BTreeMap<String, Option<ResourceKinds>>>,
}

/// An error answer of an API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) causes: Vec<Blame>,
    after: Option<Duration>,
}

/// One cause of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blame {
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) field: String,
}

/// Why a request failed.
pub(crate) enum Trouble {
    /// The API server rejected it.
    Refused(Box<Refusal>),
    /// No API server answered; whether the request was carried out may be unknown.
    Silent {
        /// The failure of the call.
        failure: Failure,
        /// Whether the request may have been carried out all the same.
        lost: bool,
        /// Whether there is simply nothing at this path.
        no_path: bool,
    },
}

impl Api {
    /// The API server of some inputs.
    pub(crate) fn new(inputs: &KubernetesInputs, call: &Call) -> Self {
        let mut client = Client::new(call)
            .patience(ATTEMPTS)
            .largest(LARGEST)
            .reason("to manage the objects of the inputs")
            .header("accept", "application/json");
        let connection = &inputs.connection;
        if let Some(token) = &connection.token {
            client = client.header("authorization", format!("Bearer {token}"));
        } else if let (Some(user), Some(password)) = (&connection.username, &connection.password) {
            let basic = Request::get("").basic(user, password);
            client = client.header("authorization", basic.get_header("authorization").unwrap_or_default());
        }
        Self {
            client,
            server: connection.server.clone(),
            manager: inputs.values.field_manager.clone(),
            known: RefCell::default(),
        }
    }

    /// The object at a path; none if there is nothing.
    pub(crate) fn get(&self, path: &str) -> Result<Option<Json>, Trouble> {
        match self.send(Request::get(self.url(path))) {
            Ok(found) => Ok(Some(found)),
            Err(Trouble::Refused(refusal)) if refusal.code == 404 => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Applies an object with server-side apply. A rehearsal changes nothing.
    pub(crate) fn apply(&self, path: &str, object: &Json, how: Apply<'_>) -> Result<Json, Trouble> {
        let mut request = Request::patch(self.url(path))
            .query("fieldManager", how.manager.unwrap_or(&self.manager))
            .query("force", if how.force { "true" } else { "false" })
            .query("fieldValidation", "Strict");
        if how.rehearse {
            request = request.query("dryRun", "All");
        }
        // JSON is YAML. Applying the same object again changes nothing.
        let request = request.header("content-type", "application/apply-patch+yaml").repeatable();
        let request = request.json(object).map_err(Trouble::unsent)?;
        self.send(request)
    }

    /// Deletes the object at a path, if it still has this uid.
    pub(crate) fn delete(&self, path: &str, uid: &str, policy: &str) -> Result<(), Trouble> {
        let options = serde_json::json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "propagationPolicy": policy, "preconditions": {"uid": uid},
        });
        let request = Request::delete(self.url(path)).repeatable().json(&options);
        let request = request.map_err(Trouble::unsent)?;
        match self.send(request) {
            Ok(_) => Ok(()),
            Err(Trouble::Refused(refusal)) if refusal.code == 404 => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// The pods that a selector finds; none if the driver may not see them.
    pub(crate) fn pods(&self, namespace: &str, selector: &str) -> Vec<Json> {
        let path = format!("/api/v1/namespaces/{}/pods", purlin_sdk_http::segment(namespace));
        let request = Request::get(self.url(&path)).query("labelSelector", selector).query("limit", "50");
        let mut found = self.send(request).unwrap_or_default();
        match found.get_mut("items").map(Json::take) {
            Some(Json::Array(pods)) => pods,
            _ => Vec::new(),
        }
    }

    /// The classes of volumes; `None` if they cannot be read. The list is read rather than one class:
    /// that a class is missing is no failure of the server.
    pub(crate) fn storage_classes(&self) -> Option<Vec<Json>> {
        let request = Request::get(self.url("/apis/storage.k8s.io/v1/storageclasses")).query("limit", "500");
        match self.send(request).ok()?.get_mut("items").map(Json::take) {
            Some(Json::Array(classes)) => Some(classes),
            _ => None,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }

    fn send(&self, request: Request) -> Result<Json, Trouble> {
        let answer = self.client.send(request).map_err(|error| {
            let lost = error.is_lost();
            Trouble::Silent { failure: error.into(), lost, no_path: false }
        })?;
        if answer.is_success() {
            return answer.json().map_err(|failure| Trouble::Silent { failure, lost: true, no_path: false });
        }
        Err(refused(&answer))
    }
}

/// How to apply an object.
#[derive(Clone, Copy, Default)]
pub(crate) struct Apply<'a> {
    /// A manager other than that of the inputs.
    pub(crate) manager: Option<&'a str>,
    /// Takes fields from other managers.
    pub(crate) force: bool,
    /// Only reports the result.
    pub(crate) rehearse: bool,
}

fn refused(answer: &Response) -> Trouble {
    let status: Json = answer.json().unwrap_or_default();
    if status.get("kind").and_then(Json::as_str) != Some("Status") {
        // This is a proxy, or no API server at all; but an API server without such an API also
        // answers without a Status.
        let failure = match (answer.status, answer.failure()) {
            (401 | 403, _) => {
                Failure::Failed(answer.problem(format!("{}; are the credentials right?", answer.message())))
            }
            // An answer that is not from an API server says nothing about the object.
            (_, Failure::NotFound(mut problem)) => {
                problem.message.push_str("; is `connection.server` the API server?");
                Failure::Failed(problem)
            }
            (_, failure) => failure,
        };
        return Trouble::Silent { failure, lost: answer.is_undecided(), no_path: answer.status == 404 };
    }
    let text = |value: &Json, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let causes = status.pointer("/details/causes").and_then(Json::as_array).into_iter().flatten();
    let seconds = status.pointer("/details/retryAfterSeconds").and_then(Json::as_u64).filter(|it| *it > 0);
    Trouble::Refused(Box::new(Refusal {
        code: answer.status,
        reason: text(&status, "reason"),
        message: text(&status, "message"),
        causes: causes
            .map(|cause| Blame {
                reason: text(cause, "reason"),
                message: text(cause, "message"),
                field: text(cause, "field"),
            })
            .collect(),
        after: answer.retry_after().or(seconds.map(Duration::from_secs)),
    }))
}

impl Refusal {
    /// Whether fields belong to other managers.
    pub(crate) fn is_conflict_of_managers(&self) -> bool {
        self.code == 409 && self.causes.iter().any(|cause| cause.reason == "FieldManagerConflict")
    }

    /// The fields that belong to others.
    pub(crate) fn contested(&self) -> impl Iterator<Item = &Blame> {
        self.causes.iter().filter(|cause| cause.reason == "FieldManagerConflict")
    }

    /// The failure of a call; `pointer` is the place of the object in the inputs.
    pub(crate) fn failure(&self, what: &str, pointer: &str) -> Failure {
        let Self { code, message, .. } = self;
        let failure = match code {
            _ if self.is_conflict_of_managers() => Failure::conflict(format!(
                "{what}: other managers own some of its fields: {}. Remove these fields, or take them over with \
                 `force_conflicts: true`",
                self.owners()
            )),
            401 => Failure::failed(format!(
                "the API server does not accept the credentials (401 {message}): `connection.token` is wrong, expired or \
                 missing"
            )),
            // A namespace of this name can be created again once it is gone.
            403 if self.causes.iter().any(|cause| cause.reason == "NamespaceTerminating") => {
                Failure::retry_after(Duration::from_secs(2), format!("{what}: {message}"))
            }
            403 if self.is_denied_right() => {
                Failure::failed(format!("{what}: {message} (the user of the token lacks this right)"))
            }
            403 => Failure::failed(format!("{what}: {message}")),
            429 | 503 | 504 => {
                let after = self.after.unwrap_or(Duration::from_secs(1));
                Failure::retry_after(after, format!("{what}: {message}"))
            }
            404 => Failure::not_found(format!("{what}: {message}")),
            409 => Failure::conflict(format!("{what}: {message}")),
            400 | 422 => self.invalid(what, pointer),
            500 if self.is_type_fault() => self.invalid(what, pointer),
            _ => Failure::failed(format!("{what}: {code} {message}")),
        };
        let failure = failure.with_detail("status", code.to_string());
        if self.reason.is_empty() { failure } else { failure.with_detail("code", &self.reason) }
    }

    fn invalid(&self, what: &str, pointer: &str) -> Failure {
        let hint = if self.is_immutable() {
            ": it cannot be changed in place; replace the resource with `--replace`"
        } else {
            ""
        };
        let located = |cause: &Blame| purlin_sdk::Finding {
            pointer: format!("{pointer}{}", field_pointer(&cause.field)),
            message: format!("{what}: {}{hint}", cause.message),
        };
        let mut faults: Vec<_> =
            self.causes.iter().filter(|cause| !cause.field.is_empty()).map(located).collect();
        if faults.is_empty() {
            let message = format!("{what}: {}{hint}", self.message);
            faults.push(purlin_sdk::Finding { pointer: pointer.to_owned(), message });
        }
        Failure::InvalidInputs(faults)
    }

    /// Whether the user lacks the right. Quotas and webhooks reject with the same status.
    fn is_denied_right(&self) -> bool {
        self.message.contains("User \"") && self.message.contains(" cannot ")
    }

    /// Whether the object does not fit the schema of its kind, which server-side apply reports with
    /// status 500.
    fn is_type_fault(&self) -> bool {
        self.message.contains("failed to create typed")
    }

    /// Whether the message says that a field is immutable.
    pub(crate) fn is_immutable(&self) -> bool {
        let is_about_immutability =
            |text: &str| text.contains("immutable") || text.contains("updates to statefulset spec");
        self.code == 422
            && (is_about_immutability(&self.message)
                || self.causes.iter().any(|cause| is_about_immutability(&cause.message)))
    }

    fn owners(&self) -> String {
        let all: Vec<String> = self
            .contested()
            .map(|cause| {
                let owner = cause.message.strip_prefix("conflict with ").unwrap_or(&cause.message);
                format!("`{}` ({owner})", cause.field)
            })
            .collect();
        all.join(", ")
    }
}

impl Trouble {
    fn unsent(failure: Failure) -> Self {
        Self::Silent { failure, lost: false, no_path: false }
    }

    /// An answer that no API server gives.
    pub(crate) fn strange(message: &str) -> Self {
        Self::Silent { failure: Failure::failed(message), lost: false, no_path: false }
    }

    /// Whether there is no such path, and so no such API.
    pub(crate) fn is_no_path(&self) -> bool {
        matches!(self, Self::Silent { no_path: true, .. })
    }

    /// The error of an API server.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Silent { .. } => None,
        }
    }

    /// The failure of a call; `pointer` is the place of the object in the inputs.
    pub(crate) fn failure(&self, what: &str, pointer: &str) -> Failure {
        match self {
            Self::Refused(refusal) => refusal.failure(what, pointer),
            Self::Silent { failure, .. } => failure.clone(),
        }
    }

    /// Whether the same request may succeed in a moment.
    pub(crate) fn is_passing(&self) -> bool {
        let Some(refusal) = self.refusal() else { return false };
        match refusal.code {
            // Another client wrote at the same time.
            409 => !refusal.is_conflict_of_managers(),
            // A new namespace gets its accounts a little later.
            403 => refusal.message.contains("error looking up service account"),
            _ => false,
        }
    }

    /// Whether the request may have been carried out all the same.
    pub(crate) fn is_undecided(&self) -> bool {
        match self {
            Self::Refused(refusal) => matches!(refusal.code, 500 | 504) && !refusal.is_type_fault(),
            Self::Silent { lost, .. } => *lost,
        }
    }
}

/// `spec.template.spec.containers[0].image` as a pointer. Keys that contain dots or brackets are
/// not recognised, so the pointer is only for people.
fn field_pointer(field: &str) -> String {
    let mut pointer = String::new();
    for part in field.split(['.', '[']).filter(|part| !part.is_empty()) {
        pointer = crate::object::pointer(&pointer, part.trim_end_matches(']'));
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(code: u16, body: &Json) -> Trouble {
        refused(&Response::new(code, Vec::new(), body.to_string()))
    }

    #[test]
    fn a_conflict_names_managers_and_fields() {
        let trouble = status(
            409,
            &json!({
                "kind": "Status", "reason": "Conflict", "message": "Apply failed with 1 conflict", "code": 409,
                "details": {"causes": [{
                    "reason": "FieldManagerConflict", "field": ".spec.replicas",
                    "message": "conflict with \"kubectl-scale\" with subresource \"scale\" using apps/v1",
                }]},
            }),
        );
        let failure = trouble.failure("Deployment web", "/values/manifest");
        let detail = |name| failure.problem().and_then(|problem| problem.detail(name));
        assert_eq!((detail("status"), detail("code")), (Some("409"), Some("Conflict")));
        let text = failure.to_string();
        assert!(text.contains("`.spec.replicas` (\"kubectl-scale\""), "{text}");
        assert!(text.starts_with("conflict: "), "{text}");
    }

    #[test]
    fn a_fault_is_pointed_at() {
        let trouble = status(
            422,
            &json!({
                "kind": "Status", "reason": "Invalid", "message": "Deployment \"web\" is invalid",
                "details": {"causes": [{
                    "reason": "FieldValueInvalid", "field": "spec.template.spec.containers[0].image",
                    "message": "Invalid value",
                }]},
            }),
        );
        let text = trouble.failure("Deployment web", "/values/manifests/1").to_string();
        assert!(
            text.contains("/values/manifests/1/spec/template/spec/containers/0/image: Deployment web"),
            "{text}"
        );
    }

    #[test]
    fn only_an_api_server_can_report_missing_objects() {
        let trouble = refused(&Response::new(404, Vec::new(), "<html>no such page</html>"));
        assert!(matches!(
            trouble,
            Trouble::Silent { failure: Failure::Failed(_), lost: false, no_path: true }
        ));
        let trouble = status(
            503,
            &json!({"kind": "Status", "message": "starting", "details": {"retryAfterSeconds": 7}}),
        );
        let Failure::RetryAfter { after, .. } = trouble.failure("x", "") else {
            panic!("a retry is expected")
        };
        assert_eq!(after, Duration::from_secs(7));
    }
}
