//! `wasi:filesystem/types`: operations that change files. Each begins within the time of its call, or not at
//! all.
//!
//! wasmtime runs them on other threads, which a busy machine may start late: if the machine is suspended in
//! between, the driver would change files while another machine uses the environment. So these operations run
//! on a thread that first checks the time. What they do is still up to wasmtime.

use std::future::Future;
use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures::FutureExt as _;
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentNamedList, Lift, LinkerInstance, Lower, Resource, ResourceTable};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File, WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    ErrorCode, HostDescriptor as _, NewTimestamp, PathFlags,
};
use wasmtime_wasi::p2::{
    DynOutputStream, FsError, FsResult, OutputStream, Pollable, StreamError, StreamResult,
};
use wasmtime_wasi::runtime::AbortOnDropJoinHandle;

use super::Guest;
use crate::deadline::{Deadline, PASSED};
use crate::observer::HostRequest;

/// The contract of streams demands a trap.
const TOO_MUCH: &str = "a driver wrote more to a file than `check-write` permitted";

/// A file or folder of the guest.
pub(super) type Handle = Resource<Descriptor>;
/// What an operation gets: copies of its files, on which wasmtime works in the current thread.
pub(super) type Copies<'a> = WasiFilesystemCtxView<'a>;
/// The result of wasmtime's operations, which do not wait.
type Immediate<T> = Option<FsResult<T>>;
type Changing<'a, T> = Pin<Box<dyn Future<Output = FsResult<T>> + Send + 'a>>;

/// Replaces wasmtime's functions that change files, except `open-at` and the streams, which `files.rs`
/// replaces.
pub(super) fn link(types: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    replace(types, "create-directory-at", |guest, (folder, path): (Handle, String)| {
        guest.change([folder], |files, [folder]| files.create_directory_at(folder, path).now_or_never())
    })?;
    replace(types, "remove-directory-at", |guest, (folder, path): (Handle, String)| {
        guest.change([folder], |files, [folder]| files.remove_directory_at(folder, path).now_or_never())
    })?;
    replace(types, "unlink-file-at", |guest, (folder, path): (Handle, String)| {
        guest.change([folder], |files, [folder]| files.unlink_file_at(folder, path).now_or_never())
    })?;
    replace(types, "symlink-at", |guest, (folder, target, path): (Handle, String, String)| {
        guest.change([folder], |files, [folder]| files.symlink_at(folder, target, path).now_or_never())
    })?;
    replace(types, "rename-at", |guest, (from, old, to, new): (Handle, String, Handle, String)| {
        guest.change([from, to], |files, [from, to]| files.rename_at(from, old, to, new).now_or_never())
    })?;
    replace(
        types,
        "link-at",
        |guest, (from, flags, old, to, new): (Handle, PathFlags, String, Handle, String)| {
            guest.change([from, to], move |files, [from, to]| {
                files.link_at(from, flags, old, to, new).now_or_never()
            })
        },
    )?;
    replace(types, "set-size", |guest, (file, size): (Handle, u64)| {
        guest.change([file], move |files, [file]| files.set_size(file, size).now_or_never())
    })?;
    replace(types, "set-times", |guest, (file, read, written): (Handle, NewTimestamp, NewTimestamp)| {
        guest.change([file], move |files, [file]| files.set_times(file, read, written).now_or_never())
    })?;
    replace(
        types,
        "set-times-at",
        |guest, (folder, flags, path, read, written): (Handle, PathFlags, String, NewTimestamp, NewTimestamp)| {
            guest.change([folder], move |files, [folder]| {
                files.set_times_at(folder, flags, path, read, written).now_or_never()
            })
        },
    )?;
    replace(types, "write", |guest, (file, bytes, offset): (Handle, Vec<u8>, u64)| {
        guest.change([file], move |files, [file]| files.write(file, bytes, offset).now_or_never())
    })
}

fn replace<P, T>(
    types: &mut LinkerInstance<'_, Guest>,
    name: &str,
    change: impl for<'a> Fn(&'a mut Guest, P) -> Changing<'a, T> + Send + Sync + Copy + 'static,
) -> wasmtime::Result<()>
where
    P: ComponentNamedList + Lift + Send + 'static,
    T: Send + 'static,
    (Result<T, ErrorCode>,): ComponentNamedList + Lower,
{
    types.func_wrap_async(
        &format!("[method]descriptor.{name}"),
        move |mut store: StoreContextMut<'_, Guest>, parameters: P| {
            Box::new(async move {
                let guest = store.data_mut();
                guest.log.requests(HostRequest::Files);
                let changed = change(guest, parameters).await;
                Ok((guest.or_code(changed)?,))
            })
        },
    )
}

