//! `wasi:http/types`: limits for parts of a request whose length wasmtime does not limit.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::WasiHttpView as _;
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest as _, Method};
use wasmtime_wasi_http::p2::types::HostOutgoingRequest;

use super::Guest;

/// The interface as wasmtime links it. A test with a long server name notices if the name changes.
const TYPES: &str = "wasi:http/types@0.2.12";
/// Bytes of a method that the interface does not name.
const LONGEST_METHOD: usize = 64;
/// Bytes of an authority: more than a host name and a port need.
const LONGEST_AUTHORITY: usize = 512;

type Set = (Result<(), ()>,);

/// Replaces only wasmtime's `set-method` and `set-authority`.
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
