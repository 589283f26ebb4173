//! `wasi:filesystem/types`: opening, within bounds that wasmtime does not have.
//!
//! What is open takes a file descriptor of the host, and the host has few. What is neither a file
//! nor a folder is not opened: a pipe that nobody fills holds a thread of the host for ever.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, Host as _, HostDescriptor as _, OpenFlags, PathFlags,
};

use super::Guest;
use crate::limits::FILES;
use crate::witness::Asked;

/// The interface as wasmtime links it. A test opens files without end, and so notices another name.
const TYPES: &str = "wasi:filesystem/types@0.2.12";

type Opening = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);
type Opened = (Result<Resource<Descriptor>, ErrorCode>,);

/// In place of wasmtime's `open-at` alone.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    linker.instance(TYPES)?.func_wrap_async(
        "[method]descriptor.open-at",
        |mut store: StoreContextMut<'_, Guest>, opening: Opening| {
            Box::new(async move {
                let guest = store.data_mut();
                guest.log.asks(Asked::Files);
                let opened = guest.open(opening).await;
                let opened = match opened {
                    Ok(file) => Ok(file),
                    Err(error) => Err(guest.filesystem().convert_error_code(error)?),
                };
                wasmtime::Result::<Opened>::Ok((opened,))
            })
        },
    )
}

impl Guest {
    async fn open(&mut self, opening: Opening) -> FsResult<Resource<Descriptor>> {
        let (folder, path_flags, path, open_flags, flags) = opening;
        let is_open = |entry: &&mut (dyn std::any::Any + Send)| entry.is::<Descriptor>();
        let granted = self.granted.dirs.len();
        if self.table.iter_mut().filter(is_open).count() >= FILES + granted {
            return Err(ErrorCode::Quota.into());
        }
        let mut files = self.filesystem();
        // What is not there yet becomes a file.
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
