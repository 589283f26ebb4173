//! The requirements of a bundle, as plain data.

use purlin_model::{Diagnostic, Key, Row};
use purlin_requirements::{Installation, Rejection, Resolution, Unmapped, Why};
use serde::Serialize;

use super::FORMAT;

/// Everything that a bundle requires.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Explained {
    pub(crate) format: u8,
    /// In an order in which they can be created; the bundle itself is last.
    pub(crate) installations: Vec<InstallationReport>,
    /// The parameters and credentials that the user must set.
    pub(crate) unmapped: Vec<Unmapped>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// An installation that would be created.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct InstallationReport {
    pub(crate) name: String,
    pub(crate) bundle: String,
    pub(crate) version: String,
    pub(crate) why: Why,
    /// Null if it is not shared.
    pub(crate) group: Option<String>,
    /// Whether the user requested it.
    #[serde(skip)]
    pub(crate) is_root: bool,
    /// The installation of another environment that it represents; null if it is created.
    pub(crate) uses: Option<Used>,
    pub(crate) lost: Vec<RejectedCandidate>,
    /// Existing installations that are not used.
    pub(crate) rejected: Vec<RejectedInstallation>,
    pub(crate) requires: Vec<Required>,
    pub(crate) given: Vec<SetValue>,
    /// Its outputs, parameters and credentials.
    pub(crate) values: Vec<BundleValue>,
}

/// An output, a parameter or a credential of a bundle.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BundleValue {
    pub(crate) part: &'static str,
    pub(crate) name: String,
    #[serde(rename = "$id")]
    pub(crate) id: Option<String>,
    pub(crate) declared: bool,
    /// A code for its source.
    pub(crate) from: &'static str,
    pub(crate) sensitive: bool,
}

impl From<&Row> for BundleValue {
    fn from(row: &Row) -> Self {
        Self {
            part: row.kind.word(),
            name: row.offered.name.to_string(),
            id: row.offered.id.as_deref().map(str::to_owned),
            declared: row.is_declared,
            from: row.source.code(),
            sensitive: row.offered.is_sensitive,
        }
    }
}

/// A bundle that was not chosen.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RejectedCandidate {
    pub(crate) bundle: String,
    #[serde(flatten)]
    pub(crate) why: Rejection,
}

/// An installation of another environment that is used.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Used {
    /// `NAMESPACE/NAME`.
    pub(crate) id: String,
    pub(crate) urn: String,
    pub(crate) environment: String,
}

/// An installation that is not used.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RejectedInstallation {
    /// `NAMESPACE/NAME`.
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) why: Rejection,
}

/// A requirement, and the installation that satisfies it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Required {
    pub(crate) name: String,
    pub(crate) installation: String,
}

/// A parameter or credential that is set.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SetValue {
    pub(crate) part: String,
    pub(crate) name: String,
    /// The placeholders in its value.
    pub(crate) reads: Vec<String>,
}

impl Explained {
    pub(crate) fn new(resolution: &Resolution, diagnostics: &[Diagnostic]) -> Self {
        let all = &resolution.installations;
        let last = all.len().saturating_sub(1);
        Self {
            format: FORMAT,
            installations: all
                .iter()
                .enumerate()
                .map(|(at, one)| installation(one, all, at == last))
                .collect(),
            unmapped: resolution.unmapped.clone(),
            diagnostics: diagnostics.to_vec(),
        }
    }
}

/// The installation that a resource represents.
pub(crate) fn of_key(key: &Key, resolution: &Resolution) -> Option<InstallationReport> {
    let all = &resolution.installations;
    let is_it = |one: &&Installation| key.type_name() == "installation" && *key.id() == *one.name;
    all.iter().find(is_it).map(|one| installation(one, all, false))
}

fn installation(one: &Installation, all: &[Installation], is_root: bool) -> InstallationReport {
    let lost = one.lost.iter();
    let lost =
        lost.map(|(reference, why)| RejectedCandidate { bundle: reference.to_string(), why: why.clone() });
    let uses = one.uses.as_ref().map(|uses| Used {
        id: format!("{}/{}", uses.0.share.namespace, uses.0.name),
        urn: uses.0.urn.to_string(),
        environment: uses.0.place.to_string(),
    });
    let rejected = one.rejected.iter();
    let rejected = rejected.map(|(id, why)| RejectedInstallation { id: id.to_string(), why: why.clone() });
    let requires = one.requires.iter().filter_map(|(name, at)| {
        Some(Required { name: name.to_string(), installation: all.get(*at)?.name.to_string() })
    });
    let given = one.given.iter().map(|given| {
        let mut reads = Vec::new();
        given.binding.value.placeholders(&mut |placeholder| reads.push(placeholder.source().to_string()));
        SetValue { part: given.part.to_string(), name: given.binding.name.to_string(), reads }
    });
    InstallationReport {
        name: one.name.to_string(),
        bundle: one.reference.to_string(),
        version: one.bundle.version.to_string(),
        why: one.why.clone(),
        group: one.group.as_deref().map(str::to_owned),
        is_root,
        uses,
        lost: lost.collect(),
        rejected: rejected.collect(),
        requires: requires.collect(),
        given: given.collect(),
        values: one.table().rows().iter().map(BundleValue::from).collect(),
    }
}
