//! Compares a driver with its approval (SPEC §8, versions). The bytes of a component are compared
//! before any of it runs; only an approved component is asked for its description.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use purlin_model::driver::DriverInfo;
use purlin_model::{Diagnostic, Digest, Grants, Location, Lock, Pin};
use purlin_sandbox::{Driver, Sandbox};
use sha2::Digest as _;

/// Why a component must not be used.
#[derive(Debug)]
pub(super) struct Unapproved {
    /// The component.
    file: PathBuf,
    why: Why,
    /// The number of further components that are not approved.
    pub(super) others: usize,
}

#[derive(Debug)]
enum Why {
    /// The lock itself is invalid.
    Faulty(Location),
    /// The lock has no entry with this name.
    Stranger(Location),
    /// It differs, as these sentences say.
    Differs { approved: Location, differences: Vec<String> },
}

impl Unapproved {
    fn new(file: &Path, why: Why) -> Box<Self> {
        Box::new(Self { file: file.to_owned(), why, others: 0 })
    }

    /// The reason as a fragment.
    pub(super) fn reason(&self) -> &'static str {
        match &self.why {
            Why::Faulty(_) => "purlin.lock has a fault, so nothing is approved",
            Why::Stranger(_) => "purlin.lock does not approve it",
            Why::Differs { .. } => "it is not the approved component",
        }
    }

    /// The differences from the approval.
    pub(super) fn differences(&self) -> &[String] {
        match &self.why {
            Why::Differs { differences, .. } => differences,
            _ => &[],
        }
    }

    pub(super) fn explain(&self, name: &str, mut fault: Diagnostic) -> Diagnostic {
        match &self.why {
            Why::Faulty(place) => fault = fault.related(place, "this file"),
            Why::Stranger(place) => fault = fault.related(place, "without an entry for it"),
            Why::Differs { approved, differences } => {
                fault = fault.related(approved, "approved here");
                for difference in differences {
                    fault = fault.fact(difference.as_str());
                }
            }
        }
        if self.others > 0 {
            fault =
                fault.fact(format!("nor is any other component beside `{}` approved", self.file.display()));
        }
        fault.help(match &self.why {
            Why::Faulty(_) => {
                "`purlin validate` shows the fault; without the file, `purlin driver approve` writes a new one"
                    .to_owned()
            }
            _ => format!(
                "`purlin driver inspect {name}` shows what it is, and `purlin driver approve {name}` approves it"
            ),
        })
    }
}

/// The message that a component imports more than approved.
const IMPORTS: &str = "its imports can use more capabilities";

/// The digest of a component.
pub(super) fn digest(bytes: &[u8]) -> Digest {
    Digest::new(sha2::Sha256::digest(bytes).into())
}

/// The entry that approves a component with this name and these grants. Reads bytes, but runs
/// nothing.
pub(super) async fn approved<'a>(
    lock: &'a Lock,
    sandbox: &Sandbox,
    name: &str,
    file: &Path,
    bytes: &[u8],
    grants: &Grants,
) -> Result<&'a Pin, Box<Unapproved>> {
    if lock.faulty {
        return Err(Unapproved::new(file, Why::Faulty(lock.location.clone())));
    }
    let pins = lock.drivers.get(name).map(Vec::as_slice).unwrap_or_default();
    let Some(newest) = pins.iter().max_by(|a, b| a.version.cmp(&b.version)) else {
        return Err(Unapproved::new(file, Why::Stranger(lock.location.clone())));
    };
    let own = digest(bytes);
    let same = pins.iter().find(|pin| pin.digest == own);
    let pin = same.unwrap_or(newest);
    let mut differences = Vec::new();
    if same.is_none() {
        let known: Vec<String> =
            pins.iter().map(|pin| format!("{} of {}", pin.digest, pin.version)).collect();
        differences.push(format!(
            "`{}` has a different digest: {own}; approved: {}",
            file.display(),
            known.join(", ")
        ));
        // A file that is not a component is reported when it is loaded, and this one will not be
        // loaded.
        if let Ok(interfaces) = sandbox.interfaces(bytes.to_vec().into()).await {
            differences.extend(more(IMPORTS, &interfaces.reach(), &pin.imports));
        }
    }
    differences.extend(more("it is granted more", &granted(grants), &pin.grants));
    if differences.is_empty() {
        return Ok(pin);
    }
    Err(Unapproved::new(file, Why::Differs { approved: pin.location.clone(), differences }))
}

/// Compares the properties and the description of a component with its approval.
pub(super) fn confirmed(pin: &Pin, file: &Path, driver: &Driver) -> Result<(), Box<Unapproved>> {
    let info = driver.info();
    let mut differences: Vec<String> = more(IMPORTS, &driver.reach(), &pin.imports).into_iter().collect();
    // Another component under the same name needs a new approval.
    if let Some(name) = pin.name.as_deref().filter(|name| **name != *info.name) {
        differences.push(format!("its name is `{}`, but `{name}` is approved", info.name));
    }
    if info.version != pin.version {
        differences.push(format!("it is version {}, but {} is approved", info.version, pin.version));
    }
    differences.extend(more("it requests more", &requested(info), &pin.requested_capabilities));
    if differences.is_empty() {
        return Ok(());
    }
    Err(Unapproved::new(file, Why::Differs { approved: pin.location.clone(), differences }))
}

fn more(what: &str, now: &BTreeSet<String>, approved: &BTreeSet<String>) -> Option<String> {
    let more: Vec<String> =
        now.iter().filter(|line| !covered(line, approved)).map(|line| format!("`{line}`")).collect();
    (!more.is_empty()).then(|| format!("{what}: {}", more.join(", ")))
}

/// Whether the approved lines cover this one. A writable folder can be read as well.
fn covered(line: &str, approved: &BTreeSet<String>) -> bool {
    let writable = || {
        let folder = line.strip_prefix("dirs ").and_then(|_| line.strip_suffix(" ro"))?;
        Some(approved.contains(&format!("{folder} rw")))
    };
    approved.contains(line) || writable().unwrap_or(false)
}

/// Grants as lines of a lock.
pub(super) fn granted(grants: &Grants) -> BTreeSet<String> {
    grants.lines().into_iter().map(|(capability, grant)| format!("{capability} {grant}")).collect()
}

/// Requests as lines of a lock.
pub(super) fn requested(info: &DriverInfo) -> BTreeSet<String> {
    let line =
        |one: &purlin_model::driver::RequestedCapability| format!("{} {}", one.capability, one.pattern);
    info.requested_capabilities.iter().map(|capability| line(capability).trim_end().to_owned()).collect()
}
