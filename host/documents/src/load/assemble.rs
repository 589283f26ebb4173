//! Combines documents: each kind and id once, and Deployments that do not contradict each other.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_model::{
    Bundle, Definition, Diagnostic, Key, Location, Requirement, ResourceLifecycle, Template, TypeName,
    Workload, Workspace,
};

use super::{Loaded, Piece, twice};
use crate::bundle::ANOTHER_VERSION;
use crate::deployment::{Part, Spec};
use crate::manifest::{self, Claims, Convention, Draft};
use crate::resource_type::Written;
use crate::x_reference::Rules;

/// A part of the context, and its place.
type Field = fn(&mut Loaded) -> (&mut Option<Arc<str>>, &mut Option<Location>);

/// The documents so far.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    pub(super) loaded: Loaded,
    definitions: HashMap<Arc<str>, Location>,
    workloads: HashMap<Arc<str>, Location>,
    types: HashMap<Arc<str>, Location>,
    bundles: HashMap<Arc<str>, Location>,
    requirements: HashMap<Arc<str>, Location>,
    suspects: Vec<(Arc<str>, Diagnostic)>,
    lifecycles: HashMap<Key, Location>,
    /// Manifests, which are compiled after everything else is read.
    drafts: Vec<Draft>,
    claims: Claims,
    rules: HashMap<TypeName, Rules>,
}

impl Assembly {
    /// Takes one item of a text.
    pub(super) fn take(&mut self, piece: Piece) {
        match piece {
            Piece::Definition(definition) => self.definition(definition),
            Piece::Workload(workload) => self.workload(workload),
            Piece::Deployment(spec) => self.deployment(*spec),
            Piece::Shared(shared) => self.loaded.deployment.shared.extend(shared),
            Piece::ResourceType(written) => self.resource_type(*written),
            Piece::Workspace(workspace) => self.workspace(*workspace),
            Piece::Bundle(bundle) => self.bundle(*bundle),
            Piece::Manifest(draft) => self.drafts.push(draft),
            Piece::Faults(mut faults) => self.loaded.diagnostics.append(&mut faults),
            Piece::Suspects(mut suspects) => self.suspects.append(&mut suspects),
        }
    }

    fn definition(&mut self, definition: Definition) {
        let help = "give one of them another `metadata.id`";
        if self
            .first("the definition", &definition.id, &definition.location, help, |this| &mut this.definitions)
        {
            self.loaded.definitions.push(definition);
        }
    }

    fn workload(&mut self, workload: Workload) {
        let help = "give one of them another name";
        if self.first("the workload", &workload.name, &workload.location, help, |this| &mut this.workloads) {
            self.loaded.deployment.workloads.push(workload);
        }
    }

    fn bundle(&mut self, bundle: Bundle) {
        let (name, help) = (bundle.reference().to_string().into(), ANOTHER_VERSION);
        if self.first("the bundle", &name, &bundle.location, help, |this| &mut this.bundles) {
            self.loaded.bundles.push(bundle);
        }
    }

    fn requirement(&mut self, requirement: Requirement) {
        let help = "give one of them another name";
        if self.first("the requirement", &requirement.name, &requirement.location, help, |this| {
            &mut this.requirements
        }) {
            self.loaded.deployment.requires.push(requirement);
        }
    }

    fn resource_type(&mut self, written: Written) {
        let Written { resource_type, rules, manifests } = written;
        let (name, help) = (Arc::from(resource_type.type_name.as_str()), "keep one of them");
        if self.first("the resource type", &name, &resource_type.location, help, |this| &mut this.types) {
            for (kind, place) in resource_type.manifests.iter().zip(&manifests) {
                if let Err(fault) = self.claims.add(kind, &resource_type.type_name, place) {
                    self.loaded.diagnostics.push(*fault);
                }
            }
            self.rules.insert(resource_type.type_name.clone(), rules);
            self.loaded.resource_types.push(resource_type);
        }
    }

    /// Reports maps that look like resources, if there are resources of their type.
    pub(super) fn suspects(&mut self) {
        let Loaded { definitions, resource_types, diagnostics, .. } = &mut self.loaded;
        let types: HashSet<&str> = definitions
            .iter()
            .map(|definition| &*definition.type_pattern)
            .chain(resource_types.iter().map(|one| one.type_name.as_str()))
            .collect();
        let found = std::mem::take(&mut self.suspects).into_iter();
        diagnostics.extend(found.filter(|(name, _)| types.contains(&**name)).map(|(_, fault)| fault));
    }

