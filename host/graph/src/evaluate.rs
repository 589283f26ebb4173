//! The inputs of a resource, once its dependencies are provisioned: every placeholder is filled in,
//! each in the scope of the document that wrote it (SPEC §4).

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use purlin_expression::{PathError, Unread, evaluate, read_path};
use purlin_model::{
    Context, ContextField, Diagnostic, Key, Location, ManifestPart, Map, Path, Placeholder, Reference,
    Template, Urn, Value, Workload,
};

use crate::build::may_be_absent;
use crate::docs::{self, Params, Scope};
use crate::graph::Graph;
use crate::nested_text::{self, MAX_DEPTH, Place, Root, Text};
use crate::node::NodeId;
use crate::targets::{Target, TargetPart};

/// How much the placeholders of one resource may read and make together, 128 MiB. Texts that use
/// texts grow exponentially; no real document comes near.
const MAX_READ: usize = 128 << 20;
/// How much the placeholders of all resources may read and make together, 1 GiB. A plan keeps the inputs of
/// every resource, so without this limit a document of a few kilobytes could fill the memory.
const MAX_READ_BY_ALL: usize = 1 << 30;

const EMPTY_REFERENCE: &str = "empty-reference";
const UNKNOWN_OUTPUT: &str = "unknown-output";

/// The known values of resources that others read. `None` means still unknown: it reads as unknown.
pub trait Provisioned {
    /// The outputs of a resource, a map.
    fn outputs(&self, node: NodeId) -> Option<Cow<'_, Value>>;
    /// Its resolved input values, a map.
    fn values(&self, node: NodeId) -> Option<Cow<'_, Value>>;
    /// Its resolved account.
    fn account(&self, node: NodeId) -> Option<Cow<'_, Value>>;
    /// Whether it may get outputs besides the known ones. Those read as unknown.
    fn has_more_outputs(&self, _node: NodeId) -> bool {
        false
    }
    /// Whether only the creation of the resource returns this output, so that only another creation
    /// restores a lost value.
    fn is_write_once(&self, _node: NodeId, _output: &str) -> bool {
        false
    }
}

/// The resolved inputs of a resource. Values are unknown if they depend on something that is still
/// unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// The developer's params, a map; for a workload `{id, profile?, metadata, spec}`.
    pub params: Value,
    /// `inputs.values`, a map.
    pub values: Value,
    /// `inputs.secrets`, a map with secret entries.
    pub secrets: Value,
    /// `inputs.secret_refs`, if there are any: the `value` of a leaf is secret.
    pub secret_refs: Option<Value>,
    /// `inputs.connection`, a map; null if there is none.
    pub connection: Value,
    /// `driver_account`, if there is one.
    pub account: Option<Value>,
}

/// A value that a reference field reads, but that is missing or empty in the other resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmptyReference {
    /// The other resource.
    pub target: NodeId,
    /// The path of the value in it.
    pub path: String,
    /// The reference field.
    pub location: Location,
}

impl Graph {
    /// Resolves the inputs of a resource.
    ///
    /// # Errors
    /// Every placeholder that reads a missing value, at its place.
    pub fn evaluate(&self, node: NodeId, provisioned: &dyn Provisioned) -> Result<Inputs, Vec<Diagnostic>> {
        self.run(node, provisioned).0
    }

    /// The values that reference fields read and other resources do not have so far, and that
    /// prevent the evaluation of a resource; none if it can be evaluated, or if there are other
    /// faults, too.
    pub fn empty_references(&self, node: NodeId, provisioned: &dyn Provisioned) -> Vec<EmptyReference> {
        let (evaluated, mut empty) = self.run(node, provisioned);
        let Err(faults) = evaluated else { return Vec::new() };
        let is_empty = |fault: &Diagnostic| {
            matches!(fault.code, EMPTY_REFERENCE | UNKNOWN_OUTPUT)
                && empty.iter().any(|empty| fault.location.as_ref() == Some(&empty.location))
        };
        if !faults.iter().all(is_empty) {
            return Vec::new();
        }
        // Others may be omitted.
        empty.retain(|empty| faults.iter().any(|fault| fault.location.as_ref() == Some(&empty.location)));
        empty
    }

