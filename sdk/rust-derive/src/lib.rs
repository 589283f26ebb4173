#![doc = include_str!("../README.md")]

mod attributes;
mod expand;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use expand::Role;

/// Describes the inputs of a driver: a struct with the fields `values`, `secrets`, `params` and
/// `connection`, or some of them.
#[proc_macro_derive(Inputs, attributes(input, serde, schemars))]
pub fn inputs(item: TokenStream) -> TokenStream {
    derive(Role::Inputs, &parse_macro_input!(item as DeriveInput))
}

/// Describes a part of a driver's inputs: the struct of `values`, and every struct and enum in it.
///
/// Attributes of fields, as in `#[input(replaces, default = 5432)]`:
///
/// | attribute | means |
/// |---|---|
/// | `default`, `default = 5432` | the input can be left out; the host fills it in, shows and records it |
/// | `assumed`, `assumed = 5432` | the input can be left out; the driver alone knows what it takes then |
/// | `min`, `max`, `min_length`, `max_length`, `min_items`, `max_items`, `pattern`, `format` | what fits |
/// | `one_of = ["a", "b"]` | the texts that fit, where the field is no enum |
/// | `example = "eu-1"` | a value that fits |
/// | `replaces` | a change replaces the resource |
/// | `immutable` | a change is rejected |
/// | `secret` | the value is a secret, though it is not in `secrets` |
/// | `reaches = "tcp"`, `port = 5432` | the driver connects to this address |
/// | `holds_data`, `holds_data = "every table"` | deleting the resource loses data |
///
/// Attributes of structs are `holds_data`, `reaches` and `port` for an address in its fields `host`
/// and `port`, and `open`: it accepts names that the struct does not have.
#[proc_macro_derive(Input, attributes(input, serde, schemars))]
pub fn input(item: TokenStream) -> TokenStream {
    derive(Role::Input, &parse_macro_input!(item as DeriveInput))
}

/// Describes the outputs of a driver. A field that is `None` is an output that is omitted.
///
/// Attributes of fields: `#[output(secret)]` for secret outputs, `#[output(write_once)]` for
/// outputs that only `create` can return, `one_of`, `example` and `format`.
///
/// The struct has all outputs, so the host rejects references to any other one before it calls the driver.
/// With `#[output(open)]` on the struct, or a field with `#[serde(flatten)]`, there may be others.
#[proc_macro_derive(Outputs, attributes(output, serde, schemars))]
pub fn outputs(item: TokenStream) -> TokenStream {
    derive(Role::Outputs, &parse_macro_input!(item as DeriveInput))
}

fn derive(role: Role, item: &DeriveInput) -> TokenStream {
    expand::expand(role, item).unwrap_or_else(|error| error.to_compile_error()).into()
}
