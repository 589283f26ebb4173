//! Finds manifests and their references from the lines of their files alone, independently of
//! Purlin, so that tests can compare the results. It understands only the style of the corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;

pub(crate) type Labels = BTreeMap<String, String>;

/// The texts of files by name.
pub(crate) type Texts = BTreeMap<String, String>;

/// A file, and a line counted from 1.
pub(crate) type FileLine = (String, u64);

pub(crate) struct Manifest {
    pub(crate) file: String,
    /// The first and the last line.
    pub(crate) lines: RangeInclusive<usize>,
    /// The line of `metadata.name`.
    pub(crate) named_at: u64,
    /// The group, the kind, and the name. No two manifests have the same.
    pub(crate) identity: (String, String, Name),
    labels: Labels,
    pub(crate) references: Vec<Reference>,
    /// The name in `spec.providerConfigRef`.
    provider: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

pub(crate) struct Reference {
    pub(crate) line: u64,
    /// The kind that the name of the field asks for, in lower case: `vpcIdRef` a `vpc`.
    kind: String,
    meant: Meant,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Meant {
    Named(Name),
    Labelled(Labels),
}

/// The targets of the references of a set of manifests, as numbers of manifests.
#[derive(Default)]
pub(crate) struct Outcomes {
    /// From the referring manifest to its target.
    pub(crate) edges: BTreeSet<(usize, usize)>,
    /// The number of references that the edges represent.
    pub(crate) resolved: usize,
    /// References without a target: the manifest, the place, and the wanted target.
    pub(crate) missing: Vec<(usize, FileLine, Meant)>,
    pub(crate) ambiguous: BTreeSet<FileLine>,
}

/// A line `key: value`, with the keys above it.
struct Field {
    line: usize,
    column: usize,
    path: Vec<String>,
    value: String,
    /// Whether it is the first field of a list item.
    is_item: bool,
}

impl Field {
    fn is(&self, path: &str) -> bool {
        self.path.join(".") == path
    }
}

/// The files of a folder: their texts by relative path.
pub(crate) fn texts(root: &Path) -> Texts {
    let mut texts = Texts::new();
    walk(root, root, &mut texts);
    texts
}

fn walk(root: &Path, folder: &Path, texts: &mut Texts) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            walk(root, &path, texts);
        } else {
            let name = path.strip_prefix(root).expect("a file in the folder").display().to_string();
            texts.insert(name, std::fs::read_to_string(path).expect("text"));
        }
    }
}

/// The manifests in these files.
pub(crate) fn manifests(texts: &Texts) -> Vec<Manifest> {
    texts.iter().flat_map(|(name, text)| file(name, text)).collect()
}

fn file(name: &str, text: &str) -> Vec<Manifest> {
    let lines: Vec<(usize, &str)> = (1..).zip(text.lines()).collect();
    let documents = lines.split(|(_, line)| line.starts_with("---"));
    documents.filter_map(|lines| manifest(name, lines)).collect()
}

fn manifest(file: &str, lines: &[(usize, &str)]) -> Option<Manifest> {
    let fields = fields(lines);
    let find = |path: &str| fields.iter().find(|field| field.is(path));
    let text = |path: &str| find(path).map(|field| field.value.clone());
    let version = text("apiVersion")?;
    let named = find("metadata.name").expect("a name");
    let below = |field: &&Field, above: &str| field.path.join(".").starts_with(above);
    let labels = fields.iter().filter(|field| below(field, "metadata.labels."));
    Some(Manifest {
        file: file.to_owned(),
        lines: lines.first()?.0..=lines.last()?.0,
        named_at: named.line as u64,
        identity: (
            version.rsplit_once('/').map_or("", |(group, _)| group).to_owned(),
            text("kind").expect("a kind"),
            Name { namespace: text("metadata.namespace"), name: named.value.clone() },
        ),
        labels: labels.map(entry).collect(),
        references: references(&fields, text("metadata.namespace").as_ref()),
        provider: text("spec.providerConfigRef.name"),
    })
}

