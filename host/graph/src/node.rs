//! Numbers of nodes, and why there is an edge.

use std::fmt;

use serde::{Serialize, Serializer};

/// A node of one graph: a dense number, in the order in which the resources were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One reason for an edge (SPEC §11, JSON of `graph`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[repr(u8)]
pub enum EdgeKind {
    /// A workload declares or reads it.
    Dependency = 1,
    /// A placeholder in a recipe or in params reads it.
    Reference = 1 << 1,
    /// It was co-provisioned with `is_dependent`.
    CoProvision = 1 << 2,
    /// It was co-provisioned with `match_dependents`, by a dependency.
    MatchDependents = 1 << 3,
    /// A selector found it.
    Selector = 1 << 4,
    /// A requirement (SPEC §6).
    Requires = 1 << 5,
    /// A reference field of a managed resource (SPEC §7).
    Ref = 1 << 6,
    /// `lifecycle.depends_on`, `replace_with` or `deleted_with`.
    DependsOn = 1 << 7,
}

impl EdgeKind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Dependency,
        Self::Reference,
        Self::CoProvision,
        Self::MatchDependents,
        Self::Selector,
        Self::Requires,
        Self::Ref,
        Self::DependsOn,
    ];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// As its name.
impl Serialize for EdgeKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The set of reasons for an edge.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct EdgeKinds(u8);

impl EdgeKinds {
    /// Whether a reason is among them.
    pub const fn contains(self, kind: EdgeKind) -> bool {
        self.0 & kind as u8 != 0
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The reasons, in the order in which they are shown.
    pub fn iter(self) -> impl Iterator<Item = EdgeKind> {
        EdgeKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }

    /// Their names in JSON.
    pub fn names(self) -> Vec<&'static str> {
        self.iter().map(EdgeKind::name).collect()
    }
}

impl From<EdgeKind> for EdgeKinds {
    fn from(kind: EdgeKind) -> Self {
        Self(kind as u8)
    }
}

impl fmt::Debug for EdgeKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
