//! The built-in drivers, embedded in the program.
//!
//! This crate contains bytes and their names. It does not know how drivers run.
//!
//! The folder `drivers` next to `src` has them: in the repository a link to where they are built, in the
//! published crate a folder.

/// A driver that is part of the program.
#[derive(Clone, Copy)]
pub struct Builtin {
    /// The name, such as `purlin/echo`.
    pub name: &'static str,
    /// Other names that documents may use for it (SPEC §8).
    pub aliases: &'static [&'static str],
    /// The component.
    pub wasm: &'static [u8],
    /// The component compiled ahead of time for this kind of machine: the unchanged result of
    /// `purlin_sandbox::precompile` at build time.
    pub precompiled: Option<&'static [u8]>,
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builtin")
            .field("name", &self.name)
            .field("aliases", &self.aliases)
            .field("wasm", &self.wasm.len())
            .field("precompiled", &self.precompiled.map(<[u8]>::len))
            .finish()
    }
}

include!(concat!(env!("OUT_DIR"), "/drivers.rs"));

/// All built-in drivers.
pub fn drivers() -> &'static [Builtin] {
    DRIVERS
}

/// The driver with this name or alias.
pub fn driver(name: &str) -> Option<&'static Builtin> {
    DRIVERS.iter().find(|driver| driver.name == name || driver.aliases.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_drivers_are_components_and_no_name_is_taken_twice() {
        let mut names = std::collections::HashSet::new();
        for driver in drivers() {
            assert_eq!(driver.wasm.get(..8), Some(&b"\0asm\x0d\0\x01\0"[..]), "{}", driver.name);
            for name in driver.aliases.iter().chain([&driver.name]) {
                assert!(names.insert(*name), "{name}");
                assert_eq!(super::driver(name).map(|found| found.name), Some(driver.name));
            }
        }
        assert_eq!(drivers().len(), 12);
        assert!(driver("acme/none").is_none());
    }
}
