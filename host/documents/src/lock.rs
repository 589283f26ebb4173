//! `kind: Lock`, the file `purlin.lock`: approvals of drivers (SPEC §8, versions).
//!
//! ```yaml
//! apiVersion: purlin.dev/v1
//! kind: Lock
//! spec:
//!   drivers:
//!     acme/postgres:
//!       - version: 1.2.3
//!         digest: sha256:0123…            # of the component
//!         name: acme/postgres             # that it gives itself
//!         imports: [dirs, tcp]            # capabilities that it could use
//!         requests: ["tcp db.internal:5432"]
//!         grants: ["tcp db.internal:5432"]
//! ```

use std::collections::BTreeSet;

use purlin_model::{Digest, Lock, Pin};

use crate::bundle::bad_version;
use crate::declare::{Field, Form, Opened, form};
use crate::definition::{DriverName, check_driver_name};
use crate::kinds::{AnyText, List, MapOf, Text};
use crate::reader::Reader;
use crate::yaml::{Entry, Node};

form! {
    /// Approved drivers. `purlin driver approve` writes this file.
    pub(crate) struct Document {
        /// Approved drivers.
        SPEC: Spec = needed "spec", "{drivers: {}}";
    }

    const HEAD: Option<(&'static str, &'static str)> = Some(("Lock", "Purlin lock"));

}

form! {
    /// Approved drivers.
    pub(crate) struct Spec {
        /// The approved versions of each driver, by its name.
        DRIVERS: MapOf<DriverName, List<Approved>> = needed "drivers", "{}";
    }
}

form! {
    /// A version.
    pub(crate) struct Approved {
        /// The version in its manifest.
        VERSION: Text = needed "version" matching "^[0-9]+\\.[0-9]+\\.[0-9]+([-+][0-9A-Za-z.+-]+)?$", "1.0.0";
        /// The digest of the component.
        DIGEST: Text = needed "digest" matching "^sha256:[0-9a-f]{64}$", "sha256:…";
        /// The name in its manifest.
        NAME: Text = "name";
        /// Capabilities that its imports can use.
        IMPORTS: List<AnyText> = "imports";
        /// Capabilities that it requests.
        REQUESTS: List<AnyText> = "requests";
        /// Granted capabilities.
        GRANTS: List<AnyText> = "grants";
    }
}

/// The name of the file. It is valid beside the Workspace.
pub const LOCK_FILE: &str = "purlin.lock";

/// The help for a damaged file.
pub(crate) const NEW_LOCK: &str = "remove the file; `purlin driver approve` then writes a new one";

/// Reads the approvals. The lock is faulty if anything about it was reported.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>) -> Lock {
    let before = reader.faults.len();
    let place = root.get("kind").map_or(root.span, |kind| kind.span);
    let mut lock = Lock { location: reader.at(&place), ..Lock::default() };
    drivers(reader, root, &mut lock);
    lock.faulty = reader.faults.iter().skip(before).any(purlin_model::Diagnostic::is_error);
    lock
}

fn drivers(reader: &mut Reader<'_>, root: &Node<'_>, lock: &mut Lock) {
    let document = Document::open(reader, root, "the Lock");
    let spec = document.and_then(|document| document.node(Document::SPEC));
    let Some(spec) = spec.and_then(|spec| Spec::open(reader, spec, "`spec`")) else { return };
    let entries = spec.node(Spec::DRIVERS).and_then(|node| reader.map(node, "`drivers`"));
    for entry in entries.unwrap_or_default() {
        check_driver_name(reader, entry);
        let pins = pins(reader, entry);
        lock.drivers.insert(entry.key.clone(), pins);
    }
}

/// The versions of one driver. A component that is approved twice is the result of a bad merge: the
/// code must not guess which one is valid.
fn pins(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Vec<Pin> {
    let what = format!("the driver `{}`", entry.key);
    let mut pins: Vec<Pin> = Vec::new();
    for node in reader.list(&entry.value, &what).unwrap_or_default() {
        let Some(pin) = pin(reader, node) else { continue };
        if let Some(first) = pins.iter().find(|first| first.digest == pin.digest) {
            let message = format!("{what} has the digest {} twice", pin.digest);
            let fault = purlin_model::Diagnostic::error("duplicate-document", message)
                .at(&pin.location)
                .related(&first.location, "first given here")
                .help(NEW_LOCK);
            reader.report(fault);
        }
        pins.push(pin);
    }
    pins
}

fn pin(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Pin> {
    let approved = Approved::open(reader, node, "a version")?;
    let version_node = approved.node(Approved::VERSION);
    let version = version_node.and_then(|node| version(reader, node));
    let digest = approved.node(Approved::DIGEST).and_then(|node| digest(reader, node));
    let name = approved.read(reader, Approved::NAME);
    let imports = items(reader, &approved, Approved::IMPORTS);
    let requested_capabilities = items(reader, &approved, Approved::REQUESTS);
    let grants = items(reader, &approved, Approved::GRANTS);
    let location = version_node.map_or(reader.at(&node.span), |node| reader.at(&node.span));
    Some(Pin { name, version: version?, digest: digest?, imports, requested_capabilities, grants, location })
}

fn version(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<semver::Version> {
    let text = reader.text(node, "`version`")?;
    match semver::Version::parse(text) {
        Ok(version) => Some(version),
        Err(error) => {
            let fault = bad_version(reader, node, text, &error);
            reader.report(fault.help(NEW_LOCK));
            None
        }
    }
}

fn digest(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Digest> {
    let text = reader.text(node, "`digest`")?;
    let digest = text.starts_with("sha256:").then(|| Digest::parse(text)).flatten();
    if digest.is_none() {
        let message = format!("`{text}` is not a digest: `sha256:` and 64 lower-case hex digits");
        reader.wrong_value(&node.span, message, NEW_LOCK);
    }
    digest
}

fn items(
    reader: &mut Reader<'_>,
    approved: &Opened<'_, '_, Approved>,
    field: Field<Approved, List<AnyText>>,
) -> BTreeSet<String> {
    let items = approved.read(reader, field).unwrap_or_default();
    items.into_iter().map(|(text, _)| text.to_string()).collect()
}
