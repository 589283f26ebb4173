//! `wasi:filesystem/types`: the entries of a folder, a few at a time.
//!
//! wasmtime reads a whole folder before it returns the first entry, and keeps entries that nobody
//! requested: with a large folder, a driver could make the host keep gigabytes.

use std::vec;

use cap_primitives::fs::{FileType, ReadDir, read_base_dir};
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource, ResourceType};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, DirectoryEntry, ErrorCode, Host as _};
use wasmtime_wasi::p2::{FsResult, ReaddirIterator};

use super::Guest;
use crate::limits::ENTRIES;
use crate::observer::HostRequest;

type Entry = Result<DirectoryEntry, ErrorCode>;
type Listed = (Result<Resource<ReaddirIterator>, ErrorCode>,);
type Next = (Result<Option<DirectoryEntry>, ErrorCode>,);

/// A folder that is being read. Guests hold it under the type in the bindings.
pub(super) struct Listing {
    /// None once everything was read.
    rest: Option<ReadDir>,
    read: vec::IntoIter<Entry>,
}

/// Replaces wasmtime's `read-directory` and its result.
pub(super) fn link(types: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    types.resource(
        "directory-entry-stream",
        ResourceType::host::<ReaddirIterator>(),
        |mut store, listing| {
            store.data_mut().table.delete(Resource::<Listing>::new_own(listing))?;
            Ok(())
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.read-directory",
        |mut store: StoreContextMut<'_, Guest>, (folder,): (Resource<Descriptor>,)| {
            Box::new(async move {
                let guest = store.data_mut();
                guest.log.requests(HostRequest::Files);
                let listing = guest.list(&folder).await;
                wasmtime::Result::<Listed>::Ok((guest.or_code(listing)?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]directory-entry-stream.read-directory-entry",
        |mut store: StoreContextMut<'_, Guest>, (listing,): (Resource<ReaddirIterator>,)| {
            Box::new(async move {
                let guest = store.data_mut();
                let entry = guest.next_entry(&listing).await;
                wasmtime::Result::<Next>::Ok((guest.or_code(entry)?,))
            })
        },
    )
}

impl Guest {
    pub(super) fn or_code<T>(&mut self, result: FsResult<T>) -> wasmtime::Result<Result<T, ErrorCode>> {
        match result {
            Ok(value) => Ok(Ok(value)),
            Err(error) => Ok(Err(self.filesystem().convert_error_code(error)?)),
        }
    }

    async fn list(&mut self, folder: &Resource<Descriptor>) -> FsResult<Resource<ReaddirIterator>> {
        if !self.may_open_another() {
            return Err(ErrorCode::Quota.into());
        }
        let Descriptor::Dir(folder) = self.table.get(folder)? else {
            return Err(ErrorCode::NotDirectory.into());
        };
        let folder = folder.dir.clone();
        let rest = blocking(move || read_base_dir(&folder)).await?;
        let listing = self.table.push(Listing { rest: Some(rest), read: Vec::new().into_iter() })?;
        Ok(Resource::new_own(listing.rep()))
    }

    async fn next_entry(&mut self, listing: &Resource<ReaddirIterator>) -> FsResult<Option<DirectoryEntry>> {
        let ours = || Resource::<Listing>::new_borrow(listing.rep());
        let listing = self.table.get_mut(&ours())?;
        if let Some(entry) = listing.read.next() {
            return Ok(Some(entry?));
        }
        let Some(rest) = listing.rest.take() else { return Ok(None) };
        let (rest, read) = blocking(move || Ok(some(rest))).await?;
        let listing = self.table.get_mut(&ours())?;
        *listing = Listing { rest, read: read.into_iter() };
        Ok(listing.read.next().transpose()?)
    }
}

/// The next entries of a folder, and the folder if there may be more.
fn some(mut folder: ReadDir) -> (Option<ReadDir>, Vec<Entry>) {
    let mut entries = Vec::new();
    while entries.len() < ENTRIES {
        match folder.next() {
            None => return (None, entries),
            // Reading on after an error could return the same error forever.
            Some(Err(error)) => {
                entries.push(Err(error.into()));
                return (None, entries);
            }
            Some(Ok(entry)) => {
                let name = entry.file_name().into_string().map_err(|_| ErrorCode::IllegalByteSequence);
                let kind = entry.file_type().map(kind).map_err(ErrorCode::from);
                entries.push(name.and_then(|name| Ok(DirectoryEntry { type_: kind?, name })));
            }
        }
    }
    (Some(folder), entries)
}

fn kind(file: FileType) -> DescriptorType {
    match file {
        _ if file.is_dir() => DescriptorType::Directory,
        _ if file.is_file() => DescriptorType::RegularFile,
        _ if file.is_symlink() => DescriptorType::SymbolicLink,
        // Drivers cannot open it, whatever its type.
        _ => DescriptorType::Unknown,
    }
}

/// Reading a folder can take long, for example on a remote disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, ErrorCode> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(ErrorCode::Io),
    }
}
