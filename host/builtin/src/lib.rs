//! The drivers that come with Purlin, embedded.