    fn run(
        &self,
        node: NodeId,
        provisioned: &dyn Provisioned,
    ) -> (Result<Inputs, Vec<Diagnostic>>, Vec<EmptyReference>) {
        let run = Run {
            graph: self,
            provisioned,
            owner: node,
            own: RefCell::new(None),
            texts: RefCell::new(HashMap::new()),
            depth: Cell::new(0),
            read: Cell::new(0),
            others: self.read.by_others(node),
            empty: RefCell::default(),
        };
        let inputs = self.inputs(&run);
        self.read.set(node, run.read.get());
        (inputs, run.empty.into_inner())
    }

    fn inputs(&self, run: &Run<'_>) -> Result<Inputs, Vec<Diagnostic>> {
        let node = run.owner;
        let docs = self.docs();
        let mut faults = Vec::new();
        let mut fill = |template: &Template, scope: Scope| match evaluate(template, &Reader { run, scope }) {
            // The whole template may be an optional placeholder without a value.
            Ok(value) => value.unwrap_or(Value::Null),
            Err(found) => {
                faults.extend(found);
                // An unknown value causes no further faults in its readers.
                Value::unknown()
            }
        };
        let params = match docs.params(&self.nodes, node) {
            Params::None => Value::map(),
            Params::Given(template, scope) => fill(template, scope),
            Params::Workload(index, workload) => {
                let scope = Scope::Workload(index);
                let metadata = fill(&workload.metadata, scope);
                document(workload, metadata, fill(&workload.spec, scope))
            }
        };
        let params = self.seal_params(node, &Path::default(), params);
        *run.own.borrow_mut() = Some(params.clone());
        let Some(recipe) = docs.recipe(&self.nodes, node) else { return Err(faults) };
        let scope = Scope::Recipe(node);
        let values = fill(&recipe.values, scope);
        let values = match docs.installation_of(&self.nodes, node) {
            Some(installation) => installation.seal_inputs(values),
            None => values,
        };
        let secrets = seal(fill(&recipe.secrets, scope));
        let secret_refs = recipe.secret_refs.as_ref().map(|template| seal_leaves(fill(template, scope)));
        let connection = recipe.connection.as_ref().map(|template| fill(template, scope));
        let account = recipe.account.as_ref().map(|template| fill(template, scope));
        if faults.is_empty() {
            let connection = connection.unwrap_or(Value::Null);
            return Ok(Inputs { params, values, secrets, secret_refs, connection, account });
        }
        let mut distinct: Vec<Diagnostic> = Vec::new();
        for fault in faults {
            if !distinct.contains(&fault) {
                distinct.push(fault);
            }
        }
        Err(distinct)
    }
}

/// The params of a workload's own node.
fn document(workload: &Workload, metadata: Value, spec: Value) -> Value {
    let mut map = Map::with_capacity(4);
    map.insert("id".into(), Value::String(workload.name.clone()));
    if let Some(profile) = &workload.profile {
        map.insert("profile".into(), Value::String(profile.clone()));
    }
    map.insert("metadata".into(), metadata);
    map.insert("spec".into(), spec);
    Value::Map(map)
}

/// Makes the values of a map secret; its keys stay visible.
fn seal(value: Value) -> Value {
    match value {
        Value::Map(map) => {
            Value::Map(map.into_iter().map(|(key, value)| (key, value.into_secret())).collect())
        }
        other => other.into_secret(),
    }
}