impl Guest {
    /// Runs an operation of wasmtime on files of the guest, on another thread. If the thread starts after the
    /// deadline, it does nothing.
    pub(super) fn change<T: Send + 'static, const N: usize>(
        &mut self,
        files: [Handle; N],
        operation: impl FnOnce(&mut Copies<'_>, [Handle; N]) -> Immediate<T> + Send + 'static,
    ) -> Changing<'_, T> {
        let deadline = self.deadline;
        let copied = self.copies(files);
        Box::pin(async move {
            let (mut table, copies) = copied?;
            let work = move || {
                let mut context = WasiFilesystemCtx::default();
                operation(&mut Copies { ctx: &mut context, table: &mut table }, copies)
            };
            match deadline.block(work).await {
                Some(Some(result)) => result,
                Some(None) => Err(FsError::trap(wasmtime::Error::msg("an operation on a file waits"))),
                None => Err(FsError::trap(wasmtime::Error::msg(PASSED))),
            }
        })
    }

    /// A table with copies of these files.
    fn copies<const N: usize>(&self, files: [Handle; N]) -> FsResult<(ResourceTable, [Handle; N])> {
        let mut table = ResourceTable::new();
        let mut copies = files;
        for file in &mut copies {
            let copy = copy(self.table.get(file)?)?;
            *file = table.push(copy)?;
        }
        Ok((table, copies))
    }

    /// A stream that writes to a file. `open` gets the copy of the file.
    pub(super) fn writes(
        &mut self,
        file: Handle,
        open: impl FnOnce(&mut Copies<'_>, Handle) -> FsResult<Resource<DynOutputStream>>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let (mut table, [copy]) = self.copies([file])?;
        let mut context = WasiFilesystemCtx::default();
        let stream = open(&mut Copies { ctx: &mut context, table: &mut table }, copy)?;
        let state = State::Idle(table.delete(stream)?);
        let writer: DynOutputStream = Box::new(Writer { state, deadline: self.deadline });
        Ok(self.table.push(writer)?)
    }
}

/// A copy on which wasmtime works in the current thread.
fn copy(file: &Descriptor) -> io::Result<Descriptor> {
    Ok(match file {
        Descriptor::File(file) => {
            Descriptor::File(File::new(file.file.try_clone()?, file.perms, file.open_mode, true))
        }
        Descriptor::Dir(folder) => {
            Descriptor::Dir(Dir::new(folder.dir.try_clone()?, folder.perms, folder.open_mode, true))
        }
    })
}

/// A stream that writes to a file, one piece at a time, as wasmtime's does.
struct Writer {
    state: State,
    deadline: Deadline,
}

enum State {
    Idle(DynOutputStream),
    Writing(AbortOnDropJoinHandle<Option<(DynOutputStream, StreamResult<()>)>>),
    Failed(StreamError),
    Closed,
}

impl Writer {
    /// The stream, if it can write now. An error is returned once, and then the stream is closed.
    fn idle(&mut self) -> StreamResult<Option<&mut DynOutputStream>> {
        if let State::Failed(_) = self.state
            && let State::Failed(error) = std::mem::replace(&mut self.state, State::Closed)
        {
            return Err(error);
        }
        match &mut self.state {
            State::Idle(stream) => Ok(Some(stream)),
            State::Writing(_) => Ok(None),
            State::Failed(_) | State::Closed => Err(StreamError::Closed),
        }
    }
}

#[async_trait]
impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut stream = match std::mem::replace(&mut self.state, State::Closed) {
            State::Idle(stream) => stream,
            State::Closed => return Err(StreamError::Closed),
            State::Writing(_) | State::Failed(_) => return Err(StreamError::trap(TOO_MUCH)),
        };
        if bytes.len() > stream.check_write()? {
            return Err(StreamError::trap(TOO_MUCH));
        }
        self.state = State::Writing(self.deadline.block(move || {
            let written = stream.blocking_write_and_flush(bytes).now_or_never();
            (stream, written.unwrap_or(Err(StreamError::Closed)))
        }));
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        match self.idle()? {
            Some(stream) => stream.flush(),
            None => Ok(()),
        }
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        match self.idle()? {
            Some(stream) => stream.check_write(),
            None => Ok(0),
        }
    }

    async fn cancel(&mut self) {
        if let State::Writing(task) = std::mem::replace(&mut self.state, State::Closed) {
            task.cancel().await;
        }
    }
}

#[async_trait]
impl Pollable for Writer {
    async fn ready(&mut self) {
        if let State::Writing(task) = &mut self.state {
            self.state = match task.await {
                Some((stream, Ok(()))) => State::Idle(stream),
                Some((_, Err(error))) => State::Failed(error),
                None => State::Failed(StreamError::trap(PASSED)),
            };
        }
    }
}
