//! The worker's side: one task, and the process ends.

use std::io::{self, Read, Write};

use super::{Allowance, COMPILE, DONE, FAILED, NAMES, NO_FUNCTIONS};
use crate::compiler::{Compilation, Compiler as _, InProcess, rehearse};
use crate::error::LoadError;

/// `SIGXCPU`, with which the system ends a process that has used up its time and does not handle
/// it.
#[cfg(unix)]
pub(super) const OUT_OF_TIME: i32 = 24;
/// `SIGKILL`.
#[cfg(unix)]
pub(super) const KILLED: i32 = 9;
/// Bytes of the stack for parsing and compiling.
const STACK: usize = 8 << 20;
/// Bytes of the stack for the work on the code in the program that requested the driver: a quarter
/// of the stack of its threads.
const SMALL_STACK: usize = 512 << 10;

/// Reads one component and answers the request, within limits that the system enforces. The program
/// that a [`Worker`](crate::Worker) starts must call it before anything else; the process must end
/// afterwards.
///
/// # Errors
/// If nothing can be read or written, or the limits cannot be set.
pub fn serve_worker(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let (mut task, mut length) = ([0], [0; 8]);
    input.read_exact(&mut task)?;
    input.read_exact(&mut length)?;
    let ([task], length) = (task, u64::from_le_bytes(length));
    constrain(Allowance::new(task, length))?;
    let mut wasm = Vec::new();
    input.by_ref().take(length).read_to_end(&mut wasm)?;
    let functions = functions(input)?;
    let done = std::thread::scope(|scope| {
        let working = std::thread::Builder::new().stack_size(STACK);
        let working = working.spawn_scoped(scope, || perform(task, &wasm, functions.as_deref()))?;
        working.join().map_err(|_| io::Error::other("it panicked"))
    })?;
    match done {
        Ok(bytes) => reply(&mut output, DONE, &bytes),
        Err(LoadError::Invalid { message }) => reply(&mut output, FAILED, message.as_bytes()),
        Err(other) => reply(&mut output, FAILED, other.to_string().as_bytes()),
    }
}

/// The functions after a component, if requested.
fn functions(mut input: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    input.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length == NO_FUNCTIONS {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn perform(task: u8, wasm: &[u8], functions: Option<&[u8]>) -> Result<Vec<u8>, LoadError> {
    let invalid = |error: &dyn std::fmt::Display| LoadError::invalid(error);
    match task {
        NAMES => serde_json::to_vec(&InProcess.names(wasm)?).map_err(|error| invalid(&error)),
        COMPILE => {
            let Compilation { code, functions } = InProcess.compile(wasm, functions)?;
            let rehearsed = std::thread::scope(|scope| {
                let small = std::thread::Builder::new().stack_size(SMALL_STACK);
                let small =
                    small.spawn_scoped(scope, || rehearse(&code).map_err(|error| format!("{error:#}")));
                small.map_err(|error| error.to_string())?.join().map_err(|_| "it panicked".to_owned())?
            });
            rehearsed.map_err(|error| invalid(&error))?;
            let mut bytes = (code.len() as u64).to_le_bytes().to_vec();
            bytes.extend_from_slice(&code);
            bytes.extend_from_slice(&functions.unwrap_or_default());
            Ok(bytes)
        }
        _ => Err(invalid(&"a task that this version does not know")),
    }
}

pub(super) fn reply(output: &mut impl Write, outcome: u8, bytes: &[u8]) -> io::Result<()> {
    output.write_all(&[outcome])?;
    output.write_all(&(bytes.len() as u64).to_le_bytes())?;
    output.write_all(bytes)?;
    output.flush()
}

/// Permanently gives up access that the task does not need.
#[cfg(unix)]
fn constrain(allowance: Allowance) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let between = |resource: Resource, current: u64, maximum: u64| {
        // A lower limit may have been set.
        let known = getrlimit(resource).maximum;
        let within = |most: u64| Some(known.map_or(most, |known| most.min(known)));
        setrlimit(resource, Rlimit { current: within(current), maximum: within(maximum) })
    };
    let limit = |resource: Resource, most: u64| between(resource, most, most);
    // At the second limit, the process ends without a message.
    between(Resource::Cpu, allowance.seconds, allowance.seconds.saturating_add(1))?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    // Reserved addresses are not counted: each thread reserves some.
    limit(Resource::Data, allowance.memory)?;
    #[cfg(target_os = "linux")]
    {
        // The parent may be gone.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }
    Ok(())
}

/// There are no system limits; a crash still stays in this process.
#[cfg(not(unix))]
fn constrain(_: Allowance) -> io::Result<()> {
    Ok(())
}