/// Makes the `value` of each leaf `{value}` secret; the place of a secret is not secret itself.
fn seal_leaves(value: Value) -> Value {
    match value {
        Value::Map(map) => {
            let leaf = map.keys().all(|key| matches!(&**key, "value" | "store" | "ref" | "version"));
            let entries = map.into_iter().map(|(key, value)| {
                let value = if leaf && *key == *"value" { value.into_secret() } else { seal_leaves(value) };
                (key, value)
            });
            Value::Map(entries.collect())
        }
        Value::List(items) => Value::List(items.into_iter().map(seal_leaves).collect()),
        other => other,
    }
}

/// The result of a text: none if an optional placeholder omits it.
type Filled = Result<Option<Value>, Box<Diagnostic>>;

/// One evaluation.
struct Run<'a> {
    graph: &'a Graph,
    provisioned: &'a dyn Provisioned,
    owner: NodeId,
    /// The owner's params, once they exist.
    own: RefCell<Option<Value>>,
    /// Texts that others use, filled in once.
    texts: RefCell<HashMap<Place, Filled>>,
    depth: Cell<usize>,
    /// How much was read and made.
    read: Cell<usize>,
    /// How much the other resources have read and made.
    others: usize,
    /// The empty values of reference fields.
    empty: RefCell<Vec<EmptyReference>>,
}

/// Reads in one scope.
struct Reader<'a> {
    run: &'a Run<'a>,
    scope: Scope,
}

impl purlin_expression::Scope for Reader<'_> {
    fn read(&self, placeholder: &Placeholder) -> Result<Value, Unread> {
        let value = self.value(placeholder)?;
        self.keep(placeholder, weight(&value)).map_err(Unread::Fault)?;
        Ok(value)
    }

    fn keep(&self, placeholder: &Placeholder, bytes: usize) -> Result<(), Box<Diagnostic>> {
        let (read, others) = (self.run.read.get().saturating_add(bytes), self.run.others);
        self.run.read.set(read);
        let (whose, limit) = match (read > MAX_READ, others.saturating_add(read) > MAX_READ_BY_ALL) {
            (true, _) => ("one resource", MAX_READ),
            (_, true) => ("all resources together", MAX_READ_BY_ALL),
            _ => return Ok(()),
        };
        let message = format!("the placeholders of {whose} read more than {} MiB", limit >> 20);
        let help =
            "placeholders copy each text into every text that reads it; read only what the driver needs";
        let fault = Diagnostic::error("too-large", message).help(help);
        Err(Box::new(docs::at(placeholder, fault)))
    }
}

/// How many bytes the placeholders of each resource read and made when it was last evaluated.
#[derive(Debug, Default)]
pub(crate) struct ReadByAll(Mutex<(HashMap<NodeId, usize>, usize)>);

impl ReadByAll {
    fn by_others(&self, node: NodeId) -> usize {
        let read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        read.1.saturating_sub(read.0.get(&node).copied().unwrap_or(0))
    }

    fn set(&self, node: NodeId, bytes: usize) {
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = read.0.insert(node, bytes).unwrap_or(0);
        read.1 = read.1.saturating_sub(before).saturating_add(bytes);
    }
}

/// About how many bytes a value takes.
fn weight(value: &Value) -> usize {
    32 + match value.exposed() {
        Value::String(text) => text.len(),
        Value::List(items) => items.iter().map(weight).sum(),
        Value::Map(map) => map.iter().map(|(key, value)| key.len() + weight(value)).sum(),
        _ => 0,
    }
}

/// `context.FIELD`; none if it refers to a resource, and there is none.
pub(crate) fn context_value<'a>(
    context: &Context,
    field: ContextField,
    here: impl FnOnce() -> Option<&'a Key>,
) -> Option<Value> {
    let text = match field {
        ContextField::OrgId => &context.org,
        ContextField::AppId => &context.app,
        ContextField::EnvId => &context.env.id,
        ContextField::EnvType => &context.env.kind,
        ContextField::Namespace => &context.namespace,
        ContextField::DeployId => &context.deployment,
        ContextField::ResId => return Some(here()?.id().into()),
        ContextField::ResType => return Some(here()?.type_name().into()),
        ContextField::ResClass => return Some(here()?.class().into()),
        ContextField::ResGuresid => return Some(Urn::new(context, here()?).guresid().as_str().into()),
    };
    Some(Value::String(text.clone()))
}

