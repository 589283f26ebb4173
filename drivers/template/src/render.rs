//! The templates of one call: all are parsed first, then rendered one after the other; each sees
//! the results of those before it.

use purlin_go_template::{Engine, Parsed as ParsedText, TemplateFault, yaml};
use purlin_sdk::{Failure, Faults, Inputs, Json, ManifestFile, Object, State};

use crate::inputs::TemplateInputs;
use crate::scope::{Made, Scope, within};

/// The maximum depth of a template written as a map.
const MAX_DEPTH: usize = 100;

/// All templates of the inputs, in rendering order.
pub(crate) struct Parsed(Vec<Named>);

/// The templates of one name and holder.
struct Named {
    /// The name of their results.
    name: &'static str,
    pointer: String,
    tree: Tree,
    /// Whether they read the outputs as `.outputs.values`.
    reads_values: bool,
}

/// A template: a text, or a map or list of templates. `Whole` is read as YAML after rendering.
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
                // Every output of a template under secrets is secret.
                let made = if holder == "secrets" && name == "outputs" { "secrets" } else { name };
                let root = TemplatePosition { name, pointer: &pointer, depth: 0 };
                let tree = parse(engine, template, root, &mut faults);
                let reads_values = contains(template, OUTPUT_VALUES);
                parsed.push(Named { name: made, pointer, tree, reads_values });
            }
        }
        faults.into_result()?;
        // Templates of one name are adjacent, in the order of `Templates::each`.
        let order = |name: &str| {
            ["init", "outputs", "secrets", "manifests", "cookie"].iter().position(|n| *n == name)
        };
        parsed.sort_by_key(|named| order(named.name));
        Ok(Self(parsed))
    }
}

/// How templates that were written for Humanitec read the outputs.
const OUTPUT_VALUES: &str = ".outputs.values";

/// Placeholders read the context; templates see only what inputs pass to them.
const NO_CONTEXT: &str = "a template has no `.context`: pass what it needs in `values`, such as \
                          `env: ${context.env.id}`, and read `.driver.values.env`";

fn contains(template: &Json, text: &str) -> bool {
    match template {
        Json::String(template) => template.contains(text),
        Json::Array(items) => items.iter().any(|item| contains(item, text)),
        Json::Object(entries) => entries.values().any(|item| contains(item, text)),
        _ => false,
    }
}

#[derive(Clone, Copy)]
struct TemplatePosition<'a> {
    name: &'static str,
    pointer: &'a str,
    depth: usize,
}

fn parse(engine: &Engine, template: &Json, place: TemplatePosition<'_>, faults: &mut Faults) -> Tree {
    if place.depth > MAX_DEPTH {
        faults.add(place.pointer, format!("it is nested more than {MAX_DEPTH} deep"));
        return Tree::Plain(Json::Null);
    }
    let mut below = |segment: &str, item: &Json| {
        let pointer = format!("{}{}", place.pointer, self::segment(segment));
        parse(engine, item, TemplatePosition { pointer: &pointer, depth: place.depth + 1, ..place }, faults)
    };
    match template {
        Json::Object(entries) => {
            Tree::Map(entries.iter().map(|(name, item)| (name.clone(), below(name, item))).collect())
        }
        Json::Array(items) => {
            Tree::List(items.iter().enumerate().map(|(i, item)| below(&i.to_string(), item)).collect())
        }
        Json::String(text) => match engine.parse(text) {
            Ok(parsed) if let Some(line) = parsed.reads("context") => {
                faults.add(place.pointer, format!("line {line}: {NO_CONTEXT}"));
                Tree::Plain(Json::Null)
            }
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
fn is_document(place: TemplatePosition<'_>) -> bool {
    place.depth == 0
        || place.name == "manifests" && place.depth == 1
        || place.name == "manifests" && place.depth == 2 && place.pointer.ends_with("/data")
}

/// One call.
pub(crate) struct Call<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) inputs: &'a Inputs<TemplateInputs>,
}

impl Call<'_> {
    /// Renders everything. The state marks everything that a secret touched: whole outputs as
    /// secrets, the rest as sensitive places.
    ///
    /// # Errors
    /// The first fault, because later ones may only follow from it.
    pub(crate) fn run(&self, parsed: &Parsed, mut scope: Scope, id: &str) -> Result<State, Failure> {
        let mut state = State::new(id);
        let mut places = Vec::new();
        for named in &parsed.0 {
            let Named { name, pointer, .. } = named;
            let made = self.render(named, &scope)?;
            match *name {
                "outputs" => {
                    extend(&mut state.outputs, made.json.clone(), pointer)?;
                    places.extend(made.secret.iter().cloned());
                }
                "secrets" => {
                    extend(&mut state.secrets, made.json.clone(), pointer)?;
                    if let Some(name) = state.secrets.keys().find(|name| state.outputs.contains_key(*name)) {
                        let message =
                            format!("`{name}` is an output already: a secret output needs another name");
                        return Err(Failure::input(pointer, message));
                    }
                }
                "manifests" => {
                    let (files, secret) = manifests(made.clone(), pointer)?;
                    state.manifests.extend(files);
                    state.sensitive.extend(secret);
                }
                _ => {}
            }
            scope.add(name, made);
        }
        hide(&mut state, &places);
        match scope.cookie() {
            Some(cookie) => state.cookie(&cookie),
            None => Ok(state),
        }
    }

    fn render(&self, named: &Named, scope: &Scope) -> Result<Made, Failure> {
        let Named { pointer, tree, .. } = named;
        let mut made = Made::default();
        // A template under secrets is secret, and so are all its results.
        if pointer.starts_with("/secrets/") {
            made.secret.push(String::new());
        }
        let (data, mask) = scope.data(named.reads_values);
        let with = With { engine: self.engine, data: &data, mask: &mask, sensitive: &self.inputs.sensitive };
        made.json = with.render(tree, pointer, &mut String::new(), &mut made.secret)?;
        Ok(made)
    }
}

