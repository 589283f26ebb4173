//! Random platforms with bundles and definitions that require each other: order means nothing, what
//! exists goes on being the shared one, and nothing is left in the end (SPEC §6).

mod life;
mod model;
mod order;
mod platform;

use std::collections::BTreeMap;
use std::future::Future;

/// Runs a life for each seed: `PURLIN_LIVES` of them from `PURLIN_SEED` on, or a few. Returns how
/// often what happened in them.
async fn each_seed<T: Ord, F: Future<Output = Result<BTreeMap<T, usize>, String>>>(
    few: u64,
    live: impl Fn(u64) -> F,
) -> BTreeMap<T, usize> {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (from, lives) = (number("PURLIN_SEED", 0), number("PURLIN_LIVES", few));
    let mut broken = Vec::new();
    let mut all = BTreeMap::new();
    for seed in from..from + lives {
        match live(seed).await {
            Ok(told) => told.into_iter().for_each(|(what, count)| *all.entry(what).or_insert(0) += count),
            Err(wrong) => broken.push(format!("seed {seed}: {wrong}")),
        }
        if broken.len() > 2 {
            break;
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
    all
}

/// Without chosen seeds, everything that is tried has happened.
fn has_all<T: Ord + std::fmt::Debug>(told: &BTreeMap<T, usize>, all: &[T]) {
    if std::env::var_os("PURLIN_LIVES").is_none() && std::env::var_os("PURLIN_SEED").is_none() {
        for what in all {
            assert!(told.get(what).is_some_and(|count| *count > 0), "there is no {what:?}: {told:?}");
        }
    }
}