    /// Turns all manifests into resources. A Deployment's lifecycle settings for one override those
    /// of the manifest.
    pub(super) fn manifests(&mut self) {
        let drafts = std::mem::take(&mut self.drafts);
        let definitions = self.loaded.definitions.iter().map(|one| Arc::clone(&one.type_pattern));
        let types = self.loaded.resource_types.iter().map(|one| one.type_name.as_str().into());
        self.claims.name(definitions.chain(types));
        let convention = Convention { added: &self.loaded.references };
        let mut compiled = manifest::compile(&drafts, &self.claims, &self.rules, convention);
        self.loaded.diagnostics.append(&mut compiled.faults);
        self.loaded.deployment.manifests.append(&mut compiled.manifests);
        let settings = &mut self.loaded.deployment.lifecycle;
        let mut places: HashMap<Key, usize> = HashMap::new();
        for (at, setting) in settings.iter().enumerate() {
            places.entry(setting.key.clone()).or_insert(at);
        }
        for own in compiled.lifecycle {
            let known = places.get(&own.key).filter(|_| self.lifecycles.contains_key(&own.key));
            match known.and_then(|at| settings.get_mut(*at)) {
                Some(setting) => setting.options = setting.options.over(&own.options),
                None => settings.push(own),
            }
        }
    }

    fn workspace(&mut self, workspace: Workspace) {
        if let Some(first) = &self.loaded.workspace {
            let fault = Diagnostic::error("duplicate-document", "a Workspace is given twice")
                .at(&workspace.location)
                .related(&first.location, "first given here")
                .help("name the documents of one workspace only");
            self.loaded.diagnostics.push(fault);
        } else {
            self.loaded.workspace = Some(workspace);
        }
    }

    /// Whether this is the first item with this name; otherwise reports it.
    fn first(
        &mut self,
        what: &str,
        name: &Arc<str>,
        place: &Location,
        help: &str,
        seen: fn(&mut Self) -> &mut HashMap<Arc<str>, Location>,
    ) -> bool {
        if let Some(first) = seen(self).get(name).cloned() {
            self.loaded.diagnostics.push(twice(what, name, place, &first, help));
            return false;
        }
        seen(self).insert(name.clone(), place.clone());
        true
    }

    fn deployment(&mut self, spec: Spec) {
        self.part("org", spec.org, |loaded| (&mut loaded.context.org, &mut loaded.places.org));
        self.part("app", spec.app, |loaded| (&mut loaded.context.app, &mut loaded.places.app));
        self.part("env", spec.env, |loaded| (&mut loaded.context.env, &mut loaded.places.env));
        self.part("type of env", spec.env_type, |loaded| {
            (&mut loaded.context.env_type, &mut loaded.places.env_type)
        });
        self.part("namespace", spec.namespace, |loaded| {
            (&mut loaded.context.namespace, &mut loaded.places.namespace)
        });
        spec.workloads.into_iter().for_each(|workload| self.workload(workload));
        self.loaded.deployment.shared.extend(spec.shared);
        spec.requires.into_iter().for_each(|requirement| self.requirement(requirement));
        for (name, (value, place)) in spec.values {
            self.value(name, value, place);
        }
        spec.lifecycle.into_iter().for_each(|setting| self.lifecycle(setting));
    }

    fn lifecycle(&mut self, setting: ResourceLifecycle) {
        match self.lifecycles.get(&setting.key) {
            None => {
                self.lifecycles.insert(setting.key.clone(), setting.location.clone());
                self.loaded.deployment.lifecycle.push(setting);
            }
            Some(first) => self.loaded.diagnostics.push(setting.twice(first)),
        }
    }

    fn part(&mut self, what: &'static str, part: Part, field: Field) {
        let Some((text, place)) = part else { return };
        let (known, written) = field(&mut self.loaded);
        match known {
            None => {
                *known = Some(text);
                *written = Some(place);
            }
            Some(known) if *known == text => {}
            Some(known) => {
                let message = format!(
                    "the Deployments set different values for `{what}`: `{text}` here, `{known}` elsewhere"
                );
                let mut fault = Diagnostic::error("context-conflict", message)
                    .at(&place)
                    .spanning(text.chars().count())
                    .help("deploy one environment at a time, or set it in one Deployment");
                if let Some(first) = written {
                    fault = fault.related(first, "the other one");
                }
                self.loaded.diagnostics.push(fault);
            }
        }
    }

    fn value(&mut self, name: Arc<str>, value: Template, place: Location) {
        let equal = |known: &Template| matches!(known, Template::Constant(_)) && *known == value;
        match (self.loaded.deployment.values.get(&name), self.loaded.value_places.get(&name)) {
            (Some(known), _) if equal(known) => {}
            (Some(_), Some(first)) => {
                let fault = Diagnostic::error("value-conflict", format!("the value `{name}` is given twice"))
                    .at(&place)
                    .spanning(name.chars().count())
                    .related(first, "first given here")
                    .help("keep one of them");
                self.loaded.diagnostics.push(fault);
            }
            _ => {
                self.loaded.value_places.insert(name.clone(), place);
                self.loaded.deployment.values.insert(name, value);
            }
        }
    }
}
