//! Files and volumes of a container: maps by target path, or the older lists.

use std::cell::Cell;
use std::sync::Arc;

use purlin_expression::{Dialect, lost_placeholders, parse_text};
use purlin_model::{Diagnostic, Location, Template, Value};

use serde_json::json;

use super::pattern;
use crate::attached::{AttachedFile, FileContent, Files, base64};
use crate::declare::{Declared, Form, Kind, form};
use crate::kinds::{AnyText, Filled, Flag, Text};
use crate::reader::Reader;
use crate::template::{constant, list, map, template, without_dollar};
use crate::yaml::{Node, NodeKind};

form! {
    /// A file that is mounted.
    pub(crate) struct MountedFile {
        /// Mount path. Only in lists.
        TARGET: Filled = "target";
        /// Octal mode, such as "0600".
        MODE: Text = "mode" matching "^0?[0-7]{3}$";
        /// Path of a file with the content.
        SOURCE: Filled = "source";
        /// The content; placeholders are filled in.
        CONTENT: AnyText = "content";
        /// The content in base64.
        BINARY_CONTENT: AnyText = "binaryContent";
        /// Whether placeholders are left unchanged.
        NO_EXPAND: Flag = "noExpand" default "false";
    }

    fn constrain(schema: &mut serde_json::Value) {
        schema["properties"]["target"]["deprecated"] = true.into();
        schema["oneOf"] =
            json!([{"required": ["content"]}, {"required": ["binaryContent"]}, {"required": ["source"]}]);
    }
}

form! {
    /// A volume that is mounted.
    pub(crate) struct Volume {
        /// The volume, usually `${resources.NAME}`.
        SOURCE: AnyText = needed "source", "${resources.NAME}";
        /// Path within the volume.
        PATH: AnyText = "path";
        /// Mount path. Only in lists.
        TARGET: AnyText = "target";
        /// Whether it is read-only.
        READ_ONLY: Flag = "readOnly" default "false";
    }

    fn constrain(schema: &mut serde_json::Value) {
        schema["properties"]["target"]["deprecated"] = true.into();
    }
}

/// A map by target path, or the older list.
pub(crate) struct ByTarget<K>(std::marker::PhantomData<K>);

impl<K: Kind> Kind for ByTarget<K> {
    const FIELDS: &'static [Declared] = K::FIELDS;

    fn schema() -> serde_json::Value {
        let item = K::schema();
        json!({
            "oneOf": [
                {
                    "type": "object",
                    "additionalProperties": {"allOf": [{"properties": {"target": false}}, item]},
                },
                {"type": "array", "deprecated": true, "items": item},
            ],
        })
    }
}

/// One file or one volume: validated, and with its placeholders parsed.
type Item = fn(&mut Reader<'_>, &Node<'_>) -> Template;

/// `files`
pub(super) fn files(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    map_or_list(reader, node, "files", file)
}

/// `volumes`
pub(super) fn volumes(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    map_or_list(reader, node, "volumes", volume)
}

fn map_or_list(reader: &mut Reader<'_>, node: &Node<'_>, name: &str, item: Item) -> Template {
    match &node.kind {
        NodeKind::List(items) => {
            let warning = Diagnostic::warning("deprecated", format!("`{name}` as a list is deprecated"))
                .at(&reader.at(&node.span))
                .help("write a map from target paths");
            reader.report(warning);
            list(items.iter().map(|node| item(reader, node)).collect())
        }
        NodeKind::Map(entries) => {
            let mut items = Vec::with_capacity(entries.len());
            for entry in entries {
                let target =
                    entry.value.entries().and_then(|fields| fields.iter().find(|f| &*f.key == "target"));
                if let Some(target) = target {
                    let message = format!("`target` is given twice: `{}` is the target here", entry.key);
                    reader.wrong_value(&target.key_span, message, "leave `target` out");
                }
                items.push((entry.key.clone(), item(reader, &entry.value)));
            }
            map(items.into_iter())
        }
        _ => {
            reader.wrong_type(node, &format!("`{name}`"), "a map from target paths");
            Template::default()
        }
    }
}

