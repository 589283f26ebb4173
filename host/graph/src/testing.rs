//! Documents for tests, written as JSON.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use purlin_expression::{Dialect, parse_descriptor, parse_text};
use purlin_model::{
    Alias, AliasName, Class, Context, Criterion, Definition, Deployment, Diagnostic, DriverRequirement,
    EnvironmentId, Key, Lifecycle, LifecycleOptions, Location, Provision, Recipe, ResourceLifecycle,
    ResourceRequest, Template, TypeName, Urn, Value, Workload,
};
use serde_json::{Value as Json, json};

use crate::{DefinitionIndex, EdgeKind, Graph, Input, NodeId, OutputNames, Provisioned, build};

/// A template; every text in it has the place `file:1:COLUMN`.
pub(crate) fn template(file: &str, json: &Json, dialect: Dialect) -> Template {
    match json {
        Json::String(text) => {
            parse_text(text, dialect, &|at| Location::new(file, 1, at as u32 + 1)).expect("a template")
        }
        Json::Array(items) => {
            Template::List(items.iter().map(|item| template(file, item, dialect)).collect())
        }
        Json::Object(map) => Template::Map(Box::new(
            map.iter().map(|(key, item)| (key.as_str().into(), template(file, item, dialect))).collect(),
        )),
        other => Template::Constant(Value::from(other.clone())),
    }
}

pub(crate) fn context() -> Context {
    Context {
        org: "acme".into(),
        app: "shop".into(),
        env: EnvironmentId { id: "dev".into(), kind: "development".into() },
        namespace: "dev".into(),
        deployment: "1".into(),
    }
}

/// A definition; `spec` as in a document: `values`, `secrets`, `secret_refs`, `account`,
/// `provision`, `criteria` (matching everything by default), and the fields of [`lifecycle`].
pub(crate) fn definition(id: &str, type_pattern: &str, spec: Json) -> Definition {
    let part = |name: &str| spec.get(name).map(|json| template(id, json, Dialect::Definition));
    let text = |json: &Json, name: &str| json.get(name).and_then(Json::as_str).map(Arc::from);
    let location = Location::new(id, 1, 1);
    let provision = spec.get("provision").and_then(Json::as_object).into_iter().flatten();
    let criteria = spec.get("criteria").cloned().unwrap_or(json!([{}]));
    let recipe = Recipe {
        name: Some(id.into()),
        driver: DriverRequirement { name: "purlin/echo".into(), range: None, location: location.clone() },
        account: part("account"),
        values: part("values").unwrap_or_default(),
        secrets: part("secrets").unwrap_or_default(),
        secret_refs: part("secret_refs"),
        connection: part("connection"),
        promoted: None,
        provision: provision
            .map(|(descriptor, json)| Provision {
                descriptor: parse_descriptor(descriptor).expect("a descriptor"),
                is_dependent: json["is_dependent"] == true,
                match_dependents: json["match_dependents"] == true,
                params: json.get("params").map(|params| template(id, params, Dialect::Definition).into()),
                location: Location::new(id, 2, 1),
            })
            .collect(),
        requires: Vec::new(),
        lifecycle: lifecycle(id, &spec).over(&Lifecycle::default()),
        location: location.clone(),
    };
    let criteria = criteria.as_array().into_iter().flatten();
    Definition {
        id: id.into(),
        type_pattern: type_pattern.into(),
        recipe: Arc::new(recipe),
        criteria: criteria
            .map(|json| Criterion {
                env_type: text(json, "env_type"),
                app_id: text(json, "app_id"),
                env_id: text(json, "env_id"),
                res_id: text(json, "res_id"),
                class: json["class"]
                    .as_str()
                    .map_or(Class::default_class(), |c| Class::new(c).expect("a class")),
                location: Location::new(id, 4, 1),
            })
            .collect(),
        location,
    }
}

/// Lifecycle settings: `protect`, `depends_on`, `replace_with` and `deleted_with`, each at line 3.
pub(crate) fn lifecycle(file: &str, json: &Json) -> LifecycleOptions {
    let named = |text: &str| (parse_descriptor(text).expect("a descriptor"), Location::new(file, 3, 1));
    let list = |name: &str| -> Vec<_> {
        let items = json.get(name).and_then(Json::as_array).into_iter().flatten();
        items.filter_map(Json::as_str).map(named).collect()
    };
    LifecycleOptions {
        protect: json["protect"].as_bool(),
        paused: json["paused"].as_bool(),
        depends_on: list("depends_on"),
        replace_with: list("replace_with"),
        deleted_with: json["deleted_with"].as_str().map(named),
        ..LifecycleOptions::default()
    }
}

