//! The entries of a map, in the order of the document.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

/// Up to this size, a linear search is as fast as an index, which takes several times the memory of
/// the entries.
const FEW: usize = 12;

/// Entries by their names, in insertion order. Most maps are small and never changed, so only large
/// ones have an index.
#[derive(Clone)]
pub struct Entries<V> {
    all: Vec<(Arc<str>, V)>,
    /// The position of each, if there are many.
    index: Option<Box<Index>>,
}

/// The position of each name.
#[derive(Clone)]
struct Index(HashMap<Arc<str>, usize>);

impl<V> Entries<V> {
    /// No entries.
    pub const fn new() -> Self {
        Self { all: Vec::new(), index: None }
    }

    /// No entries, with capacity for this many.
    pub fn with_capacity(entries: usize) -> Self {
        Self { all: Vec::with_capacity(entries), index: None }
    }

    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The position of a name.
    pub fn get_index_of(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.0.get(name).copied(),
            None => self.all.iter().position(|(other, _)| **other == *name),
        }
    }

    /// The first entry.
    pub fn first(&self) -> Option<(&Arc<str>, &V)> {
        self.iter().next()
    }

    /// The value of a name.
    pub fn get<N: Borrow<str> + ?Sized>(&self, name: &N) -> Option<&V> {
        let place = self.get_index_of(name.borrow())?;
        self.all.get(place).map(|(_, value)| value)
    }

    /// The value of a name, mutable.
    pub fn get_mut<N: Borrow<str> + ?Sized>(&mut self, name: &N) -> Option<&mut V> {
        let place = self.get_index_of(name.borrow())?;
        self.all.get_mut(place).map(|(_, value)| value)
    }

    /// Whether there is an entry with a name.
    pub fn contains_key<N: Borrow<str> + ?Sized>(&self, name: &N) -> bool {
        self.get_index_of(name.borrow()).is_some()
    }

    /// Sets the value of a name, at the end if the name is new; returns the old value.
    pub fn insert(&mut self, name: Arc<str>, value: V) -> Option<V> {
        match self.get_mut(&name) {
            Some(there) => Some(std::mem::replace(there, value)),
            None => {
                self.push(name, value);
                None
            }
        }
    }

    fn push(&mut self, name: Arc<str>, value: V) {
        if let Some(index) = &mut self.index {
            index.0.insert(Arc::clone(&name), self.all.len());
        }
        self.all.push((name, value));
        if self.index.is_none() && self.all.len() > FEW {
            self.index_again();
        }
    }

    fn index_again(&mut self) {
        self.index = (self.all.len() > FEW).then(|| {
            let places = self.all.iter().enumerate().map(|(place, (name, _))| (Arc::clone(name), place));
            Box::new(Index(places.collect()))
        });
    }

    /// The value of a name; the result of `make` if there is none.
    pub fn get_or_insert_with(&mut self, name: Arc<str>, make: impl FnOnce() -> V) -> &mut V {
        let place = match self.get_index_of(&name) {
            Some(place) => place,
            None => {
                self.push(name, make());
                self.all.len() - 1
            }
        };
        &mut self.all[place].1
    }

    /// Removes an entry; the others keep their order.
    pub fn remove<N: Borrow<str> + ?Sized>(&mut self, name: &N) -> Option<V> {
        let place = self.get_index_of(name.borrow())?;
        let (_, value) = self.all.remove(place);
        if self.index.is_some() {
            self.index_again();
        }
        Some(value)
    }

    /// Keeps some entries, in their order.
    pub fn retain(&mut self, mut keep: impl FnMut(&Arc<str>, &mut V) -> bool) {
        let before = self.all.len();
        self.all.retain_mut(|(name, value)| keep(name, value));
        if self.index.is_some() && self.all.len() < before {
            self.index_again();
        }
    }

    /// Releases unneeded memory.
    pub fn shrink_to_fit(&mut self) {
        self.all.shrink_to_fit();
    }

    /// The names, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Arc<str>> + ExactSizeIterator + Clone {
        self.all.iter().map(|(name, _)| name)
    }

    /// The values, in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.all.iter().map(|(_, value)| value)
    }

    /// The values, in order, mutable.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.all.iter_mut().map(|(_, value)| value)
    }

    /// The entries, in order.
    pub fn iter(&self) -> Iter<'_, V> {
        self.all.iter().map(pair)
    }

    /// The entries, in order, with mutable values.
    pub fn iter_mut(&mut self) -> IterMut<'_, V> {
        self.all.iter_mut().map(pair_mut)
    }

    /// Replaces names by equal ones.
    pub(crate) fn share_names(&mut self, share: &mut dyn FnMut(&mut Arc<str>)) {
        for (name, _) in &mut self.all {
            let mut shared = Arc::clone(name);
            share(&mut shared);
            // A different text would be found in the wrong place.
            if shared == *name {
                *name = shared;
            }
        }
        if self.index.is_some() {
            self.index_again();
        }
    }
}

