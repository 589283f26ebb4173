//! The text in which a value was written, for code that finds its place only when necessary.

use crate::Location;

/// The part of a document that describes a resource. JSON Pointers are relative to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentPart<'a> {
    /// The inputs of a definition with this place: `/values/…`, `/secrets/…`.
    Definition(&'a Location),
    /// The `params` for a resource in the entry with this place, in a Score file, a Deployment or a
    /// `provision`.
    Params(&'a Location),
    /// The params of the workload with this place: `/metadata/…`, `/spec/…`.
    Workload(&'a Location),
    /// The params of the manifest with this place, which are its `forProvider`, its `spec` or all
    /// of it. For a field that a reference field fills, the place of the reference field is found.
    Manifest(&'a Location),
    /// The `ResourceType` with this place: `/params/…`, `/outputs/…`, which are schemas.
    ResourceType(&'a Location),
}

impl<'a> DocumentPart<'a> {
    /// The location of that part.
    pub fn location(self) -> &'a Location {
        match self {
            Self::Definition(place)
            | Self::Params(place)
            | Self::Workload(place)
            | Self::Manifest(place)
            | Self::ResourceType(place) => place,
        }
    }
}

/// A place, and the number of characters from there, 0 if unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Where.
    pub location: Location,
    /// The length.
    pub length: u32,
    /// Whether it is a block of text, whose first line begins there.
    pub block: bool,
}

impl Spot {
    /// The place of a message about a text, and the rest of the message: one that begins with
    /// `line N: ` is about that line, which can be located if the text was written as a block.
    pub fn of_line(self, message: &str) -> (Self, &str) {
        let line = message.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
        let line = line.and_then(|(number, rest)| Some((number.parse::<u32>().ok()?, rest)));
        match line {
            Some((1, rest)) => (self, rest),
            Some((number, rest)) if self.block && number > 1 => {
                let line = self.location.line.saturating_add(number - 1);
                let location = Location { line, ..self.location };
                (Self { location, length: WHOLE_LINE, block: false }, rest)
            }
            _ => (self, message),
        }
    }
}

/// More characters than any line that is shown completely.
const WHOLE_LINE: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_block_is_found() {
        let spot = |block| Spot { location: Location::new("a", 7, 5), length: 3, block };
        let place = |(spot, rest): (Spot, &str)| (spot.location.line, spot.length, rest.to_owned());
        assert_eq!(place(spot(true).of_line("line 1: x")), (7, 3, "x".into()));
        assert_eq!(place(spot(true).of_line("line 3: x: y")), (9, WHOLE_LINE, "x: y".into()));
        assert_eq!(place(spot(false).of_line("line 3: x")), (7, 3, "line 3: x".into()));
        assert_eq!(place(spot(true).of_line("line by line: x")), (7, 3, "line by line: x".into()));
    }
}
