//! Measures where the time went (`--timings`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::text;

/// The times of the parts of a run, in the order in which they ran.
#[derive(Debug)]
pub(crate) struct Timings {
    begun: Instant,
    parts: RefCell<Vec<(&'static str, Duration)>>,
    drivers: RefCell<BTreeMap<String, (usize, Duration)>>,
}

impl Default for Timings {
    fn default() -> Self {
        Self { begun: Instant::now(), parts: RefCell::default(), drivers: RefCell::default() }
    }
}

impl Timings {
    /// Records how long a part took; times of the same part are added.
    pub(crate) fn add(&self, part: &'static str, took: Duration) {
        let mut parts = self.parts.borrow_mut();
        match parts.iter_mut().find(|(name, _)| *name == part) {
            Some((_, sum)) => *sum += took,
            None => parts.push((part, took)),
        }
    }

    /// Measures a function.
    pub(crate) fn time<T>(&self, part: &'static str, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = work();
        self.add(part, begun.elapsed());
        result
    }

    /// Measures a future.
    pub(crate) async fn wait<T>(&self, part: &'static str, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let result = work.await;
        self.add(part, begun.elapsed());
        result
    }

    /// Records the duration of a driver's step.
    pub(crate) fn driver(&self, name: &str, took: Duration) {
        let mut drivers = self.drivers.borrow_mut();
        let entry = drivers.entry(name.to_owned()).or_default();
        entry.0 += 1;
        entry.1 += took;
    }

    /// All times as text.
    pub(crate) fn render(&self) -> String {
        let mut out = String::from("Timings\n");
        for (name, took) in self.parts.borrow().iter() {
            out.push_str(&format!("  {name:<24} {:>12}\n", text::duration(*took)));
        }
        out.push_str(&format!("  {:<24} {:>12}\n", "in all", text::duration(self.begun.elapsed())));
        let drivers = self.drivers.borrow();
        let mut drivers: Vec<_> = drivers.iter().collect();
        drivers.sort_by_key(|(_, (_, took))| std::cmp::Reverse(*took));
        if !drivers.is_empty() {
            out.push_str("Steps by driver (they overlap)\n");
        }
        for (name, (steps, took)) in drivers {
            let name = text::line(name);
            out.push_str(&format!(
                "  {name:<24} {:>12}  {}\n",
                text::duration(*took),
                text::count(*steps, "step")
            ));
        }
        out
    }
}
