//! The editions of the contract that this host runs. A component names its edition in the interface
//! that it exports, and only this module picks one.
//!
//! The rest of this crate knows only the types of the current edition. To run another one, give it a
//! line in [`EDITIONS`] and its interfaces in [`link`], and let [`Bind`] return an adapter that is
//! called with the types of the current one.

use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Engine, Store};

use crate::CONTRACT_VERSION;
use crate::bindings::preview::purlin::preview::consent;
use crate::bindings::preview::{Previews, PreviewsIndices};
use crate::bindings::programs::Imports as Programs;
use crate::bindings::{Driver, DriverIndices};
use crate::capability::Guest;
use crate::error::LoadError;

/// The interface that makes a component a driver, without its version.
const LIFECYCLE: &str = "purlin:driver/lifecycle";
/// The version of the package `purlin:metrics`, which grows by itself.
pub(crate) const METRICS_VERSION: &str = "0.1.0";
/// The version of the package `purlin:programs`, which grows by itself.
pub(crate) const PROGRAMS_VERSION: &str = "0.1.0";
/// The version of the package `purlin:preview`, which grows by itself.
pub(crate) const PREVIEW_VERSION: &str = "0.1.0";
/// The interface with which a driver foresees its effects, without its version.
const PREVIEW: &str = "purlin:preview/preview";
/// The packages of drivers, each with the version that this host runs.
const PACKAGES: [(&str, &str); 4] = [
    ("purlin:driver", CONTRACT_VERSION),
    ("purlin:metrics", METRICS_VERSION),
    ("purlin:preview", PREVIEW_VERSION),
    ("purlin:programs", PROGRAMS_VERSION),
];

/// Finds the functions of an edition in a linked component.
pub(crate) type Bind = fn(&InstancePre<Guest>) -> wasmtime::Result<DriverIndices>;

/// Every edition by its version, the current one first.
pub(crate) const EDITIONS: [(&str, Bind); 1] = [(CONTRACT_VERSION, DriverIndices::new)];

/// Links the interfaces of every edition for drivers.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    Driver::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    Programs::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    consent::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)
}

/// A linked component, and where its functions are.
pub(crate) struct Exports {
    linked: InstancePre<Guest>,
    driver: DriverIndices,
    /// Only of a driver that foresees its effects.
    preview: Option<PreviewsIndices>,
}

impl Exports {
    /// Finds the functions of an edition and, if the component exports them, of `purlin:preview`.
    pub(crate) fn find(engine: &Engine, linked: InstancePre<Guest>, bind: Bind) -> wasmtime::Result<Self> {
        let world = linked.component().component_type();
        let preview = match world.exports(engine).any(|(name, _)| is_preview(name)) {
            true => Some(PreviewsIndices::new(&linked)?),
            false => None,
        };
        Ok(Self { driver: bind(&linked)?, preview, linked })
    }

    /// The component.
    pub(crate) fn component(&self) -> &Component {
        self.linked.component()
    }

    /// Whether it foresees its effects.
    pub(crate) fn previews(&self) -> bool {
        self.preview.is_some()
    }

    /// Makes an instance. Its functions have the types of the contract.
    pub(crate) async fn instantiate(&self, store: &mut Store<Guest>) -> wasmtime::Result<Instance> {
        let instance = self.linked.instantiate_async(&mut *store).await?;
        let driver = self.driver.load(&mut *store, &instance)?;
        let preview =
            self.preview.as_ref().map(|preview| preview.load(&mut *store, &instance)).transpose()?;
        Ok(Instance { driver, preview })
    }
}

/// The functions of one instance.
pub(crate) struct Instance {
    pub(crate) driver: Driver,
    pub(crate) preview: Option<Previews>,
}

/// Whether this is the name of the export with which a driver foresees its effects.
pub(crate) fn is_preview(export: &str) -> bool {
    preview_version(export).is_some_and(|version| compatible(version, PREVIEW_VERSION))
}

/// The version of `purlin:preview`, if this is the name of its export.
pub(crate) fn preview_version(export: &str) -> Option<&str> {
    export.strip_prefix(PREVIEW)?.strip_prefix('@')
}

/// Checks the export with which a driver foresees its effects, if it has one.
///
/// # Errors
/// [`LoadError::NewerContract`] if all of them are of other editions than that of this host, as none is
/// earlier.
pub(crate) fn check_preview<'a>(exports: impl Iterator<Item = &'a str>) -> Result<(), LoadError> {
    let versions: Vec<&str> = exports.filter_map(preview_version).collect();
    match versions.first() {
        Some(found) if !versions.iter().any(|version| compatible(version, PREVIEW_VERSION)) => {
            Err(LoadError::NewerContract {
                found: format!("purlin:preview@{found}"),
                supported: format!("purlin:preview@{PREVIEW_VERSION}"),
                message: format!("it exports `{PREVIEW}@{found}`"),
            })
        }
        _ => Ok(()),
    }
}

