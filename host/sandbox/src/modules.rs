//! Checks that no module of a component has two memories.
//!
//! Linked components pass texts to each other through code that the engine generates, which has the
//! memories of both sides in one module. So the engine must accept several; drivers do not need
//! them, and bugs of wasmtime in them stay out of reach.

use wasmparser::{Parser, Payload, TypeRef};

use crate::error::LoadError;

/// Rejects components with a module that has several memories, its own or imported.
pub(crate) fn check(bytes: &[u8]) -> Result<(), LoadError> {
    let invalid = |error: wasmparser::Error| LoadError::invalid(&error);
    // The memories of each open module, and none for components, which have other sections.
    let mut open = vec![0_u64];
    for payload in Parser::new(0).parse_all(bytes) {
        let more = match payload.map_err(invalid)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                open.push(0);
                0
            }
            Payload::End(_) => {
                open.pop();
                0
            }
            Payload::MemorySection(section) => u64::from(section.count()),
            Payload::ImportSection(section) => {
                let mut memories = 0;
                for import in section.into_imports() {
                    memories += u64::from(matches!(import.map_err(invalid)?.ty, TypeRef::Memory(_)));
                }
                memories
            }
            _ => 0,
        };
        if let Some(memories) = open.last_mut() {
            *memories += more;
            if *memories > 1 {
                return Err(LoadError::Invalid { message: "a module in it has several memories".into() });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_memory_is_enough_for_a_module() {
        for (text, fine) in [
            ("(component (core module (memory 1)) (core module (memory 1)))", true),
            ("(component (core module (import \"a\" \"b\" (memory 1))))", true),
            ("(component (component (core module (memory 1))) (core module (memory 1)))", true),
            ("(component (core module (memory 1) (memory 1)))", false),
            ("(component (core module (import \"a\" \"b\" (memory 1)) (memory 1)))", false),
            ("(component (component (core module (memory 1) (memory 1))))", false),
        ] {
            let bytes = wat::parse_str(text).expect("well written");
            assert_eq!(check(&bytes).is_ok(), fine, "{text}");
        }
    }
}
