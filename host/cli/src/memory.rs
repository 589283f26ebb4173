//! How much memory the allocator keeps for later.

/// Pieces of so many bytes and more are large.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: std::ffi::c_int = 128 << 10;

/// Has glibc keep memory for as many threads as run at the same time, in place of eight for each processor:
/// what one of them gives back, another one uses. Who sets `MALLOC_ARENA_MAX` knows better. And has it give large
/// pieces back at once: it keeps larger and larger ones where that is not said.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
pub(crate) fn keep_little() {
    if std::env::var_os("MALLOC_ARENA_MAX").is_some() {
        return;
    }
    let threads = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    let arenas = std::ffi::c_int::try_from(threads).unwrap_or(std::ffi::c_int::MAX);
    // SAFETY: they set numbers of the allocator, and no other thread has begun.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, arenas);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Other allocators are left as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_little() {}
