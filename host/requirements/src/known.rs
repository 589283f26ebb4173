//! Values that are known before anything runs: with them, requirements are compared with existing
//! installations, and the names of sharing groups are made (SPEC §6, reuse and parameters, and
//! sharing).

use std::sync::Arc;

use indexmap::IndexMap;
use purlin_expression::{Scope, Unread, evaluate, read_path};
use purlin_model::{
    Class, Context, ContextField, Declared, InstallationField, Key, Path, Piece, Placeholder, Reference,
    ResourceId, Setting, Template, TypeName, Urn, Value, ValueKind,
};

use crate::resolve::Parent;

/// The surroundings of a resolution: where it is deployed, and the values of the deployment.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Where it is deployed.
    pub context: Arc<Context>,
    /// The values of `${values.K}`.
    pub values: IndexMap<Arc<str>, Template>,
}

/// The value of a template of a parent. None if a part of it is not known yet.
pub(crate) fn value(template: &Template, parent: Parent<'_>, around: &Surroundings) -> Option<Value> {
    let value = evaluate(template, &Known { parent: Some(parent), around }).ok()??;
    (!value.has_unknown() && size(&value) <= LARGEST).then_some(value)
}

/// The largest value that is kept: each level of requirements may double it.
const LARGEST: usize = 1 << 16;

/// About the number of bytes of a value.
fn size(value: &Value) -> usize {
    match value.exposed() {
        Value::String(text) => text.len(),
        Value::List(items) => items.iter().map(|item| 1 + size(item)).sum(),
        Value::Map(map) => map.iter().map(|(key, item)| 1 + key.len() + size(item)).sum(),
        _ => 1,
    }
}

/// What a placeholder adds to the name of a group. None if that is not known yet, secret, or no
/// text.
pub(crate) fn text(placeholder: &Placeholder, parent: Parent<'_>, around: &Surroundings) -> Option<String> {
    let is_open = matches!(
        placeholder.reference,
        Reference::Installation(_) | Reference::Bundle(_) | Reference::Param(_)
    );
    let template = Template::Text([Piece::Placeholder(placeholder.clone())].into());
    match value(&template, parent, around).filter(|_| is_open)? {
        Value::String(text) => Some(text.to_string()),
        value @ (Value::Bool(_) | Value::Number(_)) => Some(value.redact().to_string()),
        _ => None,
    }
}

/// A field of an installation, or of a resource whose definition requires one: `name` is its name
/// or its key.
pub(crate) fn field(field: InstallationField, name: &str, root: &str, context: &Context) -> Arc<str> {
    match field {
        InstallationField::Id => urn(name, context),
        InstallationField::Name => name.into(),
        InstallationField::Namespace => Arc::clone(&context.namespace),
        InstallationField::RootId => urn(root, context),
        InstallationField::RootName => root.into(),
    }
}

/// The URN of an installation or a resource: two applications may have installations of one name.
fn urn(name: &str, context: &Context) -> Arc<str> {
    let installation = || {
        let id = ResourceId::new(name).ok()?;
        Some(Key::new(&TypeName::installation(), &Class::default_class(), &id))
    };
    let key = if name.contains('#') { Key::parse(name).ok() } else { installation() };
    // An invalid name is reported when it becomes a resource.
    key.map_or_else(|| name.into(), |key| Urn::new(context, &key).as_str().into())
}

/// Reads what is known.
struct Known<'a> {
    /// None for the values of a deployment.
    parent: Option<Parent<'a>>,
    around: &'a Surroundings,
}

impl Scope for Known<'_> {
    fn read(&self, placeholder: &Placeholder) -> Result<Value, Unread> {
        let known = match (&placeholder.reference, self.parent) {
            (Reference::Param(path), Some(parent)) => param(path, parent),
            // A deployment and a definition are no bundle, and a deployment is no installation.
            (Reference::Bundle(_), Some(parent)) if parent.bundle.name.is_empty() => None,
            (Reference::Bundle(field), Some(parent)) => {
                Some(parent.bundle.field(*field)).filter(|text| !text.is_empty()).map(Value::String)
            }
            (Reference::Installation(of), Some(parent))
                if parent.name.is_empty() && *of != InstallationField::Namespace =>
            {
                None
            }
            (Reference::Value(path), Some(_)) => self.given(path),
            (Reference::Context(of), _) => context(*of, &self.around.context),
            (Reference::Installation(of), Some(parent)) => {
                Some(Value::String(field(*of, parent.name, parent.root, &self.around.context)))
            }
            _ => None,
        };
        Ok(known.unwrap_or_else(Value::unknown))
    }
}

impl Known<'_> {
    fn given(&self, path: &Path) -> Option<Value> {
        let (name, below) = path.0.split_first()?;
        let inner = Known { parent: None, around: self.around };
        let value = evaluate(self.around.values.get(name)?, &inner).ok()??;
        read_path(&value, &Path(below.into())).ok()
    }
}

/// The value of a parameter or a credential that nobody sets; none if it is not known, because a
/// person must give it, or because it is made from others.
pub(crate) fn unset(declared: &Declared) -> Option<Value> {
    match &declared.default {
        _ if declared.source.is_some() => None,
        Some(default) => Some(default.clone()),
        None => (!declared.is_required).then_some(Value::Null),
    }
}

/// The part of a bundle that the first word of a path names.
pub(crate) fn setting(word: &str) -> Setting {
    match word {
        "credentials" => Setting::Credential,
        _ => Setting::Parameter,
    }
}

/// A parameter or a credential of the parent, secret if its bundle says so.
fn param(path: &Path, parent: Parent<'_>) -> Option<Value> {
    let (part, below) = path.0.split_first()?;
    let (name, below) = below.split_first()?;
    let part = setting(part);
    let value = match parent.given.get(&(part, Arc::clone(name))) {
        Some(meant) => meant.value.clone()?,
        None => unset(parent.table.declared(parent.bundle, part, name)?)?,
    };
    let is_secret =
        parent.table.named(ValueKind::Setting(part), name).is_some_and(|row| row.offered.is_sensitive);
    let value = read_path(&value, &Path(below.into())).ok()?;
    Some(if is_secret { value.into_secret() } else { value })
}

fn context(field: ContextField, context: &Context) -> Option<Value> {
    let value = match field {
        ContextField::OrgId => &context.org,
        ContextField::AppId => &context.app,
        ContextField::EnvId => &context.env.id,
        ContextField::EnvType => &context.env.kind,
        ContextField::Namespace => &context.namespace,
        // The others differ between runs, or between resources.
        _ => return None,
    };
    Some(Value::String(Arc::clone(value)))
}
