//! The only module that writes: data to standard output, everything else to standard error.

use std::cell::{Cell, RefCell};
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};

use anstyle::Style;
use indicatif::{MultiProgress, ProgressDrawTarget};
use serde::Serialize;
use terminal_size::{Height, Width};

use crate::json;
use crate::style::{ERROR, HINT, STRONG, WARNING, paint};
use crate::text;

/// The minimum width for which text is laid out.
const NARROWEST: usize = 40;
/// The assumed width of a terminal that does not report its width.
const USUAL: usize = 80;

/// How much is written to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Only errors.
    Quiet,
    /// The usual messages.
    Normal,
    /// Explanations as well.
    Verbose,
}

/// The terminal, or its replacement.
#[derive(Debug)]
pub(crate) struct Ui {
    pub(crate) level: Level,
    /// Draws progress bars. Lines are printed around them.
    pub(crate) bars: MultiProgress,
    /// The first failure to write data, except a closed pipe.
    broken: RefCell<Option<io::Error>>,
    closed: Cell<bool>,
}

impl Ui {
    pub(crate) fn new(level: Level) -> Self {
        let target = if level == Level::Quiet || !io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        Self {
            level,
            bars: MultiProgress::with_draw_target(target),
            broken: RefCell::default(),
            closed: Cell::new(false),
        }
    }

    /// Whether there is a user who can be asked.
    pub(crate) fn is_interactive(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// The width of standard output: `COLUMNS`, otherwise that of the terminal; `None` without
    /// either.
    pub(crate) fn columns(&self) -> Option<usize> {
        columns(out_terminal())
    }

    /// The width of standard error.
    pub(crate) fn error_columns(&self) -> Option<usize> {
        columns(error_terminal())
    }

    /// The height of the terminal on standard output; `None` if it is not a terminal.
    pub(crate) fn rows(&self) -> Option<usize> {
        let out = io::stdout();
        let size = terminal_size::terminal_size_of(&out);
        let rows = size.map(|(_, Height(rows))| usize::from(rows)).filter(|rows| *rows > 0);
        out.is_terminal().then(|| rows.unwrap_or(24))
    }

    /// Writes data. Once the reader has closed the pipe, nothing is written, which is not an error.
    pub(crate) fn data(&self, text: &str) {
        self.write(|out| anstream::AutoStream::auto(out).write_all(text.as_bytes()));
    }

    /// Writes one indented JSON document.
    pub(crate) fn json(&self, document: &impl Serialize) {
        self.write(|out| {
            let mut out = BufWriter::with_capacity(1 << 16, out);
            json::write_indented(&mut out, document)?;
            out.write_all(b"\n")?;
            out.flush()
        });
    }

    /// Writes one JSON document on one line.
    pub(crate) fn json_line(&self, document: &impl Serialize) {
        self.write(|mut out| out.write_all(&json::line(document)?));
    }

    /// Writes to standard output and remembers the first error. Serialising plain data never fails;
    /// if it did, that error would be reported as well.
    fn write(&self, write: impl FnOnce(StdoutLock<'static>) -> io::Result<()>) {
        if self.closed.get() {
            return;
        }
        let result = self.bars.suspend(|| write(io::stdout().lock()).and_then(|()| io::stdout().flush()));
        if let Err(error) = result {
            self.closed.set(true);
            if error.kind() != io::ErrorKind::BrokenPipe {
                *self.broken.borrow_mut() = Some(error);
            }
        }
    }

    /// Why data could not be written, if that happened.
    pub(crate) fn write_failure(&self) -> Option<io::Error> {
        self.broken.borrow_mut().take()
    }

    /// Writes to standard error as it is. An error cannot be reported anywhere.
    pub(crate) fn raw(&self, text: &str) {
        self.bars.suspend(|| {
            let _ = anstream::AutoStream::auto(io::stderr().lock()).write_all(text.as_bytes());
        });
    }

    /// Writes a message unless `--quiet` is given.
    pub(crate) fn say(&self, text: &str) {
        if self.level > Level::Quiet {
            self.raw(&format!("{text}\n"));
        }
    }

    /// Writes a label and a text, wrapped at spaces to the width of the terminal.
    fn remark(&self, style: Style, word: &str, text: &str) {
        let text = format!("{word} {}", text::block(text));
        // Elsewhere, a message stays on one line, so that it can be searched for.
        let lines = match error_terminal() {
            Some(columns) => text::wrap(&text, columns.max(NARROWEST) - 1),
            None => vec![text],
        };
        let text = lines.join("\n");
        let rest = text.strip_prefix(word).unwrap_or(&text);
        self.raw(&format!("{}{rest}\n", paint(style, word)));
    }

    /// `warning: …`
    pub(crate) fn warning(&self, text: &str) {
        if self.level > Level::Quiet {
            self.remark(WARNING, "warning:", text);
        }
    }

    /// `note: …`
    pub(crate) fn note(&self, text: &str) {
        if self.level > Level::Quiet {
            self.remark(STRONG, "note:", text);
        }
    }

    /// `note: …` for a message that appears only once, even with `--quiet`.
    pub(crate) fn note_once(&self, text: &str) {
        self.remark(STRONG, "note:", text);
    }

    /// `error: …`
    pub(crate) fn error(&self, text: &str) {
        self.remark(ERROR, "error:", text);
    }

    /// `hint: …`
    pub(crate) fn hint(&self, text: &str) {
        self.remark(HINT, "hint:", text);
    }

    /// Asks for confirmation; every answer but yes is a no.
    pub(crate) fn confirm(&self, question: &str) -> bool {
        let answer = self.answer(&format!("{} [y/N]", paint(STRONG, question)));
        matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes")
    }

    /// Asks for a text.
    pub(crate) fn type_in(&self, question: &str) -> String {
        self.answer(&paint(STRONG, question))
    }

    /// Asks for a text without showing what the user types.
    ///
    /// # Errors
    /// If the terminal cannot hide the input.
    pub(crate) fn type_in_secretly(&self, question: &str) -> io::Result<String> {
        self.raw(&format!("{} ", paint(STRONG, question)));
        self.bars.suspend(rpassword::read_password)
    }

    fn answer(&self, question: &str) -> String {
        self.raw(&format!("{question} "));
        let mut answer = String::new();
        let read = io::stdin().read_line(&mut answer);
        if read.is_ok_and(|bytes| bytes == 0) {
            self.raw("\n");
        }
        answer.trim().to_owned()
    }
}

fn columns(terminal: Option<usize>) -> Option<usize> {
    let set = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse::<usize>().ok());
    Some(set.filter(|columns| *columns > 0).or(terminal)?.max(NARROWEST))
}

/// The width of standard output; `None` if it is not a terminal.
fn out_terminal() -> Option<usize> {
    let out = io::stdout();
    columns_of(terminal_size::terminal_size_of(&out), out.is_terminal())
}

/// The width of standard error; `None` if it is not a terminal.
fn error_terminal() -> Option<usize> {
    let error = io::stderr();
    columns_of(terminal_size::terminal_size_of(&error), error.is_terminal())
}

/// Some terminals, such as serial lines, do not report a width.
fn columns_of(size: Option<(Width, Height)>, is_terminal: bool) -> Option<usize> {
    size.map(|(width, _)| usize::from(width.0)).or(is_terminal.then_some(USUAL))
}
