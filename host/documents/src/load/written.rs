//! Folders that drivers may write to: documents are not searched there, because their files come
//! from drivers (SPEC §2).

use std::path::{Path, PathBuf};

use crate::reader::Reader;
use crate::recognise::{Format, Recognised, recognise};
use crate::walk::{self, WORKSPACE_FILE};
use crate::yaml;

/// The real folders that the Workspace at `path` grants for writing: `path` is the file itself, or
/// its folder. Faults in it are reported when it is read as a document.
pub(super) fn folders(path: &Path) -> Vec<PathBuf> {
    let file = match path.metadata() {
        Ok(metadata) if metadata.is_dir() => path.join(WORKSPACE_FILE),
        Ok(metadata) if metadata.is_file() && path.ends_with(WORKSPACE_FILE) => path.to_path_buf(),
        _ => return Vec::new(),
    };
    let Ok(text) = walk::read(&file) else { return Vec::new() };
    let folder = file.parent().unwrap_or(Path::new("."));
    let name = walk::display(&file);
    let mut found = Vec::new();
    yaml::parse(&name, &text, &mut |document| {
        let mut reader = Reader::new(&name, &text, false);
        let Recognised::Ours(Format::Workspace) = recognise(&reader, &document.root) else { return };
        let Some(workspace) = crate::workspace::read(&mut reader, &document.root, folder) else { return };
        for dir in workspace.drivers.values().flat_map(|driver| &driver.grants.dirs) {
            if dir.writable {
                found.extend(folder.join(&dir.host).canonicalize());
            }
        }
    });
    found
}
