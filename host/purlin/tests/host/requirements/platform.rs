//! Random platforms: bundles that require each other up to four deep, a Deployment and a definition
//! that require them, and resources beside. A platform is what the documents say; in which order
//! they say it is decided when they are written.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::sharing::rng::Rng;

/// A part of every secret, which nothing that people see may contain.
pub(crate) const SECRET: &str = "TOPSECRET";

/// Ways to ask for a version: that of the reference, or a range.
pub(crate) const RANGES: [Option<&str>; 4] = [None, Some("1.x"), Some(">=1.0.0"), Some("~1.0")];

/// The highest of the versions of a bundle, by the way in which it is asked for.
pub(crate) const CHOSEN: [&str; 4] = ["1.0.0", "1.1.0", "1.1.0", "1.0.0"];

const VERSIONS: [&str; 2] = ["1.0.0", "1.1.0"];

#[derive(Clone, Debug)]
pub(crate) struct Platform {
    /// A bundle requires only bundles before it.
    pub(crate) bundles: Vec<Bundle>,
    /// The requirements of the deployment.
    pub(crate) requires: Vec<Requirement>,
    /// The requirements of the definition of the type `needy`.
    pub(crate) of_definition: Vec<Requirement>,
    /// Shared resources: the name, the type, and the parameter `p`.
    pub(crate) resources: Vec<(String, &'static str, String)>,
}

/// A bundle, in all its versions.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) name: String,
    /// Whether it only registers something: its outputs are then its parameters.
    pub(crate) is_unmanaged: bool,
    pub(crate) requires: Vec<Requirement>,
    /// The outputs of its requirements that it reads: the place of the requirement, and the output.
    pub(crate) reads: Vec<(usize, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Requirement {
    pub(crate) name: String,
    /// The place of its bundle.
    pub(crate) bundle: usize,
    /// The place in [`RANGES`].
    pub(crate) range: usize,
    pub(crate) given: BTreeMap<&'static str, Given>,
    pub(crate) group: Group,
    pub(crate) promoted: Option<Promoted>,
}

/// An output that a bundle makes from one of a requirement.
#[derive(Clone, Debug)]
pub(crate) struct Promoted {
    pub(crate) name: String,
    pub(crate) of: String,
    pub(crate) is_declared: bool,
}

/// A value that a requirement gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    Constant(String),
    /// A parameter of its bundle.
    OfParent(&'static str),
    /// An output of another requirement of its bundle, or of its deployment.
    Output(String, String),
    /// Anything else, as it is written.
    Written(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Everybody,
    Named(&'static str),
    None,
}

/// Groups that differ between installations.
pub(crate) const OF_ROOT: &str = "${installation.root.id}";
pub(crate) const OF_PARAMETER: &str = "g-${bundle.parameters.g}";
pub(crate) const OF_VERSION: &str = "${installation.namespace}-${bundle.version}";

impl Platform {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let mut bundles: Vec<Bundle> = Vec::new();
        let depth = 1 + rng.below(4) as usize;
        for level in 0..=depth {
            let below = bundles.len();
            for number in 0..=rng.below(2) {
                let is_unmanaged = level == 0 && rng.chance(30);
                let mut bundle = Bundle {
                    name: format!("acme/b{level}{}", ['x', 'y'][number as usize]),
                    is_unmanaged,
                    requires: Vec::new(),
                    reads: Vec::new(),
                };
                let count = if below == 0 { 0 } else { 1 + [0, 0, 1, 1, 2][rng.below(5) as usize] };
                for place in 0..count {
                    let one = requirement(rng, &bundles, &bundle.requires, true, format!("r{place}"));
                    for _ in 0..rng.below(3) {
                        let output = output(rng, &bundles, one.bundle);
                        bundle.reads.push((place, output));
                    }
                    bundle.requires.push(one);
                }
                bundle.reads.sort();
                bundle.reads.dedup();
                bundles.push(bundle);
            }
        }
        let mut requires: Vec<Requirement> = Vec::new();
        for place in 0..=rng.below(4) as usize {
            let name = ["m", "c", "x", "f"][place].to_owned();
            let one = match requires.last() {
                // One that differs in its name only.
                Some(last) if rng.chance(25) => Requirement { name, ..last.clone() },
                _ => requirement(rng, &bundles, &requires, false, name),
            };
            requires.push(one);
        }
        let mut of_definition: Vec<Requirement> = Vec::new();
        let mut resources = Vec::new();
        if rng.chance(50) {
            for place in 0..=rng.below(2) {
                let name = format!("s{place}");
                let mut one = requirement(rng, &bundles, &[], false, name);
                if rng.chance(50) {
                    let written = *rng.pick(&["${params.p}", "${context.res.id}", "${values.k}"]);
                    one.given.insert("p", Given::Written(written));
                }
                of_definition.push(one);
            }
            for name in ["k1", "k2"].iter().take(1 + rng.below(2) as usize) {
                resources.push(((*name).to_owned(), "needy", "given".to_owned()));
            }
        }
        if rng.chance(50) {
            let p = format!("reads ${{resources['installation#{}'].outputs.v}}", requires[0].name);
            resources.push(("plain".to_owned(), "plain", p));
        }
        Self { bundles, requires, of_definition, resources }
    }

    /// Leaves out what depends on names of installations: which name one has may depend on the past.
    pub(crate) fn without_names(mut self) -> Self {
        for requirement in self.bundles.iter_mut().flat_map(|bundle| &mut bundle.requires) {
            requirement.given.retain(|_, given| !matches!(given, Given::Written(_)));
        }
        self
    }

    /// The same bundles, with other requirements of the deployment.
    pub(crate) fn with_other_requirements(mut self, rng: &mut Rng) -> Self {
        self.requires.truncate(1);
        for name in ["c", "x", "f"].iter().take(rng.below(4) as usize) {
            let another = self.another(rng, name);
            self.requires.push(another);
        }
        if rng.chance(50) {
            self.requires[0] = Requirement { name: "m".into(), ..self.another(rng, "m") };
            for one in &mut self.requires {
                one.given.retain(|_, given| !matches!(given, Given::Output(..)));
            }
        }
        self
    }

    /// Whether nothing depends on the name of a requirement of the deployment.
    pub(crate) fn is_free_of(&self, name: &str) -> bool {
        let reads = |one: &Requirement| {
            one.given.values().any(|given| matches!(given, Given::Output(of, _) if of == name))
        };
        let here = format!("'installation#{name}'");
        !self.requires.iter().any(reads) && !self.resources.iter().any(|(_, _, p)| p.contains(&here))
    }

    /// Another requirement of the deployment.
    pub(crate) fn another(&self, rng: &mut Rng, name: &str) -> Requirement {
        let all = || self.bundles.iter().flat_map(|one| &one.requires).chain(&self.requires);
        let count = all().count() as u32;
        let like = all().nth(rng.below(count) as usize).filter(|_| rng.chance(60));
        let is_plain = |one: &&Requirement| {
            one.given.values().all(|given| matches!(given, Given::Constant(_)))
                && !matches!(one.group, Group::Named(OF_ROOT | OF_PARAMETER | OF_VERSION))
        };
        let name = name.to_owned();
        match like.filter(is_plain) {
            Some(like) => Requirement { name, promoted: None, ..like.clone() },
            None => requirement(rng, &self.bundles, &self.requires, false, name),
        }
    }

    /// The documents, in the order of the platform.
    fn documents(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for bundle in &self.bundles {
            all.extend(VERSIONS.iter().map(|version| self.bundle(bundle, version)));
        }
        let definition = |id: &str, spec: Value| {
            let mut spec = spec;
            spec["type"] = json!(id);
            spec["driver"] = json!("purlin/echo");
            spec["criteria"] = json!([{}]);
            json!({"apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": id}, "spec": spec})
        };
        all.push(definition("plain", json!({"inputs": {"values": {"v": "plain ${params.p}"}}})));
        let mut spec = json!({"inputs": {"values": {"v": self.of_definition.iter().fold(
            "needy".to_owned(),
            |v, one| format!("{v} ${{bundle.dependencies.{}.outputs.v}}", one.name),
        )}}});
        if !self.of_definition.is_empty() {
            spec["requires"] = self.list(&self.of_definition, false);
        }
        all.push(definition("needy", spec));
        let deployment =
            |spec: Value| json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": spec});
        let shared: Map<String, Value> = self
            .resources
            .iter()
            .map(|(name, kind, p)| (name.clone(), json!({"type": kind, "params": {"p": p}})))
            .collect();
        all.push(deployment(json!({"values": {"k": "known"}, "shared": shared})));
        all.push(deployment(json!({"requires": self.list(&self.requires, false)})));
        all
    }

    fn bundle(&self, bundle: &Bundle, version: &str) -> Value {
        let name = &bundle.name;
        let text = |name: &str, default: String| json!({"name": name, "type": "string", "default": default});
        let secret = |name: &str, default: String| json!({"name": name, "type": "string", "default": default, "sensitive": true});
        let mut parameters = vec![
            text("p", "dp".into()),
            text("q", "dq".into()),
            text("g", "dg".into()),
            secret("s", format!("{SECRET}-default")),
        ];
        let mut outputs = vec![
            json!({"name": "v", "type": "string"}),
            json!({"name": "w", "type": "string", "sensitive": true}),
        ];
        let mut spec = Map::new();
        if bundle.is_unmanaged {
            parameters.push(text("v", format!("{name} {version}")));
            parameters.push(secret("w", format!("{SECRET} of {name}")));
        } else {
            let mut v = format!("{name} {version} ${{bundle.parameters.p}} ${{bundle.parameters.q}}");
            for (place, output) in &bundle.reads {
                v.push_str(&format!(" ${{bundle.dependencies.r{place}.outputs.{output}}}"));
            }
            let w = format!("{SECRET} {name} ${{bundle.parameters.s}}");
            spec.insert("driver".into(), json!("purlin/echo"));
            spec.insert("inputs".into(), json!({"values": {"v": v, "w": w}}));
        }
        for promoted in bundle.requires.iter().filter_map(|one| one.promoted.as_ref()) {
            if promoted.is_declared {
                outputs.push(json!({"name": promoted.name, "type": "string"}));
            }
        }
        spec.insert("parameters".into(), parameters.into());
        spec.insert("outputs".into(), outputs.into());
        if !bundle.requires.is_empty() {
            spec.insert("requires".into(), self.list(&bundle.requires, true));
        }
        json!({
            "apiVersion": "purlin.dev/v1",
            "kind": "Bundle",
            "metadata": {"name": name, "version": version},
            "spec": spec,
        })
    }

    fn list(&self, requires: &[Requirement], is_in_bundle: bool) -> Value {
        requires.iter().map(|one| self.requirement(one, is_in_bundle)).collect()
    }

    fn requirement(&self, one: &Requirement, is_in_bundle: bool) -> Value {
        let mut bundle = json!({"reference": format!("{}:v1.0.0", self.bundles[one.bundle].name)});
        if let Some(range) = RANGES[one.range] {
            bundle["version"] = json!(range);
        }
        let mut written = json!({"name": one.name, "bundle": bundle});
        let given = |given: &Given| match given {
            Given::Constant(text) => text.clone(),
            Given::OfParent(name) => format!("${{bundle.parameters.{name}}}"),
            Given::Output(of, output) if is_in_bundle => {
                format!("${{bundle.dependencies.{of}.outputs.{output}}}")
            }
            Given::Output(of, output) => format!("${{resources['installation#{of}'].outputs.{output}}}"),
            Given::Written(text) => (*text).to_owned(),
        };
        if !one.given.is_empty() {
            let all: Map<_, _> =
                one.given.iter().map(|(name, value)| ((*name).to_owned(), json!(given(value)))).collect();
            written["parameters"] = all.into();
        }
        match &one.group {
            Group::Everybody => {}
            Group::Named(name) => written["sharing"] = json!({"mode": "group", "group": {"name": name}}),
            Group::None => written["sharing"] = json!({"mode": "none"}),
        }
        if let Some(promoted) = one.promoted.as_ref().filter(|_| is_in_bundle) {
            let mut outputs = Map::new();
            outputs.insert(promoted.name.clone(), json!(format!("${{outputs.{}}}", promoted.of)));
            written["outputs"] = outputs.into();
        }
        written
    }

    /// The documents in files: as they are, or with everything in another order that may be.
    pub(crate) fn written(&self, mut shuffled: Option<&mut Rng>) -> Vec<(String, String)> {
        let mut documents = self.documents();
        shuffle(&mut documents, &mut shuffled);
        let count = shuffled.as_mut().map_or(1, |rng| 1 + rng.below(4)) as usize;
        let mut files = vec![String::new(); count];
        for document in &documents {
            let at = shuffled.as_mut().map_or(0, |rng| rng.below(count as u32)) as usize;
            files[at].push_str("---\n");
            write(document, false, &mut shuffled, &mut files[at]);
            files[at].push('\n');
        }
        let mut names = ["a.yaml", "m.yaml", "z.yaml", "0.yaml"];
        shuffle(&mut names, &mut shuffled);
        files.retain(|text| !text.is_empty());
        names.iter().map(|name| (*name).to_owned()).zip(files).collect()
    }
}

impl Requirement {
    /// Whether it depends on another requirement.
    pub(crate) fn reads_others(&self) -> bool {
        self.given.values().any(|given| matches!(given, Given::Output(..)))
    }
}

/// An output that a bundle has.
fn output(rng: &mut Rng, bundles: &[Bundle], of: usize) -> String {
    let promoted = bundles[of].requires.iter().filter_map(|one| one.promoted.as_ref());
    let promoted: Vec<&str> = promoted.map(|promoted| &*promoted.name).collect();
    match rng.below(10) {
        0..2 => "w".to_owned(),
        2..6 if !promoted.is_empty() => (*rng.pick(&promoted)).to_owned(),
        _ => "v".to_owned(),
    }
}

fn requirement(
    rng: &mut Rng,
    bundles: &[Bundle],
    siblings: &[Requirement],
    is_in_bundle: bool,
    name: String,
) -> Requirement {
    // Mostly of the bundles just before, so that they are deep.
    let bundle = match rng.chance(60) {
        true => bundles.len() - 1 - rng.below(2.min(bundles.len() as u32)) as usize,
        false => rng.below(bundles.len() as u32) as usize,
    };
    let mut given = BTreeMap::new();
    for name in ["p", "q"] {
        let value = match rng.below(14) {
            0..3 => Given::Constant(format!("c{}", rng.below(2))),
            3 => Given::Constant(format!("d{name}")),
            4..6 if is_in_bundle => Given::OfParent(if rng.chance(50) { "p" } else { "q" }),
            6..8 if !siblings.is_empty() => {
                let of = rng.pick(siblings);
                Given::Output(of.name.clone(), output(rng, bundles, of.bundle))
            }
            8 if is_in_bundle => Given::Written(rng.pick::<&str>(&[
                "${installation.root.name}",
                "${installation.root.id}",
                "${installation.name}",
                "${installation.namespace}",
                "${bundle.name}",
                "${bundle.version}",
            ])),
            8 => Given::Written("${values.k}"),
            _ => continue,
        };
        given.insert(name, value);
    }
    if rng.chance(20) {
        let value = match is_in_bundle && rng.chance(50) {
            true => Given::OfParent("g"),
            false => Given::Constant("one".into()),
        };
        given.insert("g", value);
    }
    if rng.chance(20) {
        let value = match is_in_bundle && rng.chance(50) {
            true => Given::OfParent("s"),
            false => Given::Constant(format!("{SECRET}-{}", rng.below(2))),
        };
        given.insert("s", value);
    }
    let group = match rng.below(12) {
        0..2 => Group::Named("team"),
        2 => Group::None,
        3..5 if is_in_bundle => Group::Named(OF_ROOT),
        5 if is_in_bundle => Group::Named(OF_PARAMETER),
        6 if is_in_bundle => Group::Named(OF_VERSION),
        _ => Group::Everybody,
    };
    let promoted = (is_in_bundle && rng.chance(40)).then(|| Promoted {
        name: format!("x-{name}"),
        of: output(rng, bundles, bundle),
        is_declared: rng.chance(50),
    });
    Requirement { name, bundle, range: rng.below(4) as usize, given, group, promoted }
}

/// Lists whose order means nothing.
const UNORDERED: [&str; 4] = ["requires", "parameters", "outputs", "credentials"];

fn shuffle<T>(all: &mut [T], rng: &mut Option<&mut Rng>) {
    let Some(rng) = rng else { return };
    for end in (1..all.len()).rev() {
        all.swap(end, rng.below(end as u32 + 1) as usize);
    }
}

/// Writes a document as JSON, which is YAML, in another order that means the same.
fn write(value: &Value, is_unordered: bool, rng: &mut Option<&mut Rng>, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            shuffle(&mut entries, rng);
            out.push('{');
            for (at, (name, value)) in entries.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                out.push_str(&format!("{}: ", json!(name)));
                write(value, UNORDERED.contains(&&**name), rng, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            let mut items: Vec<&Value> = items.iter().collect();
            if is_unordered {
                shuffle(&mut items, rng);
            }
            out.push('[');
            for (at, item) in items.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ",\n  " });
                write(item, false, rng, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}
