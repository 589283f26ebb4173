//! The contract in `wit/`, in Rust. Generated; the rest of the crate makes it convenient.
#![allow(missing_docs, unsafe_code, unreachable_pub, unused_qualifications, clippy::all)]

wit_bindgen::generate!({
    path: "wit",
    world: "driver",
    pub_export_macro: true,
    export_macro_name: "export_lifecycle",
    default_bindings_module: "purlin_sdk::bindings",
});
