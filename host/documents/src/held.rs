//! The documents in a text, by kind and name: enough to find out which documents of an earlier
//! deployment still exist. Reads only the heads of documents, and reports no fault.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::manifest;
use crate::reader::Reader;
use crate::recognise::{Format, Recognised, recognise};
use crate::yaml::{self, Node};

/// A document in a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// Its kind, for people.
    pub kind: &'static str,
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} `{}`", self.kind, name.escape_debug()),
            None => f.write_str(self.kind),
        }
    }
}

/// The source of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// A folder that was walked.
    Folder(PathBuf),
    /// A file that was named.
    File(PathBuf),
    /// A text that the caller had already read.
    Text(Arc<str>),
}

/// The documents in a text, in order. A Workspace and a Lock are not included: they are the
/// operator's configuration, and declare nothing.
pub fn held(text: &str) -> Vec<Held> {
    let name: Arc<str> = "".into();
    let mut found = Vec::new();
    yaml::parse(&name, text, &mut |document| {
        let reader = Reader::new(&name, text, false);
        let Recognised::Ours(format) = recognise(&reader, &document.root) else { return };
        if format == Format::Manifest {
            found.extend(
                manifest::items(&document.root)
                    .into_iter()
                    .map(|item| Held { kind: "manifest", name: manifest::name_of(item) }),
            );
            return;
        }
        let kind = match format {
            Format::Definition { .. } => "Definition",
            Format::Score => "Score file",
            Format::Deployment => "Deployment",
            Format::DeploymentSet => "Deployment Set",
            Format::ResourceType => "ResourceType",
            Format::Bundle(_) => "Bundle",
            Format::Workspace | Format::Lock | Format::Manifest => return,
        };
        found.push(Held { kind, name: name_of(&document.root) });
    });
    found
}

/// Whether a text holds a document that declares resources, rather than how to provision them.
pub(crate) fn declares_resources(text: &str) -> bool {
    let is_declaration =
        |held: &Held| matches!(held.kind, "manifest" | "Score file" | "Deployment" | "Deployment Set");
    held(text).iter().any(is_declaration)
}

fn name_of(root: &Node<'_>) -> Option<Arc<str>> {
    let metadata = root.get("metadata")?;
    let name = metadata.get("id").or_else(|| metadata.get("name"))?;
    name.as_str().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::held;

    fn names(text: &str) -> Vec<String> {
        held(text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn documents_are_known_by_kind_and_name() {
        let definition = "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: dns}\n";
        let score = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\n";
        let workspace = "apiVersion: purlin.dev/v1\nkind: Workspace\n";
        let all = format!("{definition}---\n{score}---\n{workspace}---\nmodules: {{a: {{}}}}\n");
        assert_eq!(names(&all), ["Definition `dns`", "Score file `web`", "Deployment Set"]);
        let manifest = |name: &str| format!("{{apiVersion: example.org/v1, kind: A, metadata: {name}}}");
        let (one, other) = (manifest("{name: b}"), manifest("{name: c, namespace: n}"));
        let list = format!("{one}\n---\napiVersion: v1\nkind: List\nitems: [{other}]\n");
        assert_eq!(names(&list), ["manifest `A b`", "manifest `A n/c`"]);
    }

    #[test]
    fn texts_without_documents_yield_nothing() {
        for text in [
            "",
            "# a comment\n",
            "---\n---\n",
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "{\"a\": 1}",
            "apiVersion: example.org/v1\nkind: A\nmetadata: {generateName: b}\n",
            "a: [",
        ] {
            assert_eq!(names(text), Vec::<String>::new(), "{text:?}");
        }
    }
}
