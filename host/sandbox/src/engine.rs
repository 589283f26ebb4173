//! wasmtime's engine, configured once. Only components compiled with these settings run here; so
//! everything that influences compiled code is in one place.

use std::sync::Arc;

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, WasmFeatures};

use crate::error::SandboxError;
use crate::functions::Functions;
use crate::limits::{CORE_INSTANCES, MEMORIES, TABLE_ELEMENTS, TABLES};

/// Bytes of a slot's memory that stay mapped between calls and are cleared explicitly, if the
/// system can report which pages were written. If it cannot, clearing all of them costs more than
/// unmapping them.
const KEEP_RESIDENT: usize = 1 << 20;

/// Settings that decide how code is compiled.
fn settings() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        // Features that no toolchain for drivers needs are rejected at load: bugs of wasmtime in
        // them are then out of reach. GC is on by default even if its code is compiled out, and a
        // cast then ends the process (GHSA-rc4p-x33f-vpr2).
        .wasm_gc(false)
        .wasm_features(WasmFeatures::FUNCTION_REFERENCES, false)
        .wasm_memory64(false)
        // For the code that wasmtime generates to pass texts between inner components. Modules of
        // drivers with several memories are rejected all the same, see `modules`.
        .wasm_multi_memory(true)
        .wasm_relaxed_simd(false)
        // An instance is discarded after one call, so nothing runs concurrently inside it.
        .concurrency_support(false)
        // Offsets in traces would be useless and are a third of the compiled size.
        .generate_address_map(false)
        .native_unwind_info(cfg!(windows));
    config
}

fn pool(instances: u32) -> PoolingAllocationConfig {
    let keep = if PoolingAllocationConfig::is_pagemap_scan_available() { KEEP_RESIDENT } else { 0 };
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(CORE_INSTANCES))
        .total_memories(instances)
        .total_tables(instances.saturating_mul(TABLES_PER_SLOT))
        .total_stacks(instances)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(TABLES)
        .max_memories_per_module(MEMORIES)
        .table_elements(TABLE_ELEMENTS)
        .max_unused_warm_slots(32)
        .linear_memory_keep_resident(keep)
        .table_keep_resident(32 << 10)
        .async_stack_keep_resident(16 << 10)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// Tables that the pool holds per slot; components with more take several slots.
pub(crate) const TABLES_PER_SLOT: u32 = 4;

/// An engine that runs at most this many instances at once.
pub(crate) fn running(instances: u32) -> Result<Engine, SandboxError> {
    let mut config = settings();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(instances)));
    Engine::new(&config).or_else(|error| {
        // If the address space is limited, memory is mapped for each call: slower, but equally
        // safe.
        tracing::debug!(target: "purlin::sandbox", %error, "no pool of instances");
        config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
        Engine::new(&config).map_err(|error| SandboxError::Engine(format!("{error:#}")))
    })
}

/// An engine that only compiles, for exactly this processor. It reserves no memory for instances.
/// Functions that were compiled before are reused, and new ones are added.
pub(crate) fn compiling(functions: Option<&Arc<Functions>>) -> wasmtime::Result<Engine> {
    let mut config = settings();
    if let Some(functions) = functions {
        config.enable_incremental_compilation(functions.store())?;
    }
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    Engine::new(&config)
}

/// An engine that only compiles, for any machine of this kind.
pub(crate) fn portable() -> Result<Engine, SandboxError> {
    let mut config = settings();
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    config.target(&baseline()).map_err(|error| SandboxError::Engine(format!("{error:#}")))?;
    Engine::new(&config).map_err(|error| SandboxError::Engine(format!("{error:#}")))
}

/// The target triple of this machine. Naming it excludes extensions of this particular processor.
fn baseline() -> String {
    let system = match std::env::consts::OS {
        "macos" => "apple-darwin",
        "windows" => "pc-windows-msvc",
        _ => "unknown-linux-gnu",
    };
    format!("{}-{system}", std::env::consts::ARCH)
}
