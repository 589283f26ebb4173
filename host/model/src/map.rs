//! Maps of values, shared until one owner changes them.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::Value;
use crate::entries::{Entries, Iter, IterMut};

/// The entries of a map value, in the order of the document. Clones share them, and changing a
/// shared one copies it first: resolved, recorded and compared values are usually the same.
#[derive(Clone, Default)]
pub struct Map(Option<Arc<Entries<Value>>>);

static EMPTY: Entries<Value> = Entries::new();

impl Map {
    /// An empty map.
    pub const fn new() -> Self {
        Self(None)
    }

    /// An empty map with capacity for this many entries.
    pub fn with_capacity(entries: usize) -> Self {
        Self((entries > 0).then(|| Arc::new(Entries::with_capacity(entries))))
    }

    /// The entries, if they are not shared.
    pub(crate) fn alone(&mut self) -> Option<&mut Entries<Value>> {
        self.0.as_mut().and_then(Arc::get_mut)
    }

    pub(crate) fn share_names(&mut self, share: &mut dyn FnMut(&mut Arc<str>)) {
        let Some(entries) = self.alone() else { return };
        entries.share_names(share);
        entries.values_mut().for_each(|value| value.share_names(share));
    }

    /// The entries, owned.
    pub fn into_entries(self) -> Entries<Value> {
        self.0.map_or_else(Entries::default, Arc::unwrap_or_clone)
    }
}

impl Deref for Map {
    type Target = Entries<Value>;

    fn deref(&self) -> &Entries<Value> {
        match &self.0 {
            Some(entries) => entries,
            None => &EMPTY,
        }
    }
}

impl DerefMut for Map {
    fn deref_mut(&mut self) -> &mut Entries<Value> {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        let is_shared = matches!((&self.0, &other.0), (Some(one), Some(other)) if Arc::ptr_eq(one, other));
        is_shared || **self == **other
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl From<Entries<Value>> for Map {
    fn from(entries: Entries<Value>) -> Self {
        Self(Some(entries).filter(|entries| !entries.is_empty()).map(Arc::new))
    }
}

impl FromIterator<(Arc<str>, Value)> for Map {
    fn from_iter<T: IntoIterator<Item = (Arc<str>, Value)>>(entries: T) -> Self {
        Entries::from_iter(entries).into()
    }
}

impl<const N: usize> From<[(Arc<str>, Value); N]> for Map {
    fn from(entries: [(Arc<str>, Value); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl IntoIterator for Map {
    type Item = (Arc<str>, Value);
    type IntoIter = std::vec::IntoIter<(Arc<str>, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_entries().into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Arc<str>, &'a Value);
    type IntoIter = Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Map {
    type Item = (&'a Arc<str>, &'a mut Value);
    type IntoIter = IterMut<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changing_a_shared_map_copies_it() {
        let mut one: Map = [("a".into(), Value::from("1"))].into();
        let other = one.clone();
        assert!(one.alone().is_none());
        one.insert("b".into(), Value::Null);
        assert_eq!((one.len(), other.len()), (2, 1));
        assert_ne!(one, other);
        one.remove("b");
        assert_eq!(one, other);
        drop(other);
        assert!(one.alone().is_some());
        assert_eq!((Map::default(), Map::default().len()), (Map::with_capacity(3), 0));
    }
}
