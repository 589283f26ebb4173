//! Colours, and what each is for. Text is styled always; the streams it goes to take the colours
//! out where nobody wants them, so nothing may be said by colour alone.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// Something new.
pub(crate) const CREATE: Style = AnsiColor::Green.on_default();
/// Something that changes.
pub(crate) const UPDATE: Style = AnsiColor::Yellow.on_default();
/// Something that goes, or is wrong.
pub(crate) const DELETE: Style = AnsiColor::Red.on_default();
/// Remarks.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Names that matter.
pub(crate) const STRONG: Style = Style::new().bold();
/// An error's first word.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// A warning's first word.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// A hint's first word.
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();
/// All is well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();

/// Something in a style.
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// How help and usage errors look.
pub(crate) fn clap() -> clap::builder::Styles {
    clap::builder::Styles::styled()
        .header(AnsiColor::Green.on_default().bold())
        .usage(AnsiColor::Green.on_default().bold())
        .literal(AnsiColor::Cyan.on_default().bold())
        .placeholder(AnsiColor::Cyan.on_default())
        .error(ERROR)
        .valid(AnsiColor::Green.on_default())
        .invalid(UPDATE)
}
