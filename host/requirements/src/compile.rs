//! Turns a resolution into the input of a graph: each bundle becomes a recipe, each requirement an
//! edge (SPEC §6).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use purlin_expression::write_template;
use purlin_model::{
    Access, Binding, Class, Declared, Descriptor, DescriptorPart, Diagnostic, DriverRequirement, Entries,
    Existing, InstallationField, InstallationRequest, InstallationShare, InstallationUse, Key, Lifecycle,
    Location, Map, NameError, Path, Piece, Placeholder, Provision, Recipe, Reference, RequiredBy,
    Requirement, ResourceId, Setting, Table, Template, TypeName, Value, ValueKind, ValueSource,
};
use serde_json::json;

use crate::known;
use crate::resolution::{Installation, Requirer, Resolution};

/// The driver of bundles without one. Its inputs become the outputs.
const REGISTERS: &str = "purlin/echo";

/// Missing values, as faults: nothing can be created before they are given.
pub fn unmapped_faults(resolution: &Resolution) -> Vec<Diagnostic> {
    let all: HashMap<&str, &Installation> =
        resolution.installations.iter().rev().map(|one| (&*one.name, one)).collect();
    let mut faults: Vec<Diagnostic> = Vec::new();
    for one in &resolution.unmapped {
        let message = format!("nothing sets the {} `{}` of `{}`", one.part, one.name, one.installation);
        let mut fault = Diagnostic::error("unmapped", message);
        if let Some(installation) = all.get(&*one.installation) {
            fault = fault.at(&installation.location);
        }
        if let Some(words) = &one.description {
            fault = fault.fact(words.to_string());
        }
        // Secrets do not belong on a command line.
        let (from, what) = if one.is_secret { ("-env", "VARIABLE") } else { ("", "VALUE") };
        let full = format!("{}.{}", one.installation, one.name);
        let help = format!(
            "set it with `--{}{from} {full}={what}`, or among the `{}s` of the requirement",
            one.part.option(),
            one.part
        );
        faults.push(fault.help(help));
    }
    faults
}

/// The installations of a resolution, as input of a graph.
///
/// # Errors
/// One fault for each invalid name.
pub fn compile(resolution: &Resolution) -> Result<Vec<InstallationRequest>, Vec<Diagnostic>> {
    let all = &resolution.installations;
    let mut faults: Vec<Diagnostic> = Vec::new();
    let mut compiled = Vec::with_capacity(all.len());
    let mut parents = parents(resolution);
    let aliases = aliases(resolution);
    let required = Required::of(resolution);
    for (place, one) in all.iter().enumerate() {
        match ResourceId::new(&one.name) {
            Ok(id) => compiled.push(InstallationRequest {
                aliases: aliases.get(&place).cloned().unwrap_or_default(),
                ..Compiler { resolution, required: &required, one }
                    .request(id, parents.get_mut(place).map(std::mem::take).unwrap_or_default())
            }),
            // If a name is invalid, so are the names derived from it.
            Err(error) if ResourceId::new(one.own_name()).is_err() => faults.push(bad_name(&error, one)),
            Err(_) => {}
        }
    }
    if faults.is_empty() { Ok(compiled) } else { Err(faults) }
}

/// The recipes of the resources whose definitions require bundles, as input of a graph: sorted by
/// key, each naming the installations of its requirements.
pub fn requirers(resolution: &Resolution) -> Vec<purlin_model::Requirer> {
    let required = Required::of(resolution);
    let one = |Requirer { key, recipe, own }: &Requirer| {
        let compiler = Compiler { resolution, required: &required, one: own };
        purlin_model::Requirer { key: key.clone(), recipe: Arc::new(compiler.definition(recipe)) }
    };
    let mut compiled: Vec<_> = resolution.requirers.iter().map(one).collect();
    compiled.sort_by(|a, b| a.key.cmp(&b.key));
    compiled
}

fn bad_name(error: &NameError, one: &Installation) -> Diagnostic {
    let help = "its name is that of the requirement: choose one that is valid there";
    Diagnostic::error("name", error.to_string()).at(&one.location).help(help)
}

/// The names by which documents may refer to each installation, besides its own: those of the
/// requirements that share it. A deployment's own requirement is always meant by its name, another
/// one only if nothing else has that name.
fn aliases(resolution: &Resolution) -> BTreeMap<usize, Vec<ResourceId>> {
    let all = &resolution.installations;
    let names: BTreeSet<&str> = all.iter().map(|one| &*one.name).collect();
    let mut meant: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (place, one) in all.iter().enumerate() {
        for (claim, own) in &one.claims {
            let is_own = !claim.made_for.contains('/');
            if *own != one.name && (is_own || !names.contains(&**own)) {
                meant.entry(own).or_default().insert(place);
            }
        }
    }
    let mut aliases: BTreeMap<usize, Vec<ResourceId>> = BTreeMap::new();
    for (name, places) in meant {
        if let ([place], Ok(id)) = (&*places.into_iter().collect::<Vec<_>>(), ResourceId::new(name)) {
            aliases.entry(*place).or_default().push(id);
        }
    }
    aliases
}

