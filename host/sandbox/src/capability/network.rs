//! The network: linked, so that components which import it run, and closed.

use wasmtime_wasi::WasiCtxBuilder;

pub(super) fn build(builder: &mut WasiCtxBuilder) {
    builder
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .socket_addr_check(|_, _| Box::pin(async { false }));
}
