//! Declared and recorded environments, as plain data.

use std::borrow::Cow;
use std::collections::BTreeMap;

use purlin_host::Documents;
use purlin_model::{Piece, ResourceStatus, Template, ValueOrigin};
use purlin_state::{Deployment, Environment, EnvironmentSummary, Outcome, Snapshot};
use serde::Serialize;
use serde_json::Value as Json;

use super::state::{Holder, Resource};
use crate::input::Place;
use crate::text;

/// A list of environments.
#[derive(Debug, Serialize)]
pub(crate) struct List {
    pub(crate) format: u8,
    pub(crate) environments: Vec<Entry>,
}

/// One environment as a separate document.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) format: u8,
    #[serde(flatten)]
    pub(crate) entry: Entry,
}

/// One environment in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    #[serde(flatten)]
    pub(crate) environment: Environment,
    /// The recorded type, otherwise the declared one; null if there is neither.
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    pub(crate) namespace: Option<String>,
    /// Whether the workspace declares the environment.
    pub(crate) declared: bool,
    pub(crate) protected: bool,
    pub(crate) resources: usize,
    /// The number of resources that do not match the documents, by status.
    pub(crate) unready: BTreeMap<ResourceStatus, usize>,
    pub(crate) closed: Option<Holder>,
    /// The process that is deploying it.
    pub(crate) in_use: Option<User>,
    pub(crate) last: Option<Last>,
    /// Whether the workspace declares any environment; for people.
    #[serde(skip)]
    pub(crate) others_declared: bool,
}

/// The process that is deploying an environment.
#[derive(Debug, Serialize)]
pub(crate) struct User {
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) command: String,
    pub(crate) pid: u32,
    pub(crate) since: String,
}

/// The last deployment of an environment.
#[derive(Debug, Serialize)]
pub(crate) struct Last {
    pub(crate) number: u64,
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) started: String,
    pub(crate) ended: Option<String>,
    pub(crate) outcome: Outcome,
}

/// One environment, with the version of the format.
#[derive(Debug, Serialize)]
pub(crate) struct EnvironmentReport {
    pub(crate) format: u8,
    pub(crate) environment: Details,
}

/// One environment with its values and resources.
#[derive(Debug, Serialize)]
pub(crate) struct Details {
    #[serde(flatten)]
    pub(crate) entry: Entry,
    pub(crate) values: Vec<Value>,
    pub(crate) types: Vec<Type>,
}

/// A value of `${values.NAME}`.
#[derive(Debug, Serialize)]
pub(crate) struct Value {
    pub(crate) name: String,
    /// The value with its placeholders as written; null if it is hidden.
    pub(crate) value: Json,
    /// `deployment`, `environment`, `file` or `option`.
    pub(crate) origin: &'static str,
    /// Whether it came from the command line and may be a secret.
    pub(crate) hidden: bool,
}

/// The resources of a type.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Type {
    #[serde(rename = "type")]
    pub(crate) name: String,
    pub(crate) resources: usize,
    pub(crate) statuses: BTreeMap<&'static str, usize>,
}

impl Entry {
    /// The declared and recorded data of an environment.
    pub(crate) async fn of(
        environment: &Environment,
        known: Option<&EnvironmentSummary>,
        place: &Place,
    ) -> Result<Self, purlin_host::Error> {
        let declared = place.workspace.environments.get(&environment.env);
        let (last, closed_by) = match known {
            Some(known) => (place.purlin.last_deployed_of(known).await?, known.closed_by.clone()),
            // The environment may have been closed before its first deployment.
            None => (None, place.purlin.snapshot(environment).await?.closed_by),
        };
        let recorded = last.map(|last| last.context()).transpose()?;
        let (kind, namespace) = match &recorded {
            Some(recorded) => (Some(recorded.env.kind.clone()), Some(recorded.namespace.clone())),
            None => (
                declared.and_then(|declared| declared.kind.clone()).map(|(kind, _)| kind),
                declared.and_then(|declared| declared.namespace.clone()).map(|(namespace, _)| namespace),
            ),
        };
        Ok(Self {
            environment: environment.clone(),
            kind: kind.map(|kind| kind.to_string()),
            namespace: namespace.map(|namespace| namespace.to_string()),
            declared: declared.is_some(),
            protected: declared.is_some_and(|declared| declared.protect.is_some()),
            resources: known.map_or(0, |known| known.records),
            unready: known.map(|known| known.unready.clone()).unwrap_or_default(),
            closed: closed_by.as_ref().map(Holder::new),
            in_use: known.and_then(|known| known.holder.as_ref()).map(User::new),
            last: known.and_then(|known| known.last.as_ref()).map(Last::new),
            others_declared: !place.workspace.environments.is_empty(),
        })
    }
}

