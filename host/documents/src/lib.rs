//! Text to model: one file a format, with spans and diagnostics.
