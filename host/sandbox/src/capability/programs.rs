//! `purlin:programs`: programs that a driver runs. No grant names any yet, so that none is granted, and there
//! is no private folder.

use super::Guest;
use crate::bindings::programs::purlin::programs::{folder, run, types};
use crate::observer::HostRequest;

impl types::Host for Guest {}

impl run::Host for Guest {
    fn granted(&mut self) -> wasmtime::Result<Vec<types::GrantedProgram>> {
        self.log.requests(HostRequest::Contract);
        Ok(Vec::new())
    }

    fn run(
        &mut self,
        _: types::Command,
        _: Vec<u8>,
    ) -> wasmtime::Result<Result<run::Finished, types::StartError>> {
        self.log.requests(HostRequest::Contract);
        Ok(Err(types::StartError::NotGranted))
    }
}

impl folder::Host for Guest {
    fn path(&mut self) -> wasmtime::Result<Option<String>> {
        self.log.requests(HostRequest::Contract);
        Ok(None)
    }

    fn write(&mut self, _: String, _: Vec<u8>) -> wasmtime::Result<Result<(), folder::FileError>> {
        self.log.requests(HostRequest::Contract);
        Ok(Err(folder::FileError::Unusable))
    }

    fn read(&mut self, _: String) -> wasmtime::Result<Result<Vec<u8>, folder::FileError>> {
        self.log.requests(HostRequest::Contract);
        Ok(Err(folder::FileError::Unusable))
    }
}
