//! A page in Markdown, as a list of fenced blocks:
//!
//! - `yaml file=PATH` (also `json`, `text`) is a file with that path.
//! - `console` is a session. Lines with `$ ` are commands, and the lines below one are its expected
//!   output; without such lines, the output is not compared. A line `…` represents any number of
//!   lines. `console status=2` expects that exit status of each command.
//! - `mermaid` is the output of `purlin graph --format mermaid` at that point.
//! - `<!-- picture: purlin graph --format svg -->` above a line `![TEXT](FILE.svg)`: the file is the
//!   output of that command at that point.
//! - `<!-- example: PATH -->` starts with a copy of that folder.
//! - `<!-- server: postgres -->` runs a PostgreSQL server for the page, on which it appears as port 5433 with
//!   the password `tutorial` for `postgres`. A session may then use `psql`.
//!
//! Blocks in other languages are not run.

use std::fs;
use std::path::{Path, PathBuf};

/// A page.
pub(crate) struct Page {
    path: PathBuf,
    lines: Vec<String>,
}

/// A fenced block, or a picture that a command draws.
pub(crate) struct Block {
    /// The first word after the fence; `picture` for a picture.
    pub(crate) language: String,
    /// The other words; those of the command for a picture.
    pub(crate) words: Vec<String>,
    /// The numbers of the lines between the fences, counted from 0; the line that shows the picture.
    pub(crate) lines: std::ops::Range<usize>,
}

impl Block {
    /// The value of a word `name=…`.
    pub(crate) fn word(&self, name: &str) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }
}

/// A command of a session.
pub(crate) struct Command {
    pub(crate) text: String,
    /// The numbers of the lines with the expected output, counted from 0.
    pub(crate) expected: std::ops::Range<usize>,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path: path.to_owned(), lines: text.lines().map(str::to_owned).collect() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn text(&self, range: std::ops::Range<usize>) -> String {
        self.lines[range].iter().map(|line| format!("{line}\n")).collect()
    }

    /// The place of a line, for people.
    pub(crate) fn place(&self, line: usize) -> String {
        format!("{}:{}", self.path.display(), line + 1)
    }

    /// The folder that the page starts with a copy of.
    pub(crate) fn example(&self) -> Option<&str> {
        self.lines.iter().find_map(|line| line.strip_prefix("<!-- example: ")?.strip_suffix(" -->"))
    }

    /// Whether the page wants a PostgreSQL server.
    pub(crate) fn wants_postgres(&self) -> bool {
        self.lines.iter().any(|line| line == "<!-- server: postgres -->")
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut lines = self.lines.iter().enumerate();
        while let Some((start, line)) = lines.next() {
            if let Some(command) = line.strip_prefix("<!-- picture: ") {
                let command = command.trim_end_matches(" -->").split_whitespace().map(str::to_owned);
                let (language, lines) = ("picture".to_owned(), start + 1..start + 2);
                blocks.push(Block { language, words: command.collect(), lines });
                continue;
            }
            let Some(info) = line.strip_prefix("```") else { continue };
            let fence = "`".repeat(3 + info.len() - info.trim_start_matches('`').len());
            let mut words = info.trim_start_matches('`').split_whitespace().map(str::to_owned);
            let language = words.next().unwrap_or_default();
            let end = lines.by_ref().find(|(_, line)| line.trim_end() == fence).map(|(end, _)| end);
            let end = end.unwrap_or_else(|| panic!("{}: the block does not end", self.place(start)));
            blocks.push(Block { language, words: words.collect(), lines: start + 1..end });
        }
        blocks
    }

    /// The file that a block of the language `picture` shows.
    pub(crate) fn picture(&self, block: &Block) -> PathBuf {
        let line = self.lines.get(block.lines.start).and_then(|line| line.strip_prefix("!["));
        let link = line.and_then(|line| line.split_once("](")?.1.strip_suffix(')'));
        let link = link.unwrap_or_else(|| panic!("{}: no picture is shown", self.place(block.lines.start)));
        self.path.parent().expect("a folder").join(link)
    }

    /// The commands of a session, each with the lines below it.
    pub(crate) fn commands(&self, block: &Block) -> Vec<Command> {
        let mut commands: Vec<Command> = Vec::new();
        for number in block.lines.clone() {
            match (self.lines[number].strip_prefix("$ "), commands.last_mut()) {
                (Some(text), _) => {
                    commands.push(Command { text: text.to_owned(), expected: number + 1..number + 1 });
                }
                (None, Some(command)) => command.expected.end = number + 1,
                (None, None) => panic!("{}: a session begins with `$ `", self.place(number)),
            }
        }
        // A blank line before the next command is only formatting.
        for command in &mut commands {
            while command.expected.end > command.expected.start
                && self.lines[command.expected.end - 1].trim().is_empty()
            {
                command.expected.end -= 1;
            }
        }
        commands
    }

    /// Replaces ranges of lines, from the last to the first.
    pub(crate) fn replace(&mut self, mut changes: Vec<(std::ops::Range<usize>, String)>) {
        changes.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        for (range, text) in changes {
            self.lines.splice(range, text.lines().map(str::to_owned));
        }
        let text = self.text(0..self.lines.len());
        fs::write(&self.path, text).expect("the page can be written");
    }
}