/// The entries, in order.
pub type Iter<'a, V> =
    std::iter::Map<std::slice::Iter<'a, (Arc<str>, V)>, fn(&'a (Arc<str>, V)) -> (&'a Arc<str>, &'a V)>;

/// The entries, in order, with mutable values.
pub type IterMut<'a, V> = std::iter::Map<
    std::slice::IterMut<'a, (Arc<str>, V)>,
    fn(&'a mut (Arc<str>, V)) -> (&'a Arc<str>, &'a mut V),
>;

fn pair<V>((name, value): &(Arc<str>, V)) -> (&Arc<str>, &V) {
    (name, value)
}

fn pair_mut<V>((name, value): &mut (Arc<str>, V)) -> (&Arc<str>, &mut V) {
    (name, value)
}

impl<V> Default for Entries<V> {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether the same names have the same values, in any order.
impl<V: PartialEq> PartialEq for Entries<V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && (self.iter().eq(other) || self.iter().all(|(name, value)| other.get(name) == Some(value)))
    }
}

impl<V: Eq> Eq for Entries<V> {}

impl<V: std::fmt::Debug> std::fmt::Debug for Entries<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<V> Extend<(Arc<str>, V)> for Entries<V> {
    fn extend<T: IntoIterator<Item = (Arc<str>, V)>>(&mut self, entries: T) {
        for (name, value) in entries {
            self.insert(name, value);
        }
    }
}

impl<V> FromIterator<(Arc<str>, V)> for Entries<V> {
    /// If a name appears twice, the last value is used, at the position of the first.
    fn from_iter<T: IntoIterator<Item = (Arc<str>, V)>>(entries: T) -> Self {
        let entries = entries.into_iter();
        let mut all = Self::with_capacity(entries.size_hint().0);
        all.extend(entries);
        // Most are never changed.
        all.shrink_to_fit();
        all
    }
}

impl<V> IntoIterator for Entries<V> {
    type Item = (Arc<str>, V);
    type IntoIter = std::vec::IntoIter<(Arc<str>, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter()
    }
}

impl<'a, V> IntoIterator for &'a Entries<V> {
    type Item = (&'a Arc<str>, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, V> IntoIterator for &'a mut Entries<V> {
    type Item = (&'a Arc<str>, &'a mut V);
    type IntoIter = IterMut<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Behaves like an ordered list of names and values, with and without an index.
        #[test]
        fn names_keep_their_order_after_any_operations(
            steps in prop::collection::vec((0..5u8, 0..40u32), 0..200),
        ) {
            let mut entries: Entries<usize> = Entries::new();
            let mut list: Vec<(Arc<str>, usize)> = Vec::new();
            for (number, (what, name)) in steps.into_iter().enumerate() {
                let name: Arc<str> = name.to_string().into();
                let place = list.iter().position(|(other, _)| *other == name);
                match what {
                    0 | 1 => {
                        let before = entries.insert(Arc::clone(&name), number);
                        prop_assert_eq!(before, place.map(|place| list[place].1));
                        match place {
                            Some(place) => list[place].1 = number,
                            None => list.push((name, number)),
                        }
                    }
                    2 => prop_assert_eq!(entries.remove(&name), place.map(|place| list.remove(place).1)),
                    3 => {
                        let found = *entries.get_or_insert_with(Arc::clone(&name), || number);
                        if place.is_none() {
                            list.push((name, number));
                        }
                        prop_assert_eq!(Some(found), list.iter().find(|(_, v)| *v == found).map(|(_, v)| *v));
                    }
                    _ if number % 7 == 0 => {
                        entries.retain(|_, value| *value % 3 != 0);
                        list.retain(|(_, value)| *value % 3 != 0);
                    }
                    _ => {}
                }
                prop_assert!(entries.iter().eq(list.iter().map(|(name, value)| (name, value))));
                for (name, value) in &list {
                    prop_assert_eq!(entries.get(name), Some(value));
                }
                prop_assert_eq!(entries.contains_key("none"), false);
                let mut turned: Vec<_> = list.clone();
                turned.reverse();
                prop_assert_eq!(&turned.into_iter().collect::<Entries<usize>>(), &entries);
            }
        }
    }
}
