//! A usable schema: bounded, self-contained, with compiled patterns.

use std::collections::{HashMap, HashSet};

use regex::{Regex, RegexBuilder};
use serde_json::Value as Json;

use crate::bounds;
use crate::meta::{self, Describes};

/// The maximum memory of a compiled pattern.
const PATTERN_SIZE: usize = 1 << 20;
/// The maximum number of patterns of a schema.
const MOST_PATTERNS: usize = 1_000;

/// A usable JSON Schema.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) root: Json,
    pub(crate) patterns: HashMap<String, Regex>,
    pub(crate) anchors: HashMap<String, String>,
    /// Whether it uses a keyword about entries that other keywords have left unevaluated.
    pub(crate) unevaluated: bool,
    /// Whether it marks anything as secret.
    pub(crate) secrets: bool,
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unusable {
    /// JSON Pointer into the schema.
    pub pointer: String,
    /// The fault, as a fragment.
    pub reason: String,
}

impl Unusable {
    /// The fault with its place, as a fragment.
    pub fn placed(&self) -> String {
        match &*self.pointer {
            "" => self.reason.clone(),
            pointer => format!("at `{pointer}`, {}", self.reason),
        }
    }
}

/// Keywords with one schema, by their subject.
pub(crate) const ONE: [&str; 10] = [
    "additionalProperties",
    "items",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
];
/// Keywords with a list of schemas.
pub(crate) const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords with a map of schemas.
pub(crate) const MAPS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Of those, the keywords whose schemas apply to the same value.
pub(crate) const SAME_VALUE: [&str; 8] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`Unusable`] if it is too large, is not a JSON Schema of 2020-12, has a reference to
    /// something outside itself or an endless one, or has an unusable pattern.
    pub fn new(root: &Json) -> Result<Self, Unusable> {
        Self::compiled(root, None)
    }

    /// Compiles a schema of a driver, which may have keywords of Purlin.
    ///
    /// # Errors
    /// As for [`Self::new`]; also if it has a keyword `x-purlin-…` that this version does not know, that
    /// belongs elsewhere, or whose value the meta-schema rejects.
    pub fn of_driver(root: &Json, describes: Describes) -> Result<Self, Unusable> {
        Self::compiled(root, Some(describes))
    }

    fn compiled(root: &Json, describes: Option<Describes>) -> Result<Self, Unusable> {
        if let Some(reason) = bounds::exceeded(root) {
            return Err(Unusable { pointer: String::new(), reason: reason.to_owned() });
        }
        meta::validate(root)?;
        Self::walked(root, describes)
    }

    /// The same, of a schema that is valid.
    pub(crate) fn walked(root: &Json, describes: Option<Describes>) -> Result<Self, Unusable> {
        let mut schema = Self {
            root: root.clone(),
            patterns: HashMap::new(),
            anchors: HashMap::new(),
            unevaluated: false,
            secrets: false,
        };
        schema.walk(describes)?;
        Ok(schema)
    }

    fn walk(&mut self, describes: Option<Describes>) -> Result<(), Unusable> {
        let root = std::mem::take(&mut self.root);
        let result = self.walk_from(&root, describes);
        self.root = root;
        result
    }

    fn walk_from(&mut self, root: &Json, describes: Option<Describes>) -> Result<(), Unusable> {
        let mut open = vec![String::new()];
        let mut seen = HashSet::new();
        let mut edges: HashMap<String, Vec<String>> = HashMap::new();
        let mut references = Vec::new();
        loop {
            while let Some(at) = open.pop() {
                if !seen.insert(at.clone()) {
                    continue;
                }
                let Some(Json::Object(rules)) = root.pointer(&at) else { continue };
                for (keyword, rule) in rules {
                    let place = format!("{at}/{}", escaped(keyword));
                    let unusable = |reason: String| Unusable { pointer: place.clone(), reason };
                    let mut below = Vec::new();
                    match (keyword.as_str(), rule) {
                        ("$ref", Json::String(target)) => references.push((at.clone(), target.clone())),
                        ("$dynamicRef" | "$recursiveRef", _) => {
                            return Err(unusable(format!("`{keyword}` is not supported; use `$ref`")));
                        }
                        ("$id", _) if !at.is_empty() => {
                            return Err(unusable("`$id` below the top is not supported".to_owned()));
                        }
                        ("$anchor", Json::String(name)) => {
                            self.anchors.insert(name.clone(), at.clone());
                        }
                        ("pattern", Json::String(pattern)) => self.pattern(pattern).map_err(unusable)?,
                        ("writeOnly" | "x-secret", Json::Bool(true)) => self.secrets = true,
                        (one, Json::Object(_) | Json::Bool(_)) if ONE.contains(&one) => {
                            self.unevaluated |= one.starts_with("unevaluated");
                            below.push(place.clone());
                        }
                        (list, Json::Array(items)) if LISTS.contains(&list) => {
                            below.extend((0..items.len()).map(|index| format!("{place}/{index}")));
                        }
                        (map, Json::Object(items)) if MAPS.contains(&map) => {
                            for name in items.keys() {
                                if map == "patternProperties" {
                                    self.pattern(name).map_err(unusable)?;
                                }
                                below.push(format!("{place}/{}", escaped(name)));
                            }
                        }
                        (other, _) => {
                            if let Some(reason) = meta::fault(describes, other, &at) {
                                return Err(unusable(reason));
                            }
                        }
                    }
                    if SAME_VALUE.contains(&keyword.as_str()) {
                        edges.entry(at.clone()).or_default().extend(below.iter().cloned());
                    }
                    open.extend(below);
                }
            }
            // Anchors are known once everything was visited; their targets may be new.
            for (at, target) in std::mem::take(&mut references) {
                let found = self.target(root, &target).ok_or_else(|| Unusable {
                    pointer: format!("{at}/$ref"),
                    reason: format!("`{target}` is not in this schema, and nothing else is fetched"),
                })?;
                open.push(found.clone());
                edges.entry(at).or_default().push(found);
            }
            if open.iter().all(|at| seen.contains(at)) {
                break;
            }
        }
        match endless(&edges) {
            Some(pointer) => Err(Unusable { pointer, reason: "it refers to itself without end".to_owned() }),
            None => Ok(()),
        }
    }

    fn pattern(&mut self, pattern: &str) -> Result<(), String> {
        if self.patterns.contains_key(pattern) {
            return Ok(());
        }
        if self.patterns.len() == MOST_PATTERNS {
            return Err(format!("it has more than {MOST_PATTERNS} patterns"));
        }
        let shown: String = pattern.chars().take(60).collect();
        let built = RegexBuilder::new(&in_our_syntax(pattern))
            .size_limit(PATTERN_SIZE)
            .dfa_size_limit(PATTERN_SIZE)
            .nest_limit(64)
            .build();
        match built {
            Ok(regex) => {
                self.patterns.insert(pattern.to_owned(), regex);
                Ok(())
            }
            Err(regex::Error::CompiledTooBig(_)) => Err(format!("the pattern `{shown}` is too large")),
            Err(_) if pattern.contains("(?") || pattern.contains("\\1") => Err(format!(
                "the pattern `{shown}` cannot be used; patterns have no look-around and no back references"
            )),
            Err(_) => Err(format!("the pattern `{shown}` is not a valid regular expression")),
        }
    }

    fn target(&self, root: &Json, reference: &str) -> Option<String> {
        let fragment = reference.strip_prefix('#')?;
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            unescaped_percent(fragment)?
        } else {
            self.anchors.get(fragment)?.clone()
        };
        root.pointer(&pointer).filter(|found| found.is_object() || found.is_boolean())?;
        Some(pointer)
    }

    /// The target of a reference, with its JSON Pointer.
    pub(crate) fn follow(&self, reference: &str) -> Option<(String, &Json)> {
        let pointer = self.target(&self.root, reference)?;
        let found = self.root.pointer(&pointer)?;
        Some((pointer, found))
    }

    /// Whether it marks anything as secret.
    pub fn has_secrets(&self) -> bool {
        self.secrets
    }
}

