//! `purlin driver new --upgrade`: replaces the SDK of a project and changes nothing else in it.
//!
//! The SDK is the folder `purlin/`. A list in it names the files that `purlin driver new` wrote
//! there, with their digests. A project without the list was not created by Purlin, and a file that
//! differs from the list contains the author's changes, which the upgrade never overwrites.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path};

use data_encoding::HEXLOWER;
use purlin_files::reason;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Language, sdk};
use crate::app::App;
use crate::failure::{Failure, Status};
use crate::{files, text};

/// The path of the list in the project's folder.
const LIST: &str = "purlin/sdk.json";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The SDK of a project at the time when it was written.
#[derive(Debug, Serialize, Deserialize)]
struct List {
    /// The version of purlin that wrote the SDK.
    purlin: String,
    language: Language,
    /// The SHA-256 digest of each file, by its path in the project.
    files: BTreeMap<String, String>,
}

/// A file of a project, with its text.
type File = (String, Cow<'static, str>);

/// The list of an SDK's files.
pub(super) fn list(language: Language, sdk: &[File]) -> File {
    let files = sdk.iter().map(|(path, text)| (path.clone(), digest(text.as_bytes()))).collect();
    let list = List { purlin: VERSION.to_owned(), language, files };
    let text = serde_json::to_string_pretty(&list).unwrap_or_default();
    (LIST.to_owned(), Cow::Owned(text + "\n"))
}

pub(super) fn run(folder: &Path, app: &App) -> Result<Status, Failure> {
    let old = List::read(folder)?;
    let new = sdk::of(old.language);
    let plan = Plan::new(folder, &old, &new)?;
    if let Some(first) = plan.changed.first() {
        let others = match plan.changed.len() {
            1 => " was".to_owned(),
            more => format!(" and {} more files were", more - 1),
        };
        return Err(Failure::input(format!(
            "`{first}`{others} changed in this project; nothing was written"
        ))
        .hint("move your changes out of the SDK, and restore its files as `purlin driver new` wrote them"));
    }
    let failed = |verb: &str, path: &str, error: &io::Error| {
        Failure::caused(format!("cannot {verb} `{}`", folder.join(path).display()), error)
    };
    let written: Vec<_> = plan.write.iter().map(|(path, _)| folder.join(path)).collect();
    files::no_links(folder, written.iter().map(|path| path.as_path()))?;
    for (path, text) in plan.write.iter().copied().chain([&list(old.language, &new)]) {
        files::write(&folder.join(path), text.as_bytes()).map_err(|error| failed("write", path, &error))?;
    }
    for path in &plan.remove {
        std::fs::remove_file(folder.join(path)).map_err(|error| failed("remove", path, &error))?;
    }
    if plan.write.is_empty() && plan.remove.is_empty() {
        app.ui.note(&format!("the SDK is already that of purlin {VERSION}"));
        return Ok(Status::Done);
    }
    for (path, _) in &plan.write {
        let verb = if old.files.contains_key(path) { "changed" } else { "added" };
        app.ui.data(&format!("{verb} {}\n", text::line(path)));
    }
    for path in &plan.remove {
        app.ui.data(&format!("removed {}\n", text::line(path)));
    }
    app.ui
        .note(&format!("the SDK of purlin {} was replaced with that of {VERSION}", text::line(&old.purlin)));
    app.ui.hint("`purlin driver build` builds with it, and `purlin driver check` checks the driver");
    Ok(Status::Done)
}

impl List {
    fn read(folder: &Path) -> Result<Self, Failure> {
        let shown = folder.join(LIST);
        let text = files::text(&shown).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Failure::input(format!("`{}` is not a project of `purlin driver new`", folder.display()))
                    .hint(format!("such a project has a file `{LIST}`, which lists the files of its SDK"))
            }
            _ => Failure::input(format!("cannot read `{}`: {}", shown.display(), reason(&error))),
        })?;
        let list: Self = serde_json::from_str(&text).map_err(|error| {
            Failure::input(format!("`{}` does not list the files of an SDK: {error}", shown.display()))
        })?;
        match list.files.keys().find(|path| !is_inside(path)) {
            None => Ok(list),
            Some(path) => Err(Failure::input(format!(
                "`{}` lists `{path}`, which is outside of the SDK",
                shown.display()
            ))),
        }
    }
}

/// Whether a path is inside the folder of the SDK.
fn is_inside(path: &str) -> bool {
    let path = Path::new(path);
    path.starts_with("purlin")
        && path.components().count() > 1
        && path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// The changes of an upgrade.
#[derive(Debug, Default)]
struct Plan<'a> {
    write: Vec<&'a File>,
    remove: Vec<&'a str>,
    /// Files that the author changed.
    changed: Vec<&'a str>,
}

