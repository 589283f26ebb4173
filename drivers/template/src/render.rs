//! The templates of one call: parsed all at once, then rendered one after the other, each seeing
//! what those before it made.

use purlin_go_template::{Engine, Fault, Parsed as ParsedText, yaml};
use purlin_sdk::{Failure, Faults, Json, ManifestFile, Object, State};
use serde_json::json;

use crate::inputs::TemplateInputs;
use crate::workload;

/// How deep a template written as a map may be.
const MAX_DEPTH: usize = 100;

/// All templates of the inputs, in the order in which they are rendered.
pub(crate) struct Parsed(Vec<(&'static str, String, Tree)>);

/// A template: a text, or a map or list of templates. `Whole` is read as YAML once rendered.
enum Tree {
    Whole(ParsedText),
    Leaf(ParsedText),
    Plain(Json),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Parsed {
    /// Parses every template.
    ///
    /// # Errors
    /// Every fault of every template.
    pub(crate) fn new(engine: &Engine, inputs: &TemplateInputs) -> Result<Self, Failure> {
        let mut faults = Faults::default();
        let mut parsed = Vec::new();
        let holders = [("values", &inputs.values.templates), ("secrets", &inputs.secrets.templates)];
        for (holder, templates) in holders {
            for (name, template) in templates.each() {
                let pointer = format!("/{holder}/templates/{name}");
                // All that templates among the secrets make as outputs is secret.
                let made = if holder == "secrets" && name == "outputs" { "secrets" } else { name };
                let tree = parse(engine, template, Place { name, pointer: &pointer, depth: 0 }, &mut faults);
                parsed.push((made, pointer, tree));
            }
        }
        faults.into_result()?;
        // Templates of one name stand together, in the order of `Templates::each`.
        let order = |name: &str| {
            ["init", "outputs", "secrets", "manifests", "cookie"].iter().position(|n| *n == name)
        };
        parsed.sort_by_key(|(name, ..)| order(name));
        Ok(Self(parsed))
    }
}

#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'static str,
    pointer: &'a str,
    depth: usize,
}

fn parse(engine: &Engine, template: &Json, place: Place<'_>, faults: &mut Faults) -> Tree {
    if place.depth > MAX_DEPTH {
        faults.add(place.pointer, format!("it is nested more than {MAX_DEPTH} deep"));
        return Tree::Plain(Json::Null);
    }
    let mut below = |segment: &str, item: &Json| {
        let pointer = format!("{}/{}", place.pointer, segment.replace('~', "~0").replace('/', "~1"));
        parse(engine, item, Place { pointer: &pointer, depth: place.depth + 1, ..place }, faults)
    };
    match template {
        Json::Object(entries) => {
            Tree::Map(entries.iter().map(|(name, item)| (name.clone(), below(name, item))).collect())
        }
        Json::Array(items) => {
            Tree::List(items.iter().enumerate().map(|(i, item)| below(&i.to_string(), item)).collect())
        }
        Json::String(text) => match engine.parse(text) {
            Ok(parsed) if is_document(place) => Tree::Whole(parsed),
            Ok(parsed) => Tree::Leaf(parsed),
            Err(all) => {
                for fault in all {
                    faults.add(place.pointer, fault.to_string());
                }
                Tree::Plain(Json::Null)
            }
        },
        plain => Tree::Plain(plain.clone()),
    }
}

/// Whether a text is a YAML document: a whole template, and a manifest's `data`.
fn is_document(place: Place<'_>) -> bool {
    place.depth == 0
        || place.name == "manifests" && place.depth == 1
        || place.name == "manifests" && place.depth == 2 && place.pointer.ends_with("/data")
}

/// One call.
pub(crate) struct Call<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) guresid: &'a str,
    pub(crate) inputs: &'a TemplateInputs,
    /// What the last call left, `null` without one.
    pub(crate) cookie: Json,
}

