//! Names of resources as documents write them: descriptors, and selectors made of them (SPEC §4).

use std::fmt;

use crate::{Class, Key, ResourceId, TypeName};

/// The class or the id of a descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum DescriptorPart<T> {
    /// Omitted: "here" in a reference and at the start of a selector, "any" in a hop.
    #[default]
    Omitted,
    /// Written `@`: that of the referring resource.
    Here,
    /// Written out.
    Named(T),
}

/// `TYPE[.CLASS][#ID]` [G].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// The type; it is never omitted.
    pub type_name: TypeName,
    /// The class.
    pub class: DescriptorPart<Class>,
    /// The id.
    pub id: DescriptorPart<ResourceId>,
}

impl Descriptor {
    /// The class that the descriptor means: an omitted class and `@` are that of the referring
    /// resource, `here`, and `default` for workloads (SPEC §5). Without a referring resource, an
    /// omitted class is `default`, and `@` means none.
    pub fn class_in<'a>(&'a self, here: Option<&'a str>) -> Option<&'a str> {
        match (&self.class, here) {
            (DescriptorPart::Named(class), _) => Some(class),
            _ if &*self.type_name == TypeName::WORKLOAD => Some(Class::DEFAULT),
            (DescriptorPart::Omitted, None) => Some(Class::DEFAULT),
            (DescriptorPart::Omitted | DescriptorPart::Here, here) => here,
        }
    }

    /// The key, if the descriptor names its class and id. An omitted class is `default`.
    pub fn absolute(&self) -> Option<Key> {
        let DescriptorPart::Named(id) = &self.id else { return None };
        Key::of_parts(&self.type_name, self.class_in(None)?, id).ok()
    }

    /// The message for a descriptor, as it was written, that leaves out a part (`class` or `id`)
    /// where nothing fills it in.
    pub fn lacks(written: impl fmt::Display, part: &str) -> String {
        format!("`{written}` has no {part}, and there is no resource here to take it from")
    }
}

fn part<T: fmt::Display>(f: &mut fmt::Formatter<'_>, mark: char, part: &DescriptorPart<T>) -> fmt::Result {
    match part {
        DescriptorPart::Omitted => Ok(()),
        DescriptorPart::Here => write!(f, "{mark}@"),
        DescriptorPart::Named(name) => write!(f, "{mark}{name}"),
    }
}

impl fmt::Display for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.type_name)?;
        part(f, '.', &self.class)?;
        part(f, '#', &self.id)
    }
}

/// The direction of a hop in a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `<`: to the dependents of the set.
    Dependents,
    /// `>`: to the dependencies of the set.
    Dependencies,
}

/// One hop of a selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// The direction, at any distance.
    pub direction: Direction,
    /// The selected resources: the type, and any class and id that are omitted.
    pub target: Descriptor,
}

/// `START<A>B…`: where to start, then at least one hop [G].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// The resource to start at; it must exist.
    pub start: Descriptor,
    /// The hops, at least one.
    pub hops: Vec<Hop>,
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.start)?;
        for hop in &self.hops {
            let mark = match hop.direction {
                Direction::Dependents => '<',
                Direction::Dependencies => '>',
            };
            write!(f, "{mark}{}", hop.target)?;
        }
        Ok(())
    }
}
