//! The shapes of generated environments of any size: which resource reads which.
//!
//! This module knows only numbers; other modules turn them into documents. The program that
//! measures graphs in memory includes this file as well.

use std::fmt;
use std::str::FromStr;

/// A shape of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No resource reads another one.
    Independent,
    /// Ten layers; each resource reads two of the previous layer.
    Layers,
    /// Each resource reads the previous one.
    Chain,
}

/// The number of layers of [`Shape::Layers`].
const LAYERS: usize = 10;

impl Shape {
    /// The numbers of the resources that resource `index` of `count` reads.
    pub(crate) fn reads(self, index: usize, count: usize) -> Vec<usize> {
        match self {
            Self::Independent => Vec::new(),
            Self::Chain => index.checked_sub(1).into_iter().collect(),
            Self::Layers => {
                let width = width(count);
                let (layer, place) = (index / width, index % width);
                match layer.checked_sub(1).map(|before| before * width) {
                    None => Vec::new(),
                    Some(before) if width == 1 => vec![before],
                    Some(before) => vec![before + place, before + (place + 1) % width],
                }
            }
        }
    }

    /// The name of resource `index` of `count`, such as `l3-17`.
    pub(crate) fn name(self, index: usize, count: usize) -> String {
        match self {
            Self::Layers => format!("l{}-{}", index / width(count), index % width(count)),
            Self::Independent | Self::Chain => format!("r{index}"),
        }
    }
}

/// The number of resources in a layer. The last layer is smaller if the total is not a multiple of
/// ten.
fn width(count: usize) -> usize {
    count.div_ceil(LAYERS).max(1)
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Independent => "ind",
            Self::Layers => "layer10",
            Self::Chain => "chain",
        })
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Independent, Self::Layers, Self::Chain];
        let found = all.into_iter().find(|shape| shape.to_string() == text);
        found.ok_or_else(|| format!("there is no shape `{text}`: it is `ind`, `layer10` or `chain`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_its_edges_and_no_loop() {
        for count in [0, 1, 9, 10, 11, 19, 20, 95, 1000] {
            for shape in [Shape::Independent, Shape::Layers, Shape::Chain] {
                for index in 0..count {
                    for read in shape.reads(index, count) {
                        assert!(read < index, "{shape} of {count}: {index} reads {read}");
                    }
                }
            }
        }
        let edges = |shape: Shape| (0..1000).map(|index| shape.reads(index, 1000).len()).sum::<usize>();
        assert_eq!([Shape::Independent, Shape::Layers, Shape::Chain].map(edges), [0, 1800, 999]);
    }

    #[test]
    fn names_differ() {
        for shape in [Shape::Independent, Shape::Layers, Shape::Chain] {
            let names: std::collections::HashSet<String> =
                (0..95).map(|index| shape.name(index, 95)).collect();
            assert_eq!(names.len(), 95);
        }
        assert_eq!(Shape::Layers.name(317, 1000), "l3-17");
    }

    #[test]
    fn a_shape_is_parsed_from_its_name() {
        for shape in [Shape::Independent, Shape::Layers, Shape::Chain] {
            assert_eq!(shape.to_string().parse(), Ok(shape));
        }
        assert!("ring".parse::<Shape>().is_err());
    }
}
