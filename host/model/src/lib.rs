//! The types of Purlin: keys, descriptors, contexts, values, recipes and the data of the driver
//! contract.
//!
//! This crate does no I/O, is not async and knows no other crate of the workspace but `purlin-range`.
//! `purlin-documents` and `purlin-expression` turn text into these types; after that no string has
//! another meaning.

mod bundle;
mod camel;
mod choices;
mod condition;
mod context;
mod dangerous;
mod definition;
mod departure;
mod deployment;
mod descriptor;
mod diagnostic;
mod document_part;
pub mod driver;
mod driver_cases;
pub mod entries;
pub mod grants;
mod input_path;
mod key;
mod label;
mod lifecycle;
mod location;
mod lock;
mod manifest;
mod map;
mod name;
pub mod number;
mod pattern;
mod reason;
mod recipe;
mod secret_store;
pub mod server_problem;
mod settings;
mod share;
mod short;
mod table;
mod template;
mod times;
mod urn;
mod value;
mod worded;
mod words;
mod workspace;

/// The version of every JSON document that Purlin writes (`format`).
pub const FORMAT: u8 = 1;

pub use bundle::{
    BadReference, Binding, Bundle, BundleReference, Declared, InstallationRequest, Interface, RequiredBy,
    Requirement, Sharing,
};
pub use camel::camel_words;
pub use choices::{Answer, Choices, Claim, Installed, RequirementChoice, RequirementContext, Setting};
pub use condition::{Condition, ConditionReason, ConditionStatus, ConditionType, Obstacle, ResourceStatus};
pub use context::{Context, ContextField, EnvironmentId};
pub use dangerous::is_dangerous;
pub use definition::{Criterion, Definition, ManifestKind, ResourceType};
pub use departure::{DeclaredBy, Departure, FileNow};
pub use deployment::{Deployment, Requirer, ResourceRequest, Workload};
pub use descriptor::{Descriptor, DescriptorPart, Direction, Hop, Selector};
pub use diagnostic::{Diagnostic, SecretText, Severity};
pub use document_part::{DocumentPart, Spot};
pub use driver_cases::{CaseInputs, DriverCase, DriverCases, InvalidCase, SkippedRule};
pub use entries::Entries;
pub use grants::{DirGrant, Grants};
pub use input_path::InputPath;
pub use key::Key;
pub use label::Label;
pub use lifecycle::{
    Alias, AliasName, Flag, Lifecycle, LifecycleOptions, LifecycleSettings, ResourceLifecycle,
};
pub use location::Location;
pub use lock::{Digest, Lock, Pin};
pub use manifest::{
    Attribute, Dependency, FieldReference, Manifest, ManifestPart, ParamsPosition, ReferenceField, Target,
    TargetSelector,
};
pub use map::Map;
pub use name::{Class, NameError, ResourceId, TypeName};
pub use pattern::matches_pattern;
pub use reason::{Awaited, Finding, Reason, Unfinished, Wait};
pub use recipe::{DriverRequirement, Provision, Recipe};
pub use secret_store::{SecretCommand, SecretDriver, SecretStore, SecretStoreKind};
pub use settings::{SettingDigest, Settings};
pub use share::{Existing, InstallationShare, InstallationUse, Offered, User};
pub use short::short_text;
pub use table::{Row, Table, ValueKind, ValueSource};
pub use template::{
    Absent, Access, BundleField, InstallationField, Modifiers, Path, Piece, Pipe, Placeholder, Reference,
    Template,
};
pub use times::{duration, moment};
pub use urn::{Guresid, NotAUrn, Urn};
pub use value::{JsonError, Secret, Unknown, Value};
pub use worded::Worded;
pub use workspace::{
    Account, ContextDefaults, ContextPlaces, DeclaredEnvironment, Drift, DriverConfig, DriverSource,
    GivenValue, KeySource, Limits, Reconcile, ReconcileRule, StateDatabase, StateDatabaseClient, ValueOrigin,
    Workspace,
};
