//! Counts the instances of a component before it is compiled.
//!
//! Compiling lays out every instance, and components can contain components: three levels of ten make
//! a thousand from a few bytes, and a few more levels take all memory.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, ComponentTypeRef,
    Instance, Parser, Payload,
};

use crate::error::LoadError;

/// Instances of one component. Linked components have some dozens.
const MOST: u64 = 1_000;

/// A component being read: its own instances, and those of each inner component, by index.
#[derive(Default)]
struct Frame {
    instances: u64,
    components: Vec<u64>,
}

/// Rejects components with very many instances, and those whose number cannot be determined.
pub(crate) fn check(bytes: &[u8]) -> Result<(), LoadError> {
    let invalid = |error: wasmparser::Error| LoadError::invalid(&error);
    let handed = || LoadError::Invalid { message: "it hands components to components".into() };
    // Modules have no instances, and no frame here.
    let mut frames: Vec<Option<Frame>> = vec![Some(Frame::default())];
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(invalid)?;
        match &payload {
            Payload::ModuleSection { .. } => frames.push(None),
            Payload::ComponentSection { .. } => frames.push(Some(Frame::default())),
            Payload::End(_) => {
                if let (Some(Some(inner)), Some(Some(outer))) = (frames.pop(), frames.last_mut()) {
                    outer.components.push(inner.instances);
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    let found = match alias.map_err(invalid)? {
                        ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                            let level = frames.len().checked_sub(count as usize + 1);
                            let outer = level.and_then(|level| frames.get(level)?.as_ref());
                            outer.and_then(|outer| outer.components.get(index as usize)).copied()
                        }
                        ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                            return Err(handed());
                        }
                        _ => continue,
                    };
                    let (Some(found), Some(Some(frame))) = (found, frames.last_mut()) else { return Ok(()) };
                    frame.components.push(found);
                }
            }
            _ => {}
        }
        let Some(Some(frame)) = frames.last_mut() else { continue };
        match payload {
            Payload::InstanceSection(section) => {
                for instance in section {
                    if let Instance::Instantiate { .. } = instance.map_err(invalid)? {
                        frame.instances = frame.instances.saturating_add(1);
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    if let ComponentInstance::Instantiate { component_index, .. } =
                        instance.map_err(invalid)?
                    {
                        // The compiler rejects an invalid index.
                        let inner = frame.components.get(component_index as usize).copied().unwrap_or(0);
                        frame.instances = frame.instances.saturating_add(1).saturating_add(inner);
                    }
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    if let ComponentTypeRef::Component(_) = import.map_err(invalid)?.ty {
                        return Err(handed());
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    let export = export.map_err(invalid)?;
                    if export.kind == ComponentExternalKind::Component {
                        let same = frame.components.get(export.index as usize).copied().unwrap_or(0);
                        frame.components.push(same);
                    }
                }
            }
            _ => {}
        }
        if frame.instances > MOST {
            return Err(LoadError::Invalid { message: format!("it consists of more than {MOST} instances") });
        }
    }
    Ok(())
}
