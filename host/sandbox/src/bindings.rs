//! The contract in `wit/`, in Rust. Generated; only the crate's own conversions may use it.
#![allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all)]

wasmtime::component::bindgen!({
    path: "wit",
    world: "driver",
    imports: {
        "purlin:driver/operation.checkpoint": async | trappable,
        default: trappable,
    },
    exports: { default: async },
});

/// The package `purlin:programs`, which a driver imports beside the contract.
pub(crate) mod programs {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "purlin:programs/imports",
        imports: { default: trappable },
    });
}

/// The package `purlin:preview`, which a driver exports beside the contract. Its types are the contract's.
pub(crate) mod preview {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "purlin:preview/previews",
        imports: { default: trappable },
        exports: { default: async },
        with: { "purlin:driver/types@0.3.0": super::purlin::driver::types },
    });
}
