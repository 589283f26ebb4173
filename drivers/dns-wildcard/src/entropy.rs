//! Bytes that look random and are always the same for one resource.

use std::sync::atomic::{AtomicU64, Ordering};

use purlin_go_template::Host;
use sha2::{Digest, Sha256};

/// A stream of digests over a seed and a counter. It does not use the clock: a name must not depend
/// on the time.
pub(crate) struct Seeded {
    seed: String,
    blocks: AtomicU64,
}

impl Seeded {
    pub(crate) fn new(seed: &str) -> Self {
        Self { seed: seed.to_owned(), blocks: AtomicU64::new(0) }
    }
}

impl Host for Seeded {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), String> {
        for part in buffer.chunks_mut(32) {
            let block = self.blocks.fetch_add(1, Ordering::Relaxed);
            let digest = Sha256::new().chain_update(&self.seed).chain_update(block.to_le_bytes()).finalize();
            for (byte, drawn) in part.iter_mut().zip(digest) {
                *byte = drawn;
            }
        }
        Ok(())
    }

    fn now(&self) -> Result<i64, String> {
        Err("a name must not depend on the time".to_owned())
    }
}
