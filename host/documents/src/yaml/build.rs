//! Events to trees, within budgets.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Tag};
use purlin_model::{Diagnostic, Location};

use super::fault::{control_character, merge_conflict, syntax, syntax_stops, template_without_quotes};
use super::mistake::template;
use super::{Entry, MAX_ALIASED_BYTES, MAX_ALIASED_NODES, MAX_DEPTH, Node, NodeKind, Span, Style, scalar};

/// How many broken documents of one file are reported.
const MAX_SYNTAX_FAULTS: usize = 20;
/// How many duplicates of one map are reported.
const MAX_DUPLICATES: usize = 20;

/// One non-empty document.
#[derive(Debug)]
pub(crate) struct Document<'t> {
    pub(crate) root: Node<'t>,
    /// Faults inside it that left a tree.
    pub(crate) faults: Vec<Diagnostic>,
}

/// Reads all documents of a text, and passes on each at its end, so that only one tree is held at a
/// time. Returns the faults that left no tree. A byte-order mark must be removed before.
pub(crate) fn parse<'t>(
    file: &Arc<str>,
    text: &'t str,
    each: &mut dyn FnMut(Document<'t>),
) -> Vec<Diagnostic> {
    if let Some(fault) = merge_conflict(file, text).or_else(|| control_character(file, text)) {
        return vec![fault];
    }
    // Deeper than we allow, so that our own message comes first if possible.
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH + 1,
        block_nesting_limit: MAX_DEPTH + 1,
        emit_comments: false,
    };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut builder = Builder::new(file, text);
    let mut faults = Vec::new();
    loop {
        match parser.next_event() {
            None => break,
            Some(Ok((Event::DocumentStart(..), _))) => builder.reset(),
            Some(Ok((Event::DocumentEnd, _))) => builder.finish().into_iter().for_each(&mut *each),
            Some(Ok((event, span))) => {
                if let Err(fault) = builder.event(event, convert(&span)) {
                    faults.push(*fault);
                    break;
                }
            }
            Some(Err(error)) => {
                builder.reset();
                faults.push(syntax(file, text, &error));
                let stop = syntax_stops(&error) || faults.len() >= MAX_SYNTAX_FAULTS;
                if stop || !parser.proceed_next_document().unwrap_or(false) {
                    break;
                }
            }
        }
    }
    faults
}

fn convert(span: &granit_parser::Span) -> Span {
    let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Span {
        start: narrow(span.start.byte_offset().unwrap_or(0)),
        end: narrow(span.end.byte_offset().unwrap_or(0)),
        line: narrow(span.start.line()),
        column: narrow(span.start.col() + 1),
    }
}

/// A fault that ends the reading of the file.
type Fatal = Box<Diagnostic>;

struct Builder<'a, 't> {
    file: &'a Arc<str>,
    text: &'t str,
    keys: HashSet<Arc<str>>,
    stack: Vec<Frame<'t>>,
    root: Option<Node<'t>>,
    anchors: HashMap<usize, (Node<'t>, Weight)>,
    /// The total of repeated anchors and aliases so far in this file.
    repeated: Weight,
    faults: Vec<Diagnostic>,
}

enum Frame<'t> {
    List {
        items: Vec<Node<'t>>,
        span: Span,
        anchor: usize,
    },
    Map {
        entries: Vec<Entry<'t>>,
        key: Option<(Arc<str>, Span)>,
        merges: Vec<Node<'t>>,
        span: Span,
        anchor: usize,
    },
}

/// The cost of a subtree.
#[derive(Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    bytes: usize,
    height: usize,
}

/// Replaces the key of an entry that is dropped, or merged; no key in a text can equal it.
const NO_KEY: &str = "\0";
const MERGE_KEY: &str = "\0<<";

impl<'a, 't> Builder<'a, 't> {
    fn new(file: &'a Arc<str>, text: &'t str) -> Self {
        Self {
            file,
            text,
            keys: HashSet::new(),
            stack: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            repeated: Weight::default(),
            faults: Vec::new(),
        }
    }

    fn reset(&mut self) {
        self.stack.clear();
        self.root = None;
        self.anchors.clear();
        self.faults.clear();
    }

