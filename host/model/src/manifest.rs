//! Managed resources and the fields with which they refer to one another (SPEC §7 [X]).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

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
    /// `metadata.annotations`, without those that are instructions for Purlin.
    pub annotations: BTreeMap<Arc<str>, Arc<str>>,
    /// The position of its params.
    pub under: ParamsPosition,
    /// `spec.forProvider`, else `spec`, with reference fields resolved: a map.
    pub params: Arc<Template>,
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

    /// `apiVersion`, `kind` and `metadata`.
    fn head(&self) -> Map {
        let strings = |all: &BTreeMap<Arc<str>, Arc<str>>| {
            Value::Map(all.iter().map(|(name, text)| (name.clone(), Value::String(text.clone()))).collect())
        };
        let mut metadata = Map::new();
        metadata.insert("name".into(), Value::String(self.name.clone()));
        if let Some(namespace) = &self.namespace {
            metadata.insert("namespace".into(), Value::String(namespace.clone()));
        }
        for (name, all) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !all.is_empty() {
                metadata.insert(name.into(), strings(all));
            }
        }
        let mut head = Map::new();
        head.insert("apiVersion".into(), Value::String(self.api_version.clone()));
        head.insert("kind".into(), Value::String(self.kind.clone()));
        head.insert("metadata".into(), Value::Map(metadata));
        head
    }

    /// The content at a path; does not look into the params.
    pub fn part(&self, path: &Path) -> ManifestPart {
        let under = self.under.path();
        let Some((first, rest)) = path.0.split_first() else {
            return ManifestPart::Around(self.head(), under);
        };
        let mut head = self.head();
        if let Some(found) = head.get(first) {
            let mut found = found.clone();
            for name in rest {
                let Value::Map(map) = &mut found else { return ManifestPart::Nothing(Vec::new()) };
                match map.remove(name) {
                    Some(inner) => found = inner,
                    None => return ManifestPart::Nothing(map.keys().cloned().collect()),
                }
            }
            return ManifestPart::Head(found);
        }
        let common = path.0.iter().zip(under).take_while(|(name, part)| ***name == ***part).count();
        if common == under.len() {
            return ManifestPart::Params(Path(path.0.get(common..).unwrap_or_default().into()));
        }
        if common == path.0.len() {
            return ManifestPart::Around(Map::new(), under.get(common..).unwrap_or_default());
        }
        head.extend(under.first().map(|name| (Arc::from(*name), Value::Null)));
        match common {
            0 => ManifestPart::Nothing(head.keys().cloned().collect()),
            _ => ManifestPart::Nothing(under.get(common).map(|name| Arc::from(*name)).into_iter().collect()),
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
                let inner = rest
                    .iter()
                    .rev()
                    .fold(params, |inner, name| Value::Map(Map::from_iter([(Arc::from(*name), inner)])));
                map.insert(Arc::from(*first), inner);
            }
        }
        Value::Map(map)
    }
}

/// An entry of a manifest's `dependsOn`.
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

/// The resources that a reference field or an entry of `dependsOn` names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Their type. `None`: the only matching manifest, whatever its type.
    pub type_name: Option<TypeName>,
    /// The namespace of the manifest that refers, or the one that the field names.
    pub namespace: Option<Arc<str>>,
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
