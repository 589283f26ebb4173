//! Builds drivers in Python, with componentize-py.
//!
//! Componentize-py compiles CPython in each run, which takes seconds. With `--dev`, it runs once for many
//! edits: it builds `purlin_driver.edit`, and this module writes the project's source into that component.

use std::path::{Path, PathBuf};
use std::process::Command;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use super::{inspect, shown, tool};
use crate::app::App;
use crate::failure::Failure;
use crate::files;

const INSTALL: &str = "`python3 -m venv .venv && .venv/bin/pip install -r requirements.txt` installs it";

/// The module of the component for `--dev`, in the package `purlin_driver`.
const EDIT: &str = "purlin_driver/edit.py";

/// The module that exports the driver's classes.
const APP: &str = "app.py";

/// The world of a driver with previews, in the package `purlin_driver`. Componentize-py takes the other world
/// by itself.
const WITH_PREVIEW: &str = "project:with-preview/driver";

/// The text that fills the space for sources in such a component, `MARK` in `edit.py`.
const MARK: [u8; 32] = [
    0xa7, 0xc3, 0xe5, 0x91, 0x5d, 0x8f, 0xb2, 0x49, 0x4b, 0xe1, 0xd6, 0x9e, 0xf7, 0x0c, 0x3a, 0x68, 0x6e,
    0x1f, 0xb8, 0x8a, 0xd4, 0x9c, 0x57, 0xe3, 0xf1, 0x25, 0x9d, 0x0b, 0x47, 0xec, 0x83, 0x36,
];

/// How often it is repeated, which makes 1 MiB.
const SIZE: usize = 1 << 15;

/// The endings of a project's modules.
const MODULE: &[&str] = &["py"];

/// The endings of the files in a package from which a component is made: modules and the contract.
const PACKAGE: &[&str] = &["py", "toml", "wit"];

/// Folders that contain no modules of the project.
const OTHERS: [&str; 3] = ["__pycache__", "node_modules", "venv"];

/// The tools of a project.
pub(super) struct Python {
    folder: PathBuf,
    /// The project's virtual environment, which need not be activated.
    environment: Option<PathBuf>,
}

impl Python {
    pub(super) fn new(folder: &Path) -> Self {
        let mut own = [".venv", "venv"].iter().filter_map(|name| folder.join(name).canonicalize().ok());
        let environment = own.find(|folder| folder.join("bin/componentize-py").is_file());
        Self { folder: folder.to_owned(), environment }
    }

    /// Builds the component of a module as a file in the project's folder.
    pub(super) fn build(&self, module: &str, file: &Path) -> Result<(), Failure> {
        let own = self.environment.as_ref().map(|folder| folder.join("bin/componentize-py"));
        let mut command = Command::new(own.unwrap_or_else(|| "componentize-py".into()));
        command.envs(self.environment.as_ref().map(|folder| ("VIRTUAL_ENV", folder)));
        if self.exports_preview() {
            command.args(["-w", WITH_PREVIEW]);
        }
        command.args(["componentize", module, "-p", "."]);
        for package in self.editable() {
            command.args(["-p", &package]);
        }
        tool(command.arg("-o").arg(file), &self.folder, INSTALL)
    }

