//! The rules of SPEC §2 to §4, each on the smallest graph that shows it.

mod faults;
mod fields;
mod lifecycle;
mod random;
mod recorded;
mod rules;
mod sources;
mod values;
mod workloads;
