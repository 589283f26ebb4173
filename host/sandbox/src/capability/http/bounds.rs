//! `wasi:http`: limits for parts of a request whose length wasmtime does not limit, and for the number of
//! requests, which wasmtime limits by accident.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::RequestOptions;
use wasmtime_wasi_http::WasiHttpView as _;
use wasmtime_wasi_http::p2::bindings::http::outgoing_handler::Host as _;
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, Host as _, HostOutgoingRequest as _, Method};
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostOutgoingRequest};

use super::Guest;

/// The interfaces as wasmtime links them. Tests with a long server name and with many requests notice if
/// the names change.
const HANDLER: &str = "wasi:http/outgoing-handler@0.2.12";
const TYPES: &str = "wasi:http/types@0.2.12";
/// Bytes of a method that the interface does not name.
const LONGEST_METHOD: usize = 64;
/// Bytes of an authority: more than a host name and a port need.
const LONGEST_AUTHORITY: usize = 512;

type Set = (Result<(), ()>,);
type Handled = (Result<Resource<HostFutureIncomingResponse>, ErrorCode>,);

/// Replaces only wasmtime's `handle`, `set-method` and `set-authority`.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    linker.instance(HANDLER)?.func_wrap(
        "handle",
        |mut store: StoreContextMut<'_, Guest>,
         (request, options): (Resource<HostOutgoingRequest>, Option<Resource<RequestOptions>>)| {
            let mut http = store.data_mut().http();
            // wasmtime keeps the options of each request, so that many requests exhaust the handles.
            let kept = options.as_ref().map(|options| Resource::<RequestOptions>::new_own(options.rep()));
            let handled = http.handle(request, options);
            if let Some(kept) = kept {
                http.table.delete(kept)?;
            }
            wasmtime::Result::<Handled>::Ok((match handled {
                Ok(answer) => Ok(answer),
                Err(error) => Err(http.convert_error_code(error)?),
            },))
        },
    )?;
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
