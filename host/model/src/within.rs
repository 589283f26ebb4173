//! Which text a value was written in, for those that find its place only when they have to.

use crate::Location;

/// The text that the value of a resource was written in. A JSON Pointer leads on from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within<'a> {
    /// The inputs of a definition with this place: `/values/…`, `/secrets/…`.
    Definition(&'a Location),
    /// The `params` that the entry with this place gives a resource, in a Score file, a Deployment
    /// or a `provision`.
    Params(&'a Location),
    /// The params of the workload with this place: `/metadata/…`, `/spec/…`.
    Workload(&'a Location),
    /// The `ResourceType` with this place: `/params/…`, `/outputs/…`, which are schemas.
    ResourceType(&'a Location),
}

impl<'a> Within<'a> {
    /// Where the whole was written.
    pub fn location(self) -> &'a Location {
        match self {
            Self::Definition(place)
            | Self::Params(place)
            | Self::Workload(place)
            | Self::ResourceType(place) => place,
        }
    }
}

/// A place, and how many characters from there on are meant, 0 where that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Where.
    pub location: Location,
    /// How long.
    pub length: u32,
    /// Whether it is a block of text, whose first line begins there.
    pub block: bool,
}
