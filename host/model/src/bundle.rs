//! Bundles, their requirements, and their offers (SPEC §6 [P]).

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use purlin_range::Range;
use semver::Version;

use crate::{
    BundleField, Class, DriverRequirement, InstallationShare, Key, Lifecycle, Location, Path, Recipe,
    ResourceId, Template, TypeName, Value,
};

/// A versioned, named recipe with its own parameters, credentials, outputs and requirements.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// Its name, as its document gives it: its repository, if need be without the registry.
    pub name: Arc<str>,
    /// Its repository, such as `getporter/mysql`.
    pub repository: Arc<str>,
    /// Its version.
    pub version: Version,
    /// Its purpose, in the words of its author.
    pub description: Option<Arc<str>>,
    /// Its driver. None for a bundle that only registers something that exists, and for one of
    /// another tool, whose steps are not run.
    pub driver: Option<DriverRequirement>,
    /// Whether it has steps of another tool.
    pub has_steps: bool,
    /// `inputs.values` of its driver; the outputs of requirements that the steps of another tool use.
    pub values: Template,
    /// `inputs.secrets` of its driver.
    pub secrets: Template,
    /// `inputs.connection` of its driver.
    pub connection: Option<Template>,
    /// The settings of an installation of it.
    pub parameters: Vec<Declared>,
    /// The credentials that it needs for other systems. Always secret.
    pub credentials: Vec<Declared>,
    /// Its outputs.
    pub outputs: Vec<Declared>,
    /// Its requirements.
    pub requires: Vec<Requirement>,
    /// `provides.interface.id`: the interface that it claims to implement.
    pub provides: Option<Arc<str>>,
    /// Settings for replacing, deleting and so on.
    pub lifecycle: Lifecycle,
    /// Where it was written.
    pub location: Location,
}

impl Bundle {
    /// A bundle without a name, outside any catalog, that only requires others.
    pub fn requiring(requires: Vec<Requirement>) -> Self {
        let location = requires.first().map(|first| first.location.clone()).unwrap_or_default();
        Self {
            name: Arc::default(),
            repository: Arc::default(),
            version: Version::new(0, 0, 0),
            description: None,
            driver: None,
            has_steps: false,
            values: Template::default(),
            secrets: Template::default(),
            connection: None,
            parameters: Vec::new(),
            credentials: Vec::new(),
            outputs: Vec::new(),
            requires,
            provides: None,
            lifecycle: Lifecycle::default(),
            location,
        }
    }

    /// The reference that names this version.
    pub fn reference(&self) -> BundleReference {
        BundleReference {
            repository: Arc::clone(&self.repository),
            tag: Some(format!("v{}", self.version).into()),
            digest: None,
        }
    }

    /// The text of a field.
    pub fn field(&self, field: BundleField) -> Arc<str> {
        match field {
            BundleField::Name => Arc::clone(&self.name),
            BundleField::Version => self.version.to_string().into(),
            BundleField::Description => self.description.clone().unwrap_or_default(),
        }
    }
}

/// A parameter, a credential or an output.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Its name, unique among those of its kind.
    pub name: Arc<str>,
    /// `$id`: its globally known name. If both sides of a comparison have one, only it is compared.
    pub id: Option<Arc<str>>,
    /// Its purpose.
    pub description: Option<Arc<str>>,
    /// JSON Schema keywords for its values; may be empty.
    pub schema: serde_json::Map<String, serde_json::Value>,
    /// Its value by default.
    pub default: Option<Value>,
    /// The output of a requirement that a parameter takes by default. It takes precedence over the
    /// default value.
    pub source: Option<Template>,
    /// Whether it must be set. Never with a default.
    pub is_required: bool,
    /// Whether it is secret.
    pub is_sensitive: bool,
    /// Where it was written.
    pub location: Location,
}

/// A requirement of a bundle, a definition or a deployment: a bundle, or an existing installation.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Its name in its document.
    pub name: Arc<str>,
    /// The bundle to install if nothing else fits.
    pub reference: Option<BundleReference>,
    /// The accepted versions.
    pub version: Option<Range>,
    /// What it must offer beyond the outputs that are used.
    pub interface: Interface,
    /// The values of its parameters. Placeholders are those of the parent.
    pub parameters: Vec<Binding>,
    /// The values of its credentials.
    pub credentials: Vec<Binding>,
    /// Outputs of the parent, made from outputs of the requirement.
    pub outputs: Vec<Binding>,
    /// How it is shared.
    pub sharing: Sharing,
    /// Where it was written.
    pub location: Location,
}