    /// Writes the project's source into the component of an earlier run, if possible, and builds
    /// that component if it is missing. An error is a failure of the tools; `None` means that the
    /// driver needs an ordinary build.
    pub(super) async fn edit(
        &self,
        output: &Path,
        app: &App,
    ) -> Result<Option<purlin_host::Inspection>, Failure> {
        let (Some(found), Some(sources)) = (self.fingerprint(), self.sources()) else { return Ok(None) };
        let kept = self.folder.join(".purlin/build");
        let (base, key) = (kept.join("edit.wasm"), kept.join("edit.key"));
        let is_current = files::text(&key).is_ok_and(|key| key == found);
        let attempts = if is_current { &[false, true][..] } else { &[true] };
        for is_new in attempts {
            if *is_new {
                let failed = |error| Failure::caused(format!("cannot write to {}", shown(&kept)), &error);
                // The key must always belong to the component next to it.
                match std::fs::remove_file(&key) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
                    _ => {}
                }
                std::fs::create_dir_all(&kept).map_err(failed)?;
                self.build("purlin_driver.edit", Path::new(".purlin/build/edit.wasm"))?;
                files::write(&key, &found).map_err(failed)?;
            }
            let Some(component) = files::bytes(&base).ok().and_then(|base| edited(base, &sources)) else {
                continue;
            };
            super::place(&base, component, output)?;
            let inspection = inspect(output, app).await?;
            if inspection.trouble().is_none() {
                return Ok(Some(inspection));
            }
            if !is_new {
                app.ui.say("the edit needs a new component");
            }
        }
        Ok(None)
    }

    /// Whether the project's component exports previews.
    fn exports_preview(&self) -> bool {
        has_preview(&files::text(&self.folder.join(APP)).unwrap_or_default())
    }

    /// The folders of editable packages, which pip installs as links that componentize-py cannot
    /// follow.
    fn editable(&self) -> Vec<String> {
        let requirements = files::text(&self.folder.join("requirements.txt")).unwrap_or_default();
        let folders = requirements.lines().filter_map(|line| {
            let line = line.trim();
            line.strip_prefix("-e ").or_else(|| line.strip_prefix("--editable "))
        });
        folders.map(|folder| folder.trim().to_owned()).collect()
    }

    /// The folders of installed packages: those that pip links to, and those of the environment.
    fn packages(&self) -> Vec<PathBuf> {
        let tool = match &self.environment {
            Some(folder) => Some(folder.join("bin/componentize-py")),
            None => std::env::var_os("PATH").and_then(|path| {
                std::env::split_paths(&path)
                    .map(|folder| folder.join("componentize-py"))
                    .find(|file| file.is_file())
            }),
        };
        let library =
            tool.as_deref().and_then(Path::parent).and_then(Path::parent).map(|root| root.join("lib"));
        let versions =
            library.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
        let installed =
            versions.map(|version| version.path().join("site-packages")).filter(|path| path.is_dir());
        let mut packages: Vec<_> = self.editable().iter().map(|folder| self.folder.join(folder)).collect();
        packages.extend(installed);
        packages
    }

    /// Identifies everything in a component except the project's own modules. `None` if the SDK
    /// does not support `--dev`.
    fn fingerprint(&self) -> Option<String> {
        let packages = self.packages();
        if !packages.iter().any(|folder| folder.join(EDIT).is_file()) {
            return None;
        }
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        hash.update([u8::from(self.exports_preview())]);
        for file in ["requirements.txt", "pyproject.toml"] {
            hash.update(files::bytes(&self.folder.join(file)).unwrap_or_default());
        }
        for folder in packages {
            let mut files = Vec::new();
            if folder.ends_with("site-packages") {
                // The names of folders contain versions.
                let names = std::fs::read_dir(&folder).into_iter().flatten().flatten();
                files.extend(names.map(|name| (PathBuf::from(name.file_name()), Vec::new())));
            } else {
                collect(&folder, &folder, (PACKAGE, &[]), &mut files);
            }
            files.sort();
            for (name, bytes) in files {
                hash.update(name.as_os_str().as_encoded_bytes());
                hash.update((bytes.len() as u64).to_le_bytes());
                hash.update(bytes);
            }
        }
        Some(HEXLOWER.encode(&hash.finalize()))
    }

    /// The project's modules as JSON: the text of each file by its path. `None` if a file is not
    /// text.
    fn sources(&self) -> Option<Vec<u8>> {
        let packages: Vec<PathBuf> = self
            .editable()
            .iter()
            .filter_map(|folder| self.folder.join(folder).canonicalize().ok())
            .collect();
        let mut files = Vec::new();
        collect(&self.folder, &self.folder, (MODULE, &packages), &mut files);
        let texts = files.into_iter().map(|(path, bytes)| {
            let path = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
            Some((path, serde_json::Value::String(String::from_utf8(bytes).ok()?)))
        });
        let texts: serde_json::Map<_, _> = texts.collect::<Option<_>>()?;
        serde_json::to_vec(&texts).ok()
    }
}

/// The files with these endings in a folder and its subfolders, except for some of these.
fn collect(
    root: &Path,
    folder: &Path,
    (endings, without): (&[&str], &[PathBuf]),
    into: &mut Vec<(PathBuf, Vec<u8>)>,
) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let is_other = name.starts_with('.') || OTHERS.contains(&&*name);
        // Links to folders could lead back here.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if !is_other && !path.canonicalize().is_ok_and(|path| without.contains(&path)) {
                collect(root, &path, (endings, without), into);
            }
        } else if path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one)) {
            let Ok(bytes) = files::bytes(&path) else { continue };
            into.push((path.strip_prefix(root).unwrap_or(&path).to_owned(), bytes));
        }
    }
}