/// The parents of each installation, with the places of the requirements. The one that sets its
/// values comes first: if several share it, the one that it is named after.
fn parents(resolution: &Resolution) -> Vec<Vec<(RequiredBy, Location)>> {
    let all = &resolution.installations;
    let mut parents: Vec<Vec<(bool, RequiredBy, Location)>> = vec![Vec::new(); all.len()];
    let installations = (0u32..).zip(all).map(|(at, one)| (RequiredBy::Installation(at), one));
    let resources = resolution.requirers.iter().map(|one| (RequiredBy::Resource(one.key.clone()), &one.own));
    for (by, parent) in installations.chain(resources) {
        let all_written: HashMap<&str, &Requirement> =
            parent.bundle.requires.iter().map(|required| (&*required.name, required)).collect();
        for (name, place) in &parent.requires {
            let written = all_written.get(&**name);
            if let (Some(child), Some(of), Some(written)) =
                (all.get(*place), parents.get_mut(*place), written)
            {
                let is_shared = child.made_for.strip_suffix(&**name) != Some(&*format!("{}/", parent.name));
                of.push((is_shared, by.clone(), written.location.clone()));
            }
        }
    }
    let sorted = |mut of: Vec<(bool, RequiredBy, Location)>| {
        of.sort_by(|(a_shared, a, _), (b_shared, b, _)| (a_shared, a).cmp(&(b_shared, b)));
        of.into_iter().map(|(_, by, location)| (by, location)).collect()
    };
    parents.into_iter().map(sorted).collect()
}

/// Who requires which installation, for each of those that read outputs of others.
struct Required<'a> {
    /// The resources whose definitions require installations.
    requirers: HashMap<&'a Key, &'a Installation>,
    /// The requirements, by the name of who has them and their own.
    installations: HashMap<(&'a str, &'a str), &'a Installation>,
}

impl<'a> Required<'a> {
    fn of(resolution: &'a Resolution) -> Self {
        let requirers = resolution.requirers.iter().map(|one| (&one.key, &one.own)).collect();
        let resources = resolution.requirers.iter().map(|one| &one.own);
        let required = |by: &'a Installation| {
            let of = |(name, at): &'a (Arc<str>, usize)| {
                Some(((&*by.name, &**name), resolution.installations.get(*at)?))
            };
            by.requires.iter().filter_map(of)
        };
        let installations = resolution.installations.iter().chain(resources).flat_map(required).collect();
        Self { requirers, installations }
    }
}

struct Compiler<'a> {
    resolution: &'a Resolution,
    required: &'a Required<'a>,
    one: &'a Installation,
}

