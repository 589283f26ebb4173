//! Managed resources and the fields with which they refer to one another (SPEC §7 [X]).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::{Key, Location, Map, Path, ResourceId, Template, TypeName, Value};

/// A managed resource: a manifest in the format of Kubernetes.
///
/// Its reference fields are resolved into [`Self::params`]: if the manifest has
/// `vpcIdRef: {name: net}`, the params have `vpcId`, a placeholder that reads the output `id` of
/// `net`.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// `apiVersion`, such as `ec2.aws.crossplane.io/v1beta1`.
    pub api_version: Arc<str>,
    /// `kind`, such as `VPC`.
    pub kind: Arc<str>,
    /// The type of the resource, from a `ResourceType` or by convention: `ec2/vpc`.
    pub type_name: TypeName,
    /// `metadata.namespace`.
    pub namespace: Option<Arc<str>>,
    /// `metadata.name`.
    pub name: Arc<str>,
    /// `<namespace>/<name>`, or the name alone.
    pub id: ResourceId,
    /// `metadata.labels`.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// The document without its params, the annotations for Purlin, and the fields that a cluster
    /// itself maintains.
    pub around: Map,
    /// The position of its params.
    pub under: ParamsPosition,
    /// `spec.forProvider`, else `spec`, with reference fields resolved: a map.
    pub params: Arc<Template>,
    /// The fields that Purlin took out of its params, and what it fills instead.
    pub references: Arc<[ReferenceField]>,
    /// Its dependencies besides its reference fields.
    pub depends_on: Vec<Dependency>,
    /// Where it was written.
    pub location: Location,
}

/// The position of the params in a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsPosition {
    /// Under `spec.forProvider`.
    ForProvider,
    /// Under `spec`.
    Spec,
    /// Beside `metadata`, in a manifest without `spec`.
    Top,
}

/// The content of a place in a manifest (`${manifest.PATH}`).
#[derive(Clone, Debug, PartialEq)]
pub enum ManifestPart {
    /// A part of its head.
    Head(Value),
    /// A part of its params, at this path.
    Params(Path),
    /// A map around its params, which are inside it at this path, beside its other entries.
    Around(Map, &'static [&'static str]),
    /// Nothing; these names exist.
    Nothing(Vec<Arc<str>>),
}

impl ParamsPosition {
    fn path(self) -> &'static [&'static str] {
        match self {
            Self::ForProvider => &["spec", "forProvider"],
            Self::Spec => &["spec"],
            Self::Top => &[],
        }
    }
}

impl Manifest {
    /// The key of its resource.
    pub fn key(&self) -> Key {
        Key::new(&self.type_name, &crate::Class::default_class(), &self.id)
    }

    /// The content at a path; does not look into the params.
    pub fn part(&self, path: &Path) -> ManifestPart {
        let under = self.under.path();
        let common = path.0.iter().zip(under).take_while(|(name, part)| ***name == ***part).count();
        let beside = || path.0.first().is_some_and(|name| self.around.contains_key(name));
        if common == under.len() && !(under.is_empty() && (path.0.is_empty() || beside())) {
            return ManifestPart::Params(Path(path.0.get(common..).unwrap_or_default().into()));
        }
        let mut found = Value::Map(self.around.clone());
        for (depth, name) in path.0.iter().enumerate() {
            let Value::Map(mut map) = found else { return ManifestPart::Nothing(Vec::new()) };
            let is_around = depth < common;
            match map.remove(name) {
                Some(inner) => found = inner,
                None if is_around => found = Value::Map(Map::new()),
                None => {
                    let mut names: Vec<Arc<str>> = map.keys().cloned().collect();
                    if let Some(inner) = under.get(depth).filter(|_| depth == common)
                        && !names.iter().any(|name| **name == **inner)
                    {
                        names.push(Arc::from(*inner));
                    }
                    return ManifestPart::Nothing(names);
                }
            }
        }
        match found {
            Value::Map(map) if common == path.0.len() => {
                ManifestPart::Around(map, under.get(common..).unwrap_or_default())
            }
            found => ManifestPart::Head(found),
        }
    }
}

