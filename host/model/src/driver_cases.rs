//! What a driver is tried with (SPEC §8): the file `check.yaml`, which its author writes. It knows
//! nothing of how drivers are examined.

use std::sync::Arc;

use crate::{Class, Location, TypeName, Value};

/// Everything that a driver is tried with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriverCases {
    /// The cases, each with a name of its own.
    pub cases: Vec<DriverCase>,
    /// Rules that are left out for all cases.
    pub skip: Vec<SkippedRule>,
    /// Where it was written.
    pub location: Location,
}

/// Inputs that a driver takes, and what is to become of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriverCase {
    /// Its name, one of a part of an id.
    pub name: Arc<str>,
    /// The type that it is about; the first that the driver names when left out.
    pub type_name: Option<TypeName>,
    /// The class.
    pub class: Option<Class>,
    /// What the resource is made from.
    pub inputs: CaseInputs,
    /// A change that is expected to be made in place.
    pub update: Option<CaseInputs>,
    /// A change that is expected to replace.
    pub replace: Option<CaseInputs>,
    /// A change of the connection that leads to the same system, as a rotated credential does.
    pub rotate: Option<CaseInputs>,
    /// Changes that make inputs which the driver has to refuse.
    pub invalid: Vec<InvalidCase>,
    /// Rules that are left out for this case.
    pub skip: Vec<SkippedRule>,
    /// Where it was written.
    pub location: Location,
}

/// Inputs, or a change of inputs: a merge patch (RFC 7396), in which null removes. Maps or null;
/// those of `secrets` are secret leaf by leaf.
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
    /// `account`
    pub account: Option<Arc<str>>,
}

/// Inputs that are to be refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InvalidCase {
    /// Inputs in place of the case's.
    pub inputs: Option<CaseInputs>,
    /// What is changed of them.
    pub change: CaseInputs,
    /// JSON Pointers that have to be named, all of them.
    pub at: Vec<String>,
    /// Where it was written.
    pub location: Location,
}

/// A rule that a driver is not held to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkippedRule {
    /// Id of the rule.
    pub rule: Arc<str>,
    /// Why.
    pub why: Arc<str>,
    /// Where it was written.
    pub location: Location,
}
