//! `wasi:filesystem/types`: opening files, within limits that wasmtime does not have.
//!
//! An open file takes a file descriptor of the host, and the host has few. Only files and folders
//! are opened: a pipe without a writer would block a thread of the host forever.

use futures::FutureExt as _;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, HostDescriptor as _, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsResult};

use super::Guest;
use super::changes::{self, Copies, Handle};
use super::listing::{self, Listing};
use crate::limits::{FILES, WRITERS};
use crate::observer::HostRequest;

/// The interface as wasmtime links it. A test that opens files without end notices if the name
/// changes.
const TYPES: &str = "wasi:filesystem/types@0.2.12";

type Opening = (Handle, PathFlags, String, OpenFlags, DescriptorFlags);
type Opened = (Result<Handle, ErrorCode>,);
type Writing = (Result<Resource<DynOutputStream>, ErrorCode>,);

/// Replaces wasmtime's functions that open something, buffer data, or change files.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut types = linker.instance(TYPES)?;
    types.func_wrap_async(
        "[method]descriptor.open-at",
        |mut store: StoreContextMut<'_, Guest>, opening: Opening| {
            Box::new(async move {
                let guest = store.data_mut();
                let opened = guest.open(opening).await;
                wasmtime::Result::<Opened>::Ok((guest.or_code(opened)?,))
            })
        },
    )?;
    types.func_wrap(
        "[method]descriptor.write-via-stream",
        |mut store: StoreContextMut<'_, Guest>, (file, offset): (Handle, u64)| {
            let guest = store.data_mut();
            let stream = guest.writer(file, |files, file| files.write_via_stream(file, offset));
            wasmtime::Result::<Writing>::Ok((guest.or_code(stream)?,))
        },
    )?;
    types.func_wrap(
        "[method]descriptor.append-via-stream",
        |mut store: StoreContextMut<'_, Guest>, (file,): (Handle,)| {
            let guest = store.data_mut();
            let stream = guest.writer(file, |files, file| files.append_via_stream(file));
            wasmtime::Result::<Writing>::Ok((guest.or_code(stream)?,))
        },
    )?;
    changes::link(&mut types)?;
    listing::link(&mut types)
}

impl Guest {
    /// Whether the guest may open another object that takes a file descriptor of the host.
    pub(super) fn may_open_another(&mut self) -> bool {
        // A stream keeps its file open.
        let is_open = |entry: &&mut (dyn std::any::Any + Send)| {
            entry.is::<Descriptor>()
                || entry.is::<Listing>()
                || entry.is::<DynInputStream>()
                || entry.is::<DynOutputStream>()
        };
        let granted = self.granted.dirs.len();
        self.table.iter_mut().filter(is_open).count() < FILES + granted
    }

    /// A stream to a file. Each may buffer 64 KiB, so there are few.
    fn writer(
        &mut self,
        file: Handle,
        open: impl FnOnce(&mut Copies<'_>, Handle) -> FsResult<Resource<DynOutputStream>>,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.log.requests(HostRequest::Files);
        let is_stream = |entry: &&mut (dyn std::any::Any + Send)| entry.is::<DynOutputStream>();
        if self.table.iter_mut().filter(is_stream).count() >= WRITERS {
            return Err(ErrorCode::Quota.into());
        }
        self.writes(file, open)
    }

    async fn open(&mut self, (folder, path_flags, path, open_flags, flags): Opening) -> FsResult<Handle> {
        self.log.requests(HostRequest::Files);
        if !self.may_open_another() {
            return Err(ErrorCode::Quota.into());
        }
        let opened = self.change([folder], move |files, [folder]| {
            let again = Resource::new_borrow(folder.rep());
            let opened = match files.stat_at(again, path_flags, path.clone()).now_or_never()? {
                Ok(stat) if !can_be_opened(stat.type_) => Err(ErrorCode::Access.into()),
                // A missing file will be created.
                _ => files.open_at(folder, path_flags, path, open_flags, flags).now_or_never()?,
            };
            Some(opened.and_then(|opened| Ok(files.table.delete(opened)?)))
        });
        let opened = opened.await?;
        Ok(self.table.push(opened)?)
    }
}

fn can_be_opened(kind: DescriptorType) -> bool {
    matches!(kind, DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink)
}
