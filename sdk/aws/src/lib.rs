#![doc = include_str!("../README.md")]

mod client;
pub mod encode;
mod endpoint;
mod error;
pub mod inputs;
pub mod policy;
mod sign;
pub mod tags;
pub mod xml;

pub use client::{Aws, Effect};
pub use endpoint::{Connection, Credentials, Endpoint, Partition};
pub use error::{AwsError, RequestError};
