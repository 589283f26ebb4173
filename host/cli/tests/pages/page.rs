//! A page in Markdown, as its fenced blocks:
//!
//! - `yaml file=PATH` (likewise `json`, `text`) is a file of that path;
//! - `console` is a session: lines with `$ ` are commands, what stands below one is what it says,
//!   nothing where that is of no interest. A line `…` stands for any number of lines.
//!   `console status=2` expects that exit status of each command;
//! - `mermaid` is what `purlin graph --format mermaid` says at that point;
//! - `<!-- example: PATH -->` begins with a copy of that folder.
//!
//! Blocks of other languages are not run.

use std::fs;
use std::path::{Path, PathBuf};

/// A page.
pub(crate) struct Page {
    path: PathBuf,
    lines: Vec<String>,
}

/// A block between fences.
pub(crate) struct Block {
    /// First word behind the fence.
    pub(crate) language: String,
    /// The other words.
    pub(crate) words: Vec<String>,
    /// Lines between the fences, by number from 0.
    pub(crate) lines: std::ops::Range<usize>,
}

impl Block {
    /// What a word `name=…` says.
    pub(crate) fn word(&self, name: &str) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }
}

/// A command of a session.
pub(crate) struct Command {
    pub(crate) text: String,
    /// Lines that are to follow it, by number from 0.
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

    /// Where a line stands, for people.
    pub(crate) fn place(&self, line: usize) -> String {
        format!("{}:{}", self.path.display(), line + 1)
    }

    /// The folder that the page begins with a copy of.
    pub(crate) fn example(&self) -> Option<&str> {
        self.lines.iter().find_map(|line| line.strip_prefix("<!-- example: ")?.strip_suffix(" -->"))
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut lines = self.lines.iter().enumerate();
        while let Some((start, line)) = lines.next() {
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
        // A blank line before the next command is for looks.
        for command in &mut commands {
            while command.expected.end > command.expected.start
                && self.lines[command.expected.end - 1].trim().is_empty()
            {
                command.expected.end -= 1;
            }
        }
        commands
    }

    /// Puts other lines in the place of some; later ones go first.
    pub(crate) fn replace(&mut self, mut changes: Vec<(std::ops::Range<usize>, String)>) {
        changes.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        for (range, text) in changes {
            self.lines.splice(range, text.lines().map(str::to_owned));
        }
        let text = self.text(0..self.lines.len());
        fs::write(&self.path, text).expect("the page can be written");
    }
}