/// A value that is passed on under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The parameter, credential or output that it sets.
    pub name: Arc<str>,
    /// The value.
    pub value: Template,
    /// Where the name was written.
    pub location: Location,
}

/// The interface that a requirement must offer (`bundle.interface`). The outputs that are used are
/// required in addition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    /// The well-known name of the interface.
    pub id: Option<Arc<str>>,
    /// A bundle whose outputs, parameters and credentials it must have. Never together with these.
    pub reference: Option<BundleReference>,
    /// The outputs that it must have.
    pub outputs: Vec<Declared>,
    /// The parameters that it must accept.
    pub parameters: Vec<Declared>,
    /// The credentials that it must accept.
    pub credentials: Vec<Declared>,
}

/// How an installation is shared (`sharing`).
#[derive(Clone, Debug, PartialEq)]
pub enum Sharing {
    /// Not shared, and never reused.
    None,
    /// Shared among all who name the same group. The empty name is a group, too.
    Group(Template),
}

impl Default for Sharing {
    fn default() -> Self {
        Self::Group(Template::Constant(Value::from("")))
    }
}

/// The name of a bundle in a catalog: `REPOSITORY[:TAG][@DIGEST]`, as for container images.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BundleReference {
    /// Such as `getporter/mysql` or `localhost:5000/mysql`.
    pub repository: Arc<str>,
    /// Such as `v1.2.3` or `latest`.
    pub tag: Option<Arc<str>>,
    /// Such as `sha256:…`.
    pub digest: Option<Arc<str>>,
}

impl BundleReference {
    /// The version in the tag, if it is one: `v1.2` is 1.2.0.
    pub fn version(&self) -> Option<Version> {
        purlin_range::lenient(self.tag.as_deref()?)
    }

    /// Whether it leaves the version to the catalog: it has no tag, or `latest`.
    pub fn is_open(&self) -> bool {
        self.digest.is_none() && self.tag.as_deref().is_none_or(|tag| tag == "latest")
    }
}

/// An installation that should exist: its bundle compiled into a recipe, and its params (SPEC §6).
#[derive(Clone, Debug, PartialEq)]
pub struct InstallationRequest {
    /// Its name: the name of a root, or `PARENT/REQUIREMENT`.
    pub id: ResourceId,
    /// Other names by which documents may refer to it: those of the requirements that share it.
    pub aliases: Vec<ResourceId>,
    /// How it is provisioned. Placeholders name requirements by their keys.
    pub recipe: Arc<Recipe>,
    /// `{parameters, credentials}`. Placeholders are those of the first parent.
    pub params: Arc<Template>,
    /// The JSON Schema of its params: the declarations of parameters and credentials in its bundle.
    pub schema: Arc<serde_json::Value>,
    /// Whether its bundle has steps of another tool, and nothing else provisions it.
    pub needs_driver: bool,
    /// The names of its outputs.
    pub outputs: Vec<Arc<str>>,
    /// The names of parameters that are secret. Credentials always are.
    pub secret: BTreeSet<Arc<str>>,
    /// The part that others may see.
    pub share: Arc<InstallationShare>,
    /// Its parents, and the places of their requirements. The first is the one whose placeholders
    /// its params contain. Empty for a root.
    pub required_by: Vec<(RequiredBy, Location)>,
    /// Where it was written: its requirement, or the request for a root.
    pub location: Location,
}

/// The parent of an installation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequiredBy {
    /// An installation, by its index in
    /// [`Deployment::installations`](crate::Deployment::installations).
    Installation(u32),
    /// A resource whose definition requires it.
    Resource(Key),
}

impl InstallationRequest {
    /// The key of its resource.
    pub fn key(&self) -> Key {
        Key::new(&TypeName::installation(), &Class::default_class(), &self.id)
    }