/// A schema that refers to itself without a step into the value.
fn endless(edges: &HashMap<String, Vec<String>>) -> Option<String> {
    let mut done: HashSet<&str> = HashSet::new();
    for start in edges.keys() {
        if done.contains(start.as_str()) {
            continue;
        }
        let mut way: Vec<(&str, usize)> = vec![(start.as_str(), 0)];
        let mut on_way: HashSet<&str> = HashSet::from([start.as_str()]);
        while let Some((at, next)) = way.last_mut() {
            let target = edges.get(*at).and_then(|all| all.get(*next));
            *next += 1;
            match target {
                Some(target) if on_way.contains(target.as_str()) => return Some(target.clone()),
                Some(target) if done.contains(target.as_str()) => {}
                Some(target) => {
                    on_way.insert(target);
                    way.push((target.as_str(), 0));
                }
                None => {
                    let at = *at;
                    way.pop();
                    on_way.remove(at);
                    done.insert(at);
                }
            }
        }
    }
    None
}

/// A pattern of ECMA-262 in the syntax of the engine: in ECMA-262, `\d` and `\w` are ASCII only.
fn in_our_syntax(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    let mut class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match (chars.next(), class) {
                (Some('d'), true) => out.push_str("0-9"),
                (Some('d'), false) => out.push_str("[0-9]"),
                (Some('w'), true) => out.push_str("A-Za-z0-9_"),
                (Some('w'), false) => out.push_str("[A-Za-z0-9_]"),
                (Some('D'), false) => out.push_str("[^0-9]"),
                (Some('W'), false) => out.push_str("[^A-Za-z0-9_]"),
                (Some(other), _) => {
                    out.push('\\');
                    out.push(other);
                }
                (None, _) => out.push('\\'),
            },
            '[' if class => out.push_str("\\["),
            '[' => {
                class = true;
                out.push('[');
            }
            ']' => {
                class = false;
                out.push(']');
            }
            // ECMA-262 has no set operations.
            '&' | '~' if class => {
                out.push('\\');
                out.push(c);
            }
            other => out.push(other),
        }
    }
    out
}

/// A segment of a JSON Pointer.
pub(crate) fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

fn unescaped_percent(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}
