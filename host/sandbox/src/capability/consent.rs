//! `purlin:preview`: what people agreed to, as the driver sees it during the effect.

use super::Guest;
use crate::bindings::preview::purlin::preview::{consent, types};
use crate::bindings::purlin::driver::operation::Host as _;
use crate::convert;
use crate::observer::HostRequest;

impl types::Host for Guest {}

impl consent::Host for Guest {
    fn token(&mut self) -> wasmtime::Result<Option<Vec<u8>>> {
        self.log.requests(HostRequest::Contract);
        Ok(self.operation.token.as_ref().map(|token| token.as_bytes().to_vec()))
    }

    fn reached(&mut self, address: String, action: types::Action) -> wasmtime::Result<()> {
        self.progress(format!("{address}: {}", convert::action(action).as_str()), None)
    }
}
