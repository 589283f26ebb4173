//! Test cases for a driver (SPEC §8): the file `check.yaml`, which its author writes. This module
//! knows nothing of how drivers are examined.

use std::sync::Arc;

use crate::{Class, Location, TypeName, Value};

/// All test cases for a driver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriverCases {
    /// The cases, each with a unique name.
    pub cases: Vec<DriverCase>,
    /// Rules that are skipped for all cases.
    pub skip: Vec<SkippedRule>,
    /// Where it was written.
    pub location: Location,
}

/// Inputs that a driver accepts, and their expected effects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriverCase {
    /// Its name, which must be valid as a part of an id.
    pub name: Arc<str>,
    /// Its type; by default the first type of the driver.
    pub type_name: Option<TypeName>,
    /// The class.
    pub class: Option<Class>,
    /// The inputs of the resource.
    pub inputs: CaseInputs,
    /// A change that is expected to be made in place.
    pub update: Option<CaseInputs>,
    /// A change that is expected to replace.
    pub replace: Option<CaseInputs>,
    /// A change of the connection that leads to the same system, as a rotated credential does.
    pub rotate: Option<CaseInputs>,
    /// Changes that lead to inputs which the driver must reject.
    pub invalid: Vec<InvalidCase>,
    /// Rules that are skipped for this case.
    pub skip: Vec<SkippedRule>,
    /// Where it was written.
    pub location: Location,
}

/// Inputs, or a change of inputs: a merge patch (RFC 7396), in which null removes. Maps or null; in
/// `secrets`, each leaf is secret.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseInputs {
    /// `values`
    pub values: Value,
    /// `secrets`
    pub secrets: Value,
    /// `params`
    pub params: Value,
    /// `connection`
    pub connection: Value,
    /// `account`, with its `name`
    pub account: Value,
}

/// Inputs that must be rejected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InvalidCase {
    /// Inputs instead of the case's.
    pub inputs: Option<CaseInputs>,
    /// The change of them.
    pub change: CaseInputs,
    /// JSON Pointers that must be reported, all of them.
    pub at: Vec<String>,
    /// Where it was written.
    pub location: Location,
}

/// A rule that does not apply to a driver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkippedRule {
    /// Id of the rule.
    pub rule: Arc<str>,
    /// Why.
    pub why: Arc<str>,
    /// Where it was written.
    pub location: Location,
}