impl<'a> Plan<'a> {
    /// Skips files that already match the new SDK, so that an interrupted upgrade can continue.
    fn new(folder: &Path, old: &'a List, new: &'a [File]) -> Result<Self, Failure> {
        let mut plan = Self::default();
        for file in new {
            let (path, text) = file;
            match (read(folder, path)?, old.files.get(path)) {
                (Some(there), _) if there == text.as_bytes() => {}
                (Some(there), Some(known)) if digest(&there) == *known => plan.write.push(file),
                (None, None) => plan.write.push(file),
                _ => plan.changed.push(path),
            }
        }
        for (path, known) in old.files.iter().filter(|(path, _)| new.iter().all(|(kept, _)| kept != *path)) {
            match read(folder, path)? {
                None => {}
                Some(there) if digest(&there) == *known => plan.remove.push(path),
                Some(_) => plan.changed.push(path),
            }
        }
        Ok(plan)
    }
}

fn read(folder: &Path, path: &str) -> Result<Option<Vec<u8>>, Failure> {
    let path = folder.join(path);
    match files::bytes(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::caused(format!("cannot read `{}`", path.display()), &error)),
    }
}

fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::path::Path;

    use super::{File, LIST, List, Plan, is_inside, list};
    use crate::commands::driver::new::Language;

    fn file(path: &str, text: &'static str) -> File {
        (path.to_owned(), Cow::Borrowed(text))
    }

    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("written");
    }

    /// A project with an SDK of three files.
    fn project() -> (tempfile::TempDir, List) {
        let folder = tempfile::tempdir().expect("a folder");
        let sdk = [file("purlin/same", "same"), file("purlin/old", "old"), file("purlin/gone", "gone")];
        for (path, text) in sdk.iter().chain([&list(Language::Go, &sdk)]) {
            write(folder.path(), path, text);
        }
        let read = List::read(folder.path()).expect("a list");
        (folder, read)
    }

    fn new() -> [File; 3] {
        [file("purlin/same", "same"), file("purlin/old", "new"), file("purlin/src/added", "added")]
    }

    fn names<'a>(files: &[&'a File]) -> Vec<&'a str> {
        files.iter().map(|(path, _)| path.as_str()).collect()
    }

    #[test]
    fn only_changed_files_are_replaced() {
        let (folder, old) = project();
        write(folder.path(), "purlin/own", "a file of somebody else");
        let new = new();
        let plan = Plan::new(folder.path(), &old, &new).expect("a plan");
        assert_eq!(names(&plan.write), ["purlin/old", "purlin/src/added"]);
        assert_eq!(plan.remove, ["purlin/gone"]);
        assert!(plan.changed.is_empty(), "{plan:?}");
    }

    #[test]
    fn an_interrupted_upgrade_continues() {
        let (folder, old) = project();
        write(folder.path(), "purlin/old", "new");
        std::fs::remove_file(folder.path().join("purlin/gone")).expect("removed");
        let new = new();
        let plan = Plan::new(folder.path(), &old, &new).expect("a plan");
        assert_eq!(names(&plan.write), ["purlin/src/added"]);
        assert!(plan.remove.is_empty() && plan.changed.is_empty(), "{plan:?}");
    }

    #[test]
    fn changes_of_the_author_are_found() {
        for (path, text) in [
            ("purlin/old", "mine"),
            ("purlin/same", "mine"),
            ("purlin/gone", "mine"),
            ("purlin/src/added", "mine"),
        ] {
            let (folder, old) = project();
            write(folder.path(), path, text);
            let new = new();
            let plan = Plan::new(folder.path(), &old, &new).expect("a plan");
            assert_eq!(plan.changed, [path]);
        }
        let (folder, old) = project();
        std::fs::remove_file(folder.path().join("purlin/old")).expect("removed");
        let new = new();
        assert_eq!(Plan::new(folder.path(), &old, &new).expect("a plan").changed, ["purlin/old"]);
    }

    #[test]
    fn a_list_names_only_files_of_the_sdk() {
        for path in ["purlin/a", "purlin/wit/deps/a.wit"] {
            assert!(is_inside(path), "{path}");
        }
        for path in ["purlin", "a", "/purlin/a", "purlin/../a", "purlin/..", "../purlin/a", "purlins/a"] {
            assert!(!is_inside(path), "{path}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        assert!(List::read(folder.path()).is_err(), "no list");
        for text in ["", "{}", r#"{"purlin": "0.1.0", "language": "go", "files": {"../a": ""}}"#] {
            write(folder.path(), LIST, text);
            assert!(List::read(folder.path()).is_err(), "{text}");
        }
    }
}