impl Call<'_> {
    /// Renders everything.
    ///
    /// # Errors
    /// The first fault: those after it may only follow from it.
    pub(crate) fn run(&self, parsed: &Parsed, id: &str) -> Result<State, Failure> {
        let mut data = self.data();
        let mut state = State::new(id);
        let mut cookie = self.cookie.clone();
        for (name, pointer, tree) in &parsed.0 {
            let made = self.render(tree, &data, pointer)?;
            match *name {
                "outputs" => extend(&mut state.outputs, made.clone(), pointer)?,
                "secrets" => extend(&mut state.secrets, made.clone(), pointer)?,
                "manifests" => state.manifests.extend(manifests(made.clone(), pointer)?),
                "cookie" => cookie = made.clone(),
                _ => {}
            }
            if *name != "cookie" {
                merge(data.entry(*name).or_insert(Json::Null), made);
            }
        }
        if !cookie.is_null() {
            state = state.cookie(&cookie)?;
        }
        Ok(state)
    }

    fn data(&self) -> Object {
        let TemplateInputs { values, secrets, params } = self.inputs;
        let mut data = Object::new();
        let driver = json!({"values": values.rest, "secrets": secrets.rest});
        data.insert("driver".to_owned(), driver);
        data.insert("resource".to_owned(), Json::Object(workload::familiar(params.clone())));
        data.insert("cookie".to_owned(), self.cookie.clone());
        data.insert("id".to_owned(), self.guresid.into());
        data.insert("guresid".to_owned(), self.guresid.into());
        data
    }

    fn render(&self, tree: &Tree, data: &Object, pointer: &str) -> Result<Json, Failure> {
        // Rendering wants the data as one value; it is put back at the end.
        let whole = Json::Object(data.clone());
        self.render_with(tree, &whole, pointer)
    }

    fn render_with(&self, tree: &Tree, data: &Json, pointer: &str) -> Result<Json, Failure> {
        let refuse = |fault: Fault| Failure::input(pointer, fault.to_string());
        let below = |segment: &str| format!("{pointer}/{}", segment.replace('~', "~0").replace('/', "~1"));
        Ok(match tree {
            Tree::Plain(plain) => plain.clone(),
            Tree::Leaf(text) => Json::String(self.engine.render(text, data).map_err(refuse)?),
            Tree::Whole(text) => {
                let text = self.engine.render(text, data).map_err(refuse)?;
                yaml::parse(&text).map_err(refuse)?
            }
            Tree::List(items) => {
                let each = items.iter().enumerate();
                let each = each.map(|(i, item)| self.render_with(item, data, &below(&i.to_string())));
                Json::Array(each.collect::<Result<_, _>>()?)
            }
            Tree::Map(entries) => {
                let mut map = Object::new();
                for (name, item) in entries {
                    map.insert(name.clone(), self.render_with(item, data, &below(name))?);
                }
                Json::Object(map)
            }
        })
    }
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "nothing",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a map",
    }
}

/// Adds what a template made; nothing is as good as an empty map.
fn extend(map: &mut Object, made: Json, pointer: &str) -> Result<(), Failure> {
    match made {
        Json::Object(entries) => map.extend(entries),
        Json::Null => {}
        other => {
            return Err(Failure::input(pointer, format!("it has to render a map, not {}", kind(&other))));
        }
    }
    Ok(())
}

fn merge(there: &mut Json, more: Json) {
    match (there, more) {
        (Json::Object(there), Json::Object(more)) => there.extend(more),
        (there, more) => *there = more,
    }
}

fn manifests(made: Json, pointer: &str) -> Result<Vec<ManifestFile>, Failure> {
    let mut map = Object::new();
    extend(&mut map, made, pointer)?;
    let mut faults = Faults::default();
    let mut files = Vec::new();
    for (name, entry) in map {
        let place = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        match manifest(name, entry) {
            Ok(Some(file)) => files.push(file),
            Ok(None) => {}
            Err(message) => faults.add(place, message),
        }
    }
    faults.into_result()?;
    Ok(files)
}

/// `{location, data}`; a manifest that renders to nothing is left out.
fn manifest(name: String, entry: Json) -> Result<Option<ManifestFile>, String> {
    let mut entry = match entry {
        Json::Null => return Ok(None),
        Json::Object(entry) => entry,
        other => return Err(format!("a manifest is a map with `location` and `data`, not {}", kind(&other))),
    };
    let location = match entry.remove("location") {
        Some(Json::String(location)) => location,
        _ => {
            return Err(
                "a manifest needs a `location`, such as `namespace`, `cluster` or `volumes`".to_owned()
            );
        }
    };
    let data = match entry.remove("data") {
        Some(Json::String(text)) => yaml::parse(&text).map_err(|fault| fault.to_string())?,
        Some(data) => data,
        None => return Err("a manifest needs `data`".to_owned()),
    };
    match data {
        Json::Null => Ok(None),
        Json::Object(_) => Ok(Some(ManifestFile { name, location, data })),
        other => Err(format!("`data` has to be a map, not {}", kind(&other))),
    }
}
