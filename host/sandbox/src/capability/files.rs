//! `wasi:filesystem/types`: opening files, within limits that wasmtime does not have.
//!
//! An open file takes a file descriptor of the host, and the host has few. Only files and folders
//! are opened: a pipe without a writer would block a thread of the host forever.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtxView, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, HostDescriptor as _, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynOutputStream, FsResult};

use super::Guest;
use super::listing::{self, Listing};
use crate::limits::{FILES, WRITERS};
use crate::observer::HostRequest;

/// The interface as wasmtime links it. A test that opens files without end notices if the name
/// changes.
const TYPES: &str = "wasi:filesystem/types@0.2.12";

type Opening = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);
type Opened = (Result<Resource<Descriptor>, ErrorCode>,);
type Writing = (Result<Resource<DynOutputStream>, ErrorCode>,);

/// Replaces wasmtime's functions that open something, or buffer data.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut types = linker.instance(TYPES)?;
    types.func_wrap_async(
        "[method]descriptor.open-at",
        |mut store: StoreContextMut<'_, Guest>, opening: Opening| {
            Box::new(async move {
                let guest = store.data_mut();
                guest.log.requests(HostRequest::Files);
                let opened = guest.open(opening).await;
                wasmtime::Result::<Opened>::Ok((guest.or_code(opened)?,))
            })
        },
    )?;
    types.func_wrap(
        "[method]descriptor.write-via-stream",
        |mut store: StoreContextMut<'_, Guest>, (file, offset): (Resource<Descriptor>, u64)| {
            let guest = store.data_mut();
            let stream = guest.writer(|files| files.write_via_stream(file, offset));
            wasmtime::Result::<Writing>::Ok((guest.or_code(stream)?,))
        },
    )?;
    types.func_wrap(
        "[method]descriptor.append-via-stream",
        |mut store: StoreContextMut<'_, Guest>, (file,): (Resource<Descriptor>,)| {
            let guest = store.data_mut();
            let stream = guest.writer(|files| files.append_via_stream(file));
            wasmtime::Result::<Writing>::Ok((guest.or_code(stream)?,))
        },
    )?;
    listing::link(&mut types)
}

impl Guest {
    /// Whether the guest may open another object that takes a file descriptor of the host.
    pub(super) fn may_open_another(&mut self) -> bool {
        let is_open =
            |entry: &&mut (dyn std::any::Any + Send)| entry.is::<Descriptor>() || entry.is::<Listing>();
        let granted = self.granted.dirs.len();
        self.table.iter_mut().filter(is_open).count() < FILES + granted
    }

    /// A stream to a file. Each may buffer a mebibyte, so there are few.
    fn writer(
        &mut self,
        open: impl FnOnce(&mut WasiFilesystemCtxView<'_>) -> FsResult<Resource<DynOutputStream>>,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.log.requests(HostRequest::Files);
        let is_stream = |entry: &&mut (dyn std::any::Any + Send)| entry.is::<DynOutputStream>();
        if self.table.iter_mut().filter(is_stream).count() >= WRITERS {
            return Err(ErrorCode::Quota.into());
        }
        open(&mut self.filesystem())
    }

    async fn open(&mut self, opening: Opening) -> FsResult<Resource<Descriptor>> {
        let (folder, path_flags, path, open_flags, flags) = opening;
        if !self.may_open_another() {
            return Err(ErrorCode::Quota.into());
        }
        let mut files = self.filesystem();
        // A missing file will be created.
        if let Ok(stat) = files.stat_at(Resource::new_borrow(folder.rep()), path_flags, path.clone()).await
            && !matches!(
                stat.type_,
                DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink
            )
        {
            return Err(ErrorCode::Access.into());
        }
        files.open_at(folder, path_flags, path, open_flags, flags).await
    }
}