/// Whether a module has the class `Preview`, for which componentize-py looks in a world with previews: it
/// defines, assigns or imports it.
fn has_preview(module: &str) -> bool {
    module.lines().filter(|line| !line.starts_with([' ', '\t', '#'])).any(|line| {
        let names = if let Some(class) = line.strip_prefix("class ") {
            class.split(['(', ':']).next()
        } else if line.starts_with("from ") {
            line.split_once(" import ").map(|(_, names)| names)
        } else {
            line.split_once('=').map(|(names, _)| names)
        };
        names.unwrap_or_default().split(',').any(|name| name.trim_matches(['(', ')', ' ']) == "Preview")
    })
}

/// A component with these sources in the space for them; `None` if that is too small, or if the
/// component has no such space.
fn edited(mut component: Vec<u8>, sources: &[u8]) -> Option<Vec<u8>> {
    let beginning = MARK.repeat(2);
    let at = component.windows(beginning.len()).position(|part| part == beginning)?;
    let place = component.get_mut(at..at + MARK.len() * SIZE)?;
    let is_whole = place.chunks_exact(MARK.len()).all(|part| part == MARK);
    // The length has eight digits.
    let (length, text) = place.split_at_mut(8);
    if !is_whole || sources.len() > text.len() {
        return None;
    }
    length.copy_from_slice(format!("{:08}", sources.len()).as_bytes());
    text.get_mut(..sources.len())?.copy_from_slice(sources);
    Some(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_and_the_package_agree() {
        let module =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/python/purlin_driver/edit.py"));
        assert!(module.contains(&format!("bytes.fromhex(\"{}\")", HEXLOWER.encode(&MARK))));
        assert!(module.contains("SOURCES = MARK * (1 << 15)"));
    }

    #[test]
    fn sources_go_into_their_place_or_nowhere() {
        let component = [b"before".to_vec(), MARK.repeat(SIZE), b"after".to_vec()].concat();
        let written = edited(component.clone(), b"{}").expect("there is room");
        assert_eq!(written.len(), component.len());
        assert!(written.starts_with(b"before00000002{}") && written.ends_with(b"after"));
        assert_eq!(edited(component.clone(), &vec![b' '; MARK.len() * SIZE - 7]), None);
        assert_eq!(edited(component[..component.len() - 6].to_vec(), b"{}"), None);
        assert_eq!(edited(written, b"{}"), None, "the place was used");
    }

    #[test]
    fn a_driver_with_previews_has_their_class() {
        for module in [
            "Lifecycle, Preview = export_with_preview(Acme())\n",
            "(Lifecycle, Preview) = export_with_preview(Acme())\n",
            "Preview = previews[0]\n",
            "from note import Lifecycle, Preview\n",
            "class Preview(exports.Preview, metaclass=Typed):\n    pass\n",
            "class Preview:\n    pass\n",
        ] {
            assert!(has_preview(module), "{module}");
        }
        for module in [
            "",
            "from purlin_driver.component import export\n\nLifecycle = export(Acme())\n",
            "# Lifecycle, Preview = export_with_preview(Acme())\nLifecycle = export(Acme())\n",
            "class Previews:\n    Preview = 1\n",
        ] {
            assert!(!has_preview(module), "{module}");
        }
    }

    #[test]
    fn modules_of_the_project_are_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        for file in ["app.py", "a/b.py", "purlin/c.py", ".venv/d.py", "venv/e.py", "notes/f.md"] {
            let file = folder.path().join(file);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(file, "x = 1\n").expect("written");
        }
        std::fs::write(folder.path().join("requirements.txt"), "-e ./purlin\n").expect("written");
        let sources = Python::new(folder.path()).sources().expect("all are text");
        let sources: serde_json::Value = serde_json::from_slice(&sources).expect("JSON");
        assert_eq!(sources, serde_json::json!({"app.py": "x = 1\n", "a/b.py": "x = 1\n"}));
        std::fs::write(folder.path().join("latin.py"), b"# \xe9").expect("written");
        assert_eq!(Python::new(folder.path()).sources(), None);
    }
}