    /// The document that has just ended, unless it is empty.
    fn finish(&mut self) -> Option<Document<'t>> {
        let faults = std::mem::take(&mut self.faults);
        let root = self.root.take()?;
        self.reset();
        (!root.is_null()).then_some(Document { root, faults })
    }

    fn at(&self, span: &Span) -> Location {
        span.location(self.file)
    }

    fn event(&mut self, event: Event<'t>, span: Span) -> Result<(), Fatal> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if anchor == 0 && self.expects_key() {
                    let plain = style == ScalarStyle::Plain;
                    self.key(&text, plain, span);
                    return Ok(());
                }
                let kind = self.scalar(text, style, tag.as_deref(), &span);
                self.complete(Node { kind, span }, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "seq", &span);
                self.open(Frame::List { items: Vec::new(), span, anchor }, &span)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "map", &span);
                let frame = Frame::Map { entries: Vec::new(), key: None, merges: Vec::new(), span, anchor };
                self.open(frame, &span)
            }
            Event::SequenceEnd => match self.stack.pop() {
                Some(Frame::List { items, span: start, anchor }) => {
                    let span = Span { end: span.end.max(start.start), ..start };
                    self.complete(Node { kind: NodeKind::List(items), span }, anchor)
                }
                _ => Ok(()),
            },
            Event::MappingEnd => match self.stack.pop() {
                Some(Frame::Map { mut entries, merges, span: start, anchor, .. }) => {
                    if self.stack.is_empty() {
                        self.no_lost_separator(&mut entries, &start);
                    }
                    self.no_duplicates(&mut entries);
                    self.merge(&mut entries, merges);
                    let span = Span { end: span.end.max(start.start), ..start };
                    self.complete(Node { kind: NodeKind::Map(entries), span }, anchor)
                }
                _ => Ok(()),
            },
            Event::Alias(id) => self.alias(id, span),
            _ => Ok(()),
        }
    }

    fn open(&mut self, frame: Frame<'t>, span: &Span) -> Result<(), Fatal> {
        self.stack.push(frame);
        if self.stack.len() > MAX_DEPTH { Err(self.too_deep(span)) } else { Ok(()) }
    }

    fn too_deep(&self, span: &Span) -> Fatal {
        Box::new(super::fault::too_deep(&self.at(span)))
    }

    fn expects_key(&self) -> bool {
        matches!(self.stack.last(), Some(Frame::Map { key: None, .. }))
    }

    fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(key) = self.keys.get(text) {
            return key.clone();
        }
        let key: Arc<str> = text.into();
        self.keys.insert(key.clone());
        key
    }

    fn key(&mut self, text: &str, plain: bool, span: Span) {
        let name = match text {
            "<<" if plain => MERGE_KEY,
            "" | "~" if plain => {
                let fault = Diagnostic::error("bad-key", "a key is missing before `:`").at(&self.at(&span));
                self.faults.push(fault.help("quote the key if it is meant to be empty: \"\""));
                NO_KEY
            }
            other => other,
        };
        let name = self.intern(name);
        if let Some(Frame::Map { key, .. }) = self.stack.last_mut() {
            *key = Some((name, span));
        }
    }

    /// Puts a completed node in its place.
    fn complete(&mut self, node: Node<'t>, anchor: usize) -> Result<(), Fatal> {
        if anchor != 0 {
            let weight = self.spend(&node)?;
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        if self.expects_key() {
            match &node.kind {
                NodeKind::String(text, style) => {
                    let plain = *style == Style::Plain;
                    self.key(text.clone().as_ref(), plain, node.span);
                }
                NodeKind::Bool(_) | NodeKind::Number(_) => {
                    let text = node.span.slice(self.text).to_owned();
                    self.key(&text, true, node.span);
                }
                _ => {
                    let start = node.span.start as usize;
                    let above =
                        self.text.get(..start).and_then(|text| text.rfind('\n')).map_or(0, |end| end + 1);
                    let line = self.text.get(above..).and_then(|rest| rest.lines().next());
                    let template = line.and_then(template).filter(|(before, _)| {
                        // The inner of the two braces begins the map that is the key.
                        *before + 2 == node.span.column as usize
                    });
                    self.faults.push(match template {
                        Some((before, value)) => {
                            let column = u32::try_from(before + 1).unwrap_or(u32::MAX);
                            let place = Location { column, ..self.at(&node.span) };
                            template_without_quotes(&place, value)
                        }
                        None => {
                            let message = format!("{} cannot be a key", node.describe());
                            Diagnostic::error("bad-key", message)
                                .at(&self.at(&node.span))
                                .help("use text as a key")
                        }
                    });
                    self.key(NO_KEY, false, node.span);
                }
            }
            return Ok(());
        }
        match self.stack.last_mut() {
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { entries, key, merges, .. }) => match key.take() {
                Some((key, _)) if &*key == NO_KEY => {}
                Some((key, _)) if &*key == MERGE_KEY => merges.push(node),
                Some((key, key_span)) => entries.push(Entry { key, key_span, value: node }),
                None => {}
            },
            None => self.root = Some(node),
        }
        Ok(())
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Fatal> {
        let Some((node, weight)) = self.anchors.get(&id) else {
            let fault = Diagnostic::error("alias-loop", "this alias refers to a value that contains it")
                .at(&self.at(&span))
                .help("an anchor ends before its aliases may begin");
            return Err(Box::new(fault));
        };
        if self.stack.len() + weight.height > MAX_DEPTH {
            return Err(self.too_deep(&span));
        }
        let node = node.clone();
        self.spend(&node)?;
        self.complete(node, 0)
    }

    /// Takes the cost of a copy of a subtree from the budget.
    fn spend(&mut self, node: &Node<'t>) -> Result<Weight, Fatal> {
        let mut weight = Weight::default();
        let limit = Weight {
            nodes: MAX_ALIASED_NODES - self.repeated.nodes.min(MAX_ALIASED_NODES),
            bytes: MAX_ALIASED_BYTES - self.repeated.bytes.min(MAX_ALIASED_BYTES),
            height: 0,
        };
        if !weigh(node, 1, &mut weight, &limit) {
            let fault = Diagnostic::error("alias-bomb", "anchors and aliases repeat too much in this file")
                .at(&self.at(&node.span))
                .fact(format!(
                    "a file may repeat {MAX_ALIASED_NODES} values and {} MiB of text",
                    MAX_ALIASED_BYTES >> 20
                ))
                .help("write fewer aliases, or aliases to smaller parts");
            return Err(Box::new(fault));
        }
        self.repeated.nodes += weight.nodes;
        self.repeated.bytes += weight.bytes;
        Ok(weight)
    }

    /// Reports two documents without `---` between them, and drops the second one: each of its keys
    /// would be a duplicate, or unknown in the first one.
    fn no_lost_separator(&mut self, entries: &mut Vec<Entry<'t>>, map: &Span) {
        /// How many keys may be above `apiVersion` in a document.
        const MOST_ABOVE: usize = 4;
        let heads = entries.iter().enumerate().filter(|(_, entry)| &*entry.key == "apiVersion");
        let mut heads = heads.map(|(index, _)| index);
        let (Some(first), Some(second)) = (heads.next(), heads.next()) else { return };
        let is_repeated = |index: &usize| {
            let key = entries.get(*index).map(|entry| &entry.key);
            entries.iter().take(*index).any(|other| Some(&other.key) == key)
        };
        let above = (0..second).rev().take(MOST_ABOVE).take_while(is_repeated);
        let start = above.last().unwrap_or(second);
        // Otherwise it is only a line that was repeated.
        let is_document = first + 1 < start && second + 1 < entries.len();
        let is_flow = self.text.as_bytes().get(map.start as usize) == Some(&b'{');
        let (Some(top), Some(entry)) = (entries.first(), entries.get(start)) else { return };
        if is_flow || !is_document {
            return;
        }
        let fault = Diagnostic::error("duplicate-key", "two documents without `---` between them")
            .at(&self.at(&entry.key_span))
            .spanning(entry.key_span.width(self.text))
            .related(&self.at(&top.key_span), "the first document begins here")
            .help(format!("insert a line `---` before line {}", entry.key_span.line));
        self.faults.push(fault);
        entries.truncate(start);
    }

    fn no_duplicates(&mut self, entries: &mut Vec<Entry<'t>>) {
        const FEW: usize = 16;
        let mut twice: Vec<(usize, usize)> = Vec::new();
        if entries.len() <= FEW {
            for (index, entry) in entries.iter().enumerate() {
                let before = entries.iter().take(index).position(|other| Arc::ptr_eq(&other.key, &entry.key));
                twice.extend(before.map(|first| (first, index)));
            }
        } else {
            let mut seen: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
            for (index, entry) in entries.iter().enumerate() {
                if let Some(first) = seen.get(&*entry.key) {
                    twice.push((*first, index));
                } else {
                    seen.insert(&entry.key, index);
                }
            }
        }
        for (first, second) in twice.iter().take(MAX_DUPLICATES) {
            let Some(first) = entries.get(*first).map(|entry| entry.key_span) else { continue };
            let Some(entry) = entries.get(*second) else { continue };
            let fault = Diagnostic::error("duplicate-key", format!("the key `{}` is given twice", entry.key))
                .at(&self.at(&entry.key_span))
                .spanning(entry.key_span.width(self.text))
                .related(&self.at(&first), "first given here")
                .help("keep one of them");
            self.faults.push(fault);
        }
        let mut index = 0;
        let mut twice = twice.into_iter().map(|(_, second)| second).peekable();
        entries.retain(|_| {
            let drop = twice.next_if_eq(&index).is_some();
            index += 1;
            !drop
        });
    }

    /// `<<: *anchor` and `<<: [*a, *b]`: explicit keys take precedence, then earlier maps.
    fn merge(&mut self, entries: &mut Vec<Entry<'t>>, merges: Vec<Node<'t>>) {
        let mut pending: Vec<Node<'t>> = merges.into_iter().rev().collect();
        while let Some(node) = pending.pop() {
            match node.kind {
                NodeKind::Map(others) => {
                    let mut seen: HashSet<Arc<str>> = entries.iter().map(|entry| entry.key.clone()).collect();
                    entries.extend(others.into_iter().filter(|other| seen.insert(other.key.clone())));
                }
                NodeKind::List(items) if items.iter().all(|item| item.entries().is_some()) => {
                    pending.extend(items.into_iter().rev());
                }
                _ => self.faults.push(
                    Diagnostic::error("bad-merge", format!("`<<` takes a map, not {}", node.describe()))
                        .at(&self.at(&node.span))
                        .help("quote the key if it is meant as text: \"<<\""),
                ),
            }
        }
    }

    fn collection_tag(&mut self, tag: Option<&Tag>, expected: &str, span: &Span) {
        let Some(tag) = tag else { return };
        if tag.core_suffix() != Some(expected) {
            self.unknown_tag(tag, span);
        }
    }

    fn unknown_tag(&mut self, tag: &Tag, span: &Span) {
        let fault =
            Diagnostic::error("unknown-tag", format!("the tag `{}` has no meaning here", tag.original()))
                .at(&self.at(span))
                .help("write the value without a tag");
        self.faults.push(fault);
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: &Span,
    ) -> NodeKind<'t> {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::Single,
            ScalarStyle::DoubleQuoted => Style::Double,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
        };
        let suffix = tag.and_then(Tag::core_suffix);
        match (tag, suffix) {
            (None, _) if style != Style::Plain => return NodeKind::String(text, style),
            (_, Some("str")) => return NodeKind::String(text, style),
            (None, _) | (_, Some("null" | "bool" | "int" | "float")) => {}
            (Some(tag), _) => {
                if tag.original() != "!" {
                    self.unknown_tag(tag, span);
                }
                return NodeKind::String(text, style);
            }
        }
        let kind = match scalar::resolve(text.clone()) {
            Ok(kind) => kind,
            Err(why) => {
                let fault = Diagnostic::error("bad-number", format!("`{text}` cannot be kept as a number"))
                    .at(&self.at(span))
                    .spanning(span.width(self.text))
                    .fact(why)
                    .help(format!("quote it if it is meant as text: \"{text}\""));
                self.faults.push(fault);
                return NodeKind::String(text, style);
            }
        };
        let fits = match suffix {
            Some("null") => matches!(kind, NodeKind::Null),
            Some("bool") => matches!(kind, NodeKind::Bool(_)),
            Some("int" | "float") => matches!(kind, NodeKind::Number(_)),
            _ => true,
        };
        if let (false, Some(suffix)) = (fits, suffix) {
            let fault =
                Diagnostic::error("wrong-tag", format!("`{text}` is not what its tag `!!{suffix}` says"));
            self.faults.push(fault.at(&self.at(span)).help("write the value without a tag"));
        }
        kind
    }
}

/// Adds up a subtree, stopping as soon as it is over the limit.
fn weigh(node: &Node<'_>, height: usize, weight: &mut Weight, limit: &Weight) -> bool {
    weight.nodes += 1;
    weight.height = weight.height.max(height);
    if weight.nodes > limit.nodes || weight.bytes > limit.bytes {
        return false;
    }
    match &node.kind {
        NodeKind::String(text, _) => {
            weight.bytes += text.len();
            weight.bytes <= limit.bytes
        }
        NodeKind::List(items) => items.iter().all(|item| weigh(item, height + 1, weight, limit)),
        NodeKind::Map(entries) => entries.iter().all(|entry| weigh(&entry.value, height + 1, weight, limit)),
        _ => true,
    }
}
