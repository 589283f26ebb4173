//! Containers.

use purlin_expression::Dialect;
use purlin_model::Template;
use serde_json::{Value, json};

use super::file::{self, ByTarget, MountedFile, Volume};
use super::probe::Probe;
use super::{Label, label, pattern};
use crate::declare::{Declared, Field, Form, Kind, Read, form};
use crate::kinds::{AnyText, Choice, Filled, List, MapOf, Names, Words, kind, matching};
use crate::reader::Reader;
use crate::template::{constant, key, map, template};
use crate::yaml::{Entry, Node};

/// Containers by name, at least one.
pub(crate) struct Containers;

impl Kind for Containers {
    const FIELDS: &'static [Declared] = Container::FIELDS;

    fn schema() -> Value {
        let mut schema = MapOf::<Label, Container>::schema();
        schema["minProperties"] = 1.into();
        schema
    }
}

form! {
    /// A container.
    pub(crate) struct Container {
        /// Image with its tag.
        IMAGE: Filled = needed "image", "IMAGE";
        /// Program, instead of the image's own.
        COMMAND: List<AnyText> = "command", "[\"/bin/app\"]";
        /// Arguments, instead of the image's own.
        ARGS: List<AnyText> = "args", "[\"--verbose\"]";
        /// Environment variables; placeholders are filled in.
        VARIABLES: MapOf<VariableName, AnyText> = "variables", "{NAME: \"value\"}";
        /// Files by target path.
        FILES: ByTarget<MountedFile> = "files", "{/etc/app.conf: {content: TEXT}}";
        /// Volumes by target path.
        VOLUMES: ByTarget<Volume> = "volumes", "{/data: {source: NAME}}";
        /// Containers that start after this one.
        BEFORE: MapOf<Label, Before> = "before", "{main: {ready: started}}";
        /// Memory and CPU of the container.
        RESOURCES: Resources = "resources", "{limits: {memory: 64Mi}}";
        /// Checks whether the container is alive.
        LIVENESS_PROBE: Probe = "livenessProbe", "{httpGet: {port: 8080, path: /}}";
        /// Checks whether the container is ready.
        READINESS_PROBE: Probe = "readinessProbe", "{httpGet: {port: 8080, path: /}}";
    }

    fn hint(name: &str) -> Option<String> {
        ["env", "environment"].contains(&name).then(|| "did you mean `variables`?".to_owned())
    }
}

/// The name of an environment variable.
pub(crate) struct VariableName;

impl Names for VariableName {
    fn schema() -> Value {
        json!({"pattern": "^[^=]+$"})
    }
}

form! {
    /// The state that this container must reach before the other one starts.
    pub(crate) struct Before {
        /// State of this container.
        READY: Choice<State> = needed "ready", "started";
    }
}

/// The state of a container, which only other tools act on.
#[derive(Clone, Copy)]
pub(crate) struct State;

impl Words for State {
    const WORDS: &'static [(&'static str, Self)] =
        &[("started", Self), ("healthy", Self), ("complete", Self)];
}

form! {
    /// Memory and CPU of the container.
    pub(crate) struct Resources {
        /// Upper limits.
        LIMITS: Amounts = "limits", "{memory: 64Mi}";
        /// Guaranteed amounts.
        REQUESTS: Amounts = "requests", "{memory: 64Mi}";
    }
}

form! {
    /// Memory and CPU.
    pub(crate) struct Amounts {
        /// Bytes, or with a unit as in `1.5Gi`.
        MEMORY: Memory = "memory";
        /// CPUs, or thousandths as in `125m`.
        CPU: Cpu = "cpu";
    }
}

kind! {
    /// An amount of memory.
    pub(crate) struct Memory: matching("^(0\\.[0-9]+|[1-9][0-9]*(\\.[0-9]+)?)([KMGTPE]i?)?$")
}
kind! {
    /// An amount of CPU.
    pub(crate) struct Cpu: matching("^[0-9]+(m|\\.[0-9]+)?$")
}

