//! Colours and their purposes. All text is styled; the output streams remove the colours if they
//! are not wanted. Therefore, no information may be in the colour alone.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// A new resource.
pub(crate) const CREATE: Style = AnsiColor::Green.on_default();
/// A change.
pub(crate) const UPDATE: Style = AnsiColor::Yellow.on_default();
/// A deletion, or an error.
pub(crate) const DELETE: Style = AnsiColor::Red.on_default();
/// Remarks.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Important names.
pub(crate) const STRONG: Style = Style::new().bold();
/// The label of an error.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The label of a warning.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// The label of a hint.
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();
/// Success.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();

/// A text in a style.
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// The styles of help texts and usage errors.
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