fn entry(field: &Field) -> (String, String) {
    (field.path.last().expect("a key").clone(), field.value.clone())
}

fn fields(lines: &[(usize, &str)]) -> Vec<Field> {
    let (mut fields, mut above): (Vec<Field>, Vec<(usize, String)>) = (Vec::new(), Vec::new());
    let mut literal = None;
    for (number, line) in lines {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if content.is_empty() || content.starts_with('#') || literal.is_some_and(|key| indent > key) {
            continue;
        }
        literal = None;
        let rest = content.trim_start_matches("- ").trim_start();
        let column = line.len() - rest.len();
        let Some((key, value)) = rest.split_once(':') else { continue };
        let is_key = key.chars().all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c));
        if !is_key || !(value.is_empty() || value.starts_with(' ')) {
            continue;
        }
        above.retain(|(at, _)| *at < column);
        above.push((column, key.to_owned()));
        let value = value.split(" #").next().unwrap_or(value).trim();
        if value.starts_with(['|', '>']) {
            literal = Some(column);
        }
        let path = above.iter().map(|(_, key)| key.clone()).collect();
        let value = value.trim_matches(['"', '\'']).to_owned();
        fields.push(Field { line: *number, column, path, value, is_item: column > indent });
    }
    fields
}

fn references(fields: &[Field], namespace: Option<&String>) -> Vec<Reference> {
    let mut found = Vec::new();
    for (number, field) in fields.iter().enumerate() {
        let below = fields[number + 1..].iter().take_while(|other| other.column > field.column);
        let below: Vec<&Field> = below.collect();
        let key = field.path.last().expect("a key");
        let keys: BTreeSet<&str> = below
            .iter()
            .filter(|other| other.path.len() == field.path.len() + 1)
            .map(|other| other.path.last().expect("a key").as_str())
            .collect();
        if !field.path.join(".").starts_with("spec.forProvider.") || keys.is_empty() {
            continue;
        }
        assert!(!keys.contains("policy"), "this scan knows no policies");
        let of = |name: &str| below.iter().find(|other| other.path.last().is_some_and(|key| key == name));
        if key.ends_with("Refs") {
            assert_eq!(keys, BTreeSet::from(["name"]), "{}", field.line);
            // One of the files has a map instead of a list. That is a param, not a reference.
            found.extend(below.iter().filter(|name| name.is_item).map(|name| named(key, name, namespace)));
        } else if key.ends_with("Ref") && keys.iter().all(|key| ["name", "namespace"].contains(key)) {
            let own = of("namespace").map(|field| &field.value);
            found.push(named(key, of("name").expect("a name"), own.or(namespace)));
        } else if let Some(base) = key.strip_suffix("Selector")
            && keys.contains("matchLabels")
        {
            // A reference by name next to the selector takes precedence.
            let beside = |other: &Field| {
                let above = field.path.len() - 1;
                let same = other.path.len() == field.path.len() && other.path[..above] == field.path[..above];
                same && [format!("{base}Ref"), format!("{base}Refs")].contains(&other.path[above])
            };
            if !fields.iter().any(beside) {
                let labels = below.iter().filter(|other| other.path.len() == field.path.len() + 2);
                let labels = labels.map(|field| entry(field)).collect();
                let meant = Meant::Labelled(labels);
                found.push(Reference { line: field.line as u64, kind: kind_of(key), meant });
            }
        }
    }
    found
}

fn named(key: &str, field: &Field, namespace: Option<&String>) -> Reference {
    let name = Name { namespace: namespace.cloned(), name: field.value.clone() };
    Reference { line: field.line as u64, kind: kind_of(key), meant: Meant::Named(name) }
}

