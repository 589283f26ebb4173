//! The built-in driver purlin/random.
