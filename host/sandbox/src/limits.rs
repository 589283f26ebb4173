//! The limits of one call, and the meter that wasmtime asks before it allocates memory.

use std::time::Duration;

use purlin_model::Limits as Defaults;
use wasmtime::ResourceLimiter;

/// Core instances of one component. Components linked from shared libraries have some dozens.
pub(crate) const CORE_INSTANCES: u32 = 64;
/// Tables of one component.
pub(crate) const TABLES: u32 = 32;
/// Linear memories of one component.
pub(crate) const MEMORIES: u32 = 8;
/// Elements of one table. Go puts every function of a program in one, and its larger libraries have
/// tens of thousands.
pub(crate) const TABLE_ELEMENTS: usize = 100_000;
/// Bytes of an element, which are counted as memory.
const ELEMENT: u64 = 8;
/// Host resources (streams, pollables, file handles) of one call.
pub(crate) const HANDLES: usize = 1_000;
/// Bytes that the host keeps for one of them: header fields, the head of an answer, a piece of a body.
pub(crate) const HANDLE_BYTES: usize = 64 << 10;
/// Output streams that one call may have at once when it opens one to a file.
pub(crate) const WRITERS: usize = 64;
/// Entries of a folder that are read at once.
pub(crate) const ENTRIES: usize = 128;
/// Sockets that one call may have at once: each takes a file descriptor of the host.
pub(crate) const SOCKETS: usize = 64;
/// Names that a driver may look up at once, over all its calls.
pub(crate) const LOOKUPS: usize = 8;
/// Addresses of one name that are used.
pub(crate) const ADDRESSES: usize = 64;
/// Files and folders that one call may hold open at once, besides granted ones: each takes a file
/// descriptor of the host.
pub(crate) const FILES: usize = 64;
/// Requests that one call may have in flight at once.
pub(crate) const CONNECTIONS: usize = 16;
/// Random bytes per request.
pub(crate) const RANDOM_BYTES: u64 = 1 << 20;

/// Limits with the defaults filled in.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) memory: u64,
    pub(crate) time: Duration,
    pub(crate) output: u64,
    pub(crate) log: u64,
    pub(crate) concurrency: usize,
    /// Between the calls of one operation.
    pub(crate) wait: Duration,
    /// Until the system shows what was created.
    pub(crate) grace: Duration,
    /// For all calls together; none if there is no limit.
    pub(crate) total: Option<Duration>,
    pub(crate) response: u64,
    pub(crate) requests: u32,
    /// Bytes of a cookie.
    pub(crate) state: usize,
    /// How long a run waits for one resource that is in progress.
    pub(crate) pending: Duration,
}

impl Limits {
    pub(crate) fn new(limits: &Defaults) -> Self {
        Self {
            memory: limits.memory.unwrap_or(Defaults::MEMORY),
            time: limits.time.unwrap_or(Defaults::TIME),
            output: limits.output.unwrap_or(Defaults::OUTPUT),
            log: limits.log.unwrap_or(Defaults::LOG),
            concurrency: limits.concurrency.unwrap_or(Defaults::CONCURRENCY).max(1),
            wait: limits.wait.unwrap_or(Defaults::WAIT),
            grace: limits.grace(),
            total: limits.total,
            response: limits.response.unwrap_or(Defaults::RESPONSE),
            requests: limits.requests.unwrap_or(Defaults::REQUESTS),
            state: usize::try_from(limits.state.unwrap_or(Defaults::STATE)).unwrap_or(usize::MAX),
            pending: limits.pending(),
        }
    }

    /// Bytes that one call may copy out of an instance. A little more than the output, because
    /// lists of records are included.
    pub(crate) fn copied(&self) -> usize {
        usize::try_from(self.output.saturating_add(256 << 10)).unwrap_or(usize::MAX)
    }
}

/// Counts the memory of one instance.
pub(crate) struct Meter {
    limit: u64,
    used: u64,
    /// Whether more memory was requested than allowed. It is the cause of later failures.
    pub(crate) memory_exceeded: bool,
    /// Likewise for tables.
    pub(crate) table_exceeded: bool,
}

impl Meter {
    pub(crate) const fn new(limit: u64) -> Self {
        Self { limit, used: 0, memory_exceeded: false, table_exceeded: false }
    }

    /// Whether this much is left. It is taken only if it will be allocated.
    fn take(&mut self, more: u64, given: bool) -> bool {
        let within = self.used.saturating_add(more) <= self.limit;
        if !within {
            self.memory_exceeded = true;
        } else if given {
            self.used += more;
        }
        within
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current) as u64;
        Ok(self.take(more, maximum.is_none_or(|maximum| desired <= maximum)))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > TABLE_ELEMENTS {
            self.table_exceeded = true;
            return Ok(false);
        }
        let more = (desired.saturating_sub(current) as u64).saturating_mul(ELEMENT);
        Ok(self.take(more, maximum.is_none_or(|maximum| desired <= maximum)))
    }

    fn instances(&self) -> usize {
        CORE_INSTANCES as usize
    }

    fn tables(&self) -> usize {
        TABLES as usize
    }

    fn memories(&self) -> usize {
        MEMORIES as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_memories_of_an_instance_count_together() {
        let mut meter = Meter::new(100 << 16);
        assert!(meter.memory_growing(0, 60 << 16, None).expect("answer"));
        assert!(meter.memory_growing(0, 40 << 16, None).expect("answer"));
        assert!(!meter.memory_exceeded);
        assert!(!meter.memory_growing(40 << 16, 41 << 16, None).expect("answer"));
        assert!(meter.memory_exceeded);
    }

    #[test]
    fn tables_count_as_memory_and_have_a_limit_of_their_own() {
        let mut meter = Meter::new(1 << 20);
        assert!(meter.table_growing(0, 100_000, None).expect("answer"));
        assert!(!meter.table_growing(0, 100_000, None).expect("answer"));
        assert!(meter.memory_exceeded && !meter.table_exceeded);
        assert!(!meter.table_growing(100_000, 100_001, None).expect("answer"));
        assert!(meter.table_exceeded);
    }
}
