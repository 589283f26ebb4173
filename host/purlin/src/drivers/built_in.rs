//! The drivers that are parts of the program: those that come with Purlin, if the feature
//! `builtin-drivers` is on, and those that the program gives to the builder.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;

/// The bytes of drivers by name.
pub(crate) type Given = BTreeMap<Arc<str>, Cow<'static, [u8]>>;

/// A driver that is part of the program.
pub(super) struct BuiltIn {
    /// The component.
    pub(super) wasm: Cow<'static, [u8]>,
    /// Other names for it.
    pub(super) aliases: &'static [&'static str],
    /// The unchanged result of `purlin_sandbox::precompile` at build time, and the component.
    pub(super) precompiled: Option<(&'static [u8], &'static [u8])>,
}

/// All of them by name. A component that the program gives takes precedence.
pub(super) fn all(given: Given) -> IndexMap<Arc<str>, BuiltIn> {
    let mut all: IndexMap<Arc<str>, BuiltIn> = ours().collect();
    for (name, wasm) in given {
        all.insert(canonical(&name).into(), BuiltIn { wasm, aliases: &[], precompiled: None });
    }
    all
}

/// The names of all of them.
pub(crate) fn names(given: &Given) -> impl Iterator<Item = String> {
    let ours = ours().map(|(name, _)| name);
    ours.chain(given.keys().cloned()).map(|name| name.to_string())
}

#[cfg(feature = "builtin-drivers")]
fn ours() -> impl Iterator<Item = (Arc<str>, BuiltIn)> {
    purlin_builtin::drivers().iter().map(|driver| {
        let purlin_builtin::Builtin { wasm, aliases, .. } = *driver;
        let precompiled = driver.precompiled.map(|code| (code, wasm));
        (driver.name.into(), BuiltIn { wasm: wasm.into(), aliases, precompiled })
    })
}

#[cfg(not(feature = "builtin-drivers"))]
fn ours() -> impl Iterator<Item = (Arc<str>, BuiltIn)> {
    std::iter::empty()
}

/// The name that an alias stands for.
#[cfg(feature = "builtin-drivers")]
pub(crate) fn canonical(name: &str) -> &str {
    purlin_builtin::driver(name).map_or(name, |built_in| built_in.name)
}

#[cfg(not(feature = "builtin-drivers"))]
pub(crate) fn canonical(name: &str) -> &str {
    name
}

/// Whether a component comes with Purlin, by its digest in hexadecimal digits.
pub(super) fn comes_with_us(digest: &str) -> bool {
    ours().any(|(_, built_in)| super::pinned::digest(&built_in.wasm).hex() == digest)
}
