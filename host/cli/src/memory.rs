//! Limits the memory that the allocator keeps.

/// The size in bytes from which an allocation counts as large.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: std::ffi::c_int = 128 << 10;

/// Makes glibc use one arena per thread that can run concurrently, instead of eight per processor,
/// so that threads reuse the memory that others freed. A user who sets `MALLOC_ARENA_MAX` overrides
/// this. Also makes it return large allocations to the system at once, since otherwise its
/// threshold for that grows.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
pub(crate) fn keep_little() {
    if std::env::var_os("MALLOC_ARENA_MAX").is_some() {
        return;
    }
    let threads = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    let arenas = std::ffi::c_int::try_from(threads).unwrap_or(std::ffi::c_int::MAX);
    // SAFETY: these calls only set parameters of the allocator, and no other thread has started
    // yet.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, arenas);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Makes mimalloc commit memory when it is first used. By default, it commits 1 GiB at once, which
/// exceeds the memory limit of a process that reads a component.
#[cfg(target_env = "musl")]
#[allow(unsafe_code)]
pub(crate) fn keep_little() {
    // `mi_option_arena_eager_commit`, which the crate does not export.
    const COMMIT_AT_ONCE: libmimalloc_sys::mi_option_t = 4;
    // SAFETY: this call only sets a parameter of the allocator, and no other thread has started
    // yet.
    unsafe { libmimalloc_sys::mi_option_set(COMMIT_AT_ONCE, 0) };
}

/// Leaves other allocators unchanged.
#[cfg(not(any(all(target_os = "linux", target_env = "gnu"), target_env = "musl")))]
pub(crate) fn keep_little() {}
