//! What makes a service hard to use: it limits its rate, shows new things late, and works on each effect
//! for a while. All of that is counted in requests, so that no test waits for a clock.

use std::collections::HashMap;

use serde_json::{Value, json};

/// How hard a service is to use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strain {
    /// How many requests it refuses with 429 before each one that it takes.
    pub refused: u32,
    /// How many looks, by its id or in a list, do not show a new thing.
    pub hidden: u32,
    /// How many looks show that a creation, a change or a deletion is in progress. It is answered with 202.
    pub working: u32,
    /// Whether lists begin with a page whose items are `null`, and end with one whose next is `null`.
    pub nulls: bool,
}

/// The progress of a service under strain.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) strain: Strain,
    /// The requests that were refused since the last one that was taken.
    refused: u32,
    /// The further looks that do not show a thing, by id.
    hidden: HashMap<String, u32>,
    /// The further looks that show a thing in progress, by id.
    working: HashMap<String, u32>,
}

impl Progress {
    pub(super) fn new(strain: Strain) -> Self {
        Self { strain, ..Self::default() }
    }

    /// Whether the rate of requests is too high for the next one.
    pub(super) fn refuses(&mut self) -> bool {
        let is_refused = self.refused < self.strain.refused;
        self.refused = if is_refused { self.refused + 1 } else { 0 };
        is_refused
    }

    /// A thing was created.
    pub(super) fn hide(&mut self, id: &str) {
        if self.strain.hidden > 0 {
            self.hidden.insert(id.to_owned(), self.strain.hidden);
        }
    }

    /// Begins to work on a thing. Returns whether that takes a while.
    pub(super) fn work(&mut self, id: &str, thing: &mut Value, status: &str) -> bool {
        let takes = self.strain.working > 0;
        if takes {
            thing["status"] = json!(status);
            self.working.insert(id.to_owned(), self.strain.working);
        }
        takes
    }

    /// Somebody looks at a thing. Returns whether it is shown.
    pub(super) fn look(&mut self, id: &str, things: &mut super::Things) -> bool {
        if let Some(left) = self.hidden.get_mut(id) {
            *left -= 1;
            if *left == 0 {
                self.hidden.remove(id);
            }
            return false;
        }
        match self.working.get_mut(id) {
            None => {}
            Some(0) => {
                self.working.remove(id);
                if things.get(id).is_some_and(|thing| thing["status"] == "deleting") {
                    things.remove(id);
                } else if let Some(thing) = things.get_mut(id) {
                    thing["status"] = json!("ready");
                }
            }
            Some(left) => *left -= 1,
        }
        things.contains_key(id)
    }
}