impl Compiler<'_> {
    /// The representation of an installation of another environment. Its outputs are read from the
    /// record there when a plan is made, so that a later run sees changes.
    fn stand_in(
        &self,
        id: ResourceId,
        required_by: Vec<(RequiredBy, Location)>,
        (used, needs): &(Existing, InstallationUse),
    ) -> InstallationRequest {
        let location = self.one.location.clone();
        let driver = DriverRequirement { name: REGISTERS.into(), range: None, location: location.clone() };
        let uses = Value::from(used.urn.as_str());
        let params: Map = [(Arc::from(InstallationUse::PARAM), uses)].into_iter().collect();
        InstallationRequest {
            id,
            aliases: Vec::new(),
            recipe: Arc::new(Recipe {
                name: Some(self.one.reference.to_string().into()),
                driver,
                account: None,
                values: Template::default(),
                secrets: Template::default(),
                secret_refs: None,
                connection: None,
                promoted: None,
                provision: Vec::new(),
                requires: Vec::new(),
                lifecycle: Lifecycle::default(),
                location: location.clone(),
            }),
            params: Arc::new(Template::Constant(Value::Map(params))),
            schema: Arc::new(json!({})),
            needs_driver: false,
            outputs: used.outputs.iter().cloned().collect(),
            secret: BTreeSet::new(),
            share: Arc::new(InstallationShare {
                uses: Some(needs.clone()),
                ..InstallationShare::new(
                    Arc::clone(&self.resolution.context.namespace),
                    None,
                    None,
                    Vec::new(),
                )
            }),
            required_by,
            location,
        }
    }

    fn request(&self, id: ResourceId, required_by: Vec<(RequiredBy, Location)>) -> InstallationRequest {
        if let Some(uses) = &self.one.uses {
            return self.stand_in(id, required_by, uses);
        }
        let parent = required_by.first().and_then(|(by, _)| self.parent(by));
        let bundle = &self.one.bundle;
        let table = Table::of(bundle);
        let recipe = Arc::new(self.recipe(&table));
        InstallationRequest {
            id,
            aliases: Vec::new(),
            recipe: Arc::clone(&recipe),
            params: Arc::new(self.params(parent)),
            schema: Arc::new(self.schema()),
            needs_driver: bundle.has_steps && bundle.driver.is_none(),
            outputs: table.of_kind(ValueKind::Output).map(|row| Arc::clone(&row.offered.name)).collect(),
            secret: table.secrets(ValueKind::PARAMETER).cloned().collect(),
            share: Arc::new(InstallationShare {
                promoted: kept(recipe.promoted.as_ref()),
                ..InstallationShare::new(
                    Arc::clone(&self.resolution.context.namespace),
                    self.one.group.clone(),
                    bundle.provides.clone(),
                    table.outputs(),
                )
            }),
            required_by,
            location: self.one.location.clone(),
        }
    }

    fn parent(&self, by: &RequiredBy) -> Option<&Installation> {
        match by {
            RequiredBy::Installation(at) => self.resolution.installations.get(*at as usize),
            RequiredBy::Resource(key) => self.required.requirers.get(key).copied(),
        }
    }

    /// The recipe of a definition, with its requirements filled in.
    fn definition(&self, recipe: &Recipe) -> Recipe {
        let filled = |template: &Template| self.filled(template, self.one);
        Recipe {
            account: recipe.account.as_ref().map(filled),
            values: filled(&recipe.values),
            secrets: filled(&recipe.secrets),
            secret_refs: recipe.secret_refs.as_ref().map(filled),
            connection: recipe.connection.as_ref().map(filled),
            provision: recipe
                .provision
                .iter()
                .map(|one| Provision {
                    params: one.params.as_deref().map(|params| Arc::new(filled(params))),
                    ..one.clone()
                })
                .collect(),
            requires: Vec::new(),
            ..recipe.clone()
        }
    }

    fn recipe(&self, table: &Table) -> Recipe {
        let bundle = &*self.one.bundle;
        let registers =
            DriverRequirement { name: REGISTERS.into(), range: None, location: bundle.location.clone() };
        let values = match &bundle.driver {
            Some(_) => self.filled(&bundle.values, self.one),
            None => self.registered(table),
        };
        Recipe {
            name: Some(self.one.reference.to_string().into()),
            driver: bundle.driver.clone().unwrap_or(registers),
            account: None,
            values,
            secrets: self.filled(&bundle.secrets, self.one),
            secret_refs: None,
            connection: bundle.connection.as_ref().map(|template| self.filled(template, self.one)),
            promoted: bundle.driver.as_ref().and_then(|_| self.promoted(table)),
            provision: Vec::new(),
            requires: Vec::new(),
            lifecycle: bundle.lifecycle.clone(),
            location: bundle.location.clone(),
        }
    }

    /// The outputs that a bundle with a driver makes from those of its requirements.
    fn promoted(&self, table: &Table) -> Option<Template> {
        let made = |(name, binding): (&Arc<str>, &Binding)| {
            (Arc::clone(name), self.filled(&binding.value, self.one))
        };
        let entries: Entries<Template> = table.promoted().map(made).collect();
        (!entries.is_empty()).then(|| Template::Map(Box::new(entries)))
    }

    /// The outputs of a bundle without a driver.
    fn registered(&self, table: &Table) -> Template {
        let outputs = table.of_kind(ValueKind::Output).filter_map(|row| {
            let value = match &row.source {
                ValueSource::Promoted(binding) => self.filled(&binding.value, self.one),
                ValueSource::Parameter(name) => reads_parameter(name, &self.one.bundle.location),
                ValueSource::Default(value) => Template::Constant(value.clone()),
                ValueSource::Given | ValueSource::Driver | ValueSource::Existing | ValueSource::Nothing => {
                    return None;
                }
            };
            Some((Arc::clone(&row.offered.name), value))
        });
        map(outputs.collect())
    }

    /// The schema of params. An unset value may be null.
    fn schema(&self) -> serde_json::Value {
        let given = self.one.given_by_name();
        let part = |part: Setting, declared: &[Declared]| {
            let is_set = |one: &&Declared| {
                one.default.is_some() || one.source.is_some() || given.contains_key(&(part, &*one.name))
            };
            let properties: serde_json::Map<String, serde_json::Value> = declared
                .iter()
                .filter(is_set)
                .map(|one| (one.name.to_string(), one.schema.clone().into()))
                .collect();
            json!({"type": "object", "properties": properties})
        };
        let bundle = &self.one.bundle;
        json!({
            "type": "object",
            "properties": {
                "parameters": part(Setting::Parameter, &bundle.parameters),
                "credentials": part(Setting::Credential, &bundle.credentials),
            },
        })
    }

    /// `{parameters, credentials}`, with the placeholders of the parent.
    fn params(&self, parent: Option<&Installation>) -> Template {
        let (bundle, given) = (&self.one.bundle, self.one.given_by_name());
        let part = |part: Setting, declared: &[Declared]| {
            let one = |declared: &Declared| {
                let value = match (given.get(&(part, &*declared.name)), parent) {
                    (Some(given), Some(parent)) => self.filled(&given.binding.value, parent),
                    (Some(given), None) => given.binding.value.clone(),
                    (None, _) => match &declared.source {
                        Some(source) => self.filled(source, self.one),
                        None => Template::Constant(declared.default.clone().unwrap_or(Value::Null)),
                    },
                };
                (Arc::clone(&declared.name), value)
            };
            map(declared.iter().map(one).collect())
        };
        map(vec![
            ("parameters".into(), part(Setting::Parameter, &bundle.parameters)),
            ("credentials".into(), part(Setting::Credential, &bundle.credentials)),
        ])
    }

    /// A template of an installation's bundle with the known parts filled in: its own name, and the
    /// keys of its requirements.
    fn filled(&self, template: &Template, of: &Installation) -> Template {
        match template {
            Template::Constant(value) => Template::Constant(value.clone()),
            Template::List(items) => Template::List(items.iter().map(|item| self.filled(item, of)).collect()),
            Template::Map(entries) => {
                let all: Vec<_> =
                    entries.iter().map(|(name, item)| (Arc::clone(name), self.filled(item, of))).collect();
                map(all)
            }
            Template::Text(text) => {
                let pieces: Vec<Piece> = text.iter().map(|piece| self.piece(piece, of)).collect();
                match &*pieces {
                    [Piece::Literal(text)] => Template::Constant(Value::from(&**text)),
                    _ => Template::Text(pieces.into()),
                }
            }
        }
    }

    /// The replacement of a piece.
    fn piece(&self, piece: &Piece, of: &Installation) -> Piece {
        let Piece::Placeholder(placeholder) = piece else { return piece.clone() };
        match &placeholder.reference {
            Reference::Installation(field) => Piece::Literal(self.field(*field, of)),
            Reference::Bundle(field) => Piece::Literal(of.bundle.field(*field)),
            Reference::Named(name, path) => match self.required.installations.get(&(&*of.name, &**name)) {
                Some(required) => {
                    Piece::Placeholder(placeholder.of_requirement(reads_output(required, path)))
                }
                None => piece.clone(),
            },
            _ => piece.clone(),
        }
    }

    fn field(&self, field: InstallationField, of: &Installation) -> Arc<str> {
        known::field(field, &of.name, &of.root, &self.resolution.context)
    }
}