fn file(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    let Some(file) = MountedFile::open(reader, node, "a file") else { return Template::default() };
    file.read(reader, MountedFile::TARGET);
    if let Some(node) = file.node(MountedFile::MODE)
        && let Some(mode) = reader.string(node, "`mode`")
        && !pattern::mode(mode)
    {
        reader.wrong_value(
            &node.span,
            format!("`{mode}` is not a file mode"),
            "write octal digits in quotes: \"0600\"",
        );
    }
    let (source, content) = (file.node(MountedFile::SOURCE), file.node(MountedFile::CONTENT));
    let binary = file.node(MountedFile::BINARY_CONTENT);
    let plain = file.read(reader, MountedFile::NO_EXPAND);
    file.read(reader, MountedFile::SOURCE);
    file.read(reader, MountedFile::CONTENT);
    file.read(reader, MountedFile::BINARY_CONTENT);
    let given = [source, content, binary].iter().flatten().count();
    if given != 1 {
        let message = match given {
            0 => "the file has no content",
            _ => "the file has more than one content",
        };
        reader.wrong_value(&node.span, message, "give one of `content`, `binaryContent` and `source`");
    }
    let plain = plain == Some(true);
    let read = match (source, given) {
        (Some(source), 1) => content_of(reader, source, plain),
        _ => None,
    };
    let expanded: &[&str] = if plain { &[] } else { &["content"] };
    let Some(content) = read else { return expand(reader, node, expanded) };
    let mut content = Some(content);
    map(node.entries().unwrap_or_default().iter().filter_map(|entry| match &*entry.key {
        "source" => content.take().map(|(name, content)| (Arc::from(name), content)),
        _ => Some((entry.key.clone(), Template::Constant(constant(&entry.value)))),
    }))
}

/// The content of the file at `source`, as the field that it would be in the document: `content`
/// with its placeholders parsed, or `binaryContent`. None if files are not read.
fn content_of(reader: &mut Reader<'_>, source: &Node<'_>, plain: bool) -> Option<(&'static str, Template)> {
    let path = source.as_str().filter(|path| !path.is_empty())?;
    if matches!(reader.files, Files::Unread) {
        return None;
    }
    if path.contains("${") {
        let help = "write the path itself, or the text as `content`";
        reader.wrong_value(&source.span, "`source` takes no placeholder: the file is read first", help);
        return None;
    }
    let name = reader.files.name(path);
    let content = match reader.files.read(path) {
        Ok(content) => content?,
        Err(unread) => {
            let fault = reader.about(&source.span, unread.code, unread.message).help(unread.help);
            reader.report(fault);
            return None;
        }
    };
    let template = match &content {
        FileContent::Bytes(bytes) => ("binaryContent", Template::Constant(Value::string(base64(bytes)))),
        FileContent::Text(text) if plain => ("content", Template::Constant(Value::string(&**text))),
        FileContent::Text(text) => {
            let places = Places { file: &name, text, at: Cell::new((0, 1, 1)) };
            for (part, correct) in lost_placeholders(text, Dialect::Score) {
                let written = text.get(part.clone()).unwrap_or_default();
                reader.report(without_dollar(written, &correct, &places.locate(part.start)));
            }
            match parse_text(text, Dialect::Score, &|offset| places.locate(offset)) {
                Ok(template) => ("content", template.as_text()),
                Err(faults) => {
                    let here = reader.at(&source.span);
                    let faults = faults.into_iter();
                    reader.faults.extend(faults.map(|fault| fault.related(&here, "the file is used here")));
                    ("content", Template::default())
                }
            }
        }
    };
    let path = Arc::from(path);
    if !reader.attached.iter().any(|file| file.path == path) {
        reader.attached.push(AttachedFile { path, content });
    }
    Some(template)
}

/// The places of bytes in a file. Querying ascending offsets takes one pass in total.
struct Places<'a> {
    file: &'a Arc<str>,
    text: &'a str,
    /// An offset, and the line and column of its byte.
    at: Cell<(usize, u32, u32)>,
}

impl Places<'_> {
    fn locate(&self, offset: usize) -> Location {
        let (mut from, mut line, mut column) = self.at.get();
        if offset < from {
            (from, line, column) = (0, 1, 1);
        }
        for c in self.text.get(from..offset).unwrap_or_default().chars() {
            (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
        }
        self.at.set((offset, line, column));
        Location::new(self.file.clone(), line, column)
    }
}

fn volume(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    let Some(volume) = Volume::open(reader, node, "a volume") else { return Template::default() };
    volume.read(reader, Volume::SOURCE);
    volume.read(reader, Volume::PATH);
    volume.read(reader, Volume::TARGET);
    volume.read(reader, Volume::READ_ONLY);
    expand(reader, node, &["source", "path"])
}

/// A map in which only some fields hold placeholders. All of these are texts.
pub(super) fn expand(reader: &mut Reader<'_>, node: &Node<'_>, fields: &[&str]) -> Template {
    let entries = node.entries().unwrap_or_default();
    map(entries.iter().map(|entry| {
        let value = if fields.contains(&&*entry.key) {
            template(reader, &entry.value, Dialect::Score).as_text()
        } else {
            Template::Constant(constant(&entry.value))
        };
        (entry.key.clone(), value)
    }))
}