/// Settings of the deployment for a resource; also reads `aliases`, the first at line 7.
pub(crate) fn resource_lifecycle(key: &str, json: &Json) -> ResourceLifecycle {
    let aliases = json["aliases"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let aliases = (7..).zip(aliases).map(|(line, text)| Alias {
        name: match Urn::parse(text) {
            Ok(urn) => AliasName::Urn(urn),
            Err(_) => AliasName::Key(Key::parse(text).expect("a key")),
        },
        location: Location::new(key, line, 1),
    });
    ResourceLifecycle {
        key: Key::parse(key).expect("a key"),
        options: LifecycleOptions { aliases: aliases.collect(), ..lifecycle(key, json) },
        location: Location::new(key, 6, 1),
    }
}

/// A declared resource: `TYPE[.CLASS]`, with params in a dialect.
pub(crate) fn request(
    file: &str,
    name: &str,
    kind: &str,
    params: Option<Json>,
    dialect: Dialect,
) -> ResourceRequest {
    let (kind, id) = kind.split_once('#').map_or((kind, None), |(kind, id)| (kind, Some(id)));
    let (kind, class) = kind.split_once('.').unwrap_or((kind, "default"));
    ResourceRequest {
        name: name.into(),
        type_name: TypeName::new(kind).expect("a type"),
        class: Class::new(class).expect("a class"),
        id: id.map(Into::into),
        params: params.map(|params| template(file, &params, dialect).into()),
        location: Location::new(file, 5, 1),
    }
}

/// A workload that declares resources, given as (name, type, params).
pub(crate) fn workload(name: &str, resources: &[(&str, &str, Json)], spec: Json) -> Workload {
    let params = |json: &Json| (!json.is_null()).then(|| json.clone());
    Workload {
        name: name.into(),
        profile: None,
        metadata: template(name, &json!({"name": name}), Dialect::Score),
        spec: template(name, &spec, Dialect::Score),
        resources: resources
            .iter()
            .map(|(resource, kind, json)| request(name, resource, kind, params(json), Dialect::Score))
            .collect(),
        location: Location::new(name, 1, 1),
    }
}

/// Output names by definition.
#[derive(Default)]
pub(crate) struct Names(pub(crate) HashMap<&'static str, Vec<&'static str>>);

impl OutputNames for Names {
    fn outputs(&self, _: &str, recipe: &Recipe) -> Option<Vec<String>> {
        let names = self.0.get(recipe.name.as_deref()?)?;
        Some(names.iter().map(ToString::to_string).collect())
    }
}

pub(crate) fn try_build(
    definitions: Vec<Definition>,
    deployment: Deployment,
) -> Result<Graph, Vec<Diagnostic>> {
    try_build_with(definitions, deployment, &Names::default())
}

pub(crate) fn try_build_with(
    definitions: Vec<Definition>,
    deployment: Deployment,
    outputs: &dyn OutputNames,
) -> Result<Graph, Vec<Diagnostic>> {
    build(&Input {
        context: Arc::new(context()),
        definition_index: Arc::new(DefinitionIndex::new(definitions)?),
        deployment: Arc::new(deployment),
        outputs,
        recorded: &|_| false,
    })
}

/// A graph as text: one edge per line, sorted, then the levels.
pub(crate) fn show(graph: &Graph) -> String {
    let key = |node: NodeId| graph.key(node).expect("a node").as_str();
    let mut lines: Vec<String> = graph
        .edges()
        .map(|edge| format!("{} -> {} {}", key(edge.from), key(edge.to), edge.kinds.names().join("+")))
        .collect();
    lines.sort();
    for (number, level) in graph.levels().iter().enumerate() {
        let keys: Vec<&str> = level.iter().map(|node| key(*node)).collect();
        lines.push(format!("{number}: {}", keys.join(" ")));
    }
    lines.join("\n")
}

/// Faults as text.
pub(crate) fn tell(faults: &[Diagnostic]) -> String {
    let mut text = String::new();
    for fault in faults {
        let place = fault.location.as_ref().map_or("-".to_owned(), ToString::to_string);
        text.push_str(&format!("{place}+{} {}: {}\n", fault.length, fault.code, fault.message));
        for (location, message) in &fault.related {
            text.push_str(&format!("  {location}: {message}\n"));
        }
        for note in &fault.notes {
            text.push_str(&format!("  note: {note}\n"));
        }
        if let Some(help) = &fault.help {
            text.push_str(&format!("  help: {help}\n"));
        }
    }
    text
}

/// Whether there is an edge of a kind.
pub(crate) fn has(graph: &Graph, from: &str, to: &str, kind: EdgeKind) -> bool {
    let (Some(from), Some(to)) = (graph.find(from), graph.find(to)) else { return false };
    graph.dependency_edges(from).any(|edge| edge.to == to && edge.kinds.contains(kind))
}

/// Outputs by key; the others are unknown.
#[derive(Default)]
pub(crate) struct KnownOutputs(pub(crate) HashMap<NodeId, Value>);

impl KnownOutputs {
    pub(crate) fn new(graph: &Graph, outputs: &[(&str, Value)]) -> Self {
        Self(outputs.iter().map(|(key, value)| (graph.find(key).expect("a node"), value.clone())).collect())
    }
}

impl Provisioned for KnownOutputs {
    fn outputs(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.0.get(&node).map(Cow::Borrowed)
    }
    fn values(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.0.get(&node).map(Cow::Borrowed)
    }
    fn account(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.0.get(&node).map(|_| Cow::Owned("acme/account".into()))
    }
}
