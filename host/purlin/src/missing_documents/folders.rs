//! Folders that have lost all their documents at once: a submodule that was not fetched, a volume
//! that is not mounted. A single removed file is a decision.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use purlin_documents::declares_resources;
use purlin_model::Diagnostic;

use super::{Comparison, FileState, MissingFile};
use crate::files::shown;

/// The number of removed files that make an emptied folder suspicious.
const SUSPICIOUS: usize = 2;

/// A file that is gone.
struct GoneFile {
    /// Its absolute path.
    path: PathBuf,
    /// Whether it declared resources.
    declares: bool,
}

impl Comparison<'_> {
    /// The faults of folders that have lost all their documents.
    pub(crate) fn emptied(&self, lost: &[MissingFile], number: u64) -> Vec<Diagnostic> {
        let removed = lost.iter().filter(|lost| lost.state == FileState::Removed && !lost.accepted);
        let gone: Vec<GoneFile> = removed
            .filter_map(|lost| {
                let declares = lost.contained.iter().any(|head| head.declares_resources);
                Some(GoneFile { path: lost.path.clone()?, declares })
            })
            .collect();
        let files = &self.documents.files;
        let sources = self.documents.loaded.sources();
        let now: Vec<(PathBuf, &str)> = sources
            .iter()
            .filter_map(|source| Some((files.find(files.path(&source.name)?), &*source.text)))
            .collect();
        let top = |path: &Path| files.folder_over(path).map(Path::to_path_buf);
        let folders = emptied(&gone, &now, &top).into_iter();
        let fault = |(folder, count): (PathBuf, usize)| {
            let accept = super::faults::accepting(&shown(&folder));
            let message = format!(
                "the folder `{}` contained {count} files with documents in deployment {number}, and contains none now",
                shown(&folder)
            );
            Diagnostic::error("folder-without-documents", message)
                .fact("a submodule may not be fetched, a volume may not be mounted, or the folder was moved")
                .help(format!(
                    "restore the folder, or accept that what its files declared is deleted with `{accept}`"
                ))
        };
        folders.map(fault).collect()
    }
}

/// The folders that contained at least two files that are gone and contain no document now, each with
/// the number of its files. `now` has the current files and their texts; `top` is the folder that was
/// searched for a file. A folder with definitions alone contains no document if it declared resources.
fn emptied(
    gone: &[GoneFile],
    now: &[(PathBuf, &str)],
    top: &dyn Fn(&Path) -> Option<PathBuf>,
) -> Vec<(PathBuf, usize)> {
    let mut folders: BTreeMap<PathBuf, usize> = BTreeMap::new();
    if gone.len() < SUSPICIOUS {
        return Vec::new();
    }
    let mut known: BTreeMap<(PathBuf, bool), bool> = BTreeMap::new();
    for file in gone {
        let Some(top) = top(&file.path) else { continue };
        let within = file.path.ancestors().skip(1).take_while(|folder| folder.starts_with(&top));
        let mut is_empty = |folder: &&Path| {
            *known.entry((folder.to_path_buf(), file.declares)).or_insert_with(|| {
                let mut inside = now.iter().filter(|(path, _)| path.starts_with(folder));
                !inside.any(|(_, text)| !file.declares || declares_resources(text))
            })
        };
        if let Some(folder) = within.take_while(&mut is_empty).last() {
            *folders.entry(folder.to_path_buf()).or_default() += 1;
        }
    }
    folders.into_iter().filter(|(_, count)| *count >= SUSPICIOUS).collect()
}