impl ManifestPart {
    /// A map with the params inserted.
    pub fn around(mut map: Map, names: &[&'static str], params: Value) -> Value {
        match names.split_first() {
            None => {
                if let Value::Map(params) = params {
                    map.extend(params);
                }
            }
            Some((first, rest)) => {
                let inner = match map.remove(*first) {
                    Some(Value::Map(inner)) => inner,
                    _ => Map::new(),
                };
                let inner = match rest {
                    [] => params,
                    rest => Self::around(inner, rest, params),
                };
                map.insert(Arc::from(*first), inner);
            }
        }
        Value::Map(map)
    }
}

/// A field that Purlin takes out of a manifest, because a `ResourceType` or the convention of its
/// group makes it a reference. Places are JSON Pointers into the manifest.
///
/// It serialises in the published, versioned form: `references` of a step and of `explain` in
/// `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ReferenceField {
    /// The field.
    pub field: Arc<str>,
    /// The field that gets the value, if any.
    pub fills: Option<Arc<str>>,
    /// Where the field was written.
    #[serde(rename = "at", serialize_with = "as_text")]
    pub location: Location,
}

fn as_text<S: Serializer>(location: &Location, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(location)
}

/// A dependency that a manifest names without reading a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependency {
    /// The target.
    pub target: Target,
    /// Whether it is provisioned only after the target. Otherwise there is no order between the
    /// two, but each is ready only when both are.
    pub blocking: bool,
    /// Whether it does without the target if that does not exist.
    pub optional: bool,
    /// Where it was written.
    pub location: Location,
}

/// A reference field: `fooRef`, one entry of `fooRefs`, or `fooSelector`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldReference {
    /// The target.
    pub target: Target,
    /// The value that is read from each target.
    pub read: Attribute,
}

/// The resources that a reference field or a dependency names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Their type. `None`: the only matching manifest other than the one that refers, or the one
    /// whose kind [`Self::hint`] names.
    pub type_name: Option<TypeName>,
    /// The name of the field without `Ref`, `Refs` or `Selector`, such as `vpcId`, if nothing else
    /// says which kind is meant.
    pub hint: Option<Arc<str>>,
    /// The namespace of the manifest that refers, or the one that the field names.
    pub namespace: Option<Arc<str>>,
    /// Whether the field names the namespace. Otherwise, a manifest without a namespace fits too.
    pub in_namespace: bool,
    /// Which of them.
    pub which: TargetSelector,
}

/// The selection among the resources of a type and namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TargetSelector {
    /// The one with this name.
    Named(Arc<str>),
    /// The only one with all of these labels.
    Labelled(BTreeMap<Arc<str>, Arc<str>>),
    /// All with all of these labels: a list.
    AllLabelled(BTreeMap<Arc<str>, Arc<str>>),
}

/// The value that a reference field reads from its target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attribute {
    /// An output; `id` if the `ResourceType` names none.
    Output(Path),
    /// `${ref.X}` of a composite attribute (`x-reference: {build: …}`): the target's own name or
    /// namespace, a field of its params, or else an output.
    Field(Path),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, labels) = match &self.which {
            TargetSelector::Named(name) => {
                let kind = self.type_name.as_ref().map_or("manifest", TypeName::as_str);
                write!(f, "{kind} `")?;
                if let Some(namespace) = &self.namespace {
                    write!(f, "{namespace}/")?;
                }
                return write!(f, "{name}`");
            }
            TargetSelector::Labelled(labels) => ("a", labels),
            // If some match, all of them are targets; if none does, the text is about the first.
            TargetSelector::AllLabelled(labels) => ("any", labels),
        };
        let kind = self.type_name.as_ref().map_or("manifest", TypeName::as_str);
        write!(f, "{what} {kind} with ")?;
        for (index, (name, value)) in labels.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}`{name}: {value}`")?;
        }
        Ok(())
    }
}
