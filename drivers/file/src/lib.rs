//! The built-in driver purlin/file.
