//! Examples that need servers: copied with the addresses of running ones.

use std::path::Path;

use crate::tools::root;

/// An example with its servers, as long as this lives.
pub trait Example {
    /// Copies the example to a folder, with the addresses of the servers and their secrets.
    ///
    /// # Panics
    /// If it cannot be read or written.
    fn put_into(&self, folder: &Path);

    /// Everything that was added to the servers, one item per line.
    fn inventory(&self) -> Vec<String>;

    /// The same in the output of the servers' tools, for people.
    fn shown(&self) -> String {
        self.inventory().join("\n")
    }

    /// Where to look, one place per line.
    fn hints(&self) -> Vec<String>;
}

/// Copies an example, except hidden files and secrets: an old state there is not copied.
pub(crate) fn copy(example: &str, to: &Path, replaced: &[(&str, String)]) {
    let change = |text: String| replaced.iter().fold(text, |text, (named, real)| text.replace(named, real));
    copy_folder(&root().join("examples").join(example), to, &change);
}

fn copy_folder(from: &Path, to: &Path, change: &dyn Fn(String) -> String) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("the example") {
        let entry = entry.expect("an entry");
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') || name == "secrets" {
            continue;
        }
        let (path, target) = (entry.path(), to.join(&name));
        if path.is_dir() {
            copy_folder(&path, &target, change);
        } else {
            let text = std::fs::read_to_string(&path).expect("a text");
            std::fs::write(&target, change(text)).expect("written");
        }
    }
}

/// Writes the secrets of an example, one file each.
pub(crate) fn secrets(folder: &Path, secrets: &[(&str, &str)]) {
    let folder = folder.join("secrets");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, secret) in secrets {
        std::fs::write(folder.join(name), secret).expect("a secret");
    }
}
