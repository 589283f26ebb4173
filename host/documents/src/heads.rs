//! The documents in a text, by kind and name: enough to find out which documents of an earlier
//! deployment still exist. Reads only the heads of documents, and reports no fault.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use purlin_model::{Diagnostic, Location};

use crate::manifest;
use crate::reader::Reader;
use crate::recognise::{Format, Recognised, recognise};
use crate::yaml::{self, Node};

/// A document in a text.
#[derive(Clone, Debug)]
pub struct DocumentHead {
    /// Its kind, for people.
    pub kind: &'static str,
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// The group of a manifest.
    pub group: Option<Arc<str>>,
    /// Its place.
    pub location: Location,
    /// Whether it declares resources, rather than how to provision them.
    pub declares_resources: bool,
}

/// Wherever it is, it is the same document.
impl PartialEq for DocumentHead {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.name, &self.group) == (other.kind, &other.name, &other.group)
    }
}

impl fmt::Display for DocumentHead {
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

/// The content of a text.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// Its documents, in order.
    pub heads: Vec<DocumentHead>,
    /// Its parts that are no documents of Purlin, in order.
    pub unread: Vec<Unread>,
}

/// A part of a text that is no document of Purlin.
#[derive(Clone, Debug)]
pub struct Unread {
    /// Its place, and the reason why it is not read.
    pub fault: Diagnostic,
    /// The part itself.
    pub text: Arc<str>,
}

impl Content {
    /// The parts that are no documents here, and were not in an earlier content: those that are
    /// neither the same as there nor edited ones from there.
    pub fn newly_unread(&self, before: &Self) -> Vec<&Unread> {
        let mut then: Vec<&Unread> = before.unread.iter().collect();
        let mut new: Vec<&Unread> = Vec::new();
        for part in &self.unread {
            match then.iter().position(|known| known.text == part.text) {
                Some(at) => drop(then.swap_remove(at)),
                None => new.push(part),
            }
        }
        for edited in then {
            let alike = |part: &&Unread| {
                part.text.lines().filter(|line| edited.text.lines().any(|known| known == *line)).count()
            };
            if let Some((at, _)) = new.iter().enumerate().max_by_key(|(_, part)| alike(part)) {
                new.remove(at);
            }
        }
        new
    }
}

/// The documents in a text, in order. A Workspace and a Lock are not included: they are the
/// operator's configuration, and declare nothing.
pub fn heads(text: &str) -> Vec<DocumentHead> {
    content("", text).heads
}

/// The documents in a text, and everything else in it. `name` is the text's name in places.
pub fn content(name: &str, text: &str) -> Content {
    let name: Arc<str> = name.into();
    let mut found = Content::default();
    yaml::parse(&name, text, &mut |document| {
        let reader = Reader::new(&name, text, false);
        let format = match recognise(&reader, &document.root) {
            Recognised::Ours(format) => format,
            Recognised::Other(fault) | Recognised::Stray(fault) | Recognised::Wrong(fault) => {
                let text = document.root.span.slice(text).trim_end().into();
                found.unread.push(Unread { fault, text });
                return;
            }
        };
        match format {
            Format::Workspace | Format::Lock => {}
            Format::Manifest => {
                let items = manifest::items(&document.root).into_iter();
                found.heads.extend(items.map(|item| manifest_of(item, &name)));
            }
            _ => found.heads.push(DocumentHead {
                kind: format.word(),
                name: name_of(&document.root),
                group: None,
                location: document.root.span.location(&name),
                declares_resources: format.declares_resources(),
            }),
        }
    });
    found
}

fn manifest_of(item: &Node<'_>, file: &Arc<str>) -> DocumentHead {
    let version = item.get("apiVersion").and_then(Node::as_str).unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let span = item.get("kind").map_or(item.span, |kind| kind.span);
    let (name, location) = (manifest::name_of(item), span.location(file));
    DocumentHead {
        kind: Format::Manifest.word(),
        name,
        group: Some(group.into()),
        location,
        declares_resources: Format::Manifest.declares_resources(),
    }
}

/// Whether a text holds a document that declares resources, rather than how to provision them.
pub fn declares_resources(text: &str) -> bool {
    heads(text).iter().any(|head| head.declares_resources)
}

fn name_of(root: &Node<'_>) -> Option<Arc<str>> {
    let metadata = root.get("metadata")?;
    let name = metadata.get("id").or_else(|| metadata.get("name"))?;
    name.as_str().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::heads;

    fn names(text: &str) -> Vec<String> {
        heads(text).iter().map(ToString::to_string).collect()
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
