//! Runs the program on a terminal with a simulated user.

use std::io::{BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use purlin_systems::project::{Project, Ran, ended, ran_with, read_until};

/// Runs the program on a new terminal and types `input`. `out` contains the output of both streams,
/// as on a screen. Returns `None` if the machine has no `script` (util-linux).
pub(crate) fn typed(project: &Project, arguments: &[&str], input: &str) -> Option<Ran> {
    let mut child = on_terminal(project, arguments)?;
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("typed");
    // The terminal hangs up at the end of the input, so the input must stay open until the program
    // ends.
    let ran = ran_with(child);
    drop(stdin);
    Some(ran)
}

/// Like [`typed`], but types `input` once `question` is on the screen, and returns the exit status.
pub(crate) fn typed_at(
    project: &Project,
    arguments: &[&str],
    question: &str,
    input: &str,
) -> Option<Option<i32>> {
    let mut child = on_terminal(project, arguments)?;
    let mut screen = BufReader::new(child.stdout.take().expect("piped"));
    read_until(&mut screen, question);
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("typed");
    let status = ended(&mut child);
    drop(stdin);
    Some(status.code())
}

fn on_terminal(project: &Project, arguments: &[&str]) -> Option<Child> {
    let program = project.command(arguments);
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"));
    let words: Vec<String> =
        std::iter::once(program.get_program()).chain(program.get_args()).map(quoted).collect();
    let line = words.join(" ");
    let options = ["--quiet", "--return", "--echo", "never", "--command", &line, "/dev/null"];
    let mut command = project.in_place(Command::new("script"), &options);
    command
        .env("SHELL", "/bin/sh")
        .env("TERM", "dumb")
        .env("COLUMNS", "80")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            assert!(std::env::var_os("CI").is_none(), "`script` of util-linux is missing");
            println!("SKIPPED: `script` of util-linux is missing");
            None
        }
        Err(error) => panic!("script: {error}"),
    }
}
