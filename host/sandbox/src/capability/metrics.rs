//! `metrics`: measurements of a driver, as events for a collector.

use super::Guest;
use crate::bindings::purlin::metrics::metrics;
use crate::observer::HostRequest;

impl metrics::Host for Guest {
    fn count(&mut self, name: String, by: u64) -> wasmtime::Result<()> {
        self.log.requests(HostRequest::Contract);
        if valid(&name) {
            self.log.metric(&name, format_args!("+{by}"));
        }
        Ok(())
    }

    fn measure(&mut self, name: String, value: f64) -> wasmtime::Result<()> {
        self.log.requests(HostRequest::Contract);
        if valid(&name) {
            self.log.metric(&name, format_args!("{value}"));
        }
        Ok(())
    }
}

fn valid(name: &str) -> bool {
    name.len() <= 128
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.'))
}