impl Read for Memory {
    type Value = ();

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<()> {
        let help = "write bytes, or a unit as in `125M` and `1.5Gi`";
        amount(reader, node, what, ("memory", pattern::memory, help))
    }
}

impl Read for Cpu {
    type Value = ();

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<()> {
        let help = "write CPUs as in \"2\" and \"0.5\", or thousandths as in `125m`";
        amount(reader, node, what, ("cpu", pattern::cpu, help))
    }
}

fn amount(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    what: &str,
    (of, fits, help): (&str, fn(&str) -> bool, &str),
) -> Option<()> {
    let text = reader.string(node, what)?;
    if !fits(text) {
        reader.wrong_value(&node.span, format!("`{text}` is not an amount of {of}"), help);
        return None;
    }
    Some(())
}

pub(super) fn containers(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    let entries = reader.things(node, "`containers`", &["image"], &Container::has);
    if node.entries().is_some_and(<[_]>::is_empty) {
        reader.wrong_value(&node.span, "`containers` is empty", "add a container: `main: {image: IMAGE}`");
    }
    let mut containers = Vec::with_capacity(entries.len());
    for entry in entries {
        label(reader, &entry.key, &entry.key_span, "the name of a container");
        containers.push((entry.key.clone(), container(reader, entry)));
    }
    map(containers.into_iter())
}

fn container(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Template {
    let what = format!("the container `{}`", entry.key);
    let Some(container) = Container::open(reader, &entry.value, &what) else { return Template::default() };
    container.read(reader, Container::IMAGE);
    container.read(reader, Container::COMMAND);
    container.read(reader, Container::ARGS);
    if let Some(node) = container.node(Container::VARIABLES) {
        variables(reader, node);
    }
    if let Some(node) = container.node(Container::BEFORE) {
        before(reader, node);
    }
    if let Some(node) = container.node(Container::RESOURCES) {
        resources(reader, node);
    }
    container.read(reader, Container::LIVENESS_PROBE);
    container.read(reader, Container::READINESS_PROBE);
    map(container.entries.iter().map(|entry| {
        let value = match &*entry.key {
            "variables" => texts(reader, &entry.value),
            "files" => file::files(reader, &entry.value),
            "volumes" => file::volumes(reader, &entry.value),
            _ => Template::Constant(constant(&entry.value)),
        };
        (entry.key.clone(), value)
    }))
}

/// A map of texts with placeholders.
fn texts(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    let entries = node.entries().unwrap_or_default();
    map(entries.iter().map(|entry| {
        let text = template(reader, &entry.value, Dialect::Score).as_text();
        (key(reader, entry, Dialect::Score), text)
    }))
}

fn variables(reader: &mut Reader<'_>, node: &Node<'_>) {
    for entry in reader.map(node, "`variables`").unwrap_or_default() {
        if entry.key.is_empty() || entry.key.contains('=') {
            let message = format!("`{}` cannot be the name of a variable", entry.key);
            reader.wrong_value(&entry.key_span, message, "write a name without `=`");
        }
        reader.string(&entry.value, &format!("the variable `{}`", entry.key));
    }
}

fn before(reader: &mut Reader<'_>, node: &Node<'_>) {
    for entry in reader.map(node, "`before`").unwrap_or_default() {
        label(reader, &entry.key, &entry.key_span, "the name of a container");
        if let Some(before) = Before::open(reader, &entry.value, &format!("`before.{}`", entry.key)) {
            before.read(reader, Before::READY);
        }
    }
}

fn resources(reader: &mut Reader<'_>, node: &Node<'_>) {
    let Some(resources) = Resources::open(reader, node, "`resources`") else { return };
    let mut amounts = |field: Field<Resources, Amounts>| {
        let node = resources.node(field)?;
        let amounts = Amounts::open(reader, node, &format!("`{}`", resources.name(field)))?;
        amounts.read(reader, Amounts::MEMORY);
        amounts.read(reader, Amounts::CPU)
    };
    amounts(Resources::LIMITS);
    amounts(Resources::REQUESTS);
}