/// The name of a field without what it reads of its target.
fn kind_of(key: &str) -> String {
    let mut kind = key.to_lowercase();
    for ends in [&["refs", "ref", "selector"][..], &["ids", "id", "arns", "arn", "names", "name"]] {
        if let Some(rest) = ends.iter().find_map(|end| kind.strip_suffix(end)) {
            kind = rest.to_owned();
        }
    }
    kind.strip_suffix('s').unwrap_or(&kind).to_owned()
}

/// The possible targets of a reference according to the book: the name in the same namespace,
/// otherwise the name of a manifest without a namespace; those of the kind in the name of the
/// field, if there are any; never the manifest that refers.
fn targets(manifests: &[Manifest], owner: usize, reference: &Reference) -> Vec<usize> {
    let fitting = |fits: &dyn Fn(&Manifest) -> bool| -> Vec<usize> {
        (0..manifests.len()).filter(|number| fits(&manifests[*number])).collect()
    };
    let mut all = match &reference.meant {
        Meant::Named(name) => {
            let mut within = fitting(&|other| other.identity.2 == *name);
            within.retain(|number| *number != owner);
            let global = Name { namespace: None, name: name.name.clone() };
            if within.is_empty() { fitting(&|other| other.identity.2 == global) } else { within }
        }
        Meant::Labelled(labels) => {
            let has =
                |other: &Manifest| labels.iter().all(|(key, value)| other.labels.get(key) == Some(value));
            fitting(&has)
        }
    };
    all.retain(|number| *number != owner);
    let kind = |number: &usize| manifests[*number].identity.1.to_lowercase();
    let ways: [&dyn Fn(&usize) -> bool; 3] = [
        &|number| kind(number) == reference.kind,
        &|number| reference.kind.ends_with(&kind(number)),
        &|number| kind(number).ends_with(&reference.kind),
    ];
    if let Some(is_named) = ways.iter().find(|is_named| all.iter().any(is_named)) {
        all.retain(is_named);
    }
    all
}

pub(crate) fn outcomes(manifests: &[Manifest]) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for (owner, manifest) in manifests.iter().enumerate() {
        for reference in &manifest.references {
            let place = (manifest.file.clone(), reference.line);
            match *targets(manifests, owner, reference) {
                [] => outcomes.missing.push((owner, place, reference.meant.clone())),
                [target] => {
                    outcomes.resolved += 1;
                    outcomes.edges.insert((owner, target));
                }
                _ => assert!(outcomes.ambiguous.insert(place)),
            }
        }
    }
    outcomes
}

/// The edges from manifests to their declared `ProviderConfig`.
pub(crate) fn providers(manifests: &[Manifest]) -> BTreeSet<(usize, usize)> {
    let named = |name: &String| {
        let is = |other: &Manifest| other.identity.1 == "ProviderConfig" && other.identity.2.name == *name;
        manifests.iter().position(is)
    };
    let provider = |manifest: &Manifest| manifest.provider.as_ref().and_then(named);
    manifests.iter().enumerate().filter_map(|(owner, manifest)| Some((owner, provider(manifest)?))).collect()
}

/// The manifests that duplicate an earlier one.
pub(crate) fn repeated(manifests: &[Manifest]) -> Vec<&Manifest> {
    let mut seen = BTreeSet::new();
    manifests.iter().filter(|manifest| !seen.insert(&manifest.identity)).collect()
}

/// These manifests and all of their direct and indirect dependents.
pub(crate) fn with_dependents(
    start: impl IntoIterator<Item = usize>,
    edges: &BTreeSet<(usize, usize)>,
) -> BTreeSet<usize> {
    let mut reached: BTreeSet<usize> = start.into_iter().collect();
    loop {
        let before = reached.len();
        let next: Vec<usize> =
            edges.iter().filter(|(_, to)| reached.contains(to)).map(|(from, _)| *from).collect();
        reached.extend(next);
        if reached.len() == before {
            return reached;
        }
    }
}
