//! Managed resources that refer to each other, from the documents to the driver calls (SPEC §7).
//!
//! A test that begins with an id, such as `ref_05`, covers one case of how Crossplane resolves
//! references, deletes resources, and manages their life cycle. If Purlin differs, the test shows
//! the behaviour of Purlin and says so. Cases that the graph or the store decides are next to their
//! tests.

mod convergence;
mod deletion;
mod given;
mod life;
mod refs;
mod untouched;