    /// Marks the secret parts of a value at a path of its params.
    pub fn seal(&self, path: &Path, value: Value) -> Value {
        let is_secret = |part: &str, name: &str| part == "credentials" || self.secret.contains(name);
        match (&*path.0, value) {
            ([], Value::Map(map)) => {
                let part = |(part, value): (Arc<str>, Value)| {
                    let below = Path(Box::new([Arc::clone(&part)]));
                    let value = self.seal(&below, value);
                    (part, value)
                };
                Value::Map(map.into_iter().map(part).collect())
            }
            ([part], Value::Map(map)) => {
                let one = |(name, value): (Arc<str>, Value)| {
                    let value = if is_secret(part, &name) { value.into_secret() } else { value };
                    (name, value)
                };
                Value::Map(map.into_iter().map(one).collect())
            }
            ([part, name, ..], value) if is_secret(part, name) => value.into_secret(),
            (_, value) => value,
        }
    }

    /// Marks the inputs with the names of secret outputs: a driver may return them as they are.
    pub fn seal_inputs(&self, values: Value) -> Value {
        self.share.seal(&Path::default(), values)
    }
}

/// A text that is not a reference to a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` does not name a bundle")]
pub struct BadReference(pub Arc<str>);

impl FromStr for BundleReference {
    type Err = BadReference;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BadReference(text.into());
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        // The last colon may belong to a port.
        let (repository, tag) = match rest.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
            _ => (rest, None),
        };
        let is_word = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphanumeric())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+'))
        };
        let is_part = |(index, part): (usize, &str)| match part.split_once(':') {
            Some((host, port)) if index == 0 => {
                is_word(host) && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
            }
            _ => is_word(part),
        };
        let is_digest = |digest: &str| {
            let (kind, hex) = digest.split_once(':').unwrap_or_default();
            is_word(kind) && hex.len() >= 32 && hex.bytes().all(|b| b.is_ascii_hexdigit())
        };
        let is_good = repository.split('/').enumerate().all(is_part)
            && (repository.contains('/') || !repository.contains(':'))
            && tag.is_none_or(is_word)
            && digest.is_none_or(is_digest);
        if !is_good {
            return Err(bad());
        }
        Ok(Self { repository: repository.into(), tag: tag.map(tagged), digest: digest.map(Arc::from) })
    }
}

/// A tag. Registries allow no `+` in tags, so `_` stands for it in a version.
fn tagged(tag: &str) -> Arc<str> {
    let version = tag.replacen('_', "+", 1);
    let is_version =
        tag.contains('_') && Version::parse(version.strip_prefix('v').unwrap_or(&version)).is_ok();
    if is_version { version.into() } else { tag.into() }
}

impl serde::Serialize for BundleReference {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for BundleReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_those_of_images() {
        for (text, repository, tag) in [
            ("mysql", "mysql", None),
            ("mysql:5.7", "mysql", Some("5.7")),
            ("getporter/mysql:v1.0.0", "getporter/mysql", Some("v1.0.0")),
            ("localhost:5000/mysql", "localhost:5000/mysql", None),
            ("localhost:5000/mysql:v0.1.4", "localhost:5000/mysql", Some("v0.1.4")),
        ] {
            let reference: BundleReference = text.parse().expect(text);
            assert_eq!((&*reference.repository, reference.tag.as_deref()), (repository, tag), "{text}");
            assert_eq!(reference.to_string(), text);
        }
        let digest = format!("a/b:v1@sha256:{}", "0".repeat(64));
        assert_eq!(digest.parse::<BundleReference>().expect("a reference").to_string(), digest);
        for text in ["", ":v1", "a b", "a/", "/a", "a:b:c", "a@sha256:1", "a//b", "-a"] {
            assert_eq!(text.parse::<BundleReference>(), Err(BadReference(text.into())));
        }
        assert_eq!("m:v1.2".parse::<BundleReference>().expect("one").version(), Some(Version::new(1, 2, 0)));
        assert_eq!("m:latest".parse::<BundleReference>().expect("one").version(), None);
        for (written, meant) in [("m:v1.0.0_b.1", "m:v1.0.0+b.1"), ("m:a_b", "m:a_b"), ("m:v1_x", "m:v1_x")] {
            assert_eq!(written.parse::<BundleReference>().expect("one").to_string(), meant);
        }
    }
}
