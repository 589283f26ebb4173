//! The built-in driver purlin/template.
