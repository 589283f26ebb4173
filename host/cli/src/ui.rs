//! The only hands that write: data on standard output, everything else on standard error.

use std::cell::{Cell, RefCell};
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};

use anstyle::Style;
use indicatif::{MultiProgress, ProgressDrawTarget};
use serde::Serialize;
use terminal_size::{Height, Width};

use crate::json;
use crate::style::{ERROR, HINT, STRONG, WARNING, paint};
use crate::text;

/// Columns that text is laid out for at least.
const NARROWEST: usize = 40;
/// Columns of a terminal that does not say how many it has.
const USUAL: usize = 80;

/// How much is said on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Only what went wrong.
    Quiet,
    /// What people want to know.
    Normal,
    /// And what explains it.
    Verbose,
}

/// The terminal, or what stands in for it.
#[derive(Debug)]
pub(crate) struct Ui {
    pub(crate) level: Level,
    /// Bars are drawn through this, and lines printed around them.
    pub(crate) bars: MultiProgress,
    /// The first failure to write data, other than that nobody reads any more.
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

    /// Whether somebody sits there who can be asked.
    pub(crate) fn is_interactive(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Columns of standard output: what COLUMNS says, else the terminal's; none without either.
    pub(crate) fn columns(&self) -> Option<usize> {
        columns(out_terminal())
    }

    /// Columns of standard error.
    pub(crate) fn error_columns(&self) -> Option<usize> {
        columns(error_terminal())
    }

    /// Lines of the terminal that standard output is; none where it is no terminal.
    pub(crate) fn rows(&self) -> Option<usize> {
        let out = io::stdout();
        let size = terminal_size::terminal_size_of(&out);
        let rows = size.map(|(_, Height(rows))| usize::from(rows)).filter(|rows| *rows > 0);
        out.is_terminal().then(|| rows.unwrap_or(24))
    }

    /// Writes data. Once nobody reads any more, nothing is written, and that is no fault.
    pub(crate) fn data(&self, text: &str) {
        self.write(|out| anstream::AutoStream::auto(out).write_all(text.as_bytes()));
    }

    /// Writes one JSON document, indented.
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

    /// Plain data always serialises; a failure would be one of ours, and so is not silent either.
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

    /// Why data could not be written, if so.
    pub(crate) fn write_failure(&self) -> Option<io::Error> {
        self.broken.borrow_mut().take()
    }

    /// Writes to standard error as it is. There is nowhere to tell if that fails.
    pub(crate) fn raw(&self, text: &str) {
        self.bars.suspend(|| {
            let _ = anstream::AutoStream::auto(io::stderr().lock()).write_all(text.as_bytes());
        });
    }

    /// Says something that people want to know.
    pub(crate) fn say(&self, text: &str) {
        if self.level > Level::Quiet {
            self.raw(&format!("{text}\n"));
        }
    }

    /// A word and what it is about, broken at blanks where the terminal ends.
    fn remark(&self, style: Style, word: &str, text: &str) {
        let text = format!("{word} {}", text::block(text));
        // Elsewhere than on a terminal a line is better looked for whole.
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

    /// `note: …` that is said once and must not be missed, so even where little is to be said.
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

    /// Asks; anything but a yes is a no.
    pub(crate) fn confirm(&self, question: &str) -> bool {
        let answer = self.answer(&format!("{} [y/N]", paint(STRONG, question)));
        matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes")
    }

    /// Asks for a text.
    pub(crate) fn type_in(&self, question: &str) -> String {
        self.answer(&paint(STRONG, question))
    }

    /// Asks for a text that nobody else should see. What is typed is not shown.
    ///
    /// # Errors
    /// When the terminal cannot be told to hide it.
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

/// Columns of standard output; none where it is no terminal.
fn out_terminal() -> Option<usize> {
    let out = io::stdout();
    told(terminal_size::terminal_size_of(&out), out.is_terminal())
}

/// Columns of standard error; none where it is no terminal.
fn error_terminal() -> Option<usize> {
    let error = io::stderr();
    told(terminal_size::terminal_size_of(&error), error.is_terminal())
}

/// A terminal, such as a serial line, may not know how wide it is.
fn told(size: Option<(Width, Height)>, is_terminal: bool) -> Option<usize> {
    size.map(|(width, _)| usize::from(width.0)).or(is_terminal.then_some(USUAL))
}
