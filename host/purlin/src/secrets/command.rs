//! Secrets that a program prints. The program is run without a shell, with empty standard input,
//! and with the variables that the builder was given. Its output is never shown.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use purlin_engine::{SecretFault, SecretRef};
use purlin_model::SecretCommand;
use secrecy::SecretString;
use zeroize::Zeroizing;

use super::{LARGEST, text, too_large};

/// The default time limit of a program.
/// How long the rest of standard error is awaited after a program failed: another process that it
/// left running may keep it open.
const REST: Duration = Duration::from_secs(10);
/// The amount of standard error that is read, in bytes.
const COMPLAINT: usize = 16 << 10;
/// The amount of it that is shown, in lines and characters.
const SHOWN: (usize, usize) = (3, 160);
/// Shorter parts of a secret occur in too many texts to be masked.
const SHORTEST_PART: usize = 4;

/// A program that is ready to be run for one secret.
pub(super) struct Prepared {
    program: String,
    path: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    variables: BTreeMap<String, String>,
    time: Duration,
}

/// Fills the secret's name and version into the arguments.
pub(super) fn prepare(
    command: &SecretCommand,
    folder: &Path,
    variables: &BTreeMap<String, String>,
    secret: &SecretRef,
) -> Result<Prepared, SecretFault> {
    match (&secret.version, command.takes("{version}")) {
        (None, true) => {
            let fault = SecretFault::new("its command needs a version, and none is given");
            return Err(fault.help("add one: `version: \"1\"`"));
        }
        (Some(_), false) => {
            let fault = SecretFault::new("its command takes no version");
            return Err(fault.help("leave `version` out, or write `{version}` in an argument of the command"));
        }
        _ => {}
    }
    let version = secret.version.as_deref().unwrap_or_default();
    let fill = |argument: &String| fill(argument, &secret.name, version);
    let arguments = command.arguments.iter().map(fill).collect::<Result<_, _>>()?;
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let program = Path::new(&command.program);
    // A path is relative to the workspace's folder; a name is looked up in `PATH`.
    let is_name = program.components().count() == 1 && !command.program.contains('/');
    Ok(Prepared {
        path: if is_name { program.to_owned() } else { folder.join(program) },
        program: command.program.clone(),
        arguments,
        folder,
        variables: variables.clone(),
        time: command.time.unwrap_or(SecretCommand::TIME),
    })
}

/// Fills in each placeholder once, without interpreting the inserted text.
fn fill(argument: &str, name: &str, version: &str) -> Result<String, SecretFault> {
    let mut filled = String::with_capacity(argument.len() + name.len());
    let mut rest = argument;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        filled.push_str(before);
        let (value, after) = if let Some(after) = from.strip_prefix("{ref}") {
            (name, after)
        } else if let Some(after) = from.strip_prefix("{version}") {
            (version, after)
        } else {
            filled.push('{');
            rest = from.get(1..).unwrap_or_default();
            continue;
        };
        // A name must not become an option of the program.
        if filled.is_empty() && value.starts_with('-') {
            let fault = SecretFault::new("it begins with `-`, which the command would take for an option");
            return Err(fault.help("write something before it in the argument, such as `secrets/{ref}`"));
        }
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

impl Prepared {
    /// Runs the program, up to its time limit.
    pub(super) fn run(self) -> Result<SecretString, SecretFault> {
        let program = &self.program;
        let mut child = Command::new(&self.path)
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(&self.variables)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| cannot_run(program, &error))?;
        let deadline = Instant::now() + self.time;
        let printed = listen(child.stdout.take(), LARGEST + 1);
        let complained = listen(child.stderr.take(), COMPLAINT);
        // Processes that it started may keep its streams open; they share its time limit.
        let printed = receive(&printed, deadline);
        let status = printed.as_ref().and_then(|_| wait(&mut child, deadline));
        let (Some(printed), Some(status)) = (printed, status) else {
            let _ = child.kill();
            let _ = child.wait();
            let fault = SecretFault::new(format!("`{program}` took longer than {:?}", self.time));
            return Err(fault.help("`time: 2m` in the store gives it longer"));
        };
        if !status.success() {
            let complaint = receive(&complained, deadline.min(Instant::now() + REST));
            let complaint = complaint.map(|stderr| complaint_of(&stderr, &printed)).unwrap_or_default();
            let fault = SecretFault::new(format!("`{program}` ended with {status}{complaint}"));
            return Err(fault
                .help(format!("if `{program}` does not find the secret, add it there, or correct `ref`")));
        }
        if printed.len() > LARGEST {
            return Err(too_large());
        }
        text(&printed)
    }
}

fn cannot_run(program: &str, error: &std::io::Error) -> SecretFault {
    let fault = SecretFault::new(format!("`{program}` cannot be run: {}", purlin_files::reason(error)));
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            fault.help("`command` names a program in `PATH`, or by its path from the folder of purlin.yaml")
        }
        std::io::ErrorKind::PermissionDenied => fault.help("make the file executable"),
        _ => fault,
    }
}

/// Reads a stream on a separate thread, up to a number of bytes. The rest is discarded, so that the
/// program never blocks on writing.
fn listen(stream: Option<impl Read + Send + 'static>, most: usize) -> Receiver<Zeroizing<Vec<u8>>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        // The capacity suffices from the start, so the buffer never grows and leaves no copies
        // behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(most + 32));
        let _ = stream.by_ref().take(most as u64).read_to_end(&mut bytes);
        let rest = std::io::copy(&mut stream, &mut std::io::sink());
        drop(rest);
        let _ = sender.send(bytes);
    });
    receiver
}

fn receive<T>(receiver: &Receiver<T>, deadline: Instant) -> Option<T> {
    receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
}

/// Waits for the end of the program. Its streams are closed by then, so it ends soon.
fn wait(child: &mut Child, deadline: Instant) -> Option<std::process::ExitStatus> {
    let mut pause = Duration::from_micros(100);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            Ok(None) | Err(_) => return None,
        }
    }
}

/// The last lines of standard error, without text from standard output.
fn complaint_of(stderr: &[u8], printed: &[u8]) -> String {
    let mut stderr = String::from_utf8_lossy(stderr).into_owned();
    let printed = Zeroizing::new(String::from_utf8_lossy(printed).into_owned());
    let lines = printed.lines().map(str::trim);
    for part in std::iter::once(printed.trim()).chain(lines).filter(|part| part.len() >= SHORTEST_PART) {
        stderr = stderr.replace(part, "[secret]");
    }
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(SHOWN.0)..).unwrap_or_default().join(" / ");
    let cut: String = last.chars().take(SHOWN.1).collect();
    match (cut.is_empty(), cut.len() < last.len()) {
        (true, _) => String::new(),
        (false, false) => format!(": {cut}"),
        (false, true) => format!(": {cut}…"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in_once() {
        let filled = |argument: &str, name: &str| fill(argument, name, "7").map_err(|fault| fault.why);
        assert_eq!(filled("a/{ref}@{version}{", "{version}"), Ok("a/{version}@7{".into()));
        assert_eq!(filled("{{ref}}", "x"), Ok("{x}".into()));
        assert_eq!(filled("--name={ref}", "-x"), Ok("--name=-x".into()));
        assert!(filled("{ref}", "-x").is_err());
    }

    #[test]
    fn error_output_reveals_no_secret() {
        let complaint = complaint_of(b"one\n\ntwo\nwrong: hunter2-x\nthree\n", b"hunter2-x\n");
        assert_eq!(complaint, ": two / wrong: [secret] / three");
        assert_eq!(complaint_of(b"  \n", b"x"), "");
    }
}
