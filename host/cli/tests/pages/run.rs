//! Runs a page in a folder of its own, and compares it with the program's output.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use purlin_systems::Project;
use purlin_systems::postgres::Postgres;
use purlin_systems::tools::{need, program};
use regex::Regex;

use crate::page::{Block, Page};

/// The port of the server that a page writes; the real one differs.
const PORT: &str = "5433";

/// A folder in which commands run.
pub(crate) struct Folder {
    project: Project,
    current: PathBuf,
    postgres: Option<Postgres>,
}

impl Folder {
    /// An empty folder, or a copy.
    pub(crate) fn new(copy_of: Option<&Path>) -> Self {
        let project = Project::empty();
        let current = fs::canonicalize(project.path()).expect("the folder is there");
        if let Some(from) = copy_of {
            copy(from, &current);
        }
        Self { project, current, postgres: None }
    }

    /// Starts a server for the commands; false where PostgreSQL is not installed.
    fn start_postgres(&mut self) -> bool {
        self.postgres = Postgres::start();
        let Some(postgres) = &self.postgres else { return false };
        postgres.ask("ALTER ROLE postgres PASSWORD 'tutorial'");
        true
    }

    /// A text of the page, with the port of the real server.
    fn with_port(&self, text: &str) -> String {
        match &self.postgres {
            Some(postgres) => text.replace(PORT, &postgres.port.to_string()),
            None => text.to_owned(),
        }
    }

    /// The output of a command, with the port of the page.
    fn as_on_the_page(&self, output: &str) -> String {
        match &self.postgres {
            Some(postgres) => output.replace(&postgres.port.to_string(), PORT),
            None => output.to_owned(),
        }
    }

    /// The current folder of commands.
    pub(crate) fn current(&self) -> &Path {
        &self.current
    }

    /// Writes a block to the file that it names; false if it names none.
    pub(crate) fn write(&self, page: &Page, block: &Block) -> bool {
        let Some(name) = block.word("file") else { return false };
        let file = self.current.join(name);
        fs::create_dir_all(file.parent().expect("a folder above")).expect("a folder can be made");
        fs::write(file, self.with_port(&page.text(block.lines.clone()))).expect("a file can be written");
        true
    }

    /// Runs a command as typed. Returns the output of both streams, and the exit status.
    pub(crate) fn run(&mut self, text: &str) -> (String, i32) {
        if text.starts_with("psql ") && self.postgres.is_some() {
            return self.shell(text);
        }
        let words = words(text);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["purlin", rest @ ..] => self.purlin(rest),
            ["cd", folder] => {
                self.current = fs::canonicalize(self.current.join(folder)).expect("a folder to change to");
                (String::new(), 0)
            }
            ["rm", path] => {
                fs::remove_file(self.current.join(path)).expect("a file to remove");
                (String::new(), 0)
            }
            ["mv", from, to] => {
                fs::rename(self.current.join(from), self.current.join(to)).expect("a file to move");
                (String::new(), 0)
            }
            ["touch", path] => {
                fs::write(self.current.join(path), "").expect("a file to make");
                (String::new(), 0)
            }
            ["cat", path] => (fs::read_to_string(self.current.join(path)).expect("a file to show"), 0),
            _ => panic!("a session cannot run `{text}`: only purlin, cd, cat, mv, rm and touch"),
        }
    }

    /// Runs a line in a shell, which finds purlin and psql.
    fn shell(&self, line: &str) -> (String, i32) {
        let program = program().parent().expect("a folder").to_owned();
        let psql = need("psql").and_then(|psql| psql.parent().map(Path::to_owned));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [program].into_iter().chain(psql).chain(std::env::split_paths(&path));
        let mut command = self.project.in_place(Command::new("sh"), &["-c", line]);
        command.env("PATH", std::env::join_paths(path).expect("a path"));
        self.output_of(command)
    }

    /// Runs purlin.
    pub(crate) fn purlin(&self, arguments: &[&str]) -> (String, i32) {
        self.output_of(self.project.command(arguments))
    }

    /// Runs a program. Returns the output of both streams, and the exit status.
    fn output_of(&self, mut command: Command) -> (String, i32) {
        let (mut reader, here) = std::io::pipe().expect("a pipe");
        // As on the terminal of a reader.
        command.current_dir(&self.current).env("COLUMNS", "100").env("USER", "someone");
        command.env("HOME", self.project.path().join("home"));
        command.stdout(here.try_clone().expect("a pipe")).stderr(here);
        let mut child = command.spawn().expect("the program starts");
        // Close the writing end of the pipe.
        drop(command);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("purlin speaks UTF-8");
        let status = child.wait().expect("purlin ends");
        (text, status.code().unwrap_or(-1))
    }
}

/// Splits words at spaces outside of quotes.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quote, mut is_in_word) = (None, false);
    for c in text.chars() {
        if quote.is_none() && c == ' ' {
            is_in_word = false;
            continue;
        }
        if !is_in_word {
            words.push(String::new());
            is_in_word = true;
        }
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            _ => words.last_mut().expect("one word at least").push(c),
        }
    }
    words
}

/// Copies a folder, without files that runs have left in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.expect("an entry");
        let (path, name) = (entry.path(), entry.file_name());
        if name == ".purlin" || name == "target" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).expect("a file can be copied");
        }
    }
}