impl Entry {
    /// In words, what does not match the documents; `None` if everything matches.
    pub(crate) fn status(&self) -> Option<String> {
        let unready: Vec<String> = self
            .unready
            .iter()
            .map(|(status, count)| format!("{count} {}", status.as_str().replace('-', " ")))
            .collect();
        match (unready.is_empty(), self.last.as_ref().map(|last| last.outcome)) {
            (false, _) => Some(unready.join(", ")),
            (true, None | Some(Outcome::Succeeded)) => None,
            (true, Some(outcome)) => Some(outcome.as_str().to_owned()),
        }
    }
}

impl User {
    pub(crate) fn new(holder: &purlin_state::Holder) -> Self {
        Self {
            user: holder.user.clone(),
            host: holder.host.clone(),
            command: holder.command.clone(),
            pid: holder.pid,
            since: text::moment(holder.since),
        }
    }
}

impl Last {
    fn new(deployment: &Deployment) -> Self {
        Self {
            number: deployment.number,
            id: deployment.id.to_string(),
            command: deployment.holder.command.clone(),
            user: deployment.holder.user.clone(),
            host: deployment.holder.host.clone(),
            started: text::moment(deployment.holder.since),
            ended: deployment.ended.map(text::moment),
            outcome: deployment.outcome,
        }
    }
}

/// The values of the documents, by name. Values from the command line are hidden unless the user
/// asked to see them.
pub(crate) fn values(documents: &Documents, show_secrets: bool) -> Vec<Value> {
    let mut values: Vec<Value> = documents
        .deployment()
        .values
        .iter()
        .map(|(name, template)| {
            let origin = match documents.value_origin(name) {
                None => "deployment",
                Some(ValueOrigin::Environment) => "environment",
                Some(ValueOrigin::File) => "file",
                Some(ValueOrigin::Text | ValueOrigin::Typed) => "option",
            };
            let hidden = origin == "option" && !show_secrets;
            let value = if hidden { Json::Null } else { as_written(template) };
            Value { name: name.to_string(), value, origin, hidden }
        })
        .collect();
    values.sort_by(|a, b| a.name.cmp(&b.name));
    values
}

/// A template with its placeholders as written.
fn as_written(template: &Template) -> Json {
    match template {
        Template::Constant(value) => value.redact(),
        Template::Text(pieces) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => Cow::Borrowed(&**text),
                Piece::Placeholder(placeholder) => placeholder.source(),
            })
            .collect::<String>()
            .into(),
        Template::List(items) => items.iter().map(as_written).collect(),
        Template::Map(entries) => {
            entries.iter().map(|(key, item)| (key.to_string(), as_written(item))).collect()
        }
    }
}

/// The number of resources per type and status.
pub(crate) fn types(snapshot: &Snapshot) -> Vec<Type> {
    let mut types: BTreeMap<String, BTreeMap<&'static str, usize>> = BTreeMap::new();
    for resource in Resource::all(snapshot) {
        let name = resource.key.split(['.', '#']).next().unwrap_or_default().to_owned();
        let status = match resource.copy {
            Some(_) => "replaced",
            None => resource.status,
        };
        *types.entry(name).or_default().entry(status).or_default() += 1;
    }
    types
        .into_iter()
        .map(|(name, statuses)| Type { name, resources: statuses.values().sum(), statuses })
        .collect()
}