/// Promoted outputs as a record keeps them.
fn kept(promoted: Option<&Template>) -> BTreeMap<Arc<str>, serde_json::Value> {
    let Some(Template::Map(entries)) = promoted else { return BTreeMap::new() };
    entries.iter().filter_map(|(name, value)| Some((Arc::clone(name), write_template(value)?))).collect()
}

/// Reads an output by the installation's name for it.
fn reads_output(installation: &Installation, path: &Path) -> Reference {
    let mut path = path.clone();
    if let Some(first) = path.0.first_mut()
        && let Some(own) = installation.outputs.get(first)
    {
        *first = Arc::clone(own);
    }
    let id = ResourceId::new(&installation.name).map_or(DescriptorPart::Omitted, DescriptorPart::Named);
    let class = DescriptorPart::Named(Class::default_class());
    let descriptor = Descriptor { type_name: TypeName::installation(), class, id };
    Reference::Resource(descriptor, Access::Outputs(path))
}

fn reads_parameter(name: &Arc<str>, location: &Location) -> Template {
    let reference = Reference::Param(Path(Box::new(["parameters".into(), Arc::clone(name)])));
    let source = format!("bundle.parameters.{name}");
    let placeholder = Placeholder::new(reference, None, &source, location.clone());
    Template::Text([Piece::Placeholder(placeholder)].into())
}

/// A map, which is constant if all of it is.
fn map(entries: Vec<(Arc<str>, Template)>) -> Template {
    let is_constant = entries.iter().all(|(_, value)| matches!(value, Template::Constant(_)));
    if !is_constant {
        return Template::Map(Box::new(entries.into_iter().collect::<Entries<_>>()));
    }
    let constants: BTreeMap<Arc<str>, Value> = entries
        .into_iter()
        .filter_map(|(name, value)| match value {
            Template::Constant(value) => Some((name, value)),
            _ => None,
        })
        .collect();
    Template::Constant(Value::Map(constants.into_iter().collect::<Map>()))
}