/// Runs pages and compares them with the output.
pub(crate) fn run_all(pages: impl IntoIterator<Item = PathBuf>) {
    let faults: Vec<String> = pages.into_iter().filter_map(|page| run(&page).err()).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn run(path: &Path) -> Result<(), String> {
    let mut page = Page::read(path);
    let example = page.example().map(|folder| crate::root().join(folder));
    let mut folder = Folder::new(example.as_deref());
    if page.wants_postgres() && !folder.start_postgres() {
        return Ok(());
    }
    let (mut faults, mut changes, mut pictures) = (Vec::new(), Vec::new(), Vec::new());
    for block in page.blocks() {
        match block.language.as_str() {
            "console" => session(&page, &block, &mut folder, &mut faults, &mut changes),
            "mermaid" => {
                let (output, status) = folder.purlin(&["graph", "--format", "mermaid"]);
                let place = page.place(block.lines.start);
                if status != 0 {
                    faults.push(format!("{place}: there is no graph to draw:\n{output}"));
                } else if page.text(block.lines.clone()) != output {
                    faults.push(format!("{place}: the graph is\n{output}"));
                    changes.push((block.lines, output));
                }
            }
            "picture" => {
                let (file, place) = (page.picture(&block), page.place(block.lines.start));
                let (output, status) = folder.run(&block.words.join(" "));
                if status != 0 || !output.starts_with("<svg ") {
                    faults.push(format!("{place}: there is no picture:\n{output}"));
                } else if fs::read_to_string(&file).ok().as_ref() != Some(&output) {
                    faults.push(format!("{place}: {} is out of date", file.display()));
                    pictures.push((file, output));
                }
            }
            _ => {
                folder.write(&page, &block);
            }
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    if std::env::var_os("PURLIN_BLESS").is_some() {
        // A wrong exit status cannot be blessed.
        let all = faults.len() == changes.len() + pictures.len();
        page.replace(changes);
        for (file, picture) in pictures {
            fs::write(file, picture).expect("the picture can be written");
        }
        if all {
            return Ok(());
        }
    }
    Err(format!("{}\n(PURLIN_BLESS=1 writes this into {})", faults.join("\n"), page.path().display()))
}

type Changes = Vec<(std::ops::Range<usize>, String)>;

fn session(page: &Page, block: &Block, folder: &mut Folder, faults: &mut Vec<String>, changes: &mut Changes) {
    let wanted: i32 = block.word("status").map_or(0, |status| status.parse().expect("a number"));
    for command in page.commands(block) {
        let (output, status) = folder.run(&folder.with_port(&command.text));
        let output = folder.as_on_the_page(&output).replace(&format!("{}/", folder.current().display()), "");
        let place = page.place(command.expected.start.saturating_sub(1));
        if status != wanted {
            faults.push(format!("{place}: `{}` ended with {status}, not {wanted}:\n{output}", command.text));
            continue;
        }
        let expected = page.text(command.expected.clone());
        if !expected.is_empty() && !fits(&output, &expected) {
            faults.push(format!("{place}: `{}` prints\n{output}", command.text));
            changes.push((command.expected, trimmed(&output)));
        }
    }
}

/// Without spaces at the ends of lines, and without blank lines at the end.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned() + "\n"
}

/// Without the parts that differ from run to run: times, the user and the host, and the order in
/// which independent resources are finished.
fn normalised(text: &str) -> Vec<String> {
    let time = Regex::new(r"(under )?\b\d+(\.\d+)? (µs|ms|s|min|h)\b( \d+ s\b)?").expect("a pattern");
    let moment = Regex::new(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").expect("a pattern");
    let who = Regex::new(r"\bsomeone on [\w.-]+…?").expect("a pattern");
    let process = Regex::new(r"\bprocess \d+").expect("a pattern");
    let position = Regex::new(r"^\[ *\d+/(\d+)\] ").expect("a pattern");
    let mut lines: Vec<String> = Vec::new();
    let mut finished = Vec::new();
    for line in trimmed(text).lines() {
        let line = moment.replace_all(line, "MOMENT");
        let line = time.replace_all(&line, "TIME");
        let line = who.replace_all(&line, "WHO");
        let line = process.replace_all(&line, "PROCESS");
        if position.is_match(&line) {
            finished.push(position.replace(&line, "[N/$1] ").into_owned());
            continue;
        }
        finished.sort();
        lines.append(&mut finished);
        lines.push(line.into_owned());
    }
    finished.sort();
    lines.append(&mut finished);
    lines
}

/// Whether the output is as expected; a line `…` represents any lines.
fn fits(output: &str, expected: &str) -> bool {
    fn rest(output: &[String], expected: &[String]) -> bool {
        match expected.split_first() {
            None => output.is_empty(),
            Some((line, more)) if line.trim() == "…" => {
                (0..=output.len()).any(|skip| rest(&output[skip..], more))
            }
            Some((line, more)) => {
                output.split_first().is_some_and(|(first, output)| first == line && rest(output, more))
            }
        }
    }
    rest(&normalised(output), &normalised(expected))
}

#[test]
fn an_ellipsis_stands_for_any_lines_and_nothing_else() {
    assert!(fits("a\nb\nc\n", "a\n…\nc\n"));
    assert!(fits("a\nc\n", "a\n…\nc"));
    assert!(fits("done in 12 ms\n", "done in 1.3 s\n"));
    assert!(fits("done in 2 min 3 s\n", "done in 1.3 s\n"));
    assert!(!fits("a\nb\nc\n", "a\nc\n"));
    assert!(!fits("a\nb\n", "a\n"));
    assert!(fits(
        "[1/2] created a (1 ms)\n[2/2] created b (1 ms)\n",
        "[1/2] created b (3 ms)\n[2/2] created a (4 ms)\n"
    ));
    assert!(!fits("[1/2] created a (1 ms)\n", "[1/2] created b (3 ms)\n"));
    assert!(!fits("12 resources\n", "13 resources\n"));
}

#[test]
fn commands_come_apart_as_in_a_shell() {
    assert_eq!(
        words("purlin explain 'dns.public#shared.a b'  -v"),
        ["purlin", "explain", "dns.public#shared.a b", "-v"]
    );
}
