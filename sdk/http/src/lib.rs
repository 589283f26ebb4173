#![doc = include_str!("../README.md")]

mod client;
mod error;
#[cfg(not(target_os = "wasi"))]
mod native;
mod request;
mod response;
mod url;
#[cfg(target_os = "wasi")]
mod wasi;

pub use client::{Client, Limits, Transport};
pub use error::Error;
pub use request::Request;
pub use response::Response;
pub use url::{Parts, query, segment};

#[cfg(test)]
mod tests;