/// The context for the templates of one name.
struct With<'a> {
    engine: &'a Engine,
    data: &'a Json,
    mask: &'a purlin_go_template::SecretMask,
    /// Places of the inputs that hold secrets: a template may be at such a place.
    sensitive: &'a [String],
}

impl With<'_> {
    /// Renders the value at a place of the inputs to a place in the result, and records which parts
    /// are secret.
    fn render(
        &self,
        tree: &Tree,
        pointer: &str,
        at: &mut String,
        secret: &mut Vec<String>,
    ) -> Result<Json, Failure> {
        let refuse = |fault: TemplateFault| Failure::input(pointer, fault.to_string());
        if self.sensitive.iter().any(|place| within(pointer, place)) {
            secret.push(at.clone());
        }
        let length = at.len();
        Ok(match tree {
            Tree::Plain(plain) => plain.clone(),
            Tree::Leaf(text) => {
                let text = self.engine.render_masked(text, self.data, self.mask).map_err(refuse)?;
                if text.is_secret() {
                    secret.push(at.clone());
                }
                Json::String(text.text().to_owned())
            }
            Tree::Whole(text) => {
                let text = self.engine.render_masked(text, self.data, self.mask).map_err(refuse)?;
                let (document, places) = text.document().map_err(refuse)?;
                secret.extend(places.into_iter().map(|place| format!("{at}{place}")));
                document
            }
            Tree::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    at.push_str(&format!("/{index}"));
                    list.push(self.render(item, &format!("{pointer}/{index}"), at, secret)?);
                    at.truncate(length);
                }
                Json::Array(list)
            }
            Tree::Map(entries) => {
                let mut map = Object::new();
                for (name, item) in entries {
                    let segment = segment(name);
                    at.push_str(&segment);
                    let made = self.render(item, &format!("{pointer}{segment}"), at, secret)?;
                    map.insert(name.clone(), made);
                    at.truncate(length);
                }
                Json::Object(map)
            }
        })
    }
}

/// A name as a segment of a pointer.
fn segment(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// An output that is secret as a whole is a secret output; for the others, the places are recorded.
fn hide(state: &mut State, places: &[String]) {
    if places.iter().any(String::is_empty) {
        // Even the names may be secret.
        if !state.outputs.is_empty() {
            state.sensitive.push("/outputs".to_owned());
        }
        return;
    }
    let names: Vec<String> = state.outputs.keys().cloned().collect();
    for name in names {
        let whole = segment(&name);
        if places.contains(&whole) {
            if let Some(value) = state.outputs.shift_remove(&name) {
                state.secrets.entry(name).or_insert(value);
            }
        } else {
            let parts = places.iter().filter(|place| within(place, &whole));
            state.sensitive.extend(parts.map(|place| format!("/outputs{place}")));
        }
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

/// Adds the result of a template; null is the same as an empty map.
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

/// The files, and their secret places.
fn manifests(made: Made, pointer: &str) -> Result<(Vec<ManifestFile>, Vec<String>), Failure> {
    let mut map = Object::new();
    extend(&mut map, made.json, pointer)?;
    let whole = made.secret.iter().any(String::is_empty);
    let mut faults = Faults::default();
    let (mut files, mut secret) = (Vec::new(), Vec::new());
    for (name, entry) in map {
        let here = segment(&name);
        let place = format!("{pointer}{here}");
        let file = match manifest(name, entry) {
            Ok(Some(file)) => file,
            Ok(None) => continue,
            Err(message) => {
                faults.add(place, message);
                continue;
            }
        };
        let data = format!("{here}/data");
        // A manifest under secrets is secret, except its name and location.
        let chosen = whole && !pointer.starts_with("/secrets/");
        if chosen || made.secret.iter().any(|at| within(at, &here) && !within(at, &data)) {
            faults.add(
                place,
                "the manifest's name or location depends on a secret, but they are not secret: remove the secret there",
            );
        }
        if whole {
            secret.push(format!("/manifests{here}"));
        }
        let parts = made
            .secret
            .iter()
            .filter_map(|at| at.strip_prefix(&data))
            .map(|at| format!("/manifests{here}{at}"));
        secret.extend(parts);
        files.push(file);
    }
    faults.into_result()?;
    Ok((files, secret))
}

/// `{location, data}`; a manifest that renders to nothing is omitted.
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
        // It may hold a secret, so it is not quoted.
        Some(Json::String(text)) => {
            yaml::parse(&text).map_err(|_| "`data` is text that is not YAML".to_owned())?
        }
        Some(data) => data,
        None => return Err("a manifest needs `data`".to_owned()),
    };
    match data {
        Json::Null => Ok(None),
        Json::Object(_) => Ok(Some(ManifestFile { name, location, data })),
        other => Err(format!("`data` has to be a map, not {}", kind(&other))),
    }
}
