//! Compiled functions of a component, kept so that the next component from the same file, or another
//! one in the same language, compiles only the changed ones. An edit of a driver in JavaScript or
//! Python changes data and hardly any code: nearly all of it is the language's runtime, which stays
//! the same.
//!
//! The compiler names a function by a hash of everything that determines its machine code: its
//! intermediate code, the processor, the settings and the compiler's version. A few functions get a
//! different name each time, and are compiled again.
//!
//! ```text
//! magic, BLAKE3 of the rest, then for each function: its name, 32 bytes │ length, 4 bytes │ code
//! ```

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const MAGIC: &[u8; 16] = b"purlin fns\0\0\0\0\0\x01";
const HASH: usize = 32;
type Name = [u8; HASH];

/// Functions that were compiled before, and those that are compiled now.
#[derive(Debug)]
pub(crate) struct Functions {
    bytes: Vec<u8>,
    kept: HashMap<Name, CachedFunction>,
    added: Mutex<HashMap<Name, Vec<u8>>>,
}

/// A function that was compiled before.
#[derive(Debug)]
struct CachedFunction {
    place: Range<usize>,
    is_used: AtomicBool,
}

impl Functions {
    /// Reads the result of [`Functions::to_bytes`]. Damaged bytes, or those of another version,
    /// hold none.
    pub(crate) fn read(bytes: Vec<u8>) -> Self {
        let kept = index(&bytes).unwrap_or_default();
        Self { bytes, kept, added: Mutex::default() }
    }

    /// The functions of the compiled component; `None` if they are the ones that were read.
    /// Functions that it no longer has are omitted.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        if added.is_empty() {
            return None;
        }
        let used = self.kept.iter().filter(|(_, kept)| kept.is_used.load(Ordering::Relaxed));
        let used = used.filter_map(|(name, kept)| Some((name, self.bytes.get(kept.place.clone())?)));
        let all = used.chain(added.iter().map(|(name, code)| (name, code.as_slice())));
        // By name: for functions that are identical to the compiler, one is enough.
        let all: BTreeMap<_, _> = all.collect();
        let mut bytes = [&MAGIC[..], &[0; HASH]].concat();
        for (name, code) in all {
            let Ok(length) = u32::try_from(code.len()) else { continue };
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(code);
        }
        let (head, body) = bytes.split_at_mut(MAGIC.len() + HASH);
        if let Some(hash) = head.get_mut(MAGIC.len()..) {
            hash.copy_from_slice(blake3::hash(body).as_bytes());
        }
        Some(bytes)
    }

    /// In the form that wasmtime requires.
    pub(crate) fn store(self: &Arc<Self>) -> Arc<dyn wasmtime::CacheStore> {
        Arc::clone(self) as Arc<dyn wasmtime::CacheStore>
    }
}

impl wasmtime::CacheStore for Functions {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let kept = self.kept.get(key)?;
        kept.is_used.store(true, Ordering::Relaxed);
        self.bytes.get(kept.place.clone()).map(Cow::Borrowed)
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        let Ok(name) = Name::try_from(key) else { return false };
        // Some functions that are identical to the compiler cannot use each other's code.
        if let Some(kept) = self.kept.get(&name) {
            kept.is_used.store(true, Ordering::Relaxed);
            return true;
        }
        self.added.lock().unwrap_or_else(PoisonError::into_inner).insert(name, value);
        true
    }
}

/// The position of each function.
fn index(bytes: &[u8]) -> Option<HashMap<Name, CachedFunction>> {
    let (hash, body) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<HASH>()?;
    if blake3::hash(body) != *hash {
        return None;
    }
    let mut functions = HashMap::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (name, after) = rest.split_first_chunk::<HASH>()?;
        let (length, after) = after.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let start = bytes.len() - after.len();
        rest = after.get(length..)?;
        let kept = CachedFunction { place: start..start + length, is_used: AtomicBool::new(false) };
        functions.insert(*name, kept);
    }
    Some(functions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmtime::CacheStore as _;

    #[test]
    fn functions_are_loaded_intact_or_not_at_all() {
        let first = Functions::read(Vec::new());
        assert!(first.to_bytes().is_none(), "nothing was compiled");
        assert!(first.insert(&[1; 32], b"one".to_vec()) && first.insert(&[2; 32], Vec::new()));
        assert!(!first.insert(b"short", b"x".to_vec()));
        let bytes = first.to_bytes().expect("two functions");

        let second = Functions::read(bytes.clone());
        assert_eq!(second.get(&[1; 32]).as_deref(), Some(&b"one"[..]));
        assert!(second.get(&[3; 32]).is_none());
        assert!(second.to_bytes().is_none(), "nothing is new");
        second.insert(&[3; 32], b"three".to_vec());
        let third = Functions::read(second.to_bytes().expect("one is new"));
        assert_eq!(third.get(&[1; 32]).as_deref(), Some(&b"one"[..]));
        assert_eq!(third.get(&[3; 32]).as_deref(), Some(&b"three"[..]));
        assert!(third.get(&[2; 32]).is_none(), "nobody used it");

        for end in 0..bytes.len() {
            assert!(Functions::read(bytes[..end].to_vec()).kept.is_empty(), "{end}");
            let mut torn = bytes.clone();
            torn[end] ^= 1;
            assert!(Functions::read(torn).kept.is_empty(), "{end}");
        }
    }
}
