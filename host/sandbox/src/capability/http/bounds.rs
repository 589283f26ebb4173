//! `wasi:http/types`: parts of a request that wasmtime keeps at any length.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::WasiHttpView as _;
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest as _, Method};
use wasmtime_wasi_http::p2::types::HostOutgoingRequest;

use super::Guest;

/// The interface as wasmtime links it. A test names a server at length, and so notices another name.
const TYPES: &str = "wasi:http/types@0.2.12";
/// Bytes of a method that has no name of its own in the interface.
const LONGEST_METHOD: usize = 64;
/// Bytes of an authority: more than a name of a host and a port have.
const LONGEST_AUTHORITY: usize = 512;

type Set = (Result<(), ()>,);

/// In place of wasmtime's `set-method` and `set-authority` alone.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store: StoreContextMut<'_, Guest>,
         (request, method): (Resource<HostOutgoingRequest>, Method)| {
            if matches!(&method, Method::Other(name) if name.len() > LONGEST_METHOD) {
                return wasmtime::Result::<Set>::Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_method(request, method)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store: StoreContextMut<'_, Guest>,
         (request, authority): (Resource<HostOutgoingRequest>, Option<String>)| {
            if authority.as_ref().is_some_and(|authority| authority.len() > LONGEST_AUTHORITY) {
                return wasmtime::Result::<Set>::Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_authority(request, authority)?,))
        },
    )
}
