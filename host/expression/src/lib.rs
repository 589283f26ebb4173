//! The one expression language: parse, what it depends on, evaluate.
