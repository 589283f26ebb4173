//! The crate to embed: a thin, documented face of Purlin.
