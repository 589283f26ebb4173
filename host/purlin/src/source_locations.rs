//! Looks up where values were written, for faults that the engine finds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use purlin_documents::SourceMap;
use purlin_engine::Places;
use purlin_model::{DocumentPart, Location, SecretText, Spot};

/// The maximum number of lookups, since each one parses a text again. Further faults get the
/// location of the whole document.
const MOST_LOOKS: usize = 500;

/// The texts of documents. Each location is looked up once.
#[derive(Debug)]
pub(crate) struct SourceLocations {
    sources: SourceMap,
    found: Mutex<HashMap<Lookup, Option<Spot>>>,
    /// The number of lookups of secrets.
    hidden: AtomicUsize,
}

/// The kind and location of the document, the pointer, and whether the name is meant.
type Lookup = (u8, Location, String, bool);

impl SourceLocations {
    pub(crate) fn new(sources: SourceMap) -> Self {
        Self { sources, found: Mutex::default(), hidden: AtomicUsize::new(0) }
    }
}

impl Places for SourceLocations {
    fn find(&self, within: DocumentPart<'_>, pointer: &str, key: bool) -> Option<Spot> {
        let lookup = (kind_of(within), within.location().clone(), pointer.to_owned(), key);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = found.get(&lookup) {
            return known.clone();
        }
        if found.len() == MOST_LOOKS {
            return None;
        }
        let spot = self.sources.find(within, pointer, key);
        found.insert(lookup, spot.clone());
        spot
    }

    fn texts_of(&self, within: DocumentPart<'_>, pointers: &[String]) -> Vec<SecretText> {
        let looks = self.hidden.fetch_add(1, Ordering::Relaxed);
        if looks >= MOST_LOOKS { vec![whole(within)] } else { self.sources.texts_of(within, pointers) }
    }
}

/// A text that is not searched any more may hold any secret.
fn whole(within: DocumentPart<'_>) -> SecretText {
    SecretText { file: within.location().file.clone(), bytes: 0..usize::MAX }
}

fn kind_of(within: DocumentPart<'_>) -> u8 {
    match within {
        DocumentPart::Definition(_) => 0,
        DocumentPart::Params(_) => 1,
        DocumentPart::Workload(_) => 2,
        DocumentPart::ResourceType(_) => 3,
        DocumentPart::Manifest(_) => 4,
    }
}