impl Reader<'_> {
    fn value(&self, placeholder: &Placeholder) -> Result<Value, Unread> {
        let graph = self.run.graph;
        let docs = graph.docs();
        let fault = |code, message: String| Box::new(docs::at(placeholder, Diagnostic::error(code, message)));
        match &placeholder.reference {
            Reference::Context(field) => self.context(*field).ok_or_else(|| {
                let message = format!("there is no resource here to take `context.{}` from", field.path());
                Unread::Fault(fault("unknown-context", message))
            }),
            Reference::Value(path) if path.0.is_empty() => {
                let mut map = Map::new();
                for name in docs.deployment.values.keys() {
                    match self.text(Root::Values, &Path([name.clone()].into()), placeholder) {
                        Ok(value) => drop(map.insert(name.clone(), value)),
                        Err(Unread::Absent(_)) => {}
                        Err(fault) => return Err(fault),
                    }
                }
                Ok(Value::Map(map))
            }
            Reference::Value(path) => self.text(Root::Values, path, placeholder),
            Reference::Param(path) => self.param(path, placeholder),
            Reference::Manifest(path) => self.manifest(path, placeholder),
            Reference::Metadata(path) => {
                let Scope::Workload(index) = self.scope else {
                    return Err(Unread::Fault(fault("unknown-root", "there is no `metadata` here".into())));
                };
                self.text(Root::Metadata(index), path, placeholder)
            }
            reference => {
                let graph = self.run.graph;
                let target = graph.target(placeholder, self.scope).zip(TargetPart::of(reference));
                match target {
                    Some((Target::Node(node), read)) => self.target(node, read, placeholder),
                    Some((target @ Target::List(_), read)) => {
                        let nodes =
                            graph.targets.nodes(target).iter().filter(|node| **node != self.run.owner);
                        let read = nodes.map(|node| self.target(*node, read, placeholder));
                        let mut values = read.collect::<Result<Vec<_>, _>>()?;
                        if matches!(reference, Reference::Field(_)) {
                            // By value, so that the order does not depend on the names of the
                            // targets.
                            if values.iter().any(Value::has_unknown) {
                                return Ok(Value::unknown());
                            }
                            values.sort_by(by_text);
                        }
                        Ok(Value::List(values))
                    }
                    // It may be declared later. Until then its dependents are not provisioned.
                    Some((Target::Missing, _)) if !may_be_absent(placeholder) => Ok(Value::unknown()),
                    Some((Target::Missing, _)) => {
                        Err(Unread::Absent(fault("missing-target", "no document declares this".into())))
                    }
                    None => {
                        let message = "this names no resource of the graph";
                        Err(Unread::Fault(fault("unknown-resource", message.into())))
                    }
                }
            }
        }
    }

    fn context(&self, field: ContextField) -> Option<Value> {
        let graph = self.run.graph;
        let here = || graph.nodes.key(graph.docs().here(&graph.nodes, self.scope)?);
        context_value(&graph.context, field, here)
    }

    /// The value that a placeholder or a reference field reads from its target. A reference field
    /// treats an empty value as one that the resource does not have yet: the resource that refers
    /// must not be provisioned with it.
    fn target(&self, node: NodeId, read: TargetPart<'_>, placeholder: &Placeholder) -> Result<Value, Unread> {
        let value = self.resource(node, read, placeholder);
        let (true, TargetPart::Outputs(path) | TargetPart::Field(path)) =
            (matches!(placeholder.reference, Reference::Field(_)), read)
        else {
            return value;
        };
        let (path, location) = (path.to_string(), placeholder.location.clone());
        let fault = match value {
            Ok(value) if is_empty(&value) => {
                let who = self.run.graph.nodes.key(node).map(|key| format!(" of `{key}`"));
                let message = format!("`{path}`{} is empty", who.unwrap_or_default());
                let fault = Diagnostic::error(EMPTY_REFERENCE, message);
                let help = "if the field may be left out, write `policy: {resolution: Optional}`";
                Box::new(docs::at(placeholder, fault.help(help)))
            }
            Err(Unread::Absent(fault)) => fault,
            value => return value,
        };
        self.run.empty.borrow_mut().push(EmptyReference { target: node, path, location });
        Err(Unread::Absent(fault))
    }

    /// The value that is read from a resource, secret if its bundle declares that. Its id if nothing
    /// is named.
    fn resource(
        &self,
        node: NodeId,
        read: TargetPart<'_>,
        placeholder: &Placeholder,
    ) -> Result<Value, Unread> {
        let value = self.read_from(node, read, placeholder)?;
        let graph = self.run.graph;
        Ok(match (graph.docs().installation_of(&graph.nodes, node), read) {
            (Some(installation), TargetPart::Outputs(path) | TargetPart::Values(path)) => {
                installation.share.seal(path, value)
            }
            _ => value,
        })
    }

    fn read_from(
        &self,
        node: NodeId,
        read: TargetPart<'_>,
        placeholder: &Placeholder,
    ) -> Result<Value, Unread> {
        let key = self.run.graph.nodes.key(node);
        let below = |code, value: Option<Cow<'_, Value>>, path: &Path| match value {
            Some(value) => read_path(&value, path).map_err(|error| {
                let who = key.map(|key| format!(" of `{key}`")).unwrap_or_default();
                wrong_path(code, error, &who, placeholder)
            }),
            None => Ok(Value::unknown()),
        };
        let provisioned = self.run.provisioned;
        match read {
            TargetPart::Id => Ok(key.map_or(Value::Null, |key| key.id().into())),
            TargetPart::Outputs(path) => match self.promoted(node, path, placeholder) {
                Some(read) => read,
                None => match below(UNKNOWN_OUTPUT, provisioned.outputs(node), path) {
                    Err(Unread::Absent(_)) if provisioned.has_more_outputs(node) => Ok(Value::unknown()),
                    Err(Unread::Absent(fault)) => {
                        Err(Unread::Absent(self.with_write_once_help(node, path, fault)))
                    }
                    read => read,
                },
            },
            TargetPart::Values(path) => below("unknown-input", provisioned.values(node), path),
            TargetPart::Account => Ok(provisioned.account(node).map_or(Value::unknown(), Cow::into_owned)),
            TargetPart::Guresid => Ok(key
                .map_or(Value::Null, |key| Urn::new(&self.run.graph.context, key).guresid().as_str().into())),
            TargetPart::Field(path) => self.field(node, path, placeholder),
        }
    }

    /// The fault of reading a missing output, with a way out if it was lost.
    fn with_write_once_help(&self, node: NodeId, path: &Path, fault: Box<Diagnostic>) -> Box<Diagnostic> {
        let (Some(output), Some(key)) = (path.0.first(), self.run.graph.nodes.key(node)) else {
            return fault;
        };
        if !self.run.provisioned.is_write_once(node, output) {
            return fault;
        }
        let help = format!(
            "only the creation of `{key}` returns it; `--replace '{key}'` creates the resource again"
        );
        Box::new(fault.fact(format!("`{output}` was not recorded when the resource was created")).help(help))
    }

    /// A promoted output of an installation, or all of its outputs if it has promoted ones; none if
    /// its driver has the value.
    fn promoted(
        &self,
        node: NodeId,
        path: &Path,
        placeholder: &Placeholder,
    ) -> Option<Result<Value, Unread>> {
        let graph = self.run.graph;
        let root = Root::Promoted(node);
        if matches!(nested_text::find(graph.docs(), &graph.nodes, root, path), Err((_, 0))) {
            return None;
        }
        let made = self.text(root, path, placeholder);
        if !path.0.is_empty() {
            return Some(made);
        }
        let own = self.run.provisioned.outputs(node).map(Cow::into_owned);
        Some(made.map(|made| match (own, made) {
            (Some(Value::Map(own)), Value::Map(made)) => Value::Map(
                own.iter().chain(made.iter()).map(|(name, value)| (name.clone(), value.clone())).collect(),
            ),
            (own, _) => own.unwrap_or_else(Value::unknown),
        }))
    }

    /// A part of a composite attribute: the target's name, its params, or its outputs. The first
    /// two are known before it is provisioned.
    fn field(&self, node: NodeId, path: &Path, placeholder: &Placeholder) -> Result<Value, Unread> {
        let graph = self.run.graph;
        let id = graph.nodes.key(node).map_or("", Key::id);
        let (namespace, name) =
            id.rsplit_once('/').map_or((None, id), |(namespace, name)| (Some(namespace), name));
        match (&*path.0, namespace) {
            ([one], _) if **one == *"name" => return Ok(name.into()),
            ([one], Some(namespace)) if **one == *"namespace" => return Ok(namespace.into()),
            _ => {}
        }
        if let Params::Given(..) = graph.docs().params(&graph.nodes, node)
            && let root = Root::Params(node)
            && nested_text::find(graph.docs(), &graph.nodes, root, path).is_ok()
        {
            return self.text(root, path, placeholder);
        }
        self.resource(node, TargetPart::Outputs(path), placeholder)
    }

    fn param(&self, path: &Path, placeholder: &Placeholder) -> Result<Value, Unread> {
        let Scope::Recipe(giver) = self.scope else {
            let fault = Diagnostic::error("unknown-root", "there are no `params` here");
            return Err(Unread::Fault(Box::new(docs::at(placeholder, fault))));
        };
        let value = self.param_of(giver, path, placeholder)?;
        Ok(self.run.graph.seal_params(giver, path, value))
    }

    /// A part of the manifest of a resource.
    fn manifest(&self, path: &Path, placeholder: &Placeholder) -> Result<Value, Unread> {
        let Scope::Recipe(giver) = self.scope else {
            let fault = Diagnostic::error("unknown-root", "there is no `manifest` here");
            return Err(Unread::Fault(Box::new(docs::at(placeholder, fault))));
        };
        let graph = self.run.graph;
        let absent = |fault| Err(Unread::Absent(Box::new(docs::at(placeholder, fault))));
        let Some(manifest) = graph.docs().manifest_of(&graph.nodes, giver) else {
            return absent(docs::no_manifest(graph.nodes.key(giver)));
        };
        let params = |path: &Path| {
            let value = self.param_of(giver, path, placeholder)?;
            Ok(graph.seal_params(giver, path, value))
        };
        match manifest.part(path) {
            ManifestPart::Head(value) => Ok(value),
            ManifestPart::Params(path) => params(&path),
            ManifestPart::Around(map, names) => {
                Ok(ManifestPart::around(map, names, params(&Path::default())?))
            }
            ManifestPart::Nothing(names) => {
                absent(docs::not_in_manifest(graph.nodes.key(giver), path, names.iter().map(|name| &**name)))
            }
        }
    }

    fn param_of(&self, giver: NodeId, path: &Path, placeholder: &Placeholder) -> Result<Value, Unread> {
        let wrong = |error| wrong_path("unknown-param", error, "", placeholder);
        if giver == self.run.owner
            && let Some(own) = &*self.run.own.borrow()
        {
            return read_path(own, path).map_err(wrong);
        }
        let graph = self.run.graph;
        let (root, first) = (Root::Params(giver), path.0.first().map(|name| &**name));
        match graph.docs().params(&graph.nodes, giver) {
            Params::None => read_path(&Value::map(), path).map_err(wrong),
            Params::Workload(_, workload) if !matches!(first, Some("metadata" | "spec")) => {
                let part = |name: &str| match first {
                    None => self.text(root, &Path([name.into()].into()), placeholder),
                    Some(_) => Ok(Value::Null),
                };
                let params = document(workload, part("metadata")?, part("spec")?);
                read_path(&params, path).map_err(wrong)
            }
            Params::Given(..) | Params::Workload(..) => self.text(root, path, placeholder),
        }
    }

    /// The value at a path of a text of another scope.
    fn text(&self, root: Root, path: &Path, placeholder: &Placeholder) -> Result<Value, Unread> {
        let code = match root {
            Root::Values => "unknown-value",
            Root::Metadata(_) => "unknown-metadata",
            Root::Params(_) => "unknown-param",
            Root::Promoted(_) => UNKNOWN_OUTPUT,
        };
        let graph = self.run.graph;
        match nested_text::find(graph.docs(), &graph.nodes, root, path) {
            Ok(None) => Ok(Value::map()),
            Ok(Some(found)) => {
                let rest = Path(path.0.iter().skip(found.length).cloned().collect());
                match found.template {
                    Template::Constant(value) => {
                        read_path(value, &rest).map_err(|error| wrong_path(code, error, "", placeholder))
                    }
                    _ => self.filled(found.text(root, path), &rest, placeholder),
                }
            }
            Err((names, _)) => {
                let fault = Diagnostic::error(
                    code,
                    format!("{} reads a value that does not exist", placeholder.source()),
                )
                .help(purlin_expression::did_you_mean("", "names", names));
                Err(Unread::Absent(Box::new(docs::at(placeholder, fault))))
            }
        }
    }

    /// The value of a text, at a path in its result.
    fn filled(&self, text: Text<'_>, path: &Path, placeholder: &Placeholder) -> Result<Value, Unread> {
        let known = self.run.texts.borrow().get(&text.place).cloned();
        let value = match known {
            Some(known) => known,
            None => {
                let depth = self.run.depth.get();
                // A valid graph has no such text; this protects the stack all the same.
                if depth > 2 * MAX_DEPTH {
                    let fault = Diagnostic::error("loop", "too many placeholders refer to one another");
                    return Err(Unread::Fault(Box::new(docs::at(placeholder, fault))));
                }
                self.run.depth.set(depth + 1);
                let filled = evaluate(text.template, &Reader { run: self.run, scope: text.scope });
                self.run.depth.set(depth);
                let filled = filled.map_err(|faults| {
                    let first = faults.into_iter().next();
                    Box::new(first.unwrap_or_else(|| Diagnostic::error("unknown-value", "nothing to read")))
                });
                self.run.texts.borrow_mut().insert(text.place, filled.clone());
                filled
            }
        };
        let Some(value) = value.map_err(Unread::Fault)? else {
            let fault = Diagnostic::error("unknown-value", "an optional placeholder leaves this out");
            return Err(Unread::Absent(Box::new(docs::at(placeholder, fault))));
        };
        read_path(&value, path).map_err(|error| wrong_path("unknown-value", error, "", placeholder))
    }
}

/// Whether a value is null, or an empty text.
fn is_empty(value: &Value) -> bool {
    match value.exposed() {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Texts in their order, everything else after them.
fn by_text(a: &Value, b: &Value) -> std::cmp::Ordering {
    let text = |value: &Value| match value.exposed() {
        Value::String(text) => (0, text.clone()),
        other => (1, other.reveal().map(|json| json.to_string()).unwrap_or_default().into()),
    };
    text(a).cmp(&text(b))
}

fn wrong_path(code: &'static str, error: PathError, who: &str, placeholder: &Placeholder) -> Unread {
    let what = match code {
        UNKNOWN_OUTPUT => "the outputs",
        "unknown-input" => "the input values",
        "unknown-param" => "the params",
        _ => "the values",
    };
    let fault = Diagnostic::error(code, format!("{} in {what}{who}", error.message));
    let fault = docs::at(placeholder, fault);
    Unread::Absent(Box::new(match error.help {
        Some(help) => fault.help(help),
        None => fault,
    }))
}
