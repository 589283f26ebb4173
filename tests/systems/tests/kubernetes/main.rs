//! purlin/kubernetes against a real API server and controller manager, with `kubectl` as a second
//! opinion. Each test has a cluster to itself.
#![allow(clippy::expect_used, clippy::panic)]

mod admission;
mod cluster;
mod conflicts;
mod deletion;
mod kills;
mod kinds;
mod kubectl;
mod life;
mod partial;
mod readiness;
mod rights;
mod scene;
mod several;
mod volumes;
