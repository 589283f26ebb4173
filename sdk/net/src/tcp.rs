//! A connection with bounded waits: in the sandbox over `wasi:sockets`, in unit tests over the
//! system's sockets.

#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(target_family = "wasm")]
mod wasi;

#[cfg(not(target_family = "wasm"))]
pub(crate) use native::Tcp;
#[cfg(target_family = "wasm")]
pub(crate) use wasi::Tcp;