/// The version of the contract, if this is the name of its export.
pub(crate) fn version(export: &str) -> Option<&str> {
    export.strip_prefix(LIFECYCLE).map(|rest| rest.strip_prefix('@').unwrap_or(rest))
}

/// Picks the edition whose interface is among the exports of a component; of several, the first one
/// in the table.
///
/// # Errors
/// [`LoadError::ContractVersion`] with a version that is not in the table, or
/// [`LoadError::MissingExport`] for a component that exports no edition at all.
pub(crate) fn pick<'a, E: Copy>(
    editions: &[(&str, E)],
    exports: impl Iterator<Item = &'a str>,
) -> Result<E, LoadError> {
    let versions: Vec<&str> = exports.filter_map(version).collect();
    let is_exported = |edition: &str| versions.iter().any(|version| compatible(version, edition));
    match (editions.iter().find(|(edition, _)| is_exported(edition)), versions.first()) {
        (Some((_, picked)), _) => Ok(*picked),
        (None, Some(found)) => {
            Err(LoadError::ContractVersion { found: (*found).to_owned(), supported: CONTRACT_VERSION })
        }
        (None, None) => Err(LoadError::MissingExport { export: format!("{LIFECYCLE}@{CONTRACT_VERSION}") }),
    }
}

/// The latest version of a package of drivers among the names of interfaces, if this host runs an earlier
/// one, and that earlier one.
pub(crate) fn later<'a>(names: impl Iterator<Item = &'a str>) -> Option<(String, String)> {
    let parsed = |name: &'a str| {
        let (interface, version) = name.split_once('@')?;
        Some((interface.split_once('/')?.0, semver::Version::parse(version).ok()?))
    };
    let used: Vec<(&str, semver::Version)> = names.filter_map(parsed).collect();
    PACKAGES.iter().find_map(|(package, supported)| {
        let versions = used.iter().filter(|(used, _)| used == package).map(|(_, version)| version);
        let latest = versions.max()?.to_string();
        is_later(&latest, supported)
            .then(|| (format!("{package}@{latest}"), format!("{package}@{supported}")))
    })
}

pub(crate) fn is_later(version: &str, than: &str) -> bool {
    match (semver::Version::parse(version), semver::Version::parse(than)) {
        (Ok(version), Ok(than)) => version > than,
        _ => false,
    }
}

/// Versions are compatible when the first number that is not zero is the same.
pub(crate) fn compatible(version: &str, with: &str) -> bool {
    match (semver::Version::parse(version), semver::Version::parse(with)) {
        (Ok(a), Ok(b)) => {
            a.pre == b.pre
                && a.major == b.major
                && (a.major > 0 || (a.minor == b.minor && (a.minor > 0 || a.patch == b.patch)))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Picks from two editions, of which the second does not exist.
    fn picked(exports: &[&str]) -> Result<&'static str, LoadError> {
        pick(&[("0.3.0", "current"), ("0.9.0", "another")], exports.iter().copied())
    }

    #[test]
    fn the_name_of_the_export_picks_the_edition() {
        for (exports, edition) in [
            (&["purlin:driver/lifecycle@0.3.0"][..], "current"),
            (&["acme:bank/transfer@0.3.0", "purlin:driver/lifecycle@0.9.0"], "another"),
            (&["purlin:driver/lifecycle@0.9.3"], "another"),
            (&["purlin:driver/lifecycle@0.9.0", "purlin:driver/lifecycle@0.3.0"], "current"),
            (&["purlin:driver/lifecycle@0.7.0", "purlin:driver/lifecycle@0.9.0"], "another"),
        ] {
            assert_eq!(picked(exports).expect("known"), edition, "{exports:?}");
        }
    }

    #[test]
    fn other_editions_are_refused_by_name() {
        for version in ["0.7.0", "0.9.0-rc.1", "1.2.0", ""] {
            let refused = picked(&[&format!("purlin:driver/lifecycle@{version}")]);
            assert!(
                matches!(&refused, Err(LoadError::ContractVersion { found, .. }) if found == version),
                "{version}: {refused:?}"
            );
        }
        for export in ["purlin:driver/log@0.3.0", "run"] {
            assert!(matches!(picked(&[export]), Err(LoadError::MissingExport { .. })), "{export}");
        }
        assert!(matches!(picked(&[]), Err(LoadError::MissingExport { .. })));
    }
}
