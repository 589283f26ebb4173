//! A complete descriptor: the name of a resource within one environment.

use std::fmt;
use std::sync::Arc;

use crate::{Class, Descriptor, DescriptorPart, NameError, ResourceId, TypeName};

/// `TYPE.CLASS#ID`, such as `postgres.default#modules.web.externals.db` (SPEC §1).
///
/// Stored as one text with two offsets, because keys take most of the memory of a large graph.
#[derive(Clone)]
pub struct Key {
    text: Arc<str>,
    type_end: u32,
    class_end: u32,
}

impl Key {
    /// Joins the parts.
    pub fn new(type_name: &TypeName, class: &Class, id: &ResourceId) -> Self {
        Self::join(type_name, class, id)
    }

    fn join(type_name: &str, class: &str, id: &str) -> Self {
        let mut text = String::with_capacity(type_name.len() + class.len() + id.len() + 2);
        text.push_str(type_name);
        text.push('.');
        text.push_str(class);
        text.push('#');
        text.push_str(id);
        // Names come from documents, which are limited far below 4 GiB.
        let type_end = type_name.len() as u32;
        Self { text: text.into(), type_end, class_end: type_end + 1 + class.len() as u32 }
    }

    /// The key of a descriptor in the resource `here`: omitted class and id, or `@`, are those of
    /// `here`.
    pub fn relative(descriptor: &Descriptor, here: &Self) -> Self {
        let class = descriptor.class_in(Some(here.class())).unwrap_or(here.class());
        let id = match &descriptor.id {
            DescriptorPart::Named(id) => id,
            DescriptorPart::Omitted | DescriptorPart::Here => here.id(),
        };
        Self::join(&descriptor.type_name, class, id)
    }

    /// The key of a workload: its document belongs to this resource, and to no other (SPEC §5).
    ///
    /// # Errors
    /// If the name cannot be part of an id.
    pub fn of_workload(name: &str) -> Result<Self, NameError> {
        let id = ResourceId::new(format!("modules.{name}"))?;
        Ok(Self::join(TypeName::WORKLOAD, Class::DEFAULT, &id))
    }

    /// The workload whose document belongs to this resource: the reverse of
    /// [`of_workload`](Self::of_workload).
    pub fn declared_workload(&self) -> Option<&str> {
        let name = self.id().strip_prefix("modules.")?;
        let is_workload = self.type_name() == TypeName::WORKLOAD && self.class() == Class::DEFAULT;
        (is_workload && !name.contains(".externals.")).then_some(name)
    }

    /// The key without its class, if that is `default`: how people write it.
    pub fn short(&self) -> String {
        Self::short_of(&self.text)
    }

    /// The same for the text of a key.
    pub fn short_of(key: &str) -> String {
        key.replacen(".default#", "#", 1)
    }

    /// Reads a complete key; the class is `default` if it is omitted.
    ///
    /// # Errors
    /// If a part is missing or malformed.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let (head, id) = text.split_once('#').ok_or_else(|| NameError::Id(text.into()))?;
        let (type_name, class) = head.split_once('.').unwrap_or((head, Class::DEFAULT));
        Self::of_parts(type_name, class, id)
    }

    /// Joins parts that are not validated yet.
    pub(crate) fn of_parts(type_name: &str, class: &str, id: &str) -> Result<Self, NameError> {
        Self::check(type_name, class, id).map(|()| Self::join(type_name, class, id))
    }

    /// Validates separate parts.
    pub(crate) fn check(type_name: &str, class: &str, id: &str) -> Result<(), NameError> {
        TypeName::check(type_name).and(Class::check(class)).and(ResourceId::check(id))
    }

    /// The resource type.
    pub fn type_name(&self) -> &str {
        &self.text[..self.type_end as usize]
    }

    /// The resource class.
    pub fn class(&self) -> &str {
        &self.text[self.type_end as usize + 1..self.class_end as usize]
    }

    /// The resource id.
    pub fn id(&self) -> &str {
        &self.text[self.class_end as usize + 1..]
    }

    /// The whole key as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The workload that the resource belongs to, for ids `modules.<workload>…`.
    pub fn workload(&self) -> Option<&str> {
        let rest = self.id().strip_prefix("modules.")?;
        Some(rest.split_once(".externals.").map_or(rest, |(workload, _)| workload))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl Eq for Key {}
impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}
impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}
impl std::borrow::Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.text
    }
}
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}
impl serde::Serialize for Key {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}
impl<'de> serde::Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_key_are_read_back() {
        let key = Key::parse("acme/queue.fast#modules.web.externals.q").expect("a key");
        assert_eq!(
            (key.type_name(), key.class(), key.id(), key.workload()),
            ("acme/queue", "fast", "modules.web.externals.q", Some("web"))
        );
        assert_eq!(Key::parse("dns#shared.api").expect("a key").as_str(), "dns.default#shared.api");
        assert_eq!(Key::parse("dns#shared.api").expect("a key").workload(), None);
        assert!(Key::parse("dns.default").is_err());
    }

    #[test]
    fn only_one_key_has_the_document_of_a_workload() {
        let key = Key::of_workload("web").expect("a key");
        assert_eq!(key.as_str(), "workload.default#modules.web");
        assert_eq!(key.declared_workload(), Some("web"));
        for other in [
            "workload.large#modules.web",
            "workload#modules.web.externals.db",
            "workload#shared.web",
            "workload#web",
            "acme/workload#modules.web",
            "dns#modules.web",
        ] {
            assert_eq!(Key::parse(other).expect("a key").declared_workload(), None, "{other}");
        }
    }
}
